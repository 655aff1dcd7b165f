"""How many labels an item gets may depend on what it is: the rate is then biased, and gold alone shows it."""

from __future__ import annotations

import numpy as np
import pytest
from make_rounds import Array, round_of

import hero_eval as hero
from hero_eval.estimate import Estimate
from hero_eval.gates import Gate

RATE = 0.3


def rounds_of(seed: int, sent: float, *, adaptive: bool = False, size: int = 300) -> list[hero.Round]:
    """Two past rounds and a current one of five labelers; those of class 1 are sent to a labeler with probability
    .95, others with probability `sent`. `adaptive`: three labels, and two more where these disagree."""
    rng = np.random.default_rng([211, seed])
    right = rng.uniform(0.72, 0.95, (2, 5))
    made = []
    for number in range(3):
        truth = (rng.random(size) < RATE).astype(int)
        labels = np.where(rng.random((size, 5)) < right[truth], truth[:, None], 1 - truth[:, None])
        asked = rng.random((size, 5)) < np.where(truth == 1, 0.95, sent)[:, None]
        asked[np.arange(size), rng.integers(0, 5, size)] = True
        if adaptive:
            first = labels[:, :3]
            asked = (np.arange(5) < 3) | (np.ptp(first, axis=1) > 0)[:, None]
        gold: Array | None = np.where(np.arange(size) < 150, truth, -1) if number < 2 else None
        labels = np.where(asked, labels, -1)
        made.append(round_of(labels, gold, {"number": asked.sum(axis=1)}, prefix=f"r{number}-"))
    return made


def asked_of(seed: int, sent: float, covariates: list[str] | None = None, *, adaptive: bool = False) -> Estimate:
    *past, now = rounds_of(seed, sent, adaptive=adaptive)
    return hero.estimate_rate(now, past, method="hero3", covariates=covariates)


def codes(found: Estimate) -> set[str]:
    return {one.code for one in found.findings}


@pytest.mark.slow
def test_a_filter_that_knows_more_than_the_labels_is_said() -> None:
    """Items that a filter sends to more people look worse than they are, and a gate opens on that."""
    found = asked_of(5, 0.4)
    said = next(one for one in found.findings if one.code == "F211")
    assert said.doubts_interval
    assert said.data["class"] == "1"
    assert found.value > RATE + 0.02
    assert Gate(fail_below=0.05).verdict(found).state == "undecided"
    mended = asked_of(5, 0.4, ["number"])
    assert "F211" not in codes(mended)
    low, high = mended.interval()
    assert low < RATE < high
    assert abs(mended.value - RATE) < abs(found.value - RATE)


@pytest.mark.slow
def test_more_labels_where_labels_disagree_are_no_matter() -> None:
    """Teams that ask again where two disagree would be warned of a bias that is not there."""
    assert sum("F211" in codes(asked_of(seed, 0.4, adaptive=True)) for seed in range(6)) <= 2
    assert "F211" not in codes(asked_of(0, 0.95))
