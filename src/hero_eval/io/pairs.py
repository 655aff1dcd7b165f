"""Small tables of two columns: which labeler belongs to which group."""

from __future__ import annotations

from pathlib import Path

from hero_eval.errors import wrong
from hero_eval.io.arrays import to_texts
from hero_eval.io.files import read_table
from hero_eval.io.places import at_hand
from hero_eval.io.values import listed


def read_pairs(path: str | Path, key: str, value: str) -> dict[str, str]:
    """A table's columns `key` and `value` as a mapping; rows without a value are left out.

    E101 or E103 if it cannot be read, E104 if a column is missing, E110 if a key has two values.
    """
    with at_hand(path) as place:
        if not place.path.exists():
            raise wrong("E101", f"{path} does not exist.")
        table = read_table(place.path)
    absent = [name for name in (key, value) if name not in table.column_names]
    if absent:
        raise wrong("E104", f"{path} has no column {absent[0]!r}. Columns: {listed(table.column_names)}.")
    found: dict[str, str] = {}
    for one, of in zip(to_texts(table[key]), to_texts(table[value]), strict=True):
        if one and of and found.setdefault(one, of) != of:
            raise wrong("E110", f"{path} has {key} {one!r} twice, as {value} {found[one]!r} and {of!r}. Keep one.")
    return found
