"""How much the data tell of HERO-3's parameters: every row's score, the observed information, and what both give.

The parameters' order is that of `shape.as_vector`: answers (J, L-1, q), level logits against the first level (G-1),
tilts (R, t), classes (K-1, m). The observed information H is what seeing all components would give, less what not
seeing them loses (Louis, 1982), priors included. The model and its symbols are explained in `shape`.
Shapes: P rows, J labelers, L answers, E components, q basis functions, G levels, t tilts, R rounds, K classes,
m columns of the class design, p parameters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from hero_eval.model.conjugate_gradients import DENSE_LIMIT, CGOptions, conjugate_gradients
from hero_eval.model.hero3.level_priors import level_prior_curvature
from hero_eval.model.hero3.likelihood import LevelModel, answer_logs, class_logs
from hero_eval.model.hero3.m_steps import level_curvature, with_intercept
from hero_eval.model.hero3.multinomial import multinomial_information, repeated_block
from hero_eval.model.hero3.shape import n_parameters
from hero_eval.model.patterns import Bools, Floats, sum_by

_SHIFT_STEP = 1e-4
"""Of the central differences by the rounds' shifts, on the scale of the levels: their error is about the square of it,
1e-8. Doubled, influences change in their eighth digit (reasoned)."""
_DENSE_SHARE = 0.05
"""The share of entries that are not 0, from which on a sparse matrix is multiplied as a full one, which is then faster.
It bounds time only; doubled, rounds of a few labelers may take longer (reasoned)."""
_BLOCK_ROWS = 4_096
"""Rows of it at a time, so that the full copy stays small: 80 MB with 2,500 parameters. Doubled, it takes twice the
memory, and sums differ in their last digit (reasoned)."""
_LEAST_EIGENVALUE = 1e-10
"""Of an information that is not positive definite, relative to its largest eigenvalue, so that it can be inverted. Such
a fit is called weak. Doubled, its standard errors are smaller by up to a factor 1.4 (reasoned)."""
_CG = CGOptions(tolerance=1e-8, settled=0.0, max_products=2_000, definite=False)
"""With many labelers a residual of 1e-8 is far more than a standard error needs. Doubled, influences change in their
eighth digit; twice the products are allowed before the fit is given up (reasoned)."""


def is_dense(size: int) -> bool:
    """Whether so few parameters have an information matrix that can be formed and factored."""
    return size <= DENSE_LIMIT


class LevelInformation:
    """Scores of all rows and the observed information of a fitted model, priors included."""

    def __init__(self, model: LevelModel) -> None:
        self.model = model
        shape, at = model.shape, model.parameters
        self.post = model.post
        self.n_answers = at.answers.size
        self.n_weights = at.levels.size + at.tilts.size
        self.size = n_parameters(at)
        self.slopes = [self._slopes(e) for e in range(shape.n_components)]
        self.scores = sum(_scaled(slope, self.post[:, e]) for e, slope in enumerate(self.slopes)).tocsr()

    def _slopes(self, component: int) -> Any:
        """(P, p) sparse: the derivative of `component_logs` of one component."""
        rows, shape, at = self.model.rows, self.model.shape, self.model.parameters
        blocks = [self._answer_slopes(component)]
        n_rows = rows.patterns.n_rows
        if shape.n_levels:
            off = np.eye(shape.n_levels)[component] - at.weights
            gap = np.concatenate([off[:, 1:], off @ at.basis], axis=1)[rows.round]
            n_tilts, width = shape.n_tilts, gap.shape[1]
            columns = np.tile(np.arange(width), (n_rows, 1))
            columns[:, width - n_tilts :] += n_tilts * rows.round[:, None]
            columns = columns.ravel()
            pointer = np.arange(n_rows + 1) * width
            blocks.append(sparse.csr_array((gap.ravel(), columns, pointer), shape=(n_rows, self.n_weights)))
        blocks.append(sparse.csr_array(self.class_slopes(component)))
        return sparse.hstack(blocks, format="csr")

    def _answer_slopes(self, component: int) -> Any:
        patterns, shape, at = self.model.rows.patterns, self.model.shape, self.model.parameters
        share = np.exp(answer_logs(shape, at.answers)[:, 1:, component])  # (J, L-1)
        _, labeler, answer = patterns.entries
        width, n_basis = at.answers.shape[1:]
        gap = (np.arange(1, width + 1) == answer[:, None]) - share[labeler]
        values = gap[:, :, None] * shape.basis[component]
        columns = labeler[:, None] * (width * n_basis) + np.arange(width * n_basis)
        pointer = patterns.cells.indptr * (width * n_basis)
        shape_of = (patterns.n_rows, self.n_answers)
        return sparse.csr_array((values.ravel(), columns.ravel(), pointer), shape=shape_of)

    def class_design(self, component: int) -> Floats:
        """(P, m): what the class logits of each row are a combination of, in one component."""
        rows, shape = self.model.rows, self.model.shape
        if shape.n_levels == 0:
            return np.concatenate([np.eye(rows.n_rounds)[rows.round], rows.covariates], axis=1)
        level = rows.read_levels(shape)[rows.round, component]
        return np.concatenate([with_intercept(level), rows.covariates], axis=1)

    def class_slopes(self, component: int) -> Floats:
        """(P, (K-1)m): of the gold's class given the level, or of the component as a class."""
        rows, shape = self.model.rows, self.model.shape
        share = self.class_share(component)
        if shape.n_levels == 0:
            gap = (np.arange(1, shape.n_classes) == component) - share[:, 1:]
        else:
            gap = (np.arange(1, shape.n_classes) == rows.patterns.gold[:, None]) - share[:, 1:]
            gap = np.where(rows.known[:, None], gap, 0.0)
        out: Floats = (gap[:, :, None] * self.class_design(component)[:, None, :]).reshape(len(gap), -1)
        return out

    @cached_property
    def _class_shares(self) -> Floats:
        return np.exp(class_logs(self.model.rows, self.model.shape, self.model.parameters.classes))

    def class_share(self, component: int) -> Floats:
        """(P, K): P(class | row, component); without levels P(class | row)."""
        return self._class_shares[:, component if self.model.shape.n_levels else 0]

    def complete(self, only: Bools | None = None) -> Any:
        """(p, p) sparse information if all components were seen; of all rows with the priors, or of some rows only."""
        rows, shape, at, prior = self.model.rows, self.model.shape, self.model.parameters, self.model.prior
        counts = rows.patterns.counts if only is None else np.where(only, rows.patterns.counts, 0.0)
        expected = self.post * counts[:, None]
        share = np.exp(answer_logs(shape, at.answers))[:, 1:]
        total = rows.patterns.to_cells(expected).sum(axis=1)
        parts = [multinomial_information(total, share, shape.basis) + (prior.answer_precision if only is None else 0.0)]
        if shape.n_levels:
            curvature = level_curvature(at, sum_by(rows.round, counts, rows.n_rounds))
            parts.append((curvature + level_prior_curvature(at) if only is None else curvature)[None])
        parts.append(self._class_complete(expected, only)[None])
        return sparse.block_diag([block for part in parts for block in part], format="csr")

    def _class_complete(self, expected: Floats, only: Bools | None) -> Floats:
        rows, shape = self.model.rows, self.model.shape
        n_classes = shape.n_classes
        size = self.model.parameters.classes.size
        out = np.zeros((size, size))
        for component in range(shape.n_components if shape.n_levels else 1):
            mass = expected[:, component] * rows.known if shape.n_levels else expected.sum(axis=1)
            use = mass > 0
            share = self.class_share(component)[use, 1:]
            design = self.class_design(component)[use]
            spread = mass[use, None, None] * (
                share[:, :, None] * np.eye(n_classes - 1) - share[:, :, None] * share[:, None, :]
            )
            out += np.einsum("nkl,na,nb->kalb", spread, design, design, optimize=True).reshape(size, size)
        if only is None:
            out += repeated_block(self.model.prior.class_precision, n_classes - 1)
        return out

    def of_rows(self, only: Bools) -> Any:
        """(p, p) sparse: the observed information of some rows, priors left out."""
        counts = np.where(only, self.model.rows.patterns.counts, 0.0)
        return self.complete(only) - self._lost(counts)

    def _lost(self, counts: Floats) -> Any:
        lost = sum(_squares(slope, counts * self.post[:, e]) for e, slope in enumerate(self.slopes))
        return lost - _squares(self.scores, counts)

    @cached_property
    def _factor(self) -> tuple[Any, bool]:
        """Cholesky factor of the dense information, and whether it had to be made positive definite."""
        matrix = (self.complete() - self._lost(self.model.rows.patterns.counts)).toarray()
        matrix[: self.n_answers, : self.n_answers] -= self.model.prior.pooling.dense()
        matrix = 0.5 * (matrix + matrix.T)
        try:
            return linalg.cho_factor(matrix, lower=True), False
        except linalg.LinAlgError:
            values, vectors = np.linalg.eigh(matrix)
            definite = (vectors * np.maximum(values, max(values.max(), 1.0) * _LEAST_EIGENVALUE)) @ vectors.T
            return linalg.cho_factor(0.5 * (definite + definite.T), lower=True), True

    @property
    def is_weak(self) -> bool:
        """Whether some direction has no information left, so that it had to be given some."""
        return is_dense(self.size) and self._factor[1]

    @cached_property
    def _by_context(self) -> tuple[Floats, Floats]:
        """(p, R) each: derivatives of all rows' scores by the rounds' shifts, and of the shifts by the parameters."""
        model = self.model
        counts = model.rows.patterns.counts
        up, down = (LevelInformation(self._shifted(step)).scores for step in (_SHIFT_STEP, -_SHIFT_STEP))
        by_shift = model.rows.sums_by_round(_scaled(up - down, counts / (2 * _SHIFT_STEP))).toarray().T
        by_point = np.zeros_like(by_shift)
        weights, theta = model.parameters.weights, model.shape.theta
        mean = weights @ theta
        start, stop = self.n_answers, self.n_answers + len(model.parameters.levels)
        by_point[start:stop] = (weights * (theta - mean[:, None])).T[1:]
        along = (weights * (theta - mean[:, None])) @ model.parameters.basis  # (R, t)
        by_point[stop : stop + along.size] = linalg.block_diag(*along[:, :, None])
        by_point *= model.prior.context
        return by_shift, by_point

    def _shifted(self, step: float) -> LevelModel:
        """The same parameters with all shifts moved."""
        rows = self.model.rows
        assert rows.shift is not None
        return replace(self.model, rows=replace(rows, shift=rows.shift + step))

    def solve(self, right: Floats) -> Floats:
        """H^-1 @ right, (p, m); with context (H - B A')^-1 @ right, for shifts that move with the parameters."""
        plain = self.plain_solve(right)
        if self.model.prior.context == 0.0:
            return plain
        by_shift, by_point = self._by_context
        spread = self.plain_solve(by_point)
        inner = np.eye(by_shift.shape[1]) - by_shift.T @ spread
        out: Floats = plain + spread @ np.linalg.solve(inner, by_shift.T @ plain)
        return out

    def plain_solve(self, right: Floats) -> Floats:
        """H^-1 @ right with the rounds' shifts held."""
        if is_dense(self.size):
            solved: Floats = linalg.cho_solve(self._factor[0], right)
            return solved
        complete, counts = self.complete(), self.model.rows.patterns.counts
        diagonal = complete.diagonal()
        pooling = self.model.prior.pooling

        def product(vector: Floats) -> Floats:
            out = complete @ vector + self.scores.T @ (counts * (self.scores @ vector))
            out[: self.n_answers] -= pooling.shared(vector[: self.n_answers])
            for e, slope in enumerate(self.slopes):
                out -= slope.T @ (counts * self.post[:, e] * (slope @ vector))
            return np.asarray(out, dtype=float)

        columns = [conjugate_gradients(product, lambda v: v / diagonal, column, _CG) for column in right.T]
        if np.isnan(columns).any():
            raise FloatingPointError("the information of the levels could not be inverted")
        return np.stack(columns, axis=1)

    def gradient(self, weights: Floats) -> Floats:
        """d/d(parameters) of sum_ik weights[i, k, c] * P(class k | row i's answers and gold), (p, m) for m columns."""
        rows, shape = self.model.rows, self.model.shape
        shares = self.model.shares
        out = np.zeros((self.size, weights.shape[2]))
        start = self.n_answers + self.n_weights
        center = np.einsum("pk,pkc->pc", shares, weights)
        free = ~rows.known
        for e, slope in enumerate(self.slopes):
            if shape.n_levels == 0:
                here = weights[:, e]
            else:
                share = self.class_share(e)
                here = np.einsum("pk,pkc->pc", share, weights)
                moved = (self.post[:, e, None, None] * share[:, :, None]) * (weights - here[:, None])
                moved = np.where(free[:, None, None], moved, 0.0)
                by_design = np.einsum("pkc,pm->kmc", moved[:, 1:], self.class_design(e))
                out[start:] += by_design.reshape(-1, weights.shape[2])
            pull = self.post[:, e, None] * np.where(free[:, None], here - center, 0.0)
            out += slope.T @ pull
        if self.model.prior.context > 0.0:
            up, down = (self._shifted(step).shares for step in (_SHIFT_STEP, -_SHIFT_STEP))
            by_row = np.einsum("pk,pkc->pc", (up - down) / (2 * _SHIFT_STEP), weights)
            by_round = rows.sums_by_round(by_row)
            out += self._by_context[1] @ by_round
        return out

    def prior_gradient(self, weights: Floats, as_round: int) -> Floats:
        """The same of P(class k | covariates) as if every row were of round `as_round`; without levels only."""
        share, design = self.model.prior_shares(as_round)
        center = np.einsum("pk,pkc->pc", share, weights)
        moved = share[:, 1:, None] * (weights[:, 1:] - center[:, None])
        out = np.zeros((self.size, weights.shape[2]))
        out[self.n_answers + self.n_weights :] = np.einsum("pkc,pm->kmc", moved, design).reshape(-1, weights.shape[2])
        return out


def _scaled(matrix: Any, by: Floats) -> Any:
    """The sparse rows, each times its number."""
    out = matrix.copy()
    out.data *= np.repeat(by, np.diff(out.indptr))
    return out


def _squares(matrix: Any, by: Floats) -> Any:
    """(p, p) sparse: the sum of the sparse rows' products with themselves, each times its number.

    Rows of labelers who label nearly everything are nearly full, and full products are many times as fast.
    """
    n_rows, width = matrix.shape
    if matrix.nnz < _DENSE_SHARE * n_rows * width:
        return matrix.T @ _scaled(matrix, by)
    blocks = (slice(start, start + _BLOCK_ROWS) for start in range(0, n_rows, _BLOCK_ROWS))
    return sparse.csr_array(sum(((full := matrix[at].toarray()).T * by[at]) @ full for at in blocks))
