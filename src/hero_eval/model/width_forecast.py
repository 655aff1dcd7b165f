"""How the variance of the rates would change with more gold, items or labels, from the information of a fitted model.

The rate of the current round is a function of the parameters (how often each component occurs there, and of which class
it is), and its variance is  g' H^-1 g,  g its gradient and H the information of all rows. More data add to H:

- gold of an item adds what its class tells beyond its labels, sum_k f_k d_k d_k'  with class shares f and
  d_k = s(k) - sum_l f_l s(l), s(k) the item's score if its class is k;
- an item with labels adds the information of a row without gold, as the current ones have it on average;
- labels that are not given take a part of the rows' information away.

Ratios of such variances are what is used: the variance that items give an estimate is known from its influences. Gold
of the current round tells of the round's drift, too: it adds the variance of an item's class, f (1 - f), to the drift's
information, and items with gold no longer drift (`drift_after`).
Shapes: P rows, K classes, p parameters, J labelers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from hero_eval.model.hero3.drift import label_shares
from hero_eval.model.hero3.drift_variance import DriftVariance
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.hero3.level_information import LevelInformation, is_dense
from hero_eval.model.hero3.likelihood import class_logs
from hero_eval.model.hero3.shape import RoundRows, as_vector, moved_parameters
from hero_eval.model.patterns import Bools, Floats, Ints

_STEP = 1e-5
"""Of the central differences of the rate by the parameters."""


@dataclass(frozen=True)
class More:
    """What is added: gold in the current round and in history, items with labels, and labels per item (`labels` times
    what a typical labeler's adds)."""

    gold: float = 0.0
    past_gold: float = 0.0
    items: float = 0.0
    labels: float = 0.0

    def __add__(self, other: More) -> More:
        return More(
            self.gold + other.gold,
            self.past_gold + other.past_gold,
            self.items + other.items,
            self.labels + other.labels,
        )


NOTHING = More()


@dataclass(frozen=True, eq=False)
class Forecast:
    """The information of a fit, and what more data would add to it, of  contrast . rates  for contrast (K,)."""

    fit: LevelFit
    contrast: Floats

    @property
    def can(self) -> bool:
        """Whether there are few enough parameters."""
        return is_dense(len(as_vector(self.fit.parameters)))

    @cached_property
    def n_items(self) -> float:
        return float(self.fit.rows.patterns.counts[self.fit.rows.is_current].sum())

    @cached_property
    def n_open(self) -> float:
        """Current items without gold."""
        rows = self.fit.rows
        return float(rows.patterns.counts[rows.is_current & ~rows.known].sum())

    @cached_property
    def shares(self) -> Floats:
        """(P, K) by labels alone."""
        return label_shares(self.fit)

    @cached_property
    def doubt(self) -> float:
        """The mean variance of an open current item's class along the contrast."""
        rows = self.fit.rows
        weight = np.where(rows.is_current & ~rows.known, rows.patterns.counts, 0.0)
        return class_variance(self.shares, weight, self.contrast)

    @cached_property
    def gradient(self) -> Floats:
        """(p,): of the contrast of the current round's rates, as the parameters imply them."""
        at = self.fit.parameters
        size = len(as_vector(at))
        start = at.answers.size
        out = np.zeros(size)
        for place in range(start, size):
            step = np.zeros(size)
            step[place] = _STEP
            up, down = (implied_rates(replace(self.fit, parameters=moved_parameters(at, s))) for s in (step, -step))
            out[place] = self.contrast @ (up - down) / (2 * _STEP)
        return out

    @cached_property
    def _gold_here(self) -> Floats:
        rows = self.fit.rows
        return self._gold_information(np.where(rows.is_current & ~rows.known, rows.patterns.counts, 0.0))

    @cached_property
    def _gold_past(self) -> Floats:
        rows = self.fit.rows
        past = ~rows.is_current if (~rows.is_current).any() else rows.is_current
        return self._gold_information(np.where(past, rows.patterns.counts, 0.0))

    def _gold_information(self, weight: Floats) -> Floats:
        """(p, p): what gold of one item adds on average, over rows of these weights."""
        at = np.flatnonzero(weight)
        rows, shares = _some(self.fit.rows, at), self.shares[at]
        part = weight[at] / weight.sum() if len(at) else weight[at]
        out = np.zeros((len(self.gradient),) * 2)
        mean = None
        for k in range(rows.n_classes):
            as_gold = replace(rows.patterns, gold=np.full(len(at), k))
            scores = LevelInformation(replace(self.fit, rows=replace(rows, patterns=as_gold))).scores
            out += (scores.T @ scores.multiply((part * shares[:, k])[:, None])).toarray()
            blind = scores.multiply(shares[:, k][:, None])
            mean = blind if mean is None else mean + blind
        if mean is not None:
            out -= (mean.T @ mean.multiply(part[:, None])).toarray()
        return out

    @cached_property
    def _open_row(self) -> Floats:
        """(p, p): the information of one current item without gold, on average; never negative in any direction."""
        rows = self.fit.rows
        found: Floats = LevelInformation(replace(self.fit, rows=rows.blind())).of_rows(rows.is_current).toarray()
        values, vectors = np.linalg.eigh(0.5 * (found + found.T) / self.n_items)
        out: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return out

    def variance(self, more: More = NOTHING) -> float:
        """Of the rate, as the model has it, without drift."""
        matrix = self.fit.information.matrix
        if more.gold:
            matrix = matrix + min(more.gold, self.n_open) * self._gold_here
        if more.past_gold:
            matrix = matrix + more.past_gold * self._gold_past
        if more.items:
            matrix = matrix + more.items * self._open_row
        found = _quadratic(matrix, self.gradient)
        if not more.labels:
            return found
        least = self.least_variance(more.items)
        return float(least + max(found - least, 0.0) * self.label_factor**more.labels)

    def least_variance(self, items: float = 0.0) -> float:
        """That of items whose classes are all known: more labels lead no farther."""
        rates = implied_rates(self.fit)
        spread = float(rates @ self.contrast**2 - (rates @ self.contrast) ** 2)
        return spread / (self.n_items + items)

    @cached_property
    def label_factor(self) -> float:
        """By which factor one more label per item lowers what labels leave open: as the last one did, on average."""
        found = [one.doubt_factor for one in self.without.values() if one.labels > 0.0]
        weight = [one.labels for one in self.without.values() if one.labels > 0.0]
        if not found:
            return 1.0
        per_label = [min(factor, 1.0) ** (1.0 / max(share, 0.05)) for factor, share in zip(found, weight, strict=True)]
        return float(np.exp(np.average(np.log(np.maximum(per_label, 0.05)), weights=weight)))

    @cached_property
    def without(self) -> dict[int, WithoutLabeler]:
        """Of each labeler of the current round: what the rate would be known by without its labels there."""
        rows = self.fit.rows
        given = rows.patterns.to_cells((rows.patterns.counts * rows.is_current)[:, None]).sum(axis=(1, 2))
        return {int(j): self._without(int(j), float(given[j])) for j in np.flatnonzero(given > 0)}

    def _without(self, labeler: int, given: float) -> WithoutLabeler:
        rows, fit = self.fit.rows, self.fit
        here = rows.is_current
        reduced = replace(fit, rows=without_labels(rows, labeler))
        whole, full = fit.information.matrix, _dense(fit.information.of_rows(here))
        left = _dense(LevelInformation(reduced).of_rows(here))
        variance = _quadratic(whole - full + left, self.gradient)
        if math.isnan(variance):
            variance = _quadratic(_never_negative(whole, whole - full, left), self.gradient)
        weight = np.where(here & ~rows.known, rows.patterns.counts, 0.0)
        doubt = class_variance(label_shares(reduced), weight, self.contrast)
        return WithoutLabeler(given / self.n_items, variance, doubt, self.doubt / max(doubt, 1e-12))

    def drift_after(self, drift: DriftVariance, more: More) -> DriftVariance:
        """What drift is left: gold shows it, and items with gold are free of it; more labels leave less open."""
        rows = self.fit.rows
        n_open, gold = self.n_open, min(more.gold, self.n_open)
        known = rows.known[rows.is_current]
        left = drift.drift.given_gold(gold * self.doubt / _span(self.contrast) ** 2)
        if gold and not known.any():  # its own gold makes this round one more of those that show drift
            left = replace(left, n_rounds=left.n_rounds + 1)
        told = replace(drift, drift=left)
        n_new = n_open + more.items
        open_part = (n_new - gold) / max(n_open, 1e-12)
        counts = np.where(known, drift.counts, drift.counts * open_part * self.label_factor**more.labels)
        rest = self.n_items + more.items - counts.sum()
        if rest <= 1e-9:
            return replace(told, counts=counts)
        rates = drift.counts @ drift.shares / drift.counts.sum()
        sure = np.eye(len(rates))
        return replace(
            told,
            shares=np.concatenate([drift.shares, sure]),
            counts=np.concatenate([counts, rest * rates]),
        )


@dataclass(frozen=True)
class WithoutLabeler:
    """Labels per item that a labeler gave, the rate's variance without them (without drift), and the doubt left."""

    labels: float
    variance: float
    doubt: float
    doubt_factor: float


def implied_rates(fit: LevelFit) -> Floats:
    """(K,): the current round's rates as the parameters imply them, drift left out."""
    last = fit.rows.n_rounds - 1
    at = np.flatnonzero(fit.rows.is_current)[:1]
    logs = class_logs(fit.rows, fit.shape, fit.parameters.classes, at)[0]
    out: Floats = np.exp(logs[0]) if fit.shape.n_levels == 0 else fit.parameters.weights[last] @ np.exp(logs)
    return out


def class_variance(shares: Floats, weight: Floats, contrast: Floats) -> float:
    """The mean variance of an item's class along a contrast, over rows of these weights."""
    each = shares @ contrast**2 - (shares @ contrast) ** 2
    return float(weight @ each / max(weight.sum(), 1e-300))


def without_labels(rows: RoundRows, labeler: int) -> RoundRows:
    """The rows with the current labels of one labeler gone."""
    cells = rows.patterns.cells.tocsr(copy=True)
    n_answers = rows.patterns.n_answers
    row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    gone = (cells.indices // n_answers == labeler) & rows.is_current[row]
    cells.data = np.where(gone, 0.0, 1.0)
    cells.eliminate_zeros()
    return replace(rows, patterns=replace(rows.patterns, cells=cells))


def _some(rows: RoundRows, at: Ints) -> RoundRows:
    where: Bools = np.isin(np.arange(len(rows.round)), at)
    return rows.some(where)


def _span(contrast: Floats) -> float:
    return float(contrast.max() - contrast.min())


def _dense(matrix: Any) -> Floats:
    out: Floats = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    return out


def _never_negative(whole: Floats, *parts: Floats) -> Floats:
    """The sum of parts of an information, each without its negative directions, in the units of the whole.

    The whole is positive at its maximum; parts of it, and rows without some of their labels, which have their maximum
    elsewhere, need not be, though no data tell less than nothing.
    """
    try:
        root = linalg.cholesky(whole, lower=True)
    except linalg.LinAlgError:
        return np.full_like(whole, np.nan)
    out = np.zeros_like(whole)
    for part in parts:
        half = linalg.solve_triangular(root, part, lower=True)
        scaled = linalg.solve_triangular(root, half.T, lower=True)
        values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
        out += (vectors * np.maximum(values, 0.0)) @ vectors.T
    told: Floats = root @ out @ root.T
    return told


def _quadratic(matrix: Floats, vector: Floats) -> float:
    """vector' matrix^-1 vector; nan where the information is not positive definite."""
    try:
        return float(vector @ linalg.cho_solve(linalg.cho_factor(matrix, lower=True), vector))
    except linalg.LinAlgError:
        return float("nan")
