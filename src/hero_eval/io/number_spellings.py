"""Numbers as some programs write them into text files: 0,52 with a decimal comma, 52% with a sign."""

from __future__ import annotations

from typing import Any

from hero_eval.findings import Finding, name_some

_TRIED = 100
"""Values that are looked at before a whole column is: prompts are long."""
_COMMAS = r"^\s*([+-]?\d+(,\d+)?)?\s*$"
_PERCENTS = r"^\s*([+-]?\d+([.,]\d+)?\s*%)?\s*$"
_KEY = b"hero_eval.numbers"


def plain_numbers(table: Any, delimiter: str) -> Any:
    """The table of texts with such numbers spelled 0.52 and 52, in columns that hold nothing else.

    A comma is a decimal one only where it parts no columns, and not in a column whose every fraction has three digits:
    these may be thousands.
    """
    import pyarrow.compute as pc

    changed = []
    for place, name in enumerate(table.column_names):
        column = table.column(place)  # several may have no name
        if delimiter != "," and _all_like(column, _COMMAS, ",") and _has_fractions(column):
            table = table.set_column(place, name, pc.replace_substring(column, ",", "."))
            changed.append(name)
        elif _all_like(column, _PERCENTS, "%"):
            bare = pc.replace_substring_regex(column, r"\s*%\s*$", "")
            table = table.set_column(place, name, pc.replace_substring(bare, ",", "."))
            changed.append(name)
    return table.replace_schema_metadata({_KEY: "\n".join(changed).encode()}) if changed else table


def _all_like(column: Any, pattern: str, sign: str) -> bool:
    """Whether all texts are so, and one of them has the sign."""
    import pyarrow.compute as pc

    for part in (column[:_TRIED], column):
        if not pc.all(pc.match_substring_regex(part, pattern)).as_py():
            return False
    return bool(pc.any(pc.match_substring(column, sign)).as_py())


def _has_fractions(column: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(column, r",(\d{1,2}|\d{4,})\s*$|^\s*[+-]?0,")).as_py())


def spelling_notes(tables: list[Any]) -> tuple[Finding, ...]:
    """F135 for columns of these tables whose numbers were spelled anew."""
    names = [
        name
        for table in tables
        if (told := (table.schema.metadata or {}).get(_KEY)) is not None
        for name in told.decode().split("\n")
    ]
    if not names:
        return ()
    message = f"numbers with a decimal comma or a percent sign were read as numbers: {name_some(names, 8)}"
    return (Finding("F135", message, {"columns": names}),)
