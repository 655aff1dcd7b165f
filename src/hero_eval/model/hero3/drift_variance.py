"""What drift, labelers' own moves and classes that no gold shows add to the variance of the rates.

Shapes: P current rows, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.model.even_logits import even_covariance
from hero_eval.model.hero3.drift import DriftPosterior, mean_shifted, mean_slopes
from hero_eval.model.hero3.unseen_classes import UnseenClasses
from hero_eval.model.patterns import Floats

RATE_MOVES = 3.0
"""How far rates lie from those of past rounds, on the logit scale: the scale of a Cauchy distribution, so that none is
ruled out. With drifts of unknown size, ends of intervals at which a rate would be very unlike all before it are less
probable. Chosen with the prior of drift (`benchmarks/drift_prior.py`). Doubled, intervals of rounds whose drift is
unknown are up to a tenth longer (reasoned from 4: 2 to 4%)."""

MOST_STEPS = 4
"""Between the ends of a scale of grades, those of five. On finer scales neighbors look alike, and the same change of
labelers takes an item over more of them (reasoned)."""


@dataclass(frozen=True, eq=False)
class DriftVariance:
    """What an estimate must allow for beyond the noise of its items.

    shares (P, K) and counts (P,) of the current rows, given their labels; own (K-1, K-1) the covariance that labelers'
    own moves give rates[1:]; unseen: of classes that no gold shows. past (K,): the rates of past rounds, where the
    current ones are to be held against them, within about `moves`. is_split: a part of the shift from the past round
    is taken for drift in the estimate. toward: the drift's size in one direction (K-1,), where there are several, and
    reach how many steps of that size lie between the ends of what is asked for.
    """

    drift: DriftPosterior
    shares: Floats
    counts: Floats
    own: Floats
    unseen: UnseenClasses | None = None
    past: Floats | None = None
    is_split: bool = False
    moves: float = RATE_MOVES
    toward: Callable[[Floats], DriftPosterior] | None = None
    reach: float = 1.0

    def along(self, along: Floats) -> DriftVariance:
        """The same with the drift's size in the direction in which it moves  along . rates[1:]  most.

        Grades mostly drift as one, up or down: their mean then drifts farther than the size in all directions says. A
        labeler who grows strict takes an item from each grade to the next as from yes to no, so that a drift of that
        size moves the log-ratio of the first and the last of G grades by G - 1 times as much as that of two classes.
        """
        if self.toward is None or len(along) == 1 or not self.drift.is_present:
            return self
        n_steps = len(np.unique(np.append(0.0, along))) - 1
        far = replace(self, reach=float(min(n_steps, MOST_STEPS)), toward=None)
        return replace(far, drift=self.toward(far.steepest(along)[0]))

    def density(self, apart: Floats) -> Floats:
        """How probable rates are that lie so far from those of past rounds, on the logit scale; 1 for no distance."""
        out: Floats = 1.0 / (1.0 + (apart / self.moves) ** 2)
        return out

    def moved(self, shift: Floats) -> Floats:
        """(K,) the rates if every item's log-ratios were off by `shift` (K-1,)."""
        out: Floats = self.moved_by(shift[None])[0]
        return out

    def moved_by(self, shifts: Floats) -> Floats:
        """(S, K) the same for each of several shifts (S, K-1)."""
        return mean_shifted(self.shares, self.counts, shifts)

    def slopes(self) -> Floats:
        """(K-1, K-1): d rates[1:] / d shift."""
        return mean_slopes(self.shares, self.counts)

    def steepest(self, along: Floats) -> tuple[Floats, float]:
        """(K-1,): the likeliest shift of size 1 that moves  along . rates[1:],  and how much it does at first."""
        slope = self.slopes() @ along
        shift = even_covariance(len(slope)) @ slope
        moved = float(np.sqrt(slope @ shift))
        return self.reach * shift / max(moved, 1e-300), self.reach * moved

    def covariance(self) -> Floats:
        """(K-1, K-1) of rates[1:], from drift, from labelers' own moves and from classes that no gold shows."""
        slopes = self.slopes()
        by_drift = slopes @ even_covariance(len(slopes)) @ slopes.T
        out: Floats = self.covariance_without_drift() + (self.drift.size * self.reach) ** 2 * by_drift
        return out

    def covariance_without_drift(self) -> Floats:
        """The same without drift."""
        if self.unseen is None:
            return self.own
        off = self.moved_by(self.unseen.steps[:, None] * self.unseen.direction)
        off = (off - self.moved(np.zeros(off.shape[1] - 1)))[:, 1:]
        out: Floats = self.own + off.T @ off / len(off)
        return out
