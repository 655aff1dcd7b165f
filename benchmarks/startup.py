"""Start-up: importing the package, and the first estimate of a small round in a fresh process.

    python benchmarks/startup.py [repeats]

Every repeat is a process of its own. Shown are the best and the median of seconds on the clock, and the best of
processor seconds, which other work on the machine changes least. Nothing is compiled: kernels load from 300,000
labels on.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

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


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
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
