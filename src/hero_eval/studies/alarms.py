"""Do the guards alarm when they should, and only then? Simulated rounds put through `estimate_rate`, cell by cell.

Where every assumption holds, each guard may raise a false alarm in one of twenty rounds. In each other situation one
assumption fails by a size that matters, and the guard in question should see it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from hero_eval.errors import SupportError
from hero_eval.estimate import Estimate
from hero_eval.findings import Finding
from hero_eval.labelers.reliability import LITTLE
from hero_eval.model.patterns import Floats
from hero_eval.studies.coverage import make_round
from hero_eval.studies.designs import EXPERIMENTS, Design
from hero_eval.targets.rate import estimate_rate

GUARDS: dict[str, str] = {
    "F112": "gold not routed at random",
    "F201": "uninformative labelers",
    "F202": "inverted labelers",
    "F205": "transported reliability",
    "F206": "labelers err together",
    "F303": "rate weakly identified",
    "F403": "covariate shift",
}


@dataclass(frozen=True)
class Situation:
    """What differs from the assumptions, and the guards that should see it.

    drift: logits added to current sensitivities and specificities, of this share of the labelers; together: latent
    correlation of errors; moved: of the covariate's mean, in sd; rate: logit added to the current class probability,
    which breaks nothing; routed: log odds ratio of having gold, per sd of the covariate; disputed: the same per sd of
    the labels' disagreement; first: sensitivity and specificity of the first labeler, who labels so many gold items;
    ignorant: nobody's answers depend on the class. `holds` names the guards that have nothing to see here.
    """

    name: str
    sees: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    drift: tuple[float, float] = (0.0, 0.0)
    drifting: float = 1.0
    together: float = 0.0
    moved: float = 0.0
    rate: float = 0.0
    routed: float = 0.0
    disputed: float = 0.0
    first: tuple[float, float] | None = None
    first_gold: float = 30
    ignorant: bool = False


@dataclass(frozen=True)
class GuardCell:
    """A situation in a design."""

    design: Design
    situation: Situation

    @property
    def name(self) -> str:
        return f"{self.design.name}: {self.situation.name}"


PAPER = replace(EXPERIMENTS["exp1-large"][-1], name="10 labelers, gold 10%")
SCARCE = replace(EXPERIMENTS["exp1-large"][0], name="10 labelers, gold 5%")
CROWD = replace(PAPER, name="50 labelers, gold 10%", n_labelers=50, labeling_low=0.05, labeling_high=0.15)
SMALL = replace(EXPERIMENTS["exp1-small"][-1], name="5 labelers, gold 10%")
_EVERY = tuple(GUARDS)
SITUATIONS: tuple[Situation, ...] = (
    Situation("as assumed", holds=_EVERY),
    Situation("as assumed, another rate (logit +1)", holds=_EVERY, rate=1.0),
    Situation("a labeler who knows nothing, 40 gold", sees=("F201",), holds=("F202",), first=(0.5, 0.5), first_gold=40),
    Situation(f"a labeler with discrimination {LITTLE:g}, 30 gold", holds=("F201", "F202"), first=(0.65, 0.65)),
    Situation("an inverted labeler, 30 gold", sees=("F202",), holds=("F201",), first=(0.15, 0.15)),
    Situation("all labelers overlook more (logit -0.8)", sees=("F205",), holds=("F206",), drift=(-0.8, 0.0)),
    Situation("a third of the labelers worse (logit -1)", sees=("F205",), drift=(-1.0, -1.0), drifting=1 / 3),
    Situation("a third of the labelers stricter (logit 1)", sees=("F205",), drift=(-1.0, 1.0), drifting=1 / 3),
    Situation("labelers err together (latent correlation 0.3)", sees=("F206",), holds=("F202", "F205"), together=0.3),
    Situation("labelers who know nothing", sees=("F303",), ignorant=True),
    Situation("the covariate's mean moved by 0.3 sd", sees=("F403",), holds=("F205", "F206"), moved=0.3),
    Situation("gold by the covariate (odds ratio 2 per sd)", sees=("F112",), routed=float(np.log(2))),
    Situation("gold by disagreement (odds ratio 2 per sd)", sees=("F112",), disputed=float(np.log(2))),
)


@cache
def guard_cells() -> tuple[GuardCell, ...]:
    """Every situation in the paper's sizes; what breaks nothing with scarce gold, many labelers and few items too."""
    cells = [GuardCell(PAPER, one) for one in SITUATIONS]
    for design in (SCARCE, CROWD, SMALL):
        cells += [GuardCell(design, one) for one in SITUATIONS if design is not SMALL or not one.sees]
    return tuple(cells)


def guard_outcome(cell: GuardCell, rng: np.random.Generator) -> Floats | None:
    """(guards,) 1 = alarm, 0 = none; None where the data refuse an answer."""
    try:
        estimate, skill = _draw(cell, rng)
    except SupportError:
        return None
    found = {one.code: one for one in estimate.findings}
    return np.array([code in found and _counts(found[code], cell.situation, skill) for code in GUARDS], dtype=float)


def _counts(finding: Finding, situation: Situation, skill: Floats) -> bool:
    """An accusation must name the labeler in question, or be wrong, to count; labelers are drawn, and some are bad."""
    if finding.code not in ("F201", "F202"):
        return True
    accused = np.array([int(name.removeprefix("j")) for name in finding.data["labelers"]])
    if finding.code in situation.sees:
        return bool((accused == 0).any())
    return bool((skill[accused] > (LITTLE - 1e-9 if finding.code == "F201" else -1e-9)).any())


def _draw(cell: GuardCell, rng: np.random.Generator) -> tuple[Estimate, Floats]:
    """One estimate by HERO-2, which all guards watch, and the true discrimination of the labelers in history."""
    design, situation = cell.design, cell.situation
    size = design.n_labelers
    shares = (design.sensitivity_mean, design.specificity_mean)
    sensitivity, specificity = (
        rng.beta(design.concentration * mean, design.concentration * (1 - mean), size) for mean in shares
    )
    activity = rng.uniform(design.labeling_low, design.labeling_high, size)
    if situation.ignorant:
        sensitivity = rng.uniform(0.3, 0.7, size)
        specificity = 1.0 - sensitivity
    if situation.first is not None:
        sensitivity[0], specificity[0] = situation.first
        activity[0] = min(situation.first_gold / (design.n_history * design.gold_rate), 1.0)
    drifts = np.arange(size) < round(situation.drifting * size)
    later = [
        expit(logit(np.clip(before, 1e-9, 1 - 1e-9)) + drifts * shift)
        for before, shift in zip((sensitivity, specificity), situation.drift, strict=True)
    ]
    past, truth, x = _items(design, situation, (sensitivity, specificity, activity), design.n_history, (0.0, 0.0), rng)
    now, _, now_x = _items(
        design, situation, (later[0], later[1], activity), design.n_current, (situation.moved, situation.rate), rng
    )
    gold = np.where(rng.random(len(truth)) < _gold_odds(design, situation, past, x), truth, -1).astype(np.int8)
    history = make_round(past, gold, {"x": x}, ["0", "1"], "h")
    current = make_round(now, None, {"x": now_x}, ["0", "1"], "c")
    return estimate_rate(current, history, method="hero2", covariates=["x"]), sensitivity + specificity - 1


def _items(
    design: Design,
    situation: Situation,
    labelers: tuple[Floats, Floats, Floats],
    size: int,
    shift: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int8], NDArray[np.int8], Floats]:
    """Labels, classes and covariate of items; errors on an item share a normal part of the size given."""
    sensitivity, specificity, activity = labelers
    x = rng.standard_normal(size) + shift[0]
    truth = rng.random(size) < expit(design.intercept + design.slope * x + shift[1])
    error_rate = np.where(truth[:, None], 1 - sensitivity, 1 - specificity)
    common, own = rng.standard_normal((size, 1)), rng.standard_normal((size, design.n_labelers))
    hidden = np.sqrt(situation.together) * common + np.sqrt(1 - situation.together) * own
    labels = (truth[:, None] ^ (hidden < ndtri(error_rate))).astype(np.int8)
    labels[rng.random(labels.shape) >= activity] = -1
    labeled = (labels >= 0).any(axis=1)
    return labels[labeled], truth[labeled].astype(np.int8), x[labeled]


def _gold_odds(design: Design, situation: Situation, labels: NDArray[np.int8], x: Floats) -> Floats:
    """Each history item's probability of gold."""
    positive = (labels == 1).sum(axis=1) / (labels >= 0).sum(axis=1)
    disagreement = np.minimum(positive, 1 - positive)
    disagreement = (disagreement - disagreement.mean()) / disagreement.std()
    bent = situation.routed * x + situation.disputed * disagreement
    odds: Floats = expit(logit(design.gold_rate) + bent - 0.5 * np.var(bent))
    return odds


def guard_rows(cell: GuardCell, outcomes: Floats, asked: int) -> list[dict[str, Any]]:
    """One row a guard that this cell is a test of: how often it alarmed, as power or as false alarms."""
    situation, rows = cell.situation, []
    for position, (code, guard) in enumerate(GUARDS.items()):
        if code not in (*situation.sees, *situation.holds):
            continue
        share = float(outcomes[:, position].mean())
        rows.append(
            {
                "study": "guards",
                "cell": cell.design.name,
                "situation": situation.name,
                "method": code,
                "guard": guard,
                "measures": "power" if code in situation.sees else "false alarms",
                "replications": len(outcomes),
                "refused": asked - len(outcomes),
                "alarms": share,
                "alarms_se": float(np.sqrt(share * (1 - share) / len(outcomes))),
            }
        )
    return rows
