"""The report's templates and ours, by one Jinja: the same macros, filters and escaping on paper and on the page."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hero_eval.report.pages import environment


@lru_cache(maxsize=1)
def page_environment() -> Any:
    from jinja2 import ChoiceLoader, PackageLoader

    shared = environment()
    made = shared.overlay(loader=ChoiceLoader([PackageLoader("hero_eval.web"), shared.loader]))
    made.filters = {**shared.filters, "thousands": "{:,}".format, "size": size}
    return made


def render(template: str, **known: Any) -> str:
    """A template with what it shows; everything is escaped unless it is markup that we made."""
    return str(page_environment().get_template(template).render(**known))


def size(number: int) -> str:
    """Bytes as people say it."""
    value = float(number)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
