"""Intervals that hold at every look, gates that share their error out, and what is said of looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from make_rounds import draw_pair

import hero_eval as hero
from hero_eval.errors import InputError
from hero_eval.estimation.curves import AnytimeCurve, Normal
from hero_eval.model.confidence_sequence import TUNED_ERROR, alpha_of, mixture_size, reach


def test_the_reach_is_that_of_the_mixture() -> None:
    """Derivation: with m = 1 and alpha = .05 it is sqrt(2 log(2 / .0025)) = sqrt(2 * 6.6846) = 3.6564."""
    assert reach(0.05, 1.0) == pytest.approx(3.6564, abs=1e-4)
    for m in (0.1, 1.0, 30.0):
        assert alpha_of(reach(0.05, m), m) == pytest.approx(0.05)
    m = mixture_size(TUNED_ERROR**2, 1.0)
    assert reach(0.05, m) / 1.95996 == pytest.approx(1.55, abs=0.01)
    assert all(reach(0.05, m * factor) >= reach(0.05, m) for factor in (0.5, 2.0))
    assert max(reach(0.05, m * factor) for factor in (0.25, 4.0)) < 1.7 * 1.96


def test_curves_agree_with_themselves() -> None:
    curve = AnytimeCurve(Normal(0.4, 0.03, (0.0, 1.0)), 4.0)
    for p in (0.01, 0.05, 0.2, 0.9, 0.975):
        assert curve.below(curve.quantile(p)) == pytest.approx(p)
    assert curve.quantile(0.5) == pytest.approx(0.4)
    assert curve.below(0.401) == pytest.approx(0.5, abs=0.01)


@pytest.mark.simulation
def test_means_of_growing_samples_stay_inside() -> None:
    """1,000 streams of 50 looks: three Monte Carlo errors of 5% are .021. Fixed intervals leave in about 30%."""
    rng = np.random.default_rng(5)
    values = (rng.random((1_000, 2_000)) < 0.5).astype(float)
    sizes = np.arange(40, 2_001, 40)
    mean = values.cumsum(axis=1)[:, sizes - 1] / sizes
    error = np.sqrt(np.maximum(mean * (1 - mean), 1e-4) / sizes)
    z = np.abs(mean - 0.5) / error
    bound = np.vectorize(lambda one: reach(0.05, mixture_size(one**2, 1.0)))(error)
    assert (z > bound).any(axis=1).mean() < 0.05 + 0.021
    assert (z > 1.96).any(axis=1).mean() > 0.2


@pytest.mark.slow
def test_any_target_can_ask_for_it() -> None:
    pair = draw_pair(3)
    usual = hero.estimate_rate(pair.current, pair.history, method="hero1")
    always = hero.estimate_rate(pair.current, pair.history, method="hero1", interval="anytime")
    (low, high), (least, most) = usual.interval(), always.interval()
    assert always.value == usual.value
    assert always.interval_kind == "anytime"
    assert least < low < high < most
    assert 1.4 < (most - least) / (high - low) < 1.8
    assert "F514" in [one.code for one in always.findings]
    assert always.to_dict()["interval"]["kind"] == "anytime"


def test_gates_share_their_error_out() -> None:
    pair = draw_pair(3)
    rate = hero.estimate_rate(pair.current, pair.history, method="hero1")
    once, often = hero.Gate(fail_above=0.9), hero.Gate(fail_above=0.9, looks=30)
    assert often.verdict(rate).bound == pytest.approx(rate.interval(1 - 0.05 / 30, side="upper")[1])
    assert often.verdict(rate).bound > once.verdict(rate).bound
    assert often.to_dict([often.verdict(rate)])["looks"] == 30
    assert "looks" not in once.to_dict([once.verdict(rate)])
    with pytest.raises(InputError, match="E201 looks is 0"):
        hero.Gate(fail_above=0.5, looks=0)
    assert math.isfinite(often.verdict(rate).bound)
