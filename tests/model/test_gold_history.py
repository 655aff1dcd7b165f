"""The past rounds' gold as a prediction of a new round: what it must do in plain cases, and how often it is right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from hero_eval.model.gold_history import past_mean

pytestmark = pytest.mark.numbers


def test_value_is_the_mean_of_all_gold() -> None:
    """The rival would not be the plain mean that a team would take."""
    found = past_mean(np.array([[3, 1], [10, 6]]))
    assert found.value == pytest.approx([13 / 20, 7 / 20])
    assert (found.low < found.value).all()
    assert (found.value < found.high).all()


def test_two_classes_mirror_each_other() -> None:
    """The interval of the one class would not be that of the other, mirrored."""
    found = past_mean(np.array([[9, 1], [14, 6], [5, 5]]), n_items=80)
    assert found.low[0] == pytest.approx(1 - found.high[1], abs=1e-6)
    assert found.high[0] == pytest.approx(1 - found.low[1], abs=1e-6)


def test_rounds_that_differ_widen_the_interval() -> None:
    """Ten rounds that differ would promise as much as ten equal ones."""
    equal = past_mean(np.tile([20, 20], (10, 1)))
    apart = past_mean(np.array([[5, 35], [35, 5]] * 5))
    few = past_mean(np.tile([20, 20], (2, 1)))
    assert apart.high[1] - apart.low[1] > 2 * (equal.high[1] - equal.low[1])
    assert few.high[1] - few.low[1] > 1.5 * (equal.high[1] - equal.low[1])


def test_few_items_widen_it_too() -> None:
    """The share among ten items would be foretold as surely as the rate behind them."""
    counts = np.tile([20, 20], (10, 1))
    rate, ten, many = (past_mean(counts, n_items=size) for size in (None, 10, 1_000_000))
    assert ten.high[1] - ten.low[1] > rate.high[1] - rate.low[1]
    assert many.low == pytest.approx(rate.low, abs=2e-3)
    assert past_mean(counts, level=0.5).low[1] > rate.low[1]


def test_no_gold_is_unknown() -> None:
    """Nothing known would look like a rate of 0."""
    found = past_mean(np.zeros((2, 3)))
    assert np.isnan(found.value).all()
    assert (found.low == 0).all()
    assert (found.high == 1).all()


def test_a_class_never_seen_may_come() -> None:
    """A class without any gold in few past items would be ruled out."""
    found = past_mean(np.array([[12, 0], [9, 0]]), n_items=100)
    assert found.value[1] == 0
    assert found.low[1] == 0
    assert 0.05 < found.high[1] < 0.9


@pytest.mark.slow
def test_the_interval_covers() -> None:
    """The baseline would be a straw man, or too timid to be compared with."""
    rng = np.random.default_rng(4)
    hits, count = 0, 300
    for _ in range(count):
        rates = expit(rng.logistic() + abs(rng.normal()) * rng.normal(size=7))
        shown = rng.binomial(20, rates[:6])
        found = past_mean(np.stack([20 - shown, shown], axis=1))
        hits += found.low[1] <= rates[6] <= found.high[1]
    assert hits / count == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / count) ** 0.5)
