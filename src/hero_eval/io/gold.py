"""Gold: from its own table, or from a column of another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hero_eval.errors import Problem
from hero_eval.io.answers import Answers, outside_classes
from hero_eval.io.arrays import Coded, Codes, settle
from hero_eval.io.columns import Named
from hero_eval.io.ids import positions, read_answers, read_ids
from hero_eval.io.read_options import Options
from hero_eval.io.values import count_of


@dataclass(frozen=True)
class Gold:
    """A gold column as codes, row by row."""

    table: Named
    items: Coded
    answers: Coded
    borrowed: bool
    """Whether the column is one of the labels or items, where repetition means nothing."""


def read_gold(table: Named, options: Options, problems: list[Problem], *, borrowed: bool = False) -> Gold | None:
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
    """Gold of the labelled items, -1 = unknown."""
    if gold is None:
        return np.full(len(item_ids), -1, np.int64)
    return np.append(gold_answers, -1)[positions(item_ids, gold.items.texts)]
