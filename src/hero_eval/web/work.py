"""Work in the background: a few processes beside the server, a queue with an end, and results with a bound.

A job is named by what it works out and by the state of the rounds behind it, so the same question is worked out once,
and a change of these rounds asks a new one. A process that dies takes down its job, not the server.
"""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import pickle
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hero_eval.errors import HeroError, Problem, wrong
from hero_eval.web.process import serve_orders

MOST_WAITING = 64
MOST_JOBS = 500
"""Jobs that are remembered, finished ones included."""

RENEW_AFTER = 50
"""Jobs that one process does before a fresh one takes its place, which gives all its memory back."""

LARGEST_PROCESS = 2**30
"""A process that has grown beyond this is not kept waiting for more work."""

FAILED_FOR = 600.0
"""Seconds after which what failed may be tried again by whoever looks."""

STATES = ("waiting", "running", "done", "failed")
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
    finished: float = field(default=0.0, compare=False)

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed")


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


class Work:
    """The queue, the processes and the results."""

    def __init__(self, processes: int, keep: int) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._results = Results(keep)
        self._waiting: queue.Queue[Order | None] = queue.Queue()
        self._n_processes = processes
        self._threads: list[threading.Thread] = []
        self._processes: list[_Process] = []
        self._closed = False

    def ask(self, order: Order) -> tuple[Job, Any]:
        """The job of this order, and its result if there is one; work that nobody has asked for yet is queued."""
        with self._lock:
            job = self._jobs.get(order.id)
            if job is not None and not self._worth_another_try(job):
                self._jobs.move_to_end(order.id)
                return job, self._results.get(order.id)
            if sum(1 for one in self._jobs.values() if one.state == "waiting") >= MOST_WAITING:
                raise wrong("E509", f"{MOST_WAITING} pieces of work are waiting already. Try again in a minute.")
            job = Job(order.id, order.kind, order.title)
            self._jobs[order.id] = job
            self._forget_old()
            self._start()
        self._waiting.put(order)
        return job, None

    def peek(self, order: Order) -> Any:
        """The result, if there is one; nothing is started."""
        with self._lock:
            return self._results.get(order.id)

    def job(self, id: str) -> Job | None:
        with self._lock:
            return self._jobs.get(id)

    def jobs(self) -> list[Job]:
        """All that are remembered, the latest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def forget(self, id: str) -> None:
        """Let whoever asks next start it anew; one that is under way goes on."""
        with self._lock:
            job = self._jobs.get(id)
            if job is not None and job.is_over:
                del self._jobs[id]
                self._results.drop(id)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        with self._lock:
            self._closed = True
            threads, processes = list(self._threads), list(self._processes)
        for _ in threads:
            self._waiting.put(None)
        for process in processes:
            process.end()
        for thread in threads:
            thread.join(timeout=10)

    def _worth_another_try(self, job: Job) -> bool:
        """A result that went to make room, or a failure of a while ago."""
        if job.state == "done":
            return job.id not in self._results
        return job.state == "failed" and time.monotonic() - job.finished > FAILED_FOR

    def _forget_old(self) -> None:
        over = [id for id, one in self._jobs.items() if one.is_over]
        for id in over[: max(len(self._jobs) - MOST_JOBS, 0)]:
            del self._jobs[id]
            self._results.drop(id)

    def _start(self) -> None:
        if self._threads or self._closed:
            return
        for number in range(self._n_processes):
            process = _Process()
            thread = threading.Thread(target=self._run, args=(process,), name=f"hero-work-{number}", daemon=True)
            self._processes.append(process)
            self._threads.append(thread)
            thread.start()

    def _run(self, process: _Process) -> None:
        while (order := self._waiting.get()) is not None and not self._closed:
            self._change(order.id, state="running", told="Starting")
            try:
                kind, found = process.do(order, lambda id, **told: self._change(id, **told))
            except Exception:
                log.exception("work %s", order.kind)
                kind, found = "broken", "the server"
            self._finish(order, kind, found)

    def _change(self, id: str, **changes: Any) -> None:
        with self._lock:
            if id in self._jobs:
                self._jobs[id] = replace(self._jobs[id], **changes)

    def _finish(self, order: Order, kind: str, found: Any) -> None:
        finished = time.monotonic()
        if kind == "done":
            with self._lock:
                self._results.put(order.id, *found)
            self._change(order.id, state="done", told="Done", finished=finished)
        elif kind == "failed":
            self._change(
                order.id,
                state="failed",
                told="Failed",
                problems=found.problems,
                exit_code=found.exit_code,
                finished=finished,
            )
        else:
            message = f"{order.title}: {found} ended before it was done. The server's log says more; try again."
            problem = Problem("E510", message)
            self._change(order.id, state="failed", told="Failed", problems=(problem,), exit_code=1, finished=finished)


class _Process:
    """One process that works, started when first needed and again when it died."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._line: Any = None
        self._did = 0

    def do(self, order: Order, tell: Callable[..., None]) -> tuple[str, Any]:
        """("done", (result, bytes)), ("failed", HeroError) or ("broken", who)."""
        if self._did >= RENEW_AFTER:
            self.end()
        if self._process is None or not self._process.is_alive():
            self._start()
        self._did += 1
        try:
            self._line.send((order.kind, {**order.arguments, **order.more}))
            while True:
                raw = self._line.recv_bytes()
                kind, found = pickle.loads(raw)  # from our own process, over our own pipe
                if kind == "told":
                    text, done, total = found
                    tell(order.id, told=text, done=done, total=total)
                elif kind == "done":
                    result, peak = found
                    if peak > LARGEST_PROCESS:
                        self.end()
                    return kind, (result, len(raw))
                elif kind == "failed":
                    assert isinstance(found, HeroError)
                    return kind, found
                else:
                    log.error("%s: %s", order.kind, found)
                    return "broken", "the work"
        except (EOFError, OSError):
            self.end()
            return "broken", "its process"

    def _start(self) -> None:
        here, there = self._context.Pipe()
        self._process = self._context.Process(target=serve_orders, args=(there,), name="hero-work", daemon=True)
        self._process.start()
        there.close()
        self._line, self._did = here, 0

    def end(self) -> None:
        process, line = self._process, self._line
        self._process = None
        if process is not None and process.is_alive():
            process.terminate()
            process.join(timeout=5)
            if process.is_alive():
                process.kill()
        if line is not None:
            line.close()
