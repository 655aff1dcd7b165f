"""Compiled functions: kept on disk where a folder can be written, and announced when one is made for the first time.

numba keeps them beside their module, or in the user's cache if that is read-only. Where neither can be written it
refuses to compile; then they are made anew in every process, which is slow but right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
_told: list[Callable[[], None]] = []


def njit(**options: Any) -> Callable[[Function], Function]:
    """numba's `njit`, with the two properties above."""
    import numba

    _listen()

    def compiled(function: Function) -> Function:
        try:
            made: Function = numba.njit(**options)(function)
        except RuntimeError:  # no folder can be written
            made = numba.njit(**{**options, "cache": False})(function)
        return made

    return compiled


@contextmanager
def tell_of_compiling(hear: Callable[[], None]) -> Iterator[None]:
    """In here `hear` is called whenever compiling begins; what is on disk already is not compiled."""
    _told.append(hear)
    try:
        yield
    finally:
        _told.remove(hear)


@cache
def _listen() -> None:
    """Have numba tell us, once a process."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            del event
            for hear in _told:
                hear()

        def on_end(self, event: Any) -> None:
            del event

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
