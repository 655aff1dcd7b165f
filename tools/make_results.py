"""Writes the tables of measured results into the pages, from the files in docs/results.

python tools/make_results.py

The files come from `hero study NAME --output docs/results/NAME.csv` and `python tools/measure_limits.py`.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence

from markers import DOCS, ROOT, table, write

RESULTS = DOCS / "results"
METHODS = ("majority_vote", "dawid_skene", "gold_proportion", "hero1", "hero2")
Row = dict[str, str]


def rows_of(name: str) -> list[Row]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


EXPERIMENTS = ("exp1-small", "exp1-large", "exp2")
TWINS = ("defect", "safety")


def study_sections() -> dict[str, str]:
    simulated = [row for name in EXPERIMENTS for row in rows_of(name)]
    twins = [row for name in TWINS for row in rows_of(name)]
    return {
        "rmse": by_method(simulated, "rmse"),
        "bias": by_method(simulated, "bias", "+"),
        "coverage": coverage(simulated),
        "public coverage": public_coverage(rows_of("coverage")),
        "twins rmse": by_method(twins, "rmse"),
        "twins bias": by_method(twins, "bias", "+"),
        "twins coverage": coverage(twins),
        "limits": limits(rows_of("limits")),
        "guards": guards(rows_of("guards")),
    }


def guards(rows: Sequence[Row], cell: str = "10 labelers, gold 10%") -> str:
    """How often each guard alarms in one cell of the study."""
    own = [row for row in rows if row["cell"] == cell]
    lines = [
        [row["situation"], f"{row['method']} {row['guard']}", row["measures"], _with_error(row, "alarms", places=2)]
        for row in own
    ]
    about = f"With {cell} of 800 history items, {own[0]['replications']} rounds a situation:"
    return f"{about}\n\n{table(['situation', 'guard', 'measures', 'alarms'], lines, 'lllr')}"


def large_sections() -> dict[str, str]:
    return {"scale": scale(rows_of("scale")), "large": figures(rows_of("large"))}


def growth_sections() -> dict[str, str]:
    return {"growth": growth(rows_of("growth"))}


def growth(rows: Sequence[Row]) -> str:
    """Processor time and memory, one number varied at a time, with the slope from the row above it."""
    numbers = ("labels", "labelers", "classes", "past rounds")
    lines = []
    for plain, other in zip(rows[::2], rows[1::2], strict=True):
        shown = [f"**{int(plain[name]):,}**" if name == plain["axis"] else f"{int(plain[name]):,}" for name in numbers]
        for row in (plain, other):
            given_up = row["seconds"] == "nan"
            shown += (
                ["given up", "-"] if given_up else [f"{float(row['seconds']):.2f}", f"{float(row['peak_mb']):,.0f}"]
            )
            shown.append(row["slope"] if row["slope"] not in ("", "nan") else "-")
        lines.append(shown)
    each = [f"{of}{what}" for of in ("default, ", "hero1, ") for what in ("s", "MB", "slope")]
    return table([*numbers, *each], lines, "r" * (len(numbers) + len(each)))


def scale(rows: Sequence[Row]) -> str:
    """Time and memory by size; "-" where a measurement was left out."""
    columns = {
        "floor_s": "read, s",
        "hero_s": "estimate, s",
        "hero_mb": "peak, MB",
        "count_s": "counting, s",
        "fit_s": "fit, s",
        "interval_s": "interval, s",
        "numpy_step_s": "numpy step, s",
        "crowdkit_step_s": "crowd-kit step, s",
        "crowdkit_mb": "crowd-kit peak, MB",
    }
    lines = []
    for row in rows:
        shown = [f"{int(row[name]):,}" for name in ("labels", "labelers")]
        for name in columns:
            places = ",.0f" if name.endswith("mb") else ".3g"
            shown.append(f"{float(row[name]):{places}}" if row[name] else "-")
        lines.append(shown)
    return table(["labels", "labelers", *columns.values()], lines, "r" * (len(columns) + 2))


def figures(rows: Sequence[Row]) -> str:
    return table(
        ["what", "measured", "command"], [[row["what"], row["measured"], f"`{row['command']}`"] for row in rows]
    )


def limits_sections() -> dict[str, str]:
    return {"limits": limits(rows_of("limits"), ("hero1", "hero2", "hero3"), brief=True)}


RIVALS = {
    "majority_vote": "majority vote, as in most dashboards",
    "dawid_skene": "Dawid and Skene's model, as in crowd-kit",
    "gold_proportion": "gold's proportion for each answer, pooled over past rounds",
    "history_mean": "the mean of past gold, no labels at all",
    "hero1": "`hero1`, the paper's method",
    "hero3": "`hero3`, the default",
}
"""Ways to answer, in words for a reader who knows none of ours."""


def readme_sections() -> dict[str, str]:
    return {"rivals": rivals([row for row in rows_of("real_rounds") if row["gold_rate"] == "0.1"])}


def rivals(rows: Sequence[Row]) -> str:
    """Error and cover of every way to answer, the mean over the settings, each of which counts alike."""
    lines = []
    for method, words in RIVALS.items():
        own = [row for row in rows if row["method"] == method and row["rounds"] == "all"]
        means = {name: sum(float(row[name]) for row in own) / len(own) for name in ("error", "coverage", "score")}
        lines.append([words, f"{means['error']:.3f}", f"{means['coverage']:.0%}", f"{means['score']:.2f}"])
    return table(["way to answer", "mean error", "95% interval covers", "interval score"], lines, "lrrr")


def by_cell(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """The rows of each cell by method."""
    cells = dict.fromkeys(row["cell"] for row in rows)
    return {cell: {row["method"]: row for row in rows if row["cell"] == cell} for cell in cells}


def by_method(rows: Sequence[Row], number: str, sign: str = "") -> str:
    """One number of every method, a line a cell."""
    lines = [
        [cell, *(_with_error(of[method], number, sign) for method in METHODS)] for cell, of in by_cell(rows).items()
    ]
    return table(["cell", *(f"`{method}`" for method in METHODS)], lines, "l" + "r" * len(METHODS))


def coverage(rows: Sequence[Row]) -> str:
    """How often the 95% intervals cover, ours and the paper's, and how wide they are."""
    lines = []
    for cell, of in by_cell(rows).items():
        line = [cell]
        for method in ("hero1", "hero2"):
            row = of[method]
            line += [
                _with_error(row, "coverage"),
                f"{float(row['paper_coverage']):.3f}",
                f"{float(row['width']):.3f}",
                f"{float(row['paper_width']):.3f}",
            ]
        lines.append(line)
    head = [f"`{method}` {what}" for method in ("hero1", "hero2") for what in ("ours", "paper", "width", "paper width")]
    return table(["cell", *head], lines, "l" + "r" * len(head))


def public_coverage(rows: Sequence[Row]) -> str:
    """Coverage through the public functions, a line for each cell and quantity."""
    lines = []
    for row in rows:
        lines.append(
            [
                row["cell"],
                row["method"],
                f"{float(row['gold']):.0f}",
                _with_error(row, "bias", "+"),
                _with_error(row, "rmse"),
                _with_error(row, "coverage"),
                f"{float(row['width']):.3f}",
                f"{float(row['score_ratio']):.2f}",
                f"{float(row['safer']):.2f}",
            ]
        )
    head = ["cell", "quantity", "gold", "bias", "rmse", "covers", "width", "score", "safer"]
    return f"{_in_short(rows)}\n\n{table(head, lines, 'll' + 'r' * 7)}"


def _in_short(rows: Sequence[Row]) -> str:
    """Where coverage lies over all rows, in a sentence."""
    ordered = sorted(rows, key=lambda row: float(row["coverage"]))
    lowest, middle, highest = ordered[0], ordered[len(rows) // 2], ordered[-1]
    low = [row for row in rows if float(row["coverage"]) + 2 * float(row["coverage_se"]) < 0.95]
    return (
        f"Coverage of the {len(rows)} rows lies between {float(lowest['coverage']):.3f} ({lowest['cell']}, "
        f"{lowest['method']}) and {float(highest['coverage']):.3f}, with median {float(middle['coverage']):.3f}; "
        f"{len(low)} of them lie more than two Monte Carlo errors below 0.95."
    )


def limits(rows: Sequence[Row], methods: Sequence[str] | None = None, *, brief: bool = False) -> str:
    """Bias, RMSE and coverage where an assumption fails."""
    lines = []
    for row in rows:
        if methods is not None and row["method"] not in methods:
            continue
        found = [] if brief else [f"{float(row['rmse']):.3f}"]
        flagged = f"{100 * float(row['F403']):.0f}%" if row["method"] == "hero2" else ""
        lines.append(
            [
                row["situation"],
                f"`{row['method']}`",
                _with_error(row, "bias", "+"),
                *found,
                _with_error(row, "coverage", places=2),
                flagged,
            ]
        )
    head = ["situation", "method", "bias", *([] if brief else ["rmse"]), "95% interval covers", "F403 found"]
    return table(head, lines, "ll" + "r" * (len(head) - 2))


def _with_error(row: Row, name: str, sign: str = "", places: int = 3) -> str:
    value, error = float(row[name]), float(row[f"{name}_se"])
    return f"{value:{sign}.{places}f} ± {error:.{places}f}"


if __name__ == "__main__":
    write(DOCS / "results.md", study_sections())
    write(ROOT / "README.md", readme_sections())
    write(DOCS / "limits.md", limits_sections())
    write(DOCS / "large.md", large_sections())
    write(DOCS / "growth.md", growth_sections())
