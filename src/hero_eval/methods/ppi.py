"""PPI: prediction-powered. The mean of the current round's gold, sharpened by what labels predict for all its items.

The interval rests on gold being a random part of the current round (or drawn with known probabilities) and on nothing
that is known of labelers: predictions (HERO-3's class shares, of history and current together where there is a
history) may be as wrong as they like, which only makes the interval longer (`model/prediction_powered.py`). A part of a
round is predicted by the gold of all its parts, which tells, too, how far predictions hold.
"""

from __future__ import annotations

import numpy as np

from hero_eval.findings import Finding
from hero_eval.methods.evidence import JointEvidence
from hero_eval.methods.hero3 import fitted_levels
from hero_eval.methods.registry import GoldNeed, method
from hero_eval.methods.result import Fit
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.item_posteriors import ItemPosteriors
from hero_eval.model.patterns import Floats, Ints, sum_by
from hero_eval.model.prediction_powered import Powered, gold_sample, left_out, powered_mean
from hero_eval.model.rates import EDGE_ITEMS, edge_point

LEAST_GOLD = 2
"""The variance of fewer is not to be had."""


def predictions(levels: LevelFit, n_history: int, weight: Floats) -> tuple[Floats, Ints]:
    """Class shares (n, K) of every current item by its labels and the other items' gold, and its gold (n,).

    weight (n,): what each item counts for in their mean, from which the shares of items with gold are measured.
    """
    rows = levels.rows
    shares = levels.shares.copy()
    where = rows.known & rows.is_current
    here = rows.patterns.row_of_item[n_history:]
    shares[where] = left_out(levels, where, sum_by(here, weight, len(shares)))
    return shares[here], rows.patterns.gold[here]


def powered(evidence: JointEvidence, levels: LevelFit) -> Powered:
    """The prediction-powered rates by a fit of HERO-3's model."""
    weight, times = evidence.unrouted.item_weight, evidence.current.times
    foreseen, gold = predictions(levels, evidence.n_history, weight if times is None else weight * times)
    of_gold = evidence.current.item_weight if evidence.gold_weight is None else evidence.gold_weight
    others = range(len(evidence.past) if evidence.of_one_round else 0)
    beside = [sample for number in others if (sample := gold_sample(levels, number)) is not None]
    return powered_mean(foreseen, gold, weight, of_gold, times, evidence.current.n_gold, beside)


def ppi_fit(evidence: JointEvidence, levels: LevelFit) -> Fit:
    """PPI's rates and influences, by a fit of HERO-3's model that may have been made for something else."""
    found = powered(evidence, levels)
    rates = _on_simplex(found.rates)
    edge = bool(rates.min() * found.worth < EDGE_ITEMS)
    n_gold, n_items = evidence.current.n_gold, evidence.current.n_items
    said = (
        f"the mean of {n_gold} gold items"
        + (", sharpened by what labels predict for all items" if found.power > 0 else "; labels add nothing to it")
        + f" (power {found.power:.2f})"
        if n_gold < n_items
        else f"every item has gold: the plain mean of {n_gold} gold items"
    )
    action = "" if n_gold < n_items else "Nothing; labels can add nothing where every item has gold."
    return Fit(
        rates=rates,
        inside=edge_point(rates, found.worth) if edge else rates,
        current=found.influence[:, 1:],
        history=None,
        paper=found.by_gold[:, 1:],
        on_edge=edge,
        report=levels.report,
        findings=(Finding("F320", said, {"power": found.power, "gold": n_gold, "worth": found.worth}, action),),
        levels=levels,
        edge_items=found.worth,
        posteriors=posteriors_at(evidence, levels, rates),
    )


def posteriors_at(evidence: JointEvidence, levels: LevelFit, rates: Floats) -> ItemPosteriors:
    """Of the current items, by a fit of HERO-3's model, in a round with these rates."""
    here = levels.rows.patterns.row_of_item[evidence.n_history :]
    return ItemPosteriors(levels.shares, here, levels.rows.known, evidence.unrouted.item_weight, rates)


def _on_simplex(rates: Floats) -> Floats:
    """A correction may lead past 0 or 1."""
    held = np.maximum(rates, 0.0)
    out: Floats = held / held.sum()
    return out


def rates(evidence: JointEvidence) -> Floats:
    return _on_simplex(powered(evidence, fitted_levels(evidence)).rates)


@method(
    "ppi",
    "The mean of the current round's gold, sharpened by what labels predict; rests on gold being random alone",
    JointEvidence,
    rates,
    gold=GoldNeed.OWN,
)
def ppi(evidence: JointEvidence) -> Fit:
    return ppi_fit(evidence, fitted_levels(evidence))
