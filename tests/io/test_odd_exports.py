"""Exports as they lie on the disk of users: marked by Windows, cut by a page of an API, sorted by another program."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from asking import ask, refused
from repository import EXPORTS

import hero_eval as hero
from hero_eval.io.exports.imports import Export, read_export

MARK = b"\xef\xbb\xbf"


def written(folder: Path, content: Any, name: str = "export.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def whole(name: str) -> Any:
    return json.loads((EXPORTS / name).read_text(encoding="utf-8"))


def counts(export: Export) -> tuple[int, int, int]:
    return export.n_items, export.n_labels, export.n_gold


@pytest.mark.parametrize("packed", [False, True])
def test_the_mark_of_utf_8_is_no_record(tmp_path: Path, packed: bool) -> None:
    """A JSON file saved on Windows was refused: "1 of 1 records are not JSON objects"."""
    raw = MARK + (EXPORTS / "label_studio.json").read_bytes()
    path = tmp_path / ("export.json.gz" if packed else "export.json")
    path.write_bytes(gzip.compress(raw) if packed else raw)
    assert counts(read_export(path)) == counts(read_export(EXPORTS / "label_studio.json"))
    table = tmp_path / "labels.json"
    table.write_bytes(MARK + b'[{"item": "a", "labeler": "x", "label": 1}, {"item": "b", "labeler": "x", "label": 0}]')
    assert hero.read_round(table).n_items == 2


def test_votes_with_the_mark_of_utf_8(tmp_path: Path) -> None:
    """Votes saved on Windows could not be read as JSON."""
    path = tmp_path / "votes.jsonl"
    path.write_bytes(MARK + b'{"item": "q", "labeler": "x", "model_a": "m", "model_b": "n", "winner": "model_a"}\n')
    assert hero.read_votes(path).n_votes == 1


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("label_studio.json", ["annotations"]),
        ("langfuse.json", ["traceId"]),
        ("argilla_flat.json", ["quality.responses", "quality.suggestion"]),
    ],
)
def test_the_first_record_may_miss_what_the_others_have(tmp_path: Path, name: str, gone: list[str]) -> None:
    """A tool leaves out what a record does not have; if that was the first one, the file was nobody's (E120)."""
    records = whole(name)
    first = records["data"][0] if isinstance(records, dict) else records[0]
    for key in list(first):
        if key.startswith(tuple(gone)):
            del first[key]
    fields = ("correctness", "correctness-judge") if name == "langfuse.json" else ()
    path = written(tmp_path, records)
    assert read_export(path, fields=fields).n_labels > 0


def test_an_object_without_a_key_is_an_error_with_a_code(tmp_path: Path) -> None:
    """`hero import` ended with a traceback of DuckDB."""
    with pytest.raises(hero.InputError, match="without a single key") as caught:
        read_export(written(tmp_path, {}))
    assert caught.value.code == "E105"


def test_samples_without_a_score_are_counted(tmp_path: Path) -> None:
    """A log of which a tenth had failed was imported with "dropped: nothing"."""
    log = whole("inspect.json")
    log["samples"][0] |= {"scores": None, "error": {"message": "out of time"}}
    log["samples"][1] |= {"scores": {}}
    found = read_export(written(tmp_path, log))
    assert found.dropped == {"a sample that failed, without a score": 1, "a sample without a score": 1}
    assert found.n_labels == 20


def test_a_log_without_its_samples_is_told_from_other_files(tmp_path: Path) -> None:
    """It was "not a file of a tool that hero knows", with the keys of nine tools."""
    log = {key: of for key, of in whole("inspect.json").items() if key != "samples"}
    log |= {"plan": {}, "status": "success"}
    with pytest.raises(hero.InputError, match="a log of Inspect without its samples") as caught:
        read_export(written(tmp_path, log))
    assert caught.value.code == "E122"


def test_one_page_of_an_api_is_not_taken_for_all(tmp_path: Path) -> None:
    """The API of Langfuse gives scores by pages: the first one would be imported as if it were everything."""
    scores = whole("langfuse.json")
    scores = scores["data"] if isinstance(scores, dict) else scores
    page = {"data": scores, "meta": {"page": 1, "limit": len(scores), "totalItems": len(scores) + 40, "totalPages": 9}}
    fields = ("correctness", "correctness-judge")
    assert (
        read_export(written(tmp_path, page), fields=fields).dropped["on other pages of the API, not in this file"] == 40
    )
    page["meta"]["totalItems"] = len(scores)
    assert (
        "on other pages of the API, not in this file" not in read_export(written(tmp_path, page), fields=fields).dropped
    )


def test_keys_that_another_program_sorted(tmp_path: Path) -> None:
    """JSON-MIN tells answers by the order of its keys; sorted, the file had "no answers", and no way to say which."""
    records = [dict(sorted(one.items())) for one in whole("label_studio_min.json")]
    path = written(tmp_path, records)
    expected = read_export(EXPORTS / "label_studio_min.json")
    with pytest.raises(hero.InputError, match="keys sorted") as caught:
        read_export(path)
    assert caught.value.code == "E121"
    answer = next(name for name in records[0] if name not in expected.columns and name in str(caught.value))
    found = read_export(path, fields=[answer])
    assert counts(found) == counts(expected)
    assert set(found.columns) == set(expected.columns)


def test_columns_that_are_not_kept_are_named(tmp_path: Path) -> None:
    """What a task called "label" or "gold", and lists, were lost without a word."""
    tasks = whole("label_studio.json")
    tasks[0]["data"] |= {"gold": "x", "label": "y", "tags": ["a"]}
    found = read_export(written(tmp_path, tasks))
    assert found.left_out == {
        "has the name of a column of ours": ("gold", "label"),
        "holds lists or objects": ("tags",),
    }
    assert found.to_dict()["left_out"]["holds lists or objects"] == ["tags"]
    path = tmp_path / "long.csv"
    path.write_text("item,labeler,label,sure,lang\na,x,1,.5,de\na,y,0,.7,de\n", encoding="utf-8")
    assert read_export(path).left_out == {"differs between the rows of an item": ("sure",)}
    assert "sure: differs between the rows of an item" in ask("import", str(path), "--dry-run")


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.csv"
    path.write_text("item,labeler,label\na,ann,yes\nb,bob,no\nb,lead,no\n", encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_a_dry_run_does_as_it_is_told(own: str, tmp_path: Path) -> None:
    """`--dry-run` ignored --expert and --map: no gold was shown, and a wrong name was found only by the real run."""
    store = str(tmp_path / "store")
    told = json.loads(ask("import", own, "--dry-run", "--expert", "lead", "--map", "yes=1,no=0", "--json"))
    assert told["would_add"] == {"items": 2, "labels": 2, "gold": 1}
    assert (told["dry_run"], told["findings"], "round" in told) == (True, [], False)
    assert "It would add 2 items, 2 labels, 1 gold." in ask("import", own, "--dry-run", "--expert", "lead")
    assert "'led'" in refused("import", own, "--dry-run", "--expert", "led")
    ask("init", "--store", store)
    assert "round 'r': 2 items" in ask("import", own, "--dry-run", "--round", "r", "--store", store)
    ask("import", own, "--round", "r", "--store", store)
    assert "E404" in refused("import", own, "--dry-run", "--round", "r", "--store", store)
    assert [row.round for row in hero.open_store(store).rounds()] == ["r"]


def two_models(folder: Path) -> Path:
    results = whole("promptfoo.json")
    rows = results["results"]["results"]
    other = [{**json.loads(json.dumps(one)), "provider": {"id": "new"}, "promptIdx": 1} for one in rows]
    results["results"]["results"] = rows + other
    return written(folder, results)


@pytest.mark.slow
def test_two_models_are_one_document_and_come_in_together(tmp_path: Path) -> None:
    """`--json` printed two documents, which no reader of JSON takes, and a refusal of the second left the first."""
    path, store = str(two_models(tmp_path)), str(tmp_path / "store")
    assert len(json.loads(ask("import", path, "--dry-run", "--json"))["rounds"]) == 2
    ask("init", "--store", store)
    taken = tmp_path / "taken.csv"
    taken.write_text("item,labeler,label\n0,contains,0\n", encoding="utf-8")
    ask("add", str(taken), "--round", "may-new", "--question", "other", "--store", store)
    refused("import", path, "--round", "may", "--question", "q", "--store", store)
    assert [row.round for row in hero.open_store(store).rounds()] == ["may-new"]
    told = json.loads(ask("import", path, "--round", "june", "--question", "q", "--store", store, "--json"))
    assert [one["round"]["round"] for one in told["rounds"]] == ["june-echo", "june-new"]
