"""What a method is given, what it returns, and the list of methods.

A new method is one file here with one `@method` function; the conformance tests find it through `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import numpy as np

from hero_eval.findings import Finding
from hero_eval.model.em import EMOptions, EMReport
from hero_eval.model.history import HistoryFit, Progress, fit_anchored, fit_gold_proportions
from hero_eval.model.latent import Latent
from hero_eval.model.moments import Forms, Moments
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns

if TYPE_CHECKING:
    from hero_eval.model.hero3.drift_variance import DriftVariance
    from hero_eval.model.hero3.fit import LevelFit

Need = Literal["gold", "history gold", "current gold", "covariates"]
"""`gold` is history's, or that of the current round where history has none."""
Take = Literal["covariates", "all labelers", "current gold", "history"]


@dataclass(frozen=True, eq=False)
class CovariateColumns:
    """Covariates of both rounds as they came, current (n, d) and history (N, d), nan = missing; texts share a scale."""

    names: tuple[str, ...]
    current: Floats
    history: Floats
    common_scale: Bools
    in_scope: Bools | None = None
    """(N,) the history items whose covariates are meant to count; None: all."""


def joined_times(patterns: Sequence[Patterns]) -> Floats | None:
    """`Patterns.times` of several patterns in a row; None where every entry is one item."""
    if all(one.times is None for one in patterns):
        return None
    return np.concatenate([np.ones(len(one.row_of_item)) if one.times is None else one.times for one in patterns])


@dataclass(frozen=True, eq=False)
class Wide:
    """Both rounds on the labelers of both: history's first, then those whom it never saw.

    `past` has the patterns of every past round, `current` every label and the current gold; groups (J,) number the
    labelers' groups; covariates are those of all current items.
    """

    labelers: tuple[str, ...]
    current: Patterns
    past: tuple[Patterns, ...]
    groups: Ints
    n_strangers: int = 0
    covariates: CovariateColumns | None = None

    @property
    def n_history(self) -> int:
        """Items of all past rounds."""
        return sum(len(one.row_of_item) for one in self.past)

    @property
    def history_weight(self) -> Floats:
        return np.concatenate([np.zeros(0), *(one.item_weight for one in self.past)])

    @property
    def history_times(self) -> Floats | None:
        """How many items each entry stands for where some round was counted without its items."""
        return joined_times(self.past)


@dataclass(frozen=True, eq=False)
class CountedCovariates:
    """Covariates of rounds that were counted without their items: sums by row of both rounds' patterns.

    `grams` gives, for linear forms of the covariates, the sums of products of their features by row of current.
    """

    names: tuple[str, ...]
    current: Moments
    history: Moments
    grams: Callable[[Forms], Floats]


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that a method may use.

    `current` holds the labels of labelers that history knows, `current_all` every label of the current round. Without
    a history that has gold the current round is its own: labelers are known by its gold, and `current` has every label,
    its items weighted by their known probabilities of having gold, which `current_all` leaves out. `alone` tells that
    this is a whole round, and the only one that is asked about: parts of a round differ from history because they are
    parts, and two rounds of the same labelers differ from it by the same drift.
    """

    n_classes: int
    current: Patterns
    current_all: Patterns
    history: Patterns | None = None
    covariates: CovariateColumns | None = None
    counted: CountedCovariates | None = None
    em: EMOptions = field(default_factory=EMOptions)
    penalty: float | None = None
    progress: Progress | None = None
    given: HistoryFit | None = None
    warm: Latent | None = None
    shrinkage: float = 0.0
    wide: Wide | None = None
    warm_levels: LevelFit | None = None
    over_both: bool = False
    alone: bool = True

    @property
    def learned_from(self) -> Patterns:
        """What reliabilities are learned from: history, or the current round where its own gold is all there is."""
        return self.current if self.history is None else self.history

    @cached_property
    def anchored(self) -> HistoryFit:
        """Reliabilities by anchored EM, fitted once however many methods ask."""
        if self.given is not None:
            return self.given
        return fit_anchored(self.learned_from, self.n_classes, self.em, self.progress, self.warm, self.shrinkage)

    @cached_property
    def gold_only(self) -> HistoryFit:
        return fit_gold_proportions(self.learned_from, self.n_classes)


@dataclass(frozen=True, eq=False)
class Fit:
    """Class rates and each item's influence on rates[1:].

    rates (K,); inside (K,) the same, or just off the edge where the rates lie on it; current (n, K-1); history
    (N, K-1) or None; by_mean (N, K-1): what of history's goes through the mean of its covariates; paper (n, K-1): the
    influence with reliabilities taken as known. `on_all` tells that n counts the items of `current_all`. `edge_items`
    is by how many items seen outright a rate on the edge is known, where those are fewer than the round's.
    """

    rates: Floats
    inside: Floats
    current: Floats
    history: Floats | None
    paper: Floats
    on_edge: bool = False
    on_all: bool = False
    report: EMReport | None = None
    findings: tuple[Finding, ...] = ()
    between: DriftVariance | None = None
    levels: LevelFit | None = None
    over_both: bool = False
    by_mean: Floats | None = None
    edge_items: float | None = None


@dataclass(frozen=True)
class Method:
    """A registry row. `needs` must be there; `takes` is used where it is."""

    name: str
    summary: str
    needs: tuple[Need, ...]
    run: Callable[[Evidence], Fit]
    rates: Callable[[Evidence], Floats]
    takes: tuple[Take, ...] = ()

    @property
    def uses_covariates(self) -> bool:
        return "covariates" in self.needs or "covariates" in self.takes

    @property
    def on_all(self) -> bool:
        """Whether every labeled item of the current round counts, whoever labeled it."""
        return not self.uses_history or "all labelers" in self.takes

    @property
    def uses_history(self) -> bool:
        """Whether history's gold has a say where there is any."""
        return "gold" in self.needs or "history gold" in self.needs or "history" in self.takes

    @property
    def uses_own_gold(self) -> bool:
        """Whether the current round's gold can stand in for a history that has none."""
        return "gold" in self.needs or self.by_design

    @property
    def by_design(self) -> bool:
        """Whether the interval rests on the current round's gold being random, not on what is known of labelers."""
        return "current gold" in self.needs


METHODS: dict[str, Method] = {}
ANCHORED = ("hero1", "hero2")
"""The methods that rest on the anchored EM of history, and so on one joint likelihood with it."""
_MODULES = ("majority_vote", "dawid_skene", "gold_proportion", "hero1", "hero2", "hero3", "ppi", "balanced")


Run = Callable[[Evidence], Fit]


def method(
    name: str,
    summary: str,
    rates: Callable[[Evidence], Floats],
    needs: tuple[Need, ...] = (),
    takes: tuple[Take, ...] = (),
) -> Callable[[Run], Run]:
    """Enter a function into the registry; `rates` gives its class rates alone, for the bootstrap."""

    def enter(run: Run) -> Run:
        METHODS[name] = Method(name, summary, needs, run, rates, takes)
        return run

    return enter


def all_methods() -> dict[str, Method]:
    """Every method by name, in the order of growing demands."""
    for module in _MODULES:
        import_module(f"hero_eval.methods.{module}")
    return {name: METHODS[name] for name in _MODULES}
