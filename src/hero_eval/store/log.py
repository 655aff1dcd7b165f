"""The log of rounds: what the store held at each version, and the one commit by which it changes."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from shlex import quote
from typing import Any

from hero_eval import __version__
from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.store import commits, delta
from hero_eval.store.receipts import hand_out, receipts
from hero_eval.store.records import Record
from hero_eval.store.schemas import schema

LONGEST_NAME = 200


@dataclass(frozen=True)
class Entry:
    """A round as one row of the log describes it."""

    round: str
    question: str
    model: str | None
    date: datetime.date | None
    """None if nobody said and its name does not tell."""
    batches: tuple[str, ...]
    items: int
    labels: int
    gold: int
    labelers: int
    classes: tuple[str, ...] | None = None
    positive: str | None = None
    columns: str = "{}"
    """JSON: for each batch the item columns and their types."""
    source: str | None = None
    action: str = "add"
    """add, merge, remove or restore."""
    version: int = 0
    first_version: int = 0
    """When a round of this name was first added: the order of rounds of one date."""
    written: datetime.datetime | None = None
    package: str = __version__
    record: str | None = None
    """JSON: what binds it to its data, and what else the round knows; see `records`. None from before there was one."""
    seal: str | None = None

    @property
    def removed(self) -> bool:
        return self.action == "remove"

    def to_dict(self) -> dict[str, Any]:
        """What a list of rounds tells of it, in plain types."""
        return {
            "round": self.round,
            "question": self.question,
            "model": self.model,
            "date": None if self.date is None else self.date.isoformat(),
            "date_from": self.bound.dated,
            "items": self.items,
            "labels": self.labels,
            "gold": self.gold,
            "labelers": self.labelers,
            "source": self.source,
            "version": self.version,
            "holds": "votes" if self.is_votes else "labels",
            **({} if self.vote_facts is None else {"models": list(self.vote_facts["models"])}),
        }

    @property
    def is_votes(self) -> bool:
        """Whether it holds side-by-side votes, and not labels."""
        return self.vote_facts is not None

    @property
    def vote_facts(self) -> Mapping[str, Any] | None:
        """Of votes the models and the number of items; None of labels."""
        found: Mapping[str, Any] | None = self.bound.knows.get("votes")
        return found

    @cached_property
    def bound(self) -> Record:
        """The record, read; an empty one if the row has none. E406 if it is damaged."""
        return Record.from_text(self.record, f"round {self.round!r}")

    @property
    def is_bound(self) -> bool:
        """Whether the record says what each of its batches holds."""
        return not set(self.batches) - set(self.bound.batches)

    @property
    def day(self) -> datetime.date:
        """Its date; of a round without one the day on which it was added, which its date cannot be after."""
        if self.date is not None:
            return self.date
        moment = self.written.date() if self.written else datetime.date.max
        return self.bound.added or moment

    @property
    def place_in_time(self) -> tuple[datetime.date, int]:
        return self.day, self.first_version


@dataclass(frozen=True)
class Log:
    """All rows up to a version."""

    rows: tuple[Entry, ...]
    version: int

    @cached_property
    def _in_time(self) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for row in self.rows:
            found[row.round] = row
        return {row.round: row for row in sorted(found.values(), key=lambda one: one.place_in_time)}

    def last(self) -> dict[str, Entry]:
        """What became of each round, in the order of time."""
        return dict(self._in_time)

    def live(self) -> dict[str, Entry]:
        return {name: row for name, row in self.last().items() if not row.removed}

    def find(self, name: str) -> Entry:
        """The round of this name; E403 with the names that are there, or that it was removed."""
        row = self.last().get(name)
        if row is None:
            names = list(self.live())
            there = f"It holds: {name_some(names, 12)}." if names else "It holds no round yet: hero add"
            raise wrong("E403", f"the store has no round {name!r}. {there}")
        if row.removed:
            remedy = f"Bring it back: hero restore {quote(name)}"
            raise wrong("E403", f"round {name!r} was removed from the store (version {row.version}). {remedy}")
        return row


def read_log(place: delta.Place, version: int | None = None) -> Log:
    """The log as it is, or as it was at a version; E406 if rows are missing or damaged."""
    acknowledged = receipts(place, "rounds")  # before the table is looked at, which may grow meanwhile
    now = delta.open_once(place, "rounds").version
    if now not in place.parsed:
        rows = _read_rows(place)
        _check_seals(place, rows)
        place.parsed = {now: rows}
    rows = place.parsed[now]
    _check_receipts(place, rows, acknowledged)
    if version is None:
        return Log(rows, now)
    if not 0 <= version <= now:
        raise wrong("E201", f"version is {version}. The store has the versions 0 to {now}")
    return Log(tuple(row for row in rows if row.version <= version), version)


def _read_rows(place: delta.Place) -> tuple[Entry, ...]:
    try:
        rows = [_entry(row) for row in delta.read_rows(place, "rounds")]
        return tuple(sorted(rows, key=lambda row: row.version))
    except TypeError as error:  # a null where a number or a list must be
        raise wrong("E406", f"{place.uri}: a row of rounds is damaged ({error}). {delta.BRING_BACK}") from error


def _entry(row: Mapping[str, Any]) -> Entry:
    classes = row["classes"]
    return Entry(
        **{
            **row,
            "batches": tuple(row["batches"]),
            "classes": None if classes is None else tuple(classes),
        }
    )


def _check_seals(place: delta.Place, rows: Sequence[Entry]) -> None:
    """E406 unless every sealed row follows on the one before it, and is as it was written."""
    before = ""
    for position, row in enumerate(rows):
        if row.seal is not None:
            if position and rows[position - 1].seal is None:
                before = _digest_of_old(rows[:position])
            if _seal(before, row) != row.seal:
                raise wrong(
                    "E406",
                    f"{place.uri}: the row of version {row.version} (round {row.round!r}) does not follow on what is "
                    f"there before it: rows of rounds are missing or damaged. {delta.BRING_BACK}",
                )
            before = row.seal
        elif before:
            raise wrong("E406", f"{place.uri}: the row of version {row.version} has lost its seal. {delta.BRING_BACK}")


def _check_receipts(place: delta.Place, rows: Sequence[Entry], acknowledged: Sequence[str]) -> None:
    """E406 if the last change that somebody was told of is not there."""
    last = rows[-1].version if rows else 0
    known = [int(one) for one in acknowledged if one.isdigit()]
    if known and max(known) > last:
        raise wrong(
            "E406",
            f"{place.uri}: the last change of the store, version {max(known)}, is lost: rounds ends with version "
            f"{last}. Files are missing, or it is a copy taken while somebody added. {delta.BRING_BACK}",
        )


def _seal(before: str, row: Entry) -> str:
    """A digest of a row and of the seal before it."""
    return _digest([before, _plain(row)])


def _digest_of_old(rows: Sequence[Entry]) -> str:
    """What the first sealed row binds of those that were written without a seal."""
    return _digest([_plain(row) for row in rows])


def _plain(row: Entry) -> dict[str, Any]:
    """What a row says; unknown things are left out, so that columns of later formats change nothing."""
    return {key: value for key, value in vars(row).items() if key in _SEALED and value is not None}


_SEALED = frozenset(one.name for one in fields(Entry)) - {"seal"}


def _digest(said: Any) -> str:
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, default=_spell)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _spell(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(timespec="microseconds")
    return str(value)


def commit(place: delta.Place, make: Callable[[Log], Entry]) -> Entry:
    """Add the row that `make` gives for the log as it is now. `make` refuses, by an error, what no longer fits.

    The row becomes the very next version of the log or none at all; then it is made anew from the log as it is then.
    So of two writers of one round the second sees the first. When this returns, the change is on the disk.
    """
    commits.bring_to_format(place)
    for tries in range(commits.TRIES):
        log = read_log(place)
        row = replace(make(log), version=log.version + 1, written=datetime.datetime.now(datetime.UTC))
        row = replace(row, first_version=row.first_version or row.version, package=__version__)
        row = replace(row, seal=_seal(_last_seal(log), row))
        if commits.append_if_unchanged(place, "rounds", log.version, _row_table(row)):
            hand_out(place, f"rounds-{row.version:020}", {"round": row.round, "action": row.action, "seal": row.seal})
            commits.tidy(place, "rounds")
            return row
        commits.pause(tries)
    message = f"{place.uri}: other writers were faster {commits.TRIES} times. Nothing was changed; try again."
    raise wrong("E406", message)


def _last_seal(log: Log) -> str:
    if not log.rows:
        return ""
    return log.rows[-1].seal or _digest_of_old(log.rows)


def _row_table(row: Entry) -> Any:
    import pyarrow as pa

    said = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(row).items()}
    return pa.Table.from_pylist([said], schema=schema("rounds"))


def checked_name(what: str, name: str) -> str:
    """A name that a person can read back and a path can hold."""
    if not name.strip() or name != name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        too_long = len(name) > LONGEST_NAME
        shown = f"{name[:60]!r} and so on, {len(name):,} characters" if too_long else repr(name)
        raise wrong(
            "E201",
            f"{what} is {shown}. It is a name of 1 to {LONGEST_NAME} printable characters, no space at the ends",
        )
    return name


def earlier(log: Log, current: Entry) -> list[Entry]:
    """All rounds before this one in time: of an earlier date, or of the same date and added before it."""
    return [row for row in log.live().values() if row.place_in_time < current.place_in_time]


def batches_of(rows: Sequence[Entry]) -> list[str]:
    return [batch for row in rows for batch in row.batches]
