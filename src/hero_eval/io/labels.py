"""Labels and gold as codes: labels sorted and without duplicates, gold from its own table or from another one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.findings import name_some
from hero_eval.io.answers import Answers, outside_classes
from hero_eval.io.arrays import Coded, encode_ids, settle
from hero_eval.io.bridge import kept
from hero_eval.io.distinct import Codes
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
    def complete(self) -> bool:
        """Whether every row holds a label."""
        return self.items.complete and self.labelers.complete and self.answers.complete

    @cached_property
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
    has_label = answers.codes >= 0 if answers is not None and not answers.complete else None
    labelers = read_ids(table, "labeler", problems, where=has_label)
    if items is None or labelers is None or answers is None:
        return None
    labels = Labels(table, items, labelers, answers)
    if not len(answers.texts):
        unsaid = f" or counts as not given ({name_some(sorted(answers.aside))})" if answers.aside else ""
        message = f"{table.column('label')} is empty{unsaid} in all {table.n_rows} rows. Give at least one label."
        problems.append(Problem("E119", message))
    return labels if labels.complete or labels.usable.any() else None


def settle_labels(labels: Labels, answers: Answers, problems: list[Problem]) -> SortedLabels:
    """Labels in the round's index spaces, sorted and distinct. E109 and E108 are reported."""
    outside_classes(labels.table, labels.items, labels.labelers, labels.answers, answers, problems)
    item_of, item_seen, items = _in_use(labels, labels.items)
    labeler_of, labeler_seen, labelers = _in_use(labels, labels.labelers)
    _, _, answered = _in_use(labels, labels.answers)
    n_items, n_labelers = int(item_seen.sum()), int(labeler_seen.sum())
    placed = (items if item_of is None else item_of[items], labelers if labeler_of is None else labeler_of[labelers])
    n_answers = int(answers.label_index.max(initial=0)) + 1  # scores point past the classes
    item, labeler, answer = sort_labels(*placed, answers.of_label(answered), n_items, n_labelers, n_answers)
    same_pair = (item[1:] == item[:-1]) & (labeler[1:] == labeler[:-1])
    item_ids = labels.items.texts if item_of is None else kept(labels.items.texts, item_seen)
    names = tuple(kept(labels.labelers.texts, labeler_seen).to_pylist())
    duplicates = 0
    if same_pair.any():
        same = same_pair & (answer[1:] == answer[:-1])
        clash = np.flatnonzero(same_pair & ~same)
        if len(clash):
            pairs = len(np.unique(item[clash] * len(names) + labeler[clash]))
            example = (item_ids[int(item[clash[0]])].as_py(), names[int(labeler[clash[0]])])
            problems.append(_clash_problem(labels, pairs, *example))
        fresh = np.append(True, ~same)
        item, labeler, answer, duplicates = item[fresh], labeler[fresh], answer[fresh], int(same.sum())
    return SortedLabels(
        item_ids=item_ids,
        unlabeled=kept(labels.items.texts, ~item_seen),
        labelers=names,
        item=item,
        labeler=labeler,
        answer=answer,
        duplicates=duplicates,
    )


def _in_use(labels: Labels, column: Coded) -> tuple[Codes | None, NDArray[np.bool_], Codes]:
    """Of the rows that hold a label: old code → new consecutive code (None: the same), old codes in use, old codes."""
    if labels.complete:
        return None, np.ones(len(column.texts), np.bool_), column.codes
    codes = column.codes[labels.usable]
    seen = np.bincount(codes, minlength=len(column.texts)) > 0
    return np.cumsum(seen) - 1, seen, codes


MANY = 50_000
"""Labels from which on sorting by counting pays for what it takes to load."""


def sort_labels(
    item: Codes, labeler: Codes, answer: Codes, n_items: int, n_labelers: int, n_answers: int
) -> tuple[Codes, Codes, Codes]:
    """The three columns sorted by item, labeler, answer; answers outside the classes are -1.

    Labels are dealt out to their items, and sorted by labeler and answer, as one number, within each.
    """
    n_cells = n_labelers * (n_answers + 1)
    if max(n_items, len(item)) >= 2**31 or n_cells >= 2**31:
        order = np.lexsort((answer, labeler, item))
        return item[order], labeler[order], answer[order]
    cell = labeler * (n_answers + 1) + (answer + 1)
    if len(item) < MANY:
        key = item * n_cells + cell
        key.sort()
        item, cell = np.divmod(key, n_cells)
    else:
        item, cell = _dealt(item, cell, n_items, n_cells)
    labeler = cell // (n_answers + 1)
    return item, labeler, cell - labeler * (n_answers + 1) - 1


def _dealt(item: Codes, cell: Codes, n_items: int, n_cells: int) -> tuple[Codes, Codes]:
    """Sorted by item and cell, in time that does not grow faster than the labels."""
    from scipy import sparse

    step, within = np.diff(item), np.diff(cell)
    if ((step > 0) | ((step == 0) & (within >= 0))).all():
        return item, cell
    dealt = sparse.coo_array(
        (np.ones(len(item), np.int8), (item.astype(np.int32), cell.astype(np.int32))), shape=(n_items, n_cells)
    )
    dealt.has_canonical_format = True  # repeats are looked for later, and must not be added up
    rows = dealt.tocsr()
    rows.has_sorted_indices = False
    rows.sort_indices()
    begins = np.zeros(len(item), np.int8)
    begins[rows.indptr[1:-1]] = 1  # every item has a label
    return np.cumsum(begins, dtype=np.int64), rows.indices.astype(np.int64)


def _clash_problem(labels: Labels, pairs: int, item: str, labeler: str) -> Problem:
    """E108, with the labels of one pair as the table writes them."""
    rows = (labels.items.codes == labels.items.list_texts().index(item)) & labels.usable
    rows &= labels.labelers.codes == labels.labelers.list_texts().index(labeler)
    said = " and ".join(repr(labels.answers.text(code)) for code in np.unique(labels.answers.codes[rows]))
    apart = _told_apart(labels)
    remedy = "Keep one label for each item and labeler." if apart is None else _of_criteria(*apart)
    return Problem(
        "E108",
        f"{labels.table.name} has different labels by one labeler for one item in {count_of(pairs, 'case')}, "
        f"for example item {item!r}, labeler {labeler!r}: {said}. {remedy}",
    )


def _told_apart(labels: Labels) -> tuple[str, list[str]] | None:
    """A column of a few values, within each of which nobody contradicts themselves: several questions in one table."""
    people = labels.items.codes[labels.usable] * len(labels.labelers.texts) + labels.labelers.codes[labels.usable]
    answers = labels.answers.codes[labels.usable]
    for ours, column in labels.table.columns.items():
        if ours in ("item", "labeler", "label", "gold", "weight"):
            continue
        try:
            coded = encode_ids(column)
        except (ValueError, TypeError):  # a column of vectors, say
            continue
        if not 2 <= len(coded.texts) <= MOST_CRITERIA or not coded.complete:
            continue
        keys = people * len(coded.texts) + coded.codes[labels.usable]
        settled = settle(np.unique(keys, return_inverse=True)[1], len(keys), answers)
        if not len(settled.clashes):
            return labels.table.theirs.get(ours, ours), coded.list_texts()
    return None


def _of_criteria(column: str, values: list[str]) -> str:
    mapped = "" if column == "criterion" else f" --column {shlex.quote(f'criterion={column}')}"
    ours = "" if column == "criterion" else f"columns={{'criterion': {column!r}}}, "
    return (
        f"Column {column!r} tells them apart: {name_some(values, 12)}. If these are several questions, choose one "
        f"({ours}criterion={values[0]!r}; command:{mapped} --criterion {shlex.quote(values[0])}); else keep one label "
        "for each item and labeler."
    )


MOST_CRITERIA = 20
"""Different values of a column that may name the question."""


@dataclass(frozen=True)
class Gold:
    """A gold column as codes, row by row."""

    table: Named
    items: Coded
    answers: Coded
    borrowed: bool
    """Whether the column is one of the labels or items, where repetition means nothing."""


def read_gold(
    table: Named,
    options: ReadOptions,
    problems: list[Problem],
    *,
    borrowed: bool = False,
    items: Coded | None = None,
) -> Gold | None:
    """The gold column of a table. If `borrowed` from labels or items, their ids are checked elsewhere, and may be known
    as `items`."""
    if not table.n_rows:
        return None
    items = items or read_ids(table, "item", [] if borrowed else problems)
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
