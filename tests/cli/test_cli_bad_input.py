"""The command says of every bad input what reading it in Python says: code, place and remedy, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_inputs import BAD_INPUTS, BadInput, write_good
from typer.testing import CliRunner

from hero_eval.cli.main import app

runner = CliRunner(env={"COLUMNS": "80"})


@pytest.mark.parametrize("bad", BAD_INPUTS, ids=str)
def test_bad_input_ends_with_its_code(bad: BadInput, tmp_path: Path) -> None:
    """A user would see a traceback, or a script would take a failure for a result."""
    path = bad.write(tmp_path / "bad")
    good = write_good(tmp_path / "good", seed=2)
    result = runner.invoke(app, ["estimate", str(path), "--history", str(good), *bad.options])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert bad.code in result.stderr
    assert [part for part in bad.mentions if part not in result.stderr] == [], result.stderr
    assert "Traceback" not in result.stderr
    assert all(line.startswith("E") for line in result.stderr.splitlines()), result.stderr


@pytest.mark.parametrize("bad", BAD_INPUTS[:3], ids=str)
def test_bad_history_is_told_from_bad_current(bad: BadInput, tmp_path: Path) -> None:
    """Both rounds hold a labels.csv: a user would mend the wrong one."""
    path = bad.write(tmp_path / "past")
    good = write_good(tmp_path / "now", seed=2)
    result = runner.invoke(app, ["estimate", str(good), "--history", str(path), *bad.options])
    assert result.exit_code == 2
    assert str(path) in result.stderr


def test_the_good_round_passes(tmp_path: Path) -> None:
    """If the good rounds failed too, the tests above would prove nothing."""
    paths = [str(write_good(tmp_path / name, seed)) for seed, name in enumerate(("now", "past"))]
    options = ["--covariates", "x", "--classes", "0,1"]
    result = runner.invoke(app, ["estimate", paths[0], "--history", paths[1], *options])
    assert result.exit_code == 0, result.stderr
