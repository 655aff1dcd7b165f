"""Quantities of a round whose parts are estimated apart, and drift with the round.

Labelers are strict or mild for a whole round, so that the parts' class logits are off together; but where one class is
rare the same change of the labelers moves them much farther than where classes are even, so that they are also off by
themselves. Nothing tells how much is which. What is off together adds up in the rate of the whole and partly cancels in
recall, what is off apart does the contrary: the interval takes what leaves more open. And a rare class takes a shift
lopsidedly, which no standard error tells. The quantity is therefore worked out anew for each shift that drift may have,
as `intervals.drift_curve` does for a single rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from hero_eval.estimation.curves import Curve, GridCurve, LessSure, drifting
from hero_eval.estimation.intervals import DRIFT_POINTS
from hero_eval.estimation.question import Question
from hero_eval.influence import Influence, Part
from hero_eval.methods.result import Fit
from hero_eval.model.hero3.drift import drift_steps
from hero_eval.model.patterns import Floats

_EDGE = 1e-9
"""Of shares, so that they have a logit: 21 from even. Doubled, nothing changes that is shown (reasoned)."""


@dataclass(frozen=True, eq=False)
class DriftedRates:
    """A part's rate for each size and step of the round's drift (M, S), without any, and how probable sizes are (M,).

    A part that does not drift has one size.
    """

    drifted: Floats
    still: float
    weights: Floats


def drifted_rates(fit: Fit, contrast: Floats) -> DriftedRates:
    """Of  contrast . rates  of a part; a method that knows of no drift has it at one place."""
    if fit.between is None or not fit.between.drift.is_present:
        still = float(contrast @ fit.inside)
        return DriftedRates(np.full((1, DRIFT_POINTS), still), still, np.ones(1))
    between = fit.between.along(contrast[1:] - contrast[0])
    direction, _ = between.steepest(contrast[1:] - contrast[0])
    shifts = np.outer(between.drift.sizes, drift_steps(DRIFT_POINTS, between.drift.df))
    rates = between.moved_by(np.append(0.0, shifts.ravel())[:, None] * direction) @ contrast
    return DriftedRates(rates[1:].reshape(shifts.shape), float(rates[0]), between.drift.weights)


def drifts_as_one(fits: Sequence[Fit]) -> bool:
    """Whether parts with these fits drift, and nothing but drift and the noise of items is open."""
    betweens = [fit.between for fit in fits if fit.between is not None]
    return any(one.drift.is_present for one in betweens) and all(one.unseen is None for one in betweens)


def parts_drift_curve(
    question: Question,
    parts: Sequence[DriftedRates],
    quantity: Callable[..., Floats],
    *,
    center: float,
    noise: float,
    n_items: float,
) -> Curve:
    """The confidence curve of a share made of the rates of one or two parts, which `quantity` works out.

    `noise` is the variance of its estimate without drift, `center` what it comes to by the rates in `Fit.inside`.
    """
    n_sizes = max(len(one.weights) for one in parts)
    weights = np.mean([one.weights for one in parts if len(one.weights) == n_sizes], axis=0)
    middle = float(special.logit(_inside(quantity(*(np.array(one.still) for one in parts)))))
    center = float(_inside(np.array(center)))

    def curve(*rates: Floats) -> GridCurve:
        where = special.logit(_inside(quantity(*np.broadcast_arrays(*rates)))).reshape(n_sizes, -1)
        return drifting(
            where,
            weights,
            middle=middle,
            center=float(special.logit(center)),
            noise=noise / (center * (1.0 - center)) ** 2,
            df=question.df,
            bounds=(0.0, 1.0),
            n_items=n_items,
        )

    each = [np.broadcast_to(one.drifted, (n_sizes, DRIFT_POINTS)) for one in parts]
    if len(each) == 1:
        return curve(*each)
    first, second = each
    return LessSure(curve(first, second), curve(first[:, :, None], second[:, None, :]), (0.0, 1.0))


def _inside(shares: Floats) -> Floats:
    out: Floats = np.clip(shares, _EDGE, 1.0 - _EDGE)
    return out


def without_drift(influence: Influence, fit: Fit, contrast: Floats) -> Influence:
    """The influences on  contrast . rates  of a part, less what drift adds."""
    held = [part for part in influence.parts if part.source == "rounds"]
    if fit.between is None or not held:
        return influence
    along = contrast[1:] - contrast[0]
    own = math.sqrt(max(float(along @ fit.between.covariance_without_drift() @ along), 0.0))
    items = [part for part in influence.parts if part.source != "rounds"]
    return Influence((*items, replace(held[0], values=np.array([own]))))


def with_drift(influence: Influence, fit: Fit, contrast: Floats, name: str) -> Influence:
    """The same with drift that goes by this name: what has the same name is off together."""
    if fit.between is None or not any(part.source == "rounds" for part in influence.parts):
        return influence
    along = contrast[1:] - contrast[0]
    between = fit.between.along(along)
    part = Part("rounds", np.array([between.drift.size * between.steepest(along)[1]]), np.array([name], dtype=object))
    return Influence((*influence.parts, part))
