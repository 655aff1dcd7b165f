"""The pages. Each view takes what is known from the latest snapshot and renders; what is not known is worked out by a
POST to the same address, which a form on the page sends."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hero_eval import phrasing
from hero_eval.errors import wrong
from hero_eval.methods.registry import all_methods
from hero_eval.report.document import Row, Told
from hero_eval.report.html import axis
from hero_eval.store.log import Entry
from hero_eval.web import api
from hero_eval.web.layout import (
    NO_WORK,
    Class,
    Level,
    Name,
    Question,
    Text,
    check_form,
    page,
    progress,
    set_cookie,
    started,
)
from hero_eval.web.queue import Order
from hero_eval.web.rendering import link
from hero_eval.web.security import client_of
from hero_eval.web.service import RoundOptions, Service, models_at_first, question_of
from hero_eval.web.snapshot import Snapshot
from hero_eval.web.verdict import WAYS, chance_of, in_order, sureness, verdict
from hero_eval.web.ways import ROUND_WAYS

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
LEVELS = (0.8, 0.9, 0.95, 0.99)
YEAR = 365 * 86400


def _unless_default(level: float) -> float | None:
    return None if level == 0.95 else level


# Rounds


@router.get("/")
def rounds(request: Request) -> Response:
    service = api.service_of(request)
    now = service.latest.now()
    parts = [_question_part(service, now, question) for question in now.questions]
    return page(request, "rounds.html", "Rounds", "rounds", now=now, parts_of=parts)


def _question_part(service: Service, now: Snapshot, question: str) -> dict[str, Any]:
    """The rounds of a question, newest first, their numbers on one axis, and the course of these if it is drawn."""
    rows = list(reversed(now.rounds(question)))
    bars = {row.round: _bar(now, row) for row in rows}
    known = [one for one in bars.values() if one is not None]
    bounds = _bounds(now, rows)
    order = service.course_order(now, question)
    drawn = service.look(order) if order is not None else None
    missing = _unestimated(now, rows)
    under_way = [service.queue.job(service.round_order(now, row.round, RoundOptions()).id) for row in missing]
    jobs = [*under_way, drawn.job if drawn is not None else None]
    return {
        "job": next((one for one in jobs if one is not None and not one.is_over), None),
        "n_missing": sum(one is None for one in under_way),
        "question": question,
        "rows": rows,
        "bars": bars,
        "unknown": {row.round for row in rows if row.round in now.headlines and bars[row.round] is None},
        "scale": axis(known, bounds),
        "bounds": bounds,
        "what": next((now.headlines[one].what for one, bar in bars.items() if bar is not None), None),
        "drawn": drawn.result.html if drawn is not None and drawn.is_there else None,
        "undrawn": drawn is not None and not drawn.is_asked,
    }


@router.post("/course")
def draw_course(request: Request, question: Question = None, form_token: Text = "") -> Response:
    """Draw the recorded numbers of a question over its rounds."""
    check_form(request, form_token)
    service = api.service_of(request)
    now = service.latest.now()
    about = question_of(now, question)
    order = service.course_order(now, about) if about else None
    if order is not None:
        service.start(order, client_of(request.scope))
    return RedirectResponse("/", 303)


def _unestimated(now: Snapshot, rows: Sequence[Entry]) -> list[Entry]:
    """The rounds that have no number yet and may have one; votes have a leaderboard instead."""
    return [row for row in rows if row.round not in now.headlines and not row.is_votes]


def _bar(now: Snapshot, row: Entry) -> Row | None:
    one = now.headlines.get(row.round)
    if one is None or one.value is None or one.low is None or one.high is None:
        return None
    return Row(row.round, one.value, one.low, one.high, math.nan, undecided=phrasing.join(one.doubts))


def _bounds(now: Snapshot, rows: Sequence[Entry]) -> tuple[float, float]:
    """Rates lie between 0 and 1; of other scores only the seen ends are known here."""
    found = [now.headlines[row.round] for row in rows if row.round in now.headlines]
    if all(one.what.startswith("rate") for one in found):
        return 0.0, 1.0
    return min(one.low or 0.0 for one in found), max(one.high or 1.0 for one in found)


MOST_AT_ONCE = 24


@router.post("/estimate")
def estimate_missing(request: Request, question: Text, form_token: Text = "") -> Response:
    """Estimate the rounds of a question that have no number yet, the newest first."""
    check_form(request, form_token)
    service = api.service_of(request)
    now = service.latest.now()
    rows = now.rounds(question_of(now, question))
    for row in _unestimated(now, list(reversed(rows)))[:MOST_AT_ONCE]:
        service.start(service.round_order(now, row.round, RoundOptions()), client_of(request.scope))
    return RedirectResponse("/", 303)


@dataclass(frozen=True)
class RoundAsked:
    """A round and how it is to be estimated, from a page's address."""

    name: str
    said: dict[str, Any]
    choice: RoundOptions

    def order(self, service: Service, now: Snapshot) -> Order:
        return service.round_order(now, self.name, self.choice)


def round_asked(
    name: Name, method: str = "", covariates: str = "", level: Level = 0.95, positive: str = "", cluster: str = ""
) -> RoundAsked:
    said = {"method": method, "covariates": covariates, "level": level, "positive": positive, "cluster": cluster}
    return RoundAsked(name, said, RoundOptions.written(method, covariates, level, positive, cluster))


@router.post("/round")
def work_out_round(
    request: Request, wanted: Annotated[RoundAsked, Depends(round_asked)], form_token: Text = ""
) -> Response:
    service = api.service_of(request)
    return started(request, wanted.order(service, service.latest.now()), form_token)


@router.get("/round")
def round_(request: Request, wanted: Annotated[RoundAsked, Depends(round_asked)]) -> Response:
    service = api.service_of(request)
    now = service.latest.now()
    name, asked = wanted.name, wanted.said
    if now.log.find(name).is_votes:
        return RedirectResponse(link("/leaderboard", question=now.log.find(name).question, by="votes"), 303)
    answer = service.look(wanted.order(service, now))
    said = {key: of for key, of in asked.items() if of not in ("", 0.95)}
    entry, shown = now.log.find(name), progress(answer)
    return page(
        request,
        "round.html",
        f"Round {name}",
        "rounds",
        facts=api.round_page_document(now, name),
        entry=entry,
        headline=now.headlines.get(name) if not said else None,
        asked=asked,
        said=said,
        ways=ROUND_WAYS,
        methods=list(all_methods()),
        levels=sorted({*LEVELS, asked["level"]}),
        download=lambda file: link("/download", of="round", file=file, name=name, **said),
        **shown,
        asks_for_class=asks_for_class(shown),
    )


def asks_for_class(shown: Mapping[str, Any]) -> bool:
    """Whether the form below has to say which class is counted before there is a number."""
    failed = shown["failed"]
    return failed is not None and any(one["code"] == "E203" for one in failed["problems"])


# Models


@dataclass(frozen=True)
class ModelsAsked:
    """Which rounds are compared and how, from a page's address; `about` is None in an empty store."""

    about: str | None
    round: list[str]
    rounds: list[str]
    baseline: str | None
    level: float
    positive: str
    cluster: str

    @property
    def is_enough(self) -> bool:
        return len(self.rounds) > 1

    def order(self, service: Service, now: Snapshot) -> tuple[Order, list[Entry]]:
        choice = RoundOptions(level=self.level, positive=self.positive or None, cluster=self.cluster or None)
        return service.models_order(now, self.rounds, self.baseline, choice)


def models_asked(
    request: Request,
    question: Question = None,
    round: Annotated[list[str], Query(max_length=12)] = [],  # noqa: B006
    baseline: Annotated[str | None, Query(max_length=200)] = None,
    level: Level = 0.95,
    positive: Class = "",
    cluster: Annotated[str, Query(max_length=200)] = "",
) -> ModelsAsked:
    now = api.service_of(request).latest.now()
    named = now.log.find(round[0]).question if round and question is None else question
    about = question_of(now, named)
    rounds: list[str] = []
    if about is not None and len(now.rounds(about)) > 1:
        rounds = list(round) or [row.round for row in models_at_first(now, about)]
        rounds = rounds if len(rounds) > 1 else [row.round for row in now.rounds(about)[-2:]]
    base = baseline if baseline in rounds else None
    return ModelsAsked(about, list(round), rounds, base, level, positive, cluster)


@router.post("/models")
def work_out_models(
    request: Request, wanted: Annotated[ModelsAsked, Depends(models_asked)], form_token: Text = ""
) -> Response:
    service = api.service_of(request)
    return started(request, wanted.order(service, service.latest.now())[0], form_token)


@router.get("/models")
def models(
    request: Request,
    wanted: Annotated[ModelsAsked, Depends(models_asked)],
    better: Annotated[str | None, Query(max_length=10)] = None,
) -> Response:
    service = api.service_of(request)
    now = service.latest.now()
    about, level, positive, cluster = wanted.about, wanted.level, wanted.positive, wanted.cluster
    if about is None or not wanted.is_enough:
        return page(request, "models_empty.html", "Models", "models", now=now, question=about)
    order, chosen = wanted.order(service, now)
    answer = service.look(order)
    asked = {
        "round": wanted.round,
        "baseline": wanted.baseline,
        "level": _unless_default(level),
        "positive": positive,
        "cluster": cluster,
    }
    way = better if better in WAYS else request.cookies.get(better_cookie(about))
    way = way if way in WAYS else None
    response = page(
        request,
        "models.html",
        "Models compared",
        "models",
        now=now,
        question=about,
        rounds=list(reversed(now.rounds(about))),
        chosen={row.round for row in chosen},
        baseline=order.arguments["baseline"],
        better=way,
        level=level,
        levels=sorted({*LEVELS, level}),
        shown=_models_shown(answer.result, way) if answer.is_there else None,
        cluster=cluster,
        positive=positive,
        download=lambda file: link("/download", of="models", file=file, **{**asked, "round": wanted.rounds}),
        turn=lambda to: link("/models", question=about, better=to, **asked),
        **progress(answer),
    )
    if better in WAYS:
        set_cookie(request, response, better_cookie(about), better or "", YEAR)
    return response


def better_cookie(question: str) -> str:
    return f"hero_better_{hashlib.sha256(question.encode()).hexdigest()[:12]}"


def _models_shown(result: Any, better: str | None) -> dict[str, Any]:
    """What the template needs of a comparison: the verdict, and rows with bars on a common axis."""
    found = result.document
    rows = in_order(found, better)
    bars = [_number_row(row["model"], row) for row in rows]
    bounds = tuple(found["bounds"])
    reach = bounds[1] - bounds[0]
    return {
        "answer": verdict(found, better),
        "rows": [
            {"found": row, "bar": bar, "chance": chance_of(row, better), "gap": _number_row("", row["difference"])}
            for row, bar in zip(rows, bars, strict=True)
        ],
        "scale": axis(bars, bounds),
        "bounds": bounds,
        "points": lambda value: _points(value, reach),
        "is_share": reach == 1.0,
        "sureness": sureness,
        "told": [Told(_as_finding(one), one["concerns"]) for one in found["findings"]],
    }


def _points(value: float, reach: float) -> str:
    """A difference with its sign: of shares in points of 100, else as it is."""
    if not math.isfinite(value):
        return phrasing.UNKNOWN
    return f"{100 * value:+.1f}" if reach == 1.0 else f"{value:+.3g}"


def _as_finding(one: Mapping[str, Any]) -> Any:
    from hero_eval.findings import Finding

    return Finding(one["code"], one["message"], action=one["action"], doubts=one["doubts_interval"])


def _number_row(name: str, one: Mapping[str, Any] | None) -> Row:
    known = {key: math.nan if one is None or one[key] is None else float(one[key]) for key in ("value", "low", "high")}
    return Row(name, known["value"], known["low"], known["high"], math.nan)


# Labelers and backtest


@dataclass(frozen=True)
class QuestionAsked:
    """A question and how it is looked at, from a page's address; `about` is None in an empty store."""

    about: str | None
    n_with_gold: int
    level: float
    positive: str


def question_asked(
    request: Request, question: Question = None, level: Level = 0.95, positive: Class = ""
) -> QuestionAsked:
    now = api.service_of(request).latest.now()
    about = question_of(now, question)
    n_with_gold = sum(1 for row in now.rounds(about) if row.gold) if about else 0
    return QuestionAsked(about, n_with_gold, level, positive)


Asked = Annotated[QuestionAsked, Depends(question_asked)]


def _labelers_order(service: Service, now: Snapshot, wanted: QuestionAsked) -> Order | None:
    return service.labelers_order(now, wanted.about, wanted.level) if wanted.about and wanted.n_with_gold else None


def _backtest_order(service: Service, now: Snapshot, wanted: QuestionAsked) -> Order | None:
    if wanted.about is None or wanted.n_with_gold < 2:
        return None
    return service.backtest_order(now, wanted.about, wanted.level, wanted.positive or None)


def _started(request: Request, order: Order | None, token: str) -> Response:
    if order is None:
        raise wrong("E302", "there is not enough gold for this yet")
    return started(request, order, token)


@router.post("/labelers")
def work_out_labelers(request: Request, wanted: Asked, form_token: Text = "") -> Response:
    service = api.service_of(request)
    return _started(request, _labelers_order(service, service.latest.now(), wanted), form_token)


@router.post("/backtest")
def work_out_backtest(request: Request, wanted: Asked, form_token: Text = "") -> Response:
    service = api.service_of(request)
    return _started(request, _backtest_order(service, service.latest.now(), wanted), form_token)


@router.get("/labelers")
def labelers(request: Request, wanted: Asked) -> Response:
    service = api.service_of(request)
    now = service.latest.now()
    order = _labelers_order(service, now, wanted)
    level = _unless_default(wanted.level)
    return page(
        request,
        "labelers.html",
        "Labelers",
        "labelers",
        now=now,
        question=wanted.about,
        download=lambda file: link("/download", of="labelers", file=file, question=wanted.about, level=level),
        **(progress(service.look(order)) if order is not None else NO_WORK),
    )


@router.get("/backtest")
def backtest(request: Request, wanted: Asked) -> Response:
    service = api.service_of(request)
    now = service.latest.now()
    order = _backtest_order(service, now, wanted)
    said = {"question": wanted.about, "positive": wanted.positive, "level": _unless_default(wanted.level)}
    return page(
        request,
        "backtest.html",
        "Backtest",
        "backtest",
        now=now,
        question=wanted.about,
        n_with_gold=wanted.n_with_gold,
        positive=wanted.positive,
        level=wanted.level,
        levels=sorted({*LEVELS, wanted.level}),
        download=lambda file: link("/download", of="backtest", file=file, **said),
        **(progress(service.look(order)) if order is not None else NO_WORK),
    )


@router.get("/api")
def api_page(request: Request) -> Response:
    """The API in words, from its own description."""
    described = request.app.openapi()
    rows = [
        {"method": method.upper(), "path": path, "what": of.get("description") or of.get("summary", "")}
        for path, methods in described["paths"].items()
        for method, of in methods.items()
    ]
    return page(request, "api.html", "The API", "api", rows=rows)
