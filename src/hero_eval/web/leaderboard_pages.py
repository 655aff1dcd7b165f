"""The leaderboard of a question: a view that only looks, and a POST beside it that has models ranked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from hero_eval.errors import wrong
from hero_eval.web import api
from hero_eval.web.layout import NO_WORK, Class, Level, Question, Text, page, progress, set_cookie, started
from hero_eval.web.pages import LEVELS, YEAR, better_cookie
from hero_eval.web.queue import Order
from hero_eval.web.rendering import link
from hero_eval.web.service import RankingOptions, Service, question_of, ranked_rounds
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
) -> LeaderboardAsked:
    now = api.service_of(request).latest.now()
    about = question_of(now, question)
    way = better if better in WAYS or about is None else request.cookies.get(better_cookie(about))
    way = way if way in WAYS else None
    choice = RankingOptions.written(BEST[way or "high"], until, level, positive)
    rows = ranked_rounds(now, about, choice.until)[0] if about is not None else []
    return LeaderboardAsked(about, tuple(str(row.model) for row in rows), way, choice)


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
