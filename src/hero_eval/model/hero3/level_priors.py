"""HERO-3's priors: their log-density and its derivatives, and how they are learned from the labelers.

Labelers' lines are normal around their group's mean (shrinkage, with variances learned from the labelers), so that a
labeler without history has its group's distribution (`pooling`); rounds' tilts spread by `TILT_SD`, and `PSEUDO_ITEMS`
are added that have all levels equally often; rounds' class logits spread by `ROUND_SD` around their mean; covariates'
slopes eta are normal (ridge). The model and its symbols are explained in `shape`.
Shapes: J labelers, L answers, q basis functions, G levels, R rounds, t tilts, K classes, m columns of the class design.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.even_logits import even_blocks, even_precision, even_spread
from hero_eval.model.hero3.shape import LevelParameters, LevelPrior, LevelShape, RoundRows
from hero_eval.model.patterns import Floats

PSEUDO_ITEMS = 1.0
"""Items that are added in equal parts to all levels, so that none runs empty: the least that does it. Doubled
(measured): rates move by less than .001, intervals by at most 2%."""
TILT_SD = 1.0
"""Of rounds' tilts around 0: a tilt of 1 makes the odds of two levels that are 1 apart 2.7 times as large, so models
may differ a lot. A choice. Doubled (measured): rates move by up to .008 where rounds have tilts of all degrees,
intervals are 5 to 10% shorter there, and nothing happens elsewhere."""
ROUND_SD = 1.0
"""Of rounds' class logits around their mean, with one component per class: most rates between a quarter and three
quarters if the mean is a half. A choice. Doubled (measured): rates move by less than .001, intervals by less than
1%."""
CLASS_SD = 10.0
"""Of a class's intercept u around 0, on the logit scale: next to no prior. Doubled (measured): rates move by at most
.001, intervals by at most 1%."""
CLASS_SLOPE_SPREAD = 2.0
"""Of a class's slope v around the labelers' mean slope, in standard deviations of theirs: who gives gold may be twice
as unlike labelers as they are unlike each other. A choice. Doubled (measured): rates move by at most .002; one
interval, of a round with next to no gold of a class, is 22% shorter, the others change by less than 1%."""
PSEUDO_LABELERS = 2.0
"""Labelers that are added to those seen when their covariance is learned, since a few cannot show it. A choice. Doubled
(measured): rates move by less than .001, intervals by 1%."""
PSEUDO_VARIANCE = 0.5
"""The variance of those labelers' numbers, on the logit scale. A choice. Doubled (measured): rates move by about .001,
intervals by less than 1%."""
_LEVEL_PRECISION = 1e-6
"""On the mean of all rounds' class logits: enough for the matrix to have an inverse, and no prior. Doubled, nothing
changes that could be seen (reasoned: a standard deviation of 1,000 logits)."""
_RIDGE_PSEUDO = 2.0
"""Slopes of variance 1 that are added to the covariates' when the ridge is learned: a few slopes cannot show their own
variance. A choice. Doubled (measured, words of the prompt as covariates): the rate moves by .004, the interval is 3%
shorter."""


def log_prior(shape: LevelShape, at: LevelParameters, prior: LevelPrior) -> float:
    """The log-density of the prior, up to a constant."""
    density = prior.pooling.log_density(at.answers.reshape(len(at.answers), -1))
    if shape.n_weighted:
        density += PSEUDO_ITEMS * float(at.log_pool.mean())
        density -= 0.5 * float((at.tilts**2).sum()) / TILT_SD**2
    off = at.classes - prior.class_mean
    return density - 0.5 * float((even_precision(len(off)) @ off @ prior.class_precision * off).sum())


def prior_gradient(shape: LevelShape, at: LevelParameters, prior: LevelPrior) -> Floats:
    """(p,): the derivative of `log_prior`."""
    parts = [prior.pooling.gradient(at.answers.reshape(len(at.answers), -1)).ravel()]
    if shape.n_weighted:
        parts.append(level_prior_gradient(at))
    off = at.classes - prior.class_mean
    parts.append(-(even_precision(len(off)) @ off @ prior.class_precision).ravel())
    return np.concatenate(parts)


def level_prior_gradient(at: LevelParameters) -> Floats:
    """The derivative of the prior by levels and tilts."""
    on_levels = PSEUDO_ITEMS * (1.0 / len(at.pool) - at.pool[1:])
    return np.concatenate([on_levels, -at.tilts.ravel() / TILT_SD**2])


def level_prior_curvature(at: LevelParameters) -> Floats:
    """The information of that prior."""
    even = at.pool[1:]
    out = np.diag(np.concatenate([PSEUDO_ITEMS * even, np.full(at.tilts.size, 1.0 / TILT_SD**2)]))
    out[: len(even), : len(even)] -= PSEUDO_ITEMS * np.outer(even, even)
    return out


def labeler_covariance(gap: Floats, spread: Floats, n_free: int) -> Floats:
    """(w, w): labelers' covariance, from how far they are off their means (J, w) and how well each of them knows that
    (J, w, w); their numbers are logits of `n_free` answers against the first."""
    covered = gap.T @ gap + spread.sum(axis=0)
    covered += even_spread(PSEUDO_LABELERS * PSEUDO_VARIANCE * np.eye(gap.shape[1] // n_free), n_free)
    out: Floats = covered / (len(gap) + PSEUDO_LABELERS)
    return out


def class_prior(
    rows: RoundRows,
    shape: LevelShape,
    labelers: Floats,
    spread: Floats,
    classes: Floats,
    hessian: Floats,
    ridge: float | None,
) -> tuple[Floats, Floats]:
    """Of the class regression: rounds around their mean, or an intercept and a slope like the labelers'; the ridge.

    `labelers` ((L-1)q,) and `spread` ((L-1)q, (L-1)q) are the mean and covariance of theirs. Who gives gold reads items
    as labelers do, if more surely or less: where few golds leave the slope open, it is not steeper than any of them.
    """
    n_design = classes.shape[1]
    n_covariates = rows.covariates.shape[1]
    mean = np.zeros_like(classes)
    precision = np.zeros((n_design, n_design))
    if shape.n_levels == 0:
        rounds = rows.n_rounds
        precision[:rounds, :rounds] = rounds_prior(classes[:, :rounds])[1]
    else:
        precision[0, 0] = 1.0 / CLASS_SD**2
        slopes, of_slopes = labelers.reshape(-1, 2)[:, 1], spread[1::2, 1::2]
        even = even_blocks(np.eye(len(slopes) // rows.n_even), rows.n_even)
        typical = float((even * of_slopes).sum()) / len(slopes)
        precision[1, 1] = 1.0 / (CLASS_SLOPE_SPREAD**2 * typical)
        mean[:, 1] = slopes if len(slopes) == len(mean) else slopes.mean()
    if n_covariates:
        if ridge is None:
            part = classes[:, -n_covariates:]
            variance = np.diag(np.linalg.inv(hessian)).reshape(classes.shape)[:, -n_covariates:]
            ridge = (part.size + _RIDGE_PSEUDO) / (float((part**2 + variance).sum()) + _RIDGE_PSEUDO)
        precision[-n_covariates:, -n_covariates:] = ridge * np.eye(n_covariates)
    return mean, precision


def rounds_prior(classes: Floats) -> tuple[Floats, Floats]:
    """Of the class logits of rounds (K-1, R) by themselves: their mean (K-1, R), and their precision (R, R)."""
    n_rounds = classes.shape[1]
    around = (np.eye(n_rounds) - 1.0 / n_rounds) / ROUND_SD**2 + _LEVEL_PRECISION * np.eye(n_rounds)
    return np.zeros_like(classes), around
