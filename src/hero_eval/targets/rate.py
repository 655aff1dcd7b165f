"""How often is the gold answer the positive class? With more classes: the whole distribution and a mean score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hero_eval.errors import wrong
from hero_eval.estimate import Estimate
from hero_eval.findings import Finding
from hero_eval.methods.registry import Fit
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Floats
from hero_eval.round import Round
from hero_eval.targets.question import Current, History, Options, Question, ask, unique


def estimate_rate(
    current: Round,
    history: History = None,
    *,
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str = "influence",
    positive: str | Sequence[str] | None = None,
    scores: Mapping[str, float] | None = None,
    penalty: float | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """The rate of the positive class in the current round, judged by what history taught about its labelers.

    `method=None` takes the best one that the data allow and says why. With more than two classes, `positive` names the
    class (or classes) counted; without it the headline is the mean score of numeric classes, or of `scores`.
    """
    options = Options(method, covariates, text, penalty, level, interval, progress=progress)
    question = ask([current], history, options)
    return rate_estimate(question, question.currents[0], question.fits()[0], positive, scores)


def rate_estimate(
    question: Question,
    current: Current,
    fit: Fit,
    positive: str | Sequence[str] | None = None,
    scores: Mapping[str, float] | None = None,
) -> Estimate:
    """The headline of one fit, with the distribution behind it."""
    classes = question.classes
    distribution = {
        name: question.estimate("class rate", f"rate of {name!r}", fit, current, np.eye(len(classes))[k])
        for k, name in enumerate(classes)
    }
    mean = _mean_score(question, current, fit, scores)
    named = _positive(question, current, positive)
    if named:
        contrast = np.isin(np.array(classes), named).astype(float)
        what = f"rate of {' or '.join(map(repr, named))}"
        headline = question.estimate("rate", what, fit, current, contrast)
    elif mean is not None:
        headline = mean
    else:
        contrast = np.full(len(classes), np.nan)
        blank = question.estimate("rate", "rate of no named class", fit, current, np.zeros(len(classes)))
        message = f"no class was named positive among {', '.join(classes)}: only the distribution is given"
        headline = replace(blank, value=float("nan"), findings=unique([*blank.findings, Finding("F502", message)]))
    return replace(headline, distribution=distribution, mean_score=mean)


def _mean_score(question: Question, current: Current, fit: Fit, scores: Mapping[str, float] | None) -> Estimate | None:
    values = class_scores(question.classes, scores)
    if values is None:
        return None
    bounds = float(values.min()), float(values.max())
    return question.estimate("mean score", "mean score", fit, current, values, bounds=bounds)


def class_scores(classes: Sequence[str], scores: Mapping[str, float] | None) -> Floats | None:
    """A number for each class: as given, or the classes themselves if they are numbers (and more than 0 and 1)."""
    if scores is not None:
        keyed = {str(key): float(value) for key, value in scores.items()}
        if set(keyed) != set(classes) or len(set(keyed.values())) < 2:
            raise wrong(
                "E201",
                f"scores has {', '.join(keyed)}. Give a number for each of {', '.join(classes)}, not all equal",
            )
        return np.array([keyed[name] for name in classes])
    if len(classes) == 2:
        return None
    try:
        return np.array([float(name) for name in classes])
    except ValueError:
        return None


def _positive(question: Question, current: Current, positive: str | Sequence[str] | None) -> list[str]:
    """The classes counted as positive: named here, or by the round, or the second of two."""
    classes = question.classes
    if positive is None and len(classes) > 2:
        return [current.round.positive] if current.round.positive is not None else []
    if positive is None:
        return [positive_of_two(question, current)]
    named = [positive] if isinstance(positive, str) else [str(name) for name in positive]
    unknown = [name for name in named if name not in classes]
    if unknown or not 0 < len(set(named)) < len(classes):
        raise wrong(
            "E203",
            f"positive is {', '.join(named) or 'empty'}. Name some but not all of: {', '.join(classes)}",
        )
    return named


def positive_of_two(question: Question, current: Current) -> str:
    """Of two classes the positive one: 1 of 0/1, the one named, or the last of an order given."""
    rounds = [current.round, *(question.reliability.rounds if question.reliability is not None else ())]
    named = [one.positive for one in rounds if one.positive is not None]
    if named:
        return named[0]
    ordered = any(one.classes_given is not None for one in rounds)
    if question.classes == ("0", "1") or ordered:
        return question.classes[-1]
    first, second = question.classes
    message = (
        f"of the classes {first!r} and {second!r} none is named positive. "
        f"Name it: positive={second!r} (command: --positive {second})"
    )
    raise wrong("E203", message)
