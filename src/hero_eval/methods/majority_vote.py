"""Majority vote: each item's most frequent answer; tied answers share the item evenly."""

from __future__ import annotations

import numpy as np

from hero_eval.findings import Finding
from hero_eval.methods.current_rate import unknown_finding
from hero_eval.methods.evidence import LabelsOnly
from hero_eval.methods.registry import method
from hero_eval.methods.result import Fit
from hero_eval.model.em import vote_counts
from hero_eval.model.patterns import Floats
from hero_eval.model.rates import edge_point


def _shares(evidence: LabelsOnly) -> Floats:
    """(P, K): each row's winner, or an even share of it for tied answers."""
    votes = vote_counts(evidence.current, evidence.n_classes)
    winners = (votes == votes.max(axis=1, keepdims=True)).astype(float)
    shares: Floats = winners / winners.sum(axis=1, keepdims=True)
    return shares


def rates(evidence: LabelsOnly) -> Floats:
    out: Floats = evidence.current.counts @ _shares(evidence) / evidence.current.total
    return out


@method("majority_vote", "the most frequent answer of each item; ties count half", LabelsOnly, rates)
def majority_vote(evidence: LabelsOnly) -> Fit:
    patterns = evidence.current
    shares, won = _shares(evidence), rates(evidence)
    influence = patterns.to_items(shares - won)[:, 1:] / patterns.total
    on_edge = bool((won <= 0).any())
    inside = edge_point(won, patterns.total) if on_edge else won
    found = [Finding("F308", "majority_vote has no gold to correct its labelers' common errors")]
    if not on_edge and (shares == 1.0 / evidence.n_classes).all():
        influence = np.full_like(influence, np.nan)  # no item speaks for any class, so that none would move the rate
        found.append(unknown_finding("every item is a tie between all classes, so that the votes tell nothing"))
    return Fit(won, inside, influence, None, influence, on_edge=on_edge, findings=tuple(found))
