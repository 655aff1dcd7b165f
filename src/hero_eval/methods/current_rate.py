"""What the methods that carry reliabilities to the current round share: likelihoods, root and influences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hero_eval.findings import Finding
from hero_eval.methods.evidence import CarriedEvidence
from hero_eval.methods.result import Fit
from hero_eval.model.history import HistoryFit
from hero_eval.model.item_posteriors import ItemPosteriors, by_likelihood
from hero_eval.model.latent import Latent, classes_of_states
from hero_eval.model.patterns import Floats, Patterns
from hero_eval.model.rate_derivatives import rates_gradient, rates_information
from hero_eval.model.rates import Root, edge_point, relative_likelihood, scores, solve_rates

_BLOCK = 1 << 18
"""Rows worked on at a time. It bounds memory only."""


@dataclass(frozen=True, eq=False)
class Carried:
    """The current round seen through reliabilities: likelihood (P, K) and the HERO-1 root.

    `own`: they were learned from this round's gold, and its items with gold are of the class that it says.
    """

    patterns: Patterns
    learned: HistoryFit
    likelihood: Floats
    root: Root
    own: bool = False

    @property
    def inside(self) -> Floats:
        """The rates, or a point just off the edge if they lie on it."""
        return edge_point(self.root.rates, self.patterns.total) if self.root.on_edge else self.root.rates

    @property
    def pilot(self) -> Floats:
        """The rates at which HERO-2 takes its pilot scores: the root, off exact zero so that scores are numbers."""
        held = np.maximum(self.root.rates, 1e-12)
        off: Floats = held / held.sum()
        return off

    def psi(self, rates: Floats) -> Floats:
        return scores(self.likelihood, rates)

    def inverse_information(self, rates: Floats) -> Floats:
        """I^-1 (K-1, K-1); a flat likelihood has none, and the pseudo-inverse would hide that: nan.

        On an edge the item that `edge_point` shares out evenly is counted in, as seen outright.
        """
        information = rates_information(self.likelihood, self.patterns.counts, rates)
        if self.root.on_edge:
            seen = np.diag(1.0 / rates)[:, 1:] - np.eye(len(rates))[:, :1] / rates[0]  # scores of items of known class
            information = information + seen.T @ seen / len(rates) / (self.patterns.total + 1.0)
        values = np.linalg.eigvalsh(information)
        if values.min() <= 1e-12 * max(values.max(), 1.0):
            return np.full_like(information, np.nan)
        inverse: Floats = np.linalg.inv(information).astype(np.float64)
        return inverse

    def gradient(self, rates: Floats, by_row: Floats, k: int) -> Floats:
        """d/d(reliability) of sum(by_row * psi_k), a free vector; by_row (P,)."""
        at, n_scores = self.learned.information.at, self.likelihood.shape[1] - 1
        if self.own:  # what gold says of an item is the same whatever the labelers are like
            by_row = np.where(self.patterns.gold >= 0, 0.0, by_row)
        row_weights = by_row[:, None] if n_scores == 1 else np.outer(by_row, np.eye(n_scores)[k])
        return rates_gradient(self.patterns, self.learned.latent, at, rates, row_weights)

    def mean_gradients(self, rates: Floats) -> Floats:
        """d mean psi_k / d(reliability), (p, K-1)."""
        n_scores = self.likelihood.shape[1] - 1
        sums = [self.gradient(rates, self.patterns.counts, k) for k in range(n_scores)]
        return np.stack(sums, axis=1) / self.patterns.total


def carry(current: Patterns, learned: HistoryFit) -> Carried:
    likelihood = _relative(current, learned.latent)
    return Carried(current, learned, likelihood, solve_rates(likelihood, current.counts))


def _relative(current: Patterns, latent: Latent) -> Floats:
    """(P, K) likelihoods of the classes, relative to the largest of each row."""
    logs = np.log(latent.answers).reshape(-1, latent.n_states)
    out = np.empty((current.n_rows, latent.n_classes))
    for rows in current.row_blocks():  # copies of all rows would fill memory
        out[rows] = relative_likelihood(classes_of_states(current.from_cells_of(rows, logs), latent))
    return out


def carry_own(current: Patterns, learned: HistoryFit) -> Carried:
    """The same where the reliabilities are those of this round, learned from its own gold."""
    likelihood = _relative(current, learned.latent)
    known = np.flatnonzero(current.gold >= 0)
    seen = np.log(np.maximum(np.eye(likelihood.shape[1])[current.gold[known]], 1e-300))
    likelihood[known] = relative_likelihood(seen)
    return Carried(current, learned, likelihood, solve_rates(likelihood, current.counts), own=True)


def carried_by(evidence: CarriedEvidence, learned: HistoryFit) -> Carried:
    """The current round through what `learned` says: history's, or its own where there is none."""
    return (carry_own if evidence.history is None else carry)(evidence.current, learned)


def carried_fit(carried: Carried) -> Fit:
    """HERO-1's rates with the influence of both rounds: current items directly, history's through the reliabilities.

    Where there is no history, the current items have both, added up.
    """
    inside = carried.inside
    inverse = carried.inverse_information(inside)
    current = carried.patterns.to_items(_row_influence(carried, inside, inverse))
    direction = carried.learned.information.solve(carried.mean_gradients(inside)) @ inverse
    learned = carried.learned.information.item_influence(direction)
    return Fit(
        rates=carried.root.rates,
        inside=inside,
        current=current + learned if carried.own else current,
        history=None if carried.own else learned,
        paper=current,
        on_edge=carried.root.on_edge,
        report=carried.learned.report,
        findings=fit_findings(carried),
        posteriors=_posteriors(carried, inside),
    )


def _posteriors(carried: Carried, inside: Floats) -> ItemPosteriors | None:
    """What is known of the items; None where they were counted without telling them apart."""
    if carried.patterns.times is not None:
        return None
    return by_likelihood(carried.patterns, carried.likelihood, inside, gold_used=carried.own)


def _row_influence(carried: Carried, inside: Floats, inverse: Floats) -> Floats:
    """(P, K-1): how far an item of weight 1 in each row moves the rates."""
    counts, total = carried.patterns.counts, carried.patterns.total
    out = np.empty((len(counts), len(inside) - 1))
    mean = np.zeros(len(inside) - 1)
    for start in range(0, len(counts), _BLOCK):  # copies of all rows would fill memory
        rows = slice(start, start + _BLOCK)
        out[rows] = psi = scores(carried.likelihood[rows], inside)
        mean += counts[rows] @ psi / total
    for start in range(0, len(counts), _BLOCK):
        rows = slice(start, start + _BLOCK)
        out[rows] = (out[rows] - mean) @ inverse / total  # the mean is nonzero only off an edge
    return out


def tilt_gradient(carried: Carried, row_along: Floats, pilot: Floats, pilot_inverse: Floats, bend: Floats) -> Floats:
    """d tilt / d(reliability), (p, K-1): through HERO-2's pilot scores, directly and by way of the pilot rate.

    row_along (P,): the share that each row has in how far the covariates lie along the tilt.
    """
    n_scores = carried.likelihood.shape[1] - 1
    directly = [carried.gradient(pilot, row_along, k) for k in range(n_scores)]
    out: Floats = np.stack(directly, axis=1) + carried.mean_gradients(pilot) @ pilot_inverse @ bend.T
    return out


def fit_findings(carried: Carried) -> tuple[Finding, ...]:
    if not carried.root.converged:
        return (weak_finding("the current labels do not tell the classes apart: every rate fits them equally well"),)
    if carried.learned.information.is_weak:
        return (weak_finding("history does not pin the labelers' reliabilities down"),)
    return ()


def weak_finding(what: str) -> Finding:
    return Finding("F303", f"{what}; the interval is only indicative", {"why": what})


def unknown_finding(what: str) -> Finding:
    return Finding("F303", f"{what}; the interval is the whole range", {"why": what})
