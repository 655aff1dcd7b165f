"""Many good judges and little gold: the levels of items are known almost surely, where classes part is not.

    python benchmarks/many_judges.py [--draws 20] [--judges 100] [--tilts 0 0.15 0.3]

A hundred judges of accuracy .55 to .9 label all items of seven rounds of 46 to 411 items, of which 10 each have gold.
A judge's inclination to say 1 for an item is  +- z_j + own leaning + tilt of the round + shared + own noise,  where z_j
is the normal quantile of its accuracy, the shared part has .3 of the noise's variance, and the tilt is a new normal
number in each round: all judges become stricter or milder together. Three rounds of every draw (small, middling,
large) play current with their gold hidden. Shown are mean |error| with its Monte Carlo error over draws, cover and
width of the 95% interval, and each method's error over the best of dawid_skene, hero1 and hero3 without appeals and
without the shape of rounds (`hero3_plain`). `hero3_shapes` has the latter alone: what is left where gold does not bear
appeals out.
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
from multiprocessing import get_context
from unittest import mock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from real_rounds import THREADS
from scipy.special import expit, ndtri

import hero_eval as hero
from hero_eval.methods import hero3 as module
from hero_eval.model.hero3 import level_selection
from hero_eval.round import Round

SIZES = (46, 90, 130, 180, 250, 330, 411)
PLAYED = (0, 3, 6)
GOLD, TOGETHER, LEANING, RATES_SD = 10, 0.3, 0.25, 0.5
RIVALS = ("dawid_skene", "hero1", "hero3_plain")
METHODS = ("majority_vote", "gold_proportion", *RIVALS, "hero3_shapes", "hero3", "default")
SEED = 77
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """One round by one method."""

    tilt: float
    draw: int
    method: str
    error: float
    covers: bool
    width: float


def simulate(rng: np.random.Generator, n_judges: int, tilt: float) -> list[tuple[Ints, Ints, Ints]]:
    """Labels (n, J), truth (n,) and the items with gold, of every round."""
    accuracy, leaning = rng.uniform(0.55, 0.9, n_judges), rng.normal(0.0, LEANING, n_judges)
    rounds = []
    for size in SIZES:
        truth = (rng.random(size) < expit(rng.normal(0.0, RATES_SD))).astype(np.int64)
        mood = rng.normal(0.0, tilt)
        shared, own = rng.standard_normal((size, 1)), rng.standard_normal((size, n_judges))
        noise = np.sqrt(TOGETHER) * shared + np.sqrt(1.0 - TOGETHER) * own
        labels = ((2 * truth[:, None] - 1) * ndtri(accuracy) + leaning + mood + noise > 0.0).astype(np.int64)
        rounds.append((labels, truth, rng.choice(size, GOLD, replace=False)))
    return rounds


def round_of(name: str, labels: Ints, truth: Ints, shown: Ints, with_gold: bool) -> Round:
    n_items, n_judges = labels.shape
    ids = np.array([f"{name}-{number:04d}" for number in range(n_items)])
    judges = np.array([f"judge-{number:03d}" for number in range(n_judges)])
    columns = {"item": np.repeat(ids, n_judges), "labeler": np.tile(judges, n_items), "label": labels.ravel()}
    gold = pa.table({"item": ids[shown], "gold": truth[shown]}) if with_gold else None
    return Round(pa.table(columns), gold, classes=["0", "1"], name=name)


def play(job: tuple[float, int], n_judges: int, methods: Sequence[str]) -> list[Answer]:
    """All methods on the played rounds of one draw."""
    warnings.simplefilter("error")
    tilt, draw = job
    rounds = simulate(np.random.default_rng([SEED, round(100 * tilt), draw]), n_judges, tilt)
    answers = []
    for place in PLAYED:
        current = round_of(f"r{place}", *rounds[place], with_gold=False)
        past = [round_of(f"r{other}", *one, with_gold=True) for other, one in enumerate(rounds) if other != place]
        learned, truth = hero.fit_reliability(past), float(rounds[place][1].mean())
        for method in methods:
            found = estimate(current, learned, method)
            low, high = found.interval()
            answers.append(Answer(tilt, draw, method, found.value - truth, low <= truth <= high, high - low))
    return answers


def estimate(current: Round, learned: hero.Reliability, method: str) -> hero.Estimate:
    if method not in ("hero3_plain", "hero3_shapes"):
        return hero.estimate_rate(current, learned, method=None if method == "default" else method)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(level_selection, "APPEALS", ()))
        if method == "hero3_plain":
            stack.enter_context(mock.patch.object(module, "shape_is_seen", return_value=False))
        return hero.estimate_rate(current, learned, method="hero3")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="the first draw; HERO-3 was tuned on draws 0 to 9")
    parser.add_argument("--judges", type=int, default=100)
    parser.add_argument("--tilts", type=float, nargs="+", default=[0.0, 0.15, 0.3])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    asked = parser.parse_args()
    jobs = [(tilt, draw) for tilt in asked.tilts for draw in range(asked.first, asked.first + asked.draws)]
    played = partial(play, n_judges=asked.judges, methods=asked.methods)
    os.environ.update(dict.fromkeys(THREADS, "1"))
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        answers = [one for each in pool.map(played, jobs) for one in each]
    for tilt in asked.tilts:
        print(f"tilt {tilt:g}")
        of_tilt = {name: [one for one in answers if one.tilt == tilt and one.method == name] for name in asked.methods}
        errors = {name: float(np.mean([abs(one.error) for one in own])) for name, own in of_tilt.items()}
        best = min((errors[name] for name in RIVALS if name in errors), default=np.nan)
        for name, own in of_tilt.items():
            draws = sorted({one.draw for one in own})
            by_draw = [np.mean([abs(one.error) for one in own if one.draw == draw]) for draw in draws]
            chance = np.std(by_draw, ddof=1) / np.sqrt(len(by_draw)) if asked.draws > 1 else np.nan
            told = f"  {name:16s} |error| {errors[name]:.4f} +- {chance:.4f}  of the best {errors[name] / best:.2f}"
            cover, width = np.mean([one.covers for one in own]), np.mean([one.width for one in own])
            print(f"{told}  covers {cover:.3f}  width {width:.3f}")


if __name__ == "__main__":
    main()
