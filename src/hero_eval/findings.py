"""The catalogue of findings: what a user must know about a result.

A finding never stops an estimate; it travels with it to every place where the number is shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["note", "warning"]

CATALOGUE: dict[str, tuple[Severity, str]] = {
    # the data
    "F101": ("note", "exact duplicates were dropped"),
    "F102": ("note", "items without labels were set aside"),
    "F103": ("note", "rows without a label or a gold value were ignored"),
    "F104": ("warning", "labelers that history never saw were set aside"),
    "F105": ("note", "gold of the current round was not used"),
    "F106": ("note", "items of the two models that could not be paired"),
    "F107": ("note", "columns that differ within an item were ignored"),
    "F108": ("warning", "items that may repeat one prompt were taken as independent"),
    "F109": ("note", "how clusters were used"),
    "F110": ("note", "items whose ids history has too were taken as independent of it"),
    "F111": ("note", "known probabilities of having gold were used as weights"),
    "F112": ("warning", "gold did not go to a random part of history"),
    # the labelers
    "F201": ("warning", "labelers whose answers carry no information"),
    "F202": ("warning", "labelers whose answers are inverted"),
    "F203": ("warning", "labelers whose reliability rests on no gold of some class"),
    "F204": ("note", "labelers err together given the gold"),
    "F205": ("warning", "history's reliabilities do not fit the current labels"),
    "F206": ("warning", "labelers err together, which the method does not allow for"),
    "F207": ("warning", "the current labelers moved against each other"),
    "F208": ("warning", "labelers that history never saw count as their peers do"),
    "F209": ("warning", "a labeler's reliability differs between rounds"),
    "F210": ("warning", "many labelers of few labels each bias the rate"),
    # the fit
    "F301": ("warning", "the fit did not converge"),
    "F302": ("warning", "the estimate lies on the edge"),
    "F303": ("warning", "the rate is weakly identified"),
    "F304": ("warning", "very little gold"),
    "F306": ("note", "why this method was chosen"),
    "F307": ("warning", "no gold of one class in history"),
    "F308": ("warning", "nothing anchors the classes of this method to gold"),
    "F309": ("warning", "outside the usual interval's safe region"),
    "F310": ("warning", "how far rounds drift is not known"),
    "F311": ("warning", "the interval asked for leaves drift between rounds out"),
    "F316": ("note", "how much of the drift two models share is not known"),
    # covariates
    "F401": ("note", "covariates were dropped"),
    "F402": ("note", "missing covariate values took the historical mean"),
    "F403": ("warning", "a covariate's mean moved between history and current"),
    "F404": ("note", "covariates that could sharpen the estimate were not used"),
    "F405": ("note", "the ridge penalty that was chosen"),
    # targets
    "F501": ("warning", "a quantity is undefined on these data"),
    "F502": ("note", "no single class was named positive"),
    "F503": ("note", "several intervals that hold together"),
    # the backtest
    "F601": ("note", "rounds without gold were not played"),
    "F602": ("note", "the gold's own sampling error was allowed for"),
    "F603": ("warning", "few rounds were played"),
    "F604": ("warning", "the labels added nothing to the history's gold mean"),
    "F605": ("note", "a method could not play some rounds"),
    # the store
    "F801": ("warning", "a judge changed and is a new labeler"),
    "F802": ("note", "who a judge is was not always said"),
    "F803": ("note", "experts who differ gave no gold"),
}


@dataclass(frozen=True)
class Finding:
    """A coded remark on a result, with the values behind it."""

    code: str
    message: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in CATALOGUE:
            raise KeyError(f"unknown finding code {self.code}")

    @property
    def severity(self) -> Severity:
        return CATALOGUE[self.code][0]

    def __str__(self) -> str:
        return f"{self.code} {self.message}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "data": {key: None if _is_infinite(value) else value for key, value in self.data.items()},
        }


def _is_infinite(value: Any) -> bool:
    """What JSON cannot write."""
    return isinstance(value, float) and not math.isfinite(value)


def name_some(names: list[str], most: int = 5) -> str:
    """Up to `most` names for a message, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
