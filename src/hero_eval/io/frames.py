"""Any dataframe as a pyarrow table: pandas, Polars, pyarrow, DuckDB, and what else narwhals knows."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hero_eval.errors import HeroError, Problem, wrong
from hero_eval.io.arrays import stored_plainly
from hero_eval.io.bridge import to_text_array
from hero_eval.io.tables import TABLES, InputTable, InputTables, gather, without_index
from hero_eval.io.values import plain_text


def from_frames(labels: Any, gold: Any, items: Any) -> InputTables:
    """The dataframes that the caller gave as pyarrow tables, with the problems of all of them."""
    sources: dict[str, InputTable] = {}
    problems: list[Problem] = []
    broken: set[str] = set()
    for name, frame in zip(TABLES, (labels, gold, items), strict=True):
        if frame is None and name != "labels":
            continue
        try:
            sources[name] = to_input_table(name, frame)
        except HeroError as error:
            problems += error.problems
            broken.add(name)
    return gather(sources, broken, problems)


def to_input_table(name: str, frame: Any) -> InputTable:
    """One dataframe as a `InputTable`; InputError E117 if it is none."""
    import pyarrow as pa

    kind, table = "pyarrow", None
    if isinstance(frame, pa.Table):
        table = frame
    elif isinstance(frame, pa.RecordBatch):
        table = pa.Table.from_batches([frame])
    elif type(frame).__name__ == "DuckDBPyRelation":
        kind, table = "duckdb", frame.to_arrow_table()
    else:
        kind, table = _through_narwhals(name, frame)
    twice = sorted(column for column, times in Counter(table.column_names).items() if times > 1)
    if twice:
        raise wrong("E117", f"{name} has more than one column called {twice[0]!r}. Rename or drop all but one.")
    return InputTable(name, simplified(name, without_index(table)), kind)


def simplified(name: str, table: Any) -> Any:
    """The table without types that only store a column in another way, such as views and runs."""
    import pyarrow as pa

    columns = []
    for column, given in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(stored_plainly(given))
        except (pa.ArrowException, NotImplementedError) as error:
            kind, reason = given.type, " ".join(str(error).split())[:120]
            raise wrong("E117", f"{name} column {column!r} of type {kind} cannot be read: {reason}.") from error
    return pa.table(columns, names=table.column_names)  # at once: each column by itself would copy the list of all


def check_text(what: str, text: str, code: str = "E106") -> None:
    """E106 for text that is no Unicode: half of a pair of surrogates, which no file and no terminal can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"{what}, {text[:60]!r}, holds half of a surrogate pair, which is no character. Write it as Unicode."
        raise wrong(code, message) from None


def _through_narwhals(name: str, frame: Any) -> tuple[str, Any]:
    import narwhals as nw
    import pyarrow as pa

    try:
        native = nw.from_native(_with_named_index(frame))
    except TypeError:
        if hasattr(frame, "__arrow_c_stream__"):
            return "pyarrow", pa.table(frame)
        hint = " Read files with hero_eval.read_round(path)." if isinstance(frame, str) or _is_path(frame) else ""
        raise wrong(
            "E117",
            f"{name} is a {type(frame).__name__}, not a table.{hint} Give a pandas, Polars, pyarrow or DuckDB table.",
        ) from None
    except nw.exceptions.DuplicateError as error:
        message = " ".join(str(error).split())
        raise wrong("E117", f"{name} has columns of the same name: {message}. Rename or drop one.") from None
    kind = _kind(native.implementation)
    eager = native.collect() if isinstance(native, nw.LazyFrame) else native
    columns = {}
    for column in eager.columns:
        check_text(f"{name} has a column whose name", str(column))
        columns[str(column)] = _to_arrow(f"{name} column {str(column)!r}", eager.get_column(column))
    return kind, pa.table(columns)


def _with_named_index(frame: Any) -> Any:
    """A pandas frame with an index that has a name, such as `id`, as a column: it would be lost."""
    index = getattr(frame, "index", None)
    names = list(getattr(index, "names", None) or ())
    named = bool(names) and all(isinstance(one, str) and one not in frame.columns for one in names)
    return frame.reset_index() if named and hasattr(frame, "reset_index") else frame


def _is_path(frame: Any) -> bool:
    return hasattr(frame, "__fspath__")


def _kind(implementation: Any) -> str:
    name = str(implementation.value)
    return name if name in {"pandas", "polars", "duckdb"} else "pyarrow"


def _to_arrow(place: str, series: Any) -> Any:
    """A column as a pyarrow array; one of mixed types (an object column of pandas) as text."""
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.ArrowException, OverflowError, UnicodeError, NotImplementedError, TypeError, ValueError):
        texts = [_text_of(place, value) for value in series.to_list()]
    for row, text in enumerate(texts):
        check_text(f"{place} in data row {row + 1}", text or "")
    return to_text_array(texts)


def _text_of(place: str, value: Any) -> str | None:
    try:
        return plain_text(value)
    except Exception as error:  # whatever an object of the caller's makes of being asked for its text
        raise wrong("E117", f"{place} holds a {type(value).__name__} that cannot be read as text: {error}.") from error
