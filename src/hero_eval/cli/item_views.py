"""What `hero items` shows: what the items say together, those that count most, and how well they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hero_eval import phrasing
from hero_eval.cli.blocks import Column, Facts, Heading, Line, Page, Table, remarks

if TYPE_CHECKING:
    from hero_eval.estimate import Estimate
    from hero_eval.targets.item_calibration import ItemCalibration

SURE = 0.9
"""From which probability of its class on an item counts as sure."""
MOST_ITEMS = 10


def items(
    result: Estimate, columns: Mapping[str, Sequence[Any]], held: ItemCalibration | None, why_not: str = ""
) -> Page:
    """The items that move the estimate most, and the calibration of all of them, or why there is none."""
    classes = [name.removeprefix("probability_") for name in columns if name.startswith("probability_")]
    best = _best(columns, classes)
    sure = sum(one is not None and one >= SURE for one in best)
    facts = [
        ("items", f"{len(best):,}, {sum(columns['has_gold']):,} with gold"),
        (f"sure ({SURE} or more)", f"{sure:,} of them"),
        ("estimate", f"{phrasing.number(result.value)} ({result.what}), {result.method}"),
    ]
    page: Page = [Line(_headline(columns, classes), strong=True), Facts(facts)]
    order = sorted(range(len(best)), key=lambda i: -abs(columns["influence"][i] or 0.0))[:MOST_ITEMS]
    page += [Heading("Items that move the estimate most"), _table(columns, best, order)]
    if held is not None:
        page += calibration(held)
    elif why_not:
        page.append(Line(f"How well these probabilities agree with gold is not known: {why_not}."))
    return page


def _best(columns: Mapping[str, Sequence[Any]], classes: Sequence[str]) -> list[float | None]:
    """The probability of the class that each item is given."""
    place = {name: columns[f"probability_{name}"] for name in classes}
    found = [None if name is None else place[name][i] for i, name in enumerate(columns["class"])]
    return [None if one is None or one != one else one for one in found]


def _headline(columns: Mapping[str, Sequence[Any]], classes: Sequence[str]) -> str:
    said = list(columns["class"])
    parts = [f"{said.count(name):,} most probably {name!r}" for name in classes if name in said]
    return f"Of {phrasing.count(len(said), 'item')}, by what the labels tell: " + ", ".join(parts) + "."


def _table(columns: Mapping[str, Sequence[Any]], best: Sequence[float | None], order: Sequence[int]) -> Table:
    head = [Column("item", "left", cut=True), Column("class", "left", cut=True)]
    head += [Column("probability"), Column("labels"), Column("gold", "left"), Column("moves it by")]
    rows = [
        [
            str(columns["item"][i]),
            str(columns["class"][i] if columns["class"][i] is not None else phrasing.UNKNOWN),
            phrasing.number(float("nan") if best[i] is None else float(best[i] or 0.0)),
            f"{columns['labels'][i]:,}",
            str(columns["gold"][i]) if columns["has_gold"][i] else "",
            phrasing.number(columns["influence"][i], 4, "+"),
        ]
        for i in order
    ]
    return Table(head, rows)


def calibration(held: ItemCalibration) -> Page:
    """How often gold agrees with what was predicted, bin by bin."""
    columns = [Column("probability", "left"), *map(Column, ("golds", "predicted", "observed", "95% interval"))]
    rows = [
        [
            f"{one.low:.2f} to {one.high:.2f}",
            f"{one.n:,}",
            phrasing.number(one.predicted),
            phrasing.number(one.observed),
            phrasing.span(one.observed_low, one.observed_high, 3),
        ]
        for one in held.bins
    ]
    return [
        Heading("Calibration: probabilities beside gold that was hidden"),
        Line(phrasing.calibration(held)),
        Table(columns, rows),
        *remarks(held.findings),
    ]
