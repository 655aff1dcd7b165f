"""The keywords of calls that hand them on, so that type checkers know each of them. Loads nothing when run."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hero_eval.model.history import Progress


class RateOptions(TypedDict, total=False):
    """Those of `estimate_rate`, without `by`, which decides what comes back."""

    method: str | None
    covariates: Sequence[str] | None
    text: str | None
    level: float
    interval: str | None
    cluster: str | None
    replicates: int | None
    seed: int | None
    positive: object
    scores: Mapping[str, float] | None
    penalty: float | None
    groups: Mapping[str, str] | None
    progress: Progress | None
    at_least: float | None
