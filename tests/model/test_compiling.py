"""Compiling is announced, and works where nothing can be written."""

from __future__ import annotations

from typing import Any

import numba
import pytest

from hero_eval.model.compiling import njit, tell_of_compiling


def test_compiling_is_announced_once() -> None:
    """Ten seconds of silence look like a hang."""
    heard: list[str] = []

    @njit(nogil=True)
    def double(value: float) -> float:
        return 2.0 * value

    with tell_of_compiling(lambda: heard.append("compiling")):
        assert double(2.0) == 4.0
        assert double(3.0) == 6.0
    assert heard == ["compiling"]


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container without a folder that can be written would not get past the import."""
    real = numba.njit

    def refusing(**options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", refusing)

    @njit(cache=True)
    def triple(value: float) -> float:
        return 3.0 * value

    assert triple(2.0) == 6.0
