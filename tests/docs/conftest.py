"""Pages show what a terminal shows."""

from __future__ import annotations

import pytest
from fits_once import fits_once  # noqa: F401


@pytest.fixture(autouse=True)
def _whole_messages() -> None:
    """Messages are folded here, in the place of the fixture by which other tests see them whole."""
