"""Receipts: a small file for each change that was acknowledged, written after its commit.

A log of which the last commits are lost looks like a shorter log. The receipts, kept beside the tables, say how long it
was: a receipt whose commit is not there is a loss (E406). A commit without a receipt is whole, and is read: its writer
ended before it could say so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hero_eval.store import disk
from hero_eval.store.delta import Place, filesystem, guarded, storage

FOLDER = "receipts"
_TOGETHER = "estimates.json"
"""The receipts of estimates that `compacting` put together."""


def hand_out(place: Place, name: str, about: Mapping[str, Any]) -> None:
    """Write the receipt `name`; one that is there stays."""
    data = (json.dumps(about, ensure_ascii=False) + "\n").encode()
    with guarded(place, "writing a receipt"):
        if place.is_local:
            disk.make_folder(Path(place.uri) / FOLDER)
            disk.write_new(Path(place.uri) / FOLDER / name, data)
            return
        from deltalake.fs import DeltaStorageHandler

        raw = DeltaStorageHandler(place.table(""), options=storage(place))._handler
        stream: Any = raw.open_output_stream(f"{FOLDER}/{name}", None)  # pyarrow's own passes buffers, which it refuses
        stream.write(data)
        stream.close()


def receipts(place: Place, table: str) -> list[str]:
    """What the receipts of a table are for: versions of `rounds`, ids of `estimates`; sorted."""
    names = _names(place)
    found = {name.removeprefix(f"{table}-") for name in names if name.startswith(f"{table}-")}
    if table == "estimates" and _TOGETHER in names and place.is_local:
        with guarded(place, "reading the receipts"):
            text = (Path(place.uri) / FOLDER / _TOGETHER).read_text(encoding="utf-8", errors="replace")
        with suppress(ValueError, KeyError, TypeError):  # the other receipts still hold; `hero store check` tells of it
            found |= set(json.loads(text)["estimates"])
    return sorted(found)


def are_readable(place: Place) -> bool:
    """Whether each receipt can be read."""
    if not place.is_local:
        return True
    try:
        for name in _names(place):
            json.loads((Path(place.uri) / FOLDER / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def put_together(place: Place, estimates: Sequence[str]) -> None:
    """One receipt for all these estimates, and only the last one of the rounds (in a folder)."""
    folder = Path(place.uri) / FOLDER
    if not folder.is_dir():
        return
    rounds = [name for name in _names(place) if name.startswith("rounds-")]
    known = {f"estimates-{one}" for one in estimates}
    if known:
        disk.write_over(folder / _TOGETHER, (json.dumps({"estimates": sorted(estimates)}) + "\n").encode())
    spare = [*sorted(rounds)[:-1], *(name for name in _names(place) if name in known)]
    disk.remove_files([folder / name for name in spare])


def _names(place: Place) -> list[str]:
    import pyarrow.fs as pa_fs

    if place.is_local:
        try:
            return [name for name in os.listdir(Path(place.uri) / FOLDER) if not name.startswith(".")]
        except FileNotFoundError:
            return []
    with guarded(place, "reading the receipts"):
        chosen = pa_fs.FileSelector(FOLDER, allow_not_found=True)
        return [
            Path(one.path).name for one in filesystem(place).get_file_info(chosen) if one.type == pa_fs.FileType.File
        ]
