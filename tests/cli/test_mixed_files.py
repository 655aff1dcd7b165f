"""One file, judges who answer differently: what a user runs, and what the errors say to paste, run as it stands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hero_eval.cli.main import app

N_ITEMS = 160
COLUMNS = {"gpt-4o": ("no", "yes"), "claude": ("fail", "pass"), "llama": None, "human_expert": ("no", "yes")}


def write(path: Path, seed: int, *, judges: tuple[str, ...] = ("gpt-4o", "claude", "llama"), gold: float = 0.3) -> Path:
    """A judge of yes and no, one of pass and fail, one of probabilities, and an expert for a share of the rows."""
    rng = np.random.default_rng(seed)
    good = (rng.random(N_ITEMS) < 0.6).astype(int)
    said = {}
    for name in COLUMNS:
        right = np.where(rng.random(N_ITEMS) < 0.85, good, 1 - good)
        words = COLUMNS[name] or ()
        share = np.clip(0.35 + 0.3 * good + rng.normal(0, 0.15, N_ITEMS), 0, 1).round(3)
        said[name] = [words[of] for of in right] if words else [str(of) for of in share]
    known = rng.random(N_ITEMS) < gold
    said["human_expert"] = [("no", "yes")[of] if one else "" for of, one in zip(good, known, strict=True)]
    names = [*judges, "human_expert"]
    rows = [",".join((f"{path.stem}-{k}", *(said[name][k] for name in names))) for k in range(N_ITEMS)]
    path.write_text("\n".join([",".join(("id", *names)), *rows]) + "\n", encoding="utf-8")
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    return result.exit_code, result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "judges",
    [("gpt-4o", "claude", "llama"), ("gpt-4o", "llama"), ("claude", "llama"), ("gpt-4o", "claude"), ("llama",)],
)
def test_one_file_with_a_named_expert_is_answered(judges: tuple[str, ...], tmp_path: Path) -> None:
    """Each of these ended in an error about a column that the file does not have, or in four classes."""
    path = write(tmp_path / "may.csv", 1, judges=judges)
    code, told = run("estimate", path, "--json")
    assert code == 0, told
    found = json.loads(told)
    assert 0.45 < found["value"] < 0.75
    assert found["n_gold_current"] > 30
    code, named = run("estimate", path, "--expert", "human_expert", "--json")
    assert code == 0, named
    assert json.loads(named)["interval"] == found["interval"]


@pytest.mark.slow
def test_what_the_error_says_to_paste_is_answered(tmp_path: Path) -> None:
    path = write(tmp_path / "may.csv", 1, judges=("gpt-4o", "claude"), gold=0.03)
    code, told = run("estimate", path)
    assert (code, "E127" in told) == (2, True), told
    pasted = re.search(r"command: (--map fail=no,pass=yes)\)", " ".join(told.split()))
    assert pasted is not None, told
    code, told = run("estimate", path, "--method", "majority_vote", *shlex.split(pasted[1]), "--json")
    assert code == 0, told
    past = write(tmp_path / "april.csv", 2, judges=("gpt-4o", "claude"), gold=0.4)
    for asked in (["--history", past], ["--history", past, *shlex.split(pasted[1])]):
        code, told = run("estimate", path, *asked, "--json")
        assert code == 0, told
        assert 0.45 < json.loads(told)["value"] < 0.75


@pytest.mark.slow
@pytest.mark.parametrize("judges", [("gpt-4o", "llama"), ("llama",), ("gpt-4o",)])
def test_every_way_out_names_the_column_of_an_expert(judges: tuple[str, ...], tmp_path: Path) -> None:
    """Two words of forty were to be corrected where a column of gold was one more judge."""
    path = write(tmp_path / "may.csv", 1, judges=judges)
    path.write_text(path.read_text(encoding="utf-8").replace("human_expert", "human_label"), encoding="utf-8")
    code, told = run("estimate", path)
    assert (code, "--expert human_label" in " ".join(told.split())) == (3, True), told
    code, told = run("estimate", path, "--expert", "human_label", "--json")
    assert code == 0, told


@pytest.mark.slow
def test_a_folder_with_gold_of_0_and_1_beside_words(tmp_path: Path) -> None:
    """A round contradicted itself."""
    wide = write(tmp_path / "may.csv", 1, gold=1.0).read_text(encoding="utf-8").split()
    rows = [row.split(",") for row in wide[1:]]
    labels = [f"{row[0]},{who},{said}" for row in rows for who, said in zip(("gpt", "claude"), row[1:3], strict=True)]
    gold = [f"{row[0]},{int(row[4] == 'yes')}" for row in rows[::4]]
    (tmp_path / "labels.csv").write_text("\n".join(["item,labeler,label", *labels]), encoding="utf-8")
    (tmp_path / "gold.csv").write_text("\n".join(["item,gold", *gold]), encoding="utf-8")
    (tmp_path / "may.csv").unlink()
    for command in ("estimate", "check", "compare", "labelers"):
        code, told = run(command, tmp_path)
        assert (code, "E205" in told) == (0, False), told
