"""Pages show what a terminal shows."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _whole_messages() -> None:
    """Messages are folded here, in the place of the fixture by which other tests see them whole."""
