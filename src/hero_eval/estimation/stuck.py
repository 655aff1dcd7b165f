"""Labelers who give one answer to every item of a round, which nobody who answers as in history could do.

A judge whose prompt broke, or whose parser falls back on one word, tells nothing. Read by what history says of it, it
would draw the rate to 0 or 1, against few others. HERO-3 sees by itself that one among many has moved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import special

from hero_eval.estimation.prepare import RoundSet
from hero_eval.findings import Finding, name_some
from hero_eval.model.patterns import Ints
from hero_eval.round import Round

LEAST_LABELS = 20
"""Of a labeler in a round, before one answer to all of them tells anything."""
LEAST_SHARE = 0.25
"""Of the labelers, that must be stuck: with 1 of 3 and 1 of 4 they took the rate of .55 to .86 and .66, from 1 of 5 on
HERO-3 is as near with them as without, on real rounds of 11 judges, too."""
_CHANCE = 1e-4
"""Of one answer throughout, were all items of the class in which it is most frequent."""
_SURE = 0.99
"""Of the bound on how frequent an answer is in a class, by the labeler's own golds in history."""


def without_stuck(rounds: RoundSet) -> RoundSet:
    """The rounds without labelers who are stuck in a current one, where others labeled nearly all of its items."""
    held = [one for one in rounds.past if one.holds_items and one.n_gold]
    if not held:
        return rounds
    currents = tuple(_without(one, held, rounds.classes) if one.holds_items else one for one in rounds.currents)
    return replace(rounds, currents=currents)


def _without(one: Round, past: list[Round], classes: tuple[str, ...]) -> Round:
    stuck = {name: answer for name in one.labelers if (answer := _stuck_at(one, name, past, classes)) is not None}
    if not LEAST_SHARE * len(one.labelers) <= len(stuck) < len(one.labelers):
        return one
    left = one
    for name in stuck:
        left, _ = left.without_labeler(name)
    if left.n_items < one.n_items or left.n_gold < one.n_gold:
        return one
    says = f"{'gives' if len(stuck) == 1 else 'give'} one answer to every item of {one.name!r}"
    message = (
        f"{name_some(list(stuck))} {says} ({', '.join(map(repr, dict.fromkeys(stuck.values())))}), as nobody who "
        "answers as in history could; left out, since that tells nothing"
    )
    return left.noted(Finding("F212", message, {"labelers": stuck}))


def _stuck_at(one: Round, name: str, past: list[Round], classes: tuple[str, ...]) -> str | None:
    """The answer that a labeler gives throughout the round, if that is no chance; None otherwise."""
    own = one.label_labeler == one.labelers.index(name)
    answers, scores = one.label_answer[own], None if one.label_score is None else one.label_score[own]
    if len(answers) < LEAST_LABELS or np.ptp(answers if scores is None else scores) > 0:
        return None
    said = one.answer_values[answers[0]]
    given = np.array([_of_class(past, name, said, kind) for kind in classes])
    most = special.betaincinv(given[:, 0] + 1.0, np.maximum(given[:, 1] - given[:, 0], 0.0) + 1e-12, _SURE)
    shown = said if scores is None else f"{scores[0]:g}"
    return shown if float(most.max()) ** len(answers) < _CHANCE else None


def _of_class(past: list[Round], name: str, said: str, kind: str) -> tuple[int, int]:
    """How often the labeler said this of items whose gold is of this class, and of how many such items it said
    anything."""
    same = total = 0
    for one in past:
        if name not in one.labelers or kind not in one.values:
            continue
        own: Ints = np.flatnonzero(one.label_labeler == one.labelers.index(name))
        known = own[one.gold[one.label_item[own]] == one.values.index(kind)]
        total += len(known)
        same += int((np.array(one.answer_values, dtype=object)[one.label_answer[known]] == said).sum())
    return same, total
