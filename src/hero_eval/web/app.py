"""The application: security, pages, API, and what happens when something is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from hero_eval import __version__
from hero_eval.errors import HeroError, Problem, wrong
from hero_eval.web import (
    api,
    download_pages,
    gold_api,
    gold_pages,
    leaderboard_pages,
    login_pages,
    monitoring,
    pages,
    upload_pages,
    work_pages,
)
from hero_eval.web.http_errors import error_response, hide
from hero_eval.web.scratch import sweep
from hero_eval.web.security import SecurityMiddleware
from hero_eval.web.service import Service
from hero_eval.web.settings import Settings, checked

ASSETS = {
    "style.css": ("hero_eval.report", "templates/style.css", "text/css; charset=utf-8"),
    "page.css": ("hero_eval.web", "static/page.css", "text/css; charset=utf-8"),
    "page.js": ("hero_eval.web", "static/page.js", "text/javascript; charset=utf-8"),
    "gold.css": ("hero_eval.web", "static/gold.css", "text/css; charset=utf-8"),
    "gold.js": ("hero_eval.web", "static/gold.js", "text/javascript; charset=utf-8"),
}
"""What pages load: the report's own stylesheet first."""

ROOMS = (
    api,
    gold_api,
    pages,
    leaderboard_pages,
    gold_pages,
    upload_pages,
    download_pages,
    login_pages,
    work_pages,
    monitoring,
)
"""Whose functions answer."""


def create_app(settings: Settings) -> FastAPI:
    """The application for a store; E401 if there is none."""
    checked(settings)
    sweep()
    hide(settings.store)
    service = Service(settings)
    service.latest.now()

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(service.fold_what_waits)
        yield
        service.close()

    made = FastAPI(
        title="hero-eval",
        version=__version__,
        description="Rounds of a store, their estimates, models compared and ranked, labelers and backtests.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
    )
    made.state.service = service
    made.add_middleware(SecurityMiddleware, settings=settings, secret=service.secret)
    for room in ROOMS:
        made.include_router(room.router)
    made.add_api_route("/static/{name}", _asset, include_in_schema=False)
    made.add_exception_handler(HeroError, _hero_error)
    made.add_exception_handler(RequestValidationError, _invalid)
    made.add_exception_handler(HTTPException, _http_error)
    return made


@lru_cache(maxsize=8)
def asset(name: str) -> tuple[bytes, str, str]:
    """Bytes, kind and fingerprint."""
    package, path, kind = ASSETS[name]
    found = files(package).joinpath(path).read_bytes()
    return found, kind, hashlib.sha256(found).hexdigest()[:16]


def _asset(name: str) -> Response:
    if name not in ASSETS:
        raise wrong("E507", f"there is no file {name[:60]!r}")
    found, kind, tag = asset(name)
    return Response(found, media_type=kind, headers={"Cache-Control": "public, max-age=3600", "ETag": f'"{tag}"'})


def _hero_error(request: Request, error: Any) -> Response:
    return error_response(request.url.path, error.problems)


def _invalid(request: Request, error: Any) -> Response:
    """Every parameter that is wrong, by name."""
    problems = [
        Problem("E508", f"{'.'.join(str(part) for part in one['loc'][1:]) or 'the request'}: {one['msg']}"[:500])
        for one in error.errors()
    ]
    return error_response(request.url.path, problems)


def _http_error(request: Request, error: Any) -> Response:
    path, status = request.url.path, error.status_code
    if status == 404:
        return error_response(path, [Problem("E507", f"{path[:200]!r} has no page")])
    if status == 405:
        takes = ", ".join(_methods_of(request))
        problem = Problem("E507", f"{path[:200]!r} does not take {request.method[:20]}. It takes: {takes}")
        return error_response(path, [problem], status, {"Allow": takes})
    return error_response(path, [Problem("E508", str(error.detail)[:500])], 422 if status == 400 else status)


def _methods_of(request: Request) -> list[str]:
    """What the address takes, whichever of our functions does it."""
    found: set[str] = set()
    for room in ROOMS:
        for route in room.router.routes:
            if route.matches(request.scope)[0] != Match.NONE:
                found |= set(getattr(route, "methods", None) or ())
    return sorted(found) or ["GET"]  # files, and the description of the API
