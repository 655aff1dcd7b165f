"""The pages. Each view takes what is known from the shelf, asks for work if something is not, and renders."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import UploadFile

from hero_eval import words
from hero_eval.charts.look import csv_text
from hero_eval.documents import json_text, plain
from hero_eval.errors import Problem, wrong
from hero_eval.methods.registry import all_methods
from hero_eval.reading.exports.imports import TOOLS
from hero_eval.report.contents import Row, Told
from hero_eval.report.pages import axis
from hero_eval.store.log import Entry
from hero_eval.web import api, guard
from hero_eval.web.desk import Answer, Choice, Desk, models_at_first, question_of
from hero_eval.web.forms import about_from, split
from hero_eval.web.refusals import error_document
from hero_eval.web.rendering import link, render
from hero_eval.web.shelf import Snapshot
from hero_eval.web.uploads import KINDS
from hero_eval.web.verdict import WAYS, chance_of, in_order, sureness, verdict
from hero_eval.web.work import Order

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
LEVELS = (0.8, 0.9, 0.95, 0.99)
YEAR = 365 * 86400
WAIT_AFTER_WRONG = 0.5
"""Seconds that a wrong token costs."""

Text = Annotated[str, Form()]
Name = Annotated[str, Query(max_length=200)]
Question = Annotated[str | None, Query(max_length=200)]
Level = Annotated[float, Query(gt=0, lt=1)]
Class = Annotated[str, Query(max_length=500)]


def _unless_default(level: float) -> float | None:
    return None if level == 0.95 else level


def page(
    request: Request, template: str, title: str, here: str | None = None, status: int = 200, **known: Any
) -> HTMLResponse:
    """A page of the site, with a visitor's cookie and the token for its forms."""
    desk = api.desk_of(request)
    visit = request.cookies.get(guard.VISIT_COOKIE) or secrets.token_urlsafe(24)
    place = PurePosixPath(desk.settings.store).name or desk.settings.store
    shown = render(
        template,
        title=title,
        here=here,
        place=place,
        form_token=guard.form_token(desk.secret, visit),
        can_leave=desk.settings.token is not None,
        back=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        **known,
    )
    response = HTMLResponse(shown, status)
    if guard.VISIT_COOKIE not in request.cookies:
        _set_cookie(request, response, guard.VISIT_COOKIE, visit)
    return response


def _set_cookie(request: Request, response: Response, name: str, value: str, seconds: int | None = None) -> None:
    response.set_cookie(
        name, value, max_age=seconds, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/"
    )


def check_form(request: Request, given: str) -> None:
    """E503 unless the form is one of ours, shown to this visitor."""
    visit = request.cookies.get(guard.VISIT_COOKIE, "")
    if not visit or not guard.same(given, guard.form_token(api.desk_of(request).secret, visit)):
        raise wrong("E503", "this form was not shown to you by this server, or the server was started anew since")


def progress(answer: Answer) -> dict[str, Any]:
    """What a page shows of work: the job, and its error if it failed."""
    failed = error_document(answer.job.problems) if answer.job.state == "failed" else None
    return {"job": answer.job, "failed": failed, "result": answer.result}


# Rounds


@router.get("/")
def rounds(request: Request) -> Response:
    desk = api.desk_of(request)
    now = desk.shelf.now()
    parts = [_question_part(desk, now, question) for question in now.questions]
    return page(request, "rounds.html", "Rounds", "rounds", now=now, parts_of=parts)


def _question_part(desk: Desk, now: Snapshot, question: str) -> dict[str, Any]:
    """The rounds of a question, newest first, their numbers on one axis, and the course of these if it is drawn."""
    rows = list(reversed(now.rounds(question)))
    bars = {row.round: _bar(now, row) for row in rows}
    known = [one for one in bars.values() if one is not None]
    bounds = _bounds(now, rows)
    order = desk.course_order(now, question)
    drawn = desk.ask(order) if order is not None else None
    under_way = [
        desk.work.job(desk.round_order(now, row.round, Choice()).id) for row in rows if bars[row.round] is None
    ]
    jobs = [*under_way, drawn.job if drawn is not None else None]
    return {
        "job": next((one for one in jobs if one is not None and not one.is_over), None),
        "n_missing": sum(one is None for one in under_way),
        "question": question,
        "rows": rows,
        "bars": bars,
        "scale": axis(known, bounds),
        "bounds": bounds,
        "what": next((now.headlines[row.round].what for row in rows if row.round in now.headlines), None),
        "drawn": drawn.result.html if drawn is not None and drawn.is_there else None,
    }


def _bar(now: Snapshot, row: Entry) -> Row | None:
    one = now.headlines.get(row.round)
    if one is None or one.value is None or one.low is None or one.high is None:
        return None
    return Row(row.round, one.value, one.low, one.high, math.nan)


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
    desk = api.desk_of(request)
    now = desk.shelf.now()
    rows = now.rounds(question_of(now, question))
    missing = [row for row in reversed(rows) if row.round not in now.headlines]
    for row in missing[:MOST_AT_ONCE]:
        desk.ask(desk.round_order(now, row.round, Choice()))
    return RedirectResponse("/", 303)


@router.get("/round")
def round_(
    request: Request,
    name: Name,
    method: str = "",
    covariates: str = "",
    level: Level = 0.95,
    positive: str = "",
    cluster: str = "",
) -> Response:
    desk = api.desk_of(request)
    now = desk.shelf.now()
    choice = Choice(method or None, tuple(split(covariates)), level, positive or None, cluster or None)
    answer = desk.ask(desk.round_order(now, name, choice))
    asked = {"method": method, "covariates": covariates, "level": level, "positive": positive, "cluster": cluster}
    said = {key: of for key, of in asked.items() if of not in ("", 0.95)}
    entry = now.log.find(name)
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
        methods=list(all_methods()),
        levels=sorted({*LEVELS, level}),
        download=lambda file: link("/download", of="round", file=file, name=name, **said),
        **progress(answer),
    )


# Models


@router.get("/models")
def models(
    request: Request,
    question: Question = None,
    round: Annotated[list[str], Query(max_length=12)] = [],  # noqa: B006
    baseline: Annotated[str | None, Query(max_length=200)] = None,
    better: Annotated[str | None, Query(max_length=10)] = None,
    level: Level = 0.95,
    positive: Class = "",
    cluster: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    desk = api.desk_of(request)
    now = desk.shelf.now()
    named = now.log.find(round[0]).question if round and question is None else question
    about = question_of(now, named)
    if about is None or len(now.rounds(about)) < 2:
        return page(request, "models_empty.html", "Models", "models", now=now, question=about)
    rounds = list(round) or [row.round for row in models_at_first(now, about)]
    if len(rounds) < 2:
        rounds = [row.round for row in now.rounds(about)[-2:]]
    if baseline is not None and baseline not in rounds:
        baseline = None
    order, chosen = desk.models_order(
        now, rounds, baseline, Choice(level=level, positive=positive or None, cluster=cluster or None)
    )
    answer = desk.ask(order)
    asked = {
        "round": list(round),
        "baseline": baseline,
        "level": _unless_default(level),
        "positive": positive,
        "cluster": cluster,
    }
    way = better if better in WAYS else request.cookies.get(_better_cookie(about))
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
        download=lambda file: link("/download", of="models", file=file, **{**asked, "round": rounds}),
        turn=lambda to: link("/models", question=about, better=to, **asked),
        **progress(answer),
    )
    if better in WAYS:
        _set_cookie(request, response, _better_cookie(about), better or "", YEAR)
    return response


def _better_cookie(question: str) -> str:
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
        "told": [Told(_as_finding(one), one["remedy"], one["concerns"]) for one in found["findings"]],
    }


def _points(value: float, reach: float) -> str:
    """A difference with its sign: of shares in points of 100, else as it is."""
    if not math.isfinite(value):
        return words.UNKNOWN
    return f"{100 * value:+.1f}" if reach == 1.0 else f"{value:+.3g}"


def _as_finding(one: Mapping[str, Any]) -> Any:
    from hero_eval.findings import Finding

    return Finding(one["code"], one["message"])


def _number_row(name: str, one: Mapping[str, Any] | None) -> Row:
    known = {key: math.nan if one is None or one[key] is None else float(one[key]) for key in ("value", "low", "high")}
    return Row(name, known["value"], known["low"], known["high"], math.nan)


# Labelers and backtest


@router.get("/labelers")
def labelers(request: Request, question: Question = None, level: Level = 0.95) -> Response:
    desk = api.desk_of(request)
    now = desk.shelf.now()
    about = question_of(now, question)
    with_gold = [row for row in now.rounds(about) if row.gold] if about else []
    answer = desk.ask(desk.labelers_order(now, about, level)) if about and with_gold else None
    return page(
        request,
        "labelers.html",
        "Labelers",
        "labelers",
        now=now,
        question=about,
        download=lambda file: link("/download", of="labelers", file=file, question=about),
        **(progress(answer) if answer else {"job": None, "failed": None, "result": None}),
    )


@router.get("/backtest")
def backtest(request: Request, question: Question = None, level: Level = 0.95, positive: Class = "") -> Response:
    desk = api.desk_of(request)
    now = desk.shelf.now()
    about = question_of(now, question)
    with_gold = [row for row in now.rounds(about) if row.gold] if about else []
    is_enough = about is not None and len(with_gold) >= 2
    answer = desk.ask(desk.backtest_order(now, about, level, positive or None)) if about and is_enough else None
    return page(
        request,
        "backtest.html",
        "Backtest",
        "backtest",
        now=now,
        question=about,
        n_with_gold=len(with_gold),
        positive=positive,
        level=level,
        levels=sorted({*LEVELS, level}),
        download=lambda file: link(
            "/download", of="backtest", file=file, question=about, positive=positive, level=_unless_default(level)
        ),
        **(progress(answer) if answer else {"job": None, "failed": None, "result": None}),
    )


@router.post("/retry")
def retry(request: Request, id: Text, back: Text, form_token: Text = "") -> Response:
    """Forget a failure, so that the page asks anew."""
    check_form(request, form_token)
    api.desk_of(request).work.forget(id)
    return RedirectResponse(_local(back), 303)


def _local(place: str) -> str:
    """A place on this server; the start page for whatever else somebody wrote into a link."""
    is_ours = place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable()
    return place if is_ours else "/"


# Upload


@router.get("/upload")
def upload(request: Request) -> Response:
    desk = api.desk_of(request)
    return page(
        request,
        "upload.html",
        "Add a round",
        "upload",
        now=desk.shelf.now(),
        said=_as_said({}),
        kinds=KINDS,
        tools=list(TOOLS),
        most=desk.settings.max_upload,
    )


FIELDS = ("round", "question", "model", "date", "tool", "fields", "experts", "classes", "positive", "columns")


@router.post("/upload")
async def take(request: Request) -> Response:
    """Keep the file aside and show what it holds."""
    from fastapi.concurrency import run_in_threadpool

    async with request.form(max_files=1, max_fields=40, max_part_size=20_000) as form:
        said = {name: str(form.get(name) or "") for name in (*FIELDS, "gold_source")}
        check_form(request, str(form.get("form_token") or ""))
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise wrong("E508", "no file was chosen")
        desk = api.desk_of(request)
        found = await run_in_threadpool(_keep, desk, file, said)
    return RedirectResponse(link("/upload/preview", id=found.id), 303)


def _keep(desk: Desk, file: UploadFile, said: Mapping[str, str]) -> Any:
    return desk.uploads.take(file.filename, file.file, about_from(said))


@router.get("/upload/preview")
def preview(request: Request, id: Annotated[str, Query(max_length=100)]) -> Response:
    desk = api.desk_of(request)
    now = desk.shelf.now()
    found = desk.uploads.find(id)
    if found.is_added:
        return RedirectResponse(link("/round", name=found.about["round"]), 303)
    answer = desk.ask(desk.preview_order(now, found))
    return page(
        request,
        "preview.html",
        f"Preview of {found.name}",
        "upload",
        now=now,
        upload=found,
        said=_as_said(found.about),
        tools=list(TOOLS),
        preview=api.with_remedies(answer.result.document) if answer.is_there else None,
        **progress(answer),
    )


def _as_said(about: Mapping[str, Any]) -> dict[str, str]:
    """What was said, as a form shows it."""
    texts = {key: ", ".join(of) if isinstance(of, list) else of for key, of in about.items() if key != "columns"}
    texts["columns"] = ", ".join(f"{ours}={theirs}" for ours, theirs in about.get("columns", {}).items())
    return {name: str(texts.get(name, "")) for name in (*FIELDS, "gold_source")}


@router.post("/upload/change")
async def change(request: Request) -> Response:
    """Say something else about the file, and look again."""
    async with request.form(max_files=0, max_fields=40, max_part_size=20_000) as form:
        said = {name: str(form.get(name) or "") for name in (*FIELDS, "gold_source")}
        id, token = str(form.get("id") or ""), str(form.get("form_token") or "")
    check_form(request, token)
    api.desk_of(request).uploads.change(id, about_from(said))
    return RedirectResponse(link("/upload/preview", id=id), 303)


@router.post("/upload/confirm")
def confirm(request: Request, id: Text, form_token: Text = "") -> Response:
    check_form(request, form_token)
    desk = api.desk_of(request)
    desk.ask(desk.add_order(desk.uploads.find(id)))
    return RedirectResponse(link("/upload/adding", id=id), 303)


@router.get("/upload/adding")
def adding(request: Request, id: Annotated[str, Query(max_length=100)]) -> Response:
    """Until it is in the store; then its page."""
    desk = api.desk_of(request)
    found = desk.uploads.find(id)
    answer = desk.ask(desk.add_order(found))
    if answer.is_there:
        desk.uploads.added(id)
        return RedirectResponse(link("/round", name=answer.result.document["round"]), 303)
    return page(request, "adding.html", f"Adding {found.name}", "upload", upload=found, **progress(answer))


@router.post("/upload/drop")
def drop(request: Request, id: Text, form_token: Text = "") -> Response:
    check_form(request, form_token)
    api.desk_of(request).uploads.drop(id)
    return RedirectResponse("/upload", 303)


# Downloads


@router.get("/download")
def download(
    request: Request,
    of: Annotated[str, Query(max_length=20)],
    file: Annotated[str, Query(max_length=100)],
    name: Name = "",
    question: Question = None,
    round: Annotated[list[str], Query(max_length=12)] = [],  # noqa: B006
    baseline: Annotated[str | None, Query(max_length=200)] = None,
    method: str = "",
    covariates: str = "",
    level: Level = 0.95,
    positive: str = "",
    cluster: str = "",
) -> Response:
    """A file of something that is shown; back to its page if it is not worked out yet."""
    desk = api.desk_of(request)
    now = desk.shelf.now()
    if of == "rounds":
        return _attachment(file, _rounds_file(now, file), "rounds")
    order: Order
    if of == "round":
        choice = Choice(method or None, tuple(split(covariates)), level, positive or None, cluster or None)
        order, back, stem = desk.round_order(now, name, choice), "/round", name
    elif of == "models":
        choice = Choice(level=level, positive=positive or None, cluster=cluster or None)
        order, _ = desk.models_order(now, api.compared(now, question, round), baseline, choice)
        back, stem = "/models", "models"
    elif of in ("labelers", "backtest"):
        about = api.needed_question(now, question)
        order, back, stem = desk.labelers_order(now, about, level), f"/{of}", of
        if of == "backtest":
            order = desk.backtest_order(now, about, level, positive or None)
    else:
        raise wrong("E507", f"there is nothing called {of!r} to download")
    answer = desk.ask(order)
    answer.raise_failure()
    if not answer.is_there:
        kept = [(key, value) for key, value in request.query_params.multi_items() if key not in ("of", "file")]
        return RedirectResponse(f"{back}?{urlencode(kept)}", 303)
    files = {**answer.result.files, f"{of}.json": json_text(answer.result.document) + "\n"}
    if file not in files:
        raise wrong("E507", f"there is no file {file[:60]!r}. There are: {', '.join(sorted(files))}")
    return _attachment(file, files[file], stem)


def _rounds_file(now: Snapshot, file: str) -> str:
    rows = [plain(_flat(api.round_document(now, row))) for row in now.rounds()]
    if file == "rounds.json":
        return json_text({"store_version": now.version, "rounds": rows}) + "\n"
    if file == "rounds.csv":
        return csv_text({key: [row[key] for row in rows] for key in rows[0]}) if rows else "\n"
    raise wrong("E507", f"there is no file {file[:60]!r}. There are: rounds.csv, rounds.json")


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    headline = row["headline"] or {}
    kept = {key: of for key, of in row.items() if key != "headline"}
    return kept | {"date": str(row["date"])} | {key: headline.get(key) for key in ("value", "low", "high", "method")}


MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
}


def _attachment(file: str, text: str, stem: str) -> Response:
    """To be saved, not opened here; and if it is opened here, it may do nothing."""
    plain_stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.")[:80] or "hero"
    base, dot, ending = file.rpartition(".")
    called = file if base == plain_stem else f"{plain_stem}-{file}"
    headers = {
        "Content-Disposition": f'attachment; filename="{called}"',
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    }
    return Response(text, media_type=MEDIA[f"{dot}{ending}"], headers=headers)


# Coming in


@router.get("/login")
def login(request: Request, next: str = "/") -> Response:
    return page(request, "login.html", "Log in", next=_local(next), error=None)


@router.post("/login")
async def log_in(request: Request) -> Response:
    async with request.form(max_files=0, max_fields=10, max_part_size=2_000) as form:
        given, next, ours = (str(form.get(name) or "") for name in ("token", "next", "form_token"))
    check_form(request, ours)
    token = api.desk_of(request).settings.token
    if token is None or not guard.same(given.strip(), token):
        await asyncio.sleep(WAIT_AFTER_WRONG)
        error = error_document([Problem("E502", "the token is wrong")])
        return page(request, "login.html", "Log in", status=401, next=_local(next), error=error)
    response = RedirectResponse(_local(next or "/"), 303)
    _set_cookie(request, response, guard.LOGIN_COOKIE, guard.login_cookie(token))
    return response


@router.post("/logout")
def log_out(request: Request, form_token: Text = "") -> Response:
    check_form(request, form_token)
    response = RedirectResponse("/login", 303)
    response.delete_cookie(guard.LOGIN_COOKIE, path="/")
    return response


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
