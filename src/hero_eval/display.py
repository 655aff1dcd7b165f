"""Where results meet what renders them: the one place in which a lower room calls an upper one.

Results show themselves in notebooks, write reports and say themselves in words. The rooms that do this import the
results, so results cannot import these rooms. They ask for a form by name here, and `RENDERERS` says which function
gives it; its module is loaded when the form is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

RENDERERS = {
    "mlflow": "hero_eval.integrations.mlflow_tracking:log_estimate",
    "notebook": "hero_eval.report.notebook:shown",
    "ranking_report": "hero_eval.report.making:write_ranking_report",
    "report": "hero_eval.report.making:write_report",
    "shorten": "hero_eval.estimation.width_parts:shorten",
    "summary": "hero_eval.phrasing:summary",
}
"""For each form of a result the function that makes it, as module:function. It takes the result first."""


def render(form: str, result: object, *arguments: Any, **options: Any) -> Any:
    """The result in a form of `RENDERERS`, by the function that is named there."""
    module, function = RENDERERS[form].split(":")
    return getattr(import_module(module), function)(result, *arguments, **options)


class Displayed:
    """A result that a notebook shows as a small page; as its text where Jinja is not installed."""

    def _repr_html_(self) -> str:
        return str(render("notebook", self))
