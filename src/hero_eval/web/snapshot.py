"""What the server knows of the store without reading labels: rounds, who labeled, numbers that were recorded.

It is read again when the store has changed, which every view asks; to ask is cheap.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hero_eval.store import delta
from hero_eval.store.estimates import listed_estimates
from hero_eval.store.log import Entry, Log, read_log
from hero_eval.store.past_rounds import past_of
from hero_eval.store.reading import ReadableStore

TABLES = ("rounds", "labelers", "estimates")
REMOTE_PAUSE = 2.0
"""Seconds between two looks at a store behind a network."""

DEFAULTS = {"level": 0.95}
"""Options that a recorded estimate may name and still be the one that a round's page shows."""


@dataclass(frozen=True)
class Headline:
    """A recorded number of a round."""

    estimate: str
    what: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    written: str
    doubts: tuple[str, ...] = ()
    """Codes of the findings that put its interval in doubt."""

    @property
    def is_known(self) -> bool:
        return self.value is not None and self.low is not None and self.high is not None


@dataclass(frozen=True)
class Snapshot:
    """The store at one moment."""

    path: str
    versions: tuple[int, ...]
    log: Log
    labelers: Mapping[str, Sequence[Mapping[str, Any]]]
    """Who labeled each round."""
    records: Mapping[str, Sequence[Mapping[str, Any]]]
    """Recorded estimates of each round, without their documents; oldest first."""
    headlines: Mapping[str, Headline]
    """For each round the latest number that still holds."""

    @property
    def version(self) -> int:
        return self.log.version

    @cached_property
    def live(self) -> dict[str, Entry]:
        return self.log.live()

    @cached_property
    def questions(self) -> list[str]:
        """Questions, that of the latest round first."""
        return list(dict.fromkeys(row.question for row in reversed(self.live.values())))

    def rounds(self, question: str | None = None) -> list[Entry]:
        """The rounds, of a question or all, oldest first."""
        return [row for row in self.live.values() if question in (None, row.question)]

    def history(self, name: str) -> list[Entry]:
        return past_of(self.log, name)

    def changes(self, name: str) -> list[Entry]:
        return [row for row in self.log.rows if row.round == name]


class LatestSnapshot:
    """The latest `Snapshot` of a store, for many threads."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._tables: dict[str, Any] = {}
        self._snapshot: Snapshot | None = None
        self._looked = 0.0
        self._first: tuple[int, int] | None = None
        self._place = delta.place_of(path, None)

    def now(self) -> Snapshot:
        """The store as it is."""
        with self._lock:
            soon = not self._place.is_local and time.monotonic() - self._looked < REMOTE_PAUSE
            if self._snapshot is not None and soon:
                return self._snapshot
            versions = self._versions()
            self._looked = time.monotonic()
            if self._snapshot is None or self._snapshot.versions != versions:
                self._snapshot = _read(self._path, versions)
            return self._snapshot

    def _versions(self) -> tuple[int, ...]:
        first = delta.first_commit(self._place, "rounds")
        if first != self._first:  # another store stands there, or none
            self._tables, self._snapshot, self._first = {}, None, first
        if not self._tables:
            self._tables = {name: delta.open_table(self._place, name) for name in TABLES}
        return tuple(delta.bring_up_to_date(self._place, name, self._tables[name]) for name in TABLES)


def _read(path: str, versions: tuple[int, ...]) -> Snapshot:
    """A fresh place, so that what was read before is not kept."""
    place = delta.place_of(path, None)
    store = ReadableStore(place)
    log = read_log(place)
    labelers: dict[str, list[Mapping[str, Any]]] = {}
    for row in store.labeler_rows(log):
        labelers.setdefault(row["round"], []).append(row)
    records: dict[str, list[Mapping[str, Any]]] = {}
    headlines: dict[str, Headline] = {}
    for row in listed_estimates(store):
        headline = _headline(log, row)
        if headline is not None:
            headlines[row["round"]] = headline
        kept = {key: of for key, of in row.items() if key not in ("document", "options")}
        records.setdefault(row["round"], []).append(kept)
    return Snapshot(place.uri, versions, log, labelers, records, headlines)


def _headline(log: Log, row: Mapping[str, Any]) -> Headline | None:
    """The number of a record that was asked for without options and whose rounds have not changed since."""
    if row["command"] != "estimate" or row["round"] not in log.live():
        return None
    asked = json.loads(row["options"])
    options = {key: of for key, of in asked["options"].items() if DEFAULTS.get(key) != of}
    if options or asked["history"] or asked["other"]:
        return None
    past = past_of(log, row["round"])
    behind = [log.find(row["round"]), *past]
    if [one.round for one in past] != list(row["history"]) or any(one.version > row["store_version"] for one in behind):
        return None
    found = json.loads(row["document"])
    if "interval" not in found:
        return None
    ends = found["interval"]
    written = row["written"].isoformat(timespec="seconds")
    numbers = (found["value"], ends["low"], ends["high"], ends["level"])
    doubts = dict.fromkeys(one["code"] for one in found["findings"] if one.get("doubts_interval"))
    return Headline(row["estimate"], found["what"], *numbers, found["method"], written, tuple(doubts))
