"""Columns whose cells are JSON objects, as judges are asked for them: each key becomes a column, `gpt.verdict`."""

from __future__ import annotations

import json
import re
from typing import Any

from hero_eval.findings import Finding
from hero_eval.io.bridge import to_text_array
from hero_eval.io.values import plain_text

_TRIED = 20
"""Cells that are looked at before a whole column is."""
MOST_KEYS = 30
"""Keys above which an object is data, and stays one text."""
MOST_BROKEN = 0.1
"""The share of cells that may be something else: a judge that ran out of tokens breaks off."""
_FENCE = re.compile(r"^```(?:json)?\s*|\s*```$")


def with_cells_opened(table: Any) -> tuple[Any, tuple[Finding, ...]]:
    """The table with such columns replaced by one for each key; F133 for cells that are no objects, and say nothing."""
    import pyarrow as pa

    opened = {name: found for name in table.column_names if (found := _opened(table[name])) is not None}
    if not opened:
        return table, ()
    broken = {name: lost for name, (_, lost) in opened.items() if lost}
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name not in opened:
            columns[name] = table[name]
            continue
        objects, _ = opened[name]
        for key in dict.fromkeys(key for one in objects if one is not None for key in one):
            columns[f"{name}.{key}"] = to_text_array([None if one is None else _text(one.get(key)) for one in objects])
    said = ", ".join(f"{name!r} {count}" for name, count in broken.items())
    message = f"cells that are no JSON object, as the others of their column are, count as not given: {said}"
    note = Finding("F133", message, {"count": sum(broken.values()), "answers": broken})
    return pa.table(columns), (note,) if broken else ()


def _opened(column: Any) -> tuple[list[dict[str, Any] | None], int] | None:
    """The objects of a column, and how many cells are none; None if these are many, or there are too many keys."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_struct(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    some = [value for value in column.slice(0, 10 * _TRIED).to_pylist() if value][:_TRIED]
    if sum(_object(value) is not None for value in some) <= len(some) // 2:
        return None
    values = column.to_pylist()
    objects = [_object(value) if value else None for value in values]
    broken = sum(1 for value, one in zip(values, objects, strict=True) if value and one is None)
    keys = {key for one in objects if one is not None for key in one}
    few = broken <= MOST_BROKEN * (len(values) - values.count(None))
    return (objects, broken) if 0 < len(keys) <= MOST_KEYS and few else None


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return value
    text = _FENCE.sub("", str(value).strip())
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: Any) -> str | None:
    return json.dumps(value) if isinstance(value, dict | list) else plain_text(value)
