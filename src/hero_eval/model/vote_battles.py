"""What one more vote on a pair would tell of the strengths: the information by which the next battles are chosen.

A vote on the pair (i, j) adds  w_ij d d',  d = e_i - e_j,  to the information on the strengths, w_ij being what a vote
of the usual labeler tells of delta. It lowers the variance of a difference c by (c' V d)^2 w / (1 + w d' V d).
Shapes: M models, N differences that matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hero_eval.model.patterns import Floats, Ints


@dataclass(frozen=True, eq=False)
class VoteState:
    """covariance (M, M) of the strengths, and worth (M, M): the information of one more vote on each pair."""

    covariance: Floats
    worth: Floats


def allocated(state: VoteState, contrasts: Floats, weights: Floats, n_votes: int, portions: int = 50) -> Ints:
    """(M, M), upper triangle: how many of the votes each pair gets, in portions, each to where it helps most.

    contrasts (N, M): the differences that matter; weights (N,): how much.
    """
    n = len(state.covariance)
    first, second = np.triu_indices(n, 1)
    covariance, given = state.covariance.copy(), np.zeros((n, n), dtype=np.int64)
    sizes = np.full(min(portions, n_votes), n_votes // min(portions, n_votes))
    sizes[: n_votes - int(sizes.sum())] += 1
    for size in sizes:
        along = contrasts @ covariance
        reach = along[:, first] - along[:, second]
        own = covariance[first, first] + covariance[second, second] - 2.0 * covariance[first, second]
        worth = size * state.worth[first, second]
        gain = weights @ (reach**2) * worth / (1.0 + worth * own)
        best = int(np.argmax(gain))
        i, j = int(first[best]), int(second[best])
        given[i, j] += size
        moved = covariance[:, i] - covariance[:, j]
        covariance = covariance - np.outer(moved, moved) * worth[best] / (1.0 + worth[best] * own[best])
    return given
