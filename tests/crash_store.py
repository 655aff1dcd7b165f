"""Kills writers of a store at random moments and looks at what is left.

    python tests/crash_store.py --kills 200

A parent that has loaded everything, but never touched a store itself, forks a writer for each try and kills it with
SIGKILL after a random part of the time that such a change takes. A forked reader then opens the store. Every round must
be whole, as it was before the change or as it is after it, and all that was committed must be there. Prints a summary
as JSON and ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

import deltalake  # (these are loaded before forking, but not used by the parent)
import deltalake.exceptions  # noqa: F401
import duckdb  # noqa: F401
import numpy as np
import pandas  # noqa: F401  (pyarrow loads it)
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import scipy.stats  # noqa: F401
from repository import EXPORTS

import hero_eval as hero
import hero_eval.store.compacting
import hero_eval.store.estimates
import hero_eval.store.soundness
import hero_eval.targets.rate
from hero_eval.io.exports.imports import read_export
from hero_eval.store.delta import read_whole
from hero_eval.store.schemas import DATA

ITEMS = 40
EXPORT = EXPORTS / "label_studio.json"
State = dict[str, Any]


def tables(seed: int, part: str) -> dict[str, pa.Table]:
    """A small round: "early" holds the labels of three labelers, "late" those of a fourth and more gold."""
    rng = np.random.default_rng(seed)
    items = [f"i{k:03d}" for k in range(ITEMS)]
    truth = rng.integers(0, 2, ITEMS)
    people = ("ann", "bob", "cat") if part == "early" else ("dan",)
    rows = [
        (items[k], who, str(truth[k] if rng.random() < 0.8 else 1 - truth[k])) for who in people for k in range(ITEMS)
    ]
    known = range(0, 20) if part == "early" else range(20, 30)
    return {
        "labels": pa.table({name: [row[c] for row in rows] for c, name in enumerate(("item", "labeler", "label"))}),
        "gold": pa.table({"item": [items[k] for k in known], "gold": [str(truth[k]) for k in known]}),
    }


def read_state(path: str, touched: str | None) -> State:
    """What a reader sees: counts of every round, those of the touched one checked against its data, and estimates."""
    store = hero.open_store(path)
    log = store.log()
    rounds = {row.round: [row.labels, row.gold, row.removed] for row in log.last().values()}
    for row in log.live().values():
        if touched is None or row.round == touched:
            read = store.read(row)
            assert (read.n_labels, read.n_gold) == (row.labels, row.gold), f"{row.round} is not whole: {read} {row}"
    made = [row["estimate"] for row in store.estimates()]
    for row in store.estimates()[-1:]:
        json.loads(row["document"])
    return {"rounds": rounds, "estimates": made, "version": log.version}


def in_child(action: Callable[[], Any]) -> tuple[int, int]:
    """Fork, run, and return the pid and the pipe on which the result comes."""
    out, into = os.pipe()
    pid = os.fork()
    if pid:
        os.close(into)
        return pid, out
    code = 0
    try:
        os.close(out)
        os.write(into, b"started\n")
        os.write(into, (json.dumps(action()) + "\n").encode())
    except BaseException:
        os.write(into, (json.dumps({"error": traceback.format_exc()}) + "\n").encode())
        code = 1
    os._exit(code)


def finish(pid: int, out: int) -> Any:
    """What the child said last; None if it was killed before it said anything."""
    with os.fdopen(out) as stream:
        said = [line for line in stream.read().splitlines() if line != "started"]
    os.waitpid(pid, 0)
    return json.loads(said[-1]) if said else None


def reading(path: str, touched: str | None) -> State:
    state = finish(*in_child(lambda: read_state(path, touched)))
    assert state is not None, "the reader died"
    assert "error" not in state, state.get("error")
    return dict(state)


def changes(path: str, state: State, number: int, rng: random.Random) -> tuple[str, str | None, Callable[[], Any]]:
    """The next change: its name, the round it touches, and what to run."""
    live = [name for name, (_, _, gone) in state["rounds"].items() if not gone]
    gone = [name for name, (_, _, away) in state["rounds"].items() if away]
    early = [name for name in live if state["rounds"][name][0] == 3 * ITEMS]
    kinds = (
        ["add", "import"]
        + ["merge"] * bool(early)
        + ["remove"] * (len(live) > 2)
        + ["estimate"] * any(name.startswith("round") for name in live)
        + ["restore"] * bool(gone)
        + ["compact"] * bool(live)
    )
    kind = rng.choice(kinds)
    name = f"round-{number}"
    if kind == "add":
        return kind, name, lambda: _add(path, name, number, "early")
    if kind == "import":
        return kind, f"import-{number}", lambda: _import(path, f"import-{number}")
    if kind == "merge":
        name = rng.choice(early)
        return kind, name, lambda: _add(path, name, int(name.split("-")[1]), "late")
    if kind == "estimate":
        name = rng.choice([one for one in live if one.startswith("round")])
        return (
            kind,
            None,
            lambda: hero.open_store(path).estimate(name, level=0.5 + number / 1e4, method="majority_vote").estimate,
        )
    if kind == "compact":
        return kind, None, lambda: hero.open_store(path).compact().files
    name = rng.choice(live if kind == "remove" else gone)
    return kind, name, lambda: getattr(hero.open_store(path), kind)(name).version


def _add(path: str, name: str, seed: int, part: str) -> int:
    given = tables(seed, part)
    return hero.open_store(path).add(given["labels"], gold=given["gold"], round=name, question="q").entry.version


def _import(path: str, name: str) -> int:
    export = read_export(EXPORT)
    added = hero.open_store(path).add(export.sources(), labelers=export.labelers, round=name, question="import")
    return added.entry.version


def orphans(path: str) -> int:
    """Batches that were written and then never named by a row of the log."""
    named = {batch for row in hero.open_store(path).log().rows for batch in row.batches}
    store = hero.open_store(path)
    there = {row for name in DATA for row in read_whole(store.place, name, ["batch"])["batch"].unique().to_pylist()}
    return len(there - named)


def check(before: State, after: State, touched: str | None, done: bool, compacted: bool = False) -> None:
    """Nothing but the touched round changed, and that only as a whole; what was reported as done is there."""
    if compacted:
        done = False  # it changes nothing that a reader sees
    for name, what in before["rounds"].items():
        if name != touched:
            assert after["rounds"].get(name) == what, f"{name} was {what}, is {after['rounds'].get(name)}"
    strangers = set(after["rounds"]) - set(before["rounds"]) - {touched}
    assert not strangers, strangers
    assert set(before["estimates"]) <= set(after["estimates"]), "an estimate is lost"
    changed = before["rounds"].get(touched) != after["rounds"].get(touched) or before["estimates"] != after["estimates"]
    assert changed or not done, "a change was reported as done and is not there"


def run(path: str, kills: int, seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    made = finish(*in_child(lambda: hero.create_store(path).version))
    assert made == 0, made
    usual: dict[str, float] = {}
    state = reading(path, None)
    killed: dict[str, int] = {}
    applied = tries = 0
    while sum(killed.values()) < kills:
        tries += 1
        kind, touched, action = changes(path, state, tries, rng)
        start = time.perf_counter()
        pid, out = in_child(action)
        spare = tries <= 12 or kind not in usual  # some must come through, to know how long it takes
        if not spare:
            time.sleep(rng.uniform(0.0, 1.2 * usual[kind]))
            os.kill(pid, signal.SIGKILL)
        result = finish(pid, out)
        assert not (isinstance(result, dict) and "error" in result), result
        if result is not None:
            usual[kind] = min(usual.get(kind, 9.9), time.perf_counter() - start)
        after = reading(path, touched)
        check(state, after, touched, result is not None, kind == "compact")
        if not spare and result is None:
            killed[kind] = killed.get(kind, 0) + 1
            applied += after != state and kind != "compact"
        state = after
    final = reading(path, None)
    assert final == state
    whole = finish(*in_child(lambda: hero.open_store(path).check().to_dict()))
    assert whole["is_whole"], whole["problems"]
    return {
        "kills": sum(killed.values()),
        "by change": killed,
        "killed after the commit": applied,
        "changes tried": tries,
        "killed between data and commit": finish(*in_child(lambda: orphans(path))),
        "rounds": len(final["rounds"]),
        "estimates": len(final["estimates"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hero-crash-")
    try:
        print(json.dumps(run(f"{folder}/store", given.kills, given.seed)))
    except AssertionError as error:
        print(json.dumps({"wrong": str(error)}))
        sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
