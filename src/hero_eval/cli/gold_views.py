"""What the commands about gold show, as pages of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hero_eval import phrasing
from hero_eval.cli.blocks import Column, Facts, Line, Page, Table, remarks

if TYPE_CHECKING:
    from hero_eval.targets.gold_queue import GoldQueue

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
