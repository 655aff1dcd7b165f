"""Labelers whose answers are ordered, such as bins of scores: they differ by thresholds, and by one slope.

A labeler's logits against the first answer are lines  alpha_l + beta_l theta  in the level. Answers of an order rise
in steps: beta_l is the group's step for answer l plus  l b_j,  with one number b_j for the labeler (adjacent-category
logits with common steps). Free lines would give every labeler L - 1 slopes, which a few golds and labels cannot tell
apart. The constraint is part of the labelers' covariance, so that all that knows the prior knows it.
Shapes: L answers, w = 2 (L-1) numbers of a labeler: for each answer but the first an intercept and a slope.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.patterns import Floats

OWN_STEP_VARIANCE = 0.01
"""Of a labeler's slopes off that pattern: a tenth of a logit a level. Doubled, labelers' steps differ a little more."""


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
