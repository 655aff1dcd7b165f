"""How sure a rate, or a difference of two, would be in a round that is only planned: Fisher information of the design.

J labelers, all of sensitivity s and specificity c, label every item, and err independently given the class. Of an item
only the number t of labels "1" counts. With rate mu

    P(t) = mu B(t; J, s) + (1 - mu) B(t; J, 1 - c),

and an item with gold shows which of the two it was. Each labeler has its own s and c to be learned; since all are
alike, the best estimate moves them alike, and information along  s_1 = ... = s_J  is all that matters. Drift is a
shift of all class logits by a normal of the given standard deviation: it moves a rate by its size times the mean of
f (1 - f).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from hero_eval.model.patterns import Floats


@dataclass(frozen=True)
class RoundDesign:
    """A round that is planned: items, labelers and what they are like, golds in history and in the round itself."""

    items: float
    labelers: int
    sensitivity: float
    specificity: float
    past_gold: float = 0.0
    own_gold: float = 0.0
    rate: float = 0.5
    past_rate: float = 0.5
    drift: float = 0.0


def _binomials(design: RoundDesign) -> tuple[Floats, Floats]:
    """(J+1,): how probable each number of labels "1" is, for an item of class 1 and of class 0."""
    from scipy import stats  # slow to load, and only planning needs it

    t = np.arange(design.labelers + 1)
    one = stats.binom.pmf(t, design.labelers, design.sensitivity)
    return one, stats.binom.pmf(t, design.labelers, 1.0 - design.specificity)


def item_information(design: RoundDesign, rate: float) -> Floats:
    """(3, 3): of one item without gold, on (rate, sensitivity, specificity)."""
    one, zero = _binomials(design)
    t, j = np.arange(design.labelers + 1), design.labelers
    s, c = design.sensitivity, design.specificity
    slope_one = one * (t / s - (j - t) / (1.0 - s))
    slope_zero = zero * ((j - t) / c - t / (1.0 - c))
    chance = rate * one + (1.0 - rate) * zero
    by = np.stack([one - zero, rate * slope_one, (1.0 - rate) * slope_zero])
    out: Floats = (by / np.maximum(chance, 1e-300)) @ by.T
    return out


def gold_information(design: RoundDesign, rate: float) -> Floats:
    """(3, 3): of one item with gold."""
    s, c, j = design.sensitivity, design.specificity, design.labelers
    return np.diag([1.0 / (rate * (1 - rate)), rate * j / (s * (1 - s)), (1 - rate) * j / (c * (1 - c))])


def doubt(design: RoundDesign) -> float:
    """The mean of f (1 - f), f the chance that an item is of class 1 given its labels."""
    one, zero = _binomials(design)
    chance = design.rate * one + (1.0 - design.rate) * zero
    share = design.rate * one / np.maximum(chance, 1e-300)
    return float(chance @ (share * (1.0 - share)))


def rate_variance(design: RoundDesign, n_models: int = 1) -> float:
    """Of the rate of one model, or (2) of the difference of two with the same labelers and the same history.

    Each of the two has `items` and `own_gold`; the drift of both is the same to first order in half of its variance.
    """
    size = n_models + 1  # the rates of the models and of history, then sensitivity and specificity
    total = np.zeros((size + 2, size + 2))

    def add(place: int, one: Floats, times: float) -> None:
        at = np.array([place, size, size + 1])
        total[np.ix_(at, at)] += times * one

    for model in range(n_models):
        add(model, item_information(design, design.rate), design.items - design.own_gold)
        add(model, gold_information(design, design.rate), design.own_gold)
    add(n_models, gold_information(design, design.past_rate), design.past_gold)
    if not design.past_gold:  # nothing tells of it, and nothing is asked of it
        total[n_models, n_models] = 1.0
    contrast = np.zeros(size + 2)
    contrast[0] = 1.0
    if n_models == 2:
        contrast[1] = -1.0
    try:
        found = float(contrast @ np.linalg.solve(total, contrast))
    except np.linalg.LinAlgError:
        return math.inf
    return found + drift_variance(design) if found > 0 else math.inf


def drift_variance(design: RoundDesign) -> float:
    """What drift adds to the variance of a rate, once the round's own gold has shown some of it."""
    if not design.drift:
        return 0.0
    open_doubt = doubt(design)
    left = 1.0 / (design.drift**-2.0 + design.own_gold * open_doubt)
    slope = open_doubt * (1.0 - design.own_gold / design.items)
    return float(left * slope * slope)


def half_width(design: RoundDesign, level: float, n_models: int = 1) -> float:
    """Of the normal interval."""
    z = float(special.ndtri((1.0 + level) / 2.0))
    return z * math.sqrt(rate_variance(design, n_models))


def power_of(design: RoundDesign, effect: float, level: float) -> float:
    """The chance that the interval of the difference of two models leaves 0 out, if it is `effect`."""
    error = math.sqrt(rate_variance(design, 2))
    z = float(special.ndtri((1.0 + level) / 2.0))
    return float(special.ndtr(abs(effect) / error - z) + special.ndtr(-abs(effect) / error - z))
