"""How often does model A win side by side against model B? Classes A, B and, where it occurs, tie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hero_eval.errors import wrong
from hero_eval.estimate import Estimate, Source
from hero_eval.model.history import Progress
from hero_eval.round import Round, spelled
from hero_eval.targets.question import Options, PastRounds, ask
from hero_eval.targets.rate import class_rates

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
    """P(A wins) with a tie worth half a win, or with `ties="own"` P(A wins) alone; `.distribution` has A, B and tie.

    Classes are recognised by name (A, B, tie; model_a, model_b; left, right), or named with a=, b=, tie=.
    """
    if ties not in TIES:
        raise wrong("E201", f"ties is {ties!r}. Known: 'half' (a tie is half a win), 'own' (a tie is its own class)")
    options = Options(
        method, covariates, text, penalty, level, interval, cluster, replicates, seed, groups=groups, progress=progress
    )
    question = ask([current], history, options)
    named = (None if one is None else spelled(one, question.classes) for one in (a, b, tie))
    wins, loses, draws = _sides(question.classes, *named)
    fit = question.fits()[0]
    worth = np.zeros(len(question.classes))
    worth[question.classes.index(wins)] = 1.0
    if draws is not None and ties == "half":
        worth[question.classes.index(draws)] = 0.5
    what = f"win rate of {wins!r} over {loses!r}" + (
        "" if draws is None else f", ties {'half' if ties == 'half' else 'apart'}"
    )
    only = question.currents[0]
    rated = question.estimate("win rate", what, fit, only, worth)
    source = Source((current,), question.reliability or history)
    return replace(rated, distribution=class_rates(question, only, fit), source=source)


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
