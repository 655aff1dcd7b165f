"""Who runs beside whom: in a parallel run each process gets whole groups of tests, those that take longest first.

A group's tests share what is dear to make: a JVM, the site, what a file makes for all its tests. Groups go by the names
of tests alone, since the process that deals them out collects none. (xdist's own `loadgroup` writes groups into names
that pytest 9.2 and later no longer take from it: there every test was dealt out by itself, and all was made twice.)
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

LONGEST = (
    "spark",
    "gold_browser",
    "test_docs",
    "test_targets",
    "test_web_browser",
    "site",
    "test_intervals",
    "test_real_rounds",
    "test_web",
    "test_store_safety",
    "test_web_attacks",
    "test_hero3",
    "test_fuzz",
    "test_public",
    "test_drift",
    "test_backtest",
    "test_ranking",
    "test_cli",
    "test_bounds",
    "test_own_gold",
    "test_paper_claims",
    "test_differences",
    "test_gold_queue",
    "test_store",
    "test_invariance",
    "test_web_api",
    "test_class_order",
    "test_engines",
    "test_studies",
    "test_gold_kills",
    "test_numeric_gold",
    "test_arena",
    "test_store_cli",
    "test_report",
)
"""Groups of most processor seconds. One that is started last keeps one process busy while the others have nothing."""


TOGETHER = {
    "test_site": "site",
    "test_site_browser": "site",
    "test_gold_browser": "gold_browser",
    "test_vote_browser": "gold_browser",
}
"""Files that share what is dear to make: the built site; the store and the server of those who give gold."""


def is_spark(name: str) -> bool:
    """Whether a test of this name starts a JVM."""
    return "[spark" in name or "-spark" in name


def group_of(nodeid: str) -> str:
    """What one process runs whole."""
    if is_spark(nodeid):
        return "spark"
    stem = nodeid.partition("::")[0].rpartition("/")[2].removesuffix(".py")
    return TOGETHER.get(stem, stem)


def turn_of(group: str) -> int:
    """The place of a group in the queue."""
    return LONGEST.index(group) if group in LONGEST else len(LONGEST)


class WholeGroups(LoadScopeScheduling):
    """Deals out groups of tests in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def make_scheduler(config: Any, log: Any) -> WholeGroups:
    """The dealer of a parallel run."""
    config.option.loadscopereorder = False  # the order is ours, not that of how many tests a group has
    return WholeGroups(config, log)
