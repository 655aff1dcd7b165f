"""Single measurements, each in a process of its own, so that its peak memory is its own.

    python benchmarks/tasks.py NAME ARGUMENTS...

prints one JSON document: seconds, peak memory in MB, and what else the task has to say. `measure` runs one from Python.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LIMIT = "2500MB"
_BLOCK = 1 << 22


def measure(task: str, *arguments: object) -> dict[str, Any]:
    """Run a task in a process of its own."""
    command, done = _run(task, arguments)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_if_it_can(task: str, *arguments: object, most_gb: float = 12.0, seconds: float = 300.0) -> dict[str, Any]:
    """The same of a task that may need more memory or time than there is: then nothing, and why on the terminal."""
    try:
        command, done = _run(task, arguments, most_gb, seconds)
    except subprocess.TimeoutExpired:
        print(f"{task} took more than {seconds:.0f} s", file=sys.stderr)
        return {}
    if done.returncode:
        print(f"{' '.join(command)} failed:\n{done.stderr[-300:]}", file=sys.stderr)
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _run(
    task: str, arguments: Sequence[object], most_gb: float | None = None, seconds: float | None = None
) -> tuple[list[str], subprocess.CompletedProcess[str]]:
    command = [sys.executable, __file__, task, *map(str, arguments)]
    if most_gb is not None:  # before its own packages are loaded
        command = ["sh", "-c", f'ulimit -v {int(most_gb * 2**20)}; exec "$@"', "sh", *command]
    return command, subprocess.run(command, capture_output=True, text=True, timeout=seconds)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory_mb() -> float:
    """What this process holds now. The peak is counted anew from here."""
    Path("/proc/self/clear_refs").write_text("5")
    return float(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def peak_since_mb() -> float:
    """The most that this process has held since `memory_mb` was asked."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return float(line.split()[1]) / 1024


def read_bytes(path: str) -> dict[str, Any]:
    """The floor: all bytes of the file, one after the other, and summed, so that they are looked at."""
    import numpy as np

    total, start = 0, time.perf_counter()
    with open(path, "rb", buffering=0) as stream:
        while block := stream.read(_BLOCK):
            total += int(np.frombuffer(block, np.uint8).sum(dtype=np.int64))
    return {"seconds": time.perf_counter() - start, "bytes": Path(path).stat().st_size, "check": total}


def group_by(path: str) -> dict[str, Any]:
    """What DuckDB needs to group the file by item, with the result kept."""
    import duckdb

    connection = duckdb.connect()
    for setting in (f"memory_limit = '{LIMIT}'", "preserve_insertion_order = false", "threads = 2"):
        connection.execute(f"SET {setting}")
    connection.execute(f"SET temp_directory = '{Path(path).parent}/spill'")
    start = time.perf_counter()
    connection.execute(f"CREATE TEMP TABLE t AS SELECT item, count(*), sum(label) FROM '{path}' GROUP BY item")
    return {"seconds": time.perf_counter() - start}


def estimate(current: str, history: str, methods: str, engine: str = "", limit: str = LIMIT) -> dict[str, Any]:
    """From Parquet to estimates with their intervals, on the engine that users get unless one is named; packages are
    loaded before the clock starts."""
    import duckdb  # noqa: F401

    import hero_eval as hero
    import hero_eval.counting.sql_round
    import hero_eval.targets.rate

    loaded = hero.estimate_rate
    start = time.perf_counter()
    covariates = ["x"] if "hero2" in methods else None
    options: dict[str, Any] = {"covariates": covariates, "engine": engine or None}
    options |= {"memory_limit": limit} if engine == "duckdb" else {}
    past, now = hero.read_round(history, **options), hero.read_round(current, **options)
    out: dict[str, Any] = {}
    for method in methods.split("+"):
        asked: dict[str, Any] = {"covariates": covariates} if method == "hero2" else {}
        made = loaded(now, past, method=method, interval="influence", **asked)
        out[method] = {"value": made.value, "std_error": made.std_error, "interval": made.interval()}
    return {"seconds": time.perf_counter() - start, "estimates": out, "items": now.n_items}


def grow(current: str, history: str) -> dict[str, Any]:
    """From Parquet to a HERO-1 estimate with its interval, and how long its parts take: counting, fitting, the rest."""
    import hero_eval as hero
    import hero_eval.counting.sql_round
    import hero_eval.model.kernel
    import hero_eval.targets.rate

    asked = hero.estimate_rate
    start = time.perf_counter()
    past, now = (hero.read_round(path) for path in (history, current))
    labels = past.n_labels, now.n_labels
    counted = time.perf_counter()
    learned = hero.fit_reliability(past)
    fitted = time.perf_counter()
    made = asked(now, learned, method="hero1", interval="influence")
    done = time.perf_counter()
    return {
        "seconds": done - start,
        "count_seconds": counted - start,
        "fit_seconds": fitted - counted,
        "interval_seconds": done - fitted,
        "steps": learned.report.n_steps,
        "converged": learned.converged,
        "value": made.value,
        "std_error": made.std_error,
        "labels": labels,
    }


def fit(path: str, engine: str = "duckdb") -> dict[str, Any]:
    """Anchored EM: counting and fitting apart, the fit's likelihood and steps, and the memory that the fit adds.

    Packages are loaded before, as those of crowd-kit are.
    """
    import hero_eval as hero
    import hero_eval.labelers.reliability
    import hero_eval.model.kernel

    start = time.perf_counter()
    one = hero.read_round(path, engine=engine)
    labels = one.n_labels
    counted = time.perf_counter()
    whole = peak_mb()
    before = memory_mb()
    began = time.perf_counter()
    clock: list[float] = []
    made = hero.fit_reliability(one, progress=lambda *_: clock.append(time.perf_counter()))
    done = time.perf_counter()
    report = made.report
    near = _first_near(report.path, report.log_likelihood)
    return {
        "seconds": done - start,
        "count_seconds": counted - start,
        "fit_seconds": done - began,
        "near_seconds": clock[min(near, len(clock) - 1)] - began,
        "fit_adds_mb": peak_since_mb() - before,
        "process_mb": max(whole, peak_since_mb()),
        "steps": report.n_steps,
        "log_likelihood": report.log_likelihood,
        "labels": labels,
    }


def _first_near(path: Sequence[float], goal: float) -> int:
    """Where a climb first is within 1e-10 of a likelihood."""
    return [height >= goal - 1e-10 * abs(goal) for height in path].index(True)


def plain_steps(path: str, log_likelihood: str) -> dict[str, Any]:
    """How many steps plain EM takes from the same start to a likelihood, to 1e-10 of it, and to rest by our rule."""
    import hero_eval as hero

    start, goal = time.perf_counter(), float(log_likelihood)
    made = hero.fit_reliability(hero.read_round(path, engine="duckdb"), accelerate=False)
    heights = made.report.path
    return {
        "seconds": time.perf_counter() - start,
        "steps": _first_near(heights, goal) + 1,
        "all_steps": len(heights),
    }


def crowd_kit(path: str, iterations: str) -> dict[str, Any]:
    """crowd-kit's Dawid-Skene for so many iterations, and the memory that it adds to its table of labels."""
    import pyarrow.parquet as pq
    from crowdkit.aggregation import DawidSkene

    table = pq.read_table(path, columns=["item", "labeler", "label"]).to_pandas()
    table.columns = ["task", "worker", "label"]
    whole = peak_mb()
    before = memory_mb()
    start = time.perf_counter()
    made = DawidSkene(n_iter=int(iterations), tol=0.0)
    made.fit(table)
    return {
        "seconds": time.perf_counter() - start,
        "labels": len(table),
        "fit_adds_mb": peak_since_mb() - before,
        "process_mb": max(whole, peak_since_mb()),
        "near_steps": _first_near(made.loss_history_, made.loss_history_[-1]) + 1,
    }


def plain_numpy(path: str, iterations: str) -> dict[str, Any]:
    """Anchored EM as one would write it in numpy: gather, add by item, exponentiate, add by labeler and answer."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["item", "labeler", "label"])
    item, labeler, label = (table[name].to_numpy() for name in ("item", "labeler", "label"))
    cell = labeler.astype(np.int64) * 2 + label
    n_items, n_cells = int(item.max()) + 1, int(cell.max() // 2 + 1) * 2
    votes = np.bincount(item, weights=label, minlength=n_items) / np.bincount(item, minlength=n_items)
    share, start = votes, time.perf_counter()
    for _ in range(int(iterations)):
        yes = np.bincount(cell, weights=share[item], minlength=n_cells).reshape(-1, 2)
        no = np.bincount(cell, weights=1 - share[item], minlength=n_cells).reshape(-1, 2)
        mean = share.mean()
        ratio = np.log(np.clip(yes / yes.sum(axis=1, keepdims=True), 1e-3, 1 - 1e-3)).ravel()
        ratio -= np.log(np.clip(no / no.sum(axis=1, keepdims=True), 1e-3, 1 - 1e-3)).ravel()
        odds = np.log(mean / (1 - mean)) + np.bincount(item, weights=ratio[cell], minlength=n_items)
        share = 1 / (1 + np.exp(-odds))
    return {"seconds": time.perf_counter() - start, "labels": len(item), "mean": float(share.mean())}


def kernel(path: str, repeats: str) -> dict[str, Any]:
    """Passes of the kernel, on all cores and on one, and plain sums over the bytes that it reads, in turns; the best of
    each."""
    import numpy as np

    import hero_eval as hero
    from hero_eval.model.em import gold_start
    from hero_eval.model.kernel import Kernel
    from hero_eval.model.threads import limited_threads

    patterns = hero.fit_reliability(hero.read_round(path, engine="duckdb"), max_steps=2).counted.patterns
    start, passes = gold_start(patterns, 2, 1e-3), Kernel(patterns)
    n_labels = len(patterns.cells.indices)
    bytes_read = passes._cells.view(np.uint8)
    numbers = bytes_read[: len(bytes_read) // 8 * 8].view(np.float64)

    def on_one_core() -> None:
        with limited_threads(1):
            passes.step(start)

    works: dict[str, Callable[[], object]] = {
        "": lambda: passes.step(start),
        "one_core_": on_one_core,
        "sum_": lambda: float(np.add.reduce(numbers)),
    }
    best = dict.fromkeys(works, float("inf"))
    passes.step(start)
    for _ in range(int(repeats)):
        for name, work in works.items():
            began = time.perf_counter()
            with np.errstate(all="ignore"):
                work()
            best[name] = min(best[name], time.perf_counter() - began)
    found = {f"{name}ns_a_label": seconds / n_labels * 1e9 for name, seconds in best.items()}
    return {"seconds": best[""], **found, "labels": n_labels, "bytes": len(bytes_read)}


def count_to(path: str, output: str, *more: str) -> dict[str, Any]:
    """Rounds, or saved counts with them, as counts."""
    start = time.perf_counter()
    import hero_eval as hero

    options: dict[str, Any] = {"engine": "duckdb", "memory_limit": LIMIT}
    rounds = [hero.read_round(one, **({} if "counts" in one else options)) for one in (path, *more)]
    hero.save_counts(rounds, output)
    return {"seconds": time.perf_counter() - start, "items": hero.read_round(output).n_items}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    one.__name__: one
    for one in (read_bytes, group_by, estimate, grow, fit, plain_steps, crowd_kit, plain_numpy, kernel, count_to)
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = TASKS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({**found, "peak_mb": peak_mb()}))
