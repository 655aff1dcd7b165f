"""What a report says, as one plain document: the HTML, Markdown and JSON forms all render it.

A report starts from an `Estimate`. Every method side by side, the labelers and the rounds come along where they are
known; a section about what is not known is left out rather than filled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hero_eval import __version__, phrasing
from hero_eval.charts.theme import Chart
from hero_eval.documents import SCHEMA_VERSION
from hero_eval.estimate import Estimate
from hero_eval.estimation.width_parts import shortening, width_parts
from hero_eval.findings import Finding
from hero_eval.gates import Verdict, chance_above

if TYPE_CHECKING:
    from hero_eval.labelers.reliability import Reliability
    from hero_eval.round import Round

MOST_LABELERS = 500
"""Rows of the table of labelers; a report is read, the frame of `Reliability` holds everybody."""


@dataclass(frozen=True)
class Row:
    """A number with its interval, as tables show it."""

    name: str
    value: float
    low: float
    high: float
    std_error: float
    chosen: bool = False
    chance: float | None = None
    """How sure it is that this one is higher than the baseline, or than the other of two; None if that is open."""
    undecided: str = ""
    """The findings that leave open which is higher, as text; nothing if none do."""


@dataclass(frozen=True)
class Told:
    """A finding, and whom it concerns if not the headline."""

    finding: Finding
    concerns: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """All that a report says. `charts` are pictures by the section that they belong to."""

    title: str
    answer: str
    estimate: Estimate
    rows: Sequence[Row]
    """What is compared: methods, or the two models of a difference."""
    rows_name: str
    skipped: Mapping[str, str]
    labelers: Sequence[Mapping[str, Any]]
    n_labelers: int
    told: Sequence[Told]
    width: str
    provenance: Sequence[tuple[str, str]]
    charts: Mapping[str, Chart] = field(repr=False)
    verdict: Verdict | None = None
    """What a gate says of the number, if one was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """The report as a document in plain types."""
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "report",
            "title": self.title,
            "answer": self.answer,
            "estimate": self.estimate.to_dict(),
            self.rows_name: [vars(row) for row in self.rows],
            "skipped": dict(self.skipped),
            "labelers": [dict(row) for row in self.labelers],
            "width": {
                "sentence": self.width,
                "parts": [vars(part) for part in width_parts(self.estimate)],
            },
            "findings": [{**one.finding.to_dict(), "concerns": one.concerns} for one in self.told],
            "provenance": dict(self.provenance),
            **({} if self.verdict is None else {"gate": self.verdict.to_dict()}),
        }


def gather(
    estimate: Estimate,
    *,
    methods: Mapping[str, Estimate] | None = None,
    skipped: Mapping[str, str] | None = None,
    reliability: Reliability | None = None,
    current: Round | None = None,
    names: tuple[str, str] = ("A", "B"),
    title: str | None = None,
    made_from: Sequence[tuple[str, str]] = (),
    verdict: Verdict | None = None,
) -> Report:
    """Put a report together. `names` are the two models of a difference; `made_from` is said at the end."""
    is_difference = estimate.target == "difference"
    compared = _sides(estimate, names) if is_difference else dict(methods or {})
    chances = chances_of(estimate, names) if is_difference else {}
    rows = [
        row_of(name, one, chosen=not is_difference and name == estimate.method, **chances.get(name, {}))
        for name, one in compared.items()
        if not math.isnan(one.value)
    ]
    return Report(
        title=title or _title(estimate),
        answer=phrasing.difference(estimate, *names) if is_difference else phrasing.headline(estimate),
        estimate=estimate,
        rows=rows,
        rows_name="models" if is_difference else "methods",
        skipped=dict(skipped or {}),
        labelers=labeler_rows(reliability) if reliability is not None else (),
        n_labelers=len(reliability.labelers) if reliability is not None else 0,
        told=told_of(estimate.findings, reliability),
        width=shortening(width_parts(estimate)),
        provenance=_provenance(estimate, reliability, current, made_from),
        charts=_charts(estimate, compared, reliability, current, names),
        verdict=verdict,
    )


def _title(estimate: Estimate) -> str:
    return estimate.what[:1].upper() + estimate.what[1:]


def _sides(estimate: Estimate, names: tuple[str, str]) -> dict[str, Estimate]:
    return {name: estimate.distribution[side] for name, side in zip(names, ("a", "b"), strict=True)}


def chances_of(estimate: Estimate, names: tuple[str, str]) -> dict[str, dict[str, Any]]:
    """How sure it is that each of two models is the higher one, or which findings leave that open."""
    if math.isnan(estimate.value):
        return {}
    higher = chance_above(estimate, 0.0)
    if higher is None:
        return {name: {"undecided": phrasing.codes(estimate.doubts)} for name in names}
    return {names[0]: {"chance": higher}, names[1]: {"chance": 1.0 - higher}}


def row_of(name: str, one: Estimate, *, chosen: bool = False, chance: float | None = None, undecided: str = "") -> Row:
    low, high = one.interval()
    return Row(name, one.value, low, high, one.std_error, chosen, chance, undecided)


def labeler_rows(reliability: Reliability, most: int = MOST_LABELERS) -> list[dict[str, Any]]:
    """As `Reliability.to_frame`, those with the most labels first, each with a word for its quality."""
    from hero_eval.labelers.reliability import UNINFORMATIVE

    rows: list[dict[str, Any]] = reliability.to_frame("pyarrow").to_pylist()
    rows.sort(key=lambda row: (-row["labels"], row["labeler"]))
    return [row | {"quality": phrasing.quality(row["discrimination"], UNINFORMATIVE)} for row in rows[:most]]


def told_of(findings: Sequence[Finding], reliability: Reliability | None = None) -> list[Told]:
    """The findings of a number, then those of the fit that it does not repeat; warnings first."""
    seen = {(one.code, one.fact) for one in findings}
    found = [(one, "") for one in findings]
    if reliability is not None:
        found += [(one, "The labelers") for one in reliability.table_findings if (one.code, one.fact) not in seen]
    told = [Told(one, concerns) for one, concerns in found]
    return sorted(told, key=lambda one: one.finding.severity != "warning")


def _provenance(
    estimate: Estimate,
    reliability: Reliability | None,
    current: Round | None,
    made_from: Sequence[tuple[str, str]],
) -> list[tuple[str, str]]:
    rows = [
        ("method", f"{estimate.method}: {_summary(estimate.method)}"),
        ("why this method", estimate.why or "it was asked for"),
        ("interval", f"{phrasing.percent(estimate.level)}, {estimate.interval_kind}"),
        ("items", f"{estimate.n_items:,}"),
        ("gold", estimate.gold_words),
    ]
    if estimate.em is not None:
        rows.append(("fit", estimate.em.state))
    if current is not None:
        rows.append(("current round", _round_line(current)))
    if reliability is not None:
        rows += [("history", _round_line(one)) for one in reliability.rounds[:20]]
        if len(reliability.rounds) > 20:
            rows.append(("history", f"and {len(reliability.rounds) - 20} more rounds"))
    rows += list(made_from)
    rows.append(("made by", f"hero-eval {__version__}"))
    return rows


def _round_line(one: Round) -> str:
    return (
        f"{one.name}: {phrasing.count(one.n_items, 'item')}, {phrasing.count(one.n_labels, 'label')} by "
        f"{phrasing.count(len(one.labelers), 'labeler')}, {one.n_gold:,} gold"
    )


def _summary(method: str) -> str:
    from hero_eval.methods.registry import all_methods

    known = all_methods().get(method)
    return known.summary if known is not None else method


def _charts(
    estimate: Estimate,
    compared: Mapping[str, Estimate],
    reliability: Reliability | None,
    current: Round | None,
    names: tuple[str, str],
) -> dict[str, Chart]:
    from hero_eval import charts

    made: dict[str, Chart] = {}
    known = {name: one for name, one in compared.items() if not math.isnan(one.value)}
    if estimate.target == "difference" and not math.isnan(estimate.value):
        made["answer"] = charts.difference(estimate, *names)
    elif known:
        made["methods"] = charts.methods(known, chosen=estimate.method)
    if len(estimate.distribution) > 2:
        made["distribution"] = charts.estimates(estimate.distribution, "class")
    if width_parts(estimate):
        made["width"] = charts.width(estimate)
    if reliability is not None:
        made |= _labeler_charts(reliability, current)
    return made


def _labeler_charts(reliability: Reliability, current: Round | None) -> dict[str, Chart]:
    from hero_eval import charts
    from hero_eval.labelers.agreement import agreement

    made = {"labelers": charts.labelers(reliability)}
    shown = [*reliability.rounds[-3:], *([] if current is None else [current])]
    if current is not None and not any(one.stays_in_engine for one in shown):
        made["pool"] = charts.pool_shift(shown)
    pairs = agreement(reliability)
    if pairs.pairs:
        made["agreement"] = charts.agreement(pairs)
    return made
