"""How time and memory grow: ten thousand to a hundred million labels, by 10, 1,000 and 100,000 labelers.

    python benchmarks/scale.py [--most 100000000] [--folder build/bench] [--output docs/results/scale.csv]
                               [--one-process]

For each size, from one run: one sequential read of the file (the floor), Parquet to a HERO-1 estimate with interval,
a fit of history alone, plain numpy's EM and crowd-kit's Dawid-Skene; the latter two for a few iterations, as seconds an
iteration. Every measurement is a process of its own, with its peak memory; its packages are loaded before the clock
starts.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from make_labels import make_labels
from tasks import TASKS, measure

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
LABELERS = (10, 1_000, 100_000)
SLOW = 1_000_000
"""Above this crowd-kit and numpy are left out: their time and memory grow in proportion."""


def in_here(task: str, *arguments: object) -> dict[str, Any]:
    """A task in this process: quick to start, but its peak memory is not its own."""
    return {**TASKS[task](*map(str, arguments)), "peak_mb": ""}


def row_of(folder: Path, n_labels: int, n_labelers: int, measure: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    current, history = (folder / f"{kind}-{n_labels}-{n_labelers}.parquet" for kind in ("current", "history"))
    make_labels(current, n_labels, n_labelers, seed=1)
    make_labels(history, n_labels // 2, n_labelers, 0.05, seed=2, rate=0.3)
    floor, made, fitted = (
        measure("read_bytes", current),
        measure("estimate", current, history, "hero1"),
        measure("fit", history),
    )
    row: dict[str, Any] = {"labels": n_labels, "labelers": n_labelers}
    row |= {"floor_s": floor["seconds"], "hero_s": made["seconds"], "hero_mb": made["peak_mb"]}
    row |= {"fit_s": fitted["fit_seconds"], "fit_step_s": fitted["fit_seconds"] / fitted["steps"]}
    for name, task in (("numpy", "plain_numpy"), ("crowdkit", "crowd_kit")):
        if n_labels <= SLOW:
            found = measure(task, current, 5)
            row |= {f"{name}_step_s": found["seconds"] / 5, f"{name}_mb": found["peak_mb"]}
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--one-process", action="store_true", help="everything in this process, without peak memory")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    names = ["labels", "labelers", "floor_s", "hero_s", "hero_mb", "fit_s", "fit_step_s"]
    names += ["numpy_step_s", "numpy_mb", "crowdkit_step_s", "crowdkit_mb"]
    print("  ".join(f"{name:>15s}" for name in names))
    rows = []
    for n_labelers in LABELERS:
        for n_labels in (size for size in SIZES if size <= given.most and size >= 5 * min(n_labelers, 1_000)):
            row = row_of(given.folder, n_labels, n_labelers, in_here if given.one_process else measure)
            rows.append(row)
            print("  ".join(_shown(row.get(name)) for name in names), flush=True)
            if given.output is not None:
                write(given.output, names, rows)


def write(output: Path, names: list[str], rows: list[dict[str, Any]]) -> None:
    """The rows so far: a run takes long, and may be stopped."""
    with output.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows({name: _rounded(row.get(name, "")) for name in names} for row in rows)


def _rounded(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def _shown(value: Any) -> str:
    if value is None or value == "":
        return f"{'-':>15s}"
    return f"{value:>15,d}" if isinstance(value, int) else f"{value:>15.4g}"


if __name__ == "__main__":
    main()
