"""How large a file is once it is open, found out before it is opened: packed text is counted as it unpacks, and a table
by what it says of itself and by the values that it repeats. A few bytes can stand for gigabytes in either.

All of this runs in the process that reads uploads, which has a limit of its own for what lies about its size.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hero_eval.errors import InputError, wrong
from hero_eval.web.settings import MEGABYTE

MOST_COLUMNS = 2000
LONGEST_HEADER = MEGABYTE
"""Bytes of the first line of a text table, or of what a Parquet file says of its columns for each of these."""

MOST_KEYS = 10 * MOST_COLUMNS
"""Of JSON; most tools write many that are not read."""

_KEY = re.compile(rb'"([^"\\]{1,200})"\s*:')
LONGEST_FOOTER = 16 * MEGABYTE
MOST_MEMBERS = 100_000
"""Files in a packed log."""

PIECE = 2**20
BATCH = 65_536
TEXT_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


def measure(place: Path, most: int) -> None:
    """E504 for a file of more than `most` bytes once it is open, or of more columns than a table of labels has."""
    name = place.name
    if name.endswith(".parquet"):
        _measure_parquet(place, most)
    elif name.endswith(".eval"):
        _measure_log(place, most)
    else:
        _measure_text(place, most)


# Text


def _measure_text(place: Path, most: int) -> None:
    if place.name.endswith(".gz") and _said_by_gzip(place) > most:
        raise _too_much(most)
    is_table = place.name.endswith(TEXT_TABLES)
    size, start = 0, b""
    keys: set[bytes] = set()
    try:
        with _opened(place) as stream:
            while piece := stream.read(PIECE):
                size += len(piece)
                if size > most:
                    raise _too_much(most)
                if not is_table:
                    _check_keys(keys, piece)
                elif len(start) <= LONGEST_HEADER and b"\n" not in start:
                    start += piece
    except (OSError, EOFError, zlib.error):
        pass  # damaged: the reader says how
    if is_table:
        _check_header(start)


def _said_by_gzip(place: Path) -> int:
    """Bytes that a packed file says it has; less than that is counted."""
    try:
        with place.open("rb") as stream:
            if stream.read(2) != b"\x1f\x8b":
                return 0
            stream.seek(-4, io.SEEK_END)
            return int(struct.unpack("<I", stream.read(4))[0])
    except (OSError, struct.error):
        return 0


def _opened(place: Path) -> BinaryIO:
    return gzip.open(place) if place.name.endswith(".gz") else place.open("rb")  # type: ignore[return-value]


def _check_header(start: bytes) -> None:
    """Columns by the first line; a line that does not end is one of too many."""
    line = start.partition(b"\n")[0]
    if len(line) > LONGEST_HEADER:
        raise wrong("E504", f"the first line has more than {LONGEST_HEADER / MEGABYTE:g} MB. It names the columns.")
    text = line.decode("utf-8", "replace")
    columns = max((_fields(text, delimiter) for delimiter in ",;\t"), default=1)
    if columns > MOST_COLUMNS:
        raise _too_wide(columns)


def _check_keys(keys: set[bytes], piece: bytes) -> None:
    """Different keys of JSON, each of which may become a column."""
    keys.update(_KEY.findall(piece))
    if len(keys) > MOST_KEYS:
        raise wrong(
            "E504",
            f"the records have more than {MOST_KEYS:,} different keys. Leave out those that say nothing of items.",
        )


def _fields(line: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader(io.StringIO(line), delimiter=delimiter), []))
    except csv.Error:
        return line.count(delimiter) + 1


# Packed logs


def _measure_log(place: Path, most: int) -> None:
    """By what the archive says, and it is held to its word: whoever says less is cut short by the reader."""
    try:
        with zipfile.ZipFile(place) as packed:
            inside = packed.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, struct.error):
        return
    if len(inside) > MOST_MEMBERS:
        raise wrong("E504", f"the file holds {len(inside):,} others; {MOST_MEMBERS:,} are taken.")
    if sum(one.file_size for one in inside) > most:
        raise _too_much(most)
    if sum(_zstd_size(place, one, most) for one in inside if one.compress_type == ZSTD) > most:
        raise _too_much(most)


ZSTD = 93


def _zstd_size(place: Path, one: zipfile.ZipInfo, most: int) -> int:
    """Counted, since nothing else holds such a member to the size that it says."""
    import pyarrow as pa

    size = 0
    try:
        with place.open("rb") as stream:
            stream.seek(one.header_offset + 26)
            name, extra = struct.unpack("<HH", stream.read(4))
            stream.seek(name + extra, 1)
            raw = stream.read(one.compress_size)
        unpacked = pa.input_stream(pa.py_buffer(raw), compression="zstd")
        while piece := unpacked.read(PIECE):
            size += len(piece)
            if size > most:
                break
    except (OSError, ValueError, struct.error, pa.ArrowException):
        pass
    return size


# Parquet


def _measure_parquet(place: Path, most: int) -> None:
    """First what the file says of itself, without reading any value; then the values, those that repeat once each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if _footer(place) > LONGEST_FOOTER:
        raise wrong("E504", f"what the file says of itself has more than {LONGEST_FOOTER / MEGABYTE:g} MB.")
    try:
        with pq.ParquetFile(place) as file:
            about = file.metadata
            if about.num_columns > MOST_COLUMNS:
                raise _too_wide(about.num_columns)
            chunks = list(_chunks(about))
            said = sum(max(chunk.total_uncompressed_size, chunk.num_values * WIDTH) for chunk in chunks)
            if said > most or about.num_rows * max(about.num_columns, 1) * WIDTH > most:
                raise _too_much(most)
        _count_texts(place, most)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError):
            raise
        return  # damaged: the reader says how


WIDTH = 4
"""Bytes of a value at least, once it is read; a run of a million equal ones takes none in the file."""


def _chunks(about: Any) -> Iterator[Any]:
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        yield from (group.column(place) for place in range(about.num_columns))


def _footer(place: Path) -> int:
    """Bytes of what the file says of itself; its last eight bytes tell."""
    try:
        with place.open("rb") as stream:
            stream.seek(-8, io.SEEK_END)
            length, mark = struct.unpack("<I4s", stream.read(8))
    except (OSError, struct.error):
        return 0
    return int(length) if mark == b"PAR1" else 0


def _count_texts(place: Path, most: int) -> None:
    """The bytes of all values. Texts that repeat are held once and counted as often as they come."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(place) as plain:
        fields = list(plain.schema_arrow)
    texts = [one.name for one in fields if _is_text(one.type)]
    with pq.ParquetFile(place, read_dictionary=texts, memory_map=True) as file:
        size = 0
        for batch in file.iter_batches(BATCH, use_threads=False):
            size += sum(_bytes_of(column) for column in batch.columns)
            if size > most:
                raise _too_much(most)
            del batch
    pa.default_memory_pool().release_unused()


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return any(is_(kind) for is_ in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string))


def _bytes_of(column: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).fill_null(0).cast(pa.int64())
    taken = pc.sum(lengths.take(column.indices.cast(pa.int64()))).as_py() or 0
    return int(taken) + WIDTH * len(column)


def _too_much(most: int) -> InputError:
    return wrong(
        "E504", f"the file has more than {most / MEGABYTE:g} MB once it is open. Add it by `hero add` on the server."
    )


def _too_wide(columns: int) -> InputError:
    return wrong(
        "E504",
        f"the table has {columns:,} columns; {MOST_COLUMNS:,} are taken. Leave out those that say nothing of items, "
        "or write a row for each label.",
    )
