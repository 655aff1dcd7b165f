"""Wide tables: one column per labeler, read directly; what is not clear is asked, and what was guessed is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import EXPORTS

import hero_eval as hero
from hero_eval.io.exports.imports import read_export
from hero_eval.io.values import nearest


def wide(n: int = 120, seed: int = 1, **more: Any) -> pd.DataFrame:
    """Three labelers of 0 and 1, some gold, and what describes items."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.7).astype(int)
    said = {name: np.where(rng.random(n) < right, truth, 1 - truth) for name, right in RIGHT.items()}
    gold = [int(of) if k % 5 == 0 else None for k, of in enumerate(truth)]
    about = {"length": rng.integers(10, 900, n), "prompt": [f"tell me about {k}" for k in range(n)]}
    return pd.DataFrame({"id": [f"p{k}" for k in range(n)], **said, **about, "expert": gold, **more})


RIGHT = {"gpt": 0.85, "claude": 0.8, "ann": 0.9}


def note(one: hero.Round) -> dict[str, Any]:
    (found,) = [finding for finding in one.notes if finding.code == "F122"]
    return dict(found.data)


def code(frame: pd.DataFrame, **options: Any) -> str:
    with pytest.raises(hero.InputError) as caught:
        hero.Round(frame, **options)
    return caught.value.code


def test_columns_are_noticed_and_said() -> None:
    one = hero.Round(wide())
    assert (one.labelers, one.n_items, one.n_labels, one.n_gold) == (("ann", "claude", "gpt"), 120, 360, 24)
    assert one.column_names == ("length", "prompt")
    assert note(one) | {"why": ""} == {
        "labelers": ["gpt", "claude", "ann"], "gold": "expert", "item": "id", "columns": ["length", "prompt"],
        "left_out": [], "why": "", "named": False,
    }  # fmt: skip


def test_the_same_long_and_wide() -> None:
    """The shape of a table would change the answer."""
    frame = wide()
    long = frame.melt("id", list(RIGHT), "labeler", "label").rename(columns={"id": "item"})
    gold = frame[["id", "expert"]].dropna().rename(columns={"id": "item", "expert": "gold"})
    assert hero.Round(long, gold).holds_same_as(hero.Round(frame))


@pytest.mark.slow
@given(st.lists(st.tuples(*(st.sampled_from(["0", "1", ""]) for _ in range(4))), min_size=2, max_size=12))
def test_melting_keeps_every_answer(rows: list[tuple[str, ...]]) -> None:
    """Against a table that is made long cell by cell."""
    names = ("judge_a", "judge_b", "judge_c")
    rows = [("1", "0", "1", "1"), *rows]
    frame = pd.DataFrame(rows, columns=[*names, "expert"])
    one = hero.Round(frame, labelers=names)
    expected = {(str(k + 1), name, row[j]) for k, row in enumerate(rows) for j, name in enumerate(names) if row[j]}
    ids, values = one.item_ids, one.values
    triples = zip(one.label_item, one.label_labeler, one.label_answer, strict=True)
    assert {(ids[i], one.labelers[j], values[a]) for i, j, a in triples} == expected
    known = {str(k + 1): row[3] for k, row in enumerate(rows) if row[3] and any(row[:3])}
    assert {ids[i]: values[one.gold[i]] for i in np.flatnonzero(one.gold >= 0)} == known


def test_named_labelers_count_and_the_rest_describes() -> None:
    one = hero.Round(wide(), labelers=["gpt", "ann"])
    assert one.labelers == ("ann", "gpt")
    assert "claude" in one.column_names
    assert hero.Round(wide(), exclude_labelers=["cl*"]).labelers == ("ann", "gpt")
    assert code(wide(), labelers=["gtp"]) == "E131"
    with pytest.raises(hero.InputError, match="Did you mean 'gpt'"):
        hero.Round(wide(), labelers=["gtp"])


def test_long_tables_take_the_same_options() -> None:
    long = wide().melt("id", list(RIGHT), "labeler", "label").rename(columns={"id": "item"})
    one = hero.Round(long, labelers=["gpt", "ann"])
    assert one.labelers == ("ann", "gpt")
    assert [finding.code for finding in one.notes] == ["F123"]
    assert hero.Round(long, exclude_labelers=["gpt"]).labelers == ("ann", "claude")
    assert code(long, labelers=["nobody"]) == "E131"


def test_scores_in_columns_are_labels() -> None:
    rng = np.random.default_rng(3)
    truth = np.arange(200) % 2
    frame = pd.DataFrame(
        {
            "gpt_score": np.round(1 / (1 + np.exp(-(2 * truth - 1 + rng.normal(size=200)))), 4),
            "claude_score": np.clip(np.round(5 + 3 * (2 * truth - 1) + rng.normal(size=200)), 1, 10),
            "length": rng.integers(1, 900, 200),
            "gold": truth,
        }
    )
    one = hero.Round(frame)
    assert one.labelers == ("claude_score", "gpt_score")
    assert one.label_score is not None
    plain = hero.Round(frame.rename(columns={"gpt_score": "a", "claude_score": "b"}).drop(columns="b"), labelers=["a"])
    assert plain.labelers == ("a",)


def test_what_is_not_clear_is_asked() -> None:
    """A wrong guess would be a wrong number."""
    assert code(wide(truth=1)) == "E130"  # two columns that may be gold
    assert code(wide().drop(columns="expert").assign(label=1), labelers=["gpt"]) == "E130"
    frame = pd.DataFrame({"a": [0.5, 0.25], "b": [120, 430], "c": [3, 4], "gold": ["yes", "no"]})
    assert code(frame) == "E130"
    assert hero.Round(frame, labelers=["a"]).labelers == ("a",)


def test_a_long_table_under_other_names_is_not_taken_for_wide() -> None:
    """Every label would count as an item, and every gold as often as its item has labels."""
    frame = wide().melt(["id", "expert", "prompt"], list(RIGHT), "who", "what").rename(columns={"id": "thing"})
    with pytest.raises(hero.InputError, match="--column item=thing --column labeler=who --column label=what") as caught:
        hero.Round(frame)
    assert caught.value.code == "E130"
    assert code(frame.assign(id=range(len(frame)))) == "E130"  # each label has an id of its own
    assert hero.Round(frame, columns={"item": "thing", "labeler": "who", "label": "what"}).n_items == 120
    assert hero.Round(frame, labelers=["what"]).n_items == 360


def test_prompts_that_several_models_answered_are_items_each() -> None:
    """One judge of several models' answers is a wide table: gold differs from model to model."""
    frame = wide().assign(prompt=[f"prompt {k // 2}" for k in range(120)], model=["a", "b"] * 60)
    assert hero.Round(frame.drop(columns=["id", "claude", "ann"])).n_items == 120


@pytest.mark.parametrize("name", ["prompt_id", "conversation_id", "Trace ID", "sampleId", "uuid"])
def test_a_column_of_ids_is_taken_for_them(name: str) -> None:
    """Two models' rows in different orders would be paired by their number, or items called by their whole text."""
    frame = wide().rename(columns={"id": name})
    frame = frame if name == "prompt_id" else frame.drop(columns="prompt")
    assert note(hero.Round(frame))["item"] == name
    assert hero.Round(frame[::-1].reset_index(drop=True)).holds_same_as(hero.Round(frame))


def test_ids_that_are_not_clear_are_not_taken() -> None:
    """Names of labelers, columns of two kinds of ids and ids that repeat say nothing of which row is which."""
    frame = wide(paid=range(120)).drop(columns=["id", "prompt"])
    assert note(hero.Round(frame))["item"] is None
    assert note(hero.Round(frame.assign(user_id=range(120), call_id=range(120))))["item"] is None
    assert note(hero.Round(frame.assign(user_id=[k // 2 for k in range(120)])))["item"] is None


def test_of_many_labelers_some_are_named() -> None:
    """Ten thousand columns would be told one by one."""
    frame = pd.DataFrame({"item": [1, 2], **{f"j{k}": [0, 1] for k in range(30)}})
    (found,) = [finding for finding in hero.Round(frame).notes if finding.code == "F122"]
    assert "j7 and 22 more" in found.fact
    assert len(found.data["labelers"]) == 30


def test_a_table_that_lacks_a_column_is_told_every_way_out() -> None:
    with pytest.raises(hero.InputError, match=r"--labelers.*hero import") as caught:
        hero.Round(pd.DataFrame({"when": ["monday", "friday"], "text": ["a b", "c d"]}))
    assert {problem.code for problem in caught.value.problems} == {"E104"}


CRITERIA = {f"{of}_{who}": [0, 1, 1, 0] for of in ("helpful", "safe") for who in ("gpt", "claude", "expert")}


@pytest.mark.parametrize("name", ["{0}_{1}", "{0}.{1}", "{1}_{0}", "{0} {1}", "{1}:{0}"])
def test_several_criteria(name: str) -> None:
    columns = [name.format(*one.split("_")) for one in CRITERIA]
    frame = pd.DataFrame({"item": list("abcd"), **dict(zip(columns, CRITERIA.values(), strict=True))})
    with pytest.raises(hero.InputError, match="'helpful', 'safe'") as caught:
        hero.Round(frame)
    assert caught.value.code == "E132"
    one = hero.Round(frame, criterion="helpful")
    assert (one.labelers, one.n_gold, one.column_names) == (("claude", "gpt"), 4, ())
    assert note(one)["left_out"] == [name.format("safe", who) for who in ("gpt", "claude", "expert")]
    assert code(frame, criterion="helpfull") == "E132"


def test_criteria_of_a_long_table_are_rows() -> None:
    rows = [(k, who, of, 1) for k in range(4) for who in ("a", "b") for of in ("helpful", "safe")]
    frame = pd.DataFrame(rows, columns=["item", "labeler", "criterion", "label"])
    assert hero.Round(frame, criterion="safe", classes=[0, 1]).n_labels == 8
    assert code(frame, criterion="short", classes=[0, 1]) == "E132"
    assert code(frame.drop(columns="criterion"), criterion="safe") == "E132"


def test_import_and_reading_follow_one_rule(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    wide().to_csv(path, index=False)
    export, one = read_export(path), hero.read_round(path)
    assert (export.labeler_names, export.n_labels, export.n_gold) == (list(one.labelers), one.n_labels, one.n_gold)


@pytest.mark.parametrize("ending", ["json", "jsonl", "jsonl.gz", "json.gz", "csv", "parquet", "xlsx", "tsv.gz"])
def test_every_format_reads_the_same(tmp_path: Path, ending: str) -> None:
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    path, frame = tmp_path / f"mine.{ending}", wide(40)
    if ending.startswith("json"):
        frame.to_json(path, orient="records", lines="jsonl" in ending)
    elif ending == "parquet":
        frame.to_parquet(path)
    elif ending == "xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in ending else ",")
    assert hero.read_round(path).holds_same_as(hero.Round(frame))


def test_sheets_are_tables(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    frame, path = wide(40), tmp_path / "round.xlsx"
    with pd.ExcelWriter(path) as book:
        frame.melt("id", list(RIGHT), "labeler", "label").rename(columns={"id": "item"}).to_excel(
            book, sheet_name="labels"
        )
        gold = frame[["id", "expert"]].dropna().rename(columns={"id": "item", "expert": "gold"})
        gold.to_excel(book, sheet_name="gold", index=False)
    assert hero.read_round(path).holds_same_as(hero.Round(frame))


def test_vectors_and_nested_records(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [{"item": k, "judge_a": k % 2, "judge_b": 1, "vector": [0.5, k], "meta": {"lang": "en"}} for k in range(4)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    one = hero.read_round(path)
    assert (one.labelers, one.column_names) == (("judge_a", "judge_b"), ("vector", "meta.lang"))


def test_exports_are_sent_to_import() -> None:
    """The columns of a tool would be taken for labelers."""
    for name in ("langfuse.json", "label_studio_min.json", "mt_bench_human.jsonl"):
        with pytest.raises(hero.InputError, match="hero import") as caught:
            hero.read_round(EXPORTS / name)
        assert caught.value.code == "E133"


def test_other_rounds_tell_who_labels(tmp_path: Path) -> None:
    """A column of 0 and 1 about the items would become a judge of the round that has no gold."""
    from asking import ask

    past, now = wide(seed=2), wide(seed=3).drop(columns="expert").assign(spam=1)
    past["spam"] = [k % 3 for k in range(len(past))]
    past.to_csv(tmp_path / "past.csv", index=False)
    now["spam"] = [k % 2 for k in range(len(now))]
    now.to_csv(tmp_path / "now.csv", index=False)
    found = json.loads(ask("check", str(tmp_path / "now.csv"), "--history", str(tmp_path / "past.csv"), "--json"))
    assert found["round"]["labelers"] == ["ann", "claude", "gpt"]


def test_ids_meet_as_in_pandas() -> None:
    """A column with gaps is written with .0 behind every id."""
    labels = pd.DataFrame({"item": ["0", "1"], "labeler": ["a", "a"], "label": ["1", "0"]})
    gold = pd.DataFrame({"item": ["0.0", "1.0"], "gold": ["1", "0"]})
    assert hero.Round(labels, gold).n_gold == 2
    versions = pd.DataFrame({"item": ["1", "1.0"], "labeler": ["a", "a"], "label": ["1", "0"]})
    assert hero.Round(versions).n_items == 2


@pytest.mark.parametrize(
    ("said", "meant"),
    [("lenght", "length"), ("LENGTH", "length"), ("langauge", "language"), ("judge", None), ("x", None), ("zz", None)],
)
def test_did_you_mean_within_reason(said: str, meant: str | None) -> None:
    assert nearest(said, ["length", "language", "prompt", "y"]) == meant


def named_long(item: str, who: str, said: str, rows_per_item: int = 3) -> pd.DataFrame:
    """Labels of four people, under names that are not ours."""
    people = ("ann", "bob", "cy", "dee")
    rows = [(i, people[(i + j) % 4], "yes" if i % 3 else "no") for i in range(40) for j in range(rows_per_item)]
    return pd.DataFrame(rows, columns=[item, who, said])


@pytest.mark.parametrize(
    "frame",
    [
        named_long("task", "rater", "assessment"),
        named_long("id", "judge", "opinion"),
        named_long("item", "annotator", "assessment").assign(gold="yes"),
        named_long("item", "worker", "assessment", rows_per_item=1),
    ],
)
def test_a_column_of_names_is_no_labeler(frame: pd.DataFrame) -> None:
    """A long table whose answers have a name that we do not know was read as wide: one labeler, called "rater", whose
    answers are the names of people; every estimate of it was of who labeled."""
    with pytest.raises(hero.InputError, match="holds who labeled") as caught:
        hero.Round(frame)
    assert caught.value.code == "E130"
    item, who, said = frame.columns[:3]
    mapped = hero.Round(frame, columns={"item": item, "labeler": who, "label": said})
    assert set(mapped.labelers) == {"ann", "bob", "cy", "dee"}


@pytest.mark.parametrize("said", ["verdict", "choice"])
def test_more_names_for_labels(said: str) -> None:
    """Columns called verdict or choice were not known to hold labels."""
    with pytest.raises(hero.InputError) as caught:
        hero.Round(named_long("task", "rater", said))
    assert f"--column label={said}" in str(caught.value)


def test_a_column_called_rater_may_be_a_labelers() -> None:
    """One rater in a wide table, with answers that gold has too, or with numbers, would be refused."""
    rows = [(f"p{i}", "yes" if i % 3 else "no", "yes" if i % 2 else "no", "de" if i % 5 else "fr") for i in range(40)]
    frame = pd.DataFrame(rows, columns=["item", "rater", "gold", "language"])
    assert list(hero.Round(frame).labelers) == ["rater"]
    graded = frame.drop(columns="gold").assign(rater=[i % 5 + 1 for i in range(40)])
    assert list(hero.Round(graded).labelers) == ["rater"]
