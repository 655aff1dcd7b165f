"""What all pages share: the layout, a visitor's cookie, the token of forms, work in progress."""

from __future__ import annotations

import secrets
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hero_eval.errors import wrong
from hero_eval.web import api, security
from hero_eval.web.http_errors import error_document
from hero_eval.web.queue import Order
from hero_eval.web.rendering import render
from hero_eval.web.service import Answer

Text = Annotated[str, Form()]
Name = Annotated[str, Query(max_length=200)]
Question = Annotated[str | None, Query(max_length=200)]
Level = Annotated[float, Query(gt=0, lt=1)]
Class = Annotated[str, Query(max_length=500)]


def page(
    request: Request, template: str, title: str, here: str | None = None, status: int = 200, **known: Any
) -> HTMLResponse:
    """A page of the site, with a visitor's cookie and the token for its forms."""
    service = api.service_of(request)
    visit = request.cookies.get(security.VISIT_COOKIE) or secrets.token_urlsafe(24)
    place = PurePosixPath(service.settings.store).name or service.settings.store
    shown = render(
        template,
        title=title,
        here=here,
        place=place,
        form_token=security.form_token(service.secret, visit),
        can_leave=service.settings.token is not None,
        is_expert=is_expert(request),
        back=here_of(request),
        starts="now" if security.is_own_visit(request.headers) else "",
        **known,
    )
    response = HTMLResponse(shown, status)
    if security.VISIT_COOKIE not in request.cookies:
        set_cookie(request, response, security.VISIT_COOKIE, visit)
    return response


def is_expert(request: Request) -> bool:
    """Whether this login is for giving gold alone."""
    return request.scope.get("hero_role") == "expert"


def set_cookie(request: Request, response: Response, name: str, value: str, seconds: int | None = None) -> None:
    response.set_cookie(
        name, value, max_age=seconds, httponly=True, samesite="strict", secure=is_over_tls(request), path="/"
    )


def is_over_tls(request: Request) -> bool:
    """Whether people come by https, to us or to the proxy before us."""
    return request.url.scheme == "https" or api.service_of(request).settings.is_over_tls


def here_of(request: Request) -> str:
    """The address of this page, as a link."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def check_form(request: Request, given: str) -> None:
    """E503 unless the form is one of ours, shown to this visitor."""
    visit = request.cookies.get(security.VISIT_COOKIE, "")
    if not visit or not security.same(given, security.form_token(api.service_of(request).secret, visit)):
        raise wrong("E503", "this form was not shown to you by this server, or the server was started anew since")


def progress(answer: Answer) -> dict[str, Any]:
    """What a page shows of work: the job, its error if it failed, and whether somebody must ask for it first."""
    failed = error_document(answer.problems) if answer.problems else None
    return {"job": answer.job, "failed": failed, "result": answer.result, "unasked": not answer.is_asked}


def started(request: Request, order: Order, token: str) -> Response:
    """Have it worked out, and show the page again: what every form that starts work does."""
    check_form(request, token)
    api.service_of(request).start(order, security.client_of(request.scope))
    return RedirectResponse(here_of(request), 303)


NO_WORK: dict[str, Any] = {"job": None, "failed": None, "result": None, "unasked": False}
"""What a page shows where there is nothing to work out."""


def local(place: str) -> str:
    """A place on this server; the start page for whatever else somebody wrote into a link."""
    is_ours = place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable()
    return place if is_ours else "/"
