"""Which items next: probabilities that are what they say, items that tell, and estimates that stay honest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_rounds import round_of

import hero_eval as hero
from hero_eval.errors import InputError
from hero_eval.estimation.ask import ask
from hero_eval.estimation.options import Options
from hero_eval.methods.hero3 import moves_by_gold
from hero_eval.model.gold_draw import draw_systematic, drawn_again, inclusion_probabilities
from hero_eval.model.routing import goes_by_labels

RATE = np.array([0.0, 1.0])


def simulated(
    rng: np.random.Generator, n_items: int, n_gold: int, rate: float = 0.4, skill: float = 0.8
) -> tuple[Any, Any, Any]:
    """Labels of five labelers, gold of some items at random, and the truth."""
    truth = (rng.random(n_items) < rate).astype(np.int64)
    right = rng.random((n_items, 5)) < np.array([skill, skill, 0.9, 0.65, 0.7])
    labels = np.where(right, truth[:, None], 1 - truth[:, None])
    shown = np.isin(np.arange(n_items), rng.choice(n_items, n_gold, replace=False))
    return labels, np.where(shown, truth, -1), truth


@pytest.fixture(scope="module")
def rounds() -> tuple[hero.Round, hero.Round, Any]:
    rng = np.random.default_rng(4)
    labels, gold, _ = simulated(rng, 400, 80)
    here, none, truth = simulated(rng, 200, 1)
    past = round_of(labels, gold, prefix="h", options={"name": "past"})
    return round_of(here, np.full_like(none, -1), options={"name": "now"}), past, truth


@given(st.lists(st.floats(0.0, 5.0), min_size=2, max_size=30), st.integers(1, 30), st.floats(0.05, 1.0), st.data())
@settings(max_examples=60, deadline=None)
def test_probabilities_add_up_and_keep_the_floor(score: list[float], count: int, floor: float, data: Any) -> None:
    may = np.array(data.draw(st.lists(st.booleans(), min_size=len(score), max_size=len(score))))
    may[0] = True
    found = inclusion_probabilities(np.array(score), count, floor, may)
    count = min(count, int(may.sum()))
    assert found[may].sum() == pytest.approx(count)
    assert found.max() <= 1.0
    assert found.min() >= min(1.0, floor * count / may.sum()) - 1e-12
    order = np.flatnonzero(may)
    drawn = draw_systematic(found, order, np.random.default_rng(0))
    assert len(drawn) == len(set(drawn)) == count
    assert may[drawn].all()


def test_items_are_drawn_as_often_as_their_probabilities_say() -> None:
    """4,000 draws: three Monte Carlo errors of a share are at most .024."""
    rng = np.random.default_rng(1)
    chance = inclusion_probabilities(rng.random(12), 4, 0.25, np.ones(12, bool))
    times = np.zeros(12)
    for _ in range(4_000):
        times[draw_systematic(chance, rng.permutation(12), rng)] += 1
    assert np.abs(times / 4_000 - chance).max() < 0.024


def test_what_was_drawn_before_counts() -> None:
    assert drawn_again(np.array([0.2]), np.array([0.5])) == pytest.approx(0.6)


@pytest.mark.slow
def test_moves_are_those_of_fitting_again(rounds: tuple[hero.Round, hero.Round, Any]) -> None:
    """The slow twin: give one item gold, and look how far the rate moves."""
    current, past, _ = rounds
    question = ask([current], past, Options(method="hero3")).question
    moves = moves_by_gold(question.currents[0].evidence, RATE)  # type: ignore[arg-type]
    before = hero.estimate_rate(current, past, method="hero3").value
    labels = np.full((current.n_items, 5), -1)
    labels[current.label_item, current.label_labeler] = current.label_answer
    found, foreseen = [], []
    for item in np.argsort(moves.doubt)[[5, 120, 170, 190, 199]]:
        for k in (0, 1):
            gold = np.full(current.n_items, -1)
            gold[item] = k
            found.append(hero.estimate_rate(round_of(labels, gold), past, method="hero3").value - before)
            foreseen.append(moves.moves[item, k])
    near = np.abs(foreseen) < 0.01  # a step is close to the way as long as it is short
    assert np.array(found)[near] == pytest.approx(np.array(foreseen)[near], abs=0.0015)
    assert np.corrcoef(found, foreseen)[0, 1] > 0.98


@pytest.mark.slow
def test_disputed_items_are_drawn_more_often(rounds: tuple[hero.Round, hero.Round, Any]) -> None:
    current, past, _ = rounds
    queue = hero.choose_gold(current, past, count=40)
    chance = np.array(queue.probabilities(backend="pyarrow")["gold_probability"].to_pylist())
    ones = np.bincount(current.label_item, current.label_answer, current.n_items)
    assert chance[(ones == 2) | (ones == 3)].mean() > 1.5 * chance[(ones == 0) | (ones == 5)].mean()
    assert chance.sum() == pytest.approx(40)
    assert len(set(queue.items)) == len(queue) == 40
    frame = queue.to_frame("pandas")
    assert list(frame.columns) == ["item", "gold_probability", "why"]
    assert (
        dict(zip(frame["item"], frame["gold_probability"], strict=True)).items()
        <= dict(zip(current.item_ids, chance, strict=True)).items()
    )
    again = hero.choose_gold(current, past, count=40)
    assert again.to_dict() == queue.to_dict()
    assert hero.choose_gold(current, past, count=40, seed=1).items != queue.items


def test_probabilities_of_a_queue_that_was_answered_in_part(rounds: tuple[hero.Round, hero.Round, Any]) -> None:
    current, past, _ = rounds
    queue = hero.choose_gold(current, past, count=20)
    whole = queue.probabilities(backend="pandas")["gold_probability"]
    half = queue.probabilities(answered=10, backend="pandas")["gold_probability"]
    assert half.to_numpy() == pytest.approx(whole.to_numpy() / 2)
    with pytest.raises(InputError, match="E201 answered is 30"):
        queue.probabilities(answered=30)
    with pytest.raises(InputError, match="E201 round is 'x'"):
        queue.probabilities("x")


def test_without_any_gold_items_are_drawn_at_random(rounds: tuple[hero.Round, hero.Round, Any]) -> None:
    current, _, _ = rounds
    queue = hero.choose_gold(current, count=20)
    assert queue.gold_probability == pytest.approx(0.1)
    assert [one.code for one in queue.findings] == ["F510"]
    assert set(queue.why) == {"drawn at random"}


@pytest.mark.slow
def test_groups_models_and_differences(rounds: tuple[hero.Round, hero.Round, Any]) -> None:
    _, past, _ = rounds
    rng = np.random.default_rng(8)
    labels, _, _ = simulated(rng, 120, 1)
    kinds = ["rare"] * 20 + ["common"] * 100
    one = round_of(labels, None, {"kind": kinds}, options={"name": "one"})
    queue = hero.choose_gold(one, past, count=30, by="kind")
    chance = np.array(queue.probabilities(backend="pyarrow")["gold_probability"].to_pylist())
    assert chance[:20].mean() > 1.5 * chance[20:].mean()  # of few items each counts for more
    other = round_of(simulated(rng, 120, 1)[0], None, options={"name": "other"})
    both = hero.choose_gold([one, other], past, count=30)
    assert set(both.rounds) == {"one", "other"}
    assert "round" in both.to_frame("pandas").columns
    pairs = hero.choose_gold([one, other], past, count=30, target="difference")
    by_round = {
        name: [item for r, item in zip(pairs.rounds, pairs.items, strict=True) if r == name]
        for name in ("one", "other")
    }
    assert by_round["one"] == by_round["other"]
    assert len(by_round["one"]) == 15


@pytest.mark.slow
def test_win_rates_have_a_queue_too() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 150)
    labels = np.where(rng.random((150, 4)) < 0.75, truth[:, None], rng.integers(0, 3, (150, 4)))
    gold = np.where(np.arange(150) < 60, truth, -1)
    past = round_of(labels, gold, classes=["A", "B", "tie"], prefix="h")
    now = round_of(labels[60:], None, classes=["A", "B", "tie"], options={"name": "now"})
    queue = hero.choose_gold(now, past, count=10, target="win_rate")
    assert len(queue) == 10
    with pytest.raises(InputError, match="E203"):
        hero.choose_gold(now, past, count=10, target="win_rate", a="C")


def test_bad_calls(rounds: tuple[hero.Round, hero.Round, Any]) -> None:
    current, past, _ = rounds
    for options, message in (
        ({"count": 0}, "E201 count is 0"),
        ({"count": 500}, "E220 count is 500, but only 200 items"),
        ({"count": 5, "floor": 0.0}, "E201 floor is 0.0"),
        ({"count": 5, "target": "tates"}, "E201 target is 'tates'"),
        ({"count": 5, "target": "difference"}, "E204 a difference is of two rounds"),
        ({"count": 5, "seed": -1}, "E201 seed is -1"),
        ({"count": 5, "by": "kind"}, "E202"),
    ):
        with pytest.raises(InputError, match=message):
            hero.choose_gold(current, past, **options)


@pytest.mark.slow
def test_gold_that_goes_by_labels_needs_no_weights(rounds: tuple[hero.Round, hero.Round, Any]) -> None:
    current, past, truth = rounds
    labels = np.full((current.n_items, 5), -1)
    labels[current.label_item, current.label_labeler] = current.label_answer
    queue = hero.choose_gold(current, past, count=60)
    chance = queue.probabilities(backend="pandas")["gold_probability"].to_numpy()
    gold = np.where(np.isin(current.item_ids.astype(str), queue.items), truth, -1)
    given = round_of(labels, gold, {"gold_probability": chance}, options={"name": "now"})
    question = ask([given], past, Options(method="hero3")).question
    evidence: Any = question.currents[0].evidence
    assert goes_by_labels(evidence.current, chance)
    assert evidence.gold_weight is not None
    found = hero.estimate_rate(given, past, method="hero3")
    assert found.value == pytest.approx(hero.estimate_rate(round_of(labels, gold), past, method="hero3").value)
    said = next(one for one in found.findings if one.code == "F111")
    assert "labels alone" in said.fact
    other = replace(evidence.current, item_weight=evidence.current.item_weight)
    rng = np.random.default_rng(0)
    assert not goes_by_labels(other, chance * rng.uniform(0.8, 1.0, len(chance)))


@pytest.mark.slow
@pytest.mark.simulation
def test_three_rounds_of_routing_stay_honest() -> None:
    """16 draws: three Monte Carlo errors of a cover of .95 are .16; `benchmarks/route.py --simulated` has more."""
    covered, errors = [], []
    for draw in range(16):
        rng = np.random.default_rng([31, draw])
        labels, gold, _ = simulated(rng, 300, 60)
        past = round_of(labels, gold, prefix="h")
        here, _, truth = simulated(rng, 150, 1, rate=0.55)
        known, columns = np.full(150, -1), None
        for step in range(3):
            now = round_of(here, known, columns, options={"name": "now"})
            queue = hero.choose_gold(now, past, count=15, seed=100 * draw + step)
            drawn = np.isin(now.item_ids.astype(str), queue.items)
            assert (known[drawn] == -1).all()
            known = np.where(drawn, truth, known)
            columns = {"gold_probability": queue.probabilities(backend="pandas")["gold_probability"].to_numpy()}
        found = hero.estimate_rate(round_of(here, known, columns, options={"name": "now"}), past, method="hero3")
        low, high = found.interval()
        covered.append(low <= 0.55 <= high)
        errors.append(found.value - 0.55)
    assert np.mean(covered) > 0.79
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(16)
