"""Intervals that hold at every look, gates that share their error out, and what is said of looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from make_rounds import binary_answers, draw_pair, labels_given, round_of, some_gold

import hero_eval as hero
from hero_eval.errors import InputError
from hero_eval.estimation.curves import AnytimeCurve, AnytimeDrift, Normal, drifting
from hero_eval.model.confidence_sequence import TUNED_ERROR, alpha_of, mixture_size, reach
from hero_eval.model.hero3.drift import DRIFT_DF, drift_steps
from hero_eval.round import Round


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


def _logits(ends: list[float]) -> np.ndarray:
    shares = np.clip(ends, 1e-9, 1.0 - 1e-9)
    return np.log(shares / (1.0 - shares))


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.05, 0.3, 0.8])
def test_drift_that_is_the_same_at_every_look_counts_once(size: float) -> None:
    """Looks were taken to draw drift anew, and an interval at a standard error of .095 went from 0 to 1."""
    rng = np.random.default_rng(5)
    draws, information = 4_000, np.geomspace(0.6**-2, 0.05**-2, 40)
    steps = rng.normal(size=(draws, 40)) * np.sqrt(np.diff(information, prepend=0.0))
    off = np.cumsum(steps, axis=1) / information + size * rng.standard_t(DRIFT_DF, (draws, 1))
    where = size * drift_steps(201)[None]
    curves = []
    for error in information**-0.5:
        kept = {"middle": 0.0, "center": 0.0, "noise": error**2, "df": np.inf, "bounds": (0.0, 1.0), "n_items": 1e9}
        once, m = drifting(where, np.ones(1), **kept), mixture_size((0.25 * error) ** 2, 1.0)
        total = mixture_size(0.25**2 * (error**2 + size**2 * 5 / 3), 1.0)
        curves.append(AnytimeDrift(drifting(where, np.ones(1), m=m, **kept), once, total, (0.0, 1.0)))
    bound = _logits([curve.quantile(0.95) for curve in curves])
    missed = (off > bound).any(axis=1).mean()
    assert missed <= 0.05  # at a Monte Carlo error of .0035; .015 to .035 are measured
    single = _logits([curve.once.quantile(0.95) for curve in curves])
    assert (off > single).any(axis=1).mean() > missed + 0.01
    assert (bound[-1] - single[-1]) < 0.9 * single[-1]  # taken for noise, a drift of .8 reached the end of the range
    ends = [curves[-1].below(curves[-1].quantile(p)) for p in (0.01, 0.025, 0.9, 0.99)]
    assert ends == pytest.approx([0.01, 0.025, 0.9, 0.99], abs=1e-6)


@pytest.mark.slow
def test_an_interval_for_every_look_is_of_use_where_rounds_drift() -> None:
    """It went from 0 to 1 where that of a single look goes from .19 to .64."""
    rng = np.random.default_rng(2)

    def drawn(shift: float, gold: float, name: str) -> Round:
        truth = (rng.random(300) < 0.4).astype(np.int64)
        right = 1.0 / (1.0 + np.exp(-np.array([[1.7], [1.4], [1.2]]) - shift * np.array([[-1.0, 1.0]])))
        labels = labels_given(rng, truth, binary_answers(right[:, 1], right[:, 0]))
        return round_of(labels, some_gold(rng, truth, gold), prefix=name, options={"name": name})

    past = [drawn(shift, 0.3, f"p{number}") for number, shift in enumerate((-0.6, 0.5, 0.0))]
    current = drawn(0.2, 0.0, "now")
    once, always = (hero.estimate_rate(current, past, method="hero3", interval=kind) for kind in (None, "anytime"))
    low, high = always.interval()
    assert low < once.interval()[0] < once.interval()[1] < high
    assert high - low < 1.6 * (once.interval()[1] - once.interval()[0])
    (told,) = [one for one in always.findings if one.code == "F514"]
    assert told.data["longer"] == pytest.approx((high - low) / (once.interval()[1] - once.interval()[0]))
    assert always.probability_above(low) == pytest.approx(0.975, abs=1e-4)
