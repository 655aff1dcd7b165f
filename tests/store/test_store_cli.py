"""The commands of the store: what they print, how they end, configuration, completion, and labelers over time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from asking import ask, refused, start, strict
from make_rounds import binary_answers, labels_given, round_of
from repository import EXAMPLES, EXPORTS

import hero_eval as hero
from hero_eval.labelers.over_time import reliability_over_time

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two rounds at its default place, for copies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder := tmp_path_factory.mktemp("filled"))
        patch.delenv("HERO_STORE", raising=False)
        ask("init")
        ask("add", str(EXAMPLE / "history"), "--round", "2026-w45", "--model", "v6", "--question", "defect")
        ask("add", str(EXAMPLE / "current"), "--round", "2026-w46", "--model", "v7")
    return folder


@pytest.fixture
def place(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a store of two rounds at its default place."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HERO_STORE", raising=False)
    return tmp_path


def listed(*options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = strict(ask("rounds", "--json", *options))["rounds"]
    return found


def test_rounds_are_listed(place: Path) -> None:
    assert [(row["round"], row["items"], row["labels"], row["gold"]) for row in listed()] == [
        ("2026-w45", 532, 1596, 53),
        ("2026-w46", 532, 1596, 0),
    ]
    shown = ask("rounds")
    assert "2026-w46  v7     2026-11-09    532   1,596     0         8" in shown
    assert listed("--store", str(place / "hero-store")) == listed()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["environment", "hero.toml", "pyproject.toml"])
def test_the_store_may_be_named_elsewhere(place: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "hero-store").rename(place / "elsewhere")
    assert "E401" in refused("rounds")
    if how == "environment":
        monkeypatch.setenv("HERO_STORE", str(place / "elsewhere"))
    else:
        lead = "" if how == "hero.toml" else "[tool.hero]\n"
        (place / how).write_text(f'{lead}store = "elsewhere"\n', encoding="utf-8")
        (place / "below").mkdir()
        monkeypatch.chdir(place / "below")
    assert len(listed()) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_an_estimate_is_recorded_and_made_again() -> None:
    """The bytes in a report could not be had again."""
    printed = ask("estimate", "--round", "2026-w46", "--json")
    made = strict(printed)
    assert made["made_from"]["history"] == ["2026-w45"]
    ask("add", str(EXAMPLE / "history"), "--round", "2026-w44")
    assert ask("reproduce", made["made_from"]["estimate"]) == printed
    plain = strict(ask("estimate", str(EXAMPLE / "current"), "--history", str(EXAMPLE / "history"), "--json"))
    assert made["value"] == plain["value"]
    page = ask("estimate", "--round", "2026-w46", "--no-save")
    assert "History: 2026-w44, 2026-w45 (store version 3)." in page
    assert "Recorded" not in page
    assert "hero reproduce" in ask("estimate", "--round", "2026-w46", "--history", "2026-w44")
    assert "E407" in refused("reproduce", "nothing")
    shown = strict(ask("show", "2026-w46", "--json"))
    assert len(shown["estimates"]) == 2
    assert shown["changes"][0]["action"] == "add"
    assert "Estimates" in ask("show", "2026-w46")
    assert "questions  defect" in ask("show")


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_the_other_questions_can_be_asked_of_the_store() -> None:
    ask("add", str(EXAMPLE / "current"), "--round", "2026-w47", "--model", "v8")
    assert "hero reproduce" in ask("compare", "--round", "2026-w46")
    told = strict(ask("compare", "--round", "2026-w46", "--other-round", "2026-w47", "--json"))
    assert told["target"] == "difference"
    assert ask("reproduce", told["made_from"]["estimate"][:8]) == json.dumps(told, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.slow
def test_gates_work_on_the_store(place: Path) -> None:
    done = start("estimate", "--round", "2026-w46", "--fail-above", "0.1", "--store", str(place / "hero-store"))
    assert done.returncode == 4
    assert b"gate closed" in done.stderr
    assert b"hero reproduce" in done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_too_much_or_too_little_is_refused() -> None:
    assert "E206" in refused("estimate")
    assert "E204" in refused("estimate", str(EXAMPLE / "current"), "--round", "2026-w46")
    assert "E204" in refused("estimate", str(EXAMPLE / "current"), "--from-model", "v6")
    assert "E204" in refused("estimate", "--round", "2026-w46", "--column", "labeler=x")
    assert "E204" in refused("estimate", "--round", "2026-w46", "--history", "2026-w46")
    assert "E403" in refused("estimate", "--round", "2026-w99")
    assert "E201" in refused("estimate", "--round", "2026-w46", "--since", "soon")
    assert "E404" in refused("add", str(EXAMPLE / "current"), "--round", "2026-w46")
    assert "E404" in refused("init")
    assert "E204" in refused("compare", "--round", "2026-w46", "--fail-below", "0.5")


@pytest.mark.slow
def test_late_gold_and_removal(place: Path) -> None:
    items = list(hero.read_round(EXAMPLE / "current").item_ids[:5])
    pd.DataFrame({"item": items, "gold": [1, 0, 1, 0, 0]}).to_csv(place / "late.csv", index=False)
    told = ask("add", "--round", "2026-w46", "--gold", "late.csv", "--gold-source", "lead")
    assert "Added to round '2026-w46'" in told
    assert listed()[1]["gold"] == 5
    again = ask("add", "--round", "2026-w46", "--gold", "late.csv", "--exist-ok")
    assert "nothing was added" in again
    assert "hero restore 2026-w46" in ask("remove", "2026-w46")
    assert [row["round"] for row in listed()] == ["2026-w45"]
    assert [row["round"] for row in listed("--removed")] == ["2026-w46"]
    ask("restore", "2026-w46")
    assert listed()[1]["gold"] == 5


@pytest.mark.slow
def test_what_adding_did_is_what_the_store_holds(place: Path) -> None:
    """New columns and another date were written while it was said that nothing was added, and gold of items without
    labels was counted as added, though no other page counts it."""
    items = list(hero.read_round(EXAMPLE / "current").item_ids)
    (place / "columns").mkdir()
    pd.DataFrame({"item": items, "hour": 3.0}).to_csv(place / "columns" / "items.csv", index=False)
    told = ask("add", "columns", "--round", "2026-w46")
    assert "532 items changed" in told
    assert "nothing was added" in ask("add", "columns", "--round", "2026-w46", "--exist-ok")
    told = ask("add", "--round", "2026-w46", "--date", "2026-11-12")
    assert "2026-11-12" in told
    assert "nothing was added" not in told
    shutil.copytree(EXAMPLE / "history", place / "june")
    gold = (place / "june" / "gold.csv").read_text()
    first = gold.splitlines()[1].split(",")[0]
    rows = (place / "june" / "labels.csv").read_text().splitlines(True)
    (place / "june" / "labels.csv").write_text("".join(row for row in rows if row.split(",")[0] != first))
    told = json.loads(ask("add", "june", "--round", "2026-w47", "--json"))
    assert told["added"]["gold"] == 52 == {row["round"]: row["gold"] for row in listed()}["2026-w47"]


@pytest.mark.slow
def test_queues_follow_each_other_in_a_store(place: Path) -> None:
    """The probabilities of a second queue contradicted those of the first (E114), a table of them alone was no table
    (E104), and beside gold they were dropped: only the page could give gold to a stored round twice."""
    for turn in (1, 2):
        drawn = ("next", "--round", "2026-w46", "--count", "20", "--seed", str(turn), "-o", "q.csv")
        told = ask(*drawn, "--probabilities", "p.csv")
        assert "hero add p.csv --round 2026-w46" in told
        assert all(len(line) <= 80 for line in told.splitlines() if "store" not in line)
        queue = pd.read_csv("q.csv").assign(gold=turn % 2)
        queue.to_csv("answered.csv", index=False)
        early = refused("add", "--round", "2026-w46", "--gold", "answered.csv")  # of twenty items alone
        assert "E115" in early
        ask("add", "p.csv", "--round", "2026-w46")
        ask("add", "--round", "2026-w46", "--gold", "answered.csv")
    held = hero.open_store(place / "hero-store").round("2026-w46")
    wanted = pd.read_csv("p.csv").set_index("item")["gold_probability"]
    assert held.n_gold == 40
    assert held.gold_probability() == pytest.approx(wanted.loc[list(held.item_ids)].to_numpy())
    first = hero.open_store(place / "hero-store", version=3).round("2026-w46").gold_probability()
    assert first is not None
    assert np.all(first < held.gold_probability())


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_import_shows_first_and_changes_nothing() -> None:
    before = listed()
    file = str(EXPORTS / "label_studio.json")
    told = strict(ask("import", file, "--dry-run", "--json"))
    assert told["import"]["labels"] == 34
    assert told["import"]["dropped"] == {"a canceled annotation": 1, "an annotation without an answer": 1}
    assert "1: a canceled annotation" in ask("import", file, "--dry-run")
    assert listed() == before
    assert "E206" in refused("import", file)
    done = strict(ask("import", file, "--round", "ls", "--question", "quality", "--json"))
    assert done["added"] == {"items": 12, "labels": 34, "gold": 6}
    assert [row["round"] for row in listed("--question", "quality")] == ["ls"]
    assert strict(ask("show", "ls", "--json"))["labeler_identities"][2]["kind"] == "judge"


@pytest.mark.slow
def test_a_damaged_import_leaves_the_store_alone(place: Path) -> None:
    before = listed()
    (place / "cut.json").write_bytes((EXPORTS / "label_studio.json").read_bytes()[:5000])
    assert "E103" in refused("import", "cut.json", "--round", "x")
    assert listed() == before


# Configuration


@pytest.mark.slow
def test_defaults_come_from_a_file(place: Path) -> None:
    frame = hero.read_round(EXAMPLE / "current")
    rows = {"task": frame.item_ids[frame.label_item], "who": np.array(frame.labelers)[frame.label_labeler]}
    pd.DataFrame(rows | {"said": np.where(frame.label_answer == 1, "bad", "ok")}).to_csv(place / "own.csv", index=False)
    (place / "hero.toml").write_text(
        'classes = ["ok", "bad"]\nlevel = 0.8\nquestion = "words"\n'
        '[columns]\nitem = "task"\nlabeler = "who"\nlabel = "said"\n',
        encoding="utf-8",
    )
    ask("add", "own.csv", "--round", "w1")
    assert listed("--question", "words")[0]["round"] == "w1"
    told = strict(ask("estimate", "own.csv", "--json"))
    assert told["interval"]["level"] == 0.8
    assert told["what"] == "rate of 'bad'"
    assert strict(ask("estimate", "own.csv", "--level", "0.5", "--json"))["interval"]["level"] == 0.5


EVERY_DEFAULT = """
question = "defect"
model = "v9"
classes = ["0", "1"]
positive = "1"
missing = ["skip"]
exclude_labelers = ["nobody"]
method = "hero1"
columns = { labeler = "rater" }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "estimate --round 2026-w46 --no-save",
        "compare --round 2026-w46 --no-save",
        "compare --round 2026-w46 --other-round 2026-w47 --no-save",
        "report --round 2026-w46 --output r.html",
        "next --round 2026-w46 --count 3",
        "plan --round 2026-w46 --width 0.1",
        "labelers",
        "backtest",
        "rank --question defect --best lowest",
        "add votes.csv --round 2026-w48 --question arena",
    ],
)
def test_defaults_of_a_project_refuse_nothing(place: Path, call: str) -> None:
    """What a file says of reading files, or of rates, was refused (E204) wherever it has no effect: no round of the
    store could be estimated, and no votes added, in a project whose tables call a labeler a rater."""
    rows = [
        line for line in (EXAMPLE / "history" / "labels.csv").read_text().splitlines(True) if "vendor-05" not in line
    ]
    shutil.copytree(EXAMPLE / "history", place / "june")
    (place / "june" / "labels.csv").write_text("".join(rows))
    ask("add", "june", "--round", "2026-w47", "--model", "v8")
    votes = {"item": [1, 2, 3], "model_a": ["v6", "v6", "v7"], "model_b": ["v7", "v8", "v8"], "label": ["A", "B", "A"]}
    pd.DataFrame({**votes, "rater": "ann"}).to_csv(place / "votes.csv", index=False)
    gate = "fail_below = 0.9\n" if call.startswith("compare") else ""  # of a rate: a difference would close it
    (place / "hero.toml").write_text(gate + EVERY_DEFAULT, encoding="utf-8")
    ask(*call.split())


@pytest.mark.slow
def test_what_is_typed_is_still_refused(place: Path) -> None:
    """Defaults give way in silence; what somebody asks for must not."""
    (place / "hero.toml").write_text(EVERY_DEFAULT, encoding="utf-8")
    assert "--missing has no effect" in refused("estimate", "--round", "2026-w46", "--missing", "skip")
    assert "--method has no effect" in refused("compare", "--round", "2026-w46", "--method", "hero1")


@pytest.mark.slow
def test_history_may_be_a_default(place: Path) -> None:
    ask("add", str(EXAMPLE / "history"), "--round", "2026-w44", "--model", "v5")
    (place / "hero.toml").write_text('history = { models = ["v5"] }\n', encoding="utf-8")
    assert strict(ask("estimate", "--round", "2026-w46", "--json"))["made_from"]["history"] == ["2026-w44"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("levle = 0.9", "levle"),
        ("level = 2", "between 0 and 1"),
        ("classes = 'a,b'", "a list"),
        ("history = { model = 'v5' }", "history"),
        ("level =", "not TOML"),
    ],
)
def test_a_wrong_configuration_is_said(place: Path, text: str, mentions: str) -> None:
    (place / "hero.toml").write_text(text, encoding="utf-8")
    told = refused("rounds")
    assert "E207" in told
    assert mentions in told


def test_somebody_elses_pyproject_is_left_alone(place: Path) -> None:
    (place / "pyproject.toml").write_text("[tool.other]\nx = 1\n", encoding="utf-8")
    assert len(listed()) == 2


# Shells


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_is_there(shell: str) -> None:
    shown = start("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert shown.returncode == 0, shown.stderr
    assert b"_HERO_COMPLETE" in shown.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_round_names_are_completed() -> None:
    environment = {**os.environ, "_HERO_COMPLETE": "complete_bash", "COMP_WORDS": "hero show 2026", "COMP_CWORD": "2"}
    command = "from hero_eval.cli.main import app; app(prog_name='hero')"
    done = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2026-w45", "2026-w46"], done.stderr


# Examples


@pytest.mark.slow
def test_the_release_gate_of_the_examples(tmp_path: Path) -> None:
    for name, call in (("hero", '-m hero_eval.cli.main "$@"'), ("python", '"$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\nexec {sys.executable} {call}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "LIMIT": "0.1", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["sh", str(EXAMPLES / "release_gate.sh")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert "gate closed" in done.stderr
    assert strict((tmp_path / "estimate.json").read_text(encoding="utf-8"))["target"] == "rate"


@pytest.mark.slow
def test_the_notebook_of_the_examples_runs() -> None:
    cells = json.loads((EXAMPLES / "store_notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["over_time"].points


# Labelers over time


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_labelers_over_time() -> None:
    told = strict(ask("labelers", "--over-time", "--json"))
    assert told["skipped"] == {"2026-w46": "no gold"}
    first = told["labelers"][0]
    assert {"labeler", "round", "what", "value", "low", "high"} <= set(first)
    plain = strict(ask("labelers", "--json"))
    assert {row["labeler"] for row in plain["labelers"]} == {row["labeler"] for row in told["labelers"]}
    assert "Nobody drifts" in ask("labelers", "--over-time")
    files = ask("labelers", str(EXAMPLE / "history"), "--over-time")
    assert "sensitivity" in files


def drifting(seed: int, shift: float) -> list[hero.Round]:
    """Four rounds with gold throughout; the second labeler's sensitivity falls by `shift` in the last two."""
    rng = np.random.default_rng(seed)
    rounds = []
    for number in range(4):
        truth = rng.integers(0, 2, 400)
        answers = binary_answers([0.85, 0.9 - shift * (number >= 2), 0.8], [0.85, 0.9, 0.8])
        rounds.append(round_of(labels_given(rng, truth, answers), truth, options={"name": f"r{number}"}))
    return rounds


def test_drift_is_flagged_and_only_that() -> None:
    """A judge that got worse would go on with its old reputation."""
    found = reliability_over_time(drifting(1, 0.25))
    assert [(one.labeler, one.what) for one in found.drifts if one.drifts] == [("j1", "sensitivity")]
    assert [finding.code for finding in found.findings] == ["F209"]
    assert found.findings[0].data["labeler"] == "j1"
    assert len(found.points) == 4 * 3 * 2


@pytest.mark.simulation
def test_flags_are_rare_when_nobody_drifts() -> None:
    """With many labelers somebody would always look as if drifting."""
    flagged = sum(bool(reliability_over_time(drifting(seed, 0.0)).findings) for seed in range(20))
    assert flagged <= 4


def test_intervals_cover_the_truth() -> None:
    hits = total = 0
    for seed in range(5):
        for point in reliability_over_time(drifting(seed, 0.0)).points:
            truth = {"j0": 0.85, "j1": 0.9, "j2": 0.8}[point.labeler]
            hits += point.low <= truth <= point.high
            total += 1
    assert hits / total > 0.88


def test_without_gold_there_is_nothing_to_follow() -> None:
    plain = round_of(labels_given(np.random.default_rng(1), np.zeros(50, int), binary_answers([0.8] * 3, [0.8] * 3)))
    with pytest.raises(hero.SupportError) as caught:
        reliability_over_time([plain])
    assert caught.value.code == "E302"
