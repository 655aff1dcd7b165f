"""A round that stays where it is: in files that an engine counts, or as counts that were saved.

It goes wherever a round goes. What asks for its items one by one is refused with the way out.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from hero_eval.any_round import GOLD_PROBABILITY, AnyRound
from hero_eval.classes import common_classes
from hero_eval.counting.engine import CountSource, Names, ScoreSource
from hero_eval.counting.tally import Tally, hide_gold
from hero_eval.errors import InputError, wrong
from hero_eval.findings import Finding
from hero_eval.io.scores import as_numbers
from hero_eval.io.tables import absent
from hero_eval.io.values import count_of
from hero_eval.model.moments import Forms
from hero_eval.model.patterns import Floats, Ints, sum_by
from hero_eval.round import Round
from hero_eval.round_scales import NumberFacts, facts_of

if TYPE_CHECKING:
    from hero_eval.counting.score_pool import ScorePart
    from hero_eval.io.score_bins import ScoreCuts

SAVED_COUNTS = "saved counts"
"""The engine of a round whose patterns were counted before."""
MANY_PATTERNS = 20
"""Rounds with at least so many answer patterns have the same number of items of each only if they are the same."""


class LargeRound(AnyRound):
    """A round of any size: it can be asked for rates, win rates and its labelers' reliability.

    Made by `read_round`, for large files by itself or with `engine=`.
    """

    holds_items = False

    def __init__(self, source: CountSource, name: str, engine: str, covariates: Names = ()) -> None:
        self.source = source
        self.engine = engine
        self.name = name
        self.frame_kind = "files"
        self.labelers = source.labelers
        self.values = source.values
        self.classes_given = source.classes
        self.positive = source.positive
        self.idle = source.idle
        self.kind_given = source.label_kind
        self._default = covariates
        self._remarks: tuple[Finding, ...] = ()

    @property
    def stays_in_engine(self) -> bool:
        return self.source.stays

    @property
    def has_scores(self) -> bool:
        return self.source.scored

    @property
    def answer_values(self) -> tuple[str, ...]:
        return self.values if self.source.answers is None else self.source.answers

    @property
    def gold_values(self) -> tuple[str, ...]:
        return self.source.gold_values()

    @property
    def label_kind(self) -> str | None:
        """What the caller said that labels are, or what they must be: counts that were saved know answers alone."""
        return "answer" if self.engine == SAVED_COUNTS else self.kind_given

    def as_scores(self) -> LargeRound:
        """The round with its labels read as scores, which other rounds showed them to be."""
        from hero_eval.counting.score_source import reopened_as_scores
        from hero_eval.counting.sql_round import SqlSource

        hidden = isinstance(self.source, HiddenGold)
        source = self.source.source if isinstance(self.source, HiddenGold) else self.source
        if self.has_scores:
            return self
        if not isinstance(source, SqlSource):
            message = f"other rounds have scores, but round {self.name!r} is kept as counts of answers"
            raise wrong("E214", f"{message}. Read its own files instead")
        opened = reopened_as_scores(source)
        return self._on(hide(opened) if hidden else opened)

    def in_bins(self, cuts: ScoreCuts, note: Finding | None) -> LargeRound:
        """The round of scores in these bins."""
        remarks = tuple(of for of in self._remarks if of.code != "F118")
        remarks = remarks if note is None else (*remarks, note)
        source = _of_scores(self.source).in_bins(cuts)
        if source is self.source and remarks == self._remarks:
            return self
        same = self._on(source)
        same._remarks = remarks
        return same

    def score_part(self) -> ScorePart:
        """What bins are learned from."""
        return _of_scores(self.source).part()

    def number_facts(self, who: Collection[str] | None, above: float, below: float) -> NumberFacts | None:
        """Of the labels of these labelers, all if None: how many, from where to where, and how many are beyond two
        bounds; None if labels are no numbers."""
        wanted = set(self.labelers if who is None else who)
        if self.source.scored:
            return self.score_part().facts(wanted, above, below)
        numbers = as_numbers(self.values)
        if np.isnan(numbers).any():
            return None
        times = self.labels_by_answer()[[name in wanted for name in self.labelers]].sum(axis=0)
        return facts_of(numbers[times > 0], times[times > 0], above, below)

    def _on(self, source: CountSource) -> LargeRound:
        """The round on another source of its own counts."""
        same = LargeRound(source, self.name, self.engine, self._default)
        same._remarks = self._remarks
        return same

    @property
    def _unseen(self) -> bool:
        """Whether to count patterns is impossible, or would be in vain: other rounds may decide on the bins."""
        return self.source.stays or (self.source.scored and not _of_scores(self.source).is_cut)

    @property
    def notes(self) -> tuple[Finding, ...]:
        if not self.source.stays:
            self.tally()  # what is noteworthy is known once the items were counted
        return (*self.source.notes(), *self._remarks)

    def tally(self, covariates: Names | None = None, labelers: Names | None = None) -> Tally:
        """Counts, with sums of covariates: by default of those named when the round was read."""
        return self.source.tally(self._default if covariates is None else covariates, labelers)

    @property
    def n_items(self) -> int:
        return self.source.totals()[0] if self._unseen else self.tally().n_items

    @property
    def n_labels(self) -> int:
        return self.source.totals()[1] if self._unseen else self.tally().n_labels

    @property
    def n_gold(self) -> int:
        return self.source.totals()[2] if self._unseen else self.tally().n_gold

    def labels_by_labeler(self) -> NDArray[np.int64]:
        if self.source.stays:
            self._refuse("its labels counted by labeler")
        return np.rint(self.tally().labels_of()).astype(np.int64)

    def labels_by_answer(self) -> NDArray[np.float64]:
        return self.source.labels_by_answer()

    @property
    def classes(self) -> tuple[str, ...]:
        return common_classes([self])

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.source.column_names()

    def has_column(self, name: str) -> bool:
        return name in self.column_names

    def numeric_columns(self) -> tuple[str, ...]:
        return self.source.numeric_columns()

    def holds_same_as(self, other: AnyRound) -> bool:
        """Whether both are read from the same files, or have the same number of items of every answer pattern.

        Of few patterns equal numbers may be chance; to compare the items themselves would take both rounds anew.
        """
        if self is other:
            return True
        if not isinstance(other, LargeRound):
            return False
        mine, theirs = (getattr(one.source, "files", None) for one in (self, other))
        if mine is not None and mine == theirs:
            return True
        if self.source.stays or other.source.stays or (self.labelers, self.values) != (other.labelers, other.values):
            return False
        if not _may_be_alike(self.source, other.source):
            return False
        one, two = self.tally(), other.tally()
        if one.n_rows < MANY_PATTERNS or one.n_rows != two.n_rows:
            return False
        return all(
            np.array_equal(getattr(one, name), getattr(two, name)) for name in ("cells", "ends", "gold", "items")
        )

    def shape_and_sums(self) -> tuple[Any, ...]:
        """The same for all of them: there are few, and to look at their items would take a count."""
        return (LargeRound,)

    def noted(self, finding: Finding) -> LargeRound:
        same = copy.copy(self)
        same._remarks = (*self._remarks, finding)
        return same

    def respelled(self, spelling: Mapping[str, str]) -> NoReturn:
        old, new = next(iter(spelling.items()))
        raise wrong(
            "E205",
            f"round {self.name!r}, counted by {self.engine}, spells {old!r} what another round spells {new!r}. "
            "Give all rounds the same classes",
        )

    def without_gold(self) -> LargeRound:
        return LargeRound(hide(self.source), self.name, self.engine, self._default)

    def __repr__(self) -> str:
        return (
            f"LargeRound {self.name!r} on {self.engine}: {count_of(self.n_items, 'item')}, "
            f"{count_of(self.n_labels, 'label')} by {count_of(len(self.labelers), 'labeler')}, {self.n_gold} gold"
        )

    # What asks for its items one by one

    @property
    def item_ids(self) -> NoReturn:
        self._refuse("its item_ids one by one")

    @property
    def label_item(self) -> NoReturn:
        self._refuse("its label_item one by one")

    @property
    def label_labeler(self) -> NoReturn:
        self._refuse("its label_labeler one by one")

    @property
    def label_answer(self) -> NoReturn:
        self._refuse("its label_answer one by one")

    @property
    def gold(self) -> NoReturn:
        self._refuse("its gold one by one")

    @property
    def weight(self) -> NoReturn:
        self._refuse("its weight one by one")

    def covariate(self, name: str) -> NoReturn:
        if not self.has_column(name):
            raise InputError(absent(self.name, "column", name, self.column_names))
        self._refuse(f"the column {name!r} item by item")

    texts = words = flags = covariate

    def gold_probability(self) -> None:
        if self.has_column(GOLD_PROBABILITY):
            self.covariate(GOLD_PROBABILITY)

    def select(self, mask: Any) -> NoReturn:
        del mask
        self._refuse("some of its items")

    def without_labeler(self, labeler: str) -> NoReturn:
        self._refuse(f"the answers of labeler {labeler!r} item by item")

    def _refuse(self, what: str) -> NoReturn:
        raise wrong(
            "E211",
            f"round {self.name!r} is counted by {self.engine} without holding its items, but this asks for {what}. "
            "If it fits into memory, read it with engine='memory' (command: --engine memory)",
        )


Round.register(LargeRound)  # it goes wherever a round goes


class HiddenGold:
    """A round of which nobody sees the gold; all else is its source's."""

    def __init__(self, source: CountSource) -> None:
        self.source = self._source = source
        self.labelers = source.labelers
        self.values = source.values
        self.scored = source.scored
        self.label_kind = source.label_kind
        self.classes = source.classes
        self.positive = source.positive
        self.idle = source.idle
        self._hidden: dict[tuple[Names, Names | None], tuple[Tally, Ints]] = {}

    @property
    def stays(self) -> bool:
        return self._source.stays

    @property
    def answers(self) -> Names | None:
        return self._source.answers

    def gold_values(self) -> Names:
        return ()

    def _blind(self, covariates: Names, labelers: Names | None) -> tuple[Tally, Ints]:
        asked = covariates, labelers
        if asked not in self._hidden:
            self._hidden[asked] = hide_gold(self._source.tally(*asked))
        return self._hidden[asked]

    def totals(self) -> tuple[int, int, int]:
        n_items, n_labels, _ = self._source.totals()
        return n_items, n_labels, 0

    def labels_by_answer(self) -> Floats:
        return self._source.labels_by_answer()

    def tally(self, covariates: Names = (), labelers: Names | None = None) -> Tally:
        return self._blind(covariates, labelers)[0]

    def grams(self, covariates: Names, labelers: Names | None, forms: Forms) -> Floats:
        tally, row = self._blind(covariates, labelers)
        seen = self._source.grams(covariates, labelers, forms)
        columns = [sum_by(row, column, tally.n_rows) for column in seen.reshape(len(seen), -1).T]
        return np.stack(columns, axis=1).reshape(tally.n_rows, *seen.shape[1:])

    def notes(self) -> tuple[Finding, ...]:
        return self._source.notes()

    def column_names(self) -> Names:
        return self._source.column_names()

    def numeric_columns(self) -> Names:
        return self._source.numeric_columns()


class HiddenScores(HiddenGold):
    """The same of scores, whose bins do not depend on gold."""

    def __init__(self, source: ScoreSource) -> None:
        super().__init__(source)
        self._scores = source

    @property
    def is_cut(self) -> bool:
        return self._scores.is_cut

    def in_bins(self, cuts: ScoreCuts) -> CountSource:
        return hide(self._scores.in_bins(cuts))

    def part(self) -> ScorePart:
        return self._scores.part()

    @property
    def facts(self) -> tuple[Any, ...]:
        return self._scores.facts


def hide(source: CountSource) -> HiddenGold:
    """The round with its gold hidden."""
    return HiddenScores(_of_scores(source)) if source.scored else HiddenGold(source)


def _of_scores(source: CountSource) -> ScoreSource:
    """A source that says of itself that it has scores."""
    assert source.scored
    return cast(ScoreSource, source)


def _may_be_alike(one: CountSource, other: CountSource) -> bool:
    """Whether scores, of which to count patterns would take both rounds anew, do not tell the rounds apart."""
    if one.scored and other.scored:
        return _of_scores(one).facts == _of_scores(other).facts and one.totals() == other.totals()
    return one.scored == other.scored
