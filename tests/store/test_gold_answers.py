"""What experts answer: kept one by one, made gold with the right probability, taken back without a trace being lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hero_eval as hero
from hero_eval.store.folding import fold_all, fold_answers, gold_findings, gold_probabilities
from hero_eval.store.gold_records import (
    ExpertQueue,
    GoldRecord,
    agreement,
    read_queues,
    read_records,
    standing,
    write_queue,
    write_record,
)

ROUND = "2026-w46"
ITEMS = tuple(f"i{item:02d}" for item in range(12))


def labels_of(items: tuple[str, ...]) -> pa.Table:
    """Two labelers who say 0 and 1 in turn."""
    rows = [(item, who, str((place + shift) % 2)) for place, item in enumerate(items) for shift, who in enumerate("ab")]
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(("item", "labeler", "label"))})


@pytest.fixture
def store(tmp_path: Path) -> hero.Store:
    made = hero.create_store(tmp_path / "store")
    made.add(labels_of(ITEMS), round=ROUND, question="q")
    return made


def queue_of(drawn: tuple[str, ...], chance: float | None = None, name: str = "q1", **more: object) -> ExpertQueue:
    share = len(drawn) / len(ITEMS) if chance is None else chance
    options = {"classes": ["0", "1"], "columns": {}, "names": {}, "question": "", "sides": None}
    known = {"queue": name, "round": ROUND, "way": "random", "seed": 0, "drawn": drawn, "twice": (), "options": options}
    return ExpertQueue(**{**known, "items": ITEMS, "probability": (share,) * len(ITEMS), **more})


def said(number: int, item: str, gold: str = "1", expert: str = "eve", **more: object) -> GoldRecord:
    return GoldRecord(**{"id": f"id{number:06d}", "queue": "q1", "round": ROUND, "action": "answer", "item": item,
                         "gold": gold, "expert": expert, **more})  # fmt: skip


@pytest.mark.slow
def test_answers_become_gold_with_who_gave_it(store: hero.Store) -> None:
    """Experts would work for nothing, or nobody would know whose word it was."""
    write_queue(store.place, queue_of(ITEMS[:4]))
    for number, item in enumerate(ITEMS[:4]):
        write_record(store.place, said(number, item, str(number % 2), note="hm" if number else None))
    folded = store.fold(ROUND)
    assert (folded.gold, folded.changed, folded.entry.gold) == (4, True, 4)
    read = hero.open_store(store.path).round(ROUND)
    known = {str(item): read.values[code] for item, code in zip(read.item_ids, read.gold, strict=True) if code >= 0}
    assert known == {"i00": "0", "i01": "1", "i02": "0", "i03": "1"}
    assert set(store.rows(store.find(ROUND)).gold["source"].to_pylist()) == {"eve"}
    assert [one["note"] for one in store.answers(ROUND)] == [None, "hm", "hm", "hm"]
    assert not store.fold(ROUND).changed
    assert store.check().is_whole


@pytest.mark.slow
def test_the_probability_is_that_of_what_was_answered(store: hero.Store) -> None:
    """Weights would be those of a draw that was only half made."""
    write_queue(store.place, queue_of(ITEMS[:6]))
    for number, item in enumerate(ITEMS[:3]):
        write_record(store.place, said(number, item))
    store.fold(ROUND)
    assert store.round(ROUND).gold_probability() == pytest.approx(np.full(12, 3 / 12))
    write_queue(store.place, queue_of(ITEMS[6:9], 3 / 9, name="q2"))
    for number, item in enumerate(ITEMS[6:9]):
        write_record(store.place, said(10 + number, item, queue="q2"))
    store.fold(ROUND)
    assert store.round(ROUND).gold_probability() == pytest.approx(np.full(12, 6 / 12))


def test_probabilities_by_hand() -> None:
    """1 - (1 - before)(1 - share of the first draw)(1 - share of the second), item by item; strangers get the mean."""
    first = queue_of(("a", "b"), items=("a", "b", "c"), probability=(0.8, 0.4, 0.2))
    second = queue_of(("c",), name="q2", items=("a", "b", "c"), probability=(0.1, 0.5, 0.9))
    held = standing([said(1, "a"), said(2, "c", queue="q2")])
    found, n_late = gold_probabilities(["a", "b", "c", "late"], np.full(4, 0.1), [first, second], held)
    wanted = [1 - 0.9 * (1 - 0.4) * (1 - 0.1), 1 - 0.9 * (1 - 0.2) * (1 - 0.5), 1 - 0.9 * (1 - 0.1) * (1 - 0.9)]
    assert found[:3] == pytest.approx(wanted)
    assert (found[3], n_late) == (pytest.approx(np.mean(wanted)), 1)


@pytest.mark.simulation
def test_a_queue_that_is_half_answered_has_the_probability_that_is_written() -> None:
    """The column would say one thing and the draw do another: 20,000 draws, Monte Carlo error .0035 at most."""
    rng = np.random.default_rng(3)
    ids, chance = ["a", "b", "c", "d"], np.array([0.9, 0.6, 0.3, 0.2])
    counts, n_draws = np.zeros(4), 20_000
    for _ in range(n_draws):
        start = rng.random()  # systematic: two of four
        taken = np.unique(np.searchsorted(np.cumsum(chance), [start, start + 1], side="right"))
        counts[rng.permutation(taken)[:1]] += 1
    queue = queue_of(("a", "b"), items=tuple(ids), probability=tuple(chance))
    found, _ = gold_probabilities(ids, np.zeros(4), [queue], standing([said(1, "a")]))
    assert counts / n_draws == pytest.approx(found, abs=0.0105)


@pytest.mark.slow
def test_undo_leaves_no_gold_and_all_records(store: hero.Store) -> None:
    """A slip would stay gold, or be erased as if it had never been."""
    write_queue(store.place, queue_of(ITEMS[:4]))
    write_record(store.place, said(1, "i00"))
    write_record(store.place, said(2, "i01"))
    with_both = store.fold(ROUND).entry.version
    write_record(store.place, said(3, "i01", None, action="undo", of="id000002"))
    folded = fold_answers(store, ROUND)
    assert (folded.changed, folded.gold) == (True, 1)
    assert store.round(ROUND).n_gold == 1
    write_record(store.place, said(4, "i00", None, action="undo", of="id000001"))
    assert store.fold(ROUND).gold == 0
    assert not store.round(ROUND).has_column("gold_probability")
    assert hero.open_store(store.path, version=with_both).round(ROUND).n_gold == 2
    assert [one["action"] for one in store.answers()] == ["answer", "answer", "undo", "undo"]
    store.compact()
    assert store.check().is_whole
    assert len(read_records(hero.open_store(store.path).place)) == 4
    assert len(read_queues(hero.open_store(store.path).place)) == 1


@pytest.mark.slow
def test_late_labels_and_gold_do_not_break_it(store: hero.Store) -> None:
    """A round could no longer be estimated once its queue was answered and more came in."""
    store.add(pa.table({"item": ["i11"], "gold": ["0"]}), round=ROUND)
    write_queue(store.place, queue_of(ITEMS[:4]))
    for number, item in enumerate(ITEMS[:4]):
        write_record(store.place, said(number, item, str(number % 2)))
    store.fold(ROUND)
    assert store.round(ROUND).gold_probability() == pytest.approx(np.full(12, 1 - (1 - 1 / 12) * (1 - 4 / 12)))
    store.add(labels_of(("new1", "new2")), round=ROUND)
    folded = fold_all(store)[0]
    assert [one.code for one in folded.findings] == ["F807"]
    read = store.round(ROUND)
    assert (read.n_items, read.n_gold) == (14, 5)
    assert np.isfinite(read.gold_probability()).all()
    store.add(pa.table({"item": ["i00", "i05"], "gold": ["0", "1"]}), round=ROUND)
    assert store.round(ROUND).n_gold == 6
    write_record(store.place, said(9, "i00", None, action="undo", of="id000000"))
    store.fold(ROUND)
    assert store.round(ROUND).n_gold == 5


@pytest.mark.slow
def test_own_probabilities_of_the_round_count_too(tmp_path: Path) -> None:
    """What a team had said of its gold would contradict the page, and the round could not be read."""
    store = hero.create_store(tmp_path / "store")
    items = pa.table({"item": ITEMS, "gold_probability": [0.5, 0.25] * 6, "prompt": [f"p {one}" for one in ITEMS]})
    gold = pa.table({"item": ["i10", "i11"], "gold": ["1", "0"]})
    store.add(hero.Round(labels_of(ITEMS), gold=gold, items=items), round=ROUND, question="q")
    write_queue(store.place, queue_of(ITEMS[:4], 4 / 10))
    for number, item in enumerate(ITEMS[:4]):
        write_record(store.place, said(number, item))
    store.fold(ROUND)
    read = store.round(ROUND)
    assert read.gold_probability()[:2] == pytest.approx([1 - 0.5 * 0.6, 1 - 0.75 * 0.6])
    assert read.texts("prompt")[3] == "p i03"


@pytest.mark.slow
def test_estimates_take_what_was_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number would be the one from before, though experts had answered."""
    from gold_store import CURRENT, fill_for_gold

    from hero_eval.cli.main import app

    store, truth = fill_for_gold(tmp_path / "store", 40)
    drawn = tuple(list(truth)[:10])
    known = {"round": CURRENT, "items": tuple(truth), "probability": (10 / 40,) * 40}
    write_queue(store.place, queue_of(drawn, **known))
    for number, item in enumerate(drawn):
        write_record(store.place, said(number, item, truth[item], round=CURRENT))
    app(["estimate", "--round", CURRENT, "--store", store.path, "--no-save", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["n_gold_current"] == 10
    write_record(store.place, said(99, drawn[0], None, round=CURRENT, action="undo", of="id000000"))
    assert store.estimate(CURRENT).result.n_gold_current == 9


def test_second_answers_tell_of_experts_and_change_no_gold() -> None:
    """The second expert would overrule the first, or nobody would see that they differ."""
    records = [
        said(1, "a", "1", "eve"),
        said(2, "a", "0", "ada", second=True),
        said(3, "b", "1", "eve"),
        said(4, "b", "1", "eve", second=True),
        said(5, "c", "0", "ada", action="skip", reason="other"),
    ]
    held = standing(records)
    assert {item: one.gold for item, one in held.gold.items()} == {"a": "1", "b": "1"}
    found = agreement(held)
    assert (found.items, found.same, found.own_items, found.own_same, found.differing) == (1, 0, 1, 1, ("a",))
    assert held.skipped() == ["c"]
    taken = standing([*records, said(6, "a", None, action="undo", of="id000001")])
    assert taken.gold["a"].gold == "0"


def test_skips_and_disagreement_are_findings() -> None:
    """An estimate would rest on gold that is no random part, or that experts do not agree on, without a word."""
    answered = [said(number, f"x{number}", "1", "eve") for number in range(6)]
    again = [said(10 + number, f"x{number}", "0", "ada", second=True) for number in range(6)]
    skipped = [said(20, "y", None, action="skip", reason="other")]
    drawn = (*(f"x{number}" for number in range(6)), "y")
    assert {one.code for one in gold_findings([queue_of(drawn)], standing([*answered, *again, *skipped]))} == {
        "F805",
        "F806",
    }
    assert not gold_findings([queue_of(drawn)], standing(answered))


@pytest.mark.slow
def test_loss_of_answers_is_noticed(store: hero.Store) -> None:
    """Files could go missing, and with them who said what, and the store would be called whole."""
    write_queue(store.place, queue_of(ITEMS[:2]))
    write_record(store.place, said(1, "i00"))
    store.fold(ROUND)
    log = Path(store.path) / "answers" / "_delta_log"
    sorted(log.glob("*.json"))[-1].unlink()
    assert not hero.open_store(store.path).check().is_whole
