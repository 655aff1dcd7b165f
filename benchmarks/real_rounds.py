"""Real judges and people: every round in turn is current with its gold hidden; how far off is each method?

    HERO_DATA=... python benchmarks/real_rounds.py [--rates 0.1] [--draws 20] [--settings "tqa v1"] [--methods hero3]

Past rounds show a random part of their gold, drawn anew in each draw. The truth is the share of gold among the current
round's items. A method is judged by its mean |error|, by how often its 95% interval covers the truth, by the interval's
width, and by the interval score: width + 40 times the distance by which the truth lies outside. `history_mean` is the
rival without labels: the past rounds' gold mean, with an interval that allows for the differences between rounds.
hero2 is left out: these rounds have no covariate that all of them share and that tells about the answer.

Results go to docs/results/real_rounds.csv (only the rows that were measured anew are replaced) and from there into
docs/real-rounds.md. `--page` only writes the page.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from real_sets import Part, find_data, parts_of

import hero_eval as hero
from hero_eval.model.gold_history import past_mean
from hero_eval.round import Round

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TOOLS = ROOT / "tools"
RESULTS = DOCS / "results" / "real_rounds.csv"
ONE_PAST = DOCS / "results" / "one_past_round.csv"
DIFFERENCES = DOCS / "results" / "real_differences.csv"
PAGE = DOCS / "real-rounds.md"
METHODS = ("majority_vote", "dawid_skene", "gold_proportion", "history_mean", "hero1", "hero3")
RATES = (0.02, 0.05, 0.10, 0.30)
DIFFERENCE_METHODS = ("majority_vote", "gold_proportion", "hero1", "hero3", "default")
DIFFERENCE_SETTINGS = ("tqa v1", "tqa v2", "imagenhub SC", "imagenhub PQ")
DIFFERENCE_RATE = 0.10
LEAST_DRAWS = 10
DRAWS = {("dices350", 0.10): 100}  # two rounds only: ten draws would leave a tenth of the mean error to chance
SETTINGS: Mapping[str, tuple[str, str]] = {  # the set of current rounds, and the set of past ones
    "tqa v1": ("tqa v1", "tqa v1"),
    "tqa v2": ("tqa v2", "tqa v2"),
    "tqa v1 to v2": ("tqa v2", "tqa v1"),
    "imagenhub SC": ("imagenhub SC", "imagenhub SC"),
    "imagenhub PQ": ("imagenhub PQ", "imagenhub PQ"),
    "dices350": ("dices350", "dices350"),
}
OVERALL = "mean of all settings"
EVERY, LONG = "all", "three or more past rounds"
LONG_HISTORY = 3
LEVEL, OUTSIDE = 0.95, 40.0
SEED = 6
MEASURES = ("error", "coverage", "width", "score")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """One draw of gold for all rounds of a setting."""

    setting: str
    rate: float
    draw: int
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """One round estimated by one method; value and ends are nan where it could not answer."""

    job: Job
    round: str
    n_past: int
    method: str
    truth: float
    value: float
    low: float
    high: float
    findings: str = ""

    @property
    def measures(self) -> tuple[float, float, float, float]:
        """|error|, covered, width and score."""
        outside = max(self.low - self.truth, self.truth - self.high, 0.0)
        width = self.high - self.low
        return abs(self.value - self.truth), float(outside == 0.0), width, width + OUTSIDE * outside


def main() -> None:
    asked = options()
    if not asked.page:
        jobs = [
            Job(setting, rate, draw, tuple(asked.methods))
            for rate, setting in product(asked.rates, asked.settings)
            for draw in range(asked.draws or DRAWS.get((setting, rate), LEAST_DRAWS))
        ]
        outcomes = merged(earlier(asked.add), run(jobs, asked.jobs))
        if asked.raw is not None:
            write_raw(asked.raw, outcomes)
        update(asked.output, list(summaries(outcomes)))
    if asked.output == RESULTS:
        write_page()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=float, nargs="+", default=list(RATES), help="shares of past items with gold")
    usual = ", ".join(f"{count} of {setting} at {rate:g}" for (setting, rate), count in DRAWS.items())
    parser.add_argument("--draws", type=int, help=f"draws of gold (else {LEAST_DRAWS}; {usual})")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--output", type=Path, default=RESULTS, help="summary (CSV); its other rows are kept")
    parser.add_argument("--raw", type=Path, help="every single estimate (CSV)")
    parser.add_argument(
        "--add", type=Path, nargs="+", default=[], help="estimates of earlier runs (by --raw) to count in"
    )
    parser.add_argument("--page", action="store_true", help="write the page from the results, measure nothing")
    return parser.parse_args()


def run(jobs: Sequence[Job], n_processes: int, played: Callable[[Job], list[Outcome]] | None = None) -> list[Outcome]:
    """All jobs, in the order given, whatever order they end in."""
    for name in THREADS:
        os.environ[name] = "1"
    started = time.monotonic()
    found: dict[Job, list[Outcome]] = {}
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(played or play, job): job for job in jobs}
        for done in as_completed(waiting):
            job = waiting[done]
            found[job] = done.result()
            tell = f"{len(found)}/{len(jobs)}  {job.setting}, gold rate {job.rate:g}, draw {job.draw}"
            print(f"{tell}  {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return [outcome for job in jobs for outcome in found[job]]


def play(job: Job) -> list[Outcome]:
    """Every round of the setting as the current one, by every method."""
    warnings.simplefilter("error")
    folder = find_data()
    of_current, of_past = (parts_of(name, folder) for name in SETTINGS[job.setting])
    rng = np.random.default_rng([SEED, list(SETTINGS).index(job.setting), round(1000 * job.rate), job.draw])
    shown = {part.name: part.history(rng, job.rate) for part in of_past}
    outcomes: list[Outcome] = []
    fitted: dict[tuple[str, ...], Any] = {}
    for part in of_current:
        past = [other for other in of_past if other.pool == part.pool and (other is not part)]
        names = tuple(other.name for other in past)
        history = [shown[name] for name in names]
        if names not in fitted:
            fitted[names] = learned(history)
        outcomes += list(play_round(job, part, history, fitted[names]))
    return outcomes


def learned(history: Sequence[Round]) -> Any:
    """History fitted once for all methods; the rounds themselves where there is no gold."""
    return hero.fit_reliability(history) if any(one.n_gold for one in history) else list(history)


def play_round(job: Job, part: Part, history: Sequence[Round], fitted: Any) -> Iterator[Outcome]:
    current = part.current()
    for method in job.methods:
        if method == "history_mean":
            answer = history_mean(history, current.n_items)
        else:
            answer = estimate(current, fitted, method)
        yield Outcome(job, part.name, len(history), method, part.truth, *answer)


def history_mean(history: Sequence[Round], n_items: int) -> tuple[float, float, float, str]:
    counts = np.array([[np.sum(one.gold == k) for k in range(2)] for one in history])
    found = past_mean(counts, LEVEL, n_items)
    return float(found.value[1]), float(found.low[1]), float(found.high[1]), ""


def estimate(current: Round, fitted: Any, method: str) -> tuple[float, float, float, str]:
    try:
        found = hero.estimate_rate(current, fitted, method=method, level=LEVEL)
    except hero.HeroError as error:
        if error.exit_code != 3:
            raise
        return np.nan, np.nan, np.nan, error.code
    return found.value, *found.interval(), " ".join(sorted({one.code for one in found.findings}))


# ------------------------------------------------------------------------------------------------ summaries

Row = dict[str, str]
KEY = ("setting", "gold_rate", "method", "rounds")


def summaries(outcomes: Sequence[Outcome], n_settings: int = len(SETTINGS)) -> Iterator[Row]:
    """A row for each setting, gold rate, method and kind of rounds, and rows of the mean over all `n_settings`."""
    cells: dict[tuple[float, str, str], list[Outcome]] = {}
    for one in outcomes:
        cells.setdefault((one.job.rate, one.job.setting, one.method), []).append(one)
    for kind in (EVERY, LONG):
        by_setting: dict[tuple[float, str], list[np.ndarray]] = {}
        counts: dict[tuple[float, str], list[int]] = {}
        for (rate, setting, method), of_cell in cells.items():
            kept = [one for one in of_cell if kind == EVERY or one.n_past >= LONG_HISTORY]
            if not kept:
                continue
            table, answered = draw_means(kept)
            rounds = len({one.round for one in kept})
            yield row_of((setting, rate, method, kind), rounds, [table], answered)
            by_setting.setdefault((rate, method), []).append(table)
            counts.setdefault((rate, method), []).append(rounds)
        every = len({one.job.setting for one in outcomes}) == n_settings
        for (rate, method), tables in by_setting.items():
            if every:
                yield row_of((OVERALL, rate, method, kind), sum(counts[rate, method]), tables, np.nan)


def draw_means(outcomes: Sequence[Outcome]) -> tuple[np.ndarray, float]:
    """(draws, measures) means over the rounds answered, and the share of rounds answered."""
    draws = sorted({one.job.draw for one in outcomes})
    table = []
    for draw in draws:
        each = np.array([one.measures for one in outcomes if one.job.draw == draw and np.isfinite(one.value)])
        table.append(each.mean(axis=0) if len(each) else np.full(len(MEASURES), np.nan))
    return np.array(table), float(np.mean([np.isfinite(one.value) for one in outcomes]))


def row_of(key: tuple[str, float, str, str], rounds: int, tables: Sequence[np.ndarray], answered: float) -> Row:
    """Means over draws, then over settings, and their Monte Carlo errors: how far another set of draws may lie."""
    setting, rate, method, kind = key
    use = [table[np.isfinite(table).all(axis=1)] for table in tables]
    draws = min(len(table) for table in use)
    row = {"setting": setting, "gold_rate": f"{rate:g}", "method": method, "rounds": kind, "n_rounds": str(rounds)}
    row |= {"draws": str(draws), "answered": "" if np.isnan(answered) else f"{answered:.4f}"}
    mean = np.mean([table.mean(axis=0) for table in use], axis=0)
    square = [table.var(axis=0, ddof=1) / len(table) if draws > 1 else np.full(len(mean), np.nan) for table in use]
    error = np.sqrt(np.sum(square, axis=0)) / len(use)
    for name, value, of_value in zip(MEASURES, mean, error, strict=True):
        row |= {name: f"{value:.6f}", f"{name}_se": f"{of_value:.6f}"}
    return row


def update(path: Path, rows: Sequence[Row], methods: Sequence[str] = METHODS) -> None:
    """Write the rows into the file in place of those with the same key, the others kept, in one order."""
    old = read(path) if path.exists() else []
    merged = {tuple(row[name] for name in KEY): row for row in [*old, *rows]}
    order = [*SETTINGS, OVERALL]

    def place(row: Row) -> tuple[float, int, int, int]:
        kind = (EVERY, LONG).index(row["rounds"])
        return float(row["gold_rate"]), order.index(row["setting"]), kind, methods.index(row["method"])

    write_rows(path, sorted(merged.values(), key=place))


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_raw(path: Path, outcomes: Sequence[Outcome]) -> None:
    rows = [
        {
            "setting": one.job.setting,
            "gold_rate": f"{one.job.rate:g}",
            "draw": str(one.job.draw),
            "round": one.round,
            "n_past": str(one.n_past),
            "method": one.method,
            **{name: f"{getattr(one, name):.6f}" for name in ("truth", "value", "low", "high")},
            "findings": one.findings,
        }
        for one in outcomes
    ]
    write_rows(path, rows)


def earlier(paths: Sequence[Path]) -> list[Outcome]:
    """What `write_raw` wrote."""
    return [
        Outcome(
            Job(row["setting"], float(row["gold_rate"]), int(row["draw"]), (row["method"],)),
            row["round"],
            int(row["n_past"]),
            row["method"],
            **{name: float(row[name]) for name in ("truth", "value", "low", "high")},
            findings=row["findings"],
        )
        for path in paths
        for row in read(path)
    ]


def merged(old: Sequence[Outcome], new: Sequence[Outcome]) -> list[Outcome]:
    """Both, the new ones in place of old ones of the same round, draw and method."""
    both = {(one.job.setting, one.job.rate, one.job.draw, one.round, one.method): one for one in [*old, *new]}
    return list(both.values())


# ------------------------------------------------------------------------------------------------ page


def write_page() -> None:
    """The tables between the marks of the page, from the results."""
    sys.path.insert(0, str(TOOLS))
    markers: Any = importlib.import_module("markers")
    sys.path.remove(str(TOOLS))
    markers.write(PAGE, sections(read(RESULTS), markers))


def sections(rows: Sequence[Row], markers: Any) -> dict[str, str]:
    by_rate = {f"gold rate {rate:g}": rate_tables(rows, rate, markers) for rate in RATES}
    differences = rate_tables(
        read(DIFFERENCES) if DIFFERENCES.exists() else [], DIFFERENCE_RATE, markers, DIFFERENCE_METHODS, "pairs"
    )
    return {"one past round": one_past_table(read(ONE_PAST), markers), "differences": differences, **by_rate}


def one_past_table(rows: Sequence[Row], markers: Any) -> str:
    """Each setting with |error|, coverage and score of hero3 with a single past round, and of what it would be else."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = []
    for setting in SETTINGS:
        of = {row["method"]: row for row in rows if row["setting"] == setting}
        for name, title in (("error", "mean absolute error"), ("coverage", "covers"), ("score", "interval score")):
            figures = [f"{float(of[m][name]):.3f}" if of[m][name] else "" for m in methods]
            lines.append([setting, of[methods[0]]["estimates"], title, *figures])
    table: str = markers.table(["setting", "estimates", "", *methods], lines, "lrl" + "r" * len(methods))
    return table


def rate_tables(
    rows: Sequence[Row], rate: float, markers: Any, methods: Sequence[str] = METHODS, of_what: str = "rounds"
) -> str:
    """Each measure with settings down and methods across; coverage also of rounds with a longer history."""
    here = [row for row in rows if float(row["gold_rate"]) == rate]
    if not here:
        return "Not measured."
    parts = [
        ("Mean |error|", "error", EVERY),
        ("95% interval covers", "coverage", EVERY),
        (f"95% interval covers, {of_what} with {LONG}", "coverage", LONG),
        ("Mean width of the interval", "width", EVERY),
        ("Mean interval score, lower is better", "score", EVERY),
        (f"Mean interval score, {of_what} with {LONG}", "score", LONG),
    ]
    here_methods = [method for method in methods if any(row["method"] == method for row in here)]
    return "\n\n".join(
        f"{title}:\n\n{one_table(here, name, kind, markers, here_methods, of_what)}" for title, name, kind in parts
    )


def one_table(
    rows: Sequence[Row], name: str, kind: str, markers: Any, methods: Sequence[str], of_what: str = "rounds"
) -> str:
    lines = []
    for setting in [*SETTINGS, OVERALL]:
        of = {row["method"]: row for row in rows if row["setting"] == setting and row["rounds"] == kind}
        if of:
            lines.append([setting, next(iter(of.values()))["n_rounds"], *(cell(of.get(m), name) for m in methods)])
    table: str = markers.table(["setting", of_what, *(f"`{m}`" for m in methods)], lines, "lr" + "r" * len(methods))
    return table


def cell(row: Row | None, name: str) -> str:
    if row is None:
        return ""
    value, error = float(row[name]), float(row[f"{name}_se"])
    return f"{value:.3f}" + (f" ± {error:.3f}" if np.isfinite(error) else "")


if __name__ == "__main__":
    main()
