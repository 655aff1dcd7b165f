"""The record of a round: what its row in the log says of its data and of the round, beyond the columns of the row.

Whatever a `Round` knows is kept, whichever fields it has: the arrays as tables, everything else by its name in the
record. A field that a later version adds is kept and comes back without a word here.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from hero_eval.errors import wrong
from hero_eval.findings import Finding
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.validate import Contents

IN_TABLES = frozenset(
    {"ids", "labelers", "label_item", "label_labeler", "label_answer", "label_score"}
    | {"gold", "gold_number", "weight", "columns"}
)
"""Fields of a round that its tables hold."""

_NAMED = frozenset(("name",))
"""Fields that the row of the log holds by itself."""


@dataclass(frozen=True)
class Sum:
    """What a batch has in a table: so many rows, with this digest."""

    rows: int
    digest: str


@dataclass(frozen=True)
class TableVersion:
    """Which table held a round's rows, and at which version it did."""

    id: str
    version: int


@dataclass(frozen=True)
class Record:
    """What binds a round to its data."""

    batches: Mapping[str, Mapping[str, Sum]] = field(default_factory=dict)
    """For each batch and table what is there; a batch that is not named here was written before there were records."""
    tables: Mapping[str, TableVersion] = field(default_factory=dict)
    knows: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the round, as JSON has them; see `knowledge`."""
    dated: str | None = None
    """Whether its date was "given" or read from its "name"; None if it is unknown, or older than this field."""
    added: datetime.date | None = None
    """The day on which the round was first added."""

    def to_text(self) -> str:
        return json.dumps(
            {
                "batches": {
                    batch: {table: [one.rows, one.digest] for table, one in of.items()}
                    for batch, of in self.batches.items()
                },
                "tables": {table: [one.id, one.version] for table, one in self.tables.items()},
                "knows": dict(self.knows),
                "dated": self.dated,
                "added": None if self.added is None else self.added.isoformat(),
            },
            ensure_ascii=False,
        )

    @classmethod
    def from_text(cls, text: str | None, where: str) -> Record:
        """The record; E406 if it cannot be understood."""
        if text is None:
            return cls()
        try:
            said = json.loads(text)
            return cls(
                {batch: {table: Sum(*one) for table, one in of.items()} for batch, of in said["batches"].items()},
                {table: TableVersion(*one) for table, one in said["tables"].items()},
                said["knows"],
                said["dated"],
                None if said["added"] is None else datetime.date.fromisoformat(said["added"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise wrong("E406", f"{where}: its record in the table rounds is damaged ({error}).") from error


def knowledge(contents: Contents) -> dict[str, Any]:
    """All that a round knows besides its tables and its name, as JSON has it."""
    said = {
        one.name: _to_json(getattr(contents, one.name))
        for one in fields(contents)
        if one.name not in IN_TABLES | _NAMED
    }
    if contents.label_score is not None:
        said["label_kind"] = "score"  # a late delivery must not make answers of them
    return {**said, "labelers": _silent(contents)}


def _silent(contents: Contents) -> list[str]:
    """Labelers of the round who gave no label, which no table tells."""
    import numpy as np

    heard = np.bincount(contents.label_labeler, minlength=len(contents.labelers)) > 0
    return [name for name, one in zip(contents.labelers, heard, strict=True) if not one]


def _to_json(value: Any) -> Any:
    if isinstance(value, Finding):
        return {"finding": [value.code, value.fact, dict(value.data), value.action, value.doubts]}
    if isinstance(value, frozenset | set):
        return {"set": sorted(value)}
    if isinstance(value, Mapping):
        return {"map": {key: _to_json(of) for key, of in value.items()}}
    if isinstance(value, tuple | list):
        return [_to_json(one) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"a round holds {type(value).__name__}, which its record cannot")


def from_json(value: Any) -> Any:
    """What `knowledge` made JSON of; lists are tuples."""
    if isinstance(value, list):
        return tuple(map(from_json, value))
    if isinstance(value, dict):
        (kind, said), *_ = value.items()
        if kind == "finding":
            code, fact, data, *rest = said
            return Finding(code, fact, data, *rest)
        return frozenset(said) if kind == "set" else {key: from_json(of) for key, of in said.items()}
    return value


def recalled(contents: Contents, knows: Mapping[str, Any], without: Sequence[str] = ()) -> Contents:
    """The contents with what the record knows of them, except for fields that the caller has said anew."""
    own = {one.name for one in fields(Contents)} - IN_TABLES - _NAMED - set(without)
    return replace(contents, **{name: from_json(value) for name, value in knows.items() if name in own})


def with_options(options: ReadOptions, knows: Mapping[str, Any]) -> ReadOptions:
    """Options with the ways of reading that the round remembers: fields that rounds and options share."""
    own = {one.name for one in fields(Contents)} - {"name", "columns", "positive"}
    shared = [one.name for one in fields(ReadOptions) if one.name in own and one.name in knows]
    return replace(options, **{name: from_json(knows[name]) for name in shared})
