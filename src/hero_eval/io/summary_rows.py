"""Rows at the end of a spreadsheet that sum up the others: "Total", "Average", or sums below columns without an id."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.findings import Finding, name_some
from hero_eval.io.arrays import plain, to_numbers
from hero_eval.io.values import count_of, fold, plain_text

_WORDS = frozenset(
    (
        *("total", "totals", "grand total", "sum", "sums", "average", "averages", "avg", "mean", "median", "count"),
        *(
            "pass rate",
            "accuracy",
            "overall",
            "std",
            "stdev",
            "gesamt",
            "summe",
            "mittelwert",
            "durchschnitt",
            "anzahl",
        ),
        *("moyenne", "somme", "totale", "media", "promedio", "suma"),
    )
)
MOST = 4
"""Such rows at an end; more of them are data."""
_FEWEST = 10
"""Rows below which two numbers may be the sum of others by chance."""


def without_summary(name: str, table: Any) -> tuple[Any, tuple[Finding, ...]]:
    """The table without such rows, and F139 if there were any. A row without a word for it must hold sums or means."""
    if table.num_rows < _FEWEST or not table.num_columns:
        return table, ()
    last = table.slice(table.num_rows - MOST).to_pylist()
    first = table.column_names[0]
    told: list[str] = []
    for row in reversed(last):
        text = fold(plain_text(row[first]) or "")
        kept = table.slice(0, table.num_rows - len(told) - 1)
        if not (text.rstrip(":") in _WORDS or (not text and _sums_up(row, kept))):
            break
        told.append(plain_text(row[first]) or "")
    if not told or {*map(fold, told)} & {fold(plain_text(one) or "") for one in _texts(table[first], len(told))}:
        return table, ()
    names = [one or "no name" for one in reversed(told)]
    message = (
        f"{name}: {count_of(len(told), 'row')} at the end that {'sums' if len(told) == 1 else 'sum'} up the others "
        f"{'was' if len(told) == 1 else 'were'} set aside: {name_some(names)}"
    )
    return table.slice(0, table.num_rows - len(told)), (Finding("F139", message, {"rows": names}),)


def _texts(column: Any, end: int) -> list[Any]:
    """The distinct values of a column without its last rows."""
    values: list[Any] = plain(column.slice(0, len(column) - end)).unique().to_pylist()
    return values


def _sums_up(row: dict[str, Any], kept: Any) -> bool:
    """Whether a row without a name holds numbers alone, of which most are the sum or mean of their column."""
    there = {name: text for name, value in row.items() if (text := plain_text(value))}
    hits = [_is_sum(text, to_numbers(kept[name]).values) for name, text in there.items()]
    return len(hits) > 1 and 2 * sum(hits) > len(hits)


def _is_sum(text: str, column: NDArray[np.float64]) -> bool:
    try:
        value = float(text.rstrip("%"))
    except ValueError:
        return False
    known = column[~np.isnan(column)]
    if len(known) < _FEWEST:
        return False
    found = (known.sum(), known.mean(), 100.0 * known.mean())
    return any(abs(value - one) <= 0.006 + 1e-9 * abs(one) for one in found)
