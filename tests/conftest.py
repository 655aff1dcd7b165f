"""Rounds and a site that several tests read and none changes; the same examples everywhere; who runs beside whom."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dealing import group_of, is_spark, make_scheduler, turn_of
from site_builder import build_site

if TYPE_CHECKING:
    from make_rounds import Pair


def pytest_configure(config: pytest.Config) -> None:
    """Random examples as the profile says. Who only deals tests out plays none, and the others wait until it is up."""
    if not config.getoption("numprocesses", None):
        from hypothesis import settings
        from random_examples import PROFILE

        settings.load_profile(PROFILE)
        gc.disable()  # while modules are loaded there is no garbage, and to look for it takes a fifth of the time


@pytest.fixture(scope="session")
def pair() -> Pair:
    """A current round and its history with good labelers, gold and a covariate x."""
    from make_rounds import draw_pair  # here, since who only deals tests out need not load the package

    return draw_pair(1)


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built once for all who look at it."""
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True, scope="session")
def _command_is_built_once() -> Iterator[None]:
    """Typer builds all commands anew for each call in this process, which takes longer than most of them."""
    from typer.main import get_command

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("typer.testing._get_command", lru_cache(maxsize=None)(get_command))
        yield


@pytest.fixture(autouse=True, scope="session")
def _disk_is_not_waited_for() -> Iterator[None]:
    """Tests see who is asked to sync what, never whether the drive did; thousands of times they would wait for it.

    Processes of their own, servers and commands, do wait.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def _whole_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands write each problem in one line, so that tests can look for words that would be parted by a fold."""
    monkeypatch.setattr("hero_eval.cli.exit_codes.error_width", lambda: 10**6)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what starts Spark; in a parallel run the groups that take longest come first."""
    for item in items:
        if is_spark(item.name):
            item.add_marker(pytest.mark.spark)
    if not hasattr(config, "workerinput"):
        return
    groups = {item: group_of(item.nodeid) for item in items}
    long = Counter(group for item, group in groups.items() if _is_long(item))
    items.sort(key=lambda item: (turn_of(groups[item]), -long[groups[item]], groups[item]))


def pytest_collection_finish() -> None:
    """From here on there is garbage."""
    gc.enable()


def _is_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "simulation", "browser", "spark"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole groups to each process."""
    return make_scheduler(config, log)
