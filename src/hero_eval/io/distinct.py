"""The distinct values of a column, and each row's place among them: the one step of reading that looks at every row.

Whole numbers close together are looked up in a table; so are texts that are numbers behind a common beginning
("item-00017"), as most ids are. Categories are taken as they are. Where most rows repeat the one before, each run is
looked at once. Only what is left is hashed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.io.bridge import kept, taken, to_arrow, to_numpy

Codes = NDArray[np.int64]
Column = Any  # a pyarrow ChunkedArray or Array; pyarrow has no types

MANY = 10_000
"""Rows from which on a short way is looked for."""
_SAMPLE = 1_000
_SPREAD = 4
"""Whole numbers may lie so many times as far apart as there are rows."""
_MOST_DIGITS = 18
_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.int64)
_WORD = 8
_ZERO = np.uint8(48)


def distinct(column: Column) -> tuple[Codes, Column]:
    """Codes (-1 = null) and the distinct values, all of which occur, in any order."""
    import pyarrow as pa

    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kind = chunked.type
    if pa.types.is_dictionary(kind):
        return _of_categories(chunked)
    if len(chunked) >= MANY and not chunked.null_count:
        if pa.types.is_integer(kind):
            numbers = to_numpy(chunked)
            found = _by_table(numbers)
            if found is not None:
                return found[0], to_arrow(found[1].astype(numbers.dtype))
        if pa.types.is_large_string(kind) or pa.types.is_string(kind):
            return _of_texts(chunked)
    return _hashed(chunked)


def _hashed(chunked: Column) -> tuple[Codes, Column]:
    import pyarrow as pa

    encoded = chunked.dictionary_encode()  # all chunks get the same dictionary
    parts = [to_numpy(chunk.indices, -1).astype(np.int64) for chunk in encoded.chunks]
    codes = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return codes, encoded.chunk(0).dictionary if parts else pa.nulls(0, chunked.type)


def _of_categories(chunked: Column) -> tuple[Codes, Column]:
    """Categories that no row has are left out, as if the column had been written out."""
    import pyarrow as pa

    unified = chunked.unify_dictionaries()
    if not unified.num_chunks:
        return np.empty(0, np.int64), pa.nulls(0, chunked.type.value_type)
    values = unified.chunk(0).dictionary
    parts = [_signed(chunk.indices) for chunk in unified.chunks]
    codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
    place = np.append(np.arange(len(values)), -1)
    used = np.bincount(codes + 1, minlength=len(values) + 1)[1:] > 0
    if values.null_count:
        used &= to_numpy(values.is_valid())
    if used.all():
        return codes, values
    place[:-1] = np.where(used, np.cumsum(used) - 1, -1)
    return place[codes], kept(values, used)


def _signed(indices: Column) -> Codes:
    import pyarrow as pa

    return to_numpy(indices.cast(pa.int64()) if indices.null_count else indices, -1).astype(np.int64)


def _by_table(numbers: NDArray[Any]) -> tuple[Codes, Codes] | None:
    """Codes of whole numbers and the distinct ones, ascending; None if they lie too far apart for a table."""
    least, most = int(numbers.min()), int(numbers.max())
    if most - least >= _SPREAD * len(numbers) or most >= 2**63:
        return None
    away = numbers.astype(np.int64)  # a copy: the numbers are the caller's own
    if least:
        away -= least
    there = np.zeros(most - least + 1, np.bool_)
    there[away] = True
    values = np.flatnonzero(there)
    if len(values) < len(there):
        away = (np.cumsum(there) - 1)[away]
    return away, values + least


def _of_texts(chunked: Column) -> tuple[Codes, Column]:
    numbers = _numbers_behind(chunked)
    found = None if numbers is None else _by_table(numbers)
    if found is not None:
        codes, values = found
        row = np.empty(len(values), np.int64)
        row[codes] = np.arange(len(codes))
        return codes, _one_array(taken(chunked, row))
    return _by_runs(chunked) if _repeats(chunked) else _hashed(chunked)


def _one_array(chunked: Column) -> Column:
    import pyarrow as pa

    return chunked.combine_chunks() if isinstance(chunked, pa.ChunkedArray) else chunked


def _numbers_behind(chunked: Column) -> Codes | None:
    """Texts as the numbers that stand behind what all begin with, if these tell them apart; else None.

    Either all are equally long, or none has a zero in front: so no two texts are one number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if _repeats(chunked) or len(set(chunked[:_SAMPLE].to_pylist())) < _SAMPLE // 4:
        return None  # runs and few values have a shorter way
    start = common_start(chunked)
    if start is None:
        return None
    widths = pc.min_max(pc.binary_length(chunked)).as_py()
    least, most = widths["min"] - len(start), widths["max"] - len(start)
    if least < 1 or most > _MOST_DIGITS:
        return None
    if least == most:
        parts = [_digits_at_end(chunk, most) for chunk in chunked.chunks if len(chunk)]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) else None
    rest = pc.utf8_slice_codeunits(chunked, len(start)) if start else chunked
    for chunk in rest.chunks:
        ends, letters = text_buffers(chunk)
        if ((letters[ends[0] : ends[-1]] - _ZERO) > 9).any():  # unsigned: what is below "0" becomes large
            return None
        if ((letters[ends[:-1]] == _ZERO) & (np.diff(ends) > 1)).any():
            return None
    numbers: Codes = to_numpy(rest.cast(pa.int64()))
    return numbers


def _digits_at_end(texts: Column, width: int) -> Codes | None:
    """The last letters of equally long texts as numbers, if all of them are digits."""
    ends, letters = text_buffers(texts)
    digits = letters[ends[0] : ends[-1]].reshape(len(texts), -1)[:, -width:].T - _ZERO
    if (digits > 9).any():
        return None
    numbers: Codes = digits[0].astype(np.int64)
    for digit in digits[1:]:
        numbers *= 10
        numbers += digit
    return numbers


def common_start(texts: Column) -> str | None:
    """What all of these texts begin with, without digits at its end; None if that cannot be said shortly."""
    import pyarrow.compute as pc

    some = taken(texts, np.linspace(0, len(texts) - 1, _SAMPLE).astype(np.int64)).to_pylist()
    low, high = min(some), max(some)
    same = [one == other for one, other in zip(low, high, strict=False)]
    start = low[: [*same, False].index(False)].rstrip("0123456789")
    if not start:
        return ""
    return start if start.isascii() and pc.all(pc.starts_with(texts, start)).as_py() else None


def text_buffers(array: Column) -> tuple[Codes, NDArray[np.uint8]]:
    """Where the texts of an array without nulls begin and end, and their letters."""
    wide = np.int64 if str(array.type) == "large_string" else np.int32
    _, ends, letters = array.buffers()
    begun = np.frombuffer(ends, wide)[array.offset : array.offset + len(array) + 1]
    return begun.astype(np.int64), np.frombuffer(letters, np.uint8) if letters else np.zeros(1, np.uint8)


def _repeats(chunked: Column) -> bool:
    """Whether two of three rows repeat the one before, by the looks of some."""
    import pyarrow.compute as pc

    middle = len(chunked) // 2
    some = _one_array(chunked[middle : middle + _SAMPLE])
    return bool(3 * pc.sum(pc.equal(some[1:], some[:-1])).as_py() > 2 * len(some))


def _by_runs(chunked: Column) -> tuple[Codes, Column]:
    import pyarrow as pa
    import pyarrow.compute as pc

    firsts, runs, n_runs = [], [], 0
    for chunk in chunked.chunks:
        fresh = np.ones(len(chunk), np.bool_)
        fresh[1:] = to_numpy(pc.not_equal(chunk[1:], chunk[:-1]))
        begun = np.flatnonzero(fresh)
        firsts.append(taken(chunk, begun))
        runs.append(np.cumsum(fresh) + (n_runs - 1))
        n_runs += len(begun)
    codes, values = _hashed(pa.chunked_array(firsts, chunked.type))
    return codes[np.concatenate(runs)], values


def text_order(texts: Column) -> Codes | None:
    """The order that sorts texts without nulls by their bytes; None if they are sorted already."""
    import pyarrow.compute as pc

    if len(texts) < 2 or pc.all(pc.less(texts[:-1], texts[1:])).as_py():
        return None
    order = _order_by_words(texts) if len(texts) >= MANY else None
    return to_numpy(pc.sort_indices(texts)).astype(np.int64) if order is None else order


def _order_by_words(texts: Column) -> Codes | None:
    """By the letters behind the common start, as one number or two; None where that leaves texts equal."""
    start = len(common_start(texts) or "")
    ends, letters = text_buffers(texts)
    first = _word(ends, letters, start)
    order = np.argsort(first, kind="stable")
    if not (np.diff(first[order]) == 0).any():
        return order
    second = _word(ends, letters, start + _WORD)
    order = np.lexsort((second, first))
    same = (first[order][1:] == first[order][:-1]) & (second[order][1:] == second[order][:-1])
    return None if same.any() else order


def _word(ends: Codes, letters: NDArray[np.uint8], start: int) -> NDArray[np.uint64]:
    """Eight letters of each text from a place on, as a number that sorts like them; beyond the end there are zeros."""
    word = np.zeros(len(ends) - 1, np.uint64)
    for place in range(start, start + _WORD):
        at = ends[:-1] + place
        inside = at < ends[1:]
        word <<= np.uint64(8)
        word |= np.where(inside, letters[np.where(inside, at, 0)], 0).astype(np.uint64)
    return word


def number_order(values: Codes) -> Codes | None:
    """The order that sorts ascending whole numbers as texts ("10" before "9"); None if some are below zero or too long.

    Filled up with zeros behind, numbers of each length are sorted already: a few runs to merge.
    """
    if not len(values) or values[0] < 0 or values[-1] >= _POWERS[-1] // 10:
        return None
    digits = np.maximum(np.searchsorted(_POWERS, values, side="right"), 1)
    return np.argsort(values * _POWERS[int(digits[-1]) - digits], kind="stable")
