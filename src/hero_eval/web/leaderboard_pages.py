"""The leaderboard of a question: a view that only looks, and a POST beside it that has models ranked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from hero_eval.errors import HeroError, wrong
from hero_eval.store.past_rounds import newest_votes
from hero_eval.web import api
from hero_eval.web.layout import NO_WORK, Class, Level, Question, Text, page, progress, set_cookie, started
from hero_eval.web.pages import LEVELS, YEAR, better_cookie
from hero_eval.web.queue import Order
from hero_eval.web.rendering import link
from hero_eval.web.service import RankingOptions, Service, columns_to_choose_by, question_of, ranked_by, ranked_rounds
from hero_eval.web.snapshot import Snapshot
from hero_eval.web.verdict import WAYS

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
BEST = {"high": "highest", "low": "lowest"}


@dataclass(frozen=True)
class LeaderboardAsked:
    """A question and how its models are ranked, from a page's address; `about` is None in an empty store."""

    about: str | None
    models: tuple[str, ...]
    better: str | None
    choice: RankingOptions
    by: str = "rates"
    said: Mapping[str, str] = field(default_factory=dict)
    """The filters of the page, as its form has them."""

    @property
    def is_enough(self) -> bool:
        return len(self.models) > 1

    def order(self, service: Service, now: Snapshot) -> Order:
        if self.about is None or not self.is_enough:
            raise wrong("E230", "a leaderboard needs rounds of two models or more")
        return service.leaderboard_order(now, self.about, self.choice)


def leaderboard_asked(
    request: Request,
    question: Question = None,
    better: Annotated[str | None, Query(max_length=10)] = None,
    until: Annotated[str, Query(max_length=20)] = "",
    level: Level = 0.95,
    positive: Class = "",
    by: Annotated[str, Query(max_length=10)] = "",
    column: Annotated[str, Query(max_length=200)] = "",
    value: Annotated[str, Query(max_length=500)] = "",
    movement: Annotated[str, Query(max_length=1)] = "",
) -> LeaderboardAsked:
    now = api.service_of(request).latest.now()
    about = question_of(now, question)
    way = better if better in WAYS or about is None else request.cookies.get(better_cookie(about))
    way = way if way in WAYS else None
    choice = RankingOptions.written(BEST[way or "high"], until, level, positive, by, column, value, movement)
    if about is None:
        return LeaderboardAsked(about, (), way, choice)
    ranks_by = ranked_by(now, about, choice)
    said = {"by": by, "column": column if value else "", "value": value if column else "", "movement": movement}
    return LeaderboardAsked(about, _models(now, about, choice, ranks_by), way, choice, ranks_by, said)


def _models(now: Snapshot, question: str, choice: RankingOptions, by: str) -> tuple[str, ...]:
    """Who can be ranked."""
    if by == "rates":
        return tuple(str(row.model) for row in ranked_rounds(now, question, choice.until)[0])
    try:
        facts = newest_votes(now.log, question, until=choice.until).vote_facts
    except HeroError:  # no votes up to that day
        return ()
    return tuple(facts["models"]) if facts else ()


Asked = Annotated[LeaderboardAsked, Depends(leaderboard_asked)]


@router.post("/leaderboard")
def work_out_leaderboard(request: Request, wanted: Asked, form_token: Text = "") -> Response:
    service = api.service_of(request)
    return started(request, wanted.order(service, service.latest.now()), form_token)


@router.get("/leaderboard")
def leaderboard(
    request: Request, wanted: Asked, better: Annotated[str | None, Query(max_length=10)] = None
) -> Response:
    service = api.service_of(request)
    now = service.latest.now()
    about, choice = wanted.about, wanted.choice
    said = {
        "question": about,
        "until": choice.until,
        "positive": choice.positive,
        **{key: of or None for key, of in wanted.said.items()},
        "level": None if choice.level == 0.95 else choice.level,
    }
    response = page(
        request,
        "leaderboard.html",
        "Leaderboard",
        "leaderboard",
        now=now,
        question=about,
        models=wanted.models,
        by=wanted.by,
        ways_to_rank=_ways_to_rank(now, about),
        rank_by=lambda way: link("/leaderboard", **(said | {"by": way, "column": None, "value": None})),
        moved=lambda: link("/leaderboard", better=wanted.better, **(said | {"movement": "1"})),
        columns=columns_to_choose_by(now, about, wanted.by) if about is not None else [],
        column=wanted.said.get("column", ""),
        value=wanted.said.get("value", ""),
        movement=choice.movement,
        is_enough=wanted.is_enough,
        better=wanted.better,
        until="" if choice.until is None else choice.until.isoformat(),
        positive=choice.positive or "",
        level=choice.level,
        levels=sorted({*LEVELS, choice.level}),
        download=lambda file: link("/download", of="leaderboard", file=file, better=wanted.better, **said),
        turn=lambda to: link("/leaderboard", better=to, **said),
        **(progress(service.look(wanted.order(service, now))) if wanted.is_enough else NO_WORK),
    )
    if about is not None and better in WAYS:
        set_cookie(request, response, better_cookie(about), better or "", YEAR)
    return response


def _ways_to_rank(now: Snapshot, question: str | None) -> list[str]:
    """Rates and votes, if the question has rounds of both."""
    kinds = {row.is_votes for row in now.rounds(question)} if question is not None else set()
    return ["rates", "votes"] if len(kinds) > 1 else []
