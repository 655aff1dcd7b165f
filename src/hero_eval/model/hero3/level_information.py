"""How much the data tell of HERO-3's parameters: every row's score, the observed information, and what both give.

The observed information H is what seeing all components would give, less what not seeing them loses (Louis, 1982),
priors included. It is formed from sums over pairs of cells that meet in a row, and where parameters are many it is only
multiplied with: nothing has as many numbers as rows times parameters. The parameters' order and the derivatives are
those of `row_slopes`; the model and its symbols are explained in `shape`.
Shapes: P rows, N keys, J labelers, L answers, E components, q basis functions, w = (L-1)q, G levels, t tilts, R rounds,
K classes, m columns of the class design, p parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from hero_eval.model.conjugate_gradients import DENSE_LIMIT, CGOptions, conjugate_gradients
from hero_eval.model.even_logits import even_blocks
from hero_eval.model.hero3.level_priors import level_prior_curvature
from hero_eval.model.hero3.likelihood import LevelModel, class_logs, kernel_of, level_class_logs
from hero_eval.model.hero3.m_steps import level_curvature
from hero_eval.model.hero3.multinomial import multinomial_information
from hero_eval.model.hero3.row_slopes import RowSlopes
from hero_eval.model.information import pair_sums
from hero_eval.model.patterns import Bools, Floats, sum_by
from hero_eval.model.pooling import inverse_each, separate_parts

_SHIFT_STEP = 1e-4
"""Of the central differences by the rounds' shifts, on the scale of the levels: their error is about the square of it,
1e-8. Doubled, influences change in their eighth digit (reasoned)."""
_DENSE_SHARE = 0.05
"""The share of entries that are not 0, from which on a sparse matrix is multiplied as a full one, which is then faster.
It bounds time only; doubled, rounds of a few labelers may take longer (reasoned)."""
_FULL_SHARE = 0.3
"""The share of the parameters that a usual row's labels and components are, from which on compiled sums over pairs of
them take longer than full products. It bounds time only (reasoned)."""
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
        self.slopes = RowSlopes(model)
        self.n_answers, self.n_weights, self.size = self.slopes.n_answers, self.slopes.n_weights, self.slopes.size

    @property
    def post(self) -> Floats:
        """(P, E): P(component | answers, gold) of every row."""
        return self.model.post

    @cached_property
    def scores(self) -> Any:
        """(P, p) sparse: every row's score."""
        return self.slopes.scores(self.post)

    def row_influence(self, direction: Floats) -> Floats:
        """(P, c): every row's score times the directions (p, c), without the scores."""
        columns = [(self.post * self.slopes.along(one)).sum(axis=1) for one in direction.T]
        return np.stack(columns, axis=1)

    def score_sum(self) -> Floats:
        """(p,): the scores of all rows, each times its count."""
        expected = self.model.expected
        return self.slopes.to_parameters(expected.cells.reshape(-1, self.model.shape.n_components), expected.by_key)

    def _complete_blocks(self, counts: Floats) -> tuple[Floats, list[Floats]]:
        """The information if all components were seen: of each labeler (J, w, w); of levels (if any) and classes."""
        rows, shape, at = self.model.rows, self.model.shape, self.model.parameters
        if counts is rows.patterns.counts:
            cells, by_key = self.model.expected.cells, self.model.expected.by_key
        else:
            cells, by_key = self.slopes.keyed.to_keys(self.post * counts[:, None])
        total = cells.reshape(rows.patterns.n_labelers, rows.patterns.n_answers, -1).sum(axis=1)
        answers = multinomial_information(total, self.slopes.share, shape.basis)
        rest = [level_curvature(at, sum_by(rows.round, counts, rows.n_rounds))] if shape.n_weighted else []
        return answers, [*rest, self._class_complete(by_key)]

    def _with_priors(self, answers: Floats, rest: list[Floats]) -> tuple[Floats, list[Floats]]:
        at, prior = self.model.parameters, self.model.prior
        classes = rest[-1] + even_blocks(prior.class_precision, len(at.classes))
        levels = [block + level_prior_curvature(at) for block in rest[:-1]]
        return answers + prior.answer_precision, [*levels, classes]

    def _class_complete(self, by_key: Floats) -> Floats:
        """The class regression's information, from the expected items of the keys (N, E)."""
        shape, keyed = self.model.shape, self.slopes.keyed
        size = self.model.parameters.classes.size
        out = np.zeros((size, size))
        for component in range(shape.n_components if shape.n_levels else 1):
            keys = keyed.golden if shape.n_levels else np.arange(len(keyed.row))
            mass = by_key[keys, component] if shape.n_levels else by_key.sum(axis=1)
            share = self.slopes.class_share(component)[:, 1:].T[None]
            out += multinomial_information(mass[None], share, self.slopes.class_design(component, keyed.row[keys]))[0]
        return out

    @property
    def matrix(self) -> Floats:
        """(p, p): the information of all rows, priors included; for few parameters (`is_dense`)."""
        return self._matrix

    def of_rows(self, only: Bools) -> Any:
        """(p, p) sparse: the observed information of some rows, priors left out."""
        counts = np.where(only, self.model.rows.patterns.counts, 0.0)
        answers, rest = self._complete_blocks(counts)
        return sparse.csr_array(linalg.block_diag(*answers, *rest) - self._lost(counts))

    def times(self, vectors: Floats, only: Bools) -> Floats:
        """(p, c): that information times vectors (p, c); it is not formed."""
        counts = np.where(only, self.model.rows.patterns.counts, 0.0)
        complete = _blocks_product(*self._complete_blocks(counts))
        columns = [complete(one) - self._lost_product(counts, one) for one in vectors.T]
        return np.stack(columns, axis=1)

    def _lost(self, counts: Floats) -> Floats:
        """(p, p): what not seeing the components loses."""
        compiled = self._compiled_lost(counts)
        if compiled is not None:
            return compiled
        slopes, n_answers, basis = self.slopes, self.n_answers, self.model.shape.basis
        n_lines, n_basis = n_answers // basis.shape[1], basis.shape[1]
        n_cells = slopes.share.shape[0] * (slopes.share.shape[1] + 1)
        out = np.zeros((self.size, self.size))
        answers = np.zeros((n_basis, n_basis, n_lines, n_lines))
        across = out[:n_answers, n_answers:].reshape(n_lines, n_basis, -1)
        on_keys = slopes.keyed.in_key @ (self.post * counts[:, None])
        for e, table in enumerate(self._pair_tables(counts)):
            by_key = slopes.key_slopes(e)
            half = slopes.lines_of(e, table[:n_cells])
            both = slopes.lines_of(e, np.ascontiguousarray(half[:, :n_cells].T))
            if half.shape[1] > n_cells:
                met = half[:, n_cells:] @ by_key
            else:
                met = slopes.lines_of(e, self._met_keys(counts * self.post[:, e], by_key))
            for a in range(n_basis):
                across[:, a] += basis[e, a] * met
                for b in range(a + 1):
                    answers[a, b] += (basis[e, a] * basis[e, b]) * both
            out[n_answers:, n_answers:] += (by_key.T * on_keys[:, e]) @ by_key
        whole = out[:n_answers, :n_answers].reshape(n_lines, n_basis, n_lines, n_basis)
        for a in range(n_basis):
            for b in range(a + 1):
                whole[:, a, :, b] = answers[a, b]
                whole[:, b, :, a] = answers[a, b]
        out[n_answers:, :n_answers] = out[:n_answers, n_answers:].T
        return out - self._score_squares(counts)

    def _compiled_lost(self, counts: Floats) -> Floats | None:
        """The same by compiled passes, where labels are many and rows have few of them."""
        slopes, n_answers, basis = self.slopes, self.n_answers, self.model.shape.basis
        keyed, n_components = slopes.keyed, len(basis)
        if kernel_of(self.model.rows, self.model.shape) is None or self._is_full or keyed.shared is None:
            return None
        from hero_eval.model.hero3.pair_kernel import fits_in_memory, pair_sums_of  # as in `kernel_of`

        if not fits_in_memory(keyed, n_components, slopes.share.shape[1] * basis.shape[1]):
            return None
        sums = pair_sums_of(keyed, counts, self.post, slopes.share, basis)
        by_key = np.stack([slopes.key_slopes(e) for e in range(n_components)], axis=1)  # (N, E, p')
        out = np.zeros((self.size, self.size))
        out[:n_answers, :n_answers] = sums.answers
        out[:n_answers, n_answers:] = np.tensordot(sums.by_key, by_key, axes=([0, 2], [0, 1]))
        out[n_answers:, n_answers:] = np.tensordot(by_key, sums.squares @ by_key, axes=([0, 1], [0, 1]))
        out[n_answers:, :n_answers] = out[:n_answers, n_answers:].T
        return out

    @property
    def _is_full(self) -> bool:
        """Whether scores are so nearly full that full products are faster than sums over pairs of entries."""
        at, patterns = self.model.parameters, self.model.rows.patterns
        labels_of_row = len(patterns.cells.indices) / max(patterns.n_rows, 1)
        return bool(labels_of_row * at.answers[0].size + self.model.shape.n_components >= _FULL_SHARE * self.size)

    def _pair_tables(self, counts: Floats) -> Iterator[Floats]:
        """For each component (C, C), C cells, and keys if they are few: its items in which two of them meet."""
        keyed = self.slopes.keyed
        expected = self.post * counts[:, None]
        if keyed.pairs is not None:
            n_cells = round(keyed.pairs.shape[0] ** 0.5)
            sums = keyed.pairs @ expected
            for column in sums.T:
                half = column.reshape(n_cells, n_cells)
                yield half + np.triu(half, 1).T
            return
        patterns = keyed.patterns if keyed.shared is None else keyed.shared
        for column in expected.T:
            yield pair_sums(patterns, np.ascontiguousarray(column))

    def _met_keys(self, weight: Floats, by_key: Floats) -> Floats:
        """(J*L, n): sums over the rows of each cell of what their keys have (N, n), times the rows' weights."""
        patterns, of_row = self.slopes.keyed.patterns, self.slopes.keyed.of_row
        blocks = patterns.row_blocks()
        out: Floats = sum(patterns.cells[at].T @ (weight[at, None] * by_key[of_row[at]]) for at in blocks)
        return out

    def _score_squares(self, counts: Floats) -> Floats:
        """(p, p): the sum over rows of their scores' products, each times its count.

        Rows of labelers who label nearly everything are nearly full, and full products are many times as fast.
        """
        n_answers, n_rows = self.n_answers, len(counts)
        n_labels = len(self.model.rows.patterns.cells.indices)
        filled = n_labels * self.model.parameters.answers[0].size
        out = np.zeros((self.size, self.size))
        root = np.sqrt(counts)
        for start in range(0, n_rows, _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            if filled >= _DENSE_SHARE * n_rows * n_answers:
                full = self.slopes.full_scores(self.post, rows)
                full *= root[rows, None]
                out += full.T @ full
                continue
            of_answers, rest = self.slopes.answer_scores(self.post, rows), self.slopes.other_scores(self.post, rows)
            of_answers.data *= np.repeat(root[rows], np.diff(of_answers.indptr))
            rest *= root[rows, None]
            turned = of_answers.T.tocsr()
            out[:n_answers, :n_answers] += (turned @ of_answers).toarray()
            out[:n_answers, n_answers:] += turned @ rest
            out[n_answers:, n_answers:] += rest.T @ rest
        if n_rows:
            out[n_answers:, :n_answers] = out[:n_answers, n_answers:].T
        return out

    def _lost_product(self, counts: Floats, vector: Floats) -> Floats:
        """(p,): what is lost, times a vector."""
        kernel = kernel_of(self.model.rows, self.model.shape)
        if kernel is not None:
            carried = kernel.carry(*self.slopes.from_parameters(vector), counts, self.post)
            return self.slopes.to_parameters(*carried)
        moved = self.slopes.along(vector)
        moved -= (self.post * moved).sum(axis=1, keepdims=True)
        moved *= self.post
        moved *= counts[:, None]
        return self.slopes.pulled(moved)

    @cached_property
    def _matrix(self) -> Floats:
        """The information as a full matrix."""
        counts = self.model.rows.patterns.counts
        matrix = self._complete - self._lost(counts)
        matrix[: self.n_answers, : self.n_answers] -= self.model.prior.pooling.dense()
        matrix += matrix.T
        matrix *= 0.5
        return matrix

    @cached_property
    def _complete(self) -> Floats:
        """What seeing all components would give, as a full matrix, priors included."""
        out = np.zeros((self.size, self.size))
        _add_blocks(out, *self._with_priors(*self._complete_blocks(self.model.rows.patterns.counts)))
        return out

    def uphill(self, gradient: Floats, damping: float) -> tuple[Floats, float] | None:
        """A Newton step (p,) and what it should gain; None where there is none that leads uphill for sure.

        Damping adds so much of the information that seeing all components would give: with much of it steps are short
        ones of EM, and with 0 they are Newton's own.
        """
        try:
            factor = linalg.cho_factor(self._matrix + damping * self._complete if damping else self._matrix, lower=True)
        except linalg.LinAlgError:
            return None
        step: Floats = linalg.cho_solve(factor, gradient)
        if not np.isfinite(step).all():
            return None
        return step, float(gradient @ step - 0.5 * step @ (self._matrix @ step))

    @cached_property
    def _factor(self) -> tuple[Any, bool]:
        """Cholesky factor of the dense information, and whether it had to be made positive definite."""
        matrix = self._matrix
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
        by_shift = self.slopes.by_shift(self.post)
        by_point = np.zeros_like(by_shift)
        weights, theta = model.parameters.weights, model.shape.theta
        mean = weights @ theta
        start, stop = self.n_answers, self.n_answers + len(model.parameters.levels)
        by_point[start:stop] = (weights * (theta - mean[:, None])).T[1:]
        along = (weights * (theta - mean[:, None])) @ model.parameters.basis  # (R, t)
        by_point[stop : stop + along.size] = linalg.block_diag(*along[:, :, None])
        by_point *= model.prior.context
        return by_shift, by_point

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

    def step_in_context(self, gradient: Floats) -> Floats:
        """(p,): Newton's step for shifts that move with the parameters, (H - A B')^-1 @ gradient."""
        plain = self.plain_solve(gradient)
        by_shift, by_point = self._by_context
        spread = self._spread_of_shifts
        inner = np.eye(by_shift.shape[1]) - by_point.T @ spread
        out: Floats = plain + spread @ np.linalg.solve(inner, by_point.T @ plain)
        return out

    @cached_property
    def _spread_of_shifts(self) -> Floats:
        """(p, R): how far the parameters move with the rounds' shifts."""
        return self.plain_solve(self._by_context[0])

    def plain_solve(self, right: Floats) -> Floats:
        """H^-1 @ right with the rounds' shifts held."""
        if is_dense(self.size):
            solved: Floats = linalg.cho_solve(self._factor[0], right)
            return solved
        counts, pooling = self.model.rows.patterns.counts, self.model.prior.pooling
        answers, others = self._with_priors(*self._complete_blocks(counts))
        nearly = _blocks_product(inverse_each(answers), [inverse_each(block[None])[0] for block in others])
        complete = _blocks_product(answers, others)

        def product(vector: Floats) -> Floats:
            out = complete(vector) - self._lost_product(counts, vector)
            out[: self.n_answers] -= pooling.shared(vector[: self.n_answers])
            return out

        columns = [conjugate_gradients(product, nearly, column, _CG) for column in right.T]
        if np.isnan(columns).any():
            raise FloatingPointError("the information of the levels could not be inverted")
        return np.stack(columns, axis=1)

    def gradient(self, weights: Floats) -> Floats:
        """d/d(parameters) of sum_ik weights[i, k, c] * P(class k | row i's answers and gold), (p, c) for c columns."""
        columns = [self._gradient(weights[:, :, c]) for c in range(weights.shape[2])]
        return np.stack(columns, axis=1)

    def _gradient(self, weights: Floats) -> Floats:
        """The same of weights (P, K): (p,)."""
        rows, shape, post = self.model.rows, self.model.shape, self.post
        center = (self.model.shares * weights).sum(axis=1, keepdims=True)
        if shape.n_levels == 0:
            pull = np.where(rows.known[:, None], 0.0, post * (weights - center)[:, shape.component_class])
            return self.slopes.pulled(pull)
        if rows.covariates.shape[1] == 0:
            return self._level_gradient(weights, center)
        out = np.zeros(self.size)
        free = np.flatnonzero(~rows.known & (weights != 0.0).any(axis=1))
        share = np.exp(class_logs(rows, shape, self.model.parameters.classes, free))
        here = np.einsum("pek,pk->pe", share, weights[free])
        on_classes = out[self.n_answers + self.n_weights :].reshape(shape.n_classes - 1, -1)
        for e in range(shape.n_components):
            moved = post[free, e, None] * share[:, e] * (weights[free] - here[:, e, None])
            on_classes += moved[:, 1:].T @ self.slopes.class_design(e, free)
        pull = np.zeros_like(post)
        pull[free] = post[free] * (here - center[free])
        out += self.slopes.pulled(pull)
        if self.model.prior.context > 0.0:
            up, down = (_shifted(self.model, step).shares for step in (_SHIFT_STEP, -_SHIFT_STEP))
            by_row = ((up - down) / (2 * _SHIFT_STEP) * weights).sum(axis=1)
            out += self._by_context[1] @ sum_by(rows.round, by_row, rows.n_rounds)
        return out

    def _level_gradient(self, weights: Floats, center: Floats) -> Floats:
        """The same with levels and no covariates: rows of a round read them alike, so that sums by round suffice."""
        model, rows, shape = self.model, self.model.rows, self.model.shape
        of_level = np.exp(level_class_logs(rows, shape, model.parameters.classes))
        free = ~rows.known
        met, pull = np.zeros_like(of_level), np.zeros_like(self.post)
        for number, members in enumerate(rows.by_round):
            if not weights[members].any():
                continue
            post = self.post[members] * free[members, None]
            met[number] = post.T @ weights[members]
            pull[members] = post * (weights[members] @ of_level[number].T - center[members])
        by_class = of_level * (met - (of_level * met).sum(axis=2, keepdims=True))  # (R, G, K)
        levels = rows.read_levels(shape)
        out = self.slopes.pulled(pull)
        on_classes = out[self.n_answers + self.n_weights :].reshape(shape.n_classes - 1, -1)
        on_classes += np.stack([by_class.sum(axis=(0, 1)), np.tensordot(levels, by_class)], axis=1)[1:]
        if model.prior.context > 0.0:
            slopes = np.concatenate([[0.0], model.parameters.classes[:, 1]])
            out += self._by_context[1] @ (by_class @ slopes).sum(axis=1)
        return out

    def prior_gradient(self, weights: Floats, as_round: int) -> Floats:
        """The same of P(class k | covariates) as if every row were of round `as_round`; without levels only."""
        share, design = self.model.prior_shares(as_round)
        center = np.einsum("pk,pkc->pc", share, weights)
        moved = share[:, 1:, None] * (weights[:, 1:] - center[:, None])
        out = np.zeros((self.size, weights.shape[2]))
        out[self.n_answers + self.n_weights :] = np.einsum("pkc,pm->kmc", moved, design).reshape(-1, weights.shape[2])
        return out


def _shifted(model: LevelModel, step: float) -> LevelModel:
    """The same parameters with all shifts moved."""
    assert model.rows.shift is not None
    return replace(model, rows=model.rows.with_shift(model.rows.shift + step))


def _blocks_product(answers: Floats, rest: list[Floats]) -> Callable[[Floats], Floats]:
    """Blocks along a diagonal, of labelers (J, w, w) and others, times a vector (p,)."""
    n_labelers, width = answers.shape[:2]
    n_answers, parts = n_labelers * width, separate_parts(answers)
    within = None if parts is None else np.ascontiguousarray(answers[:, parts[:, :, None], parts[:, None]])

    def product(vector: Floats) -> Floats:
        out = np.empty_like(vector)
        each, own = vector[:n_answers].reshape(n_labelers, width, 1), out[:n_answers].reshape(n_labelers, width, 1)
        if parts is None or within is None:
            own[:] = answers @ each
        else:
            own[:, parts] = within @ each[:, parts]
        start = n_answers
        for block in rest:
            out[start : start + len(block)] = block @ vector[start : start + len(block)]
            start += len(block)
        return out

    return product


def _add_blocks(matrix: Floats, answers: Floats, rest: list[Floats]) -> None:
    """Adds them along the diagonal of a matrix."""
    n_labelers, width = answers.shape[:2]
    each, start = np.arange(n_labelers), n_labelers * width
    of_answers = matrix[:start, :start].reshape(n_labelers, width, n_labelers, width)
    of_answers[each, :, each] += answers
    for block in rest:
        matrix[start : start + len(block), start : start + len(block)] += block
        start += len(block)
