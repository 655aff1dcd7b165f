"""Newton steps of multinomial logistic regressions, many at once: labelers on the basis, classes on their design.

Shapes: J regressions, L answers (the first is the reference), n places with counts, m columns of the design.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from hero_eval.model.even_logits import widest
from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Floats
from hero_eval.model.pooling import solve_each

_WIDE_DESIGN = 8
"""Columns from which on X'WX is formed by products instead of from the columns' squares, row by row, which would be
more numbers than that product. It bounds time only (reasoned)."""
LONGEST_STEP = 2.0
"""Of a Newton step, between any two answers: logits are quadratic over not much more. It changes the way to the
maximum, not the maximum. Doubled, EM might overshoot where labelers are nearly always right (reasoned)."""


def newton_step(counts: Floats, design: Floats, at: Floats, mean: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """One damped Newton step of many multinomial regressions that share a design, and their Hessians.

    counts (J, L, n), design (n, m), at (J, L-1, m), mean (J, (L-1)m), precision (J, (L-1)m, (L-1)m).
    """
    gradient, hessian = regression_derivatives(counts, design, at)
    gradient -= ((at.reshape(gradient.shape) - mean)[:, None] @ precision)[:, 0]
    hessian += precision
    step = solve_each(hessian, gradient[:, :, None])[:, :, 0]
    return at + damped(step.reshape(at.shape)), hessian


def regression_derivatives(counts: Floats, design: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Gradients (J, (L-1)m) and complete informations (J, (L-1)m, (L-1)m) of multinomial regressions."""
    n_fits = len(counts)
    if at.shape[1] == 1:
        return _binary_derivatives(counts, design, at[:, 0])
    lines = at @ design.T
    whole = np.concatenate([np.zeros((n_fits, 1, lines.shape[2])), lines], axis=1)
    share = np.exp(log_softmax(whole, axis=1))[:, 1:]
    total = counts.sum(axis=1)
    gradient = ((counts[:, 1:] - total[:, None] * share) @ design).reshape(n_fits, -1)
    return gradient, multinomial_information(total, share, design)


def _binary_derivatives(counts: Floats, design: Floats, at: Floats) -> tuple[Floats, Floats]:
    """The same of two answers, at (J, m)."""
    share = special.expit(at @ design.T)
    total = counts[:, 0] + counts[:, 1]
    expected = total * share
    gradient = (counts[:, 1] - expected) @ design
    expected *= 1.0 - share
    n_columns = design.shape[1]
    if n_columns > _WIDE_DESIGN:
        return gradient, np.stack([design.T @ (one[:, None] * design) for one in expected])
    squares = (design[:, :, None] * design[:, None]).reshape(len(design), -1)
    return gradient, (expected @ squares).reshape(-1, n_columns, n_columns)


def damped(step: Floats) -> Floats:
    """Steps (J, L-1, m), none of them longer than Newton's method can be trusted."""
    size = np.abs(step[:, 0]) if step.shape[1] == 1 else widest(step)
    if size.max(initial=0.0) <= LONGEST_STEP:
        return step
    out: Floats = step * np.minimum(1.0, LONGEST_STEP / np.maximum(size.max(axis=1), 1e-300))[:, None, None]
    return out


def multinomial_information(total: Floats, share: Floats, design: Floats) -> Floats:
    """(J, (L-1)m, (L-1)m): the complete information of multinomial logits; total (J, n), share (J, L-1, n)."""
    n_fits, width = len(share), share.shape[1] * design.shape[1]
    if not len(design):
        return np.zeros((n_fits, width, width))
    spread = -share[:, :, None] * share[:, None]
    spread[:, np.arange(share.shape[1]), np.arange(share.shape[1])] += share
    spread *= total[:, None, None]
    if design.shape[1] > _WIDE_DESIGN and design.shape[0] == design.shape[1] and (design == np.eye(len(design))).all():
        each, apart = np.arange(len(design)), np.zeros((n_fits, *(share.shape[1], len(design)) * 2))
        apart[:, :, each, :, each] = spread.transpose(3, 0, 1, 2)
        return apart.reshape(n_fits, width, width)
    by_pair = spread.reshape(-1, len(design))
    if design.shape[1] > _WIDE_DESIGN:
        sums = np.stack([design.T @ (one[:, None] * design) for one in by_pair])
    else:
        sums = by_pair @ (design[:, :, None] * design[:, None]).reshape(len(design), -1)
    blocks = sums.reshape(n_fits, share.shape[1], share.shape[1], *design.shape[1:] * 2)
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 2, 4)).reshape(n_fits, width, width)
