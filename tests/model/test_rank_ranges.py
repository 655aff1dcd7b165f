"""Claims that hold together, from which ranges of ranks are made: against a slow twin, and where models are tied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hero_eval.model.simultaneous import SPENT, MaxT, rank_ranges


def naive_chances(test: MaxT, t: np.ndarray, level: float) -> dict[tuple[int, int], float]:
    """Step by step, from the clearest claim on: how often one that is open would look as clear by chance."""
    n, errors = len(t), test._errors
    own = np.diag(test.covariance)
    scale = {(i, j): np.sqrt(own[i] + own[j] - 2 * test.covariance[i, j]) for i in range(n) for j in range(n) if i != j}
    reach = test.critical(1 - SPENT * (1 - level))
    open_still, found, so_far = sorted(scale, key=lambda pair: t[pair]), {}, 0.0
    while open_still:
        largest = np.max(
            [(errors[:, i] - errors[:, j]) / scale[i, j] + min(t[i, j] + reach, 0.0) for i, j in open_still], axis=0
        )
        pair = open_still.pop()
        so_far = found[pair] = max(so_far, float(np.mean(largest >= t[pair])))
    return found


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 5), st.sampled_from([0.8, 0.95]))
def test_claims_are_those_of_the_slow_twin(seed: int, n: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(0, 1, (n, n)) + 2 * np.eye(n)
    covariance = root @ root.T
    estimate = rng.normal(0, 1, n) * rng.choice([1.0, 10.0])
    spread = np.sqrt(np.add.outer(np.diag(covariance), np.diag(covariance)) - 2 * covariance + np.eye(n))
    t = (estimate[:, None] - estimate[None, :]) / spread
    test = MaxT(covariance, t, np.inf)
    claimed = (test.told(level) <= 1 - level) & (t > 0)
    found = {(int(i), int(j)) for i, j in np.argwhere(claimed)}
    bar = (1 - SPENT) * (1 - level)
    for pair, chance in naive_chances(test, t, level).items():
        if t[pair] > 0 and abs(chance - bar) > 0.004:  # Holm's bound may move what lies on the edge
            assert (pair in found) == (chance <= bar)
    # claims that the one-step test makes with room to spare are made
    assert {(int(i), int(j)) for i, j in np.argwhere(test.adjusted() <= (1 - SPENT) * (1 - level))} <= found


@pytest.mark.slow
@pytest.mark.simulation
def test_ranges_of_ranks_hold_as_often_as_they_promise_where_models_are_tied() -> None:
    """Tied models are the hardest case: of 200 draws 95% hold, with a Monte Carlo error of 1.5%."""
    rng = np.random.default_rng(5)
    held = []
    for _ in range(200):
        estimate = rng.normal(0.0, 1.0, 4)
        t = (estimate[:, None] - estimate[None, :]) / np.sqrt(2.0)
        low, high = rank_ranges((MaxT(np.eye(4) - 0.25, t, np.inf).told(0.95) <= 0.05) & (t > 0))
        held.append(bool((low == 1).all() and (high == 4).all()))
    assert 0.95 - 3 * 0.0154 <= np.mean(held) <= 0.95 + 3 * 0.0154
