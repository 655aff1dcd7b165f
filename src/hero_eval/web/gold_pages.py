"""Giving gold: the rounds, a queue to be drawn, and one item after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hero_eval.charts.theme import csv_text
from hero_eval.errors import HeroError, wrong
from hero_eval.io.values import count_of
from hero_eval.store.gold_records import ExpertAgreement, ExpertQueue, GoldRecord, read_records
from hero_eval.web import api
from hero_eval.web.forms import BoundedForms, bounded_form
from hero_eval.web.gold_api import gold_document, kept, known_expert
from hero_eval.web.gold_desk import REASONS, Showing, checked_expert, choices_of, left_side, sides_of
from hero_eval.web.gold_setup import item_columns, proposed_columns, queue_request
from hero_eval.web.http_errors import error_document
from hero_eval.web.item_view import KINDS, shown_parts, shown_side
from hero_eval.web.layout import Name, Text, check_form, is_expert, page, progress, set_cookie
from hero_eval.web.picture_files import picture_path, read_picture
from hero_eval.web.rendering import link
from hero_eval.web.security import client_of
from hero_eval.web.service import Service

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=BoundedForms)

EXPERT_COOKIE = "hero_expert"
HIDE_COOKIE = "hero_gold_hide"
YEAR = 365 * 86400
MOST_LISTED = 25
"""Columns that the form for a queue lists; it may have 40 fields. The others stay hidden; the API takes all."""


def expert_of(request: Request) -> str | None:
    """Who gives gold in this browser, as they said."""
    name = unquote(request.cookies.get(EXPERT_COOKIE, ""))
    try:
        return checked_expert(name) if name else None
    except HeroError:
        return None


@router.get("/gold")
def gold(request: Request, round: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    """The rounds; of one of them its queue, or the next item."""
    service = api.service_of(request)
    now = service.latest.now()
    if round is None:
        queues = {name: service.desk.status(name) for name in service.desk.rounds() if name in now.live}
        rows = [row for row in reversed(now.rounds()) if row.round in queues or not is_expert(request)]
        return page(request, "gold.html", "Give gold", "gold", rows=rows, queues=queues)
    now.log.find(round)
    if service.desk.queue(round) is None:
        return _set_up(request, service, round)
    name = expert_of(request)
    if name is None:
        return page(request, "gold_name.html", "Give gold", "gold", round=round, error=None)
    return _item(request, service, round, name)


@router.get("/gold/queue")
def another_queue(request: Request, round: Name) -> Response:
    """The form for a new queue, also if there is one."""
    service = api.service_of(request)
    service.latest.now().log.find(round)
    return _set_up(request, service, round)


def _set_up(request: Request, service: Service, round: str) -> Response:
    if is_expert(request):
        raise wrong("E522", f"round {round!r} has no queue of items for experts yet")
    entry = service.latest.now().log.find(round)
    columns = item_columns(entry)
    queue = service.desk.queue(round)
    before: Mapping[str, Any] = {} if queue is None else queue.options
    proposed = proposed_columns(columns)
    if queue is not None:
        proposed = {name: before["columns"].get(name, "hidden") for name in columns}
    answer = service.drawing(round)
    listed = sorted(proposed, key=lambda name: proposed[name] == "hidden")[:MOST_LISTED]
    return page(
        request,
        "gold_start.html",
        f"Gold for {round}",
        "gold",
        round=round,
        entry=entry,
        columns={name: proposed[name] for name in proposed if name in listed},
        n_unlisted=len(proposed) - len(listed),
        kinds=KINDS,
        queue=queue,
        question=before.get("question", ""),
        answers=", ".join(f"{value}={text}" for value, text in before.get("names", {}).items()),
        **(progress(answer) if answer is not None else {"job": None, "failed": None, "result": None}),
    )


@router.post("/gold/queue")
async def draw(request: Request) -> Response:
    async with bounded_form(request, files=0) as form:
        said = {name: str(of) for name, of in form.items()}
    return await run_in_threadpool(_draw, request, said)


def _draw(request: Request, said: Mapping[str, str]) -> Response:
    check_form(request, said.get("form_token", ""))
    if is_expert(request):
        raise wrong("E520", "this login is for giving gold alone")
    service, round = api.service_of(request), said.get("round", "")
    entry = service.latest.now().log.find(round)
    asked = queue_request(said, list(item_columns(entry)))
    service.start_drawing(round, asked, expert_of(request), client_of(request.scope))
    return RedirectResponse(link("/gold/drawing", round=round), 303)


@router.get("/gold/drawing")
def drawing(request: Request, round: Name) -> Response:
    """Until the queue is there; then its first item."""
    service = api.service_of(request)
    answer = service.drawing(round)
    if answer is None or answer.is_there:
        return RedirectResponse(link("/gold", round=round), 303)
    return page(request, "gold_drawing.html", f"Gold for {round}", "gold", round=round, **progress(answer))


@router.post("/gold/name")
def say_name(request: Request, round: Text = "", expert: Text = "", form_token: Text = "") -> Response:
    check_form(request, form_token)
    service = api.service_of(request)
    try:
        name = known_expert(service, round, " ".join(expert.split()))
    except HeroError as error:
        problem = error_document(error.problems)
        return page(request, "gold_name.html", "Give gold", "gold", status=422, round=round, error=problem)
    response = RedirectResponse(link("/gold", round=round), 303)
    set_cookie(request, response, EXPERT_COOKIE, quote(name), YEAR)
    return response


@router.post("/gold/leave")
def leave(request: Request, round: Text = "", form_token: Text = "") -> Response:
    """Let somebody else answer in this browser."""
    check_form(request, form_token)
    response = RedirectResponse(link("/gold", round=round), 303)
    response.delete_cookie(EXPERT_COOKIE, path="/")
    return response


@router.post("/gold/hide")
def hide(request: Request, round: Text = "", hidden: Text = "", form_token: Text = "") -> Response:
    """Show or hide the numbers, in this browser."""
    check_form(request, form_token)
    response = RedirectResponse(link("/gold", round=round), 303)
    set_cookie(request, response, HIDE_COOKIE, "1" if hidden else "0", YEAR)
    return response


def _item(request: Request, service: Service, round: str, name: str) -> Response:
    known_expert(service, round, name)
    showing = service.desk.next(round, name)
    found = gold_document(service, round)
    hidden = request.cookies.get(HIDE_COOKIE) == "1"
    last = service.desk.last(round, name)
    known: dict[str, Any] = {
        "round": round,
        "name": name,
        "found": found,
        "last": last,
        "can_undo": service.desk.can_undo(round, name),
        "called": {one.value: one.text for one in choices_of(service.desk.status(round).queue, None)},
        "hidden": hidden,
        "agreed": agreement_text(service.desk.status(round).agreement),
        "reasons": REASONS,
        "showing": showing,
    }
    if showing is not None:
        known |= _view(service, round, showing)
    return page(request, "gold_item.html", f"Gold for {round}", "gold", **known)


def _view(service: Service, round: str, showing: Showing) -> dict[str, Any]:
    """What the template shows of an item."""
    columns = showing.queue.options.get("columns", {})

    def picture(column: str, **named: str) -> str | None:
        value = str(showing.contents.get(column) or "")
        if picture_path(service.settings.images, value) is None:
            return None
        return link("/gold/image", round=round, item=showing.item, **(named or {"column": column}))

    sides = showing.sides
    classes = showing.queue.options["classes"]
    is_scale = sides is None and len(classes) > 2 and all(one.lstrip("-").isdigit() for one in classes)
    return {
        "parts_shown": shown_parts(showing.contents, columns, picture),
        "side_parts": [
            (text, shown_side(str(showing.contents.get(column) or ""), text, picture(column, side=text.lower())))
            for text, column in zip(("Left", "Right"), sides or (), strict=False)
        ],
        "question": showing.queue.options.get("question") or "",
        "is_scale": is_scale,
    }


def agreement_text(found: ExpertAgreement) -> str:
    """How well experts agree, in words; empty if no item was answered twice."""
    parts = []
    if found.items:
        parts.append(f"Two experts gave the same answer to {found.same} of {count_of(found.items, 'item')}.")
    if found.own_items:
        parts.append(
            f"Asked again, an expert gave the same answer to {found.own_same} of {count_of(found.own_items, 'item')}."
        )
    return " ".join(parts)


def _expert(request: Request, service: Service, round: str, token: str) -> str:
    check_form(request, token)
    name = expert_of(request)
    if name is None:
        raise wrong("E521", "nobody has said who gives gold in this browser")
    return known_expert(service, round, name)


def _next(request: Request, service: Service, round: str, keep: Callable[[], GoldRecord]) -> Response:
    """Keep what the expert did, then show the next item."""
    kept(request, service, round, keep)
    return RedirectResponse(link("/gold", round=round), 303)


@router.post("/gold/answer")
def answer(
    request: Request,
    round: Text = "",
    item: Text = "",
    id: Text = "",
    place: Text = "",
    note: Text = "",
    form_token: Text = "",
) -> Response:
    """Keep the answer, then show the next item."""
    service = api.service_of(request)
    name = _expert(request, service, round, form_token)
    gold = service.desk.choice(round, name, item, place)
    keep = partial(service.desk.answer, round, name, id=id, item=item, gold=gold, note=note)
    return _next(request, service, round, keep)


@router.post("/gold/skip")
def skip(
    request: Request,
    round: Text = "",
    item: Text = "",
    id: Text = "",
    reason: Text = "",
    note: Text = "",
    form_token: Text = "",
) -> Response:
    service = api.service_of(request)
    name = _expert(request, service, round, form_token)
    keep = partial(service.desk.skip, round, name, id=id, item=item, reason=reason, note=note)
    return _next(request, service, round, keep)


@router.post("/gold/undo")
def undo(request: Request, round: Text = "", form_token: Text = "") -> Response:
    service = api.service_of(request)
    name = _expert(request, service, round, form_token)
    return _next(request, service, round, partial(service.desk.undo, round, name))


@router.get("/gold/image")
def image(
    request: Request,
    round: Name,
    item: Annotated[str, Query(max_length=20_000)],
    column: Annotated[str, Query(max_length=200)] = "",
    side: Literal["left", "right", ""] = "",
) -> Response:
    """A picture that an item in the queue names; no other file can be asked for.

    One of two sides goes by where this expert sees it: a column's name would tell which of the models it is.
    """
    service = api.service_of(request)
    queue, path = service.desk.queue(round), None
    if queue is not None:
        named = _column_at(queue, item, expert_of(request), side) if side else column
        value = str(queue.contents.get(item, {}).get(named) or "")
        if side or queue.options.get("columns", {}).get(column) == "image":
            path = picture_path(service.settings.images, value)
    if path is None:
        raise wrong("E526", f"there is no picture for {side or f'column {column!r}'} of this item")
    data, kind = read_picture(path, f"the picture on the {side}" if side else None)
    return Response(data, media_type=kind, headers={"Content-Security-Policy": "default-src 'none'"})


def _column_at(queue: ExpertQueue, item: str, expert: str | None, side: str) -> str:
    """The column that this expert sees on the left or on the right."""
    columns = sides_of(queue, left_side(queue, item, expert)) if expert is not None else None
    return "" if columns is None else columns[side == "right"]


@router.get("/gold/answers.csv")
def answers_file(request: Request, round: Name) -> Response:
    """All that experts did in a round, as a table."""
    if is_expert(request):
        raise wrong("E520", "this login is for giving gold alone")
    service = api.service_of(request)
    service.latest.now().log.find(round)
    rows = [asdict(one) for one in read_records(service.desk.place, round)]
    names = ("written", "action", "item", "gold", "expert", "second", "left", "reason", "note", "seconds", "id", "of")
    text = csv_text({key: [row[key] for row in rows] for key in names}) if rows else ",".join(names) + "\n"
    headers = {"Content-Disposition": 'attachment; filename="answers.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)
