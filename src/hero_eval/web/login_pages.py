"""Coming in and leaving, where a token is demanded."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from hero_eval.errors import Problem
from hero_eval.web import api, security
from hero_eval.web.forms import bounded_form
from hero_eval.web.http_errors import error_document
from hero_eval.web.layout import Text, check_form, local, page, set_cookie

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
WAIT_AFTER_WRONG = 0.5
"""Seconds that a wrong token costs."""


@router.get("/login")
def login(request: Request, next: str = "/") -> Response:
    return page(request, "login.html", "Log in", next=local(next), error=None)


@router.post("/login")
async def log_in(request: Request) -> Response:
    async with bounded_form(request, files=0) as form:
        given, next, ours = (str(form.get(name) or "") for name in ("token", "next", "form_token"))
    check_form(request, ours)
    settings = api.service_of(request).settings
    tokens = [one for one in (settings.token, settings.gold_token) if one is not None]
    fitting = [one for one in tokens if security.same(given.strip(), one)]
    if not fitting:
        await asyncio.sleep(WAIT_AFTER_WRONG)
        error = error_document([Problem("E502", "the token is wrong")])
        return page(request, "login.html", "Log in", status=401, next=local(next), error=error)
    place = "/gold" if fitting[0] == settings.gold_token and not next.startswith("/gold") else local(next or "/")
    response = RedirectResponse(place, 303)
    set_cookie(request, response, security.LOGIN_COOKIE, security.login_cookie(fitting[0]))
    return response


@router.post("/logout")
def log_out(request: Request, form_token: Text = "") -> Response:
    check_form(request, form_token)
    response = RedirectResponse("/login", 303)
    response.delete_cookie(security.LOGIN_COOKIE, path="/")
    return response
