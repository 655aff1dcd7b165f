"""Compiled passes over very many sites of votes, at all points at once at which labelers are summed.

Both say what `vote_fit` says of few sites in numpy. Sites are sorted by labeler; sums are taken in their order.
Shapes: S sites, K states, L answers, Q points, A labelers; the first "labeler", 0, says what the state is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hero_eval.model.compiling import njit
from hero_eval.model.patterns import Floats, Ints

_LEAST = 1e-300
_SMALL = 1e-30
"""A probability that is not multiplied with others, whose product might then be none."""
_FOLD = 8
"""Probabilities multiplied before a logarithm is taken: 1e-30 to this power is still a number."""


@njit(nogil=True, cache=True)
def _shares(k_all: int, site: int, states: Any, own: Any, answer: int, out: Any) -> None:
    """(Q,): the probability of an answer at a site at every point."""
    for q in range(len(out)):
        out[q] = states[0, site] * own[0, answer, q]
    for k in range(1, k_all):
        state = states[k, site]
        for q in range(len(out)):
            out[q] += state * own[k, answer, q]


@njit(nogil=True, cache=True)
def _log_likelihoods(who: Any, states: Any, counts: Any, every: Any, out: Any) -> None:
    n_states, n_points = states.shape[0], every.shape[3]
    share, product = np.empty(n_points), np.ones(n_points)
    held, last = 0, -1
    for site in range(len(who)):
        labeler = who[site]
        if held and (labeler != last or held >= _FOLD):
            for q in range(n_points):
                out[last, q] += np.log(product[q])
                product[q] = 1.0
            held = 0
        last = labeler
        for answer in range(counts.shape[0]):
            count = counts[answer, site]
            if count == 0.0:
                continue
            _shares(n_states, site, states, every[labeler], answer, share)
            if count == 1.0 and held < _FOLD and share.min() > _SMALL:
                for q in range(n_points):
                    product[q] *= share[q]
                held += 1
            else:
                for q in range(n_points):
                    out[labeler, q] += count * np.log(max(share[q], _LEAST))
    if held:
        for q in range(n_points):
            out[last, q] += np.log(product[q])


@njit(nogil=True, cache=True)
def _told(who: Any, states: Any, counts: Any, every: Any, weights: Any, out: Any) -> None:
    n_states, n_points = states.shape[0], every.shape[3]
    share = np.empty(n_points)
    for site in range(len(who)):
        labeler = who[site]
        for answer in range(counts.shape[0]):
            count = counts[answer, site]
            if count == 0.0:
                continue
            _shares(n_states, site, states, every[labeler], answer, share)
            for q in range(n_points):
                share[q] = count * weights[labeler, q] / max(share[q], _LEAST)
            for k in range(n_states):
                total = 0.0
                for q in range(n_points):
                    total += every[labeler, k, answer, q] * share[q]
                out[k, site] += total


def log_likelihoods(who: Ints, states: Floats, counts: Floats, every: Floats) -> Floats:
    """(1 + A, Q): of each labeler's votes at each point, from who (S,), states (K, S), counts (L, S) and how everybody
    answers, (1 + A, K, L, Q)."""
    out = np.zeros((len(every), every.shape[3]))
    _log_likelihoods(who, states, counts, every, out)
    return out


def told(who: Ints, states: Floats, counts: Floats, every: Floats, weights: Floats) -> Floats:
    """(K, S): what the votes say of each state, points having weights (1 + A, Q)."""
    out = np.zeros_like(states)
    _told(who, states, counts, every, weights, out)
    return out
