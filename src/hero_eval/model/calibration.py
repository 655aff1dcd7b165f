"""How well probabilities of classes agree with gold that they did not see.

Every item and class is a prediction p of whether the gold is that class, y; of two classes one tells all. Predictions
are put into bins of equal width. In a bin with n predictions the gap between the mean of p and the mean of y is part
miscalibration, part chance: calibrated predictions have a gap of sqrt(2 / pi) times its standard deviation on average,
and what that adds up to is told beside the expected calibration error.
Shapes: m items, K classes, B bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from hero_eval.model.patterns import Floats, Ints, sum_by

N_BINS = 10
"""Bins of equal width. Fewer where gold is few, or a bin would hold next to none."""
_GOLD_PER_BIN = 20
"""Golds for each bin. Doubled, fewer and wider bins for small histories, which hide more (reasoned)."""
_LEAST_BINS = 4


@dataclass(frozen=True)
class CalibrationBin:
    """Predictions from `low` to `high`: how many, their mean, the share of gold that agrees, and its 95% interval."""

    low: float
    high: float
    n: int
    predicted: float
    observed: float
    observed_low: float
    observed_high: float


@dataclass(frozen=True)
class Calibrated:
    """The bins that hold something; expected calibration error, and what chance adds to it; Brier score, and that of
    the gold's mean without any label."""

    bins: tuple[CalibrationBin, ...]
    error: float
    error_by_chance: float
    brier: float
    brier_of_mean: float
    n: int


def calibration(chance: Floats, gold: Ints, level: float = 0.95) -> Calibrated:
    """Of the items' class probabilities (m, K), beside their gold (m,)."""
    hit = np.eye(chance.shape[1])[gold]
    brier = float(((chance - hit) ** 2).sum(axis=1).mean() / 2.0)
    brier_of_mean = float(((hit.mean(axis=0) - hit) ** 2).sum(axis=1).mean() / 2.0)
    predicted, seen = (chance[:, 1:], hit[:, 1:]) if chance.shape[1] == 2 else (chance, hit)
    bins = _bins(predicted.ravel(), seen.ravel(), _number_of_bins(len(gold)), level)
    total = sum(one.n for one in bins)
    error = sum(one.n * abs(one.predicted - one.observed) for one in bins) / total
    return Calibrated(tuple(bins), error, _by_chance(predicted.ravel(), bins), brier, brier_of_mean, len(gold))


def _number_of_bins(n_gold: int) -> int:
    return min(max(n_gold // _GOLD_PER_BIN, _LEAST_BINS), N_BINS)


def _bin_of(predicted: Floats, n_bins: int) -> Ints:
    return np.minimum((predicted * n_bins).astype(np.int64), n_bins - 1)


def _bins(predicted: Floats, seen: Floats, n_bins: int, level: float) -> list[CalibrationBin]:
    place = _bin_of(predicted, n_bins)
    count, mean, hits = (sum_by(place, of, n_bins) for of in (np.ones(len(seen)), predicted, seen))
    return [
        CalibrationBin(
            b / n_bins,
            (b + 1) / n_bins,
            int(count[b]),
            float(mean[b] / count[b]),
            float(hits[b] / count[b]),
            *share_interval(float(hits[b]), float(count[b]), level),
        )
        for b in np.flatnonzero(count)
    ]


def share_interval(hits: float, n: float, level: float) -> tuple[float, float]:
    """An interval of a share (Jeffreys'); it reaches the end where no item, or every one, is a hit."""
    low = float(special.betaincinv(hits + 0.5, n - hits + 0.5, (1 - level) / 2)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 0.5, n - hits + 0.5, (1 + level) / 2)) if hits < n else 1.0
    return low, high


def _by_chance(predicted: Floats, bins: list[CalibrationBin]) -> float:
    """The expected calibration error of predictions that are right, with as many items."""
    total, found = len(predicted), 0.0
    for one in bins:
        inside = predicted[(predicted >= one.low) & ((predicted < one.high) | (one.high >= 1.0))]
        found += math.sqrt(2.0 / math.pi * float((inside * (1.0 - inside)).sum()))
    return found / total
