"""Classes of which no gold was seen: gold then tells only from where on they would have been.

Shapes: P rows, K classes, n steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from hero_eval.model.hero3.drift import gold_rows
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.patterns import Floats

_FARTHEST = 20.0
"""Logits beyond which a class is all or nothing: a share of 2e-9. Doubled, the grid is half as dense, and no digit that
is shown changes (reasoned)."""
_GRID_POINTS = 4_001
"""Shifts between which the confidence is interpolated: a hundredth of a logit apart. Doubled, nothing changes that
could be seen (reasoned)."""
_STEPS = 200
"""Shifts of equal confidence that an interval mixes over: enough for an interval of 99%. Doubled, its ends change in
the third digit (reasoned)."""
_SEEN_BY_HALF = float(1.0 - np.exp(-special.gammaincinv(0.5, 0.5)))
"""The probability of seeing the class at the median of Jeffreys' posterior: the rate of none in n is Gamma(1/2) / n.
Nothing to double: it follows from that prior."""


@dataclass(frozen=True, eq=False)
class UnseenClasses:
    """Where classes may begin of which no gold was seen: a shift of their logits, along `direction` (K-1,).

    `middle` is where the class is taken to begin; `steps` (n,) are shifts beyond it, of equal confidence.
    """

    direction: Floats
    middle: float
    steps: Floats


def unseen_classes(fit: LevelModel) -> UnseenClasses | None:
    """What gold that never shows a class still allows; None where it shows all that labels name, or there is none.

    The confidence that the shift is below b is the probability of seeing the class at least once, were the shift b:
    the exact bound for "none among n", with every gold item counted by how probable its labels make the class. Half of
    that confidence would be a cautious guess at the shift itself: most classes that none of n golds shows are rarer.
    Jeffreys' prior puts its median where the class would have been seen with probability `_SEEN_BY_HALF`.
    """
    rows = fit.rows
    seen = np.bincount(rows.patterns.gold[rows.known], minlength=rows.n_classes) > 0
    named = rows.patterns.to_cells(rows.patterns.counts[:, None]).sum(axis=(0, 2)) > 0
    if fit.shape.n_levels == 0 or not seen.any():
        return None
    if len(named) == len(seen):
        seen |= ~named  # a class that neither gold nor any label has is only a word
    if seen.all():
        return None
    offset, _, counts = gold_rows(fit, rows.known)
    odds = special.logsumexp(offset[:, ~seen], axis=1) - special.logsumexp(offset[:, seen], axis=1)
    shifts = np.linspace(-_FARTHEST - odds.max(), _FARTHEST - odds.min(), _GRID_POINTS)
    none_seen = -counts @ np.logaddexp(0.0, odds[:, None] + shifts)  # falls with the shift
    wanted = np.log1p(-np.append((np.arange(_STEPS) + 0.5) / _STEPS, _SEEN_BY_HALF))
    found = np.interp(-wanted, -none_seen, shifts)
    direction = (~seen).astype(float)[1:] - float(~seen[0])
    return UnseenClasses(direction, float(found[-1]), found[:-1] - found[-1])
