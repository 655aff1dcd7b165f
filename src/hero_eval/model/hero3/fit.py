"""Fitting HERO-3's model: history and current together, with labelers that may err together given the gold.

The penalized likelihood is maximized in three parts: accelerated EM that also learns the priors, nearly to where all
rests, accelerated EM with the priors held, and Newton's method near the maximum. Where levels are read in the context
of their round (`context`) the rounds' mean levels and the maximum are found in turn. The model and its symbols are
explained in `shape`.
Shapes: P rows, J labelers, L answers, E components, q basis functions, R rounds (the last is current), K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hero_eval.errors import unsupported
from hero_eval.model.answer_order import answer_classes
from hero_eval.model.em import EMOptions, EMReport, gold_classes, gold_counts, run_accelerated_em
from hero_eval.model.even_logits import even_blocks, even_spread
from hero_eval.model.hero3.level_information import LevelInformation, is_dense
from hero_eval.model.hero3.level_priors import class_prior, labeler_covariance, log_prior, prior_gradient
from hero_eval.model.hero3.likelihood import LevelModel, answer_logs
from hero_eval.model.hero3.m_steps import class_step, labeler_step, level_step, m_step
from hero_eval.model.hero3.multinomial import regression_derivatives
from hero_eval.model.hero3.ordered_answers import first_scale, ordered_covariance
from hero_eval.model.hero3.shape import (
    LevelParameters,
    LevelPrior,
    LevelShape,
    RoundRows,
    as_even_vector,
    as_vector,
    moved_parameters,
    n_parameters,
    parameters_of,
    parameters_of_even,
)
from hero_eval.model.patterns import Floats, Ints
from hero_eval.model.pooling import LEAST_SPREAD, group_means, inverse_each, labeler_scores, thin_spread
from hero_eval.model.split_half import labels_of, typical_labels

PARAMETER_PENALTY = 2.0
"""Of a parameter, in log-likelihood: between Akaike's 1 and what a thousand items make of Schwarz's (half the
logarithm, 3.5). Doubled (measured): fewer levels are chosen; the rates of tqa v2 move by up to .009 and their intervals
are a fifth to a quarter shorter, and a round of imagenhub with little gold moves by .09."""
LOOSE_SD = 5.0
"""Of the logits of labelers whom history knows, with one component per class: closer priors biased the rate by .01 to
.02 in the paper's experiment 1(ii). Doubled (measured, on the example): the rate moves by .003, intervals by 2%."""
THIN_LABELS = 100.0
"""Labels of a typical labeler, below which labelers' spread is learned from pairs of their labels: with fewer, every
labeler would fit itself (`benchmarks/thin_labelers.py`). Doubled (measured, dices350 too): nothing changes, since
typical labelers there have far more or far fewer; between 100 and 200 labels they would lean more on each other
(reasoned)."""
_NEAR = 1e-6
"""EM's tolerance on the likelihood before Newton's method takes over, which then doubles the digits in each step. It
bounds time only, where Newton's method comes to rest. Doubled, a few more steps of Newton's method (reasoned)."""
_NEWTON_STEPS = 60
"""Of Newton's method, before EM goes on instead: most fits take about five, those along a flat ridge, where EM would
take thousands, about thirty. Doubled, a few hard fits end by Newton's method that now end by EM, at the same maximum
(reasoned)."""
_LEAST_DAMPING = 1e-4
"""Of a damped step, as a share of the information that seeing all components would give. It changes the way to the
maximum, not the maximum. Doubled, a few steps more or less (reasoned)."""
_MOST_DAMPING = 1e3
"""Steps a thousandth of those of EM that still lead downhill are those of rounding errors. Doubled: as above."""
_LOOK = 2
"""Rounds of accelerated EM (two steps each) from one look at the criterion of a fit that may be lost to the next.
Doubled, lost fits are left a little later (reasoned)."""
_LOST = 10.0
"""By how much the criterion of a lost fit lacks at least, in log-likelihood, beside what it may gain: five parameters'
penalty. Doubled, fits of small rounds are left later, or not at all (reasoned)."""
_LOOKS_AHEAD = 24.0
"""As many more looks are expected to gain as much as the last. Halved (measured): choosing takes 3% less, and one of
85 public rounds gets two levels less, though its criterion would be better by 56 with them."""
_NEAR_STEP = 0.1
"""Logits: after a step of Newton's method that is shorter the next ones take the same information. It changes the way
to the maximum, not the maximum. Doubled, a few more gradients for a few informations less (reasoned)."""
_RIDGE_STEPS = 2
"""Of EM after a longer step. Measured on 500,000 labels by 100 labelers who err together: 13 informations rather than
32. Doubled, as many, and more steps of EM."""
_SHRINKS = 0.25
"""How much shorter each of these steps is to be than the last. Doubled, more of them for fewer informations
(reasoned)."""
_CHORD_STEPS = 12
"""Of them at most: more are not needed if each is a quarter of the last (reasoned)."""
_CHORD_REST = 0.01
"""Of the step at which Newton's method rests, since these shorten by a factor only. Doubled, parameters change in their
eighth digit (reasoned)."""
_MOST_FRESH = 6
"""Informations on the way; with more, steps do not shrink as they should. Doubled, a few more fits end by these steps
(reasoned)."""
_FARTHEST_STEP = 1.0
"""Logits: from a point so far from the maximum steps without an objective to climb are not tried. Doubled, a few more
fits end by them (reasoned)."""
_LEARNING = EMOptions(tolerance=1e-6, step_tolerance=0.05, max_steps=100, plain_steps=4)
"""Of the accelerated EM that learns the priors: likelihoods of shapes can then be compared, and rates are as at rest
to within .00002 (the median of 26 public rounds; .0025 in the one farthest off). The plain steps come first, since
extrapolations from far off lead astray. With up to 300 steps (measured): 85 public rounds get the same shapes, and
choosing takes an eighth longer at 500,000 labels by 20 labelers who err together; with a step tolerance of .02 it takes
a tenth longer; with twice the tolerance one of 170 rounds stops at a saddle, where its rate is off by .035."""
_NEAR_REST = 0.02
"""The same tolerance in all labels' log-likelihood, as if each had 1: with few labels it is more, since they need no
more digits than many to be compared by. Halved (measured): choosing takes 6% longer, and one of 85 public rounds gets
another shape. Doubled, fits of small rounds are less at rest (reasoned)."""
_POOLED_STEPS = 12
"""Of EM before these where labelers are thin: first all are taken as one labeler, so that levels and classes come
before differences among labelers. Doubled, the start is nearer to that of one labeler (reasoned: EM forgets its
start)."""
_CONTEXT_LOOPS = 20
"""Of rounds' mean levels and the maximum in turn: the real rounds take three or four. Doubled, nothing changes unless a
fit had not come to rest (reasoned)."""
_CONTEXT_REST = 1e-8
"""How far mean levels still move when they rest. Doubled, rates change in their eighth digit (reasoned)."""
_MOST_PRIOR = 1 << 27
"""Numbers in the labelers' precisions, of which a few copies are made: 1 GB each. With more the fit is refused
(reasoned)."""
_START_SLOPE = 1.5
"""Of the last answer's and the last class's logits along the scale, where EM starts: a labeler of middling skill.
Doubled (measured): a fit comes to the same maximum, but the fits that are compared to choose levels stop near theirs,
and one round of tqa v2 with one past round gets levels where it had none: its rate moves by .04 (the others by less
than .0001)."""
_START_POOLED = 4.0
"""Answers of the pool that each labeler starts with, beside its own. Doubled (measured): nothing changes."""
_START_VARIANCES = 4.0, 1.0
"""Of labelers' intercepts and slopes, before they are learned. Doubled, EM takes another way to the same maximum
(reasoned; but see `_START_SLOPE`)."""


@dataclass(frozen=True, eq=False)
class LevelFit(LevelModel):
    """A fitted model."""

    report: EMReport
    groups: Ints = field(repr=False)

    @cached_property
    def criterion(self) -> float:
        """The log-likelihood less `PARAMETER_PENALTY` for each parameter: larger is better.

        A labeler counts for as many as its labels, not its prior, decide; it may be next to none.
        """
        at, prior, expected = self.parameters, self.prior, self.expected
        hessian = regression_derivatives(expected.cells, self.shape.basis, at.answers)[1] + prior.answer_precision
        held = float(np.trace(np.linalg.solve(hessian, prior.answer_precision), axis1=1, axis2=2).sum())
        return expected.log_likelihood - PARAMETER_PENALTY * (n_parameters(at) - held)

    @cached_property
    def information(self) -> LevelInformation:
        return LevelInformation(self)

    @cached_property
    def objective(self) -> float:
        """The log-likelihood and the log-density of the prior."""
        return self.expected.log_likelihood + log_prior(self.shape, self.parameters, self.prior)

    def moved(self, step: Floats) -> LevelFit:
        """One step of Newton's method (p,) farther."""
        out = replace(self, parameters=moved_parameters(self.parameters, step))
        report = replace(self.report, n_steps=self.report.n_steps + 1, log_likelihood=out.objective, converged=True)
        object.__setattr__(out, "report", report)
        return out


NOT_FITTED = EMReport(0, np.inf, False, -np.inf, ())
"""What is said of a point that nobody climbed from."""


@dataclass
class _Race:
    """Whether a shape that is being fitted can still come to the criterion of the best so far.

    It cannot where it lacks much, and far more than it gains from one look to the next.
    """

    to_beat: float
    last: float = -np.inf
    steps: int = 0

    def is_lost(self, fit: LevelFit) -> bool:
        self.steps += 1
        if self.to_beat == -np.inf or self.steps % _LOOK:
            return False
        now, before = fit.criterion, self.last
        self.last = now
        return bool(self.to_beat - now > _LOST + _LOOKS_AHEAD * max(now - before, 0.0))


def fit_levels(
    rows: RoundRows,
    shape: LevelShape,
    groups: Ints,
    options: EMOptions,
    ridge: float | None = None,
    warm: LevelFit | None = None,
    progress: Callable[[int, float], None] | None = None,
    *,
    loose: bool = True,
) -> LevelFit:
    """Maximize the penalized likelihood: EM that also learns the priors, then EM with these held.

    `groups` (J,) number the labelers' groups. `loose`: with one component per class, labelers whom history knows keep
    priors of their own (`LOOSE_SD`). `ridge` is the precision of the (scaled) covariates' slopes, None to learn it. A
    warm fit of the same shape lends its priors and is where EM starts. With context the maximum is sought again until
    the rounds' mean levels rest.
    """
    if warm is not None:
        prior, point = warm.prior, warm.parameters
    else:
        near = near_maximum(rows, shape, groups, progress, ridge, loose=loose)
        prior, point = near.prior, near.parameters
    if prior.context == 0.0:
        return _maximize(rows, shape, point, prior, groups, options, progress)
    if warm is not None and options.step_tolerance is not None and is_dense(n_parameters(point)):
        found = _settle(replace(warm, rows=rows, shape=shape, groups=groups), options.step_tolerance)
        if found is not None:
            return found
    for _ in range(_CONTEXT_LOOPS):
        rows = rows.with_shift(prior.context * point.weights @ shape.theta)
        fit = _maximize(rows, shape, point, prior, groups, options, progress)
        moved = np.abs((fit.parameters.weights - point.weights) @ shape.theta).max()
        point = fit.parameters
        if moved < _CONTEXT_REST:
            break
    return fit


def are_thin(rows: RoundRows) -> bool:
    """Whether labelers have so few labels that their spread is learned from pairs of them, in every shape."""
    return bool(typical_labels(labels_of(rows.patterns)) < THIN_LABELS)


def near_maximum(
    rows: RoundRows,
    shape: LevelShape,
    groups: Ints,
    progress: Callable[[int, float], None] | None = None,
    ridge: float | None = None,
    *,
    loose: bool = False,
    to_beat: float = -np.inf,
) -> LevelFit:
    """Near the maximum, with priors near those that it gives, which is where shapes are compared.

    All labelers then have learned priors, so that those who are alike count for as few parameters in every shape. A fit
    that cannot come to the criterion `to_beat` is left where that is seen, as not fitted. Labelers who are thin are
    first taken as one, which says little of the shape.
    """
    race = _Race(to_beat)
    thin = are_thin(rows)
    last = _start(rows, shape, groups, thin)
    for number in range(_POOLED_STEPS if thin else 0):
        last = _prior_step(last, ridge, number, loose)
    start, here, n_steps = last.parameters, last, _POOLED_STEPS
    several = rows.n_even > 1  # extrapolations are as long, and steps as small, whichever class comes first
    flat, point_of = (as_even_vector, parameters_of_even) if several else (as_vector, parameters_of)

    def step(vector: Floats) -> tuple[Floats, float]:
        nonlocal here, last, n_steps
        here = replace(last, parameters=point_of(vector, start))
        last = _prior_step(here, ridge, n_steps if thin else None, loose)
        n_steps += 1
        return flat(last.parameters), here.expected.log_likelihood

    by_label = _NEAR_REST / max(rows.patterns.label_weight, 1.0)
    options = replace(_LEARNING, tolerance=max(_LEARNING.tolerance, by_label))
    is_lost = False

    def lost(_: Floats) -> bool:
        nonlocal is_lost
        is_lost = race.is_lost(here)
        return is_lost

    found, report = run_accelerated_em(step, _anywhere, flat(start), options, progress, lost)
    if is_lost:
        return here
    return replace(last, parameters=point_of(found, start), report=report)


def _maximize(
    rows: RoundRows,
    shape: LevelShape,
    point: LevelParameters,
    prior: LevelPrior,
    groups: Ints,
    options: EMOptions,
    progress: Callable[[int, float], None] | None,
) -> LevelFit:
    """To the maximum, with priors and context held: near it by EM, then by Newton's method, if that can be had."""

    def step(vector: Floats) -> tuple[Floats, float]:
        here = LevelFit(rows, shape, parameters_of(vector, point), prior, NOT_FITTED, groups)
        return as_vector(m_step(rows, shape, here.parameters, prior, here.expected)), here.objective

    newton = options.step_tolerance is not None and is_dense(n_parameters(point))
    near = replace(options, tolerance=_NEAR, step_tolerance=None) if newton else options
    found, report = run_accelerated_em(step, _anywhere, as_vector(point), near, progress)
    fit = LevelFit(rows, shape, parameters_of(found, point), prior, report, groups)
    if not newton or options.step_tolerance is None:
        return fit
    climbed, rests = _newton(fit, options.step_tolerance)
    if rests:
        return climbed
    found, report = run_accelerated_em(step, _anywhere, as_vector(climbed.parameters), options, progress)
    return replace(fit, parameters=parameters_of(found, point), report=report)


def _anywhere(vector: Floats) -> Floats:
    """Logits have no bounds."""
    return vector


def _newton(fit: LevelFit, enough: float) -> tuple[LevelFit, bool]:
    """Newton's method from a point near the maximum, and whether it came to rest.

    Where the likelihood bends the wrong way, or a step does not gain what it should, steps are damped (Levenberg and
    Marquardt), as far as to those of EM. Long steps along a curved ridge lead off it; a few of EM, which cost little
    beside an information, lead back.
    """
    here, damping = fit.objective, 0.0
    for _ in range(_NEWTON_STEPS):
        information = LevelInformation(fit)
        gradient = _gradient(fit, information)
        there = None
        while there is None and damping < _MOST_DAMPING:
            found = information.uphill(gradient, damping)
            if found is not None:
                step, promised = found
                there = _tried(fit, step, 0.25 * promised)
            if there is None:
                damping = max(4.0 * damping, _LEAST_DAMPING)
        if there is None:
            return fit, False
        gained, longest = there.objective - here, float(np.abs(step).max())
        fit, here = there, there.objective
        if damping == 0.0 and longest < enough:
            return fit, True
        if damping == 0.0 and longest < _NEAR_STEP:
            ended = _chord(fit, information, longest, enough)
            if ended is not None:
                return ended, True
        if gained < 0.25 * promised:
            damping = max(4.0 * damping, _LEAST_DAMPING) if promised > 1e-9 * (1.0 + abs(here)) else damping
        elif gained > 0.75 * promised:
            damping = damping / 8.0 if damping > 2.0 * _LEAST_DAMPING else 0.0
        if longest > _NEAR_STEP:
            fit = _back_to_ridge(fit)
            here = fit.objective
    return fit, False


def _tried(fit: LevelFit, step: Floats, wanted: float) -> LevelFit | None:
    """The point after a step, or where EM leads from there if the step gains less than is wanted; None if downhill."""
    here, there = fit.objective, fit.moved(step)
    if there.objective - here < wanted and np.abs(step).max() > _NEAR_STEP:
        there = _back_to_ridge(there)
    return there if there.objective >= here - 1e-9 * (1.0 + abs(here)) else None


def _back_to_ridge(fit: LevelFit) -> LevelFit:
    """A few steps of EM."""
    for _ in range(_RIDGE_STEPS):
        fit = replace(fit, parameters=m_step(fit.rows, fit.shape, fit.parameters, fit.prior, fit.expected))
    return fit


def _gradient(fit: LevelFit, information: LevelInformation) -> Floats:
    """(p,): of the objective."""
    return information.score_sum() + prior_gradient(fit.shape, fit.parameters, fit.prior)


def _chord(fit: LevelFit, information: LevelInformation, last: float, enough: float) -> LevelFit | None:
    """The last steps to the maximum with an information from nearby, which costs far more than a gradient.

    None where they do not shrink as they do that near.
    """
    for _ in range(_CHORD_STEPS):
        step = information.plain_solve(_gradient(fit, LevelInformation(fit)))
        size = float(np.abs(step).max())
        if not size < _SHRINKS * last:
            return None
        fit, last = fit.moved(step), size
        if size < _CHORD_REST * enough:
            return fit
    return None


def _settle(fit: LevelFit, enough: float) -> LevelFit | None:
    """The maximum together with the rounds' mean levels that it is read by, from a point near both.

    Newton's method for parameters on which the rounds' shifts depend, with an information that is kept while steps
    shrink fast. None where they do not shrink, or do not end at a maximum: then the two are to be found in turn.
    """
    information, last, fresh, n_fresh = None, _FARTHEST_STEP, False, 0
    for _ in range(_NEWTON_STEPS):
        fit = replace(fit, rows=fit.rows.with_shift(fit.prior.context * fit.parameters.weights @ fit.shape.theta))
        here = LevelInformation(fit)
        if information is None:
            information, fresh, n_fresh = here, True, n_fresh + 1
            if information.is_weak or n_fresh > _MOST_FRESH:
                return None
        step = information.step_in_context(_gradient(fit, here))
        size = float(np.abs(step).max())
        if not size < (2.0 if fresh else _SHRINKS) * last:
            if fresh:
                return None
            information = None
            continue
        fit, last, fresh = fit.moved(step), size, False
        if size < _CHORD_REST * enough:
            return fit
        if size > _NEAR_STEP:
            information = None
    return None


def _prior_step(fit: LevelFit, ridge: float | None, thin: int | None, loose: bool) -> LevelFit:
    """An EM step, then the priors again: labelers' spread around the means of their groups, the ridge."""
    rows, shape, at, prior, groups = fit.rows, fit.shape, fit.parameters, fit.prior, fit.groups
    post = fit.post if thin is not None and thin >= _POOLED_STEPS else None
    expected = fit.expected
    cells = expected.cells
    answers, hessian, inverses = labeler_step(cells, shape, at.answers, prior.pooling)
    flat, n_even = answers.reshape(len(answers), -1), rows.n_even
    each = np.eye(flat.shape[1] // n_even)
    own = cells.sum(axis=(1, 2)) > 0
    free = thin is not None or shape.err_together or not loose
    mean = prior.pooling.means(flat) if free else group_means(flat, groups, own)
    if thin is None:
        known = inverse_each(hessian[own]) if inverses is None else inverses[own]
        covariance = labeler_covariance(flat[own] - mean[own], known, n_even)
    elif post is None:
        covariance = even_spread(LEAST_SPREAD * each, n_even)
    else:
        scores = labeler_scores(rows.patterns, post, np.exp(answer_logs(shape, at.answers)), shape.basis)
        off = (flat - mean)[own] if thin > _POOLED_STEPS else None
        covariance = thin_spread(*scores, off, prior.answer_precision, n_even, alike=not shape.err_together)
    if shape.n_levels and rows.patterns.n_answers != rows.n_classes:
        covariance = ordered_covariance(covariance)
    classes, class_hessian = class_step(rows, shape, at, prior, expected)
    levels, tilts = level_step(rows, shape, at, expected) if shape.n_weighted else (at.levels, at.tilts)
    class_mean, class_precision = class_prior(
        rows, shape, mean[own].mean(axis=0), covariance, classes, class_hessian, ridge
    )
    precision, held = np.broadcast_to(inverse_each(covariance[None]), (len(flat), *covariance.shape)), None
    if loose and thin is None and not shape.err_together:
        precision = precision.copy()
        precision[rows.met_before], held = even_blocks(each, n_even) / LOOSE_SD**2, mean
    prior = LevelPrior(groups, precision, class_mean, class_precision, held_mean=held, n_even=n_even)
    return replace(fit, parameters=LevelParameters(answers, levels, tilts, classes), prior=prior)


def _start(rows: RoundRows, shape: LevelShape, groups: Ints, thin: bool) -> LevelFit:
    """Answers from the gold rows (one component per class) or from how often each answer is given (levels)."""
    patterns = rows.patterns
    n_labelers, n_answers = patterns.n_labelers, patterns.n_answers
    n_basis = shape.basis.shape[1]
    if n_labelers * ((n_answers - 1) * n_basis) ** 2 > _MOST_PRIOR:
        message = f"hero3 asks how the answers of {n_labelers:,} labelers are related in {shape.n_classes:,} classes"
        raise unsupported("E306", f"{message}, which does not fit in memory.")
    by_class = gold_classes(patterns, rows.n_classes)
    given = patterns.to_cells(patterns.counts[:, None])[:, :, 0]
    base = np.log((given.sum(axis=0) + 1.0) / (given.sum() + n_answers))
    own = np.log(given + 2.0 * np.exp(base)) - np.log(given.sum(axis=1, keepdims=True) + 2.0)
    answers = np.zeros((n_labelers, n_answers - 1, n_basis))
    along = first_scale(rows)
    rising = _START_SLOPE * (along[1:] - along[0])
    shares = (by_class + 0.5) / (by_class + 0.5).sum()
    n_design = (rows.n_rounds if shape.n_levels == 0 else 2) + rows.covariates.shape[1]
    classes = np.zeros((rows.n_classes - 1, n_design))
    if shape.n_levels == 0:
        hits, _ = gold_counts(patterns, rows.n_classes)
        pooled = hits.sum(axis=0) + answer_classes(n_answers, rows.n_classes) + np.exp(base)[:, None]
        pooled = pooled / pooled.sum(axis=0)
        logs = np.log(hits + _START_POOLED * pooled) - np.log(hits.sum(axis=1, keepdims=True) + _START_POOLED)
        answers[:, :, : rows.n_classes] = logs[:, 1:] - logs[:, :1]
        if shape.n_appeals:
            answers[:, :, -1] = rising
        classes[:, : rows.n_rounds] = (np.log(shares[1:]) - np.log(shares[0]))[:, None]
    else:
        answers[:, :, 0] = own[:, 1:] - own[:, :1]
        answers[:, :, 1] = rising
        classes[:, 0] = np.log(shares[1:]) - np.log(shares[0])
        of_class = along if n_answers == rows.n_classes else np.linspace(0.0, 1.0, rows.n_classes)
        classes[:, 1] = _START_SLOPE * (of_class[1:] - of_class[0])
    levels = -0.5 * (shape.theta[1:] ** 2 - shape.theta[0] ** 2)
    spread = np.tile(_START_VARIANCES if shape.n_levels else (1.0,) * n_basis, (n_answers - 1) // rows.n_even)
    if thin:
        answers[:] = np.average(answers, axis=0, weights=given.sum(axis=1))
        spread = np.full(len(spread), LEAST_SPREAD)
    prior = LevelPrior(
        groups,
        np.tile(even_blocks(np.diag(1.0 / spread), rows.n_even), (n_labelers, 1, 1)),
        np.zeros((rows.n_classes - 1, n_design)),
        np.eye(n_design),
        n_even=rows.n_even,
    )
    point = LevelParameters(answers, levels, np.zeros((rows.n_rounds, shape.n_tilts)), classes)
    return LevelFit(rows, shape, point, prior, NOT_FITTED, groups)
