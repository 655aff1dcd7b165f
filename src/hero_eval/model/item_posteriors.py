"""What labels and gold say of single items: the probability of each class, worked out when somebody asks.

Two things make an item's probabilities differ from the class shares of its labels in a fit. How far the round has
drifted, and what reliabilities are, is known only so well: the shares are averaged over what is left open of both, as
far as these move the whole round (`RoundDoubt`), so that no item is surer than the round's rate allows. And a method's
rates may differ from the mean of its items, because drift is seen in the whole round alone or gold corrects the mean:
the class logits of items without gold are moved, all by the same, until their mean is the rate.
Shapes: P rows, n items, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from hero_eval.model.even_logits import even_covariance
from hero_eval.model.hero3.class_split import shift_to
from hero_eval.model.hero3.drift import drift_steps, shift_logits
from hero_eval.model.hero3.drift_variance import DriftVariance
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns

_REST = 1e-9
"""A gap between mean and rate that is a rounding error. Doubled, nothing changes (reasoned)."""
_OPEN_SHARE = 1e-4
"""The least rate of a class among items without gold: a correction may ask for less than none of it. Doubled, the
logits of such items move by .7 less (reasoned)."""
_DRAWS = 200
"""Shifts of the round over which shares are averaged, spread evenly over their distribution. Doubled, probabilities
change by a thousandth or two (reasoned)."""
_MOST_SD = 3.0
"""Logits: what reliabilities leave open beyond that says no more than that nothing is known. Doubled, items of such
rounds lie nearer to even (reasoned)."""


@dataclass(frozen=True, eq=False)
class RoundDoubt:
    """What is not known of a round as a whole: drift and classes that no gold shows, and the covariance (K-1, K-1) of
    rates[1:] by its items."""

    between: DriftVariance
    by_items: Floats

    def shifts(self) -> Floats:
        """(S, K-1): shifts of all class logits that are equally probable."""
        between, n_logits = self.between, len(self.by_items)
        rng = np.random.default_rng(0)  # it only decides which even steps meet
        at = (np.arange(_DRAWS) + 0.5) / _DRAWS
        place = np.minimum(np.searchsorted(np.cumsum(between.drift.weights), at), len(between.drift.sizes) - 1)
        size = between.drift.sizes[rng.permutation(place)]
        steps = drift_steps(_DRAWS, between.drift.df)
        own = np.stack([size * rng.permutation(steps) for _ in range(n_logits)], axis=1)
        out: Floats = own @ np.linalg.cholesky(even_covariance(n_logits)).T
        normal = np.stack([rng.permutation(special.ndtri(at)) for _ in range(n_logits)], axis=1)
        out += normal @ self._root().T
        if between.unseen is not None:
            some = between.unseen.steps[(at * len(between.unseen.steps)).astype(np.int64)]
            out += rng.permutation(some)[:, None] * between.unseen.direction
        return out

    def _root(self) -> Floats:
        """(K-1, K-1): a root of the covariance on the scale of class logits."""
        slopes = self.between.slopes()
        inverse = np.linalg.pinv(slopes, rcond=1e-6, hermitian=True)
        values, vectors = np.linalg.eigh(inverse @ (self.by_items + self.between.own) @ inverse.T)
        out: Floats = vectors * np.minimum(np.sqrt(np.maximum(values, 0.0)), _MOST_SD)
        return out


@dataclass(frozen=True, eq=False)
class ItemPosteriors:
    """Of the items of a current round.

    shares (P, K): P(class | labels, gold) of rows; row_of_item (n,); known (P,): rows whose gold was used; weight (n,):
    what items count for in the mean that is to be `rates` (K,), or None: it is left as it is.
    """

    shares: Floats
    row_of_item: Ints
    known: Bools
    weight: Floats
    rates: Floats | None = None
    doubt: RoundDoubt | None = None

    @cached_property
    def by_item(self) -> Floats:
        """(n, K)."""
        rows, place = np.unique(self.row_of_item, return_inverse=True)
        shares, free = self.shares[rows], ~self.known[rows]
        if self.doubt is not None and free.any():
            shares[free] = _averaged(shares[free], self.doubt.shifts())
        out = shares[place]
        return out if self.rates is None else self._with_mean(out, free[place], self.rates)

    def _with_mean(self, shares: Floats, free: Bools, rates: Floats) -> Floats:
        """The items moved so that their mean is the rates, those with gold left as they are."""
        total = float(self.weight.sum())
        if not free.any() or np.abs(self.weight @ shares / total - rates).max() < _REST:
            return shares
        left = rates * total - self.weight[~free] @ shares[~free]
        wanted = np.maximum(left / self.weight[free].sum(), _OPEN_SHARE)
        held = np.clip(shares[free], 1e-12, 1.0)
        shares[free] = shift_logits(held, shift_to(held, self.weight[free], wanted / wanted.sum()))
        return shares


def _averaged(shares: Floats, shifts: Floats) -> Floats:
    """The mean of class shares (P, K) over shifts of their logits (S, K-1)."""
    out = np.zeros_like(shares)
    for shift in shifts:
        out += shift_logits(shares, shift)
    return out / len(shifts)


def by_likelihood(patterns: Patterns, likelihood: Floats, rates: Floats, *, gold_used: bool) -> ItemPosteriors:
    """Of rows with these likelihoods of their labels in each class (P, K), in a round with these rates (K,)."""
    joint = likelihood * rates
    shares: Floats = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    known = (patterns.gold >= 0) if gold_used else np.zeros(patterns.n_rows, bool)
    return ItemPosteriors(shares, patterns.row_of_item, known, patterns.item_weight)
