"""What every chart shares: its data as a frame, its picture as SVG or PNG, and a look that needs no color.

Things are told apart by place, shape and dashes; the one accent is a blue that differs from the ink in lightness too.
The few colors are fixed, so that a page can swap them for its dark ones by matching them in the SVG.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hero_eval.documents import plain
from hero_eval.errors import unwritable, wrong
from hero_eval.result_frames import Framed, checked_backend, to_frame

INK, QUIET, FAINT, ACCENT, GROUND = "#1b1b1b", "#595959", "#d9d9d9", "#0b5cad", "#ffffff"
WIDTH = 420
LONGEST_NAME = 40
LONGEST_DRAWN = 100
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [10, 4], [1, 3], [6, 2, 1, 2])
KINDS = (".svg", ".png", ".json", ".csv")

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Chart(Framed):
    """A picture of results: `title` states what it shows, `columns` are the numbers in it."""

    title: str
    columns: Columns = field(repr=False)
    drawn: Any = field(repr=False)
    """The Altair chart."""

    def to_frame(self, backend: str | None = None) -> Any:
        """The numbers of the picture as a dataframe."""
        return to_frame(self.columns, checked_backend(backend, "files"))

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite specification, data included."""
        found: dict[str, Any] = plain(self.drawn.to_dict(validate=False))  # it takes as long as to draw it
        return found

    @cached_property
    def _svg(self) -> str:
        return str(_converter().vegalite_to_svg(self.to_dict()))

    def svg(self) -> str:
        """The picture as SVG text, made without a browser."""
        return self._svg

    def png(self, scale: float = 2.0) -> bytes:
        """The picture as PNG, made without a browser."""
        return bytes(_converter().vegalite_to_png(self.to_dict(), scale=scale))

    def save(self, path: str | Path) -> Path:
        """Write it as .svg, .png, .json (Vega-Lite) or .csv (its numbers)."""
        place = Path(path)
        if place.suffix not in KINDS:
            raise wrong("E201", f"path is {str(path)!r}. Its name ends in {', '.join(KINDS)}")
        try:
            if place.suffix == ".png":
                place.write_bytes(self.png())
            else:
                place.write_text(self._text(place.suffix), encoding="utf-8")
        except OSError as error:
            raise unwritable(f"the chart {str(path)!r}", error) from error
        return place

    def _text(self, kind: str) -> str:
        if kind == ".svg":
            return self.svg()
        if kind == ".csv":
            return csv_text(self.columns)
        import json

        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def _repr_mimebundle_(self, **_asked: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}


def csv_text(columns: Columns) -> str:
    """Columns as CSV; what a spreadsheet would run as a formula is kept as text by a quote in front."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise lacking() from error
    return vl_convert


def altair() -> Any:
    """Altair, or E410 if it is not installed."""
    try:
        import altair as found
    except ImportError as error:
        raise lacking() from error
    return found


def lacking() -> Exception:
    return wrong(
        "E410", "charts and reports need Altair, vl-convert and Jinja. Install: pip install 'hero-eval[report]'"
    )


def values(columns: Columns) -> Any:
    """Columns as the inline data of a chart; unknown numbers are null, which is not drawn."""
    drawn = [[drawn_name(value) if isinstance(value, str) else value for value in of] for of in columns.values()]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*drawn, strict=True)]
    return altair().InlineData(values=plain(rows))


def short(name: str, most: int = LONGEST_NAME) -> str:
    """A name that fits into a title."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def drawn_name(name: str) -> str:
    """A name as pictures hold it: a very long one is cut, and keeps a mark that tells it from its like."""
    if len(name) <= LONGEST_DRAWN:
        return name
    import hashlib

    return f"{name[:LONGEST_DRAWN]}… {hashlib.sha256(name.encode()).hexdigest()[:6]}"


def titled(chart: Any, title: str, subtitle: str = "", **size: Any) -> Any:
    """The chart with a title that states the result, what it is below, and the house's look."""
    alt = altair()
    told = alt.TitleParams(text=folded(title), subtitle=folded(subtitle, 78) if subtitle else [], anchor="start")
    drawn = chart.copy(deep=False)
    given = {"title": told, "background": GROUND, "padding": 8, "config": _house_look(alt), **size}
    for name, value in given.items():  # `properties` holds each against the schema, which takes longer than to draw
        setattr(drawn, name, value)
    return drawn


def _house_look(alt: Any) -> Any:
    """Given at once: each of Altair's `configure_...` copies the whole chart, its data included."""
    return alt.Config(
        font="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif",
        view=alt.ViewConfig(stroke=FAINT),
        axis=alt.AxisConfig(
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            titlePadding=8,
            labelFontSize=12,
            titleFontSize=12,
            gridColor=FAINT,
            domainColor=QUIET,
            tickColor=QUIET,
            labelLimit=220,
        ),
        title=alt.TitleConfig(
            color=INK,
            subtitleColor=QUIET,
            fontSize=15,
            subtitleFontSize=12,
            fontWeight="bold",
            offset=12,
            frame="bounds",
        ),
        legend=alt.LegendConfig(
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            labelFontSize=12,
            labelLimit=220,
            orient="bottom",
            symbolFillColor=INK,
            symbolStrokeColor=INK,
            symbolSize=70,
        ),
        header=alt.HeaderConfig(
            labelColor=INK, titleColor=INK, labelFontSize=12, labelLimit=220, titleFontWeight="normal"
        ),
    )


def folded(text: str, width: int = 60) -> list[str]:
    """A sentence in lines."""
    import textwrap

    return textwrap.wrap(text, width) or [""]


def share_axis(title: str, low: float, high: float, bounds: tuple[float, float] = (0.0, 1.0)) -> Any:
    """An axis of a quantity with these bounds, around what is shown; shares are written as percents."""
    alt = altair()
    room = 0.06 * max(high - low, 0.02 * (bounds[1] - bounds[0]))
    domain = [max(low - room, bounds[0]), min(high + room, bounds[1])]
    return alt.X(
        "value:Q",
        title=title,
        scale=alt.Scale(domain=domain, nice=False, zero=False),
        axis=alt.Axis(format=percents(bounds), tickCount=6),
    )


def percents(bounds: tuple[float, float]) -> str:
    """How numbers within these bounds are written on an axis."""
    largest = max(abs(bounds[0]), abs(bounds[1]))
    return "~p" if largest <= 1.0 else "~r" if math.isinf(largest) else "~g"


def known(numbers: Sequence[float | None]) -> list[float]:
    return [float(value) for value in numbers if value is not None and math.isfinite(value)]


def shaped(names: Sequence[str]) -> tuple[Any, Any]:
    """Shape and dash scales that tell names apart without color."""
    alt = altair()
    domain = list(dict.fromkeys(drawn_name(name) for name in names))
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(domain))]
    dashes = [DASHES[place % len(DASHES)] for place in range(len(domain))]
    return alt.Scale(domain=domain, range=shapes), alt.Scale(domain=domain, range=dashes)
