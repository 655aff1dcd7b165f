"""Answers that are no result: errors, as a page for people and as a document for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

from hero_eval.errors import Problem
from hero_eval.web.http_errors import error_document, status_of
from hero_eval.web.rendering import render

TITLES = {
    401: "You need the token",
    403: "Not from there",
    404: "There is no such thing here",
    405: "That cannot be done here",
    408: "Too slow",
    409: "That does not fit what is there",
    413: "Too large",
    415: "This kind of file is not taken",
    422: "That does not work",
    429: "Too much at once",
    500: "Something broke",
    503: "The store cannot answer",
}

CLOSE = {"Connection": "close"}
MORE = {401: {"WWW-Authenticate": "Bearer"}, 408: CLOSE, 413: CLOSE, 429: {"Retry-After": "10", **CLOSE}}
"""Headers by status; what is too large, too slow or too much is not read to its end."""


def refuse(
    path: str, problems: Sequence[Problem], status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a request that cannot be served, in the form that its path deserves."""
    code = status or status_of(problems[0].code)
    headers = {**(headers or {}), **MORE.get(code, {})}
    document = error_document(problems)
    if path.startswith("/api/"):
        return JSONResponse(document, code, headers)
    return HTMLResponse(error_page(document, code), code, headers)


def error_page(document: dict[str, Any], status: int) -> str:
    return render("error.html", title=TITLES.get(status, "That does not work"), error=document, place="", here=None)
