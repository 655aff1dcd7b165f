"""A store of many large rounds: what adding, listing and estimating cost, in seconds and in bytes.

    python benchmarks/store.py --rounds 100 --labels 1000000
    python benchmarks/store.py --many 1000

Rounds are of ten questions in turn. Bytes read are those of the data files that the store opened, beside the size of
all of them. Seconds are of the processor (all threads) and, for commands, of the clock too, in one run on one machine.
With --many the rounds are small and of one question: what reading them all takes, apart from fitting, before and after
the store is compacted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

import hero_eval as hero

LABELERS = 10
QUESTIONS = 10


def tables(seed: int, n_labels: int) -> tuple[pa.Table, pa.Table]:
    """Labels of ten labelers, and gold for a hundredth of the items."""
    rng = np.random.default_rng(seed)
    n_items = n_labels // LABELERS
    truth = rng.random(n_items) < 0.3
    right = rng.random((n_items, LABELERS)) < np.linspace(0.7, 0.9, LABELERS)
    label = np.where(right, truth[:, None], ~truth[:, None]).astype(np.int8)
    ids = pa.array([f"{seed:03d}-{k:07d}" for k in range(n_items)])
    people = pa.array([f"labeler-{j}" for j in range(LABELERS)])
    item = pa.DictionaryArray.from_arrays(pa.array(np.repeat(np.arange(n_items, dtype=np.int32), LABELERS)), ids)
    who = pa.DictionaryArray.from_arrays(pa.array(np.tile(np.arange(LABELERS, dtype=np.int32), n_items)), people)
    known = np.flatnonzero(rng.random(n_items) < 0.01)
    labels = pa.table({"item": item, "labeler": who, "label": label.ravel()})
    return labels, pa.table({"item": ids.take(pa.array(known)), "gold": truth[known].astype(np.int8)})


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def build(path: Path, rounds: int, labels: int) -> dict[str, float]:
    store = hero.create_store(path)
    seconds, written, before = [], [], size(path)
    for number in range(rounds):
        data, gold = tables(number, labels)
        start = time.process_time()
        store.add(data, gold=gold, round=f"r{number:04d}", question=f"q{number % QUESTIONS}", date="2026-01-01")
        seconds.append(time.process_time() - start)
        now = size(path)
        written.append(now - before)
        before = now
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {rounds} rounds", end="", file=sys.stderr)
    few = max(1, rounds // 10)
    return {
        "seconds to add, first tenth": median(seconds[:few]),
        "seconds to add, last tenth": median(seconds[-few:]),
        "MB written to add, first tenth": median(written[:few]) / 1e6,
        "MB written to add, last tenth": median(written[-few:]) / 1e6,
    }


def command(*arguments: str) -> tuple[float, float]:
    """Seconds of a command in a process of its own: of the clock, and of the processor."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "hero_eval.cli.main", *arguments], check=True, stdout=subprocess.DEVNULL, env=os.environ
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(path: Path, rounds: int) -> dict[str, float]:
    last = f"r{rounds - 1:04d}"
    whole = size(path)
    listing = [command("rounds", "--store", str(path)) for _ in range(5)]
    found = {
        "MB in the store": whole / 1e6,
        "seconds of hero rounds, clock": min(clock for clock, _ in listing),
        "seconds of hero rounds": min(used for _, used in listing),
    }
    store = hero.open_store(path)
    start = time.process_time()
    one = store.round(last)
    found |= {"seconds to read one round": time.process_time() - start, "MB to read one round": store.bytes_read / 1e6}
    del one
    store = hero.open_store(path)
    start = time.process_time()
    made = store.estimate(last, method="hero1")
    spent = time.process_time() - start
    needed = len(made.history) + 1
    return found | {
        "rounds that the estimate needs": needed,
        "seconds of hero estimate --round": spent,
        "MB read by hero estimate --round": store.bytes_read / 1e6,
        "share of the store read": store.bytes_read / whole,
        "share of the rounds needed": needed / rounds,
    }


def few_labels(seed: int) -> tuple[pa.Table, pa.Table]:
    """A round of 40 items by three labelers, with gold for ten."""
    rng = np.random.default_rng(seed)
    truth = rng.random(40) < 0.3
    items = [f"i{k:02d}" for k in range(40)]
    rows = [
        (item, who, int(true if rng.random() < 0.85 else not true))
        for item, true in zip(items, truth, strict=True)
        for who in ("ann", "bob", "cat")
    ]
    labels = pa.table({name: [row[c] for row in rows] for c, name in enumerate(("item", "labeler", "label"))})
    return labels, pa.table({"item": items[:10], "gold": truth[:10].astype(int)})


def reading(path: Path, last: str) -> dict[str, float]:
    """Seconds to read all past rounds, of the processor and of the clock, and what the store is made of."""
    files = [file for file in path.rglob("*") if file.is_file()]
    clock, start = time.perf_counter(), time.process_time()
    past = hero.open_store(path).history(last)
    used, waited = time.process_time() - start, time.perf_counter() - clock
    return {
        "files": len(files),
        "MB": sum(file.stat().st_size for file in files) / 1e6,
        "past rounds": len(past),
        "seconds to read them": used,
        "seconds to read them, clock": waited,
    }


def many(path: Path, rounds: int) -> dict[str, object]:
    store = hero.create_store(path)
    seconds = []
    for number in range(rounds + 1):
        labels, gold = few_labels(number)
        start = time.process_time()
        store.add(labels, gold=gold, round=f"r{number:05d}", question="q", date="2026-01-01")
        seconds.append(time.process_time() - start)
    few = max(1, rounds // 10)
    last = f"r{rounds:05d}"
    found: dict[str, object] = {
        "seconds to add, first tenth": median(seconds[:few]),
        "seconds to add, last tenth": median(seconds[-few:]),
        "as it grew": reading(path, last),
    }
    start = time.process_time()
    hero.open_store(path).compact()
    found |= {"seconds to compact": time.process_time() - start, "compacted": reading(path, last)}
    start = time.process_time()
    hero.open_store(path).estimate(last, method="hero1")
    return found | {"seconds of an estimate by hero1, reading and fitting": time.process_time() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, default=None, help="build the store here and leave it")
    parser.add_argument("--many", type=int, default=None, help="measure reading of so many small rounds instead")
    given = parser.parse_args()
    if given.many is not None:
        with tempfile.TemporaryDirectory(prefix="hero-bench-") as folder:
            print(json.dumps({"rounds": given.many, **many(Path(folder) / "store", given.many)}, indent=2))
        return
    with tempfile.TemporaryDirectory(prefix="hero-bench-") as folder:
        path = given.keep or Path(folder) / "store"
        found = build(path, given.rounds, given.labels) | measure(path, given.rounds)
    print(json.dumps({"rounds": given.rounds, "labels a round": given.labels, **found}, indent=2))


if __name__ == "__main__":
    main()
