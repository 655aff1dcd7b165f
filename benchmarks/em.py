"""EM: the kernel's rate, acceleration against plain EM, and a fit against crowd-kit's Dawid-Skene.

    python benchmarks/em.py [--labels 10000000] [--folder build/bench]

crowd-kit has no gold and an iteration of it costs the same at every point, so that its time to the converged likelihood
is its seconds an iteration times the plain EM steps to that likelihood.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from make_labels import make_labels
from tasks import measure

from hero_eval.model.em import EMOptions, gold_start, run_em
from hero_eval.model.patterns import patterns_of_matrix
from hero_eval.studies.designs import EXPERIMENTS, draw


def rate(path: Path, repeats: int = 100) -> None:
    found = measure("kernel", path, repeats)
    print(f"kernel, {found['labels']:,} labels by 1,000 labelers, best of {repeats}:")
    print(
        f"  {found['ns_a_label']:.2f} ns a label and pass on all cores, {found['one_core_ns_a_label']:.2f} on one; ",
        end="",
    )
    print(f"a plain sum over its {found['bytes']:,} bytes {found['sum_ns_a_label']:.2f} ns, ", end="")
    print(f"so {found['ns_a_label'] / found['sum_ns_a_label']:.1f} times that")


def acceleration(draws: int = 50) -> None:
    """Exp 1(i) at gold rate .05: EM steps to the maximum, plain and accelerated."""
    design = next(one for one in EXPERIMENTS["exp1-small"] if one.gold_rate == 0.05)
    steps: dict[bool, list[int]] = {True: [], False: []}
    gaps = []
    for seed in range(draws):
        drawn = draw(design, np.random.default_rng(seed))
        patterns = patterns_of_matrix(drawn.history_labels, 2, drawn.history_gold)
        start = gold_start(patterns, 2, 1e-3)
        ends = {}
        for accelerate in (False, True):
            options = EMOptions(max_steps=200_000, accelerate=accelerate)
            ends[accelerate], report = run_em(patterns, start, options)
            steps[accelerate].append(report.n_steps)
        gaps.append(
            max(
                np.abs(ends[True].answers - ends[False].answers).max(),
                abs(ends[True].weights - ends[False].weights).max(),
            )
        )
    plain, fast = (np.array(steps[which]) for which in (False, True))
    print(f"EM steps in Exp 1(i) at gold rate .05, {draws} draws: plain {np.median(plain):.0f}, accelerated ", end="")
    print(f"{np.median(fast):.0f} (medians); all draws together {plain.sum() / fast.sum():.1f} times fewer, ", end="")
    print(f"median ratio {np.median(plain / fast):.1f}; largest difference of a parameter {max(gaps):.1e}")


def against_crowd_kit(path: Path, small: Path) -> None:
    ours = measure("fit", path)
    one, many = measure("crowd_kit", small, 2), measure("crowd_kit", small, 7)
    each = (many["seconds"] - one["seconds"]) / 5 / many["labels"]
    theirs = measure("crowd_kit", path, 2)
    plain = plain_steps(small)
    seconds = each * ours["labels"] * plain
    print(
        f"anchored EM, {ours['labels']:,} labels by 1,000 labelers: {ours['fit_seconds']:.2f} s from counted labels ",
        end="",
    )
    print(f"({ours['steps']} steps), {ours['seconds']:.1f} s from Parquet, peak {ours['peak_mb']:,.0f} MB, ", end="")
    print(f"of which the fit adds {ours['fit_adds_mb']:,.0f}")
    print(f"crowd-kit: {each * 1e9:.0f} ns a label and iteration; {plain} plain steps to the same likelihood: ", end="")
    print(f"{seconds:,.0f} s; peak {theirs['peak_mb']:,.0f} MB, of which the fit adds {theirs['fit_adds_mb']:,.0f}")
    print(f"  faster {seconds / ours['fit_seconds']:.0f} times from counted labels, ", end="")
    print(f"{seconds / ours['seconds']:.0f} times from Parquet; memory of the fit ", end="")
    print(f"1 : {theirs['fit_adds_mb'] / max(ours['fit_adds_mb'], 1):.0f}, of the process ", end="")
    print(f"1 : {theirs['peak_mb'] / ours['peak_mb']:.1f}")


def plain_steps(path: Path) -> int:
    """Steps of plain EM to the converged likelihood, by the rule that stops the accelerated one."""
    import hero_eval as hero

    return hero.fit_reliability(hero.read_round(path, engine="duckdb"), accelerate=False).report.n_steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    path, small = (given.folder / f"em-{size}-1000.parquet" for size in (given.labels, 1_000_000))
    for where, size in ((path, given.labels), (small, 1_000_000)):
        make_labels(where, size, 1_000, 0.02, seed=1)
    acceleration()
    rate(path)
    against_crowd_kit(path, small)


if __name__ == "__main__":
    main()
