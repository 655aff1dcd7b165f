"""How sure an estimate is, as a curve: for each probability p the value that the quantity lies below with confidence p.

Intervals of any level, one-sided bounds and "how sure are we that it is above x" are all read off one curve, so they
agree with each other. Four kinds of evidence give a curve: a standard error, a profile likelihood, replicates, and a
measurement with a drift of unknown size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import special

from hero_eval.model.confidence_sequence import alpha_of, alphas_of, reach
from hero_eval.model.patterns import Floats


class Curve(Protocol):
    """A confidence distribution."""

    def quantile(self, p: float) -> float:
        """The value that the quantity lies below with confidence p."""
        ...

    def below(self, x: float) -> float:
        """The confidence that the quantity lies below x."""
        ...


@dataclass(frozen=True)
class Flat:
    """Nothing is known but the range."""

    bounds: tuple[float, float]

    def quantile(self, p: float) -> float:
        return self.bounds[0] if p < 0.5 else self.bounds[1]

    def below(self, x: float) -> float:
        low, high = self.bounds
        return 0.0 if x <= low else (1.0 if x >= high else 0.5)


@dataclass(frozen=True)
class Normal:
    """Normal (t, with finite `df`) around `center`, on the logit scale of the bounds, or plain and cut at them."""

    center: float
    error: float
    bounds: tuple[float, float]
    logit: bool = True
    df: float = math.inf

    def _share(self) -> float:
        low, high = self.bounds
        return (self.center - low) / (high - low) if self.logit else math.nan

    def quantile(self, p: float) -> float:
        low, high = self.bounds
        z = standard_quantile(p, self.df)
        share = self._share()
        if not 0.0 < share < 1.0:
            return min(max(self.center + z * self.error, low), high)
        slope = (high - low) * share * (1 - share)
        return low + (high - low) * float(special.expit(special.logit(share) + z * self.error / slope))

    def below(self, x: float) -> float:
        low, high = self.bounds
        if x <= low or x >= high:
            return 0.0 if x <= low else 1.0
        share, gap = self._share(), x - self.center
        if 0.0 < share < 1.0:
            slope = (high - low) * share * (1 - share)
            gap = float(special.logit((x - low) / (high - low)) - special.logit(share)) * slope
        if self.error == 0.0:
            return 0.5 if gap == 0 else float(gap > 0)
        return standard_share(gap / self.error, self.df)


def standard_quantile(p: float, df: float) -> float:
    """Of the t distribution; infinitely many degrees of freedom: the normal one."""
    return float(special.ndtri(p) if math.isinf(df) else special.stdtrit(df, p))


def standard_share(z: float, df: float) -> float:
    """P(T <= z)."""
    return float(special.ndtr(z) if math.isinf(df) else special.stdtr(df, z))


@dataclass(frozen=True)
class Mirrored:
    """The curve of  total - quantity,  from that of the quantity."""

    inner: Curve
    total: float

    def quantile(self, p: float) -> float:
        return self.total - self.inner.quantile(1.0 - p)

    def below(self, x: float) -> float:
        return 1.0 - self.inner.below(self.total - x)


@dataclass(frozen=True)
class AnytimeCurve:
    """Another curve made to hold at every look: each end lies where the inner curve has the z of the mixture (`m`)."""

    inner: Curve
    m: float

    def quantile(self, p: float) -> float:
        if p == 0.5:
            return self.inner.quantile(0.5)
        z = reach(2.0 * min(p, 1.0 - p), self.m)
        return self.inner.quantile(float(special.ndtr(-z if p < 0.5 else z)))

    def below(self, x: float) -> float:
        share = min(max(self.inner.below(x), 1e-300), 1.0)
        half = 0.5 * alpha_of(abs(float(special.ndtri(share))), self.m)
        return half if share < 0.5 else 1.0 - half


@dataclass(frozen=True)
class AnytimeDrift:
    """The curve at every look of a quantity whose round has drifted, by an amount that is the same at every look.

    Looks differ by the items' noise alone. `wide` has the drift blurred by how far noise reaches at all looks together,
    and is read at half the probability: of two hundred looks at a quantity that drifts and varies alike, one misses 1.3
    times as often as the last one alone (simulated). Where noise is nearly all there is, `once`, the curve of a single
    look, made to hold at all of them as if it were nothing else, is shorter, and holds, too.
    """

    wide: Curve
    once: Curve
    m: float
    bounds: tuple[float, float]

    def quantile(self, p: float) -> float:
        every = AnytimeCurve(self.once, self.m).quantile(p)
        if p == 0.5:
            return every
        return max(every, self.wide.quantile(p / 2.0)) if p < 0.5 else min(every, self.wide.quantile((p + 1.0) / 2.0))

    def below(self, x: float) -> float:
        return _below(self, x, self.bounds)


@dataclass(frozen=True)
class EdgeCurve:
    """Another curve for an estimate that lies on an end of its range: intervals then reach that end."""

    inner: Curve
    end: float

    def quantile(self, p: float) -> float:
        inner = self.inner.quantile(p)
        return self.end if (self.end < inner) == (p < 0.5) else inner

    def below(self, x: float) -> float:
        return self.inner.below(x)


@dataclass(frozen=True, eq=False)
class ProfileCurve:
    """A profile likelihood: the signed root of twice its drop (roots, rising) at some places on the logit scale.

    Between places it is interpolated; beyond the last one it goes on straight, or is open if the drop stays too small.
    """

    places: Floats
    roots: Floats
    bounds: tuple[float, float]
    df: float = math.inf

    def _value(self, place: float) -> float:
        low, high = self.bounds
        return low + (high - low) * float(special.expit(place))

    def quantile(self, p: float) -> float:
        return self._value(_follow(standard_quantile(p, self.df), self.roots, self.places))

    def below(self, x: float) -> float:
        low, high = self.bounds
        if x <= low or x >= high:
            return 0.0 if x <= low else 1.0
        root = _follow(float(special.logit((x - low) / (high - low))), self.places, self.roots)
        return standard_share(root, self.df)

    def shifted(self, by: float) -> ProfileCurve:
        """The same curve moved along the logit scale."""
        return replace(self, places=self.places + by)


def _follow(at: float, xs: Floats, ys: Floats) -> float:
    """Piecewise linear through (xs, ys), xs rising, and straight on beyond the ends."""
    if len(xs) < 2:
        return math.inf if at > xs[0] else -math.inf
    if at < xs[0] or at > xs[-1]:
        a, b = (0, 1) if at < xs[0] else (-2, -1)
        if xs[b] - xs[a] < 1e-9:
            return math.copysign(math.inf, at - xs[a])
        return float(ys[a] + (ys[b] - ys[a]) * (at - xs[a]) / (xs[b] - xs[a]))
    return float(np.interp(at, xs, ys))


@dataclass(frozen=True, eq=False)
class Resampled:
    """Bootstrap replicates (sorted), read with a correction for bias and skewness (BCa)."""

    replicates: Floats
    bias: float
    acceleration: float

    @property
    def spread(self) -> float:
        """The replicates' standard deviation; nan if there are none."""
        return float(self.replicates.std()) if len(self.replicates) else math.nan

    @cached_property
    def _steps(self) -> tuple[Floats, Floats]:
        """Different replicates, and the share that lies below each with half of its own."""
        places, times = np.unique(self.replicates, return_counts=True)
        return places, (np.cumsum(times) - times / 2) / len(self.replicates)

    def quantile(self, p: float) -> float:
        z = self.bias + float(special.ndtri(p))
        moved = float(special.ndtr(self.bias + _stretched(z, -self.acceleration)))
        share = min(max(moved, 0.0), 1.0)
        places, shares = self._steps
        if len(places) == len(self.replicates):
            return float(np.quantile(self.replicates, share))
        # few items give few different replicates: between them, as `below` has it, and no interval of no width on one
        return float(np.interp(share, shares, places))

    def below(self, x: float) -> float:
        count = len(self.replicates)
        inner = np.searchsorted(self.replicates, x, side="left") + np.searchsorted(self.replicates, x, side="right")
        share = min(max(float(inner) / 2 / count, 0.5 / count), 1 - 0.5 / count)
        z = float(special.ndtri(share)) - self.bias
        return float(special.ndtr(_stretched(z, self.acceleration) - self.bias))


def _stretched(z: float, acceleration: float) -> float:
    """z / (1 + a z) as far as it rises; beyond that the correction for skewness has no meaning, and no end."""
    by = 1.0 + acceleration * z
    return z / by if by > 1e-9 else math.copysign(math.inf, z)


def resampled(replicates: Floats, value: float, skewness: float) -> Resampled:
    """Bias from the share of replicates below the value, acceleration from the skewness of the influences."""
    known = np.sort(replicates[np.isfinite(replicates)])
    count = max(len(known), 1)
    below = (np.sum(known < value) + 0.5 * np.sum(known == value)) / count
    share = min(max(float(below), 0.5 / count), 1 - 0.5 / count)
    return Resampled(known, float(special.ndtri(share)), min(max(skewness / 6, -0.25), 0.25))


@dataclass(frozen=True)
class NoSurer:
    """A difference's curve, but no surer than the curves of its two sides allow if nothing ties them together.

    Each end lies as far out as the roots of the sums of squares of the sides' own distances, or farther. Where a rate
    is bounded by what was never seen, its interval is lopsided, and no standard error tells that.
    """

    inner: Curve
    one: Curve
    other: Curve
    values: tuple[float, float]
    bounds: tuple[float, float]

    def quantile(self, p: float) -> float:
        a, b = self.values
        tail = round(min(p, 1.0 - p), 12)  # the same on both sides, to the last digit
        below, above = (tail, 1.0 - tail) if p < 0.5 else (1.0 - tail, tail)
        reach = math.hypot(self.one.quantile(below) - a, self.other.quantile(above) - b)
        low, high = self.bounds
        if p < 0.5:
            return max(min(self.inner.quantile(p), a - b - reach), low)
        return min(max(self.inner.quantile(p), a - b + reach), high) if p > 0.5 else self.inner.quantile(p)

    def below(self, x: float) -> float:
        return _below(self, x, self.bounds)


@dataclass(frozen=True)
class LessSure:
    """Of two curves the one that is less sure, at each level and on each side.

    Replicates of an estimate on an edge mostly lie on that edge, and would call it sure.
    """

    one: Curve
    other: Curve
    bounds: tuple[float, float]

    def quantile(self, p: float) -> float:
        ends = self.one.quantile(p), self.other.quantile(p)
        return min(ends) if p < 0.5 else max(ends)

    def below(self, x: float) -> float:
        return _below(self, x, self.bounds)


def length(curve: Curve, level: float) -> float:
    """Of the interval of this level."""
    return curve.quantile(0.5 * (1.0 + level)) - curve.quantile(0.5 * (1.0 - level))


_HALVINGS = 40


def _below(curve: Curve, x: float, bounds: tuple[float, float]) -> float:
    """The confidence below x of a curve that is known by its quantiles."""
    if x <= bounds[0] or x >= bounds[1]:
        return 0.0 if x <= bounds[0] else 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if curve.quantile(middle) < x else (low, middle)
    return (low + high) / 2


_GRID: Floats = np.linspace(-14.0, 14.0, 2_801)


@dataclass(frozen=True, eq=False)
class GridCurve:
    """The confidence (rising) at some places on the logit scale.

    An end of an interval from which nothing of the class (or nothing else) would still be seen in `n_items` with more
    than the end's own probability is the end of the range: "none at all" cannot be ruled out.
    """

    places: Floats
    shares: Floats
    bounds: tuple[float, float]
    n_items: float

    def quantile(self, p: float) -> float:
        low, high = self.bounds
        share = float(special.expit(np.interp(p, self.shares, self.places)))
        if p < 0.5 and (1.0 - share) ** self.n_items > p:
            return low
        if p > 0.5 and share**self.n_items > 1.0 - p:
            return high
        return low + (high - low) * share

    def below(self, x: float) -> float:
        low, high = self.bounds
        if x <= low or x >= high:
            return 0.0 if x <= low else 1.0
        return float(np.interp(special.logit((x - low) / (high - low)), self.places, self.shares))


def drifting(
    where: Floats,
    weights: Floats,
    *,
    middle: float,
    center: float,
    noise: float,
    df: float,
    bounds: tuple[float, float],
    n_items: float,
    prior: Callable[[Floats], Floats] | None = None,
    m: float | None = None,
) -> GridCurve:
    """The curve of a quantity that is measured with variance `noise` and drifts by an amount of unknown size.

    All on the logit scale. `where[m]` are the places at which the quantity may lie, all equally probable, if the drift
    has the m-th size, which it has with probability `weights[m]`. The whole is moved so that `middle`, where it lies
    without drift, comes to `center`. `prior` says how probable places are beforehand; without it all are alike. `m`: of
    the mixture, by which noise reaches as far as it does at all looks together.
    """
    error = math.sqrt(max(noise, 1e-12))
    mass = _binned(where.ravel(), np.repeat(weights / where.shape[1], where.shape[1]))
    held = np.flatnonzero(mass)  # of the whole grid a few hundred points, and only these are blurred
    first, last = int(held[0]), int(held[-1])
    gap = np.concatenate([_GRID[: last + 1] - _GRID[last], _GRID[1 : len(_GRID) - first] - _GRID[0]]) / error
    blur = special.ndtr(gap) if math.isinf(df) else special.stdtr(df, gap)
    if m is not None:
        tail = 0.5 * alphas_of(special.ndtri(np.minimum(blur, 1.0 - blur)), m)
        blur = np.where(gap < 0.0, tail, 1.0 - tail)
    shares = np.maximum.accumulate(np.convolve(mass[first : last + 1], blur, mode="valid"))
    places = _GRID + (center - middle)
    if prior is not None:
        between = places - 0.5 * (_GRID[1] - _GRID[0])  # the middles, so that both ends are alike
        shares = np.cumsum(np.diff(shares, prepend=0.0) * prior(between))
    return GridCurve(places, shares / shares[-1], bounds, n_items)


def _binned(where: Floats, weights: Floats) -> Floats:
    """The weights laid on the grid's points, each shared by its two neighbors."""
    place = np.clip((where - _GRID[0]) / (_GRID[1] - _GRID[0]), 0.0, len(_GRID) - 1.001)
    left = place.astype(np.int64)
    share = place - left
    out = np.bincount(left, weights * (1.0 - share), len(_GRID)) + np.bincount(left + 1, weights * share, len(_GRID))
    return np.asarray(out, dtype=np.float64)
