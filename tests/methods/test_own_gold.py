"""A round's own gold: used alone or beside history, by the model, by design, and by the default."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from fits_once import fits_once  # noqa: F401
from make_rounds import codes, finding, labels_given, near_answers, round_of, tables_of
from reference import naive
from scipy.special import ndtri
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval.cli.main import app
from hero_eval.methods import registry
from hero_eval.methods.balanced import mixture
from hero_eval.methods.evidence import CarriedEvidence, JointEvidence
from hero_eval.methods.hero3 import fitted_levels
from hero_eval.methods.registry import all_methods
from hero_eval.methods.result import Fit
from hero_eval.model.em import EMOptions
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.patterns import patterns_of_matrix
from hero_eval.model.prediction_powered import GoldSample, left_out, powered_mean
from hero_eval.round import Round

Array = np.ndarray
TIGHT = EMOptions(tolerance=1e-14, step_tolerance=1e-12, max_steps=20_000)
OWN = ("gold_proportion", "hero1", "hero3", "ppi", "balanced")


def drawn(
    seed: int,
    n_items: int = 200,
    n_labelers: int = 4,
    n_gold: int = 60,
    *,
    rate: float = 0.35,
    right: tuple[float, float] = (0.65, 0.9),
    together: float = 0.0,
) -> tuple[Array, Array, Array]:
    """Labels (n, J), gold of a random part, and the truth; `together` correlates the labelers' errors."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < rate).astype(np.int64)
    skill = rng.uniform(*right, (2, n_labelers))
    common, own = rng.standard_normal((n_items, 1)), rng.standard_normal((n_items, n_labelers))
    errs = np.sqrt(together) * common + np.sqrt(1 - together) * own > ndtri(skill[truth])
    shown = np.isin(np.arange(n_items), rng.choice(n_items, n_gold, replace=False))
    return np.where(errs, 1 - truth[:, None], truth[:, None]), np.where(shown, truth, -1), truth


def alone(seed: int, **of: Any) -> Round:
    labels, gold, _ = drawn(seed, **of)
    return round_of(labels, gold, options={"name": "first file"})


# ---------------------------------------------------------------------------------------- the default


@pytest.mark.slow
def test_a_first_file_is_read_by_its_own_gold() -> None:
    """79 golds in a file without history were ignored, and labelers who err together made .52 of .375."""
    covered, off = 0, []
    for seed in range(6):
        labels, gold, truth = drawn(seed, 300, 5, 79, rate=0.375, right=(0.55, 0.75), together=0.5)
        found = hero.estimate_rate(round_of(labels, gold))
        low, high = found.interval()
        covered += low <= 0.375 <= high
        off.append(abs(found.value - truth.mean()))
        assert (found.n_gold, found.n_gold_current, found.n_gold_history) == (79, 79, 0)
        assert "79 gold items of the current round" in found.why
        assert "F105" not in codes(found)
    assert covered >= 5
    assert np.mean(off) < 0.05


def test_the_default_says_how_it_weighed_model_and_design() -> None:
    """Nobody could tell why the number is between those of hero3 and ppi."""
    one = alone(3)
    found = hero.estimate_rate(one)
    told = finding(found, "F306").data
    by_name = {name: hero.estimate_rate(one, method=name).value for name in ("hero3", "ppi")}
    assert found.method == "balanced"
    assert {name: told[name][1] for name in by_name} == pytest.approx(by_name)
    mixed = by_name["ppi"] + told["weight"] * (by_name["hero3"] - by_name["ppi"])
    assert found.value == pytest.approx(mixed)
    assert hero.estimate_rate(one, method=found.method).value == found.value


def test_history_without_gold_leaves_the_round_to_its_own() -> None:
    """Past labels without any gold switched the current round's gold off."""
    labels, _, _ = drawn(8)
    past = round_of(labels, prefix="h", options={"name": "past"})
    found = hero.estimate_rate(alone(3), past)
    assert (found.method, found.value) == ("balanced", hero.estimate_rate(alone(3)).value)
    assert "history has no gold" in found.why


@pytest.mark.parametrize("method", OWN)
def test_every_method_with_gold_uses_the_rounds_own(method: str) -> None:
    """A method would refuse, or ignore, the only gold that there is."""
    found = hero.estimate_rate(alone(4), method=method)
    low, high = found.interval()
    assert found.n_gold_current == found.n_gold == 60
    assert low < 0.35 < high
    assert high - low < 0.35
    assert "F105" not in codes(found)


@pytest.mark.simulation
def test_intervals_cover() -> None:
    """An interval of 95% that is right much less often, where labelers err together."""
    held = {"ppi": 0, "balanced": 0}
    for seed in range(20):
        one = alone(100 + seed, n_items=100, n_labelers=3, n_gold=40, together=0.5)
        for method in held:
            low, high = hero.estimate_rate(one, method=method).interval()
            held[method] += low <= 0.35 <= high
    assert min(held.values()) >= 16  # 19 expected; fewer than 16 once in two hundred


# ---------------------------------------------------------------------------------------- few, one-sided, all


def test_one_gold_is_too_little() -> None:
    """One gold would make a mean of 0 or 1 and an interval of no width."""
    one = alone(5, n_gold=1)
    found = hero.estimate_rate(one)
    assert found.method == "dawid_skene"
    assert "too little" in found.why
    assert "F105" in codes(found)
    with pytest.raises(hero.HeroError) as caught:
        hero.estimate_rate(one, method="ppi")
    assert (caught.value.code, caught.value.exit_code) == ("E305", 3)
    by_model = hero.estimate_rate(one, method="hero1")
    assert {"F304", "F307", "F309"} <= set(codes(by_model))


@pytest.mark.parametrize("method", ["ppi", None])
def test_gold_of_one_class_leaves_room_for_the_other(method: str | None) -> None:
    """30 golds without a positive would say that there are none: at most about a tenth, they say."""
    labels, gold, truth = drawn(6, n_gold=0, rate=0.08)
    some = np.flatnonzero(truth == 0)[:30]
    gold[some] = 0
    found = hero.estimate_rate(round_of(labels, gold), method=method)
    low, high = found.interval()
    assert low == found.value == 0.0
    assert high > 1 - 0.025 ** (1 / 30)  # what 30 golds still allow, exactly
    assert found.std_error > 0.01
    assert {"F302", "F307", "F309"} <= set(codes(found))


@pytest.mark.parametrize("method", ["ppi", None])
def test_gold_for_all_items_is_a_plain_mean(method: str | None) -> None:
    """With every answer known, labels could still move the number."""
    labels, gold, truth = drawn(7, n_items=120, n_gold=120)
    found = hero.estimate_rate(round_of(labels, gold), method=method)
    assert found.value == pytest.approx(truth.mean(), abs=1e-12)
    spread = truth.mean() * (1 - truth.mean()) / (len(truth) - 1)
    assert found.std_error == pytest.approx(np.sqrt(spread))


@pytest.mark.slow
def test_ppi_without_gold_is_refused() -> None:
    labels, gold, _ = drawn(8)
    history = round_of(labels, gold, prefix="h")
    blind = alone(9).without_gold()
    for past in (None, history):
        with pytest.raises(hero.HeroError) as caught:
            hero.estimate_rate(blind, past, method="ppi")
        assert caught.value.code == "E305"
    compared = hero.compare_methods(blind, history)
    assert {"ppi", "balanced"} <= set(compared.skipped)
    assert set(hero.compare_methods(alone(9))) >= set(OWN)


def test_covariates_without_history_are_refused() -> None:
    """Columns that were named would be left out without a word."""
    labels, gold, _ = drawn(9)
    one = round_of(labels, gold, {"x": np.arange(len(labels), dtype=float)})
    with pytest.raises(hero.HeroError) as caught:
        hero.estimate_rate(one, method="hero3", covariates=["x"])
    assert caught.value.code == "E206"


# ---------------------------------------------------------------------------------------- beside history


def test_gold_is_said_where_it_is() -> None:
    """ "300 in history" of which 60 were not."""
    labels, gold, _ = drawn(10, n_items=400, n_gold=100)
    history = round_of(labels, gold, prefix="h")
    found = hero.estimate_rate(alone(11), history, method="hero3")
    assert (found.n_gold, found.n_gold_history, found.n_gold_current) == (160, 100, 60)
    assert found.gold_words == "100 in history, 60 in current"
    assert "160 gold (100 in history, 60 in current)" in repr(found)
    document = found.to_dict()
    assert (document["n_gold"], document["n_gold_history"], document["n_gold_current"]) == (160, 100, 60)
    plain = hero.estimate_rate(alone(11), history, method="hero1")
    assert (plain.gold_words, plain.n_gold) == ("100 in history", 100)
    assert "F105" in codes(plain)


def two_rounds(seed: int, n_gold: int) -> tuple[Round, Round]:
    labels, gold, _ = drawn(seed, n_items=300, n_gold=120)
    history = round_of(labels, gold, prefix="h", options={"name": "past"})
    labels, gold, _ = drawn(seed + 1, n_gold=n_gold)
    return round_of(labels, gold), history


@pytest.mark.slow
@pytest.mark.parametrize("n_past", [1, 4])
def test_gold_that_contradicts_the_model_is_believed(monkeypatch: pytest.MonkeyPatch, n_past: int) -> None:
    """A model that is off would outvote the golds of the very round that is asked about, fitted to choose by or not."""
    current = two_rounds(30, 70)[0]
    past = [two_rounds(30 + seed, 70)[1] for seed in range(n_past)]
    by_gold = hero.estimate_rate(current, past, method="ppi")
    usual = all_methods()["hero3"]

    def off(evidence: JointEvidence) -> Fit:
        fit = usual.run(evidence)
        if not (evidence.current.gold >= 0).any():
            return fit  # where past rounds are played it is right, and so it is chosen
        moved = fit.rates + np.array([-0.25, 0.25])
        return replace(fit, rates=moved, inside=moved)

    monkeypatch.setitem(registry.METHODS, "hero3", replace(usual, run=off))
    by_model = hero.estimate_rate(current, past, method="hero3")
    told = finding(by_model, "F220")
    assert told.severity == "warning"
    assert told.data["p_value"] < 0.05
    assert told.data["ppi"]["1"] == pytest.approx(by_gold.value)
    found = hero.estimate_rate(current, past)
    assert (found.method, found.value) == ("ppi", by_gold.value)
    assert "contradicts hero3" in found.why
    assert "F220" in codes(found)


@pytest.mark.slow
def test_gold_that_agrees_says_nothing() -> None:
    """A warning in every round would be read in none."""
    for seed in range(200, 206):
        assert "F220" not in codes(hero.estimate_rate(*two_rounds(seed, 50), method="hero3"))


# ---------------------------------------------------------------------------------------- influences and twins


def own_evidence(n_classes: int, seed: int) -> tuple[CarriedEvidence, Array, Array]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, 150)
    labels = labels_given(rng, truth, near_answers(4, n_classes, 0.7, rng), 0.9)
    gold = np.where(rng.random(150) < 0.4, truth, -1)
    patterns = patterns_of_matrix(labels, n_classes, gold, rng.uniform(0.5, 2.0, 150))
    return CarriedEvidence(n_classes, patterns, em=TIGHT), labels, gold


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["gold_proportion", "hero1"])
def test_an_item_moves_the_rate_once(name: str, n_classes: int) -> None:
    """The round would count twice, as its own history and as itself."""
    evidence, _, _ = own_evidence(n_classes, 20 + n_classes)
    fit = all_methods()[name].run(evidence)
    assert fit.history is None
    largest = np.abs(fit.current).max()
    for item in np.random.default_rng(0).choice(len(fit.current), 10, replace=False):
        moved = []
        for sign in (1, -1):
            weight = evidence.current.item_weight.copy()
            weight[item] *= 1 + sign * 1e-3
            changed = replace(evidence, current=evidence.current.reweighted(weight))
            moved.append(all_methods()[name].run(changed).rates[1:])
        slope = (moved[0] - moved[1]) / 2e-3
        assert slope == pytest.approx(fit.current[item], abs=2e-3 * largest)


def test_hero1_alone_is_anchored_em() -> None:
    """Another number than the slow twin's class weights, which gold anchors."""
    evidence, labels, gold = own_evidence(2, 31)
    weights, _ = naive.anchored_em(labels, gold, 2, evidence.current.item_weight, tolerance=1e-13)
    assert all_methods()["hero1"].run(evidence).rates == pytest.approx(weights, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaving_a_gold_out_is_like_fitting_without_it(n_classes: int) -> None:
    """Predictions that know their own gold would make the interval too short."""
    _, labels, gold = own_evidence(n_classes, 40 + n_classes)
    patterns = patterns_of_matrix(labels, n_classes, gold)
    evidence = JointEvidence(n_classes, patterns, tuple("abcd"), (), np.zeros(4, dtype=np.int64), patterns, em=TIGHT)
    whole = fitted_levels(evidence)
    where = whole.rows.known
    shares = np.zeros_like(whole.shares)
    shares[where] = left_out(whole, where)
    blind = replace(whole, rows=whole.rows.blind()).shares
    row_of = whole.rows.patterns.row_of_item
    owed, missed = [], []
    for item in np.flatnonzero(gold >= 0)[:12]:
        less = gold.copy()
        less[item] = -1
        without = patterns_of_matrix(labels, n_classes, less)
        again = fitted_levels(replace(evidence, current=without, warm_levels=whole))
        exact = again.shares[again.rows.patterns.row_of_item[item]]
        owed.append(blind[row_of[item]] - exact)
        missed.append(shares[row_of[item]] - exact)
    assert np.abs(owed).max() > 0.003
    assert np.sqrt(np.mean(np.square(missed))) < 0.25 * np.sqrt(np.mean(np.square(owed)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_left_out_is_measured_from_the_mean_without_it(n_classes: int) -> None:
    """A gold of class 1 that is forgotten lowers all predictions, which would look as if labels told less than they
    do."""
    _, labels, gold = own_evidence(n_classes, 40 + n_classes)
    patterns = patterns_of_matrix(labels, n_classes, gold)
    evidence = JointEvidence(n_classes, patterns, tuple("abcd"), (), np.zeros(4, dtype=np.int64), patterns, em=TIGHT)
    whole = fitted_levels(evidence)
    where = whole.rows.known
    taken_off = np.zeros_like(whole.shares)
    taken_off[where] = left_out(whole, where) - left_out(whole, where, whole.rows.patterns.counts)

    def mean(fit: LevelFit) -> Array:
        counts = fit.rows.patterns.counts
        return counts @ replace(fit, rows=fit.rows.blind()).shares / counts.sum()

    moved, missed = [], []
    for item in np.flatnonzero(gold >= 0)[:12]:
        less = gold.copy()
        less[item] = -1
        without = patterns_of_matrix(labels, n_classes, less)
        again = fitted_levels(replace(evidence, current=without, warm_levels=whole))
        moved.append(mean(again) - mean(whole))
        missed.append(taken_off[whole.rows.patterns.row_of_item[item]] - moved[-1])
    assert np.abs(moved).max() > 0.0005
    assert np.sqrt(np.mean(np.square(missed))) < 0.25 * np.sqrt(np.mean(np.square(moved)))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_powered_means_are_those_of_the_twin(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng([seed, n_classes])
    foreseen = rng.dirichlet(np.ones(n_classes), 90)
    truth = np.array([rng.choice(n_classes, p=share) for share in foreseen])
    if seed == 0:
        truth = rng.integers(0, n_classes, 90)  # nothing to foresee
    chance, weight = rng.uniform(0.2, 0.6, 90), rng.uniform(0.5, 2.0, 90)
    gold = np.where(rng.random(90) < chance, truth, -1)
    rates, covariance, power = naive.ppi(foreseen, gold, weight, chance)
    found = powered_mean(foreseen, gold, weight, weight / chance)
    assert found.rates == pytest.approx(rates)
    assert found.rates.sum() == pytest.approx(1.0)
    assert found.power == pytest.approx(power)
    assert found.influence.T @ found.influence == pytest.approx(covariance)
    assert (power > 0.2) == (seed != 0)


def test_golds_that_agree_by_luck_are_not_taken_for_certainty() -> None:
    """Fifteen golds that labels happen to foresee would make the rate as sure as if all items had gold."""
    truth = np.arange(400) % 10 < 3
    foreseen = np.where(truth, 0.85, 0.15)
    gold = np.where(np.arange(400) < 15, truth, -1)
    found = powered_mean(np.column_stack([1 - foreseen, foreseen]), gold, np.ones(400), np.ones(400))
    assert found.power == 1.0
    variance, shown = float((found.influence[:, 1] ** 2).sum()), float((found.by_gold[:, 1] ** 2).sum())
    assert shown < 0.0025
    assert variance > 0.85 * 0.15 / 15
    wrong = np.where(np.arange(400) % 5 == 0, ~truth, truth)  # of which gold shows more than predictions expect
    seen = np.where(np.arange(400) < 60, wrong, -1)
    found = powered_mean(np.column_stack([1 - foreseen, foreseen]), seen, np.ones(400), np.ones(400))
    assert found.power > 0.0
    assert found.influence == pytest.approx(found.by_gold)
    other = np.eye(2)[truth[15:60].astype(int)], np.column_stack([1 - foreseen, foreseen])[15:60]
    beside = GoldSample(*other, np.full(45, 1 / 45), np.ones(45), 45)
    one_class = np.where(truth & (gold >= 0), -1, gold)  # another part of the round says how far predictions hold
    shares = np.column_stack([1 - foreseen, foreseen])
    found = powered_mean(shares, one_class, np.ones(400), np.ones(400), beside=[beside])
    assert found.power == 1.0
    assert float((found.influence[:, 1] ** 2).sum()) > 0.85 * 0.15 / 11


def test_the_default_is_no_surer_than_labels_allow() -> None:
    """Fifteen golds of items that both labelers happened to get right, though each errs in a fifth of them."""
    labels, _, truth = drawn(21, n_items=400, n_labelers=2, right=(0.8, 0.8))
    right = np.flatnonzero((labels == truth[:, None]).all(axis=1))
    shown = np.isin(np.arange(400), np.random.default_rng(0).choice(right, 15, replace=False))
    found = hero.estimate_rate(round_of(labels, np.where(shown, truth, -1)))
    assert found.std_error > 0.04
    assert found.std_error > 1.3 * np.sqrt(found.value * (1 - found.value) / 400)  # as if every item had gold


def test_a_model_by_name_is_doubted_with_few_golds_of_its_own() -> None:
    """A gate would open on hero3's interval, which is too short where 30 golds must say that labelers err together."""
    one = alone(22, n_labelers=3, n_gold=45)
    assert "F309" in {doubt.code for doubt in hero.estimate_rate(one, method="hero3").doubts}
    assert "F309" not in codes(hero.estimate_rate(one))


@pytest.mark.simulation
def test_known_probabilities_of_gold_are_used() -> None:
    """Gold that went to items with a "1" would call most items positive."""
    values = {"known": [], "unsaid": []}
    for seed in range(8):
        labels, _, truth = drawn(300 + seed, n_items=400, n_labelers=3, right=(0.6, 0.7))
        chance = np.where(labels.mean(axis=1) > 0.5, 0.4, 0.08)
        gold = np.where(np.random.default_rng(seed).random(400) < chance, truth, -1)
        for name, columns in (("known", {"gold_probability": chance}), ("unsaid", None)):
            found = hero.estimate_rate(round_of(labels, gold, columns), method="ppi")
            values[name].append(found.value - truth.mean())
            assert ("F111" in codes(found)) == (name == "known")
    assert abs(np.mean(values["known"])) < 0.035
    assert "F112" in codes(found)
    assert "the current round" in finding(found, "F112").message


def test_weights_of_items_count() -> None:
    """A plain mean of items that stand for different numbers of others."""
    labels, gold, truth = drawn(12, n_items=100, n_gold=100)
    weight = np.where(truth == 1, 3.0, 1.0)
    found = hero.estimate_rate(round_of(labels, gold, {"weight": weight}), method="ppi")
    assert found.value == pytest.approx(weight @ truth / weight.sum())


def test_a_mixture_leans_on_the_surer_only_where_both_agree() -> None:
    rng = np.random.default_rng(0)
    sure, plain = (np.outer(rng.standard_normal(50), [-size, size]) for size in (0.01, 0.03))
    error = float(np.sqrt((plain**2).sum()))
    agree = mixture(sure, plain, 0.0, np.zeros(2), 1.0, error)
    apart = mixture(sure, plain, 0.0, np.array([-2.0, 2.0]), 1.0, error)
    assert agree.weight > 0.6
    assert agree.error < error
    assert apart.weight < 0.05
    assert apart.error == pytest.approx(error, rel=0.12)
    assert (
        mixture(sure, plain, 0.0, np.zeros(2), 0.0, error).weight == 0.0
    )  # predictions that hold for no gold left out
    lucky = mixture(sure, plain, 0.0, np.zeros(2), 1.0, 2 * error)
    assert lucky.weight == agree.weight  # golds that agree by luck do not speak for the model
    assert lucky.error > agree.error


# ---------------------------------------------------------------------------------------- invariance, other targets


@pytest.mark.slow
@pytest.mark.parametrize("method", OWN)
def test_names_and_order_change_nothing(method: str) -> None:
    """Golds are left out one by one, not in folds that an order or a name would choose."""
    labels, gold, _ = drawn(13)
    before = hero.estimate_rate(round_of(labels, gold), method=method)
    rng = np.random.default_rng(1)
    items, people = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    after = hero.estimate_rate(round_of(labels[items][:, people], gold[items]), method=method)
    assert after.value == pytest.approx(before.value, abs=1e-6)
    assert after.interval() == pytest.approx(before.interval(), abs=1e-5)


def test_three_classes_have_three_rates() -> None:
    rng = np.random.default_rng(14)
    truth = rng.choice(3, 240, p=[0.5, 0.3, 0.2])
    labels = labels_given(rng, truth, near_answers(4, 3, 0.7, rng), 1.0)
    gold = np.where(rng.random(240) < 0.4, truth, -1)
    one = round_of(labels, gold, classes=["A", "B", "tie"])
    for method in ("ppi", None):
        found = hero.estimate_rate(one, method=method, positive="B")
        each = found.distribution
        assert sum(of.value for of in each.values()) == pytest.approx(1.0)
        for of, share in zip(each.values(), [0.5, 0.3, 0.2], strict=True):
            low, high = of.interval()
            assert low < share < high
        assert found.value == each["B"].value


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ppi", None])
def test_other_questions_use_the_gold_too(method: str | None) -> None:
    """A difference, a share of flags or a bootstrap would fail, or forget the gold."""
    a, b = alone(15), alone(16)
    gap = hero.estimate_difference(a, b, method=method)
    assert gap.n_gold_current == 120
    assert gap.std_error < 0.12
    labels, gold, truth = drawn(17, n_items=300, n_gold=120)
    flags = (np.random.default_rng(0).random(300) < np.where(truth == 1, 0.8, 0.3)).astype(int)
    found = hero.estimate_moderation(round_of(labels, gold, {"flag": flags}), flag="flag", method=method)
    assert found.n_gold == 120
    assert 0.2 < found.prevalence.value < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("method", ["hero1", "hero3", "ppi", "balanced"])
def test_bootstrap_agrees(method: str) -> None:
    one = alone(18, n_items=150)
    usual = hero.estimate_rate(one, method=method)
    drawn_again = hero.estimate_rate(one, method=method, interval="bootstrap", replicates=60, seed=1)
    low, high = drawn_again.interval()
    assert drawn_again.value == usual.value
    assert 0.6 < (high - low) / np.subtract(*usual.interval()[::-1]) < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ppi", "balanced"])
def test_replicates_without_gold_know_nothing(method: str) -> None:
    """Items drawn again may all lack gold; that must not count as a rate of 0, nor end in a division by 0."""
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 12)
    gold = np.array([0, 1, *[-1] * 10])
    few = round_of(labels_given(rng, truth, near_answers(3, 2, 0.8, rng)), gold)
    found = hero.estimate_rate(few, method=method, interval="bootstrap", replicates=60, seed=1)
    assert found.interval()[0] <= found.value <= found.interval()[1]
    assert found.interval()[1] - found.interval()[0] > 0.2
    none = powered_mean(np.full((3, 2), 0.5), np.full(3, -1), np.ones(3), np.ones(3))
    assert np.isnan(none.rates).all()
    assert np.isnan(none.influence).all()


@pytest.mark.slow
def test_a_report_does_not_count_the_round_twice(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    one = alone(19)
    place = hero.estimate_rate(one).report(tmp_path / "report.json")
    document = json.loads(place.read_text(encoding="utf-8"))
    assert "60 in current" in place.read_text(encoding="utf-8")
    assert document


# ---------------------------------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("own") / "first"
    place.mkdir()
    labels, gold, _ = drawn(21, n_gold=79)
    for name, table in tables_of(labels, gold).items():
        pa.csv.write_csv(table, place / f"{name}.csv")
    return place


def test_the_command_tells_where_gold_is(folder: Path) -> None:
    run = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["estimate", str(folder)])
    assert run.exit_code == 0, run.output
    assert "79 in current" in run.output
    assert "in history" not in run.output.split("gold", 1)[1].splitlines()[0]
    asked = CliRunner().invoke(app, ["estimate", str(folder), "--method", "ppi", "--json"])
    document = json.loads(asked.stdout)
    assert (document["method"], document["n_gold_current"]) == ("ppi", 79)


@pytest.mark.slow
def test_check_knows_the_methods(folder: Path) -> None:
    run = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["check", str(folder), "--json"])
    document = json.loads(run.stdout)
    able = {row["name"] for row in document["methods"] if row["can_run"]}
    assert set(OWN) <= able
    assert document["best"]["method"] == "balanced"
