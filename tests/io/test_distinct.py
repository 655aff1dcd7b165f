"""Distinct values and their order, by every short way, against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hero_eval.io import distinct as module
from hero_eval.io import labels as sorting
from hero_eval.io.arrays import encode_ids
from hero_eval.io.distinct import distinct, text_order

NUMBERED = st.builds(
    lambda start, width, numbers: [f"{start}{number:0{width}d}" for number in numbers],
    st.sampled_from(["", "item-", "w", "1", "ä", "x0"]),
    st.integers(0, 4),
    st.lists(st.integers(0, 60), min_size=1, max_size=40),
)
WORDS = st.lists(st.text("ab\0é0", max_size=11), min_size=1, max_size=40)
RUNS = st.lists(st.tuples(st.sampled_from(["a", "bb", "item-1", ""]), st.integers(1, 6)), min_size=1, max_size=10).map(
    lambda runs: [text for text, times in runs for _ in range(times)]
)
TEXTS = st.one_of(NUMBERED, WORDS, RUNS)
WHOLE = st.lists(st.one_of(st.integers(-9, 200), st.integers(-(2**62), 2**62)), min_size=1, max_size=40)
CLOSE = st.lists(st.integers(0, 120), min_size=1, max_size=60)
NUMBERS = st.one_of(CLOSE, st.lists(st.integers(-20, 20), min_size=1, max_size=60), WHOLE)


@pytest.fixture(autouse=True)
def short_ways_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MANY", 4)
    monkeypatch.setattr(module, "_SAMPLE", 4)
    monkeypatch.setattr(sorting, "MANY", 2)


quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)


def in_parts(values: list[Any], kind: Any) -> Any:
    middle = len(values) // 2
    return pa.chunked_array([pa.array(values[:middle], kind), pa.array(values[middle:], kind)])


def hold(column: Any, values: list[Any]) -> None:
    codes, seen = distinct(column)
    assert [seen[int(code)].as_py() for code in codes] == values
    assert len(set(seen.to_pylist())) == len(seen) == len(set(values))


@pytest.mark.slow
@given(texts=TEXTS)
@quick
def test_texts(texts: list[str]) -> None:
    for kind in (pa.string(), pa.large_string()):
        hold(in_parts(texts, kind), texts)
    hold(in_parts(texts, pa.string()).dictionary_encode(), texts)


@given(numbers=NUMBERS)
@quick
def test_whole_numbers(numbers: list[int]) -> None:
    hold(in_parts(numbers, pa.int64()), numbers)


@pytest.mark.slow
@given(texts=TEXTS)
@quick
def test_text_order(texts: list[str]) -> None:
    order = text_order(pa.array(texts, pa.large_string()))
    plain = sorted(texts, key=lambda text: text.encode())
    assert (texts if order is None else [texts[place] for place in order]) == plain


@pytest.mark.slow
@given(values=st.one_of(TEXTS, NUMBERS))
@quick
def test_ids_are_texts_in_order(values: list[Any]) -> None:
    as_text = [str(value) for value in values]
    plain = in_parts(values, pa.array(values).type)
    for column in (plain, plain.dictionary_encode()):
        coded = encode_ids(column)
        known = sorted({text for text in as_text if text}, key=lambda text: text.encode())
        assert coded.list_texts() == known
        assert [known[code] if code >= 0 else "" for code in coded.codes] == as_text


def test_categories_that_no_row_has_are_left_out() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([2, None, 0, 2], pa.int8()), pa.array(["b", "never", "a"]))
    codes, values = distinct(column)
    assert codes.tolist() == [1, -1, 0, 1]
    assert values.to_pylist() == ["b", "a"]


def test_codes_are_a_copy() -> None:
    mine = np.arange(20)
    codes, _ = distinct(pa.array(mine))
    mine[:] = 0
    assert codes.tolist() == list(range(20))


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(-1, 2)), min_size=1, max_size=60),
    ordered=st.booleans(),
)
@quick
def test_labels_are_sorted(rows: list[tuple[int, int, int]], ordered: bool) -> None:
    rows = [*rows, *((item, 0, 0) for item in range(6))]  # every item has a label
    given_rows = sorted(rows) if ordered else rows
    found = sorting.sort_labels(*(np.array(column) for column in zip(*given_rows, strict=True)), 6, 4, 3)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == sorted(rows)
