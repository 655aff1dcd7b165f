"""One browser for all tests of a process, and one server for all who give gold: each takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import chromium, forget
from gold_browsing import GoldSite, open_gold_site


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser puts what it downloads."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def _started(downloads: Path) -> Iterator[Any]:
    with chromium(downloads) as driver:
        yield driver


@pytest.fixture(scope="module")
def browser(_started: Any) -> Any:
    """The browser as it comes to each file: nowhere, and with no memory of the others."""
    forget(_started)
    return _started


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldSite]:
    """Items, hostile items and votes that wait for experts."""
    with open_gold_site(tmp_path_factory.mktemp("gold") / "store") as found:
        yield found
