"""A hundred million labels against DuckDB's own group-by, a history that grows, and a billion labels.

    python benchmarks/large.py [--labels 100000000] [--billion] [--folder build/bench]
    python benchmarks/large.py --methods [--labelers 10] [--labels 100000000]
    python benchmarks/large.py --scores [--labelers 10] [--labels 10000000]

1. Parquet to the HERO-1 and HERO-2 estimates with their intervals, and the time that DuckDB needs for
   `select item, count(*), sum(label) ... group by item` on the same file, in the same run, in turns.
2. Adding a round of a hundredth of the size to the saved counts of a history, and counting that round alone.
3. With --billion: a thousand million labels under a memory limit of 8 GB for the whole process. The file is deleted.
4. With --methods, and nothing else: the command `hero estimate` by default, by hero3 and by hero1, in processor time,
   with its peak of memory.
5. With --scores, and nothing else: the same of probabilities of eight decimals, nearly all of which are different, in
   bins that DuckDB learns and in memory, by hero1 and by default.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from make_labels import make_labels
from tasks import measure


def against_group_by(folder: Path, n_labels: int) -> None:
    current, history = folder / f"current-{n_labels}-10.parquet", folder / f"history-{n_labels // 20}-10.parquet"
    make_labels(current, n_labels, 10, seed=1)
    make_labels(history, n_labels // 20, 10, 0.02, seed=2)
    floors, made = [], []
    for _ in range(2):
        floors.append(measure("group_by", current))
        made.append(measure("estimate", current, history, "hero1+hero2"))
    floor, best = min(one["seconds"] for one in floors), min(made, key=lambda one: float(one["seconds"]))
    print(f"{n_labels:,} labels of {best['items']:,} items by 10 labelers (and a history of {n_labels // 20:,}):")
    print(f"  group by item                  {floor:7.1f} s")
    print(f"  HERO-1 and HERO-2 with interval {best['seconds']:6.1f} s: {best['seconds'] / floor:.2f} times; ", end="")
    print(f"peak memory {best['peak_mb']:,.0f} MB")
    for method, of in best["estimates"].items():
        print(f"  {method}: {of['value']:.5f}, 95% interval {of['interval'][0]:.5f} to {of['interval'][1]:.5f}")


def growing(folder: Path, n_labels: int) -> None:
    old, new = folder / f"grown-{n_labels}-10.parquet", folder / f"grown-{n_labels // 100}-10.parquet"
    make_labels(old, n_labels, 10, 0.02, seed=3)
    make_labels(new, n_labels // 100, 10, 0.02, seed=4)
    saved, alone = folder / "counts-old.parquet", folder / "counts-new.parquet"
    first = measure("count_to", old, saved)
    by_itself = measure("count_to", new, alone)
    added = measure("count_to", saved, folder / "counts-all.parquet", new)
    print(f"a history of {n_labels:,} labels, counted: {first['seconds']:.1f} s")
    print(f"a new round of {n_labels // 100:,} labels, counted alone:       {by_itself['seconds']:.2f} s")
    print(f"the same added to the saved counts of the history: {added['seconds']:.2f} s, now {added['items']:,} items")


def by_method(folder: Path, n_labels: int, n_labelers: int) -> None:
    current = folder / f"current-{n_labels}-{n_labelers}.parquet"
    history = folder / f"history-{n_labels // 20}-{n_labelers}.parquet"
    make_labels(current, n_labels, n_labelers, seed=1)
    make_labels(history, n_labels // 20, n_labelers, 0.02, seed=2)
    used: dict[str, float] = {}
    for method in ("hero1", "hero3", "default"):
        command = [sys.executable, "-m", "hero_eval.cli.main", "estimate", str(current), "--history", str(history)]
        command += ["--json"] if method == "default" else ["--json", "--method", method]
        told, used[method], peak = run_command(command)
        ratio = f"{used[method] / used['hero1']:.2f} of hero1"
        print(
            f"{n_labels:,} labels by {n_labelers:,} labelers, {method} ({told.get('method')}): {used[method]:.1f} s of "
            f"the processor, {ratio}, peak {peak:,.0f} MB",
            flush=True,
        )


def of_scores(folder: Path, n_labels: int, n_labelers: int) -> None:
    current = folder / f"scores-{n_labels}-{n_labelers}.parquet"
    history = folder / f"scored-history-{n_labels // 20}-{n_labelers}.parquet"
    make_labels(current, n_labels, n_labelers, seed=1, scores=True)
    make_labels(history, n_labels // 20, n_labelers, 0.02, seed=2, scores=True)
    for method, engine in (("hero1", "duckdb"), ("hero1", "memory"), ("default", "duckdb")):
        command = [sys.executable, "-m", "hero_eval.cli.main", "estimate", str(current), "--history", str(history)]
        command += ["--json", "--engine", engine, *(["--method", method] if method != "default" else [])]
        told, seconds, peak = run_command(command)
        low, high = told["interval"]["low"], told["interval"]["high"]
        print(
            f"{n_labels:,} scores by {n_labelers:,} labelers, {method} ({told['method']}), {engine}: {seconds:.1f} s "
            f"of the processor, peak {peak:,.0f} MB; {told['value']:.9f}, 95% interval {low:.9f} to {high:.9f}",
            flush=True,
        )


def run_command(command: list[str]) -> tuple[dict[str, Any], float, float]:
    """What a command prints as JSON, its processor seconds and its peak of memory in MB."""
    started = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert started.stdout is not None
    told = json.loads(started.stdout.read())
    _, status, usage = os.wait4(started.pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 3)
    return told, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def billion(folder: Path) -> None:
    current, history = folder / "billion.parquet", folder / "history-10000000-10.parquet"
    try:
        make_labels(history, 10_000_000, 10, 0.02, seed=2)
        make_labels(current, 1_000_000_000, 10, seed=5, fresh=5_000_000)
        made = measure("estimate", current, history, "hero1", "duckdb", "6GB")
    finally:
        current.unlink(missing_ok=True)
    of = made["estimates"]["hero1"]
    size = f"1,000,000,000 labels of {made['items']:,} items"
    print(f"{size}: {made['seconds']:.0f} s, peak memory {made['peak_mb']:,.0f} MB")
    print(f"  hero1: {of['value']:.6f}, 95% interval {of['interval'][0]:.6f} to {of['interval'][1]:.6f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=100_000_000)
    parser.add_argument("--billion", action="store_true")
    parser.add_argument("--methods", action="store_true")
    parser.add_argument("--scores", action="store_true")
    parser.add_argument("--labelers", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.billion:
        billion(given.folder)
        return
    if given.methods:
        by_method(given.folder, given.labels, given.labelers)
        return
    if given.scores:
        of_scores(given.folder, given.labels, given.labelers)
        return
    against_group_by(given.folder, given.labels)
    growing(given.folder, given.labels)


if __name__ == "__main__":
    main()
