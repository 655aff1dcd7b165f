"""That products of small matrices take one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Products and factors of matrices take one thread in here, whoever multiplies.

    Those of a fit are small: threads that wait for each other cost several times what they save, the more the busier
    the machine is, and sums would depend on their number. Who comes first takes the threads, and gives them back.
    """
    if not _lock.acquire(blocking=False):  # somebody has taken them already
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _lock.release()


@cache
def _libraries() -> Any:
    """The libraries that multiply matrices: looked up once they are loaded, numpy's and scipy's own."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
