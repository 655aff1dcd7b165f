"""The report's templates and ours, by one Jinja: the same macros, filters and escaping on paper and on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from hero_eval import __version__
from hero_eval.report.html import environment

BASE = {
    "here": None,
    "place": "",
    "job": None,
    "unasked": False,
    "starts": "",
    "can_leave": False,
    "is_expert": False,
    "form_token": "",
    "back": "/",
    "version": __version__,
}
"""What the layout of every page asks for."""


@lru_cache(maxsize=1)
def page_environment() -> Any:
    from jinja2 import ChoiceLoader, PackageLoader

    shared = environment()
    made = shared.overlay(loader=ChoiceLoader([PackageLoader("hero_eval.web"), shared.loader]))
    made.filters = {**shared.filters, "thousands": "{:,}".format, "size": size}
    made.globals = {**shared.globals, "spark": spark, "link": link}
    return made


def render(template: str, **known: Any) -> str:
    """A template with what it shows; everything is escaped unless it is markup that we made."""
    return str(page_environment().get_template(template).render(**{**BASE, **known}))


def link(path: str, **asked: Any) -> str:
    """A link with a query; what is None or empty is left out."""
    said = {key: of for key, of in asked.items() if of not in (None, "", [], ())}
    return f"{path}?{urlencode(said, doseq=True)}" if said else path


SPARK_WIDTH, SPARK_HEIGHT, MOST_DOTS = 120, 44, 24


def spark(points: Sequence[Mapping[str, Any]], floor: float = 0.0) -> Any:
    """Shares over rounds as a small line with intervals, from `floor` at the bottom to 1 at the top."""
    from markupsafe import Markup

    known = [one for one in points if one["value"] is not None][-MOST_DOTS:]
    step = (SPARK_WIDTH - 10) / max(len(known) - 1, 1)

    def height(value: float) -> str:
        share = (max(value, floor) - floor) / (1.0 - floor)
        return f"{SPARK_HEIGHT - 4 - share * (SPARK_HEIGHT - 8):.1f}"

    places = [(f"{5 + step * place:.1f}", one) for place, one in enumerate(known)]
    spans = Markup("").join(
        Markup('<line class="span" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            x, x, height(one["low"]), height(one["high"])
        )
        for x, one in places
        if one["low"] is not None and one["high"] is not None
    )
    line = " ".join(f"{x},{height(one['value'])}" for x, one in places)
    dots = Markup("").join(
        Markup('<circle class="dot" cx="{}" cy="{}" r="2.5"/>').format(x, height(one["value"])) for x, one in places
    )
    told = ", ".join(f"{one['round'][:40]} {100 * one['value']:.0f}%" for one in known) or "no round tells"
    middle = height(0.5)
    return Markup(
        '<svg class="spark" role="img" aria-label="{}" width="{}" height="{}">'
        '<line class="half" x1="0" x2="{}" y1="{}" y2="{}"/>{}<polyline class="line" points="{}"/>{}</svg>'
    ).format(told, SPARK_WIDTH, SPARK_HEIGHT, SPARK_WIDTH, middle, middle, spans, line, dots)


def size(number: int) -> str:
    """Bytes as people say it."""
    value = float(number)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
