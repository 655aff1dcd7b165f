"""What changes from round to round: how far labelers, and the reading of their labels, drift.

Drift has a *common* part: in round r the class logits of every item, given its labels, are off by b_r. Past rounds with
gold show it; its standard deviation sigma has a half-normal prior and a posterior on a grid (Laplace's approximation
for each sigma), so that a few rounds give a cautious answer. And a part of each labeler's *own*: labelers move against
each other, which labels show without any gold. Where the current round's labelers moved more than those of past rounds
did, the excess is added, carried to the rate by its derivative in each labeler's answers.

Shapes: P rows, R rounds (the last is current), K classes, J labelers, M grid points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from hero_eval.model.latent import log_shares
from hero_eval.model.levels import LevelFit, answer_logs
from hero_eval.model.patterns import Floats, Ints

SIZES: Floats = np.array([0.05, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9, 1.25, 1.75, 2.5])
SIZE_SCALE = 1.0  # of the half-normal prior
_NEWTON_STEPS = 50


@dataclass(frozen=True, eq=False)
class Drift:
    """Of the common part: grid of standard deviations on the class-logit scale, their weights, rounds with gold."""

    sizes: Floats
    weights: Floats
    n_rounds: int

    @property
    def known(self) -> bool:
        """One round cannot show how rounds differ."""
        return self.n_rounds >= 2

    @property
    def size(self) -> float:
        """The root mean square."""
        return float(np.sqrt(self.weights @ self.sizes**2))


def label_shares(fit: LevelFit) -> Floats:
    """(P, K): P(class | labels alone) of every row."""
    shares: Floats = np.maximum(replace(fit, rows=fit.rows.blind()).shares, 1e-12)
    out: Floats = shares / shares.sum(axis=1, keepdims=True)
    return out


def learn_drift(fit: LevelFit) -> Drift:
    """The posterior of the drift's size, from the past rounds' gold."""
    rows = fit.rows
    use = rows.known & ~rows.is_current
    names, number = np.unique(rows.round[use], return_inverse=True)
    if len(names) < 2:
        return Drift(np.zeros(1), np.ones(1), len(names))
    offset = np.log(label_shares(fit)[use])
    counts, gold = rows.patterns.counts[use], rows.patterns.gold[use]
    heights = np.array([_marginal(offset, gold, number, counts, size) for size in SIZES])
    heights += -0.5 * (SIZES / SIZE_SCALE) ** 2 + np.log(np.gradient(SIZES))
    return Drift(SIZES, np.exp(heights - logsumexp(heights)), len(names))


def _marginal(offset: Floats, gold: Ints, number: Ints, counts: Floats, size: float) -> float:
    """log of the gold's likelihood with every round's shift integrated out, the shifts' mean free."""
    n_classes, n_rounds = offset.shape[1], int(number.max()) + 1
    n_free = n_classes - 1
    design = np.zeros((len(gold), n_rounds + 1))
    design[:, 0] = 1.0
    design[np.arange(len(gold)), number + 1] = 1.0
    precision = np.full(n_rounds + 1, size**-2.0)
    precision[0] = 1e-4
    at = np.zeros((n_free, n_rounds + 1))

    def height(point: Floats) -> float:
        logits = offset.copy()
        logits[:, 1:] += design @ point.T
        fitted = log_shares(logits, axis=1)[np.arange(len(gold)), gold]
        return float(counts @ fitted - 0.5 * (precision * point**2).sum())

    here = height(at)
    for _ in range(_NEWTON_STEPS):
        gradient, hessian = _slopes(offset, gold, counts, design, at, precision)
        step = linalg.solve(hessian, gradient, assume_a="pos").reshape(at.shape)
        length = 1.0
        while height(at + length * step) < here and length > 1e-6:
            length *= 0.5
        at = at + length * step
        new = height(at)
        if abs(new - here) < 1e-9 * (1 + abs(here)):
            here = new
            break
        here = new
    _, hessian = _slopes(offset, gold, counts, design, at, precision)
    _, log_determinant = np.linalg.slogdet(hessian)
    return float(here - 0.5 * log_determinant + 0.5 * n_free * np.log(precision).sum())


def _slopes(
    offset: Floats, gold: Ints, counts: Floats, design: Floats, at: Floats, precision: Floats
) -> tuple[Floats, Floats]:
    logits = offset.copy()
    logits[:, 1:] += design @ at.T
    share = np.exp(log_shares(logits, axis=1))[:, 1:]
    n_free = share.shape[1]
    gap = (np.arange(1, n_free + 1) == gold[:, None]) - share
    gradient = ((counts[:, None] * gap).T @ design - precision * at).ravel()
    spread = counts[:, None, None] * (share[:, :, None] * np.eye(n_free) - share[:, :, None] * share[:, None])
    hessian = np.einsum("nkl,na,nb->kalb", spread, design, design, optimize=True)
    size = n_free * design.shape[1]
    return gradient, hessian.reshape(size, size) + np.diag(np.tile(precision, n_free))


def own_moves(fit: LevelFit) -> tuple[Floats, Floats]:
    """(R, J, L-1): how far each labeler's logits are off in each round, by one Newton step, and that step's variance.

    The variance is infinite where a labeler gave no label in the round.
    """
    rows, shape = fit.rows, fit.shape
    share = np.exp(answer_logs(shape, fit.point.answers))[:, 1:]
    moves, variances = [], []
    for number in range(rows.n_rounds):
        here = np.where(rows.round == number, rows.patterns.counts, 0.0)
        cells = rows.patterns.to_cells(fit.post * here[:, None])
        total = cells.sum(axis=1, keepdims=True)
        information = (total * share * (1 - share)).sum(axis=2)
        gap = (cells[:, 1:] - total * share).sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            moves.append(np.where(information > 0, gap / information, 0.0))
            variances.append(np.where(information > 0, 1.0 / information, np.inf))
    return np.stack(moves), np.stack(variances)


def own_excess(fit: LevelFit) -> tuple[float, float]:
    """By how much the variance of the current labelers' own moves exceeds that of past rounds, and the latter."""
    moves, variances = own_moves(fit)
    if fit.rows.n_rounds == 2:
        apart = _own_variance(moves[1] - moves[0], variances[1] + variances[0])
        return apart, 0.0
    past = [_own_variance(moves[r], variances[r]) for r in range(fit.rows.n_rounds - 1)]
    seen_before = np.isfinite(variances[:-1]).any(axis=0)
    now = _own_variance(moves[-1], np.where(seen_before, variances[-1], np.inf))
    usual = float(np.mean(past))
    return max(0.0, now - usual), usual


def _own_variance(moves: Floats, variances: Floats) -> float:
    """Variance of the moves beyond their noise, the better-known ones counted more; 0 with fewer than two labelers."""
    use = variances < 1.0
    if use.sum() < 2:
        return 0.0
    return max(0.0, float(np.average(moves[use] ** 2 - variances[use], weights=1.0 / (variances[use] + 0.1))))


@dataclass(frozen=True, eq=False)
class Between:
    """What an estimate must allow for beyond the noise of its items.

    shares (P, K) and counts (P,) of the current rows, given their labels; own (K-1, K-1) the covariance that labelers'
    own moves give rates[1:].
    """

    drift: Drift
    shares: Floats
    counts: Floats
    own: Floats

    def moved(self, shift: Floats) -> Floats:
        """(K,) the rates if every item's log-ratios were off by `shift` (K-1,)."""
        logits = np.log(self.shares)
        logits[:, 1:] += shift
        rates: Floats = self.counts @ np.exp(log_shares(logits, axis=1)) / self.counts.sum()
        return rates

    def slopes(self) -> Floats:
        """(K-1, K-1): d rates[1:] / d shift."""
        inner = self.shares[:, 1:]
        share = self.counts / self.counts.sum()
        out: Floats = np.diag(share @ inner) - (inner * share[:, None]).T @ inner
        return out

    def covariance(self) -> Floats:
        """(K-1, K-1) of rates[1:], from drift where past rounds show it, and from labelers' own moves."""
        slopes = self.slopes()
        out: Floats = self.own + self.drift.size**2 * slopes @ slopes.T
        return out
