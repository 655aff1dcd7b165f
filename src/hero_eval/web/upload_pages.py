"""The pages on which a file comes in: the form, what the file holds, and adding it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import UploadFile

from hero_eval.errors import HeroError, wrong
from hero_eval.io.exports.tool_names import TOOLS
from hero_eval.name_lists import joined
from hero_eval.web import api
from hero_eval.web.forms import about_from, bounded_form
from hero_eval.web.layout import Text, check_form, page, progress, started
from hero_eval.web.rendering import link
from hero_eval.web.security import client_of
from hero_eval.web.service import Service
from hero_eval.web.uploads import KINDS, Upload
from hero_eval.web.ways import UPLOAD_WAYS

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/upload")
def upload(request: Request) -> Response:
    service = api.service_of(request)
    return page(
        request,
        "upload.html",
        "Add a round",
        "upload",
        now=service.latest.now(),
        said=_as_said({}),
        kinds=KINDS,
        tools=list(TOOLS),
        most=service.settings.max_upload,
    )


FIELDS = (
    "round", "question", "model", "date", "tool", "fields", "provider", "item", "labeler_columns", "experts", "classes",
    "positive", "columns",
)  # fmt: skip


@router.post("/upload")
async def take(request: Request) -> Response:
    """Keep the file aside and show what it holds."""
    async with bounded_form(request) as form:
        said = {name: str(form.get(name) or "") for name in (*FIELDS, "gold_source")}
        check_form(request, str(form.get("form_token") or ""))
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise wrong("E508", "no file was chosen")
        service = api.service_of(request)
        found = await run_in_threadpool(_keep, service, file, said, client_of(request.scope))
    return RedirectResponse(link("/upload/preview", id=found.id), 303)


def _keep(service: Service, file: UploadFile, said: Mapping[str, str], client: str) -> Upload:
    found = service.uploads.take(file.filename, file.file, about_from(said), client)
    _read_soon(service, found, client)
    return found


def _read_soon(service: Service, upload: Upload, client: str) -> None:
    """Start on the preview; if there is too much to do, its page can ask again."""
    with suppress(HeroError):
        service.start(service.preview_order(service.latest.now(), upload), client)


@router.post("/upload/preview")
def look_at_it(request: Request, id: Annotated[str, Query(max_length=100)], form_token: Text = "") -> Response:
    """Read the file again: the store has changed since, or there was too much to do."""
    service = api.service_of(request)
    return started(request, service.preview_order(service.latest.now(), service.uploads.find(id)), form_token)


@router.get("/upload/preview")
def preview(request: Request, id: Annotated[str, Query(max_length=100)]) -> Response:
    service = api.service_of(request)
    now = service.latest.now()
    found = service.uploads.find(id)
    if found.is_added:
        return RedirectResponse(link("/round", name=found.about["round"]), 303)
    answer = service.look(service.preview_order(now, found))
    return page(
        request,
        "preview.html",
        f"Preview of {found.name}",
        "upload",
        now=now,
        upload=found,
        said=_as_said(found.about),
        tools=list(TOOLS),
        ways=UPLOAD_WAYS,
        preview=api.with_remedies(answer.result.document) if answer.is_there else None,
        **progress(answer),
    )


def _as_said(about: Mapping[str, Any]) -> dict[str, str]:
    """What was said, as a form shows it."""
    texts = {key: joined(of, ", ") if isinstance(of, list) else of for key, of in about.items() if key != "columns"}
    texts["columns"] = joined((f"{ours}={theirs}" for ours, theirs in about.get("columns", {}).items()), ", ")
    return {name: str(texts.get(name, "")) for name in (*FIELDS, "gold_source")}


@router.post("/upload/change")
async def change(request: Request) -> Response:
    """Say something else about the file, and look again."""
    async with bounded_form(request, files=0) as form:
        said = {name: str(form.get(name) or "") for name in (*FIELDS, "gold_source")}
        id, token = str(form.get("id") or ""), str(form.get("form_token") or "")
    check_form(request, token)
    service = api.service_of(request)
    service.queue.stop_reading(str(service.uploads.find(id).path))
    changed = service.uploads.change(id, about_from(said))
    await run_in_threadpool(_read_soon, service, changed, client_of(request.scope))
    return RedirectResponse(link("/upload/preview", id=id), 303)


@router.post("/upload/confirm")
def confirm(request: Request, id: Text, form_token: Text = "") -> Response:
    check_form(request, form_token)
    service = api.service_of(request)
    service.start(service.add_order(service.uploads.find(id)), client_of(request.scope))
    return RedirectResponse(link("/upload/adding", id=id), 303)


@router.get("/upload/adding")
def adding(request: Request, id: Annotated[str, Query(max_length=100)]) -> Response:
    """Until it is in the store; then its page."""
    service = api.service_of(request)
    found = service.uploads.find(id)
    answer = service.look(service.add_order(found))
    if found.is_added:
        return RedirectResponse(link("/round", name=found.about["round"]), 303)
    if not answer.is_asked:
        return RedirectResponse(link("/upload/preview", id=id), 303)
    return page(request, "adding.html", f"Adding {found.name}", "upload", upload=found, **progress(answer))


@router.post("/upload/drop")
def drop(request: Request, id: Text, form_token: Text = "") -> Response:
    check_form(request, form_token)
    service = api.service_of(request)
    service.drop(service.uploads.find(id))
    return RedirectResponse("/upload", 303)
