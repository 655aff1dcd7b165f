"""Which battles of a round of votes experts should judge: half at random, half where ranks are open.

A battle's probability depends on its two models alone, not on what was voted, so that a ranking needs no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hero_eval.errors import HeroError, wrong
from hero_eval.model.gold_draw import draw_systematic, inclusion_probabilities
from hero_eval.model.history import Progress
from hero_eval.store.battle_gold import StoredBattle, battles_of
from hero_eval.store.past_rounds import past_of
from hero_eval.store.reading import ReadableStore
from hero_eval.targets.arena import rank_votes
from hero_eval.targets.battles import gold_scores

FLOOR = 0.5
"""The share of a routed draw that goes to all battles alike."""


def chosen_battles(
    battles: Sequence[StoredBattle], may: Any, score: Any, count: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    """The places of the battles drawn, and for each battle how probable that was; spread over the pairs of models."""
    probability = inclusion_probabilities(score, count, FLOOR, may)
    open_ = rng.permutation(np.flatnonzero(may))
    pairs = sorted({one.models for one in battles})
    place = {pair: at for at, pair in enumerate(rng.permutation(len(pairs))[: len(pairs)])}
    number = np.array([place[pairs.index(battles[at].models)] for at in open_])
    order = open_[np.argsort(number, kind="stable")]
    return draw_systematic(probability, order, rng), probability


def battle_scores(
    store: ReadableStore, round: str, battles: Sequence[StoredBattle], progress: Progress | None = None
) -> Any:
    """(n,) how much gold on each battle would tell about the ranks; equal where votes cannot be ranked yet."""
    try:
        history = [store.read_votes([row]) for row in past_of(store.log(), round) if row.gold]
        board = rank_votes(store.votes(round), history or None, progress=progress)
    except HeroError:
        return np.zeros(len(battles))
    if board.state is None:
        return np.zeros(len(battles))
    found = gold_scores(board.strengths, board.standing, board.state)
    place = {name: at for at, name in enumerate(board.models)}
    return np.array([found[place[one.models[0]], place[one.models[1]]] for one in battles])


def open_battles(store: ReadableStore, round: str) -> tuple[list[StoredBattle], Any]:
    """The battles of a round, and which of them have no gold yet; E527 if none is left."""
    battles = battles_of(store.rows(store.find(round)))
    may = np.array([not one.has_gold for one in battles])
    if not may.any():
        raise wrong("E527", f"every battle of round {round!r} has gold already: {len(battles)} battles")
    return battles, may
