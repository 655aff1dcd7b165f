"""What is going on, on stderr: only where somebody watches, only if it takes a while, and gone when done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING

from hero_eval.cli.habits import how_much
from hero_eval.cli.interrupts import answering_interrupts

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE = 0.7
"""Seconds before a spinner appears."""


class Activity:
    """Says what is being done; without a terminal, to nobody."""

    def __init__(self, status: Status | None = None) -> None:
        self._status = status
        self._doing = ""
        self._since = monotonic()

    def say(self, doing: str) -> None:
        self._doing = doing
        self._show(doing)

    def step(self, steps: int, _change: float) -> None:
        """A fit took another step. How much it still changes says nothing to whoever waits; that it goes on does."""
        self._show(f"{self._doing}: step {steps:,}, {monotonic() - self._since:.0f} s so far")

    def compiling(self) -> None:
        """Something is compiled that will be on disk the next time."""
        self._show(f"{self._doing}: compiling, once")

    def _show(self, text: str) -> None:
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(text, no_wrap=True, overflow="ellipsis"))


def watched() -> bool:
    """Whether somebody sees stderr as it comes."""
    if how_much().quiet or not sys.stderr.isatty():
        return False
    from rich.console import Console

    return not Console(stderr=True).is_dumb_terminal


@contextmanager
def activity() -> Iterator[Activity]:
    """A spinner on stderr that appears after a moment and leaves no trace; Ctrl-C is answered meanwhile."""
    with answering_interrupts():
        yield from _activity()


def _activity() -> Iterator[Activity]:
    if not watched():
        yield Activity()
        return
    from rich.console import Console

    from hero_eval.model.compiling import tell_of_compiling

    status = Console(stderr=True).status("Starting")
    timer = Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    doing = Activity(status)
    try:
        with tell_of_compiling(doing.compiling):
            yield doing
    finally:
        timer.cancel()
        timer.join()
        status.stop()


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar fed with (done, total); Ctrl-C is answered meanwhile."""
    with answering_interrupts():
        yield from _bar(what)


def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    if not watched():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        row = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(row, completed=done, total=total)
