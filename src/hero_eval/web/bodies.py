"""The body of a request: how much of it is taken, how fast it must come, and how many may be under way at once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from hero_eval.errors import Problem
from hero_eval.web.settings import MEGABYTE

LOOK = 0.5
"""Seconds between two looks at a body that does not come."""

IDLE_SECONDS = 15.0
"""Without a byte."""

GRACE = 10.0
LEAST_RATE = 2_000.0
"""Bytes a second, on the average, after this many seconds."""

MAY_GO_RATE = 50_000.0
MAY_GO_AFTER = 2.0
"""An upload slower than this, after this many seconds, makes room for one that comes when all places are taken."""

UPLOAD_SECONDS = 900.0
SMALL_SECONDS = 30.0
"""For the whole of a body: of one that brings a file, and of others."""

MOST_ARRIVING = 12
MOST_ARRIVING_EACH = 3
"""Uploads at the same time, of all and of a client; each may take its size on the disk, twice."""

MOST_ASKING_EACH = 16
MOST_LOOKING_EACH = 8
MOST_QUEUING_EACH = 64
"""Of one client at the same time: requests with a body, views that are served, and views that wait for these."""


class Refused(HTTPException):
    """Raised while a body is read; the middleware of `security` knows why."""

    def __init__(self, problem: Problem, status: int) -> None:
        super().__init__(status, problem.message)


class Body:
    """A body as it comes. `problem` is set once it is refused."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._began = self._last = time.monotonic()
        self._size = 0
        self._over = False
        self.must_go = False
        """Somebody else needs its place."""
        self.problem: Problem | None = None

    @property
    def rate(self) -> float:
        return self._size / max(time.monotonic() - self._began, 1e-3)

    @property
    def may_go(self) -> bool:
        return time.monotonic() - self._began > MAY_GO_AFTER and self.rate < MAY_GO_RATE and not self._over

    def through(self, receive: Receive) -> Receive:
        """The same messages, counted and timed until the body is whole."""

        async def counted() -> Message:
            if self._over:
                return await receive()
            message = await self._next(receive)
            self._size += len(message.get("body", b""))
            self._last = time.monotonic()
            self._over = not message.get("more_body", False)
            if self._size > self._most:
                self._refuse("E504", f"the request is larger than {self._most / MEGABYTE:g} MB", 413)
            return message

        return counted

    async def _next(self, receive: Receive) -> Message:
        while True:
            self._check_pace()
            try:
                async with asyncio.timeout(LOOK):
                    return await receive()
            except TimeoutError:
                continue

    def _check_pace(self) -> None:
        now = time.monotonic()
        spent = now - self._began
        if now - self._last > IDLE_SECONDS:
            self._refuse("E516", f"nothing came for {IDLE_SECONDS:g} s", 408)
        if spent > GRACE and self.rate < LEAST_RATE:
            self._refuse("E516", f"less than {LEAST_RATE / 1000:g} kB came a second", 408)
        if spent > self._seconds:
            self._refuse("E516", f"the request took more than {self._seconds:g} s", 408)
        if self.must_go:
            self._refuse("E516", "it came slowly while others were waiting for its place", 408)

    def _refuse(self, code: str, message: str, status: int) -> None:
        self.problem = Problem(code, message)
        raise Refused(self.problem, status)


class Arrivals:
    """What is under way, by client."""

    def __init__(self) -> None:
        self._uploads: list[tuple[str, Body]] = []
        self._asking: Counter[str] = Counter()
        self._looking: dict[str, asyncio.Semaphore] = {}
        self._queuing: Counter[str] = Counter()

    def no_room(self, client: str, brings_file: bool) -> Problem | None:
        """Why one more request with a body cannot be taken; a slow upload makes room if it can."""
        if not brings_file:
            if self._asking[client] < MOST_ASKING_EACH:
                return None
            return Problem("E509", f"{MOST_ASKING_EACH} requests of yours are under way already")
        of_client = [body for who, body in self._uploads if who == client]
        if len(of_client) >= MOST_ARRIVING_EACH and not _make_room(of_client):
            return Problem("E509", f"{MOST_ARRIVING_EACH} uploads of yours are arriving already")
        if len(self._uploads) >= MOST_ARRIVING and not _make_room([body for _, body in self._uploads]):
            return Problem("E509", f"{MOST_ARRIVING} uploads are arriving already")
        return None

    @contextmanager
    def taking(self, client: str, body: Body, brings_file: bool) -> Iterator[None]:
        one = (client, body)
        if brings_file:
            self._uploads.append(one)
        else:
            self._asking[client] += 1
        try:
            yield
        finally:
            if brings_file:
                self._uploads.remove(one)
            else:
                self._asking[client] -= 1
                self._asking += Counter()  # without those who have none

    def is_flooded(self, client: str) -> bool:
        return self._queuing[client] >= MOST_LOOKING_EACH + MOST_QUEUING_EACH

    async def look(self, client: str) -> asyncio.Semaphore:
        """A place among the views that are served to this client; `left` gives it back."""
        self._queuing[client] += 1
        places = self._looking.setdefault(client, asyncio.Semaphore(MOST_LOOKING_EACH))
        try:
            await places.acquire()
        except BaseException:
            self._gone(client)
            raise
        return places

    def left(self, client: str) -> None:
        self._looking[client].release()
        self._gone(client)

    def _gone(self, client: str) -> None:
        self._queuing[client] -= 1
        if not self._queuing[client]:
            del self._queuing[client]
            self._looking.pop(client, None)


def _make_room(some: list[Body]) -> bool:
    """Tell the slowest of these to go, unless all of them come well or have been told already."""
    slow = min((body for body in some if body.may_go and not body.must_go), key=lambda body: body.rate, default=None)
    if slow is None:
        return False
    slow.must_go = True
    return True
