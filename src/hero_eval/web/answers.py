"""What the working process works out of the store: documents for the API, markup for the pages, files to download."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import hero_eval as hero
from hero_eval import charts, remedies, words
from hero_eval.charts.look import Chart, csv_text
from hero_eval.documents import json_text, plain
from hero_eval.errors import HeroError, wrong
from hero_eval.estimate import Estimate
from hero_eval.methods.registry import all_methods
from hero_eval.over_time import OverTime, reliability_over_time
from hero_eval.report.contents import Report, Row, Told
from hero_eval.report.making import report_of
from hero_eval.report.pages import html
from hero_eval.report.text import markdown
from hero_eval.round import common_classes
from hero_eval.store.estimates import asked_of, make, save
from hero_eval.store.log import Entry, earlier
from hero_eval.web.process import Tell
from hero_eval.web.rendering import render

MOST_MODELS = 12
MOST_LABELERS = 300
"""Labelers that the page shows; the files hold all."""


@dataclass(frozen=True)
class Result:
    """What was worked out. `html` is markup made by our templates; `files` are texts by name."""

    document: Mapping[str, Any]
    html: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def _steps(tell: Tell, text: str) -> Callable[[int, float], None]:
    """Steps of a climb whose length nobody knows."""
    return lambda step, _change: tell(f"{text}: step {step}", 0, 0)


def _pictures(drawn: Mapping[str, Chart]) -> dict[str, str]:
    """Each chart as a picture and as its numbers."""
    files: dict[str, str] = {}
    for name, chart in drawn.items():
        files[f"{name}.svg"] = chart.svg()
        files[f"{name}.csv"] = csv_text(chart.columns)
    return files


def told_of(findings: Sequence[hero.Finding], concerns: str = "") -> list[Told]:
    return [Told(one, remedies.FINDINGS.get(one.code, ""), concerns) for one in findings]


def findings_document(told: Sequence[Told]) -> list[dict[str, Any]]:
    return [
        {
            "code": one.finding.code,
            "severity": one.finding.severity,
            "message": one.finding.message,
            "remedy": one.remedy,
            "concerns": one.concerns,
        }
        for one in told
    ]


# A round


def round_result(
    tell: Tell, store: str, version: int, name: str, options: Mapping[str, Any], saved: bool = True
) -> Result:
    """The estimate of a round, every method beside it, its labelers, and the report."""
    opened = hero.open_store(store)
    tell("Reading the round and its history", 0, 0)
    asked = asked_of("estimate", name, options)
    recorded = make(opened, asked, _steps(tell, "Learning from history"), version=version)
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
        **_pictures(report.charts),
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
        "estimate": _estimate_document(report.estimate),
        "methods": [vars(row) for row in report.rows],
        "skipped": dict(report.skipped),
        "labelers": [dict(row) for row in report.labelers],
        "n_labelers": report.n_labelers,
        "width": whole["width"],
        "findings": findings_document(report.told),
        "provenance": [{"name": name, "what": what} for name, what in report.provenance],
        "charts": {name: chart.title for name, chart in report.charts.items()},
    }


def _estimate_document(one: Estimate) -> dict[str, Any]:
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
        "converged": one.converged,
    }


def _rows_csv(first: str, rows: Sequence[Row]) -> str:
    names = ("value", "low", "high", "std_error")
    return csv_text({first: [row.name for row in rows], **{key: [getattr(row, key) for row in rows] for key in names}})


def _dicts_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    return csv_text({key: [row[key] for row in rows] for key in rows[0]}) if rows else "\n"


# Models


@dataclass(frozen=True)
class Gap:
    """One round minus another: the difference, its interval, and how sure it is that it is above nothing."""

    value: float
    low: float
    high: float
    chance: float

    def turned(self) -> Gap:
        return Gap(-self.value, -self.high, -self.low, 1.0 - self.chance)


def models_compared(
    tell: Tell, store: str, version: int, rounds: Sequence[str], baseline: str, options: Mapping[str, Any]
) -> Result:
    """Models by the same history, each against the baseline, and the first against the second."""
    opened = hero.open_store(store, version=version)
    log = opened.log()
    entries = [log.find(name) for name in rounds]
    if not 2 <= len(entries) <= MOST_MODELS:
        raise wrong("E206", f"{len(entries)} rounds are named. Name 2 to {MOST_MODELS} rounds to compare")
    if len({row.question for row in entries}) > 1:
        raise wrong("E205", "the rounds answer different questions. Compare rounds of one question")
    past, is_apart = _common_history(log, entries)
    read = _read_all(opened, tell, [*entries, *past])
    history = _learned([read[row.round] for row in past], tell)
    names = _model_names(entries)
    tell(f"Estimating {names[entries[0].round]}", 0, len(entries))
    found = {entries[0].round: hero.estimate_rate(read[entries[0].round], history, **options)}
    options = _one_method(options, found[entries[0].round])
    for place, row in enumerate(entries[1:], 1):
        tell(f"Estimating {names[row.round]}", place, len(entries))
        found[row.round] = hero.estimate_rate(read[row.round], history, **options)
    gaps = _Gaps(read, history, options)
    others = [row for row in entries if row.round != baseline]
    for place, row in enumerate(others):
        tell(f"Comparing with {names[baseline]}", place, len(others))
        gaps(row.round, baseline)
    tell("Drawing", 0, 0)
    leaders = {way: _leader(found, gaps, names, way) for way in ("high", "low")}
    first = found[baseline]
    told = [one for row in entries for one in told_of(found[row.round].findings, names[row.round])]
    document: dict[str, Any] = {
        "question": entries[0].question,
        "store_version": version,
        "what": first.what,
        "bounds": list(first.bounds),
        "level": first.level,
        "baseline": baseline,
        "history": [row.round for row in past],
        "history_is_apart": is_apart,
        "models": [_model_row(row, found[row.round], gaps, baseline, names) for row in entries],
        "leaders": leaders,
        "findings": findings_document(_once(told)),
    }
    by_name = {names[row.round]: found[row.round] for row in entries}
    drawn = {"models": charts.estimates(by_name, "model")}
    against = {names[row.round]: gaps.estimates[row.round, baseline] for row in others}
    drawn["differences"] = charts.differences(against, names[baseline])
    document["charts"] = {name: chart.title for name, chart in drawn.items()}
    files = {**_pictures(drawn), "models.csv": csv_text(_model_columns(document["models"]))}
    return Result(dict(plain(document)), "", files)


def _common_history(log: Any, entries: Sequence[Entry]) -> tuple[list[Entry], bool]:
    """Rounds before the latest of these, the compared ones left out; with them if nobody else has gold."""
    newest = max(entries, key=lambda row: row.place_in_time)
    past = [row for row in earlier(log, newest) if row.question == newest.question]
    compared = {row.round for row in entries}
    apart = [row for row in past if row.round not in compared]
    return (apart, True) if any(row.gold for row in apart) else (past, False)


def _read_all(store: hero.Store, tell: Tell, entries: Sequence[Entry]) -> dict[str, hero.Round]:
    wanted = {row.round: row for row in entries}
    read = {}
    for place, (name, row) in enumerate(wanted.items()):
        tell("Reading rounds", place, len(wanted))
        read[name] = store.read(row)
    return read


def _learned(past: Sequence[hero.Round], tell: Tell) -> Any:
    """History fitted once for all; as it is if it cannot be fitted, so that methods without it can answer."""
    if not past:
        return None
    try:
        return hero.fit_reliability(list(past), progress=_steps(tell, "Learning from history"))
    except hero.SupportError:
        return list(past)


def _one_method(options: Mapping[str, Any], first: Estimate) -> Mapping[str, Any]:
    """What the data chose for the first model is taken for all: to try methods anew for each costs time, and numbers
    by different methods are not alike. A method that needs covariates chooses these anew."""
    known = all_methods().get(first.method)
    return options if known is None or "covariates" in known.needs else {**options, "method": first.method}


def _model_names(entries: Sequence[Entry]) -> dict[str, str]:
    """What each round is called among these: its model, with the round where a model comes twice."""
    models = [row.model for row in entries]
    return {
        row.round: row.model if row.model and models.count(row.model) == 1 else f"{row.model or 'round'} {row.round}"
        for row in entries
    }


class _Gaps:
    """Differences between rounds, each worked out once."""

    def __init__(self, read: Mapping[str, hero.Round], history: Any, options: Mapping[str, Any]) -> None:
        self._read, self._history, self._options = read, history, options
        self.estimates: dict[tuple[str, str], Estimate] = {}

    def __call__(self, a: str, b: str) -> Gap:
        if (b, a) in self.estimates:
            return self(b, a).turned()
        if (a, b) not in self.estimates:
            self.estimates[a, b] = hero.estimate_difference(
                self._read[a], self._read[b], self._history, **self._options
            )
        one = self.estimates[a, b]
        return Gap(one.value, *one.interval(), one.probability_above(0.0))


def _leader(found: Mapping[str, Estimate], gaps: _Gaps, names: Mapping[str, str], way: str) -> dict[str, Any] | None:
    """The first, the second, and how sure the order of these two is; None if fewer than two have a number."""
    known = [(one.value, name) for name, one in found.items() if math.isfinite(one.value)]
    if len(known) < 2:
        return None
    known.sort(key=lambda pair: -pair[0] if way == "high" else pair[0])
    first, second = known[0][1], known[1][1]
    gap = gaps(first, second)
    gap = gap if way == "high" else gap.turned()
    return {
        "first": names[first],
        "second": names[second],
        "chance": gap.chance,
        "low": gap.low,
        "high": gap.high,
        "is_clear": gap.low > 0.0,
    }


def _model_row(row: Entry, one: Estimate, gaps: _Gaps, baseline: str, names: Mapping[str, str]) -> dict[str, Any]:
    gap = None if row.round == baseline else gaps(row.round, baseline)
    return {
        "model": names[row.round],
        "round": row.round,
        "date": row.date.isoformat(),
        **_estimate_document(one),
        "is_baseline": gap is None,
        "difference": None if gap is None else {"value": gap.value, "low": gap.low, "high": gap.high},
        "chance_higher": None if gap is None else gap.chance,
    }


def _model_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = ("model", "round", "date", "value", "low", "high", "std_error", "method", "n_items", "chance_higher")
    columns = {name: [row[name] for row in rows] for name in names}
    for part in ("value", "low", "high"):
        columns[f"difference_{part}"] = [(row["difference"] or {}).get(part) for row in rows]
    return columns


def _once(told: Sequence[Told]) -> list[Told]:
    """Findings that several models share are said once, of all; warnings first."""
    seen: dict[tuple[str, str], list[Told]] = {}
    for one in told:
        seen.setdefault((one.finding.code, one.finding.message), []).append(one)
    merged = [
        of[0] if len(of) == 1 else Told(of[0].finding, of[0].remedy, words.join([one.concerns for one in of]))
        for of in seen.values()
    ]
    return sorted(merged, key=lambda one: one.finding.severity != "warning")


def course(tell: Tell, points: Sequence[Mapping[str, Any]], what: str, bounds: tuple[float, float]) -> Result:
    """Numbers that were recorded, drawn over rounds."""
    tell("Drawing", 0, 0)
    chart = charts.over_rounds([charts.RoundValue(**point) for point in points], what=what, bounds=bounds)
    shown = render("parts/figure.html", chart=chart)
    return Result({"charts": {"course": chart.title}}, shown, _pictures({"course": chart}))


# Labelers


def labelers_over_time(
    tell: Tell, store: str, version: int, question: str, level: float, people: Sequence[Mapping[str, Any]]
) -> Result:
    """Every labeler round by round, on the gold of each round, and who drifts."""
    opened = hero.open_store(store, version=version)
    entries = [row for row in opened.rounds() if row.question == question]
    read = _read_all(opened, tell, [row for row in entries if row.gold])
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
    files = {"labelers.csv": csv_text(result.frame("pyarrow").to_pydict()), **_pictures({"over-time": chart})}
    return Result(document, shown, files)


def _meaning(result: OverTime, rounds: Sequence[hero.Round]) -> dict[str, str]:
    """Each share in words: of which items it is the share that is answered rightly."""
    classes = common_classes(rounds)
    of_two = {"specificity": classes[0], "sensitivity": classes[1]} if len(classes) == 2 else {}
    shares = dict.fromkeys(point.what for point in result.points)
    return {what: f"right when it is {of_two.get(what, what.removeprefix('right_'))!r}" for what in shares}


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
    entries = [row for row in opened.rounds() if row.question == question]
    read = _read_all(opened, tell, entries)
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
        "plays.csv": csv_text(result.frame("pyarrow").to_pydict()),
        "methods.csv": csv_text(result.summary("pyarrow").to_pydict()),
        **_pictures(drawn),
    }
    return Result(document, shown, files)
