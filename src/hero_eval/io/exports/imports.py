"""`read_export`: which tool wrote a file, and what labels, gold, items and labelers it holds.

A tool's file makes one table of answers in DuckDB: who said what about which item, whether it is gold, or why it is
dropped. What follows is the same for all tools and happens here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.exports.opening import Opening, open_export
from hero_eval.io.exports.tool_names import TOOLS
from hero_eval.io.files import ENDINGS
from hero_eval.io.json_tables import JSON_ENDINGS
from hero_eval.io.read_options import ReadOptions, make_options
from hero_eval.io.reshape import is_long
from hero_eval.io.scores import MOST_ANSWERS, as_numbers
from hero_eval.io.tables import InputTable, InputTables, meant
from hero_eval.io.validate import parse_round
from hero_eval.io.values import listed

PLAIN = ("long", "wide")
"""Tables of no tool."""
LONGEST_SHOWN = 60
LONGEST_ANSWER = 500
"""What is longer is a text, not one of a few possible answers."""

ANSWERS = """CREATE TABLE answers (
    item VARCHAR, labeler VARCHAR, answer VARCHAR, gold BOOLEAN, dropped VARCHAR, field VARCHAR,
    kind VARCHAR, model VARCHAR, prompt VARCHAR, settings VARCHAR)"""
DESCRIBED = "CREATE TABLE described (item VARCHAR, data JSON)"
OUR_NAMES = ("item", "labeler", "label", "gold", "weight")
LEFT_OUT = "CREATE TABLE left_out (name VARCHAR, why VARCHAR)"
"""What a file says of items that no column holds."""


@dataclass(frozen=True)
class ExportOptions:
    """What the caller said about the file."""

    fields: tuple[str, ...] = ()
    labeler_columns: tuple[str, ...] | None = None
    columns: Mapping[str, str] | None = None
    criterion: str | None = None
    item: str | None = None
    """What one item is, where a tool has two things that could be it: "trace" or "observation"."""
    provider: str | None = None
    """Of several models in one file the one to take."""


@dataclass(frozen=True)
class Tool:
    """One tool's export: how it is recognized, and how its answers are read."""

    looks_for: str
    """In words, for whoever has a file that nothing fits."""
    fits: Callable[[Opening], bool]
    fill: Callable[[Opening, ExportOptions], None]
    """Fills the tables `answers` and `described`."""
    fits_as_mapped: Callable[[Opening, Mapping[str, str] | None], bool] | None = None
    """The same for columns under the names that the caller gave, where a table may have any."""


@dataclass(frozen=True)
class Export:
    """What a file holds."""

    tool: str
    why: str
    origin: str
    labels: Any
    gold: Any
    items: Any
    labelers: Any
    dropped: Mapping[str, int]
    """Reason → how many answers."""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Reason → what the file says of items that is no column of theirs."""

    @property
    def n_items(self) -> int:
        return len(self.labels["item"].unique())

    @property
    def n_labels(self) -> int:
        return int(self.labels.num_rows)

    @property
    def n_gold(self) -> int:
        return int(self.gold.num_rows)

    @property
    def labeler_names(self) -> list[str]:
        return sorted(str(name) for name in self.labels["labeler"].unique().to_pylist())

    @property
    def answers(self) -> list[str]:
        return sorted(str(value) for value in self.labels["label"].unique().to_pylist())

    @property
    def answers_in_words(self) -> str:
        """The answers, or how many numbers there are and from where to where."""
        numbers, texts = as_numbers(self.answers), self.answers
        if len(texts) <= MOST_ANSWERS or (numbers != numbers).any():
            return listed([repr(one if len(one) <= LONGEST_SHOWN else f"{one[: LONGEST_SHOWN - 1]}…") for one in texts])
        return f"{len(texts):,} different numbers from {numbers.min():g} to {numbers.max():g}: scores"

    @property
    def columns(self) -> list[str]:
        return [name for name in self.items.column_names if name != "item"]

    def sources(self) -> InputTables:
        """The tables that a round is read from."""

        def source(table: Any, what: str) -> InputTable | None:
            return InputTable(f"{self.origin} ({what})", table, "files") if table.num_rows else None

        labels = InputTable(f"{self.origin} (labels)", self.labels, "files")
        items = source(self.items, "items") if self.columns else None
        return InputTables(labels, source(self.gold, "gold"), items, frozenset(), ())

    def to_dict(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "why": self.why,
            "file": self.origin,
            "items": self.n_items,
            "labels": self.n_labels,
            "labelers": self.labeler_names,
            "answers": self.answers,
            "gold": self.n_gold,
            "columns": self.columns,
            "dropped": dict(self.dropped),
            "left_out": {why: list(names) for why, names in self.left_out.items()},
        }


def read_export(
    path: str | Path,
    *,
    tool: str | None = None,
    fields: Sequence[str] = (),
    labeler_columns: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    criterion: str | None = None,
    item: str | None = None,
    provider: str | None = None,
) -> Export:
    """Read what a tool exported. `tool=None` finds out which. `fields` are the questions or scores to take.

    `item` says what an item is in Langfuse ("trace" or "observation"), `provider` whose results of promptfoo to take.
    """
    if tool is not None and tool not in TOOLS:
        raise wrong("E201", f"--from is {tool!r}. Known: {', '.join(TOOLS)}")
    if item not in (None, "trace", "observation"):
        raise wrong("E201", f"--item is {item!r}. Known: trace, observation")
    named = None if labeler_columns is None else tuple(labeler_columns)
    asked = ExportOptions(tuple(fields), named, columns, criterion, item, provider)
    opened = open_export(Path(path).expanduser())
    try:
        name, why = (tool, "as named") if tool is not None else _recognize(opened, asked)
        _refuse_idle(name, opened, asked)
        opened.con.execute(ANSWERS)
        opened.con.execute(DESCRIBED)
        opened.con.execute(LEFT_OUT)
        _fill(name, opened, asked)
        export = _finish(name, why, opened, asked)
    finally:
        opened.con.close()
    parse_round(_labeled_gold(export), make_options(None, None, None, None, None, export.origin))
    return export


def _refuse_idle(name: str, opened: Opening, asked: ExportOptions) -> None:
    """E204 for options that would change nothing about this tool's files, E104 for a column that is not there."""
    wide = name == "wide"
    said = (
        ("--column", asked.columns, name in PLAIN, "whose columns are known"),
        ("--labeler-columns", asked.labeler_columns, wide, "which is no wide table"),
        ("--criterion", asked.criterion, wide, "which is no wide table"),
        ("--item", asked.item, name == "langfuse", "which has one kind of item"),
        ("--provider", asked.provider, name == "promptfoo", "which has no providers"),
    )
    for option, value, fits, why in said:
        if value and not fits:
            raise wrong("E204", f"{option} has no effect on {opened.file}, read as {name}, {why}. Leave it out.")
    absent = [theirs for theirs in (asked.columns or {}).values() if theirs not in opened.keys]
    if absent and opened.table is not None:
        message = f"--column names {name_some(absent)}, but {opened.file} has {listed(list(opened.keys))}."
        raise wrong("E104", message + meant(absent[0], list(opened.keys)))


def refuse_export(path: Path, sources: InputTables, options: ReadOptions) -> None:
    """E133 for a file that a labeling tool exported, whose columns would be taken for something else."""
    labels = sources.labels
    if labels is None or not path.is_file() or is_long(labels.table.column_names, options):
        return
    if options.only is not None or options.criterion is not None:
        return  # the caller knows the columns
    opened = open_export(path)
    try:
        tool = next((name for name in TOOLS if name not in PLAIN and _tool(name).fits(opened)), None)
    finally:
        opened.con.close()
    if tool is not None:
        quoted = shlex.quote(str(path))
        raise wrong(
            "E133",
            f"{path} looks like an export of {tool}: it has {_tool(tool).looks_for}. Look at it: hero import {quoted} "
            "--dry-run",
        )


def _labeled_gold(export: Export) -> InputTables:
    """As it will be read, but gold of items without labels may wait for them."""
    import pyarrow as pa

    sources = export.sources()
    if sources.gold is None:
        return sources
    items = sources.items.table if sources.items else pa.table({"item": export.labels["item"].unique()})
    more = pa.table({"item": pa.concat_arrays([*_chunks(items["item"]), *_chunks(export.gold["item"])]).unique()})
    listing = items if sources.items and len(more) == len(items) else more
    return InputTables(sources.labels, sources.gold, InputTable("items", listing, "files"), frozenset(), ())


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if hasattr(column, "chunks") else [column]


def _tool(name: str) -> Tool:
    found: Tool = import_module(f"hero_eval.io.exports.{TOOLS[name]}").TOOL
    return found


def _recognize(opened: Opening, asked: ExportOptions) -> tuple[str, str]:
    """The first tool that the file looks like; E120 with what was looked for and what was found.

    Whoever maps the column of labelers, or that of labels, says that the table is long.
    """
    as_mapped = _tool("long").fits_as_mapped
    if {"labeler", "label"} & set(asked.columns or {}) and as_mapped is not None and as_mapped(opened, asked.columns):
        return "long", "its columns are mapped"
    for name in TOOLS:
        tool = _tool(name)
        if tool.fits(opened):
            return name, f"it has {tool.looks_for}"
    looked = "; ".join(f"{name}: {_tool(name).looks_for}" for name in TOOLS)
    keys = listed(list(opened.keys)) or "none"
    has = f"Its columns: {keys}" if opened.table is not None else f"The keys of its records: {keys}"
    raise wrong(
        "E120",
        f"{opened.file} is not a file of a tool that hero knows. {has}. What each tool's file has: {looked}. If it is "
        "such a file, name the tool: --from. If it is a table of labels with other column names, map them: "
        f"--column item=... Files that can be read end in {', '.join((*JSON_ENDINGS, *ENDINGS))}.",
    )


def _fill(name: str, opened: Opening, asked: ExportOptions) -> None:
    import duckdb

    try:
        _tool(name).fill(opened, asked)
    except duckdb.Error as error:
        reason = " ".join(str(error).split())[:200]
        looked = _tool(name).looks_for
        message = f"{opened.file} does not read as {name}, which has {looked}: {reason}. Name the right tool: --from"
        raise wrong("E103", message) from error


def _finish(name: str, why: str, opened: Opening, asked: ExportOptions) -> Export:
    """The chosen answers as tables, and the rest by the reason why it is dropped."""
    con = opened.con
    con.execute(
        "UPDATE answers SET dropped = 'nobody is named as its labeler' WHERE labeler IS NULL AND dropped IS NULL"
    )
    con.execute("UPDATE answers SET dropped = 'it is about no item' WHERE item IS NULL AND dropped IS NULL")
    con.execute("UPDATE answers SET dropped = 'no answer' WHERE trim(coalesce(answer, '')) = '' AND dropped IS NULL")
    con.execute(
        f"UPDATE answers SET dropped = 'an answer of more than {LONGEST_ANSWER} characters' "
        f"WHERE length(answer) > {LONGEST_ANSWER} AND dropped IS NULL"
    )
    _choose_fields(opened, asked)
    counted = "SELECT dropped, count(*) FROM answers WHERE dropped IS NOT NULL GROUP BY 1 ORDER BY 1"
    dropped = dict(con.execute(counted).fetchall())
    kept = "FROM answers WHERE dropped IS NULL"
    labels = _arrow(con, f"SELECT item, labeler, answer AS label {kept} AND NOT gold ORDER BY item, labeler")
    gold = _arrow(con, f"SELECT item, answer AS gold, labeler AS source {kept} AND gold ORDER BY item, source")
    who = "first(kind) AS kind, first(model) AS model, first(prompt) AS prompt, first(settings) AS settings"
    labelers = _arrow(con, f"SELECT labeler, {who} {kept} AND NOT gold GROUP BY labeler ORDER BY labeler")
    if not labels.num_rows:
        reasons = "; ".join(f"{count} dropped: {reason}" for reason, count in dropped.items()) or "it has no answers"
        remedy = "If the labels answer another question, name it: --field; if another tool wrote the file: --from"
        raise wrong("E122", f"{opened.file}, read as {name}, has no label to import: {reasons}. {remedy}")
    items = _items(con)
    return Export(name, why, str(opened.file), labels, gold, items, labelers, dropped, _left_out(con))


def _left_out(con: Any) -> dict[str, tuple[str, ...]]:
    rows = con.execute("SELECT why, name FROM left_out GROUP BY ALL ORDER BY ALL").fetchall()
    return {why: tuple(name for other, name in rows if other == why) for why, _ in rows}


def _choose_fields(opened: Opening, asked: ExportOptions) -> None:
    """Answers to other questions than the chosen ones are dropped; E121 if it must be said which."""
    counts = dict(
        opened.con.execute(
            "SELECT field, count(*) FROM answers WHERE field IS NOT NULL AND dropped IS NULL GROUP BY 1 ORDER BY 1"
        ).fetchall()
    )
    unknown = [name for name in asked.fields if name not in counts]
    if unknown:
        there = name_some(list(counts), 12) if counts else "none"
        raise wrong("E121", f"--field is {name_some(unknown)}, but {opened.file} has answers to: {there}.")
    if not asked.fields and len(counts) > 1:
        there = ", ".join(f"{name!r} ({count:,})" for name, count in counts.items())
        raise wrong(
            "E121", f"{opened.file} has answers to several questions: {there}. Choose: --field NAME (may be repeated)."
        )
    if asked.fields:
        opened.con.execute(
            "UPDATE answers SET dropped = 'answers another field: ' || field WHERE dropped IS NULL "
            "AND field IS NOT NULL AND NOT list_contains(?, field)",
            [list(asked.fields)],
        )


def _arrow(con: Any, sql: str) -> Any:
    import pyarrow as pa

    table = con.sql(sql).to_arrow_table()
    return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))


def _items(con: Any) -> Any:
    """What the tool says of each item, a column a key; numbers as numbers where all are."""
    rows = con.execute(
        "SELECT key, bool_and(kind IN ('UBIGINT', 'BIGINT', 'DOUBLE', 'BOOLEAN', 'NULL')), "
        "bool_and(kind IN ('BOOLEAN', 'NULL')), bool_or(kind <> 'NULL'), bool_or(kind IN ('OBJECT', 'ARRAY')) FROM ("
        "SELECT key, json_type(data, '$.\"' || replace(key, '\"', '\\\"') || '\"') AS kind FROM "
        "(SELECT data, unnest(json_keys(data)) AS key FROM described)) GROUP BY key ORDER BY key"
    ).fetchall()
    parts = ["item"]
    for key, numeric, truth, known, nested in rows:
        why = _why_left_out(key, nested)
        if known and why is not None:
            con.execute("INSERT INTO left_out VALUES (?, ?)", [key, why])
        if not known or why is not None:
            continue
        text = "data ->> '$.\"" + key.replace("'", "''").replace('"', '\\"') + "\"'"
        kind = "BOOLEAN" if truth else "DOUBLE" if numeric else None
        name = '"' + key.replace('"', '""') + '"'
        parts.append(f"first(try_cast({text} AS {kind})) AS {name}" if kind else f"first({text}) AS {name}")
    return con.sql(f"SELECT {', '.join(parts)} FROM described GROUP BY item ORDER BY item").to_arrow_table()


def _why_left_out(key: str, nested: bool) -> str | None:
    if key in OUR_NAMES:
        return "has the name of a column of ours"
    return "holds lists or objects" if nested else None
