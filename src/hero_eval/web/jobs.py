"""What the working process works out of the store: documents for the API, markup for the pages, files to download."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import hero_eval as hero
from hero_eval import charts
from hero_eval.charts.theme import Chart, altair, csv_text, values
from hero_eval.classes import common_classes
from hero_eval.documents import json_text, plain
from hero_eval.errors import HeroError
from hero_eval.estimate import Estimate
from hero_eval.labelers.over_time import OverTime, reliability_over_time
from hero_eval.report.document import Report, Row, Told
from hero_eval.report.html import environment, html
from hero_eval.report.making import report_of
from hero_eval.report.text import markdown
from hero_eval.store.estimates import asked_of, make, save
from hero_eval.store.log import Entry
from hero_eval.web.process import Tell
from hero_eval.web.rendering import page_environment, render

MOST_LABELERS = 300
"""Labelers that the page shows; the files hold all."""


@dataclass(frozen=True)
class Result:
    """What was worked out. `html` is markup made by our templates; `files` are texts by name."""

    document: Mapping[str, Any]
    html: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def steps(tell: Tell, text: str) -> Callable[[int, float], None]:
    """Steps of a climb whose length nobody knows."""
    return lambda step, _change: tell(f"{text}: step {step}", 0, 0)


def pictures(drawn: Mapping[str, Chart]) -> dict[str, str]:
    """Each chart as a picture and as its numbers."""
    files: dict[str, str] = {}
    for name, chart in drawn.items():
        files[f"{name}.svg"] = chart.svg()
        files[f"{name}.csv"] = csv_text(chart.columns)
    return files


def told_of(findings: Sequence[hero.Finding], concerns: str = "") -> list[Told]:
    return [Told(one, concerns) for one in findings]


def findings_document(told: Sequence[Told]) -> list[dict[str, Any]]:
    return [
        {
            "code": one.finding.code,
            "severity": one.finding.severity,
            "message": one.finding.fact,
            "action": one.finding.action,
            "doubts_interval": one.finding.doubts_interval,
            "concerns": one.concerns,
        }
        for one in told
    ]


def get_ready(tell: Tell) -> Result:
    """Load what views draw with, before anybody asks: the first one then takes no longer than later ones."""
    tell("Loading what views draw with", 0, 0)
    columns = {"x": [0.0]}
    Chart("", columns, altair().Chart(values(columns)).mark_point()).svg()
    for made, template in ((environment(), "report.html"), (page_environment(), "parts/round.html")):
        made.get_template(template)
    return Result({})


# A round


def round_result(
    tell: Tell, store: str, version: int, name: str, options: Mapping[str, Any], saved: bool = True
) -> Result:
    """The estimate of a round, every method beside it, its labelers, and the report."""
    opened = hero.open_store(store)
    tell("Reading the round and its history", 0, 0)
    asked = asked_of("estimate", name, options)
    recorded = make(opened, asked, steps(tell, "Learning from history"), version=version)
    is_saved = saved and _saved(opened, recorded)
    tell("Comparing methods", 0, 0)
    made_from = [("store", f"version {recorded.store_version}, question {recorded.question}")]
    if is_saved:
        made_from.append(("again", f"hero reproduce {recorded.estimate}"))
    report = report_of(recorded.result, title=f"Round {name}", made_from=made_from)
    tell("Drawing", 0, 0)
    document = {
        "round": name,
        "question": recorded.question,
        "store_version": recorded.store_version,
        "history": list(recorded.history),
        "recorded": recorded.estimate if is_saved else None,
        **_round_document(report),
    }
    files = {
        "report.html": html(report),
        "report.md": markdown(report),
        "report.json": json_text(report.to_dict()) + "\n",
        "methods.csv": _rows_csv(report.rows_name[:-1], report.rows),
        "labelers.csv": _dicts_csv(report.labelers),
        **pictures(report.charts),
    }
    shown = render("parts/round.html", report=report, estimate=report.estimate)
    return Result(dict(plain(document)), shown, files)


def _saved(store: hero.Store, recorded: Any) -> bool:
    """A store that may not be written is still worth reading."""
    try:
        save(store, recorded)
    except HeroError:
        return False
    return True


def _round_document(report: Report) -> dict[str, Any]:
    whole = report.to_dict()
    return {
        "title": report.title,
        "answer": report.answer,
        "bounds": list(report.estimate.bounds),
        "estimate": estimate_document(report.estimate),
        "methods": [vars(row) for row in report.rows],
        "skipped": dict(report.skipped),
        "labelers": [dict(row) for row in report.labelers],
        "n_labelers": report.n_labelers,
        "width": whole["width"],
        "findings": findings_document(report.told),
        "provenance": [{"name": name, "what": what} for name, what in report.provenance],
        "charts": {name: chart.title for name, chart in report.charts.items()},
    }


def estimate_document(one: Estimate) -> dict[str, Any]:
    low, high = one.interval()
    return {
        "target": one.target,
        "what": one.what,
        "value": one.value,
        "std_error": one.std_error,
        "low": low,
        "high": high,
        "level": one.level,
        "interval_kind": one.interval_kind,
        "method": one.method,
        "why": one.why,
        "n_items": one.n_items,
        "n_gold": one.n_gold,
        "n_gold_history": one.n_gold_history,
        "n_gold_current": one.n_gold_current,
        "converged": one.converged,
    }


def _rows_csv(first: str, rows: Sequence[Row]) -> str:
    names = ("value", "low", "high", "std_error")
    return csv_text({first: [row.name for row in rows], **{key: [getattr(row, key) for row in rows] for key in names}})


def _dicts_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    return csv_text({key: [row[key] for row in rows] for key in rows[0]}) if rows else "\n"


def read_all(store: hero.Store, tell: Tell, entries: Sequence[Entry]) -> dict[str, hero.Round]:
    wanted = {row.round: row for row in entries}
    read = {}
    for place, (name, row) in enumerate(wanted.items()):
        tell("Reading rounds", place, len(wanted))
        read[name] = store.read(row)
    return read


def course(tell: Tell, points: Sequence[Mapping[str, Any]], what: str, bounds: tuple[float, float]) -> Result:
    """Numbers that were recorded, drawn over rounds."""
    tell("Drawing", 0, 0)
    chart = charts.over_rounds([charts.RoundValue(**point) for point in points], what=what, bounds=bounds)
    shown = render("parts/figure.html", chart=chart)
    return Result({"charts": {"course": chart.title}}, shown, pictures({"course": chart}))


# Labelers


def labelers_over_time(
    tell: Tell, store: str, version: int, question: str, level: float, people: Sequence[Mapping[str, Any]]
) -> Result:
    """Every labeler round by round, on the gold of each round, and who drifts."""
    opened = hero.open_store(store, version=version)
    entries = [row for row in opened.rounds() if row.question == question and not row.is_votes]
    read = read_all(opened, tell, [row for row in entries if row.gold])
    tell("Learning from each round", 0, 0)
    result = reliability_over_time(list(read.values()), level)
    tell("Drawing", 0, 0)
    chart = charts.over_time(result)
    skipped = {row.round: "no gold" for row in entries if not row.gold} | dict(result.skipped)
    document: dict[str, Any] = {
        "question": question,
        "store_version": version,
        "level": level,
        "rounds": [row.round for row in entries if row.round not in skipped],
        "skipped": skipped,
        "meaning": _meaning(result, list(read.values())),
        "labelers": _labeler_rows(result, people),
        "findings": findings_document(told_of(result.findings)),
        "charts": {"over-time": chart.title},
    }
    document = dict(plain(document))
    shown = render(
        "parts/labelers.html",
        found=document,
        rows=document["labelers"][:MOST_LABELERS],
        told=told_of(result.findings),
        chart=chart,
        level=level,
        floor=_floor(result),
    )
    files = {"labelers.csv": csv_text(result.to_frame("pyarrow").to_pydict()), **pictures({"over-time": chart})}
    return Result(document, shown, files)


def _meaning(result: OverTime, rounds: Sequence[hero.Round]) -> dict[str, str]:
    """Each share in words: of which items it is the share that is answered rightly, or where their scores lie."""
    classes = common_classes(rounds)
    of_two = {"specificity": classes[0], "sensitivity": classes[1]} if len(classes) == 2 else {}
    shares = dict.fromkeys(point.what for point in result.points)
    return {
        what: f"place of scores when it is {what.removeprefix('place_')!r}"
        if what.startswith("place_")
        else f"right when it is {of_two.get(what, what.removeprefix('right_'))!r}"
        for what in shares
    }


def _floor(result: OverTime) -> float:
    """Where the small lines over rounds start: at one half, or below whatever is lower."""
    ends = [end for point in result.points for end in (point.low, point.value) if math.isfinite(end)]
    return math.floor(10 * min([0.5, *ends])) / 10


def _labeler_rows(result: OverTime, people: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row a labeler: who it is, its shares in each round, and whether they moved. Those who drift come first."""
    known = {one["labeler"]: one for one in people}
    names = list(dict.fromkeys(point.labeler for point in result.points))
    rows = {name: _labeler_row(name, known.get(name, {})) for name in names}
    for point in result.points:
        row = rows[point.labeler]
        shares = row["shares"].setdefault(point.what, {"points": [], "drift": None})
        shares["points"].append({key: getattr(point, key) for key in ("round", "value", "low", "high", "gold")})
        row["counted"][point.round] = (point.labels, point.gold)
    for one in result.drifts:
        if one.drifts:
            rows[one.labeler]["drifts"] = True
            rows[one.labeler]["shares"][one.what]["drift"] = {
                "p_value": one.p_value,
                "lowest": {"round": one.lowest[0], "value": one.lowest[1]},
                "highest": {"round": one.highest[0], "value": one.highest[1]},
            }
    for row in rows.values():
        counted = row.pop("counted").values()
        row["labels"], row["gold"] = (sum(pair[place] for pair in counted) for place in (0, 1))
        row["shares"] = [{"what": what, **of} for what, of in row["shares"].items()]
    return sorted(rows.values(), key=lambda row: (not row["drifts"], -row["labels"], row["labeler"]))


def _labeler_row(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    who = {key: known.get(key) for key in ("kind", "model", "prompt", "vendor", "group")}
    return {"labeler": name, **who, "labels": 0, "gold": 0, "drifts": False, "shares": {}, "counted": {}}


# Backtest


def backtested(
    tell: Tell, store: str, version: int, question: str, level: float, positive: str | None = None
) -> Result:
    """Every method on past rounds whose gold it did not see."""
    opened = hero.open_store(store, version=version)
    entries = [row for row in opened.rounds() if row.question == question and not row.is_votes]
    read = read_all(opened, tell, entries)
    result = hero.backtest(
        list(read.values()),
        level=level,
        positive=positive,
        progress=lambda done, total: tell("Playing past rounds", done, total),
    )
    tell("Drawing", 0, 0)
    drawn = {"backtest": charts.backtest(result)}
    told = sorted(told_of(result.findings), key=lambda one: one.finding.severity != "warning")
    whole = result.to_dict()
    document = {
        "question": question,
        "store_version": version,
        **{key: whole[key] for key in ("what", "level", "best", "why", "gold_error", "plays", "skipped")},
        "methods": list(whole["methods"].values()),
        "drift": {"common": whole["drift"]["common"], "own": whole["drift"]["own"]},
        "rounds": list(result.rounds),
        "findings": findings_document(told),
        "charts": {name: chart.title for name, chart in drawn.items()},
    }
    document = dict(plain(document))
    shown = render("parts/backtest.html", found=document, told=told, chart=drawn["backtest"])
    files = {
        "plays.csv": csv_text(result.to_frame("pyarrow").to_pydict()),
        "methods.csv": csv_text(result.summary("pyarrow").to_pydict()),
        **pictures(drawn),
    }
    return Result(document, shown, files)
