"""The connections of a server: who holds a connection without asking for anything does not hold it for long.

A request's head must be there within seconds, an answer must be taken, and nobody has more than a share of the
connections. When there are too many, the one that has been idle longest goes, not the one that has just come: so
whoever opens hundreds and sends a byte now and then only drives out their own.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import resource
from collections import OrderedDict
from collections.abc import Sequence

from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger("hero_eval.web")

HEAD_SECONDS = 10.0
"""For the head of a request, from its first byte or from the connection."""

ANSWER_SECONDS = 60.0
"""For a client to go on reading an answer."""

MOST_CONNECTIONS = 500
MOST_EACH = 100
FILES = 4096
"""Open files that the server would like to be allowed."""


class OpenConnections:
    """The connections of one server, by client, the oldest first."""

    def __init__(self, proxies: Sequence[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(one, strict=False) for one in proxies]
        self._open: OrderedDict[Connection, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, came: Connection) -> bool:
        """Whether there is room for it, or room could be made."""
        self._open[came] = None
        of_client = [one for one in self._open if one.who == came.who]
        if len(of_client) > MOST_EACH and not self._is_proxy(came.who) and not _send_away(of_client, came):
            return False
        return len(self._open) <= MOST_CONNECTIONS or _send_away(self._of_whom_most(), came)

    def leave(self, one: Connection) -> None:
        self._open.pop(one, None)

    def _of_whom_most(self) -> list[Connection]:
        rows: dict[str, list[Connection]] = {}
        for one in self._open:
            rows.setdefault(one.who, []).append(one)
        return max(rows.values(), key=len)

    def _is_proxy(self, who: str) -> bool:
        try:
            return any(ipaddress.ip_address(who) in network for network in self._networks)
        except ValueError:
            return False


def _send_away(some: Sequence[Connection], came: Connection) -> bool:
    """Close the oldest of these that is not being served; one that has never asked anything before one that has."""
    idle = [one for one in some if one is not came and not one.is_busy]
    if not idle:
        return False
    next((one for one in idle if one.cycle is None), idle[0]).hang_up()
    return True


class Connection(H11Protocol):
    """One client's connection, with the patience that a server of many can have. `all_open` is set for each server."""

    all_open: OpenConnections
    who: str = ""
    _head: asyncio.TimerHandle | None = None
    _answer: asyncio.TimerHandle | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a request has come whole, but for its body, and is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.who = self.client[0] if self.client else ""
        if self.all_open.enter(self):
            self._head = self.loop.call_later(HEAD_SECONDS, self.hang_up)
        else:
            self.hang_up()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_busy:
            self._stop_waiting()
        elif self._head is None:  # the start of another request
            self._head = self.loop.call_later(HEAD_SECONDS, self.hang_up)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._answer is None:
            self._answer = self.loop.call_later(ANSWER_SECONDS, self.hang_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_writing()
        self.all_open.leave(self)
        super().connection_lost(exc)

    def hang_up(self) -> None:
        """Without a word: who has not asked anything expects no answer."""
        self.all_open.leave(self)
        if not self.transport.is_closing():
            self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
        self._head = None

    def _stop_writing(self) -> None:
        if self._answer is not None:
            self._answer.cancel()
        self._answer = None


def connection_class(proxies: Sequence[str] = ()) -> type[Connection]:
    """Connections that are counted together."""
    return type("Connection", (Connection,), {"all_open": OpenConnections(proxies)})


def allow_files() -> None:
    """Each connection is an open file, and systems allow few by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            log.warning("only %d files may be open at once", soft)
