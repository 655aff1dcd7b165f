"""Watching a store: changes beyond chance, quiet stores, looks that were recorded, and what labels are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from asking import ask, refused, runner, strict
from make_rounds import binary_answers, labels_given, tables_of
from stored_rounds import small

import hero_eval as hero
from hero_eval.cli.main import app
from hero_eval.store.estimates import looks_finding
from hero_eval.store.watching import Watched, changes_of
from hero_eval.targets.labeler_worth import labeler_worth


@dataclass(frozen=True)
class Number:
    value: float
    std_error: float
    doubts: tuple[Any, ...] = ()


def test_changes_are_told_with_a_level_for_all_of_them() -> None:
    def one(model: str, round: str, value: float) -> Watched:
        return Watched(round, model, None, Number(value, 0.02))  # type: ignore[arg-type]

    rounds = [one("a", "r1", 0.5), one("b", "r2", 0.5), one("a", "r3", 0.57), one("b", "r4", 0.9)]
    found = {change.model: change for change in changes_of(rounds, 0.95)}
    z = 0.07 / np.hypot(0.02, 0.02)
    assert found["a"].p_value == pytest.approx(0.0133, abs=2e-4)  # z = 2.475, the larger of two: times 1
    assert z == pytest.approx(2.475, abs=1e-3)
    assert found["b"].beyond_chance
    assert found["a"].beyond_chance
    assert not changes_of([rounds[0], rounds[2], one("c", "x", 0.1), one("c", "y", 0.1)], 0.99)[0].beyond_chance


def rounds_of(seed: int, rate: float) -> hero.Round:
    rng = np.random.default_rng(seed)
    truth = (rng.random(300) < rate).astype(np.int64)
    labels = labels_given(rng, truth, binary_answers([0.9, 0.9, 0.85, 0.85], [0.9, 0.9, 0.85, 0.85]))
    gold = np.where(np.arange(300) < 100, truth, -1)
    return hero.Round(**tables_of(labels, gold, prefix=f"w{seed}-"))


@pytest.mark.slow
def test_a_store_is_watched(tmp_path: Any) -> None:
    place = str(tmp_path / "store")
    store = hero.create_store(place)
    for number, rate in enumerate((0.5, 0.5, 0.15)):
        store.add(rounds_of(number, rate), round=f"r{number}", model="v1", date=f"2026-0{number + 1}-01")
        if number == 1:
            quiet = strict(ask("watch", "--store", place, "--json"))
            assert quiet["quiet"]
            assert len(quiet["rounds"]) == 2
            assert hero.watch(place).to_dict() == hero.watch(store).to_dict()  # a path will do
    result = runner.invoke(app, ["watch", "--store", place])
    assert result.exit_code == 4
    assert "v1 changed from r1 to r2" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "E201 question is 'x'" in refused("watch", "--store", place, "--question", "x")


@pytest.mark.slow
def test_looks_that_were_recorded_are_told(tmp_path: Any) -> None:
    place = str(tmp_path / "store")
    store = hero.create_store(place)
    store.add(hero.Round(**small(1)), round="a", date="2026-01-01")
    store.add(hero.Round(**small(2)), round="b", date="2026-02-01")
    asked = ("estimate", "--round", "b", "--store", place, "--method", "hero1", "--json")
    assert "looks" not in strict(ask(*asked))
    store.add(hero.Round(**small(3)), round="c", date="2026-03-01")
    looked = strict(ask(*asked))["looks"]
    assert looked["code"] == "F513"
    assert looked["data"]["looks"] == 2
    assert looks_finding(3, "anytime") is None


@pytest.mark.slow
def test_what_labels_are_worth(tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    answers = binary_answers([0.95, 0.75, 0.75, 0.5], [0.95, 0.75, 0.75, 0.5])
    folders = []
    for name in ("past", "now"):
        truth = (rng.random(300) < 0.4).astype(np.int64)
        gold = np.where(np.arange(300) < (120 if name == "past" else 0), truth, -1)
        tables = tables_of(labels_given(rng, truth, answers), gold, prefix=name, labelers=["judge", "b", "c", "coin"])
        folder = tmp_path / name
        folder.mkdir()
        for table, of in tables.items():
            pyarrow.csv.write_csv(of, folder / f"{table}.csv")
        folders.append(str(folder))
    past, now = (hero.read_round(folder) for folder in folders)
    costs = {"gold": 1.0, "label": 0.05, "judge": 0.002}
    found = labeler_worth(now, past, costs=costs, judges=["judge"])
    by_name = {one.labeler: one for one in found.labelers}
    assert found.labelers[0].labeler == "judge"
    assert by_name["coin"].variance_share < 0.02
    assert by_name["judge"].variance_share > 3 * by_name["b"].variance_share
    assert by_name["judge"].cost == pytest.approx(0.6)
    assert any("coin" in words for words in found.words)
    text = ask("labelers", *folders, "--cost", "gold=1,label=0.05,judge=0.002", "--judges", "judge")
    assert max(map(len, text.splitlines())) <= 80
    assert "E201" in refused("labelers", *folders, "--cost", "gold=much")


def named_classes(seed: int) -> hero.Round:
    rng = np.random.default_rng(seed)
    said = rng.choice(["bad", "good"], (30, 2))
    rows = [(f"w{seed}-{i}", who, said[i, j]) for i in range(30) for j, who in enumerate(("ann", "bob"))]
    table = pyarrow.table(dict(zip(("item", "labeler", "label"), zip(*rows, strict=True), strict=True)))
    return hero.Round(table)


def test_a_store_of_which_nothing_is_known_is_not_quiet(tmp_path: Any) -> None:
    """No round could be estimated, since no class was named positive: `hero watch` said "Quiet" and ended with 0."""
    place = str(tmp_path / "store")
    store = hero.create_store(place)
    for week in (1, 2):
        store.add(named_classes(week), round=f"2026-w0{week}", question="q")
    assert "E203" in refused("watch", "--store", place)
    with pytest.raises(hero.InputError):
        hero.watch(store)


@pytest.mark.slow
def test_the_reason_why_a_round_has_no_number_is_shown_whole(tmp_path: Any) -> None:
    """The table cut it after forty characters, in the middle of a word."""
    place = str(tmp_path / "store")
    store = hero.create_store(place)
    for week in (1, 2):
        store.add(rounds_of(1, 0.5), round=f"2026-w0{week}", question="q")
    told = ask("watch", "--store", place)
    assert "not known: E208" in told
    assert "2026-w02: E208 the current round" in told
    assert "take a method that does" in " ".join(told.split())
