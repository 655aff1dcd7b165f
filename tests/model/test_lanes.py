"""Rows of an array as values of compiled passes."""

from __future__ import annotations

import numpy as np
import pytest

from hero_eval.model.compiling import njit
from hero_eval.model.lanes import add_to, load, scaled, store, times, total


@pytest.mark.parametrize("size", [1, 3, 7, 9])
def test_rows_are_worked_on_whole(size: int) -> None:
    """A component left out, or one of the next row taken in, would be wrong in every fit of so many components."""

    @njit()
    def passed(values, out):  # type: ignore[no-untyped-def]
        first, second = load(values, 0, size), load(values, 1, size)
        store(out, 1, times(first, second))
        add_to(out, 2, scaled(second, 3.0))
        return total(first)

    rng = np.random.default_rng(size)
    values, out = rng.normal(size=(2, size)), np.ones((4, size))
    assert passed(values, out) == pytest.approx(values[0].sum(), rel=1e-12)
    np.testing.assert_array_equal(out, [np.ones(size), values[0] * values[1], 1.0 + 3.0 * values[1], np.ones(size)])
