"""Rounds from files: a folder with labels, gold and items, or one table with everything."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from hero_eval.errors import HeroError, InputError, Problem, wrong
from hero_eval.io.excel import EXCEL, excel_table, sheet_names
from hero_eval.io.json_tables import JSON_TABLES, json_table
from hero_eval.io.number_spellings import plain_numbers, spelling_notes
from hero_eval.io.tables import TABLES, InputTable, InputTables, gather, without_index
from hero_eval.io.values import listed, nearest

ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
"""Tables that every engine reads."""
ALL_ENDINGS = (*ENDINGS, *JSON_TABLES, EXCEL)
"""And those that are read into memory."""
COUNTS_MARK = b"hero_counts"
"""The entry in a Parquet file's metadata by which counts that `save_counts` wrote are known."""
_FEW_BYTES = 1 << 16
"""A dictionary of fewer bytes holds the few values of a column of labelers or answers."""
_LOOK_BYTES = 1 << 20
"""Rows that tell what a column is like."""
_END_ROWS = 100
"""Rows at the end that are looked at together for being empty."""
_DELIMITERS = (",", ";", "\t", "|")


def read_input_tables(where: Path) -> InputTables:
    """The tables at a path, with the problems of all of them; InputError E101 or E103 if there is nothing to read."""
    return read_files(*find_files(where))


def find_files(where: Path) -> tuple[dict[str, Path], dict[str, Problem]]:
    """The files of a round; InputError E101 or E103 if there are none."""
    try:
        if not where.exists():
            raise InputError(_not_there(where))
        files, problems = _files_in(where)
    except OSError as error:  # a name too long, a folder without permission
        raise InputError(Problem("E103", f"{where} cannot be read: {error.strerror or error}.")) from error
    return files, problems


def name_of(path: Path) -> str:
    """How messages call the round at this path: the folder's name, or the file's without its ending."""
    return _stem(Path(os.path.abspath(path)))


def beside(folder: Path, table: str) -> Path | None:
    """The file of one more table in a round's folder, if there is one."""
    if not folder.is_dir():
        return None
    found = [entry for entry in sorted(folder.iterdir()) if _ending(entry.name) and _stem(entry).lower() == table]
    return found[0] if found else None


def _stem(path: Path) -> str:
    ending = _ending(path.name)
    return path.name[: len(path.name) - len(ending)] if ending else path.name


def _ending(name: str) -> str | None:
    """The ending by which a file is known as a table; the longest that fits."""
    fitting = [ending for ending in ALL_ENDINGS if name.lower().endswith(ending)]
    return max(fitting, key=len) if fitting else None


def _not_there(path: Path) -> Problem:
    parent = next((folder for folder in path.absolute().parents if folder.is_dir()), Path("/"))
    holds = sorted(entry.name for entry in parent.iterdir() if not entry.name.startswith("."))
    wanted = path.absolute().relative_to(parent).parts[0]
    near = next((name for name in holds if _stem(Path(name)) == wanted), None) or nearest(wanted, holds)
    hint = f" Did you mean {near!r}?" if near is not None else ""
    return Problem("E101", f"{path} does not exist. {parent} holds: {listed(holds) or 'nothing'}.{hint}")


def _files_in(path: Path) -> tuple[dict[str, Path], dict[str, Problem]]:
    """The file of each table, and the problem of each table that has no file where it should, or two."""
    if not path.is_dir() or _is_parts(path):
        return {"labels": path}, {}
    entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    files: dict[str, Path] = {}
    problems: dict[str, Problem] = {}
    for table in TABLES:
        found = [e for e in entries if _ending(e.name) and _stem(e).lower() == table]
        if len(found) > 1:
            names = " and ".join(entry.name for entry in found)
            problems[table] = Problem("E116", f"{path} has {len(found)} files for {table}: {names}. Keep one of them.")
        elif found:
            files[table] = found[0]
        elif table == "labels":
            holds = listed([entry.name for entry in entries]) or "nothing"
            wanted = ", ".join(f"labels{ending}" for ending in ENDINGS)
            problems[table] = Problem("E116", f"{path} holds no labels table ({wanted}). It holds: {holds}.")
    return files, problems


_PART = re.compile(r"(part|data|chunk|shard|file)?[-_.]?\d.*\.parquet|.+=.+")


def _is_parts(folder: Path) -> bool:
    """Whether a folder is one table, as Spark and others write it: called .parquet, or full of numbered parts."""
    if folder.name.lower().endswith(".parquet"):
        return True
    names = [entry.name.lower() for entry in folder.iterdir() if not entry.name.startswith((".", "_"))]
    return bool(names) and all(map(_PART.fullmatch, names)) and any(folder.glob("**/*.parquet"))


def holds_table(folder: Path) -> bool:
    """Whether a folder is a round: it has a table of labels, or is one."""
    return beside(folder, "labels") is not None or _is_parts(folder)


def is_table_file(path: Path) -> bool:
    """Whether this is a file that its ending says to be a table."""
    return path.is_file() and _ending(path.name) is not None


def read_files(files: Mapping[str, Path], missing: Mapping[str, Problem]) -> InputTables:
    """The tables in these files, with their problems besides those of tables that are `missing`."""
    sources: dict[str, InputTable] = {}
    problems = list(missing.values())
    broken = set(missing)
    for table, file in files.items():
        try:
            if (sheets := _sheets(file)) is not None:
                sources |= {name: _as_input(file, excel_table(file, of)) for name, of in sheets.items()}
                continue
            sources[table] = _as_input(file, read_table(file))
        except HeroError as error:
            problems += error.problems
            broken.add(table)
    notes = spelling_notes([one.table for one in sources.values()])
    return replace(gather(sources, broken, problems), notes=notes)


def _as_input(file: Path, table: Any) -> InputTable:
    return InputTable(str(file), without_index(_without_blank_end(table)), "files")


def _without_blank_end(table: Any) -> Any:
    """The table without the empty rows that spreadsheets write below the last one."""
    size = table.num_rows
    while size:
        start = max(0, size - _END_ROWS)
        told = [row for row, cells in enumerate(table.slice(start, size - start).to_pylist()) if any(cells.values())]
        if told:
            return table.slice(0, start + told[-1] + 1)
        size = start
    return table


def _sheets(file: Path) -> dict[str, str] | None:
    """The sheets of a workbook that has one called labels; None of anything else."""
    if _ending(file.name) != EXCEL:
        return None
    named = {name.strip().lower(): name for name in sheet_names(file)}
    return {table: named[table] for table in TABLES if table in named} if "labels" in named else None


def read_table(file: Path) -> Any:
    """One file as a pyarrow table; InputError E102, E103 or E106."""
    import pyarrow as pa

    ending = ".parquet" if file.is_dir() and _is_parts(file) else _known_ending(file)
    if file.is_file() and file.stat().st_size == 0:
        raise wrong("E102", f"{file} is empty (0 bytes). Write it again, or remove it.")
    try:
        if ending in JSON_TABLES:
            return json_table(file, ENDINGS)
        if ending == EXCEL:
            return excel_table(file)
        return _read_parquet(file) if ending == ".parquet" else _read_text(file, ending)
    except (pa.ArrowException, OSError, EOFError, csv.Error) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        remedy = "Write it again; it may be damaged."
        if "Expected" in reason:  # a row of the wrong length
            remedy = "Give every row as many fields as the header, and quote fields that hold the delimiter."
        if "Expected 1 columns" in reason:
            remedy = "The first line must name the columns: take out what stands above them."
        raise wrong("E103", f"{file} cannot be read: {reason}. {remedy}") from error


def _known_ending(file: Path) -> str:
    ending = _ending(file.name)
    if ending is None:
        raise wrong(
            "E103",
            f"{file} is not a table that can be read. Known endings: {', '.join(ALL_ENDINGS)}. What a labeling tool "
            "exported is read by hero import.",
        )
    return ending


def is_counts(path: Path) -> bool:
    """Whether this is a file that `save_counts` wrote, and not a table."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return COUNTS_MARK in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def text_format(file: Path) -> tuple[str, list[str]] | None:
    """Delimiter and header of a text file, None for Parquet; InputError E102, E103 or E106 if it is neither."""
    ending = ".parquet" if file.is_dir() and _is_parts(file) else _known_ending(file)
    if file.is_file() and file.stat().st_size == 0:
        raise wrong("E102", f"{file} is empty (0 bytes). Write it again, or remove it.")
    if ending == ".parquet":
        return None
    if ending not in ENDINGS:
        raise wrong("E103", f"{file} is read into memory, and by no engine. Give engine='memory' (--engine memory).")
    try:
        delimiter, header = _read_header(file, "\t" if ending.startswith(".tsv") else None)
    except (OSError, EOFError) as error:
        raise wrong("E103", f"{file} cannot be read: {error}. Write it again; it may be damaged.") from error
    return delimiter, _named_once(file, header)


def is_for_engines(path: Path) -> bool:
    """Whether engines read this kind of file."""
    return path.is_dir() or _ending(path.name) in ENDINGS


def header_of(path: Path) -> list[str]:
    """The columns of a table that engines read; none if it cannot be read, which is said later."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        text = text_format(path)
        if text is not None:
            return text[1]
        part = next(iter(sorted(path.glob("**/*.parquet")))) if path.is_dir() else path
        return list(pq.read_schema(part).names)
    except (pa.ArrowException, OSError, HeroError, StopIteration):
        return []


def rows_of(path: Path) -> int:
    """How many rows a table in files has: as Parquet says, of text by the size of its first lines; 0 if unreadable."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.is_dir():
            return sum(pq.read_metadata(part).num_rows for part in path.glob("**/*.parquet"))
        if _ending(path.name) == ".parquet":
            return int(pq.read_metadata(path).num_rows)
        with path.open("rb") as raw, gzip.open(raw) if path.name.lower().endswith(".gz") else raw as stream:
            lines = stream.read(_LOOK_BYTES).count(b"\n")
            return int(lines * max(path.stat().st_size / max(raw.tell(), 1), 1.0))
    except (pa.ArrowException, OSError, EOFError):
        return 0  # what is wrong is said when the file is read


def _named_once(file: Path, header: list[str]) -> list[str]:
    twice = sorted(name for name, times in Counter(header).items() if name and times > 1)
    if twice:
        raise wrong("E103", f"{file} has more than one column called {twice[0]!r}. Rename or drop all but one.")
    return header


def _read_parquet(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.is_dir():
        table = pq.read_table(file)
    else:
        table = pq.ParquetFile(file, read_dictionary=_few_valued(pq.read_metadata(file))).read()
    for name in table.column_names:
        column = table[name]
        coded = pa.types.is_dictionary(column.type)
        kind = column.type.value_type if coded else column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            try:
                for chunk in column.chunks:
                    (chunk.dictionary if coded else chunk).validate(full=True)
            except pa.ArrowInvalid as error:
                raise wrong("E106", f"{file} column {name!r} is not UTF-8: {error}. Write it as UTF-8.") from error
    return table


def _few_valued(metadata: Any) -> list[str]:
    """Columns of text that the file holds as codes of few values: they need not be written out and looked up again."""
    found = []
    for place in range(metadata.num_columns):
        column = metadata.schema.column(place)
        if str(column.logical_type.type) != "STRING" or "." in column.path:
            continue
        parts = [metadata.row_group(group).column(place) for group in range(metadata.num_row_groups)]
        sizes = [p.data_page_offset - p.dictionary_page_offset if p.has_dictionary_page else _FEW_BYTES for p in parts]
        if sizes and max(sizes) < _FEW_BYTES:
            found.append(column.name)
    return found


def _read_text(file: Path, ending: str) -> Any:
    """CSV with every column as text, so that "007" survives."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    delimiter, header = _read_header(file, "\t" if ending.startswith(".tsv") else None)
    _named_once(file, header)
    try:
        read = pacsv.read_csv(
            file,
            # with threads, but only one of them, pyarrow may wait forever for a packed file that ends too early
            read_options=pacsv.ReadOptions(use_threads=pa.cpu_count() > 1),
            parse_options=pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        _check_encoding(file)
        raise error
    return plain_numbers(read, delimiter)


def _read_header(file: Path, delimiter: str | None) -> tuple[str, list[str]]:
    """The delimiter (the commonest in the first line, unless known) and the column names."""
    with _open(file) as stream:
        start = stream.peek(4)[:4] if isinstance(stream, io.BufferedReader) else b""
        if start == b"PAR1":
            raise wrong("E103", f"{file} is a Parquet file by its content. Name it {_stem(file)}.parquet.")
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise wrong("E106", f"{file} is UTF-16, not UTF-8, from its first byte on. Save it as UTF-8.")
        try:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            lines = iter(text.readline, "")
            first = next(lines, "")
            if not first.strip():
                raise wrong("E102", f"{file} has no header line. Its first line must name the columns.")
            delimiter = delimiter or max(_DELIMITERS, key=first.count)
            return delimiter, next(csv.reader(_chain(first, lines), delimiter=delimiter))
        except UnicodeDecodeError:
            _check_encoding(file)
            raise


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _open(file: Path) -> BinaryIO:
    return io.BufferedReader(gzip.open(file)) if file.name.lower().endswith(".gz") else file.open("rb")


def _check_encoding(file: Path) -> None:
    """E106 with the line and the byte, if the file is not UTF-8."""
    with _open(file) as stream:
        offset = 0
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise wrong(
                    "E106",
                    f"{file} is not UTF-8: byte 0x{line[error.start]:02x} in line {number} "
                    f"(byte {offset + error.start + 1} of the file). Save it as UTF-8.",
                ) from None
            offset += len(line)
