"""How many threads the kernels may use."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

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


@lru_cache(maxsize=1)
def _pool(size: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # takes long to load, and small data do without

    return ThreadPoolExecutor(size, thread_name_prefix="hero-kernel")


def run_chunks(work: Callable[[int], None], n_chunks: int) -> None:
    """The chunks' work, on as many threads as there may be, this one among them.

    Each takes one chunk after the other, since handing a chunk to a thread takes as long as a part of its work; others
    that have not begun when none is left, on a busy machine, are not waited for.
    """
    threads, left = thread_count(), deque(range(n_chunks))

    def take() -> None:
        while left:
            try:
                chunk = left.popleft()
            except IndexError:  # another one has taken the last
                return
            work(chunk)

    if min(threads, n_chunks) <= 1:
        return take()
    others = [_pool(threads).submit(take) for _ in range(min(threads, n_chunks) - 1)]
    try:
        take()
    finally:
        left.clear()
        for other in others:
            if not other.cancel():
                other.result()
