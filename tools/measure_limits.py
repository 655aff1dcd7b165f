"""Measures how far the methods are off when an assumption fails, on simulated rounds whose truth is known.

    python tools/measure_limits.py           writes docs/results/limits.csv (200 draws a situation)
    python tools/measure_limits.py 20 x.csv  20 draws a situation, written to x.csv

The rounds are those of the study exp1-large at gold rate 0.10: 300 current and 800 history items, ten labelers, a
covariate x that tells much about the class. Each situation breaks one assumption and keeps the others.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
from markers import DOCS
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri
from threadpoolctl import threadpool_limits

import hero_eval as hero
from hero_eval.studies.designs import EXPERIMENTS, Design

OUTPUT = DOCS / "results" / "limits.csv"
DESIGN = EXPERIMENTS["exp1-large"][-1]
METHODS = ("majority_vote", "gold_proportion", "hero1", "hero2", "hero3")
PLAIN = "hero3 without x"
SEED = 5

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Situation:
    """What differs from the assumptions: how much errors hang together, labelers drift, and the covariate moves."""

    name: str
    together: float = 0.0  # correlation of the labelers' errors on the same item
    drift: float = 0.0  # added to the logit of every sensitivity in the current round
    moved: float = 0.0  # added to the covariate in the current round, in standard deviations
    shape: str = "line"  # of the class probability in the covariate: a logistic line, or a shape that it is not

    def probability(self, x: Floats, design: Design) -> Floats:
        """P(class 1) of items with covariate x."""
        if self.shape == "bump":
            return 0.1 + 0.8 * np.exp(-(x**2))
        if self.shape == "sine":
            return 0.5 + 0.4 * np.sin(3 * x)
        line: Floats = expit(design.intercept + design.slope * x)
        return line

    def true_rate(self, design: Design) -> float:
        """The mean probability over the current round's normal covariate, by Gauss-Hermite quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(200)
        return float(weights @ self.probability(nodes + self.moved, design) / weights.sum())


SITUATIONS = (
    Situation("as assumed"),
    Situation("labelers err together, correlation 0.2", together=0.2),
    Situation("labelers err together, correlation 0.5", together=0.5),
    Situation("every labeler overlooks more (logit -0.5)", drift=-0.5),
    Situation("the mean of x moved by 0.3 sd", moved=0.3),
    Situation("the class follows x in a bump", shape="bump"),
    Situation("the class follows x in a sine", shape="sine"),
)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else OUTPUT
    rows = []
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for position, situation in enumerate(SITUATIONS):
            jobs = [(position, number) for number in range(count)]
            outcomes = np.array(list(pool.map(replicate, jobs, chunksize=10)))
            rows += list(summary(situation, outcomes))
    with output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def replicate(job: tuple[int, int]) -> Floats:
    """(methods, 4): value, low, high and whether F403 was found, in one draw; hero3 without x comes last."""
    warnings.simplefilter("error")
    position, number = job
    rng = np.random.default_rng([SEED, position, number])
    current, history = draw(DESIGN, SITUATIONS[position], rng)
    with threadpool_limits(1):
        found = {name: hero.estimate_rate(current, history, method=name, covariates=_takes(name)) for name in METHODS}
        found[PLAIN] = hero.estimate_rate(current, history, method="hero3")
    outcomes = []
    for one in found.values():
        outcomes.append([one.value, *one.interval(), any(finding.code == "F403" for finding in one.findings)])
    return np.array(outcomes, dtype=float)


def _takes(name: str) -> list[str] | None:
    return ["x"] if name in ("hero2", "hero3") else None


def draw(design: Design, situation: Situation, rng: np.random.Generator) -> tuple[hero.Round, hero.Round]:
    """A current round and its history, with the same labelers."""
    shares = (design.sensitivity_mean, design.specificity_mean)
    sensitivity, specificity = (
        rng.beta(design.concentration * mean, design.concentration * (1 - mean), design.n_labelers) for mean in shares
    )
    activity = rng.uniform(design.labeling_low, design.labeling_high, design.n_labelers)
    drifted = expit(logit(sensitivity) + situation.drift)
    history = _round("history", design, situation, (sensitivity, specificity, activity), rng)
    current = _round("current", design, situation, (drifted, specificity, activity), rng)
    return current, history


def _round(
    name: str,
    design: Design,
    situation: Situation,
    labelers: tuple[Floats, Floats, Floats],
    rng: np.random.Generator,
) -> hero.Round:
    """Errors on an item share a normal part; each labeler errs as often as without it."""
    sensitivity, specificity, activity = labelers
    size = design.n_history if name == "history" else design.n_current
    x = rng.standard_normal(size) + (situation.moved if name == "current" else 0.0)
    truth = rng.random(size) < situation.probability(x, design)
    error_rate = np.where(truth[:, None], 1 - sensitivity, 1 - specificity)
    common, own = rng.standard_normal((size, 1)), rng.standard_normal((size, design.n_labelers))
    hidden = np.sqrt(situation.together) * common + np.sqrt(1 - situation.together) * own
    labels = truth[:, None] ^ (hidden < ndtri(error_rate))
    item, labeler = np.nonzero(rng.random(labels.shape) < activity)
    ids = np.array([f"i{number:04d}" for number in range(size)])
    table = pa.table(
        {
            "item": ids[item],
            "labeler": np.array([f"labeler-{number:02d}" for number in range(design.n_labelers)])[labeler],
            "label": labels[item, labeler].astype(int),
        }
    )
    revealed = np.flatnonzero((rng.random(size) < design.gold_rate) & np.isin(np.arange(size), item))
    gold = pa.table({"item": ids[revealed], "gold": truth[revealed].astype(int)}) if name == "history" else None
    return hero.Round(table, gold, pa.table({"item": ids, "x": x}), name=name)


def summary(situation: Situation, outcomes: Floats) -> Iterator[dict[str, object]]:
    """One row a method; the errors of a simulation of this size end in _se."""
    truth = situation.true_rate(DESIGN)
    count = len(outcomes)
    for position, method in enumerate((*METHODS, PLAIN)):
        value, low, high, flagged = outcomes[:, position].T
        covered = float(np.mean((low <= truth) & (truth <= high)))
        yield {
            "situation": situation.name,
            "method": method,
            "truth": round(truth, 6),
            "replications": count,
            "bias": round(float(np.mean(value - truth)), 6),
            "bias_se": round(float(value.std(ddof=1) / np.sqrt(count)), 6),
            "sd": round(float(value.std(ddof=1)), 6),
            "rmse": round(float(np.sqrt(np.mean((value - truth) ** 2))), 6),
            "coverage": round(covered, 6),
            "coverage_se": round(float(np.sqrt(covered * (1 - covered) / count)), 6),
            "F403": round(float(flagged.mean()), 6),
        }


if __name__ == "__main__":
    main()
