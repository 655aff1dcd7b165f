"""Moderation of rounds that drift: both groups of items are read by the same labelers, strict or mild for a round."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from make_rounds import round_of
from scipy.special import expit, logit

import hero_eval as hero
from hero_eval.round import Round
from hero_eval.targets.moderation import Moderation

N_ITEMS, N_PAST = 400, 3


def moderated(seed: int) -> tuple[Round, list[Round], dict[str, float]]:
    """Four judges who err together and whose level moves from round to round; a sixth of the items are violations."""
    rng = np.random.default_rng([seed, 47])
    right = logit(rng.uniform(0.7, 0.92, (2, 4)))
    load = rng.uniform(0.5, 1.5, 4)
    made, true = [], {}
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
        true = {"prevalence": truth.mean(), "precision": truth[flagged == 1].mean(), "recall": flagged[truth == 1].mean()}
    return made[-1], made[:-1], true


@cache
def found(seed: int) -> tuple[Moderation, dict[str, float]]:
    current, past, true = moderated(seed)
    return hero.estimate_moderation(current, past, flag="flagged", method="hero3"), true


@pytest.mark.slow
def test_drift_that_both_groups_share_adds_up_in_the_prevalence() -> None:
    """As if each group drifted by itself, the prevalence would be surer than either of the rates that make it."""
    current, past, _ = moderated(1)
    flags = current.flags("flagged")
    rates = [hero.estimate_rate(current.select(flags == side), past, method="hero3") for side in (True, False)]
    drift = [math.sqrt(one.influence.variance_by_source()["rounds"]) for one in rates]
    share = float(flags.mean())
    together = share * drift[0] + (1.0 - share) * drift[1]
    of_whole = found(1)[0].prevalence.influence.variance_by_source()["rounds"]
    assert of_whole == pytest.approx(together**2, rel=0.02)
    assert math.hypot(share * drift[0], (1.0 - share) * drift[1]) < 0.9 * together


@pytest.mark.slow
def test_recall_holds_where_judges_grow_mild() -> None:
    """A rare class takes drift lopsidedly, and far: what unflagged items hide would be overrated beyond the interval."""
    covered = []
    for seed in range(14):
        estimates, true = found(seed)
        covered += [[one.interval()[0] <= true[name] <= one.interval()[1] for name, one in estimates.items() if name in true]]
    assert np.sum(covered, axis=0).min() >= 13
