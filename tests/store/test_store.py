"""The store: rounds go in and come out the same, late data merge, history is the past, estimates can be made again."""

from __future__ import annotations

import datetime
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make_rounds import codes
from repository import TESTS
from stored_rounds import add, add_when_told, parts, refused, same, small

import hero_eval as hero
from hero_eval.io.frames import from_frames
from hero_eval.round import Round
from hero_eval.store import commits, delta
from hero_eval.store import contents as packing
from hero_eval.store.dates import day_in_name
from hero_eval.store.receipts import receipts
from hero_eval.store.schemas import TABLES
from hero_eval.store.store import Store

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return hero.create_store(tmp_path / "store")


# In and out


COLUMNS = {
    "x": pa.array(np.linspace(-1, 1, 60)),
    "small": pa.array(np.linspace(0, 1, 60).astype(np.float32)),
    "count": pa.array([None, *range(1, 60)], pa.int32()),
    "huge": pa.array([2**60 + k for k in range(60)], pa.int64()),
    "flag": pa.array([k % 2 == 0 for k in range(60)]),
    "prompt": pa.array([f"Zeichne {k} Bäume, “bitte” \n 日本" if k else None for k in range(60)]),
    "day": pa.array([datetime.date(2026, 1, 1 + k % 28) for k in range(60)]),
    "when": pa.array([datetime.datetime(2026, 1, 1, 0, k) for k in range(60)]),
    "kind": pa.array([f"k{k % 3}" for k in range(60)]).dictionary_encode(),
    "weight": pa.array(np.linspace(0.5, 2, 60)),
}


def test_a_round_comes_out_as_it_went_in(store: Store) -> None:
    """A covariate, a weight or a label would change by being stored."""
    given = small(1)
    items = given["items"].select(["item"])
    for name, column in COLUMNS.items():
        items = items.append_column(name, column)
    before = Round(given["labels"], given["gold"], items, name="r")
    store.add(before, round="r")
    same(before, store.round("r"))
    assert store.round("r").name == "r"


@pytest.mark.parametrize("name", ["history", "current"])
def test_files_and_store_give_the_same_round(store: Store, name: str) -> None:
    """An estimate from the store would differ from the one from files."""
    store.add(EXAMPLE / name, round=name)
    same(hero.read_round(EXAMPLE / name), store.round(name))


@pytest.mark.slow
def test_a_stored_estimate_is_that_of_the_files(store: Store) -> None:
    store.add(EXAMPLE / "history", round="2026-w45")
    store.add(EXAMPLE / "current", round="2026-w46")
    plain = hero.estimate_rate(hero.read_round(EXAMPLE / "current"), hero.read_round(EXAMPLE / "history"))
    made = store.estimate("2026-w46").result
    assert (made.value, made.std_error) == (plain.value, plain.std_error)
    assert codes(made) == codes(plain)


@pytest.mark.parametrize("name", ["a/b", "50% off", "w=1", "täglich 日本", "..", "A b", "it's"])
def test_any_printable_name_will_do(store: Store, name: str) -> None:
    """A name would become a path outside the store, or be lost in an encoding."""
    add(store, name, 1)
    assert [row.round for row in store.rounds()] == [name]
    assert store.round(name).n_items == 60


@pytest.mark.parametrize("name", ["", " ", " x", "a\nb", "x" * 300])
def test_other_names_are_refused(store: Store, name: str) -> None:
    assert refused(lambda: add(store, name, 1)).code == "E201"
    assert store.rounds() == []


def test_a_folder_may_say_who_its_labelers_are(store: Store, tmp_path: Path) -> None:
    frame = pd.DataFrame({"item": ["a", "b"], "labeler": ["j", "k"], "label": [1, 0]})
    frame.to_csv(tmp_path / "labels.csv", index=False)
    pd.DataFrame({"labeler": ["j"], "model": ["gpt"], "prompt": ["p1"]}).to_csv(tmp_path / "labelers.csv", index=False)
    store.add(tmp_path, round="r")
    assert [(row["labeler"], row["kind"], row["prompt"]) for row in store.labelers()] == [
        ("j", "judge", "p1"),
        ("k", None, None),
    ]


def test_a_url_of_a_folder_is_that_folder(tmp_path: Path) -> None:
    store = hero.create_store(f"file://{tmp_path}/a%20store")
    assert store.path == str(tmp_path / "a store")


@pytest.mark.slow
def test_a_url_is_a_place_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores in an object store would go another way than those in folders, untested."""
    monkeypatch.setattr("hero_eval.store.delta.Place.is_local", False)
    store = Store(delta.Place(f"file://{tmp_path}/store"))
    for name in TABLES:
        commits.create_table(store.place, name)
    add(store, "a", 1, question="q")
    add(store, "b", 2)
    assert store.estimate("b").history == ("a",)
    late = small(1)["gold"]
    store.remove("b")
    same(Round(**small(1)), store.round("a"))
    assert late.num_rows == store.find("a").gold
    assert len(store.estimates()) == 1
    assert receipts(store.place, "rounds")[-1].endswith("3")
    monkeypatch.undo()
    same(Round(**small(1)), hero.open_store(tmp_path / "store").round("a"))


def test_half_a_store_can_be_completed(tmp_path: Path) -> None:
    """A crash while a store is made would leave a folder of no use."""
    hero.create_store(tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / "rounds")
    assert refused(lambda: hero.open_store(tmp_path / "store")).code == "E401"
    assert hero.create_store(tmp_path / "store").rounds() == []


def test_dataframes_and_words(store: Store) -> None:
    """Only files could be added, or yes and no would come back as something else."""
    frame = pd.DataFrame({"item": ["a", "b", "a"], "labeler": ["j", "j", "k"], "label": ["Yes", "no", "yes"]})
    entry = store.add(frame, round="r", gold=pd.DataFrame({"item": ["a"], "gold": ["yes"]})).entry
    assert (entry.items, entry.labels, entry.gold) == (2, 3, 1)
    assert store.round("r").values == ("0", "1")


def test_items_that_wait_for_labels_are_kept(store: Store) -> None:
    """The covariates of an item would be lost because its labels come later."""
    given = small(2)
    late = pa.array([item == "s2-00007" for item in given["labels"]["item"].to_pylist()])
    rest = given["labels"].filter(pa.array([not one for one in late.to_pylist()]))
    store.add(from_frames(rest, given["gold"], given["items"]), round="r")
    assert store.round("r").n_items == 59
    store.add(given["labels"].filter(late), round="r")
    same(Round(**given), store.round("r"))


# Late labels and gold


def test_late_labels_and_gold_are_merged(store: Store) -> None:
    """A round whose labels come in two deliveries would differ from the same in one."""
    whole, first, second = parts(3)
    store.add(from_frames(**first), round="r", question="q")
    added = store.add(second["labels"], round="r", gold=second["gold"])
    assert added.merged
    assert (added.labels, added.gold) == (second["labels"].num_rows, second["gold"].num_rows)
    same(Round(**whole), store.round("r"))
    assert [row.action for row in store.log().rows] == ["add", "merge"]


def test_gold_alone_may_come_late(store: Store, tmp_path: Path) -> None:
    given = small(4)
    store.add(given["labels"], round="r")
    pd.DataFrame(given["gold"].to_pydict()).to_csv(tmp_path / "gold.csv", index=False)
    assert store.add(tmp_path / "gold.csv", round="r").gold == given["gold"].num_rows
    assert store.round("r").n_gold == given["gold"].num_rows


def test_what_is_there_is_not_added_twice(store: Store) -> None:
    """Delivering a file again with a few more rows would double the labels."""
    whole, first, _ = parts(5)
    store.add(first["labels"], round="r", gold=first["gold"])
    added = store.add(whole["labels"], round="r", gold=whole["gold"])
    assert added.labels == whole["labels"].num_rows - first["labels"].num_rows
    assert store.round("r").n_labels == whole["labels"].num_rows
    error = refused(lambda: store.add(whole["labels"], round="r"))
    assert error.code == "E404"
    assert "already" in str(error)
    assert store.add(whole["labels"], round="r", exist_ok=True).labels == 0
    assert store.version == 2


def test_conflicts_are_named_and_nothing_is_written(store: Store) -> None:
    """A late correction would silently win or lose against what is stored."""
    whole, first, second = parts(6)
    store.add(from_frames(**first), round="r")
    before = store.round("r")
    flipped = [str(1 - value) for value in first["labels"]["label"].to_pylist()[:2]]
    clash = pa.table({**first["labels"].slice(0, 2).to_pydict(), "label": flipped})
    texts = pa.schema([(name, pa.string()) for name in ("item", "labeler", "label")])
    late = pa.concat_tables([clash.cast(texts), second["labels"].cast(texts)])
    gold = pa.table({"item": first["gold"]["item"].to_pylist()[:1], "gold": [1 - first["gold"]["gold"].to_pylist()[0]]})
    error = refused(lambda: store.add(late, round="r", gold=gold))
    assert [problem.code for problem in error.problems] == ["E108", "E110"]
    assert "2 cases" in str(error)
    assert repr(first["labels"]["item"][0].as_py()) in str(error)
    items = pa.table({"item": whole["items"]["item"].to_pylist()[:1], "x": [99.0]})
    error = refused(lambda: store.add(from_frames(second["labels"], None, items), round="r"))
    assert error.code == "E114"
    same(before, store.round("r"))
    assert store.version == 1


def test_a_dry_run_says_what_would_come_and_writes_nothing(store: Store, tmp_path: Path) -> None:
    """Whoever looks first would be told something else than what then happens, or would have changed the store."""
    files = sorted(tmp_path.rglob("*"))
    given = small(1)
    seen = store.add(given["labels"], gold=given["gold"], round="r", question="q", dry_run=True)
    assert sorted(tmp_path.rglob("*")) == files
    assert store.version == 0
    done = store.add(given["labels"], gold=given["gold"], round="r", question="q")
    for name in ("items", "labels", "gold", "merged", "findings"):
        assert getattr(seen, name) == getattr(done, name)
    for name in ("round", "question", "date", "items", "labels", "gold", "labelers"):
        assert getattr(seen.entry, name) == getattr(done.entry, name)
    assert refused(lambda: store.add(given["labels"], round="r", dry_run=True)).code == "E404"


@pytest.mark.parametrize("written_by", ["this version", "one that promised items"])
def test_a_folder_that_grew_is_added_again(store: Store, written_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Late gold or labels with the items as they were made the whole round unreadable (E406): its record promised items
    in a batch that brought none. Rounds that were written so are read again."""
    if written_by != "this version":
        rightly = packing.data_tables

        def promising(rows: Any, name: str, batch: str) -> Any:
            return rightly(rows, name, batch)[0], packing.pack_items(rows.items)[1]

        monkeypatch.setattr(packing, "data_tables", promising)
    given = small(1)
    store.add(from_frames(given["labels"], None, given["items"]), round="r")
    store.add(from_frames(**given), round="r")
    same(Round(**given, name="r"), store.round("r"))
    assert store.round("r").n_gold == given["gold"].num_rows
    assert store.estimate("r", method="ppi").result.n_items == 60


def test_late_covariates_join_the_others(store: Store) -> None:
    given = small(7)
    store.add(from_frames(**given), round="r")
    more = pa.table({"item": given["items"]["item"], "y": np.arange(60)})
    store.add(from_frames(given["labels"], None, more), round="r")
    assert set(store.round("r").column_names) == {"x", "y"}
    assert store.round("r").covariate("y").tolist() == list(range(60))


@pytest.mark.parametrize("what", ["question", "model"])
def test_late_data_for_another_question_are_refused(store: Store, what: str) -> None:
    add(store, "r", 1, question="q", model="m")
    assert refused(lambda: add(store, "r", 1, **{what: "other"})).code == "E404"


# Removing


def test_a_removed_round_can_be_brought_back(store: Store) -> None:
    """A slip of the hand would cost a round."""
    add(store, "a", 1, question="q")
    add(store, "b", 2)
    before = store.round("a")
    store.remove("a")
    assert [row.round for row in store.rounds()] == ["b"]
    assert [row.round for row in store.rounds(removed=True)] == ["a"]
    error = refused(lambda: store.round("a"))
    assert error.code == "E403"
    assert "hero restore a" in str(error)
    assert store.history_of("b") == []
    store.restore("a")
    same(before, store.round("a"))
    assert [row.round for row in store.history_of("b")] == ["a"]
    assert refused(lambda: store.restore("a")).code == "E403"
    assert refused(lambda: store.remove("nobody")).code == "E403"


def test_a_removed_name_is_free_again(store: Store) -> None:
    add(store, "a", 1)
    store.remove("a")
    add(store, "a", 2)
    assert store.round("a").item_ids[0].startswith("s2-")


# History


def test_history_is_what_came_before(store: Store) -> None:
    """A round would be estimated from itself or from the future."""
    for name, model in (("2026-w44", "v5"), ("2026-w46", "v7"), ("2026-w45", "v6"), ("2026-w47", "v8")):
        add(store, name, int(name[-2:]), question="q", model=model)
    add(store, "2026-w43", 1, question="other")

    def names(**chosen: Any) -> list[str]:
        return [row.round for row in store.history_of("2026-w46", hero.History(**chosen))]

    assert names() == ["2026-w44", "2026-w45"]
    assert names(models=("v5", "v8")) == ["2026-w44"]
    assert names(since="2026-w45") == ["2026-w45"]
    assert names(before="2026-11-02") == ["2026-w44"]
    assert names(question="other") == ["2026-w43"]
    assert names(rounds=("2026-w45",)) == ["2026-w45"]
    for later in ("2026-w46", "2026-w47"):
        assert refused(lambda later=later: names(rounds=(later,))).code == "E204"
    assert refused(lambda: names(since="tomorrow")).code == "E201"


def test_rounds_of_one_day_follow_the_order_of_adding(store: Store) -> None:
    for name in ("one", "two", "three"):
        add(store, name, len(name), question="q")
    assert [row.round for row in store.history_of("two")] == ["one"]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-w46", "2026-11-09"),
        ("eval 2026W01", "2025-12-29"),
        ("2026-11-15", "2026-11-15"),
        ("2026-11", "2026-11-01"),
        ("v7", None),
        ("2026-w60", None),
        ("2026-13-01", None),
    ],
)
def test_dates_in_names(text: str, day: str | None) -> None:
    assert day_in_name(text) == (None if day is None else datetime.date.fromisoformat(day))


def test_a_store_with_several_questions_asks_which(store: Store) -> None:
    add(store, "a", 1, question="q")
    add(store, "b", 2)
    assert store.find("b").question == "q"
    add(store, "c", 3, question="p")
    assert refused(lambda: add(store, "d", 4)).code == "E206"


# Labelers


def judged(seed: int, prompt: str | None, store: Store, name: str) -> Any:
    who = {"labeler": ["j0", "j1"], "kind": ["judge", "person"], "model": ["gpt", None], "prompt": [prompt, None]}
    who |= {"settings": [{"temperature": 0}, None], "vendor": [None, "acme"], "group": [None, "crowd"]}
    table = None if prompt is None else pd.DataFrame(who)
    return store.add(Round(**small(seed)), round=name, question="q", labelers=table, date="2026-11-09")


@pytest.mark.slow
def test_a_changed_judge_is_a_new_labeler(store: Store) -> None:
    """The reliability of the old prompt would be taken for that of the new one."""
    judged(1, "v1", store, "a")
    added = judged(2, "v2", store, "b")
    told = [finding for finding in added.findings if finding.code == "F801"]
    assert len(told) == 1
    fresh = told[0].data["labeler"]
    assert told[0].data == {"labeler": fresh, "group": "j0", "was": "j0"}
    assert "prompt 'v1' is now 'v2'" in told[0].message
    assert set(store.round("b").labelers) == {fresh, "j1", "j2", "j3"}
    assert not [one for one in judged(3, "v2", store, "c").findings if one.code == "F801"]
    assert fresh in store.round("c").labelers
    assert not [one for one in judged(4, "v1", store, "d").findings if one.code == "F801"]
    assert "j0" in store.round("d").labelers
    groups = {row["labeler"]: row["group"] for row in store.labelers()}
    assert groups == {"j0": None, fresh: "j0", "j1": "crowd", "j2": None, "j3": None}
    estimate = hero.estimate_rate(store.round("b"), store.history("b"))
    assert [one.data["labelers"] for one in estimate.findings if one.code == "F208"] == [[fresh]]


def test_a_judge_of_whom_nothing_is_said_stays(store: Store) -> None:
    judged(1, "v1", store, "a")
    added = judged(2, None, store, "b")
    assert [one.code for one in added.findings] == ["F802"]
    assert "j0" in store.round("b").labelers


def test_late_labels_of_a_changed_judge_meet_its_own(store: Store) -> None:
    judged(1, "v1", store, "a")
    judged(2, "v2", store, "b")
    who = pd.DataFrame({"labeler": ["j0"], "model": ["gpt"], "prompt": ["v2"], "settings": [{"temperature": 0}]})
    again = small(2)["labels"].filter(pa.array([one == "j0" for one in small(2)["labels"]["labeler"].to_pylist()]))
    assert refused(lambda: store.add(again, round="b", labelers=who)).code == "E404"


@pytest.mark.parametrize("whose", ["j1", "j0"])
def test_gold_by_a_judged_labeler_is_refused(store: Store, whose: str) -> None:
    """A labeler would be found perfect, by its own word."""
    given = small(1)
    error = refused(lambda: store.add(given["labels"], round="a", gold=given["gold"], gold_source=whose))
    assert error.code == "E405"
    assert repr(whose) in str(error)
    assert store.rounds() == []
    judged(2, "v1", store, "b")
    other = pa.table(
        {**given["labels"].to_pydict(), "labeler": [f"x{who}" for who in given["labels"]["labeler"].to_pylist()]}
    )
    gold = given["gold"].append_column("source", pa.array([whose] * given["gold"].num_rows))
    if whose == "j0":  # a judge's word is no gold in any round
        assert refused(lambda: store.add(other, round="c", gold=gold)).code == "E405"
    else:
        assert store.add(other, round="c", gold=gold).gold == given["gold"].num_rows


def test_who_wrote_the_gold_cannot_label_later(store: Store) -> None:
    given = small(1)
    store.add(given["labels"], round="r", gold=given["gold"], gold_source="lead")
    late = pa.table({"item": given["items"]["item"][:3], "labeler": ["lead"] * 3, "label": [0, 1, 0]})
    assert refused(lambda: store.add(late, round="r")).code == "E405"


def test_what_experts_said_is_gold(store: Store) -> None:
    frame = pd.DataFrame(
        {
            "item": list("aabbcc") * 2,
            "labeler": ["j1", "j2"] * 3 + ["lead-1", "lead-2"] * 3,
            "label": [0, 1] * 3 + [0, 0, 1, 1, 0, 1],
        }
    )
    added = store.add(frame, round="r", experts=["lead-*"], date="2026-11-09")
    assert [one.code for one in added.findings] == ["F803"]
    assert (added.labels, added.gold) == (6, 2)
    assert store.round("r").labelers == ("j1", "j2")
    assert refused(lambda: store.add(frame, round="s", experts=["nobody"])).code == "E201"


# Time travel and estimates


def test_the_store_as_it_was(store: Store) -> None:
    for number in range(4):
        add(store, f"r{number}", number, question="q")
    store.remove("r0")
    then = hero.open_store(store.path, version=2)
    assert [row.round for row in then.rounds()] == ["r0", "r1"]
    assert then.version == 2
    assert refused(lambda: then.remove("r0")).code == "E204"
    assert refused(lambda: hero.open_store(store.path, version=99)).code == "E201"
    from deltalake import DeltaTable

    seen = DeltaTable(f"{store.path}/rounds", version=2).to_pyarrow_table()["round"].to_pylist()
    assert sorted(seen) == ["r0", "r1"]


@pytest.mark.slow
def test_reproduce_gives_the_same_bytes_after_twenty_more_rounds(store: Store) -> None:
    """A number in a report of last year could not be explained."""
    for number in range(3):
        add(store, f"2026-w{10 + number}", number, question="q")
    made = [
        store.estimate("2026-w12"),
        store.estimate("2026-w12", method="hero1", interval="bootstrap", replicates=50, seed=4),
        store.estimate("2026-w12", method="hero2", covariates=["x"], history=hero.History(rounds=("2026-w10",))),
        store.estimate("2026-w12", command="compare"),
        store.estimate("2026-w12", positive=["0"], level=0.8),
        store.estimate("2026-w12", method="hero1"),
    ]
    assert len({one.estimate for one in made}) == len(made)
    late = small(1)
    store.add(late["labels"], round="2026-w12x", question="q")
    for number in range(20):
        add(store, f"2026-w{20 + number}" if number % 2 else f"2025-w{20 + number}", 50 + number, question="q")
    store.remove("2026-w10")
    for one in made:
        again = store.reproduce(one.estimate)
        assert again.text.encode() == one.text.encode()
        told = json.loads(again.text)["made_from"]
        assert (told["store_version"], told["package"]) == (3, hero.__version__)
    assert json.loads(made[1].text)["made_from"]["seed"] == 4
    fresh = store.estimate("2026-w12", method="hero1")
    assert fresh.estimate not in {one.estimate for one in made}
    assert (len(made[-1].history), len(fresh.history)) == (2, 11)
    assert len(store.estimates()) == len(made) + 1


@pytest.mark.slow
def test_what_does_not_come_out_the_same_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, "a", 1, question="q")
    add(store, "b", 2)
    made = store.estimate("b")
    import hero_eval.store.estimates as module

    monkeypatch.setattr(module, "__version__", "9.9")
    error = refused(lambda: store.reproduce(made.estimate))
    assert error.code == "E408"
    assert "made_from.package" in str(error)
    assert hero.__version__ in str(error)
    assert refused(lambda: store.reproduce("zzz")).code == "E407"


@pytest.mark.slow
def test_an_estimate_is_recorded_once(store: Store) -> None:
    add(store, "a", 1, question="q")
    add(store, "b", 2)
    assert store.estimate("b").estimate == store.estimate("b").estimate
    assert len(store.estimates()) == 1


# Others read the same files


def test_duckdb_reads_the_files(store: Store) -> None:
    """The team's own queries would need our package."""
    add(store, "a", 1, question="q")
    add(store, "b", 2)
    store.remove("a")
    con = duckdb.connect()
    for name in ("rounds", "labels"):
        con.execute(
            f"CREATE VIEW {name} AS FROM read_parquet('{store.path}/{name}/**/*.parquet', hive_partitioning = true)"
        )
    query = """
        WITH last AS (SELECT unnest(batches) AS batch FROM (
            SELECT * FROM rounds QUALIFY row_number() OVER (PARTITION BY round ORDER BY version DESC) = 1)
            WHERE action <> 'remove')
        SELECT round, count(*) FROM labels JOIN last USING (batch) GROUP BY ALL"""
    assert con.execute(query).fetchall() == [("b", store.round("b").n_labels)]


@pytest.mark.slow
def test_reading_one_round_reads_only_its_files(store: Store) -> None:
    for number in range(5):
        add(store, f"r{number}", number, question="q")
    reader = hero.open_store(store.path)
    batch = reader.find("r3").batches[0]
    reader.round("r3")
    data = [file for file in reader.files_read if not file.startswith("rounds/")]
    assert data
    assert all(batch in file for file in data)


# What can go wrong with the place


def test_no_store_is_said(tmp_path: Path) -> None:
    error = refused(lambda: hero.open_store(tmp_path / "none"))
    assert error.code == "E401"
    assert "hero init" in str(error)
    (tmp_path / "folder").mkdir()
    assert refused(lambda: hero.open_store(tmp_path / "folder")).code == "E401"
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    assert refused(lambda: hero.open_store(tmp_path / "x.parquet")).code == "E401"
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "alien" / "rounds"), pa.table({"a": [1]}))
    error = refused(lambda: hero.open_store(tmp_path / "alien"))
    assert error.code == "E401"
    assert "not those of a store" in str(error)


def test_a_store_is_not_made_twice(store: Store) -> None:
    add(store, "a", 1)
    assert refused(lambda: hero.create_store(store.path)).code == "E404"
    assert store.round("a").n_items == 60


def test_a_newer_store_is_left_alone(store: Store) -> None:
    """An old version would write what a newer one cannot read."""
    add(store, "a", 1)
    from deltalake import DeltaTable

    DeltaTable(f"{store.path}/rounds").alter.set_table_properties({"hero.format": "3"}, raise_if_not_exists=False)
    for call in (lambda: hero.open_store(store.path), lambda: add(store, "b", 2), store.rounds):
        error = refused(call)
        assert error.code == "E402"
        assert "Update hero-eval" in str(error)


def test_a_folder_deleted_under_it(store: Store) -> None:
    add(store, "a", 1)
    shutil.rmtree(store.path)
    for call in (lambda: add(store, "b", 2), store.rounds, lambda: store.round("a"), lambda: store.remove("a")):
        assert refused(call).code == "E401"
    assert not Path(store.path).exists()


def test_lost_files_are_said(store: Store) -> None:
    add(store, "a", 1, question="q")
    add(store, "b", 2)
    batch = store.find("a").batches[0]
    for file in Path(store.path, "labels").glob(f"{batch}*"):
        file.unlink()
    assert refused(lambda: store.round("a")).code == "E406"
    assert store.round("b").n_items == 60


LIMITED = """
import resource, signal, sys
sys.dont_write_bytecode = True  # Python would keep half a compiled module, and nobody could import it again
import hero_eval as hero, pyarrow as pa
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
n = 20_000
items = [f"item-{k * 7919 % n}" for k in range(n)]
labels = pa.table({"item": items, "labeler": ["j"] * n, "label": [k % 2 for k in range(n)]})
try:
    hero.open_store(sys.argv[1]).add(labels, round="big", question="q")
except hero.HeroError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_full_disk_loses_nothing(store: Store) -> None:
    """Half a round would be left behind. (A limit on the file size stands in for a disk that is full.)"""
    add(store, "a", 1, question="q")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, store.path], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.startswith("E406"), done.stderr
    assert "Free some space" in done.stdout
    assert [row.round for row in store.rounds()] == ["a"]
    add(store, "b", 2)
    assert store.round("a").n_items == store.round("b").n_items == 60


READ_ONLY = """
import os, sys
import hero_eval as hero, hero_eval.store.estimates
store = hero.open_store(sys.argv[1])
given = store.round("a")
store.estimate  # loads what it needs while it may
hero.estimate_rate(given, method="majority_vote")
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
print(len(store.rounds()), store.round("a").n_items)
changes = (
    lambda: store.remove("a"),
    lambda: store.add(given, round="b", question="q"),
    lambda: store.estimate("a", method="majority_vote"),
)
for call in changes:
    try:
        call()
        print("written")
    except hero.HeroError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_read_only_folder_can_be_read() -> None:
    """A place that others may only look at would be of no use to them, or be changed. (Root writes everywhere.)"""
    above = Path(tempfile.mkdtemp(prefix="hero-read-only-"))
    above.chmod(0o755)
    try:
        store = hero.create_store(above / "store")
        add(store, "a", 1, question="q")
        for path in [above / "store", *(above / "store").rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        command = [sys.executable, "-c", READ_ONLY, store.path]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        lines = done.stdout.splitlines()
        assert lines, done.stderr
        assert lines[0] == "1 60"
        assert [line[:4] for line in lines[1:]] == ["E406"] * 3, done.stdout
        assert store.version == 1
    finally:
        for path in [above / "store", *(above / "store").rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        shutil.rmtree(above)


# At the same time


def at_once(store: Store, names: list[str]) -> list[str]:
    """What processes say that add rounds of these names at the same moment; they begin with all loaded."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["stored_rounds", "hero_eval.store.store", "deltalake", "pyarrow.parquet"])
    told, go = context.Queue(), context.Event()
    given = [(store.path, name, seed, go, told) for seed, name in enumerate(names)]
    running = [context.Process(target=add_when_told, args=one) for one in given]
    for one in running:
        one.start()
    for _ in running:
        assert told.get(timeout=60) == "ready"
    go.set()
    said = [told.get(timeout=90) for _ in running]
    for one in running:
        one.join(timeout=20)
    return said


@pytest.mark.slow
def test_four_writers_of_different_rounds(store: Store) -> None:
    """A round would be lost because somebody else wrote at the same moment."""
    names = [f"r{number}" for number in range(4)]
    assert at_once(store, names) == ["added"] * 4
    assert sorted(row.round for row in store.rounds()) == names
    for seed, name in enumerate(names):
        same(Round(**small(seed)), store.round(name))
    assert [row.version for row in store.log().rows] == list(range(1, 5))


@pytest.mark.slow
def test_two_writers_of_one_round(store: Store) -> None:
    """The second would overwrite the first, or be mixed into it, without a word."""
    said = sorted(at_once(store, ["r", "r"]), reverse=True)
    assert said[0] == "added"
    assert said[1].startswith("E404")
    assert "somebody else" in said[1]
    assert len(store.log().rows) == 1
    assert store.round("r").n_items == 60


@pytest.mark.slow
def test_many_small_changes_are_put_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After years every command would open thousands of files."""
    monkeypatch.setattr("hero_eval.store.commits.SMALL_FILES", 8)
    add(store, "a", 1, question="q")
    for _ in range(10):
        store.remove("a")
        store.restore("a")
    from deltalake import DeltaTable

    assert len(DeltaTable(f"{store.path}/rounds").file_uris()) < 8
    assert len(store.log().rows) == 21
    assert hero.open_store(store.path, version=1).rounds()[0].action == "add"


@pytest.mark.slow
def test_writers_that_are_killed(tmp_path: Path) -> None:
    """Half a round would be left after a crash. `python tests/crash_store.py --kills 200` is the long form."""
    script = TESTS / "crash_store.py"
    kills = os.environ.get("HERO_CRASHES", "12")
    done = subprocess.run(
        [sys.executable, str(script), "--kills", kills, "--seed", "3"],
        capture_output=True, text=True, check=False, timeout=900, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["kills"] >= int(kills)


@pytest.mark.slow
def test_without_the_package_it_is_said(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['deltalake'] = None\n"
        "import hero_eval as hero\n"
        "try: hero.open_store(sys.argv[1])\n"
        "except hero.HeroError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("E409")
    assert "hero-eval[store]" in done.stdout


@pytest.mark.slow
def test_a_store_is_read_without_pandas(store: Store) -> None:
    """Every look at a store, and every server, would wait most of a second for a package that does nothing there."""
    add(store, "a", 1, question="q")
    program = (
        "import sys, hero_eval as hero; store = hero.open_store(sys.argv[1])\n"
        "from hero_eval.web.app import create_app; from hero_eval.web.settings import Settings\n"
        "create_app(Settings(sys.argv[1]))\n"
        "print(len(store.rounds()), store.round('a').n_items, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, store.path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "60", "False"]


def test_a_file_that_is_added_twice_under_two_names_is_noticed(store: Store) -> None:
    """Nobody learned that a round was there already: with gold that came late to one of the two, both were history."""
    first = add(store, "2026-w01", 1, question="q")
    assert "F810" not in [one.code for one in first.findings]
    again = add(store, "2026-w02", 1, question="q", share=0.0)  # the same labels, without the gold
    found = next(one for one in again.findings if one.code == "F810")
    assert found.data["same_as"] == ["2026-w01"]
    assert "hero remove" in found.action
    assert "F810" not in [one.code for one in add(store, "2026-w03", 2, question="q").findings]
    item = str(store.round("2026-w02").item_ids[0])
    late = store.add(gold=pa.table({"item": [item], "gold": ["1"]}), round="2026-w02")
    assert "F810" not in [one.code for one in late.findings]  # it was told once
