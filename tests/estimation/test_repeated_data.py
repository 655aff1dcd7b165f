"""The same data twice: refused, or counted once, and said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from engine_rounds import one_table, write
from make_rounds import binary_answers, codes, draw_pair, finding, labels_given, round_of, some_gold, tables_of
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval import phrasing
from hero_eval.cli.main import app
from hero_eval.errors import HeroError
from hero_eval.estimation.repeated_data import overlap_findings
from hero_eval.labelers.fitting import history_rounds
from hero_eval.methods.registry import all_methods

ANSWERS = binary_answers([0.85, 0.8, 0.75], [0.9, 0.8, 0.85])


def drawn(seed: int, n: int = 120, gold: float = 0.4, prefix: str = "i") -> dict[str, pa.Table]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.4).astype(int)
    columns = {"flag": rng.integers(0, 2, n)}
    return tables_of(labels_given(rng, truth, ANSWERS), some_gold(rng, truth, gold), columns, prefix=prefix)


def test_a_round_in_its_own_history_is_refused_under_any_name() -> None:
    mine = hero.Round(**drawn(1), name="may")
    shuffled = {name: table.take(np.random.default_rng(2).permutation(len(table))) for name, table in drawn(1).items()}
    again = hero.Round(**shuffled, name="june")
    other = hero.Round(**drawn(3, prefix="h"), name="april")
    fitted = hero.fit_reliability([other, again])
    for history in (again, [other, again], fitted, mine):
        for ask in (hero.estimate_rate, hero.compare_methods):
            with pytest.raises(HeroError, match="in its own history") as caught:
                ask(mine, history)
            assert caught.value.code == "E208"
    with pytest.raises(HeroError, match="E208"):
        hero.estimate_rate(mine, [other, again], by="flag")
    with pytest.raises(HeroError, match="E208"):
        hero.estimate_moderation(mine, [other, again], flag="flag")
    assert hero.estimate_rate(mine, [other], method="hero1").n_gold == other.n_gold


def test_one_changed_gold_or_label_makes_another_round() -> None:
    tables = drawn(1)
    mine = hero.Round(**tables)
    fewer = {**tables, "gold": tables["gold"].slice(1)}
    assert not mine.holds_same_as(hero.Round(**fewer))
    flipped = tables["labels"].to_pydict()
    flipped["label"][0] = 1 - flipped["label"][0]
    assert not mine.holds_same_as(hero.Round(**{**tables, "labels": pa.table(flipped)}))
    spelled = pa.table({**tables["labels"].to_pydict(), "label": [("no", "yes")[k] for k in flipped["label"]]})
    assert not mine.holds_same_as(hero.Round(**{**tables, "labels": spelled}))
    same = hero.Round(**tables, classes=["1", "0"])  # numbered differently, the same answers
    assert mine.holds_same_as(same)
    assert mine.shape_and_sums() == same.shape_and_sums()


def test_past_rounds_are_not_all_held_against_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand past rounds would be compared a million times, which took most of the time of an estimate."""
    compared = []
    real = hero.Round.holds_same_as
    monkeypatch.setattr(hero.Round, "holds_same_as", lambda one, two: compared.append(one.name) or real(one, two))
    rounds = [hero.Round(**drawn(seed), name=f"r{seed}") for seed in range(8)]
    again = hero.Round(**drawn(3), name="again")
    assert [one.name for one in history_rounds([*rounds, again])] == [one.name for one in rounds]
    assert compared == ["r3"]


def test_two_past_rounds_that_are_one_count_once() -> None:
    past = drawn(3, prefix="h")
    first, copy = hero.Round(**past, name="april"), hero.Round(**past, name="april (copy)")
    current = hero.Round(**drawn(4), name="may").without_gold()
    once = hero.estimate_rate(current, [first], method="hero1")
    twice = hero.estimate_rate(current, [first, copy], method="hero1")
    assert (twice.value, twice.std_error, twice.n_gold) == (once.value, once.std_error, once.n_gold)
    said = finding(twice, "F113")
    assert "'april (copy)'" in said.message
    assert said.data == {"round": "april (copy)", "same_as": "april"}
    assert "F113" not in codes(once)
    assert hero.fit_reliability([first, copy]).n_gold == first.n_gold
    assert "F113" in codes(hero.fit_reliability([first, copy]))


@pytest.mark.slow
def test_a_backtest_plays_copies_once() -> None:
    rounds = [hero.Round(**drawn(seed, prefix=f"{seed}-"), name=f"r{seed}") for seed in (1, 2, 3)]
    copy = hero.Round(**drawn(1, prefix="1-"), name="copy")
    one, other = (hero.backtest(of, methods=["hero1"]) for of in (rounds, [*rounds, copy]))
    assert one.to_dict()["plays"] == other.to_dict()["plays"]
    assert "'copy'" in finding(other, "F113").message


def test_the_command_refuses_a_round_as_its_own_history(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(one_table(drawn(1)), tmp_path / "x.csv")
    path = str(tmp_path / "x.csv")
    ended = CliRunner().invoke(app, ["estimate", path, "--history", path])
    assert ended.exit_code == 2
    assert "E208" in ended.output
    assert "Traceback" not in ended.output


def test_an_older_state_of_the_round_in_history_is_said() -> None:
    tables = drawn(1, n=200)
    older = hero.Round(labels=tables["labels"].slice(0, 450), gold=tables["gold"].slice(0, 40), name="older")
    current = hero.Round(**tables, name="now")
    said = finding(hero.estimate_rate(current, [older], method="hero1"), "F114")
    assert said.data == {"round": "older", "labels": 600, "shared": 450}
    other = hero.Round(**drawn(5, n=200), name="another model, same prompts")
    assert "F114" not in codes(hero.estimate_rate(current, [other], method="hero1"))


@pytest.mark.parametrize("share", [0.15, 0.5, 1.0])
def test_two_states_of_a_past_round_are_said(share: float) -> None:
    """A file and its older copy in the folder of past rounds would count twice, and show a drift of nil."""
    tables = drawn(1, n=400)
    labels = tables["labels"].slice(0, int(len(tables["labels"]) * share) - 1)
    older = hero.Round(labels=labels, gold=tables["gold"].slice(0, 20), name="older")
    past, current = hero.Round(**tables, name="past"), hero.Round(**drawn(3, prefix="c"), name="now")
    for history in ([past, older], [older, past]):
        found = hero.estimate_rate(current, history, method="hero1")
        said = finding(found, "F114")
        assert said.data == {"round": "past", "labels": len(labels), "shared": len(labels)}
        assert said in found.doubts
        assert said.action == "Leave one of the two out if they are two states of one round."
    other = hero.Round(**drawn(5, n=400), name="another model, same prompts")
    assert "F114" not in codes(hero.estimate_rate(current, [past, other], method="hero1"))


def test_two_easy_rounds_of_the_same_prompts_are_not_taken_for_one() -> None:
    """Nearly all answers are 0 in both, so that most labels agree by chance alone."""
    rng = np.random.default_rng(7)
    answers = binary_answers([0.9] * 3, [0.995] * 3)
    make = lambda: labels_given(rng, (rng.random(300) < 0.02).astype(int), answers)  # noqa: E731
    first, second = make(), make()
    assert (first == second).mean() > 0.9
    gold = np.where(np.arange(300) < 100, first[:, 0], -1)
    past = hero.Round(**tables_of(second, gold), name="past")
    assert "F114" not in codes(hero.estimate_rate(hero.Round(**tables_of(first)), [past], method="hero1"))


@pytest.mark.slow
@pytest.mark.parametrize("method", [*all_methods(), None])
def test_a_round_does_not_differ_from_itself(method: str | None) -> None:
    pair = draw_pair(1)
    options = {"covariates": ["x"]} if method == "hero2" else {}
    same = hero.Round(**drawn(1), name="again")
    for a, b, history in (
        (pair.current, pair.current, pair.history),
        (hero.Round(**drawn(1), name="a"), same, hero.Round(**drawn(3, prefix="h"))),
    ):
        without = method in all_methods() and all_methods()[method].by_design and not a.n_gold
        if without or (options and not a.has_column("x")):
            continue
        found = hero.estimate_difference(a, b, history, method=method, **options)
        assert (found.value, found.std_error, found.interval()) == (0.0, 0.0, (0.0, 0.0))
        assert found.probability_above(0.001) == 0.0
        assert found.probability_below(-0.001) == 0.0
        assert "F113" in codes(found)
        assert found.n_items <= a.n_items
        assert found.n_gold_current <= a.n_gold
        said = phrasing.difference(found, "a", "b")
        assert (
            said == f"a and b hold the same, so that the {found.what.removeprefix('difference in ')} does not differ."
        )


@pytest.mark.slow
def test_files_that_an_engine_counts_are_recognized(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    truth = (rng.random(400) < 0.4).astype(int)
    answers = binary_answers([0.85, 0.8, 0.75, 0.7, 0.9], [0.9, 0.8, 0.85, 0.75, 0.7])
    tables = tables_of(labels_given(rng, truth, answers, 0.8), some_gold(rng, truth, 0.4))
    write(tmp_path / "may", tables)
    write(tmp_path / "copy", tables)
    read = lambda name: hero.read_round(tmp_path / name, engine="duckdb")  # noqa: E731
    for history in ("may", "copy"):
        with pytest.raises(HeroError, match="E208"):
            hero.estimate_rate(read("may"), read(history), method="hero1")
    assert "F113" in codes(hero.fit_reliability([read("may"), read("copy")]))
    hero.estimate_rate(read("may").without_gold(), [read("copy")], method="hero1")  # gold hidden: another round


def test_a_compared_round_counts_once() -> None:
    """A new model against the last one, whose round is all the history there is, would count its gold twice, or not at
    all; with another past round it would vouch for itself."""
    rng = np.random.default_rng(5)
    answers = binary_answers([0.8, 0.85, 0.75], [0.85, 0.8, 0.9])
    truths = [(rng.random(250) < rate).astype(int) for rate in (0.5, 0.4, 0.45)]
    golds = [some_gold(rng, truths[0], 0.4), None, some_gold(rng, truths[2], 0.4)]
    first, second, third = (
        round_of(labels_given(rng, truth, answers), gold, prefix="i", options={"name": name})
        for truth, gold, name in zip(truths, golds, ("first", "second", "third"), strict=True)
    )
    alone = hero.estimate_difference(second, first, [first], method="hero1")
    assert not finding(alone, "F114").doubts_interval
    assert alone.interval()[0] <= truths[1].mean() - truths[0].mean() <= alone.interval()[1]
    beside = hero.estimate_difference(second, first, [first, third], method="hero1")
    assert "left out" in finding(beside, "F113").message
    assert beside.value == hero.estimate_difference(second, first, [third], method="hero1").value


@pytest.mark.parametrize("shared", [0.3, 0.6])
def test_a_look_at_some_labels_leaves_out_no_large_round(shared: float) -> None:
    """A large round that is most of another would not be noticed, to save time; with three tenths nothing is to say."""
    rng = np.random.default_rng(8)
    n_items, moved = 1500, round(1500 * (1.0 - shared))
    truth = rng.integers(0, 2, (n_items + moved, 1))
    labels = np.where(rng.random((len(truth), 3)) < 0.8, truth, 1 - truth)

    def part(start: int, name: str) -> hero.Round:
        items = np.repeat([f"i{start + place}" for place in range(n_items)], 3)
        answers = labels[start : start + n_items].ravel()
        return hero.Round(
            pa.table({"item": items, "labeler": np.tile(["a", "b", "c"], n_items), "label": answers}), name=name
        )

    assert bool(overlap_findings([part(moved, "now")], [part(0, "past")])) is (shared > 0.5)
