"""The paper's simulated populations: what each cell of its experiments looks like, and one draw from it.

A cell fixes sizes, how strongly the covariate speaks about the class, and how good the labelers are on
average. Every draw makes a new pool of labelers, which history and current share, and new items for both.
Only arrays come out: a study makes rounds of them if it needs rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import expit

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]


@dataclass(frozen=True)
class Design:
    """One cell of a study.

    The class of an item is positive with probability logistic(intercept + slope * x), x standard normal. A
    labeler's sensitivity is Beta with mean `sensitivity_mean`, and `concentration` is the sum of the Beta's
    two parameters, so that a small one makes labelers differ; likewise the specificity. Each labeler labels
    an item with a probability of its own between `labeling_low` and `labeling_high`. `gold_rate` is the share
    of history's items with gold.
    """

    name: str
    n_current: int
    n_history: int
    n_labelers: int
    intercept: float
    slope: float
    sensitivity_mean: float
    specificity_mean: float
    concentration: float
    gold_rate: float
    labeling_low: float = 0.2
    labeling_high: float = 0.6

    def true_rate(self) -> float:
        """The share of positive items in the population, which every method is to hit."""
        return _mean_logistic(self.intercept, self.slope)


@dataclass(frozen=True)
class Draw:
    """One replication. Items that nobody labeled are left out, so the sizes fall below the design's.

    Labels and gold are 0 or 1, with -1 for none. By chance gold may be missing altogether or show one class
    only.
    """

    history_labels: Codes  # (N, J)
    history_gold: Codes  # (N,)
    history_x: Floats  # (N, 1)
    current_labels: Codes  # (n, J)
    current_truth: Codes  # (n,)
    current_x: Floats  # (n, 1)
    sensitivity: Floats  # (J,)
    specificity: Floats  # (J,)


def draw(design: Design, rng: np.random.Generator) -> Draw:
    """A new pool of labelers, and a history and a current round labeled by it."""
    sensitivity = _beta(design.sensitivity_mean, design, rng)
    specificity = _beta(design.specificity_mean, design, rng)
    activity = rng.uniform(design.labeling_low, design.labeling_high, design.n_labelers)

    def items(count: int) -> tuple[Codes, Codes, Floats]:
        x = rng.standard_normal(count)
        truth = rng.random(count) < expit(design.intercept + design.slope * x)
        says_positive = np.where(truth[:, None], sensitivity, 1.0 - specificity)
        labels = (rng.random((count, design.n_labelers)) < says_positive).astype(np.int8)
        labels[rng.random((count, design.n_labelers)) >= activity] = -1
        labeled = (labels >= 0).any(axis=1)
        return labels[labeled], truth[labeled].astype(np.int8), x[labeled, None]

    history_labels, history_truth, history_x = items(design.n_history)
    revealed = rng.random(len(history_truth)) < design.gold_rate
    current_labels, current_truth, current_x = items(design.n_current)
    return Draw(
        history_labels=history_labels,
        history_gold=np.where(revealed, history_truth, -1).astype(np.int8),
        history_x=history_x,
        current_labels=current_labels,
        current_truth=current_truth,
        current_x=current_x,
        sensitivity=sensitivity,
        specificity=specificity,
    )


def _beta(mean: float, design: Design, rng: np.random.Generator) -> Floats:
    concentration = design.concentration
    return rng.beta(concentration * mean, concentration * (1.0 - mean), design.n_labelers)


@cache
def _mean_logistic(intercept: float, slope: float) -> float:
    """E logistic(intercept + slope * X) for a standard normal X."""

    def integrand(x: float) -> float:
        return float(expit(intercept + slope * x) * np.exp(-x * x / 2.0) / np.sqrt(2.0 * np.pi))

    # Beyond 12 standard deviations there is less than 1e-32 left.
    value, _ = quad(integrand, -12.0, 12.0, points=[0.0], epsabs=1e-13, epsrel=1e-13, limit=200)
    return float(value)


_SMALL = Design(
    name="small",
    n_current=150,
    n_history=400,
    n_labelers=5,
    intercept=-0.2,
    slope=1.0,
    sensitivity_mean=0.85,
    specificity_mean=0.55,
    concentration=8.0,
    gold_rate=0.10,
)
_LARGE = replace(_SMALL, name="large", n_current=300, n_history=800, n_labelers=10, slope=3.0)


def _gold_rates(first: int, last: int) -> list[float]:
    return [percent / 100 for percent in range(first, last + 1)]


EXPERIMENTS: dict[str, tuple[Design, ...]] = {
    "exp1-small": tuple(
        replace(_SMALL, name=f"exp1-small gold {rate:.2f}", gold_rate=rate) for rate in _gold_rates(1, 10)
    ),
    "exp1-large": tuple(
        replace(_LARGE, name=f"exp1-large gold {rate:.2f}", gold_rate=rate) for rate in _gold_rates(5, 10)
    ),
    "exp2": tuple(
        replace(_LARGE, name=f"exp2 k {k} gold {rate:.2f}", concentration=float(k), gold_rate=rate)
        for k in (150, 30, 12, 6, 3)
        for rate in (0.05, 0.10)
    ),
}
"""The paper's 26 cells: gold rates with a weak and with a strong covariate, then how much labelers differ."""
