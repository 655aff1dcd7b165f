"""What people type by habit, each as one command with what it prints, at 80 columns."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from asking import ask, refused, runner, start, strict
from rich.cells import cell_len

from hero_eval.cli.habits import spread
from hero_eval.cli.main import app
from hero_eval.remedies import ERRORS, FINDINGS


def wide(seed: int, n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.7).astype(int)
    said = {name: np.where(rng.random(n) < 0.85, truth, 1 - truth) for name in ("gpt", "claude", "ann")}
    gold = [int(of) if k % 4 == 0 else None for k, of in enumerate(truth)]
    about = {
        "lang": [("en", "de")[k % 2] for k in range(n)],
        "flagged": np.where(rng.random(n) < 0.9, truth, 1 - truth),
    }
    return pd.DataFrame({"id": [f"r{seed}-{k}" for k in range(n)], **said, **about, "expert": gold})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("habits")
    (place / "rounds").mkdir()
    for seed, name in enumerate(("2026-04", "2026-05", "2026-06"), start=1):
        wide(seed).to_csv(place / "rounds" / f"{name}.csv", index=False)
    mine = wide(7)
    mine.to_csv(place / "mine.csv", index=False)
    mine.to_json(place / "mine.jsonl", orient="records", lines=True)
    mine.rename(columns={"expert": "Goldstandard"}).to_csv(place / "german.csv", index=False)
    mine.rename(columns={"expert": "truth"}).to_csv(place / "my file.csv", index=False)
    two = {f"{of}_{who}": mine[who] for of in ("helpful", "safe") for who in ("gpt", "claude", "expert")}
    pd.DataFrame({"id": mine["id"], **two}).to_csv(place / "criteria.csv", index=False)
    pd.DataFrame({"labeler": ["gpt", "claude"], "group": ["llm", "llm"]}).to_csv(place / "groups.csv", index=False)
    (place / "project").mkdir()
    (place / "project" / "hero.toml").write_text('labelers = ["gpt", "ann"]\nlevel = 0.9\n', encoding="utf-8")
    return place


# command → exit code, what it prints (on stderr where it fails)
HABITS: dict[str, tuple[int, list[str]]] = {
    "hero estimate mine.csv": (0, ["labelers gpt, claude, ann", "gold in expert", "in current"]),
    "hero estimate mine.jsonl -q": (0, ["95% sure"]),
    "hero check 'my file.csv' -q": (0, ["23 gold"]),
    "hero check german.csv -q": (0, ["23 gold"]),
    "hero check mine.csv": (0, ["270 labels by 3 labelers, 23 gold", "F122"]),
    "hero compare mine.csv -q": (0, ["majority_vote", "hero3"]),
    "hero estimate mine.csv --labelers gpt,ann": (0, ["labelers gpt, ann (as named)"]),
    "hero estimate mine.csv --only-labelers gpt,ann": (0, ["labelers gpt, ann (as named)"]),
    "hero estimate mine.csv --exclude-labelers 'cl*'": (0, ["labelers gpt, ann"]),
    "hero estimate mine.csv --labelers gtp": (2, ["E131", "Did you mean 'gpt'?"]),
    "hero estimate criteria.csv": (2, ["E132", "'helpful', 'safe'", "--criterion helpful"]),
    "hero estimate criteria.csv --criterion safe": (0, ["columns of criterion 'safe'"]),
    "hero estimate mine.csv --history rounds/2026-04.csv rounds/2026-05.csv -q": (0, ["95% sure"]),
    "hero estimate --history rounds/2026-04.csv mine.csv -q": (0, ["in doubt: F309", "2 warnings: F309, F310"]),
    "hero estimate mine.csv --history rounds/2026-04.csv --history rounds/2026-05.csv": (0, ["46 in history"]),
    "hero estimate mine.csv --history 'rounds/2026-*'": (0, ["69 in history", "(F124"]),
    "hero estimate mine.csv --history rounds": (0, ["69 in history"]),
    "hero estimate rounds/2026-06.csv --history rounds": (0, ["46 in history"]),
    "hero estimate mine.csv --history 'rounds/2020-*'": (2, ["E136", "fits nothing"]),
    "hero estimate mine.csv --history rounds/2026-4.csv": (2, ["E101", "Did you mean '2026-04.csv'?"]),
    "hero estimate mine.csv --verbose": (0, ["note F122", "note F320", "What to do"]),
    "hero estimate mine.csv --history rounds --groups groups.csv -q": (0, ["95% sure"]),
    "hero estimate mine.csv --history rounds --shrinkage 3 -q --method hero1": (0, ["95% sure"]),
    "hero estimate mine.csv --history rounds --shrinkage -1": (2, ["E201 --shrinkage"]),
    "hero moderation mine.csv --flag flagged --by lang": (0, ["by lang", "recall"]),
    "hero moderation mine.csv --flag flagged --by lang -q": (0, ["prevalence", "precision", "recall"]),
    "hero moderation mine.csv --flag flagged --gate-on recall --fail-below 0.999": (4, ["gate", "recall"]),
    "hero moderation mine.csv --flag flagged --gate-on luck": (2, ["E201 --gate-on", "precision"]),
    "hero report mine.csv --fail-below 0.99 --output out.md": (4, ["gate"]),
    "hero labelers rounds/2026-04.csv rounds/2026-05.csv": (0, ["gpt", "sensitivity"]),
    "hero config": (0, ["No hero.toml", "fail_below"]),
    "hero estimate rounds/2026-06.csv --column label=gpt": (2, ["E104", "no column 'labeler'"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", HABITS)
def test_a_habit(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, expected = HABITS[command]
    monkeypatch.chdir(folder)
    result = runner.invoke(app, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == code, result.output
    shown = " ".join((result.stdout if code == 0 else result.stderr).split())
    for words in expected:
        assert words in shown, shown
    wide_lines = [line for line in result.stdout.splitlines() if cell_len(line) > 80]
    assert wide_lines == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("moderation mine.csv", "needs --flag (The yes/no column"),
        ("estimate a.csv b.csv", "does not know what to do with b.csv. Past rounds are named by --history"),
        ("estimate a.csv --fail-above 40%", "--fail-above is '40%', which is not a number. Write 0.4."),
        ("estimate a.csv --level 0,9", "Write 0.9."),
        ("estimate a.csv --looks 2.5", "--looks is '2.5', which is not a whole number."),
        ("--historie x", "no such option: --historie"),
        ("estimate a.csv -z", "-z"),
        ("estimat a.csv", "Did you mean 'estimate'?"),
    ],
)
def test_a_wrong_call_is_told_like_any_problem(call: str, words: str) -> None:
    """Some mistakes would come in a box of their own, without a code and without what to do."""
    said = refused(*call.split())
    assert said.startswith("E201 ")
    assert words in " ".join(said.split())
    assert "--help" in said


@pytest.mark.parametrize(
    ("call", "code", "status"),
    [
        ("arena votes.csv", "E101", 2),
        ("rank a b", "E101", 2),
        ("estimate a.csv --fail-above 40%", "E201", 2),
        ("estimate a.csv --historie b", "E201", 2),
        ("plan --items 500 --labelers 5", "E221", 2),
        ("watch --store nowhere", "E401", 2),
        ("store check --store nowhere", "E401", 2),
    ],
)
def test_with_json_a_refusal_is_json_too(call: str, code: str, status: int, tmp_path: Path, monkeypatch: Any) -> None:
    """A program that asked for JSON would have to parse sentences on stderr to learn why there is no answer."""
    monkeypatch.chdir(tmp_path)
    ran = runner.invoke(app, [*call.split(), "--json"], catch_exceptions=False)
    told = strict(ran.stdout)
    assert (ran.exit_code, told["exit_code"], told["schema_version"]) == (status, status, 1)
    assert told["problems"][0]["code"] == code
    for one in told["problems"]:
        assert one["action"]
        assert one["message"].split()[0] in ran.stderr  # people still read it there


def test_flags_take_no_value_in_help() -> None:
    """`--json <bool>` would be typed as it is written."""
    for call in ("--help", "estimate --help", "store check --help"):
        assert "bool" not in ask(*call.split())


def test_the_table_and_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    piped = runner.invoke(app, ["estimate", "-", "-q"], input=(folder / "mine.csv").read_bytes())
    named = runner.invoke(app, ["estimate", "mine.csv", "-q"])
    assert piped.exit_code == 0, piped.output
    assert piped.stdout == named.stdout


def test_a_project_has_options(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "project")
    told = runner.invoke(app, ["config"]).stdout
    assert "labelers  ['gpt', 'ann']" in told
    shown = runner.invoke(app, ["estimate", "../mine.csv"]).stdout
    assert "90% interval" in shown
    assert "labelers gpt, ann (as named)" in " ".join(shown.split())


@pytest.mark.slow
def test_the_store_by_habit(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds fit 80 columns, recorded estimates show their numbers, printed commands can be pasted, backtest plays."""
    monkeypatch.chdir(folder)
    store = str(tmp_path / "my store")

    def ask(*arguments: str) -> str:
        result = runner.invoke(app, [*arguments, "--store", store], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert [line for line in result.stdout.splitlines() if cell_len(line) > 80 and "store" not in line] == []
        return str(result.stdout)

    assert shlex.quote(store) in ask("init")
    for name in ("2026-04", "2026-05", "2026-06"):
        ask("add", f"rounds/{name}.csv", "--round", name, "--labelers", "gpt,claude,ann")
    ask("estimate", "--round", "2026-06")
    shown = ask("show", "2026-06")
    assert "value" in shown
    assert " to 0." in shown
    assert "2026-06-01" in ask("rounds")
    assert "Over 3 past rounds" in ask("backtest", "--method", "gold_proportion", "--method", "majority_vote")


def test_several_values_behind_one_option() -> None:
    """What was said before must mean the same."""
    from typer.main import get_command

    group = get_command(app)

    def told(command: str, line: str) -> str:
        return " ".join(spread(group.commands[command], line.split()))  # type: ignore[attr-defined]

    many = "--history r1 --history r2 --history r3"
    assert told("estimate", "may --history r1 r2 r3") == f"may {many}"
    assert told("estimate", "may --history r1 r2 r3 --json") == f"may {many} --json"
    assert told("estimate", "--history r1 may") == "--history r1 may"
    assert told("estimate", "--history r1 r2 r3 may") == f"{many} may"
    assert told("estimate", "--history r1 --level 0.9 may") == "--history r1 --level 0.9 may"
    assert told("compare", "a b --history r1 r2 r3") == f"a b {many}"
    assert told("compare", "--history r1 a b") == "--history r1 a b"
    assert told("estimate", "--json --history r1 may") == "--json --history r1 may"
    assert told("estimate", "may --history=r1 --history r2") == "may --history=r1 --history r2"
    assert told("labelers", "r1 r2") == "r1 r2"


@pytest.mark.slow
def test_no_colors_in_a_pipe_or_by_wish(folder: Path) -> None:
    for environment in ({}, {"NO_COLOR": "1"}):
        done = start("estimate", str(folder / "mine.csv"), **environment)
        assert done.returncode == 0, done.stderr
        assert b"\x1b[" not in done.stdout


def leaves(command: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Every command, with the words that call it."""
    below = getattr(command, "commands", None)
    if not below:
        return [(path, command)]
    return [leaf for name, one in below.items() for leaf in leaves(one, (*path, name))]


def test_every_command_shows_an_example_that_it_understands() -> None:
    """An example is what people copy; one with an option that is not there would be worse than none."""
    for path, command in leaves(typer.main.get_command(app)):
        called = f"hero {' '.join(path)}"
        lines = [line.strip() for line in (command.epilog or "").splitlines() if line.strip().startswith(called)]
        assert lines, f"{called} --help shows no example"
        known = {option for one in command.params for option in getattr(one, "opts", ())}
        for line in lines:
            typed = [word for word in line.split() if word.startswith("-") and not word.lstrip("-")[:1].isdigit()]
            assert {word for word in typed if word not in ("||", "-")} <= known | {"-h", "--help"}, line


def test_whatever_a_remedy_names_exists_on_the_command_line() -> None:
    """Advice that cannot be typed would be worse than none; and what Python calls an option is not what one types."""
    known = {option for _, one in leaves(typer.main.get_command(app)) for of in one.params for option in of.opts}
    known |= {"--install-completion", "--help"}
    for code, text in {**ERRORS, **FINDINGS}.items():
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
        assert named <= known, code
    for code in ("F108", "F110", "F117", "F118", "F119", "F122", "F131", "F208", "F210", "F405", "F406", "F513"):
        if re.search(r"`\w+=", FINDINGS[code]):
            assert "--" in FINDINGS[code], code
