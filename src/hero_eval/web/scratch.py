"""A server's own folder for files that nobody will miss: uploads that wait, and what its processes unpack.

It goes with the server. A server that was killed leaves it behind, so the next one to start sweeps: a folder belongs to
the living as long as they hold the lock in it, and the system drops a lock with the process that held it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

PREFIX = "hero-uploads-"
LOCK = "lock"
OLD = 86400.0
"""Seconds after which a folder without a lock, of an earlier release, is nobody's."""


class Scratch:
    """The folder, made when it is first needed and again if somebody cleaned it away."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._held: IO[bytes] | None = None

    def home(self) -> Path:
        with self._lock:
            if self._folder is None or not self._folder.is_dir():
                self._let_go()
                self._folder = Path(tempfile.mkdtemp(prefix=PREFIX))
                self._held = (self._folder / LOCK).open("wb")
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return self._folder

    def folder(self, name: str) -> Path:
        """A folder in it for one purpose, readable by nobody else."""
        made = self.home() / name
        made.mkdir(mode=0o700, exist_ok=True)
        return made

    def close(self) -> None:
        with self._lock:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._let_go()
            self._folder = None

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None


def sweep() -> int:
    """Remove what servers that were killed left behind; how many folders that were."""
    found = [one for one in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if _is_ours(one) and not _is_held(one)]
    for one in found:
        shutil.rmtree(one, ignore_errors=True)
    return len(found)


def _is_ours(folder: Path) -> bool:
    """In a folder that everybody may write, only a real folder of the same user counts."""
    try:
        return folder.is_dir() and not folder.is_symlink() and folder.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _is_held(folder: Path) -> bool:
    try:
        with (folder / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return time.time() - folder.stat().st_mtime < OLD
    except OSError:
        return True
