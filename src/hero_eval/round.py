"""A round in memory: one evaluation with its labels, some gold and its items."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.any_round import GOLD_PROBABILITY, AnyRound
from hero_eval.classes import common_classes
from hero_eval.errors import InputError, wrong
from hero_eval.findings import Finding
from hero_eval.io.arrays import can_be_covariate, show, take, to_flags, to_numbers, to_texts
from hero_eval.io.frames import from_frames
from hero_eval.io.read_options import make_options
from hero_eval.io.tables import absent, number_problems
from hero_eval.io.validate import Contents, parse_round
from hero_eval.io.values import answer_text, canonical, count_of, is_binary


class Round(AnyRound):
    """One evaluation: who said what about which item, what the expert said, and what is known of the items.

    All tables may come in one. Any dataframe will do: pandas, Polars, pyarrow, DuckDB. Items without labels are set
    aside; `notes` says so. Row order, file format and dataframe library change nothing.

    Parameters
    ----------
    labels : dataframe
        One row for each label, with the columns item, labeler and label; or one table that has the columns of all
        three.
    gold : dataframe, optional
        The expert's answers, with the columns item and gold. None: no item has gold, unless `labels` has it.
    items : dataframe, optional
        What is known of the items: the column item, covariates, and perhaps weight. None: nothing, unless `labels` has
        it.
    columns : mapping of str to str, optional
        Our column names mapped to yours, such as ``{"labeler": "user"}``. None: the columns have our names.
    classes : sequence, optional
        All possible answers, in order. None: the answers that occur.
    positive : class, optional
        The class whose rate is asked for. None leaves that to each estimate.
    covariates : sequence of str, optional
        Columns of the items that will be covariates: naming them has them checked now. None checks none.
    text : str, optional
        The column of text that will be a covariate: naming it has it checked now. None checks none.
    name : str, optional
        What messages call the round. None: ``"round"``.
    missing : sequence, optional
        Answers that count as not given, such as ``"unsure"`` or ``"skip"``. None: empty ones alone.
    label_kind : {"score", "answer"}, optional
        What labels are: scores, numbers on a scale that each labeler has for itself, or answers, of which each is a
        class. None: scores if they are numbers and there are more than 20 different ones, or fractions, or others than
        0 and 1 where gold is 0 or 1; `notes` says so.
    map : mapping, optional
        Answers, of labels and gold, that are to be read as others, such as ``{"good": 1, "bad": 0}``. None: as they
        are.
    labelers : sequence of str, optional
        The labelers that count. In a wide table, which has one column for each labeler, these are columns, and the rest
        describes items. None: all of a long table; in a wide one they are recognized, and `notes` says which (F122).
    exclude_labelers : sequence of str, optional
        Labelers to leave out, ``*`` stands for any text; in a wide table their columns go too. None: none.
    criterion : str, optional
        Of several criteria in one table the one that is asked for: columns such as ``helpful_gpt`` or ``gpt_helpful``
        of a wide table, rows of a long one that has a column ``criterion``. None: there is only one.
    expert : str or sequence of str, optional
        Labelers whose answers are gold and not labels, ``*`` stands for any text; in a wide table, columns. Where two
        of them differ on an item it gets no gold. None: nobody's.

    Raises
    ------
    InputError
        With all problems of the tables at once.

    Examples
    --------
    >>> import pandas as pd
    >>> import hero_eval as hero
    >>> rows = [("a", "ann", 1), ("a", "bob", 0), ("b", "ann", 0), ("b", "bob", 0)]
    >>> labels = pd.DataFrame(rows, columns=["item", "labeler", "label"])
    >>> gold = pd.DataFrame({"item": ["a"], "gold": [1]})
    >>> hero.Round(labels, gold, name="may")
    Round 'may': 2 items, 4 labels by 2 labelers, 1 gold
    """

    name: str
    """What messages call it: as given, or the name of the folder or file."""
    labelers: tuple[str, ...]
    """Names of the labelers, sorted."""
    values: tuple[str, ...]
    """The answers, in canonical spelling, to which `gold` points; those of gold alone if labels are scores."""
    label_item: NDArray[np.int64]
    """(n_labels,) positions in `item_ids`, sorted by (item, labeler); a labeler labels an item once."""
    label_labeler: NDArray[np.int64]
    """(n_labels,) positions in `labelers`."""
    label_answer: NDArray[np.int64]
    """(n_labels,) positions in `answer_values`."""
    label_score: NDArray[np.float64] | None
    """(n_labels,) the labels as numbers, if they are scores; `label_answer` has the bins that they are cut into."""
    gold: NDArray[np.int64]
    """(n_items,) positions in `values`; -1 = unknown."""
    weight: NDArray[np.float64] | None
    """(n_items,) how many items each stands for, as given; None if nobody said."""
    classes_given: tuple[str, ...] | None
    """The classes as given, or None."""
    positive: str | None
    """The positive class, if one was named."""
    frame_kind: str
    """Where the labels came from: pandas, polars, pyarrow, duckdb or files."""
    holds_items: bool = True
    """Whether items and labels are at hand one by one; not if `read_round` left them in their files."""
    stays_in_engine: bool = False
    """Whether not even counts can be had: the labels are too many, and of too many patterns."""

    def __init__(
        self,
        labels: Any,
        gold: Any = None,
        items: Any = None,
        *,
        columns: Mapping[str, str] | None = None,
        classes: Sequence[Any] | None = None,
        positive: Any | None = None,
        covariates: Sequence[str] | None = None,
        text: str | None = None,
        name: str | None = None,
        missing: Sequence[Any] | None = None,
        label_kind: str | None = None,
        map: Mapping[Any, Any] | None = None,
        labelers: Sequence[str] | None = None,
        exclude_labelers: Sequence[str] | None = None,
        criterion: str | None = None,
        expert: str | Sequence[str] | None = None,
    ) -> None:
        """Read the tables."""
        called = "round" if name is None else name
        chosen = (labelers, exclude_labelers, criterion, expert)
        options = make_options(columns, classes, positive, covariates, text, called, missing, label_kind, map, *chosen)
        self._hold(parse_round(from_frames(labels, gold, items), options))

    @classmethod
    def _of(cls, contents: Contents) -> Round:
        """A round of contents that are known to be sound."""
        made = cls.__new__(cls)
        made._hold(contents)
        return made

    def _hold(self, contents: Contents) -> None:
        self._contents = contents
        self.name = contents.name
        self.labelers = contents.labelers
        self.values = contents.values
        self.label_item = _read_only(contents.label_item)
        self.label_labeler = _read_only(contents.label_labeler)
        self.label_answer = _read_only(contents.label_answer)
        self.label_score = None if contents.label_score is None else _read_only(contents.label_score)
        self.gold = _read_only(contents.gold)
        self.weight = None if contents.weight is None else _read_only(contents.weight)
        self.classes_given = contents.classes_given
        self.positive = contents.positive
        self.frame_kind = contents.frame_kind
        self.idle = contents.idle
        self.counts: dict[Any, Any] = {}  # for those who count it again; of small rounds only
        self.kind_given = contents.label_kind

    @property
    def item_ids(self) -> NDArray[np.object_]:
        """(n_items,) ids of the items that have labels, sorted."""
        return _read_only(self._contents.item_ids)

    # What `AnyRound` explains

    @property
    def notes(self) -> tuple[Finding, ...]:
        return self._contents.notes

    @property
    def n_items(self) -> int:
        return len(self._contents.ids)

    @property
    def n_labels(self) -> int:
        return len(self.label_item)

    @property
    def n_gold(self) -> int:
        return int((self.gold >= 0).sum())

    def labels_by_answer(self) -> NDArray[np.float64]:
        shape = len(self.labelers), len(self.answer_values)
        cells = self.label_labeler * shape[1] + self.label_answer
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)

    @property
    def classes(self) -> tuple[str, ...]:
        return common_classes([self])

    @property
    def gold_values(self) -> tuple[str, ...]:
        return tuple(self.values[place] for place in np.unique(self.gold[self.gold >= 0]))

    @property
    def answer_values(self) -> tuple[str, ...]:
        return self.values if self._contents.answers is None else self._contents.answers

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(self._contents.columns)

    def has_column(self, name: str) -> bool:
        return isinstance(name, str) and name in self._contents.columns

    def numeric_columns(self) -> tuple[str, ...]:
        columns = self._contents.columns.items()
        return tuple(name for name, column in columns if name != GOLD_PROBABILITY and can_be_covariate(column))

    def covariate(self, name: str) -> NDArray[np.float64]:
        """A column of the items as numbers.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        array of float, (n_items,)
            In the order of `item_ids`; nan where a value is missing.

        Raises
        ------
        InputError
            If there is no such column (E202), or it is not numeric (E112) or not finite (E113).
        """
        column = self._column(name)
        numbers = to_numbers(column)
        problems = number_problems(self._place(name), column, numbers, self._contents.ids)
        if problems:
            raise InputError(problems)
        return numbers.values

    def gold_probability(self) -> NDArray[np.float64] | None:
        """How probable it was that each item would be given gold: the column `gold_probability`.

        Returns
        -------
        array of float, (n_items,), or None
            In the order of `item_ids`; None if there is no such column.

        Raises
        ------
        InputError
            If a value is not above 0 and at most 1 (E115).
        """
        if not self.has_column(GOLD_PROBABILITY):
            return None
        values = self.covariate(GOLD_PROBABILITY)
        useless = np.flatnonzero(~((values > 0) & (values <= 1)))
        if len(useless):
            first = int(useless[0])
            shown = show(self._column(GOLD_PROBABILITY), first)
            raise wrong(
                "E115",
                f"{self._place(GOLD_PROBABILITY)} is not above 0 and at most 1 for {len(useless)} of {self.n_items} "
                f"items, for example {shown} (item {str(self.item_ids[first])!r}). Give every item that has labels the "
                "probability with which it was to have gold, or drop the column.",
            )
        return values

    def texts(self, name: str) -> list[str]:
        """A column of the items as text.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        list of str
            One for each item; ``""`` where a value is missing.

        Raises
        ------
        InputError
            If there is no such column (E202).
        """
        return to_texts(self._column(name))

    def words(self, name: str) -> list[str]:
        """A column of the items as words, with all ways of saying yes and no made alike.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        list of str
            One for each item; ``""`` where a value is missing.

        Raises
        ------
        InputError
            If there is no such column (E202).
        """
        texts = [answer_text(text) or "" for text in self.texts(name)]
        binary = is_binary(text for text in texts if text)
        return [canonical(text, binary=binary) for text in texts]

    def flags(self, name: str) -> NDArray[np.bool_]:
        """A yes/no column of the items.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        array of bool, (n_items,)
            In the order of `item_ids`.

        Raises
        ------
        InputError
            If there is no such column (E202), or a value is missing or neither yes nor no (E112).
        """
        column = self._column(name)
        truth, unclear = to_flags(column)
        if len(unclear):
            first = int(unclear[0])
            raise wrong(
                "E112",
                f"{self._place(name)} must be yes or no (or 1 and 0, true and false) for each item; it is "
                f"neither for {len(unclear)} of {self.n_items} items, for example {show(column, first)} "
                f"(item {self.item_ids[first]!r}). Complete these values, or choose another column.",
            )
        return truth

    def _column(self, name: str) -> Any:
        if not self.has_column(name):
            raise InputError(absent(self.name, "column", str(name), self.column_names))
        return self._contents.columns[name]

    def _place(self, name: str) -> str:
        return f"round {self.name!r}, {self._contents.items_name} column {name!r},"

    def select(self, mask: NDArray[np.bool_]) -> Round:
        """The round of some of its items. Labelers and values stay, so that indices keep their meaning.

        Parameters
        ----------
        mask : array of bool, (n_items,)
            Which items to keep, in the order of `item_ids`.

        Returns
        -------
        Round
            A new round, without notes.

        Raises
        ------
        ValueError
            If the mask does not have one value for each item.
        """
        keep = np.asarray(mask, np.bool_)
        if keep.shape != (self.n_items,):
            raise ValueError(f"mask has shape {keep.shape}, the round has {self.n_items} items")
        rows = keep[self.label_item]
        position = np.cumsum(keep) - 1
        return Round._of(
            dataclasses.replace(
                self._contents,
                ids=self.item_ids[keep],
                label_item=position[self.label_item[rows]],
                label_labeler=self.label_labeler[rows],
                label_answer=self.label_answer[rows],
                label_score=None if self.label_score is None else self.label_score[rows],
                gold=self.gold[keep],
                gold_number=None if self._contents.gold_number is None else self._contents.gold_number[keep],
                weight=None if self.weight is None else self.weight[keep],
                columns={name: take(column, np.flatnonzero(keep)) for name, column in self._contents.columns.items()},
                notes=(),
            )
        )

    def holds_same_as(self, other: AnyRound) -> bool:
        if self is other:
            return True
        if not (isinstance(other, Round) and other.holds_items and self.n_items):
            return False
        if (self.n_items, self.n_labels, self.labelers) != (other.n_items, other.n_labels, other.labelers):
            return False
        pairs: list[tuple[NDArray[Any], NDArray[Any]]] = [
            (self.label_item, other.label_item),
            (self.label_labeler, other.label_labeler),
            (self.item_ids, other.item_ids),
            (self._labels_said(), other._labels_said()),
            (self._said(self.gold), other._said(other.gold)),
        ]
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def shape_and_sums(self) -> tuple[Any, ...]:
        texts = [value.encode("utf-8", "surrogatepass") for value in (*self.values, "")]
        weight = np.array([zlib.crc32(text) for text in texts], np.int64)
        some = self._contents.every(max(1, self.n_items // 1000))

        def sum_of(answers: NDArray[np.int64]) -> int:
            return int(weight[answers] @ (1 + np.arange(len(answers)) % 1009))

        labels = sum_of(self.label_answer) if self.label_score is None else zlib.crc32(self.label_score.tobytes())
        return type(self), self.n_items, self.n_labels, self.labelers, hash(some), (labels, sum_of(self.gold))

    def _said(self, answers: NDArray[np.int64]) -> NDArray[np.object_]:
        """Answers as they are spelled: rounds may number them differently."""
        return np.array([*self.values, ""], dtype=object)[answers]

    def _labels_said(self) -> NDArray[Any]:
        """Labels as they are spelled; scores, which other rounds may cut otherwise, as they are."""
        return self._said(self.label_answer) if self.label_score is None else self.label_score

    def noted(self, finding: Finding) -> Round:
        return Round._of(dataclasses.replace(self._contents, notes=(*self.notes, finding)))

    def respelled(self, spelling: Mapping[str, str]) -> Round:
        said = ", ".join(f"{old!r} as {new!r}" for old, new in spelling.items())
        message = f"answers that differ from other rounds' only in case or space count as theirs: {said}"

        def spell(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(spelling.get(name, name) for name in names)

        contents = dataclasses.replace(
            self._contents,
            values=spell(self.values),
            classes_given=None if self.classes_given is None else spell(self.classes_given),
            positive=None if self.positive is None else spelling.get(self.positive, self.positive),
        )
        return Round._of(contents).noted(Finding("F115", message, {"answers": dict(spelling)}))

    def without_gold(self) -> Round:
        return Round._of(dataclasses.replace(self._contents, gold=np.full(self.n_items, -1, np.int64)))

    def without_labeler(self, labeler: str) -> tuple[Round, NDArray[np.int64]]:
        """The round as if this labeler had not been there, and its answers apart.

        Items that nobody else labeled are dropped.

        Parameters
        ----------
        labeler : str
            The name of the labeler.

        Returns
        -------
        round : Round
            The round without the labeler.
        answers : array of int, (n_items,)
            Its answer to each item of that round, as a position in `answer_values`; -1 = none.

        Raises
        ------
        InputError
            If the round has no such labeler (E202).
        """
        if labeler not in self.labelers:
            raise InputError(absent(self.name, "labeler", labeler, self.labelers))
        index = self.labelers.index(labeler)
        own = self.label_labeler == index
        answers = np.full(self.n_items, -1, np.int64)
        answers[self.label_item[own]] = self.label_answer[own]
        others = self.label_labeler[~own]
        thinned = Round._of(
            dataclasses.replace(
                self._contents,
                labelers=self.labelers[:index] + self.labelers[index + 1 :],
                label_item=self.label_item[~own],
                label_labeler=others - (others > index),
                label_answer=self.label_answer[~own],
                label_score=None if self.label_score is None else self.label_score[~own],
            )
        )
        labeled = np.bincount(thinned.label_item, minlength=self.n_items) > 0
        return thinned.select(labeled), answers[labeled]

    def __repr__(self) -> str:
        return (
            f"Round {self.name!r}: {count_of(self.n_items, 'item')}, {count_of(self.n_labels, 'label')} by "
            f"{count_of(len(self.labelers), 'labeler')}, {self.n_gold} gold"
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
