"""What the scores of each labeler say of gold: how they spread in each gold class, and how gold follows the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hero_eval.classes import common_classes
from hero_eval.errors import wrong
from hero_eval.io.score_bins import cut_scores
from hero_eval.model.calibration import share_interval
from hero_eval.model.patterns import Floats, Ints
from hero_eval.round import Round
from hero_eval.score_scale import on_one_scale

SPREAD = (0.1, 0.25, 0.5, 0.75, 0.9)
MOST_STEPS = 8
"""Points of a curve: as many parts of a labeler's scores, equal scores never parted."""
GOLD_PER_STEP = 10


@dataclass(frozen=True)
class ScoreSpread:
    """Quantiles of one labeler's scores on items of one gold class."""

    labeler: str
    gold: str
    n: int
    q10: float
    q25: float
    median: float
    q75: float
    q90: float


@dataclass(frozen=True)
class CurvePoint:
    """Of one labeler's scores around `score`: the share of gold in the upper classes, and its 95% interval."""

    labeler: str
    score: float
    n: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class ScoreCurves:
    """Every labeler's spreads and curve, those with the most golds first; `upper` says which gold a share is of."""

    upper: str
    spreads: tuple[ScoreSpread, ...]
    points: tuple[CurvePoint, ...]
    n_gold: int


def score_curves(rounds: Sequence[Round]) -> ScoreCurves:
    """From the items with gold of all rounds, which must have scores (E214); none of them: no spreads and no points."""
    together = on_one_scale(tuple(rounds))
    if not all(one.label_score is not None for one in together):
        raise wrong("E214", "these labels are not scores: there is no curve of gold along them")
    classes = common_classes(together)
    upper = classes[-1:] if len(classes) == 2 else classes[(len(classes) + 1) // 2 :]
    name, score, gold = _scored_gold(together, classes)
    spreads: list[ScoreSpread] = []
    points: list[CurvePoint] = []
    order = sorted(set(name.tolist()), key=lambda one: (-int((name == one).sum()), one))
    for one in order:
        own = name == one
        spreads += _spreads(one, score[own], gold[own], classes)
        points += _points(one, score[own], np.isin(np.array(classes, dtype=object)[gold[own]], upper))
    what = repr(upper[0]) if len(upper) == 1 else f"{upper[0]!r} or higher"
    n_gold = sum(one.n_gold for one in together)
    return ScoreCurves(what, tuple(spreads), tuple(points), n_gold)


def _scored_gold(rounds: Sequence[Round], classes: tuple[str, ...]) -> tuple[Any, Floats, Ints]:
    """Labeler, score and gold class of every label on an item with gold."""
    names, scores, golds = [], [], []
    for one in rounds:
        assert one.label_score is not None
        place = np.array([*(classes.index(value) for value in one.values), -1], dtype=np.int64)
        gold = place[one.gold][one.label_item]
        known = gold >= 0
        names.append(np.array(one.labelers, dtype=object)[one.label_labeler[known]])
        scores.append(one.label_score[known])
        golds.append(gold[known])
    return np.concatenate(names), np.concatenate(scores), np.concatenate(golds)


def _spreads(labeler: str, score: Floats, gold: Ints, classes: tuple[str, ...]) -> list[ScoreSpread]:
    return [
        ScoreSpread(labeler, name, int((gold == k).sum()), *map(float, np.quantile(score[gold == k], SPREAD)))
        for k, name in enumerate(classes)
        if (gold == k).any()
    ]


def _points(labeler: str, score: Floats, hit: Any) -> list[CurvePoint]:
    most = int(min(max(len(score) // GOLD_PER_STEP, 2), MOST_STEPS))
    step, n_steps = cut_scores(score, np.zeros(len(score), np.int64), 1, most)
    out = []
    for place in range(n_steps):
        here = step == place
        n, hits = int(here.sum()), int(hit[here].sum())
        if n:
            out.append(CurvePoint(labeler, float(score[here].mean()), n, hits / n, *share_interval(hits, n, 0.95)))
    return out
