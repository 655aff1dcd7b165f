"""Drawing a fixed number of items with unequal probabilities that are known exactly.

Probabilities are a mixture of equal ones and of ones in proportion to a score, so that none lies below a floor. The
draw is systematic along an order that the caller gives: a comb of equal distances, with a random start, over the
cumulated probabilities. Each item is drawn with just its probability, and neighbors in the order are not drawn
together, which spreads the sample and makes a weighted mean vary no more, and mostly less, than independent draws.
Shapes: n items.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.patterns import Bools, Floats, Ints


def inclusion_probabilities(score: Floats, count: int, floor: float, may: Bools) -> Floats:
    """(n,) with which probability each item is drawn, so that those that `may` be drawn add up to `count`.

    `floor` is the share of the draw that goes to all items alike; the rest goes in proportion to the score. What would
    be above 1 is 1, and the others share what is left. An item that may not be drawn (it was before) has the
    probability that it would have if it might.
    """
    n_open = int(may.sum())
    if count >= n_open:
        return np.ones(len(score))
    total = float(score[may].sum())
    flat = np.full(len(score), 1.0 / n_open)
    wanted = flat if not total > 0.0 else floor * flat + (1.0 - floor) * (np.maximum(score, 0.0) / total)
    sure = np.zeros(len(score), bool)
    for _ in range(n_open):
        factor = (count - int((sure & may).sum())) / float(wanted[may & ~sure].sum())
        above = ~sure & (factor * wanted >= 1.0)
        if not (above & may).any():
            break
        sure |= above
    return np.where(sure, 1.0, np.minimum(factor * wanted, 1.0))


def draw_systematic(probability: Floats, order: Ints, rng: np.random.Generator) -> Ints:
    """Positions of the items drawn, in the given order of all that can be; their number is the probabilities' sum."""
    ends = np.cumsum(probability[order])
    count = round(float(ends[-1]))
    ends *= count / ends[-1]  # rounding errors may not cost the last item
    teeth = np.arange(count) + rng.random()
    drawn: Ints = order[np.minimum(np.searchsorted(ends, teeth, side="right"), len(order) - 1)]
    return drawn


def drawn_again(before: Floats | float, now: Floats) -> Floats:
    """The probability of having been drawn before, or now if not before."""
    out: Floats = 1.0 - (1.0 - before) * (1.0 - now)
    return out
