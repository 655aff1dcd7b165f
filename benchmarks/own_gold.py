"""A round alone with its own gold: is the default at least as good as what else its owner could do with that gold?

    python benchmarks/own_gold.py [--draws 200] [--jobs 2]                 simulated rounds
    python benchmarks/own_gold.py --labelers 2 5 --golds 15 30 --rates .1 .3 .5   others
    HERO_DATA=... python benchmarks/own_gold.py --real [--draws 20]        real rounds

Simulated: 400 items of which 35% are of class 1, 3 or 10 labelers who label all of them, gold for 30 or 100 items at
random; labelers of sensitivity and specificity between .65 and .9 who err each by itself, the same who err together
(latent correlation .5), and labelers near chance (.5 to .56). The truth is the 35%. Real: every round of a setting with
10% and 30% of its gold shown (two golds at least); the truth is the share among all its items.

Rivals: `gold_mean` (the plain mean of the gold shown), `ppi` (this package), `ppi_py` (ppi-python's `ppi_mean` with the
majority vote as prediction, power tuned; the bench extra), and for comparison `hero3` on the same gold. hero3's and
ppi's values are read off the default's own finding of how it weighed the two. `sd_by_se` is the standard deviation of
the default's errors over its mean standard error. Results go to docs/results/own_gold.csv.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from real_sets import SETS, find_data, parts_of
from scipy.special import ndtri

import hero_eval as hero
from hero_eval.round import Round

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results" / "own_gold.csv"
KINDS = ("independent", "correlated", "near chance")
LABELERS, GOLDS, SHARES = (3, 10), (30, 100), (0.10, 0.30)
N_ITEMS, RATE, TOGETHER = 400, 0.35, 0.5
LEVEL, SEED = 0.95, 13
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
METHODS = ("default", "gold_mean", "ppi", "ppi_py", "hero3")
RIVALS = ("gold_mean", "ppi", "ppi_py")
KEY = ("setting", "labelers", "gold", "rate")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cell:
    """Simulated rounds of one kind, or the real rounds of one setting with a share of their gold."""

    setting: str
    labelers: int
    gold: float
    rate: float = RATE

    @property
    def is_real(self) -> bool:
        return self.setting in SETS


@dataclass(frozen=True)
class Outcome:
    """Of one round: what each method said (`METHODS`), the truth, and the default's interval."""

    cell: Cell
    draw: int
    truth: float
    values: tuple[float, ...]
    low: float
    high: float
    std_error: float
    method: str
    weight: float


def main() -> None:
    asked = options()
    cells = real_cells() if asked.real else simulated_cells(asked.labelers, asked.golds, asked.rates)
    cells = [cell for cell in cells if asked.only in cell.setting]
    for name in THREADS:
        os.environ[name] = "1"
    jobs = [(cell, draw) for cell in cells for draw in range(asked.draws)]
    started, found = time.monotonic(), []
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for number, outcomes in enumerate(pool.map(play, jobs, chunksize=5)):
            found += outcomes
            if (number + 1) % asked.draws == 0:
                row = summary(jobs[number][0], found)
                print(told(row), f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    if asked.raw is not None:
        write_raw(asked.raw, found)
    update(asked.output, [summary(cell, found) for cell in cells])


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--real", action="store_true", help="real rounds instead of simulated ones")
    parser.add_argument("--labelers", type=int, nargs="+", default=LABELERS)
    parser.add_argument("--golds", type=int, nargs="+", default=GOLDS)
    parser.add_argument("--rates", type=float, nargs="+", default=(RATE,), help="of class 1")
    parser.add_argument("--only", default="", help="settings whose name has this in it")
    parser.add_argument("--output", type=Path, default=RESULTS, help="summary (CSV); its other rows are kept")
    parser.add_argument("--raw", type=Path, help="every single estimate (CSV)")
    return parser.parse_args()


def simulated_cells(
    labelers: Sequence[int] = LABELERS, golds: Sequence[int] = GOLDS, rates: Sequence[float] = (RATE,)
) -> list[Cell]:
    return [Cell(*of) for of in product(KINDS, labelers, golds, rates)]


def real_cells() -> list[Cell]:
    return [Cell(name, 0, share) for name, share in product(SETS, SHARES)]


def play(job: tuple[Cell, int]) -> list[Outcome]:
    """One draw: of a simulated round, or of the gold of every real round."""
    warnings.simplefilter("error")
    cell, draw = job
    if not cell.is_real:
        place = [KINDS.index(cell.setting), cell.labelers, int(cell.gold), draw]
        place += [round(1000 * cell.rate)] * (cell.rate != RATE)
        labels, truth, shown = simulated(cell, np.random.default_rng([SEED, *place]))
        return [answered(cell, draw, cell.rate, labels, np.where(shown, truth, -1))]
    rng = np.random.default_rng([SEED, list(SETS).index(cell.setting), round(100 * cell.gold), draw])
    outcomes = []
    for part in parts_of(cell.setting, find_data()):
        labels, truth = matrix_of(part.labels, part.gold)
        size = max(2, round(cell.gold * len(truth)))
        shown = np.isin(np.arange(len(truth)), rng.choice(len(truth), size, replace=False))
        outcomes.append(answered(cell, draw, part.truth, labels, np.where(shown, truth, -1)))
    return outcomes


def simulated(cell: Cell, rng: np.random.Generator) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Labels (n, J), the truth (n,) and whose gold is shown (n,)."""
    truth = (rng.random(N_ITEMS) < cell.rate).astype(np.int64)
    low, high = (0.5, 0.56) if cell.setting == "near chance" else (0.65, 0.9)
    right = rng.uniform(low, high, (2, cell.labelers))
    together = TOGETHER if cell.setting == "correlated" else 0.0
    common, own = rng.standard_normal((N_ITEMS, 1)), rng.standard_normal((N_ITEMS, cell.labelers))
    errs = np.sqrt(together) * common + np.sqrt(1 - together) * own > ndtri(right[truth])
    labels = np.where(errs, 1 - truth[:, None], truth[:, None])
    shown = np.isin(np.arange(N_ITEMS), rng.choice(N_ITEMS, int(cell.gold), replace=False))
    return labels, truth, shown


def matrix_of(labels: pa.Table, gold: pa.Table) -> tuple[Ints, Ints]:
    """Labels (n, J), -1 where there is none, and gold (n,) of the items that have both."""
    items = {name: place for place, name in enumerate(gold["item"].to_pylist())}
    people = {name: place for place, name in enumerate(sorted(set(labels["labeler"].to_pylist())))}
    found = np.full((len(items), len(people)), -1, dtype=np.int64)
    columns = (labels[name].to_pylist() for name in ("item", "labeler", "label"))
    for item, person, label in zip(*columns, strict=True):
        found[items[item], people[person]] = int(label)
    return found, np.array([int(value) for value in gold["gold"].to_pylist()], dtype=np.int64)


def round_of(labels: Ints, gold: Ints) -> Round:
    item, person = np.nonzero(labels >= 0)
    ids = np.array([f"i{number:05d}" for number in range(len(labels))])
    people = np.array([f"labeler-{number:03d}" for number in range(labels.shape[1])])
    table = pa.table({"item": ids[item], "labeler": people[person], "label": labels[item, person]})
    known = gold >= 0
    return Round(table, pa.table({"item": ids[known], "gold": gold[known]}), classes=["0", "1"], name="round")


def answered(cell: Cell, draw: int, truth: float, labels: Ints, gold: Ints) -> Outcome:
    """What the default and its rivals say of one round."""
    found = hero.estimate_rate(round_of(labels, gold), level=LEVEL)
    known = gold >= 0
    data = next(one.data for one in found.findings if one.code == "F306")
    weight = float(data["weight"])
    by_ppi, by_hero3 = (data[name][1] if name in data else found.value for name in ("ppi", "hero3"))
    values = (found.value, float(gold[known].mean()), by_ppi, _ppi_py(labels, gold), by_hero3)
    return Outcome(cell, draw, truth, values, *found.interval(), found.std_error, found.method, weight)


def _ppi_py(labels: Ints, gold: Ints) -> float:
    """ppi-python's mean, with the majority vote as prediction; ties count half."""
    ones, given = (labels == 1).sum(axis=1), (labels >= 0).sum(axis=1)
    vote = np.where(2 * ones == given, 0.5, (2 * ones > given).astype(float))
    known = gold >= 0
    if known.all():
        return float(gold.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module: Any = importlib.import_module("ppi_py")
        return float(np.ravel(module.ppi_mean_pointestimate(gold[known].astype(float), vote[known], vote[~known]))[0])


# ------------------------------------------------------------------------------------------------ summaries


def summary(cell: Cell, outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Errors of every method (RMSE of simulated rounds, mean |error| of real ones), their ratios and the cover."""
    own = [one for one in outcomes if one.cell == cell]
    off = np.array([[value - one.truth for value in one.values] for one in own])
    draws = np.array([one.draw for one in own])
    errors = _error(cell, off)
    best = int(min((METHODS.index(name) for name in RIVALS), key=lambda place: errors[place]))
    again = np.array([_error(cell, off[np.isin(draws, _some(draws, seed))]) for seed in range(200)])
    covered = np.array([one.low <= one.truth <= one.high for one in own], dtype=float)
    by_draw = np.array([covered[draws == draw].mean() for draw in np.unique(draws)])
    row = dict(zip(KEY, key_of(cell), strict=True))
    row |= {"draws": str(len(by_draw)), "measure": "mean |error|" if cell.is_real else "RMSE"}
    row |= {name: f"{error:.5f}" for name, error in zip(METHODS, errors, strict=True)}
    row |= {"best_rival": METHODS[best], "ratio": f"{errors[0] / errors[best]:.4f}"}
    row |= {"ratio_se": f"{(again[:, 0] / again[:, best]).std() / np.sqrt(2):.4f}"}  # half samples vary twice as much
    row |= {"coverage": f"{covered.mean():.4f}"}
    row |= {"coverage_se": f"{by_draw.std(ddof=1) / np.sqrt(len(by_draw)) if len(by_draw) > 1 else np.nan:.4f}"}
    row |= {"width": f"{np.mean([one.high - one.low for one in own]):.4f}"}
    row |= {"sd_by_se": f"{off[:, 0].std() / np.mean([one.std_error for one in own]):.3f}"}
    return row | {"weight": f"{np.mean([one.weight for one in own]):.3f}"}


def _error(cell: Cell, off: Floats) -> Floats:
    out: Floats = np.abs(off).mean(axis=0) if cell.is_real else np.sqrt((off**2).mean(axis=0))
    return out


def _some(draws: Ints, seed: int) -> Ints:
    """Half of the draws, at random."""
    names = np.unique(draws)
    return np.random.default_rng(seed).choice(names, max(len(names) // 2, 1), replace=False)


def write_raw(path: Path, outcomes: Sequence[Outcome]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        told = ("low", "high", "std_error", "method", "weight")
        writer.writerow(["setting", "labelers", "gold", "draw", "truth", *METHODS, *told])
        for one in outcomes:
            cell = one.cell
            found = (*one.values, one.low, one.high, one.std_error, one.method, one.weight)
            writer.writerow([cell.setting, cell.labelers, cell.gold, one.draw, one.truth, *found])


def told(row: dict[str, str]) -> str:
    return "  ".join(f"{name} {value}" for name, value in row.items() if value)


def update(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write the rows in place of those of the same cells; the others are kept."""
    old: Iterator[dict[str, str]] = iter(())
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            old = iter(list(csv.DictReader(file)))
    merged = {tuple(row[name] for name in KEY): row for row in [*old, *rows]}
    usual = [key_of(cell) for cell in [*simulated_cells(), *real_cells()]]
    order = [*usual, *sorted(merged.keys() - set(usual))]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(merged[key] for key in order if key in merged)


def key_of(cell: Cell) -> tuple[str, ...]:
    """What a cell is told from others by (`KEY`)."""
    if cell.is_real:
        return cell.setting, "", f"{cell.gold:g}", ""
    return cell.setting, str(cell.labelers), f"{cell.gold:g}", f"{cell.rate:g}"


if __name__ == "__main__":
    main()
