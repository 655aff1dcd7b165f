"""The house stays legible: modules that one can hold in the head, and no name that means two things."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from repository import SOURCE

from hero_eval import errors, findings, remedies

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


@pytest.mark.parametrize(
    ("known", "remedied"),
    [(errors.CATALOGUE, remedies.ERRORS), (findings.CATALOGUE, remedies.FINDINGS)],
    ids=["errors", "findings"],
)
def test_every_code_has_a_remedy(known: dict[str, object], remedied: dict[str, str]) -> None:
    """Who meets a code would not be told what to do about it."""
    assert sorted(set(known) - set(remedied)) == [], "say in remedies.py what to do about these"
    assert sorted(set(remedied) - set(known)) == [], "remedies.py names codes that are not there"
    assert all(text.strip() for text in remedied.values())
