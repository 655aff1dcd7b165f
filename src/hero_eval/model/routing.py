"""Which items were given gold: weights where the probabilities are known, tests of what it depends on where not.

What a likelihood needs of gold is that, given the labels, an item's class does not depend on whether it has gold. Gold
that goes to disputed items is no harm to it; gold that goes by a covariate which tells about the class is, and so is
either to shares counted among the gold items alone. Weights repair all of these, at the price of counting some golds
for little: where gold is known to have gone by the labels alone (`goes_by_labels`), the likelihood does without.
Shapes: N items, d columns.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.patterns import Bools, Floats, Patterns, dot

LEAST_ALIKE = 0.5
"""Of the items, the share that must have others with the same answers, before equal probabilities of these say that
gold went by the answers."""
_SAME = 1e-6
"""Relative difference of probabilities that are the same but for the digits a file keeps."""


def routing_weights(known: Bools, probability: Floats) -> Floats:
    """(N,) weights under which items with gold, and items without, both stand for all items.

    An item that had gold with probability p counts as rate / p if it has gold and (1 - rate) / (1 - p) if not, as if
    gold had gone at random to that share of the items.
    """
    rate = float(probability.mean())
    without = (1.0 - rate) / np.maximum(1.0 - probability, 0.01)
    return np.where(known, rate / probability, without)


def goes_by_labels(patterns: Patterns, probability: Floats) -> bool:
    """Whether the probabilities (N,) of having gold depend on the items' answers alone: equal answers, equal ones.

    Given the labels, having gold then tells nothing of an item's class, and a likelihood of the labels needs no
    weights. Where few items have answers in common, nothing can be said.
    """
    ends, indices = patterns.cells.indptr, patterns.cells.indices
    keys = [indices[ends[row] : ends[row + 1]].tobytes() for row in range(patterns.n_rows)]
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    of_item = np.array([number[key] for key in keys])[patterns.row_of_item]
    low, high = np.full(len(number), np.inf), np.zeros(len(number))
    np.minimum.at(low, of_item, probability)
    np.maximum.at(high, of_item, probability)
    alike = np.bincount(of_item, minlength=len(number))[of_item] > 1
    return bool(alike.mean() >= LEAST_ALIKE and (high - low <= _SAME * high).all())


def routing_scores(
    known: Bools, expected: Floats, columns: Floats, times: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    """Of one round: (d,) scores of the odds of having gold in each column, nan = missing, and their variances.

    `expected` (N,) is each item's probability of gold: its round's share, or the known one. A score over the root of
    its variance is a z-value; rounds are added up. `times` (N,): as how many items alike each counts.
    """
    spread, beyond = times * expected * (1.0 - expected), times * (known - expected)
    found = np.zeros((2, columns.shape[1]))
    for at, column in enumerate(columns.T):  # one at a time: items may be millions
        seen = ~np.isnan(column)
        weight = seen * spread
        filled = np.where(seen, column, 0.0)
        centered = np.where(seen, filled - dot(weight, filled) / max(float(weight.sum()), 1e-300), 0.0)
        variance = dot(weight, centered**2)
        if variance > 1e-12 * dot(weight, filled**2):
            found[:, at] = dot(beyond, centered), variance
    return found[0], found[1]
