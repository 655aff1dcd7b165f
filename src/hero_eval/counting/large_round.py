"""A round that stays where it is: in files that an engine counts, or as counts that were saved.

It goes wherever a round goes. What asks for its items one by one is refused with the way out.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hero_eval.any_round import GOLD_PROBABILITY, AnyRound
from hero_eval.classes import common_classes
from hero_eval.counting.engine import CountSource, Names
from hero_eval.counting.tally import Tally, hide_gold
from hero_eval.errors import InputError, wrong
from hero_eval.findings import Finding
from hero_eval.io.tables import absent
from hero_eval.io.values import count_of
from hero_eval.model.moments import Forms
from hero_eval.model.patterns import Floats, Ints, sum_by
from hero_eval.round import Round

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
    def notes(self) -> tuple[Finding, ...]:
        if not self.source.stays:
            self.tally()  # what is noteworthy is known once the items were counted
        return (*self.source.notes(), *self._remarks)

    def tally(self, covariates: Names | None = None, labelers: Names | None = None) -> Tally:
        """Counts, with sums of covariates: by default of those named when the round was read."""
        return self.source.tally(self._default if covariates is None else covariates, labelers)

    @property
    def n_items(self) -> int:
        return self.source.totals()[0] if self.source.stays else self.tally().n_items

    @property
    def n_labels(self) -> int:
        return self.source.totals()[1] if self.source.stays else self.tally().n_labels

    @property
    def n_gold(self) -> int:
        return self.source.totals()[2] if self.source.stays else self.tally().n_gold

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
        return LargeRound(HiddenGold(self.source), self.name, self.engine, self._default)

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
        self._source = source
        self.labelers = source.labelers
        self.values = source.values
        self.classes = source.classes
        self.positive = source.positive
        self.idle = source.idle
        self.label_kind = source.label_kind
        self._hidden: dict[tuple[Names, Names | None], tuple[Tally, Ints]] = {}

    @property
    def stays(self) -> bool:
        return self._source.stays

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
