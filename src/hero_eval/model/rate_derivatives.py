"""How the reliabilities move the current rates: the way from history's errors to those of HERO-1 and HERO-2.

The rates (the paper's mu) are the root of the mean score psi (`rates`). An item of the current round moves them by
I^-1 psi_i, I the mean of psi psi'; the reliabilities (alpha, beta) move them by I^-1 (d mean psi / d parameters).
Shapes: P patterns of the current round, S states, K classes, p free parameters.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.coordinates import Coordinates, logits_of_cells
from hero_eval.model.latent import Latent
from hero_eval.model.patterns import Floats, Patterns, sum_by
from hero_eval.model.rates import scores

_BLOCK = 1 << 18
"""Rows whose scores are added up at a time. It bounds memory only; last digits differ (reasoned)."""


def rates_gradient(patterns: Patterns, latent: Latent, at: Coordinates, rates: Floats, row_weights: Floats) -> Floats:
    """d/d(parameters) of  sum over rows and classes of row_weights[r, k-1] * psi_rk,  as a free vector (p,).

    `patterns` are the current round's, on the labelers of `latent`; row_weights (P, K-1).
    """
    by_cell, per_state = np.zeros(latent.answers.shape), np.zeros(latent.n_states)
    for rows in patterns.row_blocks():  # rows may be millions
        pull = _state_pull(patterns, latent, rates, rows, row_weights[rows])
        by_cell += patterns.to_cells_of(rows, pull)
        per_state += pull.sum(axis=0)
    answers = logits_of_cells(at, by_cell)
    share = latent.within_class()
    per_class = sum_by(latent.state_class, per_state, latent.n_classes)[latent.state_class]
    # a state's share of its class, log-differentiated in the log weights: own minus the class's shares
    on_log_weights = per_state - share * per_class
    return at.pack(at.weight_slopes.T @ on_log_weights, answers)


def _state_pull(patterns: Patterns, latent: Latent, rates: Floats, rows: slice, row_weights: Floats) -> Floats:
    """(n, S): the derivative of the weighted sum of psi in each state's log-likelihood, for some rows."""
    of_class = latent.state_class
    ratio = patterns.from_cells_of(rows, np.log(latent.answers).reshape(-1, latent.n_states))
    ratio += np.log(latent.within_class())
    ratio -= ratio.max(axis=1, keepdims=True)
    np.exp(ratio, out=ratio)
    ratio /= (ratio @ rates[of_class])[:, None]
    pulled: Floats = np.concatenate([-row_weights.sum(axis=1, keepdims=True), row_weights], axis=1)[:, of_class]
    pulled *= ratio
    ratio *= rates[of_class]
    ratio *= pulled.sum(axis=1, keepdims=True)
    pulled -= ratio
    return pulled


def rates_information(likelihood: Floats, counts: Floats, rates: Floats) -> Floats:
    """I = mean psi psi' (K-1, K-1) of the current round."""
    out: Floats = np.zeros((len(rates) - 1,) * 2)
    for start in range(0, len(counts), _BLOCK):  # copies of all rows would fill memory
        psi = scores(likelihood[start : start + _BLOCK], rates)
        out += (psi * counts[start : start + _BLOCK, None]).T @ psi
    out /= counts.sum()
    return out
