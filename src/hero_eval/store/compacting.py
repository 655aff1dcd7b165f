"""Making a store small again: many small files become few, and what nobody can ask for any more is removed.

No row is changed or dropped. Every version of the store can still be opened, and every recorded estimate made again,
since both rest on the rows of the log and the batches that they name. What goes are files that were replaced by larger
ones, commits that a checkpoint sums up, and data files of changes that ended before any commit named them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hero_eval.store import commits, delta, disk
from hero_eval.store.estimates import listed_estimates
from hero_eval.store.reading import ReadableStore
from hero_eval.store.receipts import put_together
from hero_eval.store.soundness import check_store

PACKED_ROWS = 1_000_000
"""About so many rows go into one file. Files of half as many or more stay as they are."""

ABANDONED = 24 * 3600.0
"""Seconds after which a data file that no commit names belongs to a writer that is no more."""


@dataclass(frozen=True)
class Compacted:
    """What `Store.compact` did."""

    files_before: int
    files: int
    bytes_before: int
    bytes: int
    left: tuple[str, ...]
    """Tables that somebody else was putting together at the same moment."""


def compact_store(store: ReadableStore) -> Compacted:
    """Put files together and remove what was replaced; E406, and nothing done, if the store is not whole."""
    check_store(store).raise_any()
    if not store.place.is_local:
        return _by_the_package(store)
    before = _size(store)
    commits.bring_to_format(store.place)
    left = [name for name in delta.tables_there(store.place) if not _pack(store.place, name)]
    for name in delta.tables_there(store.place):
        _clean(store.place, name)
    put_together(store.place, [row["estimate"] for row in listed_estimates(store)])
    after = _size(store)
    return Compacted(before[0], after[0], before[1], after[1], tuple(left))


def _by_the_package(store: ReadableStore) -> Compacted:
    """Behind a network files are put together, and nothing is removed: a reader may still need it."""
    deltalake = delta.load_deltalake()
    counts = []
    for name in delta.tables_there(store.place):
        with delta.guarded(store.place, f"putting {name} together"):
            done = delta.open_table(store.place, name).optimize.compact(
                commit_properties=deltalake.CommitProperties(max_commit_retries=commits.TRIES)
            )
        counts.append((int(done["numFilesRemoved"]), int(done["numFilesAdded"])))
    return Compacted(sum(one for one, _ in counts), sum(two for _, two in counts), 0, 0, ())


def _size(store: ReadableStore) -> tuple[int, int]:
    files = [path for path in Path(store.path).rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)


def _pack(place: delta.Place, name: str) -> bool:
    """Few files of many batches instead of many files of one; False if somebody else was at it."""
    if list(delta.open_table(place, name).metadata().partition_columns):
        return True  # a store of format 1 has a folder for each batch, and keeps it
    files = sorted(
        (file for file in delta.list_files(place, name) if file.rows < PACKED_ROWS / 2),
        key=lambda file: (file.first_batch, file.path),
    )
    if len(files) < 2:
        return True
    parts = [_in_order(commits.read_together(place, name, part)) for part in _parts(files)]
    with delta.guarded(place, f"putting {name} together"):
        gone = commits.replace_files(place, name, files, parts)
    if gone is None:
        return False
    disk.remove_files(gone)
    return True


def _parts(files: Sequence[delta.File]) -> Iterator[list[delta.File]]:
    part: list[delta.File] = []
    for file in files:
        if part and sum(one.rows for one in part) + file.rows > PACKED_ROWS:
            yield part
            part = []
        part.append(file)
    if part:
        yield part


def _in_order(table: Any) -> Any:
    """Rows by batch, so that a reader of one batch needs one part of the file."""
    import pyarrow.compute as pc

    if "batch" not in table.column_names:
        return table
    return table.take(pc.sort_indices(table, sort_keys=[("batch", "ascending")]))


def _clean(place: delta.Place, name: str) -> None:
    """Remove what the checkpoint sums up, and files that no commit names and nobody is about to name."""
    with delta.guarded(place, f"cleaning up {name}"):
        if not delta.open_once(place, name).version:
            return
        version = commits.write_checkpoint(place, name)
        log, folder = delta.log_folder(place, name), Path(place.table(name))
        named = {file.path for file in delta.list_files(place, name)}
        disk.remove_files([folder / path for path in _replaced(log, version) if path not in named])
        with commits.nobody_commits(place):
            spare = [file for file in log.iterdir() if _is_summed_up(file.name, version)]
            disk.remove_files(spare)
        old = time.time() - ABANDONED
        disk.remove_files(
            [
                file
                for file in folder.rglob("*")
                if file.is_file()
                and file.parent != log
                and file.relative_to(folder).as_posix() not in named
                and file.stat().st_mtime < old
            ]
        )
        disk.remove_files([file for file in log.glob(".*.tmp") if file.stat().st_mtime < old])


def _replaced(log: Path, version: int) -> list[str]:
    """Data files that the checkpoint knows to have been put together with others."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    checkpoint = log / f"{version:020}.checkpoint.parquet"
    if not checkpoint.is_file():  # another engine sums up in other files
        return []
    found = pq.ParquetFile(checkpoint).read(columns=["remove"])["remove"]
    return [path for path in pc.struct_field(found, "path").to_pylist() if path is not None]


def _is_summed_up(name: str, version: int) -> bool:
    """Whether a file of the log is older than the checkpoint. The first commit stays: it tells stores apart."""
    number = name[:20]
    return number.isdigit() and int(number) < version and name != f"{0:020}.json"
