"""The headline of a round: the rate of the positive classes, or a mean score, and the rate of every class."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hero_eval.classes import spelled
from hero_eval.errors import wrong
from hero_eval.estimate import Estimate
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.curves import Flat, Mirrored
from hero_eval.estimation.question import Question
from hero_eval.findings import Finding, name_some, unique
from hero_eval.gold_scale import GoldMeans, gold_means
from hero_eval.influence import Influence, Part
from hero_eval.io.arrays import LARGEST
from hero_eval.io.scores import as_numbers
from hero_eval.io.values import number_text
from hero_eval.model.patterns import Floats
from hero_eval.round import Round


def rate_estimate(
    analysis: Analysis, at: int = 0, positive: object = None, scores: Mapping[str, float] | None = None
) -> Estimate:
    """The headline of the current round at this position, with the distribution behind it."""
    mean = _mean_score(analysis, at, scores)
    shown = headline(analysis, at, positive, mean)
    return replace(shown, distribution=class_rates(analysis, at, shown), mean_score=mean)


def class_rates(analysis: Analysis, at: int = 0, shown: Estimate | None = None) -> dict[str, Estimate]:
    """The rate of every class; what the headline has already worked out is not worked out again."""
    out = {}
    classes = analysis.question.classes
    for k, name in enumerate(classes):
        what = f"rate of {name!r}"
        if shown is not None and shown.what == what:
            out[name] = shown
        elif shown is not None and shown.target == "rate" and len(classes) == 2:
            out[name] = _the_other(shown, what)
        else:
            out[name] = analysis.estimate("class rate", what, np.eye(len(classes))[k], at=at, beside=True)
    return out


def _the_other(shown: Estimate, what: str) -> Estimate:
    """Of two classes the other one: 1 - rate, as sure as the first."""
    return replace(
        shown,
        target="class rate",
        what=what,
        value=1.0 - shown.value,
        center=1.0 - shown.center,
        influence=shown.influence * -1.0,
        curve=Mirrored(shown.curve, 1.0),
        item_results=None if shown.item_results is None else shown.item_results.mirrored(),
    )


def headline(analysis: Analysis, at: int = 0, positive: object = None, mean: Estimate | None = None) -> Estimate:
    """The rate of the positive classes; without one the mean score; without that nothing but a remark."""
    question = analysis.question
    named = positive_classes(question, positive)
    if named:
        least = question.options.at_least
        what = (
            f"rate of {' or '.join(map(repr, named))}" if least is None else f"share of at least {number_text(least)}"
        )
        return analysis.estimate("rate", what, rate_contrast(question, positive), at=at)
    mean = mean if mean is not None else _mean_score(analysis, at, None)
    if mean is not None:
        return mean
    blank = analysis.estimate("rate", "rate of no named class", np.eye(len(question.classes))[-1], at=at)
    message = f"no class was named positive among {', '.join(question.classes)}: only the distribution is given"
    found = unique([*blank.findings, Finding("F502", message)])
    return replace(blank, value=math.nan, curve=Flat(blank.bounds), findings=found)


def rate_contrast(question: Question, positive: object) -> Floats:
    """(K,) what each class counts for in the headline."""
    named = positive_classes(question, positive)
    if named:
        return np.isin(np.array(question.classes), named).astype(float)
    values = class_scores(question.classes, None)
    if values is None:
        means = class_means(question)
        values = np.full(len(question.classes), np.nan) if means is None else means.values
    return values


def _mean_score(analysis: Analysis, at: int, scores: Mapping[str, float] | None) -> Estimate | None:
    means = class_means(analysis.question)
    if means is not None and scores is not None:
        message = "scores says what classes count for, but here gold is numbers, which count for themselves"
        raise wrong("E129", f"{message}. Leave scores out")
    if means is not None:
        return _mean_gold(analysis, at, means)
    values = class_scores(analysis.question.classes, scores)
    if values is None:
        return None
    bounds = float(values.min()), float(values.max())
    return analysis.estimate("mean score", "mean score", values, at=at, bounds=bounds)


def class_means(question: Question) -> GoldMeans | None:
    """What classes of gold that was cut for its mean count for, by the golds of all rounds; of the current ones where
    the method rests on these alone."""
    currents = [here.round for here in question.currents]
    past = () if question.reliability is None else question.reliability.rounds
    return gold_means(currents, past) if question.method.by_design else gold_means([*past, *currents])


def _mean_gold(analysis: Analysis, at: int, means: GoldMeans) -> Estimate:
    """The mean of gold that is numbers: classes by what their golds are on average, with the error of these means."""
    question, rates = analysis.question, analysis.fits[at].rates
    if question.options.interval == "bootstrap":
        message = "interval='bootstrap' is not to be had of the mean of gold that has many values"
        raise wrong("E204", f"{message}. Leave it out, or ask for a share: at_least=")
    moved = means.influences(rates)
    n_past = len(moved) - len(question.currents)
    past = np.concatenate(moved[:n_past]) if n_past else None
    parts: list[Part] = []
    for here, move in zip(question.currents, moved[n_past:], strict=True):
        assert here.kept is not None
        own, *others = question.spread(move[here.kept], here.units, past).parts
        parts += [*([own] if move.any() else []), *others]
        past = None
    return analysis.estimate(
        "mean score", "mean gold", means.values, at=at, bounds=_room(means), learned=Influence(tuple(parts))
    )


def _room(means: GoldMeans) -> tuple[float, float]:
    """The range of the mean: that of the golds, and of what classes count for."""
    low, high = means.bounds
    return min(low, float(means.values.min())), max(high, float(means.values.max()))


def class_scores(classes: Sequence[str], scores: Mapping[str, float] | None) -> Floats | None:
    """A number for each class: as given, or the classes themselves if they are numbers (and more than 0 and 1).

    What is no number to calculate with ("inf", "1e308") is a mere name.
    """
    if scores is not None:
        if not isinstance(scores, Mapping):
            raise wrong("E201", f"scores is {scores!r}. It maps every class to a number")
        numeric = all(isinstance(value, int | float) and abs(value) <= LARGEST for value in scores.values())
        keyed = {spelled(key, classes): float(value) for key, value in scores.items()} if numeric else {}
        if set(keyed) != set(classes) or len(set(keyed.values())) < 2:
            raise wrong(
                "E201",
                f"scores is {dict(scores)!r}. Give a number for each of {', '.join(classes)}, not all equal",
            )
        return np.array([keyed[name] for name in classes])
    if len(classes) == 2:
        return None
    try:
        values = np.array([float(name) for name in classes])
    except ValueError:
        return None
    return values if (np.abs(values) <= LARGEST).all() and np.ptp(values) > 0.0 else None


def positive_classes(question: Question, positive: object) -> list[str]:
    """The classes counted as positive: named here, or by a round, or the second of two; none for more classes."""
    return wanted_classes(question.classes, question.rounds, positive, question.options.at_least)


def wanted_classes(
    classes: tuple[str, ...], rounds: Sequence[Round], positive: object, at_least: float | None
) -> list[str]:
    """The classes whose share is asked for; with `at_least` those whose numbers reach it."""
    if at_least is None:
        return positive_of(classes, rounds, positive)
    if positive is not None:
        raise wrong("E204", "at_least and positive both say which golds count: leave one of them out")
    if any(one.holds_items and one._contents.gold_number is not None for one in rounds):
        return [classes[-1]]
    numbers = as_numbers(classes)
    if np.isnan(numbers).any():
        raise wrong("E129", f"at_least asks for gold that is numbers; the classes are {name_some(list(classes))}")
    wanted = [name for name, number in zip(classes, numbers, strict=True) if number >= at_least]
    if not 0 < len(wanted) < len(classes):
        side = "every class reaches it" if wanted else "no class reaches it"
        raise wrong("E129", f"at_least is {number_text(at_least)}, but {side}: {name_some(list(classes), 12)}")
    return wanted


def positive_of(classes: tuple[str, ...], rounds: Sequence[Round], positive: object) -> list[str]:
    if positive is None:
        named = next((one.positive for one in rounds if one.positive is not None), None)
        if named is not None:
            return [named]
        return [] if len(classes) > 2 else [_second_of_two(classes, rounds)]
    several = isinstance(positive, list | tuple | set | frozenset)
    wanted = [spelled(one, classes) for one in (positive if isinstance(positive, Iterable) and several else [positive])]
    unknown = [name for name in wanted if name not in classes]
    if unknown or not 0 < len(set(wanted)) < len(classes):
        raise wrong(
            "E203", f"positive is {', '.join(wanted) or 'empty'}. Name some but not all of: {', '.join(classes)}"
        )
    return wanted


def _second_of_two(classes: tuple[str, ...], rounds: Sequence[Round]) -> str:
    """Of two classes the positive one: 1 of 0/1, or the last of an order given."""
    if classes == ("0", "1") or any(one.classes_given is not None for one in rounds):
        return classes[-1]
    first, second = classes
    message = (
        f"of the classes {first!r} and {second!r} none is named positive. "
        f"Name the one whose rate is asked for: positive={first!r} or positive={second!r} (command: --positive "
        f"{shlex.quote(first)} or --positive {shlex.quote(second)})"
    )
    raise wrong("E203", message)
