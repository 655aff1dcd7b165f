"""What is said of an upload, from the fields of a form, of which there are few and short ones."""

from __future__ import annotations

import json
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

NAMES = ("round", "question", "model", "date", "tool", "positive", "gold_source", "provider", "item")
LISTS = ("fields", "experts", "classes", "labeler_columns")

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


class FormsOrJson(BoundedForms):
    """A route whose fields may also come as one flat JSON object; the API's description offers both."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        if self.body_field is None:
            return
        fields = {one.alias: one for one in self.dependant.body_params}
        needed = [name for name, one in fields.items() if one.field_info.is_required()]
        shape: dict[str, Any] = {"type": "object", "properties": {name: {"type": "string"} for name in fields}}
        offered = {"application/json": {"schema": shape | ({"required": needed} if needed else {})}}
        self.openapi_extra = {**(self.openapi_extra or {}), "requestBody": {"content": offered}}

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def either(request: Request) -> Response:
            if _is_json(request):
                request._form = _flat_form(await request.body())  # where Starlette keeps a form that was read
            return await handle(request)

        return either


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").split(";")[0].strip().lower() == "application/json"


def _flat_form(raw: bytes) -> FormData:
    """The fields of a JSON object; E508 for what no form could hold."""
    try:
        said = json.loads(raw)
    except ValueError as error:
        raise wrong("E508", f"the body cannot be read as JSON: {error}") from error
    if not isinstance(said, dict) or len(said) > MOST_FIELDS:
        raise wrong("E508", f'the body is one JSON object of at most {MOST_FIELDS} fields, such as {{"expert": "ann"}}')
    fields = {}
    for name, value in said.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise wrong("E508", f"the field {name[:60]!r} is {type(value).__name__}. It is a text or a number")
        fields[name] = value if isinstance(value, str) else json.dumps(value)
        if len(fields[name]) > LONGEST_FIELD:
            raise wrong("E508", f"the field {name[:60]!r} is longer than {LONGEST_FIELD:,} characters")
    return FormData(fields)


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
