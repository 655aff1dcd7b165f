"""Rounds that several tests read and none changes; examples that are the same on every machine."""

from __future__ import annotations

import pytest
from hypothesis import settings
from make_rounds import Pair, draw_pair
from random_examples import PROFILE

settings.load_profile(PROFILE)


@pytest.fixture(scope="session")
def pair() -> Pair:
    """A current round and its history with good labelers, gold and a covariate x."""
    return draw_pair(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts Spark, or simulates, takes its time."""
    for item in items:
        if "[spark" in item.name or "-spark" in item.name:
            item.add_marker(pytest.mark.spark)
