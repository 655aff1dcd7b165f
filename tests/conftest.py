"""Rounds and a site that several tests read and none changes; the same examples everywhere; who runs beside whom."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from make_rounds import Pair, draw_pair
from random_examples import PROFILE
from site_builder import build_site

settings.load_profile(PROFILE)


@pytest.fixture(scope="session")
def pair() -> Pair:
    """A current round and its history with good labelers, gold and a covariate x."""
    return draw_pair(1)


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built once for all who look at it."""
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True)
def _whole_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands write each problem in one line, so that tests can look for words that would be parted by a fold."""
    monkeypatch.setattr("hero_eval.cli.exit_codes.error_width", lambda: 10**6)


@pytest.hookimpl(tryfirst=True)  # groups are read after it
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what starts Spark; in a parallel run deal groups out whole, those with most long tests first."""
    for item in items:
        if "[spark" in item.name or "-spark" in item.name:
            item.add_marker(pytest.mark.spark)
    if not hasattr(config, "workerinput"):
        return
    groups = {item: _group_of(item) for item in items}
    long = Counter(group for item, group in groups.items() if _is_long(item))
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: (-long[groups[item]], groups[item]))


def _group_of(item: pytest.Item) -> str:
    """What one process runs whole, since its tests share what is dear to make: a JVM, the site, what a file makes."""
    if item.get_closest_marker("spark"):
        return "spark"
    return "site" if "built_site" in item.fixturenames else item.path.stem


def _is_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "simulation", "browser", "spark"))
