"""The process that works: takes an order from its pipe, tells how far it is, hands back a result or what was wrong."""

from __future__ import annotations

import pickle
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from hero_eval.errors import HeroError

WORK: Mapping[str, tuple[str, str]] = {
    "round": ("answers", "round_result"),
    "models": ("comparing", "models_compared"),
    "labelers": ("answers", "labelers_over_time"),
    "backtest": ("answers", "backtested"),
    "course": ("answers", "course"),
    "preview": ("incoming", "preview"),
    "add": ("incoming", "add"),
}
"""Kind → module of this room and function. They load when first needed: the server itself never does."""

PAUSE = 0.2
"""Seconds between two words about how far it is."""

Tell = Callable[[str, int, int], None]


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


def serve_orders(line: Any) -> None:
    """Until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends us

    def say(message: tuple[str, Any]) -> None:
        line.send_bytes(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))

    while True:
        try:
            kind, arguments = line.recv()
        except (EOFError, OSError):
            return
        try:
            found = do(kind, arguments, Telling(say))
            say(("done", (found, peak())))
        except HeroError as error:
            say(("failed", error))
        except (BrokenPipeError, ConnectionError):
            return
        except Exception:
            say(("broken", traceback.format_exc()))
