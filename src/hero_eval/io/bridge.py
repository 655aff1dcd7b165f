"""Between numpy and pyarrow without pandas, which pyarrow's own conversions load, at twice the price of an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KINDS = {"float": "float32", "double": "float64", "halffloat": "float16"}


def to_numpy(column: Any, null: Any = 0) -> NDArray[Any]:
    """Numbers or truth values of a pyarrow array, chunked or not; `null` stands for nulls. It may share memory."""
    if hasattr(column, "chunks"):
        parts = [to_numpy(chunk, null) for chunk in column.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, _dtype(column.type)), *parts])
    valid, values = column.buffers()
    here = slice(column.offset, column.offset + len(column))
    if not len(column):
        return np.empty(0, _dtype(column.type))
    found = _bits(values, here) if str(column.type) == "bool" else np.frombuffer(values, _dtype(column.type))[here]
    return np.where(_bits(valid, here), found, found.dtype.type(null)) if column.null_count else found


def _dtype(kind: Any) -> np.dtype[Any]:
    return np.dtype(_KINDS.get(str(kind), str(kind)))


def _bits(buffer: Any, here: slice) -> NDArray[np.bool_]:
    first = here.start // 8
    some = np.frombuffer(buffer, np.uint8)[first : here.stop // 8 + 1]
    return np.unpackbits(some, bitorder="little")[here.start - 8 * first : here.stop - 8 * first].view(np.bool_)


def to_arrow(values: NDArray[Any], null: NDArray[np.bool_] | None = None) -> Any:
    """The values as a pyarrow array, with nulls where `null` is true."""
    import pyarrow as pa

    valid = None if null is None else _packed(~null)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [valid, _packed(values)])
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(np.ascontiguousarray(values))])


def _packed(values: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(values, bitorder="little"))


def to_text_array(texts: Sequence[str | None]) -> Any:
    """A pyarrow array of text."""
    import pyarrow as pa

    letters = [(text or "").encode() for text in texts]
    ends = np.concatenate([[0], np.cumsum([len(one) for one in letters], dtype=np.int64)]).astype(np.int64)
    valid = _packed(np.array([text is not None for text in texts], np.bool_)) if None in texts else None
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(letters))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)


def to_objects(texts: Any) -> NDArray[Any]:
    """(n,) the texts of a pyarrow array."""
    found = np.empty(len(texts), object)
    found[:] = texts.to_pylist()
    return found


def combined(column: Any) -> Any:
    """A chunked array in one, if that can be."""
    import pyarrow as pa

    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)


def empty_table(schema: Any) -> Any:
    """A table without rows."""
    import pyarrow as pa

    return pa.Table.from_batches([], schema=schema)


def taken(column: Any, rows: NDArray[np.int64]) -> Any:
    """The values at these rows; row -1 gives null."""
    missing = rows < 0
    return column.take(to_arrow(np.where(missing, 0, rows), missing) if missing.any() else to_arrow(rows))


def kept(column: Any, mask: NDArray[np.bool_]) -> Any:
    """The values where the mask is true."""
    return column.filter(to_arrow(mask))
