"""EM: the kernel's rate, acceleration against plain EM, and a fit against crowd-kit's Dawid-Skene.

    python benchmarks/em.py [--labels 10000000] [--folder build/bench]

A likelihood is reached when it is within 1e-10 of the converged one; at rest no parameter moves any more (and our fit
has told all it has to tell). crowd-kit has no gold, starts from votes, and climbs plainly: it is run for 80 steps, of
which so many count as its own likelihood needs. That start is a poor one, so it is also told how long its steps would
take if it climbed from ours, by the steps of our own plain EM. Memory is measured alike on both sides: what a fit adds
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


def against_crowd_kit(path: Path, steps: int = 80) -> None:
    """All from this run, at this size: our fit, and crowd-kit's."""
    ours = min((measure("fit", path) for _ in range(3)), key=lambda one: float(one["fit_seconds"]))
    plain, theirs = measure("plain_steps", path, ours["log_likelihood"]), measure("crowd_kit", path, steps)
    each = theirs["seconds"] / steps
    print(f"anchored EM, {ours['labels']:,} labels by 1,000 labelers: {ours['near_seconds']:.2f} s to its likelihood, ")
    print(
        f"  {ours['fit_seconds']:.2f} s to rest ({ours['steps']} steps), {ours['seconds']:.1f} s from Parquet; ", end=""
    )
    print(f"it adds {ours['fit_adds_mb']:,.0f} MB to its labels, the process's peak is {ours['process_mb']:,.0f} MB")
    print(f"crowd-kit: {each:.1f} s a step ({each / ours['labels'] * 1e9:.0f} ns a label); ", end="")
    print(f"it adds {theirs['fit_adds_mb']:,.0f} MB, the process's peak is {theirs['process_mb']:,.0f} MB")
    ends = (
        ("to its own likelihood", theirs["near_steps"], ours["near_seconds"]),
        ("to ours, from our start", plain["steps"], ours["near_seconds"]),
        ("to rest, from our start", plain["all_steps"], ours["fit_seconds"]),
    )
    for end, needed, seconds in ends:
        print(f"  {end}: {needed} steps, {each * needed:,.0f} s, {each * needed / seconds:.0f} times as long")
    print(f"  memory of the fit 1 : {theirs['fit_adds_mb'] / ours['fit_adds_mb']:.0f}, of the process ", end="")
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
