"""Small result tables in the dataframe library that the caller uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from hero_eval.deprecation import warn_renamed
from hero_eval.errors import wrong


def to_frame(columns: Mapping[str, Sequence[Any]], kind: str) -> Any:
    """A pandas, polars or pyarrow table; other kinds (files, DuckDB) give pandas if it is installed, else pyarrow."""
    chosen = kind if kind in ("pandas", "polars", "pyarrow") else ("pandas" if find_spec("pandas") else "pyarrow")
    if chosen == "pandas":
        import pandas

        return pandas.DataFrame(dict(columns))
    if chosen == "polars":
        import polars

        return polars.DataFrame(dict(columns))
    import pyarrow

    return pyarrow.table({name: list(values) for name, values in columns.items()})


def checked_backend(backend: str | None, default: str) -> str:
    """`backend`, or the default, after checking that it is one we know."""
    if backend is None:
        return default
    if backend not in ("pandas", "polars", "pyarrow"):
        raise wrong("E201", f"backend is {backend!r}. Known: 'pandas', 'polars', 'pyarrow'")
    return backend


class Framed(ABC):
    """A result that is a table too. `frame` is the old name of `to_frame`."""

    @abstractmethod
    def to_frame(self, backend: str | None = None) -> Any:
        """The result as a dataframe."""

    def frame(self, backend: str | None = None) -> Any:
        """The old name of `to_frame`."""
        warn_renamed(f"{type(self).__name__}.frame()", "to_frame()")
        return self.to_frame(backend)
