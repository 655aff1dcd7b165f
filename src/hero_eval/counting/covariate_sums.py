"""Rounds counted with sums of their covariates, which is all that HERO-2 takes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hero_eval.any_round import AnyRound
from hero_eval.counting.count import tally_of
from hero_eval.counting.engine import CountSource, Names
from hero_eval.counting.item_arrays import MemorySource
from hero_eval.counting.large_round import LargeRound
from hero_eval.counting.memory import Counted
from hero_eval.counting.tally import Tally, add, align
from hero_eval.model.moments import Forms, Moments, add_moments
from hero_eval.model.patterns import Floats, sum_by
from hero_eval.round import Round


def source_of(one: AnyRound) -> CountSource:
    """The round behind the interface of the engines."""
    if isinstance(one, LargeRound):
        return one.source
    assert isinstance(one, Round)
    return MemorySource(one)


@dataclass(frozen=True, eq=False)
class CountedSide:
    """Patterns of one side, history or current, with the moments of its covariates by row."""

    counted: Counted
    moments: Moments


def count_with_covariates(
    rounds: Sequence[Round], covariates: Names, labelers: Sequence[str], classes: Sequence[str]
) -> CountedSide:
    """Count these rounds as one, without their items, with sums of the covariates."""
    tally = add([tally_of(one, covariates) for one in rounds])
    return _with_moments(tally, labelers, classes)


def _with_moments(tally: Tally, labelers: Sequence[str], classes: Sequence[str]) -> CountedSide:
    assert tally.moments is not None
    aligned = align(tally, labelers, classes)
    assert (aligned.row >= 0).all()  # else the products of items that were left out would count
    moments = add_moments([tally.moments], [aligned.row], aligned.patterns.n_rows)
    factor = aligned.patterns.total / float(tally.weight.sum())
    counted = Counted(aligned.patterns, None, aligned.labels_set_aside, aligned.items_set_aside)
    return CountedSide(counted, moments.weighted(factor))


class CurrentSide:
    """A current round with covariates, and the products of them that the variance of HERO-2 takes."""

    def __init__(self, one: Round, covariates: Names, labelers: Sequence[str], classes: Sequence[str]) -> None:
        self._source = source_of(one)
        known = tuple(name for name in self._source.labelers if name in set(labelers))
        self._asked = covariates, None if known == tuple(self._source.labelers) else known
        tally = self._source.tally(*self._asked)
        self.side = _with_moments(tally, labelers, classes)
        self._row = align(tally, labelers, classes).row
        self._factor = self.side.counted.patterns.total / float(tally.weight.sum())

    def grams(self, forms: Forms) -> Floats:
        """(P, m+1, m+1) by the rows of the patterns, in the weights that these have."""
        found = self._source.grams(*self._asked, forms) * self._factor**2
        n_rows, size = self.side.counted.patterns.n_rows, found.shape[1]
        columns = [sum_by(self._row, column, n_rows) for column in found.reshape(len(found), -1).T]
        return np.stack(columns, axis=1).reshape(n_rows, size, size)
