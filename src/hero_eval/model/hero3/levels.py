"""HERO-3's model: history and current fitted together, with labelers that may err together given the gold.

Every item is in a hidden *component*; labelers answer independently given it. There are two shapes of one model:

- one component a class (the paper's): labeler j's answers have free logits in each class, and an item of round r with
  covariates x is of class k with probability softmax(u_rk + x eta_k);
- levels on a scale, theta_1 < ... < theta_G: labeler j's logits are straight lines alpha_j + beta_j theta, level g
  occurs in round r with probability softmax(p_g + a_r b_g), so that rounds are tilted towards good or bad, and an
  item of level theta is of class k with probability softmax(u_k + v_k theta + x eta_k). A state is a (level, class)
  pair, so a class has several states ("clearly good", "borderline"), and labelers who all look at the level err
  together given the class. Gold alone tells where on the scale a class begins, so rows without gold cannot drag it off.
  With few past rounds b_g is theta_g alone: rounds with free shares of the levels could each have levels of its own,
  and gold of one round would tell nothing of another. With more, b_g has polynomials of all degrees.

Priors: labelers' lines are normal around their group's mean (shrinkage, with variances learned from the labelers), so
that a labeler without history has its group's distribution; rounds' tilts spread by `TILT_SD`, and `PULL` items are
added that have all levels equally often; rounds' class logits spread by `ROUND_SD` around their mean; covariates'
slopes are normal (ridge).

Levels are read in the context of their round (`read_in_context`). What labelers see is the quality of an item plus an
error that they share. A good level in a good round is more often truly good than the same level in a poor round, since
the error averages out over a round: with slope v the class logits are u + v (theta + h m_r), m_r the mean level of
round r. Let quality have variance tau^2 within rounds and the shared error s^2, and let the variance of mean errors
between rounds be to s^2 as `NOISE_RATIO` = f times that of mean qualities is to tau^2. Then h = (1 - f) / (rho + f),
where rho = tau^2 / s^2 is how well levels tell the class: v^2 times the levels' variance over `_PROBIT`^2.
Shapes: P rows, J labelers, L answers, E components, q basis functions, R rounds (the last is current), K classes,
d covariates, p parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from hero_eval.model.em import EMOptions, EMReport, climb, gold_counts
from hero_eval.model.latent import log_shares, share_out
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns, sum_by
from hero_eval.model.pooling import LEAST_SPREAD, Pooling, group_means, labeler_scores, thin_spread
from hero_eval.model.split_half import labels_of, typical_labels

PULL = 1.0
TILT_SD = 1.0
BEND = 0.3  # of the higher degrees: rounds that could bend freely would hide their drift in their levels
PRICE = 2.0  # of a parameter, in log-likelihood: between Akaike's 1 and what a thousand items make of Schwarz's
ROUND_SD = 1.0
CLASS_SD = 10.0  # of a class's intercept around 0
CLASS_SPREAD = 2.0  # of a class's slope around the labelers' mean, in standard deviations of theirs
NOISE_RATIO = 1.0 / 3.0
DENSE_LIMIT = 2_500
LOOSE_SD = 5.0  # of the logits of labelers whom history knows, with one component a class: closer priors bias the rate
_SCALE = 3.0
_PROBIT = 1.7  # logits in a standard deviation
_CONTEXT_ROUNDS = 2
_CONTEXT_LOOPS = 20
_CONTEXT_REST = 1e-8
_NUDGE = 1e-4
_WIDE = 8  # columns of a design whose squares, row by row, would be more than its product with itself
_FULL = 0.05  # share of entries that are not 0, from which on a sparse matrix is multiplied as a full one
_BLOCK = 4_096  # rows of it at a time
_NEAR = 1e-7  # EM's tolerances before Newton's method takes over
_NEAR_STEP = 3e-3
_NEWTON_STEPS = 12
_WARM_STEPS = 25
_PSEUDO_LABELERS = 2.0
_PSEUDO_VARIANCE = 0.5
THIN = 100.0
_POOLED_STEPS = 12


@dataclass(frozen=True, eq=False)
class Rows:
    """Answer patterns of all rounds, each row within one round, current last; covariates (P, d), 0 where unknown.

    `shift` (R,) is added to the levels of each round where they are read as classes.
    """

    patterns: Patterns
    round: Ints
    n_rounds: int
    n_classes: int
    covariates: Floats
    shift: Floats | None = None

    def read_levels(self, shape: Shape) -> Floats:
        """(R, G): the levels of each round as the class regression sees them."""
        shift = np.zeros(self.n_rounds) if self.shift is None else self.shift
        out: Floats = shape.theta + shift[:, None]
        return out

    @property
    def is_current(self) -> Bools:
        out: Bools = self.round == self.n_rounds - 1
        return out

    @cached_property
    def known(self) -> Bools:
        out: Bools = self.patterns.gold >= 0
        return out

    @cached_property
    def _in_round(self) -> Any:
        """(R, P) sparse: which rows are of which round."""
        return _chooser(self.round, np.arange(len(self.round)), (self.n_rounds, len(self.round)))

    @cached_property
    def _of_gold(self) -> Any:
        """(K R, P) sparse: which rows have gold of which class, in which round."""
        at = np.flatnonzero(self.known)
        places = self.patterns.gold[at] * self.n_rounds + self.round[at]
        return _chooser(places, at, (self.n_classes * self.n_rounds, len(self.round)))

    def sums_by_round(self, values: Any) -> Any:
        """(R, n): sums of the values (P, n), dense or sparse, of each round's rows."""
        return self._in_round @ values

    def sums_by_gold(self, values: Floats) -> Floats:
        """(K, R, n): sums of the values (P, n) of the rows with gold of each class, in each round."""
        out: Floats = (self._of_gold @ values).reshape(self.n_classes, self.n_rounds, -1)
        return out

    def blind(self) -> Rows:
        """The same rows with all gold forgotten."""
        return replace(self, patterns=replace(self.patterns, gold=np.full_like(self.patterns.gold, -1)))


def _chooser(places: Ints, rows: Ints, shape: tuple[int, int]) -> Any:
    """A sparse matrix of ones, whose product with values of rows sums them by place."""
    return sparse.csr_array((np.ones(len(rows)), (places, rows)), shape=shape)


def scale(n_levels: int) -> Floats:
    """(G,): the places of the levels."""
    return np.linspace(-_SCALE, _SCALE, n_levels)


@lru_cache(maxsize=64)
def tilt_basis(n_levels: int, n_tilts: int) -> Floats:
    """(G, t): the level, then polynomials of higher degrees, each orthogonal to those before, of size `BEND`."""
    theta = scale(n_levels)
    powers = (theta[:, None] / _SCALE) ** np.arange(n_tilts + 1)
    apart: Floats = np.linalg.qr(powers)[0][:, 1:] * (BEND * np.sqrt(n_levels))
    if n_tilts:
        apart[:, 0] = theta
    apart.flags.writeable = False
    return apart


@dataclass(frozen=True)
class Shape:
    """`n_levels` of the scale, 0 for one component a class; whether rounds may differ in more than a tilt of them."""

    n_levels: int
    n_classes: int
    bends: bool = False

    @property
    def n_tilts(self) -> int:
        """The degrees in which rounds may differ."""
        return (self.n_levels - 1 if self.bends else 1) if self.n_levels else 0

    @property
    def n_components(self) -> int:
        return self.n_levels or self.n_classes

    @cached_property
    def theta(self) -> Floats:
        return scale(self.n_levels) if self.n_levels else np.zeros(1)

    @cached_property
    def basis(self) -> Floats:
        """(E, q): what a labeler's logits are a combination of."""
        if self.n_levels == 0:
            return np.eye(self.n_classes)
        return np.stack([np.ones(self.n_levels), self.theta], axis=1)


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters: answers (J, L-1, q) logits against the first answer; levels (G-1,) logits against the first level and
    tilts (R, t) of the rounds (none without levels); classes (K-1, m) logits against the first class, over
    [rounds or (1, theta), covariates]."""

    answers: Floats
    levels: Floats
    tilts: Floats
    classes: Floats

    @cached_property
    def basis(self) -> Floats:
        """(G, t): what rounds' tilts are made of."""
        return tilt_basis(len(self.levels) + 1, self.tilts.shape[1])

    @cached_property
    def pool(self) -> Floats:
        """(G,): how often each level occurs in a round without tilt."""
        out: Floats = np.exp(log_shares(np.concatenate([[0.0], self.levels]), axis=0))
        return out

    @cached_property
    def weights(self) -> Floats:
        """(R, G): how often each level occurs in each round; one column of ones without levels."""
        logits = np.concatenate([[0.0], self.levels]) + self.tilts @ self.basis.T
        out: Floats = np.exp(log_shares(logits, axis=1))
        return out


@dataclass(frozen=True, eq=False)
class Prior:
    """answers: precisions (J, (L-1)q, (L-1)q) around the means of the labelers' groups (J,), which are as free as the
    labelers themselves; classes: means and precision (m, m); context: how far a round's mean level moves the reading of
    its levels."""

    groups: Ints
    answer_precision: Floats
    class_mean: Floats
    class_precision: Floats
    context: float = 0.0
    held_mean: Floats | None = None

    @cached_property
    def pooling(self) -> Pooling:
        return Pooling(self.groups, self.answer_precision, self.held_mean)


@dataclass(frozen=True, eq=False)
class LevelFit:
    """A fitted model."""

    rows: Rows
    shape: Shape
    point: Point
    prior: Prior
    report: EMReport
    groups: Ints = field(repr=False)

    @property
    def criterion(self) -> float:
        """The log-likelihood less `PRICE` for each parameter: larger is better.

        A labeler counts for as many as its labels, not its prior, decide; it may be next to none.
        """
        at, prior = self.point, self.prior
        cells = self.rows.patterns.to_cells(self.post * self.rows.patterns.counts[:, None])
        hessian = _regression_slopes(cells, self.shape.basis, at.answers)[1] + prior.answer_precision
        held = float(np.trace(np.linalg.solve(hessian, prior.answer_precision), axis1=1, axis2=2).sum())
        height = float(self.rows.patterns.counts @ self._expected[1])
        return height - PRICE * (n_parameters(at) - held)

    @cached_property
    def _expected(self) -> tuple[Floats, Floats]:
        return expect(self.rows, self.shape, self.point)

    @property
    def post(self) -> Floats:
        """(P, E): P(component | answers, gold) of every row."""
        return self._expected[0]

    @cached_property
    def shares(self) -> Floats:
        """(P, K): P(class | answers, gold) of every row."""
        return class_shares(self.rows, self.shape, self.point, self.post)

    def prior_shares(self, as_round: int) -> tuple[Floats, Floats]:
        """P(class | covariates) (P, K) in that round, and the design (P, m) behind it."""
        rows, classes = self.rows, self.point.classes
        design = np.concatenate(
            [np.tile(np.eye(rows.n_rounds)[as_round], (rows.patterns.n_rows, 1)), rows.covariates], axis=1
        )
        logits = np.concatenate([np.zeros((len(design), 1)), design @ classes.T], axis=1)
        return np.exp(log_shares(logits, axis=1)), design

    @cached_property
    def information(self) -> LevelInformation:
        return LevelInformation(self)


# ------------------------------------------------------------------------------------------------ likelihood


def answer_logs(shape: Shape, answers: Floats) -> Floats:
    """(J, L, E): log P(answer | component) of each labeler."""
    lines = answers @ shape.basis.T
    whole = np.concatenate([np.zeros((lines.shape[0], 1, lines.shape[2])), lines], axis=1)
    out: Floats = log_shares(whole, axis=1)
    return out


def class_logs(rows: Rows, shape: Shape, classes: Floats) -> Floats:
    """log P(class | row, component): (P, G, K) with levels, (P, 1, K) without."""
    design = np.concatenate([np.zeros((1, classes.shape[1])), classes])
    if shape.n_levels == 0:
        logits = design[:, rows.round].T + rows.covariates @ design[:, rows.n_rounds :].T
        out: Floats = log_shares(logits, axis=1)[:, None, :]
        return out
    by_level = design[:, 0] + rows.read_levels(shape)[:, :, None] * design[:, 1]
    if rows.covariates.shape[1] == 0:
        same: Floats = log_shares(by_level, axis=2)[rows.round]
        return same
    by_row = rows.covariates @ design[:, 2:].T
    grid: Floats = log_shares(by_level[rows.round] + by_row[:, None, :], axis=2)
    return grid


def component_logs(rows: Rows, shape: Shape, at: Point) -> Floats:
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


def expect(rows: Rows, shape: Shape, at: Point) -> tuple[Floats, Floats]:
    """P(component | answers, gold) (P, E) and each row's log-likelihood (P,)."""
    return share_out(component_logs(rows, shape, at))


def class_shares(rows: Rows, shape: Shape, at: Point, post: Floats) -> Floats:
    """(P, K): P(class | answers, gold), from the components' shares."""
    if shape.n_levels == 0:
        return post
    shares: Floats = np.einsum("pe,pek->pk", post, np.exp(class_logs(rows, shape, at.classes)))
    known = rows.known
    shares[known] = np.eye(shape.n_classes)[rows.patterns.gold[known]]
    return shares


# ------------------------------------------------------------------------------------------------ fitting


def newton_step(counts: Floats, design: Floats, at: Floats, mean: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """One damped Newton step of many multinomial regressions that share a design, and their Hessians.

    counts (J, L, n), design (n, m), at (J, L-1, m), mean (J, (L-1)m), precision (J, (L-1)m, (L-1)m).
    """
    gradient, hessian = _regression_slopes(counts, design, at)
    gradient = gradient - np.einsum("ja,jab->jb", at.reshape(gradient.shape) - mean, precision)
    hessian = hessian + precision
    step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    return at + _damped(step).reshape(at.shape), hessian


def _regression_slopes(counts: Floats, design: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Gradients (J, (L-1)m) and complete informations (J, (L-1)m, (L-1)m) of multinomial regressions."""
    n_fits = len(counts)
    lines = at @ design.T
    whole = np.concatenate([np.zeros((n_fits, 1, lines.shape[2])), lines], axis=1)
    share = np.exp(log_shares(whole, axis=1))[:, 1:]
    total = counts.sum(axis=1)
    gradient = ((counts[:, 1:] - total[:, None] * share) @ design).reshape(n_fits, -1)
    return gradient, _curvature(total, share, design)


def _damped(step: Floats) -> Floats:
    """Steps (J, w), none of them longer than Newton's method can be trusted."""
    out: Floats = step * np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
    return out


def labeler_step(cells: Floats, shape: Shape, answers: Floats, pooling: Pooling) -> tuple[Floats, Floats]:
    """One damped Newton step of all labelers together with the means of their groups, and the labelers' Hessians."""
    gradient, hessian = _regression_slopes(cells, shape.basis, answers)
    hessian = hessian + pooling.precision
    step = pooling.solve(hessian, gradient + pooling.slope(answers.reshape(gradient.shape)))
    return answers + _damped(step).reshape(answers.shape), hessian


def _curvature(total: Floats, share: Floats, design: Floats) -> Floats:
    """(J, (L-1)m, (L-1)m): the complete information of multinomial logits; total (J, n), share (J, L-1, n)."""
    n_fits, width = len(share), share.shape[1] * design.shape[1]
    spread = -share[:, :, None] * share[:, None]
    spread[:, np.arange(share.shape[1]), np.arange(share.shape[1])] += share
    spread *= total[:, None, None]
    by_pair = spread.reshape(-1, len(design))
    if design.shape[1] > _WIDE:
        sums = np.stack([design.T @ (one[:, None] * design) for one in by_pair])
    else:
        sums = by_pair @ (design[:, :, None] * design[:, None]).reshape(len(design), -1)
    blocks = sums.reshape(n_fits, share.shape[1], share.shape[1], *design.shape[1:] * 2)
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 2, 4)).reshape(n_fits, width, width)


def class_cells(rows: Rows, shape: Shape, post: Floats) -> tuple[Floats, Floats]:
    """What the class regression sees: design (n, m) and expected counts of each class (K, n)."""
    counts = rows.patterns.counts
    n_covariates = rows.covariates.shape[1]
    if shape.n_levels == 0:
        expected = post * counts[:, None]
        if n_covariates == 0:
            return np.eye(rows.n_rounds), rows.sums_by_round(expected).T
        return np.concatenate([np.eye(rows.n_rounds)[rows.round], rows.covariates], axis=1), expected.T
    levels = rows.read_levels(shape)
    if n_covariates == 0:
        by_gold = rows.sums_by_gold(post * counts[:, None])
        return _with_ones(levels), by_gold.reshape(shape.n_classes, -1)
    known = rows.known
    gold = np.eye(shape.n_classes)[rows.patterns.gold[known]]
    expected = post[known] * counts[known, None]
    by_class = gold.T[:, :, None] * expected[None]
    design = np.concatenate(
        [_with_ones(levels[rows.round[known]]), np.repeat(rows.covariates[known], shape.n_levels, axis=0)], axis=1
    )
    return design, by_class.reshape(shape.n_classes, -1)


def _with_ones(values: Floats) -> Floats:
    return np.stack([np.ones(values.size), values.ravel()], axis=1)


def level_step(rows: Rows, at: Point, post: Floats) -> tuple[Floats, Floats]:
    """One damped Newton step of the levels' logits and the rounds' tilts."""
    by_round: Floats = rows.sums_by_round(post * rows.patterns.counts[:, None])
    weights = at.weights
    size = by_round.sum(axis=1)
    gap = by_round - size[:, None] * weights
    gradient = np.concatenate([gap.sum(axis=0)[1:], (gap @ at.basis).ravel()]) + _level_prior_slope(at)
    step = np.linalg.solve(level_curvature(at, size) + _level_prior_curvature(at), gradient)
    levels, tilts = step[: len(at.levels)], step[len(at.levels) :].reshape(at.tilts.shape)
    change = np.concatenate([[0.0], levels]) + tilts @ at.basis.T
    change -= change.mean(axis=1, keepdims=True)  # so that no level is the first
    short = min(1.0, 2.0 / max(float(np.abs(change).max()), 1e-300))
    return at.levels + short * levels, at.tilts + short * tilts


def level_curvature(at: Point, size: Floats) -> Floats:
    """The information on levels and tilts of rounds with so many items, if all levels were seen."""
    weights, basis = at.weights, at.basis
    inner = weights[:, 1:]
    off = basis - (weights @ basis)[:, None]  # (R, G, t)
    mixed = np.einsum("r,rg,rgt->grt", size, inner, off[:, 1:]).reshape(inner.shape[1], -1)
    levels = np.diag(size @ inner) - (inner * size[:, None]).T @ inner
    n_rounds, n_tilts = at.tilts.shape
    tilts = np.zeros((n_rounds, n_tilts, n_rounds, n_tilts))
    own = np.arange(n_rounds)  # a round's tilts meet those of no other
    tilts[own, :, own] = np.einsum("r,rg,rgt,rgu->rtu", size, weights, off, off)
    stop = len(levels)
    out = np.empty((stop + at.tilts.size,) * 2)
    out[:stop, :stop], out[stop:, stop:] = levels, tilts.reshape(at.tilts.size, -1)
    out[:stop, stop:], out[stop:, :stop] = mixed, mixed.T
    return out


def _level_prior_slope(at: Point) -> Floats:
    """The derivative of the prior by levels and tilts."""
    on_levels = PULL * (1.0 / len(at.pool) - at.pool[1:])
    return np.concatenate([on_levels, -at.tilts.ravel() / TILT_SD**2])


def _level_prior_curvature(at: Point) -> Floats:
    even = at.pool[1:]
    out = np.diag(np.concatenate([PULL * even, np.full(at.tilts.size, 1.0 / TILT_SD**2)]))
    out[: len(even), : len(even)] -= PULL * np.outer(even, even)
    return out


def fit_levels(
    rows: Rows,
    shape: Shape,
    groups: Ints,
    options: EMOptions,
    ridge: float | None = None,
    warm: LevelFit | None = None,
    progress: Callable[[int, float], None] | None = None,
    *,
    loose: bool = True,
) -> LevelFit:
    """Maximise the penalised likelihood: some EM steps that also learn the priors, then a climb with these held.

    `groups` (J,) number the labelers' groups. `loose`: with one component a class, labelers whom history knows keep
    priors of their own (`LOOSE_SD`); shapes are compared with the learned ones, so that labelers who are alike count
    for as few parameters in every shape. `ridge` is the precision of the (scaled) covariates' slopes, None to
    learn it. A warm fit of the same shape lends its priors and is climbed on from. With context the climb is repeated
    until the rounds' mean levels rest.
    """
    if warm is not None:
        prior, point = warm.prior, warm.point
    else:
        thin = typical_labels(labels_of(rows.patterns)) < THIN
        prior, point = _start(rows, shape, groups, thin)
        for number in range(_WARM_STEPS + (_POOLED_STEPS if thin else 0)):
            point, prior = _warm_step(rows, shape, point, prior, groups, ridge, number if thin else None, loose)
            if progress is not None:
                progress(number + 1, 1.0)
    if prior.context == 0.0:
        return _climb(rows, shape, point, prior, groups, options, progress)
    for _ in range(_CONTEXT_LOOPS):
        rows = replace(rows, shift=prior.context * point.weights @ shape.theta)
        fit = _climb(rows, shape, point, prior, groups, options, progress)
        moved = np.abs((fit.point.weights - point.weights) @ shape.theta).max()
        point = fit.point
        if moved < _CONTEXT_REST:
            break
    return fit


def _climb(
    rows: Rows,
    shape: Shape,
    point: Point,
    prior: Prior,
    groups: Ints,
    options: EMOptions,
    progress: Callable[[int, float], None] | None,
) -> LevelFit:
    """To the maximum, with priors and context held: near it by EM, then by Newton's method, if that can be had."""
    ends = np.cumsum([point.answers.size, point.levels.size, point.tilts.size])

    def of(vector: Floats) -> Point:
        answers, levels, tilts, classes = np.split(vector, ends)
        shapes = point.answers.shape, point.tilts.shape, point.classes.shape
        return Point(answers.reshape(shapes[0]), levels, tilts.reshape(shapes[1]), classes.reshape(shapes[2]))

    def step(vector: Floats) -> tuple[Floats, float]:
        at = of(vector)
        post, by_row = expect(rows, shape, at)
        height = float(rows.patterns.counts @ by_row) + _log_prior(shape, at, prior)
        return _vector(_maximise(rows, shape, at, prior, post)), height

    def within(vector: Floats) -> Floats:
        return vector

    near = options if options.step_tolerance is None else replace(options, tolerance=_NEAR, step_tolerance=_NEAR_STEP)
    found, report = climb(step, within, _vector(point), near, progress)
    fit = LevelFit(rows, shape, of(found), prior, report, groups)
    if options.step_tolerance is None:
        return fit
    size = n_parameters(fit.point)
    polished = _polish(fit, options.step_tolerance) if size <= DENSE_LIMIT and report.converged else None
    if polished is not None:
        return polished
    found, report = climb(step, within, found, options, progress)
    return replace(fit, point=of(found), report=report)


def _polish(fit: LevelFit, enough: float) -> LevelFit | None:
    """Newton's method from a point near the maximum; None where it does not lead uphill or come to rest."""
    rows, shape, counts = fit.rows, fit.shape, fit.rows.patterns.counts

    def height(at: Point) -> float:
        return float(counts @ expect(rows, shape, at)[1]) + _log_prior(shape, at, fit.prior)

    here = height(fit.point)
    for _ in range(_NEWTON_STEPS):
        information = LevelInformation(fit)
        gradient = information.scores.T @ counts + _prior_slope(shape, fit.point, fit.prior)
        step = information.plain_solve(gradient[:, None])[:, 0]
        if information.is_weak or not np.isfinite(step).all():
            return None
        point = moved_point(fit.point, step)
        new = height(point)
        if new < here - 1e-9 * (1.0 + abs(here)):
            return None
        report = replace(fit.report, n_steps=fit.report.n_steps + 1, log_likelihood=new)
        fit, here = replace(fit, point=point, report=report), new
        if np.abs(step).max() < enough:
            return fit
    return None


def n_parameters(at: Point) -> int:
    """How many numbers are free."""
    return at.answers.size + at.levels.size + at.tilts.size + at.classes.size


def moved_point(at: Point, step: Floats) -> Point:
    """The point with all free numbers moved, in the order of `LevelInformation`."""
    answers, levels, tilts, classes = np.split(step, np.cumsum([at.answers.size, at.levels.size, at.tilts.size]))
    return Point(
        at.answers + answers.reshape(at.answers.shape),
        at.levels + levels,
        at.tilts + tilts.reshape(at.tilts.shape),
        at.classes + classes.reshape(at.classes.shape),
    )


def _prior_slope(shape: Shape, at: Point, prior: Prior) -> Floats:
    """(p,): the derivative of `_log_prior`."""
    parts = [prior.pooling.slope(at.answers.reshape(len(at.answers), -1)).ravel()]
    if shape.n_levels:
        parts.append(_level_prior_slope(at))
    parts.append(-((at.classes - prior.class_mean) @ prior.class_precision).ravel())
    return np.concatenate(parts)


def read_in_context(fit: LevelFit, options: EMOptions) -> LevelFit:
    """The same fit with levels read in the context of their round; as it is where past rounds cannot show rounds apart.

    With gold in one past round only, nothing shows that rounds' mean levels differ for quality rather than by error.
    """
    rows, shape, at = fit.rows, fit.shape, fit.point
    rounds = np.unique(rows.round[rows.known & ~rows.is_current])
    if shape.n_levels == 0 or len(rounds) < _CONTEXT_ROUNDS:
        return fit
    means = at.weights @ shape.theta
    within = float(np.mean(at.weights @ shape.theta**2 - means**2))
    ratio = _class_slope(fit) ** 2 * within / _PROBIT**2
    context = (1.0 - NOISE_RATIO) / (ratio + NOISE_RATIO)
    of_gold = sum_by(rows.round[rows.known], rows.patterns.counts[rows.known], rows.n_rounds)
    classes = at.classes.copy()
    classes[:, 0] -= classes[:, 1] * context * float(of_gold @ means / of_gold.sum())
    warm = replace(fit, point=replace(at, classes=classes), prior=replace(fit.prior, context=context))
    return fit_levels(rows, shape, fit.groups, options, warm=warm)


def _class_slope(fit: LevelFit) -> float:
    """How steeply class logits rise with the level: over pairs of classes, by how often gold has the two."""
    rows = fit.rows
    gold = sum_by(rows.patterns.gold[rows.known], rows.patterns.counts[rows.known], rows.n_classes)
    slopes = np.concatenate([[0.0], fit.point.classes[:, 1]])
    pairs = gold[:, None] * gold * (1.0 - np.eye(len(gold)))
    return float(np.sqrt((pairs * (slopes[:, None] - slopes) ** 2).sum() / max(pairs.sum(), 1e-300)))


def _vector(point: Point) -> Floats:
    return np.concatenate([point.answers.ravel(), point.levels, point.tilts.ravel(), point.classes.ravel()])


def _start(rows: Rows, shape: Shape, groups: Ints, thin: bool) -> tuple[Prior, Point]:
    """Answers from the gold rows (one component a class) or from how often each answer is given (levels)."""
    patterns = rows.patterns
    n_labelers, n_answers = patterns.n_labelers, patterns.n_answers
    n_basis = shape.basis.shape[1]
    hits, by_class = gold_counts(patterns, rows.n_classes)
    given = patterns.to_cells(patterns.counts[:, None])[:, :, 0]
    base = np.log((given.sum(axis=0) + 1.0) / (given.sum() + n_answers))
    own = np.log(given + 2.0 * np.exp(base)) - np.log(given.sum(axis=1, keepdims=True) + 2.0)
    answers = np.zeros((n_labelers, n_answers - 1, n_basis))
    shares = (by_class + 0.5) / (by_class + 0.5).sum()
    n_design = (rows.n_rounds if shape.n_levels == 0 else 2) + rows.covariates.shape[1]
    classes = np.zeros((rows.n_classes - 1, n_design))
    if shape.n_levels == 0:
        pooled = hits.sum(axis=0) + np.eye(n_answers, rows.n_classes) + np.exp(base)[:, None]
        pooled = pooled / pooled.sum(axis=0)
        logs = np.log(hits + 4.0 * pooled) - np.log(hits.sum(axis=1, keepdims=True) + 4.0)
        answers[:] = logs[:, 1:] - logs[:, :1]
        classes[:, : rows.n_rounds] = (np.log(shares[1:]) - np.log(shares[0]))[:, None]
        levels = np.zeros(0)
    else:
        answers[:, :, 0] = own[:, 1:] - own[:, :1]
        rank = np.arange(n_answers) - (n_answers - 1) / 2  # the order of the classes is the first guess at the scale
        answers[:, :, 1] = 1.5 * (rank[1:] - rank[0]) / max(n_answers - 1, 1)
        classes[:, 0] = np.log(shares[1:]) - np.log(shares[0])
        classes[:, 1] = 1.5 * np.arange(1, rows.n_classes) / max(rows.n_classes - 1, 1)
        levels = -0.5 * (shape.theta[1:] ** 2 - shape.theta[0] ** 2)
    spread = np.tile([4.0, 1.0] if shape.n_levels else [1.0] * n_basis, n_answers - 1)
    if thin:
        answers[:] = np.average(answers, axis=0, weights=given.sum(axis=1))
        spread = np.full(len(spread), LEAST_SPREAD)
    prior = Prior(
        groups,
        np.tile(np.diag(1.0 / spread), (n_labelers, 1, 1)),
        np.zeros((rows.n_classes - 1, n_design)),
        np.eye(n_design),
    )
    return prior, Point(answers, levels, np.zeros((rows.n_rounds, shape.n_tilts)), classes)


def _maximise(rows: Rows, shape: Shape, at: Point, prior: Prior, post: Floats) -> Point:
    """M-step: Newton steps for labelers and classes, shares for the levels."""
    cells = rows.patterns.to_cells(post * rows.patterns.counts[:, None])
    answers = at.answers
    for _ in range(2):
        answers, _ = labeler_step(cells, shape, answers, prior.pooling)
    levels, tilts = level_step(rows, at, post) if shape.n_levels else (at.levels, at.tilts)
    return Point(answers, levels, tilts, _class_newton(rows, shape, at, prior, post)[0])


def _repeated(block: Floats, times: int) -> Floats:
    """The square block so many times along a diagonal."""
    out = np.zeros((times, len(block), times, len(block)))
    each = np.arange(times)
    out[each, :, each] = block
    return out.reshape(times * len(block), -1)


def _class_newton(rows: Rows, shape: Shape, at: Point, prior: Prior, post: Floats) -> tuple[Floats, Floats]:
    design, expected = class_cells(rows, shape, post)
    classes = at.classes[None]
    precision = _repeated(prior.class_precision, classes.shape[1])[None]
    for _ in range(2):
        classes, hessian = newton_step(expected[None], design, classes, prior.class_mean.reshape(1, -1), precision)
    return classes[0], hessian[0]


def _warm_step(
    rows: Rows, shape: Shape, at: Point, prior: Prior, groups: Ints, ridge: float | None, thin: int | None, loose: bool
) -> tuple[Point, Prior]:
    """An EM step, then the priors again: labelers' spread around the means of their groups, the ridge."""
    post, _ = expect(rows, shape, at)
    cells = rows.patterns.to_cells(post * rows.patterns.counts[:, None])
    answers, hessian = labeler_step(cells, shape, at.answers, prior.pooling)
    flat = answers.reshape(len(answers), -1)
    own = cells.sum(axis=(1, 2)) > 0
    free = thin is not None or shape.n_levels > 0 or not loose
    mean = prior.pooling.means(flat) if free else group_means(flat, groups, own)
    if thin is None:
        covariance = _spread(flat[own] - mean[own], hessian[own])
    elif thin < _POOLED_STEPS:
        covariance = LEAST_SPREAD * np.eye(flat.shape[1])
    else:
        scores = labeler_scores(rows.patterns, post, np.exp(answer_logs(shape, at.answers)), shape.basis)
        covariance = thin_spread(*scores, (flat - mean)[own] if thin > _POOLED_STEPS else None, prior.answer_precision)
    classes, class_hessian = _class_newton(rows, shape, at, prior, post)
    levels, tilts = level_step(rows, at, post) if shape.n_levels else (at.levels, at.tilts)
    class_mean, class_precision = _class_prior(
        rows, shape, mean[own].mean(axis=0), covariance, classes, class_hessian, ridge
    )
    precision, held = np.tile(np.linalg.inv(covariance), (len(flat), 1, 1)), None
    if loose and thin is None and shape.n_levels == 0:
        past = np.where(rows.is_current & (rows.n_rounds > 1), 0.0, rows.patterns.counts)
        met = rows.patterns.to_cells(past[:, None]).sum(axis=(1, 2)) > 0
        precision[met], held = np.eye(flat.shape[1]) / LOOSE_SD**2, mean
    prior = Prior(groups, precision, class_mean, class_precision, held_mean=held)
    return Point(answers, levels, tilts, classes), prior


def _spread(gap: Floats, hessian: Floats) -> Floats:
    """(w, w): labelers' covariance, from how far they are off their means (J, w) and how well that is known."""
    covered = gap.T @ gap + np.linalg.inv(hessian).sum(axis=0)
    covered += _PSEUDO_LABELERS * _PSEUDO_VARIANCE * np.eye(gap.shape[1])
    out: Floats = covered / (len(gap) + _PSEUDO_LABELERS)
    return out


def _class_prior(
    rows: Rows, shape: Shape, labelers: Floats, spread: Floats, classes: Floats, hessian: Floats, ridge: float | None
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
        precision[:rounds, :rounds] = (np.eye(rounds) - 1.0 / rounds) / ROUND_SD**2 + 1e-6 * np.eye(rounds)
    else:
        precision[0, 0] = 1.0 / CLASS_SD**2
        precision[1, 1] = 1.0 / (CLASS_SPREAD**2 * float(np.diag(spread)[1::2].mean()))
        slopes = labelers.reshape(-1, 2)[:, 1]
        mean[:, 1] = slopes if len(slopes) == len(mean) else slopes.mean()
    if n_covariates:
        if ridge is None:
            part = classes[:, -n_covariates:]
            variance = np.diag(np.linalg.inv(hessian)).reshape(classes.shape)[:, -n_covariates:]
            ridge = (part.size + 2.0) / (float((part**2 + variance).sum()) + 2.0)
        precision[-n_covariates:, -n_covariates:] = ridge * np.eye(n_covariates)
    return mean, precision


def _log_prior(shape: Shape, at: Point, prior: Prior) -> float:
    height = prior.pooling.height(at.answers.reshape(len(at.answers), -1))
    if shape.n_levels:
        height += PULL * float(np.log(at.pool).mean())
        height -= 0.5 * float((at.tilts**2).sum()) / TILT_SD**2
    off = at.classes - prior.class_mean
    return height - 0.5 * float(np.einsum("ka,ab,kb->", off, prior.class_precision, off))


# ------------------------------------------------------------------------------------------------ information


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
    if matrix.nnz < _FULL * n_rows * width:
        return matrix.T @ _scaled(matrix, by)
    blocks = (slice(start, start + _BLOCK) for start in range(0, n_rows, _BLOCK))
    return sparse.csr_array(sum(((full := matrix[at].toarray()).T * by[at]) @ full for at in blocks))


class LevelInformation:
    """Scores of all rows and the observed information of a fitted model, priors included.

    Parameter order: answers (J, L-1, q), level logits against the first level (G-1), tilts (R, t), classes (K-1, m).
    """

    def __init__(self, fit: LevelFit) -> None:
        self.fit = fit
        shape, at = fit.shape, fit.point
        self.post = fit.post
        self.n_answers = at.answers.size
        self.n_weights = at.levels.size + at.tilts.size
        self.size = n_parameters(at)
        self.slopes = [self._slopes(e) for e in range(shape.n_components)]
        self.scores = sum(_scaled(slope, self.post[:, e]) for e, slope in enumerate(self.slopes)).tocsr()

    def _slopes(self, component: int) -> Any:
        """(P, p) sparse: the derivative of `component_logs` of one component."""
        rows, shape, at = self.fit.rows, self.fit.shape, self.fit.point
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
        patterns, shape, at = self.fit.rows.patterns, self.fit.shape, self.fit.point
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
        rows, shape = self.fit.rows, self.fit.shape
        if shape.n_levels == 0:
            return np.concatenate([np.eye(rows.n_rounds)[rows.round], rows.covariates], axis=1)
        level = rows.read_levels(shape)[rows.round, component]
        return np.concatenate([_with_ones(level), rows.covariates], axis=1)

    def class_slopes(self, component: int) -> Floats:
        """(P, (K-1)m): of the gold's class given the level, or of the component as a class."""
        rows, shape = self.fit.rows, self.fit.shape
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
        return np.exp(class_logs(self.fit.rows, self.fit.shape, self.fit.point.classes))

    def class_share(self, component: int) -> Floats:
        """(P, K): P(class | row, component); without levels P(class | row)."""
        return self._class_shares[:, component if self.fit.shape.n_levels else 0]

    def complete(self, only: Bools | None = None) -> Any:
        """(p, p) sparse information if all components were seen; of all rows with the priors, or of some rows only."""
        rows, shape, at, prior = self.fit.rows, self.fit.shape, self.fit.point, self.fit.prior
        counts = rows.patterns.counts if only is None else np.where(only, rows.patterns.counts, 0.0)
        expected = self.post * counts[:, None]
        share = np.exp(answer_logs(shape, at.answers))[:, 1:]
        total = rows.patterns.to_cells(expected).sum(axis=1)
        parts = [_curvature(total, share, shape.basis) + (prior.answer_precision if only is None else 0.0)]
        if shape.n_levels:
            curvature = level_curvature(at, sum_by(rows.round, counts, rows.n_rounds))
            parts.append((curvature + _level_prior_curvature(at) if only is None else curvature)[None])
        parts.append(self._class_complete(expected, only)[None])
        return sparse.block_diag([block for part in parts for block in part], format="csr")

    def _class_complete(self, expected: Floats, only: Bools | None) -> Floats:
        rows, shape = self.fit.rows, self.fit.shape
        n_classes = shape.n_classes
        size = self.fit.point.classes.size
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
            out += _repeated(self.fit.prior.class_precision, n_classes - 1)
        return out

    def of_rows(self, only: Bools) -> Any:
        """(p, p) sparse: the observed information of some rows, priors left out."""
        counts = np.where(only, self.fit.rows.patterns.counts, 0.0)
        return self.complete(only) - self._lost(counts)

    def _lost(self, counts: Floats) -> Any:
        lost = sum(_squares(slope, counts * self.post[:, e]) for e, slope in enumerate(self.slopes))
        return lost - _squares(self.scores, counts)

    @cached_property
    def _factor(self) -> tuple[Any, bool]:
        """Cholesky factor of the dense information, and whether it had to be propped up."""
        matrix = (self.complete() - self._lost(self.fit.rows.patterns.counts)).toarray()
        matrix[: self.n_answers, : self.n_answers] -= self.fit.prior.pooling.dense()
        matrix = 0.5 * (matrix + matrix.T)
        try:
            return linalg.cho_factor(matrix, lower=True), False
        except linalg.LinAlgError:
            values, vectors = np.linalg.eigh(matrix)
            propped = (vectors * np.maximum(values, max(values.max(), 1.0) * 1e-10)) @ vectors.T
            return linalg.cho_factor(0.5 * (propped + propped.T), lower=True), True

    @property
    def is_weak(self) -> bool:
        return self.size <= DENSE_LIMIT and self._factor[1]

    @cached_property
    def _context(self) -> tuple[Floats, Floats]:
        """(p, R) each: derivatives of all rows' scores by the rounds' shifts, and of the shifts by the parameters."""
        fit = self.fit
        counts = fit.rows.patterns.counts
        up, down = (LevelInformation(self._nudged(step)).scores for step in (_NUDGE, -_NUDGE))
        by_shift = fit.rows.sums_by_round(_scaled(up - down, counts / (2 * _NUDGE))).toarray().T
        by_point = np.zeros_like(by_shift)
        weights, theta = fit.point.weights, fit.shape.theta
        mean = weights @ theta
        start, stop = self.n_answers, self.n_answers + len(fit.point.levels)
        by_point[start:stop] = (weights * (theta - mean[:, None])).T[1:]
        along = (weights * (theta - mean[:, None])) @ fit.point.basis  # (R, t)
        by_point[stop : stop + along.size] = linalg.block_diag(*along[:, :, None])
        by_point *= fit.prior.context
        return by_shift, by_point

    def _nudged(self, step: float) -> LevelFit:
        """The same parameters with all shifts moved."""
        rows = self.fit.rows
        assert rows.shift is not None
        return replace(self.fit, rows=replace(rows, shift=rows.shift + step))

    def solve(self, right: Floats) -> Floats:
        """H^-1 @ right, (p, m); with context (H - B A')^-1 @ right, for shifts that move with the parameters."""
        plain = self.plain_solve(right)
        if self.fit.prior.context == 0.0:
            return plain
        by_shift, by_point = self._context
        spread = self.plain_solve(by_point)
        inner = np.eye(by_shift.shape[1]) - by_shift.T @ spread
        out: Floats = plain + spread @ np.linalg.solve(inner, by_shift.T @ plain)
        return out

    def plain_solve(self, right: Floats) -> Floats:
        """H^-1 @ right with the rounds' shifts held."""
        if self.size <= DENSE_LIMIT:
            solved: Floats = linalg.cho_solve(self._factor[0], right)
            return solved
        complete, counts = self.complete(), self.fit.rows.patterns.counts
        diagonal = complete.diagonal()
        pooling = self.fit.prior.pooling

        def product(vector: Floats) -> Floats:
            out = complete @ vector + self.scores.T @ (counts * (self.scores @ vector))
            out[: self.n_answers] -= pooling.shared(vector[: self.n_answers])
            for e, slope in enumerate(self.slopes):
                out -= slope.T @ (counts * self.post[:, e] * (slope @ vector))
            return np.asarray(out, dtype=float)

        operator = LinearOperator((self.size, self.size), matvec=product, dtype=np.float64)
        nearby = LinearOperator((self.size, self.size), matvec=lambda v: v / diagonal, dtype=np.float64)
        columns = []
        for column in right.T:
            found, status = cg(operator, column, rtol=1e-8, maxiter=2_000, M=nearby)
            if status != 0:
                raise FloatingPointError("the information of the levels could not be inverted")
            columns.append(found)
        return np.stack(columns, axis=1)

    def gradient(self, weights: Floats) -> Floats:
        """d/d(parameters) of sum_ik weights[i, k, c] * P(class k | row i's answers and gold), (p, m) for m columns."""
        rows, shape = self.fit.rows, self.fit.shape
        shares = self.fit.shares
        out = np.zeros((self.size, weights.shape[2]))
        start = self.n_answers + self.n_weights
        centre = np.einsum("pk,pkc->pc", shares, weights)
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
            pull = self.post[:, e, None] * np.where(free[:, None], here - centre, 0.0)
            out += slope.T @ pull
        if self.fit.prior.context > 0.0:
            up, down = (self._nudged(step).shares for step in (_NUDGE, -_NUDGE))
            by_row = np.einsum("pk,pkc->pc", (up - down) / (2 * _NUDGE), weights)
            by_round = rows.sums_by_round(by_row)
            out += self._context[1] @ by_round
        return out

    def prior_gradient(self, weights: Floats, as_round: int) -> Floats:
        """The same of P(class k | covariates) as if every row were of round `as_round`; without levels only."""
        share, design = self.fit.prior_shares(as_round)
        centre = np.einsum("pk,pkc->pc", share, weights)
        moved = share[:, 1:, None] * (weights[:, 1:] - centre[:, None])
        out = np.zeros((self.size, weights.shape[2]))
        out[self.n_answers + self.n_weights :] = np.einsum("pkc,pm->kmc", moved, design).reshape(-1, weights.shape[2])
        return out
