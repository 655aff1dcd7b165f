"""From an estimate to its report: what else its rounds tell is worked out here, once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hero_eval.errors import HeroError
from hero_eval.estimate import Estimate, Source
from hero_eval.gates import Verdict
from hero_eval.labelers.fitting import fit_reliability, history_rounds
from hero_eval.labelers.reliability import Reliability
from hero_eval.methods.registry import all_methods
from hero_eval.report.arena_report import report_of_leaderboard
from hero_eval.report.document import Report, gather
from hero_eval.report.html import checked_place, write, write_ranking
from hero_eval.report.ranking_report import report_of_ranking
from hero_eval.targets.comparison import compare_some
from hero_eval.targets.leaderboard import Leaderboard
from hero_eval.targets.ranking import Ranking

COMPARED = ("rate", "mean score")
"""Questions that every method answers alike."""


def report_of(
    estimate: Estimate,
    *,
    names: tuple[str, str] | None = None,
    title: str | None = None,
    made_from: Sequence[tuple[str, str]] = (),
    verdict: Verdict | None = None,
) -> Report:
    """The report on an estimate, with every method and the labelers if its rounds are known, and a gate's verdict."""
    source = estimate.source or Source((), None)
    two = source.currents[:2]
    named = names or ((two[0].name, two[1].name) if len(two) == 2 and two[0].name != two[1].name else ("A", "B"))
    reliability = _reliability(source.history)
    methods: dict[str, Estimate] = {}
    skipped: dict[str, str] = {}
    if source.currents and estimate.target in COMPARED:
        others = [name for name in all_methods() if name != estimate.method]
        found = compare_some(others, source.currents[0], reliability or source.history, **source.options)
        known = {name: one for name, one in found.items() if one.what == estimate.what} | {estimate.method: estimate}
        methods = {name: known[name] for name in all_methods() if name in known}
        skipped = dict(found.skipped)
    return gather(
        estimate,
        methods=methods,
        skipped=skipped,
        reliability=reliability,
        current=source.currents[0] if source.currents else None,
        names=named,
        title=title,
        made_from=made_from,
        verdict=verdict,
    )


def write_report(estimate: Estimate, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """`Estimate.report`: a wrong ending is found before the other methods take their time."""
    place = checked_place(path)
    return write(report_of(estimate, title=title), place)


def write_ranking_report(
    ranking: Ranking | Leaderboard, path: str | os.PathLike[str], *, title: str | None = None
) -> Path:
    """`Ranking.report` and `Leaderboard.report`."""
    place = checked_place(path)
    if isinstance(ranking, Ranking):
        return write_ranking(report_of_ranking(ranking, title), place)
    return write_ranking(report_of_leaderboard(ranking, title), place)


def _reliability(history: Any) -> Reliability | None:
    """The fit behind the estimate; fitted here if its method did without; None if history cannot be fitted."""
    if history is None or isinstance(history, Reliability):
        return history
    try:
        return fit_reliability(history_rounds(history))
    except HeroError as error:
        if error.exit_code == 3:
            return None
        raise
