"""What is whole in a store and what is not: every table, round, labeler and recorded estimate, held against the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hero_eval.errors import HeroError, InputError, Problem, wrong
from hero_eval.findings import name_some
from hero_eval.store import delta
from hero_eval.store.estimates import listed_estimates
from hero_eval.store.fetching import in_parts
from hero_eval.store.identity import check_labelers
from hero_eval.store.log import Entry, Log
from hero_eval.store.reading import ReadableStore
from hero_eval.store.receipts import are_readable, receipts
from hero_eval.store.schemas import DATA


@dataclass(frozen=True)
class Soundness:
    """What `Store.check` found."""

    store: str
    version: int | None
    """None if the log of rounds cannot be read."""
    whole: tuple[str, ...]
    """Rounds, removed ones among them, of which every row is there."""
    unbound: tuple[str, ...]
    """Whole rounds that were recorded without digests: their counts are right, their contents cannot be checked."""
    damaged: tuple[str, ...]
    estimates: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return not self.problems

    def raise_any(self) -> None:
        """InputError with all problems, if there are any."""
        if self.problems:
            raise InputError(self.problems)

    def to_dict(self) -> dict[str, Any]:
        return {
            "store": self.store,
            "version": self.version,
            "is_whole": self.is_whole,
            "whole": list(self.whole),
            "unbound": list(self.unbound),
            "damaged": list(self.damaged),
            "estimates": self.estimates,
            "problems": [{"code": one.code, "message": one.message} for one in self.problems],
            "notes": list(self.notes),
        }


class _Search:
    """Problems as they are found."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def attempt(self, work: Callable[[], Any]) -> Any:
        """What the work gives; None, and its problems kept, if it cannot be done."""
        try:
            return work()
        except HeroError as error:
            self.problems += [one for one in error.problems if one not in self.problems]
            return None


def check_store(store: ReadableStore) -> Soundness:
    """Read everything that the log names, and hold it against the log."""
    search = _Search()
    for name in delta.tables_there(store.place):
        search.attempt(partial(delta.open_once, store.place, name))
    log: Log | None = search.attempt(store.log)
    entries = [] if log is None else _every(log)
    damaged = _damaged(store, entries, search)
    search.attempt(lambda: _labelers(store, entries))
    estimates = search.attempt(lambda: _estimates(store)) or []
    whole = [entry for entry in entries if entry.round not in damaged]
    return Soundness(
        store.path,
        None if log is None else log.version,
        tuple(dict.fromkeys(entry.round for entry in whole)),
        tuple(dict.fromkeys(entry.round for entry in whole if not entry.is_bound)),
        tuple(damaged),
        len(estimates),
        tuple(search.problems),
        tuple(_notes(store, log)),
    )


def _every(log: Log) -> list[Entry]:
    """Rows that between them name every batch: the last one of each round, and of each that had its name before."""
    found: dict[tuple[str, ...], Entry] = {}
    for row in log.rows:
        found[(row.round, *row.batches[:1])] = row
    return list(found.values())


def _damaged(store: ReadableStore, entries: Sequence[Entry], search: _Search) -> list[str]:
    """Rounds that cannot be read as they were; read together, and one by one where that fails."""
    found = []
    for part in in_parts(entries):
        try:
            store.read_all(part)
        except HeroError:
            for entry in part:
                before = len(search.problems)
                read = search.attempt(partial(store.read, entry))
                if read is None or len(search.problems) > before:
                    found.append(entry.round)
    return list(dict.fromkeys(found))


def _labelers(store: ReadableStore, entries: Sequence[Entry]) -> None:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in delta.read_rows(store.place, "labelers"):
        found.setdefault(row["batch"], []).append(row)
    check_labelers(store.place, entries, found)


def _estimates(store: ReadableStore) -> list[dict[str, Any]]:
    rows = listed_estimates(store)
    for row in rows:
        try:
            json.loads(row["options"]), json.loads(row["document"])
        except (ValueError, TypeError) as error:
            message = f"{store.path}: the record of estimate {row['estimate']} is damaged ({error})."
            raise wrong("E406", message) from error
    return rows


def _notes(store: ReadableStore, log: Log | None) -> list[str]:
    notes = []
    bound = log is not None and any(row.seal for row in log.rows)
    if bound and not receipts(store.place, "rounds"):
        notes.append(
            "the receipts are gone: the loss of the last change would not be noticed. The next change writes one"
        )
    elif not are_readable(store.place):
        notes.append("a receipt cannot be read; what it is for is there")
    if log is not None:
        named = {batch for row in log.rows for batch in row.batches}
        spare = _left_behind(store, named)
        if spare:
            some = name_some(sorted(spare))
            notes.append(f"{len(spare)} batches of changes that never came to an end ({some}): not read")
    return notes


def _left_behind(store: ReadableStore, named: set[str]) -> set[str]:
    """Batches that no row of the log names: their writers were stopped before the commit."""
    try:
        files = [file for name in DATA for file in delta.list_files(store.place, name)]
    except HeroError:
        return set()
    return {file.first_batch for file in files if file.first_batch == file.last_batch} - named
