"""Which method answers when none is named: HERO-3 where history has gold, unless past rounds speak for another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hero_eval.estimation.question import Options
from hero_eval.estimation.replay import DEFAULT, LEAST_ROUNDS, Play, Quantity, replay
from hero_eval.findings import Finding
from hero_eval.methods.registry import ANCHORED
from hero_eval.model.em import EMOptions
from hero_eval.round import Round
from hero_eval.targets.backtest import choice

LEAST_GOLD = 10
MOST_ROUNDS = 8
MOST_LABELS = 50_000
"""Above this many labels of history nobody should wait for a backtest that was not asked for."""


@dataclass(frozen=True)
class Choice:
    """A method's name, why it was taken, and what is to be said of it."""

    name: str
    why: str
    findings: tuple[Finding, ...] = ()


def best_with_gold(
    past: Sequence[Round], classes: tuple[str, ...], options: Options, em: EMOptions, shrinkage: float
) -> Choice:
    """The method for a history that has gold."""
    wants = bool(options.covariates) or options.text is not None
    if options.interval in ("profile", "paper"):
        name = ANCHORED[1] if wants else ANCHORED[0]
        return Choice(name, f"history has gold, and {name} has the {options.interval!r} interval asked for")
    if shrinkage > 0 or em != EMOptions():
        name = ANCHORED[1] if wants else ANCHORED[0]
        return Choice(name, f"history was fitted with options of its own, which {name} uses")
    played = rounds_to_play(past)
    n_gold = sum(one.n_gold > 0 for one in past)
    if len(played) < LEAST_ROUNDS:
        lack = (
            "one past round has gold: drift is unknown"
            if n_gold == 1
            else (
                f"history has gold; {len(played)} past rounds with {LEAST_GOLD} gold items or more cannot tell methods "
                f"apart, which takes {LEAST_ROUNDS}"
            )
        )
        return Choice(DEFAULT, lack)
    n_labels = sum(one.n_labels for one in past)
    if n_labels > MOST_LABELS:
        message = (
            f"{len(played)} past rounds could tell which method is best, but with {n_labels:,} labels they were not "
            "tried unasked"
        )
        action = "Run a backtest, and name the method."
        why = f"history has gold; above {MOST_LABELS:,} labels methods are not tried on past rounds unasked"
        return Choice(DEFAULT, why, (Finding("F306", message, {"rounds": len(played), "labels": n_labels}, action),))
    return _by_backtest(past, played, classes, options, em, shrinkage)


def rounds_to_play(past: Sequence[Round]) -> list[int]:
    """Positions of the rounds with enough gold; of many those with most, and the later ones of equals."""
    enough = [position for position, one in enumerate(past) if one.n_gold >= LEAST_GOLD]
    most = sorted(enough, key=lambda position: (past[position].n_gold, position), reverse=True)
    return sorted(most[:MOST_ROUNDS])


def _by_backtest(
    past: Sequence[Round],
    played: Sequence[int],
    classes: tuple[str, ...],
    options: Options,
    em: EMOptions,
    shrinkage: float,
) -> Choice:
    wants = bool(options.covariates) or options.text is not None
    rivals = [] if options.groups is not None else ["gold_proportion", "hero1", *(["hero2"] if wants else [])]
    methods = [*rivals, DEFAULT]
    each = np.eye(len(classes))
    quantities = [Quantity(f"rate of {name!r}", each[k]) for k, name in enumerate(classes)]
    if len(classes) == 2:
        quantities = quantities[1:]
    found = replay(past, played, classes, quantities, methods, options, em, shrinkage)
    name, why = choice(found.plays, methods)
    shown = told_figures(found.plays, methods)
    cap = f", of {len(past)} those with most gold," if len(past) > len(played) else ""
    message = f"{len(played)} past rounds{cap} were played as current with their gold hidden: {shown}. {name} was taken"
    data = {
        "rounds": [past[position].name for position in played],
        "methods": {method: figures(found.plays, method) for method in methods},
    }
    return Choice(name, f"backtest of past rounds: {why}", (Finding("F306", message, data),))


def told_figures(plays: Sequence[Play], methods: Sequence[str]) -> str:
    """What each method's plays came to, in a row."""
    each = {method: figures(plays, method) for method in methods}
    return "; ".join(
        f"{method} |error| {of['abs_error']:.3f}, covers {of['coverage']:.0%}, interval score {of['score']:.3f}"
        for method, of in each.items()
        if of is not None
    )


def figures(plays: Sequence[Play], method: str) -> dict[str, float] | None:
    own = [one for one in plays if one.method == method]
    if not own:
        return None
    return {
        "abs_error": float(np.mean([abs(one.error) for one in own])),
        "coverage": float(np.mean([one.covered for one in own])),
        "score": float(np.mean([one.score for one in own])),
    }
