"""Giving gold by the JSON API, under /api/v1/gold: draw a queue, take the next item, answer, skip, take back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request

from hero_eval.errors import HeroError, wrong
from hero_eval.store.gold_records import GoldRecord, read_records
from hero_eval.web import gold_schemas as schemas
from hero_eval.web.api import LATER, REFUSED, answered, job_document, service_of
from hero_eval.web.api_schemas import JobOut
from hero_eval.web.forms import FormsOrJson
from hero_eval.web.gold_desk import Showing, checked_expert
from hero_eval.web.gold_setup import item_columns, proposed_columns, queue_request
from hero_eval.web.security import client_of
from hero_eval.web.service import Service

router = APIRouter(prefix="/api/v1/gold", responses=REFUSED, route_class=FormsOrJson)

EVERY = 5
"""So many answers after the last estimate the next one is made."""

RoundName = Annotated[str, Query(description="The name of a round of the store.", max_length=200)]
Expert = Annotated[str, Form(description="Who answers.", max_length=200)]
Item = Annotated[str, Form(max_length=20_000)]
AnswerId = Annotated[str, Form(description="As the item came with it; one sent twice counts once.", max_length=100)]
Note = Annotated[str, Form(max_length=10_000)]


def known_expert(service: Service, round: str, name: str) -> str:
    """E521 for a name that cannot be used, or that is a labeler's: gold judges labelers."""
    checked_expert(name)
    now = service.latest.now()
    now.log.find(round)
    labelers = {str(one[key]) for one in now.labelers.get(round, ()) for key in ("labeler", "name")}
    if name in labelers:
        raise wrong("E521", f"{name!r} is a labeler of round {round!r}, who is judged by the gold of others")
    return name


def gold_document(service: Service, round: str) -> dict[str, Any]:
    """How far the open queue of a round is, and what its answers tell."""
    status = service.desk.status(round)
    job, known, newer = service.progress(round)
    queue = status.queue
    return {
        "round": round,
        "queue": queue.queue,
        "way": queue.way,
        "classes": list(queue.options["classes"]),
        "items": len(queue.drawn),
        **{name: getattr(status, name) for name in ("answered", "skipped", "left", "second")},
        "experts": list(status.experts),
        "agreement": {**asdict(status.agreement), "differing": list(status.agreement.differing)},
        "progress": known,
        "newer": newer,
        "job": None if job is None else job_document(job),
    }


def item_document(showing: Showing) -> dict[str, Any]:
    options = showing.queue.options
    return {
        **{name: getattr(showing, name) for name in ("id", "item", "number", "left")},
        "queue": showing.queue.queue,
        "question": options.get("question") or "",
        "contents": dict(showing.contents),
        "columns": dict(options.get("columns", {})),
        "choices": [asdict(one) for one in showing.choices],
    }


def after_record(service: Service, round: str, client: str) -> None:
    """Have the answers made gold every now and then; that is no reason to refuse one."""
    with suppress(HeroError):
        _, _, newer = service.progress(round)
        if newer >= EVERY or not service.desk.status(round).left:
            service.start_progress(round, client)


def kept(request: Request, service: Service, round: str, keep: Callable[[], GoldRecord]) -> GoldRecord:
    """What an expert did, kept; on the page and in the API, whatever it was."""
    made = keep()
    after_record(service, round, client_of(request.scope))
    return made


@router.get("", response_model=schemas.GoldOut)
def gold(request: Request, round: RoundName) -> Any:
    """How far the queue of a round is, how well experts agree, and what their answers tell so far."""
    service = service_of(request)
    service.latest.now().log.find(round)
    return gold_document(service, round)


@router.get("/records", response_model=schemas.GoldRecordsOut)
def records(request: Request, round: RoundName) -> Any:
    """All that experts did in a round: answers, skips, undos, notes; what was taken back stays."""
    _refuse_experts(request)
    service = service_of(request)
    service.latest.now().log.find(round)
    return {"records": [asdict(one) for one in read_records(service.desk.place, round)]}


def _refuse_experts(request: Request) -> None:
    """What others answered, and what is asked of whom, is not for a login that must stay blind."""
    if request.scope.get("hero_role") == "expert":
        raise wrong("E520", "this login is for giving gold alone")


@router.get("/queue", response_model=schemas.GoldQueueOut, responses=LATER)
def queue(request: Request, round: RoundName) -> Any:
    """The open queue of a round, or how far a new one is that is being drawn."""
    service = service_of(request)
    service.latest.now().log.find(round)
    drawing = service.drawing(round)
    if drawing is not None and not drawing.is_there and drawing.job is not None:
        return answered(drawing)
    found = service.desk.status(round).queue
    return {
        "round": round,
        "queue": found.queue,
        "items": len(found.drawn),
        "twice": len(found.twice),
        "way": found.way,
    }


@router.post("/queue", response_model=JobOut, status_code=202)
def draw(
    request: Request,
    round: RoundName,
    count: Annotated[int, Query(ge=1, le=2_000, description="Items.")] = 30,
    twice: Annotated[int, Query(ge=0, le=100, description="Percent of them that are answered twice.")] = 10,
    way: Annotated[str, Query(max_length=20, description="routed or random.")] = "routed",
    seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    question: Annotated[str, Query(max_length=2_000, description="What experts are asked.")] = "",
    show: Annotated[list[str], Query(description="column=how; without it as the names tell.", max_length=100)] = [],  # noqa: B006
) -> Any:
    """Have a queue of items drawn for experts, each time a new one; the one before ends, and its answers stay."""
    _refuse_experts(request)
    service = service_of(request)
    columns = item_columns(service.latest.now().log.find(round))
    said = {"count": str(count), "twice": str(twice), "way": way, "seed": str(seed), "question_text": question}
    ways = dict(one.split("=", 1) for one in show if "=" in one) or proposed_columns(columns)
    asked = queue_request({**said, **{f"show {name}": how for name, how in ways.items()}}, list(columns))
    return job_document(service.start_drawing(round, asked, None, client_of(request.scope)))


@router.post("/next", response_model=schemas.GoldNextOut)
def next_item(request: Request, round: RoundName, expert: Expert) -> Any:
    """The next item for an expert; nobody else gets it for a quarter of an hour."""
    service = service_of(request)
    showing = service.desk.next(round, known_expert(service, round, expert))
    return {"item": None if showing is None else item_document(showing)}


@router.post("/answer", response_model=schemas.GoldRecordOut)
def answer(
    request: Request,
    round: RoundName,
    expert: Expert,
    id: AnswerId,
    item: Item,
    gold: Annotated[str, Form(max_length=500)],
    note: Note = "",
) -> Any:
    """Give an answer. It is in the store when this answers."""
    service = service_of(request)
    who = known_expert(service, round, expert)
    keep = partial(service.desk.answer, round, who, id=id, item=item, gold=gold, note=note)
    return asdict(kept(request, service, round, keep))


@router.post("/skip", response_model=schemas.GoldRecordOut)
def skip(
    request: Request,
    round: RoundName,
    expert: Expert,
    id: AnswerId,
    item: Item,
    reason: Annotated[str, Form(max_length=100)],
    note: Note = "",
) -> Any:
    """Skip an item, and say why; somebody else gets it."""
    service = service_of(request)
    who = known_expert(service, round, expert)
    keep = partial(service.desk.skip, round, who, id=id, item=item, reason=reason, note=note)
    return asdict(kept(request, service, round, keep))


@router.post("/undo", response_model=schemas.GoldRecordOut)
def undo(request: Request, round: RoundName, expert: Expert) -> Any:
    """Take back what an expert did last; the item comes again. Both stay in the store."""
    service = service_of(request)
    who = known_expert(service, round, expert)
    return asdict(kept(request, service, round, partial(service.desk.undo, round, who)))


@router.post("/progress", response_model=schemas.GoldOut)
def work_out_progress(request: Request, round: RoundName) -> Any:
    """Have the answers made gold of the round, and estimated; ask GET until `newer` is 0."""
    service = service_of(request)
    service.latest.now().log.find(round)
    service.desk.status(round)
    _, known, newer = service.progress(round)
    if newer or known is None:
        service.start_progress(round, client_of(request.scope))
    return gold_document(service, round)
