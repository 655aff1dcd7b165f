"""What the methods that carry reliabilities to the current round share: likelihoods, root and influences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hero_eval.findings import Finding
from hero_eval.methods.evidence import CarriedEvidence
from hero_eval.methods.result import Fit
from hero_eval.model.history import HistoryFit
from hero_eval.model.item_posteriors import by_likelihood
from hero_eval.model.latent import class_log_likelihood
from hero_eval.model.patterns import Floats, Patterns
from hero_eval.model.rate_derivatives import rates_gradient, rates_information
from hero_eval.model.rates import Root, edge_point, relative_likelihood, scores, solve_rates


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

    def gradient(self, rates: Floats, row_weights: Floats) -> Floats:
        """d/d(reliability) of sum(row_weights * psi), a free vector."""
        at = self.learned.information.at
        if self.own:  # what gold says of an item is the same whatever the labelers are like
            row_weights = np.where((self.patterns.gold >= 0)[:, None], 0.0, row_weights)
        return rates_gradient(self.patterns, self.learned.latent, at, rates, row_weights)

    def mean_gradients(self, rates: Floats) -> Floats:
        """d mean psi_k / d(reliability), (p, K-1)."""
        share = self.patterns.counts / self.patterns.total
        n_scores = self.likelihood.shape[1] - 1
        return np.stack([self.gradient(rates, np.outer(share, np.eye(n_scores)[k])) for k in range(n_scores)], axis=1)


def carry(current: Patterns, learned: HistoryFit) -> Carried:
    likelihood = relative_likelihood(class_log_likelihood(current, learned.latent))
    return Carried(current, learned, likelihood, solve_rates(likelihood, current.counts))


def carry_own(current: Patterns, learned: HistoryFit) -> Carried:
    """The same where the reliabilities are those of this round, learned from its own gold."""
    likelihood = relative_likelihood(class_log_likelihood(current, learned.latent))
    known = current.gold >= 0
    seen = relative_likelihood(np.log(np.maximum(np.eye(likelihood.shape[1])[current.gold], 1e-300)))
    likelihood = np.where(known[:, None], seen, likelihood)
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
    psi = carried.psi(inside)
    psi = psi - carried.patterns.counts @ psi / carried.patterns.total  # nonzero only off an edge
    current = carried.patterns.to_items(psi @ inverse) / carried.patterns.total
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
        posteriors=by_likelihood(carried.patterns, carried.likelihood, inside, gold_used=carried.own),
    )


def tilt_gradient(carried: Carried, row_along: Floats, pilot: Floats, pilot_inverse: Floats, bend: Floats) -> Floats:
    """d tilt / d(reliability), (p, K-1): through HERO-2's pilot scores, directly and by way of the pilot rate.

    row_along (P,): the share that each row has in how far the covariates lie along the tilt.
    """
    n_scores = carried.likelihood.shape[1] - 1
    directly = [carried.gradient(pilot, np.outer(row_along, np.eye(n_scores)[k])) for k in range(n_scores)]
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
