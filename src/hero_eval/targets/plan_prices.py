"""What a plan can buy: kinds of data with their prices, and how to deal money out among them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hero_eval.arguments import check_mapping, check_names, is_number
from hero_eval.errors import wrong
from hero_eval.estimate import number
from hero_eval.model.width_forecast import More
from hero_eval.round import Round

KINDS = {
    "gold": "golds in this round",
    "past_gold": "golds in past rounds",
    "items": "items with labels",
    "labels": "labels per item",
}
"""What money or work can go to, in words."""
STEPS = 6
"""Parts of a budget that are dealt out among the kinds."""


def amounts(more: More) -> dict[str, float]:
    """How much of each kind."""
    return {kind: getattr(more, kind) for kind in KINDS}


@dataclass(frozen=True)
class Purchase:
    """What is bought, what it costs (nan: no price was named) and how wide the interval is then."""

    more: More
    cost: float
    width: float

    def to_dict(self) -> dict[str, Any]:
        return {**amounts(self.more), "cost": number(self.cost), "width": number(self.width)}


def in_words(more: More) -> str:
    """What is bought, as a list."""
    told = [
        f"{getattr(more, kind):.2g} more {name}" if kind == "labels" else f"{getattr(more, kind):,.0f} more {name}"
        for kind, name in KINDS.items()
        if getattr(more, kind)
    ]
    return ", ".join(told) or "nothing"


def ways_in_words(asked: str, ways: Sequence[str]) -> str:
    """What reaches it, each by itself."""
    return f"{asked} takes {ways[0]}." if len(ways) == 1 else f"{asked} takes one of: {'; '.join(ways)}."


class Foreseen(Protocol):
    """What is known of the interval once more of something is there."""

    def width(self, more: More = ..., /) -> float: ...

    def variance(self, more: More = ..., /) -> float: ...


class Priced(Protocol):
    """What things cost."""

    def each(self, kind: str) -> float: ...

    def total(self, more: More) -> float: ...

    def within(self, given: Mapping[str, float], money: float) -> More: ...


def check_prices(costs: object, judges: object) -> None:
    """E201 unless they are prices by name, and a list of labelers."""
    check_mapping("costs", costs, "{'gold': 3, 'label': 0.05}")
    for name, price in (costs or {}).items() if isinstance(costs, Mapping) else ():
        if not is_number(price, 0.0):
            raise wrong("E201", f"the price of {name!r} is {price!r}. It is a number of 0 or more")
    check_names("judges", judges, "the names of labelers")


@dataclass(frozen=True)
class Prices:
    """What one more of each kind costs, by the prices named; nan where one is lacking."""

    named: Mapping[str, float]
    judges: frozenset[str]
    current: Round

    def __post_init__(self) -> None:
        known = {"gold", "label", "judge", "item", *self.current.labelers}
        unknown = sorted((set(self.named) | self.judges) - known)
        if unknown:
            raise wrong(
                "E201", f"costs name {', '.join(unknown)}. Known: gold, label, judge, item, and labelers' names"
            )

    def of_label(self, labeler: str) -> float:
        """The price of a label of this labeler."""
        usual = self.named.get("judge" if labeler in self.judges else "label", math.nan)
        return self.named.get(labeler, usual)

    @property
    def per_item(self) -> float:
        """Of the labels of an item, as many as items have on average."""
        given = self.current.labels_by_labeler() / self.current.n_items
        return float(sum(share * self.of_label(name) for name, share in zip(self.current.labelers, given, strict=True)))

    @property
    def per_label(self) -> float:
        return self.per_item * self.current.n_items / self.current.n_labels

    def each(self, kind: str) -> float:
        """The price of one of this kind; a label per item is one for every item."""
        if kind in ("gold", "past_gold"):
            return self.named.get("gold", math.nan)
        if kind == "items":
            return self.named.get("item", 0.0) + self.per_item
        return self.per_label * self.current.n_items

    def total(self, more: More) -> float:
        """What all of it costs: labels per item are bought for new items, too."""
        plain = sum(getattr(more, kind) * self.each(kind) for kind in KINDS if getattr(more, kind))
        extra = self.per_label * more.labels * more.items if more.labels and more.items else 0.0
        return float(plain + extra)

    def within(self, given: Mapping[str, float], money: float) -> More:
        """As much as that, with fewer labels where they cost more than the money: those of new items are dearer."""
        over = self.total(More(**given)) - money
        if over <= 0.0 or "labels" not in given:
            return More(**given)
        each = self.per_label * (self.current.n_items + given.get("items", 0.0))
        return More(**{**given, "labels": max(math.floor(100 * (given["labels"] - over / each)) / 100, 0.0)})


@dataclass(frozen=True, eq=False)
class Mixer:
    """Deals money out among the kinds that have a price."""

    outcome: Foreseen
    prices: Priced
    kinds: Sequence[str]
    most: Mapping[str, float]

    def best(self, money: float) -> Purchase:
        """The mix of this cost with the least variance."""
        if money <= 0.0:
            return Purchase(More(), 0.0, self.outcome.width())
        found = min(self._mixes(money), key=self.outcome.variance)
        return Purchase(found, self.prices.total(found), self.outcome.width(found))

    def cheapest(self, width: float) -> Purchase | None:
        """The least that reaches the width, None if no mix does."""
        if self.outcome.width() <= width:
            return Purchase(More(), 0.0, self.outcome.width())
        few, enough = 0.0, 10.0 * min(self.prices.each(kind) for kind in self.kinds)
        found: Purchase | None = None
        for _ in range(30):
            found = self.best(enough)
            if found.width <= width:
                break
            few, enough = enough, 2.0 * enough
        else:
            return None
        while enough - few > 0.03 * enough:
            middle = 0.5 * (few + enough)
            tried = self.best(middle)
            few, enough, found = (few, middle, tried) if tried.width <= width else (middle, enough, found)
        return found

    def _mixes(self, money: float) -> Iterator[More]:
        """Every way to deal the money out in a few equal parts; what is more than there is of a kind is not spent."""
        for parts in _shares(len(self.kinds), STEPS):
            given: dict[str, float] = {}
            for kind, part in zip(self.kinds, parts, strict=True):
                amount = min(money * part / STEPS / self.prices.each(kind), self.most[kind])
                given[kind] = round(amount, 2) if kind == "labels" else float(math.floor(amount))
            yield self.prices.within(given, money)


def _shares(n_kinds: int, steps: int) -> Iterator[tuple[int, ...]]:
    """All ways to deal `steps` parts out."""
    if n_kinds == 1:
        yield (steps,)
        return
    for first in range(steps + 1):
        for rest in _shares(n_kinds - 1, steps - first):
            yield (first, *rest)
