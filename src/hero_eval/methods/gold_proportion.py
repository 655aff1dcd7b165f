"""Gold proportions: reliabilities from history's gold rows alone, smoothed, then the current round's likelihood.

Without a history that has gold, the rows are those of the current round that have it.
"""

from __future__ import annotations

from hero_eval.methods.current_rate import carried_by, carried_fit
from hero_eval.methods.evidence import CarriedEvidence
from hero_eval.methods.registry import GoldNeed, method
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Floats


def rates(evidence: CarriedEvidence) -> Floats:
    return carried_by(evidence, evidence.gold_only).root.rates


@method(
    "gold_proportion",
    "reliabilities from history's gold rows alone, smoothed",
    CarriedEvidence,
    rates,
    gold=GoldNeed.EITHER,
    by_gold_rows=True,
)
def gold_proportion(evidence: CarriedEvidence) -> Fit:
    return carried_fit(carried_by(evidence, evidence.gold_only))
