"""How often is the gold answer the positive class? With more classes: the whole distribution and a mean score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

from hero_eval.estimate import Estimate, Source
from hero_eval.estimation.ask import ask
from hero_eval.estimation.headline import rate_estimate
from hero_eval.estimation.keywords import RateOptions
from hero_eval.estimation.options import Options, PastRounds, require_round
from hero_eval.estimation.repeated_data import refuse_own_history
from hero_eval.model.history import Progress
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
    interval : {"influence", "profile", "bootstrap", "paper", "anytime"}, optional
        How the interval is made: from influences, from the profile likelihood, from items drawn again, as in the
        paper, which takes the reliabilities as known and is too short, or so that it holds at every look at a growing
        round (``"anytime"``). None takes ``"influence"``, or ``"profile"``
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
        analysis = ask([current], history, options)
        learned = analysis.question.reliability or history
        source = Source((current,), learned, _asked(options, positive, scores))
        return replace(rate_estimate(analysis, 0, positive, scores), source=source)
    require_round(current)
    refuse_own_history(current, history)
    parts = groups_of(current, by)
    analysis = ask(list(parts.values()), history, family_options(options, len(parts)), split=by)
    made = [rate_estimate(analysis, at, positive, scores) for at in range(len(parts))]
    return family(analysis.question, made, list(parts), by, level)


def _asked(options: Options, positive: object, scores: Mapping[str, float] | None) -> dict[str, Any]:
    """The options with which a report asks every other method."""
    names = ("covariates", "text", "penalty", "level", "cluster", "groups")
    return {**{name: getattr(options, name) for name in names}, "positive": positive, "scores": scores}
