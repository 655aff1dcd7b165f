"""Votes in a store: the numbers of the file, once however often they are added, bound by digests, made again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from asking import ask, refused
from vote_tables import make_votes

import hero_eval as hero
from hero_eval.store.vote_rounds import vote_columns

pytest.importorskip("deltalake")


@pytest.fixture
def store(tmp_path: Path) -> hero.Store:
    made = hero.create_store(tmp_path / "store")
    made.add(make_votes(1), round="2026-w01", question="chat")
    made.add(make_votes(2, gold=0.0, start=1000), round="2026-w02", question="chat")
    return made


def same(one: hero.Leaderboard, other: hero.Leaderboard) -> None:
    assert one.models == other.models
    np.testing.assert_allclose(one.strengths, other.strengths, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-8, atol=1e-12)
    assert one.columns()["rank_low"] == other.columns()["rank_low"]
    assert (one.n_votes, one.n_items, one.n_gold) == (other.n_votes, other.n_items, other.n_gold)


@pytest.mark.slow
def test_the_store_gives_the_numbers_of_the_file(store: hero.Store) -> None:
    found = store.estimate("2026-w02", command="arena").result
    same(found, hero.rank_votes(make_votes(2, gold=0.0, start=1000), make_votes(1)))
    assert "F525" in {one.code for one in found.findings}  # that both are bad is kept


@pytest.mark.slow
def test_votes_of_earlier_rounds_count_together(store: hero.Store) -> None:
    found = store.estimate("2026-w02", command="arena", together=True).result
    both = pd.concat([make_votes(1), make_votes(2, gold=0.0, start=1000)])
    same(found, hero.rank_votes(both))


@pytest.mark.slow
def test_chosen_votes_and_covariates(store: hero.Store) -> None:
    found = store.estimate("2026-w02", command="arena", where={"category": "code"}, covariates=["length"]).result
    table = make_votes(2, gold=0.0, start=1000)
    wanted = hero.rank_votes(table[table["category"] == "code"], make_votes(1), covariates=["length"])
    same(found, wanted)
    same(found, hero.rank_votes(table, make_votes(1), covariates=["length"], where={"category": ["code"]}))
    assert vote_columns(store.find("2026-w02")) == ["category", "length_a", "length_b"]


def test_added_twice_or_in_another_order_it_is_there(store: hero.Store) -> None:
    with pytest.raises(hero.InputError, match="E404"):
        store.add(make_votes(1).sample(frac=1, random_state=3), round="2026-w01")
    more = pd.concat([make_votes(1), make_votes(5, n=20, start=5000)])
    added = store.add(more, round="2026-w01")
    assert (added.merged, added.labels, added.items, added.entry.labels) == (True, 20, 10, 260)


def test_late_gold_is_for_all_votes_on_the_pair_in_either_order(tmp_path: Path) -> None:
    made = hero.create_store(tmp_path / "s")
    rows = [
        ("i", "v", "w", "ann", "A"),
        ("i", "w", "v", "bob", "A"),
        ("j", "v", "w", "ann", "B"),
        ("k", "w", "v", "bob", "B"),
    ]
    made.add(pd.DataFrame(rows, columns=["item", "model_a", "model_b", "labeler", "label"]), round="r")
    gold = pd.DataFrame([("i", "v", "w", "A"), ("k", "v", "w", "v"), ("?", "v", "w", "A")])
    added = made.add(gold.set_axis(["item", "model_a", "model_b", "gold"], axis=1), round="r")
    assert added.gold == 3
    assert [one.code for one in added.findings] == ["F809"]
    cells = made.votes("r").cells
    known = {(int(a), int(g)) for a, g in zip(cells.first, cells.gold, strict=True) if g >= 0}
    assert known == {(0, 0), (1, 1)}  # v first: A; w first: B
    with pytest.raises(hero.InputError, match="E531"):
        made.add(gold.tail(1).set_axis(["item", "model_a", "model_b", "gold"], axis=1), round="r")


@pytest.mark.slow
def test_votes_without_labelers_or_items(tmp_path: Path) -> None:
    made = hero.create_store(tmp_path / "s")
    table = make_votes(3)
    for name, columns in (("alone", ["item"]), ("nameless", ["labeler"]), ("bare", ["item", "labeler"])):
        kept = table.drop(columns=columns)
        made.add(kept, round=name, question=name)
        same(made.estimate(name, command="arena").result, hero.rank_votes(kept))
        with pytest.raises(hero.InputError, match="E528"):
            made.add(kept, round=name)


def test_votes_and_labels_keep_apart(store: hero.Store) -> None:
    labels = pd.DataFrame({"item": ["a", "a", "b"], "labeler": ["ann", "bob", "ann"], "label": [1, 0, 1]})
    with pytest.raises(hero.InputError, match="E528"):
        store.add(labels, round="2026-w01")
    store.add(labels, round="2026-w03", question="chat")
    with pytest.raises(hero.InputError, match="E528"):
        store.add(make_votes(7), round="2026-w03")
    assert [row.round for row in store.history_of("2026-w03")] == []  # votes are no history of labels
    with pytest.raises(hero.InputError, match="E529"):
        store.estimate("2026-w02")
    with pytest.raises(hero.InputError, match="E529"):
        store.estimate("2026-w03", command="arena")
    with pytest.raises(hero.InputError, match="E529"):
        store.votes("2026-w03")
    with pytest.raises(hero.InputError, match="E204"):
        store.add(make_votes(7), round="new", model="v")


@pytest.mark.slow
def test_removed_votes_teach_nobody_and_come_back(store: hero.Store) -> None:
    before = store.estimate("2026-w02", command="arena")
    store.remove("2026-w01")
    without = store.estimate("2026-w02", command="arena").result
    assert "F521" in {one.code for one in without.findings}
    assert store.reproduce(before.estimate).text == before.text
    store.restore("2026-w01")
    same(store.estimate("2026-w02", command="arena").result, before.result)
    assert store.check().is_whole


def test_damage_is_found(store: hero.Store) -> None:
    for file in Path(store.path, "labels").glob("*.parquet"):
        file.unlink()
    assert not hero.open_store(store.path).check().is_whole
    with pytest.raises(hero.InputError, match="E406"):
        hero.open_store(store.path).votes("2026-w01")


def test_json_lines_of_an_arena(tmp_path: Path) -> None:
    rows = [{"model_a": "v", "model_b": "w", "winner": "model_a", "judge": "ann", "language": "de", "question_id": 1}]
    rows += [{**rows[0], "winner": "tie", "language": "en", "question_id": 2}]
    rows += [{**rows[0], "winner": "model_b", "language": "en", "question_id": 3}]
    file = tmp_path / "votes.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    made = hero.create_store(tmp_path / "s")
    made.add(file, round="r")
    assert made.votes("r").n_votes == 3
    assert made.votes("r", where={"language": "en"}).n_votes == 2


@pytest.mark.slow
def test_the_command_keeps_ranks_shows_and_makes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_votes(1).to_csv("one.csv", index=False)
    make_votes(2, gold=0.0, start=1000).to_csv("two.csv", index=False)
    ask("init")
    shown = ask("add", "one.csv", "--round", "2026-w01", "--question", "chat")
    assert "240 votes on 4 models" in " ".join(shown.split())
    ask("add", "two.csv", "--round", "2026-w02")
    assert "votes" in ask("rounds")
    assert "category" in ask("show", "2026-w02")
    found = json.loads(ask("arena", "--question", "chat", "--json"))
    assert found["made_from"]["history"] == ["2026-w01"]
    again = json.loads(ask("reproduce", found["made_from"]["estimate"]))
    assert again["models"] == found["models"]
    for wrong, code in (
        (("arena",), "E206"),
        (("arena", "one.csv", "--question", "chat"), "E204"),
        (("arena", "--question", "chat", "--where", "category"), "E201"),
        (("arena", "--question", "chat", "--where", "category=art"), "E532"),
        (("arena", "--question", "chat", "--map", "x=A"), "E204"),
        (("arena", "--question", "other"), "E201"),
        (("rank", "--question", "chat"), "E529"),
        (("estimate", "--round", "2026-w02"), "E529"),
    ):
        assert code in refused(*wrong)
    report = tmp_path / "board.html"
    ask("arena", "--question", "chat", "--output", str(report))
    assert "wins" in report.read_text()


@pytest.mark.slow
def test_a_store_of_one_question_needs_no_question(store: hero.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """`hero rank --store` and `hero arena --store` asked for the question that every other command finds by itself."""
    assert ask("arena", "--store", store.path, "--no-save", "--json")
    assert "E230" in refused("rank", "--store", store.path)
    monkeypatch.setenv("HERO_STORE", store.path)
    assert ask("arena", "--no-save", "--json")
    store.add(make_votes(3), round="2026-w03", question="other")
    assert "Name one: --question" in refused("arena", "--store", store.path)


def test_a_store_without_votes_says_so(tmp_path: Path) -> None:
    """It had "no votes on the question None"."""
    empty = hero.create_store(tmp_path / "empty")
    assert "the store has no votes" in refused("arena", "--store", empty.path)
    assert "no round is named" in refused("rank")
