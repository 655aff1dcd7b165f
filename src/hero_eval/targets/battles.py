"""Which pairs of models to compare next, for the rank that matters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from hero_eval.errors import wrong
from hero_eval.estimation.standing import Standing
from hero_eval.model.patterns import Floats
from hero_eval.model.vote_battles import VoteState, allocated


@dataclass(frozen=True)
class Battle:
    """A pair to compare next.

    Attributes
    ----------
    model_a : str
        One of the two; show each first in half of the votes.
    model_b : str
        The other.
    votes : int
        How many votes the pair should have.
    """

    model_a: str
    model_b: str
    votes: int


def choose_battles(
    models: Sequence[str],
    strengths: Floats,
    standing: Standing,
    state: VoteState,
    count: int,
    top: int | None,
    pair: Sequence[str] | None,
) -> list[Battle]:
    if not isinstance(count, int) or count < 1:
        raise wrong("E201", f"count is {count!r}. It is a whole number of votes, 1 or more")
    if top is not None and pair is not None:
        raise wrong("E204", "top and pair exclude each other: say which rank matters, or which two models")
    contrasts, weights = _pair(models, pair) if pair is not None else _top(strengths, standing, state, top or 1)
    given = allocated(state, contrasts, weights, count)
    found = [Battle(models[i], models[j], int(given[i, j])) for i, j in np.argwhere(given > 0)]
    return sorted(found, key=lambda one: (-one.votes, one.model_a, one.model_b))


def gold_scores(strengths: Floats, standing: Standing, state: VoteState) -> Floats:
    """(M, M): how much gold on a battle of each pair would tell about the ranks: which of two neighbors is above.

    By the models alone, not by what was voted: gold that goes to disputed votes would need weights.
    """
    order = standing.order
    out = np.zeros_like(state.covariance)
    for i, j in itertools.pairwise(order):
        along = state.covariance[i] - state.covariance[j]
        variance = max(float(along[i] - along[j]), 1e-300)
        clear = (strengths[i] - strengths[j]) ** 2 / variance
        out += np.exp(-0.5 * min(clear, 400.0)) / np.sqrt(variance) * (along[:, None] - along[None, :]) ** 2
    share = special.expit(strengths[:, None] - strengths[None, :])
    scores: Floats = np.sqrt(out * share * (1.0 - share))
    return scores


def gold_foresight(strengths: Floats, state: VoteState, pairs: Sequence[tuple[int, int]], i: int, j: int) -> float:
    """The variance of the difference of i and j after gold on these pairs, over what it is now.

    What gold teaches about labelers is not in it, so that it is more than it will be.
    """
    covariance = state.covariance.copy()
    contrast = np.zeros(len(strengths))
    contrast[i], contrast[j] = 1.0, -1.0
    now = float(contrast @ covariance @ contrast)
    for a, b in pairs:
        share = float(special.expit(strengths[a] - strengths[b]))
        news = max(share * (1.0 - share) - float(max(state.worth[a, b], state.worth[b, a])), 0.0)
        moved = covariance[:, a] - covariance[:, b]
        covariance -= np.outer(moved, moved) * news / (1.0 + news * float(moved[a] - moved[b]))
    return float(contrast @ covariance @ contrast) / now if now > 0.0 else 1.0


def _pair(models: Sequence[str], pair: Sequence[str]) -> tuple[Floats, Floats]:
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise wrong("E201", f"pair is {pair!r}. It names two models")
    for name in pair:
        if name not in models:
            raise wrong("E235", f"model {name!r} has no votes. Models: {', '.join(models)}")
    out = np.zeros((1, len(models)))
    out[0, models.index(pair[0])], out[0, models.index(pair[1])] = 1.0, -1.0
    return out, np.ones(1)


def _top(strengths: Floats, standing: Standing, state: VoteState, top: int) -> tuple[Floats, Floats]:
    """Differences across the line below the best `top`, each by how open it is who is above whom."""
    n = len(strengths)
    if not isinstance(top, int) or not 1 <= top < n:
        raise wrong("E201", f"top is {top!r}. It is a whole number from 1 to {n - 1}")
    order = standing.order
    rows, weights = [], []
    for i in order[:top]:
        for j in order[top:]:
            one = np.zeros(n)
            one[i], one[j] = 1.0, -1.0
            variance = max(float(one @ state.covariance @ one), 1e-300)
            clear = (strengths[i] - strengths[j]) ** 2 / variance
            rows.append(one)
            weights.append(np.exp(-0.5 * min(clear, 400.0)) / np.sqrt(variance))
    out = np.array(weights)
    return np.array(rows), out if out.max() > 0 else np.ones(len(out))
