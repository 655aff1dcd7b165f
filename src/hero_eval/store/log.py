"""The log of rounds: what the store held at each version, and the one commit by which it changes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from hero_eval import __version__
from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.store import delta
from hero_eval.store.schemas import schema

LONGEST_NAME = 200


@dataclass(frozen=True)
class Entry:
    """A round as one row of the log describes it."""

    round: str
    question: str
    model: str | None
    date: datetime.date
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

    @property
    def removed(self) -> bool:
        return self.action == "remove"

    @property
    def place_in_time(self) -> tuple[datetime.date, int]:
        return self.date, self.first_version


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
            remedy = f"Bring it back: hero restore {name}"
            raise wrong("E403", f"round {name!r} was removed from the store (version {row.version}). {remedy}")
        return row


def read_log(place: delta.Place, version: int | None = None) -> tuple[Log, Any]:
    """The log, and the table that it was read from (which a commit may follow on)."""
    table = delta.open_table(place, "rounds")
    now = int(table.version())
    if version is not None and not 0 <= version <= now:
        raise wrong("E201", f"version is {version}. The store has the versions 0 to {now}")
    upto = now if version is None else version
    rows = sorted(delta.read_rows(place, "rounds", table=table), key=lambda row: int(row["version"]))
    return Log(tuple(_entry(row) for row in rows if row["version"] <= upto), upto), table


def _entry(row: Mapping[str, Any]) -> Entry:
    classes = row["classes"]
    return Entry(
        **{
            **row,
            "batches": tuple(row["batches"]),
            "classes": None if classes is None else tuple(classes),
        }
    )


def commit(place: delta.Place, make: Callable[[Log], Entry]) -> Entry:
    """Add the row that `make` gives for the log as it is now. `make` refuses, by an error, what no longer fits.

    The row becomes the very next version of the log or none at all; then it is made anew from the log as it is then.
    So of two writers of one round the second sees the first.
    """
    for tries in range(delta.TRIES):
        log, table = read_log(place)
        row = replace(make(log), version=log.version + 1, written=datetime.datetime.now(datetime.UTC))
        row = replace(row, first_version=row.first_version or row.version)
        if delta.append_if_unchanged(place, "rounds", table, _row_table(row)):
            delta.tidy(place, "rounds")
            return row
        delta.pause(tries)
    message = f"{place.uri}: other writers were faster {delta.TRIES} times. Nothing was changed; try again."
    raise wrong("E406", message)


def _row_table(row: Entry) -> Any:
    import pyarrow as pa

    fields = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(row).items()}
    return pa.Table.from_pylist([fields], schema=schema("rounds"))


def checked_name(what: str, name: str) -> str:
    """A name that a person can read back and a path can hold."""
    if not name.strip() or name != name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise wrong(
            "E201",
            f"{what} is {name!r}. It is a name of 1 to {LONGEST_NAME} printable characters, no space at the ends",
        )
    return name


_WEEK = re.compile(r"(\d{4})-?[wW](\d{1,2})(?!\d)")
_DAY = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")


def date_of(name: str, given: str | datetime.date | None, today: datetime.date | None = None) -> datetime.date:
    """The date of a round: as given, else the day, week or month in its name, else today."""
    if isinstance(given, datetime.datetime):
        return given.date()
    if isinstance(given, datetime.date):
        return given
    if given is not None:
        found = named_date(given)
        if found is None:
            raise wrong("E201", f"date is {given!r}. Write a day, a week or a month: 2026-11-09, 2026-w46, 2026-11")
        return found
    return named_date(name) or today or datetime.datetime.now(datetime.UTC).date()


def named_date(text: str) -> datetime.date | None:
    """The first day that a text names: 2026-11-09, the Monday of 2026-w46, the first of 2026-11."""
    try:
        if week := _WEEK.search(text):
            return datetime.date.fromisocalendar(int(week[1]), int(week[2]), 1)
        if day := _DAY.search(text):
            return datetime.date(int(day[1]), int(day[2]), int(day[3] or 1))
    except ValueError:
        return None
    return None


def earlier(log: Log, current: Entry) -> list[Entry]:
    """All rounds before this one in time: of an earlier date, or of the same date and added before it."""
    return [row for row in log.live().values() if row.place_in_time < current.place_in_time]


def batches_of(rows: Sequence[Entry]) -> list[str]:
    return [batch for row in rows for batch in row.batches]
