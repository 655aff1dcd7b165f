"""Start-up: importing the package, and the first estimate of a small round in a fresh process.

    python benchmarks/startup.py [repeats] [--command]

With --command what `hero --help` takes, and `hero estimate` of a round with four past ones, a thousand items each with
three labels by 11 labelers, a tenth of them with gold: yes and no, and ratings from 1 to 5, from CSV files.

Every repeat is a process of its own. Shown are the best and the median of seconds on the clock, and the best of
processor seconds, which other work on the machine changes least. Nothing is compiled: kernels load from 40,000
labels on.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STAGES = (
    ("import numpy, scipy, pyarrow (and pandas, if installed)", "packages"),
    ("import hero_eval", "import"),
    ("read two rounds", "read"),
    ("the first estimate", "first"),
    ("the next estimate", "next"),
    ("all together", "all"),
)

PROGRAM = """
import json, sys, time
marks = {}
def mark(name, begun):
    marks[name] = [time.perf_counter() - begun[0], time.process_time() - begun[1]]
    return time.perf_counter(), time.process_time()
at = whole = time.perf_counter(), time.process_time()
import hero_eval as hero
at = mark("import", at)
import numpy, pyarrow.compute, pyarrow.parquet, pyarrow.csv, scipy.linalg, scipy.sparse.linalg, scipy.special
pyarrow.array([1])
at = mark("packages", at)
from importlib.resources import files
folder = files("hero_eval") / "examples" / "defect"
rounds = [hero.read_round(str(folder / name)) for name in ("current", "history")]
at = mark("read", at)
hero.estimate_rate(*rounds)
at = mark("first", at)
made = hero.estimate_rate(*rounds)
at = mark("next", at)
mark("all", whole)
print(json.dumps({"marks": marks, "method": made.method, "items": made.n_items}))
"""


N_PAST, N_ITEMS, N_LABELERS, LABELS_OF_ITEM = 4, 1_000, 11, 3


def write_rounds(folder: Path, n_classes: int) -> list[str]:
    """Rounds as CSV files, the current one last; labelers err together on hard items, by one class."""
    import numpy as np
    from scipy.special import ndtri

    rng = np.random.default_rng(n_classes)
    skill = ndtri(0.6 + 0.35 * rng.random(N_LABELERS))
    names = [str(folder / f"{n_classes}-{number}") for number in range(N_PAST + 1)]
    for number, name in enumerate(names):
        truth = rng.integers(0, n_classes, N_ITEMS)
        labelers = np.argsort(rng.random((N_ITEMS, N_LABELERS)), axis=1)[:, :LABELS_OF_ITEM]
        shared, own = rng.normal(size=(N_ITEMS, 1)), rng.normal(size=labelers.shape)
        right = 0.5 * shared + np.sqrt(0.75) * own < skill[labelers]
        beside = np.abs(truth[:, None] + rng.choice([-1, 1], labelers.shape))
        near = np.where(beside >= n_classes, n_classes - 2, beside)
        said = np.where(right, truth[:, None], 1 - truth[:, None] if n_classes == 2 else near)
        items = [f"r{number}-{item}" for item in range(N_ITEMS)]
        rows = [
            f"{item},l{who},{what}"
            for item, *each in zip(items, labelers, said, strict=True)
            for who, what in zip(*each, strict=True)
        ]
        Path(name).mkdir()
        Path(name, "labels.csv").write_text("\n".join(["item,labeler,label", *rows]) + "\n")
        if number < N_PAST:
            gold = [f"{items[at]},{truth[at]}" for at in np.flatnonzero(rng.random(N_ITEMS) < 0.1)]
            Path(name, "gold.csv").write_text("\n".join(["item,gold", *gold]) + "\n")
    return names


def run_command(*words: str) -> float:
    """Processor seconds of the command in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "hero_eval.cli.entry", *words], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asked = {"hero --help": ["--help"]}
        for n_classes, kind in ((2, "yes and no"), (5, "ratings")):
            *past, current = write_rounds(Path(folder), n_classes)
            asked[f"hero estimate, {kind}"] = ["estimate", current, "--history", *past]
        for shown, words in asked.items():
            seconds = [run_command(*words) for _ in range(repeats)]
            print(f"{shown:60s} {min(seconds):8.3f} {statistics.median(seconds):8.3f} processor seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repeats", type=int, nargs="?", default=10)
    parser.add_argument("--command", action="store_true", help="time the command, from files")
    options = parser.parse_args()
    repeats = options.repeats
    if options.command:
        commands(repeats)
        return
    found = []
    for _ in range(repeats):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    print(f"{found[0]['method']}, {found[0]['items']} items, {repeats} processes")
    print(f"{'':60s} {'best, s':>8s} {'median':>8s} {'processor':>10s}")
    for shown, name in STAGES:
        clock = [one["marks"][name][0] for one in found]
        busy = min(one["marks"][name][1] for one in found)
        print(f"{shown:60s} {min(clock):8.3f} {statistics.median(clock):8.3f} {busy:10.3f}")


if __name__ == "__main__":
    main()
