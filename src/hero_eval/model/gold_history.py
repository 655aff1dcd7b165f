"""What the past rounds' gold alone says of a new round: no labels, only how much rounds differ.

Round r has class k with probability expit(theta_r); theta_r is normal around m with standard deviation tau. The rate
expit(m) is uniform on (0, 1) beforehand, tau half-normal of scale 1: with few past rounds the answer is cautious, with
many they decide. Everything is summed over grids, so that rounds with two or no gold items of the class do no harm.
Each class is taken against all others.
Shapes: R past rounds, K classes, T grid points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from hero_eval.model.patterns import Floats

SIZE_SCALE = 1.0
"""Of tau's half-normal prior: rates that differ between a quarter and three quarters are usual. A choice. Doubled,
intervals of few past rounds are longer, those of many as they are (reasoned)."""
_THETA: Floats = np.linspace(-9.0, 9.0, 361)
"""The grid of logits: rates from .0001 to .9999. Twice as dense or as wide, no digit that is shown changes
(reasoned)."""
_SIZES: Floats = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0])
"""The grid of tau. Twice as dense, intervals change by a fraction of a percent (reasoned)."""


@dataclass(frozen=True, eq=False)
class PastMean:
    """(K,) each: the gold's shares over all past rounds, and a prediction interval for a new round's."""

    value: Floats
    low: Floats
    high: Floats


def past_mean(gold_counts: Floats, level: float = 0.95, n_items: float | None = None) -> PastMean:
    """Predict a new round from past gold, `gold_counts` (R, K) items of each class in each round.

    The interval is that of the new round's rate, or with `n_items` that of the share among so many items of it.
    Without any gold nothing is known: nan, between 0 and 1.
    """
    counts = np.asarray(gold_counts, dtype=np.float64)
    n_classes = counts.shape[1]
    if counts.sum() == 0:
        return PastMean(np.full(n_classes, np.nan), np.zeros(n_classes), np.ones(n_classes))
    value = counts.sum(axis=0) / counts.sum()
    totals = counts.sum(axis=1)
    ends = np.array([_interval(of_class, totals, level, n_items) for of_class in counts.T])
    return PastMean(value, np.minimum(ends[:, 0], value), np.maximum(ends[:, 1], value))


def _interval(hits: Floats, totals: Floats, level: float, n_items: float | None) -> tuple[float, float]:
    """Quantiles of the share (of the class) in a new round."""
    density = predictive(hits, totals)
    shares = np.cumsum(density) - density / 2 if n_items is None else _with_items(density, n_items)
    tail = (1.0 - level) / 2
    low, high = special.expit(np.interp([tail, 1.0 - tail], shares, _THETA))
    if n_items is not None:  # an end nearer to 0 or 1 than half an item is that end
        low = 0.0 if low * n_items < 0.5 else low
        high = 1.0 if (1.0 - high) * n_items < 0.5 else high
    return float(low), float(high)


def predictive(hits: Floats, totals: Floats) -> Floats:
    """(T,) the new round's theta: `hits` of `totals` (R,) gold items were of the class in each past round."""
    by_round = hits[:, None] * special.log_expit(_THETA) + (totals - hits)[:, None] * special.log_expit(-_THETA)
    by_round -= by_round.max(axis=1, keepdims=True)
    log_likelihoods = np.log(np.maximum(_kernels() @ np.exp(by_round).T, 1e-300)).sum(axis=2)
    on_mean = special.log_expit(_THETA) + special.log_expit(-_THETA)
    on_size = -0.5 * (_SIZES / SIZE_SCALE) ** 2 + np.log(np.gradient(_SIZES))
    joint = log_likelihoods + on_mean + on_size[:, None]
    weights = np.exp(joint - joint.max())
    out: Floats = (weights / weights.sum()).ravel() @ _kernels().reshape(-1, len(_THETA))
    return out


@cache
def _kernels() -> Floats:
    """(sizes, m, theta): the normal distributions of theta, the same whatever the data."""
    densities = np.exp(-0.5 * ((_THETA[:, None] - _THETA) / _SIZES[:, None, None]) ** 2)
    out: Floats = densities / densities.sum(axis=2, keepdims=True)
    return out


def _with_items(density: Floats, n_items: float) -> Floats:
    """(T,) P(share of n items <= expit(place)): the binomial distribution, smooth between its steps."""
    share, rate = special.expit(_THETA)[:, None], special.expit(_THETA)
    steps = special.betainc(n_items * (1.0 - share) + 0.5, n_items * share + 0.5, 1.0 - rate)
    out: Floats = steps @ density
    return out
