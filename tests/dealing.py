"""Who runs beside whom: in a parallel run each process gets whole groups of tests, those that take longest first.

A group's tests share what is dear to make: a JVM, the site, what a file makes for all its tests. Groups go by the names
of tests alone, since the process that deals them out collects none. (xdist's own `loadgroup` writes groups into names
that pytest 9.2 and later no longer take from it: there every test was dealt out by itself, and all was made twice.)
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

LONGEST = (
    "browser",
    "spark",
    "test_docs",
    "pages",
    "test_store_safety",
    "test_targets",
    "site",
    "test_web_attacks",
    "test_web",
    "test_cli",
    "test_hero3",
    "test_store",
    "test_intervals",
    "test_real_rounds",
    "test_public",
    "test_engines",
    "test_drift",
    "test_paper_claims",
    "test_exports",
    "test_store_cli",
    "test_backtest",
    "test_bounds",
    "test_fuzz",
    "test_gold_kills",
    "test_inspect",
    "test_report",
    "test_studies",
    "test_engine_scores",
    "test_own_gold",
    "test_against_naive",
    "test_ranking",
    "test_arena",
    "test_invariance",
    "test_shut_gates",
    "test_numeric_gold",
    "test_pipelines",
    "test_gold_queue",
    "test_class_order",
    "test_scored_rounds",
    "test_first_files",
    "test_charts",
    "test_battle_gold",
    "test_habits",
    "test_differences",
)
"""Groups of most processor seconds. One that is started last keeps one process busy while the others have nothing."""


TOGETHER = {
    "test_site": "site",
    "test_site_browser": "site",
    "test_gold_browser": "browser",
    "test_vote_browser": "browser",
    "test_web_browser": "browser",
    "test_report_browser": "browser",
    "test_web_api": "pages",
    "test_gold_web": "pages",
    "test_vote_leaderboard": "pages",
    "test_upload_pages": "pages",
    "test_scored_pages": "pages",
    "test_vote_gold_web": "pages",
    "test_monitoring": "pages",
}
"""Files that share what is dear to make: the built site; a browser; a process that has loaded what pages work with."""


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
