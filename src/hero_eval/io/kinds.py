"""What a column about items is, as a covariate: numbers, categories, vectors, dates, or a text of its own for each."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.io.arrays import encode_answers, to_numbers
from hero_eval.io.values import count_of, number

Kind = Literal["number", "category", "vector", "date", "text"]
MOST_LEVELS = 50
"""Categories of a column; with more it is a text."""
_DATE = r"^\d{4}-\d{2}-\d{2}([T ].*)?$|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$"


def kind_of(column: Any) -> Kind:
    """What the values of a column are; numbers with a few slips are numbers, which then are told."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = kind.value_type
        return "vector" if pa.types.is_floating(inner) or pa.types.is_integer(inner) else "text"
    if pa.types.is_temporal(kind):
        return "date"
    if pa.types.is_nested(kind) or not len(to_numbers(column).bad):
        return "text" if pa.types.is_nested(kind) else "number"
    coded = encode_answers(column)
    texts = coded.list_texts()
    if all(map(_is_date, texts)):
        return "date"
    if any(number(text) is not None for text in texts):
        return "number"
    few = len(texts) <= MOST_LEVELS and len(texts) <= max(2, (coded.codes >= 0).sum() // 2)
    return "category" if few else "text"


def _is_date(text: str) -> bool:
    import re

    return re.match(_DATE, text) is not None


def date_problem(place: str, column: Any) -> Problem:
    """E137: a date is no covariate."""
    shown = next((str(value) for value in column.to_pylist() if value is not None), "")
    return Problem(
        "E137",
        f"{place} holds dates, such as {shown!r}, which are no covariate: the current round's lie outside those that "
        "history knows. Leave the column out, or make a number or a category of what matters, such as the weekday.",
    )


def vectors(place: str, column: Any) -> NDArray[np.float64]:
    """(n_items, dimensions) the vectors of a column, nan where one is missing; E112 if their lengths differ."""
    from hero_eval.errors import InputError

    rows = column.to_pylist()
    lengths = sorted({len(row) for row in rows if row is not None})
    if len(lengths) != 1:
        said = " and ".join(map(str, lengths[:3])) or "no"
        message = f"{place} holds vectors of {said} dimensions. Give every item a vector of the same length."
        raise InputError(Problem("E112", message))
    empty = [np.nan] * lengths[0]
    found = np.array([empty if row is None else row for row in rows], np.float64)
    endless = int(np.isinf(found).any(axis=1).sum())
    if endless:
        message = f"{place} holds infinite numbers in {count_of(endless, 'vector')}. Correct them."
        raise InputError(Problem("E113", message))
    return found
