"""What each command shows, as pages of blocks. The numbers come ready; here they get their words and places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hero_eval import phrasing
from hero_eval.cli.bars import Axis, common_axis
from hero_eval.cli.blocks import Column, Facts, Heading, Line, Page, Remarks, Table, remarks
from hero_eval.estimation.width_parts import shortening, width_parts
from hero_eval.findings import doubts_of

if TYPE_CHECKING:
    from hero_eval.estimate import Estimate
    from hero_eval.estimation.rivals import Summary
    from hero_eval.findings import Finding
    from hero_eval.labelers.reliability import Reliability
    from hero_eval.methods.registry import Method
    from hero_eval.targets.backtest import Backtest
    from hero_eval.targets.comparison import Comparison
    from hero_eval.targets.grouped import GroupedEstimates
    from hero_eval.targets.moderation import Moderation
    from hero_eval.targets.moderation_groups import GroupedModeration

CLASSES_A_TABLE = 4
"""Columns of "value ± error" that fit beside a name in 80 columns."""


def estimate(result: Estimate) -> Page:
    page: Page = [Line(phrasing.headline(result), strong=True), Facts(phrasing.estimate_facts(result))]
    if len(result.distribution) > 2:
        page.append(_values("class", result.distribution, (0.0, 1.0)))
    if parts := width_parts(result):
        page.append(Line(f"{phrasing.SHORTER} {shortening(parts)}"))
    return page + remarks(result.findings)


def family(result: GroupedEstimates) -> Page:
    """One row a group, and what their intervals mean together."""
    first = next(iter(result.values()))
    quantity = first.what.split(" where ")[0]
    title = (
        f"The {quantity} by {result.by}; all {len(result)} intervals hold together at {phrasing.percent(result.level)}."
    )
    doubts = phrasing.codes(doubts_of(result.findings))
    title = f"{title} In doubt: {doubts}." if doubts else title
    page: Page = [Line(title, strong=True), _values(result.by, result, first.bounds)]
    return [*page, Facts(phrasing.how(first)[:1]), *remarks(result.findings)]


def _values(
    first: str,
    estimates: Mapping[str, Estimate],
    bounds: tuple[float, float],
    mark: float | None = None,
    skipped: Sequence[str] = (),
    axis: Axis | None = None,
) -> Table:
    """A row for each estimate: value, standard error, interval, and the interval drawn."""
    places = phrasing.decimals([one.std_error for one in estimates.values()])
    ends = [end for one in estimates.values() for end in one.interval()]
    axis = axis or common_axis([*ends, *([] if mark is None else [mark])], bounds)
    level = phrasing.percent(next(iter(estimates.values())).level) + " " if estimates else ""
    rows = [
        [
            name,
            phrasing.number(one.value, places),
            phrasing.number(one.std_error, places),
            phrasing.span(*one.interval(), places),
            axis.draw(one.value, *one.interval(), mark),
        ]
        for name, one in estimates.items()
    ]
    rows += [
        [name, phrasing.UNKNOWN, phrasing.UNKNOWN, phrasing.UNKNOWN, "not possible, see below"] for name in skipped
    ]
    columns = [
        Column(first, "left", cut=True),
        Column("value"),
        Column("std error"),
        Column(f"{level}interval", "left"),
        Column(axis.title(), "left", chart=True),
    ]
    return Table(columns, rows)


def comparison(result: Comparison, mark: float | None = None) -> Page:
    """Every method side by side; those that could not run, and why."""
    bounds = next((one.bounds for one in result.estimates.values()), (0.0, 1.0))
    page: Page = [_values("method", result.estimates, bounds, mark, tuple(result.skipped))]
    if result.skipped:
        page.append(Facts([(name, f"not possible: {reason}") for name, reason in result.skipped.items()]))
    return page


def comparison_remarks(result: Comparison) -> Page:
    """Each finding once, with the methods that it concerns."""
    concerns: dict[tuple[str, str], tuple[Finding, list[str]]] = {}
    for name, one in result.estimates.items():
        for finding in one.findings:
            concerns.setdefault((finding.code, finding.fact), (finding, []))[1].append(name)
    every = len(result.estimates)
    found = [
        (finding, "" if len(of) == every or finding.fact.startswith(of[0]) else ", ".join(of))
        for finding, of in concerns.values()
    ]
    return [Remarks(found)] if found else []


def methods_of_round(result: Comparison) -> Page:
    """All methods on the headline or, if no class is positive, on each class in turn."""
    page: Page = []
    for one in _by_class(result):
        what = next((one.what for one in one.estimates.values()), "rate")
        page += [Line(f"Every method on the {what}", strong=True), *comparison(one)]
    return page + comparison_remarks(result)


def _by_class(result: Comparison) -> list[Comparison]:
    estimates = result.estimates
    if not estimates or not all(math.isnan(one.value) and one.distribution for one in estimates.values()):
        return [result]
    classes = next(iter(estimates.values())).distribution
    return [
        replace(
            result,
            estimates={method: one.distribution[name] for method, one in estimates.items()},
            skipped=result.skipped if name == next(iter(classes)) else {},
        )
        for name in classes
    ]


def difference(result: Estimate, a: str, b: str) -> Page:
    rates = {a: result.distribution["a"], b: result.distribution["b"]}
    low, high = result.interval()
    places = phrasing.decimals([result.std_error], 4)
    facts = [
        ("difference", f"{phrasing.number(result.value, places, '+')} ({a} minus {b})"),
        (
            phrasing.interval_name(result),
            f"{phrasing.number(low, places, '+')} to {phrasing.number(high, places, '+')}",
        ),
        ("standard error", phrasing.number(result.std_error, places)),
        *phrasing.how(result),
    ]
    return [
        Line(phrasing.difference(result, a, b), strong=True),
        _values(result.what.removeprefix("difference in "), rates, rates[a].bounds),
        Facts(facts),
        *remarks(result.findings),
    ]


def moderation(result: Moderation) -> Page:
    named = {one.what: one for one in result.values()}
    sentence = phrasing.moderation(result.prevalence, result.precision, result.recall)
    return [
        Line(sentence, strong=True),
        _values("quantity", named, (0.0, 1.0), axis=Axis(0.0, 1.0)),
        Facts(phrasing.how(result.prevalence)),
        *remarks(result.findings),
    ]


def moderation_family(result: GroupedModeration) -> Page:
    """A table for each quantity, one row a group."""
    first = next(iter(result.values()))
    level = phrasing.percent(result.level)
    title = f"Moderation by {result.by}; the {len(result)} intervals of a quantity hold together at {level}."
    doubts = phrasing.codes(doubts_of(result.findings))
    page: Page = [Line(f"{title} In doubt: {doubts}." if doubts else title, strong=True)]
    for name in ("prevalence", "precision", "recall"):
        of_groups = {group: one[name] for group, one in result.items()}
        page += [Heading(first[name].what.split(" where ")[0]), _values(result.by, of_groups, (0.0, 1.0))]
    return [*page, Facts(phrasing.how(first.prevalence)[:1]), *remarks(result.findings)]


def config(file: str | None, settings: Mapping[str, Any], known: Mapping[str, str]) -> Page:
    """What a project's file says, and what it may say."""
    if file is None:
        lead = Line("No hero.toml, and no [tool.hero] in pyproject.toml, here or in a folder above.", strong=True)
    else:
        lead = Line(f"From {file}", strong=True, whole=True)
    said: Page = [Facts([(key, _toml(value)) for key, value in settings.items()])] if settings else []
    more = [(key, what) for key, what in known.items() if key not in settings]
    tail = "The command line comes first, then the environment (HERO_STORE), then the file."
    return [lead, *said, Heading("May be said" if not settings else "May be said too"), Facts(more), Line(tail)]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(of)}" for key, of in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value) if isinstance(value, str) else str(value)


def labelers(result: Reliability, rows: Sequence[Mapping[str, Any]]) -> Page:
    """The reliability table; `rows` are those of `labelers_rows`."""
    summary = (
        f"{phrasing.count(len(rows), 'labeler')}, learned from {phrasing.count(result.n_items, 'item')} of which "
        f"{result.n_gold:,} have gold (EM {result.report.state})."
    )
    if len(result.classes) == 2 and not result.scored:
        tables: Page = [*_two_classes(rows)]
    else:
        tables = _more_classes(result.classes, rows, scored=result.scored)
    page: Page = [Line(summary, strong=True), *tables]
    if any(value is None for row in rows for key, value in row.items() if key.endswith("_se")):
        page.append(Line("± ? marks a value at its bound, or without gold, which has no standard error."))
    return page + remarks(result.table_findings)


_LABELER = (Column("labeler", "left", cut=True), Column("labels"), Column("gold"))


def _base(row: Mapping[str, Any]) -> list[str]:
    return [row["labeler"], f"{row['labels']:,}", f"{row['gold']:,}"]


def _skill(row: Mapping[str, Any]) -> str:
    return f"{row['discrimination']:5.2f}  {row['quality']}"


def _places(rows: Sequence[Mapping[str, Any]]) -> int:
    """Two, or as many as keep every standard error from looking like 0."""
    errors = [value for row in rows for key, value in row.items() if key.endswith("_se") and value]
    return next((places for places in (2, 3) if all(round(error, places) for error in errors)), 4)


def _with_error(row: Mapping[str, Any], name: str, places: int) -> str:
    error = row[f"{name}_se"]
    return phrasing.give_or_take(row[name], float("nan") if error is None else error, places)


def _two_classes(rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    columns = [
        *_LABELER,
        Column("sensitivity", "left"),
        Column("specificity", "left"),
        Column("discrimination", "left"),
    ]
    sides, places = ("sensitivity", "specificity"), _places(rows)
    cells = [[*_base(row), *(_with_error(row, side, places) for side in sides), _skill(row)] for row in rows]
    return [Table(columns, cells)]


def _more_classes(classes: Sequence[str], rows: Sequence[Mapping[str, Any]], *, scored: bool) -> Page:
    """Discrimination first, then how often each class is named rightly, or where its scores lie, a few at a time."""
    said = "Mean place of the scores among the labeler's own, 0 the lowest and 1 the highest, where gold is"
    head, share = (said, "place") if scored else ("Share of each gold class that is answered rightly:", "right")
    columns = [*_LABELER, Column("discrimination", "left")]
    page: Page = [Table(columns, [[*_base(row), _skill(row)] for row in rows])]
    places = _places(rows)
    for start in range(0, len(classes), CLASSES_A_TABLE):
        some = classes[start : start + CLASSES_A_TABLE]
        page.append(Line(f"{head} {', '.join(map(repr, some))}"))
        heads = [Column("labeler", "left", cut=True), *(Column(_short(name), "left") for name in some)]
        cells = [[row["labeler"], *(_with_error(row, f"{share}_{name}", places) for name in some)] for row in rows]
        page.append(Table(heads, cells))
    return page


def _short(name: str) -> str:
    return name if len(name) <= 11 else f"{name[:10]}…"


def methods(registry: Mapping[str, Method]) -> Page:
    rows = [
        (one.name, f"{one.summary}; needs {phrasing.join(one.needs) or 'labels only'}") for one in registry.values()
    ]
    return [
        Facts(rows),
        Line("Without --method the best that the data allow is taken: `hero estimate` says which and why."),
    ]


def check(found: Mapping[str, Any], findings: Sequence[Finding]) -> Page:
    """What a round holds and, beside a history, what could be estimated from it."""
    here = found["round"]
    page: Page = [Line(f"Round {_one_line(here)}", strong=True), Facts(_round_facts(here))]
    page += [Line(f"History {_one_line(past)}", strong=True) for past in found["history"]]
    if found["labelers"] is not None:
        sides = [(f"labelers {side}", found["labelers"][side]) for side in ("known", "unknown")]
        page.append(Facts([(name, f"{len(who)}: {', '.join(who)}" if who else "none") for name, who in sides]))
    if found["methods"] is not None:
        page += [Heading("Methods"), Facts([(one["name"], _outlook(one)) for one in found["methods"]])]
    if found["best"] is not None:
        page.append(Line(f"hero estimate would use {found['best']['method']}: {found['best']['why']}."))
        if found["best"]["refusal"] is not None:
            page.append(Line(found["best"]["refusal"], strong=True))
    return page + remarks(findings)


def _one_line(one: Mapping[str, Any]) -> str:
    return (
        f"{one['name']!r}: {phrasing.count(one['items'], 'item')}, {phrasing.count(one['labels'], 'label')} by "
        f"{phrasing.count(len(one['labelers']), 'labeler')}, {one['gold']:,} gold"
    )


def _round_facts(one: Mapping[str, Any]) -> list[tuple[str, str]]:
    per = one["labels_per_item"]
    covariates = [f"{name} ({phrasing.percent(round(share, 3))} missing)" for name, share in one["covariates"].items()]
    weight = one["weight"]
    return [
        ("labels per item", _range(per) + f", {per['mean']:.1f} on average"),
        ("labelers", ", ".join(one["labelers"])),
        ("gold", ", ".join(f"{name}: {of:,}" for name, of in one["gold_by_class"].items()) or "none"),
        ("classes", ", ".join(map(repr, one["classes"])) or "unknown: labels are scores, and there is no gold"),
        ("covariates", ", ".join(covariates) or "none"),
        ("other columns", ", ".join(one["other_columns"]) or "none"),
        ("weights", "none" if weight is None else _range(weight)),
    ]


def _range(of: Mapping[str, float]) -> str:
    return f"{of['min']:g}" if of["min"] == of["max"] else f"{of['min']:g} to {of['max']:g}"


def _outlook(one: Mapping[str, Any]) -> str:
    return "can run" if one["can_run"] else f"cannot run: {one['reason']}"


def backtest(result: Backtest) -> Page:
    """Every method over all rounds, then the best one round by round, with the drift."""
    page: Page = [Line(phrasing.backtest(result), strong=True), _methods_over_rounds(result)]
    note = (
        f"|error| is the distance from a round's gold mean, bias its mean with sign; score is width + "
        f"{2 / (1 - result.level):.4g} × distance outside: lower is better."
    )
    page += [Line(note), Facts([("best", f"{result.best}: {result.why}"), *_drift_facts(result)])]
    return [*page, Heading(f"{result.best}, round by round"), _round_by_round(result), *remarks(result.findings)]


def _methods_over_rounds(result: Backtest) -> Table:
    columns = [Column("method", "left"), *map(Column, ("rounds", "|error|", "bias", "cover", "width", "score"))]

    def row(one: Summary) -> list[str]:
        figures = [
            phrasing.number(one.abs_error),
            phrasing.number(one.bias, sign="+"),
            phrasing.number(one.coverage, 2),
        ]
        return [one.method, f"{one.n_rounds:,}", *figures, phrasing.number(one.width), phrasing.number(one.score)]

    return Table(columns, [row(one) for one in sorted(result.methods.values(), key=lambda one: one.score)])


def _drift_facts(result: Backtest) -> list[tuple[str, str]]:
    if not result.drift:
        return []
    common, own = phrasing.number(result.common_drift, 2), phrasing.number(result.own_drift, 2)
    unknown = f"unknown: {phrasing.count(len(result.drift), 'round')} cannot tell"
    return [
        ("common drift", f"{common} on the logit scale" if math.isfinite(result.common_drift) else unknown),
        ("labelers' own drift", f"{own} on the logit scale" if math.isfinite(result.own_drift) else unknown),
    ]


def _round_by_round(result: Backtest) -> Table:
    """The best method's estimate beside the gold; the shift is what all labels of the round were off by."""
    shifts = {one.round: one for one in result.drift}
    shown = dict(zip(result.rounds, phrasing.without_common(result.rounds), strict=True))
    names = ("gold", "gold mean", "estimate", f"{phrasing.percent(result.level)} interval", "covers", "shift")
    columns = [Column("round", "left", cut=True), *map(Column, names)]
    rows = []
    for one in result.plays:
        if one.method != result.best:
            continue
        drift = shifts.get(one.round)
        shift = phrasing.number(drift.shift, 2, "+") if drift is not None else phrasing.UNKNOWN
        if drift is not None and math.isfinite(drift.shift_error):
            shift += f" ± {drift.shift_error:.2f}"
        gold = f"{phrasing.number(one.seen.mean)} ± {phrasing.number(one.seen.error)}"
        interval = phrasing.span(one.low, one.high)
        row = [shown[one.round], f"{one.seen.n_gold:,}", gold, phrasing.number(one.value), interval]
        rows.append([*row, "yes" if one.covered else "NO", shift])
    return Table(columns, rows)


def counted(found: Mapping[str, Any]) -> Page:
    return [
        Line(
            f"Counted {phrasing.count(found['items'], 'item')}, {phrasing.count(found['labels'], 'label')} by "
            f"{phrasing.count(found['labelers'], 'labeler')}, {found['gold']:,} gold.",
            strong=True,
        ),
        Facts([("covariates", ", ".join(found["covariates"]) or "none"), ("file", found["output"])]),
        Line("Use the file wherever a past round goes, or count it together with the next round."),
    ]


def studies(known: Mapping[str, str]) -> Page:
    return [Facts(list(known.items())), Line("Run one: hero study NAME --replications 100")]


def study(rows: Sequence[Mapping[str, Any]]) -> Page:
    """One row for each cell and method, cells apart; ± is the Monte Carlo error."""
    if rows and "alarms" in rows[0]:
        return _guards(rows)
    columns = [
        Column("cell", "left", cut=True),
        Column("method", "left"),
        *(Column(name, "left") for name in ("bias", "sd", "rmse", "cover", "width")),
    ]
    table, breaks, last = [], set(), None
    for position, row in enumerate(rows):
        cell = str(row["cell"]).removeprefix(str(row["study"])).strip()
        if cell != last:
            breaks.add(position)
        table.append(["" if cell == last else cell, str(row["method"]), *_study_numbers(row)])
        last = cell
    runs = sorted({int(row["replications"]) for row in rows})
    span = " to ".join(f"{count:,}" for count in dict.fromkeys((runs[0], runs[-1]))) if runs else "0"
    note = f"{span} replications a cell; ± is the error of a simulation of that size; cover is of 95% intervals."
    if rows and "score_ratio" in rows[0]:
        worst = max(float(row["score_ratio"]) for row in rows)
        note += f" Interval score: at most {worst:.2f} times that of the best constant width."
    return [Table(columns, table, frozenset(breaks)), Line(note)]


def _guards(rows: Sequence[Mapping[str, Any]]) -> Page:
    """One row for each situation and guard, designs apart."""
    names = ("situation", "guard", "measures", "alarms")
    table, breaks, last = [], set(), None
    for position, row in enumerate(rows):
        if row["cell"] != last:
            breaks.add(position)
        alarms = f"{phrasing.number(row['alarms'], 3)}±{phrasing.number(row['alarms_se'], 3).removeprefix('0')}"
        place = "" if row["cell"] == last else str(row["cell"])
        table.append([place, str(row["situation"]), f"{row['method']} {row['guard']}", str(row["measures"]), alarms])
        last = row["cell"]
    count = max(int(row["replications"]) for row in rows)
    note = f"{count:,} replications a cell; ± is the error of a simulation of that size; every guard is at level 5%."
    return [Table([Column(name, "left") for name in ("cell", *names)], table, frozenset(breaks)), Line(note)]


def _study_numbers(row: Mapping[str, Any]) -> list[str]:
    def value(name: str) -> float:
        found = row.get(name)
        return float("nan") if found is None else float(found)

    def short(name: str) -> str:
        return phrasing.number(value(name)).removeprefix("0") if 0 <= value(name) < 1 else phrasing.number(value(name))

    return [
        f"{phrasing.number(value('bias'), sign='+')}±{short('bias_se')}",
        short("sd"),
        f"{short('rmse')}±{short('rmse_se')}",
        f"{phrasing.number(value('coverage'), 2)}±{phrasing.number(value('coverage_se'), 2).removeprefix('0')}",
        short("width"),
    ]
