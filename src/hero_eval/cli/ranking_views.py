"""What the commands that rank models show, as pages of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hero_eval import phrasing
from hero_eval.cli.bars import common_axis
from hero_eval.cli.blocks import Column, Facts, Line, Page, Table, remarks

if TYPE_CHECKING:
    from hero_eval.targets.battles import Battle
    from hero_eval.targets.leaderboard import Leaderboard
    from hero_eval.targets.movement import Movement
    from hero_eval.targets.ranking import Ranking

AXIS = 12
MOST_ROUNDS = 5
MOST_PAIRS = 15
"""Rows of the table of differences; all of them are in the JSON document."""


def ranking(result: Ranking) -> Page:
    columns = result.columns()
    first = next(iter(result.values()))
    places = phrasing.decimals([one.std_error for one in result.values()])
    ends = list(zip(columns["low"], columns["high"], strict=True))
    axis = replace(common_axis([end for pair in ends for end in pair], first.bounds), width=AXIS)
    rows = [
        [
            rank_text(*columns_at),
            name,
            phrasing.number(value, places),
            phrasing.span(span[0], span[1], places),
            axis.draw(value, *span),
            _chance(result, p_best),
            group,
        ]
        for columns_at, name, value, span, p_best, group in zip(
            zip(columns["rank"], columns["rank_low"], columns["rank_high"], strict=True),
            columns["model"],
            columns["value"],
            ends,
            columns["p_best"],
            columns["group"],
            strict=True,
        )
    ]
    level = phrasing.percent(result.level)
    head = [
        Column("rank", "left"),
        Column("model", "left", cut=True),
        Column("rate" if first.target == "rate" else "value"),
        Column(f"{level} interval", "left"),
        Column(axis.title(), "left", chart=True),
        Column("best?"),
        Column("group", "left"),
    ]
    said = (
        "Ranks in brackets and intervals hold together. best? is the chance to be best; models that share a letter are "
        "not told apart."
    )
    page: Page = [Line(phrasing.ranking(result), strong=True), Table(head, rows), Line(said)]
    return [*page, pairs(result), *_stepwise(result), Facts(phrasing.how(first)), *remarks(result.findings)]


def _stepwise(result: Ranking) -> Page:
    """Why two models are told apart although the interval of their difference holds zero, where that is so."""
    columns = result.pair_columns()
    rows = zip(columns["told_apart"], columns["low"], columns["high"], strict=True)
    return [Line(phrasing.STEPWISE)] if any(told and low <= 0.0 <= high for told, low, high in rows) else []


def _chance(result: Ranking | Leaderboard, p_best: float) -> str:
    """The chance to be best, unless findings leave it open: the first line names them."""
    return "undecided" if result.doubts else phrasing.chance(p_best)


def rank_text(rank: int, low: int, high: int) -> str:
    """2 (1–4)."""
    return f"{rank} ({low}–{high})" if low < high else f"{rank}"


def pairs(result: Ranking) -> Table:
    """The differences, neighbors first where there are too many for all."""
    columns = result.pair_columns()
    names = list(result)
    rows: Sequence[int] = range(len(columns["better"]))
    if len(rows) > MOST_PAIRS:
        near = [at for at in rows if names.index(columns["worse"][at]) - names.index(columns["better"][at]) == 1]
        rows = near[:MOST_PAIRS]
    places = phrasing.decimals(columns["std_error"])
    level = phrasing.percent(result.level)
    return Table(
        [
            Column("difference" if len(rows) == len(columns["better"]) else "neighbors", "left", cut=True),
            Column("value"),
            Column(f"{level} interval", "left"),
            Column("p"),
            Column("told apart", "left"),
        ],
        [
            [
                f"{columns['better'][at]} − {columns['worse'][at]}",
                phrasing.number(columns["value"][at], places, "+"),
                f"{phrasing.number(columns['low'][at], places, '+')} to "
                f"{phrasing.number(columns['high'][at], places, '+')}",
                phrasing.p_value(columns["p_value"][at]),
                "undecided" if result.doubts else "yes" if columns["told_apart"][at] else "no",
            ]
            for at in rows
        ],
    )


def leaderboard(result: Leaderboard, battles: Sequence[Battle] | None = None) -> Page:
    columns = result.columns()
    level = phrasing.percent(result.level)
    rows = [
        [
            rank_text(rank, low, high),
            model,
            f"{elo:.0f}",
            f"{elo_low:.0f} to {elo_high:.0f}",
            f"{100 * win:.0f}%",
            _chance(result, p_best),
            f"{votes:,}",
            group,
        ]
        for rank, low, high, model, elo, elo_low, elo_high, win, p_best, votes, group in zip(
            *(
                columns[name]
                for name in (
                    "rank",
                    "rank_low",
                    "rank_high",
                    "model",
                    "elo",
                    "low",
                    "high",
                    "win_rate",
                    "p_best",
                    "votes",
                    "group",
                )
            ),
            strict=True,
        )
    ]
    head = [
        Column("rank", "left"),
        Column("model", "left", cut=True),
        Column("Elo"),
        Column(f"{level} interval", "left"),
        Column("wins"),
        Column("best?"),
        Column("votes"),
        Column("group", "left"),
    ]
    said = (
        f"Ranks in brackets and intervals hold together. wins: against {result.reference}, a tie half a win. best? is "
        "the chance to be best; models that share a letter are not told apart."
    )
    facts = [
        ("method", result.method),
        ("votes", f"{result.n_votes:,} on {phrasing.count(result.n_items, 'item')}"),
        ("gold", f"{result.n_gold:,} votes with gold" if result.n_gold else "none"),
    ]
    page: Page = [Line(phrasing.leaderboard(result), strong=True), Table(head, rows), Line(said)]
    page += [] if battles is None else [_battles(battles)]
    page += [_voters(result), Line(_VOTERS)] if result.labeler_rows else []
    return [*page, Facts(facts), *remarks(result.findings)]


def movement(result: Movement | None) -> Page:
    """The rank of each model in each of the last rounds."""
    if result is None:
        return []
    shown = result.rounds[-MOST_ROUNDS:]
    places: dict[tuple[str, str], str] = {}
    for at, place in enumerate(zip(result.table["round"], result.table["model"], strict=True)):
        places[place] = rank_text(*(result.table[name][at] for name in ("rank", "rank_low", "rank_high")))
    rows = [[model, *(places.get((one, model), "–") for one in shown)] for model in result.models]
    head = [Column("rank by round", "left", cut=True), *(Column(one, "left", cut=True) for one in shown)]
    left = [Line(f"Not ranked: {name} ({why})") for name, why in result.skipped.items()]
    return [Table(head, rows), Line("Each round is ranked by itself, by what was known then."), *left]


def _battles(battles: Sequence[Battle]) -> Table:
    return Table(
        [Column("next battles", "left", cut=True), Column("votes")],
        [[f"{one.model_a} against {one.model_b}", f"{one.votes:,}"] for one in battles[:MOST_PAIRS]],
    )


_VOTERS = (
    "right: how often the vote is, where the first or the second of the two is better. for the first: how far the "
    "labeler leans to what is shown first, in log-odds; 0 is fair."
)


def _voters(result: Leaderboard) -> Table:
    """Labelers who vote, those who are right least first."""
    voting = [row for row in result.labeler_rows if row["votes"]]
    voting.sort(key=lambda row: row["right_first"] + row["right_second"])
    return Table(
        [
            Column("labeler", "left", cut=True),
            Column("votes"),
            Column("gold"),
            Column("right, first better"),
            Column("right, second better"),
            Column("for the first"),
        ],
        [
            [
                row["labeler"],
                f"{row['votes']:,}",
                f"{row['gold']:,}",
                f"{row['right_first']:.2f}",
                f"{row['right_second']:.2f}",
                f"{row['first_bias']:+.2f} ± {row['first_bias_se']:.2f}",
            ]
            for row in voting[:MOST_PAIRS]
        ],
    )
