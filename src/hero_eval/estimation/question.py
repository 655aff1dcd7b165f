"""A question made ready: current rounds with their evidence over one history, the method, and its fits.

What is learned from history is learned once, and its error is counted once, however many current rounds there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_eval.blas_threads import one_blas_thread
from hero_eval.estimation.options import Options
from hero_eval.findings import Finding
from hero_eval.influence import Influence, Part
from hero_eval.labelers.reliability import Reliability
from hero_eval.methods.evidence import Evidence
from hero_eval.methods.registry import Method
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Bools, Floats
from hero_eval.round import Round

if TYPE_CHECKING:
    from hero_eval.estimation.transported import Misfits


@dataclass(frozen=True, eq=False)
class Current:
    """One current round made ready.

    `kept` (n_items,) tells which items its evidence has; a round that was counted without its items has neither that
    nor ids and clusters. `own` is what its own gold says of its labelers, where there is no history with gold.
    `siblings` are the places, among the current rounds of a question, of the other parts of the same round whose gold
    counts too: what its fit has as history are their items.
    """

    round: Round
    evidence: Evidence
    kept: Bools | None
    findings: tuple[Finding, ...]
    clusters: NDArray[np.object_] | None = None
    own: Reliability | None = None
    siblings: tuple[int, ...] = ()

    @property
    def n_items(self) -> int:
        return self.evidence.current.n_items

    @property
    def ids(self) -> NDArray[np.object_] | None:
        """The ids of the items that the evidence has."""
        return None if self.kept is None else self.round.item_ids[self.kept]

    @property
    def units(self) -> NDArray[np.object_] | None:
        """What moves together: the cluster of each item, or the item itself."""
        if self.clusters is None:
            return self.ids
        assert self.kept is not None
        return self.clusters[self.kept]


@dataclass(frozen=True, eq=False)
class Question:
    """Rounds and options, ready to be answered by `method`."""

    classes: tuple[str, ...]
    currents: tuple[Current, ...]
    reliability: Reliability | None
    method: Method
    why: str
    options: Options
    findings: tuple[Finding, ...] = ()
    history_clusters: NDArray[np.object_] | None = None
    rounds: tuple[Round, ...] = ()
    made: tuple[Method, tuple[Fit, ...]] | None = None
    """A method and its fits, where they were made before all else was known; another method fits anew."""
    misfits: Misfits | None = None
    """How the labels fit past rounds, where that was looked at to choose the method."""

    @property
    def n_gold(self) -> int:
        """The golds that the method uses, of history and of the current rounds."""
        return self.n_gold_history + self.n_gold_current

    @property
    def n_gold_history(self) -> int:
        return self.reliability.n_gold if self.method.uses_history and self.reliability is not None else 0

    @property
    def n_gold_current(self) -> int:
        used = self.method.evidence.reads_current_gold or any(current.own is not None for current in self.currents)
        return sum(current.round.n_gold for current in self.currents) if used else 0

    @cached_property
    def fits(self) -> tuple[Fit, ...]:
        """The method's fit of every current round, made once."""
        if self.made is not None and self.made[0] is self.method:
            return self.made[1]
        with one_blas_thread():
            return tuple(self.method.run(current.evidence) for current in self.currents)

    def influence(self, fit: Fit, current: Current, contrast: Floats) -> Influence:
        """Influence on  contrast . rates  for contrast (K,), with or without history by the kind of interval."""
        along = contrast[1:] - contrast[0]
        if self.options.interval == "paper":
            return Influence((Part("current", fit.paper @ along, current.ids),))
        past = None if fit.history is None else fit.history @ along
        if current.kept is None or (self.reliability is not None and self.reliability.counted.kept is None):
            items = _counted_influence(fit, current, along, past)
        else:
            by_mean = None if fit.by_mean is None else fit.by_mean @ along
            beside = current.siblings if past is not None else ()
            items = self.spread(fit.current @ along, current.units, None if beside else past, by_mean)
            if past is not None and beside:
                items = Influence((*items.parts, *self._of_siblings(past, beside)))
        if fit.between is None:
            return items
        beyond = float(np.sqrt(max(along @ fit.between.along(along).covariance() @ along, 0.0)))
        name = np.array([f"{self.currents.index(current)} {current.round.name}"], dtype=object)
        return Influence((*items.parts, Part("rounds", np.array([beyond]), name)))

    def _of_siblings(self, values: Floats, places: Sequence[int]) -> list[Part]:
        """Influences of the items of other parts of the same round: they are current items as well."""
        clustered = self.options.cluster is not None
        parts = [self.currents[place] for place in places]
        each = np.split(values, np.cumsum([one.n_items for one in parts])[:-1])
        source = "items" if clustered else "current"
        return [Part(source, of, one.units, distinct=not clustered) for of, one in zip(each, parts, strict=True)]

    def spread(
        self,
        values: Floats,
        units: NDArray[np.object_] | None,
        past: Floats | None = None,
        by_mean: Floats | None = None,
    ) -> Influence:
        """Item influences as parts; with clusters, history's and current's items of one cluster move together."""
        clustered = self.options.cluster is not None
        parts = [Part("items" if clustered else "current", values, units, distinct=not clustered)]
        if past is not None:
            ids, source = self.history_clusters, "items" if clustered else "history"
            parts.append(Part(source, past, ids, distinct=not clustered, by_mean=by_mean))
        return Influence(tuple(parts))

    @cached_property
    def df(self) -> float:
        """Degrees of freedom of the intervals: few clusters, or little gold, make them longer."""
        by_clusters = math.inf if self.options.cluster is None else max(self.n_clusters - 1.0, 1.0)
        if self.method.by_design:
            return min(by_clusters, max(min(current.round.n_gold for current in self.currents) - 1.0, 1.0))
        return min(by_clusters, gold_df(self.n_gold, len(self.classes)) if self.n_gold else math.inf)

    @property
    def n_clusters(self) -> int:
        """How many clusters the current items make."""
        clusters = [here.clusters if here.clusters is not None else here.units for here in self.currents]
        return len(np.unique(np.concatenate([one for one in clusters if one is not None]).astype(str)))


def _counted_influence(fit: Fit, current: Current, along: Floats, past: Floats | None) -> Influence:
    """Influences of which some stand for several items that were not told apart."""
    values = fit.current @ along
    times = current.evidence.current.times
    here = times if times is not None and len(times) == len(values) else None
    parts = [Part("current", values, current.units, times=here)]
    if past is not None:
        parts.append(Part("history", past, None, times=current.evidence.history_times(len(past))))
    return Influence(tuple(parts))


def gold_df(n_gold: float, n_classes: int) -> float:
    """Degrees of freedom of the t distribution that intervals use, by the gold that reliabilities rest on.

    One for each gold item (of each class against the first) while they are few; the allowance fades faster than that
    once they are not. The coverage study shows that this is what the normal distribution lacks.
    """
    each = n_gold / (n_classes - 1)
    return max(each, each**2 / 20.0, 1.0)
