"""What changes between rounds: a shift that is drift or not, what gold in the current round says, and what is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_rounds import codes, finding, labels_of, round_of, some_gold
from random_examples import examples
from scipy import integrate, optimize, stats

import hero_eval as hero
from hero_eval.estimation.curves import drifting
from hero_eval.model.hero3 import drift_split
from hero_eval.model.hero3.current_rates import FittedRound
from hero_eval.model.hero3.drift import (
    DRIFT_DF,
    SIZE_SCALE,
    SIZES,
    DriftPosterior,
    distance,
    drift_posterior,
    drift_steps,
    gold_shift,
    label_shares,
    learn_drift,
    line_marginals,
    mean_shifted,
    mean_slopes,
    shift_logits,
    size_marginals,
)
from hero_eval.model.hero3.drift_split import TYPICAL_SHIFT, split_shift
from hero_eval.model.hero3.drift_variance import DriftVariance
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.latent import log_softmax
from hero_eval.round import Round

Array = np.ndarray


def slow_split(seen: float, reach: float, size: float) -> float:
    """The mean of what rates moved, by the trapezoidal rule: their move is Cauchy, the rest is drift."""
    drift = np.sinh(np.linspace(-12.0, 12.0, 40_001))
    moves = seen - reach * size * drift
    heights = stats.t.pdf(drift, DRIFT_DF) / (1 + (moves / TYPICAL_SHIFT) ** 2)
    return float(integrate.trapezoid(moves * heights, moves) / integrate.trapezoid(heights, moves))


@examples(50)
@given(seen=st.floats(-4, 4), reach=st.floats(0.05, 1.0), size=st.floats(0.1, 0.6))
def test_a_shift_is_split_as_by_quadrature(seen: float, reach: float, size: float) -> None:
    """A model's gain would be taken for drift, or drift for a gain, by more than the stated distributions say."""
    moved = split_shift(np.array([seen]), np.array([[reach]]), size)
    assert moved[0] == pytest.approx(slow_split(seen, reach, size), abs=2e-4)


def test_large_shifts_are_believed_and_small_ones_halved() -> None:
    """A much better model would be told to be like the last one, or a wobble of the judges to be progress."""
    kept = {seen: split_shift(np.array([seen]), np.eye(1))[0] / seen for seen in (0.1, 0.5, 1.0, 2.0, 4.0)}
    assert list(kept.values()) == sorted(kept.values())
    assert kept[0.1] == pytest.approx(0.51, abs=0.01)
    assert kept[4.0] > 0.9
    assert split_shift(np.array([0.3]), np.array([[0.05]]))[0] == pytest.approx(0.3, rel=0.02)  # labels tell well


def drifted_golds(moves: Array, direction: Array, seed: int) -> tuple[Array, Array, Array, Array]:
    """Golds of rounds whose class logits are off by `moves` (R,) times the direction: logits by labels, gold, round and
    counts."""
    rng = np.random.default_rng([seed, 83])
    number = np.repeat(np.arange(len(moves)), 80)
    offset = log_softmax(1.5 * rng.normal(size=(len(number), len(direction) + 1)), axis=1)
    moved = np.exp(log_softmax(offset + moves[number][:, None] * np.append(0.0, direction), axis=1))
    gold = (rng.random(len(number))[:, None] > np.cumsum(moved, axis=1)).sum(axis=1)
    return offset, gold, number, rng.uniform(0.5, 2.0, len(number))


def test_drift_of_all_grades_at_once_is_not_thinned_out() -> None:
    """Judges who grow strict would drift half as far as they do: no round differs in the other directions."""
    even = np.arange(1, 5) / np.sqrt(20.0)
    golds = drifted_golds(np.array([-1.5, -0.9, 0.3, 0.8, 1.3]), even, 1)
    any_way = drift_posterior(size_marginals(*golds)[0], 5).size
    this_way = drift_posterior(line_marginals(*golds, even), 5).size
    assert this_way > 1.3 * any_way
    assert 0.6 < this_way < 1.8  # the moves vary by 1.1
    across = np.array([1.0, -1.0, -1.0, 1.0]) / np.sqrt(8.0)
    assert drift_posterior(line_marginals(*golds, across), 5).size < 0.6 * this_way


def test_a_mean_of_grades_drifts_by_steps_of_its_scale() -> None:
    """From the first to the last of five grades drift would go no farther than between two classes."""
    share = np.full((1, 5), 0.2)
    asked: list[np.ndarray] = []

    def toward(direction: np.ndarray) -> DriftPosterior:
        asked.append(direction)
        return DriftPosterior(np.ones(1), np.ones(1), 3)

    between = DriftVariance(DriftPosterior(np.ones(1), np.ones(1), 3), share, np.ones(1), np.zeros((4, 4)), None)
    between = replace(between, toward=toward)
    mean, one = np.arange(1.0, 5.0), np.array([0.0, 0.0, 0.0, 1.0])
    assert between.along(one).steepest(one)[0] == pytest.approx(between.steepest(one)[0])  # one step
    assert between.along(mean).steepest(mean)[0] == pytest.approx(4.0 * between.steepest(mean)[0])
    assert asked[-1] == pytest.approx(4.0 * between.steepest(mean)[0])
    fine = between.along(mean * 10.0 + np.array([0.0, 1.0, 0.0, 0.0]))  # the scale's unit is nothing
    assert fine.steepest(mean)[1] == pytest.approx(4.0 * between.steepest(mean)[1])
    moved = between.along(mean).covariance()
    assert np.sqrt(mean @ moved @ mean) == pytest.approx(between.along(mean).steepest(mean)[1])


def test_two_classes_drift_one_way_only() -> None:
    golds = drifted_golds(np.array([-0.5, 0.2, 0.6]), np.ones(1), 2)
    assert line_marginals(*golds, np.ones(1)) == pytest.approx(size_marginals(*golds)[0], abs=1e-9)


def test_no_class_is_first() -> None:
    """With three classes the split would depend on the order of their names, or on the sign of the shift."""
    seen, reach = np.array([0.4, -0.2]), np.array([[0.8, 0.1], [0.1, 0.6]])
    moved = split_shift(seen, reach)
    assert split_shift(-seen, reach) == pytest.approx(-moved)
    assert split_shift(seen[::-1], reach[::-1, ::-1]) == pytest.approx(moved[::-1])
    assert split_shift(np.zeros(2), reach) == pytest.approx([0.0, 0.0])


def test_mean_slopes_are_derivatives() -> None:
    """Drift would be carried to the rate by a wrong slope."""
    rng = np.random.default_rng(0)
    shares, counts = rng.dirichlet(np.ones(3), 20), rng.uniform(0.5, 2.0, 20)
    numeric = np.stack(
        [
            (counts @ (shift_logits(shares, 1e-5 * e) - shift_logits(shares, -1e-5 * e)))[1:] / 2e-5 / counts.sum()
            for e in np.eye(2)
        ],
        axis=1,
    )
    assert mean_slopes(shares, counts) == pytest.approx(numeric, abs=1e-8)


# ------------------------------------------------------------------------------------------------ rounds


def judged(
    rng: np.random.Generator, n_past: int, *, drift: float, gold_now: float = 0.0, size: int = 160
) -> tuple[list[Round], Round, float]:
    """Five judges who see an item's quality with an error that they share; in each round all are stricter or milder."""
    rounds = []
    for number in range(n_past + 1):
        quality = rng.normal(rng.normal(0.0, 0.6), 1.0, size)
        truth = (quality > 0).astype(int)
        seen = quality + rng.normal(0.0, 0.7, size) + rng.normal(0.0, drift)
        labels = (seen[:, None] + rng.normal(0.0, 0.5, (size, 5)) > 0.2).astype(int)
        gold = some_gold(rng, truth, 0.15 if number < n_past else gold_now)
        shown = gold if number < n_past or gold_now else None
        rounds.append(round_of(labels, shown, prefix=f"r{number}-", options={"classes": ["0", "1"]}))
    return rounds[:-1], rounds[-1], float(truth.mean())


def levels_of(past: list[Round], current: Round) -> LevelFit:
    from hero_eval.estimation.ask import ask
    from hero_eval.estimation.options import Options

    fit = ask([current], hero.fit_reliability(past), Options("hero3")).fits[0]
    assert fit.levels is not None
    return fit.levels


def test_one_past_round_leaves_the_drift_at_its_prior() -> None:
    """With one past round judges who err together would be trusted to read every round alike."""
    past, current, _ = judged(np.random.default_rng(1), 1, drift=0.0)
    drift = learn_drift(levels_of(past, current))
    assert not drift.known
    assert drift.is_present
    assert drift.size == pytest.approx(SIZE_SCALE, abs=0.05)  # the root mean square of a half-normal distribution
    assert drift.sizes is SIZES
    assert drift.from_past.sizes == pytest.approx(np.sqrt(2.0) * SIZES)  # the past round drifted as far as this one
    assert drift.from_past.of_one_round.sizes == pytest.approx(SIZES)


@examples(30)
@given(told=st.lists(st.floats(0.1, 20.0), min_size=1, max_size=6), with_gold=st.booleans())
def test_a_round_is_as_far_from_history_as_both_drift(told: list[float], with_gold: bool) -> None:
    """A round would be taken to lie as near to one past round as to the mean of many."""
    weight = np.array(told) / np.sum(told)
    current = np.arange(len(told)) == (len(told) - 1 if with_gold else -1)
    off = -weight  # the fit is off by the mean of its rounds' drifts, of which the current one may be one
    off = off + current if with_gold else np.append(off, 1.0)
    assert distance(np.array(told), current) == pytest.approx(np.sqrt(off @ np.eye(len(off)) @ off))


def test_past_rounds_tell_the_distance_of_this_one() -> None:
    """With two past rounds their own drift would be left out of the interval, with many it would count twice."""
    nobody = np.zeros(8, dtype=bool)
    assert distance(np.ones(1), nobody[:1]) == pytest.approx(np.sqrt(2.0))
    assert distance(np.ones(2), nobody[:2]) == pytest.approx(np.sqrt(1.5))
    assert distance(np.ones(8), nobody) == pytest.approx(np.sqrt(1.125))
    assert distance(np.array([30.0, 0.0]), nobody[:2]) == pytest.approx(np.sqrt(2.0))  # gold that tells nothing


@pytest.mark.parametrize("center", [0.3, -2.0])
def test_the_curve_is_the_posterior_by_quadrature(center: float) -> None:
    """What is known of rates beforehand would be counted twice, or in the wrong place."""
    sizes, weights, noise, past = np.array([0.3, 1.0]), np.array([0.4, 0.6]), 0.2, 1.0

    def prior(at: Array) -> Array:
        return 1.0 / (1.0 + ((at - past) / 3.0) ** 2)

    where = np.outer(sizes, drift_steps(4_001))
    settings: dict[str, Any] = {"noise": noise, "df": np.inf, "bounds": (0.0, 1.0), "n_items": 1e9}
    curve = drifting(where, weights, middle=0.0, center=center, prior=prior, **settings)
    at = np.linspace(-30.0, 30.0, 12_001)
    drift = np.sum([w * stats.t.pdf(at / s, DRIFT_DF) / s for w, s in zip(weights, sizes, strict=True)], axis=0)
    blurred = np.convolve(drift, stats.norm.pdf(at, scale=np.sqrt(noise)), mode="same") * (at[1] - at[0])
    height = np.interp(at - center, at, blurred) * prior(at)
    chance = integrate.cumulative_trapezoid(height, at, initial=0.0)
    for p in (0.025, 0.5, 0.975):
        place = np.interp(p, chance / chance[-1], at)
        assert curve.quantile(p) == pytest.approx(1.0 / (1.0 + np.exp(-place)), abs=2e-3)


def test_past_gold_of_one_class_still_tells_what_rates_are_like() -> None:
    """Where past gold is all of one class, rates unlike any before would be as probable as others, and intervals longer
    than with a gold of the other class among them."""
    past, current, _ = judged(np.random.default_rng(4), 2, drift=0.3)
    shown = {"classes": ["0", "1"]}
    good = [round_of(labels_of(one), np.where(one.gold >= 0, 1, -1), options=shown) for one in past]
    fitted = FittedRound(levels_of(good, current), over_both=False)
    assert fitted.unseen is not None
    n_gold = sum(one.n_gold for one in good)
    assert n_gold > 20
    assert fitted.past_rates == pytest.approx([0.5 / (n_gold + 1), (n_gold + 0.5) / (n_gold + 1)])
    assert replace(fitted, alone=False).past_rates is None  # the sides of a difference are not of one kind with history


def coverage(n_past: int, drift: float, draws: int, **options: Any) -> tuple[float, float, Array]:
    """How often the interval covers, with its standard error, and the widths."""
    covered, widths = [], []
    for draw in range(draws):
        past, current, rate = judged(np.random.default_rng([5, draw]), n_past, drift=drift, **options)
        found = hero.estimate_rate(current, past, method="hero3")
        low, high = found.interval()
        covered.append(low <= rate <= high)
        widths.append(high - low)
    share = float(np.mean(covered))
    return share, float(np.sqrt(max(share * (1 - share), 0.05) / draws)), np.array(widths)


@pytest.mark.simulation
def test_one_past_round_covers_rounds_that_drift() -> None:
    """The first evaluation after the first round would be far too sure of itself."""
    share, error, widths = coverage(1, 0.35, 24)
    assert share > 0.92 - 3 * error  # of 24 draws: .78; a cover of 65% is seen nine times in ten
    assert widths.mean() < 0.7  # and it would say nothing at all if it were the whole range


@pytest.mark.slow
def test_what_gold_in_the_current_round_says_of_its_drift() -> None:
    """Gold that shows the judges to be stricter now would not correct what their other labels say."""
    past, current, _ = judged(np.random.default_rng(2), 3, drift=0.8, gold_now=0.2)
    fit = levels_of(past, current)
    use = fit.rows.known & fit.rows.is_current
    offset, gold = np.log(label_shares(fit)[use]), fit.rows.patterns.gold[use]
    counts = fit.rows.patterns.counts[use]

    def height(shift: float) -> float:
        logits = offset + np.array([0.0, shift])
        picked = log_softmax(logits, axis=1)[np.arange(len(gold)), gold]
        return float(counts @ picked - 0.5 * shift**2 / 0.8**2)

    best = optimize.minimize_scalar(lambda b: -height(b), bounds=(-5, 5), method="bounded", options={"xatol": 1e-9}).x
    step = 1e-3
    bend = -(height(best + step) - 2 * height(best) + height(best - step)) / step**2
    shift, information = gold_shift(fit, 0.8)
    assert shift == pytest.approx([best], abs=1e-5)
    assert information == pytest.approx(bend - 0.8**-2, rel=1e-3)
    blind = levels_of(past, judged(np.random.default_rng(2), 3, drift=0.8)[1])
    assert gold_shift(blind, 0.8) == (pytest.approx([0.0]), 0.0)


@pytest.mark.simulation
def test_gold_in_the_current_round_shortens_the_interval_and_covers() -> None:
    """A team that pays for gold in the current round would see the same wide interval, or a wrong one."""
    without, _, wide = coverage(2, 0.6, 10)
    share, error, narrow = coverage(2, 0.6, 10, gold_now=0.2)
    assert narrow.mean() < 0.75 * wide.mean()
    assert min(share, without) > 0.9 - 3 * error  # of 10 draws: .69


@pytest.mark.slow
def test_the_finding_says_whether_drift_is_allowed_for() -> None:
    """The report would say that drift is not in an interval that allows for it."""
    past, current, _ = judged(np.random.default_rng(3), 1, drift=0.3)
    found = hero.estimate_rate(current, past, method="hero3")
    said = finding(found, "F310")
    assert (said.data["rounds"], said.data["assumed"]) == (1, True)
    assert "a usual drift is assumed, which takes a part of the shift" in said.message
    assert abs(said.data["by_labels"][1] - found.value) > 0.001
    resampled = hero.estimate_rate(current, past, method="hero3", interval="bootstrap", replicates=50, seed=1)
    assert "F311" in codes(resampled)


# ------------------------------------------------------------------------------------------------ who is compared


@pytest.mark.slow
def test_only_a_whole_round_by_itself_is_compared_with_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flagged items differ from a past round because they were flagged, and two models share their judges' drift:
    precision would be drawn to the past rate, and a difference of two models shrink."""
    splits = []

    def watched(seen: Array, *reach: Any) -> Array:
        splits.append(seen)
        return split_shift(seen, *reach)

    monkeypatch.setattr(drift_split, "split_shift", watched)
    rng = np.random.default_rng(4)
    past, current, _ = judged(rng, 1, drift=0.0)
    other = round_of(labels_of(judged(rng, 1, drift=0.0)[1]), prefix="r1-", options={"classes": ["0", "1"]})
    kind = ["a" if number % 3 else "b" for number in range(current.n_items)]
    parted = round_of(labels_of(current), columns={"kind": kind}, options={"classes": ["0", "1"]})
    assert "F204" in codes(hero.estimate_difference(current, other, past, method="hero3"))
    hero.estimate_rate(parted, past, method="hero3", by="kind")
    assert splits == []
    hero.estimate_rate(parted, past, method="hero3")
    assert len(splits) > 0


@pytest.mark.slow
def test_replicates_without_the_past_round_are_no_error() -> None:
    """A bootstrap over few clusters would stop, or lose replicates, where no cluster of history is drawn."""
    past, current, _ = judged(np.random.default_rng(6), 1, drift=0.0, size=90)
    rounds = [
        round_of(
            labels_of(one),
            one.gold if number == 0 else None,
            columns={"cl": [f"{number}-{item % 3}" for item in range(one.n_items)]},
            prefix=f"r{number}-",
            options={"classes": ["0", "1"]},
        )
        for number, one in enumerate((past[0], current))
    ]
    settings = {"cluster": "cl", "interval": "bootstrap", "replicates": 60, "seed": 0}
    found = hero.estimate_rate(rounds[1], rounds[0], method="hero3", **settings)
    assert np.isfinite(found.interval()).all()


@pytest.mark.slow
def test_backtests_measure_drift_before_it_is_allowed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two rounds a backtest would report less drift than there was, by the part that the estimate took off."""
    (one,), other, _ = judged(np.random.default_rng(8), 1, drift=0.5, gold_now=0.3)
    shifts = [[seen.shift for seen in hero.backtest([one, other], methods=["hero3"]).drift]]
    monkeypatch.setattr(drift_split, "split_shift", lambda seen, *_: seen)
    shifts.append([seen.shift for seen in hero.backtest([one, other], methods=["hero3"]).drift])
    assert len(shifts[0]) == 2
    assert shifts[0] == pytest.approx(shifts[1], abs=1e-6)


@pytest.mark.slow
def test_a_class_that_nobody_uses_changes_little() -> None:
    """A class without items would turn off what is done about drift for all others."""
    past, current, _ = judged(np.random.default_rng(9), 1, drift=0.4)
    found = []
    for classes in (["0", "1"], ["0", "1", "2"]):
        rounds = [
            round_of(labels_of(each), gold, prefix=f"r{number}-", options={"classes": classes})
            for number, (each, gold) in enumerate(((past[0], past[0].gold), (current, None)))
        ]
        found.append(hero.estimate_rate(rounds[1], rounds[0], positive="1", method="hero3"))
    assert all("by_labels" in finding(one, "F310").data for one in found)
    assert found[1].value == pytest.approx(found[0].value, abs=0.02)


def test_rates_are_moved_by_all_shifts_as_by_each() -> None:
    """An interval would rest on drifts other than those that the model allows for."""
    rng = np.random.default_rng(8)
    for n_classes in (2, 4):
        shares, counts = rng.dirichlet(np.full(n_classes, 0.3), 1_300), rng.uniform(0.5, 3.0, 1_300)
        shares[0] = np.eye(n_classes)[0]
        shifts = 6.0 * rng.normal(size=(9, n_classes - 1))
        found = mean_shifted(shares, counts, shifts)
        for one, shift in zip(found, shifts, strict=True):
            assert one == pytest.approx(counts @ shift_logits(shares, shift) / counts.sum(), rel=1e-12)
