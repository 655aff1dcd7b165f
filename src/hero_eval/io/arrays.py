"""Columns as codes and numbers: all work on rows happens here, inside pyarrow and numpy.

A column of ten million labels has few distinct values. So it is dictionary-encoded first, and Python looks at
the distinct values only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.io.values import BINARY, MISSING, answer_text, fold, number, number_text, plain_text

Codes = NDArray[np.int64]
Column = Any  # a pyarrow ChunkedArray or Array; pyarrow has no types

LARGEST = 1e100
"""Numbers above this, or below its negative, count as infinite."""
BOOLEAN_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


@dataclass(frozen=True)
class Coded:
    """A text column."""

    codes: Codes
    """(n_rows,) positions in `texts`, -1 = null."""
    texts: Any
    """The distinct texts, sorted: a pyarrow array."""
    padded: NDArray[np.bool_] | None = None
    """(n_rows,) rows whose answer had space around it; None: none had."""
    aside: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """Answers that count as not given, with the rows (n_rows,) that had them."""

    def text(self, code: int) -> str:
        return str(self.texts[int(code)].as_py())

    def list_texts(self) -> list[str]:
        return [str(text) for text in self.texts.to_pylist()]


def encode_ids(column: Column) -> Coded:
    """Ids are kept as they are ("007" stays "007"); null and "" have code -1."""
    return _encode(column, _id_texts)


def encode_answers(column: Column, keep: frozenset[str] = frozenset(), missing: Sequence[str] = ()) -> Coded:
    """Answers as stripped text; missing answers, and those that are to count as missing, have code -1."""
    import pyarrow as pa

    padded: list[int] = []

    def to_text(seen: Column) -> Column:
        values = scalars(seen)
        padded.extend(place for place, value in enumerate(values) if isinstance(value, str) and value != value.strip())
        return pa.array([answer_text(value, keep) for value in values], pa.large_string())

    coded, raw = _encode_both(column, to_text)
    if padded:
        coded = replace(coded, padded=np.isin(raw, padded) & (coded.codes >= 0))
    return _set_aside(coded, frozenset(map(fold, missing)))


def mapped_answers(coded: Coded, mapping: Mapping[str, str]) -> Coded:
    """The answers with some read as others; neither case nor space tells those apart that are to be."""
    import pyarrow as pa

    folded = {fold(old): new for old, new in mapping.items()}
    texts = [folded.get(fold(text), text) for text in coded.list_texts()]
    distinct = sorted(set(texts), key=lambda text: text.encode())  # as pyarrow sorts them
    place = {text: position for position, text in enumerate(distinct)}
    rank = np.array([*(place[text] for text in texts), -1], np.int64)
    return replace(coded, codes=rank[coded.codes], texts=pa.array(distinct, pa.large_string()))


def _set_aside(coded: Coded, folded: frozenset[str]) -> Coded:
    """Without the answers that are to count as not given."""
    texts = coded.list_texts() if folded else []
    hit = np.array([fold(text) in folded for text in texts], np.bool_)
    if not hit.any():
        return coded
    rank = np.append(np.where(hit, -1, np.cumsum(~hit) - 1), -1)
    aside = {texts[code]: coded.codes == code for code in np.flatnonzero(hit)}
    return replace(coded, codes=rank[coded.codes], texts=coded.texts.filter(~hit), aside=aside)


def encode_raw(column: Column) -> Codes:
    """Codes that tell equal values from different ones; null, NaN and "" are -1."""
    codes, seen = _dictionary(plain(column))
    return np.append(np.where(_stands_for_nothing(seen), -1, np.arange(len(seen))), -1)[codes]


def _encode(column: Column, to_text: Callable[[Column], Column]) -> Coded:
    return _encode_both(column, to_text)[0]


def _encode_both(column: Column, to_text: Callable[[Column], Column]) -> tuple[Coded, Codes]:
    """The column as texts, and the codes of its values before they became text."""
    import pyarrow.compute as pc

    raw, seen = _dictionary(plain(column))
    texts = to_text(seen)
    order = pc.sort_indices(texts).to_numpy()[: len(texts) - texts.null_count]  # nulls sort last
    ordered = texts.take(order)
    fresh = np.ones(len(order), np.bool_)  # "1" and 1.0 have become one text
    fresh[1:] = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    rank = np.full(len(texts) + 1, -1, np.int64)
    rank[order] = np.cumsum(fresh) - 1
    return Coded(codes=rank[raw], texts=ordered.filter(fresh)), raw


def _dictionary(column: Column) -> tuple[Codes, Column]:
    """Codes (-1 = null) and the distinct values."""
    import pyarrow as pa

    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    encoded = chunked.dictionary_encode()  # all chunks get the same dictionary
    parts = [chunk.indices.fill_null(-1).to_numpy().astype(np.int64) for chunk in encoded.chunks]
    codes = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return codes, encoded.chunk(0).dictionary if parts else pa.array([], column.type)


def plain(column: Column) -> Column:
    """The column in a type that every compute function knows: no categories, views or extensions."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind):  # libraries differ in the unit that they default to
        return column.cast(pa.timestamp("us", kind.tz), safe=False)
    if _is_text(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):  # some writers do not mark text as text
        try:
            return column.cast(pa.large_string())
        except pa.ArrowInvalid:
            return column
    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_nested(kind):
        return pa.chunked_array([pa.array([plain_text(v) for v in column.to_pylist()], pa.large_string())])
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    return column.cast(pa.large_string()) if pa.types.is_null(kind) else column


def stored_plainly(column: Column) -> Column:
    """The column itself, or the same values without views, runs and unions, for which much is not implemented."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if str(kind).startswith("run_end_encoded"):
        chunks = [pc.run_end_decode(chunk) for chunk in getattr(column, "chunks", [column])]
        return stored_plainly(pa.chunked_array(chunks, kind.value_type))
    if str(kind) == "binary_view":
        return column.cast(pa.large_binary())
    if str(kind) == "string_view":
        return column.cast(pa.large_string())
    strange = pa.types.is_union(kind) or pa.types.is_interval(kind) or pa.types.is_duration(kind)
    if strange or "list_view" in str(kind):
        return pa.chunked_array([pa.array([plain_text(v) for v in column.to_pylist()], pa.large_string())])
    return column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view")


def scalars(seen: Column) -> list[Any]:
    """Distinct values as Python objects; floats as text, which must be made at their own width."""
    import pyarrow as pa

    if pa.types.is_floating(seen.type):
        return [None if np.isnan(v) else number_text(v) for v in seen.to_numpy(zero_copy_only=False)]
    return list(seen.to_pylist())


def _id_texts(seen: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(seen.type):
        return pa.array(scalars(seen), pa.large_string())
    texts = seen.cast(pa.large_string())
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _stands_for_nothing(seen: Column) -> NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(seen.type):
        nothing = pc.is_nan(seen)
    elif _is_text(seen.type):
        nothing = pc.equal(seen, "")
    else:
        return np.zeros(len(seen), np.bool_)
    return np.asarray(nothing.to_numpy(zero_copy_only=False), np.bool_)


@dataclass(frozen=True)
class Numbers:
    """A column read as numbers."""

    values: NDArray[np.float64]
    """(n,) nan = missing."""
    bad: Codes
    """Positions of values that are not numbers."""

    @property
    def infinite(self) -> Codes:
        """Positions of values that are infinite, or so large that sums of their squares would be."""
        return np.flatnonzero(np.abs(self.values) > LARGEST)


def to_numbers(column: Column) -> Numbers:
    """Numbers of a numeric, boolean or text column. Text counts as boolean only if all of it is."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):  # turning vectors into text would be slow, and for nothing
        return _no_numbers(column)
    column = plain(column)
    kind = column.type
    if pa.types.is_boolean(kind):
        return to_numbers(column.cast(pa.int8()))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
        return Numbers(values, np.empty(0, np.int64))
    if not _is_text(kind):
        return _no_numbers(column)
    codes, seen = _dictionary(column)
    values, wrong = _parse_texts([text.strip() for text in seen.to_pylist()])
    return Numbers(np.append(values, np.nan)[codes], np.flatnonzero(np.append(wrong, False)[codes]))


def _no_numbers(column: Column) -> Numbers:
    present = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    return Numbers(np.full(len(column), np.nan), np.flatnonzero(present))


def can_be_covariate(column: Column) -> bool:
    """Whether the column can serve as a covariate that nobody asked for by name."""
    if len(to_numbers(column[:100]).bad):  # spares a look at a million prompts
        return False
    numbers = to_numbers(column)
    return not len(numbers.bad) and not len(numbers.infinite) and not bool(np.isnan(numbers.values).all())


def _parse_texts(texts: list[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    present = [text not in MISSING for text in texts]
    if all(text.lower() in BOOLEAN_WORDS for text, there in zip(texts, present, strict=True) if there):
        parsed = [BOOLEAN_WORDS.get(text.lower()) for text in texts]
    else:
        parsed = [number(text) for text in texts]
    values = np.array([np.nan if value is None else value for value in parsed], np.float64)
    wrong = [there and value is None for there, value in zip(present, parsed, strict=True)]
    return values, np.array(wrong, np.bool_)


def to_texts(column: Column) -> list[str]:
    """Every value as text, null as ""."""
    return ["" if text is None else text for text in map(plain_text, plain(column).to_pylist())]


def to_flags(column: Column) -> tuple[NDArray[np.bool_], Codes]:
    """A yes/no column, and the positions that are neither."""
    coded = encode_answers(column)
    meanings = [BINARY.get(text.lower()) for text in coded.list_texts()]
    truth = np.array([meaning == "1" for meaning in meanings] + [False], np.bool_)
    unclear = np.array([meaning is None for meaning in meanings] + [True], np.bool_)
    return truth[coded.codes], np.flatnonzero(unclear[coded.codes])


def show(column: Column, position: int) -> str:
    """One value for a message."""
    text = repr(column[int(position)].as_py())
    return text if len(text) <= 60 else text[:57] + "..."


def take(column: Column, rows: Codes) -> Column:
    """The values at these rows as one pyarrow array; row -1 gives null."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) or _is_text(column.type):  # long texts overflow short offsets
        column = plain(column)
    taken = column.take(pa.array(np.where(rows < 0, 0, rows), mask=rows < 0))
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


@dataclass(frozen=True)
class Settled:
    """The one row that speaks for each id."""

    rows: Codes
    """(n_ids,) -1 = none."""
    clashes: Codes
    """Rows that say something else than the row that speaks for their id."""


def settle(ids: Codes, n_ids: int, values: Codes, *, null_counts: bool = False) -> Settled:
    """Which row speaks for each id, and which rows contradict it.

    A null says nothing, so it neither speaks nor contradicts, unless `null_counts`.
    """
    speaking = np.flatnonzero((ids >= 0) & ((values >= 0) | null_counts))
    rows = np.full(n_ids, -1, np.int64)
    rows[ids[speaking][::-1]] = speaking[::-1]  # the last assignment stays, so the first row speaks
    clashes = speaking[values[speaking] != values[rows[ids[speaking]]]]
    return Settled(rows, clashes)
