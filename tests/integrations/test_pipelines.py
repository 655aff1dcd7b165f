"""The GitHub action and the image, by running what they run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml

import hero_eval as hero
from hero_eval.integrations.pull_request import outputs, summary

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def environment(tmp_path: Path) -> dict[str, str]:
    """Ours, with this interpreter's `python` and `hero` first, whatever they are called."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tools / "hero").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hero_eval.cli.main "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A team's repository with two rounds."""
    rounds = tmp_path / "rounds"
    rounds.mkdir()
    shutil.copytree(EXAMPLE / "history", rounds / "april")
    shutil.copytree(EXAMPLE / "current", rounds / "may")
    return tmp_path


def run_step(project: Path, **given: str) -> tuple[int, str, dict[str, str], str]:
    """The action's estimate: its exit code, the summary on the run's page, its outputs, and what it said."""
    step = next(one for one in ACTION["runs"]["steps"] if one.get("id") == "estimate")
    inputs = {name: about.get("default", "") for name, about in ACTION["inputs"].items()} | given
    env = environment(project)
    for name, value in step["env"].items():
        env[name] = str(inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")])
    page, out = project / "summary.md", project / "outputs"
    env |= {"GITHUB_STEP_SUMMARY": str(page), "GITHUB_OUTPUT": str(out)}
    script = project / "step.sh"
    script.write_text(step["run"], encoding="utf-8")
    # as the runner starts `shell: bash`
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    ran = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    read = {path: path.read_text(encoding="utf-8") if path.exists() else "" for path in (page, out)}
    return ran.returncode, read[page], dict(line.split("=", 1) for line in read[out].splitlines()), ran.stderr


def test_the_action_lets_a_good_release_through(project: Path) -> None:
    """A round that its own wildcard matches would be its own history, and no release would ever pass."""
    status, page, out, said = run_step(
        project, current="rounds/may", history="rounds/*", **{"fail-above": "0.35", "options": "--method hero1"}
    )
    assert (status, out["gate"]) == (0, "open"), said
    assert "**Gate open**" in page
    assert float(out["low"]) <= float(out["value"]) <= float(out["high"])


def test_the_action_stops_a_release_and_says_why(project: Path) -> None:
    status, page, out, said = run_step(
        project, current="rounds/may", history="rounds/april", **{"fail-above": "0.1", "options": "--method hero1"}
    )
    assert (status, out["gate"]) == (4, "closed")
    assert "gate closed" in said
    assert "may be as high as" in page
    assert "| rate of '1' |" in page


def test_the_action_tells_what_is_wrong(project: Path) -> None:
    """A misspelled folder must not look like a release that passed, or like one that is bad."""
    status, page, _, said = run_step(project, current="rounds/june", history="rounds/april")
    assert status == 2
    assert "E101" in said
    assert "no answer" in page
    assert "- `E101` rounds/june does not exist" in page
    assert "What to do: Check the path" in page
    assert "\N{REPLACEMENT CHARACTER}" not in page  # of every fold of the sentence for the terminal
    status, *_ = run_step(project, current="rounds/may", history="rounds/x*")
    assert status == 2


def test_what_no_document_tells_is_shown_in_the_words_of_the_log() -> None:
    assert summary(None, "Traceback\n  of a|b\n") == "### HERO: no answer\n\nTraceback of a\\|b\n"


def test_groups_and_unknown_numbers_are_shown() -> None:
    """A number that the data do not tell would end the step with an error of its own."""
    one: dict[str, Any] = {
        "what": "rate of 'a|b'",
        "value": None,
        "interval": {"level": 0.95, "low": 0.0, "high": 1.0},
        "method": "hero1",
        "n_items": 3,
        "n_gold": 0,
        "findings": [{"code": "F307", "message": "a_b", "action": "Use `x`."}],
    }
    shown = summary({"groups": {"x": one, "y": one}}, "")
    assert shown.count("unknown") == 2
    assert shown.count("F307") == 1
    assert "a\\|b" in shown
    assert outputs({**one, "gate": {"state": "undecided"}}) == "gate=undecided\nvalue=\nlow=0.0\nhigh=1.0\n"


def test_the_file_of_the_image_is_sound() -> None:
    """The image would not build, or would serve as root. The workflow `checks` builds it; here it is read."""
    linter = Path(sys.executable).parent / "hadolint"
    if not linter.exists():
        assert os.environ.get("CI") != "true", "hadolint is not installed"
        pytest.skip("hadolint is not installed")
    lint = subprocess.run([str(linter), str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert lint.returncode == 0, lint.stdout
    for service in yaml.safe_load((ROOT / "compose.yml").read_text(encoding="utf-8"))["services"].values():
        assert "privileged" not in service


def test_what_the_image_starts_serves_a_store(tmp_path: Path) -> None:
    """The container would stop at its first start, for want of a store, or serve a network without a token."""
    line = next(
        line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if line.startswith("CMD")
    )
    command = json.loads(line.removeprefix("CMD "))[-1].replace("/store", str(tmp_path / "volume"))
    command = command.replace("0.0.0.0", "127.0.0.1").replace("8000", "0")
    (tmp_path / "volume").mkdir()
    env = environment(tmp_path)
    refused = subprocess.run(["sh", "-c", command], env={**env, "HERO_TOKEN": ""}, capture_output=True, check=False)
    assert refused.returncode == 2
    token = "0123456789abcdef0123"
    serving = subprocess.Popen(
        ["sh", "-c", command],
        env={**env, "HERO_TOKEN": token},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert serving.stderr is not None
        address = serving.stderr.readline().split(" at ")[-1].split()[0].rstrip("/")
        end = time.monotonic() + 30
        while True:
            try:
                assert urlopen(f"{address}/health", timeout=5).read() == b"ok\n"
                break
            except OSError:
                assert time.monotonic() < end
        asked = Request(f"{address}/metrics", headers={"Authorization": f"Bearer {token}"})
        assert b"hero_store_version" in urlopen(asked, timeout=5).read()
    finally:
        serving.terminate()
        serving.communicate(timeout=20)
