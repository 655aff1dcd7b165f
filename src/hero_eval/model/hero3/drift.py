"""What changes from round to round: how far labelers, and the reading of their labels, drift.

Drift has a *common* part: in round r the class logits of every item, given its labels, are off by b_r. Past rounds with
gold show it; its standard deviation sigma has a half-normal prior and a posterior on a grid (Laplace's approximation
for each sigma), so that a few rounds give a cautious answer. And a part of each labeler's *own*: labelers move against
each other, which labels show without any gold. Where the current round's labelers moved more than those of past rounds
did, the excess is added, carried to the rate by its derivative in each labeler's answers.

Where no gold shows a class, gold tells only from where on it would have been seen (`unseen_classes`).

With one past round nothing tells how far rounds drift. Labelers who err together are then taken to drift together, by
the prior of sigma; and of a shift between the two rounds that their labels show, a part is taken for drift
(`split_shift`). Gold in the current round shows its own drift (`gold_shift`), and leaves less of it open.

Shapes: P rows, R rounds (the last is current), K classes, J labelers, M grid points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, special
from scipy.special import logsumexp

from hero_eval.model.hero3.levels import LevelFit, answer_logs
from hero_eval.model.latent import log_shares
from hero_eval.model.patterns import Bools, Floats, Ints

SIZES: Floats = np.array([0.05, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9, 1.25, 1.75, 2.5])
SIZE_SCALE = 0.8  # of the half-normal prior: chosen on real rounds, a set left out at a time (docs/real-rounds.md)
TYPICAL = 0.5  # of drifts, and of moves of the rates, where one past round shows neither
DRIFT_FREEDOM = 5.0  # rounds now and then drift farther than a normal distribution would have it
_NUDGE = 1e-4
_EVEN: Floats = np.linspace(-5.0, 5.0, 401)
_PLACES: Floats = np.sinh(_EVEN)  # of drifts of size 1: close to each other in the middle, and far out
_MASSES: Floats = (1.0 + _PLACES**2 / DRIFT_FREEDOM) ** (-(DRIFT_FREEDOM + 1.0) / 2.0) * np.cosh(_EVEN)
_LEAST_SHARE = 1e-12
_FREE = 1e-4  # the precision of a mean that nothing holds
_NEWTON_STEPS = 50
_FARTHEST = 20.0  # logits beyond which a class is all or nothing
_UNSEEN_PLACES = 4_001
_UNSEEN_STEPS = 200
_SEEN_BY_HALF = float(1.0 - np.exp(-special.gammaincinv(0.5, 0.5)))  # the rate of none in n: Gamma(1/2) / n


@dataclass(frozen=True, eq=False)
class Drift:
    """Of the common part: grid of standard deviations on the class-logit scale, their weights, rounds with gold, and
    the degrees of freedom of a drift of given size."""

    sizes: Floats
    weights: Floats
    n_rounds: int
    freedom: float = DRIFT_FREEDOM

    @property
    def known(self) -> bool:
        """One round cannot show how rounds differ."""
        return self.n_rounds >= 2

    def after(self, information: float) -> Drift:
        """What is left of it once gold of that information has shown the round's own."""
        return replace(self, sizes=left_of(self.sizes, information))

    @property
    def counts(self) -> bool:
        """Whether intervals allow for it."""
        return bool(self.sizes.max() > 0.0)

    @property
    def size(self) -> float:
        """The root mean square."""
        return float(np.sqrt(self.weights @ self.sizes**2))


def left_of(sizes: Floats, information: float) -> Floats:
    """Standard deviations of drifts after gold of that information has shown them."""
    out: Floats = sizes / np.sqrt(1.0 + sizes**2 * information)
    return out


def label_shares(fit: LevelFit) -> Floats:
    """(P, K): P(class | labels alone) of every row."""
    shares: Floats = np.maximum(replace(fit, rows=fit.rows.blind()).shares, _LEAST_SHARE)
    out: Floats = shares / shares.sum(axis=1, keepdims=True)
    return out


def learn_drift(fit: LevelFit) -> Drift:
    """The posterior of the drift's size, from the gold of past rounds, and of the current one if it has any.

    One past round leaves it at its prior where labelers err together. Where each errs by itself, nothing speaks for a
    drift that they share, and there is none. A round that has only its own gold is read by that, and has drifted from
    nothing.
    """
    rows = fit.rows
    n_past = len(np.unique(rows.round[rows.known & ~rows.is_current]))
    if n_past == 0 or (n_past < 2 and fit.shape.n_levels == 0):
        return no_drift(n_past)
    names, number = np.unique(rows.round[rows.known], return_inverse=True)
    heights = np.zeros(len(SIZES))
    if len(names) >= 2:
        offset, gold, counts = gold_rows(fit, rows.known)
        heights = np.array([marginal(offset, gold, number, counts, size)[0] for size in SIZES])
    return drift_of(heights, len(names))


def gold_rows(fit: LevelFit, use: Bools) -> tuple[Floats, Ints, Floats]:
    """Of rows with gold: their class logits by labels alone, their gold, and as how many items they count."""
    patterns = fit.rows.patterns
    return np.log(label_shares(fit)[use]), patterns.gold[use], patterns.counts[use]


def gold_contradiction(fit: LevelFit) -> float:
    """How far the gold of some class is from what its items' labels alone make of it, in standard errors.

    Half an item is allowed for, so that a class of which next to none is expected is not refuted by one.
    """
    if not fit.rows.known.any():
        return 0.0
    offset, gold, counts = gold_rows(fit, fit.rows.known)
    share = np.exp(offset)
    gap = np.abs(counts @ (np.eye(share.shape[1])[gold] - share))
    return float((np.maximum(gap - 0.5, 0.0) / np.sqrt(counts @ (share * (1.0 - share)) + 0.25)).max())


def no_drift(n_rounds: int) -> Drift:
    return Drift(np.zeros(1), np.ones(1), n_rounds)


def drift_of(heights: Floats, n_rounds: int, scale: float = SIZE_SCALE, freedom: float = DRIFT_FREEDOM) -> Drift:
    """The posterior of the sizes, from the log-likelihood of each and the half-normal prior."""
    joint = heights + size_log_prior(scale)
    return Drift(SIZES, np.exp(joint - logsumexp(joint)), n_rounds, freedom)


def size_log_prior(scale: float = SIZE_SCALE) -> Floats:
    """Of the sizes on their grid: half-normal."""
    out: Floats = np.log(np.gradient(SIZES)) - 0.5 * (SIZES / scale) ** 2
    return out


def gold_shift(fit: LevelFit, size: float, known: Floats | float = 0.0) -> tuple[Floats, float]:
    """What gold in the current round says of its drift, of standard deviation `size`: its mean (K-1,) beyond what the
    fit makes of that gold and the shift (K-1,) that is `known`, and the gold's information on the class of which it
    tells least."""
    rows = fit.rows
    use = rows.known & rows.is_current
    if size == 0.0 or not use.any():
        return np.zeros(rows.n_classes - 1), 0.0
    offset, gold, counts = gold_rows(fit, use)
    offset[:, 1:] += known
    at, _, hessian = peak(offset, gold, counts, np.ones((len(gold), 1)), np.array([size**-2.0]))
    return at[:, 0], max(float(np.linalg.eigvalsh(hessian)[0]) - size**-2.0, 0.0)


def shifted(shares: Floats, shift: Floats) -> Floats:
    """(P, K): class shares with their log-ratios moved by `shift` (K-1,)."""
    logits = np.log(np.maximum(shares, _LEAST_SHARE))
    logits[:, 1:] += shift
    return np.exp(log_shares(logits, axis=1))


def drift_steps(n_steps: int, freedom: float = DRIFT_FREEDOM) -> Floats:
    """(n_steps,): a drift of size 1, in steps of equal probability."""
    steps: Floats = special.stdtrit(freedom, (np.arange(n_steps) + 0.5) / n_steps)
    return steps


def split_shift(seen: Floats, reach: Floats, size: float = TYPICAL) -> Floats:
    """(K-1,): how much of a shift between two rounds' class logits is one of their rates.

    `seen` (K-1,) is the shift that labels show, `reach` (K-1, K-1) its derivative by drift, which is of that `size`.
    Rates move by about `TYPICAL`, but now and then much farther (a Cauchy distribution). The mean of what they moved is
    returned: where labels tell the classes well, drift reaches the rate little, and the shift is believed; where they
    do not, a small one is mostly taken for drift, and a large one is still believed.
    """
    length = float(np.linalg.norm(seen))
    if length == 0.0:
        return seen
    steps = _PLACES * (size * float(np.linalg.norm(reach.T @ seen)) / length)
    weights = _MASSES / (1.0 + ((length - steps) / TYPICAL) ** 2)
    drift = float(steps @ weights / weights.sum())
    return seen * ((length - drift) / length)


def split_slopes(seen: Floats, reach: Floats, size: float = TYPICAL) -> Floats:
    """(K-1, K-1): the derivative of `split_shift` by the shift that labels show."""
    columns = [
        split_shift(seen + e, reach, size) - split_shift(seen - e, reach, size) for e in _NUDGE * np.eye(len(seen))
    ]
    out: Floats = np.stack(columns, axis=1) / (2.0 * _NUDGE)
    return out


def marginal(
    offset: Floats, gold: Ints, number: Ints, counts: Floats, size: float, on_mean: float = _FREE
) -> tuple[float, Floats]:
    """log of the gold's likelihood with every round's shift integrated out, and the shifts' mean (K-1,).

    A row has the class logits `offset` (n, K) and is of the round that `number` (n,) says. `on_mean` is the precision
    of the mean around 0: next to none, unless said otherwise.
    """
    n_free, n_rounds = offset.shape[1] - 1, int(number.max()) + 1
    design = np.zeros((len(gold), n_rounds + 1))
    design[:, 0] = 1.0
    design[np.arange(len(gold)), number + 1] = 1.0
    precision = np.full(n_rounds + 1, size**-2.0)
    precision[0] = on_mean
    at, height, hessian = peak(offset, gold, counts, design, precision)
    _, log_determinant = np.linalg.slogdet(hessian)
    return float(height - 0.5 * log_determinant + 0.5 * n_free * np.log(precision).sum()), at[:, 0]


def peak(offset: Floats, gold: Ints, counts: Floats, design: Floats, precision: Floats) -> tuple[Floats, float, Floats]:
    """The most probable shifts (K-1, m) of the class logits, how probable, and the information there.

    A row's logits (n, K) are its offset and its design (n, m) times the shifts, which are normal around 0.
    """
    at = np.zeros((offset.shape[1] - 1, design.shape[1]))

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
    return at, here, _slopes(offset, gold, counts, design, at, precision)[1]


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
    if fit.rows.n_rounds == 1:
        return 0.0, 0.0
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


def mean_slopes(shares: Floats, counts: Floats) -> Floats:
    """(K-1, K-1): the derivative of the mean of class shares (P, K) by a shift of all their logits."""
    inner = shares[:, 1:]
    share = counts / counts.sum()
    out: Floats = np.diag(share @ inner) - (inner * share[:, None]).T @ inner
    return out


@dataclass(frozen=True, eq=False)
class Unseen:
    """Where classes may begin of which no gold was seen: a shift of their logits, along `direction` (K-1,).

    `middle` is where the class is taken to begin; `steps` (n,) are shifts beyond it, of equal confidence.
    """

    direction: Floats
    middle: float
    steps: Floats


def unseen_classes(fit: LevelFit) -> Unseen | None:
    """What gold that never shows a class still allows; None where it shows all that labels name, or there is none.

    The confidence that the shift is below b is the probability of seeing the class at least once, were the shift b:
    the exact bound for "none among n", with every gold item counted by how probable its labels make the class. Half of
    that confidence would be a cautious guess at the shift itself: most classes that none of n golds shows are rarer.
    Jeffreys' prior puts its median where the class would have been seen with probability `_SEEN_BY_HALF`.
    """
    rows = fit.rows
    seen = np.bincount(rows.patterns.gold[rows.known], minlength=rows.n_classes) > 0
    named = rows.patterns.to_cells(rows.patterns.counts[:, None]).sum(axis=(0, 2)) > 0
    if fit.shape.n_levels == 0 or not seen.any():
        return None
    if len(named) == len(seen):
        seen |= ~named  # a class that neither gold nor any label has is only a word
    if seen.all():
        return None
    offset, _, counts = gold_rows(fit, rows.known)
    odds = special.logsumexp(offset[:, ~seen], axis=1) - special.logsumexp(offset[:, seen], axis=1)
    shifts = np.linspace(-_FARTHEST - odds.max(), _FARTHEST - odds.min(), _UNSEEN_PLACES)
    none_seen = -counts @ np.logaddexp(0.0, odds[:, None] + shifts)  # falls with the shift
    wanted = np.log1p(-np.append((np.arange(_UNSEEN_STEPS) + 0.5) / _UNSEEN_STEPS, _SEEN_BY_HALF))
    found = np.interp(-wanted, -none_seen, shifts)
    direction = (~seen).astype(float)[1:] - float(~seen[0])
    return Unseen(direction, float(found[-1]), found[:-1] - found[-1])


@dataclass(frozen=True, eq=False)
class Between:
    """What an estimate must allow for beyond the noise of its items.

    shares (P, K) and counts (P,) of the current rows, given their labels; own (K-1, K-1) the covariance that labelers'
    own moves give rates[1:]; unseen: of classes that no gold shows.
    """

    drift: Drift
    shares: Floats
    counts: Floats
    own: Floats
    unseen: Unseen | None = None

    def moved(self, shift: Floats) -> Floats:
        """(K,) the rates if every item's log-ratios were off by `shift` (K-1,)."""
        rates: Floats = self.counts @ shifted(self.shares, shift) / self.counts.sum()
        return rates

    def slopes(self) -> Floats:
        """(K-1, K-1): d rates[1:] / d shift."""
        return mean_slopes(self.shares, self.counts)

    def covariance(self) -> Floats:
        """(K-1, K-1) of rates[1:], from drift, from labelers' own moves and from classes that no gold shows."""
        slopes = self.slopes()
        out: Floats = self.apart() + self.drift.size**2 * slopes @ slopes.T
        return out

    def apart(self) -> Floats:
        """The same without drift."""
        if self.unseen is None:
            return self.own
        off = np.array([self.moved(step * self.unseen.direction) for step in self.unseen.steps])
        off = (off - self.moved(np.zeros(off.shape[1] - 1)))[:, 1:]
        out: Floats = self.own + off.T @ off / len(off)
        return out
