"""The questions: do rates, differences, win rates and moderation figures say what they should on data whose truth
is known?

Simulations are seeded. Their tolerances are Monte Carlo errors worked out beside them: a bias may be three
standard errors of its mean, a coverage is allowed about three of its own, sqrt(.95 * .05 / B).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from make_rounds import (
    CARRIED,
    GOOD,
    LARGE,
    METHODS,
    SMALL,
    WITH_GOLD,
    WITHOUT_COVARIATES,
    Pair,
    binary_answers,
    by_method,
    codes,
    draw_pair,
    finding,
    labels_given,
    labels_of,
    near_answers,
    options_of,
    pair_of,
    round_of,
    some_gold,
)
from scipy.special import expit

import hero_eval as hero
from hero_eval.estimate import Estimate
from hero_eval.model import rates as score
from hero_eval.phrasing import _verdict_on_half
from hero_eval.round import Round


def assert_unbiased(values: np.ndarray, truth: float, slack: float = 0.0) -> None:
    """The mean is within three Monte Carlo standard errors of the truth, and `slack` for bias of higher order."""
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert abs(values.mean() - truth) <= 3 * error + slack, f"{values.mean():.4f} is not {truth:.4f} +- {error:.4f}"


def covers(estimate: Estimate, truth: float) -> bool:
    low, high = estimate.interval()
    return low <= truth <= high


# Gold for all of history


@pytest.fixture(scope="module")
def all_gold() -> Pair:
    return draw_pair(2, replace(GOOD, gold_rate=1.0))


def test_with_all_gold_reliabilities_are_proportions(all_gold: Pair) -> None:
    """The reliability table would disagree with a count that anyone can make."""
    drawn = all_gold.drawn
    frame = hero.fit_reliability(all_gold.history).to_frame("pandas").set_index("labeler")
    for j in range(drawn.history_labels.shape[1]):
        labels = drawn.history_labels[:, j]
        right = {k: (labels[(drawn.history_gold == k) & (labels >= 0)] == k).mean() for k in (0, 1)}
        assert frame.loc[f"j{j}", "sensitivity"] == pytest.approx(np.clip(right[1], 0.001, 0.999), abs=1e-9)
        assert frame.loc[f"j{j}", "specificity"] == pytest.approx(np.clip(right[0], 0.001, 0.999), abs=1e-9)
        assert frame.loc[f"j{j}", "gold"] == frame.loc[f"j{j}", "labels"] == (labels >= 0).sum()


def test_with_all_gold_standard_errors_are_binomial(all_gold: Pair) -> None:
    """The errors beside the reliabilities would not be those of a proportion."""
    drawn = all_gold.drawn
    frame = hero.fit_reliability(all_gold.history).to_frame("pandas").set_index("labeler")
    for j in range(drawn.history_labels.shape[1]):
        positive = (drawn.history_gold == 1) & (drawn.history_labels[:, j] >= 0)
        share = frame.loc[f"j{j}", "sensitivity"]
        expected = math.sqrt(share * (1 - share) / positive.sum())
        assert frame.loc[f"j{j}", "sensitivity_se"] == pytest.approx(expected, rel=1e-6)


def test_never_wrong_is_kept_off_certainty() -> None:
    """A labeler without a mistake so far would rule out every other labeler forever."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 200)
    labels = labels_given(rng, truth, binary_answers([1.0, 0.8], [1.0, 0.9]))
    frame = hero.fit_reliability(round_of(labels, truth)).to_frame("pandas").set_index("labeler")
    assert frame.loc["j0", "sensitivity"] == pytest.approx(0.999, abs=1e-12)
    assert frame.loc["j0", "specificity"] == pytest.approx(0.999, abs=1e-12)


@pytest.mark.simulation
@pytest.mark.parametrize("method", CARRIED)
def test_more_gold_is_surer(method: str) -> None:
    """Buying more gold would not pay, or the interval would not show that it did."""
    shares = (0.05, 0.15, 0.4, 1.0)
    widths = np.zeros(len(shares))
    for seed in range(8):
        pair = draw_pair(seed, replace(SMALL, gold_rate=1.0))
        order = np.random.default_rng([seed, 9]).random(len(pair.drawn.history_gold))
        for position, share in enumerate(shares):  # nested: each share holds the gold of the smaller ones
            gold = np.where(order < share, pair.drawn.history_gold, -1)
            low, high = hero.estimate_rate(
                pair.current, pair_of(replace(pair.drawn, history_gold=gold)).history, **options_of(method)
            ).interval()
            widths[position] += high - low
    assert (np.diff(widths) < 0).all(), widths / 8


def test_a_perfect_labeler_is_believed() -> None:
    """Gold by another name would be distorted by the labelers beside it."""
    rng = np.random.default_rng(4)
    answers = binary_answers([1.0, 0.8, 0.7], [1.0, 0.6, 0.8])
    past, now = rng.integers(0, 2, 500), (rng.random(400) < 0.3).astype(int)
    history = round_of(labels_given(rng, past, answers), past, prefix="h")
    current = round_of(labels_given(rng, now, answers), prefix="c")
    # Reliabilities are kept off 1 by 0.001, so the mean is met to about that.
    assert hero.estimate_rate(current, history).value == pytest.approx(now.mean(), abs=0.002)


def test_a_perfect_labeler_alone_is_its_mean() -> None:
    """With a single labeler the rate would not be the textbook correction of its mean."""
    rng = np.random.default_rng(5)
    past, now = rng.integers(0, 2, 500), (rng.random(400) < 0.3).astype(int)
    history = round_of(past[:, None], past, prefix="h")
    estimate = hero.estimate_rate(round_of(now[:, None], prefix="c"), history, method="hero1")
    assert estimate.value == pytest.approx((now.mean() - 0.001) / 0.998, abs=1e-9)


@pytest.mark.simulation
def test_coin_flippers_change_little() -> None:
    """A few careless labelers in the pool would spoil the estimate.

    Ten draws tell the mean move to a tenth of a standard error or better.
    """
    moved, spread = [], []
    for seed in range(10):
        drawn = draw_pair(seed).drawn
        rng = np.random.default_rng([seed, 3])
        flips = {
            side: np.hstack([labels, rng.integers(0, 2, (len(labels), 3))])
            for side, labels in (("history", drawn.history_labels), ("current", drawn.current_labels))
        }
        more = pair_of(replace(drawn, history_labels=flips["history"], current_labels=flips["current"]))
        before = hero.estimate_rate(pair_of(drawn).current, pair_of(drawn).history)
        after = hero.estimate_rate(more.current, more.history)
        moved.append(after.value - before.value)
        spread.append(before.std_error)
    assert np.abs(moved).mean() < 0.25 * np.mean(spread)
    assert abs(np.mean(moved)) <= 3 * np.std(moved) / math.sqrt(len(moved)) + 0.002
    assert {"j5", "j6", "j7"} >= set(finding(after, "F201").data["labelers"])


# Agreement with the truth


@pytest.mark.simulation
@pytest.mark.parametrize("method", CARRIED)
def test_a_rate_is_right_on_average(method: str) -> None:
    """Every rate would be off in the same direction."""
    design = replace(LARGE, gold_rate=0.5)
    made = [draw_pair(seed, design) for seed in range(60)]
    found = [hero.estimate_rate(one.current, one.history, **options_of(method)) for one in made]
    assert_unbiased(np.array([one.value for one in found]), design.true_rate(), slack=0.005)
    # B = 60: three standard errors of a 95% coverage are .084.
    assert np.mean([covers(one, design.true_rate()) for one in found]) >= 0.86


@by_method(METHODS)
@pytest.mark.parametrize("positive", ["0", "1"])
def test_unanimous_labels_leave_the_doubt_of_their_number(method: str, positive: str) -> None:
    """Fifty good answers in a row would be sold as certainty, or as knowing nothing at all."""
    rng = np.random.default_rng(6)
    answers = binary_answers([0.95] * 4, [0.95] * 4)
    past = rng.integers(0, 2, 600)
    x = {side: rng.normal(size=size) for side, size in (("h", 600), ("c", 50))}
    history = round_of(labels_given(rng, past, answers), past, {"x": x["h"]}, prefix="h")
    current = round_of(np.ones((50, 4), int), columns={"x": x["c"]}, prefix="c", options={"classes": ["0", "1"]})
    estimate = hero.estimate_rate(current, history, positive=positive, **options_of(method))
    low, high = estimate.interval() if positive == "1" else (1 - end for end in estimate.interval()[::-1])
    assert "F302" in codes(estimate)
    assert high >= 1.0 - 1e-6
    assert low <= 0.97, "fifty of fifty happen one time in five at a rate of .97, so it cannot be excluded"
    assert low >= 0.85, "fifty of fifty happen three times in ten thousand at a rate of .85"
    assert estimate.std_error > 0.005


@pytest.mark.simulation
def test_rare_defects_are_covered() -> None:
    """Teams with a good model would be told a defect rate that excludes the true one most of the time."""
    rng = np.random.default_rng(7)
    answers = binary_answers([0.95] * 4, [0.95] * 4)
    past = rng.integers(0, 2, 600)
    history = hero.fit_reliability(round_of(labels_given(rng, past, answers), past, prefix="h"))
    hits = []
    for _ in range(40):
        truth = (rng.random(60) < 0.02).astype(int)
        labels = labels_given(rng, truth, answers)
        current = round_of(labels, prefix="c", options={"classes": ["0", "1"]})
        hits.append(covers(hero.estimate_rate(current, history), 0.02))
    # B = 40: three standard errors of a 95% coverage are .103; a coverage of 75% is seen nine times in ten.
    assert np.mean(hits) >= 0.84


@pytest.mark.parametrize("method", ["majority_vote", "dawid_skene"])
def test_a_class_that_never_wins_does_not_make_the_others_sure(method: str) -> None:
    """A 1-5 rating in which nobody gives a 1 would get an interval many times too short."""
    rng = np.random.default_rng(8)
    truth = rng.integers(1, 3, 200)
    labels = labels_given(rng, truth, near_answers(3, 3, 0.9, rng))
    labels[labels == 0] = 1
    current = round_of(labels, classes=["1", "2", "3"], options={"classes": ["1", "2", "3"]})
    by_class = hero.estimate_rate(current, method=method).distribution
    binomial = math.sqrt(0.25 / 200)
    assert by_class["2"].value == pytest.approx(0.5, abs=0.15)
    assert by_class["2"].std_error > 0.8 * binomial
    assert by_class["1"].interval()[1] < 0.2


def test_many_sure_labelers_raise_no_warning() -> None:
    """A dozen good judges that agree would end the run with a division by zero where warnings are errors."""
    rng = np.random.default_rng(9)
    past, now = rng.integers(0, 2, 300), rng.integers(0, 2, 100)
    history = round_of(np.repeat(past[:, None], 12, axis=1), past, prefix="h")
    current = round_of(np.repeat(now[:, None], 12, axis=1), prefix="c")
    for method in ("gold_proportion", "hero1"):
        assert hero.estimate_rate(current, history, method=method).value == pytest.approx(now.mean(), abs=1e-6)


def test_two_labelers_without_gold_identify_nothing() -> None:
    """Dawid and Skene's model has more unknowns than two labelers have answers: a sure rate would be invented."""
    rng = np.random.default_rng(10)
    truth = (rng.random(300) < 0.4).astype(int)
    current = round_of(labels_given(rng, truth, binary_answers([0.7, 0.7], [0.8, 0.6])))
    assert "F303" in codes(hero.estimate_rate(current, method="dawid_skene"))


# Difference


@dataclass(frozen=True)
class Models:
    """Two models on the same items, and a history."""

    a: Round
    b: Round
    history: Round
    truth: float
    """The mean difference in the population."""


BETTER = 0.6


def two_models(seed: int, *, together: float = 1.0, gold_rate: float = 0.10) -> Models:
    """Large rounds of two models; `together` is the share of items on which their outcomes hang together."""
    rng = np.random.default_rng([seed, 21])
    design = replace(LARGE, gold_rate=gold_rate)
    past = draw_pair(seed, design)
    drawn = past.drawn
    answers = binary_answers(drawn.sensitivity, drawn.specificity)
    x = rng.normal(size=design.n_current)
    luck = rng.random((2, design.n_current))
    luck[1] = np.where(rng.random(design.n_current) < together, luck[0], luck[1])
    columns = {"x": x}
    rounds = [
        round_of(
            labels_given(rng, (luck[k] < expit(design.intercept + extra + design.slope * x)).astype(int), answers, 0.4),
            columns=columns,
            prefix="c",
            options={"name": name},
        )
        for k, (name, extra) in enumerate([("a", BETTER), ("b", 0.0)])
    ]
    better = replace(design, intercept=design.intercept + BETTER)
    return Models(rounds[0], rounds[1], past.history, better.true_rate() - design.true_rate())


@by_method(METHODS)
def test_pairing_sharpens_a_difference(method: str) -> None:
    """Comparing two models on the same prompts would be no surer than on different ones."""
    models = two_models(1)
    paired = hero.estimate_difference(models.a, models.b, models.history, **options_of(method))
    apart = [hero.estimate_rate(one, models.history, **options_of(method)).std_error for one in (models.a, models.b)]
    assert paired.std_error < 0.95 * math.hypot(*apart)


@pytest.mark.slow
def test_a_shared_history_sharpens_a_difference() -> None:
    """An error of the reliabilities, common to both models, would be counted as if it fell on one of them."""
    models = two_models(2, together=0.0)
    elsewhere = round_of(labels_of(models.b), prefix="other", options={"name": "b"})  # only history is shared
    shared = hero.estimate_difference(models.a, elsewhere, models.history)
    apart = [hero.estimate_rate(one, models.history).std_error for one in (models.a, elsewhere)]
    assert finding(shared, "F106").data["paired"] == 0
    assert shared.std_error < 0.97 * math.hypot(*apart)


@by_method(METHODS)
def test_a_model_does_not_differ_from_itself(method: str) -> None:
    """A model compared with itself would seem to differ, or the answer would seem unsure."""
    models = two_models(3)
    same = round_of(labels_of(models.a), columns={"x": models.a.covariate("x")}, prefix="c", options={"name": "again"})
    for other in (models.a, same):
        difference = hero.estimate_difference(models.a, other, models.history, **options_of(method))
        assert difference.value == 0
        assert difference.std_error == pytest.approx(0, abs=1e-15)
        assert "F106" not in codes(difference)


@pytest.mark.slow
def test_a_model_does_not_differ_from_itself_by_bootstrap() -> None:
    """Comparing a round with itself would end in numpy's complaint about ambiguous truth."""
    models = two_models(3)
    difference = hero.estimate_difference(models.a, models.a, models.history, interval="bootstrap", replicates=50)
    assert difference.interval() == (0, 0)


@pytest.mark.slow
def test_a_difference_is_that_of_the_rates() -> None:
    """The headline would not follow from the two rates shown beside it."""
    models = two_models(4)
    difference = hero.estimate_difference(models.a, models.b, models.history)
    rates = [hero.estimate_rate(one, models.history) for one in (models.a, models.b)]
    assert difference.value == rates[0].value - rates[1].value
    for name, rate in zip("ab", rates, strict=True):
        assert difference.distribution[name].value == rate.value
        assert difference.distribution[name].std_error == rate.std_error
        assert difference.distribution[name].interval() == rate.interval()


@by_method(WITHOUT_COVARIATES)
def test_unanimous_models_leave_the_doubt_of_their_number(method: str) -> None:
    """Fifty wins out of fifty would be sold as a difference of exactly one, without any doubt."""
    past = np.tile([0, 1], 60)
    history = round_of(np.repeat(past[:, None], 3, axis=1), past, prefix="h")
    a, b = (round_of(np.full((50, 3), k), prefix="c", options={"classes": ["0", "1"]}) for k in (1, 0))
    difference = hero.estimate_difference(a, b, history, method=method)
    low, high = difference.interval()
    assert low <= 0.97, "fifty of fifty happen one time in five at a difference of .97"
    assert high >= 1.0 - 1e-6
    assert "F302" in codes(difference)


@pytest.mark.slow
def test_items_without_a_partner_are_told() -> None:
    """A comparison of mostly different items would pass for a paired one."""
    models = two_models(5)
    fewer = models.b.select(np.arange(models.b.n_items) < 200)
    partial = hero.estimate_difference(models.a, fewer, models.history)
    whole = hero.estimate_difference(models.a, models.b, models.history)
    assert finding(partial, "F106").data == {"paired": 200, "unpaired": 100}
    assert partial.std_error > whole.std_error
    assert partial.n_items == 500


@pytest.mark.slow
def test_a_difference_asks_both_models_the_same() -> None:
    """With the positive class named in one round only, a rate would be subtracted from a mean score."""
    rng = np.random.default_rng(11)
    answers = near_answers(4, 5, 0.8, rng)
    truth = rng.integers(0, 5, (3, 300))
    labels = [labels_given(rng, of, answers) for of in truth]
    spelling = {"classes": list("12345")}
    history = round_of(labels[0], truth[0], prefix="h", **spelling)
    a = round_of(labels[1], prefix="c", options={"positive": "5"}, **spelling)
    b = round_of(labels[2], prefix="c", **spelling)
    named = hero.estimate_difference(a, b, history, positive="5")
    silent = hero.estimate_difference(a, b, history)
    assert (silent.what, silent.value) == (named.what, named.value)
    assert silent.interval() == named.interval()
    rates = [hero.estimate_rate(one, history, positive="5").value for one in (a, b)]
    assert named.value == pytest.approx(rates[0] - rates[1], abs=0.02)


def test_a_positive_class_named_by_one_model_is_enough() -> None:
    """Naming the positive class in A's round would still stop with a demand to name it."""
    models = two_models(6)
    words = {"classes": ["ok", "bad"]}
    drawn = [labels_of(one) for one in (models.a, models.b, models.history)]
    a = round_of(drawn[0], prefix="c", options={"positive": "bad"}, **words)
    b = round_of(drawn[1], prefix="c", **words)
    history = round_of(drawn[2], np.array(models.history.gold), prefix="h", **words)
    plain = hero.estimate_difference(models.a, models.b, models.history, method="hero1")
    named = hero.estimate_difference(a, b, history, method="hero1")
    assert named.value == pytest.approx(plain.value, abs=1e-9)


@pytest.mark.simulation
def test_differences_are_covered() -> None:
    """The 95% interval of a comparison would hold the true difference far less, or far more, often."""
    made = [two_models(seed) for seed in range(28)]
    found = [hero.estimate_difference(one.a, one.b, one.history) for one in made]
    truth = made[0].truth
    assert_unbiased(np.array([one.value for one in found]), truth, slack=0.005)
    # B = 28: the standard error of a 95% coverage is .041, and .82 is 3.2 of them away; one of 70% is seen nine in ten.
    assert np.mean([covers(one, truth) for one in found]) >= 0.82
    spread = np.std([one.value for one in found], ddof=1)  # its own error is 14%
    assert 0.70 <= np.mean([one.std_error for one in found]) / spread <= 1.40


def test_mean_scores_differ_within_their_range() -> None:
    """A difference of 1-5 ratings would be cut off at one."""
    rng = np.random.default_rng(12)
    answers = near_answers(4, 5, 0.9, rng)
    past = rng.integers(0, 5, 500)
    history = round_of(labels_given(rng, past, answers), past, prefix="h", classes=list("12345"))
    high = round_of(labels_given(rng, rng.integers(3, 5, 200), answers), prefix="c", classes=list("12345"))
    low = round_of(labels_given(rng, rng.integers(0, 2, 200), answers), prefix="c", classes=list("12345"))
    difference = hero.estimate_difference(high, low, history)
    assert difference.value == pytest.approx(3.0, abs=0.3)
    assert difference.bounds == (-4.0, 4.0)
    assert difference.interval()[1] > 3.0


# Win rate

SIDES = ["A", "B", "tie"]


@dataclass(frozen=True)
class Duel:
    """Side-by-side answers: 0 = A wins, 1 = B wins, 2 = tie."""

    current: np.ndarray
    history: np.ndarray
    gold: np.ndarray
    rates: np.ndarray

    def rounds(self, classes: list[str] | None = None, **options: Any) -> tuple[Round, Round]:
        names = SIDES if classes is None else classes
        return (
            round_of(self.current, prefix="c", classes=names, options=options),
            round_of(self.history, self.gold, prefix="h", classes=names, options=options),
        )


def duel(seed: int, rates: tuple[float, ...] = (0.5, 0.3, 0.2), n_current: int = 300) -> Duel:
    rng = np.random.default_rng([seed, 31])
    size = len(rates)
    answers = near_answers(5, size, 0.6, rng)
    now, past = rng.choice(size, n_current, p=rates), rng.choice(size, 500, p=np.full(size, 1 / size))
    return Duel(
        labels_given(rng, now, answers, 0.7),
        labels_given(rng, past, answers, 0.7),
        some_gold(rng, past, 0.5),
        np.array(rates),
    )


@by_method(WITHOUT_COVARIATES)
@pytest.mark.parametrize("ties", ["half", "own"])
def test_the_other_side_wins_the_rest(method: str, ties: str) -> None:
    """A's and B's win rates, ties shared, would not add up to one."""
    made = duel(1)
    mine = hero.estimate_win_rate(*made.rounds(), method=method, ties=ties)
    yours = hero.estimate_win_rate(*made.rounds(["B", "A", "tie"]), method=method, ties=ties)
    tie = mine.distribution["tie"].value if ties == "own" else 0.0
    # hero3 has priors on logits against the first class: with three classes it matters a little which one that is
    is_exact = method in CARRIED or method not in WITH_GOLD
    within = 1e-6 if is_exact else mine.std_error / 20
    assert yours.value == pytest.approx(1 - tie - mine.value, abs=within)
    if ties == "half":
        assert yours.std_error == pytest.approx(mine.std_error, abs=within)


def test_ties_count_half_or_apart() -> None:
    """The win rate would not follow from the shares of wins, losses and ties."""
    rounds = duel(2).rounds()
    half, own = (hero.estimate_win_rate(*rounds, ties=ties) for ties in ("half", "own"))
    shares = half.distribution
    assert sum(one.value for one in shares.values()) == pytest.approx(1, abs=1e-12)
    assert half.value == pytest.approx(shares["A"].value + shares["tie"].value / 2, abs=1e-12)
    assert own.value == pytest.approx(shares["A"].value, abs=1e-12)
    assert own.std_error == pytest.approx(shares["A"].std_error, abs=1e-12)


@pytest.mark.simulation
def test_win_rates_are_right_on_average() -> None:
    """Side-by-side results would lean to one model."""
    made = [duel(seed) for seed in range(30)]
    found = [hero.estimate_win_rate(*one.rounds()) for one in made]
    assert_unbiased(np.array([one.value for one in found]), 0.6, slack=0.005)
    for name, rate in zip(SIDES, (0.5, 0.3, 0.2), strict=True):
        assert_unbiased(np.array([one.distribution[name].value for one in found]), rate, slack=0.01)
    # B = 30: three standard errors of a 95% coverage are .119; a coverage of 70% is seen nine times in ten.
    assert np.mean([covers(one, 0.6) for one in found]) >= 0.83


def test_two_sides_without_ties() -> None:
    """A side-by-side study without ties could not be answered, or not like any other rate."""
    current, history = duel(3, (0.6, 0.4)).rounds(["A", "B"])
    won = hero.estimate_win_rate(current, history)
    rate = hero.estimate_rate(current, history, positive="A")
    assert (won.value, won.std_error) == (rate.value, rate.std_error)
    assert set(won.distribution) == {"A", "B"}


@pytest.mark.parametrize(
    "names",
    [
        ["model_a", "model_b", "tie"],
        ["left", "right", "both"],
        ["MODEL_A", "Model_B", "Tie"],
        ["1", "2", "0"],
    ],
    ids="/".join,
)
def test_usual_names_are_known(names: list[str]) -> None:
    """Exports of common tools would need their classes spelled out."""
    made = duel(4)
    plain = hero.estimate_win_rate(*made.rounds(), method="hero1")
    named = hero.estimate_win_rate(*made.rounds(names), method="hero1")
    assert named.value == pytest.approx(plain.value, abs=1e-6)


@pytest.mark.parametrize(("ends", "more"), [((0.6, 0.7), "more"), ((0.2, 0.4), "less")])
def test_the_winner_is_named(ends: tuple[float, float], more: str) -> None:
    """'The first wins' would leave it to the reader to find out who was first."""
    won = SimpleNamespace(what=f"win rate of {'a over b'!r} over {'c'!r}, ties half", doubts=(), interval=lambda: ends)
    assert _verdict_on_half(won) == f"'a over b' wins {more} often than 'c'."


def test_names_can_be_given() -> None:
    """Side-by-side studies with model names as classes could not be answered."""
    made = duel(5)
    named = hero.estimate_win_rate(*made.rounds(["gpt", "llama", "equal"]), a="gpt", b="llama", method="hero1")
    assert named.value == pytest.approx(hero.estimate_win_rate(*made.rounds(), method="hero1").value, abs=1e-6)
    assert "'gpt' over 'llama'" in named.what


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (["gpt", "llama", "tie"], {}),
        (["gpt", "llama", "tie"], {"a": "gpt"}),
        (["gpt", "llama", "tie"], {"a": "gpt", "b": "claude"}),
        (["A", "B", "tie"], {"a": "A", "b": "A"}),
        (["A", "B", "tie"], {"tie": "draw"}),
        (["A", "B", "unsure"], {}),
    ],
    ids=str,
)
def test_unclear_sides_are_refused(names: list[str], given: dict[str, str]) -> None:
    """A win rate of nobody over nobody would be reported."""
    with pytest.raises(hero.InputError) as caught:
        hero.estimate_win_rate(*duel(6).rounds(names), **given)
    assert caught.value.code == "E203"
    assert all(name in str(caught.value) for name in names)


# Moderation

FLAG = {"flag": "flagged"}


@pytest.mark.slow
@pytest.mark.slow
def test_moderation_says_which_part_lacks_gold() -> None:
    """'The round has gold for no item of the class' would be wrong, and gold would be added where there is enough."""
    rng = np.random.default_rng(1)
    truth = (rng.random(120) < 0.3).astype(int)
    said = {f"j{k}": np.where(rng.random(120) < 0.85, truth, 1 - truth) for k in range(3)}
    flagged = np.where(rng.random(120) < 0.95, truth, 1 - truth)
    gold = [int(of) if k % 3 == 0 else None for k, of in enumerate(truth)]
    table = pd.DataFrame({"item": range(120), **said, "flagged": flagged, "gold": gold})
    found = hero.estimate_moderation(Round(table), flag="flagged")
    scarce = next(one for one in found.precision.findings if one.code == "F309")
    assert "the part of the current round with flagged 0 has gold for no item of class '1'" in scarce.fact
    assert "Add gold to the part of the current round with flagged 0" in scarce.action


@pytest.mark.slow
def test_moderation_figures_hang_together() -> None:
    """Precision, recall, prevalence and F1 of one table would contradict each other."""
    for seed in range(5):
        current, history, _ = flagged_rounds(seed)
        found = hero.estimate_moderation(current, history, **FLAG)
        precision, recall, prevalence, f1, share = (
            found[name].value for name in ("precision", "recall", "prevalence", "f1", "flagged_share")
        )
        assert recall * prevalence == pytest.approx(precision * share, abs=1e-12)
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-12)
        flagged = current.select(current.flags("flagged"))
        rate = hero.estimate_rate(flagged, history)
        assert (found.precision.value, found.precision.std_error) == (rate.value, rate.std_error)
        weight = np.ones(current.n_items) if current.weight is None else current.weight
        assert share == pytest.approx(np.average(current.flags("flagged"), weights=weight), abs=1e-12)


def flagged_rounds(
    seed: int, *, keep: tuple[float, float] = (1.0, 1.0), size: int = 600, weights: bool = False
) -> tuple[Round, Round, dict[str, float]]:
    """A moderated round, of which the shares `keep` (unflagged, flagged) were labeled, and its true figures."""
    rng = np.random.default_rng([seed, 41])
    prevalence, hit, false = 0.3, 0.8, 0.15
    answers = binary_answers(rng.uniform(0.75, 0.9, 5), rng.uniform(0.8, 0.95, 5))
    past = rng.integers(0, 2, 500)
    history = round_of(labels_given(rng, past, answers, 0.6), some_gold(rng, past, 0.5), prefix="h")
    truth = (rng.random(size) < prevalence).astype(int)
    flags = (rng.random(size) < np.where(truth == 1, hit, false)).astype(int)
    kept = rng.random(size) < np.array(keep)[flags]
    columns = {"flagged": flags[kept]}
    if weights:
        columns["weight"] = 1 / np.array(keep)[flags[kept]]
    current = round_of(labels_given(rng, truth[kept], answers, 0.6), columns=columns, prefix="c")
    share = prevalence * hit + (1 - prevalence) * false
    precision = prevalence * hit / share
    true = {
        "prevalence": prevalence,
        "precision": precision,
        "recall": hit,
        "f1": 2 * precision * hit / (precision + hit),
        "flagged_share": share,
    }
    return current, history, true


UNEQUAL = {"keep": (0.25, 1.0), "size": 1000}


@cache
def moderated(weights: bool) -> dict[str, list[Estimate]]:
    """Figures of many rounds in which unflagged items were labeled four times more rarely."""
    made = [flagged_rounds(seed, weights=weights, **UNEQUAL) for seed in range(30 if weights else 12)]
    found = [hero.estimate_moderation(current, history, **FLAG) for current, history, _ in made]
    return {name: [one[name] for one in found] for name in found[0]}


FIGURES = ("prevalence", "precision", "recall", "f1", "flagged_share")


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_weights_undo_unequal_sampling(name: str) -> None:
    """Labelling flagged items more often, as teams do, would bias prevalence and recall."""
    truth = flagged_rounds(0)[2][name]
    found = moderated(True)[name]
    assert_unbiased(np.array([one.value for one in found]), truth, slack=0.003)
    # B = 30: three standard errors of a 95% coverage are .12.
    assert np.mean([covers(one, truth) for one in found]) >= 0.83
    spread = np.std([one.value for one in found], ddof=1)  # its own error is 13%
    assert abs(np.mean([one.std_error for one in found]) / spread - 1) <= 3 * 0.13


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prevalence", "recall", "flagged_share"])
def test_without_weights_unequal_sampling_shows(name: str) -> None:
    """The test above would prove nothing: the bias that weights undo would not be there."""
    truth = flagged_rounds(0)[2][name]
    values = np.array([one.value for one in moderated(False)[name]])
    # B = 12: the biases are .14 to .34, and three standard errors of their means .010 to .024.
    assert abs(values.mean() - truth) > 0.05 + 3 * values.std(ddof=1) / math.sqrt(len(values))


@pytest.mark.slow
def test_nothing_flagged_has_no_precision() -> None:
    """A filter that never fires would be given a precision."""
    current, history, _ = flagged_rounds(1)
    quiet = round_of(labels_of(current), columns={"flagged": np.zeros(current.n_items, int)}, prefix="c")
    found = hero.estimate_moderation(quiet, history, **FLAG)
    assert math.isnan(found.precision.value)
    assert math.isnan(found.precision.std_error)
    assert found.precision.to_dict()["value"] is None
    assert "F501" in {one.code for one in found.precision.doubts}
    assert "F501" not in {one.code for one in found.prevalence.doubts}  # what is defined holds
    assert found.flagged_share.value == found.recall.value == 0
    rate = hero.estimate_rate(quiet, history)
    assert found.prevalence.value == pytest.approx(rate.value, abs=1e-12)
    assert found.prevalence.std_error == pytest.approx(rate.std_error, abs=1e-12)


@pytest.mark.parametrize("fires", [0, 1])
def test_a_filter_that_never_fired_may_still_fire(fires: int) -> None:
    """A flagged share of 0 in a sample would be sold as never, and of 1 as always."""
    current, history, _ = flagged_rounds(1)
    flags = np.full(current.n_items, fires)
    share = hero.estimate_moderation(
        round_of(labels_of(current), columns={"flagged": flags}, prefix="c"), history, **FLAG
    ).flagged_share
    low, high = share.interval()
    assert share.value == fires
    assert 0.5 / current.n_items < high - low < 10 / current.n_items


def test_everything_flagged_has_full_recall() -> None:
    """A filter that always fires would not be given away by its figures."""
    current, history, _ = flagged_rounds(2)
    loud = round_of(labels_of(current), columns={"flagged": np.ones(current.n_items, int)}, prefix="c")
    found = hero.estimate_moderation(loud, history, **FLAG)
    assert found.flagged_share.value == found.recall.value == 1
    assert found.precision.value == found.prevalence.value == hero.estimate_rate(loud, history).value
    assert "F501" not in codes(found)


def test_flags_related_to_a_covariate_are_no_shift() -> None:
    """Covariates would be thrown away whenever flagged items differ from unflagged ones, which they always do."""
    rng = np.random.default_rng(14)
    answers = binary_answers([0.85] * 4, [0.9] * 4)

    def make(size: int, gold: bool, prefix: str) -> Round:
        truth = (rng.random(size) < 0.4).astype(int)
        flags = (rng.random(size) < np.where(truth == 1, 0.8, 0.2)).astype(int)
        columns = {"flagged": flags, "x": flags + truth + rng.normal(size=size)}
        return round_of(labels_given(rng, truth, answers), truth if gold else None, columns, prefix=prefix)

    history, current = make(800, True, "h"), make(400, False, "c")
    found = hero.estimate_moderation(current, history, covariates=["x"], **FLAG)
    assert found.method == "hero3"
    assert "F403" not in codes(found)


def test_flagged_items_that_only_strangers_labeled() -> None:
    """Flagged items labeled by a new team alone would end in a numerical error instead of a message."""
    current, history, _ = flagged_rounds(3)
    labels = np.hstack([labels_of(current), np.full((current.n_items, 1), -1)])
    flags = current.flags("flagged")
    labels[flags] = -1
    labels[flags, -1] = 1
    mixed = round_of(labels, columns={"flagged": flags}, labelers=["j0", "j1", "j2", "j3", "j4", "new"], prefix="c")
    with pytest.raises(hero.SupportError) as caught:
        hero.estimate_moderation(mixed, history, **FLAG)
    assert caught.value.code in ("E301", "E303")


# More than two classes

RATINGS = list("12345")


@cache
def ratings() -> tuple[Round, Round]:
    rng = np.random.default_rng(51)
    answers = near_answers(6, 5, 0.7, rng)
    past = rng.integers(0, 5, 800)
    now = rng.choice(5, 400, p=[0.05, 0.1, 0.2, 0.35, 0.3])
    return (
        round_of(
            labels_given(rng, now, answers, 0.7),
            None,
            {"x": now + rng.normal(size=400)},
            prefix="c",
            classes=RATINGS,
        ),
        round_of(
            labels_given(rng, past, answers, 0.7),
            some_gold(rng, past, 0.5),
            {"x": past + rng.normal(size=800)},
            prefix="h",
            classes=RATINGS,
        ),
    )


@by_method(METHODS)
def test_a_distribution_adds_up(method: str) -> None:
    """Shares of the classes would not add up to one, or the mean score not follow from them."""
    estimate = hero.estimate_rate(*ratings(), **options_of(method))
    rates = {name: one.value for name, one in estimate.distribution.items()}
    assert list(rates) == RATINGS
    assert sum(rates.values()) == pytest.approx(1, abs=1e-12)
    assert min(rates.values()) >= 0
    assert estimate.mean_score is not None
    assert estimate.mean_score.value == pytest.approx(sum(int(k) * v for k, v in rates.items()), abs=1e-12)
    assert estimate.value == estimate.mean_score.value
    assert estimate.bounds == (1, 5)


@pytest.mark.slow
@by_method(METHODS)
def test_a_top_box_is_the_sum_of_its_classes(method: str) -> None:
    """The share of 4s and 5s would not be the sum of the two."""
    box = hero.estimate_rate(*ratings(), positive=["4", "5"], **options_of(method))
    rest = hero.estimate_rate(*ratings(), positive=["1", "2", "3"], **options_of(method))
    assert box.value == pytest.approx(box.distribution["4"].value + box.distribution["5"].value, abs=1e-12)
    assert box.value == pytest.approx(1 - rest.value, abs=1e-12)
    assert box.std_error == pytest.approx(rest.std_error, abs=1e-12)
    assert box.what == "rate of '4' or '5'"


@pytest.mark.slow
@pytest.mark.parametrize("positive", ["5", 5, [4, 5]], ids=["text", "number", "numbers"])
def test_a_class_may_be_named_as_a_number(positive: Any) -> None:
    """positive=5 would end in a Python error where positive="5" works."""
    text = [str(name) for name in positive] if isinstance(positive, list) else str(positive)
    named = hero.estimate_rate(*ratings(), positive=positive)
    assert named.value == hero.estimate_rate(*ratings(), positive=text).value


@pytest.mark.slow
def test_scores_can_be_given() -> None:
    """Ratings by name (bad, fair, good) could not be averaged."""
    mean = hero.estimate_rate(*ratings()).mean_score
    tenths = hero.estimate_rate(*ratings(), scores={name: int(name) / 10 for name in RATINGS}).mean_score
    assert mean is not None
    assert tenths is not None
    assert tenths.value == pytest.approx(mean.value / 10, abs=1e-12)
    assert tenths.std_error == pytest.approx(mean.std_error / 10, abs=1e-12)


@pytest.mark.simulation
def test_ratings_are_right_on_average() -> None:
    """Mean scores and shares of ratings would lean to one side."""
    rates = np.array([0.1, 0.2, 0.3, 0.4])
    means, shares, hits = [], [], []
    for seed in range(36):
        rng = np.random.default_rng([seed, 61])
        answers = near_answers(6, 4, 0.65, rng)
        past, now = rng.integers(0, 4, 600), rng.choice(4, 300, p=rates)
        history = round_of(labels_given(rng, past, answers, 0.7), some_gold(rng, past, 0.6), prefix="h")
        found = hero.estimate_rate(round_of(labels_given(rng, now, answers, 0.7), prefix="c"), history)
        means.append(found.value)
        shares.append([one.value for one in found.distribution.values()])
        hits.append(covers(found, float(rates @ np.arange(4))))
    assert_unbiased(np.array(means), float(rates @ np.arange(4)), slack=0.01)
    for k in range(4):
        assert_unbiased(np.array(shares)[:, k], rates[k], slack=0.005)
    # B = 36: three standard errors of a 95% coverage are .109; a coverage of 75% is seen nine times in ten.
    assert np.mean(hits) >= 0.84


@pytest.mark.parametrize("method", ["gold_proportion", "hero1"])
def test_ratings_that_do_not_occur_leave_an_answer(method: str) -> None:
    """A judge that gives only 4s and 5s this month, of 1 to 5, would leave no number at all."""
    rng = np.random.default_rng(15)
    answers = near_answers(1, 5, 0.8, rng)
    past, now = rng.integers(0, 5, 800), rng.integers(3, 5, 200)
    history = round_of(labels_given(rng, past, answers), past, prefix="h", classes=RATINGS)
    labels = np.maximum(labels_given(rng, now, answers), 3)
    current = round_of(labels, prefix="c", classes=RATINGS, options={"classes": RATINGS})
    estimate = hero.estimate_rate(current, history, method=method)
    assert estimate.value == pytest.approx(now.mean() + 1, abs=0.25)
    assert sum(one.value for one in estimate.distribution.values()) == pytest.approx(1, abs=1e-12)
    assert 0 < estimate.std_error < 0.3


@pytest.mark.parametrize("size", [5, 50])
@pytest.mark.parametrize("right", [1.0, 0.9])
def test_unanimous_answers_of_three_leave_an_answer(size: int, right: float) -> None:
    """Three good labelers that all say "a" of every item would leave no number, or a Python error."""
    rng = np.random.default_rng(16)
    answers = right * np.eye(3)[None].repeat(3, axis=0) + (1 - right) / 3
    past = np.tile(np.arange(3), 60)
    history = round_of(labels_given(rng, past, answers), past, prefix="h", classes=list("abc"))
    current = round_of(np.zeros((size, 3), int), prefix="c", classes=list("abc"), options={"classes": list("abc")})
    estimate = hero.estimate_rate(current, history, positive="a")
    assert estimate.value == pytest.approx(1, abs=0.01)
    low, high = estimate.interval()
    assert low <= 0.5 ** (1 / size), "at that rate so many in a row happen every second time"
    assert high >= 1.0 - 1e-6


def test_two_classes_are_the_smallest_case(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast road for two classes would lead somewhere else than the general one."""
    before = {name: hero.estimate_rate(pair.current, pair.history, **options_of(name)) for name in METHODS}

    def general(likelihood: np.ndarray, counts: np.ndarray, tilt: float = 0.0) -> score.Root:
        return score.solve_simplex(likelihood, counts, np.array([tilt]))

    monkeypatch.setattr(score, "solve_binary", general)
    for name in METHODS:
        after = hero.estimate_rate(pair.current, pair.history, **options_of(name))
        assert after.value == pytest.approx(before[name].value, abs=1e-9)
        assert after.std_error == pytest.approx(before[name].std_error, abs=1e-9)


def test_a_rate_is_the_mean_of_scores_0_and_1(pair: Pair) -> None:
    """The mean of a 0/1 score would not be the rate."""
    for name in METHODS:
        found = hero.estimate_rate(pair.current, pair.history, scores={"0": 0, "1": 1}, **options_of(name))
        assert found.mean_score is not None
        assert found.mean_score.value == pytest.approx(found.value, abs=1e-12)
        assert found.mean_score.std_error == pytest.approx(found.std_error, abs=1e-12)


def test_merging_classes_merges_their_rates() -> None:
    """With perfect labelers, coarser classes would not have the sum of the finer ones' rates."""
    rng = np.random.default_rng(14)
    past, now = rng.integers(0, 4, 400), rng.choice(4, 300, p=[0.1, 0.2, 0.3, 0.4])
    fine = hero.estimate_rate(
        round_of(np.repeat(now[:, None], 2, axis=1), prefix="c"),
        round_of(np.repeat(past[:, None], 2, axis=1), past, prefix="h"),
        positive=["2", "3"],
    )
    coarse = hero.estimate_rate(
        round_of(np.repeat(now[:, None] // 2, 2, axis=1), prefix="c"),
        round_of(np.repeat(past[:, None] // 2, 2, axis=1), past // 2, prefix="h"),
    )
    assert fine.value == pytest.approx(coarse.value, abs=1e-3)
    assert fine.std_error == pytest.approx(coarse.std_error, rel=0.01)


def test_nominal_classes_have_no_headline() -> None:
    """Unordered classes would be given a meaningless headline, or none and no word about it."""
    made = duel(7)
    estimate = hero.estimate_rate(*made.rounds(["cat", "dog", "fox"]))
    assert math.isnan(estimate.value)
    assert math.isnan(estimate.std_error)
    assert estimate.mean_score is None
    assert "F502" in codes(estimate)
    assert sum(one.value for one in estimate.distribution.values()) == pytest.approx(1, abs=1e-12)
    named = hero.estimate_rate(*made.rounds(["cat", "dog", "fox"]), positive="dog")
    assert named.value == estimate.distribution["dog"].value
    assert named.std_error == estimate.distribution["dog"].std_error
    assert "F502" not in codes(named)


def test_a_positive_class_named_in_history_counts() -> None:
    """The positive class named in the past rounds would be forgotten, for some methods or class numbers only."""
    made = duel(8)
    current = made.rounds(["cat", "dog", "fox"])[0]
    history = made.rounds(["cat", "dog", "fox"], positive="dog")[1]
    assert hero.estimate_rate(current, history).value == pytest.approx(
        hero.estimate_rate(current, history, positive="dog").value
    )


@by_method(WITHOUT_COVARIATES)
def test_a_positive_class_of_two_named_in_history_counts(pair: Pair, method: str) -> None:
    """Methods that need no history would refuse a call that the others accept, and compare_methods with them."""
    words = {"classes": ["ok", "bad"]}
    current = round_of(pair.drawn.current_labels, prefix="c", **words)
    history = round_of(
        pair.drawn.history_labels, pair.drawn.history_gold, prefix="h", options={"positive": "bad"}, **words
    )
    plain = hero.estimate_rate(pair.current, pair.history, method=method)
    assert hero.estimate_rate(current, history, method=method).value == pytest.approx(plain.value, abs=1e-9)
