"""From a fit of HERO-3's model to the current round's class rates, every row's influence on them, and their variance.

The rates (the paper's mu) are the mean of the current rows' class shares, once all drift that gold or the round's shape
shows has been taken off. A row moves them by its own class share and by its part in all parameters.
Shapes: P rows, J labelers, L answers, q basis functions, K classes, p parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hero_eval.model.even_logits import even_norm, even_spread
from hero_eval.model.hero3.appeals import lapse_covariance
from hero_eval.model.hero3.class_split import ClassSplit
from hero_eval.model.hero3.drift import DriftPosterior, gold_shift, learn_drift, shift_logits
from hero_eval.model.hero3.drift_split import DriftSplit, split_drift
from hero_eval.model.hero3.drift_variance import DriftVariance
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.hero3.labeler_drift import excess_labeler_drift
from hero_eval.model.hero3.level_information import LevelInformation
from hero_eval.model.hero3.likelihood import answer_logs
from hero_eval.model.hero3.unseen_classes import UnseenClasses, unseen_classes
from hero_eval.model.patterns import Floats, sum_by
from hero_eval.model.rates import off_edge


@dataclass(frozen=True, eq=False)
class FittedRound:
    """The current round as a fit reads it.

    over_both: class shares are averaged over both rounds' covariates. alone: the round is estimated for itself, not
    for a difference. split: what the shape of the round says of its drift, where that can be seen. routing (N,): what
    of the items' weights undoes unequal probabilities of having gold, where these differ.
    """

    fit: LevelFit
    over_both: bool
    alone: bool = True
    split: ClassSplit | None = None
    routing: Floats | None = None

    @cached_property
    def drift(self) -> DriftPosterior:
        """How far the current round may lie from the past ones."""
        return learn_drift(self.fit).from_past if self.split is None else self.split.drift

    def drift_toward(self, direction: Floats) -> DriftPosterior:
        """How far it still may, once its own gold has shown what it tells, in this direction (K-1,) of class logits."""
        told = self.by_gold[1] * even_norm(direction) ** 2
        if self.split is None:
            return learn_drift(self.fit, direction).from_past.given_gold(told)
        found = learn_drift(self.fit, direction, self.split.by_row).from_past
        return replace(found, sizes=np.sqrt(found.sizes**2 + self.split.open)).given_gold(told)

    @cached_property
    def by_shape(self) -> Floats:
        """(K-1,): the drift of the current round that the shape of its labels shows."""
        return np.zeros(self.fit.rows.n_classes - 1) if self.split is None else self.split.shift

    @cached_property
    def by_gold(self) -> tuple[Floats, float]:
        """The drift of the current round that its own gold shows, and that gold's information."""
        rows = self.fit.rows
        if self.over_both or not (rows.known & rows.is_current).any():
            return np.zeros(rows.n_classes - 1), 0.0
        known = self.by_shape
        if self.split is not None and self.split.by_row is not None:
            known = known + self.split.by_row[rows.known & rows.is_current]
        return gold_shift(self.fit, self.drift.size, known, self.routing)

    @cached_property
    def unseen(self) -> UnseenClasses | None:
        """What is open of classes that no gold shows."""
        return None if self.over_both else unseen_classes(self.fit)

    @cached_property
    def shift(self) -> Floats:
        """(K-1,): of the class logits of current items without gold: drift that gold or labels show, classes that no
        gold shows."""
        shown = self.by_gold[0] + self.by_shape
        return shown if self.unseen is None else shown + self.unseen.middle * self.unseen.direction

    @cached_property
    def shares(self) -> Floats:
        """(P, K): P(class | answers, gold) of every row, with the current round's shift."""
        shares = self.by_moods
        if not self.shift.any():
            return shares
        open_rows = self.fit.rows.is_current & ~self.fit.rows.known
        return np.where(open_rows[:, None], shift_logits(shares, self.shift), shares)

    @property
    def is_moved(self) -> bool:
        """Whether current items without gold are read otherwise than by the fit alone."""
        return bool(self.shift.any()) or (self.split is not None and self.split.by_row is not None)

    @cached_property
    def by_moods(self) -> Floats:
        """(P, K): the same before that shift, with the moods of rounds that labels show."""
        shares = self.fit.shares
        if self.split is None or self.split.by_row is None:
            return shares
        return np.where(self.fit.rows.known[:, None], shares, shift_logits(shares, self.split.by_row))

    def averaged(self, in_scope: Floats) -> tuple[Floats, Floats]:
        """Class shares (P, K) and weights (P,): of the current rows, or of both rounds' rows seen as current.

        `in_scope` (P,) says for how much each row's covariates count, where they do.
        """
        fit = self.fit
        if self.over_both:
            return fit.prior_shares(fit.rows.n_rounds - 1)[0], fit.rows.patterns.counts * in_scope
        return self.shares, fit.rows.patterns.counts * fit.rows.is_current

    @cached_property
    def past_rates(self) -> Floats | None:
        """(K,): the mean rates of past rounds with gold, for a round by itself, which is of their kind.

        Where gold does not show every class, labels do not tell where one begins: then by that gold alone, with
        Jeffreys' prior.
        """
        rows = self.fit.rows
        if not self.alone or self.over_both:
            return None
        golden = rows.known & ~rows.is_current
        if self.unseen is not None:
            found = sum_by(rows.patterns.gold[golden], rows.patterns.counts[golden], rows.n_classes) + 0.5
            return found / found.sum() if golden.any() else None
        past = np.isin(rows.round, np.unique(rows.round[golden])) & ~rows.is_current
        counts = rows.patterns.counts * past
        total = float(counts.sum())
        return off_edge(counts @ self.by_moods / total, total) if total > 0.0 else None

    def drift_split(self, rates: Floats) -> DriftSplit | None:
        """The part of the shift from the one past round that is taken for drift, where that is to be told."""
        if not self.alone or self.unseen is not None:
            return None
        return split_drift(self.fit, self.shares, rates, self.by_gold[1])


@dataclass(frozen=True, eq=False)
class CurrentRates:
    """Rates of the current round, with every row's own influence and the derivative by the parameters."""

    rates: Floats
    direct: Floats  # (P, K-1) per unit of weight
    gradient: Floats  # (p, K-1)
    gradient_here: Floats  # (p, K-1): the gradient through the current rows alone
    by_labels: Floats  # (K,): the rates if no part of their shift were taken for drift
    information: LevelInformation

    @cached_property
    def pull(self) -> Floats:
        """(p, K-1): how far the parameters move the rates with what items tell of them; once for all who ask."""
        return self.information.solve(self.gradient)


def current_rates(fitted: FittedRound, in_scope: Floats) -> CurrentRates:
    """The rates of the current round, and how every row and parameter moves them."""
    here = _mean_share(fitted, *fitted.averaged(in_scope))
    split = fitted.drift_split(here.rates)
    if split is None:
        return here
    there = _mean_share(fitted, fitted.shares, split.past)
    direct = here.direct @ split.by_current.T + there.direct @ split.by_past.T
    now, before = here.gradient @ split.by_current.T, there.gradient @ split.by_past.T
    return CurrentRates(split.rates, direct, now + before, now, here.rates, here.information)


def rates_alone(fitted: FittedRound, in_scope: Floats) -> Floats:
    """(K,): the same rates without any derivative, which takes most of the time."""
    shares, weight = fitted.averaged(in_scope)
    found: Floats = weight @ shares / weight.sum()
    split = fitted.drift_split(found)
    return found if split is None else split.rates


def _mean_share(fitted: FittedRound, shares: Floats, weight: Floats) -> CurrentRates:
    """The mean class share by the rows' weights."""
    rows, information = fitted.fit.rows, fitted.fit.information
    each = _by_shares(fitted.fit.shares, shares) if fitted.is_moved else np.eye(rows.n_classes)[:, 1:]
    total = weight.sum()
    rates = weight @ shares / total
    pull = (weight / total)[:, None, None] * each
    gradient = information.prior_gradient(pull, rows.n_rounds - 1) if fitted.over_both else information.gradient(pull)
    direct = np.where((weight > 0)[:, None], (shares - rates)[:, 1:], 0.0) / total
    return CurrentRates(rates, direct, gradient, gradient, rates, information)


def _by_shares(shares: Floats, moved: Floats) -> Floats:
    """(P, K, K-1): the derivative of class shares [1:] whose logits were moved, by the shares before that."""
    ratio = moved / np.maximum(shares, 1e-300)
    own = np.eye(shares.shape[1])[:, 1:] * ratio[:, :, None]
    out: Floats = own - ratio[:, :, None] * moved[:, None, 1:]
    return out


def item_influences(fit: LevelFit, found: CurrentRates) -> Floats:
    """(N + n, K-1): every item's influence on rates[1:], history's first."""
    by_row = found.direct + fit.information.row_influence(found.pull)
    return fit.rows.patterns.to_items(by_row)


def drift_variance(fitted: FittedRound, found: CurrentRates) -> tuple[DriftVariance, float]:
    """What the rates' variance has beyond the items' noise, and by how much labelers' own moves exceed past ones."""
    fit = fitted.fit
    own, excess = _labeler_covariance(fit, found)
    own = own + _prior_covariance(fit, found.pull) + lapse_covariance(fit)
    here = fit.rows.is_current
    drift = fitted.drift.given_gold(fitted.by_gold[1])
    is_split = bool(np.abs(found.rates - found.by_labels).max() > 0.0)
    counts = fit.rows.patterns.counts[here]
    return DriftVariance(
        drift,
        fitted.shares[here],
        counts,
        own,
        fitted.unseen,
        fitted.past_rates,
        is_split,
        toward=fitted.drift_toward if fitted.split is None or fitted.split.by_row is not None else None,
    ), excess


def _labeler_covariance(fit: LevelFit, found: CurrentRates) -> tuple[Floats, float]:
    """(K-1, K-1): what the current labelers' moves against each other add, and their variance beyond past rounds'.

    The moves reach the rates through the current rows' own shares (`gradient_here`) and through all parameters.
    """
    excess, _ = excess_labeler_drift(fit)
    if excess == 0.0:
        return np.zeros((found.gradient.shape[1],) * 2), 0.0
    information = fit.information
    n_labelers, width, n_basis = fit.parameters.answers.shape
    moved = found.gradient_here - information.times(found.pull, fit.rows.is_current)
    of_answers = moved[: information.n_answers].reshape(n_labelers, width, n_basis, -1)
    n_along = 1 if fit.shape.n_levels else fit.rows.n_classes
    along = of_answers[:, :, :n_along].sum(axis=2)  # a move of all logits of an answer
    even = even_spread(np.eye(width // fit.rows.n_even), fit.rows.n_even)
    return excess * np.einsum("jac,ab,jbd->cd", along, even, along), excess


def _prior_covariance(fit: LevelFit, pull: Floats) -> Floats:
    """(K-1, K-1): what the labelers' spread around their group's mean adds: little for known ones, much for strangers.

    With H = information + prior precision P the estimate errs by its items (H^-1 information H^-1, the influences)
    and by the distance of the true parameters from the prior's mean, H^-1 P H^-1.
    """
    answers = fit.parameters.answers
    return fit.prior.pooling.covariance(pull[: answers.size].reshape(len(answers), answers[0].size, -1))


def label_information(fit: LevelFit) -> Floats:
    """(J,) how much one label of each labeler tells of the component, in nats, at the current round's mix."""
    rows, shape = fit.rows, fit.shape
    post = fit.information.post[rows.is_current]
    counts = rows.patterns.counts[rows.is_current]
    mix = counts @ post / counts.sum()
    logs = answer_logs(shape, fit.parameters.answers)
    share = np.exp(logs)
    mean = share @ mix
    out: Floats = np.einsum("jle,e->j", share * (logs - np.log(mean)[:, :, None]), mix)
    return out
