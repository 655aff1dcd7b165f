"""A report as Markdown, for a pull request."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hero_eval import phrasing
from hero_eval.escaping import code_spans, escape, row
from hero_eval.report.document import Report, Row, Told
from hero_eval.report.ranking_report import RankingReport

HOW_TOLD = (
    "All ranks, and all intervals, hold together. Models that share a letter are in one group: the data cannot tell "
    "them apart."
)
STEPWISE = phrasing.STEPWISE

LABELERS_SHOWN = 30


def markdown(report: Report) -> str:
    """The whole report; pictures stay in the HTML form."""
    parts = [f"# {escape(report.title)}", f"**{escape(report.answer)}**", _number(report)]
    if report.verdict is not None:
        parts.append(f"**{code_spans(report.verdict.words)}**")
    if report.rows:
        parts += [f"## {report.rows_name.capitalize()} side by side", _rows(report)]
    parts += [f"- {escape(name)}: not possible: {escape(why)}" for name, why in report.skipped.items()]
    if report.told:
        parts += ["## What you must know", _findings(report.told)]
    parts += ["## What would shorten the interval", escape(report.width)]
    if report.labelers:
        parts += ["## Labelers", _labelers(report)]
    parts += ["## How it was made", "\n".join(f"- {escape(a)}: {escape(b)}" for a, b in report.provenance)]
    return "\n\n".join(parts) + "\n"


def _number(report: Report) -> str:
    one = report.estimate
    places = phrasing.decimals([one.std_error], 4)
    span = phrasing.span(*one.interval(), places)
    value = phrasing.number(one.value, places)
    return f"{escape(one.what)}: **{value}**, {phrasing.percent(one.level)} interval {span}, by `{one.method}`."


def _rows(report: Report) -> str:
    places = phrasing.decimals([one.std_error for one in report.rows])
    name = report.rows_name.removesuffix("s")
    chances = any(one.chance is not None or one.undecided for one in report.rows)
    head = [name, "value", "low", "high", "std error", *(["chance to be higher"] if chances else [])]
    lines = [row(head), row([":---", *["---:"] * (len(head) - 1)], raw=True)]
    for one in report.rows:
        cells = [phrasing.number(value, places) for value in (one.value, one.low, one.high, one.std_error)]
        cells += [_chance(one)] if chances else []
        lines.append(row([one.name + (" (used here)" if one.chosen else ""), *cells]))
    return "\n".join(lines)


def _chance(one: Row) -> str:
    if one.undecided:
        return f"undecided ({one.undecided})"
    return phrasing.UNKNOWN if one.chance is None else f"{100 * one.chance:.1f}%"


def _findings(told: Sequence[Told]) -> str:
    return "\n".join(
        f"- {one.finding.severity} `{one.finding.code}` "
        + escape(f"{one.concerns + ': ' if one.concerns else ''}{one.finding.fact}.")
        + f" {phrasing.TO_DO} {code_spans(one.finding.action)}"
        for one in told
    )


def _labelers(report: Report) -> str:
    names = [key for key in report.labelers[0] if not key.endswith("_se")]
    lines = [row(names), row([":---", *["---:"] * (len(names) - 1)], raw=True)]
    for one in report.labelers[:LABELERS_SHOWN]:
        lines.append(row([_cell(one[name]) for name in names]))
    left = report.n_labelers - min(len(report.labelers), LABELERS_SHOWN)
    return "\n".join(lines) + (f"\n\nand {left:,} more." if left else "")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return phrasing.UNKNOWN if math.isnan(value) else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _voters(report: RankingReport) -> str:
    head = ["labeler", "votes", "gold", "right, first better", "right, second better", "for the first"]
    return "\n".join([row(head), row([":---", *["---:"] * 5], raw=True), *(row(list(one)) for one in report.voters)])


def ranking_markdown(report: RankingReport) -> str:
    """The report on a ranking; pictures stay in the HTML form."""
    level = phrasing.percent(report.result.level)
    places = 0 if report.voters or report.reference else phrasing.decimals([one.std_error for one in report.bars])
    models = [
        row(["rank", "ranks it may have", "model", report.what, f"{level} interval", "best?", "group"]),
        row(["---:", ":---", ":---", "---:", ":---", "---:", ":---"], raw=True),
    ]
    for one in report.rows:
        bar = one.bar
        numbers = [phrasing.number(bar.value, places), phrasing.span(bar.low, bar.high, places)]
        models.append(row([f"{one.rank}", one.ranks, bar.name, *numbers, one.chance, one.group]))
    points = " in points" if report.is_share else ""
    pairs = [
        row(["models", f"difference{points}", f"{level} interval", "p", "told apart"]),
        row([":---", "---:", ":---", "---:", ":---"], raw=True),
        *(
            row([f"{one.better} − {one.worse}", one.value, f"{one.low} to {one.high}", one.p, one.told_apart])
            for one in report.pairs
        ),
    ]
    parts = [f"# {escape(report.title)}", f"**{escape(report.answer)}**", "\n".join(models), HOW_TOLD]
    parts += [f"Not told apart: {escape('; '.join(report.groups))}."] if report.groups else []
    parts += ["## Differences", "\n".join(pairs), STEPWISE]
    parts += ["## Labelers", _voters(report)] if report.voters else []
    parts += ["## What you must know", _findings(report.told)] if report.told else []
    parts += ["## How it was made", "\n".join(f"- {escape(a)}: {escape(b)}" for a, b in report.provenance)]
    return "\n\n".join(parts) + "\n"
