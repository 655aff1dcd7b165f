"""Files on their way in: kept aside, under names of ours, for as long as somebody may want to add them."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from hero_eval.errors import wrong
from hero_eval.reading.exports.opening import JSON_ENDINGS
from hero_eval.reading.tables import ENDINGS
from hero_eval.web.settings import MEGABYTE

KINDS = tuple(dict.fromkeys((*ENDINGS, *JSON_ENDINGS)))
MOST_PENDING = 8
KEPT_FOR = 3600.0
PIECE = 2**20
LONGEST_NAME = 80


@dataclass(frozen=True)
class Upload:
    """A file that waits to be added. `about` is what was said of it so far."""

    id: str
    path: Path
    name: str
    size: int
    came: float
    about: Mapping[str, Any] = field(default_factory=dict)
    is_added: bool = False


class Uploads:
    """Files that wait, in a folder of their own that goes when the server does."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Upload] = OrderedDict()
        self._folder: Path | None = None

    def take(self, name: str | None, stream: IO[bytes], about: Mapping[str, Any]) -> Upload:
        """Keep a file. E505 for a kind that is not taken, E504 for one that is too large."""
        safe = safe_name(name or "")
        id = secrets.token_urlsafe(16)
        folder = self._home() / id
        folder.mkdir(mode=0o700)
        try:
            size = self._copy(stream, folder / safe)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        upload = Upload(id, folder / safe, (name or safe)[:200], size, time.monotonic(), about)
        with self._lock:
            self._waiting[id] = upload
            late = [one for one in self._waiting.values() if time.monotonic() - one.came > KEPT_FOR]
            while len(self._waiting) - len(late) > MOST_PENDING:
                late.append(next(one for one in self._waiting.values() if one not in late))
            for one in late:
                del self._waiting[one.id]
        for one in late:
            shutil.rmtree(one.path.parent, ignore_errors=True)
        return upload

    def find(self, id: str) -> Upload:
        """E506 if it went."""
        with self._lock:
            found = self._waiting.get(id)
        if found is None or time.monotonic() - found.came > KEPT_FOR:
            raise wrong("E506", "this upload is no longer here: it was added, dropped, or waited for too long.")
        return found

    def change(self, id: str, about: Mapping[str, Any]) -> Upload:
        """Say something else about it."""
        return self._put(replace(self.find(id), about=about))

    def added(self, id: str) -> None:
        """It is in the store: the file goes, and what was said of it stays for a while."""
        found = self.find(id)
        if not found.is_added:
            self._put(replace(found, is_added=True))
            found.path.unlink(missing_ok=True)

    def _put(self, upload: Upload) -> Upload:
        with self._lock:
            self._waiting[upload.id] = upload
        return upload

    def drop(self, id: str) -> None:
        with self._lock:
            found = self._waiting.pop(id, None)
        if found is not None:
            shutil.rmtree(found.path.parent, ignore_errors=True)

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _home(self) -> Path:
        with self._lock:
            if self._folder is None or not self._folder.is_dir():
                self._folder = Path(tempfile.mkdtemp(prefix="hero-uploads-"))
            return self._folder

    def _copy(self, stream: IO[bytes], place: Path) -> int:
        size = 0
        with place.open("xb") as out:
            while piece := stream.read(PIECE):
                size += len(piece)
                if size > self._largest:
                    raise too_large(self._largest)
                out.write(piece)
        return size


def too_large(largest: int) -> Exception:
    return wrong(
        "E504", f"the upload is larger than {largest / MEGABYTE:g} MB. Add it by `hero add`, or raise --max-upload."
    )


def safe_name(name: str) -> str:
    """What the file is called here: a plain name that no folder can hide in, with the ending that it came with."""
    base = re.split(r"[\\/]", name)[-1].lower()
    ending = max((one for one in KINDS if base.endswith(one)), key=len, default=None)
    if ending is None:
        shown = base[:60] or "a file without a name"
        raise wrong("E505", f"{shown!r} is of a kind that is not taken. Taken are: {', '.join(KINDS)}.")
    stem = re.sub(r"[^a-z0-9_-]+", "-", base[: -len(ending)]).strip("-")[:LONGEST_NAME]
    return f"{stem or 'upload'}{ending}"


def refuse_bombs(place: Path, most: int) -> None:
    """E504 for a packed file that would unpack to more than `most` bytes."""
    name = place.name
    if name.endswith(".gz"):
        _count_gzip(place, most)
    elif name.endswith(".eval"):
        _count_zip(place, most)


def _count_gzip(place: Path, most: int) -> None:
    import gzip
    import zlib

    size = 0
    try:
        with gzip.open(place) as stream:
            while piece := stream.read(PIECE):
                size += len(piece)
                if size > most:
                    raise _unpacks_to_more(most)
    except (OSError, EOFError, zlib.error):
        return  # damaged: the reader says how


def _count_zip(place: Path, most: int) -> None:
    import zipfile

    try:
        with zipfile.ZipFile(place) as packed:
            size = sum(one.file_size for one in packed.infolist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return
    if size > most:
        raise _unpacks_to_more(most)


def _unpacks_to_more(most: int) -> Exception:
    return wrong("E504", f"the file unpacks to more than {most / MEGABYTE:g} MB. Add it by `hero add` on the server.")
