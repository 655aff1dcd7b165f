"""Which shape the data ask for: one component per class, levels, or classes with appeals.

The candidates are compared by their penalized log-likelihood (`LevelFit.criterion`), each fitted near its maximum. That
is mostly the labels' likelihood, and labels may part items by something else than the expert's classes; so components
that are classes with appeals must also tell the class of an item almost surely, and gold must bear them out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hero_eval.model.hero3.appeals import class_certainty, gold_log_likelihood
from hero_eval.model.hero3.class_split import BLURRED, level_certainty
from hero_eval.model.hero3.drift import gold_contradiction, label_shares
from hero_eval.model.hero3.fit import LevelFit, near_maximum
from hero_eval.model.hero3.moods import moods_are_seen, read_moods
from hero_eval.model.hero3.shape import LevelShape, RoundRows
from hero_eval.model.patterns import Ints

LEVELS = (0, 2, 3, 5, 7, 9)
"""Numbers of levels that are tried, in turn; 0 is one component per class. The largest bounds time: tqa v2 and dices350
take all nine. Up to 18 (measured): the rate of a round of tqa v2 moves by .01 and its interval is 23% shorter,
dices350's rate moves by .001, imagenhub stays."""
ORDERED_LEVELS = 9
"""Levels where answers are more than classes, such as bins of scores, which lie anywhere along the scale: with the
three that a penalty for each parameter leaves, an item is good, bad or between, and what scores tell beyond that is
lost (`benchmarks/scores.py`: an error larger by an eighth). With 13 (measured there) the error is the same."""
CONTRADICTED = 4.5
"""Standard errors by which the gold of a class may miss what labels alone say of it before the fit is not believed:
chance alone does that once in 150,000 classes. Doubled, some fits are believed that should not be (reasoned)."""
MANY_ROUNDS = 3
"""Rounds, current included, above which rounds may differ in more than a tilt: with fewer, rounds with free shares
could each have levels of its own. Doubled (measured on two rounds of tqa with four past ones, a fifth of them with
gold): rates move by .006 and .016, intervals are 3 and 30% longer."""
APPEALS = (5, 9)
"""Numbers of appeals within a class that are tried, in turn. The larger bounds time, and is what a hundred judges ask
for. Up to 15, nothing changes that could be seen (reasoned: their judges tell classes apart with nine)."""
_TOLD_LEVELS = 0.85
"""Of the levels' variance by labels, below which appeals are not tried: labels that tell items' levels no better cannot
tell their classes almost surely. It bounds time only, as long as it is well below `BLURRED` (measured: appeals were
taken from .96 on, and rounds of three to six labels an item have .6 to .9)."""
_MOST_COMPONENTS = 27
"""Classes times appeals, above which appeals are not tried: three classes of nine. It bounds time only (reasoned)."""
_GOLD_ODDS = 20.0
"""How many times as probable gold must be, given the labels, with appeals as with levels. Doubled, one gold more or so
is needed (reasoned: in `benchmarks/many_judges.py` it is a million times as probable)."""
_WORSE_IN_A_ROW = 2
"""Numbers of levels that are no better than the best so far, after which no more are tried. Doubled (measured, dices350
too): the same numbers are chosen, for more time."""


def shape_for(n_rounds: int, shape: LevelShape) -> LevelShape:
    """The same shape as so many rounds may have it."""
    return replace(shape, all_degrees=shape.n_levels > 0 and n_rounds > MANY_ROUNDS)


def choose_levels(rows: RoundRows, groups: Ints, progress: Callable[[int, float], None] | None) -> LevelFit:
    """One component per class, or levels on a scale: as many as the likelihood pays for; near its maximum only.

    A component that is a class without any gold would be named by the labels alone, so there must be levels then. So
    there must where components that are classes contradict the gold. Levels are the better explanation only as long as
    moods that labelers share in a round do not make classes a better one. Answers in more steps than there are classes
    get many levels, in whose shares rounds differ by a tilt alone.
    """
    best, worse, classes = None, 0, None
    anchored = len(np.unique(rows.patterns.gold[rows.known])) == rows.n_classes
    if rows.has_ordered_answers:
        shape = LevelShape(ORDERED_LEVELS, rows.n_classes)
        best = near_maximum(rows, shape, groups, progress)
        return _with_appeals(best, progress) if anchored else best
    for n_levels in LEVELS if anchored else LEVELS[1:]:
        shape = shape_for(rows.n_rounds, LevelShape(n_levels, rows.n_classes))
        least = -np.inf if best is None else best.criterion
        other = near_maximum(rows, shape, groups, progress, to_beat=least)
        classes = other if n_levels == 0 else classes
        if n_levels == 0 and gold_contradiction(other) > CONTRADICTED:
            continue
        if best is None or other.criterion > best.criterion:
            best, worse = other, 0
        else:
            worse += 1
        if worse == _WORSE_IN_A_ROW:
            break
    assert best is not None
    if classes is not None and best is not classes and _moods_explain(classes, best.criterion):
        return classes
    told = anchored and level_certainty(best) > _TOLD_LEVELS  # none where components are classes
    return _with_appeals(best, progress) if told else best


def _moods_explain(classes: LevelFit, to_beat: float) -> bool:
    """Whether components that are classes explain labels best once all labelers may share a mood in each round."""
    if not moods_are_seen(classes):
        return False
    lacking = to_beat - classes.criterion
    moods = read_moods(classes, lacking)
    if moods is None or moods.gain <= lacking:
        return False
    return gold_contradiction(classes, moods.moves(label_shares(classes))) <= CONTRADICTED


def _with_appeals(levels: LevelFit, progress: Callable[[int, float], None] | None) -> LevelFit:
    """Classes with appeals, where labels ask for them, tell classes almost surely, and gold bears that out."""
    best, rows = levels, levels.rows
    needed = gold_log_likelihood(levels) + np.log(_GOLD_ODDS)
    for n_appeals in APPEALS:
        if n_appeals * rows.n_classes > _MOST_COMPONENTS:
            break
        shape = LevelShape(0, rows.n_classes, n_appeals=n_appeals)
        other = near_maximum(rows, shape, levels.groups, progress, to_beat=best.criterion)
        if other.criterion <= best.criterion or gold_log_likelihood(other) < needed:
            break
        if class_certainty(other) > BLURRED:
            best = other
    return best
