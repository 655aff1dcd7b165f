"""What every round says of itself, whether its items are in memory or stay in files that an engine counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.display import Displayed
from hero_eval.findings import Finding

GOLD_PROBABILITY = "gold_probability"
"""The column of items that says how probable it was that an item would be given gold."""


class AnyRound(Displayed, ABC):
    """What a round in memory (`Round`) and one that stays where it is (`LargeRound`) have in common."""

    name: str
    labelers: tuple[str, ...]
    values: tuple[str, ...]
    classes_given: tuple[str, ...] | None
    positive: str | None
    frame_kind: str

    label_score: NDArray[np.float64] | None = None
    """The labels as numbers, if they are scores and at hand; see `has_scores`."""

    idle: frozenset[tuple[str, str]] = frozenset()
    """Answers that the caller named, with the option (missing or map), and that nobody gave."""

    kind_given: str | None = None
    """What the caller says that labels are: answers or scores."""

    @property
    def answer_values(self) -> tuple[str, ...]:
        """What labels may say; the same as `values`, unless labels are scores."""
        return self.values

    @property
    def has_scores(self) -> bool:
        """Whether labels are scores, of which `answer_values` are the bins."""
        return self.label_score is not None

    @property
    @abstractmethod
    def gold_values(self) -> tuple[str, ...]:
        """Those of `values` that gold has."""

    @property
    @abstractmethod
    def holds_items(self) -> bool:
        """Whether items and labels are at hand one by one; if not, only counts of answer patterns can be had."""

    @property
    @abstractmethod
    def stays_in_engine(self) -> bool:
        """Whether not even counts can be had: the labels are too many, and of too many patterns."""

    @property
    @abstractmethod
    def notes(self) -> tuple[Finding, ...]:
        """Findings on the tables: duplicates, items set aside."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Items with at least one label."""

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """Labels, duplicates not counted."""

    @property
    @abstractmethod
    def n_gold(self) -> int:
        """Items with gold."""

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:
        """The possible answers of this round alone; see `common_classes`."""

    @property
    @abstractmethod
    def column_names(self) -> tuple[str, ...]:
        """Columns of the items, other than item and weight."""

    def labels_by_labeler(self) -> NDArray[np.int64]:
        """How many labels each labeler gave.

        Returns
        -------
        array of int, (n_labelers,)
            In the order of `labelers`.
        """
        given: NDArray[np.int64] = np.rint(self.labels_by_answer().sum(axis=1)).astype(np.int64)
        return given

    @abstractmethod
    def labels_by_answer(self) -> NDArray[np.float64]:
        """How often each labeler gave each answer.

        Returns
        -------
        array of float, (n_labelers, n_answers)
            In the order of `labelers` and of `answer_values`.
        """

    @abstractmethod
    def has_column(self, name: str) -> bool:
        """Whether the items have this column.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        bool
        """

    @abstractmethod
    def numeric_columns(self) -> tuple[str, ...]:
        """Columns that can serve as covariates: numbers or booleans throughout, finite, not all missing.

        Returns
        -------
        tuple of str
        """

    @abstractmethod
    def holds_same_as(self, other: AnyRound) -> bool:
        """Whether the other round has the same items, labels and gold, whatever it is called.

        Parameters
        ----------
        other : Round
            The round to compare with.

        Returns
        -------
        bool
        """

    @abstractmethod
    def shape_and_sums(self) -> tuple[Any, ...]:
        """A key that is equal for rounds that hold the same, and hardly ever for others.

        Returns
        -------
        tuple
        """

    @abstractmethod
    def noted(self, finding: Finding) -> AnyRound:
        """The same round with one more remark.

        Parameters
        ----------
        finding : Finding
            The remark; it comes last in `notes`.

        Returns
        -------
        Round
            A new round.
        """

    @abstractmethod
    def respelled(self, spelling: Mapping[str, str]) -> AnyRound:
        """The round with some of its answers in another spelling, and a remark that says so.

        Parameters
        ----------
        spelling : mapping of str to str
            The old spelling of each of these answers, mapped to the new one.

        Returns
        -------
        Round
            A new round.
        """

    @abstractmethod
    def without_gold(self) -> AnyRound:
        """The round with its gold hidden, as a current round has it.

        Returns
        -------
        Round
            A new round.
        """
