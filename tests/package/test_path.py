"""The pictures of the package in CONTRIBUTING.md: what they show is what happens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from repository import TOOLS, load_script

import hero_eval

layers = load_script(TOOLS, "make_layers")

TRACE = """
import inspect, json, sys

wanted, entered = set(json.loads(sys.argv.pop())), []

def watch(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
        name = frame.f_globals.get("__name__", "").removeprefix("hero_eval.") + "." + code.co_qualname
        if name in wanted and name not in entered:
            entered.append(name)

from hero_eval.cli.main import run

sys.setprofile(watch)
try:
    run()
except SystemExit as end:
    assert not end.code
sys.setprofile(None)
print("entered", json.dumps(entered))
"""


@pytest.mark.slow
def test_an_estimate_takes_the_path_that_is_drawn() -> None:
    """Who reads the drawing to find where something happens would look in the wrong place."""
    functions = [function for _, function, _ in layers.PATH]
    example = Path(hero_eval.__file__).parent / "examples" / "defect"
    call = ["estimate", str(example / "current"), "--history", str(example / "history"), json.dumps(functions)]
    done = subprocess.run([sys.executable, "-c", TRACE, *call], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1].removeprefix("entered ")) == functions


@pytest.mark.parametrize("name", sorted(layers.DRAWN))
def test_pictures_of_the_package_are_fresh(name: str) -> None:
    """The drawing would show rooms that are no longer there (python tools/make_layers.py)."""
    assert (layers.PICTURES / name).read_text(encoding="utf-8") == layers.DRAWN[name]()


def test_every_room_is_explained() -> None:
    """A row of the drawing would be a bare name."""
    alone = [room for row in layers.layers() for room in row if len(row) <= 2]
    assert [room for room in alone if room not in layers.SAYS] == []
