"""What a round that is only planned would cost to be larger, and what that would do to its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from scipy import special

from hero_eval.errors import wrong
from hero_eval.model.design_power import RoundDesign, half_width, rate_variance
from hero_eval.model.width_forecast import More

DESIGN_KINDS = ("gold", "past_gold", "items")
_PRICES = ("gold", "label", "item")


def grown(design: RoundDesign, more: More) -> RoundDesign:
    """The design with more of some kinds; gold goes to items that are there."""
    items = design.items + more.items
    own = min(design.own_gold + more.gold, items)
    return replace(design, items=items, own_gold=own, past_gold=design.past_gold + more.past_gold)


@dataclass(frozen=True)
class DesignOutcome:
    """The interval of a rate, or of the difference of two models, if the design were larger."""

    design: RoundDesign
    level: float
    n_models: int

    def width(self, more: More = More(), /) -> float:  # noqa: B008
        return 2.0 * half_width(grown(self.design, more), self.level, self.n_models)

    def variance(self, more: More = More(), /) -> float:  # noqa: B008
        return rate_variance(grown(self.design, more), self.n_models)


@dataclass(frozen=True)
class DesignPrices:
    """Prices of a gold, a label and an item; each model has its own items and golds, and both share the history."""

    named: Mapping[str, float]
    labelers: int
    n_models: int

    def __post_init__(self) -> None:
        unknown = sorted(set(self.named) - set(_PRICES))
        if unknown:
            raise wrong("E201", f"costs name {', '.join(unknown)}. Of a planned round they are: {', '.join(_PRICES)}")

    def each(self, kind: str) -> float:
        """The price of one of this kind; a gold in history comes with an item and its labels."""
        gold, label = self.named.get("gold", math.nan), self.named.get("label", math.nan)
        item = self.named.get("item", 0.0) + self.labelers * label
        return {"gold": self.n_models * gold, "items": self.n_models * item, "past_gold": gold + item}[kind]

    def total(self, more: More) -> float:
        return float(sum(getattr(more, kind) * self.each(kind) for kind in DESIGN_KINDS if getattr(more, kind)))

    def within(self, given: Mapping[str, float], money: float) -> More:
        """As much as that: what each kind costs does not depend on the others."""
        del money
        return More(**given)


def width_of_power(effect: float, power: float, level: float) -> float:
    """How wide the interval of a difference of this size may be, if it is to leave 0 out with this chance."""
    z = float(special.ndtri((1.0 + level) / 2.0))
    return 2.0 * z * abs(effect) / (z + float(special.ndtri(power)))
