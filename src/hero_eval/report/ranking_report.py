"""A ranking as it is shown on a page or in a report: the answer, a row a model, the differences, the charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hero_eval import __version__, phrasing
from hero_eval.charts.ranking_charts import ranks
from hero_eval.charts.theme import Chart
from hero_eval.report.document import Row, Told
from hero_eval.targets.leaderboard import Leaderboard
from hero_eval.targets.ranking import Ranking

MOST_PAIRS = 45
"""Rows of the table of differences, all those of ten models; of more models neighbors are shown. The files hold all."""


@dataclass(frozen=True)
class RankRow:
    """A model: its rate as a bar, its rank and the range of that, the chance to be best, its groups."""

    bar: Row
    rank: int
    low: int
    high: int
    chance: str
    group: str
    wins: str = ""
    """Of votes: how often it wins against the reference."""
    votes: str = ""

    @property
    def ranks(self) -> str:
        """The range of the rank in words."""
        return f"{self.low} to {self.high}" if self.low < self.high else f"{self.low}"


@dataclass(frozen=True)
class PairRow:
    """The difference between two models, the better first."""

    better: str
    worse: str
    value: str
    low: str
    high: str
    p: str
    told_apart: str


@dataclass(frozen=True)
class RankingReport:
    """What is told of a ranking, whatever form it takes."""

    title: str
    answer: str
    result: Ranking | Leaderboard
    rows: tuple[RankRow, ...]
    pairs: tuple[PairRow, ...]
    n_pairs: int
    groups: tuple[str, ...]
    told: tuple[Told, ...]
    charts: Mapping[str, Chart]
    provenance: tuple[tuple[str, str], ...]
    what: str
    bounds: tuple[float, float]
    reference: str = ""
    """Of votes: the model that wins are against."""
    voters: tuple[tuple[str, ...], ...] = ()
    """Of votes: labelers, and how they err."""

    @property
    def bars(self) -> list[Row]:
        return [row.bar for row in self.rows]

    @property
    def is_share(self) -> bool:
        """Differences are in points of 100."""
        return self.bounds == (0.0, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything that the report tells, in plain types."""
        made = [{"name": name, "what": what} for name, what in self.provenance]
        return {"title": self.title, "answer": self.answer, **self.result.to_dict(), "provenance": made}


def report_of_ranking(
    result: Ranking,
    title: str | None = None,
    made_from: Sequence[tuple[str, str]] = (),
    more_charts: Mapping[str, Chart] | None = None,
) -> RankingReport:
    """The report on a ranking; what findings leave in doubt is said to be undecided."""
    pairs = _pair_rows(result)
    return RankingReport(
        title=title or f"{phrasing.count(len(result), 'model')} by {result.what}",
        answer=phrasing.ranking(result),
        result=result,
        rows=_rows(result),
        pairs=pairs,
        n_pairs=len(result.pairs),
        groups=tuple(phrasing.join(group) for group in result.groups() if len(group) > 1),
        told=tuple(Told(one, "") for one in result.findings),
        charts={"ranks": ranks(result), **(more_charts or {})},
        provenance=(*made_from, *phrasing.how(next(iter(result.values()))), ("made by", f"hero-eval {__version__}")),
        what=result.what,
        bounds=next(iter(result.values())).bounds,
    )


def chance_text(result: Ranking | Leaderboard, p_best: float) -> str:
    """The chance to be best; undecided where findings leave it open."""
    return f"undecided ({phrasing.codes(result.doubts)})" if result.doubts else phrasing.chance(p_best)


def _rows(result: Ranking) -> tuple[RankRow, ...]:
    columns = result.columns()
    found = []
    for at, model in enumerate(columns["model"]):
        numbers = {name: columns[name][at] for name in ("value", "low", "high", "std_error")}
        chance = chance_text(result, columns["p_best"][at])
        ends = (columns["rank"][at], columns["rank_low"][at], columns["rank_high"][at])
        found.append(RankRow(Row(model, **numbers), *ends, chance, columns["group"][at]))
    return tuple(found)


def _pair_rows(result: Ranking) -> tuple[PairRow, ...]:
    """All differences; where there are too many, those between neighbors."""
    columns = result.pair_columns()
    place = {model: at for at, model in enumerate(result)}
    rows = range(len(columns["better"]))
    chosen = [at for at in rows if place[columns["worse"][at]] - place[columns["better"][at]] == 1]
    bounds = next(iter(result.values())).bounds
    places = None if bounds == (0.0, 1.0) else phrasing.decimals(columns["std_error"])
    made = []
    for at in rows if len(rows) <= MOST_PAIRS else chosen:
        doubts = result.pairs[columns["better"][at], columns["worse"][at]].doubts
        told = "yes" if columns["told_apart"][at] else "no"
        value, low, high = (_signed(columns[name][at], places) for name in ("value", "low", "high"))
        made.append(
            PairRow(
                columns["better"][at],
                columns["worse"][at],
                value,
                low,
                high,
                phrasing.p_value(columns["p_value"][at]),
                f"undecided ({phrasing.codes(doubts)})" if doubts else told,
            )
        )
    return tuple(made)


def _signed(value: float, places: int | None) -> str:
    """A difference with its sign; of shares, where `places` is None, in points of 100."""
    if places is None:
        return phrasing.number(100.0 * value, 1, "+")
    return phrasing.number(value, places, "+")
