"""Columns as codes and numbers: all work on rows happens here, inside pyarrow and numpy.

A column of ten million labels has few distinct values. So it is dictionary-encoded first, and Python looks at
the distinct values only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.io.bridge import kept, taken, to_numpy, to_text_array
from hero_eval.io.distinct import Codes, Column, distinct, number_order, text_order
from hero_eval.io.values import BINARY, MISSING, answer_text, fold, number, number_text, plain_text

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
    mapped: frozenset[str] = frozenset()
    """Answers that were read as others, folded."""

    @cached_property
    def complete(self) -> bool:
        """Whether no row is null. Then every text is some row's."""
        return bool(self.codes.min(initial=0) >= 0)

    def text(self, code: int) -> str:
        return str(self.texts[int(code)].as_py())

    def list_texts(self) -> list[str]:
        return [str(text) for text in self.texts.to_pylist()]


def encode_ids(column: Column) -> Coded:
    """Ids are kept as they are ("007" stays "007"); null and "" have code -1."""
    return _encode(column, _id_texts)


def encode_answers(column: Column, keep: frozenset[str] = frozenset(), missing: Sequence[str] = ()) -> Coded:
    """Answers as stripped text; missing answers, and those that are to count as missing, have code -1."""

    padded: list[int] = []

    def to_text(seen: Column) -> Column:
        values = scalars(seen)
        padded.extend(place for place, value in enumerate(values) if isinstance(value, str) and value != value.strip())
        return to_text_array([answer_text(value, keep) for value in values])

    coded, raw = _encode_both(column, to_text)
    if padded:
        coded = replace(coded, padded=np.isin(raw, padded) & (coded.codes >= 0))
    return set_aside(coded, frozenset(map(fold, missing)))


def mapped_answers(coded: Coded, mapping: Mapping[str, str]) -> Coded:
    """The answers with some read as others; neither case nor space tells those apart that are to be."""
    import pyarrow as pa

    folded = {fold(old): new for old, new in mapping.items()}
    texts = [folded.get(fold(text), text) for text in coded.list_texts()]
    distinct = sorted(set(texts), key=lambda text: text.encode())  # as pyarrow sorts them
    place = {text: position for position, text in enumerate(distinct)}
    rank = np.array([*(place[text] for text in texts), -1], np.int64)
    met = frozenset(map(fold, coded.list_texts())) & frozenset(folded)
    return replace(coded, codes=rank[coded.codes], texts=pa.array(distinct, pa.large_string()), mapped=met)


def set_aside(coded: Coded, folded: frozenset[str]) -> Coded:
    """Without the answers that are to count as not given."""
    texts = coded.list_texts() if folded else []
    hit = np.array([fold(text) in folded for text in texts], np.bool_)
    if not hit.any():
        return coded
    rank = np.append(np.where(hit, -1, np.cumsum(~hit) - 1), -1)
    aside = {texts[code]: coded.codes == code for code in np.flatnonzero(hit)}
    return replace(coded, codes=rank[coded.codes], texts=kept(coded.texts, ~hit), aside={**coded.aside, **aside})


def encode_raw(column: Column) -> NDArray[Any]:
    """Whole numbers that tell equal values from different ones; null, NaN and "" are -1."""
    bits = _bits_of_numbers(column)
    if bits is not None:
        return bits
    codes, seen = distinct(plain(column))
    nothing = _stands_for_nothing(seen)
    return np.append(np.where(nothing, -1, np.arange(len(seen))), -1)[codes] if nothing.any() else codes


def _bits_of_numbers(column: Column) -> NDArray[Any] | None:
    """Numbers without null as they are stored, which tells them apart as well; of other columns None."""
    import pyarrow as pa

    if column.null_count or not (pa.types.is_float32(column.type) or pa.types.is_float64(column.type)):
        return None
    values = to_numpy(column)
    if np.isnan(values).any():
        return None
    bits: NDArray[Any] = (values + values.dtype.type(0)).view(f"u{values.dtype.itemsize}")  # -0.0 is 0.0
    return bits


def _encode(column: Column, to_text: Callable[[Column], Column]) -> Coded:
    return _encode_both(column, to_text)[0]


def _encode_both(column: Column, to_text: Callable[[Column], Column]) -> tuple[Coded, Codes]:
    """The column as texts, and the codes of its values before they became text."""
    raw, seen = _seen(column)
    texts = to_text(seen)
    order = _order(seen, texts)
    if order is None:
        return Coded(codes=raw, texts=texts), raw
    ordered = taken(texts, order)
    fresh = _fresh(ordered)
    rank = np.full(len(texts) + 1, -1, np.int64)
    rank[order] = np.cumsum(fresh) - 1
    return Coded(codes=rank[raw], texts=ordered if fresh.all() else kept(ordered, fresh)), raw


def _seen(column: Column) -> tuple[Codes, Column]:
    """Codes and distinct values in a plain type; categories are not written out for it."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return distinct(plain(column))
    codes, values = distinct(column)
    simple = plain(values)
    return codes, simple.combine_chunks() if isinstance(simple, pa.ChunkedArray) else simple


def _order(seen: Column, texts: Column) -> Codes | None:
    """The order of the texts, without nulls; None if they are in order, and each is there once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if texts.null_count:
        return to_numpy(pc.sort_indices(texts))[: len(texts) - texts.null_count].astype(np.int64)
    if pa.types.is_integer(seen.type) and len(seen) > 1 and pc.all(pc.less(seen[:-1], seen[1:])).as_py():
        values = to_numpy(seen)
        order = number_order(values.astype(np.int64)) if int(values[-1]) < 2**63 else None
        if order is not None:
            return order
    return text_order(texts)


def _fresh(ordered: Column) -> NDArray[np.bool_]:
    """Which of the ordered texts are not the one before: "1" and 1.0 have become one text."""
    import pyarrow.compute as pc

    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = to_numpy(pc.not_equal(ordered[1:], ordered[:-1]))
    return fresh


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
        return pa.chunked_array([to_text_array([plain_text(v) for v in column.to_pylist()])])
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
        return pa.chunked_array([to_text_array([plain_text(v) for v in column.to_pylist()])])
    return column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view")


def scalars(seen: Column) -> list[Any]:
    """Distinct values as Python objects; floats as text, which must be made at their own width."""
    import pyarrow as pa

    if pa.types.is_floating(seen.type):
        return [None if np.isnan(v) else number_text(v) for v in to_numpy(seen, np.nan)]
    return list(seen.to_pylist())


def _id_texts(seen: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(seen.type):
        return to_text_array(scalars(seen))
    texts = _whole_numbers(seen.cast(pa.large_string()))
    empty = to_numpy(pc.binary_length(texts)) == 0
    return taken(texts, np.where(empty, -1, np.arange(len(texts)))) if empty.any() else texts


def _whole_numbers(texts: Column) -> Column:
    """Ids that are numbers without those zeros that pandas writes behind a column with gaps: 7.0 is 7, as 7 elsewhere.

    Only where all ids are numbers, and stay different: in a column of versions 1.0 and 1 are two.
    """
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(texts, r"^[+-]?\d+\.0+$")).as_py():
        return texts
    if not pc.all(pc.match_substring_regex(texts, r"^([+-]?\d+(\.\d+)?)?$")).as_py():
        return texts
    shorter = pc.replace_substring_regex(texts, r"^([+-]?\d+)\.0+$", r"\1")
    return shorter if len(pc.unique(shorter)) == len(pc.unique(texts)) else texts


def _stands_for_nothing(seen: Column) -> NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(seen.type):
        return to_numpy(pc.is_nan(seen))
    if _is_text(seen.type):
        return np.asarray(to_numpy(pc.binary_length(seen)) == 0)
    return np.zeros(len(seen), np.bool_)


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
        values = np.array(to_numpy(column.cast(pa.float64(), safe=False), np.nan), np.float64)
        return Numbers(values, np.empty(0, np.int64))
    if not _is_text(kind):
        return _no_numbers(column)
    codes, seen = distinct(column)
    values, wrong = _parse_texts([text.strip() for text in seen.to_pylist()])
    return Numbers(np.append(values, np.nan)[codes], np.flatnonzero(np.append(wrong, False)[codes]))


def _no_numbers(column: Column) -> Numbers:
    present = to_numpy(column.is_valid())
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

    if pa.types.is_dictionary(column.type):
        return plain(pa.chunked_array([taken(column, rows).combine_chunks()])).combine_chunks()
    found = taken(plain(column) if _is_text(column.type) else column, rows)  # long texts overflow short offsets
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


@dataclass(frozen=True)
class Settled:
    """The one row that speaks for each id."""

    rows: Codes
    """(n_ids,) -1 = none."""
    clashes: Codes
    """Rows that say something else than the row that speaks for their id."""


def settle(ids: Codes, n_ids: int, values: NDArray[Any], *, null_counts: bool = False) -> Settled:
    """Which row speaks for each id, and which rows contradict it.

    A null says nothing, so it neither speaks nor contradicts, unless `null_counts`.
    """
    rows = np.full(n_ids, -1, np.int64)
    known = (ids >= 0) & ((values >= 0) | null_counts)
    if known.all():
        rows[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
        return Settled(rows, np.flatnonzero(values != values[rows][ids]))
    speaking = np.flatnonzero(known)
    rows[ids[speaking][::-1]] = speaking[::-1]  # the last assignment stays, so the first row speaks
    clashes = speaking[values[speaking] != values[rows[ids[speaking]]]]
    return Settled(rows, clashes)
