"""Excel workbooks: sheets `labels`, `gold` and `items` as the tables of a round, or the first sheet as one table."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

from hero_eval.errors import wrong

EXCEL = ".xlsx"


def sheet_names(file: Path) -> list[str]:
    """The sheets that hold anything, in their order."""
    book = _opened(file)
    try:
        return [sheet.title for sheet in book.worksheets if sheet.max_row and _rows(sheet)]
    finally:
        book.close()


def excel_table(file: Path, sheet: str | None = None) -> Any:
    """One sheet as a table, the first that holds anything unless named; numbers stay numbers, the rest is text."""
    import pyarrow as pa

    book = _opened(file)
    try:
        sheets = [one for one in book.worksheets if sheet in (None, one.title)]
        rows = next((found for one in sheets if (found := _rows(one))), [])
    finally:
        book.close()
    if not rows:
        raise wrong("E102", f"{file} holds no row. Write a header and rows into its first sheet.")
    header = ["" if name is None else str(name) for name in rows[0]]
    width = max((place + 1 for place, name in enumerate(header) if name), default=0)
    if not width:
        raise wrong("E102", f"{file} has no header row. Its first row must name the columns.")
    below = max(sum(value is not None for value in row) for row in rows)
    if width == 1 and below > 1:
        raise wrong(
            "E102",
            f"{file} has no header in its first row, which holds {header[0]!r} alone, where others hold {below} cells. "
            "The first row must name the columns: take out what stands above them.",
        )
    header = header[:width]
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise wrong("E103", f"{file} has more than one column called {twice[0]!r}. Rename or drop all but one.")
    columns = {
        name: [row[place] if place < len(row) else None for row in rows[1:]] for place, name in enumerate(header)
    }
    return pa.table({name: _column(values) for name, values in columns.items() if name})


def _rows(sheet: Any) -> list[tuple[Any, ...]]:
    """The rows with anything in them."""
    return [row for row in sheet.iter_rows(values_only=True) if any(value is not None for value in row)]


def _column(values: list[Any]) -> Any:
    import pyarrow as pa

    there = [value for value in values if value is not None]
    if there and all(isinstance(value, bool) for value in there):
        return pa.array(values, pa.bool_())
    if there and all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if there and all(isinstance(value, datetime.datetime) for value in there):
        return pa.array(values, pa.timestamp("us"))
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    """A cell as it is shown: 7.0 is 7."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _opened(file: Path) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise wrong(
            "E134",
            f"{file} is an Excel workbook, which takes openpyxl. Install it: pip install 'hero-eval[excel]'; or save "
            "the sheet as CSV.",
        ) from None
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        return openpyxl.load_workbook(file, read_only=True, data_only=True)
    except (InvalidFileException, zipfile.BadZipFile, KeyError, OSError, ValueError) as error:
        raise wrong("E103", f"{file} cannot be read as an Excel workbook: {error}. Save it again.") from error
