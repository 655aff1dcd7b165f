"""Past rounds played again: what is compared with what, what is refused, and how a method is chosen by it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from make_rounds import binary_answers, codes, finding, labels_given, near_answers, round_of, some_gold, tables_of
from rich.cells import cell_len
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval.cli.main import app
from hero_eval.estimation import select as choice
from hero_eval.estimation.replay import (
    HISTORY_MEAN,
    Play,
    Quantity,
    RoundDrift,
    Seen,
    common_drift,
    gold_seen,
)
from hero_eval.estimation.rivals import Trial, choose_by_plays, clear_winner, rival
from hero_eval.phrasing import without_common
from hero_eval.round import Round

ANSWERS = binary_answers([0.85, 0.8, 0.75, 0.7], [0.9, 0.8, 0.85, 0.75])
RATE = Quantity("rate of '1'", np.array([0.0, 1.0]))
QUICK = ["gold_proportion", "hero1"]


def make(
    rng: np.random.Generator,
    name: str,
    rate: float = 0.4,
    n_items: int = 120,
    gold: float = 0.4,
    answers: Any = ANSWERS,
    **spelling: Any,
) -> Round:
    truth = (rng.random(n_items) < rate).astype(int)
    labels = labels_given(rng, truth, answers, 0.8)
    known = some_gold(rng, truth, gold) if gold else None
    columns = {"x": truth + rng.normal(size=n_items)}
    return round_of(labels, known, columns, prefix=name, options={"name": name}, **spelling)


def some_rounds(n_rounds: int, seed: int = 1, **options: Any) -> list[Round]:
    rng = np.random.default_rng(seed)
    return [make(rng, f"r{number}", rng.uniform(0.25, 0.6), **options) for number in range(n_rounds)]


@pytest.fixture(scope="module")
def rounds() -> list[Round]:
    return some_rounds(4)


@pytest.fixture(scope="module")
def tested(rounds: list[Round]) -> hero.Backtest:
    return hero.backtest(rounds)


def play(value: float, low: float, high: float, mean: float, error: float = 0.0, **more: Any) -> Play:
    given = {"round": "r", "method": "hero3", "what": "rate"} | more
    return Play(
        **given, value=value, low=low, high=high, level=0.95, bounds=(0.0, 1.0), seen=Seen(mean, error, 50, 100)
    )


# What is compared with what


def test_the_score_is_width_and_forty_times_the_distance_outside() -> None:
    """Methods would be ranked by something else than what is written above the column."""
    inside, outside = play(0.5, 0.4, 0.6, 0.45), play(0.5, 0.4, 0.6, 0.65)
    assert (inside.covered, inside.score) == (True, pytest.approx(0.2))
    assert (outside.covered, outside.score) == (False, pytest.approx(0.2 + 40 * 0.05))
    assert outside.error == pytest.approx(-0.15)


def test_the_golds_own_error_is_allowed_for() -> None:
    """A good interval would be blamed for the noise of the few gold items that it is compared with."""
    blamed, allowed = play(0.5, 0.45, 0.55, 0.6), play(0.5, 0.45, 0.55, 0.6, 0.06)
    assert not blamed.covered
    assert allowed.covered
    room = math.hypot(0.05, 1.959964 * 0.06)
    assert allowed.widened == pytest.approx((0.5 - room, 0.5 + room), abs=1e-6)
    assert allowed.score == pytest.approx(2 * room, abs=1e-6)
    assert allowed.width == pytest.approx(0.1)


def test_gold_of_every_item_has_no_error() -> None:
    """Full gold is the round's rate itself; adding noise to it would hide real errors."""
    one = make(np.random.default_rng(2), "full", gold=1.1)
    seen = gold_seen(one, ("0", "1"), RATE)
    assert (seen.error, seen.n_gold) == (0.0, one.n_items)
    assert seen.mean == pytest.approx(one.gold.mean())


@pytest.mark.slow
def test_the_error_of_some_gold_is_that_of_a_sample_of_the_items() -> None:
    """The stated error of a round's gold mean would not be how far such means scatter around the round's rate."""
    rng = np.random.default_rng(3)
    whole = make(rng, "whole", gold=1.1, n_items=200)
    truth, labels = np.asarray(whole.gold), labels_given(rng, np.asarray(whole.gold), ANSWERS)
    means, errors = [], []
    for _ in range(200):
        gold = np.where(rng.permutation(200) < 60, truth, -1)
        seen = gold_seen(round_of(labels, gold), ("0", "1"), RATE)
        means.append(seen.mean - truth.mean())
        errors.append(seen.error)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.15)


def test_gold_of_one_class_is_not_taken_for_certain() -> None:
    """Ten gold items that all say no would pass for the proof that the round has no yes at all."""
    rng = np.random.default_rng(4)
    truth = np.zeros(100, dtype=int)
    one = round_of(labels_given(rng, truth, ANSWERS), np.where(np.arange(100) < 10, 0, -1))
    seen = gold_seen(one, ("0", "1"), RATE)
    assert seen.mean == 0.0
    assert 0.05 < seen.error < 0.15


def test_gold_that_was_not_drawn_at_random_is_weighted() -> None:
    """Gold that went to suspected items would make every method look as if it saw too few of them."""
    rng = np.random.default_rng(6)
    truth = (rng.random(4000) < 0.4).astype(int)
    chance = np.where(truth == 1, 0.6, 0.2)
    labels = labels_given(rng, truth, ANSWERS)
    gold = np.where(rng.random(4000) < chance, truth, -1)
    weighted = gold_seen(round_of(labels, gold, {"gold_probability": chance}), ("0", "1"), RATE)
    plain = gold_seen(round_of(labels, gold), ("0", "1"), RATE)
    assert abs(weighted.mean - truth.mean()) < 3 * weighted.error
    assert plain.mean - truth.mean() > 0.15


@pytest.mark.slow
def test_a_play_is_the_estimate_with_the_gold_hidden(rounds: list[Round], tested: hero.Backtest) -> None:
    """The backtest would praise a method that saw the answer, or one that nobody can run."""
    for position, one in enumerate(rounds):
        others = rounds[:position] + rounds[position + 1 :]
        for method in ("majority_vote", "hero1", "hero3"):
            estimate = hero.estimate_rate(one.without_gold(), others, method=method)
            found = next(row for row in tested.plays if (row.round, row.method) == (one.name, method))
            assert (found.value, found.low, found.high) == pytest.approx(
                (estimate.value, *estimate.interval()), abs=1e-7
            )
            assert found.seen.mean == pytest.approx(one.gold[one.gold >= 0].mean())
    assert tested.what == "rate of '1'"
    assert tested.rounds == tuple(one.name for one in rounds)


def test_hiding_gold_changes_nothing_else(rounds: list[Round]) -> None:
    """A round would lose labels or columns, or its own gold, when it is played."""
    hidden = rounds[0].without_gold()
    assert (hidden.n_gold, rounds[0].n_gold > 0) == (0, True)
    assert (hidden.n_labels, hidden.column_names, hidden.values) == (
        rounds[0].n_labels,
        rounds[0].column_names,
        rounds[0].values,
    )


@pytest.mark.slow
def test_the_history_mean_is_the_mean_of_the_others_gold(rounds: list[Round], tested: hero.Backtest) -> None:
    """The baseline that every method must beat would be another one."""
    for position, one in enumerate(rounds):
        gold = np.concatenate([of.gold[of.gold >= 0] for at, of in enumerate(rounds) if at != position])
        found = next(row for row in tested.plays if (row.round, row.method) == (one.name, HISTORY_MEAN))
        assert found.value == pytest.approx(gold.mean())
        assert 0 <= found.low < found.value < found.high <= 1


@pytest.mark.slow
def test_methods_cover_where_their_assumptions_hold() -> None:
    """A sound method would look unsound, because the noise of the gold was counted against it."""
    covered = [
        row.covered
        for seed in range(4)
        for row in hero.backtest(some_rounds(10, seed, gold=0.2), methods=["hero1"]).plays
        if row.method == "hero1"
    ]
    assert len(covered) == 40
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)


# The result


def test_the_result_is_complete(tested: hero.Backtest) -> None:
    """A pipeline would find numbers missing, or JSON that it cannot read."""
    document = json.loads(json.dumps(tested.to_dict(), allow_nan=False))
    assert document["schema_version"] == 1
    hidden = {"ppi", "balanced"}  # they rest on the gold that is hidden
    assert set(document["methods"]) == {HISTORY_MEAN, *_all_methods()} - hidden
    assert len(document["plays"]) == 4 * len(document["methods"])
    assert document["best"] == tested.best
    assert len(document["drift"]["rounds"]) == 4
    assert "\n" not in repr(tested)
    assert tested.best in repr(tested)
    assert all(name in tested._repr_html_() for name in tested.methods)


def _all_methods() -> list[str]:
    from hero_eval.methods.registry import all_methods

    return list(all_methods())


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_hold_the_plays(tested: hero.Backtest, backend: str) -> None:
    """The table that a user looks at would not be the result."""
    rows = tested.to_frame(backend)
    scores = list(rows["score"]) if backend != "pyarrow" else rows["score"].to_pylist()
    assert scores == [row.score for row in tested.plays]
    means = tested.summary(backend)
    names = list(means["method"]) if backend != "pyarrow" else means["method"].to_pylist()
    assert names == list(tested.methods)


def test_summaries_are_means_over_rounds(tested: hero.Backtest) -> None:
    """The one line that decides would not follow from the rounds."""
    own = [row for row in tested.plays if row.method == "hero1"]
    found = tested.methods["hero1"]
    assert found.abs_error == pytest.approx(np.mean([abs(row.error) for row in own]))
    assert found.score == pytest.approx(np.mean([row.score for row in own]))
    assert found.coverage == np.mean([row.covered for row in own])


@pytest.mark.slow
def test_the_same_rounds_give_the_same_bytes(rounds: list[Round]) -> None:
    """Nobody could repeat a result."""
    one, other = (hero.backtest(rounds, methods=QUICK).to_dict() for _ in range(2))
    assert json.dumps(one) == json.dumps(other)


def test_progress_ends_where_it_said(rounds: list[Round]) -> None:
    """A bar would stop short of its end, or run past it."""
    seen: list[tuple[int, int]] = []
    hero.backtest(rounds[:2], methods=QUICK, progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == list(range(7))
    assert {total for _, total in seen} == {6}


# Drift


@pytest.mark.slow
def test_a_round_that_drifted_is_seen() -> None:
    """A team would not learn that in one round all labelers read the question differently.

    Three labelers and more show that by themselves, and `hero3` reads the round so; two do not.
    """
    rng = np.random.default_rng(11)
    asked = binary_answers([0.9, 0.85], [0.9, 0.85])
    strict = binary_answers([0.5, 0.45], [0.97, 0.95])
    usual = [make(rng, f"r{number}", 0.4, 300, 0.5, asked) for number in range(3)]
    moved = make(rng, "moved", 0.4, 300, 0.5, strict)
    steady = make(rng, "steady", 0.4, 300, 0.5, asked)
    drifted = hero.backtest([*usual, moved], methods=["hero3"])
    calm = hero.backtest([*usual, steady], methods=["hero3"])
    shifts = {one.round: one for one in drifted.drift}
    assert shifts["moved"].shift > 3 * shifts["moved"].shift_error
    assert drifted.common_drift > 2 * calm.common_drift
    assert shifts["moved"].expected < shifts["r0"].expected


def test_the_common_drift_is_the_spread_of_the_shifts() -> None:
    """The size of the drift would depend on the noise with which rounds show it, or on their number."""
    rng = np.random.default_rng(5)
    for size in (0.2, 0.9):
        found = []
        for _ in range(30):
            true = rng.normal(0.0, size, 8)
            against = [true[i] - np.delete(true, i).mean() + rng.normal(0.0, 0.2) for i in range(8)]
            shifts = [RoundDrift(str(i), float(of), 0.2, 0.0, 0.0, 0.0) for i, of in enumerate(against)]
            found.append(common_drift(shifts).size)
        assert 0.7 * size < np.mean(found) < 1.6 * size


# What is refused, and what is set aside


def test_one_round_with_gold_is_refused(rounds: list[Round]) -> None:
    """A round would be judged by itself."""
    for past in ([rounds[0]], [rounds[0], rounds[1].without_gold()]):
        with pytest.raises(hero.SupportError) as caught:
            hero.backtest(past)
        assert (caught.value.code, caught.value.exit_code) == ("E304", 3)
        assert "'r0'" in str(caught.value)
    with pytest.raises(hero.SupportError, match="none"):
        hero.backtest([rounds[0].without_gold(), rounds[1].without_gold()])


def test_rounds_without_gold_are_history_only(rounds: list[Round]) -> None:
    """A round that cannot be judged would stop the backtest, or vanish without a word."""
    found = hero.backtest([*rounds[:2], rounds[2].without_gold()], methods=QUICK)
    assert found.rounds == ("r0", "r1")
    assert finding(found, "F601").data == {"rounds": ["r2"]}
    assert "F603" in codes(found)


@pytest.mark.slow
def test_rounds_without_their_items_are_played(tmp_path: Path) -> None:
    """A backtest of rounds in files that an engine counts would fail somewhere deep inside."""
    rng = np.random.default_rng(13)
    for name in ("a", "b"):
        truth = (rng.random(60) < 0.5).astype(int)
        (tmp_path / name).mkdir()
        for table, of in tables_of(labels_given(rng, truth, ANSWERS), truth, prefix=name).items():
            pyarrow.csv.write_csv(of, tmp_path / name / f"{table}.csv")
    past = [hero.read_round(tmp_path / name, engine="duckdb") for name in ("a", "b")]
    found = hero.backtest(past)
    assert found.rounds == ("a", "b")
    assert {"history_mean", "hero1", "hero3"} <= set(found.methods)
    with pytest.raises(hero.InputError, match="E211"):
        hero.backtest(past, cluster="x")


def test_the_same_round_twice_counts_once(rounds: list[Round]) -> None:
    """A round that is its own history would make every method look perfect."""
    again = rounds[0].select(np.ones(rounds[0].n_items, dtype=bool))
    with pytest.raises(hero.InputError) as caught:
        hero.backtest([rounds[0], rounds[0]], methods=["hero1"])
    assert caught.value.code == "E201"
    once, twice = (hero.backtest(past, methods=["hero1"]) for past in (rounds[:2], [*rounds[:2], again]))
    assert [one.value for one in twice.plays] == [one.value for one in once.plays]
    assert "F113" in codes(twice)


@pytest.mark.slow
def test_rounds_of_different_labelers(rounds: list[Round]) -> None:
    """One method that cannot judge strangers would take the others down with it."""
    other = make(np.random.default_rng(7), "elsewhere", labelers=["ann", "bob", "cid", "dan"])
    found = hero.backtest([*rounds[:2], other], methods=["hero1", "hero3"])
    assert found.methods["hero1"].n_rounds == 2
    assert found.methods["hero3"].n_rounds == 3
    assert set(found.skipped["hero1"]) == {"elsewhere"}
    assert finding(found, "F605").data["method"] == "hero1"
    assert found.best == "hero3"


@pytest.mark.slow
def test_rounds_whose_gold_is_all_one_class(rounds: list[Round]) -> None:
    """A round in which the expert only ever said no would end in a numerical error, or in nonsense."""
    none = make(np.random.default_rng(8), "none", 0.0, 100)
    every = make(np.random.default_rng(9), "every", 1.1, 100)
    found = hero.backtest([rounds[0], none, every], methods=[*QUICK, "hero3"])
    json.dumps(found.to_dict(), allow_nan=False)
    assert {row.seen.mean for row in found.plays if row.round in ("none", "every")} == {0.0, 1.0}
    assert all(math.isfinite(one.shift) for one in found.drift)
    alone = hero.backtest([none, every], methods=[*QUICK, "hero3"])
    assert all(math.isfinite(row.score) for row in alone.plays)


def test_rounds_of_one_name_are_told_apart() -> None:
    """Two rounds called `round` would be one row."""
    rng = np.random.default_rng(10)
    same = [round_of(labels_given(rng, (t := (rng.random(60) < 0.5).astype(int)), ANSWERS), t) for _ in range(2)]
    assert hero.backtest(same, methods=QUICK).rounds == ("round (1)", "round (2)")


@pytest.mark.parametrize(
    "option",
    [{"methods": "hero1"}, {"methods": []}, {"methods": ["best"]}, {"level": 2}, {"positive": "maybe"}, {"groups": 1}],
)
def test_bad_options_are_refused(rounds: list[Round], option: dict[str, Any]) -> None:
    """A wrong option would be ignored."""
    with pytest.raises(hero.InputError):
        hero.backtest(rounds, **option)


@pytest.mark.slow
def test_more_classes() -> None:
    """Ratings and sides could not be backtested, or on a quantity that nobody named."""
    rng = np.random.default_rng(12)
    answers = near_answers(4, 3, 0.7, rng)

    def three(classes: Sequence[str]) -> list[Round]:
        drawn = [rng.integers(0, 3, 80) for _ in range(3)]
        return [round_of(labels_given(rng, truth, answers), truth, classes=classes) for truth in drawn]

    sides, stars = three(["A", "B", "tie"]), three(["1", "2", "3"])
    with pytest.raises(hero.InputError, match="E203"):
        hero.backtest(sides, methods=QUICK)
    assert hero.backtest(sides, methods=QUICK, positive="A").what == "rate of 'A'"
    scored = hero.backtest(stars, methods=[*QUICK, "hero3"])
    assert scored.what == "mean score"
    assert all(1 <= row.low <= row.high <= 3 for row in scored.plays)
    assert scored.methods["hero3"].abs_error < 0.3


def test_covariates_reach_the_methods(rounds: list[Round]) -> None:
    """hero2 would be tried with other columns than those named."""
    found = hero.backtest(rounds[:2], methods=["hero2"], covariates=["x"])
    expected = hero.estimate_rate(rounds[0].without_gold(), rounds[1], method="hero2", covariates=["x"])
    assert found.plays[1].value == pytest.approx(expected.value, abs=1e-9)


@pytest.mark.slow
def test_a_fitted_history_is_played_as_it_was_fitted(rounds: list[Round]) -> None:
    """Shrinkage that a team uses would be left out of its backtest."""
    tested = hero.backtest(hero.fit_reliability(rounds, shrinkage=20.0), methods=["hero1"])
    played = [one for one in tested.plays if one.method == "hero1"]
    assert [one.round for one in played] == [one.name for one in rounds]
    for place, one in enumerate(played):
        others = hero.fit_reliability(rounds[:place] + rounds[place + 1 :], shrinkage=20.0)
        expected = hero.estimate_rate(rounds[place].without_gold(), others, method="hero1")
        assert one.value == pytest.approx(expected.value, abs=1e-9)
        assert (one.low, one.high) == pytest.approx(expected.interval(), abs=1e-9)


# The choice


def plays_of(method: str, errors: Sequence[float], widths: Sequence[float]) -> list[Play]:
    return [
        play(0.5 + error, 0.5 + error - width / 2, 0.5 + error + width / 2, 0.5, round=f"r{number}", method=method)
        for number, (error, width) in enumerate(zip(errors, widths, strict=True))
    ]


HERO3 = plays_of("hero3", [0.05, -0.06, 0.04, 0.05], [0.3, 0.32, 0.28, 0.3])


def test_a_method_that_is_clearly_better_wins() -> None:
    """Evidence of four past rounds would change nothing."""
    better = plays_of("gold_proportion", [0.01, -0.01, 0.02, 0.0], [0.1, 0.11, 0.1, 0.09])
    winner = clear_winner([*HERO3, *better], ["gold_proportion", "hero3"])
    assert winner is not None
    assert (winner.method, winner.n_rounds) == ("gold_proportion", 4)
    assert winner.score.mean == pytest.approx(0.2)
    assert winner.error.mean == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("errors", "widths"),
    [
        ([0.01, -0.01, 0.02, 0.3], [0.1, 0.1, 0.1, 0.1]),  # one bad miss
        ([0.04, -0.07, 0.04, 0.05], [0.15, 0.15, 0.15, 0.15]),  # short intervals that were lucky so far
        ([0.01, 0.01], [0.1, 0.1]),  # two rounds
    ],
)
def test_luck_does_not_win(errors: list[float], widths: list[float]) -> None:
    """A method would be taken for short intervals that have not missed yet."""
    assert clear_winner([*HERO3, *plays_of("hero1", errors, widths)], ["hero1", "hero3"]) is None


def test_why_another_method_was_not_taken_is_told() -> None:
    """A reader would see a lower score in the table, and no word on why it did not count."""
    near = [0.049, -0.061, 0.041, 0.049]
    for errors, words in (
        (near, "not clearly smaller"),
        ([0.07, -0.07, 0.07, 0.07], "errors are larger by 0.020"),
        ([0.05, -0.06, 0.04, 0.085], "which chance explains"),
    ):
        found = [*HERO3, *plays_of("hero1", errors, [0.15] * 4)]
        method, why = choose_by_plays(found, ["hero1", "hero3"])
        assert method == "hero3"
        assert words in why


def test_methods_are_compared_on_rounds_that_both_played() -> None:
    """A method that sat out the hard round would look better."""
    hard = play(0.9, 0.8, 1.0, 0.1, round="hard")
    other = plays_of("hero1", [0.05, -0.06, 0.04, 0.05], [0.3, 0.32, 0.28, 0.3])
    assert rival([*HERO3, hard, *other], "hero1").score.mean == 0.0


def test_without_history_gold_nothing_is_played(rounds: list[Round]) -> None:
    """The default would need gold that is not there."""
    assert hero.estimate_rate(rounds[0].without_gold(), rounds[1].without_gold()).method == "dawid_skene"


@pytest.mark.slow
def test_one_past_round_takes_hero3(rounds: list[Round], monkeypatch: pytest.MonkeyPatch) -> None:
    """One round would be played against nothing, or the user not hear that drift is unknown."""
    monkeypatch.setattr(choice, "replay", None)
    found = hero.estimate_rate(rounds[0].without_gold(), rounds[1])
    assert found.method == "hero3"
    assert "drift is unknown" in found.why
    assert "F310" in codes(found)
    two = hero.estimate_rate(rounds[0].without_gold(), rounds[1:3])
    assert two.method == "hero3"
    assert "cannot tell methods apart" in two.why


@pytest.mark.slow
def test_several_past_rounds_choose_the_method(rounds: list[Round]) -> None:
    """The team's own past would not be asked, or in secret."""
    found = hero.estimate_rate(rounds[0].without_gold(), rounds[1:])
    played = hero.backtest(rounds[1:], methods=[*QUICK, "hero3"])
    assert found.method == played.best
    told = finding(found, "F306")
    assert sorted([*told.data["rounds"], *told.data["left"]]) == ["r1", "r2", "r3"]
    assert "3 past rounds" in told.message
    assert found.why.startswith("backtest of past rounds: ")
    assert set(told.data["methods"]) == {"gold_proportion", "hero1", "hero3"}
    for method, figures in told.data["methods"].items():
        assert f"{method} |error| {figures['abs_error']:.3f}" in told.message
    scores = [one.score for one in played.plays if one.method == "hero1" and one.round in told.data["rounds"]]
    assert told.data["methods"]["hero1"]["score"] == pytest.approx(np.mean(scores))
    named = hero.estimate_rate(rounds[0].without_gold(), rounds[1:], method=found.method)
    assert (found.value, found.interval()) == (named.value, named.interval())
    assert "F306" not in codes(named)


@pytest.mark.slow
def test_a_named_method_is_never_tried(rounds: list[Round], monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming the method would not save the time of the trial, or the trial would start another."""

    def refuse(*_: Any) -> None:
        raise AssertionError("something was chosen")

    monkeypatch.setattr(choice, "rounds_to_play", refuse)
    assert hero.backtest(rounds[:3], methods=["hero1", "hero3"]).best == "hero3"
    assert set(hero.compare_methods(rounds[0].without_gold(), rounds[1:])) >= {"hero1", "hero3"}


def lucky(winner: str) -> Trial:
    better = plays_of(winner, [0.01, -0.01, 0.02, 0.0], [0.1, 0.11, 0.1, 0.09])
    return Trial((*HERO3, *better))


@pytest.mark.parametrize("winner", ["gold_proportion", "hero1", "hero2"])
def test_the_winner_answers(rounds: list[Round], monkeypatch: pytest.MonkeyPatch, winner: str) -> None:
    """The better method would be named and another one used, or its lack of covariates be an error."""
    monkeypatch.setattr(choice, "try_in_turn", lambda *_, **__: lucky(winner))
    options: dict[str, Any] = {"covariates": ["x"]}
    found = hero.estimate_rate(rounds[0].without_gold(), rounds[1:], **options)
    if winner != "hero2":
        options = {}
    expected = hero.estimate_rate(rounds[0].without_gold(), rounds[1:], method=winner, **options)
    assert (found.method, found.value) == (winner, expected.value)
    assert "lower than that of hero3" in found.why
    assert f"{winner} was chosen" in finding(found, "F306").message
    with pytest.raises(hero.InputError, match="E204"):
        hero.estimate_rate(rounds[0].without_gold(), rounds[1:], penalty=1.0)


def test_large_data_are_not_tried_unasked(rounds: list[Round], monkeypatch: pytest.MonkeyPatch) -> None:
    """A question would take an hour because history has several rounds."""
    monkeypatch.setattr(choice, "replay", None)
    monkeypatch.setattr(choice, "MOST_LABELS", 100)
    found = hero.estimate_rate(rounds[0].without_gold(), rounds[1:])
    assert found.method == "hero3"
    assert "Run a backtest" in finding(found, "F306").action


def test_only_rounds_with_gold_enough_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice would rest on rounds that hardly tell their own rate, or take as long as there are rounds."""
    past = [*some_rounds(3, gold=0.02), *some_rounds(5, seed=2)]
    past[4] = make(np.random.default_rng(1), "most", gold=0.9)
    monkeypatch.setattr(choice, "MOST_ROUNDS", 2)
    most = sorted(range(8), key=lambda number: (past[number].n_gold, number))[-2:]
    assert choice.rounds_to_play(past) == sorted(most)
    assert 4 in most
    monkeypatch.setattr(choice, "MOST_ROUNDS", 8)
    assert choice.rounds_to_play(past) == [3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("option", "method"),
    [({"interval": "profile"}, "hero1"), ({"interval": "paper", "covariates": ["x"]}, "hero2")],
)
def test_an_interval_that_one_method_has_chooses_it(
    rounds: list[Round], monkeypatch: pytest.MonkeyPatch, option: dict[str, Any], method: str
) -> None:
    """Asking for the profile or the published interval would be an error without a method named."""
    monkeypatch.setattr(choice, "replay", None)
    found = hero.estimate_rate(rounds[0].without_gold(), rounds[1:], **option)
    assert (found.method, found.interval_kind) == (method, option["interval"])


def test_a_history_fitted_its_own_way_stays_with_the_method_that_uses_it(
    rounds: list[Round], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shrinkage, or the paper's settings, would be asked for and change nothing."""
    monkeypatch.setattr(choice, "replay", None)
    fitted = hero.fit_reliability(rounds[1:], shrinkage=2.0)
    found = hero.estimate_rate(rounds[0].without_gold(), fitted)
    assert found.method == "hero1"
    assert "options of its own" in found.why


@pytest.mark.slow
def test_groups_need_the_method_that_uses_them(rounds: list[Round]) -> None:
    """Groups of labelers would be an error because the trial chose a method without them."""
    found = hero.estimate_rate(rounds[0].without_gold(), rounds[1:], groups={"j0": "a"})
    assert found.method == "hero3"
    assert set(finding(found, "F306").data["methods"]) == {"hero3"}


# The command


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    base = tmp_path_factory.mktemp("past")
    rng = np.random.default_rng(30)
    for name in ("2026-a-rather-long-name-of-march", "2026-a-rather-long-name-of-april", "2026-a-rather-long-name-of"):
        truth = (rng.random(90) < 0.4).astype(int)
        tables = tables_of(labels_given(rng, truth, ANSWERS), some_gold(rng, truth, 0.4), prefix=name)
        (base / name).mkdir()
        for table, of in tables.items():
            pyarrow.csv.write_csv(of, base / name / f"{table}.csv")
    return [str(path) for path in sorted(Path(base).iterdir())]


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["backtest", *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.mark.slow
def test_the_command_shows_the_backtest(folders: list[str]) -> None:
    """The command would show other numbers than Python, or lines that break."""
    told = run(*folders).stdout
    expected = hero.backtest([hero.read_round(path) for path in folders])
    assert all(cell_len(line) <= 80 for line in told.splitlines())
    for name, one in expected.methods.items():
        row = next(line for line in told.splitlines() if line.startswith(f"{name} "))
        assert row.split()[1:] == [
            str(one.n_rounds),
            *(f"{one.abs_error:.3f}", f"{one.bias:+.3f}", f"{one.coverage:.2f}", f"{one.width:.3f}"),
            f"{one.score:.3f}",
        ]
    assert "common drift" in told
    assert "…of-march" in told
    found = json.loads(run(*folders, "--json").stdout)
    assert found == json.loads(json.dumps(expected.to_dict()))


def test_the_command_writes_markdown(folders: list[str]) -> None:
    """A team could not paste the table into its report."""
    told = run(*folders[:2], "--method", "hero1", "--method", "hero3", "--markdown").stdout
    assert told.startswith("# Backtest\n")
    assert "| method | rounds |" in told
    assert "E204" in run(*folders, "--json", "--markdown", code=2).stderr


def test_the_command_refuses_in_words(folders: list[str]) -> None:
    """One round, or a wrong method, would end in a traceback or in the wrong exit code."""
    assert "E304" in run(folders[0], code=3).stderr
    assert "E201" in run(*folders, "--method", "best", code=2).stderr
    assert "E201" in run(folders[0], folders[0], code=2).stderr


def test_names_keep_the_end_that_tells_them_apart() -> None:
    """A column of rounds would read the same in every row."""
    assert without_common(["models/arena/alpha", "models/arena/beta"]) == ["…alpha", "…beta"]
    assert without_common(["alpha", "beta"]) == ["alpha", "beta"]
    assert without_common(["one long name alone"]) == ["one long name alone"]
    assert without_common(["the-first-of-many", "another-of-them"]) == ["the-first-of-many", "another-of-them"]
