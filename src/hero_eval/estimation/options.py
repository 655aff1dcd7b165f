"""What a caller may set on any target, checked in one place."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hero_eval.arguments import check_progress
from hero_eval.errors import wrong
from hero_eval.estimate import check_level
from hero_eval.labelers.reliability import Reliability
from hero_eval.methods.registry import all_methods
from hero_eval.model.history import Progress
from hero_eval.read import RoundLike, TableLike, past_rounds_of, round_of
from hero_eval.round import Round

INTERVALS = ("influence", "profile", "bootstrap", "paper", "anytime")
PastRounds = Round | Sequence[Round] | Reliability | None
HistoryLike = RoundLike | Sequence[RoundLike] | Reliability | None
"""What stands for past rounds in a call: also paths, patterns, folders of rounds and dataframes."""


@dataclass(frozen=True)
class Options:
    """What a caller may set on any target."""

    method: str | None = None
    covariates: Sequence[str] | None = None
    text: str | None = None
    penalty: float | None = None
    level: float = 0.95
    interval: str | None = None
    cluster: str | None = None
    replicates: int | None = None
    seed: int | None = None
    not_covariates: tuple[str, ...] = ()
    groups: Mapping[str, str] | None = None
    progress: Progress | None = None
    at_least: float | None = None
    """The gold from which on an item counts, where gold is numbers."""

    def __post_init__(self) -> None:
        check_level(self.level)
        check_progress(self.progress)
        if self.method is not None and (not isinstance(self.method, str) or self.method not in all_methods()):
            raise wrong("E201", f"method is {self.method!r}. Known: {', '.join(all_methods())}")
        if self.interval is not None and self.interval not in INTERVALS:
            raise wrong("E201", f"interval is {self.interval!r}. Known: {', '.join(map(repr, INTERVALS))}")
        for name, least in (("replicates", 50), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and self.interval != "bootstrap":
                raise wrong("E204", f"{name} belongs to interval='bootstrap'; leave it out, or ask for the bootstrap")
            if value is not None and not (isinstance(value, int) and value >= least):
                raise wrong("E201", f"{name} is {value!r}. It is a whole number of {least} or more")
        if self.cluster is not None and self.interval in ("profile", "paper"):
            raise wrong(
                "E204", f"interval={self.interval!r} takes items as independent; leave out cluster, or interval"
            )
        if isinstance(self.covariates, str):
            raise wrong(
                "E201",
                f"covariates is the text {self.covariates!r}. Give a list of names: [{self.covariates!r}]",
            )
        listed = isinstance(self.covariates, Sequence) and all(isinstance(name, str) for name in self.covariates)
        if self.covariates is not None and not listed:
            raise wrong("E201", f"covariates is {self.covariates!r}. It is a list of the names of columns")
        for name in ("text", "cluster"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise wrong("E201", f"{name} is {value!r}. It is the name of a column")
        if self.groups is not None and not isinstance(self.groups, Mapping):
            kind = type(self.groups).__name__
            raise wrong("E201", f"groups is {kind}. It maps labelers to groups, such as {{'ann': 'vendor-1'}}")
        reached = self.at_least
        if reached is not None and not (isinstance(reached, int | float) and math.isfinite(reached)):
            raise wrong("E201", f"at_least is {reached!r}. It is a number: the least gold that counts")
        number = isinstance(self.penalty, int | float) and math.isfinite(self.penalty) and self.penalty >= 0
        if self.penalty is not None and not number:
            raise wrong("E201", f"penalty is {self.penalty!r}. It is a number of 0 or more, or None to have it chosen")

    @property
    def wants_covariates(self) -> bool:
        """Whether the caller named covariates, as columns or as a text."""
        return bool(self.covariates) or self.text is not None


def require_round(current: object) -> None:
    """E201 for what is no round."""
    if not isinstance(current, Round):
        kind = type(current).__name__
        raise wrong("E201", f"the current round is {kind}. Make it a Round: hero_eval.Round(labels)")


def as_round(current: RoundLike) -> Round:
    """The round that a caller gave, read if it is a path or a dataframe."""
    return round_of(current)


def as_history(history: HistoryLike, *currents: object) -> PastRounds:
    """Past rounds as a caller may give them; a pattern or folder leaves out the `currents` that are paths too."""
    if history is None or isinstance(history, Round | Reliability):
        return history
    if isinstance(history, Sequence) and not isinstance(history, str):
        if not history or all(isinstance(one, Round) for one in history):
            return history  # type: ignore[return-value]  # as it came, for `history_rounds` to judge
        return past_rounds_of(history, currents)
    if isinstance(history, str | os.PathLike | TableLike):
        found = past_rounds_of(history, currents)
        return found[0] if len(found) == 1 else found
    return history
