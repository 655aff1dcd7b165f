"""EM: the kernel's rate, acceleration against plain EM, and a fit against crowd-kit's Dawid-Skene.

    python benchmarks/em.py [--labels 10000000] [--folder build/bench]

crowd-kit has no gold and a step of it costs the same at every point, so that its time to the converged likelihood is
its seconds a step times the plain EM steps to that likelihood. Two ends are measured, each alike on both sides: within
1e-10 of the converged likelihood, and at rest (no parameter moves any more; ours with all that a fit says of itself). Memory is measured alike on both sides: what a fit adds
at its most to what the process held before it, with the labels in memory and all packages loaded; and the whole peak.
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


def against_crowd_kit(path: Path, few: int = 1, more: int = 3) -> None:
    """All from this run, at this size: our fit, plain EM's steps to its likelihood, crowd-kit's seconds a step."""
    ours = min((measure("fit", path) for _ in range(3)), key=lambda one: float(one["fit_seconds"]))
    plain = measure("plain_steps", path, ours["log_likelihood"])
    one, theirs = measure("crowd_kit", path, few), measure("crowd_kit", path, more)
    each = (theirs["seconds"] - one["seconds"]) / (more - few)
    seconds, rest = each * plain["steps"], each * plain["all_steps"]
    print(f"anchored EM, {ours['labels']:,} labels by 1,000 labelers: {ours['near_seconds']:.2f} s ", end="")
    print(f"to 1e-10 of the likelihood, {ours['fit_seconds']:.2f} s to rest ({ours['steps']} steps), {ours['seconds']:.1f} s from Parquet; ", end="")
    print(f"it adds {ours['fit_adds_mb']:,.0f} MB to its labels, the process's peak is {ours['process_mb']:,.0f} MB")
    print(f"plain EM: {plain['steps']} steps to that likelihood (to 1e-10 of it), {plain['all_steps']} to rest")
    print(
        f"crowd-kit: {each:.1f} s a step ({each / ours['labels'] * 1e9:.0f} ns a label), so {seconds:,.0f} s ", end=""
    )
    print(f"and {rest:,.0f} s; ", end="")
    print(f"it adds {theirs['fit_adds_mb']:,.0f} MB, the process's peak is {theirs['process_mb']:,.0f} MB")
    print(f"  faster {seconds / ours['near_seconds']:.0f} times to the likelihood, ", end="")
    print(f"{rest / ours['fit_seconds']:.0f} times to rest; memory of the fit ", end="")
    print(f"1 : {theirs['fit_adds_mb'] / ours['fit_adds_mb']:.0f}, of the process ", end="")
    print(f"1 : {theirs['process_mb'] / ours['process_mb']:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / f"em-{given.labels}-1000.parquet"
    make_labels(path, given.labels, 1_000, 0.02, seed=1)
    acceleration()
    rate(path)
    against_crowd_kit(path)


if __name__ == "__main__":
    main()
