"""How an error is said over HTTP: a status, and a page for people or a document with code, message and remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

from hero_eval import remedies
from hero_eval.errors import HeroError, Problem
from hero_eval.web.rendering import render

STATUS = {
    "E401": 503,
    "E402": 503,
    "E403": 404,
    "E404": 409,
    "E406": 503,
    "E407": 404,
    "E408": 409,
    "E409": 503,
    "E410": 503,
    "E502": 401,
    "E503": 403,
    "E504": 413,
    "E505": 415,
    "E506": 404,
    "E507": 404,
    "E508": 422,
    "E509": 429,
    "E510": 503,
    "E511": 500,
    "E514": 409,
    "E515": 404,
    "E516": 408,
    "E520": 403,
    "E522": 404,
    "E523": 404,
    "E525": 409,
    "E526": 404,
}
"""Codes whose status is not 422. Only what is wrong with the server or its store is 5xx."""

UNPROCESSABLE = 422

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


def status_of(code: str) -> int:
    return STATUS.get(code, UNPROCESSABLE)


_ABSOLUTE = re.compile(r"(?<![\w.:/~-])/(?:[^\s/'\"`:,;()<>]+/)+([^\s/'\"`:,;()<>]*)")
_hidden: list[str] = []
"""Folders of the server, the longest first."""


def hide(*folders: str) -> None:
    """Say these folders by their last name from now on; a path with a space in it is not seen to be one otherwise."""
    wanted = {os.path.abspath(one) for one in folders} | {os.path.realpath(one) for one in folders}
    _hidden[:] = sorted({*_hidden, *wanted} - {"/"}, key=lambda one: (-len(one), one))


def without_paths(message: str) -> str:
    """Where things lie on the server concerns nobody who looks at its pages: names stay, folders go."""
    for one in _hidden:
        message = re.sub(rf"(?<![\w.:/~-]){re.escape(one)}(?![\w-])", os.path.basename(one), message)
    return _ABSOLUTE.sub(lambda found: found[1] or "the server's folder", message)


def problem_document(one: Problem) -> dict[str, str]:
    # what the page itself says names addresses of the page, not of the disk
    message = one.message if one.code.startswith("E5") else without_paths(one.message)
    return {"code": one.code, "message": message, "remedy": remedies.of_error(one.code)}


def error_document(problems: Sequence[Problem]) -> dict[str, Any]:
    """The first problem, and all of them."""
    said = [problem_document(one) for one in problems]
    return {**said[0], "problems": said}


def failed(problems: Sequence[Problem]) -> HeroError:
    """An error to raise for work that failed in its process."""
    return HeroError(tuple(problems))


def error_response(
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
