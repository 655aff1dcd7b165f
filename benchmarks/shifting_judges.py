"""Labelers who each err by themselves and shift together from round to round: does the rate follow their mood?

    python benchmarks/shifting_judges.py [--draws 40] [--judges 3 5 10] [--shifts 0 0.4] [--kinds strict skill both]
    python benchmarks/shifting_judges.py --kinds prompt --shifts 1
    python benchmarks/shifting_judges.py --together 0.3 --judges 5 --shifts 0.4

Each draw has `--past` past rounds of 200 items with `--golds` golds each, and a current one of 300 without. The logits
of all labelers' answers move by the same normal number of standard deviation `--shifts` in each round: towards class 1
for items of both classes (`strict`), towards the right answer (`skill`), by one number for each class (`both`), or in
the current round alone, away from class 1 for items of that class, as a changed prompt may do (`prompt`). Shown are the
bias and the root mean square error with their Monte Carlo errors, cover and width of the 95% interval, and how often a
gate at the truth opens wrongly on either side. `--together` is the correlation of labelers' errors on an item, by a
normal variable that they share: then moods are not to be had from labels. `hero3_before` is hero3 without moods
(`model.hero3.moods`).
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from unittest import mock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from real_rounds import THREADS
from scipy.special import expit, logit, ndtr

import hero_eval as hero
from hero_eval.methods import hero3 as module
from hero_eval.model.hero3 import level_selection
from hero_eval.round import Round

PAST_ITEMS, ITEMS, RATES_SD, SEED = 200, 300, 0.5, 91
KINDS = ("strict", "skill", "both", "prompt")
METHODS = ("default", "hero3_before", "hero1", "dawid_skene", "gold_proportion")
Cell = tuple[str, int, float]  # the kind, judges, and the size of shifts
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """One draw by one method; opens: whether a gate at the truth opened, above and below."""

    method: str
    error: float
    covers: bool
    width: float
    opens: tuple[bool, bool]


def shift_of(rng: np.random.Generator, kind: str, size: float, is_current: bool) -> Floats:
    """(2,): by how much logits of answering 1 move for items of class 0 and of class 1."""
    if kind == "prompt":
        return np.array([0.0, -size]) * is_current
    first, second = rng.normal(0.0, size, 2)
    return np.array({"strict": (first, first), "skill": (-first, first), "both": (second, first)}[kind])


def make_round(
    rng: np.random.Generator,
    right: Floats,
    shift: Floats,
    name: str,
    n_items: int,
    n_gold: int,
    together: float,
) -> tuple[Round, float]:
    """A round, and its true rate; right (2, J): P(right answer) of items of either class."""
    truth = (rng.random(n_items) < expit(rng.normal(0.0, RATES_SD))).astype(np.int64)
    lines = np.stack([-logit(right[0]), logit(right[1])]) + shift[:, None]
    if together:
        shared, own = rng.standard_normal((n_items, 1)), rng.standard_normal((n_items, right.shape[1]))
        drawn = ndtr(np.sqrt(together) * shared + np.sqrt(1.0 - together) * own)
    else:
        drawn = rng.random((n_items, right.shape[1]))
    labels = (drawn < expit(lines)[truth]).astype(np.int64)
    ids = np.array([f"{name}-{number:04d}" for number in range(n_items)])
    judges = np.array([f"judge-{number:02d}" for number in range(right.shape[1])])
    columns = {"item": np.repeat(ids, len(judges)), "labeler": np.tile(judges, n_items), "label": labels.ravel()}
    shown = rng.choice(n_items, n_gold, replace=False)
    gold = pa.table({"item": ids[shown], "gold": truth[shown]}) if n_gold else None
    return Round(pa.table(columns), gold, classes=["0", "1"], name=name), float(truth.mean())


def play(job: tuple[Cell, int], n_past: int, golds: int, together: float, methods: Sequence[str]) -> list[Answer]:
    """All methods on one draw."""
    warnings.simplefilter("error")
    (kind, n_judges, size), draw = job
    rng = np.random.default_rng([SEED, KINDS.index(kind), n_judges, round(100 * size), draw])
    right = rng.uniform(0.65, 0.85, (2, n_judges))
    past = []
    for number in range(n_past):
        shift = shift_of(rng, kind, size, is_current=False)
        past.append(make_round(rng, right, shift, f"r{number}", PAST_ITEMS, golds, together)[0])
    shift = shift_of(rng, kind, size, is_current=True)
    current, truth = make_round(rng, right, shift, "now", ITEMS, 0, together)
    answers = []
    for method in methods:
        found = estimate(current, past, method)
        low, high = found.interval()
        gates = hero.Gate(fail_above=truth), hero.Gate(fail_below=truth)
        above, below = (gate.verdict(found).state == "open" for gate in gates)
        answers.append(Answer(method, found.value - truth, low <= truth <= high, high - low, (above, below)))
    return answers


def estimate(current: Round, past: Sequence[Round], method: str) -> hero.Estimate:
    if method != "hero3_before":
        return hero.estimate_rate(current, past, method=None if method == "default" else method)
    with ExitStack() as stack:
        for where in (module, level_selection):
            stack.enter_context(mock.patch.object(where, "moods_are_seen", return_value=False))
        return hero.estimate_rate(current, past, method="hero3")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the first draw")
    parser.add_argument("--judges", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--shifts", type=float, nargs="+", default=[0.0, 0.4])
    parser.add_argument("--kinds", nargs="+", default=["strict"], choices=KINDS)
    parser.add_argument("--past", type=int, default=4, help="past rounds")
    parser.add_argument("--golds", type=int, default=20, help="in each of them")
    parser.add_argument("--together", type=float, default=0.0, help="correlation of labelers' errors on an item")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    asked = parser.parse_args()
    os.environ.update(dict.fromkeys(THREADS, "1"))
    played = partial(play, n_past=asked.past, golds=asked.golds, together=asked.together, methods=asked.methods)
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for cell in product(asked.kinds, asked.judges, asked.shifts):
            jobs = [(cell, draw) for draw in range(asked.first, asked.first + asked.draws)]
            answers = [one for each in pool.map(played, jobs) for one in each]
            print(f"{cell[0]}, {cell[1]} judges, shifts {cell[2]:g}")
            for method in asked.methods:
                print(summary(method, [one for one in answers if one.method == method]), flush=True)


def summary(method: str, own: Sequence[Answer]) -> str:
    """One line of the table; rounds that a method gave no number for are left out of its errors."""
    errors = np.array([one.error for one in own if np.isfinite(one.error)])
    rmse, root = float(np.sqrt(np.mean(errors**2))), np.sqrt(len(errors))
    told = f"  {method:16s} bias {errors.mean():+.3f} +- {errors.std() / root:.3f}"
    told += f"  rmse {rmse:.3f} +- {np.std(errors**2) / root / (2 * rmse):.3f}"
    cover, width = np.mean([one.covers for one in own]), np.nanmean([one.width for one in own])
    above, below = np.mean([one.opens for one in own], axis=0)
    return f"{told}  covers {cover:.3f}  width {width:.3f}  opens {above:.3f} {below:.3f}  of {len(errors)}"


if __name__ == "__main__":
    main()
