"""A server that is killed while experts answer: nothing that it acknowledged is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from repository import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("options", "steps"),
    [((), ("after _write", "after _link", "after _sync_folder")), (("--votes",), ("before _link", "after _write"))],
    ids=["items", "battles"],
)
def test_nothing_acknowledged_is_lost(options: tuple[str, ...], steps: tuple[str, ...]) -> None:
    """An expert would have been thanked for an answer that is gone; or an item would be answered twice."""
    made = ["--kills", "1", "--seed", "3", *options, "--steps", *steps]  # the command takes all steps, 100 times
    command = [sys.executable, str(ROOT / "tests" / "crash_gold.py"), *made]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["lost"] == 0
    assert told["by step"] == dict.fromkeys(steps, 1)
