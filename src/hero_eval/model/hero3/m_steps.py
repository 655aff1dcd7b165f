"""HERO-3's M-step: Newton steps for labelers, levels and classes, each with the components' shares given.

The model and its symbols (alpha, beta, theta, p, a, u, v, eta) are explained in `shape`.
Shapes: P rows, J labelers, L answers, E components, q basis functions, G levels, t tilts, R rounds, K classes,
m columns of the class design.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.even_logits import even_blocks
from hero_eval.model.hero3.level_priors import level_prior_curvature, level_prior_gradient
from hero_eval.model.hero3.likelihood import Expected
from hero_eval.model.hero3.multinomial import LONGEST_STEP, damped, newton_step, regression_derivatives
from hero_eval.model.hero3.shape import LevelParameters, LevelPrior, LevelShape, RoundRows
from hero_eval.model.patterns import Floats
from hero_eval.model.pooling import Pooling

_NEWTON_STEPS = 2
"""Of labelers and classes in one M-step: the first goes nearly all the way. It changes the way to the maximum, not the
maximum. Doubled, EM takes as many steps, each longer (reasoned)."""
_HELD = 1e-9
"""Of the largest information, added where a level has none. It changes the way to the maximum, not the maximum
(reasoned)."""


def m_step(
    rows: RoundRows, shape: LevelShape, at: LevelParameters, prior: LevelPrior, expected: Expected
) -> LevelParameters:
    """The next parameters, given what is expected of the rows."""
    answers = at.answers
    for _ in range(_NEWTON_STEPS):
        answers = labeler_step(expected.cells, shape, answers, prior.pooling)[0]
    levels, tilts = level_step(rows, shape, at, expected) if shape.n_weighted else (at.levels, at.tilts)
    return LevelParameters(answers, levels, tilts, class_step(rows, shape, at, prior, expected)[0])


def labeler_step(
    cells: Floats, shape: LevelShape, answers: Floats, pooling: Pooling
) -> tuple[Floats, Floats, Floats | None]:
    """One damped Newton step of all labelers together with the means of their groups, the labelers' Hessians, and the
    inverses of these where they are at hand."""
    gradient, hessian = regression_derivatives(cells, shape.basis, answers)
    hessian += pooling.precision
    pull = gradient + pooling.gradient(answers.reshape(gradient.shape))
    step, inverses = pooling.solve_and_keep(hessian, pull)
    short = damped(step.reshape(len(step), pooling.n_even, -1))
    return answers + short.reshape(answers.shape), hessian, inverses


def level_step(rows: RoundRows, shape: LevelShape, at: LevelParameters, expected: Expected) -> tuple[Floats, Floats]:
    """One damped Newton step of the levels' logits and the rounds' tilts."""
    by_round: Floats = shape.by_weight(rows.keyed(shape).in_round @ expected.by_key)
    weights = at.weights
    size = by_round.sum(axis=1)
    gap = by_round - size[:, None] * weights
    gradient = np.concatenate([gap.sum(axis=0)[1:], (gap @ at.basis).ravel()]) + level_prior_gradient(at)
    step = _solved(level_curvature(at, size) + level_prior_curvature(at), gradient)
    levels, tilts = step[: len(at.levels)], step[len(at.levels) :].reshape(at.tilts.shape)
    change = tilts @ at.basis.T
    change[:, 1:] += levels
    change -= np.add.reduce(change, axis=1, keepdims=True) / change.shape[1]  # so that no level is the first
    short = min(1.0, LONGEST_STEP / max(float(np.abs(change).max()), 1e-300))
    return at.levels + short * levels, at.tilts + short * tilts


def _solved(information: Floats, gradient: Floats) -> Floats:
    """Newton's step; where a trial far from the maximum has left a level without any weight, and so without
    information, the way that the gradient shows, which is damped."""
    try:
        return np.asarray(np.linalg.solve(information, gradient), np.float64)
    except np.linalg.LinAlgError:
        held = _HELD * max(float(np.abs(np.diag(information)).max()), 1.0)
        return np.asarray(np.linalg.solve(information + held * np.eye(len(information)), gradient), np.float64)


def level_curvature(at: LevelParameters, size: Floats) -> Floats:
    """The information on levels and tilts of rounds with so many items, if all levels were seen."""
    weights, basis = at.weights, at.basis
    inner = weights[:, 1:]
    off = basis - (weights @ basis)[:, None]  # (R, G, t)
    mass = size[:, None] * weights
    pulled = mass[:, :, None] * off
    mixed = pulled[:, 1:].transpose(1, 0, 2).reshape(inner.shape[1], -1)
    levels = mass[:, 1:].T @ -inner
    levels.ravel()[:: len(levels) + 1] += mass[:, 1:].sum(axis=0)
    n_rounds, n_tilts = at.tilts.shape
    tilts = np.zeros((n_rounds, n_tilts, n_rounds, n_tilts))
    own = np.arange(n_rounds)  # a round's tilts meet those of no other
    tilts[own, :, own] = pulled.transpose(0, 2, 1) @ off
    stop = len(levels)
    out = np.empty((stop + at.tilts.size,) * 2)
    out[:stop, :stop], out[stop:, stop:] = levels, tilts.reshape(at.tilts.size, -1)
    out[:stop, stop:], out[stop:, :stop] = mixed, mixed.T
    return out


def class_step(
    rows: RoundRows, shape: LevelShape, at: LevelParameters, prior: LevelPrior, expected: Expected
) -> tuple[Floats, Floats]:
    """Damped Newton steps of the class regression, and its Hessian."""
    design, counts = class_cells(rows, shape, expected.by_key)
    classes = at.classes[None]
    precision = even_blocks(prior.class_precision, classes.shape[1])[None]
    for _ in range(_NEWTON_STEPS):
        classes, hessian = newton_step(counts[None], design, classes, prior.class_mean.reshape(1, -1), precision)
    return classes[0], hessian[0]


def class_cells(rows: RoundRows, shape: LevelShape, by_key: Floats) -> tuple[Floats, Floats]:
    """What the class regression sees: design (n, m) and expected counts of each class (K, n)."""
    keyed = rows.keyed(shape)
    n_covariates = rows.covariates.shape[1]
    if shape.n_levels == 0:
        by_key = shape.by_class(by_key)
        if n_covariates == 0:
            return np.eye(rows.n_rounds), (keyed.in_round @ by_key).T
        return np.concatenate([np.eye(rows.n_rounds)[keyed.round], rows.covariates[keyed.row]], axis=1), by_key.T
    levels, golden = rows.read_levels(shape), keyed.golden
    gold, of_round = keyed.gold[golden], keyed.round[golden]
    if n_covariates == 0:
        by_gold = np.zeros((shape.n_classes, rows.n_rounds, shape.n_levels))
        by_gold[gold, of_round] = by_key[golden]
        return with_intercept(levels), by_gold.reshape(shape.n_classes, -1)
    by_class = np.eye(shape.n_classes)[gold].T[:, :, None] * by_key[golden]
    covariates = np.repeat(rows.covariates[keyed.row[golden]], shape.n_levels, axis=0)
    return np.concatenate([with_intercept(levels[of_round]), covariates], axis=1), by_class.reshape(len(by_class), -1)


def with_intercept(values: Floats) -> Floats:
    """(n, 2): ones, and the values."""
    return np.stack([np.ones(values.size), values.ravel()], axis=1)
