"""The paper's claims about its five methods, each by seeded simulation with its Monte Carlo error."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hero_eval.methods.registry import all_methods
from hero_eval.studies.designs import EXPERIMENTS, Design
from hero_eval.studies.run import Cell, _run_job

REPLICATIONS = 200
METHODS = list(all_methods())


@cache
def errors(design: Design, position: int = 0) -> np.ndarray:
    """(replications, methods): estimate minus truth; the same draws for all methods."""
    cell = Cell("exp1-small", position, design.name, design.gold_rate, design.concentration, design)
    values = _run_job((cell, 20_26, 0, REPLICATIONS))[:, :, 0]
    return values - design.true_rate()


def of(design: Design, method: str, position: int = 0) -> np.ndarray:
    return errors(design, position)[:, METHODS.index(method)]


def rmse(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def gap(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Mean difference of squared errors on the same draws, and its Monte Carlo error."""
    difference = first**2 - second**2
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))


SMALL = {design.gold_rate: design for design in EXPERIMENTS["exp1-small"]}
LARGE = {design.gold_rate: design for design in EXPERIMENTS["exp1-large"]}
SPREAD = {design.concentration: design for design in EXPERIMENTS["exp2"] if design.gold_rate == 0.10}


def test_majority_bias_does_not_move_with_the_gold_rate() -> None:
    """Majority vote would seem to learn from gold, which it never sees."""
    low, high = of(LARGE[0.05], "majority_vote", 1), of(LARGE[0.10], "majority_vote", 2)
    error = np.sqrt(low.var(ddof=1) / len(low) + high.var(ddof=1) / len(high))
    assert abs(low.mean() - high.mean()) < 3 * error
    assert low.mean() > 0.15  # and it is large: high sensitivity, poor specificity


@pytest.mark.parametrize("designs", [SMALL, LARGE], ids=["small", "large"])
def test_hero1_beats_gold_proportions_at_every_gold_rate(designs: dict[float, Design]) -> None:
    """Using the rows without gold would not pay."""
    gains = []
    for position, rate in enumerate(sorted(designs)[:: 4 if designs is SMALL else 2]):
        plain, hero = (of(designs[rate], name, position + 3) for name in ("gold_proportion", "hero1"))
        mean, error = gap(plain, hero)
        assert mean > 2 * error, f"gold rate {rate}"
        gains.append(rmse(plain) - rmse(hero))
    assert gains[0] == max(gains)  # most where gold is scarcest


def test_hero2_is_no_worse_with_an_informative_covariate() -> None:
    """The control variate would add noise instead of taking it away."""
    for rate in (0.05, 0.10):
        mean, error = gap(of(LARGE[rate], "hero2", 1), of(LARGE[rate], "hero1", 1))
        assert mean < 2 * error
    together = np.concatenate([errors(LARGE[rate], 1) for rate in (0.05, 0.10)])
    second, first = (rmse(together[:, METHODS.index(name)]) for name in ("hero2", "hero1"))
    assert second < first


def test_hero2_is_hero1_with_a_useless_covariate() -> None:
    """A covariate that says nothing would change the answer."""
    useless = replace(LARGE[0.10], slope=0.0)
    first, second = of(useless, "hero1"), of(useless, "hero2")
    assert rmse(second) == pytest.approx(rmse(first), rel=0.03)
    assert np.abs(first - second).mean() < 0.15 * rmse(first)


def test_majority_worsens_as_labelers_differ_while_hero_does_not() -> None:
    """Heterogeneous labelers would hurt HERO as they hurt the vote."""
    alike, unlike = SPREAD[150.0], SPREAD[3.0]
    assert rmse(of(unlike, "majority_vote")) > rmse(of(alike, "majority_vote")) + 0.01
    for name in ("hero1", "hero2"):
        mean, error = rmse(of(unlike, name)) - rmse(of(alike, name)), rmse(of(unlike, name)) / np.sqrt(REPLICATIONS)
        assert mean < 2 * error


def test_figures_are_those_of_an_independent_implementation() -> None:
    """Our HERO would be another method than the paper's: RMSE as measured elsewhere, within 3 Monte Carlo errors."""
    for design, hero1, hero2 in (
        (SMALL[0.01], 0.142, 0.141),
        (SMALL[0.05], 0.109, 0.108),
        (SMALL[0.10], 0.102, 0.100),
        (LARGE[0.05], 0.048, 0.047),
        (LARGE[0.10], 0.046, 0.045),
        (SPREAD[3.0], 0.042, 0.039),
    ):
        for name, figure in (("hero1", hero1), ("hero2", hero2)):
            ours = of(design, name)
            error = (ours**2).std(ddof=1) / np.sqrt(REPLICATIONS) / (2 * rmse(ours))
            # both figures come from 200 replications, so their difference has sqrt(2) times the error
            assert abs(rmse(ours) - figure) < 3 * np.sqrt(2) * error + 0.0005, (design.name, name, rmse(ours))
