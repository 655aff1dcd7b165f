"""Rounds that several tests read and none changes; examples that are the same on every machine."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from make_rounds import Pair, draw_pair

# A test must not pass or fail by luck: the same examples in every run, however slow the machine. Looking for new ones
# is a run of its own: HYPOTHESIS_PROFILE=explore
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(scope="session")
def pair() -> Pair:
    """A current round and its history with good labelers, gold and a covariate x."""
    return draw_pair(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever starts Spark is slow."""
    for item in items:
        if "[spark" in item.name or "-spark" in item.name:
            item.add_marker(pytest.mark.slow)
