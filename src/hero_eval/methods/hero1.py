"""HERO-1: the rate that best explains the current labels, given what history taught about their labelers.

Anchored EM on history (stage A), then the root of the current round's score (stage B; paper, section 3.2).
"""

from __future__ import annotations

from hero_eval.methods.registry import Evidence, Fit, method
from hero_eval.methods.stage_b import carried_fit, carry
from hero_eval.model.patterns import Floats


def rates(evidence: Evidence) -> Floats:
    return carry(evidence.current, evidence.anchored).root.rates


@method("hero1", "anchored EM on history, carried to the current round", rates, needs=("history gold",))
def hero1(evidence: Evidence) -> Fit:
    return carried_fit(carry(evidence.current, evidence.anchored))
