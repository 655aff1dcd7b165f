"""A plain table with a row for each item and a column for each labeler; `io/wide.py` knows which columns are whose."""

from __future__ import annotations

from hero_eval.errors import InputError, wrong
from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening
from hero_eval.io.exports.plain_long import UNKNOWN, describe, quoted, rows
from hero_eval.io.values import listed
from hero_eval.io.wide import Asked, WideColumns, find_columns

_UNCLEAR = ("E130", "E132")


def _fits(opened: Opening) -> bool:
    flat = (
        opened.table is not None
        or not opened.con.execute(
            "SELECT count(*) FROM records, unnest(json_keys(json)) AS k(key) "
            "WHERE json_type(json, '$.\"' || key || '\"') IN ('OBJECT', 'ARRAY')"
        ).fetchone()[0]
    )
    if not flat:
        return False
    try:
        found = _columns(opened, ExportOptions())
    except InputError as error:
        return error.code in _UNCLEAR  # it is wide, and the caller has to say more
    return found is not None and found.item is not None


def _columns(opened: Opening, asked: ExportOptions) -> WideColumns | None:
    said = Asked(asked.columns or {}, asked.labeler_columns, criterion=asked.criterion, option="--labeler-columns")
    return find_columns(str(opened.file), rows(opened), said)


def _fill(opened: Opening, asked: ExportOptions) -> None:
    table, con = rows(opened), opened.con
    found = _columns(opened, asked)
    if found is None:
        there = listed(list(opened.keys))
        message = f"{opened.file}: no column looks like a labeler's. Columns: {there}. Name them: --labeler-columns"
        raise wrong("E104", message)
    if found.item is None:
        there = listed(list(opened.keys))
        raise wrong("E104", f"{opened.file} has no column 'item'. Columns: {there}. Map it: --column item=...")
    con.register("plain", table)
    item = quoted(found.item)
    for name, column in [*found.labelers.items(), *([] if found.gold is None else [(None, found.gold)])]:
        value = f"CAST({quoted(column)} AS VARCHAR)"
        source = "CAST(source AS VARCHAR)" if "source" in found.others and name is None else "$name"
        con.execute(
            f"INSERT INTO answers SELECT {'DISTINCT' if name is None else ''} CAST({item} AS VARCHAR), {source}, "
            f"{value}, {name is None}, {UNKNOWN} FROM plain WHERE trim(coalesce({value}, '')) <> ''",
            {"name": name or f"{found.gold} column"} if source == "$name" else {},
        )
    describe(opened, item, list(found.others))


TOOL = Tool("an item column and a column for each labeler", _fits, _fill)
