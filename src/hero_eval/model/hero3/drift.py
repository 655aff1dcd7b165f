"""How far rounds drift, all labelers together: learned from the gold of past rounds.

In round r the class logits of every item, given its labels, are off by b_r. Past rounds with gold show it; its standard
deviation sigma has a half-normal prior and a posterior on a grid (Laplace's approximation for each sigma), so that a
few rounds give a cautious answer. Gold in the current round shows its own drift (`gold_shift`), and leaves less of it
open. What each labeler moves by itself is in `labeler_drift`; what one past round leaves open in `drift_split`; classes
that no gold shows in `unseen_classes`.

The K-1 logits of a drift are against the first class, and spread so that no class is unlike the others (`even_logits`).

Shapes: P rows, R rounds (the last is current), K classes, M grid points, n rows with gold, m columns of a design.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, special
from scipy.special import logsumexp

from hero_eval.model.even_logits import even_precision
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Bools, Floats, Ints, sum_by

SIZES: Floats = np.array([0.05, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9, 1.25, 1.75, 2.5])
"""The grid of sigma, on the class-logit scale, from drifts that cannot be seen to those that take a rate anywhere. With
all sizes doubled the smallest drifts could not be told, and intervals of rounds without drift would be longer
(reasoned)."""
SIZE_SCALE = 0.8
"""Of sigma's half-normal prior: the lowest interval score on real rounds among scales that cover 92% in every setting
with three or more past rounds (`benchmarks/drift_prior.py --draws 5`, with the rates' moves: .8 covers .924, .65 covers
.905 at a score lower by .022). Doubled (measured): rates stay, intervals are 2 to 15% longer, and half as long again
where few past rounds have gold."""
DRIFT_DF = 5.0
"""Degrees of freedom of a drift of given size: rounds now and then drift farther than a normal distribution would have
it (`benchmarks/drift_prior.py` compares 3, 5 and 10). Doubled (measured): rates stay, intervals are 1 to 3% shorter,
and 18% where few past rounds have gold."""
FLAT_PRECISION = 1e-4
"""Of a mean that nothing holds: a standard deviation of 100 logits. Doubled (measured): nothing changes."""
_LEAST_SHARE = 1e-12
"""Of a class, so that its logarithm is a number: 28 logits from even. Doubled, nothing changes (reasoned)."""
_NEWTON_STEPS = 50
"""Of the search for the mode. The log-density is concave, and the real rounds take at most five. Doubled, nothing
changes (reasoned)."""
_REST = 1e-9
"""The relative gain of log-density below which the search ends. Doubled, posteriors change in their ninth digit
(reasoned)."""

_BLOCK_ROWS = 512
"""Rows that are moved by all shifts at a time, in the processor's second cache. It bounds time and memory only; last
digits differ (reasoned)."""


@dataclass(frozen=True, eq=False)
class DriftPosterior:
    """Of the common part: grid of standard deviations on the class-logit scale, their weights, rounds with gold, and
    the degrees of freedom of a drift of given size.

    spread: how far the current round may lie from the past ones taken together, as a multiple of how far one round
    drifts. The past ones drifted, too: with one of them it is the root of 2, with many it comes to 1.
    """

    sizes: Floats
    weights: Floats
    n_rounds: int
    df: float = DRIFT_DF
    spread: float = 1.0

    @property
    def known(self) -> bool:
        """One round cannot show how rounds differ."""
        return self.n_rounds >= 2

    @property
    def from_past(self) -> DriftPosterior:
        """Of the distance between the current round and the past ones, by which it is read."""
        return replace(self, sizes=self.sizes * self.spread)

    @property
    def of_one_round(self) -> DriftPosterior:
        """Of one round's own drift, from that of its distance."""
        return replace(self, sizes=self.sizes / self.spread)

    def given_gold(self, information: float) -> DriftPosterior:
        """What is left of it once gold of that information has shown the round's own."""
        return replace(self, sizes=sd_given_gold(self.sizes, information))

    @property
    def is_present(self) -> bool:
        """Whether intervals allow for it."""
        return bool(self.sizes.max() > 0.0)

    @property
    def size(self) -> float:
        """The root mean square."""
        return float(np.sqrt(self.weights @ self.sizes**2))


def sd_given_gold(sizes: Floats, information: float) -> Floats:
    """Standard deviations of drifts after gold of that information has shown them."""
    out: Floats = sizes / np.sqrt(1.0 + sizes**2 * information)
    return out


def no_drift(n_rounds: int) -> DriftPosterior:
    """Rounds that are read as those before."""
    return DriftPosterior(np.zeros(1), np.ones(1), n_rounds)


def drift_posterior(
    log_likelihoods: Floats, n_rounds: int, scale: float = SIZE_SCALE, df: float = DRIFT_DF
) -> DriftPosterior:
    """The posterior of the sizes, from the log-likelihood of each and the half-normal prior."""
    joint = log_likelihoods + size_log_prior(scale)
    return DriftPosterior(SIZES, np.exp(joint - logsumexp(joint)), n_rounds, df)


def size_log_prior(scale: float = SIZE_SCALE, sizes: Floats = SIZES) -> Floats:
    """Of the sizes on their grid: half-normal."""
    out: Floats = np.log(np.gradient(sizes)) - 0.5 * (sizes / scale) ** 2
    return out


def learn_drift(fit: LevelModel, direction: Floats | None = None, moved: Floats | None = None) -> DriftPosterior:
    """The posterior of the drift's size, from the gold of past rounds, and of the current one if it has any.

    `direction` (K-1,): that of drifts which go this way alone, as multiples of it; None: any. `moved` (P, K-1): by how
    much rows' class logits by labels are known to be off.
    One past round leaves it at its prior where labelers err together. Where each errs by itself, nothing speaks for a
    drift that they share, and there is none. A round that has only its own gold is read by that, and has drifted from
    nothing.
    """
    rows = fit.rows
    n_past = len(np.unique(rows.round[rows.known & ~rows.is_current]))
    if n_past == 0 or (n_past < 2 and not fit.shape.err_together):
        return no_drift(n_past)
    names, number = np.unique(rows.round[rows.known], return_inverse=True)
    if len(names) == 1:
        return replace(drift_posterior(np.zeros(len(SIZES)), 1), spread=float(np.sqrt(2.0)))
    offset, gold, counts = gold_rows(fit, rows.known)
    if moved is not None:
        offset = np.log(_not_nil(shift_logits(np.exp(offset), moved[rows.known])))
    if direction is None or len(direction) == 1:
        log_likelihoods, _ = size_marginals(offset, gold, number, counts)
    else:
        log_likelihoods = line_marginals(offset, gold, number, counts, direction)
    told = sum_by(number, counts * (1.0 - (np.exp(offset) ** 2).sum(axis=1)), len(names))
    return replace(drift_posterior(log_likelihoods, len(names)), spread=distance(told, names == rows.n_rounds - 1))


def distance(told: Floats, current: Bools) -> float:
    """How far the current round lies from where the fit reads it, as a multiple of a round's drift.

    The fit is off by the mean of its rounds' drifts, which count by what their gold tells (R,). If the current round
    is one of them, it is off by less.
    """
    weight = told / max(float(told.sum()), 1e-300)
    own = float(weight[current].sum())
    return float(np.sqrt((1.0 - own) ** 2 + (weight[~current] ** 2).sum()))


def label_shares(fit: LevelModel) -> Floats:
    """(P, K): P(class | labels alone) of every row."""
    return _not_nil(replace(fit, rows=fit.rows.blind()).shares)


def _not_nil(shares: Floats) -> Floats:
    """The same shares, none of which is 0."""
    least: Floats = np.maximum(shares, _LEAST_SHARE)
    out: Floats = least / least.sum(axis=1, keepdims=True)
    return out


def gold_rows(fit: LevelModel, use: Bools) -> tuple[Floats, Ints, Floats]:
    """Of rows with gold: their class logits by labels alone, their gold, and as how many items they count."""
    patterns = fit.rows.patterns
    return np.log(_not_nil(fit.gold_by_labels[use[fit.rows.known]])), patterns.gold[use], patterns.counts[use]


def gold_contradiction(fit: LevelModel, moved: Floats | None = None) -> float:
    """How far the gold of some class is from what its items' labels alone make of it, in standard errors.

    Half an item is allowed for, so that a class of which next to none is expected is not refuted by one. `moved`
    (P, K-1) is what rows' class logits by labels are off by.
    """
    if not fit.rows.known.any():
        return 0.0
    offset, gold, counts = gold_rows(fit, fit.rows.known)
    share = np.exp(offset) if moved is None else shift_logits(np.exp(offset), moved[fit.rows.known])
    gap = np.abs(counts @ (np.eye(share.shape[1])[gold] - share))
    return float((np.maximum(gap - 0.5, 0.0) / np.sqrt(counts @ (share * (1.0 - share)) + 0.25)).max())


def gold_shift(
    fit: LevelModel, size: float, known: Floats | float = 0.0, routing: Floats | None = None
) -> tuple[Floats, float]:
    """What gold in the current round says of its drift, of standard deviation `size`: its mean (K-1,) beyond what the
    fit makes of that gold and the shift (K-1,) that is `known`, and the gold's information on the class of which it
    tells least. `routing` (N,) is the part of the items' weights that undoes unequal probabilities of having gold."""
    rows = fit.rows
    use = rows.known & rows.is_current
    if size == 0.0 or not use.any():
        return np.zeros(rows.n_classes - 1), 0.0
    offset, gold, counts = gold_rows(fit, use)
    offset[:, 1:] += known
    if routing is not None:
        counts = counts * _worth(fit, use, offset, routing)
    at, _, hessian = posterior_mode(offset, gold, counts, np.ones((len(gold), 1)), np.array([size**-2.0]))
    even = even_precision(len(hessian))
    told = linalg.eigh(hessian - size**-2.0 * even, even, eigvals_only=True)
    return at[:, 0], max(float(told[0]), 0.0)


def _worth(fit: LevelModel, use: Bools, offset: Floats, routing: Floats) -> float:
    """As how much of its weight gold counts where items had gold with different probabilities.

    An item stands for c items by itself and for r by its probability. With  w = c r  the score of a shift varies by
    B = sum c r^2 v,  v the variance of an item's class, and falls by  A = sum w v,  so that gold is worth A^2 / B: more
    than A where it went to items of large v, which have small r.
    """
    patterns = fit.rows.patterns
    weight = patterns.item_weight * routing
    squares = sum_by(
        patterns.row_of_item, weight if patterns.times is None else weight * patterns.times, patterns.n_rows
    )[use]
    spread = 1.0 - (np.exp(log_softmax(offset, axis=1)) ** 2).sum(axis=1)
    slope, noise = float(patterns.counts[use] @ spread), float(squares @ spread)
    return slope / noise if noise > 0.0 else 1.0


def mean_shifted(shares: Floats, counts: Floats, shifts: Floats) -> Floats:
    """(S, K): the mean of class shares (P, K), each row as often as it counts (P,), after each shift (S, K-1)."""
    least = np.maximum(shares, _LEAST_SHARE)
    logs = np.concatenate([np.zeros((len(shifts), 1)), shifts], axis=1)
    factors = np.exp(logs - logs.max(axis=1, keepdims=True))
    sums = np.zeros_like(factors)
    for start in range(0, len(least), _BLOCK_ROWS):
        some = least[start : start + _BLOCK_ROWS]
        whole = factors @ some.T
        np.reciprocal(whole, out=whole)
        sums += whole @ (counts[start : start + _BLOCK_ROWS, None] * some)
    out: Floats = factors * sums / counts.sum()
    return out


def shift_logits(shares: Floats, shift: Floats) -> Floats:
    """(P, K): class shares with their log-ratios moved by `shift`, (K-1,) or (P, K-1)."""
    whole = np.concatenate([np.zeros((*shift.shape[:-1], 1)), shift], axis=-1)
    factors = np.exp(whole - whole.max(axis=-1, keepdims=True))
    moved = np.maximum(shares, _LEAST_SHARE)
    moved *= factors
    moved /= moved @ np.ones((factors.shape[-1], 1))
    return moved


def mean_slopes(shares: Floats, counts: Floats) -> Floats:
    """(K-1, K-1): the derivative of the mean of class shares (P, K) by a shift of all their logits."""
    inner = shares[:, 1:]
    share = counts / counts.sum()
    out: Floats = np.diag(share @ inner) - (inner * share[:, None]).T @ inner
    return out


def drift_steps(n_steps: int, df: float = DRIFT_DF) -> Floats:
    """(n_steps,): a drift of size 1, in steps of equal probability."""
    steps: Floats = special.stdtrit(df, (np.arange(n_steps) + 0.5) / n_steps)
    return steps


def size_marginals(
    offset: Floats,
    gold: Ints,
    number: Ints,
    counts: Floats,
    on_mean: float = FLAT_PRECISION,
    values: Floats | None = None,
) -> tuple[Floats, Floats]:
    """For drifts of each size (M,) log of the gold's likelihood with every round's shift integrated out, and the
    shifts' mean (M, F).

    A row has the class logits `offset` (n, K) and is of the round that `number` (n,) says. `on_mean` is the precision
    of the mean around 0: next to none, unless said otherwise. `values` (K, F) as in `laplace_marginal`. Each search
    begins where the last one ended.
    """
    n_rounds = int(number.max()) + 1
    design = np.zeros((len(gold), n_rounds + 1))
    design[:, 0] = 1.0
    design[np.arange(len(gold)), number + 1] = 1.0
    n_free = offset.shape[1] - 1 if values is None else values.shape[1]
    logs, means, at = np.empty(len(SIZES)), np.empty((len(SIZES), n_free)), None
    for place, size in enumerate(SIZES):
        precision = np.full(n_rounds + 1, size**-2.0)
        precision[0] = on_mean
        logs[place], at = laplace_marginal(offset, gold, counts, design, precision, at, values)
        means[place] = at[:, 0]
    return logs, means


def line_marginals(offset: Floats, gold: Ints, number: Ints, counts: Floats, direction: Floats) -> Floats:
    """(M,): the same likelihoods for shifts that are multiples of `direction` (K-1,) alone.

    Labelers who grow strict move all grades the same way. Shifts in any direction would have the size of this one
    averaged with all those in which rounds do not differ.
    """
    return size_marginals(offset, gold, number, counts, values=np.append(0.0, direction)[:, None])[0]


def laplace_marginal(
    offset: Floats,
    gold: Ints,
    counts: Floats,
    design: Floats,
    precision: Floats,
    start: Floats | None = None,
    values: Floats | None = None,
) -> tuple[float, Floats]:
    """log of the gold's likelihood with the shifts (F, m) integrated out by Laplace's approximation, and their mode.

    A row's logits (n, K) are its offset and, times `values` (K, F), its design (n, m) times the shifts, which are
    normal around 0. Without values each log-ratio has a shift of its own, F = K-1.
    """
    at, density, hessian = posterior_mode(offset, gold, counts, design, precision, start, values)
    _, log_determinant = np.linalg.slogdet(hessian)
    n_free = len(at)
    _, of_prior = np.linalg.slogdet(_metric(n_free, values))
    prior = n_free * np.log(precision).sum() + len(precision) * of_prior
    return float(density - 0.5 * log_determinant + 0.5 * prior), at


def _metric(n_free: int, values: Floats | None) -> Floats:
    """(F, F): the precision of shifts of size 1: alike for all classes, or of their directions each by itself."""
    return even_precision(n_free) if values is None else np.eye(n_free)


def posterior_mode(
    offset: Floats,
    gold: Ints,
    counts: Floats,
    design: Floats,
    precision: Floats,
    start: Floats | None = None,
    values: Floats | None = None,
) -> tuple[Floats, float, Floats]:
    """The most probable shifts (F, m) of the class logits, how probable, and the information there.

    A row's logits are as in `laplace_marginal`; each column of its design has shifts of its `precision` (m,). The
    search begins at `start`, if there is one nearby.
    """
    moves = np.eye(offset.shape[1])[:, 1:] if values is None else values
    offset = np.asfortranarray(offset)  # a class's logits side by side: sums along a few classes are slow otherwise
    at = np.zeros((moves.shape[1], design.shape[1])) if start is None else start
    rows, metric = np.arange(len(gold)), _metric(moves.shape[1], values)

    def look(point: Floats) -> tuple[Floats, float]:
        shift = design @ point.T
        logits = offset.copy(order="F")
        if values is None:
            logits[:, 1:] += shift
        else:
            logits += shift @ values.T
        logs = log_softmax(logits, axis=1)
        return logs, float(counts @ logs[rows, gold] - 0.5 * (precision * point * (metric @ point)).sum())

    logs, here = look(at)
    for _ in range(_NEWTON_STEPS):
        gradient, hessian = _derivatives(logs, gold, counts, design, at, precision, moves, metric)
        step = np.linalg.solve(hessian, gradient).reshape(at.shape)
        length = 1.0
        there, new = look(at + step)
        while new < here and length > 1e-6:
            length *= 0.5
            there, new = look(at + length * step)
        at, logs, before, here = at + length * step, there, here, new
        if abs(here - before) < _REST * (1 + abs(before)):
            break
    return at, here, _derivatives(logs, gold, counts, design, at, precision, moves, metric)[1]


def _derivatives(
    logs: Floats,
    gold: Ints,
    counts: Floats,
    design: Floats,
    at: Floats,
    precision: Floats,
    moves: Floats,
    metric: Floats,
) -> tuple[Floats, Floats]:
    """Gradient (q,) and information (q, q), q = Fm, of the log-density that `posterior_mode` maximizes, at which
    the classes have the logarithms (n, K); `moves` (K, F) says how a shift moves their logits."""
    share = np.exp(logs)
    mean = share @ moves
    n_free, n_columns = moves.shape[1], design.shape[1]
    gap = moves[gold] - mean
    gradient = ((counts[:, None] * gap).T @ design - precision * (metric @ at)).ravel()
    hessian, each = np.empty((n_free, n_columns, n_free, n_columns)), np.arange(n_columns)
    for k in range(n_free):
        for m in range(k + 1):
            spread = counts * (share @ (moves[:, k] * moves[:, m]) - mean[:, k] * mean[:, m])
            hessian[k, :, m] = (design * spread[:, None]).T @ design
            hessian[m, :, k] = hessian[k, :, m].T
    hessian[:, each, :, each] += precision[:, None, None] * metric
    return gradient, hessian.reshape(n_free * n_columns, -1)
