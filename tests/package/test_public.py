"""The public contract: what is refused and with which code, what findings say, and how results are shown and kept."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fits_once import shared_fits
from make_rounds import (
    CARRIED,
    EVERY_METHOD,
    GOOD,
    METHODS,
    WITH_GOLD,
    Pair,
    binary_answers,
    by_method,
    codes,
    draw_pair,
    finding,
    labels_given,
    near_answers,
    options_of,
    pair_of,
    round_of,
    some_gold,
    tables_of,
)
from repository import BENCHMARKS, TESTS, load_script

import hero_eval as hero
from hero_eval.errors import Problem
from hero_eval.estimate import Estimate
from hero_eval.methods.evidence import LabelsOnly
from hero_eval.methods.registry import all_methods
from hero_eval.round import Round

fuzz = load_script(BENCHMARKS, "fuzz")


def refusal(call: Callable[[], Any]) -> hero.HeroError:
    """The error that a call ends in."""
    with pytest.raises(hero.HeroError) as caught:
        call()
    return caught.value


# Labelers that history does not know


def with_strangers(pair: Pair, share: float) -> Round:
    """The current round with a new labeler on all items; it alone labeled this share of them."""
    labels = np.hstack([pair.drawn.current_labels, np.ones((len(pair.drawn.current_labels), 1), int)])
    alone = np.arange(len(labels)) < round(share * len(labels))
    labels[alone, :-1] = -1
    names = [*(f"j{j}" for j in range(labels.shape[1] - 1)), "new"]
    return round_of(labels, labelers=names, columns={"x": pair.drawn.current_x[:, 0]}, prefix="c")


@pytest.mark.parametrize("method", CARRIED)
def test_strangers_are_set_aside_and_counted(pair: Pair, method: str) -> None:
    """Answers of labelers that nobody can judge would count, or vanish without a word."""
    current = with_strangers(pair, 0.25)
    n_items = pair.current.n_items
    lost = round(0.25 * n_items)
    estimate = hero.estimate_rate(current, pair.history, **options_of(method))
    told = finding(estimate, "F104")
    assert told.data == {"labelers": ["new"], "labels": n_items, "items": lost}
    assert told.severity == "warning"
    assert "'new'" in told.message
    assert estimate.n_items == n_items - lost
    known = pair.current.select(np.arange(n_items) >= lost)
    same = hero.estimate_rate(known, pair.history, **options_of(method))
    assert (estimate.value, estimate.std_error) == pytest.approx((same.value, same.std_error), abs=1e-12)


@pytest.mark.parametrize("method", ["majority_vote", "dawid_skene"])
def test_methods_without_history_know_no_strangers(pair: Pair, method: str) -> None:
    """A vote would leave out voters."""
    estimate = hero.estimate_rate(with_strangers(pair, 0.25), pair.history, method=method)
    assert estimate.n_items == pair.current.n_items
    assert "F104" not in codes(estimate)


@pytest.mark.parametrize("method", [None, *CARRIED])
def test_only_strangers_support_no_answer(pair: Pair, method: str | None) -> None:
    """A new team's labels would be judged by an old team's errors."""
    current = round_of(
        pair.drawn.current_labels,
        labelers=[f"new{j}" for j in range(5)],
        columns={"x": pair.drawn.current_x[:, 0]},
        prefix="c",
    )
    options = {} if method is None else options_of(method)
    error = refusal(lambda: hero.estimate_rate(current, pair.history, **options))
    assert isinstance(error, hero.SupportError)
    assert (error.code, error.exit_code) == ("E301", 3)
    assert "'new0'" in str(error)
    assert "'j0'" in str(error)


# Gold


def without_gold(pair: Pair) -> Round:
    return round_of(
        pair.drawn.history_labels, columns={"x": pair.drawn.history_x[:, 0]}, prefix="h", options={"name": "old"}
    )


@by_method(WITH_GOLD)
def test_a_history_without_gold_teaches_nothing(pair: Pair, method: str) -> None:
    """Reliabilities would be made up."""
    error = refusal(lambda: hero.estimate_rate(pair.current, without_gold(pair), **options_of(method)))
    assert isinstance(error, hero.SupportError)
    assert (error.code, error.exit_code) == ("E302", 3)
    assert "'old'" in str(error)
    assert refusal(lambda: hero.fit_reliability(without_gold(pair))).code == "E302"


@pytest.mark.parametrize("history", [True, False], ids=["history without gold", "no history"])
def test_without_gold_the_best_is_said_to_be_unanchored(pair: Pair, history: bool) -> None:
    """An estimate that rests on the labelers' agreement alone would look like any other."""
    estimate = hero.estimate_rate(pair.current, without_gold(pair) if history else None)
    assert estimate.method == "dawid_skene"
    assert finding(estimate, "F308").severity == "warning"
    assert ("history has no gold" if history else "no history") in estimate.why
    assert estimate.n_gold == 0


@by_method(WITH_GOLD)
def test_a_method_without_its_history_is_refused(pair: Pair, method: str) -> None:
    """A method would answer from less than it needs."""
    error = refusal(lambda: hero.estimate_rate(pair.current, **options_of(method)))
    assert (error.code, error.exit_code) == ("E206", 2)
    assert method in str(error)


def test_gold_of_the_current_round_is_not_used_and_that_is_said(pair: Pair) -> None:
    """A team would think that the gold it paid for this month had counted."""
    current = round_of(
        pair.drawn.current_labels, np.where(np.arange(pair.current.n_items) < 30, pair.drawn.current_truth, -1)
    )
    estimate = hero.estimate_rate(current, pair.history, method="hero1")
    assert finding(estimate, "F105").data == {"gold": 30}
    plain = hero.estimate_rate(pair.current, pair.history, method="hero1")
    assert estimate.value == pytest.approx(plain.value, abs=1e-12)


def gold_of(pair: Pair, keep: Callable[[np.ndarray], np.ndarray]) -> Round:
    """History with the gold of these items only; `keep` is given the truth known so far."""
    gold = pair.drawn.history_gold
    return pair_of(replace(pair.drawn, history_gold=np.where(keep(gold), gold, -1))).history


def first(gold: np.ndarray, count: int, of_class: int | None = None) -> np.ndarray:
    known = gold >= 0 if of_class is None else gold == of_class
    return known & (np.cumsum(known) <= count)


@pytest.mark.parametrize(("count", "told"), [(19, True), (20, False)])
def test_little_gold_is_told(pair: Pair, count: int, told: bool) -> None:
    """An interval from a handful of gold items would look as trustworthy as any."""
    history = gold_of(pair, lambda gold: first(gold, count))
    estimate = hero.estimate_rate(pair.current, history)
    assert ("F304" in codes(estimate)) is told
    assert estimate.n_gold == count
    if told:
        assert finding(estimate, "F304").data == {"gold": 19}


def test_a_class_without_gold_is_told(pair: Pair) -> None:
    """Specificity would be guessed where no negative was ever checked, without a word."""
    history = gold_of(pair, lambda gold: gold == 1)
    for method in ("gold_proportion", "hero1"):
        estimate = hero.estimate_rate(pair.current, history, method=method)
        assert finding(estimate, "F307").data == {"classes": ["0"]}


def test_a_labeler_without_gold_of_a_class_is_told() -> None:
    """A labeler's sensitivity, learned from agreement alone, would look as if it were checked."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    labels = labels_given(rng, truth, binary_answers([0.8] * 3, [0.9] * 3))
    gold = some_gold(rng, truth, 0.4)
    labels[gold == 1, 2] = -1
    estimate = hero.estimate_rate(round_of(labels, prefix="c"), round_of(labels, gold, prefix="h"))
    assert finding(estimate, "F203").data == {"labelers": ["j2"]}


# Labelers


def test_careless_and_inverted_labelers_are_named() -> None:
    """A labeler who flips coins, or mistook yes for no, would stay in the pool unnoticed."""
    rng = np.random.default_rng(2)
    answers = binary_answers([0.9, 0.85, 0.5, 0.1], [0.85, 0.9, 0.5, 0.2])
    past, now = rng.integers(0, 2, 2000), (rng.random(400) < 0.3).astype(int)
    history = round_of(labels_given(rng, past, answers), past, prefix="h", labelers=["ann", "bob", "coin", "flip"])
    current = round_of(labels_given(rng, now, answers), prefix="c", labelers=["ann", "bob", "coin", "flip"])
    estimate = hero.estimate_rate(current, history)
    assert finding(estimate, "F201").data["labelers"] == ["coin"]
    assert finding(estimate, "F202").data["labelers"] == ["flip"]
    assert {"F201", "F202"} <= set(codes(hero.fit_reliability(history)))
    assert estimate.value == pytest.approx(now.mean(), abs=3 * estimate.std_error)


def test_an_estimate_on_the_edge_says_so(pair: Pair) -> None:
    """A rate of exactly 0 would be shown as if it were certain."""
    current = round_of(np.zeros((60, 5), int), prefix="c", options={"classes": ["0", "1"]})
    estimate = hero.estimate_rate(current, pair.history, method="hero1")
    assert estimate.value == 0
    assert finding(estimate, "F302").severity == "warning"
    low, high = estimate.interval()
    assert low == pytest.approx(0, abs=1e-6)
    assert high > 0.001


def test_no_convergence_is_told(pair: Pair) -> None:
    """A fit cut short would pass for a finished one."""
    fitted = hero.fit_reliability(pair.history, max_steps=2)
    estimate = hero.estimate_rate(pair.current, fitted)
    assert not fitted.converged
    assert not estimate.converged
    assert estimate.to_dict()["converged"] is False
    assert finding(estimate, "F301").data["steps"] == fitted.report.n_steps
    assert "NOT converged" in repr(fitted)


@pytest.mark.parametrize("accelerate", [True, False])
def test_the_limit_of_steps_is_kept(pair: Pair, accelerate: bool) -> None:
    """A fit would take more steps than it was allowed."""
    for limit in range(1, 7):
        assert hero.fit_reliability(pair.history, max_steps=limit, accelerate=accelerate).report.n_steps <= limit


def test_labels_that_tell_nothing_give_no_number() -> None:
    """A rate would be reported where every rate fits the labels equally well."""
    rng = np.random.default_rng(3)
    truth = np.tile([0, 1], 100)
    labels = np.repeat(np.tile([0, 0, 1, 1], 50)[:, None], 2, axis=1)  # as often right as wrong, exactly
    current = round_of(rng.integers(0, 2, (50, 2)), prefix="c")
    estimate = hero.estimate_rate(current, round_of(labels, truth, prefix="h"), method="hero1")
    assert math.isnan(estimate.value)
    assert "F303" in codes(estimate)
    assert estimate.interval() == (0, 1)
    assert estimate.to_dict()["value"] is None


# Covariates


def described(pair: Pair, current: dict[str, Any], history: dict[str, Any]) -> tuple[Round, Round]:
    """The pair with other item columns."""
    return (
        round_of(pair.drawn.current_labels, columns=current, prefix="c", options={"name": "now"}),
        round_of(pair.drawn.history_labels, pair.drawn.history_gold, history, prefix="h", options={"name": "then"}),
    )


def xs(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    return pair.drawn.current_x[:, 0], pair.drawn.history_x[:, 0]


@pytest.mark.parametrize("side", ["current", "history"])
@pytest.mark.parametrize("name", ["x", "labeler:eve"])
def test_a_covariate_absent_from_one_side_is_named(pair: Pair, side: str, name: str) -> None:
    """A user would search both rounds for the column that one of them lacks."""
    now, then = xs(pair)
    rounds = described(
        pair, {"z": now} if side == "current" else {"x": now}, {"z": then} if side == "history" else {"x": then}
    )
    error = refusal(lambda: hero.estimate_rate(*rounds, method="hero2", covariates=[name]))
    assert error.code == "E202"
    place = {"current": "the current round 'now'", "history": "the history round 'then'"}
    if name == "x":
        assert place[side] in str(error)
        assert place["history" if side == "current" else "current"] not in str(error)
    else:
        assert all(of in str(error) for of in place.values())


def test_text_and_flag_columns_absent_are_named(pair: Pair) -> None:
    """A user would get a KeyError for a column that is not there."""
    text = refusal(lambda: hero.estimate_rate(pair.current, pair.history, text="prompt"))
    flag = refusal(lambda: hero.estimate_moderation(pair.current, pair.history, flag="flagged"))
    assert (text.code, flag.code) == ("E202", "E202")
    assert "'prompt'" in str(text)
    assert "'flagged'" in str(flag)


def test_columns_without_news_are_dropped_and_named(pair: Pair) -> None:
    """A constant or repeated column would break the regression, or change the estimate."""
    now, then = xs(pair)
    rounds = described(
        pair,
        {"x": now, "one": np.ones(len(now)), "twice": 2 * now + 1},
        {"x": then, "one": np.arange(len(then)) % 2, "twice": 2 * then + 1},
    )
    estimate = hero.estimate_rate(*rounds, method="hero2", covariates=["x", "one", "twice"])
    dropped = [one for one in estimate.findings if one.code == "F401"]
    assert sorted(name for one in dropped for name in one.data["columns"]) == ["one", "twice"]
    plain = hero.estimate_rate(pair.current, pair.history, method="hero2", covariates=["x"])
    assert estimate.value == pytest.approx(plain.value, abs=1e-9)
    assert estimate.std_error == pytest.approx(plain.std_error, abs=1e-9)


def test_covariates_that_are_all_dropped_leave_hero1(pair: Pair) -> None:
    """HERO-2 without a usable covariate would be something else than HERO-1."""
    now, then = xs(pair)
    rounds = described(pair, {"one": np.ones(len(now))}, {"one": np.ones(len(then))})
    estimate = hero.estimate_rate(*rounds, method="hero2", covariates=["one"])
    plain = hero.estimate_rate(pair.current, pair.history, method="hero1")
    assert "F401" in codes(estimate)
    assert (estimate.value, estimate.std_error) == pytest.approx((plain.value, plain.std_error), abs=1e-12)


@pytest.mark.simulation
def test_missing_values_are_told_and_do_little() -> None:
    """A tenth of missing values would throw the estimate off, or go unsaid."""
    moved = []
    for seed in range(20):
        pair = draw_pair(seed)
        rng = np.random.default_rng([seed, 5])
        now, then = (np.where(rng.random(len(of)) < 0.1, np.nan, of) for of in xs(pair))
        estimate = hero.estimate_rate(*described(pair, {"x": now}, {"x": then}), method="hero2", covariates=["x"])
        told = finding(estimate, "F402")
        assert told.data["current"] == pytest.approx(np.isnan(now).mean())
        assert told.data["history"] == pytest.approx(np.isnan(then).mean())
        whole = hero.estimate_rate(pair.current, pair.history, method="hero2", covariates=["x"])
        assert "F402" not in codes(whole)
        moved.append((estimate.value - whole.value) / whole.std_error)
    # 20 values lost of 200 move the mean of x by about 0.02, and the rate by an eighth of its standard error.
    assert np.abs(moved).max() < 0.5
    assert abs(np.mean(moved)) < 3 * np.std(moved) / math.sqrt(20)


def test_a_covariate_that_moved_is_told_and_avoided(pair: Pair) -> None:
    """A shift of the prompts between rounds would be carried straight into the estimate."""
    now, then = xs(pair)
    rounds = described(pair, {"x": now + 0.8}, {"x": then})
    asked = hero.estimate_rate(*rounds, method="hero2", covariates=["x"])
    told = finding(asked, "F403")
    assert (asked.method, told.severity, told.data["columns"]) == ("hero2", "warning", ["x"])
    best = hero.estimate_rate(*rounds, covariates=["x"])
    assert best.method == "hero3"
    assert "over the current round's items only" in finding(best, "F403").message
    hero1 = hero.estimate_rate(pair.current, pair.history, method="hero1")
    assert abs(best.value - hero1.value) < hero1.std_error
    hero1 = hero.estimate_rate(pair.current, pair.history, method="hero1", interval="profile")
    left = hero.estimate_rate(*rounds, covariates=["x"], interval="profile")  # which hero3 does not have
    assert left.method == "hero1"
    assert "moved" in left.why
    assert "hero1 was used" in finding(left, "F403").message
    assert (left.value, left.std_error) == pytest.approx((hero1.value, hero1.std_error), abs=1e-12)


@pytest.mark.simulation
def test_a_covariate_that_stayed_is_used() -> None:
    """Chance differences would be called a shift, and covariates never be used."""
    false = 0
    for seed in range(60):
        one = draw_pair(seed)
        estimate = hero.estimate_rate(one.current, one.history, covariates=["x"], interval="paper")
        false += "F403" in codes(estimate)
        assert estimate.method == ("hero1" if "F403" in codes(estimate) else "hero2")
    assert false <= 9  # 60 tests at 5%: 3 expected, more than 9 once in a thousand times


def test_unused_covariates_are_pointed_out(pair: Pair) -> None:
    """A team would not hear of the columns that could sharpen its estimate."""
    assert finding(hero.estimate_rate(pair.current, pair.history), "F404").data == {"covariates": ["x"]}
    asked = hero.estimate_rate(pair.current, pair.history, method="hero2")
    assert finding(asked, "F406").data == {"covariates": ["x"]}


def test_no_covariates_is_not_all_covariates(pair: Pair) -> None:
    """An empty selection of covariates would silently become every column."""
    plain = hero.estimate_rate(pair.current, pair.history, method="hero1")
    try:
        value = hero.estimate_rate(pair.current, pair.history, method="hero2", covariates=[]).value
    except hero.HeroError:
        value = plain.value  # refusing is as good
    assert value == plain.value


def test_a_history_with_one_labeler_cannot_spare_it(pair: Pair) -> None:
    """Taking the only labeler as covariate would end in a numerical error instead of a message."""
    drawn = pair.drawn
    only = drawn.history_labels[:, 0] >= 0
    history = round_of(drawn.history_labels[only][:, :1], drawn.history_gold[only], prefix="h")
    error = refusal(lambda: hero.estimate_rate(pair.current, history, method="hero2", covariates=["labeler:j0"]))
    assert isinstance(error, hero.SupportError)


# Options


def flagged(pair: Pair) -> Round:
    """The current round with flags, prompts and groups."""
    now = xs(pair)[0]
    words = np.where(now > 0, "a red house by the sea", "one blue car in town")
    columns = {
        "x": now,
        "y": np.cos(3 * now),
        "flagged": (now > 0).astype(int),
        "prompt": [f"{of} {k % 7}" for k, of in enumerate(words)],
        "group": [f"g{k // 4}" for k in range(len(now))],
        "half": ["odd" if k % 2 else "even" for k in range(len(now))],
    }
    return round_of(pair.drawn.current_labels, columns=columns, prefix="c")


def flagged_past(pair: Pair) -> Round:
    then = xs(pair)[1]
    words = np.where(then > 0, "a red house by the sea", "one blue car in town")
    columns = {
        "x": then,
        "y": np.cos(3 * then),
        "flagged": (then > 0).astype(int),
        "prompt": [f"{of} {k % 7}" for k, of in enumerate(words)],
        "group": [f"p{k // 4}" for k in range(len(then))],
    }
    return round_of(pair.drawn.history_labels, pair.drawn.history_gold, columns, prefix="h")


HERO2 = {"method": "hero2", "covariates": ["x"]}
BOOTSTRAP = {"method": "hero1", "interval": "bootstrap", "replicates": 50}
CHANGES: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "method": [({}, {"method": "gold_proportion"}), ({}, {"method": "majority_vote"})],
    "covariates": [({"method": "hero2", "covariates": ["x"]}, {"method": "hero2", "covariates": ["y"]})],
    "text": [(HERO2, {"method": "hero2", "text": "prompt"})],
    "level": [({}, {"level": 0.8})],
    "interval": [({"method": "hero1"}, {"method": "hero1", "interval": "paper"})],
    "cluster": [({}, {"cluster": "group"})],
    "replicates": [(BOOTSTRAP, {**BOOTSTRAP, "replicates": 60})],
    "seed": [({**BOOTSTRAP, "seed": 1}, {**BOOTSTRAP, "seed": 2})],
    "positive": [({}, {"positive": "0"})],
    "scores": [({}, {"scores": {"0": 1, "1": 3}})],
    "penalty": [(HERO2, {**HERO2, "penalty": 5.0})],
    "by": [({}, {"by": "half"})],
    "groups": [({"method": "hero3"}, {"method": "hero3", "groups": {"j0": "one", "j1": "two"}})],
    "ties": [({}, {"ties": "own"})],
    "a": [({}, {"a": "B", "b": "A"})],
    "b": [({}, {"a": "B", "b": "A"})],
    "tie": [({}, {"a": "tie", "tie": "A"})],
    "flag": [({"flag": "flagged"}, {"flag": "other"})],
    "at_least": [({"positive": "0"}, {"at_least": 1})],
}
"""For each option two calls that must differ."""

TARGETS: dict[str, Callable[..., Any]] = {
    "estimate_rate": hero.estimate_rate,
    "estimate_difference": hero.estimate_difference,
    "estimate_win_rate": hero.estimate_win_rate,
    "estimate_moderation": hero.estimate_moderation,
    "compare_methods": hero.compare_methods,
}


def keywords(target: Callable[..., Any]) -> list[str]:
    """The options of a target, without the rounds and the progress callback."""
    return [
        name
        for name, one in inspect.signature(target).parameters.items()
        if one.kind is one.KEYWORD_ONLY and name != "progress"
    ]


@pytest.fixture(scope="module")
def calls(pair: Pair) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Each target with its rounds filled in."""
    current, history = flagged(pair), flagged_past(pair)
    rng = np.random.default_rng(8)
    answers = near_answers(4, 3, 0.7, rng)
    past, now = rng.integers(0, 3, 400), rng.integers(0, 3, 240)

    def duel(of: np.ndarray, gold: np.ndarray | None, prefix: str) -> Round:
        x = rng.normal(size=len(of))
        columns = {
            "x": x,
            "y": np.cos(3 * x),
            "prompt": [f"word{k % 9} and thing{k % 4}" for k in range(len(of))],
            "group": [f"{prefix}{k // 4}" for k in range(len(of))],
            "half": ["odd" if k % 2 else "even" for k in range(len(of))],
        }
        return round_of(labels_given(rng, of, answers), gold, columns, classes=["A", "B", "tie"], prefix=prefix)

    sides = duel(now, None, "c"), duel(past, past, "h")
    worse = round_of(
        np.where(pair.drawn.current_labels[:, ::-1] >= 0, pair.drawn.current_labels[:, ::-1], -1),
        columns={name: current._contents.columns[name] for name in current.column_names},
        prefix="c",
    )
    other = (np.arange(current.n_items) % 3 == 0).astype(int)
    two_flags = round_of(
        pair.drawn.current_labels,
        columns={**{name: current._contents.columns[name] for name in current.column_names}, "other": other},
        prefix="c",
    )
    made = {
        "estimate_rate": lambda given: hero.estimate_rate(current, history, **given),
        "estimate_difference": lambda given: hero.estimate_difference(current, worse, history, **given),
        "estimate_win_rate": lambda given: hero.estimate_win_rate(*sides, **given),
        "estimate_moderation": lambda given: hero.estimate_moderation(
            two_flags, history, **{"flag": "flagged", **given}
        ),
        "compare_methods": lambda given: hero.compare_methods(
            current, history, **{key: value for key, value in given.items() if key != "method"}
        ),
    }
    return {name: _remembered(call) for name, call in made.items()}


def _remembered(call: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """The call, made once for the same options."""
    known: dict[str, Any] = {}

    def ask(given: dict[str, Any]) -> Any:
        if (key := repr(given)) not in known:
            with shared_fits():  # most options are about something else than the fit
                known[key] = call(given)
        return known[key]

    return ask


OPTIONS = [(name, option) for name, target in TARGETS.items() for option in keywords(target)]


HOW_SURE = {"level", "interval", "cluster", "replicates", "seed"}
"""Options that say how sure a value is: they move the ends of its interval and never the value."""


def told(answer: Any) -> tuple[str, str]:
    """The values of all estimates in an answer, and the ends of their intervals; nan is like nan."""
    found = [one for _, one in fuzz.estimates_in(answer)]
    return repr([one.value for one in found]), repr([one.interval() for one in found])


@pytest.mark.slow
@pytest.mark.parametrize(("target", "option"), OPTIONS, ids=lambda of: of)
def test_every_option_moves_what_it_should(
    target: str, option: str, calls: dict[str, Callable[[dict[str, Any]], Any]]
) -> None:
    """An option would be accepted and only be shown, or one that tells how sure we are would move the rate."""
    assert option in CHANGES, f"show in CHANGES what {option} does"
    for before, after in CHANGES[option]:
        (value, ends), (new_value, new_ends) = (told(calls[target](given)) for given in (before, after))
        assert ends != new_ends
        assert (value == new_value) == (option in HOW_SURE)


@pytest.mark.parametrize("method", ["majority_vote", "dawid_skene", "gold_proportion", "hero1"])
@pytest.mark.parametrize("option", [{"covariates": ["x"]}, {"text": "prompt"}, {"penalty": 1.0}], ids=str)
def test_options_that_do_nothing_are_refused(pair: Pair, method: str, option: dict[str, Any]) -> None:
    """Covariates named for a method that uses none would be ignored in silence."""
    error = refusal(lambda: hero.estimate_rate(pair.current, pair.history, method=method, **option))
    assert error.code == "E204"
    assert method in str(error)
    assert next(iter(option)) in str(error)


def test_covariates_without_gold_are_refused(pair: Pair) -> None:
    """Covariates named by the user would be dropped because history has no gold."""
    error = refusal(lambda: hero.estimate_rate(pair.current, without_gold(pair), covariates=["x"]))
    assert error.code == "E204"


BAD_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"method": "hero9"}, "E201"),
    ({"method": ["hero1"]}, "E201"),
    ({"level": 0.0}, "E201"),
    ({"level": 1.0}, "E201"),
    ({"level": 95}, "E201"),
    ({"level": -0.5}, "E201"),
    ({"level": math.nan}, "E201"),
    ({"level": "0.95"}, "E201"),
    ({"interval": "wide"}, "E201"),
    ({"covariates": "x"}, "E201"),
    ({"method": "hero2", "covariates": ["x", "x"]}, "E201"),
    ({**HERO2, "penalty": -1.0}, "E201"),
    ({**HERO2, "penalty": math.nan}, "E201"),
    ({**HERO2, "penalty": math.inf}, "E201"),
    ({**HERO2, "penalty": "strong"}, "E201"),
    ({"scores": {"0": 1}}, "E201"),
    ({"scores": {"0": 1, "1": 1}}, "E201"),
    ({"scores": {"0": 1, "1": 2, "2": 3}}, "E201"),
    ({"scores": {"0": math.nan, "1": 2}}, "E201"),
    ({"scores": {"0": math.inf, "1": 2}}, "E201"),
    ({"scores": {"0": "low", "1": 2}}, "E201"),
    ({"positive": "2"}, "E203"),
    ({"positive": []}, "E203"),
    ({"positive": ["0", "1"]}, "E203"),
]


@pytest.mark.parametrize(("option", "code"), BAD_VALUES, ids=lambda of: str(of))
def test_bad_values_are_refused(pair: Pair, option: dict[str, Any], code: str) -> None:
    """A slip in an option would give a wrong number, or a Python error that does not name the option."""
    error = refusal(lambda: hero.estimate_rate(pair.current, pair.history, **option))
    assert (error.code, error.exit_code) == (code, 2)
    assert isinstance(error, ValueError)
    assert next(name for name in reversed(option)) in str(error)


def test_an_unknown_method_lists_the_known(pair: Pair) -> None:
    """A user would have to guess how methods are spelled."""
    error = refusal(lambda: hero.estimate_rate(pair.current, pair.history, method="hero"))
    assert all(name in str(error) for name in EVERY_METHOD)


def test_bad_levels_of_an_interval_are_refused(pair: Pair) -> None:
    """estimate.interval(95) would return something."""
    estimate = hero.estimate_rate(pair.current, pair.history)
    assert refusal(lambda: estimate.interval(95)).code == "E201"


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "estimate_difference"])
@pytest.mark.parametrize("current", ["rounds/may", None, {"item": ["a"]}], ids=["path", "nothing", "columns"])
def test_what_is_no_round_is_refused(pair: Pair, target: str, current: Any) -> None:
    """What is no round, or a path that leads nowhere, would end in a Python error."""
    extra = {"flag": "flagged"} if target == "estimate_moderation" else {}
    error = refusal(lambda: TARGETS[target](current, pair.history, **extra))
    assert error.code == ("E101" if isinstance(current, str) else "E201")
    assert isinstance(current, str) or "Round" in str(error)


@pytest.mark.parametrize("history", ["rounds/may", [], [1], 3], ids=str)
def test_what_is_no_history_is_refused(pair: Pair, history: Any) -> None:
    """A path that leads nowhere, or what is no round, would end in a Python error."""
    expected = "E101" if isinstance(history, str) else "E201"
    assert refusal(lambda: hero.estimate_rate(pair.current, history)).code == expected
    assert refusal(lambda: hero.fit_reliability(history)).code == expected


FIT_VALUES: list[dict[str, Any]] = [
    {"clip": 0.0},
    {"clip": 0.5},
    {"clip": -1},
    {"tolerance": 0.0},
    {"tolerance": 2.0},
    {"max_steps": 0},
]


@pytest.mark.parametrize("option", FIT_VALUES, ids=str)
def test_bad_values_of_a_fit_are_refused(pair: Pair, option: dict[str, Any]) -> None:
    """A slip in an option of the fit would give wrong reliabilities or a Python error."""
    refusal(lambda: hero.fit_reliability(pair.history, **option))


FIT_CHANGES: dict[str, tuple[dict[str, Any], Callable[[Any, Any], bool]]] = {
    "clip": ({"clip": 0.2}, lambda new, old: new.report.log_likelihood < old.report.log_likelihood - 1.0),
    "tolerance": ({"tolerance": 1e-2}, lambda new, old: new.report.n_steps < old.report.n_steps),
    "max_steps": ({"max_steps": 2}, lambda new, _: new.report.n_steps == 2 and not new.report.converged),
    "accelerate": ({"accelerate": False}, lambda new, old: new.report.n_steps > old.report.n_steps),
    "shrinkage": ({"shrinkage": 30.0}, lambda new, old: _spread(new) < 0.9 * _spread(old)),
    "warm_start": ({}, lambda new, old: new.report.n_steps < old.report.n_steps),
}
"""For each option of the fit a value, and what it must do to the fit."""


def _spread(fitted: Any) -> float:
    """How much labelers differ in sensitivity."""
    return float(fitted.to_frame("pandas").sensitivity.std())


@pytest.mark.parametrize("option", keywords(hero.fit_reliability))
def test_every_option_of_a_fit_does_what_it_says(pair: Pair, option: str) -> None:
    """An option of the fit would be accepted and do nothing, or something else."""
    plain = hero.fit_reliability(pair.history)
    given, holds = FIT_CHANGES[option]
    changed = hero.fit_reliability(pair.history, **({"warm_start": plain} if option == "warm_start" else given))
    assert holds(changed, plain)
    assert not holds(plain, plain)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_progress_is_told(name: str, calls: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
    """A long fit would run without a sign of life."""
    steps: list[tuple[int, float]] = []
    calls[name]({"progress": lambda step, change: steps.append((step, change))})
    assert steps


def test_moderation_is_a_question_of_two_classes() -> None:
    """Precision would be reported for some class of many."""
    rng = np.random.default_rng(9)
    truth = rng.integers(0, 3, 120)
    labels = labels_given(rng, truth, near_answers(3, 3, 0.8, rng))
    current = round_of(labels, columns={"flagged": truth > 1}, prefix="c")
    history = round_of(labels, truth, prefix="h")
    assert refusal(lambda: hero.estimate_moderation(current, history, flag="flagged")).code == "E204"


def test_an_unnamed_positive_class_is_asked_for() -> None:
    """The rate of some class would be reported under a name that does not say which."""
    words = draw_pair(1, classes=["bad", "good"])
    error = refusal(lambda: hero.estimate_rate(words.current, words.history))
    assert error.code == "E203"
    assert "'bad'" in str(error)
    assert "'good'" in str(error)
    assert hero.estimate_rate(words.current, words.history, positive="bad").what == "rate of 'bad'"


def test_rounds_that_contradict_each_other_are_refused(pair: Pair) -> None:
    """Rounds of different questions would be mixed."""
    words = draw_pair(1, classes=["bad", "good"])
    assert refusal(lambda: hero.estimate_rate(pair.current, words.history, positive="1")).code == "E205"
    named = [Round(**tables_of(pair.drawn.current_labels, prefix="c"), positive=positive) for positive in ("0", "1")]
    assert refusal(lambda: hero.estimate_difference(*named, pair.history)).code == "E205"


# All methods side by side


def test_methods_side_by_side_are_the_methods(pair: Pair) -> None:
    """The comparison would show other numbers than the methods themselves."""
    comparison = hero.compare_methods(pair.current, pair.history)
    assert list(comparison.estimates) == list(METHODS)
    assert set(comparison.skipped) == set(EVERY_METHOD) - set(METHODS)  # the current round has no gold
    for method in METHODS:
        alone = hero.estimate_rate(pair.current, pair.history, **options_of(method))
        assert comparison[method].value == pytest.approx(alone.value, abs=1e-12)
        assert comparison[method].std_error == pytest.approx(alone.std_error, abs=1e-12)


def test_methods_that_cannot_run_say_why(pair: Pair) -> None:
    """A method would be missing from the comparison without a reason."""
    bare = round_of(pair.drawn.current_labels, prefix="c")
    alone = hero.compare_methods(bare)
    by_labels = {name for name, method in all_methods().items() if method.evidence is LabelsOnly}
    assert {"majority_vote", "dawid_skene"} <= by_labels
    assert set(alone.estimates) == by_labels
    assert all("history" in why or "gold" in why for why in alone.skipped.values())
    assert "hero1" in alone.skipped
    without = hero.compare_methods(bare, pair.history)
    assert "covariates" in without.skipped["hero2"]
    assert "hero1" in without.estimates
    assert set(hero.compare_methods(pair.current, without_gold(pair)).estimates) == by_labels


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_tables_come_in_the_library_asked_for(pair: Pair, backend: str) -> None:
    """A polars user would be handed a pandas table."""
    for table in (
        hero.compare_methods(pair.current, pair.history),
        hero.fit_reliability(pair.history),
    ):
        assert type(table.to_frame(backend)).__module__.split(".")[0] == backend
    assert refusal(lambda: hero.fit_reliability(pair.history).to_frame("spark")).code == "E201"


# JSON


def make_results(pair: Pair) -> dict[str, Any]:
    """One result of each kind, some with unknown numbers."""
    rng = np.random.default_rng(10)
    truth = rng.integers(0, 3, 200)
    labels = labels_given(rng, truth, near_answers(4, 3, 0.8, rng))
    nominal = [round_of(labels, gold, classes=["cat", "dog", "fox"]) for gold in (None, truth)]
    quiet = round_of(pair.drawn.current_labels, columns={"flagged": np.zeros(pair.current.n_items, int)}, prefix="c")
    return {
        "rate": hero.estimate_rate(pair.current, pair.history),
        "hero2": hero.estimate_rate(pair.current, pair.history, **HERO2),
        "vote": hero.estimate_rate(pair.current, method="majority_vote"),
        "difference": hero.estimate_difference(pair.current, pair.current, pair.history),
        "nominal": hero.estimate_rate(*nominal),
        "moderation": hero.estimate_moderation(quiet, pair.history, flag="flagged"),
        "comparison": hero.compare_methods(pair.current, pair.history),
        "unfinished": hero.estimate_rate(pair.current, hero.fit_reliability(pair.history, max_steps=2)),
    }


@pytest.fixture(scope="module")
def results(pair: Pair) -> dict[str, Any]:
    return make_results(pair)


@pytest.fixture(scope="module")
def results_again(pair: Pair) -> dict[str, Any]:
    return make_results(pair)


KINDS = ("rate", "hero2", "vote", "difference", "nominal", "moderation", "comparison", "unfinished")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_strict_json(results: dict[str, Any], kind: str) -> None:
    """Readers of the JSON, which knows no NaN, would fail on it."""
    made = results[kind].to_dict()
    again = json.loads(json.dumps(made, allow_nan=False))
    assert again == made
    assert again["schema_version"] == 1


def test_one_step_is_strict_json(pair: Pair) -> None:
    """A fit of one step, whose change is infinite, would write JSON that nobody can read."""
    estimate = hero.estimate_rate(pair.current, hero.fit_reliability(pair.history, max_steps=1))
    json.dumps(estimate.to_dict(), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_data_give_the_same_bytes(results: dict[str, Any], results_again: dict[str, Any], kind: str) -> None:
    """Two runs on the same data would differ."""
    assert json.dumps(results[kind].to_dict()) == json.dumps(results_again[kind].to_dict())


@pytest.mark.slow
def test_other_processes_give_the_same_bytes() -> None:
    """The order of a Python set, which differs between processes, would show in the result."""
    program = (
        "import sys, json; sys.path.insert(0, sys.argv[1])\n"
        "from make_rounds import draw_pair\n"
        "import hero_eval as hero\n"
        "pair = draw_pair(3)\n"
        "made = hero.compare_methods(pair.current, pair.history), hero.estimate_rate(pair.current, pair.history)\n"
        "print(json.dumps([one.to_dict() for one in made]))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(TESTS)],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_a_rate_shows_what_it_is(pair: Pair) -> None:
    """The documented fields of a result would be missing or say something else than its attributes."""
    estimate = hero.estimate_rate(pair.current, pair.history)
    made = estimate.to_dict()
    assert made["target"] == "rate"
    assert (made["value"], made["std_error"]) == (estimate.value, estimate.std_error)
    assert (made["interval"]["low"], made["interval"]["high"]) == estimate.interval()
    assert made["interval"]["level"] == estimate.level == 0.95
    assert (made["method"], made["n_items"], made["n_gold"]) == ("hero3", 198, pair.history.n_gold)
    assert [one["code"] for one in made["findings"]] == codes(estimate)
    assert set(made["distribution"]) == {"0", "1"}


# How results look


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_one_line(results: dict[str, Any], kind: str) -> None:
    """A result at the prompt would fill the screen."""
    assert "\n" not in repr(results[kind])


def test_names_with_line_breaks_stay_on_one_line() -> None:
    """A class name with a line break would break the line of a result in two."""
    words = draw_pair(1, classes=["a\nb", "c\nd"], labelers=[f"j\n{j}" for j in range(5)])
    estimate = hero.estimate_rate(words.current, words.history, positive="a\nb")
    assert "\n" not in repr(estimate)
    assert "\n" not in repr(words.current) + repr(hero.fit_reliability(words.history))


EVIL = "<script>alert('x')</script>"


@pytest.mark.slow
def test_html_shows_hostile_names_as_text() -> None:
    """A name taken from the data would run as a script in the reader's notebook."""
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 2, 300)
    labelers = [EVIL, f"{EVIL}2", "ann"]
    answers = binary_answers([0.9, 0.5, 0.2], [0.9, 0.5, 0.2])
    labels = labels_given(rng, truth, answers)
    classes = ["fine", f"bad{EVIL}"]
    ids = [f"{EVIL}{k}" for k in range(300)]
    spelling = {"labelers": labelers, "classes": classes, "ids": ids}
    columns = {"flagged": (truth == 1).astype(int), f"x{EVIL}": truth + rng.normal(size=300)}
    options = {"positive": classes[1], "name": f"round {EVIL}"}
    history = round_of(labels, some_gold(rng, truth, 0.5), columns, options=options, **spelling)
    current = round_of(
        np.hstack([labels, labels[:, :1]]),
        columns=columns,
        options=options,
        **{**spelling, "labelers": [*labelers, f"new{EVIL}"]},
    )
    shown = [
        hero.estimate_rate(current, history),
        hero.estimate_rate(current, history, method="hero2"),
        hero.estimate_difference(current, history, history),
        hero.estimate_moderation(current, history, flag="flagged"),
        hero.compare_methods(current, history),
        hero.fit_reliability(history),
        current,
    ]
    for one in shown:
        page = one._repr_html_()
        assert "<script" not in page
        assert page.count("<") == page.count(">")
    assert "&lt;script&gt;" in shown[0]._repr_html_()
    assert "F208" in shown[0]._repr_html_()
    assert "F104" in shown[1]._repr_html_()


@pytest.mark.slow
def test_html_of_an_unknown_number(results: dict[str, Any]) -> None:
    """A result without a number could not be shown, or would be shown as one."""
    page = results["nominal"]._repr_html_()
    assert "No class is named positive" in page
    assert "nan" not in page


# Keeping results


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_results_survive_pickling(results: dict[str, Any], kind: str) -> None:
    """Results could not be sent between processes or kept in a cache."""
    before = results[kind]
    after = pickle.loads(pickle.dumps(before))
    assert type(after) is type(before)
    assert after.to_dict() == before.to_dict()
    assert repr(after) == repr(before)


def test_rounds_and_reliabilities_survive_pickling(pair: Pair) -> None:
    """Rounds could not be sent to another process to be estimated there."""
    current, history, fitted = (
        pickle.loads(pickle.dumps(one)) for one in (pair.current, pair.history, hero.fit_reliability(pair.history))
    )
    before = hero.estimate_rate(pair.current, pair.history, **HERO2).to_dict()
    assert hero.estimate_rate(current, history, **HERO2).to_dict() == before
    assert hero.estimate_rate(current, fitted, **HERO2).to_dict() == before
    assert repr(current) == repr(pair.current)


@pytest.mark.parametrize("kind", [hero.HeroError, hero.InputError, hero.SupportError])
def test_errors_survive_pickling(kind: type[hero.HeroError]) -> None:
    """A worker's error would arrive as another error, or hang its pool."""
    before = kind([Problem("E101", "first"), Problem("E301", "second")])
    after = pickle.loads(pickle.dumps(before))
    assert type(after) is kind
    assert after.problems == before.problems
    assert (str(after), after.code, after.exit_code) == (str(before), before.code, before.exit_code)


def test_results_can_be_compared(pair: Pair) -> None:
    """`before == after` would end in numpy's complaint about ambiguous truth."""
    one, same = (hero.estimate_rate(pair.current, pair.history) for _ in range(2))
    other = hero.estimate_rate(pair.current, pair.history, method="majority_vote")
    assert one in [same, one]
    assert one != other


def test_rounds_cannot_be_changed(pair: Pair) -> None:
    """A round changed in place would belie every result made from it."""
    for name in ("label_answer", "gold", "item_ids"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(pair.history, name)[0] = 1


# Intervals


@by_method(METHODS)
def test_a_higher_level_is_wider(pair: Pair, method: str) -> None:
    """The level of an interval would mean nothing."""
    estimate = hero.estimate_rate(pair.current, pair.history, **options_of(method))
    ends = [estimate.interval(level) for level in (0.5, 0.8, 0.95, 0.99)]
    for (low, high), (lower, higher) in pairwise(ends):
        assert 0 <= lower < low < estimate.value < high < higher <= 1
    assert estimate.interval() == ends[2]
    asked = hero.estimate_rate(pair.current, pair.history, level=0.99, **options_of(method))
    assert asked.interval() == ends[3]
    assert asked.level == 0.99


@pytest.mark.parametrize("method", CARRIED)
def test_the_papers_interval_is_the_shorter_one(pair: Pair, method: str) -> None:
    """The default would forget that reliabilities are estimated, as the paper's interval does."""
    ours = hero.estimate_rate(pair.current, pair.history, **options_of(method))
    papers = hero.estimate_rate(pair.current, pair.history, interval="paper", **options_of(method))
    assert papers.value == ours.value
    assert papers.std_error < ours.std_error
    low, high = papers.interval()
    assert (low, high) == pytest.approx(
        (papers.value - 1.959964 * papers.std_error, papers.value + 1.959964 * papers.std_error), abs=1e-6
    )


@pytest.mark.slow
def test_intervals_stay_within_their_range() -> None:
    """A rate's interval would reach below 0 or above 1."""
    for seed in range(10):
        pair = draw_pair(seed, replace(GOOD, intercept=-4.0, n_current=60))
        if len(set(pair.history.gold) - {-1}) < 2:
            continue
        for method in METHODS:
            for interval in ("influence", "paper"):
                low, high = hero.estimate_rate(
                    pair.current, pair.history, interval=interval, **options_of(method)
                ).interval(0.999)
                assert 0 <= low <= high <= 1


def test_findings_put_warnings_first(pair: Pair) -> None:
    """The most important remark would stand below notes."""
    estimate = hero.estimate_rate(with_strangers(pair, 0.1), gold_of(pair, lambda gold: first(gold, 12)))
    severities = [one.severity for one in estimate.findings]
    assert severities == sorted(severities, key=lambda of: of != "warning")
    assert len({(one.code, one.message) for one in estimate.findings}) == len(estimate.findings)


def test_notes_of_reading_travel_with_the_estimate(pair: Pair) -> None:
    """Duplicates and unlabeled items found while reading would be forgotten in the result."""
    tables = tables_of(pair.drawn.current_labels, prefix="c")
    labels = pa.concat_tables([tables["labels"], tables["labels"].slice(0, 3)])
    current = Round(labels, items=pa.table({"item": [*pair.current.item_ids, "unseen"]}), name="may")
    estimate = hero.estimate_rate(current, pair.history)
    assert {"F101", "F102"} <= set(codes(estimate))
    assert "current 'may'" in finding(estimate, "F101").message


def test_estimates_have_their_documented_fields(pair: Pair) -> None:
    """Code written against the documented names would break."""
    estimate = hero.estimate_rate(pair.current, pair.history)
    assert isinstance(estimate, Estimate)
    for name in ("value", "std_error", "method", "n_items", "n_gold", "findings", "why", "converged"):
        assert getattr(estimate, name) is not None
    assert all(isinstance(one, hero.Finding) for one in estimate.findings)


# An estimate as a row and as text


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_an_estimate_is_a_row(pair: Pair, backend: str) -> None:
    """Whoever collects estimates in a table would have to name their fields one by one."""
    estimate = hero.estimate_rate(pair.current, pair.history, method="hero1")
    row = estimate.to_frame(backend)
    assert type(row).__module__.split(".")[0] == backend
    low, high = estimate.interval()
    shown = {name: row[name].to_pylist() if backend == "pyarrow" else row[name].to_list() for name in row_names(row)}
    assert shown == {
        "target": ["rate"],
        "what": ["rate of '1'"],
        "value": [estimate.value],
        "std_error": [estimate.std_error],
        "low": [low],
        "high": [high],
        "level": [0.95],
        "method": ["hero1"],
        "n_items": [estimate.n_items],
        "n_gold": [estimate.n_gold],
    }
    assert refusal(lambda: estimate.to_frame("spark")).code == "E201"


def row_names(row: Any) -> list[str]:
    return list(getattr(row, "column_names", None) or row.columns)


def test_an_estimate_comes_in_the_library_of_its_round(pair: Pair) -> None:
    """A row would come in another library than the labels did."""
    estimate = hero.estimate_rate(pair.current, pair.history, method="hero1")
    assert type(estimate.to_frame()).__module__.split(".")[0] == pair.current.frame_kind
    part = estimate.distribution["1"]
    assert len(part.to_frame("pandas")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rate", "hero2", "vote", "difference", "nominal"])
def test_a_summary_tells_all(results: dict[str, Any], kind: str) -> None:
    """The text would leave out the number, its interval, the method or a finding."""
    estimate = results[kind]
    text = estimate.summary()
    assert max(map(len, text.splitlines())) <= 80
    together = " ".join(text.split())
    for told in estimate.findings:
        assert f"{told.code} {told.fact}" in together
        assert told.action in together
    assert estimate.method in together
    for name, one in estimate.distribution.items() if len(estimate.distribution) > 2 or kind == "difference" else ():
        assert f"{name.upper() if kind == 'difference' else name} {one.value:.4f}" in together
    if kind != "nominal":
        assert f"{estimate.value:.4f}" in together


@pytest.mark.slow
def test_a_summary_is_what_the_terminal_shows() -> None:
    """Text from Python and text from the command would tell the same estimate in two ways."""
    from importlib.resources import files

    from typer.testing import CliRunner

    from hero_eval.cli.main import app

    example = files("hero_eval") / "examples" / "defect"
    current, history = (hero.read_round(str(example / name)) for name in ("current", "history"))
    shown = CliRunner().invoke(app, ["estimate", str(example / "current"), "--history", str(example / "history")])
    assert hero.estimate_rate(current, history).summary().split() == shown.stdout.split()
