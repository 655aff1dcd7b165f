"""The tables of a store as Delta Lake keeps them: opened, held against their logs, and read; and what can go wrong.

Nothing here knows what a round is. A `Place` is a folder or an object-store URL; every table is a folder in it. How
tables are written is in `commits`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlparse

import numpy as np

from hero_eval.errors import HeroError, wrong
from hero_eval.io.bridge import empty_table
from hero_eval.store.schemas import GIVEN, LATER_COLUMNS, TABLES, schema

FORMAT = 2
"""The version of the layout. A store with a higher one was written by a newer hero-eval."""

FORMAT_KEY = "hero.format"

T = TypeVar("T")
_PATIENCE = 3


@dataclass(frozen=True)
class File:
    """A data file of a table, and the batches that it may hold: those from the first to the last, by id."""

    path: str
    size: int
    rows: int
    first_batch: str
    last_batch: str


@dataclass
class Opened:
    """A table that was opened, so that it is opened once."""

    table: Any
    first: tuple[int, int] | None
    """What tells it from another table that was made in its place."""
    files: list[File] | None = None

    @property
    def version(self) -> int:
        return int(self.table.version())


@dataclass
class Place:
    """Where a store is, how to reach it, and how much was read from it."""

    uri: str
    options: Mapping[str, str] | None = None
    bytes_read: int = 0
    files_read: list[str] = field(default_factory=list)
    opened: dict[str, Opened] = field(default_factory=dict)
    small: dict[tuple[str, int], list[dict[str, Any]]] = field(default_factory=dict)
    """Rows of small tables at the version that was read last, so that one change reads them once."""
    parts: dict[tuple[str, str], Any] = field(default_factory=dict)
    """Files of small tables that were read: a file never changes, so a change reads what is new."""
    parsed: dict[int, Any] = field(default_factory=dict)
    """What `log` made of the rows of `rounds` at that version."""

    @property
    def is_local(self) -> bool:
        return "://" not in self.uri

    def table(self, name: str) -> str:
        return f"{self.uri.rstrip('/')}/{name}"


def place_of(path: str | os.PathLike[str], options: Mapping[str, str] | None) -> Place:
    text = os.fspath(path)
    if not text.strip():
        raise wrong("E401", "the path of the store is empty. Give a folder or an object-store URL.")
    if text.startswith("file://"):  # a folder by another name gets what folders get
        text = unquote(urlparse(text).path)
    return Place(text if "://" in text else str(Path(text).expanduser().absolute()), options)


def load_deltalake() -> Any:
    """The package, or E409 with what to install."""
    try:
        import deltalake
        import deltalake.exceptions
    except ImportError as error:
        message = "the store needs the package deltalake. Install it: pip install 'hero-eval[store]'"
        raise wrong("E409", message) from error
    return deltalake


@contextmanager
def guarded(place: Place, doing: str) -> Iterator[None]:
    """Whatever the disk, the network or the package says, as E406 with what was being done."""
    deltalake = load_deltalake()
    import pyarrow as pa

    try:
        yield
    except HeroError:
        raise
    except (deltalake.exceptions.DeltaError, OSError, pa.ArrowException) as error:
        raise wrong("E406", f"{place.uri}: {doing} failed: {_reason(place, error)}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what the package calls a damaged file that surprised it
            raise
        raise wrong("E406", f"{place.uri}: {doing} failed: {_reason(place, error)}") from error


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _reason(place: Place, error: BaseException) -> str:
    text = " ".join(_COLOURS.sub("", str(error)).split())[:240].rstrip(".")
    known = {
        "No space left": "the disk is full. Free some space and run it again",
        "File too large": "the file may not become so large here. Free some space and run it again",
        "ermission denied": "it may not be written here. Ask for the right to write, or name another --store",
        "ead-only": "the folder is read-only. Name a --store that can be written",
        "xclusive": "another writer holds it",
    }
    said = next((remedy for sign, remedy in known.items() if sign in text), None)
    if said is None and place.is_local and not Path(place.uri).is_dir():
        said = "the folder is gone. Bring it back, or make a new store: hero init"
    unchanged = "What was committed before is unchanged"
    return f"{said} ({text}). {unchanged}." if said else f"{text}. {unchanged}."


def is_table(place: Place, name: str) -> bool:
    deltalake = load_deltalake()
    with guarded(place, "looking for the store"):
        return bool(deltalake.DeltaTable.is_deltatable(place.table(name), storage(place)))


def tables_there(place: Place) -> list[str]:
    """The tables that every store has, and of those that come later the ones that it has."""
    return [*TABLES, *(name for name in GIVEN if is_there(place, name))]


def is_there(place: Place, name: str) -> bool:
    """As `is_table`, without asking the package where a look into the folder tells."""
    if not place.is_local:
        return is_table(place, name)
    listed = list_log(place, name)  # a writer that was killed may have left a folder with no commit in it
    return listed is not None and listed.last >= 0


def open_table(place: Place, name: str) -> Any:
    """The table as it is now; E401 if there is none, E402 if a newer hero-eval made it, E406 if it is damaged."""
    return open_once(place, name).table


def open_once(place: Place, name: str) -> Opened:
    """As `open_table`, with what is known of it. A table that nobody changed is not opened again."""
    deltalake = load_deltalake()
    first, listed = first_commit(place, name), list_log(place, name)
    kept = place.opened.get(name)
    if kept is not None and place.is_local and kept.first == first and listed and kept.version == listed.last:
        return kept
    with guarded(place, f"opening the table {name}"):
        try:
            table = deltalake.DeltaTable(place.table(name), storage_options=storage(place))
        except deltalake.exceptions.TableNotFoundError as error:
            raise wrong("E401", f"{place.uri} has no table {name!r}. {_no_store(place)}") from error
        except deltalake.exceptions.DeltaError:
            if list_log(place, name) == listed:
                raise
            return open_once(place, name)  # somebody was cleaning up the log while it was read
        check_format(place, table.metadata().configuration.get(FORMAT_KEY))
        if listed is not None:
            _refuse_unreadable(place, name, int(table.version()), listed)
    place.opened[name] = Opened(table, first)
    return place.opened[name]


@dataclass(frozen=True)
class Listed:
    """What the folder of a table's log holds."""

    commits: frozenset[int]
    checkpoint: int
    """The last one; -1 if there is none."""

    @property
    def last(self) -> int:
        return max(self.commits | {self.checkpoint})


_LOG_FILE = re.compile(r"(\d{20})\.(json$|checkpoint\.)")


def list_log(place: Place, name: str) -> Listed | None:
    """The log of a table in a folder; None behind a network, or if there is no log."""
    if not place.is_local:
        return None
    try:
        names = os.listdir(log_folder(place, name))
    except OSError:
        return None
    commits: set[int] = set()
    checkpoints = {-1}
    for match in filter(None, map(_LOG_FILE.match, names)):
        (commits if match[2] == "json" else checkpoints).add(int(match[1]))
    return Listed(frozenset(commits), max(checkpoints))


def _refuse_unreadable(place: Place, name: str, version: int, listed: Listed) -> None:
    """E406 for commits that are gone or empty: the package would pass over them in silence."""
    lost = [number for number in range(listed.checkpoint + 1, listed.last + 1) if number not in listed.commits]
    empty = [
        number
        for number in range(listed.checkpoint + 1, listed.last + 1)
        if number in listed.commits and not commit_file(place, name, number).read_bytes().strip(b"\0 \n")
    ]
    if not lost and not empty and version >= listed.last:
        return
    number = min([*lost, *empty, listed.last])
    what = "is missing" if number in lost else "is empty or cannot be read"
    raise wrong(
        "E406",
        f"{place.uri}: commit {number} of the table {name} {what}, so what it added is not known. {BRING_BACK}",
    )


BRING_BACK = "Bring the files back from a copy. What is whole: hero store check"


def log_folder(place: Place, name: str) -> Path:
    return Path(place.table(name)) / "_delta_log"


def commit_file(place: Place, name: str, version: int) -> Path:
    return log_folder(place, name) / f"{version:020}.json"


def bring_up_to_date(place: Place, name: str, table: Any) -> int:
    """The version of a table that was opened earlier, as it is by now. Cheap."""
    listed = list_log(place, name)
    if listed is not None:
        return listed.last
    with guarded(place, "looking for changes"):
        table.update_incremental()
        return int(table.version())


def first_commit(place: Place, name: str) -> tuple[int, int] | None:
    """What tells a table from another that was later made in its place; None if it is gone, or behind a network."""
    if not place.is_local:
        return None
    try:
        found = commit_file(place, name, 0).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def check_format(place: Place, found: str | None) -> None:
    if found is None:
        raise wrong("E401", f"{place.uri} holds Delta tables, but not those of a store. Name another --store.")
    if not found.isdigit() or int(found) > FORMAT:
        from hero_eval import __version__

        raise wrong(
            "E402",
            f"{place.uri} is a store of format {found}; hero-eval {__version__} knows formats up to {FORMAT}. "
            "Update hero-eval. The store was not touched.",
        )


def _no_store(place: Place) -> str:
    if place.is_local and not Path(place.uri).exists():
        return f"There is nothing at this path. Make a store: hero init --store {place.uri}"
    return f"It is no store, or a damaged one. Make one: hero init --store {place.uri}"


def read_rows(place: Place, name: str, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """All rows of a small table."""
    opened = open_once(place, name)
    version = (name, opened.version)
    if version not in place.small or columns is not None:
        rows = _read_small(place, name, columns)
        if columns is not None:
            return rows
        place.small = {key: of for key, of in place.small.items() if key[0] != name} | {version: rows}
    return place.small[version]


def _read_small(place: Place, name: str, columns: Sequence[str] | None) -> list[dict[str, Any]]:
    found = read_whole(place, name, columns)
    moments = [name for name in found.column_names if str(found.schema.field(name).type).startswith("timestamp")]
    for moment in moments:  # pyarrow would load pandas to make datetimes of them
        found = found.set_column(found.column_names.index(moment), moment, _microseconds(found[moment]))
    rows: list[dict[str, Any]] = found.to_pylist()
    return [{**row, **{name: _EPOCH + timedelta(microseconds=row[name]) for name in moments}} for row in rows]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _microseconds(column: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())


def read_whole(place: Place, name: str, columns: Sequence[str] | None = None) -> Any:
    """All rows of a table, with these columns."""
    import pyarrow as pa

    wanted = list(schema(name).names if columns is None else columns)

    def one(file: File) -> Any:
        key = (name, file.path)
        if columns is not None:
            return read_file(place, name, file, wanted)
        if key not in place.parts:
            place.parts[key] = read_file(place, name, file, wanted)
        return place.parts[key]

    parts = again_if_replaced(place, name, lambda: [one(file) for file in list_files(place, name)])
    now = {(name, file.path) for file in list_files(place, name)}
    place.parts = {key: of for key, of in place.parts.items() if key[0] != name or key in now}
    return pa.concat_tables([empty_table(pa.schema([schema(name).field(one) for one in wanted])), *parts])


def again_if_replaced(place: Place, name: str, read: Callable[[], T]) -> T:
    """What reading files gives; tried again if somebody put files together meanwhile and removed those."""
    for _ in range(_PATIENCE):
        seen = open_once(place, name).version
        try:
            return read()
        except HeroError as error:
            if error.code != "E406" or open_once(place, name).version == seen:
                raise
    return read()


def list_files(place: Place, name: str) -> list[File]:
    """The data files of a table, in the order of their names."""
    import pyarrow as pa

    opened = open_once(place, name)
    if opened.files is None:
        with guarded(place, f"reading the log of {name}"):
            actions = pa.RecordBatchReader.from_stream(opened.table.get_add_actions(flatten=True))
            rows = actions.read_all().to_pylist()  # pa.table would load pandas
            opened.files = sorted(map(_file, rows), key=lambda file: file.path)
    return opened.files


def _file(row: Mapping[str, Any]) -> File:
    """A file whose batches are not known may hold any."""
    own = row.get("partition.batch")
    first, last = own or row.get("min.batch") or "", own or row.get("max.batch") or "\uffff"
    return File(str(row["path"]), int(row["size_bytes"]), int(row.get("num_records") or 0), first, last)


def read_file(
    place: Place,
    name: str,
    file: File,
    columns: Sequence[str],
    only: Sequence[str] | None = None,
    coded: Sequence[str] = (),
) -> Any:
    """Columns of one data file; of one that holds many batches, the parts that may hold these. E406 if they differ."""
    import pyarrow.parquet as pq  # not pyarrow.dataset, which loads pandas

    with guarded(place, f"reading {name}"):
        place.bytes_read += file.size
        place.files_read.append(f"{name}/{file.path}")
        with filesystem(place, name).open_input_file(file.path) as stream:
            try:
                opened = pq.ParquetFile(stream, read_dictionary=list(coded) or None)
            except KeyError as error:
                raise _of_another_table(place, name, file, error.args[0]) from error
            there = set(opened.schema_arrow.names)
            wanted = [one for one in columns if one in there]
            if only is None or opened.num_row_groups <= 1 or "batch" not in there:
                return _aligned(place, name, file, opened.read(columns=wanted), columns, coded)
            return _aligned(
                place, name, file, opened.read_row_groups(_groups(opened, only), columns=wanted), columns, coded
            )


def _groups(opened: Any, batches: Sequence[str]) -> list[int]:
    """The row groups that may hold one of these batches."""
    import bisect

    position, known = opened.schema_arrow.names.index("batch"), sorted(batches)
    chosen = []
    for group in range(opened.num_row_groups):
        found = opened.metadata.row_group(group).column(position).statistics
        if found is None or not found.has_min_max:
            chosen.append(group)
            continue
        at = bisect.bisect_left(known, found.min)
        if at < len(known) and known[at] <= found.max:
            chosen.append(group)
    return chosen


def _aligned(place: Place, name: str, file: File, part: Any, columns: Sequence[str], coded: Sequence[str]) -> Any:
    """The part with all columns, as their types are; E406 if it is of another table."""
    import pyarrow as pa

    fields, out = schema(name), {}
    for column in columns:
        kind = fields.field(column).type
        if column in part.column_names:
            found = part[column]
            as_codes = column in coded and pa.types.is_dictionary(found.type)
            if (found.type.value_type if as_codes else found.type) == kind:
                out[column] = found
                continue
            out[column] = found.cast(kind)
        elif column in LATER_COLUMNS.get(name, ()):
            out[column] = pa.nulls(part.num_rows, kind)
        elif column == "batch" and file.first_batch == file.last_batch:
            out[column] = pa.repeat(pa.scalar(file.first_batch, kind), part.num_rows)
        else:
            raise _of_another_table(place, name, file, column)
    return pa.table(out)


def _of_another_table(place: Place, name: str, file: File, column: Any) -> HeroError:
    lacks = column.decode() if isinstance(column, bytes) else column
    message = f"{name}/{file.path} has no column {lacks!r}: it is no file of {name}"
    return wrong("E406", f"{place.uri}: {message}. {BRING_BACK}")


def filesystem(place: Place, name: str = "") -> Any:
    """The folder of a table, or of the store, to open files in."""
    import pyarrow.fs as pa_fs

    if place.is_local:
        return pa_fs.SubTreeFileSystem(place.table(name), pa_fs.LocalFileSystem())
    from deltalake.fs import DeltaStorageHandler

    return pa_fs.PyFileSystem(DeltaStorageHandler(place.table(name), options=storage(place)))


def storage(place: Place) -> dict[str, str] | None:
    return dict(place.options) if place.options else None


def runs(batches: Any) -> list[tuple[str, int]]:
    """Each run of one batch in a column, and where it starts."""
    import pyarrow as pa

    column = batches.combine_chunks() if isinstance(batches, pa.ChunkedArray) else batches
    if not len(column):
        return []
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1])
    names = coded.dictionary.to_pylist()
    return [(names[codes[start]], int(start)) for start in starts]
