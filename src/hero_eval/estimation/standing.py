"""Who stands where among several models, and how sure that is: claims that hold together, ranks, chances, groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hero_eval.errors import wrong
from hero_eval.model.patterns import Bools, Floats, Ints
from hero_eval.model.simultaneous import (
    MaxT,
    benjamini_hochberg,
    chances_to_be_best,
    covariance_of_pairs,
    holm,
    rank_ranges,
    t_above,
    t_quantile,
    untold_groups,
)

CORRECTIONS = ("max-t", "holm", "fdr")
BEST = ("highest", "lowest")


@dataclass(frozen=True, eq=False)
class Standing:
    """M models, in the order in which they were given.

    order (M,): positions, best first. adjusted (M, M): how probable a claim as strong as "i is better than j" is by
    chance, after the correction. better (M, M): the claims that are made. low, high (M,): the range of each rank, at
    the level for all together. p_best (M,): the chance to be best. groups: positions of those that are not told apart,
    best first; critical: in standard errors, what all differences stay within together.
    """

    order: Ints
    adjusted: Floats
    better: Bools
    low: Ints
    high: Ints
    p_best: Floats
    groups: tuple[Ints, ...]
    critical: float
    df: float

    @property
    def ranks(self) -> Ints:
        """(M,): 1 for the best."""
        out = np.empty(len(self.order), dtype=np.int64)
        out[self.order] = np.arange(1, len(self.order) + 1)
        return out

    def letters(self) -> list[str]:
        """Of each model the groups it is in: models that share a letter are not told apart."""
        return [" ".join(_letter(number) for number, one in enumerate(self.groups) if at in one) for at in self.order]

    def each_level(self) -> float:
        """The level of a single interval by which all differences hold together."""
        return 1.0 - 2.0 * float(t_above(np.array(self.critical), self.df))


def _letter(number: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    before = _letter(number // 26 - 1) if number >= 26 else ""
    return before + "abcdefghijklmnopqrstuvwxyz"[number % 26]


def standing_of(
    values: Floats, variances: Floats, t: Floats, df: float, level: float, correction: str, best: str
) -> Standing:
    """From values (M,), variances (M, M) of their differences, and t (M, M), how clear each is: t[i, j] > 0 says i > j.

    Models whose value is not known come last, and no claim is made of them.
    """
    sign = 1.0 if best == "highest" else -1.0
    known = np.isfinite(values)
    spread = np.where(np.isfinite(variances), variances, 4.0 * np.nanmax(variances, initial=1.0))
    np.fill_diagonal(spread, 0.0)
    goodness = np.where(known, sign * values, -np.inf)
    seen = np.where(known[:, None] & known[None, :], sign * t, 0.0)
    covariance = covariance_of_pairs(spread)
    test = MaxT(covariance, seen, df)
    together = test.told(level)
    better_together = (together <= 1.0 - level) & (seen > 0)
    low, high = rank_ranges(better_together)
    adjusted = together if correction == "max-t" else _by_pairs(seen, df, correction)
    better = (adjusted <= 1.0 - level) & (seen > 0)
    order = np.argsort(-goodness, kind="stable")
    middle = np.where(known, sign * np.nan_to_num(values), np.nanmean(np.where(known, sign * values, np.nan)))
    apart = (better | better.T)[np.ix_(order, order)]
    return Standing(
        order=order,
        adjusted=adjusted,
        better=better,
        low=low,
        high=high,
        p_best=chances_to_be_best(middle, covariance, df),
        groups=tuple(order[group] for group in untold_groups(apart)),
        critical=test.critical(level),
        df=df,
    )


def _by_pairs(seen: Floats, df: float, correction: str) -> Floats:
    first, second = np.triu_indices(len(seen), 1)
    alone = np.minimum(2.0 * t_above(np.abs(seen[first, second]), df), 1.0)
    found = holm(alone) if correction == "holm" else benjamini_hochberg(alone)
    out = np.ones_like(seen)
    out[first, second] = out[second, first] = found
    return out


def check_standing(correction: str, best: str) -> None:
    if correction not in CORRECTIONS:
        raise wrong("E201", f"correction is {correction!r}. Known: {', '.join(map(repr, CORRECTIONS))}")
    if best not in BEST:
        raise wrong("E201", f"best is {best!r}. Known: {', '.join(map(repr, BEST))}")


def t_of_confidence(below: float, df: float) -> float:
    """How clear a difference is, in standard errors, from the confidence that it lies below 0."""
    return -t_quantile(min(max(below, 1e-15), 1.0 - 1e-15), df)
