"""The process that works: takes an order from its pipe, tells how far it is, hands back a result or what was wrong.

It bounds itself before it reads anything: memory by the system's own limit, files in a folder that goes with it, and an
end of its own if the server is gone. How long it may take is the server's business, which can kill it.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hero_eval.errors import HeroError

WORK: Mapping[str, tuple[str, str]] = {
    "ready": ("jobs", "get_ready"),
    "round": ("jobs", "round_result"),
    "models": ("comparing", "models_compared"),
    "labelers": ("jobs", "labelers_over_time"),
    "backtest": ("jobs", "backtested"),
    "leaderboard": ("leaderboard_jobs", "leaderboard"),
    "vote_leaderboard": ("leaderboard_jobs", "vote_leaderboard"),
    "course": ("jobs", "course"),
    "gold_queue": ("gold_jobs", "draw_queue"),
    "gold_progress": ("gold_jobs", "gold_progress"),
    "preview": ("incoming", "preview"),
    "add": ("incoming", "add"),
}
"""Kind → module of this room and function. They load when first needed: the server itself never does."""

PAUSE = 0.2
"""Seconds between two words about how far it is."""

RESERVED = 2**30
"""Bytes that code, threads and the drawing engine reserve without using them; they count towards the system's limit."""

LARGEST_RESULT = 64 * 10**6
"""Bytes of one result; the server keeps many."""

NICENESS = 5
"""Pages come before estimates."""

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Limits:
    """What one piece of work may take."""

    memory: int
    """Bytes."""
    seconds: float


class TooLargeResult(Exception):
    """A result that the server will not keep."""


class Telling:
    """Says how far the work is, but not more often than anybody would read."""

    def __init__(self, say: Callable[[tuple[str, Any]], None]) -> None:
        self._say = say
        self._last, self._text = 0.0, ""

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None:
        now = time.monotonic()
        if text != self._text or now - self._last >= PAUSE or done == total:
            self._last, self._text = now, text
            self._say(("told", (text, done, total)))


def do(kind: str, arguments: Mapping[str, Any], tell: Tell) -> Any:
    """One piece of work, here and now."""
    module, name = WORK[kind]
    return getattr(import_module(f"hero_eval.web.{module}"), name)(tell, **arguments)


def peak() -> int:
    """The most bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def serve_orders(line: Any, limits: Limits, folder: str) -> None:
    """Until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends us
    _bound(limits, folder)

    def say(message: tuple[str, Any]) -> None:
        raw = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        if len(raw) > LARGEST_RESULT:
            raise TooLargeResult
        line.send_bytes(raw)

    while True:
        try:
            kind, arguments = line.recv()
        except (EOFError, OSError):
            return
        try:
            found = do(kind, arguments, Telling(say))
            say(("done", (found, peak())))
        except HeroError as error:
            say(("memory", None) if is_about_memory(error) else ("failed", error))
        except (BrokenPipeError, ConnectionError):
            return
        except MemoryError:
            say(("memory", None))
        except TooLargeResult:
            say(("result", None))
        except Exception as error:
            say(("memory", None) if is_about_memory(error) else ("broken", traceback.format_exc()))


def _bound(limits: Limits, folder: str) -> None:
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # the others reserve more than they use
    for what, most in ((resource.RLIMIT_DATA, limits.memory + RESERVED), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (least, hard))
        except (ValueError, OSError):  # a system that knows no such limit; the server looks at our memory too
            continue
    with suppress(OSError):
        os.nice(NICENESS)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    """A server that was killed cannot end its processes."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def is_about_memory(error: BaseException) -> bool:
    """Whether this, or what led to it, is a want of memory, in whosever words."""
    signs = ("out of memory", "bad_alloc", "malloc of size", "realloc of size", "failed to allocate")
    return any(isinstance(one, MemoryError) or _says(one, signs) for one in _causes(error))


def _says(error: BaseException, signs: tuple[str, ...]) -> bool:
    text = str(error).lower() if not isinstance(error, HeroError) else ""
    return any(sign in text for sign in signs)


def _causes(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__ or one.__context__
