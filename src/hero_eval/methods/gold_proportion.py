"""Gold proportions: reliabilities from history's gold rows alone, smoothed, then the current round's likelihood."""

from __future__ import annotations

from hero_eval.methods.registry import Evidence, Fit, method
from hero_eval.methods.stage_b import carried_fit, carry
from hero_eval.model.patterns import Floats


def rates(evidence: Evidence) -> Floats:
    return carry(evidence.current, evidence.gold_only).root.rates


@method("gold_proportion", "reliabilities from history's gold rows alone, smoothed", rates, needs=("history gold",))
def gold_proportion(evidence: Evidence) -> Fit:
    return carried_fit(carry(evidence.current, evidence.gold_only))
