"""How a notebook shows a result: by the templates of the reports, which are loaded only then."""

from __future__ import annotations


class Displayed:
    """A result that a notebook shows as a small page; as its text where Jinja is not installed."""

    def _repr_html_(self) -> str:
        from hero_eval.report.notebook import shown

        return shown(self)
