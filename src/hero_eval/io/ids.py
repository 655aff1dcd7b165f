"""Columns of ids and answers as codes, and ids of one table found in another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import Problem
from hero_eval.io.arrays import Coded, Codes, encode_answers, encode_ids
from hero_eval.io.columns import Named
from hero_eval.io.read_options import Options


def read_ids(
    table: Named, column: str, problems: list[Problem], where: NDArray[np.bool_] | None = None
) -> Coded | None:
    """A column of ids; null ids (in the rows `where` they matter) are E107."""
    if column not in table.columns:
        return None
    coded = _readable(table, column, problems, encode_ids)
    if coded is None:
        return None
    null = np.flatnonzero((coded.codes < 0) & (True if where is None else where))
    if len(null):
        problems.append(
            Problem(
                "E107",
                f"{table.column(column)} is empty in {len(null)} of {table.n_rows} rows, "
                f"first in data row {null[0] + 1}. Give each row its {column}, or drop these rows.",
            )
        )
    return coded


def read_answers(table: Named, column: str, options: Options, problems: list[Problem]) -> Coded | None:
    """A column of answers, as the table writes them."""
    if column not in table.columns:
        return None
    keep = frozenset(options.class_texts)
    return _readable(table, column, problems, lambda values: encode_answers(values, keep, options.missing))


def _readable(table: Named, column: str, problems: list[Problem], encode: Callable[[Any], Coded]) -> Coded | None:
    import pyarrow as pa

    try:
        return encode(table.columns[column])
    except pa.ArrowException as error:
        kind = table.columns[column].type
        reason = " ".join(str(error).split())[:120]
        problems.append(Problem("E117", f"{table.column(column)} of type {kind} cannot be read as text: {reason}."))
        return None


def positions(ids: Any, among: Any) -> Codes:
    """Where each id is in `among`, -1 = nowhere. Both are pyarrow arrays of text."""
    import pyarrow.compute as pc

    found = pc.index_in(ids, value_set=among).fill_null(-1)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)
