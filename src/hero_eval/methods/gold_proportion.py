"""Gold proportions: reliabilities from history's gold rows alone, smoothed, then the current round's likelihood."""

from __future__ import annotations

from hero_eval.methods.registry import Evidence, Fit, method
from hero_eval.methods.stage_b import carried_fit, carry


@method("gold_proportion", "reliabilities from history's gold rows alone, smoothed", needs=("history gold",))
def gold_proportion(evidence: Evidence) -> Fit:
    return carried_fit(carry(evidence.current, evidence.gold_only))
