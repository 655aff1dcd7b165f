"""How models moved: each round's own ranking, in order; and rankings of one category."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from asking import ask
from vote_tables import make_votes

import hero_eval as hero
from hero_eval.store.movements import movement_of_rates, movement_of_votes


def make_labels(rate: float, seed: int, n: int = 80) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < rate
    rows = [(f"i{k}", who, int(truth[k] == (rng.random() < 0.85))) for who in "abc" for k in range(n)]
    labels = pd.DataFrame(rows, columns=["item", "labeler", "label"])
    labels["lang"] = np.where(labels["item"].str[-1].isin(list("02468")), "de", "en")
    return labels, pd.DataFrame({"item": [f"i{k}" for k in range(n)], "gold": truth.astype(int)})


@pytest.mark.slow
def test_movement_holds_what_each_ranking_says() -> None:
    boards = {"one": hero.rank_votes(make_votes(1)), "two": hero.rank_votes(make_votes(2), make_votes(1))}
    moved = hero.movement(boards, {"none": "it has no votes"})
    assert moved.rounds == ("one", "two")
    assert moved.models == boards["two"].order
    frame = moved.to_frame("pandas")
    for name, board in boards.items():
        own, wanted = frame[frame["round"] == name], board.columns()
        assert own["value"].tolist() == wanted["elo"]
        assert own["rank_high"].tolist() == wanted["rank_high"]
    assert moved.to_dict()["skipped"] == {"none": "it has no votes"}
    from hero_eval import charts

    for chart in (charts.movement(moved), charts.rank_movement(moved)):
        assert chart.columns["model"] == frame["model"].tolist()
        assert chart.svg().startswith("<svg")
    first = boards["two"].order[0]
    assert charts.rank_movement(moved).title.startswith(f"{first} is first in two")


@pytest.mark.slow
def test_rankings_of_two_kinds_are_not_followed() -> None:
    with pytest.raises(hero.InputError, match="E201"):
        hero.movement({})
    votes = make_votes(1)
    both = {"one": hero.rank_votes(votes), "two": hero.rank_votes(votes, level=0.9)}
    with pytest.raises(hero.InputError, match="E201"):
        hero.movement(both)


@pytest.mark.slow
def test_the_stores_rounds_are_ranked_by_what_was_known_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = hero.create_store("hero-store")
    store.add(make_votes(1), round="2026-w01", question="chat")
    store.add(make_votes(2, start=1000), round="2026-w02", question="chat")
    moved = movement_of_votes(store, store.log(), store.find("2026-w02"), {})
    assert moved is not None
    alone = hero.rank_votes(make_votes(1))
    assert moved.table["value"][:4] == pytest.approx(alone.columns()["elo"], abs=1e-6)
    assert "rank by round" in ask("arena", "--question", "chat", "--movement", "--no-save")
    for seed, (name, model) in enumerate([("2026-w03", "v"), ("2026-w04", "w"), ("2026-w05", "v")]):
        labels, gold = make_labels(0.5 + 0.1 * seed, seed)
        store.add(labels, gold=gold, round=name, question="right", model=model)
    rows = [store.find("2026-w04"), store.find("2026-w05")]
    by_rates = movement_of_rates(store, store.log(), rows, {"method": "hero1"})
    assert by_rates is not None
    assert by_rates.rounds == ("2026-w04", "2026-w05")
    asked = ("rank", "--question", "right", "--method", "hero1", "--movement", "--json")
    found = json.loads(ask(*asked))
    assert found["movement"]["rounds"] == ["2026-w04", "2026-w05"]
    chosen = json.loads(ask("rank", "--question", "right", "--method", "hero1", "--where", "lang=de", "--json"))
    wide = [row["high"] - row["low"] for row in chosen["models"]]
    assert max(wide) > max(row["high"] - row["low"] for row in found["models"])


@pytest.mark.slow
def test_earlier_rounds_are_ranked_by_the_class_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--positive` was said of the newest rounds alone: none of the earlier ones was ranked, nor followed."""
    monkeypatch.chdir(tmp_path)
    store = hero.create_store("hero-store")
    words = {0: "bad", 1: "good"}
    for seed, (name, model) in enumerate([("2026-w03", "v"), ("2026-w04", "w"), ("2026-w05", "v")]):
        labels, gold = make_labels(0.5 + 0.1 * seed, seed)
        labels["label"], gold["gold"] = labels["label"].map(words), gold["gold"].map(words)
        store.add(labels, gold=gold, round=name, question="right", model=model)
    asked = ("rank", "--question", "right", "--method", "hero1", "--movement", "--positive", "good", "--json")
    for more in ((), ("--classes", "bad,good")):
        found = json.loads(ask(*asked, *more))
        assert found["movement"]["rounds"] == ["2026-w04", "2026-w05"]
        last = {row["model"]: row["value"] for row in found["models"]}
        rows = [row for row in found["movement"]["models"] if row["round"] == "2026-w05"]
        assert {row["model"]: row["value"] for row in rows} == pytest.approx(last)


def test_a_ranking_of_one_category_is_that_of_its_items() -> None:
    rounds = {}
    for seed, model in enumerate("vw"):
        labels, gold = make_labels(0.4 + 0.3 * seed, seed)
        rounds[model] = hero.Round(labels, gold.head(40), name=model)
    found = hero.rank(rounds, method="majority_vote", where={"lang": "de"})
    keep = {model: one.select(np.array(one.words("lang")) == "de") for model, one in rounds.items()}
    wanted = hero.rank(keep, method="majority_vote")
    assert [one.value for one in found.values()] == [one.value for one in wanted.values()]
    with pytest.raises(hero.InputError, match="E532"):
        hero.rank(rounds, method="majority_vote", where={"lang": "fr"})
    with pytest.raises(hero.InputError, match="E202"):
        hero.rank(rounds, method="majority_vote", where={"tongue": "fr"})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_engines_choose_the_same_votes(tmp_path: Path, engine: str) -> None:
    file = tmp_path / "votes.parquet"
    table = make_votes(1)
    table.assign(item=np.arange(len(table))).to_parquet(file)
    wanted = table[(table["category"] == "code") & table["length_a"].isin([20, 30, 40])]
    found = hero.read_votes(file, engine=engine, where={"category": "code", "length_a": [20, 30, 40]})
    assert found.n_votes == len(wanted)
    for where, code in (({"category": "art"}, "E532"), ({"kind": 1}, "E202"), ({"category": []}, "E201")):
        with pytest.raises(hero.InputError, match=code):
            hero.read_votes(file, engine=engine, where=where)
