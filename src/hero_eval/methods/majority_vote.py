"""Majority vote: each item's most frequent answer; tied answers share the item evenly."""

from __future__ import annotations

import numpy as np

from hero_eval.findings import Finding
from hero_eval.methods.registry import Evidence, Fit, method
from hero_eval.model.em import vote_counts


@method("majority_vote", "the most frequent answer of each item; ties count half")
def majority_vote(evidence: Evidence) -> Fit:
    patterns = evidence.current_all
    votes = vote_counts(patterns, evidence.n_classes)
    winners = (votes == votes.max(axis=1, keepdims=True)).astype(float)
    shares = winners / winners.sum(axis=1, keepdims=True)
    rates = patterns.counts @ shares / patterns.total
    influence = patterns.to_items(shares - rates)[:, 1:] / patterns.total
    on_edge = bool((rates <= 0).any())
    give = 1.0 / (patterns.n_items + 1.0) if on_edge else 0.0
    inside = (1 - give) * rates + give / len(rates)
    if on_edge:  # all items agree: the spread that one more, differing item would have shown
        influence = np.full_like(influence, 1.0 / (patterns.n_items + 1.0) / np.sqrt(patterns.n_items))
    finding = Finding("F308", "majority_vote has no gold to correct its labelers' common errors")
    return Fit(rates, inside, influence, None, influence, on_edge=on_edge, on_all=True, findings=(finding,))
