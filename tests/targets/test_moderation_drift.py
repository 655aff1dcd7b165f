"""Moderation of rounds that drift: both groups of items are read by the same labelers, strict or mild for a round."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from make_rounds import round_of
from scipy.special import expit, logit

import hero_eval as hero
from hero_eval.estimate import Estimate
from hero_eval.round import Round
from hero_eval.targets.moderation import Moderation

N_ITEMS, N_PAST = 400, 3


def moderated(seed: int) -> tuple[Round, list[Round]]:
    """Four judges who err together and whose level moves from round to round; a sixth of the items are violations."""
    rng = np.random.default_rng([seed, 47])
    right = logit(rng.uniform(0.7, 0.92, (2, 4)))
    load = rng.uniform(0.5, 1.5, 4)
    made = []
    for number in range(N_PAST + 1):
        truth = (rng.random(N_ITEMS) < expit(logit(0.15) + 0.3 * rng.normal())).astype(int)
        flagged = (rng.random(N_ITEMS) < np.where(truth == 1, 0.7, 0.1)).astype(int)
        seen = np.where(truth[:, None] == 1, right[1], -right[0]) + 0.3 * rng.normal()
        seen += 0.7 * rng.normal(size=N_ITEMS)[:, None] * load
        labels = (rng.random(seen.shape) < expit(seen)).astype(int)
        known = np.isin(np.arange(N_ITEMS), rng.choice(N_ITEMS, 50, replace=False)) & (number < N_PAST)
        gold = np.where(known, truth, -1)
        columns = {"flagged": flagged}
        made.append(round_of(labels, gold if known.any() else None, columns, prefix=f"r{number}-"))
    return made[-1], made[:-1]


@cache
def found(seed: int) -> tuple[Moderation, Estimate, list[Estimate]]:
    """Moderation, the rate of the whole round, and those of the flagged and the unflagged items."""
    current, past = moderated(seed)
    flags = current.flags("flagged")
    whole, *each = (
        hero.estimate_rate(one, past, method="hero3")
        for one in (current, current.select(flags), current.select(~flags))
    )
    return hero.estimate_moderation(current, past, flag="flagged", method="hero3"), whole, each


def by_drift(one: Estimate) -> float:
    return math.sqrt(one.influence.variance_by_source()["rounds"])


@pytest.mark.slow
def test_drift_of_both_groups_adds_up_in_the_prevalence() -> None:
    """As if each group drifted by itself, the prevalence would be surer than either of the rates that make it."""
    made, _, each = found(1)
    share = made.flagged_share.value
    parts = np.array([share, 1.0 - share]) * [by_drift(one) for one in each]
    assert by_drift(made.prevalence) == pytest.approx(parts.sum(), rel=0.02)
    assert math.hypot(*parts) < 0.9 * parts.sum()


@pytest.mark.slow
def test_drift_of_one_group_alone_counts_in_recall() -> None:
    """Where violations are rare judges who grow mild are off much farther: as if both groups were off alike, recall
    would hardly drift."""
    made, _, each = found(1)
    recall = made.recall.value
    parts = recall * (1.0 - recall) * np.array([by_drift(one) / one.value for one in each])
    assert by_drift(made.recall) == pytest.approx(math.hypot(*parts), rel=0.05)
    assert abs(parts[0] - parts[1]) < 0.9 * by_drift(made.recall)


@pytest.mark.slow
def test_a_prevalence_is_as_sure_as_the_rate_of_the_same_round() -> None:
    """The same number from the same data: its interval was two thirds as long where items were also flagged."""
    lengths = [[np.ptp(one.interval()) for one in (found(seed)[0].prevalence, found(seed)[1])] for seed in range(4)]
    of_prevalence, of_rate = np.mean(lengths, axis=0)
    assert 0.8 < of_prevalence / of_rate < 1.25
