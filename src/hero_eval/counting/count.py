"""Counting rounds wherever they are: those in memory with their items, others without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hero_eval.counting.engine import Names, Source
from hero_eval.counting.large_round import LargeRound
from hero_eval.counting.memory import Counted, MemorySource, count_in_memory
from hero_eval.counting.passes import Passes
from hero_eval.counting.tally import Tally, add, align
from hero_eval.errors import wrong
from hero_eval.model.moments import Forms, Moments, add_moments
from hero_eval.model.patterns import Floats, sum_by
from hero_eval.round import GOLD_PROBABILITY, Round


def is_large(rounds: Sequence[Round]) -> bool:
    """Whether the items of one of these rounds are not at hand."""
    return any(isinstance(one, LargeRound) for one in rounds)


def count(rounds: Sequence[Round], labelers: Sequence[str], classes: Sequence[str], *, routed: bool = False) -> Counted:
    """Count these rounds as one; labels by other labelers are left out, and items that then have none.

    `routed`: known probabilities of having gold weigh the items, which must be at hand then.
    """
    if not is_large(rounds):
        return count_in_memory(rounds, labelers, classes, routed=routed)
    if routed:
        refuse_routing(rounds)
    return count_tally(add([tally_of(one) for one in rounds]), labelers, classes)


def refuse_routing(rounds: Sequence[Round]) -> None:
    """Counts cannot hold how probable gold was for each item; to leave that out unsaid would bias the answer."""
    for one in rounds:
        if one.has_column(GOLD_PROBABILITY) and one.n_gold:
            message = (
                f"round {one.name!r} says how probable gold was for each item ({GOLD_PROBABILITY}), which weighs items "
                "one by one, but this history is counted without holding its items. If it fits into memory, read it "
                "with engine='memory' (command: --engine memory); drop the column if gold went to items at random"
            )
            raise wrong("E211", message)


def count_tally(tally: Tally, labelers: Sequence[str], classes: Sequence[str]) -> Counted:
    aligned = align(tally, labelers, classes)
    return Counted(aligned.patterns, None, aligned.labels_set_aside, aligned.items_set_aside)


def stays(rounds: Sequence[Round]) -> bool:
    """Whether the labels of one of these rounds must stay in their engine."""
    return any(isinstance(one, LargeRound) and one.source.stays for one in rounds)


def count_passes(
    rounds: Sequence[Round], labelers: Sequence[str], classes: Sequence[str]
) -> tuple[Counted, tuple[Passes, ...]]:
    """Rounds laid out for EM by passes in their engines; counted are only the items with gold."""
    from hero_eval.counting.sql_round import SqlSource  # reading files is no business of most counts

    made = []
    refuse_routing(rounds)
    for one in rounds:
        if not isinstance(one, LargeRound) or not isinstance(one.source, SqlSource):
            message = (
                f"round {one.name!r} is not in an engine, but another round of history must stay in its own. "
                "Read all rounds of this history with engine='duckdb', or all with 'spark'"
            )
            raise wrong("E211", message)
        made.append(one.source.passes(labelers, classes))
    golden = align(add([tally for _, tally in made]), labelers, classes).patterns
    labels: Floats = np.sum([one.label_counts() for one, _ in made], axis=0)
    totals = [one.n_items for one in rounds]
    return Counted(golden, None, 0, 0, sum(totals), labels), tuple(one for one, _ in made)


def source_of(one: Round) -> Source:
    return one.source if isinstance(one, LargeRound) else MemorySource(one)


def tally_of(one: Round, covariates: Names | None = None) -> Tally:
    """A round's tally. Sums of covariates that nobody asked for may come with it, if they were there already."""
    if isinstance(one, LargeRound):
        return one.tally(covariates)
    return MemorySource(one).tally(covariates or ())


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
