"""A store of many large rounds: what adding, listing and estimating cost, in seconds and in bytes.

    python benchmarks/store.py --rounds 100 --labels 1000000

Rounds are of ten questions in turn. Bytes read are those of the data files that the store opened, beside the size of
all of them. Seconds are of the processor (all threads) and, for commands, of the clock too, in one run on one machine.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, default=None, help="build the store here and leave it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hero-bench-") as folder:
        path = given.keep or Path(folder) / "store"
        found = build(path, given.rounds, given.labels) | measure(path, given.rounds)
    print(json.dumps({"rounds": given.rounds, "labels a round": given.labels, **found}, indent=2))


if __name__ == "__main__":
    main()
