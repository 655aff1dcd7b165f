"""The shapes of leaderboards in the API: by rates and by votes."""

from __future__ import annotations

import datetime
from typing import Literal

from pydantic import Field

from hero_eval.web.api_schemas import ApiDocument, FindingOut, Number


class RankedOut(ApiDocument):
    rank: int
    model: str
    value: Number
    std_error: Number
    low: Number
    high: Number
    rank_low: int
    rank_high: int
    p_best: Number
    group: str = Field(description="Models that share a letter are not told apart.")
    round: str
    date: datetime.date | None


class RankedPairOut(ApiDocument):
    better: str
    worse: str
    value: Number
    std_error: Number
    low: Number
    high: Number
    p_value: Number
    told_apart: bool


class MovedOut(ApiDocument):
    round: str
    model: str
    value: Number
    low: Number
    high: Number
    rank: int
    rank_low: int
    rank_high: int


class MovementOut(ApiDocument):
    """How models moved over rounds, each ranked by what was known then."""

    what: str
    rounds: list[str]
    models: list[MovedOut]
    skipped: dict[str, str]


class LeaderboardOut(ApiDocument):
    """Models by their rates, best first; intervals, differences and ranks hold together at the level."""

    question: str
    by: Literal["rates"]
    where: dict[str, list[str]]
    store_version: int
    what: str
    best: Literal["highest", "lowest"]
    level: float
    correction: str
    method: str
    why: str
    answer: str
    bounds: tuple[float, float]
    history: list[str]
    history_is_apart: bool
    models: list[RankedOut]
    differences: list[RankedPairOut]
    groups: list[list[str]]
    skipped: dict[str, str]
    findings: list[FindingOut]
    charts: dict[str, str]
    movement: MovementOut | None


class VoteRankedOut(ApiDocument):
    rank: int
    model: str
    elo: Number
    std_error: Number
    low: Number
    high: Number
    rank_low: int
    rank_high: int
    p_best: Number
    win_rate: Number = Field(description="Against the reference, a tie half a win.")
    win_low: Number
    win_high: Number
    votes: int
    group: str = Field(description="Models that share a letter are not told apart.")


class VotePairOut(ApiDocument):
    better: str
    worse: str
    elo: Number
    std_error: Number
    low: Number
    high: Number
    p_value: Number
    told_apart: bool
    win_rate: Number


class VoterOut(ApiDocument):
    labeler: str
    votes: int
    gold: int
    right_first: Number
    right_second: Number
    first_bias: Number
    first_bias_se: Number


class BattleOut(ApiDocument):
    model_a: str
    model_b: str
    votes: int


class VoteLeaderboardOut(ApiDocument):
    """Models by side-by-side votes, best first; intervals, differences and ranks hold together at the level."""

    question: str
    by: Literal["votes"]
    where: dict[str, list[str]]
    store_version: int
    round: str
    date: datetime.date | None
    level: float
    correction: str
    ties: str
    method: str
    reference: str
    n_votes: int
    n_items: int
    n_gold: int
    groups: list[list[str]]
    answer: str
    history: list[str]
    models: list[VoteRankedOut]
    differences: list[VotePairOut]
    win_matrix: dict[str, dict[str, Number]]
    labelers: list[VoterOut]
    next_battles: list[BattleOut] = Field(description="Where the next 100 votes would tell most about who is best.")
    findings: list[FindingOut]
    charts: dict[str, str]
    movement: MovementOut | None
