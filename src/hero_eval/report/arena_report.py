"""A leaderboard of votes as it is shown on a page or in a report: strengths, ranks, who wins, and how labelers err."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hero_eval import __version__, phrasing
from hero_eval.charts.ranking_charts import ranks, strengths, win_matrix
from hero_eval.charts.theme import Chart
from hero_eval.report.document import Row, Told
from hero_eval.report.ranking_report import MOST_PAIRS, PairRow, RankingReport, RankRow, chance_text
from hero_eval.targets.leaderboard import Leaderboard

UNBOUNDED = (-math.inf, math.inf)
MOST_IN_MATRIX = 20
"""Models of the matrix of wins: the best ones. The files hold all."""
MOST_VOTERS = 60


def report_of_leaderboard(
    result: Leaderboard,
    title: str | None = None,
    made_from: Sequence[tuple[str, str]] = (),
    more_charts: Mapping[str, Chart] | None = None,
) -> RankingReport:
    """The report on votes; what findings leave in doubt is said to be undecided."""
    drawn = {"ranks": ranks(result), "strengths": strengths(result), "win_matrix": win_matrix(result, MOST_IN_MATRIX)}
    return RankingReport(
        title=title or f"{phrasing.count(len(result), 'model')} by {result.n_votes:,} votes",
        answer=phrasing.leaderboard(result),
        result=result,
        rows=_rows(result),
        pairs=_pair_rows(result),
        n_pairs=len(result) * (len(result) - 1) // 2,
        groups=tuple(phrasing.join(group) for group in result.groups() if len(group) > 1),
        told=tuple(Told(one, "") for one in result.findings),
        charts={**drawn, **(more_charts or {})},
        provenance=(*made_from, *_how(result), ("made by", f"hero-eval {__version__}")),
        what="Elo",
        bounds=UNBOUNDED,
        reference=result.reference,
        voters=_voters(result),
    )


def _rows(result: Leaderboard) -> tuple[RankRow, ...]:
    columns = result.columns()
    found = []
    for at, model in enumerate(columns["model"]):
        bar = Row(model, columns["elo"][at], columns["low"][at], columns["high"][at], columns["std_error"][at])
        ends = (columns["rank"][at], columns["rank_low"][at], columns["rank_high"][at])
        chance = chance_text(result, columns["p_best"][at])
        wins = "–" if model == result.reference else f"{100 * columns['win_rate'][at]:.0f}%"
        found.append(RankRow(bar, *ends, chance, columns["group"][at], wins, f"{columns['votes'][at]:,}"))
    return tuple(found)


def _pair_rows(result: Leaderboard) -> tuple[PairRow, ...]:
    """All differences; where there are too many, those between neighbors."""
    columns = result.pair_columns()
    place = {model: at for at, model in enumerate(result.order)}
    rows = range(len(columns["better"]))
    near = [at for at in rows if place[columns["worse"][at]] - place[columns["better"][at]] == 1]
    doubts = phrasing.codes(result.doubts)
    made = []
    for at in rows if len(rows) <= MOST_PAIRS else near:
        value, low, high = (phrasing.number(columns[name][at], 0, "+") for name in ("elo", "low", "high"))
        told = f"undecided ({doubts})" if result.doubts else "yes" if columns["told_apart"][at] else "no"
        p = phrasing.p_value(columns["p_value"][at])
        made.append(PairRow(columns["better"][at], columns["worse"][at], value, low, high, p, told))
    return tuple(made)


def _voters(result: Leaderboard) -> tuple[tuple[str, ...], ...]:
    """Labelers who vote, those who are right least first."""
    voting = [row for row in result.labeler_rows if row["votes"]]
    voting.sort(key=lambda row: row["right_first"] + row["right_second"])
    return tuple(
        (
            row["labeler"],
            f"{row['votes']:,}",
            f"{row['gold']:,}",
            f"{row['right_first']:.2f}",
            f"{row['right_second']:.2f}",
            f"{row['first_bias']:+.2f} ± {row['first_bias_se']:.2f}",
        )
        for row in voting[:MOST_VOTERS]
    )


def _how(result: Leaderboard) -> list[tuple[str, str]]:
    return [
        ("method", result.method),
        ("votes", f"{result.n_votes:,} on {phrasing.count(result.n_items, 'item')}"),
        ("gold", f"{result.n_gold:,} votes with gold" if result.n_gold else "none"),
        ("level", phrasing.percent(result.level)),
    ]
