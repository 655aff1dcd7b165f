"""Time of the paper's whole simulation grid: 26 cells, 200 replications, five methods with intervals.

    python benchmarks/paper_grid.py [replications]

The bar set for it is 60 seconds on two cores.
"""

from __future__ import annotations

import os
import sys
import time

from hero_eval.studies.run import run_study


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    total = 0.0
    for study in ("exp1-small", "exp1-large", "exp2"):
        start = time.perf_counter()
        rows = run_study(study, replications=replications).rows
        seconds = time.perf_counter() - start
        total += seconds
        cells = len({row["cell"] for row in rows})
        print(f"{study:12s} {cells:3d} cells x {replications} replications x 5 methods: {seconds:6.1f} s")
    print(f"{'all':12s} {total:6.1f} s on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
