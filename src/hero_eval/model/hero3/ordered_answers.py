"""The order of answers: where they lie along a scale at first, and what labelers differ by if they are steps of one.

Where answers are ordered, such as bins of scores, labelers differ by thresholds, and by one slope. A labeler's logits
against the first answer are lines  alpha_l + beta_l theta  in the level. Answers of an order rise in steps: beta_l is
the group's step for answer l plus  l b_j,  with one number b_j for the labeler (adjacent-category logits with common
steps). Free lines would give every labeler L - 1 slopes, which a few golds and labels cannot tell apart. The constraint
is part of the labelers' covariance, so that all that knows the prior knows it.
Shapes: L answers, w = 2 (L-1) numbers of a labeler: for each answer but the first an intercept and a slope.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.hero3.shape import RoundRows
from hero_eval.model.patterns import Floats

OWN_STEP_VARIANCE = 0.01
"""Of a labeler's slopes off that pattern: a tenth of a logit a level. Doubled, labelers' steps differ a little more."""
_NEAR = 1e-9
"""Of the axis of answers that lie near each other, the least correlation of two answers to an item along it: below that
it is made of rounding errors. Doubled, nothing changes (reasoned)."""


def first_scale(rows: RoundRows) -> Floats:
    """(L,): a first guess at where answers lie on the scale of levels, which is 1 long.

    Two answers, and steps of an order, lie in their order. Other answers lie near each other if items get both: the
    first axis of a correspondence analysis of pairs of answers to an item, gold among them. It is the same in whatever
    order answers come; which end is up, their order says.
    """
    patterns, n_answers = rows.patterns, rows.patterns.n_answers
    by_order = np.linspace(0.0, 1.0, n_answers)
    if n_answers == 2 or n_answers != rows.n_classes:
        return by_order
    given = patterns.from_cells(np.tile(np.eye(n_answers), (patterns.n_labelers, 1)))
    given[rows.known, patterns.gold[rows.known]] += 1.0
    weighted = patterns.counts[:, None] * given
    pairs = given.T @ weighted - np.diag(weighted.sum(axis=0))
    often = pairs.sum(axis=0)
    root = np.sqrt(np.maximum(often, 1e-300))
    even = np.outer(root, root)
    near, axes = np.linalg.eigh(pairs / even - even / max(float(often.sum()), 1e-300))
    axis = np.where(often > 0.0, axes[:, -1] / root, 0.0)  # 0 is the middle
    span = float(np.ptp(axis))
    if near[-1] < _NEAR or span < 1e-6 * float(np.abs(axis).max()):  # items show no answers that lie near each other
        return by_order
    out: Floats = axis / (span if axis @ (by_order - 0.5) >= 0.0 else -span)
    return out


def ordered_covariance(covariance: Floats) -> Floats:
    """(w, w): the part of labelers' covariance in which slopes differ by one number, and next to none elsewhere."""
    width = len(covariance)
    n_free = width // 2
    along = np.zeros((width, n_free + 1))
    along[0::2, :n_free] = np.eye(n_free)
    steps = np.arange(1, n_free + 1, dtype=float)
    along[1::2, n_free] = steps / np.linalg.norm(steps)
    onto = along @ along.T
    out: Floats = onto @ covariance @ onto + OWN_STEP_VARIANCE * (np.eye(width) - onto)
    return out
