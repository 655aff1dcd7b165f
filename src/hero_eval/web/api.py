"""The JSON API, under /api/v1. A GET shows what is there; a POST to the same address has it worked out. What takes long
answers 202 with a job, until it is there."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, File, Form, Query, Request, UploadFile
from fastapi.responses import JSONResponse

from hero_eval import __version__
from hero_eval.errors import Problem, wrong
from hero_eval.name_lists import chosen_values
from hero_eval.store.log import Entry
from hero_eval.web import api_schemas as schemas
from hero_eval.web.forms import BoundedForms, about_from
from hero_eval.web.http_errors import error_document, problem_document, without_paths
from hero_eval.web.leaderboard_schemas import LeaderboardOut, VoteLeaderboardOut
from hero_eval.web.queue import Job, Order
from hero_eval.web.security import client_of
from hero_eval.web.service import Answer, RankingOptions, RoundOptions, Service, models_at_first, question_of
from hero_eval.web.snapshot import Snapshot
from hero_eval.web.uploads import Upload

REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorOut, "description": what}
    for status, what in {
        401: "the token is missing or wrong",
        403: "the request comes from another site",
        404: "there is no such round, question, job or upload, or nobody has asked for it yet (E515)",
        408: "the request came too slowly",
        409: "it does not fit what is there",
        413: "the request is too large",
        415: "the file is of a kind that is not taken",
        422: "the input or the call is wrong, or the data cannot support the answer",
        429: "too much work is waiting",
        503: "the store cannot be read or written",
    }.items()
}
LATER: dict[int | str, dict[str, Any]] = {202: {"model": schemas.JobOut, "description": "it is being worked out"}}

router = APIRouter(prefix="/api/v1", responses=REFUSED, route_class=BoundedForms)

Name = Annotated[str, Query(description="The name of a round of the store.", max_length=200)]
Question = Annotated[str | None, Query(description="Without it that of the latest round.", max_length=200)]
Level = Annotated[float, Query(description="Of the intervals.", gt=0, lt=1)]
Method = Annotated[str | None, Query(description="Without it the best one that the data allow.", max_length=100)]
Columns = Annotated[list[str], Query(description="Covariates: numeric columns of the items.", max_length=50)]
Positive = Annotated[str | None, Query(description="The class that is counted.", max_length=500)]
Cluster = Annotated[str | None, Query(description="A column whose equal values belong together.", max_length=200)]
Id = Annotated[str, Query(max_length=100)]


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def job_document(job: Job) -> dict[str, Any]:
    fields = ("id", "kind", "title", "state", "told", "done", "total", "ahead", "seconds", "left")
    error = error_document(job.problems) if job.problems else None
    return {name: getattr(job, name) for name in fields} | {"error": error}


def answered(answer: Answer) -> Any:
    """200 with the document, 202 with the job, or the error that it ended in; E515 if nobody has asked for it."""
    answer.raise_failure()
    if answer.job is None:
        raise wrong("E515", "this is not worked out yet. POST to the same address has it worked out")
    if not answer.is_there:
        return JSONResponse(job_document(answer.job), 202)
    return answer.result.document


def round_document(now: Snapshot, row: Entry) -> dict[str, Any]:
    fields = ("round", "question", "model", "date", "items", "labels", "gold", "labelers", "source", "version")
    headline = now.headlines.get(row.round)
    known = {name: getattr(row, name) for name in fields} | {"holds": "votes" if row.is_votes else "labels"}
    if row.source:
        known["source"] = without_paths(row.source)
    return known | {"headline": vars(headline) if headline else None}


def round_page_document(now: Snapshot, name: str) -> dict[str, Any]:
    row = now.log.find(name)
    who = tuple(schemas.LabelerIdentity.model_fields)
    kept = tuple(schemas.RecordOut.model_fields)
    return round_document(now, row) | {
        "classes": list(row.classes) if row.classes else None,
        "positive": row.positive,
        "history": [one.round for one in now.history(name)],
        "labeler_identities": [{key: one[key] for key in who} for one in now.labelers.get(name, ())],
        "changes": [
            {key: getattr(one, key) for key in ("version", "action", "labels", "gold", "written")}
            for one in now.changes(name)
        ],
        "records": [{key: one[key] for key in kept} for one in now.records.get(name, ())],
    }


@router.get("/store", response_model=schemas.StoreOut)
def store(request: Request) -> Any:
    """The store as a whole."""
    now = service_of(request).latest.now()
    rows = now.rounds()
    return {
        "version": now.version,
        "package": __version__,
        "rounds": len(rows),
        "questions": now.questions,
        **{name: sum(getattr(row, name) for row in rows) for name in ("items", "labels", "gold")},
    }


@router.get("/rounds", response_model=schemas.RoundsOut)
def rounds(request: Request, question: Question = None) -> Any:
    """The rounds, oldest first, each with its recorded number if that still holds."""
    now = service_of(request).latest.now()
    if question is not None:
        question_of(now, question)
    listed = [round_document(now, row) for row in now.rounds(question)]
    return {"store_version": now.version, "questions": now.questions, "rounds": listed}


@router.get("/round", response_model=schemas.RoundPageOut)
def round_(request: Request, name: Name) -> Any:
    """What the store knows of a round."""
    return round_page_document(service_of(request).latest.now(), name)


def round_asked(
    request: Request,
    name: Name,
    method: Method = None,
    covariates: Columns = [],  # noqa: B006
    level: Level = 0.95,
    positive: Positive = None,
    cluster: Cluster = None,
) -> Order:
    service = service_of(request)
    return service.round_order(
        service.latest.now(), name, RoundOptions(method, tuple(covariates), level, positive, cluster)
    )


@router.get("/round/result", response_model=schemas.RoundResultOut, responses=LATER)
def round_result(request: Request, order: Annotated[Order, Depends(round_asked)]) -> Any:
    """The estimate of a round, with every method and its labelers, if it is worked out."""
    return answered(service_of(request).look(order))


@router.post("/round/result", response_model=schemas.RoundResultOut, responses=LATER)
def work_out_round(request: Request, order: Annotated[Order, Depends(round_asked)]) -> Any:
    """Have the estimate of a round worked out, and recorded if it is asked for at the usual level."""
    return started(request, order)


def started(request: Request, order: Order) -> Any:
    return answered(service_of(request).start(order, client_of(request.scope)))


def models_asked(
    request: Request,
    question: Question = None,
    round: Annotated[list[str], Query(description="Without them the latest of each model.", max_length=12)] = [],  # noqa: B006
    baseline: Annotated[str | None, Query(description="The round to compare with.", max_length=200)] = None,
    level: Level = 0.95,
    positive: Positive = None,
    cluster: Cluster = None,
) -> Order:
    service = service_of(request)
    now = service.latest.now()
    choice = RoundOptions(level=level, positive=positive, cluster=cluster)
    return service.models_order(now, compared(now, question, round), baseline, choice)[0]


@router.get("/models", response_model=schemas.ModelsOut, responses=LATER)
def models(request: Request, order: Annotated[Order, Depends(models_asked)]) -> Any:
    """Models compared, all by the same history, if that is worked out."""
    return answered(service_of(request).look(order))


@router.post("/models", response_model=schemas.ModelsOut, responses=LATER)
def work_out_models(request: Request, order: Annotated[Order, Depends(models_asked)]) -> Any:
    """Have models compared."""
    return started(request, order)


def compared(now: Snapshot, question: str | None, rounds: Sequence[str]) -> list[str]:
    """Rounds as named, else the latest of each model."""
    if rounds:
        return list(rounds)
    found = question_of(now, question)
    return [row.round for row in models_at_first(now, found)] if found else []


def needed_question(now: Snapshot, question: str | None) -> str:
    found = question_of(now, question)
    if found is None:
        raise wrong("E403", "the store holds no round yet. Add one: hero add, or upload a file")
    return found


def labelers_asked(request: Request, question: Question = None, level: Level = 0.95) -> Order:
    service = service_of(request)
    now = service.latest.now()
    return service.labelers_order(now, needed_question(now, question), level)


@router.get("/labelers", response_model=schemas.LabelersOut, responses=LATER)
def labelers(request: Request, order: Annotated[Order, Depends(labelers_asked)]) -> Any:
    """Every labeler round by round, and who drifts, if that is worked out."""
    return answered(service_of(request).look(order))


@router.post("/labelers", response_model=schemas.LabelersOut, responses=LATER)
def work_out_labelers(request: Request, order: Annotated[Order, Depends(labelers_asked)]) -> Any:
    """Have it worked out how each labeler did round by round."""
    return started(request, order)


def backtest_asked(
    request: Request, question: Question = None, level: Level = 0.95, positive: Positive = None
) -> Order:
    service = service_of(request)
    now = service.latest.now()
    return service.backtest_order(now, needed_question(now, question), level, positive)


@router.get("/backtest", response_model=schemas.BacktestOut, responses=LATER)
def backtest(request: Request, order: Annotated[Order, Depends(backtest_asked)]) -> Any:
    """How far off each method would have been on past rounds, if that is worked out."""
    return answered(service_of(request).look(order))


@router.post("/backtest", response_model=schemas.BacktestOut, responses=LATER)
def work_out_backtest(request: Request, order: Annotated[Order, Depends(backtest_asked)]) -> Any:
    """Have it worked out how far off each method would have been."""
    return started(request, order)


LEADERBOARD = LeaderboardOut | VoteLeaderboardOut


def leaderboard_asked(
    request: Request,
    question: Question = None,
    best: Annotated[Literal["highest", "lowest"], Query(description="Which rate is best.")] = "highest",
    until: Annotated[datetime.date | None, Query(description="The last day whose rounds count.")] = None,
    level: Level = 0.95,
    positive: Positive = None,
    by: Annotated[
        Literal["rates", "votes"] | None, Query(description="What ranks; without it whichever the question has.")
    ] = None,
    where: Annotated[
        list[str], Query(max_length=10, description="Only items, or votes, with COLUMN=VALUE; may be repeated.")
    ] = [],  # noqa: B006
    movement: Annotated[bool, Query(description="Also how the models moved over the last rounds.")] = False,
) -> Order:
    service = service_of(request)
    now = service.latest.now()
    choice = RankingOptions(best, until, level, positive, by, chosen_values("where", where) or {}, movement)
    return service.leaderboard_order(now, needed_question(now, question), choice)


@router.get("/leaderboard", response_model=LEADERBOARD, responses=LATER)
def leaderboard(request: Request, order: Annotated[Order, Depends(leaderboard_asked)]) -> Any:
    """The newest round of each model of a question, or its newest votes, ranked together, if that is worked out."""
    return answered(service_of(request).look(order))


@router.post("/leaderboard", response_model=LEADERBOARD, responses=LATER)
def work_out_leaderboard(request: Request, order: Annotated[Order, Depends(leaderboard_asked)]) -> Any:
    """Have the models of a question ranked."""
    return started(request, order)


@router.get("/jobs", response_model=schemas.JobsOut)
def jobs(request: Request) -> Any:
    """Work that was asked for, the latest first."""
    return {"jobs": [job_document(one) for one in service_of(request).queue.jobs()[:100]]}


@router.get("/job", response_model=schemas.JobOut)
def job(request: Request, id: Id) -> Any:
    """How far a piece of work is."""
    found = service_of(request).queue.job(id)
    if found is None:
        raise wrong("E507", f"there is no work called {id!r}")
    return job_document(found)


@router.delete("/job", status_code=204, response_model=None)
def stop(request: Request, id: Id) -> None:
    """Stop a piece of work, whether it waits or runs."""
    service = service_of(request)
    if service.queue.job(id) is None:
        raise wrong("E507", f"there is no work called {id!r}")
    service.queue.stop(id)


@router.post("/uploads", response_model=schemas.UploadOut, status_code=201)
def upload(
    request: Request,
    file: Annotated[UploadFile, File(description="A table, or what a labeling tool exported.")],
    round: Annotated[str, Form(max_length=200)],
    question: Annotated[str | None, Form(max_length=200)] = None,
    model: Annotated[str | None, Form(max_length=200)] = None,
    date: Annotated[str | None, Form(max_length=40)] = None,
    tool: Annotated[str | None, Form(max_length=40)] = None,
    fields: Annotated[str | None, Form(max_length=1000, description="Separated by commas.")] = None,
    provider: Annotated[str | None, Form(max_length=200, description="Of several models in the file this one.")] = None,
    item: Annotated[str | None, Form(max_length=40, description="trace or observation, of Langfuse.")] = None,
    labeler_columns: Annotated[str | None, Form(max_length=1000, description="Separated by commas.")] = None,
    experts: Annotated[str | None, Form(max_length=1000, description="Separated by commas.")] = None,
    classes: Annotated[str | None, Form(max_length=1000, description="Separated by commas.")] = None,
    positive: Annotated[str | None, Form(max_length=500)] = None,
    columns: Annotated[str | None, Form(max_length=1000, description="ours=theirs, separated by commas.")] = None,
    gold_source: Annotated[str | None, Form(max_length=200)] = None,
) -> Any:
    """Bring a file. Nothing is added yet: look at the preview, then confirm."""
    said: Mapping[str, str | None] = {
        "round": round,
        "question": question,
        "model": model,
        "date": date,
        "tool": tool,
        "fields": fields,
        "provider": provider,
        "item": item,
        "labeler_columns": labeler_columns,
        "experts": experts,
        "classes": classes,
        "positive": positive,
        "columns": columns,
        "gold_source": gold_source,
    }
    about = about_from(said)
    service, client = service_of(request), client_of(request.scope)
    found = service.uploads.take(file.filename, file.file, about, client)
    return {"id": found.id, "file": found.name, "bytes": found.size}


def waiting_upload(request: Request, id: Id) -> Upload:
    found = service_of(request).uploads.find(id)
    if found.is_added:
        raise wrong("E506", f"{found.name!r} was added to the store already")
    return found


@router.get("/upload", response_model=schemas.PreviewOut, responses=LATER)
def preview(request: Request, upload: Annotated[Upload, Depends(waiting_upload)]) -> Any:
    """What a file holds, what adding it would do, and what stands in the way."""
    service = service_of(request)
    return previewed(service.look(service.preview_order(service.latest.now(), upload)))


@router.post("/upload", response_model=schemas.PreviewOut, responses=LATER)
def look_again(request: Request, upload: Annotated[Upload, Depends(waiting_upload)]) -> Any:
    """Have a file read, and read again if the store has changed since."""
    service = service_of(request)
    return previewed(service.start(service.preview_order(service.latest.now(), upload), client_of(request.scope)))


def previewed(answer: Answer) -> Any:
    found = answered(answer)
    return with_remedies(found) if answer.is_there else found


def with_remedies(preview: Mapping[str, Any]) -> dict[str, Any]:
    problems = [problem_document(Problem(one["code"], one["message"])) for one in preview["problems"]]
    return {**preview, "problems": problems}


@router.post("/upload/confirm", response_model=schemas.AddedOut, responses=LATER)
def confirm(request: Request, id: Id) -> Any:
    """Add it to the store."""
    service = service_of(request)
    return started(request, service.add_order(service.uploads.find(id)))


@router.delete("/upload", status_code=204, response_model=None)
def drop(request: Request, id: Id) -> None:
    """Throw it away, and stop whatever is done with it."""
    service = service_of(request)
    service.drop(service.uploads.find(id))
