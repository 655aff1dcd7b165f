"""Many labelers of few labels each: the fit comes to rest, its interval is found, and its bias is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from make_rounds import finding

import hero_eval as hero
from hero_eval.estimation.diagnostics import FEW_LABELS, MATERIAL, rate_errors
from hero_eval.methods.current_rate import carried_fit, carry
from hero_eval.model import em
from hero_eval.model import information as influence_module
from hero_eval.model.conjugate_gradients import conjugate_gradients
from hero_eval.model.em import EMOptions
from hero_eval.model.history import fit_anchored
from hero_eval.model.patterns import Floats, Patterns, patterns_of_matrix
from hero_eval.model.split_half import halves, labels_of, typical_labels
from hero_eval.studies.designs import EXPERIMENTS, draw

EACH = 5


def pool_round(
    n_labelers: int, labels_each: int, rate: float, gold_rate: float, seed: int, least: float = 0.6
) -> hero.Round:
    """Five labels an item; sensitivities and specificities between `least` and .95, the same for every seed."""
    rng = np.random.default_rng(seed)
    right = np.random.default_rng(n_labelers).uniform(least, 0.95, (2, n_labelers))
    n_items, block = n_labelers * labels_each // EACH, n_labelers // EACH
    truth = rng.random(n_items) < rate
    who = rng.integers(0, block, (n_items, EACH)) + block * np.arange(EACH)
    says = rng.random((n_items, EACH)) < np.where(truth[:, None], right[1][who], 1.0 - right[0][who])
    names = np.array([f"{seed}-{i}" for i in range(n_items)])
    labels = pd.DataFrame(
        {"item": np.repeat(names, EACH), "labeler": who.ravel().astype(str), "label": says.ravel().astype(int)}
    )
    known = rng.random(n_items) < gold_rate
    gold = pd.DataFrame({"item": names[known], "gold": truth[known].astype(int)}) if known.any() else None
    return hero.Round(labels, gold=gold)


def pool_history(seed: int, n_labelers: int = 40, n_items: int = 300) -> Patterns:
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < 0.4
    labels = np.where(rng.random((n_items, n_labelers)) < 0.8, truth[:, None], ~truth[:, None]).astype(np.int64)
    labels[rng.random((n_items, n_labelers)) > 0.1] = -1
    labels[(labels < 0).all(axis=1), 0] = 1
    return patterns_of_matrix(labels, 2, np.where(rng.random(n_items) < 0.2, truth, -1))


# ------------------------------------------------------------------------------------------ the bias and its finding


@pytest.mark.slow
def test_a_bias_beyond_the_interval_is_named_and_mended() -> None:
    """A platform with many occasional labelers would report a rate that its own interval excludes, without a word, or
    be advised something that does not help."""
    errors, steadied = [], []
    for seed in (1, 2):
        history, current = pool_round(600, 80, 0.3, 0.05, seed), pool_round(600, 80, 0.4, 0.0, 100 + seed)
        made = hero.estimate_rate(current, history, method="hero1", interval="influence")
        data = finding(made, "F210").data
        assert data["labels_each"] == pytest.approx(80, abs=4)
        assert data["shift"]["1"] < -MATERIAL * made.std_error
        assert data["shift"]["0"] == pytest.approx(-data["shift"]["1"])
        errors.append((made.value - 0.4) / made.std_error)
        steady = hero.fit_reliability(history, shrinkage=3)
        mended = hero.estimate_rate(current, steady, method="hero1", interval="influence")
        assert not any(one.code == "F210" for one in mended.findings)
        steadied.append((mended.value - 0.4) / mended.std_error)
    assert np.mean(errors) < -1.5
    assert abs(np.mean(steadied)) < 1.0


@pytest.mark.slow
def test_hero3_is_not_led_astray_by_few_labels() -> None:
    """The method that the finding names would be as wrong as the one that it warns of."""
    history, current = pool_round(200, 50, 0.3, 0.05, seed=3), pool_round(200, 50, 0.4, 0.0, seed=103)
    made = hero.estimate_rate(current, history, method="hero3", interval="influence")
    low, high = made.interval()
    assert low < 0.4 < high
    assert not any(one.code == "F210" for one in made.findings)


def test_a_handful_of_labels_each_is_named_at_once() -> None:
    """With ten labels a labeler nothing that can be measured shows how wrong the rate is, and nobody would say so."""
    history, current = pool_round(100, 10, 0.3, 0.1, seed=4), pool_round(100, 10, 0.4, 0.0, seed=104)
    made = hero.estimate_rate(current, history, method="hero1", interval="influence")
    assert finding(made, "F210").data["labels_each"] < FEW_LABELS


@pytest.mark.parametrize(("n_labelers", "labels_each", "least"), [(40, 400, 0.6), (100, 100, 0.88), (10, 20, 0.6)])
def test_no_alarm_where_the_bias_is_small(n_labelers: int, labels_each: int, least: float) -> None:
    """Users with enough labels a labeler, or good labelers, would be sent to another method for nothing."""
    history = pool_round(n_labelers, labels_each, 0.3, 0.05, seed=5, least=least)
    current = pool_round(n_labelers, labels_each, 0.4, 0.0, seed=105, least=least)
    made = hero.estimate_rate(current, history, method="hero1", interval="influence")
    assert not any(one.code == "F210" for one in made.findings)


@pytest.mark.parametrize("study", ["exp1-small", "exp1-large", "exp2"])
def test_no_alarm_in_the_papers_designs(study: str) -> None:
    """The paper's own method would be called biased on the paper's own data."""
    for number, design in enumerate(EXPERIMENTS[study][::5]):
        made = draw(design, np.random.default_rng(number))
        if len(np.unique(made.history_gold)) < 3:
            continue
        rounds = [
            _round_of_matrix(made.history_labels, made.history_gold, "h"),
            _round_of_matrix(made.current_labels, None, "c"),
        ]
        shown = hero.estimate_rate(rounds[1], rounds[0], method="hero1", interval="influence")
        assert not any(one.code == "F210" for one in shown.findings)


def _round_of_matrix(labels: np.ndarray, gold: np.ndarray | None, name: str) -> hero.Round:
    item, labeler = np.nonzero(labels >= 0)
    names = np.array([f"{name}{i}" for i in range(len(labels))])
    table = pd.DataFrame({"item": names[item], "labeler": labeler.astype(str), "label": labels[item, labeler]})
    if gold is None:
        return hero.Round(table)
    return hero.Round(table, gold=pd.DataFrame({"item": names[gold >= 0], "gold": gold[gold >= 0]}))


# ------------------------------------------------------------------------------------------ halves


def test_halves_share_the_items_out() -> None:
    """Items counted in both halves, or in none, would make the bias look smaller than it is."""
    whole = pool_history(1)
    one, other = halves(whole)
    assert one.total + other.total == pytest.approx(whole.total)
    assert abs(one.n_rows - other.n_rows) <= 3
    for k in (-1, 0, 1):
        parts = [float(half.counts[half.gold == k].sum()) for half in (one, other)]
        assert sum(parts) == pytest.approx(float(whole.counts[whole.gold == k].sum()))
        assert abs(parts[0] - parts[1]) <= 3
    by_cell = [part.to_cells(part.counts[:, None]) for part in (one, other, whole)]
    np.testing.assert_allclose(by_cell[0] + by_cell[1], by_cell[2], atol=1e-9)
    assert labels_of(whole).sum() == pytest.approx(float(by_cell[2].sum()))


def test_halves_do_not_depend_on_the_order_of_items() -> None:
    """The same data in another order would be called biased, or not."""
    rng = np.random.default_rng(2)
    labels = rng.integers(-1, 2, (80, 40))
    gold = rng.integers(-1, 2, 80)
    order = rng.permutation(80)
    there = halves(patterns_of_matrix(labels, 2, gold))[0]
    here = halves(patterns_of_matrix(labels[order], 2, gold[order]))[0]
    shown = [{(row.tobytes(), k) for row, k in zip(p.cells.toarray(), p.gold, strict=True)} for p in (there, here)]
    assert shown[0] == shown[1]


def test_typical_labels_are_those_behind_most_labels() -> None:
    """A crowd of one-time visitors beside a few who label everything would set off an alarm."""
    assert typical_labels(np.array([1.0] * 50 + [1000.0] * 3)) == 1000.0
    assert typical_labels(np.full(40, FEW_LABELS - 1.0)) == FEW_LABELS - 1


# ------------------------------------------------------------------------------------------ rest and interval


def test_many_numbers_rest_when_the_likelihood_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand labelers would take thousands of steps for digits that no estimate shows."""
    patterns = pool_history(4, n_labelers=120, n_items=400)
    slow = fit_anchored(patterns, 2, EMOptions(step_tolerance=1e-15, tolerance=1e-15, max_steps=3_000))
    monkeypatch.setattr(em, "MANY_NUMBERS", 100)
    soon = fit_anchored(patterns, 2, EMOptions())
    assert slow.report is not None
    assert soon.report is not None
    assert soon.report.converged
    assert soon.report.n_steps < slow.report.n_steps
    blind = replace(patterns, gold=np.full_like(patterns.gold, -1))
    ends = [carried_fit(carry(blind, fit)) for fit in (slow, soon)]
    assert abs(ends[0].rates[1] - ends[1].rates[1]) < 0.01 * rate_errors(ends[0])[1]


def test_the_interval_of_many_labelers_is_that_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above some number of labelers the same data would get another interval."""
    patterns = pool_history(6)
    blind = replace(patterns, gold=np.full_like(patterns.gold, -1))
    options = EMOptions()
    dense = carried_fit(carry(blind, fit_anchored(patterns, 2, options)))
    monkeypatch.setattr(influence_module, "DENSE_LIMIT", 0)
    by_products = carried_fit(carry(blind, fit_anchored(patterns, 2, options)))
    assert rate_errors(by_products) == pytest.approx(rate_errors(dense), rel=1e-5)


def test_labelers_that_have_not_come_to_rest_do_not_spoil_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """One labeler of a hundred thousand who still creeps along would cost everybody the interval."""
    patterns = pool_history(7, n_labelers=60)
    blind = replace(patterns, gold=np.full_like(patterns.gold, -1))
    settled = fit_anchored(patterns, 2, EMOptions())
    answers = settled.latent.answers.copy()
    inside = np.flatnonzero(((answers > 0.1) & (answers < 0.9)).all(axis=(1, 2)))[0]
    answers[inside, :, 0] = (0.985, 0.015)
    moved = replace(settled, latent=replace(settled.latent, answers=answers))
    monkeypatch.setattr(influence_module, "DENSE_LIMIT", 0)
    assert settled.information._unrest.max() < 1e-6
    assert moved.information._unrest[inside] > 1e-2
    monkeypatch.setattr(influence_module, "_REST_BOUNDS", (1.0,))
    near = carried_fit(carry(blind, replace(settled)))
    monkeypatch.setattr(influence_module, "_REST_BOUNDS", (1e-9 + np.delete(moved.information._unrest, inside).max(),))
    made = carried_fit(carry(blind, moved))
    assert rate_errors(made) == pytest.approx(rate_errors(near), rel=0.2)


def test_products_with_a_matrix_that_is_not_positive_definite_give_nothing() -> None:
    """A fit that no data hold in place would get a narrow interval, or one after hours."""

    def same(vector: Floats) -> Floats:
        return vector.copy()

    right = np.array([1.0, 1.0, 1.0])
    assert np.isnan(conjugate_gradients(lambda v: np.array([1.0, -2.0, 1.0]) * v, same, right)).all()
    matrix = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
    np.testing.assert_allclose(conjugate_gradients(lambda v: matrix @ v, same, right), np.linalg.solve(matrix, right))


def test_a_class_without_an_error_is_no_bias() -> None:
    """Many labelers who all say the same leave no error to measure a shift by: 0 of 0 was divided."""
    items, labelers = np.meshgrid(range(80), range(30), indexing="ij")
    names = [f"i{item}" for item in range(80)]

    def every(answers: list[str], prefix: str, gold: list[str] | None) -> hero.Round:
        labels = pd.DataFrame(
            {
                "item": [prefix + names[item] for item in items.ravel()],
                "labeler": [f"l{labeler}" for labeler in labelers.ravel()],
                "label": [answers[item] for item in items.ravel()],
            }
        )
        known = None if gold is None else pd.DataFrame({"item": [prefix + name for name in names], "gold": gold})
        return hero.Round(labels, known, classes=["no", "one"], positive="one", name=prefix)

    mixed = ["no", "one"] * 40
    found = hero.estimate_rate(every(["one"] * 80, "c", None), every(mixed, "h", mixed), method="hero1")
    assert found.value == 1.0
    assert "F210" not in [one.code for one in found.findings]
