"""Scores of rows: how their likelihood moves with the parameters; of data, and of items drawn from the model.

The expected information of a fitted model is that of items drawn from it, with the labelers and the gold that the items
really had; the draws are always the same, so what rests on them is too.
Shapes: P patterns, J labelers, L answers, S states, p parameters, m directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from hero_eval.model.coordinates import Coordinates, coordinates, slope_matrices
from hero_eval.model.latent import Latent, posterior, state_barrier
from hero_eval.model.patterns import Floats, Ints, Patterns, sparse_cells, sum_by

MOST_PARAMETERS = 1_000
"""Up to which the tests cost little: a matrix of that size is inverted several times. Doubled, eight times as long
(reasoned)."""
_DRAWS = 2_000
"""Items that are drawn to estimate expected informations, at least: their error is then 2%. Doubled, p-values change in
their second digit (reasoned)."""
_DRAWS_PER_PARAMETER = 12
"""So that the drawn information has an inverse that can be trusted. Doubled: as above."""
_MOST_DRAWS = 6_000
"""It bounds time. Doubled: as above."""
_SEED = 20_261
"""Of the draws: any would do, and it is always the same."""
_FLAT = 1e-7
"""Of the largest curvature: along a direction with less nothing is known. Doubled, nothing changes unless a direction
is as flat (reasoned)."""
_MANY = 100
"""Parameters from which on sparse scores may be faster, and Cholesky's factors are. It bounds time only (reasoned)."""
_MOST_PRODUCTS = 1e9
"""Of scores, to estimate their covariance: with more, rows are sampled. It bounds time. Doubled, p-values of very large
data change in their second digit (reasoned: 2,000 rows tell a variance to 3%, and there are that many or more)."""
_BLOCK = 4_096
"""Rows whose squares are added up at a time, so that they stay near the processor. It bounds time only (measured)."""
_THIN = 0.1
"""The share of a row's labelers who label it, below which sparse products are faster. It bounds time only (measured:
dense ones do ten times as many products in the same time)."""


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores (P, p) of rows, weights' logits first and then each state's answers', and the shares of the states.

    They are a sparse matrix where few of many labelers label an item.
    """

    patterns: Patterns
    latent: Latent
    scores: Any
    post: Floats
    at: Coordinates

    @property
    def n_parameters(self) -> int:
        return int(self.scores.shape[1])

    @cached_property
    def information(self) -> Floats:
        """(p, p) by the rows' squares: the expected one if the rows were drawn."""
        return _gram(self.scores, self.patterns.counts)

    @property
    def sampled(self) -> int:
        """How many rows stand for all in `squares`; 0 where all are counted."""
        each = self.n_parameters if isinstance(self.scores, np.ndarray) else self.scores.nnz / self.patterns.n_rows
        most = max(int(_MOST_PRODUCTS / each**2), _DRAWS)
        return most if most < self.patterns.n_rows else 0

    def squares(self, clusters: Ints | None) -> Floats:
        """(p, p): the covariance of the sum over items of their scores, items or whole clusters (n,) being
        independent."""
        patterns = self.patterns
        if clusters is None:
            squares = patterns.row_squares
            if not self.sampled:
                return _gram(self.scores, squares)
            rows = np.random.default_rng(_SEED).choice(patterns.n_rows, self.sampled, replace=False, shuffle=False)
            return _gram(self.scores[rows], squares[rows] * (patterns.n_rows / self.sampled))
        size = int(clusters.max()) + 1, patterns.n_rows
        summed = sparse.csr_array((patterns.item_weight, (clusters, patterns.row_of_item)), shape=size) @ self.scores
        return _gram(summed, np.ones(size[0]))

    def covariance(self, by_row: Floats, clusters: Ints | None) -> Floats:
        """(m, m): of the sum over items of `by_row` (P, m), items or whole clusters (n,) being independent."""
        if clusters is None:
            apart: Floats = by_row.T @ (self.patterns.row_squares[:, None] * by_row)
            return apart
        items, size = self.patterns.to_items(by_row), int(clusters.max()) + 1
        sums = np.stack([sum_by(clusters, column, size) for column in items.T], axis=1)
        together: Floats = sums.T @ sums
        return together


def _gram(scores: Any, weights: Floats) -> Floats:
    """(p, p): the weighted sum of the rows' squares."""
    if isinstance(scores, np.ndarray):
        out, roots = np.zeros((scores.shape[1], scores.shape[1])), np.sqrt(weights)
        for start in range(0, len(scores), _BLOCK):
            part = scores[start : start + _BLOCK] * roots[start : start + _BLOCK, None]
            out += part.T @ part  # of a matrix with itself, half of the products suffice
        return out
    thin: Floats = (scores.T @ (scores * weights[:, None]).tocsr()).toarray()
    return thin


def score_rows(patterns: Patterns, latent: Latent, clip: float) -> Scored:
    at = coordinates(latent, clip)
    post, _ = posterior(patterns, latent, state_barrier(patterns.gold, latent.state_class))
    weights, slopes = post @ at.weight_slopes, slope_matrices(patterns, at)
    return Scored(patterns, latent, _side_by_side(weights, slopes, post), post, at)


def _side_by_side(weights: Floats, slopes: Sequence[Any], post: Floats) -> Any:
    """(P, p) scores from those of the weights, and from each state's slopes times its share; sparse where few labelers
    label an item."""
    if isinstance(slopes[0], np.ndarray):
        return np.concatenate([weights, *(slope * post[:, s, None] for s, slope in enumerate(slopes))], axis=1)
    (n_rows, width), labels = slopes[0].shape, np.diff(slopes[0].indptr)
    size = weights.shape[1] + width * len(slopes)
    if slopes[0].nnz > _THIN * n_rows * width or size <= _MANY:
        dense = np.empty((n_rows, size))
        dense[:, : weights.shape[1]] = weights
        for s, slope in enumerate(slopes):
            start = weights.shape[1] + s * width
            np.multiply(slope.toarray(), post[:, s, None], out=dense[:, start : start + width])
        return dense
    blocks = [
        sparse.csr_array((slope.data * np.repeat(post[:, s], labels), slope.indices, slope.indptr), slope.shape)
        for s, slope in enumerate(slopes)
    ]
    return sparse.hstack([sparse.csr_array(weights), *blocks], format="csr")


def n_parameters(latent: Latent) -> int:
    n_labelers, n_answers, n_states = latent.answers.shape
    return int(n_states - 1 + n_states * n_labelers * (n_answers - 1))


def can_test(patterns: Patterns, latent: Latent) -> bool:
    """Whether the tests here cost little: they hold one score for each row and parameter."""
    size = n_parameters(latent)
    return size <= MOST_PARAMETERS and size * patterns.n_rows <= 20_000_000


def draw_rows(patterns: Patterns, latent: Latent, clip: float) -> Scored:
    """Items drawn from the model, each with the labelers of an item that there is, and gold where it had gold.

    Their weights sum to those of `patterns`, so that sums over them estimate expected sums over the items.
    """
    rng = np.random.default_rng(_SEED)
    count = min(max(_DRAWS, _DRAWS_PER_PARAMETER * n_parameters(latent)), _MOST_DRAWS)
    picked = rng.choice(patterns.n_rows, count, p=patterns.counts / patterns.total)
    state = np.minimum(np.searchsorted(np.cumsum(latent.weights), rng.random(count)), latent.n_states - 1)
    cells = patterns.cells[picked]
    labeler = cells.indices // patterns.n_answers
    below = latent.answers.cumsum(axis=1)[labeler, :-1, np.repeat(state, np.diff(cells.indptr))]
    answer = (rng.random(len(labeler))[:, None] > below).sum(axis=1)
    places = labeler * patterns.n_answers + answer
    each = np.full(count, patterns.total / count)
    drawn = Patterns(
        cells=sparse_cells(places, cells.indptr, cells.shape[1]),
        gold=np.where(patterns.gold[picked] >= 0, latent.state_class[state], -1),
        counts=each,
        row_of_item=np.arange(count),
        item_weight=each,
        n_labelers=patterns.n_labelers,
        n_answers=patterns.n_answers,
    )
    return score_rows(drawn, latent, clip)


def solve_flat(matrix: Floats, right: Floats) -> Floats:
    """Least-norm solution with a positive semidefinite matrix, parameters first brought to one scale."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-12))
    scaled = matrix * np.outer(scale, scale)
    if len(scaled) > _MANY:
        quickly = _solve_regular(scaled, scale[:, None] * right)
        if quickly is not None:
            found: Floats = scale[:, None] * quickly
            return found
    values, vectors = linalg.eigh(scaled)
    keep = values > _FLAT * max(values.max(), 1e-300)
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)
    inner = vectors.T @ (scale[:, None] * right)
    out: Floats = scale[:, None] * (vectors @ (inverse[:, None] * inner))
    return out


def _solve_regular(matrix: Floats, right: Floats) -> Floats | None:
    """The same by Cholesky's factors, a tenth of the work; None where a direction is flat, or nearly so."""
    factor, wrong = linalg.lapack.dpotrf(matrix, lower=1)
    if wrong:
        return None
    condition, wrong = linalg.lapack.dpocon(factor, float(np.abs(matrix).sum(axis=0).max()), uplo="L")
    if wrong or not condition > 10.0 * _FLAT:
        return None
    out: Floats = linalg.lapack.dpotrs(factor, right, lower=1)[0]
    return out
