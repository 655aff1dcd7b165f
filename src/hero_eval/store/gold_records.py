"""What experts are asked and what they answer, as a store keeps it.

A queue is a draw: which items, in which order, how probable each item of the round was to be drawn, and what is shown
of those that were. An answer, a skip and an undo are one row each, written by one commit that is on the disk before
anybody is told of it. Nothing is ever changed: what holds is what `standing` makes of the rows.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from hero_eval import __version__
from hero_eval.store import commits, delta
from hero_eval.store.schemas import schema


@dataclass(frozen=True)
class ExpertQueue:
    """Items that experts are to answer, in the order in which they are shown."""

    queue: str
    round: str
    way: str
    """How they were drawn: "random" or "routed"."""
    seed: int
    drawn: tuple[str, ...]
    twice: tuple[str, ...]
    """Those of them that two experts answer, or one expert twice."""
    items: tuple[str, ...]
    """All labeled items of the round at that moment."""
    probability: tuple[float, ...]
    """For each of `items` how probable it was to be drawn, if it had no gold then."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The classes, which columns are shown and how."""
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For each drawn item what is shown of it, by column."""
    expert: str | None = None
    """Who asked for it."""
    written: datetime.datetime | None = None
    package: str = __version__


@dataclass(frozen=True)
class GoldRecord:
    """One thing that an expert did."""

    id: str
    queue: str
    round: str
    action: str
    """answer, skip or undo."""
    item: str
    expert: str
    gold: str | None = None
    second: bool = False
    """Whether the item had an answer already: a second one tells how well experts agree."""
    left: str | None = None
    """Of two answers side by side the class of the left one."""
    note: str | None = None
    reason: str | None = None
    """Why it was skipped."""
    of: str | None = None
    """The id of the record that an undo takes back."""
    seconds: float | None = None
    """From when the item was shown."""
    written: datetime.datetime | None = None
    package: str = __version__


def write_queue(place: delta.Place, queue: ExpertQueue) -> ExpertQueue:
    """Keep a queue; as it was kept."""
    import pyarrow as pa

    made = replace(queue, written=_now())
    said = {**asdict(made), **{name: list(getattr(made, name)) for name in ("drawn", "twice", "items", "probability")}}
    said |= {name: json.dumps(said[name], ensure_ascii=False) for name in ("options", "contents")}
    commits.create_table(place, "queues")
    commits.append(place, "queues", pa.Table.from_pylist([said], schema=schema("queues")))
    return made


def write_record(place: delta.Place, record: GoldRecord, after: datetime.datetime | None = None) -> GoldRecord:
    """Keep what an expert did; on the disk when this returns. Its moment is after `after`, whatever clocks do."""
    import pyarrow as pa

    now = _now()
    if after is not None and now <= after:
        now = after + datetime.timedelta(microseconds=1)
    made = replace(record, written=now)
    if not delta.is_there(place, "answers"):
        commits.create_table(place, "answers")
    commits.append(place, "answers", pa.Table.from_pylist([asdict(made)], schema=schema("answers")))
    return made


def read_queues(place: delta.Place, round: str | None = None) -> list[ExpertQueue]:
    """The queues, of a round or all, oldest first."""
    if not delta.is_there(place, "queues"):
        return []
    rows = [row for row in delta.read_rows(place, "queues") if round in (None, row["round"])]
    return sorted(map(_queue, rows), key=lambda one: (one.written, one.queue))


def read_records(place: delta.Place, round: str | None = None) -> list[GoldRecord]:
    """What experts did, in a round or all, oldest first."""
    if not delta.is_there(place, "answers"):
        return []
    names = [one.name for one in fields(GoldRecord)]
    rows = [row for row in delta.read_rows(place, "answers") if round in (None, row["round"])]
    made = {row["id"]: GoldRecord(**{name: row[name] for name in names}) for row in rows}  # one sent twice is one
    return sorted(made.values(), key=lambda one: (one.written, one.id))


def version_of_answers(place: delta.Place) -> int:
    """Grows with every record; -1 if there is none yet."""
    listed = delta.list_log(place, "answers")
    if listed is not None:
        return listed.last
    return delta.open_once(place, "answers").version if delta.is_there(place, "answers") else -1


def _queue(row: Mapping[str, Any]) -> ExpertQueue:
    lists: dict[str, Any] = {name: tuple(row[name]) for name in ("drawn", "twice", "items", "probability")}
    texts = {name: json.loads(row[name]) for name in ("options", "contents")}
    rest = {one.name: row[one.name] for one in fields(ExpertQueue) if one.name not in (*lists, *texts)}
    return ExpertQueue(**rest, **lists, **texts)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True)
class StandingAnswers:
    """What holds of what experts did: all but undos and what they took back, in the order of time."""

    records: tuple[GoldRecord, ...]
    gold: Mapping[str, GoldRecord]
    """For each answered item the answer that counts, the first that holds."""

    def of(self, item: str, action: str = "answer") -> list[GoldRecord]:
        return [one for one in self.records if one.item == item and one.action == action]

    def skipped(self) -> list[str]:
        """Items that somebody skipped and nobody has answered."""
        return sorted({one.item for one in self.records if one.action == "skip"} - set(self.gold))


def standing(records: Sequence[GoldRecord]) -> StandingAnswers:
    """What holds, from records in the order of time."""
    gone = {one.of for one in records if one.action == "undo"}
    kept = tuple(one for one in records if one.action != "undo" and one.id not in gone)
    gold: dict[str, GoldRecord] = {}
    for one in kept:
        if one.action == "answer":
            gold.setdefault(one.item, one)
    return StandingAnswers(kept, gold)


@dataclass(frozen=True)
class ExpertAgreement:
    """How well experts agree with each other, and with themselves, on items that were answered twice."""

    items: int
    same: int
    own_items: int
    """Items that one and the same expert answered twice."""
    own_same: int
    differing: tuple[str, ...]
    """Items with two different answers."""


def agreement(held: StandingAnswers) -> ExpertAgreement:
    """Of each item the first answer and the first second one."""
    pairs: dict[str, list[GoldRecord]] = {}
    for one in held.records:
        if one.action == "answer":
            pairs.setdefault(one.item, []).append(one)
    twice = {item: (of[0], of[1]) for item, of in pairs.items() if len(of) > 1}
    own = {item for item, (a, b) in twice.items() if a.expert == b.expert}
    same = {item for item, (a, b) in twice.items() if a.gold == b.gold}
    others = set(twice) - own
    return ExpertAgreement(len(others), len(others & same), len(own), len(own & same), tuple(sorted(set(twice) - same)))
