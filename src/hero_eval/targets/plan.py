"""How much gold, how many items or labels does a width take, and what is the best that a budget buys?

From the variance parts of a fitted model (`estimation/forecast.py`), or, before there are any data, from the Fisher
information of the design (`targets/plan_design.py`). Nothing is simulated when it runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hero_eval.errors import InputError, Problem, unsupported, wrong
from hero_eval.estimate import Estimate, check_level
from hero_eval.estimation.ask import ask
from hero_eval.estimation.forecast import Outcome
from hero_eval.estimation.headline import class_scores, rate_contrast
from hero_eval.estimation.options import HistoryLike, Options, PastRounds, as_history, as_round
from hero_eval.labelers.fitting import history_rounds
from hero_eval.model.history import Progress
from hero_eval.model.width_forecast import More
from hero_eval.read import RoundLike
from hero_eval.round import Round
from hero_eval.targets.plan_design import Planned, Wanted, plan_design, refuse_beyond
from hero_eval.targets.plan_prices import Mixer, Prices, Purchase, check_prices, in_words, ways_in_words
from hero_eval.targets.plan_result import Plan, Route

MOST = {"past_gold": 100_000.0, "items": 1_000_000.0}
"""Of each kind, beyond which nobody would go. Labels per item may be doubled: beyond, what one adds is guessed."""
CURVE_POINTS = 8


def plan(
    current: RoundLike | None = None,
    history: HistoryLike = None,
    *,
    width: float | None = None,
    budget: float | None = None,
    costs: Mapping[str, float] | None = None,
    judges: Sequence[str] = (),
    level: float = 0.95,
    positive: object = None,
    scores: Mapping[str, float] | None = None,
    items: int | None = None,
    labelers: int | None = None,
    sensitivity: float = 0.8,
    specificity: float = 0.8,
    gold: int = 0,
    own_gold: int = 0,
    rate: float = 0.5,
    drift: float = 0.0,
    detect: float | None = None,
    power: float = 0.8,
    progress: Progress | None = None,
) -> Plan:
    """How much gold, items and labels a width takes, or the best that a budget buys.

    With a current round the answer comes from the fitted model: what items, labelers' reliabilities and drift each add
    to the variance, and what more data would do to each. Without one it comes from a design: `items`, `labelers` and
    what they are like.

    Parameters
    ----------
    current : Round, optional
        The round to be estimated. None: a round that is only planned.
    history : Round, sequence of Round, Reliability or None, optional
        Past rounds, in which some items have gold.
    width : float, optional
        The width that the interval is to have, from its lower to its upper end.
    budget : float, optional
        What may be spent, in the unit of `costs`; of a planned round beside what is planned already.
    costs : mapping of str to float, optional
        Prices: of ``"gold"``, of a ``"label"``, of a ``"judge"``'s label (of those in `judges`), of an ``"item"``
        beside its labels, and of single labelers by their names.
    judges : sequence of str, optional
        Labelers whose labels cost what a ``"judge"``'s does.
    level : float, default 0.95
        The level of the interval.
    positive : class or sequence of classes, optional
        The class whose rate is asked for, as in `estimate_rate`.
    scores : mapping of class to number, optional
        What each class counts for in a mean score, as in `estimate_rate`.
    items : int, optional
        Of a round that is only planned: how many items; of each model where two are compared.
    labelers : int, optional
        Of a planned round: how many labelers label each item.
    sensitivity : float, default 0.8
        Of a planned round: how often labelers find the positive class.
    specificity : float, default 0.8
        Of a planned round: how often labelers find the other class.
    gold : int, default 0
        Of a planned round: golds in history.
    own_gold : int, default 0
        Of a planned round: golds in the round itself, of each model where two are compared.
    rate : float, default 0.5
        Of a planned round: the rate that is expected; at 0.5 intervals are longest.
    drift : float, default 0.0
        Of a planned round: the standard deviation of drift between rounds, on the logit scale; 0.5 is usual.
    detect : float, optional
        Of two planned models: the difference that is to be seen.
    power : float, default 0.8
        Of two planned models: the chance with which it is to be seen.
    progress : callable, optional
        Called with (steps so far, change in the last step) while a fit runs. None: nothing is told.

    Returns
    -------
    Plan
        What it takes, in numbers and words.

    Raises
    ------
    InputError
        If an option is not known or does not fit (E201, E204), or nothing says what to plan for (E221).
    SupportError
        If no gold says how labelers answer, or a forecast is not to be had (E222).

    Examples
    --------
    >>> import hero_eval as hero
    >>> made = hero.plan(items=500, labelers=5, sensitivity=0.8, specificity=0.9, gold=50)
    >>> round(made.width, 3)
    0.095
    """
    check_prices(costs, judges)
    _check(width, budget, costs, detect, power)
    level = check_level(level)
    if current is None:
        if items is None or labelers is None:
            plan = "items=500, labelers=5 (command: --items 500 --labelers 5)"
            raise wrong("E221", f"there is no current round; say what is planned: {plan}")
        _refuse_for_design(history, judges)
        planned = Planned(items, labelers, sensitivity, specificity, gold, own_gold, rate, drift)
        return plan_design(planned, Wanted(width, detect, power, budget, dict(costs or {})), level)
    if items is not None or labelers is not None or detect is not None:
        raise wrong("E204", "items, labelers and detect are of a round that is only planned: leave out the current one")
    history, current = as_history(history, current), as_round(current)
    outcome, what = outcome_of(current, history, level, positive, scores, progress)
    refuse_beyond("width", width, outcome.bounds[1] - outcome.bounds[0], f"that of the {what}")
    prices = Prices(dict(costs or {}), frozenset(judges), current)
    return _planned(outcome, what, prices, width, budget, current.frame_kind)


def _check(
    width: float | None, budget: float | None, costs: Mapping[str, float] | None, detect: float | None, power: float
) -> None:
    for name, value in (("width", width), ("budget", budget), ("detect", detect)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0.0):
            raise wrong("E201", f"{name} is {value!r}. It is a number above 0")
    if not isinstance(power, int | float) or not 0.0 < power < 1.0:
        raise wrong("E201", f"power is {power!r}. It is a probability between 0 and 1, such as 0.8")
    if budget is not None and not costs:
        raise wrong(
            "E221", "a budget needs prices: costs={'gold': 3, 'label': 0.05} (command: --cost gold=3,label=0.05)"
        )


def _refuse_for_design(history: object, judges: Sequence[str]) -> None:
    """E204 for what has no effect on a round that is only planned."""
    instead = {
        "history": "say what past rounds taught: sensitivity=, specificity=, gold=, drift= (command: hero labelers "
        "shows them)",
        "judges": "its labelers are alike and have one price, that of a label",
    }
    said = {"history": history is not None, "judges": bool(judges)}
    problems = [
        Problem("E204", f"{name} has no effect on a round that is only planned; {instead[name]}")
        for name, given in said.items()
        if given
    ]
    if problems:
        raise InputError(problems)


def outcome_of(
    current: Round,
    history: PastRounds,
    level: float,
    positive: object,
    scores: Mapping[str, float] | None,
    progress: Progress | None,
    method: str | None = None,
) -> tuple[Outcome, str]:
    """What to expect of the rate, or the mean score, of a round, and what that is in words."""
    past = () if history is None else history_rounds(history)
    known = any(one.n_gold for one in past)
    if not known and not current.n_gold:
        message = "no gold says how labelers answer, so nothing can be foreseen from these rounds"
        instead = "plan the round before any data: items=500, labelers=5 (command: --items 500 --labelers 5)"
        raise unsupported("E222", f"{message}. Give some gold, or {instead}")
    analysis = ask([current], history, Options(method="hero3" if known else method, level=level, progress=progress))
    classes = analysis.question.classes
    values = class_scores(classes, scores) if scores is not None else rate_contrast(analysis.question, positive)
    if values is None or np.isnan(values).any():
        raise wrong("E203", f"no class was named positive among {', '.join(classes)}. Name it: positive=")
    is_rate = set(values.tolist()) == {0.0, 1.0}
    named = " or ".join(repr(name) for name, value in zip(classes, values, strict=True) if value == 1.0)
    what = f"rate of {named}" if is_rate else "mean score"
    bounds = (0.0, 1.0) if is_rate else (float(values.min()), float(values.max()))
    return Outcome(analysis, values, bounds), what


def _planned(
    outcome: Outcome, what: str, prices: Prices, width: float | None, budget: float | None, frame_kind: str
) -> Plan:
    now: Estimate = outcome.now
    low, high = now.interval()
    kinds = _kinds(outcome, prices.current)
    one = prices.current
    most = {**MOST, "gold": float(one.n_items - one.n_gold), "labels": max(one.n_labels / one.n_items, 1.0)}
    routes = tuple(_route(outcome, prices, kind, most[kind], width) for kind in kinds) if width is not None else ()
    priced = [kind for kind in kinds if prices.each(kind) > 0.0]
    best, curve = None, _gold_curve(outcome, prices, kinds, most)
    if priced:
        mixer = Mixer(outcome, prices, priced, most)
        best = mixer.best(budget) if budget is not None else mixer.cheapest(width) if width is not None else None
        top = best.cost if best is not None and best.cost > 0 else prices.each(priced[0]) * 100.0
        curve = tuple(mixer.best(float(money)) for money in np.linspace(0.0, 2.0 * top, CURVE_POINTS))
    share = outcome.drift_share()
    made = Plan(what, now.value, high - low, width, now.level, share, routes, best, curve, frame_kind=frame_kind)
    return Plan(**{**made.__dict__, "words": tuple(_words(made, budget))})


def _kinds(outcome: Outcome, current: Round) -> list[str]:
    """What can be bought here: gold where some item is without, past gold where there is a history."""
    model = outcome.model
    kinds = ["gold"] if current.n_gold < current.n_items else []
    kinds += ["past_gold"] if outcome.question.reliability is not None else []
    return [*kinds, "items", *(["labels"] if model is not None else [])]


def _of(kind: str, amount: float) -> More:
    return More(**{kind: float(amount)})


def _route(outcome: Outcome, prices: Prices, kind: str, most: float, width: float | None) -> Route:
    """The least amount of one kind that reaches the width, by halving."""
    assert width is not None
    if outcome.width() <= width:
        return Route(kind, 0.0, 0.0, outcome.width())
    end = outcome.width(_of(kind, most))
    if not end <= width:
        return Route(kind, None, math.nan, end)
    few, enough = 0.0, float(most)
    while enough - few > max(0.02 * enough, 0.1 if kind == "labels" else 1.0):
        middle = 0.5 * (few + enough) if enough < 10 else math.sqrt(max(few, 1.0) * enough)
        few, enough = (few, middle) if outcome.width(_of(kind, middle)) <= width else (middle, enough)
    amount = enough if kind == "labels" else float(math.ceil(enough))
    more = _of(kind, amount)
    return Route(kind, amount, prices.total(more), outcome.width(more))


def _gold_curve(
    outcome: Outcome, prices: Prices, kinds: Sequence[str], most: Mapping[str, float]
) -> tuple[Purchase, ...]:
    """Without prices: width against gold in this round, or against items."""
    kind = kinds[0]
    top = min(most[kind], 300.0)
    amounts_of = [float(round(amount)) for amount in np.linspace(0.0, top, CURVE_POINTS)]
    mores = [_of(kind, amount) for amount in amounts_of]
    return tuple(Purchase(more, prices.total(more), outcome.width(more)) for more in mores)


def _words(made: Plan, budget: float | None) -> Iterator[str]:
    yield f"The {made.level:.0%} interval is {made.width:.3f} wide now; {_share_words(made.drift_share)}."
    if made.wanted is not None:
        reach = [f"{in_words(_of(one.kind, one.amount))}" for one in made.routes if one.amount]
        if made.width <= made.wanted:
            yield f"That is within the {made.wanted:g} asked for: nothing more is needed."
        elif reach:
            yield ways_in_words(f"{made.wanted:g}", reach)
        yield from _out_of_reach(made)
    if made.best is not None:
        said = f"a width of {made.best.width:.3f}, for {made.best.cost:,.2f}"
        head = "The best for the budget" if budget is not None else "The cheapest mix"
        yield f"{head}: {in_words(made.best.more)}: {said}."


def _share_words(share: float) -> str:
    return f"drift between rounds is {share:.0%} of its variance" if share >= 0.005 else "drift has no part in it"


def _out_of_reach(made: Plan) -> Iterator[str]:
    """Which kinds alone do not lead there, and why."""
    never = [one for one in made.routes if one.amount is None]
    if made.wanted is None or not never:
        return
    names = {"past_gold": "past gold", "items": "more items", "labels": "labels"}
    said = [f"{names[one.kind]} alone (at best {one.width:.3f})" for one in never if one.kind in names]
    why = f", since drift is {made.drift_share:.0%} of it" if made.drift_share >= 0.3 else ""
    if said:
        yield f"It cannot be reached by {' or '.join(said)}{why}."
    here = next((one for one in never if one.kind == "gold"), None)
    if here is not None:
        yield f"Gold for every item of this round leads to {here.width:.3f}, since the items are a sample themselves."
