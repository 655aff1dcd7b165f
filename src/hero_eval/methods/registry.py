"""What a method is given, what it returns, and the list of methods.

A new method is one file here with one `@method` function; the conformance tests find it through `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Literal

from hero_eval.findings import Finding
from hero_eval.model.em import EMOptions, EMReport
from hero_eval.model.history import HistoryFit, Progress, fit_anchored, fit_gold_proportions
from hero_eval.model.latent import Latent
from hero_eval.model.moments import Forms, Moments
from hero_eval.model.patterns import Bools, Floats, Patterns

Need = Literal["history gold", "covariates"]


@dataclass(frozen=True, eq=False)
class CovariateColumns:
    """Covariates of both rounds as they came, current (n, d) and history (N, d), nan = missing; texts share a scale."""

    names: tuple[str, ...]
    current: Floats
    history: Floats
    common_scale: Bools
    in_scope: Bools | None = None
    """(N,) the history items whose covariates are meant to count; None: all."""


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

    `current` holds the labels of labelers that history knows, `current_all` every label of the current round.
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

    @cached_property
    def anchored(self) -> HistoryFit:
        """History's reliabilities by anchored EM, fitted once however many methods ask."""
        if self.given is not None:
            return self.given
        assert self.history is not None
        return fit_anchored(self.history, self.n_classes, self.em, self.progress, self.warm, self.shrinkage)

    @cached_property
    def gold_only(self) -> HistoryFit:
        assert self.history is not None
        return fit_gold_proportions(self.history, self.n_classes)


@dataclass(frozen=True, eq=False)
class Fit:
    """Class rates and each item's influence on rates[1:].

    rates (K,); inside (K,) the same, or just off the edge where the rates lie on it; current (n, K-1); history
    (N, K-1) or None; paper (n, K-1): the influence with reliabilities taken as known. `on_all` tells that n counts
    the items of `current_all`.
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


@dataclass(frozen=True)
class Method:
    """A registry row."""

    name: str
    summary: str
    needs: tuple[Need, ...]
    run: Callable[[Evidence], Fit]
    rates: Callable[[Evidence], Floats]


METHODS: dict[str, Method] = {}
ANCHORED = ("hero1", "hero2")
"""The methods that rest on the anchored EM of history, and so on one joint likelihood with it."""
_MODULES = ("majority_vote", "dawid_skene", "gold_proportion", "hero1", "hero2")


Run = Callable[[Evidence], Fit]


def method(
    name: str, summary: str, rates: Callable[[Evidence], Floats], needs: tuple[Need, ...] = ()
) -> Callable[[Run], Run]:
    """Enter a function into the registry; `rates` gives its class rates alone, for the bootstrap."""

    def enter(run: Run) -> Run:
        METHODS[name] = Method(name, summary, needs, run, rates)
        return run

    return enter


def all_methods() -> dict[str, Method]:
    """Every method by name, in the order of growing demands."""
    for module in _MODULES:
        import_module(f"hero_eval.methods.{module}")
    return {name: METHODS[name] for name in _MODULES}
