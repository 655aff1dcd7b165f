"""Exports of the tools: exact counts from files that the tools' own packages wrote, and one clear error for damage.

The files lie in tests/exports, each with the script that made it.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from repository import EXPORTS

import hero_eval as hero
from hero_eval.io.exports.imports import Export, read_export
from hero_eval.io.exports.tool_names import TOOLS

BOTH = ("correctness", "correctness-judge")
ANN, BOB = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))

# file, fields → tool, items, labels, labelers, gold, dropped
KNOWN: dict[str, tuple[tuple[str, ...], str, int, int, list[str], int, dict[str, int]]] = {
    "label_studio.json": (
        (), "label-studio", 12, 34, ["ann@example.com", "bob@example.com", "judge-v3"], 6,
        {"a canceled annotation": 1, "an annotation without an answer": 1},
    ),
    "label_studio_min.json": (
        (), "label-studio", 12, 28, ["ann@example.com", "bob@example.com", "lead@example.com"], 0,
        {"an annotation without an answer": 1},
    ),
    "argilla.json": ((), "argilla", 10, 29, [ANN, BOB, "judge-v1"], 0, {}),
    "argilla_flat.json": (
        (), "argilla", 10, 27, [ANN, BOB, "judge-v1"], 0,
        {"a response that is discarded": 1, "a response that is draft": 1},
    ),
    "langfuse.json": (
        BOTH, "langfuse", 8, 24, ["correctness-judge", "user-ann", "user-bob"], 0,
        {"answers another field: latency": 1},
    ),
    "inspect.json": ((), "inspect", 12, 24, ["exact", "includes"], 3, {}),
    "inspect.eval": ((), "inspect", 12, 24, ["exact", "includes"], 3, {}),
    "promptfoo.json": ((), "promptfoo", 4, 8, ["contains", "short"], 2, {}),
    "lm_eval_samples.jsonl": ((), "lm-eval", 5, 10, ["exact_match,lower", "exact_match,strict"], 0, {}),
    "mt_bench_human.jsonl": ((), "mt-bench", 6, 18, ["author_1", "expert_17", "expert_3"], 0, {}),
    "fastchat_pair.jsonl": ((), "mt-bench", 7, 7, ["gpt-4/pair-v2"], 0, {"no verdict": 1}),
    "fastchat_single.jsonl": ((), "mt-bench", 16, 16, ["gpt-4/single-v1"], 0, {}),
}  # fmt: skip


def read(name: str, **options: Any) -> Export:
    return read_export(EXPORTS / name, fields=KNOWN[name][0], **options)


@pytest.mark.parametrize("name", KNOWN)
def test_exact_counts(name: str) -> None:
    """Labels would be lost or made up on the way from the tool."""
    _, tool, items, labels, labelers, gold, dropped = KNOWN[name]
    found = read(name)
    assert found.tool == tool
    assert (found.n_items, found.n_labels, found.n_gold) == (items, labels, gold)
    assert found.labeler_names == labelers
    assert found.dropped == dropped
    assert read(name, tool=tool).to_dict() == {**found.to_dict(), "why": "as named"}


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_round_trip_through_the_store(name: str, tmp_path: Path) -> None:
    """What was shown before the import would not be what is stored."""
    found = read(name)
    store = hero.create_store(tmp_path / "store")
    added = store.add(found.sources(), round="r", question="q", labelers=found.labelers)
    assert (added.labels, added.gold) == (found.n_labels, found.n_gold)
    stored = store.round("r")
    assert (stored.n_items, stored.n_labels) == (found.n_items, found.n_labels)
    assert list(stored.labelers) == found.labeler_names
    assert set(stored.column_names) == set(found.columns)


def said(export: Export) -> set[tuple[str, str, str]]:
    table = export.labels
    return set(zip(*(table[name].to_pylist() for name in ("item", "labeler", "label")), strict=True))


def test_label_studio_says_who_and_what() -> None:
    tasks = json.loads((EXPORTS / "label_studio.json").read_text(encoding="utf-8"))
    expected = {
        (str(task["id"]), one["completed_by"]["email"], one["result"][0]["value"]["choices"][0])
        for task in tasks
        for one in task["annotations"]
        if one["result"] and not one["was_cancelled"] and not one["ground_truth"]
    }
    expected |= {
        (str(task["id"]), one["model_version"], one["result"][0]["value"]["choices"][0])
        for task in tasks
        for one in task["predictions"]
    }
    found = read("label_studio.json")
    assert said(found) == expected
    assert found.gold["source"].unique().to_pylist() == ["lead@example.com"]
    assert found.columns == ["length", "prompt"]
    kinds = dict(zip(*(found.labelers[name].to_pylist() for name in ("labeler", "kind")), strict=True))
    assert kinds == {"ann@example.com": "person", "bob@example.com": "person", "judge-v3": "judge"}


def test_an_edited_score_is_gold_and_the_first_one_a_label() -> None:
    """A correction by hand would be taken for the scorer's own word."""
    found = read("inspect.json")
    assert ("q3/1", "includes", "0") in said(found)
    gold = {row["item"]: (row["gold"], row["source"]) for row in found.gold.to_pylist()}
    assert gold == {f"q{number}/1": ("1", "lead") for number in (1, 2, 3)}
    assert {"sample", "epoch"} <= set(found.columns)


def test_pairs_are_turned_to_one_order() -> None:
    """Beta against alpha and alpha against beta would be two items."""
    found = read("mt_bench_human.jsonl")
    assert ("81/alpha/beta/1", "expert_3", "B") in said(found)
    assert ("81/alpha/beta/1", "author_1", "A") in said(found)
    pairs = read("fastchat_pair.jsonl")
    assert ("84/alpha/beta/1", "gpt-4/pair-v2", "tie") in said(pairs), "verdicts that depend on the order are a tie"


def test_experts_of_an_export_give_gold(tmp_path: Path) -> None:
    store = hero.create_store(tmp_path / "store")
    found = read("label_studio_min.json")
    added = store.add(found.sources(), round="r", experts=["lead@*"])
    assert (added.labels, added.gold) == (22, 6)


def test_ground_truth_by_a_labeler_is_refused(tmp_path: Path) -> None:
    tasks = json.loads((EXPORTS / "label_studio.json").read_text(encoding="utf-8"))
    tasks[0]["annotations"][0]["ground_truth"] = True
    path = tmp_path / "own.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    store = hero.create_store(tmp_path / "store")
    found = read_export(path)
    with pytest.raises(hero.HeroError, match="--expert") as caught:
        store.add(found.sources(), round="r", labelers=found.labelers)
    assert caught.value.code == "E405"
    assert store.rounds() == []


# Plain tables

LONG = pd.DataFrame(
    {
        "prompt_id": ["p1", "p1", "p2", "p2"],
        "rater": ["a", "b", "a", "b"],
        "rating": [1, 0, 1, 1],
        "topic": ["x", "x", "y", "y"],
    }
)
WIDE = pd.DataFrame(
    {
        "id": ["p1", "p2", "p3"],
        "prompt": ["a cat", "a dog", "an owl"],
        "ann": ["yes", "no", "yes"],
        "gpt judge": ["no", "no", "yes"],
        "bob": ["yes", None, "no"],
        "length": [5, 6, 7],
    }
)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".jsonl", ".json"])
@pytest.mark.parametrize("gold", [True, False])
def test_plain_tables_are_recognized(tmp_path: Path, ending: str, gold: bool) -> None:
    long, wide = LONG.copy(), WIDE.copy()
    if gold:
        long["gold"], wide["gold"] = [1, 1, None, None], ["yes", None, "no"]
    made = {"long": long, "wide": wide}
    for name, frame in made.items():
        path = tmp_path / f"{name}{ending}"
        if ending == ".parquet":
            frame.to_parquet(path)
        elif ending.startswith(".json"):
            frame.to_json(path, orient="records", lines=ending == ".jsonl")
        else:
            frame.to_csv(path, index=False)
        found = read_export(path)
        assert found.tool == name
        if name == "long":
            assert (found.n_items, found.n_labels, found.n_gold) == (2, 4, int(gold))
            assert found.columns == ["topic"]
        else:
            assert (found.n_items, found.n_labels, found.n_gold) == (3, 8, 2 * gold)
            assert found.labeler_names == ["ann", "bob", "gpt judge"]
            assert found.columns == ["length", "prompt"]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    pd.DataFrame({"k": ["a", "b"], "w": ["x", "y"], "v": [1, 0]}).to_csv(path, index=False)
    found = read_export(path, tool="long", columns={"item": "k", "labeler": "w", "label": "v"})
    assert (found.n_labels, found.labeler_names) == (2, ["x", "y"])
    path = tmp_path / "wide.csv"
    WIDE.to_csv(path, index=False)
    assert read_export(path, tool="wide", labeler_columns=["ann"]).labeler_names == ["ann"]
    with pytest.raises(hero.HeroError, match="--labeler-columns"):
        read_export(path, tool="wide", labeler_columns=["nobody"])


def test_an_export_without_labels_says_why(tmp_path: Path) -> None:
    tasks = json.loads((EXPORTS / "label_studio.json").read_text(encoding="utf-8"))
    cancelled = [
        {**task, "predictions": [], "annotations": [{**one, "was_cancelled": True} for one in task["annotations"]]}
        for task in tasks
    ]
    path = tmp_path / "none.json"
    path.write_text(json.dumps(cancelled), encoding="utf-8")
    with pytest.raises(hero.HeroError, match="30 dropped: a canceled annotation") as caught:
        read_export(path)
    assert caught.value.code == "E122"


def test_empty_cells_of_scores_are_no_answers(tmp_path: Path) -> None:
    """In a table every score has a cell for text, and most are empty: the numbers beside them would be lost."""
    head = "traceId,observationId,name,source,value,stringValue,authorUserId"
    rows = ["t1,,tone,EVAL,1,,", "t2,,tone,EVAL,0,,", "t1,,tone,ANNOTATION,,good,ann", "t2,,tone,ANNOTATION,0,,"]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join([head, *rows]), encoding="utf-8")
    found = read_export(path, item="observation")
    said = sorted(zip(*(found.labels[name].to_pylist() for name in ("item", "labeler", "label")), strict=True))
    assert said == [("t1", "ann", "good"), ("t1", "tone", "1"), ("t2", "tone", "0")]
    assert found.dropped == {"an annotation without an author": 1}


def test_several_questions_must_be_chosen() -> None:
    with pytest.raises(hero.HeroError, match="'latency' \\(1\\)") as caught:
        read_export(EXPORTS / "langfuse.json")
    assert caught.value.code == "E121"
    with pytest.raises(hero.HeroError, match="speed"):
        read_export(EXPORTS / "langfuse.json", fields=["speed"])


# Damage


def _cut(path: Path, into: Path) -> None:
    whole = path.read_bytes()
    into.write_bytes(whole[: len(whole) * 2 // 3 + 5])


def _half_latin(path: Path, into: Path) -> None:
    whole = path.read_bytes()
    place = whole.index(b'": "') + 4
    into.write_bytes(whole[:place] + b"caf\xe9 " + whole[place:])


def _deep(path: Path, into: Path) -> None:
    del path
    into.write_text('{"a":' * 100_000 + "1" + "}" * 100_000, encoding="utf-8")


def _empty(path: Path, into: Path) -> None:
    del path
    into.write_bytes(b"")


def _nothing(path: Path, into: Path) -> None:
    del path
    into.write_text("[]", encoding="utf-8")


def _numbers(path: Path, into: Path) -> None:
    del path
    into.write_text("[1, 2, 3]", encoding="utf-8")


def _text(path: Path, into: Path) -> None:
    del path
    into.write_text("This is no JSON at all.\nNor is this.\n", encoding="utf-8")


def _utf16(path: Path, into: Path) -> None:
    into.write_text(path.read_text(encoding="utf-8"), encoding="utf-16")


DAMAGE: dict[str, tuple[Callable[[Path, Path], None], tuple[str, ...]]] = {
    "truncated": (_cut, ("E103",)),
    "mixed encodings": (_half_latin, ("E106", "E103")),
    "deep nesting": (_deep, ("E120", "E103")),
    "empty": (_empty, ("E102",)),
    "no records": (_nothing, ("E105", "E103")),
    "numbers": (_numbers, ("E103",)),
    "not JSON": (_text, ("E103",)),
    "UTF-16": (_utf16, ("E106",)),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [name for name in KNOWN if not name.endswith(".eval")])
def test_damage_gives_one_clear_error(tmp_path: Path, name: str, damage: str) -> None:
    """Half an export would be imported, or a traceback shown."""
    spoil, codes = DAMAGE[damage]
    path = tmp_path / name
    spoil(EXPORTS / name, path)
    with pytest.raises(hero.HeroError) as caught:
        read_export(path, fields=KNOWN[name][0])
    assert len(caught.value.problems) == 1
    assert caught.value.code in codes, str(caught.value)
    assert str(path) in str(caught.value)


WRONG: dict[str, list[tuple[str, Callable[[Any], Any]]]] = {
    "label_studio.json": [
        ("annotations", lambda whole: [{**whole[0], "annotations": "none"}, *whole[1:]]),
        ("data", lambda whole: [{**whole[0], "data": 5}, *whole[1:]]),
        ("result", lambda whole: [{**whole[0], "annotations": [{"result": "good"}]}, *whole[1:]]),
        ("id", lambda whole: [{**whole[0], "id": {"a": 1}}, *whole[1:]]),
    ],
    "argilla.json": [
        ("responses", lambda whole: [{**whole[0], "responses": [1]}, *whole[1:]]),
        ("responses", lambda whole: [{**whole[0], "responses": {"relevant": "yes"}}, *whole[1:]]),
    ],
    "argilla_flat.json": [
        ("relevant.responses", lambda whole: [{**whole[0], "relevant.responses": "yes"}, *whole[1:]])
    ],
    "langfuse.json": [
        ("a score", lambda whole: {**whole, "data": [whole["data"][0], 7]}),
        ("traceId", lambda whole: {**whole, "data": [{**whole["data"][0], "traceId": 5}, *whole["data"][1:]]}),
    ],
    "inspect.json": [("samples", lambda whole: {**whole, "samples": "none"})],
    "promptfoo.json": [("results", lambda whole: {**whole, "results": {**whole["results"], "results": "none"}})],
}


@pytest.mark.parametrize(("name", "number"), [(name, k) for name, cases in WRONG.items() for k in range(len(cases))])
def test_wrong_types_are_named(tmp_path: Path, name: str, number: int) -> None:
    what, spoil = WRONG[name][number]
    path = tmp_path / name
    path.write_text(json.dumps(spoil(json.loads((EXPORTS / name).read_text(encoding="utf-8")))), encoding="utf-8")
    with pytest.raises(hero.HeroError) as caught:
        read_export(path, fields=KNOWN[name][0])
    assert caught.value.code in ("E103", "E120"), str(caught.value)
    assert what in str(caught.value)


def test_duplicate_ids_that_contradict_are_refused(tmp_path: Path) -> None:
    tasks = json.loads((EXPORTS / "label_studio.json").read_text(encoding="utf-8"))
    twin = json.loads(json.dumps(tasks[0]))
    answer = twin["annotations"][0]["result"][0]["value"]
    answer["choices"] = ["good" if answer["choices"] == ["bad"] else "bad"]
    path = tmp_path / "twice.json"
    path.write_text(json.dumps([*tasks, twin]), encoding="utf-8")
    with pytest.raises(hero.HeroError) as caught:
        read_export(path)
    assert caught.value.code == "E108"
    path.write_text(json.dumps([*tasks, tasks[0]]), encoding="utf-8")
    assert read_export(path).n_items == 12


@pytest.mark.slow
def test_a_line_without_an_end(tmp_path: Path) -> None:
    """A broken file of five gigabytes would fill the memory. (It is sparse: the disk holds a few bytes of it.)"""
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as stream:
        stream.write(b'{"question_id": 1, "judge": "')
        stream.truncate(5 * 2**30)
    with pytest.raises(hero.HeroError) as caught:
        read_export(path)
    assert caught.value.code == "E103"


@pytest.mark.parametrize("broken", ["cut", "not zip", "no samples"])
def test_a_damaged_packed_log(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "log.eval"
    whole = (EXPORTS / "inspect.eval").read_bytes()
    if broken == "no samples":
        import zipfile

        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("header.json", "{}")
    else:
        path.write_bytes(whole[: len(whole) // 2] if broken == "cut" else b"x" * 100)
    with pytest.raises(hero.HeroError) as caught:
        read_export(path)
    assert caught.value.code == "E103"


def test_an_unknown_format_says_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps([{"foo": {"a": 1}, "bar": [2]}]), encoding="utf-8")
    with pytest.raises(hero.HeroError) as caught:
        read_export(path)
    assert caught.value.code == "E120"
    message = str(caught.value)
    assert "foo, bar" in message
    for name in TOOLS:
        assert name in message
    with pytest.raises(hero.HeroError) as caught:
        read_export(path, tool="label-studio")
    assert caught.value.code in ("E103", "E122")
    sheet = tmp_path / "own.bin"
    sheet.write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(hero.HeroError, match="neither JSON nor a table") as caught:
        read_export(sheet)
    assert caught.value.code == "E120"
    with pytest.raises(hero.HeroError) as caught:
        read_export(path, tool="excel")
    assert caught.value.code == "E201"


MISTAKES = [(name, tool) for name in KNOWN for tool in TOOLS if tool not in (KNOWN[name][1], "long", "wide")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "tool"), MISTAKES)
def test_the_wrong_tool_is_an_error_not_a_traceback(name: str, tool: str) -> None:
    with pytest.raises(hero.HeroError):
        read_export(EXPORTS / name, tool=tool)


def test_compressed_lines_and_paths(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl.gz"
    path.write_bytes(gzip.compress((EXPORTS / "lm_eval_samples.jsonl").read_bytes()))
    assert read_export(path).n_labels == 10
    for missing in (tmp_path / "none.json", tmp_path):
        with pytest.raises(hero.HeroError) as caught:
            read_export(missing)
        assert caught.value.code in ("E101", "E103")


@pytest.mark.slow
def test_labels_are_not_python_objects(tmp_path: Path) -> None:
    """A large export would take the memory of a Python object a label."""
    import resource

    path = tmp_path / "many.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for number in range(40_000):
            row = {"question_id": number, "model_a": "a", "model_b": "b", "winner": "model_a", "judge": "j", "turn": 1}
            stream.write(json.dumps(row) + "\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = read_export(path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert found.n_labels == 40_000
    assert isinstance(found.labels, pa.Table)
    assert grown < 400, f"{grown} MB"
    os.remove(path)


def score(name: str, who: str | None, value: float, trace: str, observation: str | None) -> dict[str, Any]:
    """A score of Langfuse, by a person or by a judge."""
    source = "EVAL" if who is None else "ANNOTATION"
    said = {"name": name, "source": source, "authorUserId": who, "value": value, "traceId": trace}
    return {"id": f"{trace}-{name}-{who}", **said, "observationId": observation}


def test_a_trace_and_its_observations_are_one_item(tmp_path: Path) -> None:
    """The judge's score of an observation would never meet the person's score of its trace."""
    rows = []
    for k in range(4):
        rows += [score("judge", None, k % 2, f"t{k}", f"o{k}"), score("judge", "ann", 1, f"t{k}", None)]
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert read_export(path).n_items == 4
    assert read_export(path, item="trace").n_items == 4
    assert read_export(path, item="observation").n_items == 8
    path.write_text(json.dumps([*rows, score("judge", None, 1, "t0", "other")]), encoding="utf-8")
    with pytest.raises(hero.InputError, match="--item observation") as caught:
        read_export(path)
    assert caught.value.code == "E108"
    assert read_export(path, item="observation").n_items == 9


def test_options_that_would_do_nothing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    WIDE.to_csv(path, index=False)
    for file, options in (
        (EXPORTS / "langfuse.json", {"columns": {"item": "traceId"}}),
        (EXPORTS / "promptfoo.json", {"item": "trace"}),
        (EXPORTS / "langfuse.json", {"provider": "echo", "fields": BOTH}),
        (path, {"item": "trace"}),
    ):
        with pytest.raises(hero.InputError, match="has no effect") as caught:
            read_export(file, **options)
        assert caught.value.code == "E204"
    with pytest.raises(hero.InputError, match="Did you mean 'prompt'"):
        read_export(path, columns={"item": "promt"})
    with pytest.raises(hero.InputError, match="trace, observation"):
        read_export(EXPORTS / "langfuse.json", item="span")


def test_ratings_of_json_min(tmp_path: Path) -> None:
    """Label Studio writes a rating as a list with one object, which was taken for several choices."""
    path = tmp_path / "min.json"
    said = [[{"rating": 4}], [{"rating": 2}], {"choices": ["a", "b"]}, [{"number": 3}]]
    rows = [{"text": "x", "id": k, "stars": of, "annotator": "ann", "annotation_id": k} for k, of in enumerate(said)]
    path.write_text(json.dumps(rows), encoding="utf-8")
    found = read_export(path)
    assert (found.answers, found.dropped) == (["2", "3", "4"], {"several choices at once": 1})


def test_a_canceled_annotation_counts_once(tmp_path: Path) -> None:
    """One with three regions was counted as three."""
    region = {"from_name": "q", "type": "choices", "value": {"choices": ["good"]}}
    canceled = {"completed_by": 1, "was_cancelled": True, "result": [region] * 3}
    given = {"completed_by": 2, "was_cancelled": False, "result": [region]}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": [canceled, given]}]), encoding="utf-8")
    found = read_export(path)
    assert (found.n_labels, found.dropped) == (1, {"a canceled annotation": 1})


def two_providers(folder: Path) -> Path:
    """Results of promptfoo by two models."""
    whole = json.loads((EXPORTS / "promptfoo.json").read_text(encoding="utf-8"))
    results = whole["results"]["results"]
    other = json.loads(json.dumps(results))
    for one in other:
        one["provider"] = {"id": "openai:new"}
        one["promptIdx"] = 1
    whole["results"]["results"] = results + other
    path = folder / "two.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


@pytest.mark.slow
def test_two_providers_are_two_rounds(tmp_path: Path) -> None:
    """Two models would be one round, with twice the items."""
    from asking import ask

    path, store = two_providers(tmp_path), str(tmp_path / "store")
    with pytest.raises(hero.InputError, match="2 providers") as caught:
        read_export(path)
    assert caught.value.code == "E121"
    assert read_export(path, provider="openai:new").n_items == 4
    assert read_export(path, provider="echo", fields=["short"]).labeler_names == ["short"]
    ask("init", "--store", store)
    ask("import", str(path), "--round", "may", "--store", store)
    rounds = {row.round: row.model for row in hero.open_store(store).rounds()}
    assert rounds == {"may-echo": "echo", "may-openai-new": "openai:new"}
    ask("import", str(path), "--round", "june", "--provider", "echo", "--store", store)
    assert hero.open_store(store).find("june").model == "echo"


@pytest.mark.parametrize("kept", ["promptId", "prompt", "neither"])
@pytest.mark.parametrize("prompts", [1, 2])
def test_two_providers_answer_the_same_items(tmp_path: Path, prompts: int, kept: str) -> None:
    """promptIdx counts the columns of promptfoo's table, a column for each provider and prompt: taken for the number of
    the prompt, two models shared no item, and their difference was that of strangers."""
    rows = json.loads((EXPORTS / "promptfoo.json").read_text(encoding="utf-8"))["results"]["results"]
    results = []
    for column in range(2 * prompts):
        for one in json.loads(json.dumps(rows)):
            provider, written = divmod(column, prompts)
            one |= {"provider": {"id": f"model-{provider}"}, "promptIdx": column, "promptId": f"digest-{written}"}
            one["prompt"]["label"] = f"{written}: Say {{{{word}}}}"
            if kept != "promptId":
                del one["promptId"]
            if kept == "neither":
                del one["prompt"]["label"]
            results.append(one)
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}), encoding="utf-8")
    one, other = (set(read_export(path, provider=f"model-{k}").items["item"].to_pylist()) for k in range(2))
    assert one == other
    assert len(one) == 4 * prompts
