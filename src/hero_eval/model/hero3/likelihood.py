"""HERO-3's likelihood: how probable the answers and the gold of every row are, and in which component it then is.

A row's answers are independent given its component; a component that is a level is of each class with a probability
that rises or falls along the scale. The model and its symbols (alpha, beta, theta, u, v, eta) are explained in `shape`.
Shapes: P rows, J labelers, L answers, E components, G levels, R rounds, K classes, m columns of the class design.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hero_eval.model.hero3.shape import LevelParameters, LevelPrior, LevelShape, RoundRows
from hero_eval.model.latent import log_softmax, normalize_log_weights
from hero_eval.model.patterns import Floats


def answer_logs(shape: LevelShape, answers: Floats) -> Floats:
    """(J, L, E): log P(answer | component) of each labeler."""
    lines = answers @ shape.basis.T
    whole = np.concatenate([np.zeros((lines.shape[0], 1, lines.shape[2])), lines], axis=1)
    out: Floats = log_softmax(whole, axis=1)
    return out


def class_logs(rows: RoundRows, shape: LevelShape, classes: Floats) -> Floats:
    """log P(class | row, component): (P, G, K) with levels, (P, 1, K) without."""
    design = np.concatenate([np.zeros((1, classes.shape[1])), classes])
    if shape.n_levels == 0:
        logits = design[:, rows.round].T + rows.covariates @ design[:, rows.n_rounds :].T
        out: Floats = log_softmax(logits, axis=1)[:, None, :]
        return out
    by_level = design[:, 0] + rows.read_levels(shape)[:, :, None] * design[:, 1]
    if rows.covariates.shape[1] == 0:
        same: Floats = log_softmax(by_level, axis=2)[rows.round]
        return same
    by_row = rows.covariates @ design[:, 2:].T
    grid: Floats = log_softmax(by_level[rows.round] + by_row[:, None, :], axis=2)
    return grid


def component_logs(rows: RoundRows, shape: LevelShape, at: LevelParameters) -> Floats:
    """(P, E): log of (weight of the component times the likelihood of the row's answers and gold)."""
    out = rows.patterns.from_cells(answer_logs(shape, at.answers).reshape(-1, shape.n_components))
    classes = class_logs(rows, shape, at.classes)
    gold, known = rows.patterns.gold, rows.known
    if shape.n_levels == 0:
        allowed = ~known[:, None] | (gold[:, None] == np.arange(shape.n_classes))
        joint: Floats = out + np.where(allowed, classes[:, 0], -np.inf)
        return joint
    out = out + np.log(at.weights)[rows.round]
    out[known] += np.take_along_axis(classes[known], gold[known][:, None, None], axis=2)[:, :, 0]
    return out


def e_step(rows: RoundRows, shape: LevelShape, at: LevelParameters) -> tuple[Floats, Floats]:
    """P(component | answers, gold) (P, E) and each row's log-likelihood (P,)."""
    return normalize_log_weights(component_logs(rows, shape, at))


def class_shares(rows: RoundRows, shape: LevelShape, at: LevelParameters, post: Floats) -> Floats:
    """(P, K): P(class | answers, gold), from the components' shares."""
    if shape.n_levels == 0:
        return post
    shares: Floats = np.einsum("pe,pek->pk", post, np.exp(class_logs(rows, shape, at.classes)))
    known = rows.known
    shares[known] = np.eye(shape.n_classes)[rows.patterns.gold[known]]
    return shares


@dataclass(frozen=True, eq=False)
class LevelModel:
    """The model at a point: rows, shape, parameters, and the prior that holds there."""

    rows: RoundRows
    shape: LevelShape
    parameters: LevelParameters
    prior: LevelPrior

    @cached_property
    def _expected(self) -> tuple[Floats, Floats]:
        return e_step(self.rows, self.shape, self.parameters)

    @property
    def post(self) -> Floats:
        """(P, E): P(component | answers, gold) of every row."""
        return self._expected[0]

    @property
    def log_likelihood(self) -> float:
        """Of all rows, without the prior."""
        return float(self.rows.patterns.counts @ self._expected[1])

    @cached_property
    def shares(self) -> Floats:
        """(P, K): P(class | answers, gold) of every row."""
        return class_shares(self.rows, self.shape, self.parameters, self.post)

    def prior_shares(self, as_round: int) -> tuple[Floats, Floats]:
        """P(class | covariates) (P, K) in that round, and the design (P, m) behind it."""
        rows, classes = self.rows, self.parameters.classes
        design = np.concatenate(
            [np.tile(np.eye(rows.n_rounds)[as_round], (rows.patterns.n_rows, 1)), rows.covariates], axis=1
        )
        logits = np.concatenate([np.zeros((len(design), 1)), design @ classes.T], axis=1)
        return np.exp(log_softmax(logits, axis=1)), design
