"""Release gates at the true rate: how often does a gate open that must stay shut?

    python benchmarks/gates.py [--draws 500] [--rates .02 .05 .10 .30] [--golds 10 30 60 200] [--past 1]
    python benchmarks/gates.py --missing .6 .2 --rates .3 --golds 80

Each draw has `--past` past rounds and a current one of 300 items each, labeled by five labelers whose sensitivities
and specificities are drawn anew; `golds` random items of the past rounds have gold, which may happen to miss a class. A
gate `fail_above` at the true rate opens wrongly if the default method is sure that the rate is lower, one `fail_below`
if it is sure that it is higher. Shown is how often either opens, how often it is undecided, and how often the 95%
interval covers, over all draws and over those in which gold misses a class.

`--missing`: the chance that a label of an item of class 0, and of class 1, is missing. Where the two differ, the number
of labels tells the class, the rate is biased, and F211 should leave gates undecided.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from real_rounds import THREADS

import hero_eval as hero

N_ITEMS, N_LABELERS, SEED = 300, 5, 12
Cell = tuple[float, int, int, tuple[float, float]]  # the rate, golds, past rounds, missing labels
Outcome = dict[str, bool]


def make_round(
    rng: np.random.Generator,
    rate: float,
    right: NDArray[np.float64],
    golds: int,
    name: str,
    missing: tuple[float, float] = (0.0, 0.0),
) -> tuple[hero.Round, bool]:
    """A round, and whether its gold misses a class; `right` (2, J): P(right answer) on either class."""
    truth = (rng.random(N_ITEMS) < rate).astype(np.int64)
    hit = rng.random((N_ITEMS, N_LABELERS)) < right[truth]
    labels = np.where(hit, truth[:, None], 1 - truth[:, None])
    items = [f"{name}-{i}" for i in range(N_ITEMS)]
    known = rng.choice(N_ITEMS, golds, replace=False)
    given = np.ones(labels.shape, dtype=bool)
    if any(missing):  # the first labeler answers always, so that no item is without
        given[:, 1:] = rng.random((N_ITEMS, N_LABELERS - 1)) >= np.array(missing)[truth][:, None]
    table = {
        "item": np.repeat(items, N_LABELERS)[given.ravel()],
        "labeler": np.tile([f"labeler{j}" for j in range(N_LABELERS)], N_ITEMS)[given.ravel()],
        "label": labels[given],
    }
    gold = pa.table({"item": [items[i] for i in known], "gold": truth[known]}) if golds else None
    return hero.Round(pa.table(table), gold=gold, name=name), len(np.unique(truth[known])) < 2


def play(job: tuple[Cell, int]) -> Outcome:
    """One draw: which gates opened or were left undecided, and whether the interval covered."""
    warnings.simplefilter("error")
    (rate, golds, n_past, missing), number = job
    rng = np.random.default_rng([SEED, round(1000 * rate), golds, n_past, number])
    right = np.stack([rng.uniform(0.85, 0.97, N_LABELERS), rng.uniform(0.7, 0.9, N_LABELERS)])
    each = [golds // n_past + (r < golds % n_past) for r in range(n_past)]
    past = [make_round(rng, rate, right, n, f"past{r}", missing) for r, n in enumerate(each)]
    current, _ = make_round(rng, rate, right, 0, "current", missing)
    found = hero.estimate_rate(current, [one for one, _ in past])
    low, high = found.interval()
    above, below = hero.Gate(fail_above=rate).verdict(found), hero.Gate(fail_below=rate).verdict(found)
    return {
        "above": above.state == "open",
        "below": below.state == "open",
        "undecided": above.state == "undecided",
        "covers": low <= rate <= high,
        "misses": all(missed for _, missed in past),
    }


def summary(cell: Cell, played: Sequence[Outcome]) -> dict[str, str]:
    """One line of the table."""

    def share(name: str, among: Sequence[Outcome]) -> str:
        return f"{np.mean([one[name] for one in among]):.3f}" if among else ""

    missed = [one for one in played if one["misses"]]
    return {
        "rate": f"{cell[0]:g}",
        "golds": str(cell[1]),
        "past_rounds": str(cell[2]),
        "draws": str(len(played)),
        "opens_above": share("above", played),
        "opens_below": share("below", played),
        "undecided": share("undecided", played),
        "covers": share("covers", played),
        "monte_carlo_error": f"{np.sqrt(0.05 * 0.95 / len(played)):.3f}",
        "gold_misses_a_class": str(len(missed)),
        "covers_then": share("covers", missed),
        "opens_then": share("above", missed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.02, 0.05, 0.10, 0.30])
    parser.add_argument("--golds", type=int, nargs="+", default=[10, 30, 60, 200])
    parser.add_argument("--past", type=int, default=1, help="past rounds, which share the golds")
    parser.add_argument("--missing", type=float, nargs=2, default=(0.0, 0.0), help="share of labels, by class")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--output", type=Path, default=Path("build/bench/gates.csv"))
    asked = parser.parse_args()
    for name in THREADS:
        os.environ[name] = "1"
    started = time.monotonic()
    lines = []
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for rate, golds in product(asked.rates, asked.golds):
            cell = (rate, golds, asked.past, tuple(asked.missing))
            lines.append(summary(cell, list(pool.map(play, [(cell, number) for number in range(asked.draws)]))))
            told = "  ".join(f"{key} {value}" for key, value in lines[-1].items())
            print(f"{told}  ({time.monotonic() - started:.0f} s)", file=sys.stderr, flush=True)
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    with asked.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    print(asked.output)


if __name__ == "__main__":
    main()
