"""Which items were given gold: weights where the probabilities are known, tests of what it depends on where not.

What a likelihood needs of gold is that, given the labels, an item's class does not depend on whether it has gold. Gold
that goes to disputed items is no harm to it; gold that goes by a covariate which tells about the class is, and so is
either to shares counted among the gold items alone. Weights repair all of these.
Shapes: N items, d columns.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.patterns import Bools, Floats


def routing_weights(known: Bools, probability: Floats) -> Floats:
    """(N,) weights under which items with gold, and items without, both stand for all items.

    An item that had gold with probability p counts as rate / p if it has gold and (1 - rate) / (1 - p) if not, as if
    gold had gone at random to that share of the items.
    """
    rate = float(probability.mean())
    without = (1.0 - rate) / np.maximum(1.0 - probability, 0.01)
    return np.where(known, rate / probability, without)


def routing_scores(
    known: Bools, expected: Floats, columns: Floats, times: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    """Of one round: (d,) scores of the odds of having gold in each column, nan = missing, and their variances.

    `expected` (N,) is each item's probability of gold: its round's share, or the known one. A score over the root of
    its variance is a z-value; rounds are added up. `times` (N,): as how many items alike each counts.
    """
    spread = times * expected * (1.0 - expected)
    seen = ~np.isnan(columns)
    weight = seen * spread[:, None]
    mass = np.maximum(weight.sum(axis=0), 1e-300)
    filled = np.where(seen, columns, 0.0)
    centered = np.where(seen, filled - (weight * filled).sum(axis=0) / mass, 0.0)
    score = (times * (known - expected)) @ centered
    variance = (weight * centered**2).sum(axis=0)
    varies = variance > 1e-12 * (weight * filled**2).sum(axis=0)
    return np.where(varies, score, 0.0), np.where(varies, variance, 0.0)
