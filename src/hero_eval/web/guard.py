"""Who may come in, and what every answer carries.

On a loopback address without a token anybody on this machine is welcome, so a page of some other site must not be able
to speak through their browser: the Host must be a loopback name (no DNS rebinding) and a change must come from our own
pages. With a token, a request brings it as a Bearer header or has logged in, which a cookie remembers.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hero_eval.errors import Problem
from hero_eval.web.settings import MEGABYTE, Settings, is_loopback
from hero_eval.web.speaking import refuse

log = logging.getLogger("hero_eval.web")

LOGIN_COOKIE = "hero_login"
VISIT_COOKIE = "hero_visit"
SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/login", "/static/")
UPLOADS = ("/upload", "/api/v1/uploads")
MOST_ARRIVING = 4
"""Uploads at the same time; each may take its size on the disk, twice."""

SMALL = MEGABYTE
"""The largest body of a request that brings no file."""

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


class TooLarge(HTTPException):
    """Raised while a body is read."""

    def __init__(self) -> None:
        super().__init__(413)


class Guard:
    """The first to see a request and the last to see its answer."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self.arriving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        has_begun = False

        async def dressed(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        problem = self._wrong_with(scope, headers)
        if problem is None and self._brings_file(scope) and self.arriving >= MOST_ARRIVING:
            problem = Problem("E509", f"{MOST_ARRIVING} uploads are arriving already")
        if problem is not None:
            to_login = problem.code == "E502" and _wants_page(scope)
            response = self._to_login(scope) if to_login else refuse(scope["path"], [problem])
            await response(scope, receive, dressed)
            return
        self.arriving += self._brings_file(scope)
        try:
            await self.app(scope, self._measured(scope, receive), dressed)
        except Exception:
            log.exception("%s %s", scope["method"], scope["path"])
            if not has_begun:
                broken = Problem("E511", "the server made a mistake; its log says which")
                await refuse(scope["path"], [broken])(scope, receive, dressed)
        finally:
            self.arriving -= self._brings_file(scope)

    def _wrong_with(self, scope: Scope, headers: Headers) -> Problem | None:
        host = headers.get("host", "")
        if self.settings.token is None and not is_loopback(_name_of(host)):
            return Problem("E503", f"the request is for {host[:100]!r}, which is no name of this machine")
        if not self._is_known(scope, headers):
            return Problem("E502", "the token is missing or wrong")
        if scope["method"] not in SAFE and _is_foreign(headers, host):
            return Problem("E503", "the request was sent by a page of another site")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._most(scope):
            return Problem("E504", f"the request is larger than {self._most(scope) / MEGABYTE:g} MB")
        return None

    def _is_known(self, scope: Scope, headers: Headers) -> bool:
        token = self.settings.token
        if token is None or scope["path"].startswith(OPEN):
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and same(given.strip(), token):
            return True
        shown = cookie_parser(headers.get("cookie", "")).get(LOGIN_COOKIE, "")
        return same(shown, login_cookie(token))

    def _brings_file(self, scope: Scope) -> bool:
        return scope["path"] in UPLOADS and scope["method"] == "POST"

    def _most(self, scope: Scope) -> int:
        """Bytes of a body; the parts of a form that are not the file are small."""
        return self.settings.max_upload + SMALL if scope["path"] in UPLOADS else SMALL

    def _measured(self, scope: Scope, receive: Receive) -> Receive:
        """A body that says nothing of its length is counted as it comes."""
        size, most = 0, self._most(scope)

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise TooLarge
            return message

        return counted

    def _to_login(self, scope: Scope) -> Response:
        query = scope["query_string"].decode("latin-1")
        place = scope["path"] + (f"?{query}" if query else "")
        return RedirectResponse(f"/login?next={quote(place, safe='')}", 303)


def _wants_page(scope: Scope) -> bool:
    return not str(scope["path"]).startswith("/api/") and scope["method"] in SAFE


def _name_of(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_foreign(headers: Headers, host: str) -> bool:
    """Browsers say where a change comes from; programs say nothing, and no other site can speak through them."""
    origin = headers.get("origin")
    if origin is not None:
        try:
            return urlsplit(origin).netloc.lower() != host.lower() or not host
        except ValueError:
            return True
    return headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
