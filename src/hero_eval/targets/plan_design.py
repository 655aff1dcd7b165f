"""Plans before there are any data: how wide an interval would be, and what it takes to tell two models apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from hero_eval.errors import wrong
from hero_eval.model.design_power import RoundDesign, drift_variance, half_width, power_of, rate_variance
from hero_eval.model.width_forecast import More
from hero_eval.targets.design_prices import DESIGN_KINDS, DesignOutcome, DesignPrices, grown, width_of_power
from hero_eval.targets.plan_prices import Mixer, Purchase, in_words, ways_in_words
from hero_eval.targets.plan_result import Plan, Route

MOST_ITEMS = 10_000_000.0
POINTS = 8


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


@dataclass(frozen=True)
class Wanted:
    """What a design is asked for: a width, or to see a difference with a chance; what may be spent, and prices."""

    width: float | None
    detect: float | None
    power: float
    budget: float | None = None
    costs: Mapping[str, float] = field(default_factory=dict)


def refuse_beyond(name: str, asked: float | None, most: float, what: str) -> None:
    """E201 for a width or a difference that is always, or never, there: 5 for a rate, by somebody who means 5%."""
    if asked is not None and asked > most:
        percent = f" Did you mean {asked / 100:g}?" if most == 1.0 and asked <= 100.0 else ""
        raise wrong("E201", f"{name} is {asked:g}, but {what} is at most {most:g}.{percent}")


def plan_design(planned: Planned, wanted: Wanted, level: float) -> Plan:
    """The plan of a design: its width, or its power, and what would reach those asked for."""
    design, width, detect = planned.design(), wanted.width, wanted.detect
    n_models = 1 if detect is None else 2
    refuse_beyond("width", width, 1.0, "that of a rate")
    refuse_beyond("detect", detect, 1.0, "a difference of rates")
    if not (design.past_gold or design.own_gold) or not math.isfinite(rate_variance(design, n_models)):
        raise wrong("E221", "without gold nothing says how labelers answer: plan some (gold=50, command: --gold 50)")
    outcome = DesignOutcome(design, level, n_models)
    prices = DesignPrices(wanted.costs, design.labelers, n_models)
    share = n_models * drift_variance(design) / rate_variance(design, n_models) if design.drift else 0.0
    routes: tuple[Route, ...] = ()
    if detect is not None:
        enough = partial(_is_seen, detect=detect, power=wanted.power, level=level)
        routes = tuple(_routes(outcome, prices, enough))
    elif width is not None:
        routes = tuple(_routes(outcome, prices, lambda one: 2 * half_width(one, level) <= width))
    best, curve = _bought(outcome, prices, wanted)
    made = Plan(
        "rate" if detect is None else "rate of A minus rate of B",
        design.rate if detect is None else detect,
        outcome.width(),
        width,
        level,
        min(share, 1.0),
        routes,
        best,
        curve,
        power=None if detect is None else power_of(design, detect, level),
    )
    return replace(made, words=tuple(_words(made, design, wanted)))


def _is_seen(design: RoundDesign, detect: float, power: float, level: float) -> bool:
    return power_of(design, detect, level) >= power


def _most(design: RoundDesign) -> dict[str, float]:
    return {"gold": design.items - design.own_gold, "past_gold": MOST_ITEMS, "items": MOST_ITEMS}


def _routes(outcome: DesignOutcome, prices: DesignPrices, enough: Callable[[RoundDesign], bool]) -> Iterator[Route]:
    """How much of each kind alone is enough."""
    design = outcome.design
    for kind in DESIGN_KINDS:
        most = _most(design)[kind]
        amount: float | None = 0.0
        if not enough(grown(design, More(**{kind: most}))):
            amount = None
        elif not enough(design):
            few, many = 0.0, most
            while many - few > 0.5:
                middle = 0.5 * (few + many)
                few, many = (few, middle) if enough(grown(design, More(**{kind: middle}))) else (middle, many)
            amount = float(min(math.ceil(many), most))
        more = More(**{kind: most if amount is None else amount})
        yield Route(kind, amount, math.nan if amount is None else prices.total(more), outcome.width(more))


def _bought(
    outcome: DesignOutcome, prices: DesignPrices, wanted: Wanted
) -> tuple[Purchase | None, tuple[Purchase, ...]]:
    """The best mix for the budget, or the cheapest for what is wanted, and width against spending; without prices
    against golds in the round itself."""
    most = _most(outcome.design)
    priced = [kind for kind in DESIGN_KINDS if prices.each(kind) > 0.0 and most[kind] > 0.0]
    if not priced:
        top = min(most["gold"], 300.0)
        golds = [More(gold=float(round(step * top / (POINTS - 1)))) for step in range(POINTS)]
        return None, tuple(Purchase(more, math.nan, outcome.width(more)) for more in golds)
    mixer = Mixer(outcome, prices, priced, most)
    width = wanted.width
    if wanted.detect is not None:
        width = width_of_power(wanted.detect, wanted.power, outcome.level)
    best = None
    if wanted.budget is not None:
        best = mixer.best(wanted.budget)
    elif width is not None:
        best = mixer.cheapest(width)
    top = best.cost if best is not None and best.cost > 0 else prices.each(priced[0]) * 100.0
    return best, tuple(mixer.best(2.0 * top * step / (POINTS - 1)) for step in range(POINTS))


def _words(made: Plan, design: RoundDesign, wanted: Wanted) -> Iterator[str]:
    detect, power = wanted.detect, wanted.power
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
        yield ways_in_words(asked, ways)
    never = [names[one.kind] for one in made.routes if one.amount is None]
    if never:
        yield f"It cannot be reached by {' or '.join(never)} alone."
    if made.best is not None:
        yield _best_words(made.best, design, wanted, made.level)
    if not design.drift:
        usual = replace(design, drift=0.5)
        share = 1.0 - rate_variance(design, 1) / rate_variance(usual, 1)
        yield f"This is without drift between rounds; a usual drift (0.5) would be {share:.0%} of a rate's variance."


def _best_words(best: Purchase, design: RoundDesign, wanted: Wanted, level: float) -> str:
    head = "The best for the budget" if wanted.budget is not None else "The cheapest mix"
    seen = ""
    if wanted.detect is not None:
        chance = power_of(grown(design, best.more), wanted.detect, level)
        seen = f", which sees {wanted.detect:g} with a chance of {chance:.0%}"
    each = " (items and golds of the round for each model)" if wanted.detect is not None else ""
    return f"{head}: {in_words(best.more)}{each}: a width of {best.width:.3f}{seen}, for {best.cost:,.2f}."
