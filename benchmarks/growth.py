"""How the cost of an estimate grows: with labels, labelers, classes and past rounds; processor time and memory.

    python benchmarks/growth.py [--full] [--most 30000 100 5 20] [--seconds 120] [--output docs/results/growth.csv]

From dataframes to an estimate with its interval and diagnostics, by default and by hero1, each in a process of its own,
after an estimate of a few items that loads the packages. One of the four numbers is varied at a time, the others are
those of the middle cell; with --full all of them are crossed, which takes hours, or minutes if --most leaves out larger
labels, labelers, classes and past rounds. Labelers err together, so that hero3
takes levels. The seconds are of the processor: read their ratios, and the slopes, which are powers: 1 is as fast as the
number grows, 2 as its square.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

AXES = {
    "labels": (3_000, 30_000, 300_000, 3_000_000),
    "labelers": (5, 20, 100, 500),
    "classes": (2, 5, 20),
    "past rounds": (1, 4, 20),
}
MIDDLE = {"labels": 30_000, "labelers": 20, "classes": 2, "past rounds": 4}
METHODS = ("default", "hero1")
LABELS_OF_ITEM = 3
TOGETHER = 0.7
"""The correlation of labelers' errors on an item."""
FIELDS = ("axis", *AXES, "method", "chosen", "seconds", "peak_mb", "slope")


def frames(seed: int, n_items: int, n_labelers: int, n_classes: int) -> tuple[Any, Any]:
    """Labels, and gold for a tenth of the items."""
    import numpy as np
    import pandas as pd
    from scipy.special import ndtri

    rng = np.random.default_rng(seed)
    truth = rng.choice(n_classes, n_items, p=np.arange(n_classes, 0, -1) / (n_classes * (n_classes + 1) / 2))
    far = n_labelers // LABELS_OF_ITEM
    steps = np.cumsum(rng.integers(1, far + 1, (n_items, LABELS_OF_ITEM)), axis=1)  # different labelers of each item
    labelers = (rng.integers(0, n_labelers, n_items)[:, None] + steps) % n_labelers
    skill = ndtri(0.65 + 0.3 * ((np.arange(n_labelers) * 7) % n_labelers) / n_labelers)
    own, shared = rng.normal(size=labelers.shape), rng.normal(size=(n_items, 1))
    right = TOGETHER * shared + math.sqrt(1.0 - TOGETHER**2) * own < skill[labelers]
    wrong = (truth[:, None] + rng.integers(1, n_classes, labelers.shape)) % n_classes
    items = np.repeat(np.char.add(f"r{seed}-", np.arange(n_items).astype(str)), LABELS_OF_ITEM)
    said = np.where(right, truth[:, None], wrong).ravel()
    labels = pd.DataFrame({"item": items, "labeler": labelers.ravel(), "label": said})
    known = rng.random(n_items) < 0.1
    return labels, pd.DataFrame({"item": items[::LABELS_OF_ITEM][known], "gold": truth[known]})


def measure_here(n_labels: int, n_labelers: int, n_classes: int, n_past: int, method: str) -> dict[str, Any]:
    """One cell, in this process."""
    import hero_eval as hero

    def estimate(n_items: int, n_labelers: int, n_classes: int, n_past: int) -> tuple[Any, float]:
        tables = [frames(seed, n_items, n_labelers, n_classes) for seed in range(n_past + 1)]
        start = time.process_time()
        past = [hero.Round(labels, gold=gold if len(gold) else None) for labels, gold in tables[:-1]]
        positive = str(n_classes - 1)
        named = None if method == "default" else method
        found = hero.estimate_rate(hero.Round(tables[-1][0]), past, method=named, positive=positive)
        return found, time.process_time() - start

    estimate(100, 5, 2, 2)
    found, seconds = estimate(n_labels // (LABELS_OF_ITEM * (n_past + 1)), n_labelers, n_classes, n_past)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"chosen": found.method, "seconds": round(seconds, 3), "peak_mb": round(peak)}


def measure(cell: dict[str, int], method: str, most: int) -> dict[str, Any]:
    """The same in a process of its own, given up after so many seconds of the processor."""
    command = [sys.executable, __file__, "--cell", *map(str, cell.values()), method]
    limit = f'ulimit -t {most}; exec "$@"'
    done = subprocess.run(["sh", "-c", limit, "sh", *command], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-300:], file=sys.stderr)
        return {"chosen": "", "seconds": math.nan, "peak_mb": math.nan}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def cells(full: bool, most: Sequence[float]) -> Iterator[tuple[str, dict[str, int]]]:
    axes = {axis: [n for n in values if n <= limit] for (axis, values), limit in zip(AXES.items(), most, strict=True)}
    if full:
        yield from (("all", dict(zip(axes, one, strict=True))) for one in product(*axes.values()))
        return
    for axis, values in axes.items():
        yield from ((axis, MIDDLE | {axis: value}) for value in values)


def mean_slopes(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Of crossed cells: for each axis and method the powers of seconds and memory, over all with the others held."""
    import numpy as np

    out: dict[tuple[str, str], tuple[float, float]] = {}
    for method in METHODS:
        own = [row for row in rows if row["method"] == method and math.isfinite(row["seconds"])]
        design = np.array([[1.0, *(math.log(row[axis]) for axis in AXES)] for row in own])
        seen = np.array([[math.log(row["seconds"]), math.log(row["peak_mb"])] for row in own])
        found = np.linalg.lstsq(design, seen, rcond=None)[0]
        out |= {(axis, method): (found[i + 1, 0], found[i + 1, 1]) for i, axis in enumerate(AXES)}
    return out


def add_slopes(rows: Sequence[dict[str, Any]]) -> None:
    """To each row the slope from the one before it on the same axis, in logarithms."""
    before: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["axis"], row["method"]
        last = before.get(key)
        if last is not None and row["axis"] in AXES:
            grown = math.log(row[row["axis"]] / last[row["axis"]])
            row["slope"] = round(math.log(row["seconds"] / last["seconds"]) / grown, 2)
        before[key] = row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="cross all four numbers")
    parser.add_argument("--most", type=float, nargs=4, default=[math.inf] * 4, help="of each of the four numbers")
    parser.add_argument("--seconds", type=int, default=120, help="of the processor, after which a cell is given up")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--cell", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        labels, labelers, classes, past, method = options.cell
        print(json.dumps(measure_here(int(labels), int(labelers), int(classes), int(past), method)))
        return
    rows: list[dict[str, Any]] = []
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}  # the middle cell is one of every axis
    for axis, cell in cells(options.full, options.most):
        for method in METHODS:
            key = *cell.values(), method
            if key not in seen:
                seen[key] = measure(cell, method, options.seconds)
            rows.append({"axis": axis, **cell, "method": method, **seen[key], "slope": ""})
            told = ", ".join(f"{name} {value:,}" for name, value in cell.items())
            one = seen[key]
            print(f"{told}, {method} ({one['chosen']}): {one['seconds']} s, {one['peak_mb']} MB", flush=True)
    add_slopes(rows)
    for (axis, method), (seconds, memory) in mean_slopes(rows).items() if options.full else ():
        print(f"{method} grows with {axis} by the power {seconds:.2f}, its memory by {memory:.2f}")
    if options.output is not None:
        with options.output.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
