"""Classes with appeals: what all judges like in an item beside its class must not move the rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from make_rounds import finding, round_of
from scipy.special import ndtri

import hero_eval as hero
from hero_eval.estimation.ask import ask
from hero_eval.estimation.options import Options
from hero_eval.model.em import EMReport
from hero_eval.model.hero3 import level_selection
from hero_eval.model.hero3.appeals import class_certainty, gold_log_likelihood, lapse_covariance
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.hero3.shape import LevelParameters, LevelPrior, LevelShape, RoundRows
from hero_eval.model.patterns import patterns_of_matrix

Drawn = tuple[hero.Round, list[hero.Round], float]
N_JUDGES = 60


def judged(seed: int, n_gold: int = 15, other: float = 0.0) -> Drawn:
    """A current round of strict judges and five past ones of any mood; judges share errors, and are of unlike skill.

    `other` is the share of items of which the expert says the contrary of what judges see.
    """
    rng = np.random.default_rng([41, seed])
    skill, leaning = ndtri(rng.uniform(0.55, 0.9, N_JUDGES)), rng.normal(0.0, 0.25, N_JUDGES)
    rounds, rate = [], 0.0
    for number in range(6):
        n_items, mood = (150, -0.3) if number == 5 else (80, rng.normal(0.0, 0.3))
        seen = (rng.random(n_items) < rng.uniform(0.3, 0.7)).astype(int)
        noise = np.sqrt(0.3) * rng.standard_normal((n_items, 1)) + np.sqrt(0.7) * rng.standard_normal(
            (n_items, N_JUDGES)
        )
        labels = ((2 * seen[:, None] - 1) * skill + leaning + mood + noise > 0).astype(int)
        truth = np.where(rng.random(n_items) < other, 1 - seen, seen)
        gold = np.full(n_items, -1)
        shown = rng.choice(n_items, n_gold if number < 5 else 0, replace=False)
        gold[shown] = truth[shown]
        named = {"classes": ["0", "1"], "name": f"r{number}"}
        rounds.append(round_of(labels, gold if number < 5 else None, prefix=f"r{number}-", options=named))
        rate = float(truth.mean())
    return rounds[-1], rounds[:-1], rate


def levels_of(current: hero.Round, past: list[hero.Round]) -> LevelFit:
    fit = ask([current], past, Options("hero3")).question.fits[0].levels
    assert fit is not None
    return fit


@pytest.mark.slow
@pytest.mark.simulation
def test_appeal_is_told_from_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty judges in a strict mood would make a model look worse by a tenth, though their labels tell its class."""
    drawn = [judged(seed) for seed in range(2)]
    found = [hero.estimate_rate(current, past, method="hero3") for current, past, _ in drawn]
    monkeypatch.setattr(level_selection, "APPEALS", ())
    plain = [hero.estimate_rate(current, past, method="hero3") for current, past, _ in drawn]
    rates = np.array([rate for _, _, rate in drawn])
    off, off_plain = (np.abs(np.array([one.value for one in some]) - rates) for some in (found, plain))
    # two draws: a few items of 150 are off with appeals, and several times as many without
    assert off.max() < 0.025
    assert off.mean() < 0.5 * off_plain.mean()
    for one, rate in zip(found, rates, strict=True):
        low, high = one.interval()
        assert low <= rate <= high
        assert finding(one, "F204").data["appeals"] in (5, 9)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["the expert sees something else", "next to no gold"])
def test_appeals_need_gold_that_bears_them_out(case: str) -> None:
    """Labels part items by whatever judges see: taken for the expert's classes without proof, rates would be theirs."""
    n_gold, other = (15, 0.2) if case.startswith("the expert") else (1, 0.0)
    current, past, _ = judged(2, n_gold, other)
    assert levels_of(current, past).shape.n_appeals == 0


def fit_of(logit: float, gold: list[int], labels: list[int]) -> LevelFit:
    """One labeler whose answer has these odds of being right in either class, whatever the appeal."""
    patterns = patterns_of_matrix(np.array(labels)[:, None], 2, np.array(gold))
    rows = RoundRows(patterns, np.zeros(patterns.n_rows, int), 1, 2, np.zeros((patterns.n_rows, 0)))
    at = LevelParameters(np.array([[[-logit, logit, 0.0]]]), np.zeros(2), np.zeros((1, 1)), np.zeros((1, 1)))
    prior = LevelPrior(np.zeros(1, int), np.eye(3)[None], np.zeros((1, 1)), np.eye(1))
    return LevelFit(rows, LevelShape(0, 2, n_appeals=3), at, prior, EMReport(1, 0.0, True, 0.0), prior.groups)


def test_certainty_and_lapses_are_those_of_a_labeler_whose_odds_are_known() -> None:
    """A shape would be believed, or its interval be as long, by another rule than the one that is written down.

    With odds o = e^t : 1 an answer tells its class with p = o / (1 + o); two answers of each kind have the mean 1/2,
    so that p (1 - p) of the 1/4 is open. Gold that agrees has probability p, gold that does not 1 - p.
    """
    for logit in (0.7, 3.0):
        right = 1.0 / (1.0 + np.exp(-logit))
        fit = fit_of(logit, [0, 1, 0, -1], [0, 1, 1, 0])
        assert class_certainty(fit) == pytest.approx(1.0 - 4.0 * right * (1.0 - right), abs=1e-9)
        assert gold_log_likelihood(fit) == pytest.approx(2.0 * np.log(right) + np.log(1.0 - right), abs=1e-9)
        apart = 2.0 * (1.0 - right) + right + 0.5
        assert lapse_covariance(fit) == pytest.approx(np.array([[apart * (apart + 1.0) / (4.0 * 5.0)]]), abs=1e-9)
    sure = fit_of(40.0, [0, 1] * 30, [0, 1] * 30)
    # none of 60: Jeffreys' Beta(1/2, 60.5) has the mean square (1/2 * 3/2) / (61 * 62)
    assert lapse_covariance(sure)[0, 0] == pytest.approx(0.75 / (61.0 * 62.0), rel=1e-6)
    plain = replace(
        sure,
        shape=LevelShape(0, 2),
        parameters=LevelParameters(sure.parameters.answers[:, :, :2], np.zeros(0), np.zeros((1, 0)), np.zeros((1, 1))),
    )
    assert lapse_covariance(plain)[0, 0] == 0.0
