"""HERO-3 fits the same data once in the tests of most folders: those that hold what is asked of a fit, or shown of it.

Most examples and commands ask something of the same few rounds, and so do tests of estimates, which ask it in several
ways: of two fits about one was made before. That a fit is the same each time is held where fits are made for themselves
(`tests/methods/test_hero3.py`), and in processes of their own (`tests/package/test_public.py`).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from hero_eval.model.hero3.fit import LevelFit

MOST_KEPT = 400
"""Fits that are remembered, the last asked for last: simulations make thousands that nobody asks for again."""


@pytest.fixture(autouse=True, scope="module")
def fits_once() -> Iterator[None]:
    """For all tests of a folder: import it in its `conftest.py`."""
    with shared_fits():
        yield


@contextmanager
def shared_fits() -> Iterator[None]:
    """Meanwhile what was fitted by anybody in here is not fitted again."""
    from hero_eval.methods import hero3

    with pytest.MonkeyPatch.context() as patched:
        for name, fit in _fits().items():
            patched.setattr(hero3, name, fit)
        yield


@cache
def _fits() -> dict[str, Callable[..., LevelFit]]:
    from hero_eval.methods import hero3

    return {name: remembered(getattr(hero3, name)) for name in ("choose_levels", "fit_levels")}


def remembered(fit: Callable[..., LevelFit]) -> Callable[..., LevelFit]:
    """The fit, made once for arguments of the same contents; nobody is told how far one is that was made before."""
    known: OrderedDict[str, LevelFit] = OrderedDict()

    def ask(*given: Any, **named: Any) -> LevelFit:
        key = fingerprint([given, sorted(named.items())])
        if key not in known:
            known[key] = fit(*given, **named)
        known.move_to_end(key)
        if len(known) > MOST_KEPT:
            known.popitem(last=False)
        return known[key]

    return ask


def fingerprint(of: Any) -> str:
    """The same for the same contents."""
    found = hashlib.blake2b(digest_size=16)
    for part in _parts(of):
        found.update(part)
        found.update(b"|")
    return found.hexdigest()


def _parts(of: Any) -> Iterator[bytes]:
    if isinstance(of, LevelFit):
        yield from _parts([of.rows, of.shape, of.parameters, of.prior])
    elif isinstance(of, np.ndarray):
        yield f"{of.dtype} {of.shape}".encode()
        yield of.tobytes()
    elif hasattr(of, "indptr"):
        yield from _parts([of.shape, of.indptr, of.indices, of.data])
    elif is_dataclass(of):
        yield type(of).__name__.encode()
        for field in fields(of):
            yield from _parts(getattr(of, field.name))
    elif isinstance(of, list | tuple):
        yield str(len(of)).encode()
        for one in of:
            yield from _parts(one)
    elif callable(of):  # who is told how far it is
        yield b"told"
    else:
        yield repr(of).encode()
