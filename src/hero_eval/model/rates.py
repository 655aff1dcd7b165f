"""Stage B: the class rates that best explain the current labels, with the labelers' reliabilities given.

With l_ik = P(item i's answers | class k) and rates pi, the score of class k >= 1 against class 0 is
psi_ik = (l_ik - l_i0) / sum_c pi_c l_ic. The rates maximize mean log(sum_c pi_c l_ic) - tilt . pi[1:], a concave
function on the simplex; without tilt that is HERO-1, with tilt = gamma'(mean X - historical mean) it is HERO-2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hero_eval.model.patterns import Bools, Floats, dot

_TINY = 1e-150
"""A likelihood relative to the largest: its square is still a number. Doubled, nothing changes (reasoned)."""
_BLOCK = 1 << 18
"""Rows whose scores are added up at a time. It bounds memory only; last digits differ (reasoned)."""
_MAX_STEPS = 200
"""Of Newton's method on a concave function, which needs far fewer. Doubled, nothing changes (reasoned)."""
_NO_ITEM = 1e-3
"""Of an item: a class that has less is as good as none. Doubled, a few more rates count as on the edge (reasoned)."""
EDGE_ITEMS = 0.5
"""With less than half an item of a class, its labels cannot tell how rare it is. Doubled, rates of up to one item get
the interval of the edge (reasoned)."""


@dataclass(frozen=True, eq=False)
class Root:
    """Class rates (K,), which of them are held at 0 by the edge (K,), and whether the solver came to rest."""

    rates: Floats
    at_edge: Bools
    converged: bool

    @property
    def on_edge(self) -> bool:
        return bool(self.at_edge.any())

    def touches_edge(self, n_items: float) -> bool:
        """Whether some class has not a thousandth of an item: as good as none, and its influences tell as little."""
        return self.on_edge or float(self.rates.min()) * n_items < _NO_ITEM


def relative_likelihood(log_likelihood: Floats) -> Floats:
    """Likelihoods of the classes (P, K), each row divided by its largest, kept off exact zero."""
    out: Floats = log_likelihood - log_likelihood.max(axis=1, keepdims=True)
    np.exp(out, out=out)
    return np.maximum(out, _TINY, out=out)


def scores(likelihood: Floats, rates: Floats) -> Floats:
    """psi (P, K-1) at these rates."""
    out: Floats = (likelihood[:, 1:] - likelihood[:, :1]) / (likelihood @ rates)[:, None]
    return out


def solve_rates(likelihood: Floats, counts: Floats, tilt: Floats | None = None) -> Root:
    """The maximum over the simplex; two classes take the scalar road, which is the same function."""
    if likelihood.shape[1] == 2:
        return solve_binary(likelihood, counts, 0.0 if tilt is None else float(tilt[0]))
    return solve_simplex(likelihood, counts, tilt)


def solve_binary(likelihood: Floats, counts: Floats, tilt: float = 0.0) -> Root:
    """Root of the decreasing score in mu: Newton inside a shrinking bracket; no root inside means the edge."""
    no, yes = likelihood.T
    total = counts.sum()

    def score(mu: float) -> tuple[float, float]:
        value = slope = 0.0
        for start in range(0, len(no), _BLOCK):  # copies of all rows would fill memory
            here = slice(start, start + _BLOCK)
            psi = (yes[here] - no[here]) / ((1.0 - mu) * no[here] + mu * yes[here])
            part = counts[here] / total * psi
            value += float(np.add.reduce(part))
            slope -= dot(part, psi)
        return value - tilt, slope

    low, high = 0.0, 1.0
    at_zero, at_one = score(low)[0], score(high)[0]
    if at_zero <= 0.0 or at_one >= 0.0:
        flat = at_zero <= 0.0 and at_one >= 0.0  # no information at all: every mu fits as well
        mu = 0.5 if flat else (0.0 if at_zero <= 0.0 else 1.0)
        return Root(np.array([1.0 - mu, mu]), np.array([mu == 1.0, mu == 0.0]), not flat)
    mu = 0.5
    for _ in range(_MAX_STEPS):
        value, slope = score(mu)
        low, high = (mu, high) if value > 0 else (low, mu)
        step = mu - value / slope if slope < 0 else low
        new = step if low < step < high else 0.5 * (low + high)
        if abs(new - mu) <= 1e-15 + 1e-14 * mu:
            return Root(np.array([1.0 - new, new]), np.zeros(2, dtype=bool), True)
        mu = new
    return Root(np.array([1.0 - mu, mu]), np.zeros(2, dtype=bool), high - low < 1e-10)


def solve_simplex(likelihood: Floats, counts: Floats, tilt: Floats | None = None) -> Root:
    """The concave maximum for K classes: Newton on the classes off the edge, with a line search uphill."""
    n_classes = likelihood.shape[1]
    share = counts / counts.sum()
    pull = np.zeros(n_classes)
    if tilt is not None:
        pull[1:] = tilt
    rates = np.full(n_classes, 1.0 / n_classes)
    for _ in range(_MAX_STEPS):
        ratio = likelihood / (likelihood @ rates)[:, None]
        gradient = share @ ratio - pull
        held = (rates <= 0.0) & (gradient <= gradient @ rates + 1e-12)
        if _settled(rates, gradient, held):
            return Root(rates, held, True)
        curvature = (ratio * share[:, None]).T @ ratio
        step = _feasible_direction(gradient, curvature, rates, ~held)
        rates = _line_search(likelihood, share, pull, rates, step)
    ratio = likelihood / (likelihood @ rates)[:, None]
    return Root(rates, rates <= 0.0, _settled(rates, share @ ratio - pull, rates <= 0.0, 1e-8))


def _settled(rates: Floats, gradient: Floats, held: Bools, tolerance: float = 1e-13) -> bool:
    """At the maximum all free classes share one gradient, and no held class has a larger one."""
    level = gradient @ rates
    return bool(np.abs((gradient - level) * np.where(held, 0.0, 1.0) * np.maximum(rates, 1e-3)).max() < tolerance)


def _feasible_direction(gradient: Floats, curvature: Floats, rates: Floats, free: Bools) -> Floats:
    """Newton step in which no class that is at 0 already goes below it: such classes sit this step out."""
    free = free.copy()
    while True:
        step = _newton_direction(gradient, curvature, free)
        blocked = free & (rates <= 0.0) & (step < 0.0)
        if not blocked.any():
            return step
        free &= ~blocked


def _newton_direction(gradient: Floats, curvature: Floats, free: Bools) -> Floats:
    """Newton step that keeps the sum of the rates and moves the free classes only."""
    index = np.nonzero(free)[0]
    size = len(index)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = curvature[np.ix_(index, index)] + 1e-14 * np.eye(size)
    system[:size, size] = system[size, :size] = 1.0
    solved = np.linalg.lstsq(system, np.append(gradient[index], 0.0), rcond=None)[0][:size]
    step = np.zeros(len(gradient))
    step[index] = solved
    return step


def _line_search(likelihood: Floats, share: Floats, pull: Floats, rates: Floats, step: Floats) -> Floats:
    """Go along `step` as far as the simplex and the objective allow."""

    def objective(at: Floats) -> float:
        return float(share @ np.log(likelihood @ at) - pull @ at)

    falling = step < 0
    reach = np.min(-rates[falling] / step[falling], initial=np.inf) if falling.any() else np.inf
    length, here = min(1.0, float(reach)), objective(rates)
    for _ in range(60):
        new = np.maximum(rates + length * step, 0.0)
        if length == reach:
            new[np.argmin(np.where(falling, -rates / np.where(falling, step, -1.0), np.inf))] = 0.0
        new /= new.sum()
        if objective(new) >= here - 1e-16:
            return new
        length *= 0.5
    return rates


def edge_point(rates: Floats, n_items: float) -> Floats:
    """Rates as if one more item had been shared out evenly: just inside the simplex, where influences can be taken."""
    give = 1.0 / (n_items + 1.0)
    inside: Floats = (1.0 - give) * rates + give / len(rates)
    return inside


def on_edge(rates: Floats, n_items: float) -> bool:
    """Whether some class has less than half of an item."""
    return bool(rates.min() * n_items < EDGE_ITEMS)


def off_edge(rates: Floats, n_items: float) -> Floats:
    """The rates, or just off the edge where they lie on it."""
    return edge_point(rates, n_items) if on_edge(rates, n_items) else rates
