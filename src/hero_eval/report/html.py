"""The templates, and reports made with them. Everything that comes from data is escaped by Jinja."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from hero_eval import phrasing
from hero_eval.charts.interval_charts import number_text
from hero_eval.charts.theme import lacking
from hero_eval.documents import json_text
from hero_eval.errors import unwritable, wrong
from hero_eval.methods.registry import all_methods
from hero_eval.report.document import Report
from hero_eval.report.ranking_report import RankingReport
from hero_eval.report.text import markdown, ranking_markdown

KINDS = (".html", ".md", ".json")


@lru_cache(maxsize=1)
def environment() -> Any:
    """Jinja with our templates: escaping is on for all of them, and an unknown name is an error."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise lacking() from error
    made = Environment(
        loader=PackageLoader("hero_eval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "percent": phrasing.percent,
        "number": number_text,
        "decimal": _decimal,
        "codes": _codes,
        "begun": _begun,
    }
    made.globals |= {"axis": axis, "picture": lambda chart: Markup(chart.svg()), "phrasing": phrasing}
    return made


def _begun(text: str) -> str:
    return phrasing.begun(text, all_methods())


def _decimal(value: Any, places: int = 2) -> str:
    if isinstance(value, float):
        return phrasing.UNKNOWN if math.isnan(value) else f"{value:.{places}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _codes(text: str) -> Any:
    """Words between backticks as code, the rest escaped."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


class axis:
    """A common axis for bars in a table: from values to percents of its width."""

    def __init__(self, rows: Any, bounds: tuple[float, float], mark: float | None = None) -> None:
        ends = [end for row in rows for end in (row.low, row.high, row.value) if math.isfinite(end)]
        ends += [] if mark is None else [mark]
        low, high = (min(ends), max(ends)) if ends else bounds
        room = 0.08 * ((high - low) or 0.1)
        self.low, self.high = max(low - room, bounds[0]), min(high + room, bounds[1])
        self.mark = None if mark is None else self(mark)

    def __call__(self, value: float) -> float:
        if not math.isfinite(value) or self.high <= self.low:
            return 50.0
        return round(100 * (value - self.low) / (self.high - self.low), 2)


def html(report: Report) -> str:
    """One file with everything in it: styles, pictures, no script, no request to anywhere."""
    return str(environment().get_template("report.html").render(report=report, estimate=report.estimate))


def write(report: Report, path: str | os.PathLike[str]) -> Path:
    """Write the report as .html, .md or .json."""
    place = checked_place(path)
    return _written(place, _form(report, place.suffix))


def _form(report: Report, kind: str) -> str:
    if kind == ".html":
        return html(report)
    return markdown(report) if kind == ".md" else json_text(report.to_dict()) + "\n"


def write_ranking(report: RankingReport, path: str | os.PathLike[str]) -> Path:
    """Write the report on a ranking as .html, .md or .json."""
    place = checked_place(path)
    if place.suffix == ".html":
        text = str(environment().get_template("ranking.html").render(report=report, made_of={}))
    else:
        text = ranking_markdown(report) if place.suffix == ".md" else json_text(report.to_dict()) + "\n"
    return _written(place, text)


def _written(place: Path, text: str) -> Path:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(f"the report {str(place)!r}", error) from error
    return place


def checked_place(path: str | os.PathLike[str]) -> Path:
    """E201 for an ending that no form of the report has."""
    place = Path(path)
    if place.suffix not in KINDS:
        raise wrong("E201", f"the report is called {str(path)!r}. Its name ends in {', '.join(KINDS)}")
    return place
