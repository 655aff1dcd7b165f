"""Plays a loss of power after every write of a change to a store, and looks at what is left.

    python benchmarks/store_power.py

All writes of a change are recorded: files made, written, synced, named, renamed, removed, folders made and synced.
Then, after each of them, the power goes. What was not synced is lost in four ways: all of it; only the contents, so
that files are empty under their names; the later half of the contents; or, name by name, at random. Each time the store
must open without an error and hold everything as it was before the change or as it was after it, and after the change
was acknowledged only the latter; and the change can then be made (again). The recorded writes, played to the end, must
give the very files that the change left, so that no write escapes. Prints a summary as JSON, and ends with 1 if
anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from store_damage import tables, told

import hero_eval as hero
from hero_eval.store import disk

WAYS = ("all", "contents", "half", "some")
Op = tuple[str, Path, Any]


@contextmanager
def recorded(root: Path) -> Iterator[list[Op]]:
    """All writes that happen meanwhile, by their paths in the store."""
    ops: list[Op] = []
    kept = {name: getattr(disk, name) for name in ("_make", "_write", "_link", "_rename", "_remove", "_sync_folder")}

    def inside(path: Path) -> Path:
        return path.relative_to(root)

    def write(path: Path, data: bytes) -> None:
        kept["_write"](path, data)
        ops.extend([("write", inside(path), data), ("sync", inside(path), None)])

    def two(kind: str) -> Callable[[Path, Path], None]:
        def act(path: Path, name: Path) -> None:
            kept[kind](path, name)
            ops.append((kind[1:], inside(path), inside(name)))

        return act

    def one(kind: str) -> Callable[[Path], None]:
        def act(path: Path) -> None:
            kept[kind](path)
            ops.append((kind[1:], inside(path), None))

        return act

    changed: dict[str, Any] = {name: one(name) for name in ("_make", "_remove", "_sync_folder")}
    changed |= {"_write": write, "_link": two("_link"), "_rename": two("_rename")}
    for name, act in changed.items():
        setattr(disk, name, act)
    try:
        yield ops
    finally:
        for name, act in kept.items():
            setattr(disk, name, act)


class Drive:
    """What is on a drive, and what only seems to be."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.contents: list[list[bytes | None]] = []
        """For each file what was written, and what of it is synced."""
        self.now: dict[Path, int | None] = {}
        self.synced: dict[Path, int | None] = {}
        """For each name that was touched the file that has it, and had it when its folder was last synced."""
        self.folders: dict[Path, bool] = {}
        """New folders, and whether their names are synced."""

    def _touch(self, path: Path) -> None:
        if path not in self.now:
            there = self.base / path
            number = self._file(there.read_bytes(), synced=True) if there.is_file() else None
            self.now[path] = self.synced[path] = number

    def _file(self, data: bytes, *, synced: bool) -> int:
        self.contents.append([data, data if synced else None])
        return len(self.contents) - 1

    def play(self, op: Op) -> None:
        kind, path, more = op
        if kind == "make":
            self.folders.setdefault(path, False)
        elif kind == "sync_folder":
            for name in [one for one in self.now if one.parent == path]:
                self.synced[name] = self.now[name]
            self.folders |= {one: True for one in self.folders if one.parent == path}
        else:
            self._touch(path)
            if kind == "write":
                self.now[path] = self._file(more, synced=False)
            elif kind == "sync":
                number = self.now[path]
                assert number is not None
                self.contents[number][1] = self.contents[number][0]
            elif kind == "remove":
                self.now[path] = None
            else:
                self._touch(more)
                self.now[more] = self.now[path]
                self.now[path] = self.now[path] if kind == "link" else None

    def left(self, way: str, rng: random.Random) -> Callable[[Path], None]:
        """What makes a copy of the store as it is when the power comes back; `way` "none": as it seemed to be."""

        def onto(root: Path) -> None:
            for folder, synced in self.folders.items():
                if synced or way != "all":
                    (root / folder).mkdir(exist_ok=True)
            for path in self.now:
                stays = way == "all" or (way == "some" and rng.random() < 0.5)
                number = self.synced[path] if stays else self.now[path]
                (root / path).unlink(missing_ok=True)
                if number is None or not (root / path).parent.is_dir():
                    continue
                written, synced_data = self.contents[number]
                assert written is not None
                kept = written if way == "none" else synced_data
                if kept is None:
                    kept = written[: len(written) // 2] if way == "half" else b""
                (root / path).write_bytes(kept)

        return onto


def state(path: Path) -> Any:
    """Everything in the store, read whole."""
    store = hero.open_store(path)
    rounds = [(row.round, row.removed, told(store.round(row.round))) for row in store.rounds()]
    removed = [row.round for row in store.rounds(removed=True)]
    assert store.check().is_whole
    return rounds, removed, store.labelers(), [row["document"] for row in store.estimates()]


def _add(store: hero.Store) -> None:
    store.add(hero.Round(**tables(50)), round="2026-w50", question="q", exist_ok=True)


def _merge(store: hero.Store) -> None:
    items = tables(0)["items"]["item"].to_pylist()[15:20]
    gold = [{"item": item, "gold": "1"} for item in items]
    import pyarrow as pa

    store.add(round="2026-w10", gold=pa.Table.from_pylist(gold), exist_ok=True)


def _remove(store: hero.Store) -> None:
    if store.find("2026-w12"):
        store.remove("2026-w12")


def _restore(store: hero.Store) -> None:
    store.restore("2026-w11")


def _estimate(store: hero.Store) -> None:
    store.estimate("2026-w13", method="majority_vote", level=0.8)


def _compact(store: hero.Store) -> None:
    store.compact()


CHANGES: dict[str, Callable[[hero.Store], None]] = {
    "add": _add,
    "add late gold": _merge,
    "remove": _remove,
    "restore": _restore,
    "estimate": _estimate,
    "compact": _compact,
}


def build(path: Path, rounds: int) -> None:
    """A store whose tables are about to be summed up in a checkpoint, so that an add writes one."""
    store = hero.create_store(path)
    for number in range(rounds):
        store.add(hero.Round(**tables(number)), round=f"2026-w{10 + number}", question="q")
    store.remove("2026-w11")
    store.estimate("2026-w13", method="majority_vote")


def play(base: Path, folder: Path, name: str, step: int, rng: random.Random) -> dict[str, Any]:
    """Every loss of power during one change; or every `step`th, in two of the ways in turn, and the last in all."""
    after, copy = folder / "after", folder / "copy"
    shutil.copytree(base, after)
    before = state(base)
    with recorded(after) as ops:
        CHANGES[name](hero.open_store(after))
    done = state(after)
    drive, counts, wrong = Drive(base), Counter[str](), []
    for number in range(len(ops) + 1):
        if number:
            drive.play(ops[number - 1])
        if number % step and number != len(ops):
            continue
        for way in WAYS if step == 1 or number == len(ops) else WAYS[number // step % 2 :: 2]:
            shutil.copytree(base, copy)
            try:
                drive.left(way, rng)(copy)
                found = state(copy)
                if name != "compact" and found == before and number < len(ops):
                    counts["as before"] += 1
                    CHANGES[name](hero.open_store(copy))
                    found = state(copy)
                else:
                    counts["as after"] += 1
                assert found == done, "neither as before nor as after"
            except Exception:
                wrong.append(
                    {"change": name, "after write": number, "lost": way, "what": traceback.format_exc(limit=-2)}
                )
            finally:
                shutil.rmtree(copy)
    shutil.copytree(base, copy)
    drive.left("none", rng)(copy)
    missed = sorted(_files(copy).items() ^ _files(after).items())
    for place in (copy, after):
        shutil.rmtree(place)
    return {
        "writes": len(ops),
        **counts,
        "wrong": wrong,
        "writes that were not seen": [str(path) for path, _ in missed],
    }


def _files(root: Path) -> dict[Path, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(root): path.read_bytes() for path in found}


def run(names: list[str], rounds: int, step: int, seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="hero-power-") as name:
        folder = Path(name)
        build(folder / "base", rounds)
        return {one: play(folder / "base", folder, one, step, rng) for one in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", nargs="*", default=list(CHANGES), choices=list(CHANGES))
    parser.add_argument("--rounds", type=int, default=18)
    parser.add_argument("--step", type=int, default=1, help="a loss after every so many writes")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = run(given.changes, given.rounds, given.step, given.seed)
    print(json.dumps(found, indent=2))
    sys.exit(any(one["wrong"] or one["writes that were not seen"] for one in found.values()))


if __name__ == "__main__":
    main()
