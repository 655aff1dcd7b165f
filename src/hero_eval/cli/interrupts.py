"""Ctrl-C: an answer within a second, whatever the command is in the middle of.

Python raises `KeyboardInterrupt` between two steps of its own. In a long step of compiled code (a pass over millions of
labels, a query, the factor of a large matrix) that may be seconds away, so while a command works a thread is told of
the signal as well, and ends the process if the work has not ended by then. What is in the store or on disk is whole
even after that: it is written so that a lost process leaves no half of it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C ended."""
MESSAGE = "Interrupted."
GRACE = 0.3
"""Seconds for the work to end by itself."""
_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def answering_interrupts() -> Iterator[None]:
    """In here Ctrl-C ends the process within `GRACE` seconds and a little; threads other than the main one are told of
    no signals, and nothing changes there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hears, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(hears, over), name="hero-interrupts", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        with suppress(ValueError):  # whoever was told of signals before may have closed its end
            signal.set_wakeup_fd(before)
        os.close(told)  # the watcher reads the end of the pipe, and closes its own


def _watch(hears: int, over: threading.Event) -> None:
    while signals := os.read(hears, 1):
        if signals[0] == signal.SIGINT and not over.wait(GRACE):
            _end()
    os.close(hears)


def _end() -> None:
    """Without the interpreter's own way out, which would wait for the work."""
    terminal = _SHOW_CURSOR if sys.stderr.isatty() else ""
    with suppress(OSError):
        os.write(2, f"{terminal}{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)
