"""Stage C: the control variate. Current scores are regressed on covariates whose mean history knows better.

gamma = (V + penalty)^-1 C with V the covariates' covariance and C their covariance with the pilot scores, both in the
current round; the tilt of the score equation is gamma'(current mean - historical mean). Covariates are scaled to unit
variance first, text covariates by one common scale, so that a penalty means the same for all of them.
A missing value counts as the historical mean: it adds nothing to the difference of the means, so that rounds with
different shares of missing values can be compared, and the historical mean itself is that of the values seen.
Shapes: n items, d covariates, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from hero_eval.model.patterns import Bools, Floats

FEW = 20
"""With at least this many items for each covariate no penalty is needed: the regression then uses up 5% of what the
items tell. Doubled, more columns are penalized (reasoned)."""


@dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates of both rounds, ready to use, with what was dropped.

    current (n, d) centred at the historical mean, missing = 0, scaled; history (N, d) likewise; observed flags of both;
    kept (d,) positions in the caller's columns; constant and collinear: positions that were dropped.
    """

    current: Floats
    history: Floats
    current_seen: Bools
    history_seen: Bools
    kept: tuple[int, ...]
    constant: tuple[int, ...]
    collinear: tuple[int, ...]
    absent: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Control:
    """The regression: gamma (d, K-1), tilt (K-1,), the penalty, and its effective number of covariates."""

    gamma: Floats
    tilt: Floats
    penalty: float
    n_effective: float
    inverse: Floats
    centred: Floats
    residual: Floats


def prepare(
    current: Floats,
    history: Floats,
    current_weight: Floats,
    history_weight: Floats,
    *,
    common_scale: Bools,
    drop_collinear: bool,
) -> Covariates:
    """Centre at the historical mean, fill, scale; drop what carries nothing (constant) or nothing new (collinear)."""
    current_seen, history_seen = ~np.isnan(current), ~np.isnan(history)
    absent = ~(current_seen.any(axis=0) & history_seen.any(axis=0))
    seen_weight = (history_seen * history_weight[:, None]).sum(axis=0)
    means = np.where(history_seen, history, 0.0).T @ history_weight / np.maximum(seen_weight, 1e-300)
    filled = np.where(current_seen, current - means, 0.0)
    total = current_weight.sum()
    centred = filled - current_weight @ filled / total
    scale = np.sqrt(current_weight @ centred**2 / total)
    size = np.maximum(np.abs(np.where(current_seen, current, 0.0)).max(axis=0, initial=0.0), 1e-300)
    constant = ~absent & (scale <= 1e-10 * size)
    usable = np.nonzero(~absent & ~constant)[0]
    if common_scale.any() and (common_scale[usable]).any():
        shared = usable[common_scale[usable]]
        scale[shared] = np.sqrt(np.mean(scale[shared] ** 2))
    collinear: tuple[int, ...] = ()
    if drop_collinear and len(usable):
        independent = _independent(centred[:, usable] * np.sqrt(current_weight)[:, None] / scale[usable])
        collinear = tuple(int(c) for c in usable[~independent])
        usable = usable[independent]
    return Covariates(
        current=filled[:, usable] / scale[usable],
        history=np.where(history_seen, history - means, 0.0)[:, usable] / scale[usable],
        current_seen=current_seen[:, usable],
        history_seen=history_seen[:, usable],
        kept=tuple(int(c) for c in usable),
        constant=tuple(int(c) for c in np.nonzero(constant)[0]),
        collinear=collinear,
        absent=tuple(int(c) for c in np.nonzero(absent)[0]),
    )


def mean_shift(ready: Covariates, current_weight: Floats, history_weight: Floats) -> Floats:
    """(d,) z-statistics of the difference between the current and the historical mean of each covariate."""

    def mean_variance(values: Floats, seen: Bools, weight: Floats) -> tuple[Floats, Floats]:
        mass = weight @ seen
        mean = weight @ values / mass
        return mean, ((weight[:, None] * seen * (values - mean)) ** 2).sum(axis=0) / mass**2

    here, here_variance = mean_variance(ready.current, ready.current_seen, current_weight)
    _, past_variance = mean_variance(ready.history, ready.history_seen, history_weight)
    shift: Floats = here / np.sqrt(np.maximum(here_variance + past_variance, 1e-300))
    return shift


def _independent(columns: Floats) -> Bools:
    """Which columns are not (nearly) combinations of the columns before them."""
    keep = np.zeros(columns.shape[1], dtype=bool)
    basis = np.zeros((columns.shape[0], 0))
    for c in range(columns.shape[1]):
        column = columns[:, c]
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > 1e-7 * np.linalg.norm(column):
            keep[c] = True
            basis = np.concatenate([basis, rest[:, None] / np.linalg.norm(rest)], axis=1)
    return keep


def fit_control(psi: Floats, covariates: Floats, weight: Floats, penalty: float | None) -> Control:
    """Regress pilot scores psi (n, K-1) on covariates (n, d); `penalty=None` chooses one by cross-validation."""
    total = weight.sum()
    mean = weight @ covariates / total
    centred = covariates - mean
    target = psi - weight @ psi / total
    variance = (centred * weight[:, None]).T @ centred / total
    covariance = (centred * weight[:, None]).T @ target / total
    spread = float((weight @ target**2).sum() / total)
    ridge = solve_ridge(variance, covariance, spread, len(weight), penalty)
    return Control(
        gamma=ridge.gamma,
        tilt=ridge.gamma.T @ mean,
        penalty=ridge.penalty,
        n_effective=ridge.n_effective,
        inverse=ridge.inverse,
        centred=centred,
        residual=target - centred @ ridge.gamma,
    )


@dataclass(frozen=True, eq=False)
class Ridge:
    """Coefficients (d, K-1), (V + penalty)^-1, the penalty, and what it leaves of the number of covariates."""

    gamma: Floats
    inverse: Floats
    penalty: float
    n_effective: float


def solve_ridge(variance: Floats, covariance: Floats, spread: float, n_items: int, penalty: float | None) -> Ridge:
    """The regression from its moments alone; `spread` is the variance of the scores, summed over classes."""
    values, vectors = linalg.eigh(variance)
    values = np.maximum(values, 0.0)
    if penalty is None:
        penalty = _cross_validated(values, vectors.T @ covariance, spread, n_items)
    shrink = 1.0 / np.maximum(values + penalty, 1e-12)
    inverse = (vectors * shrink) @ vectors.T
    return Ridge(inverse @ covariance, inverse, float(penalty), float((values * shrink).sum()))


def _cross_validated(values: Floats, rotated: Floats, total_variance: float, n_items: int) -> float:
    """The penalty with the least generalized cross-validation error, on a fixed grid (so it is deterministic)."""
    energy = (rotated**2).sum(axis=1)
    best, best_error = 1e4, np.inf
    for penalty in np.logspace(4, -4, 49):
        shrink = 1.0 / (values + penalty)
        explained = float((energy * (2 * shrink - values * shrink**2)).sum())
        df = 1.0 + float((values * shrink).sum())
        if df >= 0.9 * n_items:
            continue
        error = (total_variance - explained) / (1.0 - df / n_items) ** 2
        if error < best_error * (1 - 1e-12):
            best, best_error = float(penalty), error
    return best
