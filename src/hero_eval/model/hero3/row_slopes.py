"""Derivatives of HERO-3's likelihood: how every row's components move with the parameters, and every row's score.

A row's components have log-weights that are sums over its labels' cells and its key (`shape.KeyedRows`), so their
derivatives are tables of cells and keys, never of rows and parameters. The parameters' order is that of
`shape.as_vector`: answers (J, L-1, q), level logits against the first level (G-1), tilts (R, t), classes (K-1, m). The
model and its symbols are explained in `shape`.
Shapes: P rows, N keys, J labelers, L answers, E components, q basis functions, G levels, t tilts, R rounds, K classes,
m columns of the class design, p parameters, p' of them not labelers' answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from hero_eval.model.hero3.likelihood import LevelModel, answer_logs, class_logs
from hero_eval.model.hero3.shape import n_parameters
from hero_eval.model.patterns import Floats, Ints

_BLOCK_LABELS = 1 << 16
"""Labels whose scores are worked out at a time. It bounds memory only: twice as many take twice as much (reasoned)."""
_KEPT_SLOPES = 4_000_000
"""Numbers of keys' slopes that are kept rather than worked out again: 32 MB. It bounds memory only (reasoned)."""

Piece = tuple[Ints, Ints, Floats]
"""Entries of a matrix: rows (n,), and the columns (n, k) and values (n, k) in each."""


class RowSlopes:
    """The derivatives at one point."""

    def __init__(self, model: LevelModel) -> None:
        self.model = model
        shape, at = model.shape, model.parameters
        self.keyed = model.rows.keyed(shape)
        self.n_answers = at.answers.size
        self.n_weights = at.levels.size + at.tilts.size
        self.size = n_parameters(at)
        self.share: Floats = np.exp(answer_logs(shape, at.answers))[:, 1:]  # (J, L-1, E)

    def class_design(self, component: int, rows: Ints | slice = slice(None)) -> Floats:
        """(P, m): what the class logits of each row are a combination of, in one component."""
        of, shape = self.model.rows, self.model.shape
        of_round = of.round[rows]
        if shape.n_levels == 0:
            return np.concatenate([np.eye(of.n_rounds)[of_round], of.covariates[rows]], axis=1)
        level = of.read_levels(shape)[of_round, component]
        return np.concatenate([np.ones((len(level), 1)), level[:, None], of.covariates[rows]], axis=1)

    @cached_property
    def _key_class_shares(self) -> Floats:
        """P(class | key, component), of keys with gold (with levels) or of all (without)."""
        return np.exp(class_logs(self.model.rows, self.model.shape, self.model.parameters.classes, self._class_rows))

    @property
    def _class_rows(self) -> Ints:
        """A row of each key that the class regression sees."""
        return self.keyed.row[self.keyed.golden] if self.model.shape.n_levels else self.keyed.row

    def class_share(self, component: int) -> Floats:
        """(n, K): P(class | key, component) of the keys that the class regression sees."""
        return self._key_class_shares[:, component if self.model.shape.n_levels else 0]

    @cached_property
    def _kept(self) -> dict[int, Floats]:
        return {}

    def key_slopes(self, component: int) -> Floats:
        """(N, p'): the derivative of `key_logs` of one component."""
        if component in self._kept:
            return self._kept[component]
        shape, at, keyed = self.model.shape, self.model.parameters, self.keyed
        out = np.zeros((len(keyed.row), self.size - self.n_answers))
        design = self.class_design(component, self._class_rows)
        of_classes = out[:, self.n_weights :].reshape(len(out), shape.n_classes - 1, -1)
        if shape.n_levels == 0:
            of = shape.component_class[component]
            gap = (np.arange(1, shape.n_classes) == of) - self._key_class_shares[:, 0, 1:]
            of_classes[:] = gap[:, :, None] * design[:, None]
        else:
            gold = keyed.gold[keyed.golden]
            gap = (np.arange(1, shape.n_classes) == gold[:, None]) - self._key_class_shares[:, component, 1:]
            of_classes[keyed.golden] = gap[:, :, None] * design[:, None]
        if shape.n_weighted:
            off = np.eye(shape.n_weighted)[shape.component_weight[component]] - at.weights
            out[:, : shape.n_weighted - 1] = off[keyed.round, 1:]
            of_tilts = out[:, shape.n_weighted - 1 : self.n_weights].reshape(len(out), *at.tilts.shape)
            of_tilts[np.arange(len(out)), keyed.round] = (off @ at.basis)[keyed.round]
        if out.size * shape.n_components <= _KEPT_SLOPES:
            self._kept[component] = out
        return out

    def from_parameters(self, vector: Floats) -> tuple[Floats, Floats]:
        """How far log-weights of cells (J*L, E) and keys (N, E) move with the parameters, along a vector (p,)."""
        shape, at = self.model.shape, self.model.parameters
        lines = vector[: self.n_answers].reshape(at.answers.shape) @ shape.basis.T
        cells = np.zeros((len(lines), lines.shape[1] + 1, lines.shape[2]))
        cells[:, 1:] = lines
        cells -= (self.share * lines).sum(axis=1, keepdims=True)
        rest = vector[self.n_answers :]
        keys = np.stack([self.key_slopes(e) @ rest for e in range(shape.n_components)], axis=1)
        return cells.reshape(-1, shape.n_components), keys

    def to_parameters(self, cells: Floats, keys: Floats) -> Floats:
        """(p,): the other way: sums of the derivatives, each times its number of cells (J*L, E) and keys (N, E)."""
        shape = self.model.shape
        by_cell = cells.reshape(len(self.share), -1, shape.n_components)
        answers = (by_cell[:, 1:] - self.share * by_cell.sum(axis=1, keepdims=True)) @ shape.basis
        weighted = self._weights_of(keys) if shape.n_weighted else []
        return np.concatenate([answers.ravel(), *weighted, self._classes_of(keys).ravel()])

    def _weights_of(self, keys: Floats) -> list[Floats]:
        """`to_parameters` for levels and tilts: what rounds have of each level beyond their weights."""
        at = self.model.parameters
        by_round: Floats = self.model.shape.by_weight(self.keyed.in_round @ keys)
        gap = by_round - by_round.sum(axis=1, keepdims=True) * at.weights
        return [gap.sum(axis=0)[1:], (gap @ at.basis).ravel()]

    def _classes_of(self, keys: Floats) -> Floats:
        """(K-1, m): `to_parameters` for the class regression."""
        of, shape, keyed, rows = self.model.rows, self.model.shape, self.keyed, self._class_rows
        share, covariates = self._key_class_shares[:, :, 1:], of.covariates[rows]
        out = np.empty(self.model.parameters.classes.shape)
        if shape.n_levels == 0:
            each = shape.by_class(keys)
            gap = each[:, 1:] - each.sum(axis=1, keepdims=True) * share[:, 0]
            out[:, : of.n_rounds], out[:, of.n_rounds :] = (keyed.in_round @ gap).T, gap.T @ covariates
            return out
        here, golden = keys[keyed.golden], keyed.golden
        given = np.arange(1, shape.n_classes) == keyed.gold[golden, None]
        by_level = here[:, :, None] * (given[:, None] - share)  # (n, E, K-1)
        by_key = by_level.sum(axis=1)
        levels = of.read_levels(shape)[keyed.round[golden]]
        out[:, 0], out[:, 1], out[:, 2:] = by_key.sum(axis=0), np.tensordot(levels, by_level), by_key.T @ covariates
        return out

    def lines_of(self, component: int, by_cell: Floats) -> Floats:
        """(J (L-1), n): sums of the derivatives by labelers' logits in one component, each times its number of cells,
        of n columns at once (J*L, n). Times the component's basis they are `to_parameters`."""
        n_labelers, width, _ = self.share.shape
        table = by_cell.reshape(n_labelers, width + 1, -1)
        gap: Floats = table[:, 1:] - self.share[:, :, component, None] * table.sum(axis=1, keepdims=True)
        return gap.reshape(n_labelers * width, -1)

    def along(self, vector: Floats) -> Floats:
        """(P, E): how far every row's components move along a vector (p,)."""
        return self.keyed.to_rows(*self.from_parameters(vector))

    def pulled(self, by_row: Floats) -> Floats:
        """(p,): the sum over rows and components of the derivatives, each times its number (P, E)."""
        return self.to_parameters(*self.keyed.to_keys(by_row))

    def score_pieces(self, post: Floats, rows: slice) -> Iterator[Piece]:
        """The entries of the scores (P, p) of some rows that follow each other, their rows counted from the first."""
        yield from self._answer_scores(post, rows)
        yield from self._other_scores(post, rows)

    def _other_scores(self, post: Floats, rows: slice) -> Iterator[Piece]:
        """The same of levels and classes alone."""
        shape, at, of = self.model.shape, self.model.parameters, self.model.rows
        here, of_round = post[rows], of.round[rows]
        numbers = np.arange(len(here))
        if shape.n_weighted:
            gap = shape.by_weight(here) - at.weights[of_round]
            levels = np.broadcast_to(np.arange(self.n_answers, self.n_answers + gap.shape[1] - 1), gap[:, 1:].shape)
            yield numbers, levels, gap[:, 1:]
            first = self.n_answers + shape.n_weighted - 1 + shape.n_tilts * of_round
            yield numbers, first[:, None] + np.arange(shape.n_tilts), gap @ at.basis
        if shape.n_levels == 0:
            yield self._plain_class_scores(shape.by_class(here), rows)
            return
        known = np.flatnonzero(of.known[rows])
        yield known, *self._gold_class_scores(here[known], known + (rows.start or 0))

    def _answer_scores(self, post: Floats, rows: slice) -> Iterator[Piece]:
        patterns, basis = self.model.rows.patterns, self.model.shape.basis
        n_free, n_basis = self.share.shape[1], basis.shape[1]
        ends, first = patterns.cells.indptr, rows.start or 0
        stop = min(patterns.n_rows, patterns.n_rows if rows.stop is None else rows.stop)
        for start in range(ends[first], ends[stop], _BLOCK_LABELS):
            labels = slice(start, min(start + _BLOCK_LABELS, ends[stop]))
            cells = patterns.cells.indices[labels].astype(np.int64)
            labeler, answer = cells // patterns.n_answers, cells % patterns.n_answers
            row = np.searchsorted(ends, np.arange(labels.start, labels.stop), side="right") - 1
            gap = (np.arange(1, n_free + 1) == answer[:, None])[:, :, None] - self.share[labeler]
            gap *= post[row, None]
            values = (gap.reshape(-1, len(basis)) @ basis).reshape(len(row), -1)  # one product, not one for each label
            yield row - first, labeler[:, None] * (n_free * n_basis) + np.arange(n_free * n_basis), values

    def _plain_class_scores(self, post: Floats, rows: slice) -> Piece:
        """Without levels: one round of the design in each row, and the covariates."""
        of, keyed = self.model.rows, self.keyed
        n_design = self.model.parameters.classes.shape[1]
        gap = (post - self._key_class_shares[keyed.of_row[rows], 0])[:, 1:]
        covariates = of.covariates[rows]
        design = np.concatenate([np.ones((len(gap), 1)), covariates], axis=1)
        places = np.concatenate(
            [of.round[rows, None], np.broadcast_to(np.arange(of.n_rounds, n_design), covariates.shape)], axis=1
        )
        columns = self.n_answers + self.n_weights + n_design * np.arange(gap.shape[1])[:, None] + places[:, None]
        values = gap[:, :, None] * design[:, None]
        width = values.shape[1] * values.shape[2]
        return np.arange(len(gap)), columns.reshape(len(gap), width), values.reshape(len(gap), width)

    def _gold_class_scores(self, post: Floats, rows: Ints) -> tuple[Ints, Floats]:
        """Columns and values of rows with gold, with levels."""
        of, shape = self.model.rows, self.model.shape
        place = np.cumsum(self.keyed.gold >= 0) - 1  # among the keys with gold
        shares = self._key_class_shares[place[self.keyed.of_row[rows]]]
        is_gold = np.arange(1, shape.n_classes) == of.patterns.gold[rows, None]
        values = sum(
            (post[:, e, None] * (is_gold - shares[:, e, 1:]))[:, :, None] * self.class_design(e, rows)[:, None]
            for e in range(shape.n_components)
        )
        size = self.model.parameters.classes.size
        columns = np.broadcast_to(np.arange(self.size - size, self.size), (len(rows), size))
        return columns, np.asarray(values).reshape(columns.shape)

    def by_shift(self, post: Floats) -> Floats:
        """(p, R): the derivatives of all rows' scores by the rounds' shifts, with levels; post (P, E).

        Shifts move the classes of levels, and so the levels of rows with gold; of the others nothing.
        """
        of, shape, at = self.model.rows, self.model.shape, self.model.parameters
        rows, out = of.gold_rows, np.zeros((self.size, of.n_rounds))
        gold, of_round = of.patterns.gold[rows], of.round[rows]
        share = np.exp(class_logs(of, shape, at.classes, rows))  # (n, E, K)
        slopes = np.concatenate([[0.0], at.classes[:, 1]])
        mean, here = share @ slopes, post[rows]
        moved = slopes[gold, None] - mean
        moved -= (here * moved).sum(axis=1, keepdims=True)
        here = here * of.patterns.counts[rows, None]
        moved *= here
        by_cell = (of.gold_cells @ moved).reshape(of.n_rounds, len(self.share), -1, shape.n_components)
        answers = (by_cell[:, :, 1:] - self.share * by_cell.sum(axis=2, keepdims=True)) @ shape.basis
        out[: self.n_answers] = answers.reshape(of.n_rounds, -1).T
        by_round = of.gold_rounds @ moved
        start, stop = self.n_answers + shape.n_levels - 1, self.n_answers + self.n_weights
        out[self.n_answers : start] = by_round[:, 1:].T
        of_tilts = out[start:stop].reshape(*at.tilts.shape, of.n_rounds)
        each = np.arange(of.n_rounds)
        of_tilts[each, :, each] = by_round @ at.basis
        gap = (np.arange(1, shape.n_classes) == gold[:, None])[:, None] - share[:, :, 1:]
        turned = moved[:, :, None] * gap - here[:, :, None] * share[:, :, 1:] * (slopes[1:] - mean[:, :, None])
        design = np.zeros((len(rows), shape.n_classes - 1, at.classes.shape[1]))
        design[:, :, 0] = turned.sum(axis=1)
        design[:, :, 1] = np.einsum("nek,ne->nk", turned, of.read_levels(shape)[of_round])
        design[:, :, 1] += np.einsum("nek,ne->nk", gap, here)  # the level itself moves
        design[:, :, 2:] = design[:, :, :1] * of.covariates[rows, None]
        out[stop:] = (of.gold_rounds @ design.reshape(len(rows), at.classes.size)).T
        return out

    def scores(self, post: Floats, rows: slice = slice(None)) -> Any:
        """(P, p) sparse: the score of every row, or of some that follow each other."""
        at, columns, values = ([] for _ in range(3))
        for row, column, value in self.score_pieces(post, rows):
            at.append(np.repeat(row, column.shape[1]))
            columns.append(column.ravel())
            values.append(value.ravel())
        place = np.concatenate(at), np.concatenate(columns)
        return sparse.coo_array((np.concatenate(values), place), shape=(len(post[rows]), self.size)).tocsr()

    def answer_scores(self, post: Floats, rows: slice) -> Any:
        """(P, J (L-1) q) sparse: the scores of some rows that follow each other, by labelers' answers alone."""
        pieces = list(self._answer_scores(post, rows))
        columns, values = (np.concatenate([piece[of] for piece in pieces]) for of in (1, 2))
        ends = self.model.rows.patterns.cells.indptr[rows.start : len(post[rows]) + rows.start + 1]
        starts = (ends - ends[0]).astype(np.int64) * columns.shape[1]
        parts = values.ravel(), columns.ravel(), starts
        return sparse.csr_array(parts, shape=(len(ends) - 1, self.n_answers))

    def other_scores(self, post: Floats, rows: slice) -> Floats:
        """(P, p'): the same by all other parameters, full."""
        out = np.zeros((len(post[rows]), self.size - self.n_answers))
        for row, column, value in self._other_scores(post, rows):
            out[row[:, None], column - self.n_answers] = value
        return out

    def full_scores(self, post: Floats, rows: slice) -> Floats:
        """The same of a few rows as a full matrix."""
        out = np.zeros((len(post[rows]), self.size))
        for row, column, value in self.score_pieces(post, rows):
            out[row[:, None], column] = value
        return out
