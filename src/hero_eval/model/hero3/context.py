"""Levels read in the context of their round: what separates a good round from labelers in a good mood.

What labelers see is the quality of an item plus an error that they share. A good level in a good round is more often
truly good than the same level in a poor round, since the error averages out over a round: with slope v the class logits
are u + v (theta + h m_r), m_r the mean level of round r. Let quality have variance tau^2 within rounds and the shared
error s^2, and let the variance of mean errors between rounds be to s^2 as `NOISE_RATIO` = f times that of mean
qualities is to tau^2. Then h = (1 - f) / (rho + f), where rho = tau^2 / s^2 is how well levels tell the class: v^2
times the levels' variance over `LOGITS_PER_SD`^2. The model's symbols (theta, u, v) are explained in `shape`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hero_eval.model.em import EMOptions
from hero_eval.model.hero3.fit import LevelFit, fit_levels
from hero_eval.model.patterns import sum_by

NOISE_RATIO = 1.0 / 3.0
"""f above: how much less rounds differ in their mean error than in their mean quality. A choice, not an estimate: the
few past rounds that teams have cannot tell it, and what it gets wrong shows in past rounds as drift. Doubled
(measured): rates move by up to .005, intervals by 2 to 9%. At 1 levels are read alike in all rounds."""
LOGITS_PER_SD = 1.7
"""A logistic curve of slope 1.7 is a normal distribution function to within .01 (Haley, 1952). Doubled it would be
wrong (measured): rates move by up to .03 and intervals by up to 18% either way."""
LEAST_ROUNDS = 2
"""Past rounds with gold: one shows no difference between rounds, so that nothing tells quality from error. Doubled,
rounds with two or three past ones would be pulled towards history's rate (reasoned, docs/method.md)."""


def read_in_context(fit: LevelFit, options: EMOptions) -> LevelFit:
    """The same fit with levels read in the context of their round; as it is where past rounds cannot show rounds apart.

    With gold in one past round only, nothing shows that rounds' mean levels differ for quality rather than by error.
    """
    rows, shape, at = fit.rows, fit.shape, fit.parameters
    rounds = np.unique(rows.round[rows.known & ~rows.is_current])
    if shape.n_levels == 0 or len(rounds) < LEAST_ROUNDS:
        return fit
    means = at.weights @ shape.theta
    within = float(np.mean(at.weights @ shape.theta**2 - means**2))
    ratio = _class_slope(fit) ** 2 * within / LOGITS_PER_SD**2
    context = (1.0 - NOISE_RATIO) / (ratio + NOISE_RATIO)
    of_gold = sum_by(rows.round[rows.known], rows.patterns.counts[rows.known], rows.n_rounds)
    classes = at.classes.copy()
    classes[:, 0] -= classes[:, 1] * context * float(of_gold @ means / of_gold.sum())
    warm = replace(fit, parameters=replace(at, classes=classes), prior=replace(fit.prior, context=context))
    return fit_levels(rows, shape, fit.groups, options, warm=warm)


def _class_slope(fit: LevelFit) -> float:
    """How steeply class logits rise with the level: over pairs of classes, by how often gold has the two."""
    rows = fit.rows
    gold = sum_by(rows.patterns.gold[rows.known], rows.patterns.counts[rows.known], rows.n_classes)
    slopes = np.concatenate([[0.0], fit.parameters.classes[:, 1]])
    pairs = gold[:, None] * gold * (1.0 - np.eye(len(gold)))
    return float(np.sqrt((pairs * (slopes[:, None] - slopes) ** 2).sum() / max(pairs.sum(), 1e-300)))
