"""Files on their way in: kept aside, under names of ours, for as long as somebody may want to add them."""

from __future__ import annotations

import re
import secrets
import shutil
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from hero_eval.errors import wrong
from hero_eval.io.files import ENDINGS
from hero_eval.io.json_tables import JSON_ENDINGS
from hero_eval.web.scratch import Scratch
from hero_eval.web.settings import MEGABYTE

KINDS = tuple(dict.fromkeys((*ENDINGS, *JSON_ENDINGS)))
MOST_PENDING = 8
MOST_OF_ALL = 24
"""Files that wait: of one client, and of all."""

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
    client: str = ""


class Uploads:
    """Files that wait, in a folder of their own that goes when the server does."""

    def __init__(self, largest: int, scratch: Scratch | None = None) -> None:
        self._largest = largest
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Upload] = OrderedDict()
        self._scratch = scratch or Scratch()

    def take(self, name: str | None, stream: IO[bytes], about: Mapping[str, Any], client: str = "") -> Upload:
        """Keep a file. E505 for a kind that is not taken, E504 for one that is too large."""
        safe = safe_name(name or "")
        id = secrets.token_urlsafe(16)
        folder = self._scratch.folder(id)
        try:
            size = self._copy(stream, folder / safe)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        upload = Upload(id, folder / safe, (name or safe)[:200], size, time.monotonic(), about, client=client)
        with self._lock:
            self._waiting[id] = upload
            gone = self._make_room(client)
        for one in gone:
            shutil.rmtree(one.path.parent, ignore_errors=True)
        return upload

    def _make_room(self, client: str) -> list[Upload]:
        """Take out what waited too long, the oldest of who brings many, then the oldest of whoever has most."""
        gone = [one for one in self._waiting.values() if time.monotonic() - one.came > KEPT_FOR]
        left = [one for one in self._waiting.values() if one not in gone]
        of_client = [one for one in left if one.client == client]
        gone += of_client[: max(len(of_client) - MOST_PENDING, 0)]
        left = [one for one in left if one not in gone]
        while len(left) > MOST_OF_ALL:
            counts = Counter(one.client for one in left)
            oldest = max(left, key=lambda one: (counts[one.client], -one.came))
            gone.append(oldest)
            left.remove(oldest)
        for one in gone:
            del self._waiting[one.id]
        return gone

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

    def added(self, file: str) -> None:
        """It is in the store: the file goes, and what was said of it stays for a while."""
        with self._lock:
            found = next((one for one in self._waiting.values() if str(one.path) == file), None)
            if found is not None:
                self._waiting[found.id] = replace(found, is_added=True)
        if found is not None:
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
        self._scratch.close()

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
