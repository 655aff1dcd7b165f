"""Writing the tables of a store.

In a folder every file is on the disk before a commit names it, and every commit is on the disk before it gets its name
(see `disk`), which the package alone does not do. So commits are written here, in the format that everybody reads; the
package makes the first commit and the checkpoints in a folder aside, from which they are taken over. Behind a network
an object appears whole or not at all, and the package writes.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import uniform
from typing import Any

from hero_eval.errors import HeroError, wrong
from hero_eval.store import disk
from hero_eval.store.delta import (
    FORMAT,
    FORMAT_KEY,
    File,
    Place,
    commit_file,
    guarded,
    is_there,
    list_files,
    list_log,
    load_deltalake,
    log_folder,
    open_once,
    open_table,
    read_file,
    runs,
    storage,
)
from hero_eval.store.schemas import schema

CHECKPOINTS = 20
"""Every so many commits a table's log is summed up in one file."""

_SETTINGS = {
    # An estimate of years ago must be reproducible, so no other engine may clean up; `compacting` knows what is cited.
    "delta.enableExpiredLogCleanup": "false",
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
    "delta.appendOnly": "true",
    "delta.checkpointInterval": str(CHECKPOINTS),
}
TRIES = 100
"""How often a commit is tried anew when other writers were faster."""

SMALL_FILES = 16
"""So many files of about the same few rows are put together into one."""


def create_table(place: Place, name: str) -> None:
    """Make a table unless it is there."""
    deltalake = load_deltalake()
    settings = {**_SETTINGS, FORMAT_KEY: str(FORMAT)}

    def make(where: str, options: dict[str, str] | None) -> None:
        deltalake.DeltaTable.create(
            where,
            schema(name),
            mode="ignore",
            name=f"hero {name}",
            configuration=settings,
            raise_if_key_not_exists=False,
            storage_options=options,
        )

    with guarded(place, f"making the table {name}"):
        if not place.is_local:
            make(place.table(name), storage(place))
        elif not is_there(place, name):
            with _aside() as folder:
                make(str(folder / name), None)
                first = (folder / name / "_delta_log" / f"{0:020}.json").read_bytes()
            disk.make_folder(log_folder(place, name))
            disk.write_new(commit_file(place, name, 0), first)


@contextmanager
def _aside() -> Iterator[Path]:
    """A folder for the package to write in, gone when it is left."""
    with tempfile.TemporaryDirectory(prefix="hero-aside-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def append(place: Place, name: str, table: Any) -> int:
    """Add rows by one commit; its version. Writers of other rows never stand in the way: they are let in first."""
    with guarded(place, f"writing {name}"):
        if place.is_local:
            return _commit_after(place, name, [_add_file(place, name, table)])
        deltalake = load_deltalake()
        opened = open_table(place, name)
        deltalake.write_deltalake(
            opened, table, mode="append", commit_properties=deltalake.CommitProperties(max_commit_retries=TRIES)
        )
        return open_once(place, name).version


def append_if_unchanged(place: Place, name: str, version: int, table: Any) -> bool:
    """Add rows as the very next version, or add nothing and return False if somebody else was faster."""
    with guarded(place, f"committing to {name}"):
        if place.is_local:
            return _commit_next(place, name, version + 1, [_add_file(place, name, table)])
        deltalake = load_deltalake()
        seen = open_table(place, name)
        if int(seen.version()) != version:
            return False
        try:
            deltalake.write_deltalake(
                seen, table, mode="append", commit_properties=deltalake.CommitProperties(max_commit_retries=0)
            )
        except deltalake.exceptions.CommitFailedError:
            place.opened.pop(name, None)
            if open_once(place, name).version == version:  # gone or full is an error of its own
                raise
            return False
    return True


def pause(tries: int) -> None:
    """Let other writers go first, for longer the more often it was tried."""
    time.sleep(uniform(0.0, min(0.5, 0.005 * 2**tries)))


def bring_to_format(place: Place, name: str = "rounds") -> None:
    """A table of an older hero-eval gets the columns and the format of this one; older ones then leave it alone."""
    metadata = open_table(place, name).metadata()
    if metadata.configuration.get(FORMAT_KEY) == str(FORMAT):
        return
    deltalake = load_deltalake()
    with guarded(place, f"bringing {name} to format {FORMAT}"):
        if not place.is_local:
            table = open_table(place, name)
            known = set(table.schema().to_arrow().names)
            fields = deltalake.Schema.from_arrow(schema(name)).fields
            table.alter.add_columns([field for field in fields if field.name not in known])
            table.alter.set_table_properties({FORMAT_KEY: str(FORMAT)}, raise_if_not_exists=False)
            place.opened.pop(name, None)
            return
        described = {
            "id": str(metadata.id),
            "name": metadata.name,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": deltalake.Schema.from_arrow(schema(name)).to_json(),
            "partitionColumns": list(metadata.partition_columns),
            "createdTime": metadata.created_time,
            "configuration": {**metadata.configuration, FORMAT_KEY: str(FORMAT)},
        }
        # Whoever was faster has done the same, or has written a row that this follows on.
        _commit_next(place, name, open_once(place, name).version + 1, [{"metaData": described}], "SET TBLPROPERTIES")


def replace_files(place: Place, name: str, old: Sequence[File], parts: Sequence[Any]) -> list[Path] | None:
    """Put the rows of these files into other files, by one commit that changes no row; what nobody needs then.

    None if somebody else replaced files at the same moment; then nothing is changed.
    """
    seen = open_once(place, name).version
    gone = [_remove_action(file, _partition(place, name, file)) for file in old]
    made = [_add_file(place, name, part, changes=False) for part in parts]
    while True:
        version = open_once(place, name).version
        if any(_is_rewrite(commit_file(place, name, number)) for number in range(seen + 1, version + 1)):
            disk.remove_files([Path(place.table(name)) / action["add"]["path"] for action in made])
            return None
        if _commit_next(place, name, version + 1, [*gone, *made], "OPTIMIZE"):
            return [Path(place.table(name)) / file.path for file in old]


def _is_rewrite(commit: Path) -> bool:
    actions = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines() if line.strip()]
    return any("remove" in action or "metaData" in action for action in actions)


def tidy(place: Place, name: str) -> None:
    """Put many small files together. It changes no row, and whether it succeeds matters to nobody."""
    deltalake = load_deltalake()
    try:
        if not place.is_local:
            table = open_table(place, name)
            if len(table.file_uris()) >= SMALL_FILES:
                table.optimize.compact(commit_properties=deltalake.CommitProperties(max_commit_retries=0))
            return
        alike: dict[int, list[File]] = {}
        for file in list_files(place, name):
            alike.setdefault(len(f"{file.rows:x}"), []).append(file)
        for files in alike.values():
            if len(files) >= SMALL_FILES:
                replace_files(place, name, files, [read_together(place, name, files)])
    except (deltalake.exceptions.DeltaError, HeroError, OSError):
        return


def read_together(place: Place, name: str, files: Sequence[File]) -> Any:
    """All columns of these files as one table."""
    import pyarrow as pa

    return pa.concat_tables([read_file(place, name, file, schema(name).names) for file in files])


# In a folder


def _add_file(place: Place, name: str, table: Any, *, changes: bool = True) -> dict[str, Any]:
    """Write a data file; the action by which a commit will name it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    partition = _new_partition(place, name, table)
    stored = table.drop_columns(list(partition)) if partition else table
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, stored.schema, compression="zstd") as writer:
        for group in _row_groups(stored):
            writer.write_table(group)
    data = sink.getvalue().to_pybytes()
    folder = "".join(f"{key}={value}/" for key, value in partition.items())
    ends = _batch_ends(table)
    whose = ends["minValues"]["batch"] if ends and ends["minValues"] == ends["maxValues"] else "part"
    path = f"{folder}{whose}-{uuid.uuid4().hex[:12]}.parquet"
    disk.make_folder((Path(place.table(name)) / path).parent)
    disk.write_new(Path(place.table(name)) / path, data)
    stats = {"numRecords": table.num_rows, **({} if partition else ends)}
    return {
        "add": {
            "path": path,
            "partitionValues": partition,
            "size": len(data),
            "modificationTime": _now(),
            "dataChange": changes,
            "stats": json.dumps(stats),
        }
    }


ROWS_IN_GROUP = 100_000


def _row_groups(table: Any) -> list[Any]:
    """Parts that can be read apart: whole batches, as long as they are small."""
    if table.num_rows <= ROWS_IN_GROUP or "batch" not in table.column_names:
        return [table.slice(at, ROWS_IN_GROUP) for at in range(0, max(1, table.num_rows), ROWS_IN_GROUP)]
    starts, groups, first = [*(start for _, start in runs(table["batch"])), table.num_rows], [], 0
    for start, end in pairwise(starts):
        if end - first > ROWS_IN_GROUP and start > first:
            groups.append(table.slice(first, start - first))
            first = start
    return [*groups, table.slice(first)]


def _batch_ends(table: Any) -> dict[str, Any]:
    import pyarrow.compute as pc

    if "batch" not in table.column_names or not table.num_rows:
        return {}
    ends = pc.min_max(table["batch"].unique()).as_py()
    return {"minValues": {"batch": ends["min"]}, "maxValues": {"batch": ends["max"]}}


def _new_partition(place: Place, name: str, table: Any) -> dict[str, str]:
    """Tables of older stores have a folder for each batch."""
    if list(open_table(place, name).metadata().partition_columns) != ["batch"]:
        return {}
    return {"batch": str(table["batch"][0].as_py())}


def _partition(place: Place, name: str, file: File) -> dict[str, str]:
    partitioned = list(open_table(place, name).metadata().partition_columns) == ["batch"]
    return {"batch": file.first_batch} if partitioned else {}


def _remove_action(file: File, partition: Mapping[str, str]) -> dict[str, Any]:
    gone = {"path": file.path, "deletionTimestamp": _now(), "dataChange": False, "extendedFileMetadata": True}
    return {"remove": {**gone, "partitionValues": dict(partition), "size": file.size}}


@contextmanager
def nobody_commits(place: Place, *, shared: bool = False) -> Iterator[None]:
    """While the numbers of old commits are freed nobody may take one: writers hold this together, cleaning alone."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    held = os.open(Path(place.uri) / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(held, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _commit_after(place: Place, name: str, actions: Sequence[Mapping[str, Any]]) -> int:
    """Commit as the next version that is free."""
    for _ in range(TRIES):
        version = open_once(place, name).version + 1
        if _commit_next(place, name, version, actions):
            return version
    raise wrong("E406", f"{place.uri}: other writers were faster {TRIES} times. Nothing was changed; try again.")


def _commit_next(
    place: Place, name: str, version: int, actions: Sequence[Mapping[str, Any]], operation: str = "WRITE"
) -> bool:
    """Commit as this version; False if it is taken."""
    from hero_eval import __version__

    about = {"timestamp": _now(), "operation": operation, "engineInfo": f"hero-eval:{__version__}"}
    lines = [json.dumps(action) for action in ({"commitInfo": about}, *actions)]
    if not log_folder(place, name).is_dir():
        open_table(place, name)  # says that it is gone
    with nobody_commits(place, shared=True):
        listed = list_log(place, name)
        if listed is None or listed.last >= version:
            return False
        if not disk.write_new(commit_file(place, name, version), ("\n".join(lines) + "\n").encode()):
            return False
    if version % CHECKPOINTS == 0:
        _harmless(lambda: write_checkpoint(place, name))
    return True


def _harmless(work: Callable[[], Any]) -> None:
    """What only makes the next reader faster may fail."""
    try:
        work()
    except (HeroError, OSError, load_deltalake().exceptions.DeltaError):
        return


def write_checkpoint(place: Place, name: str) -> int:
    """Sum up the log of a table in a folder as it is now; up to which version."""
    deltalake = load_deltalake()
    listed = list_log(place, name)
    assert listed is not None
    log = log_folder(place, name)
    with _aside() as folder:
        beside = folder / name / "_delta_log"
        beside.mkdir(parents=True)
        for file in log.iterdir():
            number = file.name[:20]
            if number.isdigit() and int(number) >= max(listed.checkpoint, 0):
                shutil.copyfile(file, beside / file.name)
        table = deltalake.DeltaTable(str(folder / name))
        version = int(table.version())
        if version == listed.checkpoint:
            return version
        table.create_checkpoint()
        made = next(beside.glob(f"{version:020}.checkpoint*.parquet"))
        disk.write_over(log / made.name, made.read_bytes())
        disk.write_over(log / "_last_checkpoint", (beside / "_last_checkpoint").read_bytes())
    return version


def _now() -> int:
    return int(time.time() * 1000)
