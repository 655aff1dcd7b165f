"""How much of the drift between rounds is shared by rounds that were labeled together, and how much is each one's own.

In round r of batch g (rounds of the same prompts and labelers) the class logits of every item, given its labels, are
off by c_g + e_r. A difference of two rounds of one batch is touched by their own parts e, and by the common part c only
as far as a shift moves the two rates by different amounts. The standard deviations of both parts have half-normal
priors and a posterior on a grid, as in `between`: gold of past rounds shows them, the mean of all shifts left free.

Own drift shows where some batch has two rounds with gold; a second batch tells the common part from it. Where each past
round is a batch of its own nothing tells the parts apart, and all drift is taken for own: differences are then as
unsure as if nothing were shared.

Shapes: n gold rows, R rounds, G batches, M sizes, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from hero_eval.model.between import SIZES, Drift, gold_rows, left_of, mean_slopes, no_drift, peak
from hero_eval.model.levels import LevelFit
from hero_eval.model.patterns import Floats, Ints

OWN_SCALE, COMMON_SCALE = 1.0, 0.5
"""Of the half-normal priors, on the class-logit scale. With the first intervals of real pairs of models cover; the
second is smaller, so that what pairs leave open counts as own, and an interval is rather too long."""
_COARSE: Floats = SIZES[::2]  # of two parts at once: the square of as many sizes would take long
_FREE = 1e-4  # the precision of the shifts' mean


@dataclass(frozen=True, eq=False)
class GoldShares:
    """Past items with gold as one method reads them: log-shares (n, K) of the classes given the labels alone, the gold
    (n,), as how many items each counts (n,), and its round (n,)."""

    logs: Floats
    gold: Ints
    counts: Floats
    round: Ints


@dataclass(frozen=True, eq=False)
class SharedDrift:
    """The posteriors of both parts' sizes. `known` tells that past rounds showed what two rounds of a batch share;
    `n_pairs` how many pairs of past rounds with gold there were to show it."""

    own: Drift
    common: Drift
    known: bool
    n_pairs: int

    @property
    def counts(self) -> bool:
        """Whether intervals allow for it."""
        return self.own.counts or self.common.counts


def join_shares(parts: Sequence[GoldShares]) -> GoldShares:
    """Those of several rounds as one."""
    names = ("logs", "gold", "counts", "round")
    return GoldShares(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))


def prior_drift() -> Drift:
    """What is known of drift before any round has shown it."""
    return _posterior(np.zeros(len(SIZES)), 0)


def past_shares(fit: LevelFit) -> GoldShares:
    """Of the past rounds' gold, by a fitted HERO-3."""
    use = fit.rows.known & ~fit.rows.is_current
    logs, gold, counts = gold_rows(fit, use)
    return GoldShares(logs, gold, counts, fit.rows.round[use])


def learn_shared_drift(seen: GoldShares, batch: Ints, alone: Drift) -> SharedDrift:
    """batch (R,) numbers each past round's batch; `alone` is the drift of single rounds, for where pairs show none."""
    names, number = np.unique(seen.round, return_inverse=True)
    _, of_round = np.unique(batch[names], return_inverse=True)
    sizes = np.bincount(of_round) if len(of_round) else np.zeros(0, dtype=np.int64)
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    if n_pairs == 0:
        return SharedDrift(alone, no_drift(len(names)), False, 0)
    if len(sizes) == 1:
        heights = np.array([_height(seen, [number], [size]) for size in SIZES])
        common = _posterior(0.0 * heights, 1, scale=COMMON_SCALE)
        return SharedDrift(_posterior(heights, len(names)), common, True, n_pairs)
    own_prior, common_prior = (
        np.log(_posterior(np.zeros(len(_COARSE)), 0, _COARSE, scale).weights) for scale in (OWN_SCALE, COMMON_SCALE)
    )
    grouped = of_round[number]
    joint = np.array([[_height(seen, [number, grouped], [own, common]) for common in _COARSE] for own in _COARSE])
    by_own, by_common = logsumexp(joint + common_prior, axis=1), logsumexp(joint + own_prior[:, None], axis=0)
    return SharedDrift(
        _posterior(by_own, len(names), _COARSE),
        _posterior(by_common, len(sizes), _COARSE, COMMON_SCALE),
        True,
        n_pairs,
    )


def _posterior(heights: Floats, n_rounds: int, sizes: Floats = SIZES, scale: float = OWN_SCALE) -> Drift:
    joint = heights - 0.5 * (sizes / scale) ** 2 + np.log(np.gradient(sizes))
    return Drift(sizes, np.exp(joint - logsumexp(joint)), n_rounds)


def _height(seen: GoldShares, numbers: Sequence[Ints], sizes: Sequence[float]) -> float:
    """log of the gold's likelihood with the shifts of all groupings integrated out (Laplace), their mean free."""
    blocks = [np.ones((len(seen.gold), 1)), *(np.eye(int(one.max()) + 1)[one] for one in numbers)]
    design = np.concatenate(blocks, axis=1)
    each = [block.shape[1] for block in blocks]
    precision = np.repeat([_FREE, *(size**-2.0 for size in sizes)], each)
    _, height, hessian = peak(seen.logs, seen.gold, seen.counts, design, precision)
    n_free = seen.logs.shape[1] - 1
    return float(height - 0.5 * np.linalg.slogdet(hessian)[1] + 0.5 * n_free * np.log(precision).sum())


@dataclass(frozen=True, eq=False)
class Side:
    """One of two rounds as one method reads it: the derivative (K-1, K-1) of rates[1:] by a shift of all class logits,
    how far it may drift, and the information of its own gold on that."""

    slopes: Floats
    drift: SharedDrift
    information: float = 0.0

    @classmethod
    def of_shares(cls, shares: Floats, counts: Floats, drift: SharedDrift) -> Side:
        """From class shares (P, K) of rows that count as so many items (P,)."""
        return cls(mean_slopes(shares, counts), drift)

    def pull(self, along: Floats, part: Drift) -> Floats:
        """(K-1,): how far a drift of one standard deviation moves  along . rates[1:], in each direction."""
        sizes = left_of(part.sizes, self.information)
        out: Floats = self.slopes.T @ along * float(np.sqrt(part.weights @ sizes**2))
        return out


def pair_variance(a: Sequence[Side], b: Sequence[Side], weights: Sequence[float], along: Floats, common: bool) -> float:
    """Of  along . (rates_a - rates_b)[1:], from drift, where the rates are weighted means over readings of both rounds.

    Drift is in the labels, so that it moves all readings of a round together. `common` tells whether the common part
    counts: it does not where past rounds of the same batch showed it.
    """
    own = 0.0
    apart = np.zeros(len(along))
    for sign, sides in ((1.0, a), (-1.0, b)):
        pulls = [weight * side.pull(along, side.drift.own) for weight, side in zip(weights, sides, strict=True)]
        own += float(np.sum(np.sum(pulls, axis=0) ** 2))
        if common:
            moved = [weight * side.pull(along, side.drift.common) for weight, side in zip(weights, sides, strict=True)]
            apart += sign * np.sum(moved, axis=0)
    return own + float(apart @ apart)
