"""What a method returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hero_eval.findings import Finding
from hero_eval.model.em import EMReport
from hero_eval.model.patterns import Floats

if TYPE_CHECKING:
    from hero_eval.model.hero3.drift_variance import DriftVariance
    from hero_eval.model.hero3.fit import LevelFit
    from hero_eval.model.item_posteriors import ItemPosteriors


@dataclass(frozen=True, eq=False)
class Fit:
    """Class rates and each item's influence on rates[1:].

    rates (K,); inside (K,) the same, or just off the edge where the rates lie on it; current (n, K-1); history
    (N, K-1) or None; by_mean (N, K-1): what of history's goes through the mean of its covariates; paper (n, K-1): the
    influence with reliabilities taken as known. n counts the items of the evidence. `edge_items` is by how many items
    seen outright a rate on the edge is known, where those are fewer than the round's. `posteriors` has the class
    probabilities of the current items, None if the method knows none.
    """

    rates: Floats
    inside: Floats
    current: Floats
    history: Floats | None
    paper: Floats
    on_edge: bool = False
    report: EMReport | None = None
    findings: tuple[Finding, ...] = ()
    between: DriftVariance | None = None
    levels: LevelFit | None = None
    over_both: bool = False
    by_mean: Floats | None = None
    edge_items: float | None = None
    posteriors: ItemPosteriors | None = None
