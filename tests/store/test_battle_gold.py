"""Gold that experts give on battles: blind, for every vote on them in its own order, gone when it is taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from asking import ask, refused
from vote_tables import BATTLES, MODELS, fill_with_battles, make_battles

import hero_eval as hero
from hero_eval.errors import HeroError
from hero_eval.store.battle_draws import chosen_battles
from hero_eval.store.battle_gold import battles_of
from hero_eval.store.gold_records import read_queues
from hero_eval.store.vote_rounds import stored_votes
from hero_eval.web.gold_desk import GoldDesk, Showing
from hero_eval.web.gold_jobs import draw_queue, gold_progress
from hero_eval.web.gold_setup import item_columns, proposed_columns

pytest.importorskip("deltalake")

SHOWN = {"prompt": "markdown", "answer_a": "side A", "answer_b": "side B"}


def silent(*said: Any) -> None:
    """Nobody listens."""


def draw(store: hero.Store, count: int = 12, way: str = "random", columns: dict[str, str] | None = None) -> GoldDesk:
    asked = {"count": count, "twice": 0, "seed": 0, "way": way, "classes": [], "names": {}, "question": "Which?"}
    draw_queue(silent, store.path, BATTLES, asked | {"columns": SHOWN if columns is None else columns}, None, 0)
    return GoldDesk(store.path)


def taken(desk: GoldDesk) -> Showing:
    found = desk.next(BATTLES, "vera")
    assert found is not None
    return found


def answer(desk: GoldDesk, said: str | None = None) -> str:
    """Answer the next battle as its texts tell, or as said; which it was."""
    one = taken(desk)
    assert one.sides is not None
    is_left = one.contents[one.sides[0]].startswith("The better")
    gold = said or one.choices[0 if is_left else -1].value
    desk.answer(BATTLES, "vera", id=one.id, item=one.item, gold=gold)
    return one.item


def rows_of(store: hero.Store) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stored_votes(store.rows(store.find(BATTLES)), BATTLES).table.to_pylist()
    return found


@pytest.mark.slow
def test_gold_of_a_battle_is_gold_of_every_vote_on_it(tmp_path: Path) -> None:
    """A vote that showed the two in the other order would be held against the wrong model."""
    store, truth = fill_with_battles(tmp_path / "store", 40)
    desk = draw(store)
    done = {answer(desk).split("~")[0] for _ in range(12)}
    store.fold(BATTLES)
    known = [row for row in rows_of(store) if row["gold"] is not None]
    assert {row["item"] for row in known} == done
    assert len(known) == 24
    assert {row["model_a"] < row["model_b"] for row in known} == {True, False}
    assert all(row["model_a" if row["gold"] == "A" else "model_b"] == truth[row["item"]] for row in known)
    assert store.check().is_whole
    entry = store.find(BATTLES)
    assert (entry.gold, entry.items, entry.is_votes) == (24, 40, True)
    assert store.estimate(BATTLES, command="arena").result.n_gold > 24  # with that of history


@pytest.mark.slow
def test_what_is_taken_back_is_gold_no_longer(tmp_path: Path) -> None:
    """A slip would judge labelers for ever."""
    store, _ = fill_with_battles(tmp_path / "store", 20)
    desk = draw(store, 4)
    first = answer(desk, "tie").split("~")[0]
    second = answer(desk, "both bad").split("~")[0]
    store.fold(BATTLES)
    assert {row["item"]: row["gold"] for row in rows_of(store) if row["gold"]} == {first: "tie", second: "both bad"}
    desk.undo(BATTLES, "vera")
    store.fold(BATTLES)
    assert {row["item"] for row in rows_of(store) if row["gold"]} == {first}
    assert store.votes(BATTLES).n_gold == 2


@pytest.mark.slow
def test_experts_do_not_learn_whose_answers_they_are(tmp_path: Path) -> None:
    """Whoever knows the model, or always sees it on the left, is no judge of it."""
    store, _ = fill_with_battles(tmp_path / "store", 60)
    desk = draw(store, 60)
    lefts = []
    for _ in range(60):
        one = taken(desk)
        pair = desk.queue(BATTLES).options["pairs"][one.item]  # type: ignore[union-attr]
        seen = json.dumps([one.item, dict(one.contents), [choice.text for choice in one.choices]])
        assert not any(f'"{model}"' in seen or f" {model} " in seen for model in MODELS)
        lefts.append(one.left == "A")
        assert pair == sorted(pair)
        answer(desk)
    assert 15 <= sum(lefts) <= 45
    kept = set(item_columns(store.find(BATTLES)))
    assert not kept & {"model_a", "model_b", "hero_item"}


@pytest.mark.slow
def test_what_experts_answer_makes_differences_clearer(tmp_path: Path) -> None:
    """Gold would be paid for and change nothing; and nobody would be told what it did."""
    store, _ = fill_with_battles(tmp_path / "store", 120)
    before = store.estimate(BATTLES, command="arena").result
    desk = draw(store, 40, "routed")
    for _ in range(30):
        answer(desk)
    told = gold_progress(silent, store.path, BATTLES).document
    after = store.estimate(BATTLES, command="arena").result
    wide = [(one.standing.high - one.standing.low).sum() for one in (before, after)]
    assert wide[1] < wide[0]
    assert told["gold"] == 30
    assert told["low"] < told["value"] < told["high"]
    assert "The next ten answers are expected to" in told["expected"]


@pytest.mark.slow
def test_battles_are_drawn_where_ranks_are_open_and_nowhere_never(tmp_path: Path) -> None:
    """Experts would judge what is known already, or a model that is wrong would never be found out."""
    store, _ = fill_with_battles(tmp_path / "store", 120)
    draw(store, 30, "routed")
    (queue,) = read_queues(store.place, BATTLES)
    chance = np.array(queue.probability)
    assert chance.sum() == pytest.approx(30)
    assert chance.min() >= 0.5 * 30 / 120 - 1e-9
    assert chance.max() > 1.2 * chance.min()
    pairs = {one.id: one.models for one in battles_of(store.rows(store.find(BATTLES)))}
    by_pair: dict[tuple[str, str], set[float]] = {}
    for name, one in zip(queue.items, queue.probability, strict=True):
        by_pair.setdefault(pairs[name], set()).add(round(one, 9))
    assert all(len(of) == 1 for of in by_pair.values())  # by the models alone, so that no weights are needed


def test_a_draw_has_the_probabilities_it_says(tmp_path: Path) -> None:
    """The draw itself would favor some battles, whatever is recorded of it."""
    store, _ = fill_with_battles(tmp_path / "store", 30)
    battles = battles_of(store.rows(store.find(BATTLES)))
    may = np.arange(len(battles)) % 5 > 0
    score = np.where([one.models == battles[1].models for one in battles], 3.0, 1.0)
    hits = np.zeros(len(battles))
    for seed in range(2000):
        drawn, chance = chosen_battles(battles, may, score, 8, np.random.default_rng(seed))
        assert len(set(drawn.tolist())) == 8
        hits[drawn] += 1
    assert not hits[~may].any()
    error = np.sqrt(chance * (1 - chance) / 2000)
    assert (np.abs(hits / 2000 - chance)[may] < 4.5 * error[may] + 1e-12).all()


def test_two_answers_must_be_there_to_be_compared(tmp_path: Path) -> None:
    """Experts would look at empty boxes."""
    store, _ = fill_with_battles(tmp_path / "store", 12)
    with pytest.raises(HeroError, match=r"E527.*side A"):
        draw(store, 4, columns={"prompt": "text"})
    assert proposed_columns(item_columns(store.find(BATTLES))) == SHOWN


def test_conversations_of_an_arena_can_be_read_by_experts(tmp_path: Path) -> None:
    """What an arena exported would come without what there is to judge."""
    turns = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello " + "x" * 300}]
    vote = {"question_id": 1, "model_a": "v", "model_b": "w", "winner": "model_a", "judge": "ann"}
    told = [vote | {"question_id": n, "conversation_a": turns, "conversation_b": turns[:1]} for n in range(3)]
    file = tmp_path / "arena.jsonl"
    file.write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
    store = hero.create_store(tmp_path / "store")
    store.add(file, round="r", question="chat")
    rows = store.rows(store.find("r"))
    assert rows.items["conversation_a"][0].as_py().endswith("x" * 300)
    assert rows.items["conversation_b"][0].as_py() == "**user:**\n\nHi?"
    proposed = proposed_columns(item_columns(store.find("r")))
    assert (proposed["conversation_a"], proposed["conversation_b"]) == ("side A", "side B")


def test_a_battle_without_an_item_is_one_vote(tmp_path: Path) -> None:
    """Votes that name no item would all get the gold of one of them."""
    votes, _ = make_battles(5, 10, 0.0)
    store = hero.create_store(tmp_path / "store")
    store.add(votes.drop(columns=["item"]), round="r", question="chat")
    found = battles_of(store.rows(store.find("r")))
    assert len(found) == 20
    assert all(len(one.votes) == 1 for one in found)


@pytest.mark.slow
def test_the_command_draws_battles_and_takes_their_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever works with files would get ids of votes to answer, which no table of gold can name."""
    monkeypatch.chdir(tmp_path)
    store, truth = fill_with_battles(tmp_path / "store", 60)
    asked = ("next", "--store", store.path, "--round", BATTLES, "--count", "20", "--output", "queue.csv")
    assert "20 battles to judge next" in ask(*asked)
    queue = pd.read_csv("queue.csv")
    assert (queue["gold_probability"] >= 0.5 * 20 / 60 - 1e-9).all()
    queue.assign(gold=queue["item"].map(truth)).to_csv("gold.csv", index=False)
    ask("add", "gold.csv", "--store", store.path, "--round", BATTLES)
    assert store.votes(BATTLES).n_gold == 40
    told = json.loads(ask("next", "--store", store.path, "--question", "chat", "--count", "5", "--json"))
    assert not {one["item"] for one in told["battles"]} & set(queue["item"])
    assert "E529" in refused("plan", "--store", store.path, "--round", BATTLES, "--width", "0.1")
    assert "E204" in refused("next", "--store", store.path, "--round", BATTLES, "--by", "prompt")
