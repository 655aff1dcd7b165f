"""Labels and gold as codes: labels sorted and without duplicates, gold from its own table or from another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.findings import name_some
from hero_eval.io.answers import Answers, outside_classes
from hero_eval.io.arrays import Coded, Codes, settle
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import Named, positions, read_answers, read_ids
from hero_eval.io.values import count_of


@dataclass(frozen=True)
class Labels:
    """The labels table as codes, row by row."""

    table: Named
    items: Coded
    labelers: Coded
    answers: Coded

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Rows that hold a label."""
        return (self.items.codes >= 0) & (self.labelers.codes >= 0) & (self.answers.codes >= 0)


@dataclass(frozen=True)
class SortedLabels:
    """Labels sorted by (item, labeler) without duplicates, in the index spaces of the round."""

    item_ids: Any
    """The labeled items, sorted: a pyarrow array."""
    unlabeled: Any
    """Items of the labels table that have no label."""
    labelers: tuple[str, ...]
    item: Codes
    labeler: Codes
    answer: Codes
    duplicates: int


def read_labels(table: Named | None, options: ReadOptions, problems: list[Problem]) -> Labels | None:
    """The rows of the labels table, or None if nothing can be made of them. E107 and E119 are reported."""
    if table is None or not table.n_rows:
        return None
    items = read_ids(table, "item", problems)
    answers = read_answers(table, "label", options, problems)
    has_label = answers.codes >= 0 if answers is not None else None
    labelers = read_ids(table, "labeler", problems, where=has_label)
    if items is None or labelers is None or answers is None:
        return None
    labels = Labels(table, items, labelers, answers)
    if not (answers.codes >= 0).any():
        unsaid = f" or counts as not given ({name_some(sorted(answers.aside))})" if answers.aside else ""
        message = f"{table.column('label')} is empty{unsaid} in all {table.n_rows} rows. Give at least one label."
        problems.append(Problem("E119", message))
    return labels if labels.usable.any() else None


def settle_labels(labels: Labels, answers: Answers, problems: list[Problem]) -> SortedLabels:
    """Labels in the round's index spaces, sorted and distinct. E109 and E108 are reported."""
    outside_classes(labels.table, labels.items, labels.labelers, labels.answers, answers, problems)
    usable = labels.usable
    rows = slice(None) if usable.all() else usable
    items, labelers = labels.items.codes[rows], labels.labelers.codes[rows]
    item_of, item_seen = _compact(items, len(labels.items.texts))
    labeler_of, labeler_seen = _compact(labelers, len(labels.labelers.texts))
    spoken = answers.of_label(labels.answers.codes[rows])
    item, labeler, answer = sort_labels(item_of[items], labeler_of[labelers], spoken)
    same_pair = (item[1:] == item[:-1]) & (labeler[1:] == labeler[:-1])
    same = same_pair & (answer[1:] == answer[:-1])
    clash = np.flatnonzero(same_pair & ~same)
    item_ids = labels.items.texts.filter(item_seen)
    names = tuple(labels.labelers.texts.filter(labeler_seen).to_pylist())
    if len(clash):
        pairs = len(np.unique(item[clash] * len(names) + labeler[clash]))
        example = (item_ids[int(item[clash[0]])].as_py(), names[int(labeler[clash[0]])])
        problems.append(_clash_problem(labels, pairs, *example))
    fresh = np.append(True, ~same)
    return SortedLabels(
        item_ids=item_ids,
        unlabeled=labels.items.texts.filter(~item_seen),
        labelers=names,
        item=item[fresh],
        labeler=labeler[fresh],
        answer=answer[fresh],
        duplicates=int(same.sum()),
    )


def _compact(codes: Codes, n: int) -> tuple[Codes, NDArray[np.bool_]]:
    """New consecutive codes for those in use: old code → new code, and which old codes are in use."""
    seen = np.bincount(codes, minlength=n) > 0
    return np.cumsum(seen) - 1, seen


def sort_labels(item: Codes, labeler: Codes, answer: Codes) -> tuple[Codes, Codes, Codes]:
    """The three columns sorted by item, labeler, answer.

    The three codes make one integer that is sorted by value: much faster than an indirect sort of three keys.
    """
    n_labelers = int(labeler.max()) + 1
    n_answers = int(answer.max()) + 2  # answers outside the classes are -1
    if (int(item.max()) + 1) * n_labelers * n_answers >= 2**63:
        order = np.lexsort((answer, labeler, item))
        return item[order], labeler[order], answer[order]
    key = (item * n_labelers + labeler) * n_answers + (answer + 1)
    key.sort()
    pair, answer = np.divmod(key, n_answers)
    item, labeler = np.divmod(pair, n_labelers)
    return item, labeler, answer - 1


def _clash_problem(labels: Labels, pairs: int, item: str, labeler: str) -> Problem:
    """E108, with the labels of one pair as the table writes them."""
    rows = (labels.items.codes == labels.items.list_texts().index(item)) & labels.usable
    rows &= labels.labelers.codes == labels.labelers.list_texts().index(labeler)
    said = " and ".join(repr(labels.answers.text(code)) for code in np.unique(labels.answers.codes[rows]))
    return Problem(
        "E108",
        f"{labels.table.name} has different labels by one labeler for one item in {count_of(pairs, 'case')}, "
        f"for example item {item!r}, labeler {labeler!r}: {said}. "
        "Keep one label for each item and labeler.",
    )


@dataclass(frozen=True)
class Gold:
    """A gold column as codes, row by row."""

    table: Named
    items: Coded
    answers: Coded
    borrowed: bool
    """Whether the column is one of the labels or items, where repetition means nothing."""


def read_gold(table: Named, options: ReadOptions, problems: list[Problem], *, borrowed: bool = False) -> Gold | None:
    """The gold column of a table. If `borrowed` from labels or items, their ids are checked elsewhere."""
    if not table.n_rows:
        return None
    items = read_ids(table, "item", [] if borrowed else problems)
    answers = read_answers(table, "gold", options, problems)
    if items is None or answers is None:
        return None
    return Gold(table, items, answers, borrowed)


def settle_gold(gold: Gold | None, answers: Answers, problems: list[Problem]) -> tuple[Codes, int]:
    """Gold of each item of the gold table (-1 = none), and the number of duplicates; reports E109, E110."""
    if gold is None:
        return np.empty(0, np.int64), 0
    outside_classes(gold.table, gold.items, None, gold.answers, answers, problems)
    spoken = answers.of_gold(gold.answers.codes)
    settled = settle(gold.items.codes, len(gold.items.texts), spoken)
    if len(settled.clashes):
        first = settled.clashes[0]
        code = gold.items.codes[first]
        said = gold.answers.codes[[settled.rows[code], first]]
        count = len(np.unique(gold.items.codes[settled.clashes]))
        problems.append(
            Problem(
                "E110",
                f"{gold.table.name} has different gold for {count_of(count, 'item')}, for example item "
                f"{gold.items.text(code)!r}: {' and '.join(repr(gold.answers.text(c)) for c in said)}. "
                "Keep one gold value for each item.",
            )
        )
    per_item = np.append(spoken, -1)[settled.rows]
    spoken_rows = int(((spoken >= 0) & (gold.items.codes >= 0)).sum())
    return per_item, 0 if gold.borrowed else spoken_rows - int((per_item >= 0).sum())


def gold_of_items(gold: Gold | None, gold_answers: Codes, item_ids: Any) -> Codes:
    """Gold of the labeled items, -1 = unknown."""
    if gold is None:
        return np.full(len(item_ids), -1, np.int64)
    return np.append(gold_answers, -1)[positions(item_ids, gold.items.texts)]
