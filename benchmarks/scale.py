"""How time and memory grow: ten thousand to a hundred million labels, by 10, 1,000 and 100,000 labelers.

    python benchmarks/scale.py [--least 10000] [--most 100000000] [--labelers 10 1000 100000] [--folder build/bench]
                               [--output docs/results/scale.csv] [--again]

For each size, from one run: one sequential read of the file (the floor), Parquet to a HERO-1 estimate with interval
(with a history of half the size, 5% of it gold), plain numpy's EM and crowd-kit's Dawid-Skene; the latter two for a few
steps, as seconds a step, and absent where they need more memory or time than there is. Every measurement is a process
of its own, with its peak memory; its packages are loaded before the clock starts. Rows that the output has already are
kept, so that the table can be made in slices; --again measures them anew.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from make_labels import make_labels
from tasks import measure, measure_if_it_can

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
LABELERS = (10, 1_000, 100_000)
LEAST_EACH = 10
"""Labels that a labeler gives at least, on average."""
SLOW = 1_000_000
"""Above this crowd-kit and numpy are left out: their time and memory grow in proportion."""
NAMES = ["labels", "labelers", "floor_s", "hero_s", "hero_mb", "count_s", "fit_s", "steps", "interval_s"]
NAMES += ["numpy_step_s", "numpy_mb", "crowdkit_step_s", "crowdkit_mb"]
Row = dict[str, Any]


def row_of(folder: Path, n_labels: int, n_labelers: int) -> Row:
    current, history = (folder / f"{kind}-{n_labels}-{n_labelers}.parquet" for kind in ("current", "history"))
    make_labels(current, n_labels, n_labelers, seed=1)
    make_labels(history, n_labels // 2, n_labelers, 0.05, seed=2, rate=0.3)
    floor, made = measure("read_bytes", current), measure("grow", current, history)
    row: Row = {"labels": n_labels, "labelers": n_labelers, "floor_s": floor["seconds"]}
    row |= {"hero_s": made["seconds"], "hero_mb": made["peak_mb"], "count_s": made["count_seconds"]}
    row |= {"fit_s": made["fit_seconds"], "steps": made["steps"], "interval_s": made["interval_seconds"]}
    for name, task in (("numpy", "plain_numpy"), ("crowdkit", "crowd_kit")):
        if n_labels <= SLOW:
            found = measure_if_it_can(task, current, 5)
            row |= {f"{name}_step_s": found["seconds"] / 5, f"{name}_mb": found["peak_mb"]} if found else {}
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--least", type=int, default=SIZES[0])
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--labelers", type=int, nargs="+", default=LABELERS)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--again", action="store_true", help="measure rows anew that the output has already")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rows = read(given.output)
    print("  ".join(f"{name:>15s}" for name in NAMES))
    for n_labelers in given.labelers:
        for n_labels in SIZES:
            asked = given.least <= n_labels <= given.most and n_labels >= LEAST_EACH * n_labelers
            key = n_labelers, n_labels
            if not asked or (key in rows and not given.again):
                continue
            rows[key] = row_of(given.folder, n_labels, n_labelers)
            print("  ".join(_shown(rows[key].get(name)) for name in NAMES), flush=True)
            if given.output is not None:
                write(given.output, rows)


def read(output: Path | None) -> dict[tuple[int, int], Row]:
    """The rows that are there, by labelers and labels."""
    if output is None or not output.exists():
        return {}
    with output.open(newline="") as stream:
        return {(int(row["labelers"]), int(row["labels"])): dict(row) for row in csv.DictReader(stream)}


def write(output: Path, rows: dict[tuple[int, int], Row]) -> None:
    """The rows so far: a run takes long, and may be stopped."""
    with output.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, NAMES, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({name: _rounded(row.get(name, "")) for name in NAMES} for _, row in sorted(rows.items()))


def _rounded(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def _shown(value: Any) -> str:
    if value is None or value == "":
        return f"{'-':>15s}"
    return f"{value:>15,d}" if isinstance(value, int) else f"{value:>15.4g}"


if __name__ == "__main__":
    main()
