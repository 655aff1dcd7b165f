"""Tests are dealt out in whole groups: what is dear to make is made in one process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dealing import LONGEST, group_of, make_scheduler
from repository import TESTS

NAMES = (
    "tests/web/test_web.py::test_a",
    "tests/web/test_web.py::test_b[x@y]",
    "tests/docs/test_site.py::test_a",
    "tests/browser/test_site_browser.py::test_a",
    "tests/io/test_answers.py::test_a[memory]",
    "tests/io/test_answers.py::test_a[spark]",
    "tests/counting/test_engines.py::test_a[-spark]",
    "tests/counting/test_engines.py::TestClass::test_a",
)


class Node:
    """A process of a parallel run, which notes what it is given."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.gateway = SimpleNamespace(id=str(id(self)))
        self.shutting_down = False

    def send_runtest_some(self, places: list[int]) -> None:
        self.given += places

    def shutdown(self) -> None:
        self.shutting_down = True


def test_a_group_is_given_to_one_process() -> None:
    """Every process would start a JVM and build the site, the servers and the stores; a new pytest once did that."""
    config: Any = SimpleNamespace(option=SimpleNamespace(loadscopereorder=True), getvalue=lambda _: ["popen", "popen"])
    scheduler = make_scheduler(config, None)
    nodes: list[Any] = [Node(), Node()]
    for node in nodes:
        scheduler.add_node(node)
    for node in nodes:
        scheduler.add_node_collection(node, list(NAMES))
    scheduler.schedule()
    while waiting := [node for node in nodes if scheduler.assigned_work[node] and not node.shutting_down]:
        for node in waiting:
            for place in node.given:
                scheduler.mark_test_complete(node, place)
    groups = [{group_of(NAMES[place]) for place in node.given} for node in nodes]
    assert not groups[0] & groups[1]
    assert sorted(place for node in nodes for place in node.given) == list(range(len(NAMES)))


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [(0, 1, True), (2, 3, True), (5, 6, True), (0, 2, False), (4, 5, False), (6, 7, False)],
)
def test_who_shares_what_is_dear_is_in_one_group(one: int, other: int, together: bool) -> None:
    assert (group_of(NAMES[one]) == group_of(NAMES[other])) is together


def test_groups_that_go_first_are_there() -> None:
    """A file that was renamed would be started last, and the others wait for it."""
    assert {name for name in LONGEST if name.startswith("test_")} <= {path.stem for path in TESTS.rglob("test_*.py")}
