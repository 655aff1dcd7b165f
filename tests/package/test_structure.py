"""The house stays legible: modules that one can hold in the head, and no name that means two things."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from repository import SOURCE

LONGEST = 500
PARALLEL = {"__init__", "main"}
"""The same role in several rooms."""


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """The text of every module, by its path in the package."""
    paths = [path for path in SOURCE.rglob("*.py") if "examples" not in path.parts]
    assert len(paths) > 150
    return {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}


def test_no_module_is_long(sources: dict[str, str]) -> None:
    lines = {path: text.count("\n") for path, text in sources.items()}
    assert sorted(path for path, count in lines.items() if count > LONGEST) == []


def test_no_file_name_stands_in_two_rooms(sources: dict[str, str]) -> None:
    places = defaultdict(list)
    for path in sources:
        places[Path(path).stem].append(path)
    twins = {name for name, paths in places.items() if len(paths) > 1 and name not in PARALLEL}
    assert sorted(twins) == []


def test_no_class_name_means_two_things(sources: dict[str, str]) -> None:
    places = defaultdict(list)
    for path, text in sources.items():
        for name in re.findall(r"^class (\w+)", text, flags=re.MULTILINE):
            places[name].append(path)
    assert sorted(name for name, paths in places.items() if len(paths) > 1) == []
