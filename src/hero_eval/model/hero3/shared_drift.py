"""How much of the drift between rounds is shared by rounds that were labeled together, and how much is each one's own.

In round r of batch g (rounds of the same prompts and labelers) the class logits of every item, given its labels, are
off by c_g + e_r. A difference of two rounds of one batch is touched by their own parts e, and by the common part c only
as far as a shift moves the two rates by different amounts. The standard deviations of both parts have half-normal
priors and a posterior on a grid, as in `drift`: gold of past rounds shows them, the mean of all shifts left free.

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

from hero_eval.model.even_logits import even_covariance
from hero_eval.model.hero3.drift import (
    FLAT_PRECISION,
    SIZES,
    DriftPosterior,
    drift_posterior,
    gold_rows,
    laplace_marginal,
    no_drift,
    sd_given_gold,
)
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.patterns import Floats, Ints

COMMON_SCALE = 0.5
"""Of the half-normal prior of the common part, on the class-logit scale. The own part has the prior of single rounds'
drift (`drift.SIZE_SCALE`). This one is smaller, so that what pairs leave open counts as own, and an interval is rather
too long (`benchmarks/real_differences.py`). Doubled (measured on a difference of tqa v2): nothing changes, as the
common part counts only where no past rounds of the same batch showed it; there intervals would be longer (reasoned)."""


@dataclass(frozen=True, eq=False)
class GoldShares:
    """Past items with gold as a method reads them: log-shares (n, K) of the classes given the labels alone, the gold
    (n,), as how many items each counts (n,), and its round (n,)."""

    logs: Floats
    gold: Ints
    counts: Floats
    round: Ints


@dataclass(frozen=True, eq=False)
class SharedDrift:
    """The posteriors of both parts' sizes. `known` tells that past rounds showed what two rounds of a batch share;
    `n_pairs` how many pairs of past rounds with gold there were to show it."""

    own: DriftPosterior
    common: DriftPosterior
    known: bool
    n_pairs: int


def past_shares(fit: LevelModel) -> GoldShares:
    """Of the past rounds' gold, by a fitted HERO-3."""
    use = fit.rows.known & ~fit.rows.is_current
    logs, gold, counts = gold_rows(fit, use)
    return GoldShares(logs, gold, counts, fit.rows.round[use])


def learn_shared_drift(seen: GoldShares, batch: Ints, alone: DriftPosterior) -> SharedDrift:
    """batch (R,) numbers each past round's batch; `alone` is the drift of single rounds, for where pairs show none."""
    names, number = np.unique(seen.round, return_inverse=True)
    _, of_round = np.unique(batch[names], return_inverse=True)
    sizes = np.bincount(of_round) if len(of_round) else np.zeros(0, dtype=np.int64)
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    if n_pairs == 0:
        return SharedDrift(alone, no_drift(len(names)), False, 0)
    blank = np.zeros(len(SIZES))
    if len(sizes) == 1:
        log_likelihoods = np.array([_log_marginal(seen, [number], [size]) for size in SIZES])
        return SharedDrift(
            drift_posterior(log_likelihoods, len(names)), drift_posterior(blank, 1, COMMON_SCALE), True, n_pairs
        )
    grouped = of_round[number]
    joint = np.array([[_log_marginal(seen, [number, grouped], [own, common]) for common in SIZES] for own in SIZES])
    priors = drift_posterior(blank, 0), drift_posterior(blank, 0, COMMON_SCALE)
    own, common = (np.log(prior.weights) for prior in priors)
    by_own, by_common = logsumexp(joint + common, axis=1), logsumexp(joint + own[:, None], axis=0)
    return SharedDrift(
        drift_posterior(by_own, len(names)), drift_posterior(by_common, len(sizes), COMMON_SCALE), True, n_pairs
    )


def _log_marginal(seen: GoldShares, numbers: Sequence[Ints], sizes: Sequence[float]) -> float:
    """log of the gold's likelihood with the shifts of all groupings integrated out (Laplace), their mean free."""
    blocks = [np.ones((len(seen.gold), 1)), *(np.eye(int(one.max()) + 1)[one] for one in numbers)]
    design = np.concatenate(blocks, axis=1)
    each = [block.shape[1] for block in blocks]
    precision = np.repeat([FLAT_PRECISION, *(size**-2.0 for size in sizes)], each)
    return laplace_marginal(seen.logs, seen.gold, seen.counts, design, precision)[0]


@dataclass(frozen=True, eq=False)
class Side:
    """One of two rounds: the derivative (K-1, K-1) of rates[1:] by a shift of all class logits, how far it may drift,
    and the information of its own gold on that."""

    slopes: Floats
    drift: SharedDrift
    information: float = 0.0

    def pull(self, along: Floats, part: DriftPosterior) -> Floats:
        """(K-1,): how far a drift of one standard deviation moves  along . rates[1:], by each of its logits."""
        sizes = sd_given_gold(part.sizes, self.information)
        tails = 1.0 / (1.0 - 2.0 / part.df)  # the variance of a drift of size 1: it has the tails of Student's t
        deviation = float(np.sqrt(tails * (part.weights @ sizes**2)))
        out: Floats = self.slopes.T @ along * deviation
        return out


def pair_variance(a: Side, b: Side, along: Floats, common: bool) -> float:
    """Of  along . (rates_a - rates_b)[1:], from drift.

    `common` tells whether the common part counts: it does not where past rounds of the same batch showed it.
    """
    even = even_covariance(len(along))
    pulls = [side.pull(along, side.drift.own) for side in (a, b)]
    own = sum(float(one @ even @ one) for one in pulls)
    if not common:
        return own
    apart = a.pull(along, a.drift.common) - b.pull(along, b.drift.common)
    return own + float(apart @ even @ apart)
