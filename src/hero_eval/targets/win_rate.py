"""How often does model A win side by side against model B? Classes A, B and, where it occurs, tie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hero_eval.classes import spelled
from hero_eval.errors import wrong
from hero_eval.estimate import Estimate, Source
from hero_eval.estimation.ask import ask
from hero_eval.estimation.headline import class_rates
from hero_eval.estimation.options import Options, PastRounds
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Floats
from hero_eval.round import Round

_A = ("a", "model_a", "model a", "left", "1")
_B = ("b", "model_b", "model b", "right", "2")
_TIE = ("tie", "ties", "draw", "equal", "same", "both", "neither", "tie (bothbad)", "0", "0.5")
TIES = ("half", "own")


def estimate_win_rate(
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
    ties: str = "half",
    a: str | None = None,
    b: str | None = None,
    tie: str | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """P(A wins) with a tie worth half a win, or with `ties="own"` P(A wins) alone.

    Classes are recognized by name (A, B, tie; model_a, model_b; left, right), or named with `a`, `b` and `tie`.

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
    ties : {"half", "own"}, default "half"
        What a tie counts for: half a win, or nothing, as a class of its own.
    a : str, optional
        The class that says that A wins. None: recognized by its name.
    b : str, optional
        The class that says that B wins. None: recognized by its name.
    tie : str, optional
        The class that says that neither wins. None: recognized by its name; there may be none.
    penalty : float, optional
        The ridge penalty on the coefficients of the covariates, 0 or more. None has it chosen from the data.
    groups : mapping of labeler to group, optional
        Which labelers are alike, such as ``{"ann": "vendor-1"}``: a labeler that history never saw counts as its group
        does. Only `hero3`, `ppi` and `balanced` take it. None takes all labelers for one group.
    progress : callable, optional
        Called with (steps so far, change in the last step) while a fit runs, and with (replicates so far, share of them
        still to come) while the bootstrap does. None: nothing is told.

    Returns
    -------
    Estimate
        The win rate of A; `distribution` has the rate of each class.

    Raises
    ------
    InputError
        If the rounds do not fit together, or an option is unknown or does not fit the method.
    SupportError
        If the data cannot support the answer: history without gold, no labeler that it knows, no usable item, or too
        little gold for the method.
    """
    if ties not in TIES:
        raise wrong("E201", f"ties is {ties!r}. Known: 'half' (a tie is half a win), 'own' (a tie is its own class)")
    options = Options(
        method, covariates, text, penalty, level, interval, cluster, replicates, seed, groups=groups, progress=progress
    )
    analysis = ask([current], history, options)
    question = analysis.question
    named = [None if one is None else spelled(one, question.classes) for one in (a, b, tie)]
    worth, (wins, loses, draws) = win_worth(question.classes, named, ties)
    what = f"win rate of {wins!r} over {loses!r}" + (
        "" if draws is None else f", ties {'half' if ties == 'half' else 'apart'}"
    )
    rated = analysis.estimate("win rate", what, worth)
    source = Source((current,), question.reliability or history)
    return replace(rated, distribution=class_rates(analysis), source=source)


def win_worth(
    classes: Sequence[str], named: Sequence[str | None], ties: str
) -> tuple[Floats, tuple[str, str, str | None]]:
    """(K,) what each class counts for in the win rate, and which are A, B and the tie; `named` has those given."""
    if ties not in TIES:
        raise wrong("E201", f"ties is {ties!r}. Known: 'half' (a tie is half a win), 'own' (a tie is its own class)")
    wins, loses, draws = _sides(classes, *named)
    worth = np.zeros(len(classes))
    worth[classes.index(wins)] = 1.0
    if draws is not None and ties == "half":
        worth[classes.index(draws)] = 0.5
    return worth, (wins, loses, draws)


def _sides(classes: Sequence[str], a: str | None, b: str | None, tie: str | None) -> tuple[str, str, str | None]:
    """Which class is A, which B, and which (if any) the tie."""
    rest = [name for name in classes if name not in (a, b, tie)]
    for given in (a, b, tie):
        if given is not None and given not in classes:
            raise wrong("E203", f"{given!r} is not a class. Classes: {', '.join(classes)}")

    def pick(given: str | None, known: Sequence[str]) -> str | None:
        if given is not None:
            return given
        found = next((name for name in rest if name.lower() in known), None)
        if found is not None:
            rest.remove(found)
        return found

    wins, loses, draws = pick(a, _A), pick(b, _B), pick(tie, _TIE)
    if wins is None or loses is None or rest or len({wins, loses, draws}) < 3:
        message = (
            f"the classes {', '.join(classes)} are not clear as A, B and tie. "
            "Name them: a=..., b=..., tie=... (command: --a, --b, --tie)"
        )
        raise wrong("E203", message)
    return wins, loses, draws
