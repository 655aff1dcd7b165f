"""What is said of an upload, from the fields of a form, of which there are few and short ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData

from hero_eval.errors import wrong
from hero_eval.io.exports.tool_names import TOOLS
from hero_eval.name_lists import mapping, names

NAMES = ("round", "question", "model", "date", "tool", "positive", "gold_source")
LISTS = ("fields", "experts", "classes")

MOST_FIELDS = 40
LONGEST_FIELD = 20_000
"""Fields are held in memory, and so are the first bytes of each file; only the file that is asked for may be large."""


@asynccontextmanager
async def bounded_form(request: Request, files: int = 1) -> AsyncIterator[FormData]:
    """The form of a request, with few fields, short ones; E508 if it has more or cannot be understood.

    The default is a thousand fields and as many files, each with a megabyte of memory.
    """
    try:
        form = await request.form(max_files=files, max_fields=MOST_FIELDS, max_part_size=LONGEST_FIELD)
    except FormParserError as error:
        raise wrong("E508", f"the form cannot be read: invalid multipart data ({error})") from error
    try:
        yield form
    finally:
        await form.close()


class BoundedForms(APIRoute):
    """A route that reads its form by `bounded_form`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def bounded(request: Request) -> Response:
            async with bounded_form(request):
                return await handle(request)  # which finds the form read

        return bounded


def about_from(said: Mapping[str, str | None]) -> dict[str, Any]:
    """Names, lists and the mapping of columns; what was left empty is left out."""
    about: dict[str, Any] = {}
    for name in NAMES:
        if text := (said.get(name) or "").strip():
            about[name] = text
    for name in LISTS:
        if text := (said.get(name) or "").strip():
            about[name] = names(name, text)
    if text := (said.get("columns") or "").strip():
        about["columns"] = mapping("columns has", names("columns", text) or ())
    if about.get("tool") not in (None, *TOOLS):
        raise wrong("E201", f"tool is {about['tool']!r}. Known: {', '.join(TOOLS)}")
    return about
