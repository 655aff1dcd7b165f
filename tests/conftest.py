"""Rounds that several tests read and none changes."""

from __future__ import annotations

import pytest
from make_rounds import Pair, draw_pair


@pytest.fixture(scope="session")
def pair() -> Pair:
    """A current round and its history with good labelers, gold and a covariate x."""
    return draw_pair(1)
