"""Many labelers with few labels each: is the rate right, and does its interval know how little each of them tells?

    python benchmarks/thin_labelers.py [--draws 100] [--labelers 30 100 300 1000] [--labels 1 3 10] [--golds 30 300]
    python benchmarks/thin_labelers.py --labelers 1000 --draws 150 --default hero3 --hero1-draws 40 --products
    python benchmarks/thin_labelers.py --labelers 300 --labels 1 --golds 30 --right 0.8/0.8 0.9/0.6 0.6/0.9

One past round and the current one have 1,000 items each; every item is labeled by labelers drawn at random. Labelers
are right with probability .8 (`--spread` lets their logits differ by that standard deviation), the rate is .3, and
`golds` random items of the past round have gold. The default method is held against three that take the same data in
simpler ways: hero1 as it is, hero1 with all labelers pooled into one, and the pooled labeler's proportions on gold
alone. Shown are the root of the mean squared error against the rate, its ratio to the best rival, and how often the 95%
interval covers, each with its Monte Carlo error.

A hundred draws tell a cover to two hundredths, and sixty once showed .85 where .945 is right. Without `--spread` there
is an answer that knows all labelers to be one (`one_labeler.py`), which takes no time. How often it covers in the same
draws (`cover one`) and in 20,000 others (`cover one, many`) tells what luck those draws had: `cover adjusted` is the
default's with that taken off, and its Monte Carlo error that of the draws in which only one of the two covers. `most
apart` is how far the two values ever were from each other: with 1,000 labelers (47 draws a cell) .0002 with 3 and 10
labels, .001 and .011 with one label and 300 and 30 golds. So the default covers as the one labeler does, .948 to .958.

With one label an item and few golds, hero1 as it is can look better than methods that are right on average: every
labeler fits its own few labels, which draws the rate towards the share of answers "1", and where sensitivity and
specificity are both .8 that pull happens to be small at any rate. Where they are not alike it is a bias of .1 and more,
and hero1's interval misses in either case. `--right` (sensitivity/specificity) draws several such crowds and adds a
line "all" that takes their errors together: with 300 labelers, 1 label and 30 golds (30 draws each) hero1 errs .039,
.164 and .143, together .128; hero1 with labelers pooled .064, .071 and .073, together .070; the default .066 together.
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
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import numpy as np
import one_labeler
import pyarrow as pa
from numpy.typing import NDArray
from real_rounds import THREADS
from scipy.special import expit, logit

import hero_eval as hero
from hero_eval.model.hero3 import level_information

N_ITEMS, RATE, RIGHT, SEED, MANY = 1_000, 0.3, 0.8, 11, 20_000
FEW_PARAMETERS = 500
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Cell:
    """One setting of the study."""

    labelers: int
    labels: int
    golds: int
    spread: float
    right: tuple[float, float] = (RIGHT, RIGHT)
    """On class 0 (specificity) and on class 1 (sensitivity)."""


@dataclass(frozen=True)
class Drawn:
    """A round as arrays: who labeled each item (n, labels), what they said, the truth (n,), which items have gold."""

    labeler: Ints
    answer: Ints
    truth: Ints
    gold: Ints

    def round(self, name: str) -> hero.Round:
        n_items, per_item = self.labeler.shape
        items = np.repeat(np.arange(n_items), per_item)
        labels = pa.table(
            {
                "item": [f"{name}{i}" for i in items],
                "labeler": [f"labeler{j}" for j in self.labeler.ravel()],
                "label": self.answer.ravel(),
            }
        )
        gold = pa.table({"item": [f"{name}{i}" for i in self.gold], "gold": self.truth[self.gold]})
        return hero.Round(labels, gold=gold if len(self.gold) else None)


def draw_round(rng: np.random.Generator, cell: Cell, right: Floats, golds: int) -> Drawn:
    """`right` (labelers, 2): the probability of each labeler's right answer on either class."""
    truth = (rng.random(N_ITEMS) < RATE).astype(np.int64)
    labeler = rng.random((N_ITEMS, cell.labelers)).argsort(axis=1)[:, : cell.labels]
    hit = rng.random(labeler.shape) < right[labeler, truth[:, None]]
    answer = np.where(hit, truth[:, None], 1 - truth[:, None])
    return Drawn(labeler, answer, truth, rng.choice(N_ITEMS, golds, replace=False))


def pooled_rates(past: Drawn, current: Drawn) -> tuple[float, float]:
    """The rate by one labeler that stands for all: by anchored EM, and by its proportions on gold alone."""
    per_item = past.answer.shape[1]
    said, now = past.answer.sum(axis=1), current.answer.sum(axis=1)
    gold = np.full(N_ITEMS, np.nan)
    gold[past.gold] = past.truth[past.gold]
    known = ~np.isnan(gold)
    hits = [(said[known & (gold == k)].sum() + 1.0) / (np.sum(gold == k) * per_item + 2.0) for k in (0, 1)]
    by_gold = _mixed_rate(now, per_item, hits[1], hits[0])
    false, true, rate = hits[0], hits[1], float(np.nanmean(gold)) * 0.98 + 0.01
    for _ in range(500):
        share = expit(logit(rate) + said * np.log(true / false) + (per_item - said) * np.log((1 - true) / (1 - false)))
        share[known] = gold[known]
        before = (true, false, rate)
        true = float(np.clip(share @ said / (share.sum() * per_item), 1e-3, 1 - 1e-3))
        false = float(np.clip((1 - share) @ said / ((1 - share).sum() * per_item), 1e-3, 1 - 1e-3))
        rate = float(np.clip(share.mean(), 1e-3, 1 - 1e-3))
        if max(abs(a - b) for a, b in zip(before, (true, false, rate), strict=True)) < 1e-9:
            break
    return _mixed_rate(now, per_item, true, false), by_gold


def _mixed_rate(said: Ints, per_item: int, true: float, false: float) -> float:
    """The rate at which a mixture of two known binomials explains the numbers of answers "1" best."""
    ratio = said * np.log(true / false) + (per_item - said) * np.log((1 - true) / (1 - false))
    rate = 0.5
    for _ in range(2_000):
        new = float(np.clip(expit(logit(rate) + ratio).mean(), 1e-6, 1 - 1e-6))
        if abs(new - rate) < 1e-9:
            break
        rate = new
    return rate


@dataclass(frozen=True)
class Job:
    """One draw of a cell. `default` names the method that is judged (None: the one the package picks); `products`
    says that its information is multiplied with instead of formed from 500 parameters on."""

    cell: Cell
    number: int
    default: str | None
    with_hero1: bool
    products: bool


def counted(past: Drawn, current: Drawn) -> one_labeler.Answers:
    """What the one labeler sees of a draw."""
    per_item = past.answer.shape[1]
    said, known = past.answer.sum(axis=1), np.isin(np.arange(N_ITEMS), past.gold)
    parts = said[known & (past.truth == 1)], said[known & (past.truth == 0)], said[~known], current.answer.sum(axis=1)
    return one_labeler.Answers(*(np.bincount(one, minlength=per_item + 1)[None].astype(float) for one in parts))


def play(job: Job) -> dict[str, tuple[float, float, float]]:
    """Value and ends of the interval by every way of one draw; nan where a way has none or was not asked."""
    warnings.simplefilter("error")
    cell, number = job.cell, job.number
    rng = np.random.default_rng([SEED, cell.labelers, cell.labels, cell.golds, round(100 * cell.spread), number])
    right = expit(logit(np.array(cell.right)) + cell.spread * rng.normal(size=(cell.labelers, 2)))
    past, current = draw_round(rng, cell, right, cell.golds), draw_round(rng, cell, right, 0)
    history, now = past.round("past"), current.round("now")
    found = {}
    for name, method in (("default", job.default), ("hero1", "hero1")):
        if name == "hero1" and not job.with_hero1:
            found[name] = (np.nan, np.nan, np.nan)
            continue
        with mock.patch.object(level_information, "DENSE_LIMIT", FEW_PARAMETERS) if job.products else nullcontext():
            estimate = hero.estimate_rate(now, history, method=method)
        found[name] = (estimate.value, *estimate.interval())
    alike, low, high = (float(one[0]) for one in one_labeler.estimate(counted(past, current)))
    found["one labeler"] = (alike, low, high)
    for name, value in zip(("pooled hero1", "pooled gold"), pooled_rates(past, current), strict=True):
        found[name] = (value, np.nan, np.nan)
    return found


def summary(cell: Cell, played: Sequence[dict[str, tuple[float, float, float]]], right: str) -> dict[str, object]:
    """One line of the table; `right` names the labelers' sensitivity and specificity."""
    errors = {name: np.array([one[name][0] - RATE for one in played]) for name in played[0]}
    roots = {
        name: float(np.sqrt(np.nanmean(error**2))) if np.isfinite(error).any() else np.nan
        for name, error in errors.items()
    }
    ratios = []  # each in the draws in which the rival was asked
    for name in ("hero1", "pooled hero1", "pooled gold"):
        there = ~np.isnan(errors[name])
        if there.any():
            ratios.append(float(np.sqrt(np.mean(errors["default"][there] ** 2))) / roots[name])
    squares = errors["default"] ** 2
    ends = np.array([one["default"][1:] for one in played])
    covered = {
        name: np.array([one[name][1] <= RATE <= one[name][2] for one in played if not np.isnan(one[name][1])])
        for name in ("default", "hero1", "one labeler")
    }
    covers, others = (
        float(covered["default"].mean()),
        float(covered["hero1"].mean()) if len(covered["hero1"]) else np.nan,
    )
    return {
        "labelers": cell.labelers,
        "labels_per_item": cell.labels,
        "golds": cell.golds,
        "spread": cell.spread,
        "right": right,
        "draws": len(played),
        **{f"rmse {name}": f"{root:.4f}" for name, root in roots.items()},
        "rmse_se": f"{squares.std() / np.sqrt(len(squares)) / (2 * roots['default']):.4f}",
        "ratio": f"{max(ratios):.2f}",
        "cover": f"{covers:.3f}",
        "cover_se": f"{np.sqrt(max(covers * (1 - covers), 0.0475) / len(played)):.3f}",
        "most apart": f"{np.abs(errors['default'] - errors['one labeler']).max():.4f}",
        "width": f"{np.mean(ends[:, 1] - ends[:, 0]):.3f}",
        "cover hero1": f"{others:.3f}",
        **(adjusted(cell, covered["default"], covered["one labeler"]) if cell.spread == 0.0 and right != "all" else {}),
    }


def adjusted(cell: Cell, default: Bools, alike: Bools) -> dict[str, str]:
    """The cover with the luck of the draws taken off, by the one labeler that knows all to be alike."""
    rng = np.random.default_rng([SEED, cell.labels, cell.golds])
    drawn = one_labeler.draw_answers(rng, MANY, N_ITEMS, cell.labels, cell.golds, RATE, cell.right)
    _, low, high = one_labeler.estimate(drawn)
    many = float(np.mean((low <= RATE) & (high >= RATE)))
    gap = default.astype(float) - alike
    chance = np.sqrt((gap.var() + many * (1 - many) * len(gap) / MANY) / len(gap))
    return {
        "cover one": f"{alike.mean():.3f}",
        "cover one, many": f"{many:.3f}",
        "cover adjusted": f"{many + gap.mean():.3f}",
        "cover adjusted_se": f"{chance:.3f}",
    }


def _right(told: str) -> tuple[float, float]:
    """Specificity and sensitivity, from "sensitivity/specificity"."""
    sensitivity, specificity = (float(one) for one in told.split("/"))
    return specificity, sensitivity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--labelers", type=int, nargs="+", default=[30, 100, 300, 1_000])
    parser.add_argument("--labels", type=int, nargs="+", default=[1, 3, 10], help="labels per item")
    parser.add_argument("--golds", type=int, nargs="+", default=[30, 300])
    parser.add_argument("--spread", type=float, default=0.0, help="standard deviation of labelers' logits")
    parser.add_argument("--right", nargs="+", default=[f"{RIGHT}/{RIGHT}"], help="sensitivity/specificity of labelers")
    parser.add_argument("--first", type=int, default=0, help="the number of the first draw")
    parser.add_argument("--default", help="the method that is judged, if not the package's own choice")
    parser.add_argument("--hero1-draws", type=int, help="draws in which hero1 is asked, too (else all)")
    parser.add_argument(
        "--products",
        action="store_true",
        help=f"solve by products from {FEW_PARAMETERS} parameters on: a third of the time, the same to a millionth",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--output", type=Path, default=Path("build/bench/thin_labelers.csv"))
    asked = parser.parse_args()
    for name in THREADS:
        os.environ[name] = "1"
    cells = [Cell(*one, asked.spread) for one in product(asked.labelers, asked.labels, asked.golds)]
    started = time.monotonic()
    lines = []
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for cell in cells:
            crowds = {right: replace(cell, right=_right(right)) for right in asked.right}
            asking = asked.draws if asked.hero1_draws is None else asked.hero1_draws
            jobs = {
                name: [
                    Job(crowd, asked.first + number, asked.default, number < asking, asked.products)
                    for number in range(asked.draws)
                ]
                for name, crowd in crowds.items()
            }
            played = {name: list(pool.map(play, some)) for name, some in jobs.items()}
            if len(played) > 1:
                played["all"] = [one for some in played.values() for one in some]
            for name, some in played.items():
                lines.append(summary(cell, some, name))
                told = "  ".join(f"{key} {value}" for key, value in lines[-1].items())
                print(f"{told}  ({time.monotonic() - started:.0f} s)", file=sys.stderr, flush=True)
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    with asked.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for line in lines for key in line)))
        writer.writeheader()
        writer.writerows(lines)
    print(asked.output)


if __name__ == "__main__":
    main()
