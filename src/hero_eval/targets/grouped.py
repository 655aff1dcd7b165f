"""Several estimates that are read together: one for each value of a column, with intervals that all hold at once.

Nothing is pooled between the groups; what they share is history, whose reliabilities are learned from all of it. With m
groups each interval is made at level ** (1/m), which by Sidak's inequality keeps all of them true together with the
level asked for, however the estimates hang together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.display import Displayed
from hero_eval.errors import wrong
from hero_eval.estimate import SCHEMA_VERSION, Estimate, table_of
from hero_eval.estimation.options import Options
from hero_eval.estimation.question import Question
from hero_eval.findings import Finding, unique
from hero_eval.io.vote_table import no_rows_left, wanted_values
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.round import Round

MOST_GROUPS = 200


@dataclass(frozen=True, eq=False)
class GroupedEstimates(Displayed, Framed, Mapping[str, Estimate]):
    """Estimates by group, a mapping from the groups' names: `grouped[name]` is an `Estimate`.

    `level` is that of all intervals together; each estimate has the higher one of its own.

    Attributes
    ----------
    by : str
        The column that makes the groups.
    estimates : mapping of str to Estimate
        An `Estimate` for each group.
    level : float
        The level at which all intervals hold together.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    by: str
    estimates: Mapping[str, Estimate]
    level: float
    frame_kind: str = "files"

    def __getitem__(self, group: str) -> Estimate:
        return self.estimates[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all groups, each once."""
        return unique([finding for one in self.estimates.values() for finding in one.findings])

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per group.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the current round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: the one that makes the groups, value, std_error, low and high (which hold together), n_items,
            n_gold.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        return to_frame(table_of(self.by, self.estimates), checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        """The estimates in plain types, for JSON.

        Returns
        -------
        dict
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "family",
            "by": self.by,
            "level": self.level,
            "groups": {name: one.to_dict() for name, one in self.estimates.items()},
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {one.value:.4f}" for name, one in self.items())
        return f"GroupedEstimates(by {self.by}: {shown})"


def groups_of(current: Round, by: str) -> dict[str, Round]:
    """The round's items by the column's values; items without a value are left out."""
    if not current.has_column(by):
        has = ", ".join(current.column_names) or "none"
        raise wrong("E202", f"the column {by!r} to group by is absent from {current.name!r}. Columns: {has}")
    values = np.array(current.words(by), dtype=object)
    names = sorted({str(value) for value in values if value})
    if not 0 < len(names) <= MOST_GROUPS:
        raise wrong("E201", f"by={by!r} makes {len(names)} groups; there must be 1 to {MOST_GROUPS}")
    return {name: current.select(values == name) for name in names}


def chosen_items(current: Round, where: Mapping[str, Any]) -> Round:
    """The items whose columns have these values; E202 or E532 if there is no such column, or no such item."""
    keep = np.ones(len(current.item_ids), dtype=bool)
    for column, wanted in wanted_values(where).items():
        if not current.has_column(column):
            has = ", ".join(current.column_names) or "none"
            raise wrong("E202", f"the column {column!r} to choose by is absent from {current.name!r}. Columns: {has}")
        words = np.array(current.words(column), dtype=object)
        keep &= np.isin(words, wanted)
        if not keep.any():
            raise no_rows_left(repr(current.name), column, wanted, list({str(word) for word in words if word}))
    return current.select(keep)


def family_options(options: Options, n_groups: int) -> Options:
    """The same options at the level that each group's interval needs."""
    return replace(options, level=options.level ** (1.0 / n_groups))


def family(
    question: Question, estimates: Sequence[Estimate], names: Sequence[str], by: str, level: float
) -> GroupedEstimates:
    """Put the groups' estimates together and say what their intervals mean."""
    each = question.options.level
    message = f"{len(names)} groups: each interval is at {each:.2%}, so that all hold together at {level:.0%}"
    remark = Finding("F503", message, {"groups": len(names), "level": level, "each": each})
    made = {
        name: replace(one, what=f"{one.what} where {by} is {name!r}", findings=unique([*one.findings, remark]))
        for name, one in zip(names, estimates, strict=True)
    }
    return GroupedEstimates(by, made, level, question.rounds[0].frame_kind)
