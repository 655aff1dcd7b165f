"""Who may come in, and what every answer carries.

On a loopback address without a token anybody on this machine is welcome, so a page of some other site must not be able
to speak through their browser: the Host must be a loopback name (no DNS rebinding) and a change must come from our own
pages. With a token, a request brings it as a Bearer header or has logged in, which a cookie remembers. To look changes
nothing and starts nothing; whatever does is a POST or a DELETE, and if a browser sends it, with the token of our forms.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hero_eval.errors import Problem
from hero_eval.web.bodies import SMALL_SECONDS, UPLOAD_SECONDS, Arrivals, Body
from hero_eval.web.http_errors import error_response
from hero_eval.web.settings import MEGABYTE, Settings, is_loopback

log = logging.getLogger("hero_eval.web")

LOGIN_COOKIE = "hero_login"
VISIT_COOKIE = "hero_visit"
SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/login", "/static/")
HEALTH = "/health"
"""Answers to everybody, by whatever name they know this machine, that it is up, and nothing else."""
FOR_EXPERTS = ("/gold", "/api/v1/gold", "/logout", *OPEN)
"""Where a login for giving gold alone leads."""
UPLOADS = ("/upload", "/api/v1/uploads")
FORM_TOKEN = "x-form-token"
"""The header by which a script of our own pages shows the token of forms."""

SMALL = 100_000
"""The largest body of a request that brings no file, and what the rest of a form may have beside its file."""

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # no-referrer would make browsers send Origin: null with our own forms
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


def login_cookie(token: str) -> str:
    """What a browser that has shown the token is given: it proves the token and does not contain it."""
    return hmac.new(token.encode(), b"hero-eval login", hashlib.sha256).hexdigest()


def form_token(secret: bytes, visit: str) -> str:
    """What our own forms carry: other sites can send a visitor's cookie, but not know this."""
    return hmac.new(secret, visit.encode(), hashlib.sha256).hexdigest()


def same(given: str, wanted: str) -> bool:
    """In constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


class SecurityMiddleware:
    """The first to see a request and the last to see its answer."""

    def __init__(self, app: ASGIApp, settings: Settings, secret: bytes = b"") -> None:
        self.app, self.settings, self.secret = app, settings, secret
        self.arrivals = Arrivals()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(scope, send)
        problem = self._wrong_with(scope, Headers(scope=scope)) or self._no_room(scope)
        if problem is not None:
            to_login = problem.code == "E502" and _wants_page(scope)
            response = self._to_login(scope) if to_login else error_response(scope["path"], [problem])
            await response(scope, receive, answer.send)
        elif scope["method"] in SAFE:
            await self._view(scope, receive, answer)
        else:
            await self._change(scope, receive, answer)

    async def _view(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        """As many at once for each client as leave others their share; the rest wait behind their own."""
        client = client_of(scope)
        await self.arrivals.look(client)
        try:
            await self._answered(scope, self._body(scope).through(receive), answer)
        finally:
            self.arrivals.left(client)

    async def _change(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        body = answer.body = self._body(scope)
        with self.arrivals.taking(client_of(scope), body, self._brings_file(scope)):
            await self._answered(scope, body.through(receive), answer)

    async def _answered(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            await self.app(scope, receive, answer.send)
        except Exception:
            if answer.body is None or answer.body.problem is None:
                log.exception("%s %s", scope["method"], scope["path"])
            if not answer.has_begun:
                broken = Problem("E511", "the server made a mistake; its log says which")
                await error_response(scope["path"], [broken])(scope, receive, answer.send)

    def _no_room(self, scope: Scope) -> Problem | None:
        client = client_of(scope)
        if scope["method"] not in SAFE:
            return self.arrivals.no_room(client, self._brings_file(scope))
        if self.arrivals.is_flooded(client):
            return Problem("E509", "many pages that you asked for are waiting already")
        return None

    def _body(self, scope: Scope) -> Body:
        return Body(self._most(scope), UPLOAD_SECONDS if self._brings_file(scope) else SMALL_SECONDS)

    def _wrong_with(self, scope: Scope, headers: Headers) -> Problem | None:
        if scope["path"] == HEALTH and scope["method"] in SAFE:
            return None
        host = headers.get("host", "")
        if wanted := self.settings.public_name:
            if host.lower() != wanted:
                return Problem("E503", f"the request is for {host[:100]!r}, and this server is {wanted!r}")
        elif self.settings.token is None and not is_loopback(_name_of(host)):
            return Problem("E503", f"the request is for {host[:100]!r}, which is no name of this machine")
        role = scope["hero_role"] = self._role(scope, headers)
        if role is None:
            return Problem("E502", "the token is missing or wrong")
        if role == "expert" and not _is_for_experts(scope["path"]):
            return Problem("E520", "this login is for giving gold alone")
        if scope["method"] not in SAFE and (problem := self._not_ours(scope, headers, host)):
            return problem
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._most(scope):
            return Problem("E504", f"the request is larger than {self._most(scope) / MEGABYTE:g} MB")
        return None

    def _role(self, scope: Scope, headers: Headers) -> str | None:
        """owner, expert, anybody (where no login is needed), or None for a stranger."""
        shown = cookie_parser(headers.get("cookie", "")).get(LOGIN_COOKIE, "")
        given = self._bearer(headers)
        for role, token in (("owner", self.settings.token), ("expert", self.settings.gold_token)):
            if token is not None and (same(given, token) or same(shown, login_cookie(token))):
                return role
        if self.settings.token is None:
            return "owner"
        return "anybody" if scope["path"].startswith(OPEN) else None

    def _bearer(self, headers: Headers) -> str:
        kind, _, given = headers.get("authorization", "").partition(" ")
        return given.strip() if kind.lower() == "bearer" else ""

    def _has_bearer(self, headers: Headers) -> bool:
        known = [one for one in (self.settings.token, self.settings.gold_token) if one is not None]
        return any(same(self._bearer(headers), one) for one in known)

    def _not_ours(self, scope: Scope, headers: Headers, host: str) -> Problem | None:
        """A change that a page of another site sent, or a browser without the token that our own pages carry."""
        if _is_foreign(headers, host, self.settings):
            return Problem("E503", "the request was sent by a page of another site")
        by_browser = "origin" in headers or "sec-fetch-site" in headers or self.settings.token is not None
        if not by_browser or self._has_bearer(headers) or not scope["path"].startswith("/api/"):
            return None  # pages look for the token in their forms
        visit = cookie_parser(headers.get("cookie", "")).get(VISIT_COOKIE, "")
        if visit and same(headers.get(FORM_TOKEN, ""), form_token(self.secret, visit)):
            return None
        return Problem("E503", f"a browser must send the token of a form ({FORM_TOKEN}) to change something")

    def _brings_file(self, scope: Scope) -> bool:
        """Files come in parts; whatever else is sent to the same address is held in memory, so it is small."""
        kind = Headers(scope=scope).get("content-type", "").strip().lower()
        return scope["path"] in UPLOADS and scope["method"] == "POST" and kind.startswith("multipart/form-data")

    def _most(self, scope: Scope) -> int:
        """Bytes of a body; the parts of a form that are not the file are small."""
        return self.settings.max_upload + SMALL if self._brings_file(scope) else SMALL

    def _to_login(self, scope: Scope) -> Response:
        query = scope["query_string"].decode("latin-1")
        place = scope["path"] + (f"?{query}" if query else "")
        return RedirectResponse(f"/login?next={quote(place, safe='')}", 303)


def _is_for_experts(path: str) -> bool:
    return any(path == one or path.startswith(one if one.endswith("/") else f"{one}/") for one in FOR_EXPERTS)


def _wants_page(scope: Scope) -> bool:
    return not str(scope["path"]).startswith("/api/") and scope["method"] in SAFE


def _name_of(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_foreign(headers: Headers, host: str, settings: Settings) -> bool:
    """Browsers say where a change comes from; programs say nothing, and no other site can speak through them."""
    origin = headers.get("origin")
    if origin is not None:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return True
        if settings.public_url is not None:
            ours = urlsplit(settings.public_url)
            return (parts.scheme, parts.netloc.lower()) != (ours.scheme, ours.netloc.lower())
        return parts.netloc.lower() != host.lower() or not host
    return headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def is_own_visit(headers: Mapping[str, str]) -> bool:
    """Whether somebody came by themselves or from our own pages; a link on another site must not start work.

    A browser that does not say leaves our strict cookie out if it follows such a link.
    """
    said = headers.get("sec-fetch-site")
    if said is None:
        return VISIT_COOKIE in cookie_parser(headers.get("cookie", ""))
    return said in ("same-origin", "none")


def client_of(scope: Mapping[str, Any]) -> str:
    """Who asks, by address; behind a proxy that is trusted, by what it says."""
    found = scope.get("client")
    return str(found[0]) if found else ""


class _Answer:
    """What is sent, with the headers that everything carries; a body that was refused is answered by why."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self.body: Body | None = None
        self.has_begun = False
        self._replaced = False

    async def send(self, message: Message) -> None:
        if self._replaced:
            return
        if not self.has_begun and self.body is not None and self.body.problem is not None:
            self.has_begun = self._replaced = True
            await error_response(self._scope["path"], [self.body.problem])(self._scope, _nothing, self._dressed)
            return
        self.has_begun = True
        await self._dressed(message)

    async def _dressed(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
