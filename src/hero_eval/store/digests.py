"""Digests of what a batch holds: the same whatever the order of its rows and however they are cut into files.

Every value becomes 128 bits, the values of a row are mixed in the order of the columns, and the rows are added up. This
notices damage, lost rows and foreign rows. It is no signature: whoever may write the store may also write its digests.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.io.bridge import combined, to_numpy

Lanes = NDArray[np.uint64]
"""(n, 2) two independent halves of 128 bits."""

COLUMNS: dict[str, tuple[str, ...]] = {
    "labels": ("item", "labeler", "label"),
    "gold": ("item", "gold", "source"),
    "items": ("item", "weight", "numbers", "texts"),
    "labelers": ("labeler", "name", "kind", "model", "prompt", "settings", "vendor", "group"),
}
"""What counts as the content of each table."""

_NULL = np.array([0x6E756C6C, 0x4E554C4C], np.uint64)
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)


def row_digests(name: str, table: Any) -> Lanes:
    """(n_rows, 2) a digest for each row of a table of the store."""
    total = np.zeros((table.num_rows, 2), np.uint64)
    for column in COLUMNS[name]:
        total = _mix(total * _ODD + _column(table[column]))
    return total


def digest(rows: Lanes) -> str:
    """The digest of rows in any order."""
    return "".join(f"{int(lane):016x}" for lane in rows.sum(axis=0, dtype=np.uint64))


def _mix(lanes: Lanes) -> Lanes:
    """Every bit of the sum depends on every bit of the value (the finaliser of splitmix64)."""
    lanes = (lanes ^ (lanes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    lanes = (lanes ^ (lanes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return lanes ^ (lanes >> np.uint64(31))


def _column(column: Any) -> Lanes:
    import pyarrow as pa

    array = combined(column) if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # of dictionaries that had to be made one
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, pa.string())
    if pa.types.is_map(array.type):
        return _maps(array)
    if pa.types.is_floating(array.type):
        return _numbers(array)
    return _texts(array)


def _texts(array: Any) -> Lanes:
    import pyarrow as pa

    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    known = coded.dictionary.to_pylist()
    found = b"".join(blake2b(text.encode(), digest_size=16).digest() for text in known)
    lanes = np.concatenate([np.frombuffer(found, "<u8").reshape(-1, 2), _NULL[None]])
    codes = to_numpy(coded.indices, len(known)).astype(np.int64)
    return np.asarray(lanes[codes], np.uint64)


def _numbers(array: Any) -> Lanes:
    values = np.ascontiguousarray(to_numpy(array), np.float64)
    bits = np.where(np.isnan(values), np.float64("nan"), values).view(np.uint64)[:, None]
    lanes = _mix(bits * _ODD + _ODD)
    lanes[to_numpy(array.is_null())] = _NULL
    return lanes


def _maps(array: Any) -> Lanes:
    """A map is the sum of its entries: their order is nobody's concern."""
    offsets = to_numpy(array.offsets).astype(np.int64)
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    keys, values = array.keys.slice(first, last - first), array.items.slice(first, last - first)
    entries = _mix(_column(keys) * _ODD + _column(values))
    sums = np.concatenate([np.zeros((1, 2), np.uint64), np.cumsum(entries, axis=0, dtype=np.uint64)])
    return np.asarray(sums[offsets[1:] - first] - sums[offsets[:-1] - first], np.uint64)
