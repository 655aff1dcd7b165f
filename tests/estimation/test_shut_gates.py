"""Gates that must stay shut: each of these opened, at a bound that the truth does not reach, before it was mended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from make_rounds import binary_answers, labels_given, round_of, some_gold, tables_of

import hero_eval as hero
from hero_eval.round import Round
from hero_eval.targets.difference import estimate_difference

RIGHT = np.array([0.85, 0.8, 0.75])
N_ITEMS = 300


def moved(shift: float) -> np.ndarray:
    """Three labelers, who say 1 more readily by so many logits."""

    def by(share: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-(np.log(share / (1 - share)) + shift)))

    return binary_answers(by(RIGHT), 1 - by(1 - RIGHT))


def drawn(rng: np.random.Generator, rate: float, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Labels of three labelers, and the truth."""
    truth = (rng.random(N_ITEMS) < rate).astype(np.int64)
    return labels_given(rng, truth, moved(shift)), truth


def past_rounds(rng: np.random.Generator, shifts: Sequence[float]) -> list[Round]:
    """Past rounds at a rate of .3 with gold for a fifth of their items."""
    found = []
    for number, shift in enumerate(shifts):
        labels, truth = drawn(rng, 0.3, shift)
        found.append(round_of(labels, some_gold(rng, truth, 0.2), prefix=f"p{number}-", options={"name": f"p{number}"}))
    return found


def chosen(rng: np.random.Generator, truth: np.ndarray, n_bad: int, n_good: int = 40) -> np.ndarray:
    """Gold for items that an expert picked by what they are: most of the good ones."""
    gold = np.full(len(truth), -1)
    for value, many in ((1, n_good), (0, n_bad)):
        some = rng.permutation(np.flatnonzero(truth == value))[:many]
        gold[some] = value
    return gold


def opened_wrongly(found: hero.Estimate, truth: float) -> bool:
    """Whether a gate opens that asks for more, or allows less, than the truth."""
    bounds = {"fail_below": truth + 0.02}, {"fail_above": truth - 0.02}
    return any(hero.Gate(**bound).verdict(found).is_open for bound in bounds)


def test_gold_of_one_class_that_was_picked_opens_no_gate() -> None:
    """That no gold was bad says nothing of how rare bad items are, if the expert picked good ones: .55 to 1 for .5."""
    rng = np.random.default_rng(5)
    labels, truth = drawn(rng, 0.3)
    history = round_of(labels, chosen(rng, truth, 0), prefix="h", options={"classes": ["0", "1"]})
    found = hero.estimate_rate(round_of(drawn(rng, 0.5)[0], prefix="c"), history)
    assert {"F112", "F307"} <= {one.code for one in found.doubts}
    assert not opened_wrongly(found, 0.5)


@pytest.mark.parametrize("n_past", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_gold_that_was_picked_by_its_class_opens_no_gate(n_past: int) -> None:
    """Labels look as if gold had gone by them, which the model allows for; it went by the truth, which it does not."""
    rng = np.random.default_rng(7)
    history = []
    for number in range(n_past):
        labels, truth = drawn(rng, 0.3)
        gold = chosen(rng, truth, 10)
        history.append(round_of(labels, gold, prefix=f"p{number}-", options={"name": f"p{number}"}))
    found = hero.estimate_rate(round_of(drawn(rng, 0.3)[0], prefix="c"), history)
    (told,) = [one for one in found.doubts if one.code == "F112"]
    assert "by what the expert saw" in told.fact
    assert not opened_wrongly(found, 0.3)


@pytest.mark.slow
def test_gold_that_leaves_out_one_of_three_classes_opens_no_gate() -> None:
    """The mean of the answers looked as if gold had gone at random, and B as if it were rare: 6 of 14 opened."""
    rng = np.random.default_rng(1003)

    def votes(n_gold: int, name: str) -> Round:
        truth = rng.choice(3, N_ITEMS, p=[0.4, 0.4, 0.2])
        labels = np.where(rng.random((N_ITEMS, 3)) < 0.7, truth[:, None], rng.integers(0, 3, (N_ITEMS, 3)))
        gold = np.full(N_ITEMS, -1)
        some = rng.permutation(np.flatnonzero(truth != 1))[:n_gold]
        gold[some] = truth[some]
        named = np.array(["A", "B", "tie"], dtype=object)
        tables = tables_of(labels, gold, prefix=f"{name}-")
        for table, column in (("labels", "label"), ("gold", "gold")):
            if table in tables:
                words = pa.array(named[np.asarray(tables[table][column]).astype(int)])
                at = tables[table].column_names.index(column)
                tables[table] = tables[table].set_column(at, column, words)
        return Round(**tables, classes=["A", "B", "tie"], name=name)

    found = hero.estimate_win_rate(votes(0, "now"), [votes(60, "one"), votes(60, "two")])
    told = {one.code: one for one in found.doubts}
    assert {"F112", "F307"} <= set(told)
    assert "answers 'B'" in told["F112"].data["columns"]
    assert not opened_wrongly(found, 0.5)


def test_gold_for_disputed_items_keeps_its_gate() -> None:
    """Experts are sent what labelers dispute: that goes by the labels, and the model allows for it."""
    rng = np.random.default_rng(3)
    labels, truth = drawn(rng, 0.3)
    disputed = labels.min(axis=1) < labels.max(axis=1)
    gold = np.where(rng.random(N_ITEMS) < np.where(disputed, 0.6, 0.15), truth, -1)
    found = hero.estimate_rate(round_of(drawn(rng, 0.3)[0], prefix="c"), round_of(labels, gold, prefix="h"))
    (told,) = [one for one in found.findings if one.code == "F112"]
    assert "disagreement of the labels" in told.data["columns"]
    assert not told.doubts_interval


@pytest.mark.slow
@pytest.mark.parametrize("n_past", [2, 4])
def test_a_drift_that_no_past_round_shows_opens_no_gate(n_past: int) -> None:
    """13 and 16 of 20 gates opened wrongly, since the interval "allows for the drift that past rounds show"."""
    wrong, draws = 0, 8
    for seed in range(draws):
        rng = np.random.default_rng(1000 + seed)
        history = past_rounds(rng, [0.0] * n_past)
        found = hero.estimate_rate(round_of(drawn(rng, 0.5, 1.0)[0], prefix="c"), history, method="hero3")
        wrong += opened_wrongly(found, 0.5)
        told = [one for one in found.findings if one.code == "F205"]
        if told and told[0].doubts_interval:
            assert "past rounds fit each other better" in told[0].fact
    assert wrong <= 3  # of 8, where 5 to 6 opened; about 1 is expected


@pytest.mark.slow
def test_a_drift_that_past_rounds_show_leaves_the_gate_its_say() -> None:
    """Rounds that always drift would never pass a gate, though the interval has learned how far they do."""
    rng = np.random.default_rng(11)
    history = past_rounds(rng, [-1.2, 0.9, -0.5, 1.2, -0.9, 0.6])
    found = hero.estimate_rate(round_of(drawn(rng, 0.4, 0.9)[0], prefix="c"), history, method="hero3")
    (told,) = [one for one in found.findings if one.code == "F205"]
    assert told.data["past_rounds_that_misfit"] > 0
    assert not told.doubts_interval
    assert "the drift that past rounds show" in told.fact
    low, high = found.interval()
    assert low < 0.4 < high


@pytest.mark.slow
def test_own_gold_settles_a_drift_that_past_rounds_do_not_show() -> None:
    """The finding asks for gold of the current round; who gives it must not find the gate shut for good."""
    rng = np.random.default_rng(1002)
    history = past_rounds(rng, [0.0, 0.0])
    labels, truth = drawn(rng, 0.5, 1.0)
    blind = hero.estimate_rate(round_of(labels, prefix="c"), history)
    assert "F205" in {one.code for one in blind.doubts}
    known = hero.estimate_rate(round_of(labels, some_gold(rng, truth, 0.4), prefix="c"), history)
    assert known.doubts == ()
    assert not opened_wrongly(known, 0.5)


@pytest.mark.slow
def test_a_few_own_golds_do_not_vouch_for_a_history_that_the_labels_refute() -> None:
    """With 20 golds of the round nothing doubted the model that let them move the rate by next to nothing: 16 of 40
    gates opened at the rate of .1 itself, and 8 of 12 here. Who names hero3 keeps the doubt, and is told what to do."""
    wrong = 0
    for seed in range(12):
        rng = np.random.default_rng(3000 + seed)
        history = []
        for number in range(3):
            labels, truth = drawn(rng, 0.1)
            gold = some_gold(rng, truth, 0.25)
            history.append(round_of(labels, gold, prefix=f"p{number}-", options={"name": f"p{number}"}))
        labels, truth = drawn(rng, 0.1, -1.0)
        known = np.full(N_ITEMS, -1)
        some = rng.permutation(N_ITEMS)[:20]
        known[some] = truth[some]
        current = round_of(labels, known, prefix="c")
        found = hero.estimate_rate(current, history)
        wrong += hero.Gate(fail_above=0.1).verdict(found).is_open
        (told,) = [one for one in found.findings if one.code == "F205"]
        assert "balanced was used" in told.fact
        assert not told.doubts_interval
        if seed:
            continue
        (doubt,) = [one for one in hero.estimate_rate(current, history, method="hero3").doubts if one.code == "F205"]
        assert "Name no method" in doubt.action
    assert wrong <= 2  # of 12, where .6 are expected


@pytest.mark.slow
def test_a_difference_by_a_drift_that_no_past_round_shows_opens_no_gate() -> None:
    """One model's labels drifted, the other's did not: the difference is the drift's."""
    wrong = 0
    for seed in range(8):
        rng = np.random.default_rng(1000 + seed)
        history = past_rounds(rng, [0.0, 0.0, 0.0])
        a, b = (round_of(drawn(rng, 0.5, shift)[0], options={"name": name}) for name, shift in (("a", 0.0), ("b", 1.0)))
        wrong += opened_wrongly(estimate_difference(a, b, history), 0.0)
    assert wrong <= 4  # 12 of 20 opened before, 5 of 20 do: labels do not show every such drift


@pytest.mark.slow
def test_a_trial_step_that_leaves_a_level_empty_is_no_error() -> None:
    """Scores whose labelers moved far ended in numpy's "Singular matrix"."""
    rng = np.random.default_rng(1000)

    def scored(rate: float, n_gold: int, shift: float, name: str) -> Round:
        good = rng.random(N_ITEMS) < rate
        rows = [
            {"item": f"i{k}", "labeler": who, "label": value}
            for who in "abc"
            for k, value in enumerate(np.round(good * 1.5 + rng.normal(size=N_ITEMS) + shift, 4))
        ]
        some = rng.permutation(N_ITEMS)[:n_gold]
        gold = pd.DataFrame({"item": [f"i{k}" for k in some], "gold": good[some].astype(int)}) if n_gold else None
        return Round(pd.DataFrame(rows), gold=gold, name=name, classes=["0", "1"], label_kind="score")

    current = scored(0.5, 0, 1.0, "c")
    found = hero.estimate_rate(current, [scored(0.3, 60, 0.0, f"h{i}") for i in range(3)])
    assert not opened_wrongly(found, 0.5)
