"""A plain table with a row for each item and a column for each labeler."""

from __future__ import annotations

from hero_eval.errors import wrong
from hero_eval.io.arrays import encode_answers
from hero_eval.io.exports.imports import ExportOptions, Tool
from hero_eval.io.exports.opening import Opening
from hero_eval.io.exports.plain_long import UNKNOWN, describe, fill_gold, names, quoted, rows
from hero_eval.io.values import canonical, is_binary, listed

MOST_ANSWERS = 20
"""A column with more different values is no labeler's."""


def _fits(opened: Opening) -> bool:
    flat = (
        opened.table is not None
        or not opened.con.execute(
            "SELECT count(*) FROM records, unnest(json_keys(json)) AS k(key) "
            "WHERE json_type(json, '$.\"' || key || '\"') IN ('OBJECT', 'ARRAY')"
        ).fetchone()[0]
    )
    return flat and "item" in names(opened, None, ("item",)) and bool(_labelers(opened, ExportOptions()))


def _labelers(opened: Opening, asked: ExportOptions) -> list[str]:
    """The columns whose values are answers: those of the gold column, else the set that most columns share."""
    table = rows(opened)
    item = names(opened, asked.columns, ("item",)).get("item")
    gold = (asked.columns or {}).get("gold", "gold")
    others = [name for name in table.column_names if name not in (item, gold, "weight", "source")]
    seen = {name: _values(table[name]) for name in others}
    few = {name: values for name, values in seen.items() if values and len(values) <= MOST_ANSWERS}
    if gold in table.column_names:
        truth = _values(table[gold])
        return [name for name, values in few.items() if values <= truth]
    bases = sorted(few.values(), key=lambda base: (-sum(values <= base for values in few.values()), len(base)))
    return [name for name, values in few.items() if values <= bases[0]] if bases else []


def _values(column: object) -> frozenset[str]:
    """The different answers of a column; of very many only that they are many."""
    texts = encode_answers(column).texts
    some = [str(text) for text in texts.slice(0, MOST_ANSWERS + 1).to_pylist()]
    return frozenset(canonical(text, binary=is_binary(some)) for text in some)


def _fill(opened: Opening, asked: ExportOptions) -> None:
    table, con = rows(opened), opened.con
    item = names(opened, asked.columns, ("item",)).get("item")
    if item is None:
        raise wrong(
            "E104",
            f"{opened.file} has no column 'item'. Columns: {listed(list(opened.keys))}. Map it: --column item=...",
        )
    chosen = list(asked.labeler_columns) if asked.labeler_columns is not None else _labelers(opened, asked)
    absent = [name for name in chosen if name not in table.column_names]
    if absent or not chosen:
        what = f"--labeler-columns names {listed(absent)}" if absent else "no column looks like a labeler's"
        raise wrong(
            "E104", f"{opened.file}: {what}. Columns: {listed(list(opened.keys))}. Name them: --labeler-columns"
        )
    con.register("plain", table)
    for name in chosen:
        value = f"CAST({quoted(name)} AS VARCHAR)"
        con.execute(
            f"INSERT INTO answers SELECT CAST({quoted(item)} AS VARCHAR), $name, {value}, FALSE, {UNKNOWN} FROM plain "
            f"WHERE trim(coalesce({value}, '')) <> ''",
            {"name": name},
        )
    rest = [name for name in table.column_names if name not in (item, *chosen)]
    fill_gold(opened, quoted(item), rest, asked)
    gold = (asked.columns or {}).get("gold", "gold")
    describe(opened, quoted(item), [name for name in rest if name != gold])


TOOL = Tool("an item column and a column for each labeler", _fits, _fill)
