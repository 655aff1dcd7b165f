"""Plans before there are any data: how wide an interval would be, and what it takes to tell two models apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hero_eval.errors import wrong
from hero_eval.model.design_power import RoundDesign, drift_variance, half_width, power_of, rate_variance
from hero_eval.model.width_forecast import More
from hero_eval.targets.plan_prices import Purchase
from hero_eval.targets.plan_result import Plan, Route

MOST_ITEMS = 10_000_000.0


@dataclass(frozen=True)
class Planned:
    """A design as a caller names it."""

    items: int
    labelers: int
    sensitivity: float
    specificity: float
    gold: int
    own_gold: int
    rate: float
    drift: float

    def design(self) -> RoundDesign:
        """The same, checked."""
        for name, value, least in (("items", self.items, 1), ("labelers", self.labelers, 1), ("gold", self.gold, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise wrong("E201", f"{name} is {value!r}. It is a whole number of {least} or more")
        for name in ("sensitivity", "specificity", "rate"):
            share = getattr(self, name)
            if not isinstance(share, int | float) or not 0.0 < share < 1.0:
                raise wrong("E201", f"{name} is {share!r}. It is a share between 0 and 1")
        if not isinstance(self.own_gold, int) or not 0 <= self.own_gold <= self.items:
            raise wrong(
                "E201", f"own_gold is {self.own_gold!r}. It is a whole number of at most the {self.items} items"
            )
        if not isinstance(self.drift, int | float) or not 0.0 <= self.drift < 10.0:
            raise wrong("E201", f"drift is {self.drift!r}. It is a standard deviation on the logit scale, such as 0.5")
        if abs(self.sensitivity + self.specificity - 1.0) < 1e-3:
            raise wrong("E201", "sensitivity and specificity add up to 1: such labelers tell nothing")
        return RoundDesign(
            self.items,
            self.labelers,
            self.sensitivity,
            self.specificity,
            self.gold,
            self.own_gold,
            self.rate,
            drift=self.drift,
        )


def plan_design(planned: Planned, width: float | None, detect: float | None, power: float, level: float) -> Plan:
    """The plan of a design: its width, or its power, and what would reach those asked for."""
    design = planned.design()
    n_models = 1 if detect is None else 2
    if not (design.past_gold or design.own_gold) or not math.isfinite(rate_variance(design, n_models)):
        raise wrong("E221", "without gold nothing says how labelers answer: plan some (gold=50, command: --gold 50)")
    now = 2.0 * half_width(design, level, n_models)
    share = n_models * drift_variance(design) / rate_variance(design, n_models) if design.drift else 0.0
    routes: tuple[Route, ...] = ()
    if detect is not None:
        routes = tuple(_routes(design, lambda one: power_of(one, detect, level) >= power, level, 2))
    elif width is not None:
        routes = tuple(_routes(design, lambda one: 2 * half_width(one, level) <= width, level, 1))
    made = Plan(
        "rate" if detect is None else "rate of A minus rate of B",
        design.rate if detect is None else detect,
        now,
        width,
        level,
        min(share, 1.0),
        routes,
        None,
        tuple(_curve(design, level, n_models)),
        power=None if detect is None else power_of(design, detect, level),
    )
    return replace(made, words=tuple(_words(made, design, detect, power)))


def _grown(design: RoundDesign, kind: str, amount: float) -> RoundDesign:
    if kind == "gold":
        return replace(design, own_gold=min(design.own_gold + amount, design.items))
    if kind == "past_gold":
        return replace(design, past_gold=design.past_gold + amount)
    return replace(design, items=design.items + amount)


def _routes(design: RoundDesign, enough: Callable[[RoundDesign], bool], level: float, n_models: int) -> Iterator[Route]:
    for kind in ("gold", "past_gold", "items"):
        most = design.items - design.own_gold if kind == "gold" else MOST_ITEMS
        end = _grown(design, kind, most)
        if enough(design):
            yield Route(kind, 0.0, math.nan, 2 * half_width(design, level, n_models))
        elif not enough(end):
            yield Route(kind, None, math.nan, 2 * half_width(end, level, n_models))
        else:
            few, many = 0.0, most
            while many - few > 0.5:
                middle = 0.5 * (few + many)
                few, many = (few, middle) if enough(_grown(design, kind, middle)) else (middle, many)
            amount = float(min(math.ceil(many), most))
            yield Route(kind, amount, math.nan, 2 * half_width(_grown(design, kind, amount), level, n_models))


def _curve(design: RoundDesign, level: float, n_models: int) -> Iterator[Purchase]:
    """Width against golds in the round itself."""
    top = min(design.items - design.own_gold, 300.0)
    for step in range(8):
        amount = float(round(step * top / 7))
        then = _grown(design, "gold", amount)
        yield Purchase(More(gold=amount), math.nan, 2.0 * half_width(then, level, n_models))


def _words(made: Plan, design: RoundDesign, detect: float | None, power: float) -> Iterator[str]:
    labelers = (
        f"{design.labelers} labelers of sensitivity {design.sensitivity:g} and specificity {design.specificity:g}"
    )
    gold = f"{design.past_gold:g} golds in history" + (f" and {design.own_gold:g} here" if design.own_gold else "")
    of = "" if detect is None else " for each model"
    yield f"{design.items:g} items{of}, {labelers}, {gold}: the {made.level:.0%} interval is {made.width:.3f} wide."
    if detect is not None and made.power is not None:
        yield f"A difference of {detect:g} would be seen with a chance of {made.power:.0%}; {power:.0%} was asked for."
    asked = f"{power:.0%}" if detect is not None else f"{made.wanted:g}" if made.wanted is not None else ""
    names = {"gold": "golds in the round itself", "past_gold": "golds in history", "items": "items"}
    each = " for each model" if detect is not None else ""
    ways = [
        f"{one.amount:,.0f} more {names[one.kind]}{'' if one.kind == 'past_gold' else each}"
        for one in made.routes
        if one.amount
    ]
    if ways:
        yield f"{asked} takes one of: {'; '.join(ways)}."
    never = [names[one.kind] for one in made.routes if one.amount is None]
    if never:
        yield f"It cannot be reached by {' or '.join(never)} alone."
    if not design.drift:
        usual = replace(design, drift=0.5)
        share = 1.0 - rate_variance(design, 1) / rate_variance(usual, 1)
        yield f"This is without drift between rounds; a usual drift (0.5) would be {share:.0%} of a rate's variance."
