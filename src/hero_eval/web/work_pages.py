"""What is being worked out, what waits and why, and stopping it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hero_eval.web import api
from hero_eval.web.http_errors import error_document
from hero_eval.web.layout import Text, check_form, local, page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
MOST_SHOWN = 50


@router.get("/work")
def work(request: Request) -> Response:
    jobs = api.service_of(request).queue.jobs()
    running = [one for one in jobs if one.state == "running"]
    waiting = sorted((one for one in jobs if one.state == "waiting"), key=lambda one: (one.lane, one.ahead))
    over = [(one, error_document(one.problems) if one.problems else None) for one in jobs if one.is_over]
    return page(request, "work.html", "Work", "work", running=running, waiting=waiting, over=over[:MOST_SHOWN])


@router.post("/stop")
def stop(request: Request, id: Text, back: Text = "/work", form_token: Text = "") -> Response:
    """Take work out of the queue, or end the process that does it."""
    check_form(request, form_token)
    api.service_of(request).queue.stop(id)
    return RedirectResponse(local(back), 303)


@router.post("/retry")
def retry(request: Request, id: Text, back: Text, form_token: Text = "") -> Response:
    """Forget a failure, so that it can be asked for anew."""
    check_form(request, form_token)
    api.service_of(request).queue.forget(id)
    return RedirectResponse(local(back), 303)
