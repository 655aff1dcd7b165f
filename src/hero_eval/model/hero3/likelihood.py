"""HERO-3's likelihood: how probable the answers and the gold of every row are, and in which component it then is.

A row's answers are independent given its component; a component that is a level is of each class with a probability
that rises or falls along the scale. The model and its symbols (alpha, beta, theta, u, v, eta) are explained in `shape`.
Shapes: P rows, N keys of rows, J labelers, L answers, E components, G levels, R rounds, K classes, m columns of the
class design.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hero_eval.model.hero3.shape import LevelParameters, LevelPrior, LevelShape, RoundRows
from hero_eval.model.latent import log_softmax, normalize_log_weights
from hero_eval.model.patterns import Floats, Ints

if TYPE_CHECKING:
    from hero_eval.model.hero3.row_kernel import RowKernel

MANY_LABELS = 40_000
"""In rows, from which on the compiled pass pays for its start. It bounds time only; sums differ in their last digits
(reasoned)."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What an M-step needs of the rows: expected answers (J, L, E), expected items of each key (N, E), and the
    log-likelihood of all rows, without the prior."""

    cells: Floats
    by_key: Floats
    log_likelihood: float


def answer_logs(shape: LevelShape, answers: Floats) -> Floats:
    """(J, L, E): log P(answer | component) of each labeler."""
    lines = answers @ shape.basis.T
    whole = np.zeros((lines.shape[0], lines.shape[1] + 1, lines.shape[2]))
    whole[:, 1:] = lines
    if lines.shape[1] == 1:
        whole -= np.logaddexp(0.0, lines)
        return whole
    out: Floats = log_softmax(whole, axis=1)
    return out


def class_logs(rows: RoundRows, shape: LevelShape, classes: Floats, at: Ints | None = None) -> Floats:
    """log P(class | row, component): (P, G, K) with levels, (P, 1, K) without; of all rows, or of those `at`."""
    of_round, covariates = (rows.round, rows.covariates) if at is None else (rows.round[at], rows.covariates[at])
    design = np.concatenate([np.zeros((1, classes.shape[1])), classes])
    if shape.n_levels == 0:
        logits = design[:, of_round].T + covariates @ design[:, rows.n_rounds :].T
        out: Floats = log_softmax(logits, axis=1)[:, None, :]
        return out
    if covariates.shape[1] == 0:
        return level_class_logs(rows, shape, classes)[of_round]
    by_level = design[:, 0] + rows.read_levels(shape)[:, :, None] * design[:, 1]
    by_row = covariates @ design[:, 2:].T
    grid: Floats = log_softmax(by_level[of_round] + by_row[:, None, :], axis=2)
    return grid


def level_class_logs(rows: RoundRows, shape: LevelShape, classes: Floats) -> Floats:
    """(R, G, K): log P(class | level) in every round, where there are no covariates."""
    design = np.concatenate([np.zeros((1, classes.shape[1])), classes])
    return log_softmax(design[:, 0] + rows.read_levels(shape)[:, :, None] * design[:, 1], axis=2)


def key_logs(rows: RoundRows, shape: LevelShape, at: LevelParameters) -> Floats:
    """(N, E): log of the weight of each component, and of the gold's class in it, for every key of the rows."""
    keyed = rows.keyed(shape)
    gold = keyed.gold
    if shape.n_levels == 0:
        allowed = (gold[:, None] < 0) | (gold[:, None] == shape.component_class)
        logs = class_logs(rows, shape, at.classes, keyed.row)[:, 0, shape.component_class]
        if shape.n_appeals:
            logs = logs + at.log_weights[keyed.round][:, shape.component_weight]
        free: Floats = np.where(allowed, logs, -np.inf)
        return free
    out: Floats = at.log_weights[keyed.round]
    golden = keyed.golden
    if rows.covariates.shape[1] == 0:
        out[golden] += level_class_logs(rows, shape, at.classes)[keyed.round[golden], :, gold[golden]]
        return out
    of_gold = class_logs(rows, shape, at.classes, keyed.row[golden])
    out[golden] += np.take_along_axis(of_gold, gold[golden][:, None, None], axis=2)[:, :, 0]
    return out


def component_logs(rows: RoundRows, shape: LevelShape, at: LevelParameters) -> Floats:
    """(P, E): log of (weight of the component times the likelihood of the row's answers and gold)."""
    of_cells = answer_logs(shape, at.answers).reshape(-1, shape.n_components)
    return rows.keyed(shape).to_rows(of_cells, key_logs(rows, shape, at))


def e_step(rows: RoundRows, shape: LevelShape, at: LevelParameters) -> tuple[Floats, Floats]:
    """P(component | answers, gold) (P, E) and each row's log-likelihood (P,)."""
    return normalize_log_weights(component_logs(rows, shape, at))


def shares_and_sums(rows: RoundRows, shape: LevelShape, at: LevelParameters) -> tuple[Floats, Expected]:
    """P(component | answers, gold) (P, E), and the E-step's sums."""
    kernel = kernel_of(rows, shape)
    if kernel is None:
        post, by_row = e_step(rows, shape, at)
        return post, summed(rows, shape, post, float(rows.patterns.counts @ by_row))
    post = np.empty((rows.patterns.n_rows, shape.n_components))
    logs = answer_logs(shape, at.answers)
    cells, by_key, found = kernel.expect(logs.reshape(-1, shape.n_components), key_logs(rows, shape, at), post)
    return post, Expected(cells.reshape(logs.shape), by_key, found)


def expect(rows: RoundRows, shape: LevelShape, at: LevelParameters) -> Expected:
    """The E-step with its sums, none of which is kept for each row."""
    kernel = kernel_of(rows, shape)
    if kernel is None:
        return shares_and_sums(rows, shape, at)[1]
    logs = answer_logs(shape, at.answers)
    cells, by_key, log_likelihood = kernel.expect(logs.reshape(-1, logs.shape[2]), key_logs(rows, shape, at))
    return Expected(cells.reshape(logs.shape), by_key, log_likelihood)


def kernel_of(rows: RoundRows, shape: LevelShape) -> RowKernel | None:
    """The compiled pass, where there are labels enough to pay for loading it."""
    keyed = rows.keyed(shape)
    if len(rows.patterns.cells.indices) < MANY_LABELS:
        return None
    if "kernel" not in keyed.__dict__:
        from hero_eval.model.hero3.row_kernel import RowKernel  # compiled code, which small data need not load

        keyed.__dict__["kernel"] = RowKernel(keyed)
    found: RowKernel = keyed.__dict__["kernel"]
    return found


def summed(rows: RoundRows, shape: LevelShape, post: Floats, log_likelihood: float) -> Expected:
    """The sums of the components' shares (P, E) that an M-step takes."""
    patterns = rows.patterns
    cells, by_key = rows.keyed(shape).to_keys(post * patterns.counts[:, None])
    return Expected(cells.reshape(patterns.n_labelers, patterns.n_answers, -1), by_key, log_likelihood)


def class_shares(rows: RoundRows, shape: LevelShape, at: LevelParameters, post: Floats) -> Floats:
    """(P, K): P(class | answers, gold), from the components' shares."""
    if shape.n_levels == 0:
        return shape.by_class(post)
    if rows.covariates.shape[1] == 0:
        of_level, shares = np.exp(level_class_logs(rows, shape, at.classes)), np.empty((len(post), shape.n_classes))
        for number, members in enumerate(rows.by_round):
            shares[members] = post[members] @ of_level[number]
    else:
        shares = np.einsum("pe,pek->pk", post, np.exp(class_logs(rows, shape, at.classes)))
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
    def _found(self) -> tuple[Floats, Expected]:
        return shares_and_sums(self.rows, self.shape, self.parameters)

    @property
    def post(self) -> Floats:
        """(P, E): P(component | answers, gold) of every row."""
        return self._found[0]

    @cached_property
    def expected(self) -> Expected:
        """The sums of these, and the log-likelihood of all rows without the prior."""
        if "_found" in self.__dict__ or kernel_of(self.rows, self.shape) is None:
            return self._found[1]
        return expect(self.rows, self.shape, self.parameters)  # which keeps nothing for each row

    @cached_property
    def shares(self) -> Floats:
        """(P, K): P(class | answers, gold) of every row."""
        return class_shares(self.rows, self.shape, self.parameters, self.post)

    @cached_property
    def gold_by_labels(self) -> Floats:
        """(n, K): P(class | labels alone) of the rows with gold."""
        return replace(self, rows=self.rows.some(self.rows.known).blind()).shares

    def prior_shares(self, as_round: int) -> tuple[Floats, Floats]:
        """P(class | covariates) (P, K) in that round, and the design (P, m) behind it."""
        rows, classes = self.rows, self.parameters.classes
        design = np.concatenate(
            [np.tile(np.eye(rows.n_rounds)[as_round], (rows.patterns.n_rows, 1)), rows.covariates], axis=1
        )
        logits = np.concatenate([np.zeros((len(design), 1)), design @ classes.T], axis=1)
        return np.exp(log_softmax(logits, axis=1)), design
