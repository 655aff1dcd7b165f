"""The list of methods, and what each declares of itself.

A new method is one file here with one `@method` function and its name in `_MODULES`, after those that need no more than
it does. Tests that run every method (`tests/estimation/test_bounds.py`) then run it too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Any, TypeVar

from hero_eval.methods.evidence import Evidence
from hero_eval.methods.result import Fit
from hero_eval.model.patterns import Floats


class GoldNeed(Enum):
    """The gold that a method cannot do without."""

    NONE = ""
    HISTORY = "history gold"
    EITHER = "gold"
    """History's, or that of the current round where history has none."""
    OWN = "current gold"
    """That of the current round, taken as a random part of it: the interval rests on that, not on what is known of
    labelers."""


class CovariateUse(Enum):
    """Whether a method uses covariates."""

    NEVER = 0
    IF_GIVEN = 1
    ALWAYS = 2


@dataclass(frozen=True)
class Method:
    """A row of the registry: what a method is given, what it needs, and how it is run.

    `rates` gives the class rates alone, for the bootstrap. `anchored`: it rests on anchored EM of history, and so on
    one joint likelihood with it, which has a profile. `by_gold_rows`: what it knows of labelers comes from items with
    gold alone.
    """

    name: str
    summary: str
    evidence: type[Evidence]
    run: Callable[[Any], Fit]
    rates: Callable[[Any], Floats]
    gold: GoldNeed = GoldNeed.NONE
    covariates: CovariateUse = CovariateUse.NEVER
    anchored: bool = False
    by_gold_rows: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be there, in words."""
        gold = (self.gold.value,) if self.gold is not GoldNeed.NONE else ()
        return (*gold, "covariates") if self.needs_covariates else gold

    @property
    def needs_covariates(self) -> bool:
        return self.covariates is CovariateUse.ALWAYS

    @property
    def uses_covariates(self) -> bool:
        return self.covariates is not CovariateUse.NEVER

    @property
    def uses_history(self) -> bool:
        """Whether history's gold has a say where there is any."""
        return self.gold is not GoldNeed.NONE

    @property
    def by_design(self) -> bool:
        """Whether the interval rests on the current round's gold being random, not on what is known of labelers."""
        return self.gold is GoldNeed.OWN

    @property
    def takes_groups(self) -> bool:
        """Whether labelers that history never saw count, so that their groups tell something."""
        return self.uses_history and self.evidence.every_labeler


METHODS: dict[str, Method] = {}
_MODULES = ("majority_vote", "dawid_skene", "gold_proportion", "hero1", "hero2", "hero3", "ppi", "balanced")

E = TypeVar("E", bound=Evidence)


def method(
    name: str,
    summary: str,
    evidence: type[E],
    rates: Callable[[E], Floats],
    *,
    gold: GoldNeed = GoldNeed.NONE,
    covariates: CovariateUse = CovariateUse.NEVER,
    anchored: bool = False,
    by_gold_rows: bool = False,
) -> Callable[[Callable[[E], Fit]], Callable[[E], Fit]]:
    """Enter a function into the registry, with what it declares of itself."""

    def enter(run: Callable[[E], Fit]) -> Callable[[E], Fit]:
        METHODS[name] = Method(name, summary, evidence, run, rates, gold, covariates, anchored, by_gold_rows)
        return run

    return enter


def all_methods() -> dict[str, Method]:
    """Every method by name, in the order of growing demands."""
    for module in _MODULES:
        if module not in METHODS:
            import_module(f"hero_eval.methods.{module}")
    return {name: METHODS[name] for name in _MODULES}
