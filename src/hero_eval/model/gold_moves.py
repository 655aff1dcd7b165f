"""What gold of an item would tell of the rates: by how far each answer would move them, and how far on average.

Gold k of an item with class shares f moves  contrast . rates

- by its own share, (e_k - f) / n;
- by what it tells of all parameters (labelers above all): its score is s(k) instead of sum_l f_l s(l), and parameters
  move by H^-1 times the difference, the rates by their gradient times that;
- by what it tells of the round's drift, a shift b of all class logits of variance v: b moves by v (e_k - f), to first
  order, and the rates by their slope in b.

The mean square of these moves, over the answers that labels lead one to expect, is by how much the variance of the
rates falls on average once the answer is known: the variance of an expectation given the answer.
Shapes: P rows of the current round, K classes, p parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hero_eval.model.even_logits import even_covariance
from hero_eval.model.hero3.current_rates import CurrentRates, FittedRound
from hero_eval.model.hero3.drift import label_shares, shift_logits
from hero_eval.model.hero3.drift_variance import DriftVariance
from hero_eval.model.hero3.level_information import LevelInformation
from hero_eval.model.hero3.shape import RoundRows
from hero_eval.model.patterns import Floats, Ints

SOURCES = ("its own answer is open", "shows how labelers answer", "shows how far the round drifted")
"""What speaks for an item, in words: the parts of its moves, in their order."""


@dataclass(frozen=True, eq=False)
class GoldMoves:
    """Of each current item: shares (n, K), the classes expected by its labels alone, parts (3, n, K), by how far each
    class as gold would move the contrast in each way (`SOURCES`), and what is expected of the contrast (n,)."""

    shares: Floats
    parts: Floats
    expected: Floats

    @property
    def moves(self) -> Floats:
        """(n, K) by how far each class as gold would move the contrast."""
        out: Floats = self.parts.sum(axis=0)
        return out

    @property
    def gain(self) -> Floats:
        """(n,) by how much gold of the item lowers the variance, on average."""
        out: Floats = (self.shares * self.moves**2).sum(axis=1)
        return out

    @property
    def reasons(self) -> tuple[str, ...]:
        """(n,) what of each item would tell most."""
        share = (self.shares * self.parts * self.moves).sum(axis=2)
        return tuple(SOURCES[at] for at in share.argmax(axis=0))

    @property
    def doubt(self) -> Floats:
        """(n,) the chance that the class is another than the likeliest one."""
        out: Floats = 1.0 - self.shares.max(axis=1)
        return out


def gold_moves(fitted: FittedRound, found: CurrentRates, drift: DriftVariance, contrast: Floats) -> GoldMoves:
    """What gold of each item of the current round would do to  contrast . rates,  for contrast (K,)."""
    fit, rows = fitted.fit, fitted.fit.rows
    here = np.flatnonzero(rows.is_current)
    shares = label_shares(fit)[here]
    if fitted.shift.any():
        shares = shift_logits(shares, fitted.shift)
    along = contrast[1:] - contrast[0]
    own = contrast / float(rows.patterns.counts[here].sum())
    through = fit.information.solve(found.gradient @ along[:, None])[:, 0]
    by_class = np.stack([_scores_along(fitted, here, k, through) for k in range(rows.n_classes)], axis=1)
    shift = even_covariance(len(along)) @ drift.slopes().T @ along
    by_drift = np.concatenate([[0.0], drift.drift.size**2 * shift])
    whole = np.stack(np.broadcast_arrays(own, by_class, by_drift))
    parts = whole - (shares * whole).sum(axis=2, keepdims=True)
    item_rows = rows.patterns.row_of_item
    of_item = item_rows[rows.is_current[item_rows]] - here[0]
    return GoldMoves(shares[of_item], parts[:, of_item], (shares @ contrast)[of_item])


def _scores_along(fitted: FittedRound, at: Ints, gold: int, direction: Floats) -> Floats:
    """(P,) the scores of the rows if all were of this class, times a direction (p,)."""
    rows = _single_rows(fitted.fit.rows, at, gold)
    return LevelInformation(replace(fitted.fit, rows=rows)).row_influence(direction[:, None])[:, 0]


def _single_rows(rows: RoundRows, at: Ints, gold: int) -> RoundRows:
    """Some of the rows, each one item of this class."""
    one = np.ones(len(at))
    some = replace(
        rows.patterns,
        cells=rows.patterns.cells[at],
        gold=np.full(len(at), gold),
        counts=one,
        row_of_item=np.arange(len(at)),
        item_weight=one,
        times=None,
        row_items=None,
    )
    return replace(rows, patterns=some, round=rows.round[at], covariates=rows.covariates[at])
