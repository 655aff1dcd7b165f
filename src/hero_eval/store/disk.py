"""Files that are on the disk, and not only in the memory of the machine, before anybody is told of them.

A file gets its name only when its bytes are synced, and its folder is synced before the call returns. So whatever has a
name is whole, also after the power went: there is no moment at which a reader could find half a file. Every write to a
store in a folder comes through the six small functions at the end; tests record them and play a loss of power after
each one.
"""

from __future__ import annotations

import contextlib
import os
import sys
import uuid
from pathlib import Path


def make_folder(path: Path) -> None:
    """The folder and those above it, each named on the disk."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        _make(folder)
        _sync_folder(folder.parent)


def write_new(path: Path, data: bytes) -> bool:
    """A new file under a name that nobody has taken; False, and nothing done, if somebody has."""
    waiting = _waiting(path)
    try:
        _write(waiting, data)
        try:
            _link(waiting, path)
        except FileExistsError:
            return False
    finally:
        with contextlib.suppress(OSError):
            _remove(waiting)
    _sync_folder(path.parent)
    return True


def write_over(path: Path, data: bytes) -> None:
    """A file in the place of the one that had its name."""
    waiting = _waiting(path)
    try:
        _write(waiting, data)
        _rename(waiting, path)
    except OSError:
        with contextlib.suppress(OSError):
            _remove(waiting)
        raise
    _sync_folder(path.parent)


def remove_files(paths: list[Path]) -> int:
    """Remove what nobody needs any more, and folders that become empty by it; the bytes that it freed."""
    freed = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            freed += path.stat().st_size
            _remove(path)
    for folder in {path.parent for path in paths}:
        with contextlib.suppress(OSError):  # it holds other files
            folder.rmdir()
    return freed


def _waiting(path: Path) -> Path:
    """A name beside the final one that no reader takes for a file of a table."""
    return path.with_name(f".{path.name[:60]}.{uuid.uuid4().hex[:12]}.tmp")


def _make(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir()


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        _flush_to_disk(stream.fileno())


def _link(path: Path, name: Path) -> None:
    os.link(path, name)


def _rename(path: Path, name: Path) -> None:
    os.replace(path, name)


def _remove(path: Path) -> None:
    path.unlink()


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # folders cannot be opened there, and need not be
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        _flush_to_disk(opened)
    finally:
        os.close(opened)


def _flush_to_disk(opened: int) -> None:
    if sys.platform == "darwin":  # fsync leaves the bytes in the drive's own memory there
        import fcntl

        fcntl.fcntl(opened, fcntl.F_FULLFSYNC)
    else:
        os.fsync(opened)
