"""Stage C: the control variate. Current scores are regressed on covariates whose mean history knows better.

gamma = (V + penalty)^-1 C with V the covariates' covariance and C their covariance with the pilot scores, both in the
current round; the tilt of the score equation is gamma'(current mean - historical mean). Covariates are scaled to unit
variance first, text covariates by one common scale, so that a penalty means the same for all of them: that is z below.
A missing value counts as the historical mean: it adds nothing to the difference of the means, so that rounds with
different shares of missing values can be compared, and the historical mean itself is that of the values seen.
z is to be had for each item, or as sums by answer pattern where items are not held.
Shapes: n current items, N of history, P rows, d covariates kept of D, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from hero_eval.model.moments import Moments
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns

FEW = 20
"""With at least this many items for each covariate no penalty is needed: the regression then uses up 5% of what the
items tell. Doubled, more columns are penalized (reasoned)."""
_CONSTANT = 1e-10
"""Of a column's largest value: the spread that rounding alone may leave. Doubled, nothing changes (reasoned)."""
_COLLINEAR = 1e-10
"""Of a column's variance: what may be left of it beside the columns before it. Doubled, nothing changes (reasoned)."""


@dataclass(frozen=True, eq=False)
class KeptColumns:
    """Positions of the covariates that are kept, and of those that are dropped for three reasons.

    scale (d,) is what those kept are divided by.
    """

    kept: Ints
    constant: Ints
    collinear: Ints
    absent: Ints
    scale: Floats


def _choose(
    variance: Floats, scale: Floats, size: Floats, absent: Bools, common: Bools, drop_collinear: bool
) -> KeptColumns:
    """Drop what carries nothing (constant beside its `size`) or nothing new (collinear); covariates in `common` share a
    scale. Of all D covariates, in the current round: variance (D, D) and its root scale (D,)."""
    constant = ~absent & (scale <= _CONSTANT * np.maximum(size, 1e-300))
    usable = np.nonzero(~absent & ~constant)[0]
    shared = usable[common[usable]]
    if len(shared):
        scale = scale.copy()
        scale[shared] = np.sqrt(np.mean(scale[shared] ** 2))
    independent = np.ones(len(usable), dtype=bool)
    if drop_collinear:
        independent = _independent(variance[np.ix_(usable, usable)] / np.outer(scale[usable], scale[usable]))
    kept = usable[independent]
    return KeptColumns(kept, np.nonzero(constant)[0], usable[~independent], np.nonzero(absent)[0], scale[kept])


def _independent(variance: Floats) -> Bools:
    """Which columns are not (nearly) combinations of the columns before them."""
    left = variance.copy()
    keep = np.zeros(len(left), dtype=bool)
    for c in range(len(left)):
        if left[c, c] > _COLLINEAR * variance[c, c]:
            keep[c] = True
            left = left - np.outer(left[:, c], left[c]) / left[c, c]
    return keep


@dataclass(frozen=True, eq=False)
class Covariates:
    """z of the items of both rounds, current (n, d) and history (N, d), with flags of the values seen and weights.

    mean (d,) and variance (d, d) are the current round's.
    """

    columns: KeptColumns
    mean: Floats
    variance: Floats
    current: Floats
    history: Floats
    current_seen: Bools
    history_seen: Bools
    current_weight: Floats
    history_weight: Floats

    def row_sums(self, patterns: Patterns) -> Floats:
        """(P, d) sums of w (z - mean) over the current items of each row."""
        return patterns.item_sums(self.current - self.mean)

    def seen(self) -> tuple[Floats, Floats]:
        """(d,) the weight of the items that have a value, in current and in history."""
        return self.current_weight @ self.current_seen, self.history_weight @ self.history_seen

    def observed(self) -> tuple[Ints, Ints]:
        """(d,) how many items have a value, in current and in history."""
        return self.current_seen.sum(axis=0), self.history_seen.sum(axis=0)

    def shift(self) -> Floats:
        """(d,) z-statistics of the difference between the current and the historical mean of each covariate."""

        def mean_variance(values: Floats, seen: Bools, weight: Floats) -> tuple[Floats, Floats]:
            mass = weight @ seen
            mean = weight @ values / mass
            return mean, ((weight[:, None] * seen * (values - mean)) ** 2).sum(axis=0) / mass**2

        here, here_variance = mean_variance(self.current, self.current_seen, self.current_weight)
        _, past_variance = mean_variance(self.history, self.history_seen, self.history_weight)
        shift: Floats = here / np.sqrt(np.maximum(here_variance + past_variance, 1e-300))
        return shift


def prepare(
    current: Floats,
    history: Floats,
    current_weight: Floats,
    history_weight: Floats,
    *,
    common_scale: Bools,
    drop_collinear: bool,
) -> Covariates:
    """From the columns of items as they came, current (n, D) and history (N, D), nan = missing."""
    current_seen, history_seen = ~np.isnan(current), ~np.isnan(history)
    absent: Bools = np.logical_not(current_seen.any(axis=0) & history_seen.any(axis=0))
    seen_weight = (history_seen * history_weight[:, None]).sum(axis=0)
    means = np.where(history_seen, history, 0.0).T @ history_weight / np.maximum(seen_weight, 1e-300)
    filled = np.where(current_seen, current - means, 0.0)
    total = current_weight.sum()
    mean = current_weight @ filled / total
    centerd = filled - mean
    variance = (centerd * current_weight[:, None]).T @ centerd / total
    scale = np.sqrt(current_weight @ centerd**2 / total)
    size = np.abs(np.where(current_seen, current, 0.0)).max(axis=0, initial=0.0)
    columns = _choose(variance, scale, size, absent, common_scale, drop_collinear)
    kept, scale = columns.kept, columns.scale
    return Covariates(
        columns=columns,
        mean=mean[kept] / scale,
        variance=variance[np.ix_(kept, kept)] / np.outer(scale, scale),
        current=filled[:, kept] / scale,
        history=np.where(history_seen, history - means, 0.0)[:, kept] / scale,
        current_seen=current_seen[:, kept],
        history_seen=history_seen[:, kept],
        current_weight=current_weight,
        history_weight=history_weight,
    )


@dataclass(frozen=True, eq=False)
class SummedCovariates:
    """The same without items: z - mean = on @ (s, y) - offset, with the s and y that `here` has of all D covariates.

    on (d, 2D), offset (d,); there: history's moments of the kept covariates, in which y is z.
    """

    columns: KeptColumns
    mean: Floats
    variance: Floats
    here: Moments
    there: Moments
    on: Floats
    offset: Floats

    def row_sums(self, patterns: Patterns) -> Floats:
        both = np.concatenate([self.here.seen, self.here.sums], axis=1)
        return both @ self.on.T - np.outer(patterns.counts, self.offset)

    def seen(self) -> tuple[Floats, Floats]:
        return self.here.seen.sum(axis=0)[self.columns.kept], self.there.seen.sum(axis=0)

    def observed(self) -> tuple[Floats, Floats]:
        return self.here.observed[self.columns.kept], self.there.observed

    def shift(self) -> Floats:
        here = self.here.of(self.there.names)
        variances = here.mean_variances + self.there.mean_variances
        shift: Floats = (here.means - self.there.means) / np.sqrt(np.maximum(variances, 1e-300))
        return shift


def prepare_sums(here: Moments, there: Moments, patterns: Patterns, *, drop_collinear: bool) -> SummedCovariates:
    """From sums by row of `patterns`, the current round's, and of history."""
    seen, total = here.seen.sum(axis=0), patterns.total
    absent = (seen <= 0) | (there.seen.sum(axis=0) <= 0)
    distance = (here.means - there.means) / here.scale
    # Where no value is missing, centring takes the distance away again: left in, a large one would cost digits.
    gap = np.where(here.observed < patterns.n_items, distance, 0.0)
    offset = gap * seen / total
    on = np.concatenate([np.diag(gap - (here.means - here.center) / here.scale), np.eye(len(gap))], axis=1)
    variance = on @ here.products @ on.T / total - np.outer(offset, offset)
    scale = np.sqrt(np.maximum(np.diag(variance), 0.0))
    columns = _choose(variance, scale, here.largest / here.scale, absent, np.zeros_like(absent), drop_collinear)
    kept, scale = columns.kept, columns.scale
    return SummedCovariates(
        columns=columns,
        mean=(distance * seen / total)[kept] / scale,
        variance=variance[np.ix_(kept, kept)] / np.outer(scale, scale),
        here=here,
        there=there.of(tuple(here.names[c] for c in kept)).moved(there.means[kept], here.scale[kept] * scale),
        on=on[kept] / scale[:, None],
        offset=offset[kept] / scale,
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
