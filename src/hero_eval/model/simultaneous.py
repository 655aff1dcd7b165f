"""Many differences read at once: how sure each is if all are to hold together, and what that says of ranks.

M quantities have estimates with joint covariance C, the scale of which is known by `df` degrees of freedom. The largest
of all studentized differences, T_ij = (e_i - e_j) / se_ij with e ~ N(0, C), says how far chance alone takes any of
them ("max-t"). Step by step, differences that are clear already no longer count among those by which chance could
mislead (Romano and Wolf), over ordered pairs, so that each claim is one of a direction. Nor do those that lie far below
zero: a first step bounds how far, at a part of the level (Romano, Shaikh and Wolf). A rank then lies between one
more than the number of those that are surely better and M less the number of those that are surely worse (Mogstad,
Romano, Shaikh and Wilhelm).

Draws are a scrambled Sobol sequence of fixed seed: the same input, the same numbers.
Shapes: M quantities, B draws, P = M (M - 1) / 2 pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import special

from hero_eval.model.patterns import Bools, Floats, Ints

_LOG_DRAWS = 14
_MANY = 40
"""Above so many quantities a quarter of the draws will do: the largest of thousands of differences varies little."""
_CHUNK = 2_000_000
_SEED = 20_241
SPENT = 0.05
"""The part of 1 - level that the first step spends. A choice: with .2 ranges of 12 models were 1% wider."""


def covariance_of_pairs(variances: Floats) -> Floats:
    """(M, M): the covariance of the quantities less their mean, from the variances (M, M) of their differences.

    It is exact where the variances are those of one joint distribution; else the nearest one that is a covariance.
    """
    n = len(variances)
    center = np.eye(n) - 1.0 / n
    return nearest_covariance(-0.5 * center @ variances @ center)


def nearest_covariance(matrix: Floats) -> Floats:
    """Symmetric, with no negative variance in any direction."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    out: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return out


def normal_draws(covariance: Floats, df: float, n_draws: int | None = None) -> Floats:
    """(B, M) draws of errors: normal, or of Student's t with a scale that all share.

    They are along the directions in which the errors vary, the least first, so that in another order of the quantities
    each gets the same draws; an eigenvector's sign, which is arbitrary, is chosen by a sum in which order is nothing.
    """
    n = len(covariance)
    normal, uniform = _points(n, n_draws or 2 ** (_LOG_DRAWS if n <= _MANY else _LOG_DRAWS - 2))
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    vectors = vectors * np.where((vectors**3).sum(axis=0) < 0.0, -1.0, 1.0)
    out: Floats = normal @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    if math.isfinite(df):
        out = out / np.sqrt(special.chdtri(df, uniform) / df)[:, None]
    return out


@lru_cache(maxsize=2)
def _points(n: int, draws: int) -> tuple[Floats, Floats]:
    """(B, n) standard normal points and (B,) uniform ones."""
    from scipy import stats  # slow to load, and only rankings need it

    points = stats.qmc.Sobol(n + 1, scramble=True, seed=_SEED).random(draws)
    points = np.clip(points, 1e-12, 1.0 - 1e-12)
    return special.ndtri(points[:, :n]), points[:, n]


@dataclass(frozen=True, eq=False)
class MaxT:
    """Draws of all studentized differences; t (M, M) what was seen, antisymmetric: t[i, j] > 0 says i is above j."""

    covariance: Floats
    t: Floats
    df: float

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        first, second = np.triu_indices(len(self.t), 1)
        return first, second

    @cached_property
    def _errors(self) -> Floats:
        return normal_draws(self.covariance, self.df)

    @cached_property
    def _scale(self) -> Floats:
        first, second = self._pairs
        own = np.diag(self.covariance)
        out: Floats = np.sqrt(np.maximum(own[first] + own[second] - 2.0 * self.covariance[first, second], 1e-300))
        return out

    def critical(self, level: float) -> float:
        """What the largest of all differences stays below with this probability, in standard errors."""
        first, second = self._pairs
        rows = max(1, _CHUNK // max(len(first), 1))
        largest = [
            np.abs((self._errors[k : k + rows, first] - self._errors[k : k + rows, second]) / self._scale).max(axis=1)
            for k in range(0, len(self._errors), rows)
        ]
        found = float(np.quantile(np.concatenate(largest), level))
        return min(max(found, t_quantile((1 + level) / 2, self.df)), bonferroni(level, len(first), self.df))

    def adjusted(self) -> Floats:
        """(M, M): for "i is above j" the probability of a claim as strong by chance among those still open.

        Between what the pair would say alone and what Holm's way makes of it.
        """
        first, second = self._pairs
        seen = np.concatenate([self.t[first, second], self.t[second, first]])
        return self._stepwise(seen, np.zeros(len(seen)))

    def told(self, level: float) -> Floats:
        """(M, M): as `adjusted`, in two steps for claims at this level: those at or below 1 - level may be made.

        A difference that surely lies far below zero, as seen in a first step, can hardly be claimed by chance, and
        counts by as much less. Above 1 - level, and far below it, the values are upper bounds.
        """
        first, second = self._pairs
        if len(first) == 1:
            return self.adjusted()
        alpha = 1.0 - level
        seen = np.concatenate([self.t[first, second], self.t[second, first]])
        reach = self.critical(1.0 - SPENT * alpha)
        sharper = self._stepwise(seen, np.minimum(seen + reach, 0.0)) <= (1.0 - SPENT) * alpha
        bound = np.minimum(self.adjusted() / (1.0 - SPENT), 1.0)
        out: Floats = np.where(sharper, np.minimum(bound, alpha), bound)
        return out

    def _stepwise(self, seen: Floats, below: Floats) -> Floats:
        """(M, M): adjusted probabilities, where the mean of each difference lies `below` (2 P,) zero."""
        first, second = self._pairs
        order = np.argsort(-seen, kind="stable")
        n_pairs, hits = len(first), np.zeros(len(seen))
        rows = max(1, _CHUNK // max(len(seen), 1))
        for k in range(0, len(self._errors), rows):
            drawn = (self._errors[k : k + rows, first] - self._errors[k : k + rows, second]) / self._scale
            open_still = (np.concatenate([drawn, -drawn], axis=1) + below)[:, order]
            largest = np.maximum.accumulate(open_still[:, ::-1], axis=1)[:, ::-1]
            hits += (largest >= seen[order]).sum(axis=0)
        by_draws = hits / len(self._errors)
        alone = t_above(seen[order], self.df)
        left = np.arange(len(seen), 0, -1)
        inside = np.clip(by_draws, np.minimum(2.0 * alone, 1.0) if n_pairs == 1 else alone, np.minimum(left * alone, 1))
        out = np.zeros((len(self.t), len(self.t)))
        found = np.empty(len(seen))
        found[order] = np.minimum(np.maximum.accumulate(inside), 1.0)
        out[first, second], out[second, first] = found[:n_pairs], found[n_pairs:]
        np.fill_diagonal(out, 1.0)
        return out


def t_quantile(p: float, df: float) -> float:
    return float(special.ndtri(p) if math.isinf(df) else special.stdtrit(df, p))


def t_above(t: Floats, df: float) -> Floats:
    """The probability above t."""
    out: Floats = special.ndtr(-t) if math.isinf(df) else special.stdtr(df, -t)
    return out


def bonferroni(level: float, n: int, df: float) -> float:
    return t_quantile(1.0 - (1.0 - level) / (2.0 * max(n, 1)), df)


def critical_of(covariance: Floats, level: float, df: float) -> float:
    """What the largest of M standardized errors stays below with this probability."""
    n = len(covariance)
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    largest = np.abs(normal_draws(covariance, df) / scale).max(axis=1)
    found = float(np.quantile(largest, level))
    return min(max(found, t_quantile((1 + level) / 2, df)), bonferroni(level, n, df))


def holm(p: Floats) -> Floats:
    """Adjusted p-values: the probability of one or more false claims stays below the level."""
    order = np.argsort(p, kind="stable")
    out = np.empty(len(p))
    out[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return out


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted p-values: of the claims made, the expected share of false ones stays below the level."""
    order = np.argsort(-p, kind="stable")
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1)), 1.0)
    return out


def rank_ranges(above: Bools) -> tuple[Ints, Ints]:
    """Of each the best and the worst rank, where above[i, j] says that i is surely better than j."""
    return 1 + above.sum(axis=0), len(above) - above.sum(axis=1)


def chances_to_be_best(values: Floats, covariance: Floats, df: float) -> Floats:
    """(M,): how often each is the highest when all are drawn anew around their estimates."""
    drawn = values + normal_draws(covariance, df)
    return np.bincount(drawn.argmax(axis=1), minlength=len(values)) / len(drawn)


def untold_groups(apart: Bools) -> list[Ints]:
    """The largest sets in which no two are told apart (`apart` is symmetric), in the order of their first members.

    Two that are not told apart are together in at least one of them. They are the maximal cliques of the graph of pairs
    that are not told apart (Bron and Kerbosch); sets of models are the bits of whole numbers.
    """
    n = len(apart)
    near = [sum(1 << int(j) for j in np.flatnonzero(~apart[i]) if j != i) for i in range(n)]
    found: list[int] = []
    waiting = [(0, (1 << n) - 1, 0)]
    while waiting:
        chosen, open_still, done = waiting.pop()
        if not open_still:
            if not done:
                found.append(chosen)
            continue
        pivot = max(_bits(open_still | done), key=lambda one: (near[one] & open_still).bit_count())
        for one in _bits(open_still & ~near[pivot]):
            waiting.append((chosen | 1 << one, open_still & near[one], done & near[one]))
            open_still &= ~(1 << one)
            done |= 1 << one
    return sorted((np.array(_bits(one)) for one in found), key=lambda one: tuple(one.tolist()))


def _bits(number: int) -> list[int]:
    """The positions of the ones."""
    out = []
    while number:
        low = number & -number
        out.append(low.bit_length() - 1)
        number ^= low
    return out
