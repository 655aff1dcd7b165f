"""DuckDB: embedded, on all cores, and on disk where memory does not suffice."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from hero_eval.errors import wrong
from hero_eval.io.files import text_format

_LEAST_MEMORY = 2.0 * 1024**3
"""Bytes that a session may use unless there are fewer."""


class DuckSession:
    """A connection of our own, with the memory that the caller allows."""

    name = "duckdb"

    def __init__(self, memory_limit: str | None = None, threads: int | None = None) -> None:
        import duckdb

        self._spill = spill = tempfile.mkdtemp(prefix="hero-")
        weakref.finalize(self, shutil.rmtree, spill, ignore_errors=True)
        self._connection = duckdb.connect()
        self._errors = duckdb.Error
        self._connection.execute(f"SET temp_directory = '{_text(spill)}'")
        self._connection.execute("SET preserve_insertion_order = false")
        self._connection.execute("SET enable_progress_bar = false")  # it would be drawn into what a command prints
        self._connection.execute(f"SET threads = {threads or os.cpu_count() or 1}")
        if memory_limit is None:
            own = self._connection.sql("SELECT current_setting('memory_limit')").fetchall()[0][0]
            self._connection.execute(f"SET memory_limit = '{share_of(str(own))}'")
        else:
            try:
                self._connection.execute(f"SET memory_limit = '{_text(str(memory_limit))}'")
            except duckdb.Error as error:
                raise wrong("E201", f"memory_limit is {memory_limit!r}. Write it as '4GB' or '500MB'") from error

    def scan(self, path: Path) -> str:
        text = text_format(path)
        if text is None:
            pattern = path / "**" / "*.parquet" if path.is_dir() else path
            return f"read_parquet('{_text(str(pattern))}')"
        delimiter, header = text
        columns = ", ".join(f"'{_text(name)}': 'VARCHAR'" for name in header)
        return (
            f"read_csv('{_text(str(path))}', auto_detect = false, header = true, delim = '{delimiter}', quote = '\"', "
            f"escape = '\"', columns = {{{columns}}})"
        )

    def header(self, relation: str) -> Any:
        return self.query(f"SELECT * FROM {relation} LIMIT 0")

    def query(self, sql: str) -> Any:
        try:
            return self._connection.sql(sql).to_arrow_table()
        except self._errors as error:
            raise _readable(error) from error

    def _run(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except self._errors as error:
            raise _readable(error) from error

    def lend(self, name: str, table: Any) -> None:
        self._connection.register("hero_lent", table)
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM hero_lent")
        self._connection.unregister("hero_lent")

    def keep(self, name: str, sql: str) -> None:
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def drop(self, name: str) -> None:
        self._run(f"DROP TABLE IF EXISTS {name}")

    def share(self, name: str, sql: str) -> str:
        """On disk: sessions have no memory in common, and what is shared may be large."""
        file = Path(self._spill) / f"{name}.parquet"
        self._run(f"COPY ({sql}) TO '{_text(str(file))}' (FORMAT parquet)")
        return f"read_parquet('{_text(str(file))}')"

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def part(self, expression: str, count: int) -> str:
        return f"hash({expression}) % {count}"

    def whole_sum(self, expression: str) -> str:
        return f"CAST(sum({expression}) AS DOUBLE)"  # DuckDB adds 64-bit numbers up in 128 bits


def share_of(own: str) -> str:
    """What a session takes of DuckDB's own limit, four fifths of the machine's memory, unless it is told: a third, for
    rounds have a session each, and estimates on them need memory too; but 2 GB at least, if it may have as much."""
    found = re.fullmatch(r"([0-9.]+) *([KMGT]?)i?B(?:ytes)?", own.strip())
    if found is None:
        return own
    whole = float(found[1]) * 1024.0 ** " KMGT".index(found[2] or " ")
    return f"{int(max(whole / 3.0, min(whole, _LEAST_MEMORY)) / 1024)}KiB"


def _text(value: str) -> str:
    return value.replace("'", "''")


def _readable(error: Exception) -> Exception:
    """Problems that a user can mend, in our words."""
    message = " ".join(str(error).split())[:300]
    if "Out of Memory" in str(error):
        return wrong("E212", f"DuckDB ran out of the memory that it may use: {message}. Raise memory_limit")
    return wrong("E103", f"DuckDB cannot read the files: {message}")
