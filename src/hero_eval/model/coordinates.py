"""The free coordinates of a latent-class model: logits, and the derivatives of all log-probabilities in them.

Every probability vector (state weights; one labeler's answers in one state) has logits against its largest entry, which
is the reference; entries at the clipping bound are held there and have no coordinate. The parameter vector is the
weights' logits (S-1), then for each state the answers' logits (J * (L-1)). The paper's mu, alpha_j and beta_j are
entries of the probabilities (`latent`).
Shapes: P patterns, J labelers, L answers, S states, p free parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hero_eval.model.latent import Latent
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns

_AT_BOUND = 1.0 + 1e-6
"""How far above the clipping bound a probability still counts as held there. It allows for rounding in the M-step and
no more. Doubled (the part beyond 1), nothing changes: EM leaves probabilities on the bound to the last digit
(reasoned)."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The derivative of every log-probability in its logits, and which logits are free.

    weight_slopes (S, S-1); answer_slopes (J, L, L-1, S): d log answers[j, m, s] / d logit c of (j, s);
    free (S-1 + S*J*(L-1),).
    """

    weight_slopes: Floats
    answer_slopes: Floats
    free: Bools

    @property
    def n_free(self) -> int:
        return int(self.free.sum())

    def unpack(self, values: Floats) -> tuple[Floats, Floats]:
        """A free vector (p,) as (S-1,) and (J*(L-1), S), zero where held."""
        full = np.zeros(len(self.free))
        full[self.free] = values
        n_states = self.weight_slopes.shape[0]
        return full[: n_states - 1], full[n_states - 1 :].reshape(n_states, -1).T

    def pack(self, weights: Floats, answers: Floats) -> Floats:
        """(S-1, ...) and (J*(L-1), S, ...) as free vectors (p, ...)."""
        trailing = weights.shape[1:]
        flat = np.moveaxis(answers, 0, 1).reshape(-1, *trailing)
        out: Floats = np.concatenate([weights, flat])[self.free]
        return out


def coordinates(latent: Latent, clip: float) -> Coordinates:
    """Logit coordinates at this point."""
    weight_slopes, weight_free = _slopes(latent.weights[None, :, None], clip)
    answer_slopes, answer_free = _slopes(latent.answers, clip)
    free = np.concatenate([weight_free[0, :, 0], np.moveaxis(answer_free, 2, 0).ravel()])
    return Coordinates(weight_slopes[0, :, :, 0], answer_slopes, free)


def _slopes(shares: Floats, clip: float) -> tuple[Floats, Bools]:
    """For shares (J, L, S) along axis 1: slopes (J, L, L-1, S) of the log shares and free (J, L-1, S)."""
    n_rows, n_entries, n_states = shares.shape
    held = shares <= clip * _AT_BOUND
    room = 1.0 - np.where(held, shares, 0.0).sum(axis=1, keepdims=True)
    inner = np.where(held, 0.0, shares / room)
    # a two-way share at 1 - clip leaves only its reference free: no coordinate
    reference = shares.argmax(axis=1)
    others = _other_entries(reference, n_entries)  # (J, L-1, S): entry number of each coordinate
    slopes = np.zeros((n_rows, n_entries, n_entries - 1, n_states))
    picked = np.take_along_axis(inner, others, axis=1)  # (J, L-1, S)
    for entry in range(n_entries):
        own = (others == entry).astype(float)
        slopes[:, entry] = np.where(held[:, entry, None, :], 0.0, own - picked)
    free = ~np.take_along_axis(held, others, axis=1)
    slopes *= free[:, None]
    return slopes, free


def _other_entries(reference: Ints, n_entries: int) -> Ints:
    """(J, L-1, S): the entries that are not the reference, in order."""
    grid = np.arange(n_entries - 1)[None, :, None]
    return grid + (grid >= reference[:, None, :])


def slope_matrices(patterns: Patterns, at: Coordinates) -> list[Any]:
    """For each state the (P, J*(L-1)) derivative of log P(answers | state) in its logits, sparse unless small."""
    if patterns.is_small:
        cells = patterns.dense_cells
        by_state = np.moveaxis(at.answer_slopes, 3, 0)  # (S, J, L, L-1)
        if patterns.n_answers == 2:
            return [cells[:, :, 0] * of[:, 0, 0] + cells[:, :, 1] * of[:, 1, 0] for of in by_state]
        return [np.einsum("pjl,jlc->pjc", cells, of).reshape(patterns.n_rows, -1) for of in by_state]
    _, labeler, answer = patterns.entries
    width = patterns.n_answers - 1
    shape = (patterns.n_rows, patterns.n_labelers * width)
    indptr = patterns.cells.indptr * width
    columns = (labeler[:, None] * width + np.arange(width)[None, :]).ravel()
    return [
        sparse.csr_array((at.answer_slopes[labeler, answer, :, s].ravel(), columns, indptr), shape=shape)
        for s in range(at.answer_slopes.shape[3])
    ]


def along_logits(patterns: Patterns, at: Coordinates, on_answers: Floats) -> Floats:
    """(P, S): how far each state's log P(answers | state) moves when its logits move by on_answers (J*(L-1), S)."""
    n_labelers, n_answers, width, n_states = at.answer_slopes.shape
    moves = np.einsum("jlcs,jcs->jls", at.answer_slopes, on_answers.reshape(n_labelers, width, n_states))
    return patterns.from_cells(moves.reshape(n_labelers * n_answers, n_states))


def to_logits(patterns: Patterns, at: Coordinates, row_values: Floats) -> Floats:
    """(J*(L-1), S): the other way, for (P, S) values of rows and states."""
    return logits_of_cells(at, patterns.to_cells(row_values))


def logits_of_cells(at: Coordinates, by_cell: Floats) -> Floats:
    """(J*(L-1), S): the same of values that were summed over each cell's rows, (J, L, S)."""
    out: Floats = np.einsum("jlcs,jls->jcs", at.answer_slopes, by_cell)
    return out.reshape(-1, by_cell.shape[2])
