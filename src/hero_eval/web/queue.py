"""Work in the background: a few processes beside the server, queues with an end, and results with a bound.

A job is named by what it works out and by the state of the rounds behind it, so the same question is worked out once,
and a change of these rounds asks a new one. A process that dies takes down its job, not the server; one that takes too
long or too much memory is killed, and so is one that somebody stops. Files that come in are read by a process of their
own, so no upload holds up a view; and whoever asks for much waits behind whoever asks for little.
"""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import os
import pickle
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hero_eval.errors import HeroError, Problem, wrong
from hero_eval.web.process import LARGEST_RESULT, Limits, serve_orders
from hero_eval.web.scratch import Scratch
from hero_eval.web.settings import MEGABYTE
from hero_eval.web.turns import Turns

MOST_WAITING = 64
MOST_EACH = 32
"""Pieces of work that may wait: of all, and of one client."""

MOST_JOBS = 500
"""Jobs that are remembered, finished ones included."""

RENEW_AFTER = 50
"""Jobs that one process does before a fresh one takes its place, which gives all its memory back."""

LARGEST_PROCESS = 2**30
"""A process that has grown beyond this is not kept waiting for more work."""

IDLE = 900.0
"""Seconds after which a process that has nothing to do is ended."""

LOOK = 0.25
"""Seconds between two looks at a process: its memory, and the time."""

FAILED_FOR = 600.0
"""Seconds after which what failed may be tried again by whoever asks."""

READING = ("preview", "add")
"""Kinds of work that read what somebody sent."""

PATIENCE = 2.0
"""Seconds before anybody asks how long it takes."""
PAGE = os.sysconf("SC_PAGE_SIZE")
log = logging.getLogger("hero_eval.web")


@dataclass(frozen=True)
class Job:
    """One piece of work. `done` of `total` steps; 0 of 0 if nobody knows how many there are."""

    id: str
    kind: str
    title: str
    state: str = "waiting"
    told: str = "Waiting for its turn"
    done: int = 0
    total: int = 0
    problems: tuple[Problem, ...] = ()
    exit_code: int = 0
    ahead: int = 0
    """Pieces of work that come first."""
    client: str = field(default="", compare=False)
    since: float = field(default=0.0, compare=False)
    """When it came into its state."""
    usual: float = field(default=0.0, compare=False)
    """How many seconds the last work of its kind took; 0 if there was none."""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed")

    @property
    def lane(self) -> str:
        return "reading" if self.kind in READING else "views"

    @property
    def seconds(self) -> float:
        """How long it has been in its state."""
        return round(time.monotonic() - self.since, 1)

    @property
    def left(self) -> float | None:
        """About how many seconds are left: by the steps that are done, else by what such work took the last time.

        None where nothing tells, and for work that has hardly begun.
        """
        spent = time.monotonic() - self.since
        if self.state != "running" or spent < PATIENCE:
            return None
        if self.total and self.done:
            return round(spent * max(self.total - self.done, 0) / self.done, 1)
        return round(self.usual - spent, 1) if self.usual > spent else None


@dataclass(frozen=True)
class Order:
    """Work of a kind that `process` knows, with its arguments; `behind` names the state of what it works on.

    `more` are arguments that do not change the result, such as the version of the store if its rounds are the same.
    """

    kind: str
    title: str
    arguments: Mapping[str, Any]
    behind: tuple[Any, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        text = json.dumps([self.kind, self.arguments, self.behind], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


class Results:
    """Results by job, the last used last; the oldest go when there are too many bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[str, tuple[Any, int]] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    def get(self, key: str) -> Any:
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: str, value: Any, size: int) -> None:
        self.drop(key)
        self._kept[key] = (value, size)
        self._size += size
        while self._size > self._most and len(self._kept) > 1:
            self.drop(next(iter(self._kept)))

    def drop(self, key: str) -> None:
        _, size = self._kept.pop(key, (None, 0))
        self._size -= size

    @property
    def size(self) -> int:
        return self._size


class JobQueue:
    """The queues, the processes and the results."""

    def __init__(
        self,
        processes: int,
        keep: int,
        *,
        limits: Mapping[str, Limits] | None = None,
        scratch: Scratch | None = None,
        when_done: Callable[[Order], None] = lambda _: None,
    ) -> None:
        self._lock = threading.Lock()
        self._usual: dict[str, float] = {}
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._orders: dict[str, Order] = {}
        """Those that are not over."""
        self._stopping: set[str] = set()
        self._results = Results(keep)
        self._scratch = scratch or Scratch()
        self._owns_scratch = scratch is None
        self._when_done = when_done
        known = {name: Limits(4000 * MEGABYTE, 900.0) for name in ("views", "reading")} | dict(limits or {})
        self._lanes = {"views": _Lane(processes, known["views"]), "reading": _Lane(1, known["reading"])}
        self._closed = False

    def ask(self, order: Order, client: str = "") -> tuple[Job, Any]:
        """The job of this order, and its result if there is one; work that nobody has asked for yet is queued."""
        with self._lock:
            job = self._jobs.get(order.id)
            if job is not None and not self._worth_another_try(job):
                self._jobs.move_to_end(order.id)
                return self._placed(job), self._results.get(order.id)
            job = Job(order.id, order.kind, order.title, client=client, since=time.monotonic())
            lane = self._lanes[job.lane]
            self._refuse_too_many(lane, client)
            self._jobs[order.id] = job
            self._jobs.move_to_end(order.id)
            self._orders[order.id] = order
            self._forget_old()
            lane.turns.put(client, order.id, order)
            self._start(lane)
            return self._placed(job), None

    def look(self, order: Order) -> tuple[Job | None, Any]:
        """The job and its result, as far as they are there; nothing is started."""
        with self._lock:
            job = self._jobs.get(order.id)
            result = self._results.get(order.id)
            if job is None or (job.state == "done" and result is None):  # it went to make room
                return None, None
            return self._placed(job), result

    def job(self, id: str) -> Job | None:
        with self._lock:
            found = self._jobs.get(id)
            return None if found is None else self._placed(found)

    def jobs(self) -> list[Job]:
        """All that are remembered, the latest first."""
        with self._lock:
            return [self._placed(one) for one in reversed(self._jobs.values())]

    def forget(self, id: str) -> None:
        """Let whoever asks next start it anew; one that is under way goes on."""
        with self._lock:
            job = self._jobs.get(id)
            if job is not None and job.is_over:
                del self._jobs[id]
                self._results.drop(id)

    def stop(self, id: str) -> bool:
        """Take it out of the queue, or end the process that works on it; whether there was something to stop."""
        with self._lock:
            order, job = self._orders.get(id), self._jobs.get(id)
            if order is None or job is None:
                return False
            lane = self._lanes[job.lane]
            self._stopping.add(id)
            if not lane.turns.drop(id):  # it has its turn: whoever does it, or is about to, sees this
                for process in lane.processes:
                    process.stop(id)
                return True
        self._finish(order, "stopped", None)
        return True

    def stop_reading(self, file: str) -> None:
        """Stop whatever is done with a file that somebody sent."""
        with self._lock:
            concerned = [id for id, order in self._orders.items() if order.arguments.get("file") == file]
        for id in concerned:
            self.stop(id)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        with self._lock:
            self._closed = True
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.turns.close()
            for process in lane.processes:
                process.kill()
        for lane in lanes:
            for thread in lane.threads:
                thread.join(timeout=10)
        if self._owns_scratch:
            self._scratch.close()

    def _refuse_too_many(self, lane: _Lane, client: str) -> None:
        if lane.turns.waiting() >= MOST_WAITING:
            raise wrong("E509", f"{MOST_WAITING} pieces of work are waiting already. Try again in a minute.")
        if lane.turns.waiting(client) >= MOST_EACH:
            raise wrong("E509", f"{MOST_EACH} pieces of work that you asked for are waiting already.")

    def _placed(self, job: Job) -> Job:
        """With why it waits, if it does."""
        if job.state != "waiting":
            return job
        lane = self._lanes[job.lane]
        busy = [one for one in self._jobs.values() if one.state == "running" and one.lane == job.lane]
        ahead = lane.turns.ahead(job.id)
        parts = ["Waiting for its turn"]
        if ahead:
            parts.append(f"{ahead} {'piece of work comes' if ahead == 1 else 'pieces of work come'} first")
        if busy:
            parts.append("now: " + ", ".join(f"{one.title} (for {one.seconds:.0f} s)" for one in busy))
        return replace(job, ahead=ahead, told="; ".join(parts))

    def _worth_another_try(self, job: Job) -> bool:
        """A result that went to make room, or a failure of a while ago."""
        if job.state == "done":
            return job.id not in self._results
        return job.state == "failed" and job.seconds > FAILED_FOR

    def _forget_old(self) -> None:
        over = [id for id, one in self._jobs.items() if one.is_over]
        for id in over[: max(len(self._jobs) - MOST_JOBS, 0)]:
            del self._jobs[id]
            self._results.drop(id)

    def _start(self, lane: _Lane) -> None:
        if lane.threads or self._closed:
            return
        for _ in range(lane.count):
            process = _Process(lane.limits, self._scratch)
            thread = threading.Thread(target=self._run, args=(lane, process), name="hero-work", daemon=True)
            lane.processes.append(process)
            lane.threads.append(thread)
            thread.start()

    def _run(self, lane: _Lane, process: _Process) -> None:
        while not self._closed:
            order = lane.turns.take(IDLE)
            if order is None:
                process.end()
                continue
            started = time.monotonic()
            usual = self._usual.get(order.kind, 0.0)
            self._change(order.id, state="running", told="Starting", since=started, usual=usual)
            try:
                kind, found = process.do(order, self._change, lambda id: id in self._stopping)
            except Exception:
                log.exception("work %s", order.kind)
                kind, found = "broken", "the server"
            if kind == "done":
                self._usual[order.kind] = time.monotonic() - started
            self._finish(order, kind, found)
        process.end()

    def _change(self, id: str, **changes: Any) -> None:
        with self._lock:
            if id in self._jobs:
                self._jobs[id] = replace(self._jobs[id], **changes)

    def _finish(self, order: Order, kind: str, found: Any) -> None:
        over: dict[str, Any] = {"since": time.monotonic()}
        if kind == "done":
            self._when_done(order)
            with self._lock:
                self._results.put(order.id, *found)
            over |= {"state": "done", "told": "Done"}
        else:
            problems, code = (found.problems, found.exit_code) if kind == "failed" else (self._ended(order, kind), 1)
            over |= {"state": "failed", "told": "Failed", "problems": problems, "exit_code": code}
        self._change(order.id, **over)
        with self._lock:
            self._orders.pop(order.id, None)
            self._stopping.discard(order.id)

    def _ended(self, order: Order, kind: str) -> tuple[Problem, ...]:
        """Why there is neither a result nor an error of the work itself."""
        limits = self._lanes["reading" if order.kind in READING else "views"].limits
        code, said = {
            "stopped": ("E514", "somebody stopped it"),
            "late": ("E513", f"it was stopped after {limits.seconds:g} s"),
            "memory": ("E513", f"it needs more than {limits.memory / MEGABYTE:g} MB of memory"),
            "result": ("E513", f"its result is larger than {LARGEST_RESULT / MEGABYTE:g} MB"),
        }.get(kind, ("E510", "its process ended before it was done. The server's log says more; try again"))
        return (Problem(code, f"{order.title}: {said}."),)


@dataclass
class _Lane:
    """Work that is done by the same processes."""

    count: int
    limits: Limits
    turns: Turns[Order] = field(default_factory=Turns)
    processes: list[_Process] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)


class _Process:
    """One process that works, started when first needed and again when it died. One thread uses it; any may stop it."""

    def __init__(self, limits: Limits, scratch: Scratch) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._limits, self._scratch = limits, scratch
        self._lock = threading.Lock()
        self._process: Any = None
        self._line: Any = None
        self._folder: Path | None = None
        self._did = 0
        self._at: str | None = None
        self._stopped = False

    def do(
        self, order: Order, tell: Callable[..., None], is_stopped: Callable[[str], bool] = lambda _: False
    ) -> tuple[str, Any]:
        """("done", (result, bytes)), ("failed", HeroError), or how it ended: stopped, late, memory, result, broken."""
        with self._lock:
            self._at, self._stopped = order.id, False
        try:
            if is_stopped(order.id):
                self._stopped = True
            if self._did >= RENEW_AFTER:
                self.end()
            if self._process is None or not self._process.is_alive():
                self.end()
                self._start()
            kind, found = self._exchange(order, tell)
        except (EOFError, OSError):
            kind, found = "broken", None
        with self._lock:
            self._at = None
            if self._stopped and kind != "done":
                kind = "stopped"
        if kind in ("broken", "late", "memory", "stopped"):
            self.end()
        return kind, found

    def _exchange(self, order: Order, tell: Callable[..., None]) -> tuple[str, Any]:
        self._did += 1
        end = time.monotonic() + self._limits.seconds
        if self._stopped:
            return "stopped", None
        self._line.send((order.kind, {**order.arguments, **order.more}))
        while True:
            kind, raw = "told", b""
            found: Any = None
            if self._line.poll(LOOK):
                raw = self._line.recv_bytes()
                kind, found = pickle.loads(raw)  # from our own process, over our own pipe
            if kind == "told":
                if found is not None:
                    tell(order.id, told=found[0], done=found[1], total=found[2])
                if time.monotonic() > end:
                    return "late", None
                if resident(self._process.pid) > self._limits.memory:
                    return "memory", None
                continue
            if kind == "done":
                result, peak = found
                if peak > LARGEST_PROCESS:
                    self.end()
                return kind, (result, len(raw))
            if kind == "failed":
                assert isinstance(found, HeroError)
            elif kind == "broken":
                log.error("%s: %s", order.kind, found)
            return kind, found

    def _start(self) -> None:
        here, there = self._context.Pipe()
        self._folder = self._scratch.folder(f"work-{id(self)}")
        arguments = (there, self._limits, str(self._folder))
        process = self._context.Process(target=serve_orders, args=arguments, name="hero-work", daemon=True)
        process.start()
        there.close()
        self._line, self._did = here, 0
        with self._lock:
            self._process = process

    def stop(self, id: str) -> bool:
        """End it if this is what it does; the thread that uses it sees that by itself."""
        with self._lock:
            if self._at != id:
                return False
            self._stopped = True
            if self._process is not None:
                self._process.kill()
            return True

    def kill(self) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def end(self) -> None:
        """By the thread that uses it."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.join(timeout=5)
        self._line.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def resident(pid: int) -> int:
    """Bytes that a process holds; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as told:
            return int(told.read().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return 0
