"""Adding to a store: everything is read and checked first, then written under a batch id, then made visible at once."""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hero_eval.any_round import GOLD_PROBABILITY
from hero_eval.errors import InputError, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.read_options import ReadOptions, make_options
from hero_eval.io.tables import InputTables, missing_columns, rename
from hero_eval.io.validate import NEEDED, Contents, parse_round
from hero_eval.io.values import BINARY_WORDS, count_of
from hero_eval.round import Round
from hero_eval.store import commits, delta
from hero_eval.store import contents as packing
from hero_eval.store.contents import StoredRows
from hero_eval.store.dates import date_of
from hero_eval.store.digests import digest, row_digests
from hero_eval.store.identity import Labeler, Resolved, labeler_rows, labelers_from, read_labelers, refuse_own_gold
from hero_eval.store.identity import resolve as resolve_identities
from hero_eval.store.log import Entry, Log, checked_name, commit
from hero_eval.store.reading import ReadableStore
from hero_eval.store.records import Record, Sum, TableVersion, knowledge, with_options
from hero_eval.store.same_labels import twin_findings
from hero_eval.store.sources import Incoming, raise_problems
from hero_eval.store.vote_rounds import facts_of_votes

DEFAULT_QUESTION = "main"


@dataclass(frozen=True)
class Added:
    """What `Store.add` did."""

    entry: Entry
    labels: int
    gold: int
    items: int
    merged: bool
    findings: tuple[Finding, ...]
    changed: int = 0
    """Items that were there, and got labels, gold or columns."""
    written: bool = True
    """Whether the store is another one now; not if it had all of this."""


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
class AddingPlan:
    """A change that was checked against one version of the store and can be written."""

    fresh: StoredRows
    """What the store does not have yet."""
    read: Contents
    """The whole round as it will be."""
    knows: Mapping[str, Any]
    """What else the round knows; see `records`."""
    told: Mapping[str, Labeler]
    resolved: Resolved
    version: int
    findings: tuple[Finding, ...]
    changed: int = 0
    """Items of the round that get something."""


@dataclass(frozen=True)
class Written:
    """A batch that is on the disk, and that no row of the log names yet."""

    batch: str
    columns: list[list[str]]
    sums: Mapping[str, Sum]
    tables: Mapping[str, TableVersion]


def add_round(
    store: ReadableStore, given: Incoming, options: ReadOptions, about: About, *, exist_ok: bool, dry_run: bool = False
) -> Added:
    """Check against the store as it is now, then write, unless it is a dry run."""
    log = store.log()
    _refuse_changed(log, about)
    plan = _plan(store, given, options, about, log)
    if plan.fresh.is_empty and not _dated_anew(about):
        return _nothing_new(plan, about, exist_ok)
    if dry_run:
        return _added(plan, about, _entry(plan, about, _question(log, about), log))
    return _write(store, plan, given, options, about)


def _known(store: ReadableStore, log: Log) -> list[Labeler]:
    """All labelers of the store, oldest first."""
    return labelers_from(store.labeler_rows(log))


def _plan(store: ReadableStore, given: Incoming, options: ReadOptions, about: About, log: Log) -> AddingPlan:
    """Read and check everything against the store as it is in `log`; write nothing."""
    raise_problems(given.sources)
    where = f"round {about.name!r}" + (f" with {about.origin}" if about.origin else "")
    came, read = _as_it_is(given, options, about) or _rows_that_came(given.sources, options, about)
    told = read_labelers(given.labelers, sorted(came.labels["labeler"].unique().to_pylist()))
    known = _known(store, log)
    resolved = resolve_identities(told, known)
    fresh, stored = _renamed(came, resolved), packing.no_rows()
    if about.old is not None:
        stored = store.rows(about.old)
        read = packing.checked(packing.put_together([stored, fresh], where), options, where)
        _refuse_mixed(read, where)
    assert read is not None
    fresh = packing.new_rows(fresh, stored, read.values)
    _refuse_half_a_draw(fresh, stored, read, where)
    judges = [one.labeler for one in known if one.kind == "judge"]
    refuse_own_gold([stored.gold, fresh.gold], [*read.labelers, *told, *judges], where)
    own = () if given.is_votes else read.notes  # of votes their own reader told
    notes = tuple(note for note in (*own, *given.findings) if note.code != "F101")
    found = (*notes, *resolved.findings, *_date_findings(about), *_stranger_findings(fresh, stored, about))
    found += tuple(twin_findings(fresh, about.name, log))
    knows, changed = _knows(read, given, about, resolved), len(_items_of(fresh) & _items_of(stored))
    return AddingPlan(fresh, read, knows, told, resolved, log.version, found, changed)


def _refuse_half_a_draw(fresh: StoredRows, stored: StoredRows, read: Contents, where: str) -> None:
    """E115 where probabilities of gold come and leave some item without one, or with that of an earlier draw."""
    if GOLD_PROBABILITY not in fresh.items.column_names:
        return
    Round._of(read).gold_probability()
    came = set(fresh.items["item"].to_pylist())
    left = [str(item) for item in read.ids if str(item) not in came]
    if left and packing.drawn_anew(fresh.items, stored.items):
        raise wrong(
            "E115",
            f"{where} has another {GOLD_PROBABILITY} than the store for some items and none for {len(left)} of "
            f"{len(read.ids)}, for example {left[0]!r}: a draw changes that of all. Give those of every item, which "
            "hero next --probabilities FILE writes.",
        )


def _items_of(rows: StoredRows) -> set[str]:
    """Items that these rows speak of."""
    return {item for table in (rows.labels, rows.gold, rows.items) for item in table["item"].unique().to_pylist()}


def _stranger_findings(fresh: StoredRows, stored: StoredRows, about: About) -> list[Finding]:
    """F134 for labels of items of which the round has none: they may be another round's."""
    came = set(fresh.labels["item"].unique().to_pylist())
    there = set(stored.labels["item"].unique().to_pylist())
    if about.old is None or not came or came & there:
        return []
    message = (
        f"not one of the {count_of(len(came), 'item')} that came is among the {len(there):,} that round {about.name!r} "
        f"had: the round now holds both"
    )
    return [Finding("F134", message, {"round": about.name, "new": len(came), "there": len(there)})]


def _knows(read: Contents, given: Incoming, about: About, resolved: Resolved) -> dict[str, Any]:
    """What the round knows: as it was read; of a `Round`, what it knew, unless the caller said it anew."""
    knows = knowledge(read) | ({"votes": facts_of_votes(read)} if given.is_votes else {})
    heard = set(read.labelers) - set(knows["labelers"])
    if about.old is not None:
        silent = set(about.old.bound.knows.get("labelers", ())) - heard
        return knows | {"labelers": sorted(silent)}
    before = given.round
    if before is None:
        return knows
    kept = knowledge(before)
    said = [name for name in ("classes_given", "positive") if kept[name] != knows[name]]
    if said or not set(read.values) <= set(before.values):
        kept |= {name: knows[name] for name in ("values", "classes_given", "positive")}
    silent = {resolved.renamed.get(name, name) for name in kept["labelers"]} - heard
    return kept | {"labelers": sorted(silent)}


def _dated_anew(about: About) -> bool:
    """Whether a round that is there gets another date."""
    return about.old is not None and about.date is not None and date_of(about.name, about.date)[0] != about.old.date


def _date_findings(about: About) -> list[Finding]:
    """A word about a date that nobody gave."""
    if about.old is not None or date_of(about.name, about.date)[0] is not None:
        return []
    message = (
        f"round {about.name!r} has no date: none was given, and its name holds none. It is dated today, the day on "
        "which it is added: rounds dated up to today are its history, and rounds dated later have it in theirs"
    )
    return [Finding("F804", message, {"round": about.name})]


def _write(store: ReadableStore, plan: AddingPlan, given: Incoming, options: ReadOptions, about: About) -> Added:
    """Write the data under a batch id of its own, then the one row that makes it exist."""
    written: Written | None = None

    def make(log: Log) -> Entry:
        nonlocal plan, written
        _refuse_changed(log, about)
        if log.version != plan.version and resolve_identities(plan.told, _known(store, log)) != plan.resolved:
            plan = _plan(store, given, options, about, log)  # somebody has just changed what a judge's name means
            written = None
        entry = _entry(plan, about, _question(log, about), log)
        if written is None:
            written = _write_batch(store, plan, about.name)
        return _with_batch(entry, plan, about, written)

    entry = commit(store.place, make)
    commits.tidy(store.place, "labelers")
    return _added(plan, about, entry)


def _added(plan: AddingPlan, about: About, entry: Entry) -> Added:
    n_items = entry.items - (about.old.items if about.old else 0)
    n_labels, n_gold = plan.fresh.labels.num_rows, plan.fresh.gold.num_rows
    if "votes" not in plan.knows:  # gold of items that have no labels waits until they come, as `rounds` counts it
        n_gold = len(set(plan.fresh.gold["item"].to_pylist()) & set(plan.read.item_ids))
    return Added(entry, n_labels, n_gold, n_items, about.old is not None, plan.findings, plan.changed)


def _write_batch(store: ReadableStore, plan: AddingPlan, name: str) -> Written:
    """Write what is new under a batch id; nothing at all if nothing is."""
    batch = _batch_id(name)
    tables, columns = packing.data_tables(plan.fresh, name, batch)
    if plan.resolved.labelers and not plan.fresh.is_empty:
        tables["labelers"] = labeler_rows(plan.resolved.labelers, name, batch)
    sums, then = {}, {}
    for table, rows in tables.items():
        identity = str(delta.open_table(store.place, table).metadata().id)
        then[table] = TableVersion(identity, commits.append(store.place, table, rows))
        sums[table] = Sum(rows.num_rows, digest(row_digests(table, rows)))
    return Written(batch, columns, sums, then)


def options_for(
    name: str,
    old: Entry | None,
    data: Any,
    columns: Mapping[str, str] | None,
    classes: Sequence[Any] | None,
    positive: Any | None,
    missing: Sequence[Any] | None = None,
    label_kind: str | None = None,
    map: Mapping[Any, Any] | None = None,
) -> ReadOptions:
    """How to read what is added: as said, or as the round that is there, or the `Round` that is given, was read."""
    known = data._contents if isinstance(data, Round) else None
    if classes is None:
        classes = old.classes if old is not None else known.classes_given if known is not None else None
    if positive is None:
        positive = old.positive if old is not None else known.positive if known is not None else None
    options = make_options(columns, classes, positive, None, None, name, missing, label_kind, map)
    knows = old.bound.knows if old is not None else knowledge(known) if known is not None else {}
    return with_options(options, knows)


def _as_it_is(given: Incoming, options: ReadOptions, about: About) -> tuple[StoredRows, Contents] | None:
    """The rows of a `Round` that comes as it is: it was read before. None if it must be read with something else."""
    known = given.round
    if known is None or about.old is not None:
        return None
    if options.missing or (options.classes, options.positive) != (known.classes_given, known.positive):
        return None
    rows = packing.rows_of_contents(known)
    return replace(rows, gold=packing.with_sources(rows.gold, about.gold_source)), replace(known, name=about.name)


def _rows_that_came(sources: InputTables, options: ReadOptions, about: About) -> tuple[StoredRows, Contents | None]:
    """The rows that came, and the round that they make if they hold labels.

    Late gold may be for items whose labels only the store has, so it is not held against the labels that came with it.
    """
    apart = about.old is not None and sources.gold is not None
    if sources.labels is None and about.old is None:
        what = "gold or items" if sources.gold is not None or sources.items is not None else "no labels"
        remedy = "Add its labels first, or with them."
        raise wrong("E403", f"{what} came for round {about.name!r}, which the store does not have. {remedy}")
    _check_columns(sources, options)
    read, labeled = None, packing.no_rows()
    rest = replace(sources, gold=None) if apart else sources
    if sources.labels is not None:
        # A late part need not hold every answer; the whole round is held against the positive class.
        read = parse_round(rest, options if about.old is None else replace(options, positive=None))
        labeled = packing.rows_of_contents(read)
    aside = packing.rows_aside(rest, options, read)
    if apart:
        aside = replace(aside, gold=packing.rows_aside(replace(sources, items=None), options, None).gold)
    rows = packing.put_together([labeled, aside], f"round {about.name!r}")
    known = packing.gold_sources(sources, options, about.gold_source)
    return replace(rows, gold=packing.with_sources(rows.gold, known)), read


def _check_columns(sources: InputTables, options: ReadOptions) -> None:
    """E104 for what the tables lack."""
    problems = []
    for table, needed in NEEDED.items():
        source = getattr(sources, table)
        if source is not None:
            problems += missing_columns(rename(source, needed, options.columns), needed, ())
    if problems:
        raise InputError(problems)


def _renamed(rows: StoredRows, resolved: Resolved) -> StoredRows:
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
            f"{now.version}). Nothing of yours was added. If yours are late labels for it, run it again; else choose "
            "another name.",
        )
    if about.old is not None and (now is None or now.version != about.old.version):
        raise wrong(
            "E404",
            f"round {about.name!r} was changed by somebody else at the same moment. Nothing of yours was added; "
            "run it again.",
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


def _entry(plan: AddingPlan, about: About, question: str, log: Log) -> Entry:
    """The row of the log, without the batch."""
    old, read = about.old, plan.read
    before = log.last().get(about.name)
    return Entry(
        round=about.name,
        question=question,
        model=about.model or (old.model if old else None),
        date=date_of(about.name, about.date)[0] if old is None or about.date is not None else old.date,
        batches=(),
        items=plan.knows["votes"]["items"] if "votes" in plan.knows else len(read.item_ids),
        labels=len(read.label_item),
        gold=int((read.gold >= 0).sum()),
        labelers=len(read.labelers),
        classes=read.classes_given,
        positive=read.positive,
        source=about.origin or (old.source if old else None),
        action="merge" if old else "add",
        first_version=before.first_version if before else 0,
    )


def _with_batch(entry: Entry, plan: AddingPlan, about: About, written: Written) -> Entry:
    """The row of the log, bound to all its data."""
    old = about.old
    described = packing.columns_by_batch(old.columns, old.round) if old else {}
    batches, before = (old.batches, old.bound) if old else ((), Record())
    sums = dict(before.batches)
    if written.sums:
        described[written.batch], sums[written.batch] = written.columns, written.sums
        batches = (*batches, written.batch)
    dated = date_of(about.name, about.date)[1] if old is None or about.date is not None else before.dated
    today = datetime.datetime.now(datetime.UTC).date()
    added = today if old is None else before.added or (old.written.date() if old.written else today)
    record = Record(sums, {**before.tables, **written.tables}, plan.knows, dated, added)
    columns = json.dumps(described, ensure_ascii=False)
    return replace(entry, batches=batches, columns=columns, record=record.to_text())


def _nothing_new(plan: AddingPlan, about: About, exist_ok: bool) -> Added:
    """Everything that came is there already: E404, unless that is welcome."""
    assert about.old is not None
    if exist_ok:
        return Added(about.old, 0, 0, 0, True, plan.findings, written=False)
    raise wrong(
        "E404",
        f"round {about.name!r} is in the store already, with all of this ({count_of(about.old.labels, 'label')}, "
        f"{about.old.gold} gold). Nothing was added. If that is fine: --exist-ok",
    )
