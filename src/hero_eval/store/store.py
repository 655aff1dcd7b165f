"""`Store`: one place where rounds accumulate. See `schemas` for how a change happens all at once or not at all."""

from __future__ import annotations

import datetime
import json
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hero_eval.errors import InputError, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.reading.columns import missing_columns, rename
from hero_eval.reading.frames import Sources
from hero_eval.reading.options import Options, make_options
from hero_eval.reading.validate import NEEDED, Contents, parse_round
from hero_eval.reading.values import BINARY_WORDS, count_of
from hero_eval.round import Round
from hero_eval.store import contents as packing
from hero_eval.store import delta
from hero_eval.store.contents import Rows
from hero_eval.store.identity import Labeler, Resolved, labeler_rows, labelers_from, read_labelers, refuse_own_gold
from hero_eval.store.identity import resolve as resolve_identities
from hero_eval.store.log import Entry, Log, batches_of, checked_name, commit, date_of, earlier, named_date, read_log
from hero_eval.store.schemas import PARTITIONS, TABLES, schema
from hero_eval.store.sources import Incoming, incoming, raise_problems, take_experts

if TYPE_CHECKING:
    from hero_eval.store.estimates import Recorded

DEFAULT_QUESTION = "main"


def create_store(path: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None) -> Store:
    """Make an empty store in a folder or at an object-store URL; E404 if there is one."""
    place = delta.place_of(path, storage_options)
    if delta.is_table(place, "rounds"):
        delta.open_table(place, "rounds")
        raise wrong("E404", f"{place.uri} is a store already. Nothing was changed.")
    for name in TABLES:
        delta.create_table(place, name, schema(name), PARTITIONS.get(name, ()))
    return Store(place)


def open_store(
    path: str | os.PathLike[str],
    *,
    version: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Store:
    """The store at a path, as it is now or as it was at a version (which can then only be read)."""
    place = delta.place_of(path, storage_options)
    if version is None:
        delta.open_table(place, "rounds")
    else:
        read_log(place, version)
    return Store(place, version)


@dataclass(frozen=True)
class Added:
    """What `Store.add` did."""

    entry: Entry
    labels: int
    gold: int
    items: int
    merged: bool
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class History:
    """Which past rounds to learn from: by question, model and date, or by name. None: all that there are."""

    question: str | None = None
    models: tuple[str, ...] = ()
    since: str | None = None
    before: str | None = None
    rounds: tuple[str, ...] = ()

    def days(self) -> tuple[datetime.date, datetime.date]:
        since, before = (_day(what, text) for what, text in (("since", self.since), ("before", self.before)))
        return since or datetime.date.min, before or datetime.date.max


def _day(what: str, text: str | None) -> datetime.date | None:
    if text is None:
        return None
    found = named_date(text)
    if found is None:
        raise wrong("E201", f"{what} is {text!r}. Write a day, a week or a month: 2026-11-09, 2026-w46, 2026-11")
    return found


class Store:
    """Rounds that accumulate, for years and by many hands. Made by `open_store` and `create_store`."""

    def __init__(self, place: delta.Place, version: int | None = None) -> None:
        self._place = place
        self._version = version

    @property
    def path(self) -> str:
        """The folder or URL."""
        return self._place.uri

    @property
    def version(self) -> int:
        """How many changes of rounds the store has seen; the version asked for, if one was."""
        return self.log().version

    @property
    def bytes_read(self) -> int:
        """The size of all data files that this object has read so far."""
        return self._place.bytes_read

    @property
    def files_read(self) -> tuple[str, ...]:
        """The data files that this object has read so far."""
        return tuple(self._place.files_read)

    def log(self) -> Log:
        """Every change of a round, oldest first."""
        return read_log(self._place, self._version)[0]

    def rounds(self, *, removed: bool = False) -> list[Entry]:
        """The rounds, in the order of time; or those that were removed."""
        log = self.log()
        return [row for row in log.last().values() if row.removed == removed]

    def find(self, name: str) -> Entry:
        """What the store knows of a round without reading its data; E403 if there is none."""
        return self.log().find(name)

    # Reading

    def round(self, name: str) -> Round:
        """The round of this name; E403 if there is none."""
        return self.read(self.find(name))

    def read(self, entry: Entry, *, positive: str | None = None, classes: Sequence[str] | None = None) -> Round:
        """A round as an ordinary `Round`: the one way from the store to all that estimates."""
        rows = self._rows(entry)
        options = _options(entry, classes, positive)
        return Round._of(parse_round(packing.as_sources(rows, f"round {entry.round!r}"), options))

    def history(self, name: str, chosen: History | None = None) -> list[Round]:
        """The past rounds of a round, read; by default all earlier ones of its question."""
        return [self.read(row) for row in self.history_of(name, chosen)]

    def history_of(self, name: str, chosen: History | None = None) -> list[Entry]:
        """Which past rounds these are, oldest first. Neither the round itself nor a later one is ever among them."""
        log = self.log()
        current, choice = log.find(name), chosen or History()
        past = earlier(log, current)
        if choice.rounds:
            return [_earlier_one(log, current, past, one) for one in dict.fromkeys(choice.rounds)]
        question, (since, before) = choice.question or current.question, choice.days()
        return [
            row
            for row in past
            if row.question == question
            and (not choice.models or row.model in choice.models)
            and since <= row.date < before
        ]

    def labelers(self) -> list[dict[str, Any]]:
        """Who labelled in which round: name, kind, model, prompt, settings, vendor, group; in the order of time."""
        rows = self._labeler_rows(self.log())
        return [{key: value for key, value in row.items() if key != "batch"} for row in rows]

    def _labeler_rows(self, log: Log) -> list[dict[str, Any]]:
        batches = batches_of(list(log.live().values()))
        order = {batch: position for position, batch in enumerate(batches)}
        rows = delta.read_rows(self._place, "labelers")
        return sorted(
            (row for row in rows if row["batch"] in order), key=lambda one: (order[one["batch"]], one["name"])
        )

    def _rows(self, entry: Entry) -> Rows:
        """All that is stored of a round."""
        import pyarrow as pa

        columns = packing.columns_by_batch(entry.columns)
        wanted = {"labels": ("item", "labeler", "label"), "gold": ("item", "gold", "source")}
        tables = {
            name: pa.concat_tables(delta.read_batches(self._place, name, entry.batches, of).values())
            for name, of in wanted.items()
        }
        packed = delta.read_batches(
            self._place, "items", [batch for batch in entry.batches if batch in columns], _ITEM_COLUMNS
        )
        items = [packing.unpack_items(table, columns[batch]) for batch, table in packed.items()]
        parts = [replace(packing.no_rows(), items=table) for table in items]
        whole = replace(packing.no_rows(), labels=tables["labels"], gold=tables["gold"])
        if whole.labels.num_rows < entry.labels:
            message = f"{self.path}: round {entry.round!r} has {whole.labels.num_rows} of its {entry.labels} labels; "
            raise wrong("E406", f"{message}files of the store are missing. Bring them back from a copy.")
        return packing.put_together([whole, *parts], f"round {entry.round!r}")

    # Changing

    def add(
        self,
        data: Any = None,
        *,
        round: str,
        question: str | None = None,
        model: str | None = None,
        date: str | datetime.date | None = None,
        gold: Any = None,
        gold_source: str | None = None,
        labelers: Any = None,
        experts: Sequence[str] = (),
        columns: Mapping[str, str] | None = None,
        classes: Sequence[Any] | None = None,
        positive: Any | None = None,
        origin: str | None = None,
        exist_ok: bool = False,
    ) -> Added:
        """Add a round: a path, a `Round` or a dataframe, under a name. To one that is there, late labels or gold.

        `gold` may come apart, with a column `source` or one `gold_source` for all; `labelers` tells who they are
        (labeler, kind, model, prompt, settings, vendor, group). What the labelers `experts` said counts as gold. All of
        it becomes visible by one commit, or none of it: contradictions are errors that name them.
        """
        self._refuse_old_version()
        name = checked_name("round", round)
        log = self.log()
        old = log.live().get(name)
        options = _add_options(name, old, columns, classes, positive)
        given = take_experts(incoming(data, gold, labelers, options), experts, options)
        about = About(name, old, question, model, date, gold_source, origin or given.origin)
        _refuse_changed(log, about)
        plan = self._plan(given, options, about, log)
        if plan.fresh.is_empty:
            return _nothing_new(plan, about, exist_ok)
        return self._write(plan, given, options, about)

    def _plan(self, given: Incoming, options: Options, about: About, log: Log) -> Plan:
        """Read and check everything against the store as it is in `log`; write nothing."""
        raise_problems(given.sources)
        where = f"round {about.name!r}" + (f" with {about.origin}" if about.origin else "")
        came, read = _rows_that_came(given.sources, options, about)
        told = read_labelers(given.labelers, sorted(came.labels["labeler"].unique().to_pylist()))
        known = self._known(log)
        resolved = resolve_identities(told, known)
        fresh, stored = _renamed(came, resolved), packing.no_rows()
        if about.old is not None:
            stored = self._rows(about.old)
            read = packing.checked(packing.put_together([stored, fresh], where), options, where)
            _refuse_mixed(read, where)
        assert read is not None
        fresh = packing.new_rows(fresh, stored, read.values)
        judges = [one.labeler for one in known if one.kind == "judge"]
        refuse_own_gold(fresh.gold, [*read.labelers, *told, *judges], where)
        notes = tuple(note for note in (*read.notes, *given.findings) if note.code != "F101")
        return Plan(fresh, read, told, resolved, log.version, (*notes, *resolved.findings))

    def _known(self, log: Log) -> list[Labeler]:
        return labelers_from(self._labeler_rows(log))

    def _write(self, plan: Plan, given: Incoming, options: Options, about: About) -> Added:
        """Write the data under a batch id of its own, then the one row that makes it exist."""
        batch, columns = _batch_id(about.name), None

        def make(log: Log) -> Entry:
            nonlocal plan, batch, columns
            _refuse_changed(log, about)
            if log.version != plan.version and resolve_identities(plan.told, self._known(log)) != plan.resolved:
                plan = self._plan(given, options, about, log)  # somebody has just changed what a judge's name means
                batch, columns = _batch_id(about.name), None
            entry = _entry(plan, about, _question(log, about), log)
            if columns is None:
                columns = self._write_batch(plan, about.name, batch)
            return _with_batch(entry, about.old, batch, columns)

        entry = commit(self._place, make)
        delta.tidy(self._place, "labelers")
        n_items = entry.items - (about.old.items if about.old else 0)
        n_labels, n_gold = plan.fresh.labels.num_rows, plan.fresh.gold.num_rows
        return Added(entry, n_labels, n_gold, n_items, about.old is not None, plan.findings)

    def _write_batch(self, plan: Plan, name: str, batch: str) -> list[list[str]]:
        tables, columns = packing.data_tables(plan.fresh, name, batch)
        if plan.resolved.labelers:
            tables["labelers"] = labeler_rows(plan.resolved.labelers, name, batch)
        for table, rows in tables.items():
            delta.append(self._place, table, rows)
        return columns

    def remove(self, name: str) -> Entry:
        """Take a round out. Its data stay, and `restore` brings it back."""
        self._refuse_old_version()

        def make(log: Log) -> Entry:
            return replace(log.find(name), action="remove")

        return commit(self._place, make)

    def restore(self, name: str) -> Entry:
        """Bring back a round that was removed, as it was."""
        self._refuse_old_version()

        def make(log: Log) -> Entry:
            row = log.last().get(name)
            if row is None or not row.removed:
                gone = [one.round for one in log.last().values() if one.removed]
                there = f"Removed are: {name_some(gone, 12)}." if gone else "No round is removed."
                raise wrong("E403", f"no removed round is called {name!r}. {there}")
            return replace(row, action="restore")

        return commit(self._place, make)

    def _refuse_old_version(self) -> None:
        if self._version is not None:
            raise wrong("E204", f"the store was opened as of version {self._version}, which can only be read")

    # Estimates

    def estimate(self, round: str, *, command: str = "estimate", **options: Any) -> Recorded:
        """Estimate a round from its history, and record it so that `reproduce` gives the same bytes; see `Recorded`."""
        from hero_eval.store.estimates import make_and_save

        return make_and_save(self, round, command, options)

    def estimates(self) -> list[dict[str, Any]]:
        """The recorded estimates, oldest first."""
        from hero_eval.store.estimates import listed_estimates

        return listed_estimates(self)

    def reproduce(self, estimate: str) -> Recorded:
        """Make a recorded estimate again, from the store as it was; E408 if a byte differs."""
        from hero_eval.store.estimates import reproduce

        return reproduce(self, estimate)

    def __repr__(self) -> str:
        log = self.log()
        return f"Store {self.path!r}: {count_of(len(log.live()), 'round')}, version {log.version}"


_ITEM_COLUMNS = ("item", "weight", "numbers", "texts")


@dataclass(frozen=True)
class About:
    """What the caller said of a round besides its data. `old` is the round that late data are for."""

    name: str
    old: Entry | None
    question: str | None
    model: str | None
    date: str | datetime.date | None
    gold_source: str | None
    origin: str | None


@dataclass(frozen=True)
class Plan:
    """A change that was checked against one version of the store and can be written."""

    fresh: Rows
    """What the store does not have yet."""
    read: Contents
    """The whole round as it will be."""
    told: Mapping[str, Labeler]
    resolved: Resolved
    version: int
    findings: tuple[Finding, ...]


def _options(entry: Entry, classes: Sequence[str] | None, positive: str | None) -> Options:
    chosen = classes if classes is not None else entry.classes
    return make_options(None, chosen, positive or entry.positive, None, None, entry.round)


def _add_options(
    name: str,
    old: Entry | None,
    columns: Mapping[str, str] | None,
    classes: Sequence[Any] | None,
    positive: Any | None,
) -> Options:
    if classes is None and old is not None:
        classes = old.classes
    if positive is None and old is not None:
        positive = old.positive
    return make_options(columns, classes, positive, None, None, name)


def _rows_that_came(sources: Sources, options: Options, about: About) -> tuple[Rows, Contents | None]:
    """The rows that came, and the round that they make if they hold labels.

    Late gold may be for items whose labels only the store has, so it is not held against the labels that came with it.
    """
    apart = about.old is not None and sources.gold is not None
    if sources.labels is None and about.old is None:
        what = "gold or items" if sources.gold is not None or sources.items is not None else "nothing"
        remedy = "Add its labels first, or with them."
        raise wrong("E403", f"{what} came for round {about.name!r}, which the store does not have. {remedy}")
    _check_columns(sources, options)
    read, labelled = None, packing.no_rows()
    rest = replace(sources, gold=None) if apart else sources
    if sources.labels is not None:
        read = parse_round(rest, options)
        labelled = packing.rows_of_contents(read)
    aside = packing.rows_aside(rest, options, read)
    if apart:
        aside = replace(aside, gold=packing.rows_aside(replace(sources, items=None), options, None).gold)
    rows = packing.put_together([labelled, aside], f"round {about.name!r}")
    known = packing.gold_sources(sources, options, about.gold_source)
    return replace(rows, gold=packing.with_sources(rows.gold, known)), read


def _check_columns(sources: Sources, options: Options) -> None:
    """E104 for what the tables lack."""
    problems = []
    for table, needed in NEEDED.items():
        source = getattr(sources, table)
        if source is not None:
            problems += missing_columns(rename(source, needed, options.columns), needed, ())
    if problems:
        raise InputError(problems)


def _renamed(rows: Rows, resolved: Resolved) -> Rows:
    """The labels under the labelers' names in the store."""
    import pyarrow as pa

    if not resolved.renamed or not rows.labels.num_rows:
        return rows
    coded = rows.labels["labeler"].combine_chunks().dictionary_encode()
    names = [resolved.renamed.get(name, name) for name in coded.dictionary.to_pylist()]
    column = pa.DictionaryArray.from_arrays(coded.indices, pa.array(names, pa.string())).dictionary_decode()
    return replace(rows, labels=rows.labels.set_column(1, "labeler", column))


def _refuse_mixed(read: Contents, where: str) -> None:
    words = [value for value in read.values if value.lower() in BINARY_WORDS]
    if words and {"0", "1"} & set(read.values):
        raise wrong(
            "E205",
            f"{where} would have the answers {name_some(list(read.values), 12)}: yes and no are read as 1 and 0 where "
            "there is nothing else. Give --classes with all possible answers.",
        )


def _refuse_changed(log: Log, about: About) -> None:
    """E404: somebody else was faster, or the round is of another question or model."""
    now = log.live().get(about.name)
    if now is not None and about.old is None:
        raise wrong(
            "E404",
            f"round {about.name!r} was added by somebody else at the same moment ({now.labels:,} labels, version "
            f"{now.version}). Nothing of yours was added. If yours are late labels for it, run it again; else choose another name.",
        )
    if about.old is not None and (now is None or now.version != about.old.version):
        raise wrong(
            "E404",
            f"round {about.name!r} was changed by somebody else at the same moment. Nothing of yours was added; run it again.",
        )
    for what in ("question", "model"):
        said, stored = getattr(about, what), getattr(about.old, what, None)
        if about.old is not None and said is not None and stored is not None and said != stored:
            raise wrong(
                "E404",
                f"round {about.name!r} is there with {what} {stored!r}, not {said!r}. Nothing was added. "
                f"Leave --{what} out to add to it, or choose another --round.",
            )


def _question(log: Log, about: About) -> str:
    if about.old is not None:
        return about.old.question
    if about.question is not None:
        return checked_name("question", about.question)
    known = sorted({row.question for row in log.live().values()})
    if len(known) > 1:
        raise wrong("E206", f"the store holds the questions {name_some(known, 12)}. Say which: --question")
    return known[0] if known else DEFAULT_QUESTION


def _batch_id(name: str) -> str:
    """Unique, and telling to whoever looks into the folder."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', name)[:40].strip('-').lower() or 'round'}-{uuid.uuid4().hex[:16]}"


def _entry(plan: Plan, about: About, question: str, log: Log) -> Entry:
    """The row of the log, without the batch."""
    old, read = about.old, plan.read
    before = log.last().get(about.name)
    return Entry(
        round=about.name,
        question=question,
        model=about.model or (old.model if old else None),
        date=date_of(about.name, about.date) if old is None or about.date is not None else old.date,
        batches=(),
        items=len(read.item_ids),
        labels=len(read.label_item),
        gold=int((read.gold >= 0).sum()),
        labelers=len(read.labelers),
        classes=read.classes_given,
        positive=read.positive,
        source=about.origin or (old.source if old else None),
        action="merge" if old else "add",
        first_version=before.first_version if before else 0,
    )


def _with_batch(entry: Entry, old: Entry | None, batch: str, columns: list[list[str]]) -> Entry:
    described = packing.columns_by_batch(old.columns) if old else {}
    described[batch] = columns
    batches = (*(old.batches if old else ()), batch)
    return replace(entry, batches=batches, columns=json.dumps(described, ensure_ascii=False))


def _nothing_new(plan: Plan, about: About, exist_ok: bool) -> Added:
    """Everything that came is there already: E404, unless that is welcome."""
    assert about.old is not None
    if exist_ok:
        return Added(about.old, 0, 0, 0, True, plan.findings)
    raise wrong(
        "E404",
        f"round {about.name!r} is in the store already, with all of this ({count_of(about.old.labels, 'label')}, "
        f"{about.old.gold} gold). Nothing was added. If that is fine: --exist-ok",
    )


def _earlier_one(log: Log, current: Entry, past: Sequence[Entry], name: str) -> Entry:
    """A past round that was named; E204 if it is not past."""
    row = log.find(name)
    if row not in past:
        what = (
            "the current round itself"
            if row.round == current.round
            else f"not before {current.round!r} ({current.date})"
        )
        raise wrong("E204", f"round {name!r} ({row.date}) is {what}, so it cannot be history. Name earlier rounds.")
    return row
