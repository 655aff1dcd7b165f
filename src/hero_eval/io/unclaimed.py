"""Columns of a wide table that nobody claims, and that may be somebody's after all."""

from __future__ import annotations

from typing import Any

from hero_eval.io.column_names import names_a_fact, names_a_judge, names_an_answer
from hero_eval.io.wide import SPARSE, Asked, WideColumns, look_at


def judges_without_answers(table: Any, asked: Asked) -> list[str]:
    """Columns that are called like judges and hold texts of which nearly none is there twice."""
    return [
        one
        for one in table.column_names
        if names_a_judge(one) and not names_a_fact(one) and not asked.excludes(one) and look_at(table[one], asked).many
    ]


def sparse_others(table: Any, columns: WideColumns, asked: Asked) -> dict[str, int]:
    """Of columns about the items those that may be an expert's by their few values: how many rows each answers.

    They are mostly empty, and by name or values they are answers.
    """
    said: frozenset[str] = frozenset()
    found = {}
    for one in columns.others:
        if names_a_fact(one) or one in asked.aside or (look := look_at(table[one], asked)).many or len(look.values) < 2:
            continue
        given = sum(look.times.values())
        if given > SPARSE * len(table):
            continue
        said = said or frozenset().union(*(look_at(table[of], asked).values for of in columns.labelers.values()))
        if names_an_answer(one) or look.values <= said:
            found[one] = given
    return found
