"""What the commands about gold show, as pages of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hero_eval import phrasing
from hero_eval.cli.blocks import Column, Facts, Line, Page, Table, remarks

if TYPE_CHECKING:
    from hero_eval.targets.gold_queue import GoldQueue
    from hero_eval.targets.plan import Plan

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
    return f"{cost:,.2f}" if cost == cost else phrasing.UNKNOWN
