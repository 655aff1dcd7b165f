"""The one JSON document of a call, on stdout: the answer, or why there is none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from hero_eval import remedies
from hero_eval.documents import SCHEMA_VERSION, json_text
from hero_eval.errors import HeroError

_ANSWERED: ContextVar[bool] = ContextVar("answered", default=False)
"""Whether it is written: a command may answer, and then end with a refusal."""


def begin() -> None:
    """A call begins; nothing is written yet."""
    _ANSWERED.set(False)


def show_json(document: Mapping[str, Any]) -> None:
    """Write one strict JSON document to stdout and nothing else."""
    utf = (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(json_text(document, ascii_only=not utf) + "\n")
    _ANSWERED.set(True)


def show_refusal(error: HeroError) -> None:
    """The exit code and each problem (code, fact, what to do) in the place of the answer, unless that is there."""
    if _ANSWERED.get():
        return
    problems = [
        {"code": one.code, "message": one.message, "action": remedies.of_error(one.code)} for one in error.problems
    ]
    show_json({"schema_version": SCHEMA_VERSION, "exit_code": error.exit_code, "problems": problems})
    sys.stdout.flush()
