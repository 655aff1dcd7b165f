"""A round: one evaluation with its labels, some gold and its items. Every function here takes rounds."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.display import Displayed
from hero_eval.errors import InputError, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.arrays import can_be_covariate, show, take, to_flags, to_numbers, to_texts
from hero_eval.io.columns import absent, number_problems
from hero_eval.io.frames import from_frames
from hero_eval.io.read_options import make_options
from hero_eval.io.validate import Contents, parse_round
from hero_eval.io.values import (
    BINARY_WORDS,
    answer_text,
    canonical,
    count_of,
    fold,
    in_class_order,
    is_binary,
    number,
)

GOLD_PROBABILITY = "gold_probability"
"""The column of items that says how probable it was that an item would be given gold."""


class Round(Displayed):
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
    item_ids: NDArray[np.object_]
    """(n_items,) ids of the items that have labels, sorted."""
    labelers: tuple[str, ...]
    """Names of the labelers, sorted."""
    values: tuple[str, ...]
    """The answers, in canonical spelling. `label_answer` and `gold` point into it."""
    label_item: NDArray[np.int64]
    """(n_labels,) positions in `item_ids`, sorted by (item, labeler); a labeler labels an item once."""
    label_labeler: NDArray[np.int64]
    """(n_labels,) positions in `labelers`."""
    label_answer: NDArray[np.int64]
    """(n_labels,) positions in `values`."""
    gold: NDArray[np.int64]
    """(n_items,) positions in `values`; -1 = unknown."""
    weight: NDArray[np.float64] | None
    """(n_items,) how many items each stands for, as given; None if nobody said."""
    classes_given: tuple[str, ...] | None
    """The classes as given, or None."""
    positive: str | None
    """The positive class, if one was named."""
    notes: tuple[Finding, ...]
    """Findings on the tables: duplicates, items set aside."""
    frame_kind: str
    """Where the labels came from: pandas, polars, pyarrow, duckdb or files."""

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
    ) -> None:
        """Read the tables."""
        options = make_options(columns, classes, positive, covariates, text, "round" if name is None else name, missing)
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
        self.item_ids = _read_only(contents.item_ids)
        self.labelers = contents.labelers
        self.values = contents.values
        self.label_item = _read_only(contents.label_item)
        self.label_labeler = _read_only(contents.label_labeler)
        self.label_answer = _read_only(contents.label_answer)
        self.gold = _read_only(contents.gold)
        self.weight = None if contents.weight is None else _read_only(contents.weight)
        self.classes_given = contents.classes_given
        self.positive = contents.positive
        self.notes = contents.notes
        self.frame_kind = contents.frame_kind

    @property
    def n_items(self) -> int:
        """Items with at least one label."""
        return len(self.item_ids)

    @property
    def n_labels(self) -> int:
        """Labels, duplicates not counted."""
        return len(self.label_item)

    @property
    def n_gold(self) -> int:
        """Items with gold."""
        return int((self.gold >= 0).sum())

    def labels_by_labeler(self) -> NDArray[np.int64]:
        """How many labels each labeler gave.

        Returns
        -------
        array of int, (n_labelers,)
            In the order of `labelers`.
        """
        return np.bincount(self.label_labeler, minlength=len(self.labelers))

    @property
    def classes(self) -> tuple[str, ...]:
        """The possible answers of this round alone; see `common_classes`."""
        return common_classes([self])

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns of the items, other than item and weight."""
        return tuple(self._contents.columns)

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
        return isinstance(name, str) and name in self._contents.columns

    def numeric_columns(self) -> tuple[str, ...]:
        """Columns that can serve as covariates: numbers or booleans throughout, finite, not all missing.

        Returns
        -------
        tuple of str
        """
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
        problems = number_problems(self._place(name), column, numbers, self.item_ids)
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
        kept = np.flatnonzero(keep)
        return Round._of(
            dataclasses.replace(
                self._contents,
                item_ids=self.item_ids[keep],
                label_item=position[self.label_item[rows]],
                label_labeler=self.label_labeler[rows],
                label_answer=self.label_answer[rows],
                gold=self.gold[keep],
                weight=None if self.weight is None else self.weight[keep],
                columns={name: take(column, kept) for name, column in self._contents.columns.items()},
                notes=(),
            )
        )

    def holds_same_as(self, other: Round) -> bool:
        """Whether the other round has the same items, labels and gold, whatever it is called.

        Parameters
        ----------
        other : Round
            The round to compare with.

        Returns
        -------
        bool
        """
        if self is other:
            return True
        if type(self) is not type(other) or not self.n_items:
            return False
        if (self.n_items, self.n_labels, self.labelers) != (other.n_items, other.n_labels, other.labelers):
            return False
        pairs: list[tuple[NDArray[Any], NDArray[Any]]] = [
            (self.label_item, other.label_item),
            (self.label_labeler, other.label_labeler),
            (self.item_ids, other.item_ids),
            (self._said(self.label_answer), other._said(other.label_answer)),
            (self._said(self.gold), other._said(other.gold)),
        ]
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def shape_and_sums(self) -> tuple[Any, ...]:
        """A key that is equal for rounds that hold the same, and hardly ever for others.

        Returns
        -------
        tuple
        """
        weight = np.array(
            [zlib.crc32(value.encode("utf-8", "surrogatepass")) for value in (*self.values, "")], np.int64
        )
        some = slice(None, None, max(1, self.n_items // 1000))
        sums = tuple(
            int(weight[answers] @ (1 + np.arange(len(answers)) % 1009)) for answers in (self.label_answer, self.gold)
        )
        return type(self), self.n_items, self.n_labels, self.labelers, hash(tuple(self.item_ids[some])), sums

    def _said(self, answers: NDArray[np.int64]) -> NDArray[np.object_]:
        """Answers as they are spelled: rounds may number them differently."""
        return np.array([*self.values, ""], dtype=object)[answers]

    def noted(self, finding: Finding) -> Round:
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
        return Round._of(dataclasses.replace(self._contents, notes=(*self.notes, finding)))

    def respelled(self, spelling: Mapping[str, str]) -> Round:
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
        """The round with its gold hidden, as a current round has it.

        Returns
        -------
        Round
            A new round.
        """
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
            Its answer to each item of that round, as a position in `values`; -1 = none.

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
            )
        )
        labelled = np.bincount(thinned.label_item, minlength=self.n_items) > 0
        return thinned.select(labelled), answers[labelled]

    def __repr__(self) -> str:
        return (
            f"Round {self.name!r}: {count_of(self.n_items, 'item')}, {count_of(self.n_labels, 'label')} by "
            f"{count_of(len(self.labelers), 'labeler')}, {self.n_gold} gold"
        )


def spelled(value: object, classes: Sequence[str]) -> str:
    """A class as a caller may write it (4, 4.0, True, "Yes") in the spelling of `classes`."""
    text = answer_text(value, frozenset(classes)) or ""
    return text if text in classes else canonical(text, binary=tuple(classes) == ("0", "1"))


def in_one_spelling(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds with answers that only case or space tells apart spelled alike: as classes given, else as the first.

    Answers that one and the same round tells apart so stay apart.
    """
    first: dict[str, str] = {}
    apart: set[str] = set()
    given = [one.classes_given for one in rounds if one.classes_given is not None]
    for names in (*given, *(one.values for one in rounds)):
        folded = [fold(name) for name in names]
        apart |= {one for one in folded if folded.count(one) > 1}
        for key, name in zip(folded, names, strict=True):
            first.setdefault(key, name)
    out = []
    for one in rounds:
        names = (*(one.classes_given or ()), *one.values)
        other = {name: first[fold(name)] for name in names if fold(name) not in apart and first[fold(name)] != name}
        out.append(one.respelled(other) if other else one)
    return tuple(out)


def common_classes(rounds: Sequence[Round]) -> tuple[str, ...]:
    """The classes that these rounds share, in order: as given, else 0 and 1, else the answers seen, sorted.

    Of two classes the positive one comes last. InputError E205 if the rounds contradict each other, E118 if a
    single answer was seen and nobody said what else was possible.
    """
    given = _given_classes(rounds)
    seen = {value for one in rounds for value in one.values}
    if given is not None:
        _refuse_strangers(rounds, given)
        classes = given
    elif seen <= {"0", "1"}:
        classes = ("0", "1")
    else:
        _refuse_mixed_spelling(rounds, seen)
        _refuse_unrelated(rounds)
        classes = in_class_order(seen)
    if len(classes) < 2:
        names = name_some([one.name for one in rounds])
        raise wrong("E118", f"every answer of {names} is {classes[0]!r}. Name all possible answers: classes=[...].")
    return _positive_last(rounds, classes)


def _given_classes(rounds: Sequence[Round]) -> tuple[str, ...] | None:
    """The classes that callers gave, if any did."""
    giving = [one for one in rounds if one.classes_given is not None]
    for one in giving[1:]:
        if one.classes_given != giving[0].classes_given:
            raise wrong(
                "E205",
                f"rounds {giving[0].name!r} and {one.name!r} were given different classes: "
                f"{list(giving[0].classes_given or ())} and {list(one.classes_given or ())}. "
                "Give them the same, in the same order.",
            )
    return giving[0].classes_given if giving else None


def _refuse_strangers(rounds: Sequence[Round], classes: tuple[str, ...]) -> None:
    for one in rounds:
        outside = [value for value in one.values if value not in classes]
        if outside:
            raise wrong(
                "E205",
                f"round {one.name!r} has answers outside the classes {name_some(list(classes), 12)} of the "
                f"other rounds: {name_some(outside)}. Give all rounds the same classes.",
            )


def _refuse_mixed_spelling(rounds: Sequence[Round], seen: set[str]) -> None:
    """A round of yes and no alone was read as 1 and 0; beside one of yes, no and maybe that is wrong."""
    words = sorted(value for value in seen if value.lower() in BINARY_WORDS)
    if not words or not seen & {"0", "1"}:
        return
    digits = next(one for one in rounds if {"0", "1"} & set(one.values))
    spelled = next(one for one in rounds if words[0] in one.values)
    raise wrong(
        "E205",
        f"round {digits.name!r} has the answers {name_some(list(digits.values))} (yes and no are read as 1 "
        f"and 0 in a round that has nothing else), but round {spelled.name!r} has "
        f"{name_some(list(spelled.values), 12)}. "
        "Give all rounds the same classes.",
    )


def _refuse_unrelated(rounds: Sequence[Round]) -> None:
    """Rounds without a single answer in common, numbers apart, answer different questions."""
    first = rounds[0]
    for one in rounds[1:]:
        together = [*first.values, *one.values]
        if set(first.values) & set(one.values) or all(number(value) is not None for value in together):
            continue
        raise wrong(
            "E205",
            f"rounds {first.name!r} and {one.name!r} have no answer in common: {name_some(list(first.values))} and "
            f"{name_some(list(one.values))}. If they ask the same question, give all rounds the same classes.",
        )


def _positive_last(rounds: Sequence[Round], classes: tuple[str, ...]) -> tuple[str, ...]:
    naming = [one for one in rounds if one.positive is not None]
    for one in naming[1:]:
        if one.positive != naming[0].positive:
            raise wrong(
                "E205",
                f"rounds {naming[0].name!r} and {one.name!r} name different positive classes: "
                f"{naming[0].positive!r} and {one.positive!r}. Name the same one.",
            )
    if len(classes) == 2 and naming and naming[0].positive == classes[0]:
        return classes[::-1]
    return classes


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
