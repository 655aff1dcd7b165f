"""Models compared: each by its own number, that of its page, and by its difference to the baseline and to the next.

A round has one number wherever it is shown: by the rounds before it. Differences need one history for both sides, that
before the latest round without the compared ones: a difference need not be that of two numbers, and the page says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import hero_eval as hero
from hero_eval import charts, phrasing
from hero_eval.charts.theme import csv_text
from hero_eval.documents import plain
from hero_eval.errors import wrong
from hero_eval.estimate import Estimate
from hero_eval.gates import chance_above
from hero_eval.methods.registry import all_methods
from hero_eval.report.document import Told
from hero_eval.store.estimates import asked_of, make
from hero_eval.store.log import Entry
from hero_eval.store.past_rounds import common_past
from hero_eval.web.jobs import (
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
    """One round minus another: the difference, its interval, how sure it is that it is above nothing (None if that is
    undecided or unknown), and the findings that leave it undecided."""

    value: float
    low: float
    high: float
    chance: float | None
    doubts: tuple[hero.Finding, ...] = ()

    def turned(self) -> Gap:
        return Gap(-self.value, -self.high, -self.low, None if self.chance is None else 1.0 - self.chance, self.doubts)


def models_compared(
    tell: Tell, store: str, version: int, rounds: Sequence[str], baseline: str, options: Mapping[str, Any]
) -> Result:
    """Every model's own number, each against the baseline, and the first against the second."""
    opened = hero.open_store(store, version=version)
    log = opened.log()
    entries = [log.find(name) for name in rounds]
    if not 2 <= len(entries) <= MOST_MODELS:
        raise wrong("E206", f"{len(entries)} rounds are named. Name 2 to {MOST_MODELS} rounds to compare")
    if len({row.question for row in entries}) > 1:
        raise wrong("E205", "the rounds answer different questions. Compare rounds of one question")
    names = _model_names(entries)
    own = {}
    for place, row in enumerate(entries):
        tell(f"Estimating {names[row.round]}", place, len(entries))
        asked = asked_of("estimate", row.round, options)
        own[row.round] = make(opened, asked, steps(tell, f"Learning for {names[row.round]}"), version=version)
    found: dict[str, Estimate] = {name: one.result for name, one in own.items()}
    past, is_apart = common_past(log, [row.round for row in entries])
    read = read_all(opened, tell, [*entries, *past])
    gaps = _Gaps(read, [row.round for row in past], options, tell)
    others = [row for row in entries if row.round != baseline]
    for place, row in enumerate(others):
        tell(f"Comparing with {names[baseline]}", place, len(others))
        gaps(row.round, baseline)
    tell("Drawing", 0, 0)
    leaders = {way: _leader(found, gaps, names, way) for way in ("high", "low")}
    first = found[baseline]
    told = [one for row in entries for one in told_of(found[row.round].findings, names[row.round])]
    told += gaps.told(told, names)
    document: dict[str, Any] = {
        "question": entries[0].question,
        "store_version": version,
        "what": first.what,
        "bounds": list(first.bounds),
        "level": first.level,
        "baseline": baseline,
        "history": [row.round for row in past],
        "history_is_apart": is_apart,
        "models": [
            {**_model_row(row, found[row.round], gaps, baseline, names), "history": list(own[row.round].history)}
            for row in entries
        ],
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


def _learned(past: Sequence[hero.Round], tell: Tell) -> Any:
    """History fitted once for all; as it is if it cannot be fitted, so that methods without it can answer."""
    if not past:
        return None
    try:
        return hero.fit_reliability(list(past), progress=steps(tell, "Learning from history"))
    except hero.SupportError:
        return list(past)


def _one_method(options: Mapping[str, Any], first: Estimate) -> Mapping[str, Any]:
    """What the data chose for the first difference is taken for all: to try methods anew for each costs time, and
    differences by different methods are not alike. A method that needs covariates chooses these anew."""
    known = all_methods().get(first.method)
    needy = known is None or known.needs_covariates or known.by_design
    return options if needy else {**options, "method": first.method}


def _model_names(entries: Sequence[Entry]) -> dict[str, str]:
    """What each round is called among these: its model, with the round where a model comes twice."""
    models = [row.model for row in entries]
    return {
        row.round: row.model if row.model and models.count(row.model) == 1 else f"{row.model or 'round'} {row.round}"
        for row in entries
    }


class _Gaps:
    """Differences between rounds, each worked out once, with neither of the two in history unless no other has gold."""

    def __init__(
        self, read: Mapping[str, hero.Round], past: Sequence[str], options: Mapping[str, Any], tell: Tell
    ) -> None:
        self._read, self._past, self._options, self._tell = read, past, options, tell
        self._learned: dict[tuple[str, ...], Any] = {}
        self.estimates: dict[tuple[str, str], Estimate] = {}

    def _history(self, a: str, b: str) -> Any:
        """Learned once for all that share it."""
        apart = tuple(name for name in self._past if name not in (a, b))
        names = apart if any(self._read[name].n_gold for name in apart) else tuple(self._past)
        if names not in self._learned:
            self._learned[names] = _learned([self._read[name] for name in names], self._tell)
        return self._learned[names]

    def __call__(self, a: str, b: str) -> Gap:
        if (b, a) in self.estimates:
            return self(b, a).turned()
        if (a, b) not in self.estimates:
            self.estimates[a, b] = hero.estimate_difference(
                self._read[a], self._read[b], self._history(a, b), **self._options
            )
            self._options = _one_method(self._options, self.estimates[a, b])
        one = self.estimates[a, b]
        return Gap(one.value, *one.interval(), chance_above(one, 0.0), one.doubts)

    def told(self, already: Sequence[Told], names: Mapping[str, str]) -> list[Told]:
        """The warnings of the differences that no model's own number has."""
        seen = {(one.finding.code, one.finding.fact) for one in already}
        return [
            Told(finding, f"{names[a]} against {names[b]}")
            for (a, b), one in self.estimates.items()
            for finding in one.findings
            if finding.severity == "warning" and (finding.code, finding.fact) not in seen
        ]


def _leader(found: Mapping[str, Estimate], gaps: _Gaps, names: Mapping[str, str], way: str) -> dict[str, Any] | None:
    """The first, the second, and how sure the order of these two is; None if fewer than two have a number.

    The two are the first by their own numbers; which of them leads is what their difference says, which pairs them.
    """
    known = [(one.value, name) for name, one in found.items() if math.isfinite(one.value)]
    if len(known) < 2:
        return None
    known.sort(key=lambda pair: -pair[0] if way == "high" else pair[0])
    first, second = known[0][1], known[1][1]
    gap = gaps(first, second)
    gap = gap if way == "high" else gap.turned()
    if gap.value < 0.0:
        first, second, gap = second, first, gap.turned()
    return {
        "first": names[first],
        "second": names[second],
        "chance": gap.chance,
        "low": gap.low,
        "high": gap.high,
        "is_clear": gap.low > 0.0 and not gap.doubts,
        "undecided": _undecided(gap),
    }


def _undecided(gap: Gap) -> list[dict[str, str]]:
    """What leaves the order of two models open, and what to do about it."""
    return [{"code": one.code, "message": one.fact, "action": one.action} for one in gap.doubts]


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
        "undecided": [] if gap is None else _undecided(gap),
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
        seen.setdefault((one.finding.code, one.finding.fact), []).append(one)
    merged = [
        of[0] if len(of) == 1 else Told(of[0].finding, phrasing.join([one.concerns for one in of]))
        for of in seen.values()
    ]
    return sorted(merged, key=lambda one: one.finding.severity != "warning")
