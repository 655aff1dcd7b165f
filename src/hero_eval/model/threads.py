"""How many threads the kernels may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_limits: list[int] = []


@contextmanager
def limited_threads(most: int) -> Iterator[None]:
    """No more than so many threads in here, for callers that have their own."""
    _limits.append(most)
    try:
        yield
    finally:
        _limits.pop()


def thread_count() -> int:
    """The cores that this process may use, unless fewer threads are asked for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([cores, *_limits])
