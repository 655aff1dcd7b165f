"""A plain table with a row for each label: item, labeler, label, under whatever names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening
from hero_eval.io.tables import suggest

NEEDED = ("item", "labeler", "label")
UNKNOWN = "NULL, NULL, NULL, NULL, NULL, NULL"
"""A plain table drops nothing, has one question, and does not say who its labelers are."""


def names(opened: Opening, columns: Mapping[str, str] | None, wanted: tuple[str, ...]) -> dict[str, str]:
    """What the table calls our columns: as mapped, as they are, or by a name that means the same."""
    given = {ours: theirs for ours, theirs in (columns or {}).items() if theirs in opened.keys}
    found = dict(given)
    for ours in wanted:
        free = [name for name in opened.keys if name not in found.values()]
        theirs = ours if ours in free else suggest(ours, free)
        if ours not in found and theirs is not None:
            found[ours] = theirs
    return found


def rows(opened: Opening) -> Any:
    """The table: as read, or the records as columns of text."""
    if opened.table is not None:
        return opened.table
    keys = [row[0] for row in opened.con.execute("SELECT DISTINCT unnest(json_keys(json)) FROM records").fetchall()]
    parts = []
    for key in sorted(keys, key=lambda name: opened.keys.index(name) if name in opened.keys else len(opened.keys)):
        path = key.replace("'", "''").replace('"', '\\"')
        name = key.replace('"', '""')
        parts.append(f'json ->> \'$."{path}"\' AS "{name}"')
    return opened.con.sql(f"SELECT {', '.join(parts)} FROM records ORDER BY number").to_arrow_table()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def fits_as_mapped(opened: Opening, columns: Mapping[str, str] | None) -> bool:
    """Whether there is a column each for item, labeler and label under the names that the caller gave."""
    return set(NEEDED) <= set(names(opened, columns, NEEDED))


def _fits(opened: Opening) -> bool:
    return fits_as_mapped(opened, None)


def _fill(opened: Opening, asked: ExportOptions) -> None:
    table, con = rows(opened), opened.con
    ours = names(opened, asked.columns, NEEDED)
    con.register("plain", table)
    item, labeler, label = (quoted(ours[name]) for name in NEEDED)
    con.execute(
        f"INSERT INTO answers SELECT CAST({item} AS VARCHAR), CAST({labeler} AS VARCHAR), CAST({label} AS VARCHAR), "
        f"FALSE, {UNKNOWN} FROM plain"
    )
    described = [name for name in table.column_names if name not in ours.values()]
    fill_gold(opened, item, described, asked)
    describe(opened, item, [name for name in described if name != _gold_name(opened, asked)])


def _gold_name(opened: Opening, asked: ExportOptions) -> str | None:
    given = (asked.columns or {}).get("gold", "gold")
    return given if given in opened.keys else None


def fill_gold(opened: Opening, item: str, described: list[str], asked: ExportOptions) -> None:
    """A column `gold` of the table, once an item."""
    gold = _gold_name(opened, asked)
    if gold in described:
        source = "CAST(source AS VARCHAR)" if "source" in described else "'gold column'"
        value = f"CAST({quoted(gold or '')} AS VARCHAR)"
        opened.con.execute(
            f"INSERT INTO answers SELECT DISTINCT CAST({item} AS VARCHAR), {source}, {value}, TRUE, {UNKNOWN} "
            f"FROM plain WHERE trim(coalesce({value}, '')) <> ''"
        )


def describe(opened: Opening, item: str, described: list[str]) -> None:
    """Columns that say the same on all rows of an item."""
    con = opened.con
    kept = [name for name in described if name != "source" and not _differs(con, item, name)]
    lost = [[name, "differs between the rows of an item"] for name in described if name not in (*kept, "source")]
    if lost:
        con.executemany("INSERT INTO left_out VALUES (?, ?)", lost)
    if kept:
        parts = ", ".join("'" + name.replace("'", "''") + f"', first({quoted(name)})" for name in kept)
        con.execute(
            f"INSERT INTO described SELECT CAST({item} AS VARCHAR), json_object({parts}) FROM plain GROUP BY {item}"
        )


def _differs(con: Any, item: str, name: str) -> bool:
    query = f"SELECT count(*) FROM (SELECT 1 FROM plain GROUP BY {item} HAVING count(DISTINCT {quoted(name)}) > 1)"
    return bool(con.execute(query).fetchone()[0])


TOOL = Tool("a column each for item, labeler and label, or names that mean these", _fits, _fill, fits_as_mapped)
