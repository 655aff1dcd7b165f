"""The tables of a store as Delta Lake keeps them: made, opened, appended to and read, and what can go wrong.

Nothing here knows what a round is. A `Place` is a folder or an object-store URL; every table is a folder in it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import uniform
from typing import Any

from hero_eval.errors import HeroError, wrong

FORMAT = 1
"""The version of the layout. A store with a higher one was written by a newer hero-eval."""

_FORMAT_KEY = "hero.format"
_FOREVER = {
    # An estimate of years ago must be reproducible, so neither logs nor files are ever cleaned up.
    "delta.enableExpiredLogCleanup": "false",
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
    "delta.appendOnly": "true",
    "delta.checkpointInterval": "20",
}
TRIES = 100
"""How often a commit is tried anew when other writers were faster."""

SMALL_FILES = 16
"""From this many on, the files of a table of few rows are put together into one."""


@dataclass
class Place:
    """Where a store is, how to reach it, and how much was read from it."""

    uri: str
    options: Mapping[str, str] | None = None
    bytes_read: int = 0
    files_read: list[str] = field(default_factory=list)
    small: dict[tuple[str, int], list[dict[str, Any]]] = field(default_factory=dict)
    """Rows of small tables at the version that was read last, so that one change reads them once."""

    @property
    def is_local(self) -> bool:
        return "://" not in self.uri

    def table(self, name: str) -> str:
        return f"{self.uri.rstrip('/')}/{name}"


def place_of(path: str | os.PathLike[str], options: Mapping[str, str] | None) -> Place:
    text = os.fspath(path)
    if not text.strip():
        raise wrong("E401", "the path of the store is empty. Give a folder or an object-store URL.")
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


def create_table(place: Place, name: str, schema: Any, partition_by: Sequence[str]) -> None:
    """Make a table unless it is there."""
    deltalake = load_deltalake()
    with guarded(place, f"making the table {name}"):
        deltalake.DeltaTable.create(
            place.table(name),
            schema,
            mode="ignore",
            partition_by=list(partition_by),
            name=f"hero {name}",
            configuration={**_FOREVER, _FORMAT_KEY: str(FORMAT)},
            raise_if_key_not_exists=False,
            storage_options=_storage(place),
        )


def is_table(place: Place, name: str) -> bool:
    deltalake = load_deltalake()
    with guarded(place, "looking for the store"):
        return bool(deltalake.DeltaTable.is_deltatable(place.table(name), _storage(place)))


def open_table(place: Place, name: str) -> Any:
    """The table as it is now; E401 if there is none, E402 if a newer hero-eval made it."""
    deltalake = load_deltalake()
    with guarded(place, f"opening the table {name}"):
        try:
            table = deltalake.DeltaTable(place.table(name), storage_options=_storage(place))
        except deltalake.exceptions.TableNotFoundError as error:
            raise wrong("E401", f"{place.uri} has no table {name!r}. {_no_store(place)}") from error
        check_format(place, table.metadata().configuration.get(_FORMAT_KEY))
        return table


def bring_up_to_date(place: Place, name: str, table: Any) -> int:
    """Let a table that was opened see what was committed since; its version. Cheap if nothing was."""
    version = int(table.version())
    if place.is_local and not _commit_file(place, name, version + 1).exists():  # commits are numbered without gaps
        return version
    with guarded(place, "looking for changes"):
        table.update_incremental()
        return int(table.version())


def _commit_file(place: Place, name: str, version: int) -> Path:
    return Path(place.table(name)) / "_delta_log" / f"{version:020}.json"


def first_commit(place: Place, name: str) -> tuple[int, int] | None:
    """What tells a table from another that was later made in its place; None if it is gone, or behind a network."""
    if not place.is_local:
        return None
    try:
        found = _commit_file(place, name, 0).stat()
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


def append(place: Place, name: str, table: Any) -> None:
    """Add rows by one commit. Writers of other rows never stand in the way; they are let in first and it is retried."""
    deltalake = load_deltalake()
    with guarded(place, f"writing {name}"):
        deltalake.write_deltalake(
            open_table(place, name),
            table,
            mode="append",
            commit_properties=deltalake.CommitProperties(max_commit_retries=TRIES),
        )


def append_if_unchanged(place: Place, name: str, seen: Any, table: Any) -> bool:
    """Add rows as the next version after `seen`, or add nothing and return False if somebody else was faster."""
    deltalake = load_deltalake()
    with guarded(place, f"committing to {name}"):
        try:
            deltalake.write_deltalake(
                seen, table, mode="append", commit_properties=deltalake.CommitProperties(max_commit_retries=0)
            )
        except deltalake.exceptions.CommitFailedError:
            still = open_table(place, name)  # gone or full is an error of its own
            if still.version() == seen.version():
                raise
            return False
    return True


def pause(tries: int) -> None:
    """Let other writers go first, for longer the more often it was tried."""
    time.sleep(uniform(0.0, min(0.5, 0.005 * 2**tries)))


def tidy(place: Place, name: str) -> None:
    """Put many small files together. It changes no row, and whether it succeeds matters to nobody."""
    deltalake = load_deltalake()
    try:
        table = deltalake.DeltaTable(place.table(name), storage_options=_storage(place))
        if len(table.file_uris()) >= SMALL_FILES:
            table.optimize.compact(commit_properties=deltalake.CommitProperties(max_commit_retries=0))
    except (deltalake.exceptions.DeltaError, OSError):
        return


def read_rows(place: Place, name: str, columns: Sequence[str] | None = None, table: Any = None) -> list[dict[str, Any]]:
    """All rows of a small table."""
    opened = open_table(place, name) if table is None else table
    version = (name, int(opened.version()))
    if version not in place.small or columns is not None:
        rows = _read_small(place, name, columns, opened)
        if columns is not None:
            return rows
        place.small = {key: of for key, of in place.small.items() if key[0] != name} | {version: rows}
    return place.small[version]


def _read_small(place: Place, name: str, columns: Sequence[str] | None, opened: Any) -> list[dict[str, Any]]:
    found = _read_files(place, name, opened, _files(opened), columns)
    moments = [name for name in found.column_names if str(found.schema.field(name).type).startswith("timestamp")]
    for moment in moments:  # pyarrow would load pandas to make datetimes of them
        found = found.set_column(found.column_names.index(moment), moment, _microseconds(found[moment]))
    rows: list[dict[str, Any]] = found.to_pylist()
    return [{**row, **{name: _EPOCH + timedelta(microseconds=row[name]) for name in moments}} for row in rows]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _microseconds(column: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())


def read_batches(place: Place, name: str, batches: Sequence[str], columns: Sequence[str]) -> dict[str, Any]:
    """The rows of these batches, by batch; no other file is opened."""
    opened = open_table(place, name)
    files = _files(opened)
    wanted = {batch: [file for file in files if file["partition.batch"] == batch] for batch in batches}
    return {batch: _read_files(place, name, opened, of, columns) for batch, of in wanted.items()}


def _files(table: Any) -> list[dict[str, Any]]:
    """Path, size and batch of each file."""
    import pyarrow as pa

    actions = pa.RecordBatchReader.from_stream(table.get_add_actions(flatten=True)).read_all()  # pa.table loads pandas
    keep = [column for column in ("path", "size_bytes", "partition.batch") if column in actions.column_names]
    found: list[dict[str, Any]] = actions.select(keep).to_pylist()
    return sorted(found, key=lambda file: str(file["path"]))


def _read_files(
    place: Place, name: str, table: Any, files: Sequence[Mapping[str, Any]], columns: Sequence[str] | None
) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq  # not pyarrow.dataset, which loads pandas

    with guarded(place, f"reading {name}"):
        if not files:
            partitions = table.metadata().partition_columns
            empty = pa.schema([one for one in pa.schema(table.schema()) if one.name not in partitions]).empty_table()
            return empty if columns is None else empty.select(list(columns))
        filesystem = _filesystem(place, name)
        parts = []
        for file in files:
            place.bytes_read += int(file["size_bytes"])
            place.files_read.append(f"{name}/{file['path']}")
            with filesystem.open_input_file(str(file["path"])) as stream:
                parts.append(pq.ParquetFile(stream).read(columns=None if columns is None else list(columns)))
        return pa.concat_tables(parts)


def _filesystem(place: Place, name: str) -> Any:
    import pyarrow.fs as pa_fs

    if place.is_local:
        return pa_fs.SubTreeFileSystem(place.table(name), pa_fs.LocalFileSystem())
    from deltalake.fs import DeltaStorageHandler

    return pa_fs.PyFileSystem(DeltaStorageHandler(place.table(name), options=_storage(place)))


def _storage(place: Place) -> dict[str, str] | None:
    return dict(place.options) if place.options else None
