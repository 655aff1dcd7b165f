"""Plans: forecasts are what more data do, designs have the information of their likelihood, prices add up."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from asking import ask as run_command
from asking import refused, strict
from make_rounds import round_of

import hero_eval as hero
from hero_eval.errors import InputError, SupportError
from hero_eval.estimation.ask import ask
from hero_eval.estimation.forecast import Outcome
from hero_eval.estimation.headline import rate_estimate
from hero_eval.estimation.options import Options
from hero_eval.model.design_power import RoundDesign, doubt, item_information, power_of, rate_variance
from hero_eval.model.width_forecast import More

RATE = np.array([0.0, 1.0])


def drawn(rng: np.random.Generator, n_items: int, rate: float = 0.4) -> tuple[Any, Any]:
    truth = (rng.random(n_items) < rate).astype(np.int64)
    right = rng.random((n_items, 4)) < np.array([0.8, 0.75, 0.9, 0.65])
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth


def some(truth: Any, rng: np.random.Generator, count: int) -> Any:
    shown = np.isin(np.arange(len(truth)), rng.choice(len(truth), count, replace=False))
    return np.where(shown, truth, -1)


@pytest.fixture(scope="module")
def rounds() -> tuple[hero.Round, list[hero.Round], Any, Any]:
    rng = np.random.default_rng(6)
    past = []
    for number in range(2):
        labels, truth = drawn(rng, 250)
        past.append(round_of(labels, some(truth, rng, 50), prefix=f"h{number}", options={"name": f"past {number}"}))
    labels, truth = drawn(rng, 250)
    return round_of(labels, options={"name": "now"}), past, labels, truth


def estimated(current: hero.Round, past: Any) -> hero.Estimate:
    return rate_estimate(replace(ask([current], past, Options(method="hero3")), diagnosed=False))


@pytest.mark.slow
def test_forecasts_are_what_more_gold_does(rounds: Any) -> None:
    """The slow twin gives the gold and fits again; one draw's width differs from the mean by a few percent."""
    current, past, labels, truth = rounds
    outcome = Outcome(replace(ask([current], past, Options(method="hero3")), diagnosed=False), RATE)
    low, high = estimated(current, past).interval()
    assert outcome.width() == pytest.approx(high - low)
    rng = np.random.default_rng(1)
    for count in (40, 120, 250):
        widths = []
        for _ in range(3 if count < 250 else 1):
            low, high = estimated(round_of(labels, some(truth, rng, count)), past).interval()
            widths.append(high - low)
        assert outcome.width(More(gold=count)) == pytest.approx(np.mean(widths), rel=0.15), count


@pytest.mark.slow
def test_more_of_anything_never_widens(rounds: Any) -> None:
    current, past, _, _ = rounds
    outcome = Outcome(replace(ask([current], past, Options(method="hero3")), diagnosed=False), RATE)
    for kind in ("gold", "past_gold", "items", "labels"):
        widths = [outcome.width(More(**{kind: amount})) for amount in (0.0, 2.0, 10.0, 100.0)]
        assert widths == sorted(widths, reverse=True), kind
        assert widths[-1] < widths[0]


@pytest.mark.slow
def test_plans_for_a_width_and_for_a_budget(rounds: Any) -> None:
    current, past, _, _ = rounds
    made = hero.plan(current, past, width=0.13, costs={"gold": 3, "label": 0.05})
    assert {one.kind for one in made.routes} == {"gold", "past_gold", "items", "labels"}
    for one in made.routes:
        assert one.width <= 0.1301 if one.amount is not None else one.width > 0.13
    assert made.best is not None
    assert made.best.width <= 0.1301
    reached = [one.cost for one in made.routes if one.amount is not None]
    assert made.best.cost <= 1.1 * min(reached)
    spent = hero.plan(current, past, budget=100, costs={"gold": 3, "label": 0.05})
    assert spent.best is not None
    assert spent.best.cost <= 100.0
    assert spent.best.width < made.width
    frame = made.to_frame("pandas")
    assert list(frame.columns) == ["cost", "width", "gold", "past_gold", "items", "labels"]
    assert frame["width"].is_monotonic_decreasing
    json.dumps(made.to_dict(), allow_nan=False)


def test_what_drift_keeps_out_of_reach_is_said() -> None:
    from hero_eval.targets.plan import Plan, Route, _out_of_reach

    made = Plan("rate", 0.5, 0.3, 0.1, 0.95, 0.7, (Route("labels", None, float("nan"), 0.25),))
    assert list(_out_of_reach(made)) == [
        "It cannot be reached by labels alone (at best 0.250), since drift is 70% of it."
    ]


def naive_information(design: RoundDesign, rate: float) -> Any:
    """Of one item on (rate, every labeler's sensitivity, every labeler's specificity), over all 2^J answers."""
    j, s, c = design.labelers, design.sensitivity, design.specificity
    total = np.zeros((1 + 2 * j, 1 + 2 * j))
    for answers in itertools.product((0, 1), repeat=j):
        y = np.array(answers)
        one, zero = np.prod(np.where(y, s, 1 - s)), np.prod(np.where(y, 1 - c, c))
        chance = rate * one + (1 - rate) * zero
        by = np.concatenate(
            [[one - zero], rate * one * (y / s - (1 - y) / (1 - s)), (1 - rate) * zero * ((1 - y) / c - y / (1 - c))]
        )
        total += np.outer(by, by) / chance
    return total


@pytest.mark.parametrize("labelers", [2, 3, 5])
def test_alike_labelers_need_only_the_information_they_share(labelers: int) -> None:
    """The slow twin has parameters of every labeler; its variance of the rate is that of the symmetric design."""
    design = RoundDesign(200, labelers, 0.8, 0.7, past_gold=60, rate=0.3)
    j = labelers
    rate, past = naive_information(design, 0.3) * 200, np.zeros((1 + 2 * j, 1 + 2 * j))
    per_gold = [0.5 * 60 / (0.8 * 0.2)] * j + [0.5 * 60 / (0.7 * 0.3)] * j
    past[1:, 1:] = np.diag(per_gold)
    assert rate_variance(design) == pytest.approx(np.linalg.inv(rate + past)[0, 0])
    together = np.zeros((1 + 2 * j, 3))
    together[0, 0] = together[1 : 1 + j, 1] = together[1 + j :, 2] = 1.0
    assert item_information(design, 0.3) == pytest.approx(together.T @ (rate / 200) @ together)


def test_perfect_labelers_leave_the_variance_of_a_share() -> None:
    """Derivation: with labelers who are never wrong every item shows its class, so it is p (1 - p) / n."""
    design = RoundDesign(400, 5, 0.9999, 0.9999, past_gold=1_000, rate=0.3)
    assert rate_variance(design) == pytest.approx(0.3 * 0.7 / 400, rel=1e-3)
    assert doubt(design) == pytest.approx(0.0, abs=1e-3)
    both = rate_variance(design, 2)
    assert both == pytest.approx(2 * 0.3 * 0.7 / 400, rel=1e-3)
    assert power_of(design, 1.96 * np.sqrt(both), 0.95) == pytest.approx(0.5, abs=1e-3)


def test_designs_in_words() -> None:
    made = hero.plan(items=500, labelers=5, sensitivity=0.8, specificity=0.9, gold=50, detect=0.05)
    assert made.power is not None
    assert 0.2 < made.power < 0.5
    items = next(one for one in made.routes if one.kind == "items")
    assert items.amount is not None
    grown = hero.plan(items=500 + int(items.amount), labelers=5, sensitivity=0.8, specificity=0.9, gold=50, detect=0.05)
    assert grown.power == pytest.approx(0.8, abs=0.001)
    drifting = hero.plan(items=500, labelers=5, gold=50, drift=0.5)
    assert drifting.drift_share > 0.1


def test_bad_plans(rounds: Any) -> None:
    current, past, _, _ = rounds
    for options, message in (
        ({"width": -1}, "E201 width is -1"),
        ({"width": 5}, "E201 width is 5, but that of the rate of .* is at most 1. Did you mean 0.05"),
        ({"budget": 5}, "E221 a budget needs prices"),
        ({"items": 5}, "E204 items, labelers and detect"),
        ({"width": 0.1, "costs": {"golds": 3}}, "E201 costs name golds"),
        ({"width": 0.1, "costs": {"gold": -3}}, "E201 the price of 'gold'"),
    ):
        with pytest.raises(InputError, match=message):
            hero.plan(current, past, **options)
    for options, message in (
        ({}, "E221 there is no current round"),
        ({"items": 500, "labelers": 3}, "E221 without gold"),
        (
            {"items": 500, "labelers": 3, "gold": 5, "sensitivity": 0.3, "specificity": 0.7},
            "labelers tell nothing",
        ),
        ({"items": 0, "labelers": 3, "gold": 1}, "E201 items is 0"),
        ({"items": 9, "labelers": 3, "gold": 1, "detect": 3}, "E201 detect is 3, .* Did you mean 0.03"),
        ({"items": 5, "labelers": 3, "power": 1.0}, "E201 power is 1.0"),
    ):
        with pytest.raises(InputError, match=message):
            hero.plan(**options)
    with pytest.raises(SupportError, match="E222 no gold says"):
        hero.plan(current)


@pytest.mark.slow
def test_the_commands(tmp_path: Any) -> None:
    from importlib.resources import files

    example = files("hero_eval") / "examples" / "defect"
    rounds = (str(example / "current"), "--history", str(example / "history"))
    text = run_command("plan", *rounds, "--width", "0.08", "--cost", "gold=3,label=0.05")
    assert "The cheapest mix" in text
    assert max(map(len, text.splitlines())) <= 80
    made = strict(run_command("plan", "--items", "500", "--labelers", "5", "--gold", "50", "--json"))
    assert made["target"] == "plan"
    queue = tmp_path / "queue.csv"
    items = tmp_path / "items.csv"
    text = run_command("next", *rounds, "--count", "20", "--output", str(queue), "--probabilities", str(items))
    assert "20 items to answer next" in text
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 80
    assert len(queue.read_text().splitlines()) == 21
    assert len(items.read_text().splitlines()) == 533


@pytest.mark.slow
def test_commands_take_the_newest_round_of_a_store(tmp_path: Any, rounds: Any) -> None:
    """Who keeps rounds in a store names the question: the newest round is current, those before it are history."""
    current, past, _, _ = rounds
    store = hero.create_store(tmp_path / "store")
    for day, one in enumerate([*past, current], start=1):
        store.add(one, round=one.name, model="m", question="q", date=f"2026-05-{day:02d}")
    place = ("--store", str(tmp_path / "store"))
    text = run_command("next", *place, "--question", "q", "--count", "5")
    assert "Round now of" in text
    assert "history: past 0, past 1." in text
    drawn_there = strict(run_command("next", *place, "--round", "now", "--count", "5", "--json"))
    there = [one["item"] for one in drawn_there["items"]]
    assert there == list(hero.choose_gold(current, past, count=5).items)
    made = strict(run_command("plan", *place, "--width", "0.1", "--json"))
    assert made["width"] == pytest.approx(hero.plan(current, past, width=0.1).to_dict()["width"])
    worths = hero.labeler_worth(current, past, costs={"label": 0.1})
    assert {one.labeler for one in worths.labelers} == set(current.labelers)
    assert [one.round for one in hero.watch(store).rounds] == ["past 0", "past 1", "now"]
    assert "E204" in refused("next", str(tmp_path), "--round", "now")
    assert "is of 'q'" in refused("next", *place, "--round", "now", "--question", "other")


@pytest.mark.slow
def test_a_budget_before_any_data_is_dealt_out() -> None:
    """Whoever plans a first round would be told what it takes, and not what their money buys."""
    design = {"items": 500, "labelers": 5, "sensitivity": 0.8, "specificity": 0.9, "gold": 50, "drift": 0.5}
    prices = {"gold": 3.0, "label": 0.05, "item": 0.1}
    spent = hero.plan(**design, budget=400, costs=prices)  # type: ignore[arg-type]
    assert spent.best is not None
    assert spent.best.cost <= 400
    bought = spent.best.more
    each = 3.0 * bought.gold + (0.1 + 5 * 0.05) * bought.items + (3.0 + 0.1 + 5 * 0.05) * bought.past_gold
    assert spent.best.cost == pytest.approx(each)
    larger = design | {
        "items": 500 + int(bought.items),
        "own_gold": int(bought.gold),
        "gold": 50 + int(bought.past_gold),
    }
    assert hero.plan(**larger).width == pytest.approx(spent.best.width)  # type: ignore[arg-type]
    assert "The best for the budget" in " ".join(spent.words)
    cheap = hero.plan(**design, width=spent.best.width, costs=prices)  # type: ignore[arg-type]
    assert cheap.best is not None
    assert cheap.best.cost <= 1.05 * spent.best.cost
    assert all(one.cost == one.cost for one in cheap.routes if one.amount)
    seen = hero.plan(**design, detect=0.06, power=0.8, costs=prices)  # type: ignore[arg-type]
    assert seen.best is not None
    more = seen.best.more
    both = design | {"items": 500 + int(more.items), "own_gold": int(more.gold), "gold": 50 + int(more.past_gold)}
    assert hero.plan(**both, detect=0.06).power == pytest.approx(0.8, abs=0.02)  # type: ignore[arg-type]
    with pytest.raises(hero.HeroError, match="E201 costs name judge"):
        hero.plan(**design, budget=5, costs={"judge": 1.0})  # type: ignore[arg-type]
