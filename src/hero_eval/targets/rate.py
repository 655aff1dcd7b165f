"""How often is the gold answer the positive class? With more classes: the whole distribution and a mean score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np

from hero_eval.classes import spelled
from hero_eval.errors import wrong
from hero_eval.estimate import Estimate, Source
from hero_eval.estimation.curves import Flat, Mirrored
from hero_eval.estimation.keywords import RateOptions
from hero_eval.estimation.question import Current, Options, PastRounds, Question, ask, require_round
from hero_eval.estimation.repeated_data import refuse_own_history
from hero_eval.findings import Finding, unique
from hero_eval.io.arrays import LARGEST
from hero_eval.methods.registry import Fit
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Floats
from hero_eval.round import Round
from hero_eval.targets.grouped import GroupedEstimates, family, family_options, groups_of


# The overloads tell how `by` changes what comes back.
@overload
def estimate_rate(
    current: Round, history: PastRounds = ..., *, by: None = ..., **options: Unpack[RateOptions]
) -> Estimate: ...


@overload
def estimate_rate(
    current: Round, history: PastRounds = ..., *, by: str, **options: Unpack[RateOptions]
) -> GroupedEstimates: ...


def estimate_rate(
    current: Round,
    history: PastRounds = None,
    *,
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    cluster: str | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    positive: object = None,
    scores: Mapping[str, float] | None = None,
    penalty: float | None = None,
    by: str | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Estimate | GroupedEstimates:
    """The rate of the positive class in the current round, judged by what history taught about its labelers.

    With more than two classes and none named positive, the headline is the mean score of numeric classes, or of
    `scores`; without either only the distribution over the classes is given.

    Parameters
    ----------
    current : Round
        The round to be estimated. Its own gold counts too, where the method uses it.
    history : Round, sequence of Round, Reliability or None, optional
        Past rounds, in which some items have gold: they teach how each labeler answers. A fitted `Reliability` is used
        as it is, without fitting again. None: only what the current round itself holds counts.
    method : str, optional
        The name of a method, such as ``"hero1"``. None takes the best one that the data allow; `why` of the result says
        which and why.
    covariates : sequence of str, optional
        Numeric columns of the items of all rounds that tell something about the answer; ``"labeler:NAME"`` takes the
        answers of that labeler out of the labels and uses them as a covariate. None uses none, except that `hero2`
        takes all numeric columns that the rounds share.
    text : str, optional
        A column of text, such as the prompt, whose most frequent words become covariates. None uses no text.
    level : float, default 0.95
        The level of the interval: how sure it is to hold the quantity, between 0 and 1.
    interval : {"influence", "profile", "bootstrap", "paper"}, optional
        How the interval is made: from influences, from the profile likelihood, from items drawn again, or as in the
        paper, which takes the reliabilities as known and is too short. None takes ``"influence"``, or ``"profile"``
        where the first is not safe and the second can be had (finding F309).
    cluster : str, optional
        A column whose equal values mark items that are not independent, such as several outputs for one prompt;
        ``"item"`` takes items of equal id in all rounds as one. None: each item counts by itself.
    replicates : int, optional
        How often the bootstrap draws the items again, at least 50. Only with ``interval="bootstrap"``; None: 1,000.
    seed : int, optional
        The seed of the bootstrap's draws, 0 or more. Only with ``interval="bootstrap"``; None: 0.
    positive : class or sequence of classes, optional
        The class whose rate is asked for, or several that count together. None takes the class that a round names;
        without one, ``1`` of 0 and 1 or the last of two classes that were given in order. More than two classes then
        have no positive one.
    scores : mapping of class to number, optional
        What each class counts for in the mean score. None: of more than two classes that are numbers, the numbers.
    penalty : float, optional
        The ridge penalty on the coefficients of the covariates, 0 or more. None has it chosen from the data.
    by : str, optional
        A column of the current round's items: one estimate for each of its values, 200 at the most, with intervals that
        hold together. None gives one estimate for the whole round.
    groups : mapping of labeler to group, optional
        Which labelers are alike, such as ``{"ann": "vendor-1"}``: a labeler that history never saw counts as its group
        does. Only `hero3`, `ppi` and `balanced` take it. None takes all labelers for one group.
    progress : callable, optional
        Called with (steps so far, change in the last step) while a fit runs, and with (replicates so far, share of them
        still to come) while the bootstrap does. None: nothing is told.

    Returns
    -------
    Estimate
        The rate with its interval; `distribution` has the rate of each class, `mean_score` the mean score if there is
        one.
    GroupedEstimates
        With `by`: an estimate for each value of that column.

    Raises
    ------
    InputError
        If the rounds do not fit together, or an option is unknown or does not fit the method.
    SupportError
        If the data cannot support the answer: history without gold, no labeler that it knows, no usable item, or too
        little gold for the method.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import hero_eval as hero
    >>> example = files("hero_eval") / "examples" / "defect"
    >>> current = hero.read_round(example / "current")
    >>> history = hero.read_round(example / "history")
    >>> rate = hero.estimate_rate(current, history)
    >>> round(rate.value, 2)
    0.2
    >>> [round(end, 2) for end in rate.interval()]
    [0.14, 0.27]
    """
    options = Options(
        method, covariates, text, penalty, level, interval, cluster, replicates, seed, groups=groups, progress=progress
    )
    if by is None:
        question = ask([current], history, options)
        shown = rate_estimate(question, question.currents[0], question.fits()[0], positive, scores)
        return replace(
            shown, source=Source((current,), question.reliability or history, _asked(options, positive, scores))
        )
    require_round(current)
    refuse_own_history(current, history)
    parts = groups_of(current, by)
    question = ask(list(parts.values()), history, family_options(options, len(parts)), split=by)
    made = [
        rate_estimate(question, here, fit, positive, scores)
        for here, fit in zip(question.currents, question.fits(), strict=True)
    ]
    return family(question, made, list(parts), by, level)


def _asked(options: Options, positive: object, scores: Mapping[str, float] | None) -> dict[str, Any]:
    """The options with which a report asks every other method."""
    names = ("covariates", "text", "penalty", "level", "cluster", "groups")
    return {**{name: getattr(options, name) for name in names}, "positive": positive, "scores": scores}


def rate_estimate(
    question: Question,
    current: Current,
    fit: Fit,
    positive: object = None,
    scores: Mapping[str, float] | None = None,
) -> Estimate:
    """The headline of one fit, with the distribution behind it."""
    mean = _mean_score(question, current, fit, scores)
    shown = headline(question, current, fit, positive, mean)
    return replace(shown, distribution=class_rates(question, current, fit, shown), mean_score=mean)


def class_rates(question: Question, current: Current, fit: Fit, shown: Estimate | None = None) -> dict[str, Estimate]:
    """The rate of every class; what the headline has already worked out is not worked out again."""
    out = {}
    for k, name in enumerate(question.classes):
        what = f"rate of {name!r}"
        if shown is not None and shown.what == what:
            out[name] = shown
        elif shown is not None and shown.target == "rate" and len(question.classes) == 2:
            out[name] = _the_other(shown, what)
        else:
            contrast = np.eye(len(question.classes))[k]
            out[name] = question.estimate("class rate", what, fit, current, contrast)
    return out


def _the_other(shown: Estimate, what: str) -> Estimate:
    """Of two classes the other one: 1 - rate, as sure as the first."""
    return replace(
        shown,
        target="class rate",
        what=what,
        value=1.0 - shown.value,
        centre=1.0 - shown.centre,
        influence=shown.influence * -1.0,
        curve=Mirrored(shown.curve, 1.0),
    )


def headline(
    question: Question,
    current: Current,
    fit: Fit,
    positive: object = None,
    mean: Estimate | None = None,
) -> Estimate:
    """The rate of the positive classes; without one the mean score; without that nothing but a remark."""
    named = positive_classes(question, positive)
    if named:
        what = f"rate of {' or '.join(map(repr, named))}"
        return question.estimate("rate", what, fit, current, rate_contrast(question, positive))
    mean = mean if mean is not None else _mean_score(question, current, fit, None)
    if mean is not None:
        return mean
    blank = question.estimate("rate", "rate of no named class", fit, current, np.eye(len(question.classes))[-1])
    message = f"no class was named positive among {', '.join(question.classes)}: only the distribution is given"
    found = unique([*blank.findings, Finding("F502", message)])
    return replace(blank, value=math.nan, curve=Flat(blank.bounds), findings=found)


def rate_contrast(question: Question, positive: object) -> Floats:
    """(K,) what each class counts for in the headline."""
    named = positive_classes(question, positive)
    if named:
        return np.isin(np.array(question.classes), named).astype(float)
    values = class_scores(question.classes, None)
    return np.full(len(question.classes), np.nan) if values is None else values


def _mean_score(question: Question, current: Current, fit: Fit, scores: Mapping[str, float] | None) -> Estimate | None:
    values = class_scores(question.classes, scores)
    if values is None:
        return None
    bounds = float(values.min()), float(values.max())
    return question.estimate("mean score", "mean score", fit, current, values, bounds=bounds)


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
    return positive_of(question.classes, question.rounds, positive)


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
        f"Name it: positive={second!r} (command: --positive {second})"
    )
    raise wrong("E203", message)
