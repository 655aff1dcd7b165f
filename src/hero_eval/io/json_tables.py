"""JSON as records in DuckDB, and records of plain values as a table.

DuckDB keeps a damaged file from doing harm: it stops at the first broken record, at text that is not UTF-8 and at a
record beyond `LARGEST`, and says where.
"""

from __future__ import annotations

import codecs
import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from hero_eval.errors import InputError, wrong

LARGEST = 256 * 2**20
"""Bytes of one record. A whole log may be one."""
JSON_TABLES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
JSON_ENDINGS = (*JSON_TABLES, ".eval")
_NUMBERS = frozenset({"UBIGINT", "BIGINT", "DOUBLE", "NULL"})


def load_records(file: Path, con: Any, tables: tuple[str, ...]) -> None:
    """Make the table `records`, with a number and a JSON value for each; E103, E106 or E120 if it is no JSON.

    `tables` are the endings that messages name besides.
    """
    with file.open("rb") as stream:
        start = stream.read(4)
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise wrong("E106", f"{file} is UTF-16, not UTF-8, from its first byte on. Save it as UTF-8.")
    if start == b"PAR1":
        raise wrong("E103", f"{file} is a Parquet file by its content. Name it {file.stem}.parquet.")
    if not file.name.lower().endswith(JSON_ENDINGS) and start.lstrip()[:1] not in (b"{", b"["):
        raise wrong(
            "E120",
            f"{file} is neither JSON nor a table: it starts with {start!r}. Export it as JSON, which starts with {{ or "
            f"[, or as a table whose name ends in {', '.join(tables)}.",
        )
    size = LARGEST if file.name.endswith(".gz") else min(LARGEST, file.stat().st_size + 1024)
    with _without_mark(file) as readable:
        con.execute(
            "CREATE TABLE records AS SELECT row_number() OVER () AS number, json FROM "
            f"read_json_objects(?, format = 'auto', maximum_object_size = {size})",
            [str(readable)],
        )


@contextmanager
def _without_mark(file: Path) -> Iterator[Path]:
    """The file, or a copy without the mark of UTF-8 that Windows puts first, which DuckDB takes for a record."""
    if not _has_mark(file):
        yield file
        return
    with tempfile.TemporaryDirectory() as folder, _opened(file) as stream:
        stream.seek(len(codecs.BOM_UTF8))
        copy = Path(folder, "records.json")
        with copy.open("wb") as plain:
            shutil.copyfileobj(stream, plain)
        yield copy


def _has_mark(file: Path) -> bool:
    try:
        with _opened(file) as stream:
            return stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    except (OSError, EOFError, zlib.error):
        return False  # damaged, and DuckDB says how


def _opened(file: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(file)) if file.name.lower().endswith(".gz") else file.open("rb")


def refuse_other_records(file: Path, con: Any, count: int) -> None:
    """E105 without records, E103 for those that are no objects."""
    if not count:
        raise wrong("E105", f"{file} holds no records. Export it again.")
    odd, first = con.execute(
        "SELECT count(*), min(number) FROM records WHERE json_type(json) IS DISTINCT FROM 'OBJECT'"
    ).fetchall()[0]
    if odd:
        raise wrong(
            "E103", f"{file} cannot be read: {odd} of {count} records are not JSON objects, first record {first}."
        )


def damaged(file: Path, error: Exception) -> InputError:
    """What DuckDB says of a file, in our words."""
    reason = " ".join(str(error).split())
    for lead in ("Invalid Input Error: ", "IO Error: ", "Out of Memory Error: "):
        reason = reason.removeprefix(lead)
    reason = reason.replace(f' in file "{file}"', "")[:240].rstrip(". ")
    if "UTF-8" in reason or "utf8" in reason.lower():
        return wrong("E106", f"{file} is not UTF-8 throughout: {reason}. Save it as UTF-8.")
    if "maximum_object_size" in reason:
        reason = f"one record is larger than {LARGEST // 2**20} MB, or never ends"
        return wrong("E103", f"{file} cannot be read: {reason}. Export it with one record per line, or in parts.")
    return wrong("E103", f"{file} cannot be read: {reason}. Export it again; it may be damaged or cut short.")


def json_table(file: Path, tables: tuple[str, ...]) -> Any:
    """The records as a table: single values as text, lists of numbers as lists, objects by their keys (`a.b`)."""
    import duckdb

    con: Any = duckdb.connect(":memory:")
    try:
        con.execute("SET preserve_insertion_order = true")
        load_records(file, con, tables)
        count = con.execute("SELECT count(*) FROM records").fetchall()[0][0]
        refuse_other_records(file, con, count)
        _refuse_columns(file, con, count)
        parts = [part for key, kinds in keys_of_records(con).items() for part in _parts(con, key, kinds)]
        if not parts:
            raise wrong("E105", f"{file} holds records without a single key. Export it again.")
        return con.sql(f"SELECT {', '.join(parts)} FROM records ORDER BY number").to_arrow_table()
    except duckdb.Error as error:
        raise damaged(file, error) from error
    finally:
        con.close()


def keys_of_records(con: Any, of: str = "json") -> dict[str, frozenset[str]]:
    """The keys of all records in the order in which they come, and the types of their values."""
    rows = con.execute(
        f"SELECT key, list(DISTINCT json_type({of}, {_PATH})) FROM "
        f"(SELECT number, json, unnest(json_keys({of})) AS key, generate_subscripts(json_keys({of}), 1) AS place "
        f"FROM records WHERE json_type({of}) = 'OBJECT') GROUP BY key ORDER BY min(number), min(place)"
    ).fetchall()
    return {key: frozenset(kinds) for key, kinds in rows}


_PATH = "'$.\"' || replace(key, '\"', '\\\"') || '\"'"


DEEPEST = 4
"""Objects in objects that become columns."""
MOST_KEYS = 100
"""Keys of an object in an object above which it is data, and stays one text."""


def _parts(con: Any, key: str, kinds: frozenset[str], of: str = "json", name: str = "", depth: int = 1) -> list[str]:
    """What to select for a key of the objects `of`, which `name` and a dot precede."""
    path, called = _quoted_path(key), f"{name}{key}"
    here = f"({of} -> '{path}')"
    if depth == 1 and kinds <= {"ARRAY", "NULL"} and "ARRAY" in kinds and _of_numbers(con, path):
        return [f"CAST({here} AS DOUBLE[]) AS {_name(called)}"]
    if kinds <= {"OBJECT", "NULL"} and "OBJECT" in kinds and depth < DEEPEST:
        inner = keys_of_records(con, here)
        if depth == 1 or len(inner) <= MOST_KEYS:
            return [part for one, its in inner.items() for part in _parts(con, one, its, here, f"{called}.", depth + 1)]
    return [f"{of} ->> '{path}' AS {_name(called)}"]


def _of_numbers(con: Any, path: str) -> bool:
    row = con.execute(
        f"SELECT list(DISTINCT json_type(value)) FROM (SELECT unnest(CAST(json -> '{path}' AS JSON[])) AS value "
        "FROM records)"
    ).fetchall()[0]
    return frozenset(row[0] or ()) <= _NUMBERS


def _quoted_path(key: str) -> str:
    return '$."' + key.replace("'", "''").replace('"', '\\"') + '"'


def _name(key: str) -> str:
    return '"' + key.replace('"', '""') + '"'


def _refuse_columns(file: Path, con: Any, count: int) -> None:
    """E133 for one object that holds everything: a table written column by column, or what a tool exported."""
    if count > 1:
        return
    kinds = frozenset(kind for of in keys_of_records(con).values() for kind in of)
    if kinds and kinds <= {"OBJECT", "ARRAY"}:
        raise wrong(
            "E133",
            f"{file} is one object of lists or objects, and no list of records. If a tool exported it, read it by "
            "hero import; if it is a table, write a record for each row (pandas: to_json(orient='records')).",
        )
