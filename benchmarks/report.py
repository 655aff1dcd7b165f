"""A report on a large round: how long it takes to make, how large the file is, and how fast a browser opens it.

    python benchmarks/report.py --items 100000 --labelers 500

Every item has five labels; history is as large as the current round, with gold for a twentieth. Seconds are of the
clock, in one run on one machine. Opening is measured in headless Chromium, where it is installed: until the page has
been loaded, and until it has been laid out from top to bottom.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from make_labels import EACH, make_labels

import hero_eval as hero

TESTS = Path(__file__).resolve().parent.parent / "tests"


def measure(folder: Path, n_items: int, n_labelers: int, method: str | None) -> dict[str, str]:
    paths = {name: folder / f"{name}.parquet" for name in ("history", "current")}
    make_labels(paths["history"], EACH * n_items, n_labelers, 0.05, seed=1)
    make_labels(paths["current"], EACH * n_items, n_labelers, seed=2)
    current, history = (hero.read_round(paths[name], engine="memory") for name in ("current", "history"))
    start = time.perf_counter()
    estimate = hero.estimate_rate(current, history, method=method)
    estimated = time.perf_counter()
    place = estimate.report(folder / "report.html")
    made = time.perf_counter()
    return {
        "items": f"{current.n_items:,}",
        "labelers": f"{len(current.labelers):,}",
        "method": estimate.method,
        "estimate": f"{estimated - start:.1f} s",
        "report, every other method with it": f"{made - estimated:.1f} s",
        "file": f"{place.stat().st_size / 1e6:.2f} MB",
        **opened(place),
    }


def opened(place: Path) -> dict[str, str]:
    """How long a browser takes; nothing where there is none."""
    sys.path.insert(0, str(TESTS))
    chromium: Any = importlib.import_module("browsing").chromium
    sys.path.remove(str(TESTS))
    try:
        with chromium() as browser:
            return {"opened": _open(browser, place)}
    except Exception as error:  # a browser that is not there says so in many ways
        return {"opened": f"not measured: {type(error).__name__}"}


def _open(browser: Any, place: Path) -> str:
    browser.get("about:blank")
    browser.get(place.as_uri())
    loaded = browser.execute_async_script(
        "const done = arguments[0]; const look = () => {"
        "const end = performance.getEntriesByType('navigation')[0].loadEventEnd;"
        "end > 0 ? done(end) : setTimeout(look, 5) }; look()"
    )
    laid_out = browser.execute_script(
        "const from = performance.now(); document.body.style.width = '99%';"
        "document.documentElement.getBoundingClientRect().height; return performance.now() - from"
    )
    return f"{loaded:.0f} ms until loaded, {laid_out:.0f} ms to lay it out anew"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--items", type=int, default=100_000)
    asked.add_argument("--labelers", type=int, default=500)
    asked.add_argument("--method", default=None, help="the method of the estimate; by default the best for the data")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for what, found in measure(Path(folder), given.items, given.labelers, given.method).items():
            print(f"{what:36} {found}")


if __name__ == "__main__":
    main()
