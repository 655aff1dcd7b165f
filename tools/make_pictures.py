"""Draws the pictures of the pages as SVG.

    python tools/make_pictures.py

Every picture brings its own ground and tells things apart by shape and not by color. Those of `CHARTS` are charts of
the package; how exactly these are drawn depends on the versions of the packages that draw, so each file ends with the
numbers in it, by which a test knows whether it is fresh. A picture whose numbers differ in nothing but their last
digits is left as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from math import log10
from pathlib import Path

import numpy as np
from make_results import EXPERIMENTS, by_cell, rows_of
from markers import DOCS
from outputs import alike

import hero_eval as hero
from hero_eval import charts
from hero_eval.labelers.agreement import agreement
from hero_eval.labelers.over_time import reliability_over_time

PICTURES = DOCS / "pictures"
EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"
WIDTH = 760

STYLE = """
  .ground { fill: #ffffff; stroke: #999999; }
  .ink { stroke: #111111; } .full { fill: #111111; stroke: #111111; } .hollow { fill: #ffffff; stroke: #111111; }
  .faint { stroke: #bbbbbb; } .words { fill: #111111; } .quiet { fill: #555555; }
  text { font: 15px "DejaVu Sans", Verdana, Helvetica, Arial, sans-serif; } .small { font-size: 13px; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #111111; stroke: #777777; }
    .ink { stroke: #f4f4f4; } .full { fill: #f4f4f4; stroke: #f4f4f4; } .hollow { fill: #111111; stroke: #f4f4f4; }
    .faint { stroke: #555555; } .words { fill: #f4f4f4; } .quiet { fill: #bbbbbb; }
  }"""


@dataclass(frozen=True)
class Scale:
    """From values to places on the picture."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "ink", more: str = 'stroke-width="2"') -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}" {more}/>'


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "words") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def dot(x: float, y: float, kind: str) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="6" class="{kind}" stroke-width="2"/>'


def diamond(x: float, y: float, kind: str) -> str:
    return f'<path d="M {x:g} {y - 6:g} l 6 6 l -6 6 l -6 -6 z" class="{kind}" stroke-width="2"/>'


def picture(title: str, height: int, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}\n</style>",
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" class="ground"/>',
            *parts,
            "</svg>\n",
        ]
    )


def methods() -> str:
    """Every method on the built-in example, with its interval and the truth."""
    truth = json.loads((EXAMPLE / "about.json").read_text(encoding="utf-8"))["truth"]
    rounds = [hero.read_round(EXAMPLE / name) for name in ("current", "history")]
    found = hero.compare_methods(rounds[0], rounds[1], covariates=["judge"])
    top, step = 78, 40
    bottom = top + step * len(found.estimates) - 12
    furthest = max(one.interval()[1] for one in found.estimates.values())
    scale = Scale(0.0, 0.1 * (int(furthest * 10) + 1), 170, 520)
    parts = [text(20, 32, "What share of the new version's assets is defective?")]
    parts += axis(scale, top - 22, bottom)
    for position, (name, one) in enumerate(found.estimates.items()):
        y, (low, high) = top + position * step, one.interval()
        kind = "full" if name.startswith("hero") else "hollow"
        parts += [text(20, y + 5, name), line(scale(low), y, scale(high), y)]
        parts += [line(scale(end), y - 7, scale(end), y + 7) for end in (low, high)]
        parts += [dot(scale(one.value), y, kind), text(540, y + 5, f"{one.value:.3f}")]
        parts.append(text(598, y + 5, f"({low:.3f} to {high:.3f})"))
    x = scale(truth)
    parts.append(line(x, top - 22, x, bottom, more='stroke-width="2" stroke-dasharray="3 4"'))
    parts.append(text(x, bottom + 44, f"truth {truth:.3f}", "middle"))
    parts.append(text(540, top - 22, "value", kind="quiet small"))
    parts.append(text(598, top - 22, "95% interval", kind="quiet small"))
    return picture("The methods side by side on the built-in example", bottom + 62, parts)


def axis(scale: Scale, top: float, bottom: float) -> list[str]:
    """Ticks at each tenth."""
    ticks = [tenth / 10 for tenth in range(round(10 * scale.low), round(10 * scale.high) + 1)]
    lines = [line(scale(tick), top, scale(tick), bottom, "faint", 'stroke-width="1"') for tick in ticks]
    return lines + [text(scale(tick), bottom + 20, f"{tick:g}", "middle", "quiet small") for tick in ticks]


def coverage() -> str:
    """How often 95% intervals cover in the simulated cells: ours and the paper's."""
    height = 560
    parts = [
        text(20, 32, "How often 95% intervals cover the truth, in the simulated cells"),
        dot(30, 58, "full"),
        text(44, 63, "ours"),
        diamond(110, 58, "hollow"),
        text(124, 63, "the paper's"),
        line(240, 58, 270, 58, more='stroke-width="2" stroke-dasharray="3 4"'),
        text(278, 63, "0.95"),
    ]
    for position, method in enumerate(("hero1", "hero2")):
        parts += panel(method, 96 + position * 216)
    note = (
        "From left to right there is more gold; in exp2 the labelers also differ more and more, gold changing within."
    )
    parts.append(text(20, height - 18, note, kind="quiet small"))
    return picture("Coverage of 95% intervals, ours and the paper's", height, parts)


def panel(method: str, top: float) -> list[str]:
    """One method: all cells of the three experiments, left to right."""
    cells = [(study, of[method]) for study in EXPERIMENTS for of in by_cell(rows_of(study)).values()]
    y = Scale(0.5, 1.0, top + 170, top + 6)
    parts = [text(20, top + 12, method)]
    for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        parts += [line(110, y(tick), 740, y(tick), "faint", 'stroke-width="1"')]
        parts += [text(100, y(tick) + 5, f"{tick:.1f}", "end", "quiet small")]
    parts.append(line(110, y(0.95), 740, y(0.95), more='stroke-width="2" stroke-dasharray="3 4"'))
    x, last = 116.0, ""
    for study, row in cells:
        if study != last:
            x += 16 if last else 0
            parts.append(text(x - 4, top + 190, study, kind="quiet small"))
            last = study
        marks: list[tuple[str, Callable[[float, float, str], str], str]] = [
            ("paper_coverage", diamond, "hollow"),
            ("coverage", dot, "full"),
        ]
        parts += [draw(round(x, 1), y(float(row[name])), kind) for name, draw, kind in marks]
        x += 22.4
    return parts


def public_coverage() -> str:
    """Coverage as a user gets it: every cell and quantity of the coverage study, with its Monte Carlo error."""
    rows = rows_of("coverage")
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    top, step = 96, 17
    bottom = top + step * len(cells)
    scale = Scale(0.88, 1.0, 220, 740)
    parts = [
        text(20, 32, "How often the default 95% interval covers the truth"),
        dot(30, 58, "full"),
        text(44, 63, "hero1, and what rests on it"),
        diamond(280, 58, "hollow"),
        text(294, 63, "hero2"),
    ]
    for tick in (0.88, 0.90, 0.92, 0.94, 0.96, 0.98, 1.0):
        parts.append(line(scale(tick), top - 8, scale(tick), bottom, "faint", 'stroke-width="1"'))
        parts.append(text(scale(tick), bottom + 18, f"{tick:.2f}", "middle", "quiet small"))
    for bound in (0.93, 0.97):
        parts.append(line(scale(bound), top - 8, scale(bound), bottom, more='stroke-width="1" stroke-dasharray="3 4"'))
    for position, cell in enumerate(cells):
        y = top + position * step
        parts.append(text(20, y + 4, cell, kind="words small"))
        for row in (row for row in rows if row["cell"] == cell):
            covers, error = float(row["coverage"]), float(row["coverage_se"])
            low, high = max(covers - 2 * error, scale.low), min(covers + 2 * error, scale.high)
            draw, kind = (diamond, "hollow") if row["method"] == "hero2" else (dot, "full")
            parts += [line(scale(low), y, scale(high), y, more='stroke-width="1"'), draw(scale(covers), y, kind)]
    note = "Lines span twice the Monte Carlo error on either side; the dashes mark 0.93 and 0.97."
    parts.append(text(20, bottom + 42, note, kind="quiet small"))
    return picture("Coverage of the default interval, cell by cell", bottom + 58, parts)


def scale() -> str:
    """How the time of an estimate grows with the labels, beside a plain read and one step of crowd-kit."""
    rows = rows_of("scale")
    top, bottom = 96, 400
    x = Scale(4.0, 8.0, 90, 640)
    y = Scale(-4.0, 3.0, bottom, top)
    parts = [text(20, 32, "Seconds from Parquet to a HERO-1 estimate with its interval, by number of labels")]
    legend = (
        ("10 labelers", dot, "full", "10"),
        ("1,000", dot, "hollow", "1000"),
        ("100,000", diamond, "full", "100000"),
    )
    for position, (name, draw, kind, _) in enumerate(legend):
        parts += [draw(30 + 130 * position, 58, kind), text(44 + 130 * position, 63, name)]
    parts += [line(420, 58, 450, 58, "faint"), text(458, 63, "read of the file"), diamond(600, 58, "hollow")]
    parts.append(text(614, 63, "crowd-kit, 1 step"))
    for tick in range(4, 9):
        parts.append(line(x(tick), top, x(tick), bottom, "faint", 'stroke-width="1"'))
        parts.append(text(x(tick), bottom + 20, f"{10**tick:,}", "middle", "quiet small"))
    for tick in range(-4, 4):
        parts.append(line(90, y(tick), 640, y(tick), "faint", 'stroke-width="1"'))
        parts.append(text(82, y(tick) + 5, f"{10.0**tick:g}", "end", "quiet small"))
    for _, draw, kind, labelers in legend:
        own = [row for row in rows if row["labelers"] == labelers]
        parts += path_of(x, y, own, "hero_s", "ink")
        parts += path_of(x, y, own, "floor_s", "faint")
        parts += [draw(x(log10(float(row["labels"]))), y(log10(float(row["hero_s"]))), kind) for row in own]
        known = [row for row in own if row["crowdkit_step_s"]]
        parts += [
            diamond(x(log10(float(row["labels"]))), y(log10(float(row["crowdkit_step_s"]))), "hollow") for row in known
        ]
    return picture("Time by number of labels", bottom + 44, parts)


def growth() -> str:
    """How the processor time of an estimate grows with each of four numbers; one panel each."""
    rows = [row for row in rows_of("growth") if row["seconds"] != "nan"]
    parts = [text(20, 32, "Processor seconds of an estimate; one number varied at a time, both scales logarithmic")]
    parts += [dot(30, 58, "full"), text(44, 63, "default"), dot(150, 58, "hollow"), text(164, 63, "hero1")]
    for place, axis_name in enumerate(dict.fromkeys(row["axis"] for row in rows)):
        parts += growth_panel(axis_name, [row for row in rows if row["axis"] == axis_name], 70 + 172 * place)
    return picture("Time by labels, labelers, classes and past rounds", 380, parts)


def growth_panel(axis_name: str, rows: Sequence[dict[str, str]], left: float) -> list[str]:
    top, bottom, width = 96, 320, 140
    values = sorted({int(row[axis_name]) for row in rows})
    x, y = Scale(log10(values[0]), log10(values[-1]), left, left + width), Scale(-2.0, 2.0, bottom, top)
    parts = [text(left + width / 2, bottom + 44, axis_name, "middle")]
    for tick in range(-2, 3):
        parts.append(line(left, y(tick), left + width, y(tick), "faint", 'stroke-width="1"'))
        if left < 100:
            parts.append(text(left - 8, y(tick) + 5, f"{10.0**tick:g}", "end", "quiet small"))
    for value in values:
        short = f"{value:,}" if value < 1_000 else f"{value // 1_000:,}k" if value < 1_000_000 else f"{value // 10**6}M"
        parts.append(text(x(log10(value)), bottom + 20, short, "middle", "quiet small"))
    for method, kind in (("default", "full"), ("hero1", "hollow")):
        own = [row for row in rows if row["method"] == method]
        places = [(x(log10(float(row[axis_name]))), y(log10(float(row["seconds"])))) for row in own]
        parts += [line(*one, *other, "ink") for one, other in pairwise(places)]
        parts += [dot(*one, kind) for one in places]
    return parts


def path_of(x: Scale, y: Scale, rows: Sequence[dict[str, str]], column: str, kind: str) -> list[str]:
    """A line through the rows of one number of labelers."""
    places = [(x(log10(float(row["labels"]))), y(log10(float(row[column])))) for row in rows]
    return [line(*one, *other, kind) for one, other in pairwise(places)]


@cache
def example() -> tuple[hero.Round, hero.Round]:
    """The built-in example: current and history."""
    current, history = (hero.read_round(EXAMPLE / name) for name in ("current", "history"))
    return current, history


@cache
def fitted() -> hero.Reliability:
    return hero.fit_reliability(example()[1])


@cache
def answer() -> hero.Estimate:
    return hero.estimate_rate(*example(), covariates=["judge"])


@cache
def parts() -> list[hero.Round]:
    """The example's history cut into four, as if these were past rounds."""
    history = example()[1]
    made = [history.select(np.arange(history.n_items) % 4 == part) for part in range(4)]
    for place, one in enumerate(made):
        one.name = f"part {place + 1}"
    return made


def over_rounds() -> charts.Chart:
    """Each part of the example's history, estimated from the other parts."""
    points = []
    for one in parts():
        found = hero.estimate_rate(one, [other for other in parts() if other is not one], method="hero3")
        points.append(charts.RoundValue(one.name, "", "v6", found.value, *found.interval(), found.method, one.n_items))
    return charts.over_rounds(points, what="rate of '1'")


def real_rows() -> list[dict[str, str]]:
    rows = [row for row in rows_of("real_rounds") if row["rounds"] == "all" and float(row["gold_rate"]) == 0.1]
    return [row for row in rows if not row["setting"].startswith("mean of")]


CHARTS: dict[str, Callable[[], charts.Chart]] = {
    "study-rmse.svg": lambda: charts.study([*rows_of("exp1-small"), *rows_of("exp1-large")], "rmse"),
    "study-bias.svg": lambda: charts.study([*rows_of("exp1-small"), *rows_of("exp1-large")], "bias"),
    "study-heterogeneity.svg": lambda: charts.study(rows_of("exp2"), "rmse"),
    "real-error.svg": lambda: charts.real(real_rows(), "error"),
    "real-coverage.svg": lambda: charts.real(real_rows(), "coverage"),
    "real-score.svg": lambda: charts.real(real_rows(), "score"),
    "chart-methods.svg": lambda: charts.methods(
        hero.compare_methods(*example(), covariates=["judge"]), chosen=answer().method
    ),
    "chart-difference.svg": lambda: charts.difference(
        hero.estimate_difference(*example(), example()[1], cluster="item"), "v7", "v6"
    ),
    "chart-labelers.svg": lambda: charts.labelers(fitted()),
    "chart-pool.svg": lambda: charts.pool_shift([example()[1], example()[0]]),
    "chart-agreement.svg": lambda: charts.agreement(agreement(fitted())),
    "chart-width.svg": lambda: charts.width(answer()),
    "chart-over-time.svg": lambda: charts.over_time(reliability_over_time(parts())),
    "chart-over-rounds.svg": over_rounds,
    "chart-backtest.svg": lambda: charts.backtest(hero.backtest(parts(), methods=["majority_vote", "hero1", "hero3"])),
}


def ending(chart: charts.Chart) -> str:
    """What the picture says, as a comment: its title and its numbers, to the digits that one could see."""
    columns = {name: [_seen(value) for value in of] for name, of in chart.columns.items()}
    rows = [f"{name}: {' '.join(of)}" for name, of in {"title": [chart.title], **columns}.items()]
    return f"<!-- numbers\n{escape(chr(10).join(rows), quote=False).replace('--', '- -')}\n-->\n"


def _seen(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


PICTURES_BY_NAME = {
    "methods.svg": methods,
    "coverage.svg": coverage,
    "public-coverage.svg": public_coverage,
    "scale.svg": scale,
    "growth.svg": growth,
}


def is_fresh(name: str) -> bool:
    """Whether the kept picture shows what the code gives now, up to the last digit of each number."""
    place = PICTURES / name
    kept = place.read_text(encoding="utf-8") if place.exists() else ""
    if name in PICTURES_BY_NAME:
        return alike(kept, PICTURES_BY_NAME[name]())
    return alike(kept[kept.rfind("<!-- numbers") :], ending(CHARTS[name]()))


def main() -> None:
    for name in [*PICTURES_BY_NAME, *CHARTS]:
        fresh = is_fresh(name)
        if not fresh:
            (PICTURES / name).write_text(drawn(name), encoding="utf-8")
        print(f"docs/pictures/{name}: {'as it was' if fresh else 'drawn anew'}")


def drawn(name: str) -> str:
    if name in PICTURES_BY_NAME:
        return PICTURES_BY_NAME[name]()
    chart = CHARTS[name]()
    return f"{chart.svg()}\n{ending(chart)}"


if __name__ == "__main__":
    main()
