"""How an error is said over HTTP: a status, and a document with code, message and remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from hero_eval import remedies
from hero_eval.errors import HeroError, Problem

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
}
"""Codes whose status is not 422. Only what is wrong with the server or its store is 5xx."""

UNPROCESSABLE = 422


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
    return {"code": one.code, "message": message, "remedy": remedies.ERRORS.get(one.code, "").replace("`", "")}


def error_document(problems: Sequence[Problem]) -> dict[str, Any]:
    """The first problem, and all of them."""
    said = [problem_document(one) for one in problems]
    return {**said[0], "problems": said}


def failed(problems: Sequence[Problem]) -> HeroError:
    """An error to raise for work that failed in its process."""
    return HeroError(tuple(problems))
