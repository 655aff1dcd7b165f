"""What the commands about gold show, as pages of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hero_eval import phrasing
from hero_eval.cli.blocks import Column, Facts, Line, Page, Table, remarks

if TYPE_CHECKING:
    from hero_eval.store.watching import Watch
    from hero_eval.targets.gold_queue import GoldQueue
    from hero_eval.targets.labeler_worth import Worths
    from hero_eval.targets.plan_result import Plan

FEW_ROWS = 10
"""Of a queue that is written to a file anyway."""


def queue(result: GoldQueue, *, full: bool, kept: bool) -> Page:
    """The items to be answered; the first of them where a file has all."""
    names = list(dict.fromkeys(result.rounds))
    several = len(result.draws) > 1
    at_random = sum(reason == "drawn at random" for reason in result.why)
    head = f"{phrasing.count(len(result), 'item')} to answer next, of {', '.join(names)}, in this order."
    shown = len(result) if full else min(FEW_ROWS, len(result))
    columns = [Column("item", "left", cut=True), Column("gold_probability"), Column("why", "left")]
    rows = [
        [item, f"{p:.4f}", why]
        for item, p, why in zip(result.items, result.gold_probability.tolist(), result.why, strict=True)
    ]
    if several:
        columns = [Column("round", "left", cut=True), *columns]
        rows = [[name, *row] for name, row in zip(result.rounds, rows, strict=True)]
    page: Page = [Line(head, strong=True), Table(columns, rows[:shown])]
    if shown < len(result):
        page.append(Line(f"... and {len(result) - shown} more."))
    facts = [
        ("for", {"win_rate": "win rate"}.get(result.target, result.target)),
        ("drawn", f"{len(result) - at_random} since they tell more than others, {at_random} as at random"),
        ("floor", f"{phrasing.percent(result.floor)} of the draw goes to all items alike"),
    ]
    page.append(Facts(facts))
    if not kept:
        page.append(
            Line(
                "Gold that was drawn like this is weighted by its probability: write that of all items with "
                "--probabilities FILE, and put it beside the items as the column gold_probability."
            )
        )
    return page + remarks(result.findings)


def plan(result: Plan) -> Page:
    """The plan in sentences, what each kind alone leads to, and width against spending."""
    page: Page = [Line(result.words[0], strong=True), *(Line(words) for words in result.words[1:])]
    if result.routes:
        columns = [Column("more of", "left"), Column("how many"), Column("cost"), Column("width then")]
        rows = [
            [
                _KINDS[one.kind],
                "not by it alone" if one.amount is None else _amount(one.kind, one.amount),
                _money(one.cost),
                f"{one.width:.3f}",
            ]
            for one in result.routes
        ]
        page.append(Table(columns, rows))
    shown = [kind for kind in _KINDS if any(getattr(one.more, kind) for one in result.curve)]
    priced = any(one.cost == one.cost and one.cost > 0 for one in result.curve)
    columns = [*([Column("spent")] if priced else []), *(Column(_KINDS[kind]) for kind in shown), Column("width")]
    rows = [
        [
            *([_money(one.cost)] if priced else []),
            *(_amount(kind, getattr(one.more, kind)) for kind in shown),
            f"{one.width:.3f}",
        ]
        for one in result.curve
    ]
    return [*page, Table(columns, rows)]


_KINDS = {"gold": "gold here", "past_gold": "past gold", "items": "items", "labels": "labels per item"}


def _amount(kind: str, amount: float) -> str:
    return f"{amount:.2f}" if kind == "labels" else f"{amount:,.0f}"


def _money(cost: float) -> str:
    return _if_known(cost, f"{cost:,.2f}")


def _if_known(value: float, text: str) -> str:
    return text if value == value else phrasing.UNKNOWN


def worth(result: Worths, name: str) -> Page:
    """Labelers by what their labels are worth, judges and people in one table."""
    wide = f"whose {phrasing.percent(result.level)} interval by {result.method} is {result.width:.3f} wide"
    head = f"What labels are worth in {name!r}, {wide}: without each labeler, and what it costs."
    judged = any(one.kind == "judge" for one in result.labelers)
    columns = [Column("labeler", "left", cut=True), *([Column("kind", "left")] if judged else [])]
    columns += [Column(title) for title in ("per item", "cost", "width", "variance", "per 1 spent", "golds")]
    rows = [
        [
            one.labeler,
            *([one.kind] if judged else []),
            f"{one.labels:.2f}",
            _money(one.cost),
            _if_known(one.width_without, f"{one.width_without:.3f}"),
            _if_known(one.variance_share, f"+{100 * one.variance_share:.0f}%"),
            _if_known(one.worth, f"+{100 * one.worth:.2g}%"),
            _if_known(one.golds_instead, f"{one.golds_instead:.0f}"),
        ]
        for one in result.labelers
    ]
    explained = [
        ("width, variance", "of the interval without this labeler's labels"),
        ("per 1 spent", "what they take off the variance for each unit of money"),
        ("golds", "in this round that would make up for them"),
    ]
    told = [Line(words) for words in result.words]
    told.append(
        Line(
            f"Widths are those of {result.method}, whose model tells what each labeler adds. hero estimate chooses the "
            f"method that the data support best, and where that is another its interval is another too."
        )
    )
    return [Line(head, strong=True), Table(columns, rows), Facts(explained), *told]


def watch(result: Watch) -> Page:
    """Rounds of every model, changes beyond chance, and who drifts."""
    told = [f"{one.model or 'rounds'} changed from {one.before} to {one.after}" for one in result.changed]
    told += [f"{name} drifts" for name in result.drifting]
    head = f"Quiet: no change beyond chance at {phrasing.percent(result.level)}, and nobody drifts."
    page: Page = [Line(head if result.is_quiet else "; ".join(told) + ".", strong=True)]
    rows = []
    for one in result.rounds:
        known = one.estimate is not None
        low, high = one.estimate.interval() if one.estimate is not None else (0.0, 0.0)
        rows.append(
            [
                one.model or phrasing.UNKNOWN,
                one.round,
                phrasing.number(one.estimate.value, 3) if one.estimate is not None else phrasing.UNKNOWN,
                phrasing.span(low, high, 3) if known else f"not known: {one.reason.split(' ', 1)[0]}",
                ", ".join(doubt.code for doubt in one.estimate.doubts) if one.estimate is not None else "",
            ]
        )
    columns = [
        Column("model", "left", cut=True),
        Column("round", "left", cut=True),
        Column("rate"),
        Column(f"{phrasing.percent(result.level)} interval", "left"),
        Column("in doubt", "left"),
    ]
    page.append(Table(columns, rows))
    page += [Line(f"{one.round}: {one.reason}") for one in result.rounds if one.estimate is None]
    if result.changes:
        columns = [
            Column("model", "left", cut=True),
            Column("from", "left", cut=True),
            Column("to", "left", cut=True),
            Column("change"),
            Column("p, all together"),
            Column("", "left"),
        ]
        cells = [
            [
                one.model or phrasing.UNKNOWN,
                one.before,
                one.after,
                f"{one.change:+.3f}",
                f"{one.p_value:.3f}",
                "beyond chance" if one.beyond_chance else "",
            ]
            for one in result.changes
        ]
        page.append(Table(columns, cells))
    return page + remarks([] if result.labelers is None else list(result.labelers.findings))
