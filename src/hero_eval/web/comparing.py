"""Models compared: all by the same history and method, each against the baseline, and the first against the second."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import hero_eval as hero
from hero_eval import charts, words
from hero_eval.charts.look import csv_text
from hero_eval.documents import plain
from hero_eval.errors import wrong
from hero_eval.estimate import Estimate
from hero_eval.methods.registry import all_methods
from hero_eval.report.contents import Told
from hero_eval.store.log import Entry, Log, earlier
from hero_eval.web.answers import (
    Result,
    estimate_document,
    findings_document,
    pictures,
    read_all,
    steps,
    told_of,
)
from hero_eval.web.process import Tell

MOST_MODELS = 12


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
    read = read_all(opened, tell, [*entries, *past])
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
    files = {**pictures(drawn), "models.csv": csv_text(_model_columns(document["models"]))}
    return Result(dict(plain(document)), "", files)


def _common_history(log: Log, entries: Sequence[Entry]) -> tuple[list[Entry], bool]:
    """Rounds before the latest of these, the compared ones left out; with them if nobody else has gold."""
    newest = max(entries, key=lambda row: row.place_in_time)
    past = [row for row in earlier(log, newest) if row.question == newest.question]
    compared = {row.round for row in entries}
    apart = [row for row in past if row.round not in compared]
    return (apart, True) if any(row.gold for row in apart) else (past, False)


def _learned(past: Sequence[hero.Round], tell: Tell) -> Any:
    """History fitted once for all; as it is if it cannot be fitted, so that methods without it can answer."""
    if not past:
        return None
    try:
        return hero.fit_reliability(list(past), progress=steps(tell, "Learning from history"))
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
        "date": None if row.date is None else row.date.isoformat(),
        **estimate_document(one),
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
