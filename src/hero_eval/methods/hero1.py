"""HERO-1: the rate that best explains the current labels, given what history taught about their labelers.

Anchored EM on history (stage A), then the root of the current round's score (stage B; paper, section 3.2). Without a
history that has gold, the current round's own gold anchors the EM on that round, and the root is its class weight.
"""

from __future__ import annotations

from hero_eval.methods.current_rate import carried_by, carried_fit
from hero_eval.methods.evidence import CarriedEvidence
from hero_eval.methods.registry import GoldNeed, method
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Floats


def rates(evidence: CarriedEvidence) -> Floats:
    return carried_by(evidence, evidence.anchored).root.rates


@method(
    "hero1",
    "anchored EM on history, carried to the current round",
    CarriedEvidence,
    rates,
    gold=GoldNeed.EITHER,
    anchored=True,
)
def hero1(evidence: CarriedEvidence) -> Fit:
    return carried_fit(carried_by(evidence, evidence.anchored))
