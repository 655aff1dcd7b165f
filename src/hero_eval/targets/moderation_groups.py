"""Moderation by group: prevalence, precision and recall for each value of a column, with intervals that hold together.

Each group is a round of its own with the same history. As in `grouped`, the intervals of m groups are made at
level ** (1/m), quantity by quantity: all prevalences hold together at the level, and so do all recalls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hero_eval.estimate import SCHEMA_VERSION
from hero_eval.estimation.options import HistoryLike, as_history, as_round
from hero_eval.estimation.repeated_data import refuse_own_history
from hero_eval.findings import Finding, unique
from hero_eval.labelers.fitting import history_rounds
from hero_eval.read import RoundLike
from hero_eval.targets.grouped import groups_of
from hero_eval.targets.moderation import Moderation, estimate_moderation


@dataclass(frozen=True, eq=False)
class GroupedModeration(Mapping[str, Moderation]):
    """A `Moderation` for each group; `level` is that of all intervals of one quantity together."""

    by: str
    groups: Mapping[str, Moderation]
    level: float

    def __getitem__(self, group: str) -> Moderation:
        return self.groups[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all groups, each once."""
        return unique([finding for one in self.groups.values() for finding in one.findings])

    def to_dict(self) -> dict[str, Any]:
        """The estimates in plain types, for JSON."""
        groups = {name: one.to_dict() for name, one in self.groups.items()}
        head = {"schema_version": SCHEMA_VERSION, "target": "moderation family", "by": self.by, "level": self.level}
        return {**head, "groups": groups}


def moderation_by(
    current: RoundLike, history: HistoryLike = None, *, flag: str, by: str, level: float = 0.95, **options: Any
) -> GroupedModeration:
    """As `estimate_moderation`, for each value of the column `by` of the current round."""
    history, here = as_history(history, current), as_round(current)
    refuse_own_history(here, None if history is None else history_rounds(history))
    parts = groups_of(here, by)
    each = level ** (1.0 / len(parts))
    message = f"{len(parts)} groups: each interval is at {each:.2%}, so that all hold together at {level:.0%}"
    remark = Finding("F503", message, {"groups": len(parts), "level": level, "each": each})
    made = {}
    for name, part in parts.items():
        found = estimate_moderation(part, history, flag=flag, level=each, **options)
        told = {
            what: replace(one, what=f"{one.what} where {by} is {name!r}", findings=unique([*one.findings, remark]))
            for what, one in found.items()
        }
        made[name] = Moderation(**told)
    return GroupedModeration(by, made, level)
