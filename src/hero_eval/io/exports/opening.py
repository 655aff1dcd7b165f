"""An export, opened: its records as JSON in DuckDB, which reads them without a Python object a label."""

from __future__ import annotations

import struct
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hero_eval.errors import wrong
from hero_eval.io.excel import EXCEL
from hero_eval.io.files import ENDINGS, read_table
from hero_eval.io.json_tables import LARGEST, damaged, keys_of_records, load_records, refuse_other_records

_ZSTD = 93  # what inspect's logs are packed with, which Python's zipfile does not know


@dataclass(frozen=True)
class Opening:
    """A file that was opened: `records` is a table of DuckDB with a column `json`; tables of a file are in `table`."""

    file: Path
    con: Any
    keys: tuple[str, ...]
    """The keys of all records as they come, or the columns of the table: one record may miss what the others have."""
    n_records: int
    table: Any = None

    def exists(self, path: str) -> bool:
        """Whether a record has something at this JSON path; `[*]` in it is any of a list."""
        if not self.n_records or self.table is not None:
            return False
        there = f"len(json_extract(json, '{path}')) > 0" if "*" in path else f"json_exists(json, '{path}')"
        return bool(self.con.execute(f"SELECT coalesce(bool_or({there}), FALSE) FROM records").fetchone()[0])

    def expect(self, sql: str, kinds: Sequence[str], what: str, table: str = "records") -> None:
        """E103 unless this expression is of one of these JSON types, or absent, in every row of the table."""
        allowed = ", ".join(f"'{kind}'" for kind in kinds)
        query = (
            f"SELECT count(*), min(number), any_value(json_type({sql})) FROM {table} "
            f"WHERE json_type({sql}) IS NOT NULL AND json_type({sql}) NOT IN ({allowed}, 'NULL')"
        )
        count, first, found = self.con.execute(query).fetchone()
        if count:
            raise wrong(
                "E103",
                f"{self.file} cannot be read: {what} is {_word(found)} where {_word(kinds[0])} was expected, {count} "
                f"times, first in record {first} of {self.n_records}. Export it again.",
            )


def _word(kind: str) -> str:
    words = {"VARCHAR": "text", "ARRAY": "a list", "OBJECT": "an object", "BOOLEAN": "true or false"}
    return words.get(kind, "a number")


def open_export(file: Path) -> Opening:
    """The file's records; E101, E102, E103 or E106 if there are none."""
    import duckdb

    try:
        if not file.exists():
            raise wrong("E101", f"{file} does not exist.")
        if file.is_dir():
            raise wrong("E103", f"{file} is a folder. Name one file; a folder of tables is added by hero add.")
        if file.stat().st_size == 0:
            raise wrong("E102", f"{file} is empty (0 bytes). Export it again.")
    except OSError as error:
        raise wrong("E103", f"{file} cannot be read: {error.strerror or error}.") from error
    con: Any = duckdb.connect(":memory:")
    con.execute("SET preserve_insertion_order = true")
    name = file.name.lower()
    try:
        if name.endswith(".eval"):
            _load_packed_log(file, con)
        elif name.endswith((*ENDINGS, EXCEL)):
            return _load_table(file, con)
        else:
            load_records(file, con, ENDINGS)
    except duckdb.Error as error:
        raise damaged(file, error) from error
    count = con.execute("SELECT count(*) FROM records").fetchone()[0]
    refuse_other_records(file, con, count)
    keys = tuple(keys_of_records(con))
    if not keys:
        raise wrong("E105", f"{file} holds records without a single key. Export it again.")
    return Opening(file, con, keys, count)


def _load_table(file: Path, con: Any) -> Opening:
    """A table, with its rows as JSON for whoever asks: some tools write their records as tables."""
    table = read_table(file)
    con.register("incoming", table)
    con.execute("CREATE VIEW records AS SELECT row_number() OVER () AS number, to_json(incoming) AS json FROM incoming")
    return Opening(file, con, tuple(table.column_names), table.num_rows, table)


def _load_packed_log(file: Path, con: Any) -> None:
    """An Inspect log as it is by default: a zip with one JSON file a sample, put back into one record."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(file) as packed:
                inside = [one for one in packed.infolist() if one.filename.startswith("samples/")]
                header = [one for one in packed.infolist() if one.filename == "header.json"]
                for number, one in enumerate(inside + header):
                    kind = "header" if one in header else "sample"
                    Path(folder, f"{kind}{number:07d}.json").write_bytes(_unpack(file, packed, one))
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise wrong("E103", f"{file} cannot be read: {error}. Convert it: inspect log convert --to json") from error
        if not inside:
            raise wrong("E103", f"{file} holds no samples. Export the log again.")
        read = f"read_json_objects(?, format = 'unstructured', maximum_object_size = {LARGEST})"
        con.execute(f"CREATE TABLE packed AS SELECT json FROM {read}", [f"{folder}/sample*.json"])
        head = con.execute(f"SELECT json FROM {read}", [f"{folder}/header*.json"]).fetchall() if header else [("{}",)]
        con.execute(
            "CREATE TABLE records AS SELECT 1 AS number, json_merge_patch(?::JSON, "
            "json_object('samples', (SELECT json_group_array(json) FROM packed))) AS json",
            [head[0][0]],
        )


def _unpack(file: Path, packed: zipfile.ZipFile, one: zipfile.ZipInfo) -> bytes:
    if one.file_size > LARGEST:
        raise ValueError(f"{one.filename} has {one.file_size:,} bytes; at most {LARGEST:,} can be read")
    if one.compress_type != _ZSTD:
        return packed.read(one)
    import pyarrow as pa

    with file.open("rb") as stream:
        stream.seek(one.header_offset + 26)  # the local header repeats name and extra field, at lengths of its own
        name, extra = struct.unpack("<HH", stream.read(4))
        stream.seek(name + extra, 1)
        raw = stream.read(one.compress_size)
    return bytes(pa.input_stream(pa.py_buffer(raw), compression="zstd").read())
