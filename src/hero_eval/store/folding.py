"""Answers that experts gave on the page become gold of their round.

All of them lie in one batch of the round, which the next fold replaces: so an answer that was taken back is no longer
gold, and yet nothing is erased, since earlier versions of the store still name the earlier batch. With the gold comes,
for every labeled item, how probable it was to be given some.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.any_round import GOLD_PROBABILITY
from hero_eval.findings import Finding
from hero_eval.io.values import count_of
from hero_eval.store import commits, delta
from hero_eval.store import contents as packing
from hero_eval.store.adding import options_for
from hero_eval.store.battle_gold import gold_of_votes
from hero_eval.store.contents import StoredRows
from hero_eval.store.digests import digest, row_digests
from hero_eval.store.fetching import stock
from hero_eval.store.gold_records import ExpertQueue, StandingAnswers, agreement, read_queues, read_records, standing
from hero_eval.store.log import Entry, Log, commit
from hero_eval.store.reading import ReadableStore, refuse_old_version
from hero_eval.store.records import Record, Sum, TableVersion, knowledge

MOST_SKIPPED = 0.1
"""Of a queue's items that were seen; more of them skipped, and what is left is hardly drawn at random."""

LEAST_AGREEMENT = 0.8
"""Below this share of equal second answers the experts' own word is in doubt."""

ENOUGH_TWICE = 5
"""Items answered twice from which a share of agreement says something."""


@dataclass(frozen=True)
class Folded:
    """A round whose gold holds all that experts answered."""

    entry: Entry
    gold: int
    """Items whose gold is an expert's answer on the page."""
    changed: bool
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class _Fold:
    """A change that was checked against one state of the round."""

    entry: Entry
    without: Entry
    """The round without what earlier folds brought."""
    fresh: StoredRows
    read: Any
    findings: tuple[Finding, ...]


def fold_answers(store: ReadableStore, name: str) -> Folded:
    """Make the answers to a round its gold, by one commit; nothing is written if they are that already."""
    refuse_old_version(store)
    plan = _plan(store, store.log().find(name))
    written: tuple[str, dict[str, Sum], dict[str, TableVersion], list[list[str]]] | None = None
    if not _is_news(plan):
        return Folded(plan.entry, plan.fresh.gold.num_rows, False, plan.findings)

    def make(log: Log) -> Entry:
        nonlocal plan, written
        now = log.find(name)
        if now.version != plan.entry.version:  # somebody added to the round meanwhile
            plan, written = _plan(store, now), None
        if written is None:
            written = _write(store, plan)
        return _entry(plan, *written)

    entry = commit(store.place, make)
    commits.tidy(store.place, "answers")
    return Folded(entry, plan.fresh.gold.num_rows, True, plan.findings)


def fold_all(store: ReadableStore) -> list[Folded]:
    """Every round whose answers are not all gold yet; a round that is gone keeps its answers for when it comes back."""
    live = store.log().live()
    names = dict.fromkeys(one.round for one in read_records(store.place) if one.round in live)
    return [found for name in names if (found := fold_answers(store, name)).changed]


def _plan(store: ReadableStore, entry: Entry) -> _Fold:
    """The round as it would be with all answers that hold; E109 and the like if it would contradict itself."""
    import pyarrow as pa

    place, name = store.place, entry.round
    queues, held = read_queues(place, name), standing(read_records(place, name))
    without = _without_answers(entry)
    stored = stock(place, [without]).rows(without)
    known = set(stored.gold["item"].to_pylist())
    labeled = stored.labels["item"].unique().to_pylist()
    given = gold_of_votes(stored, held.gold) if entry.is_votes else _given(held, known, set(labeled))
    text = pa.string()
    gold = pa.table(
        {name: pa.array([one[at] for one in given], text) for at, name in enumerate(("item", "gold", "source"))}
    )
    items = packing.no_rows().items
    findings = gold_findings(queues, held)
    weighs = bool(given) and not entry.is_votes  # battles are drawn by their models alone, which needs no weights
    if weighs:
        before = _before(stored, labeled, len(known & set(labeled)))
        chance, n_late = gold_probabilities(labeled, before, queues, held)
        items = pa.table({"item": pa.array(labeled, text), GOLD_PROBABILITY: pa.array(chance, pa.float64())})
        findings += _late_findings(name, n_late)
    came = StoredRows(packing.no_rows().labels, gold, items)
    bare = replace(stored, items=packing.without_probability(stored.items)) if weighs else stored
    where = f"round {name!r} with the answers of experts"
    options = options_for(name, entry, None, None, None, None)
    read = packing.checked(packing.put_together([bare, came], where), options, where)
    fresh = replace(packing.new_rows(replace(came, items=packing.no_rows().items), stored, read.values), items=items)
    return _Fold(entry, without, fresh, read, tuple(findings))


def _given(held: StandingAnswers, known: set[str], labeled: set[str]) -> list[tuple[str, str, str]]:
    """Item, gold and expert of each answer to a labeled item that has no gold from elsewhere."""
    found = [one for item, one in held.gold.items() if item not in known and item in labeled]
    return [(one.item, str(one.gold), one.expert) for one in found]


def _without_answers(entry: Entry) -> Entry:
    """The round without the batch of an earlier fold."""
    kept = tuple(batch for batch in entry.batches if not packing.is_of_answers(batch))
    bound = entry.bound
    record = replace(bound, batches={batch: of for batch, of in bound.batches.items() if batch in kept})
    described = packing.columns_by_batch(entry.columns, entry.round)
    columns = json.dumps({batch: of for batch, of in described.items() if batch in kept}, ensure_ascii=False)
    # how much gold is left is not known before it is read
    return replace(entry, batches=kept, gold=0, columns=columns, record=record.to_text())


def _is_news(plan: _Fold) -> bool:
    """Whether the round does not hold these answers yet, or has items now that the last fold did not know."""
    batches = [batch for batch in plan.entry.batches if packing.is_of_answers(batch)]
    fresh, _ = packing.data_tables(plan.fresh, plan.entry.round, "")
    wanted = {name: Sum(rows.num_rows, digest(row_digests(name, rows))) for name, rows in fresh.items()}
    there = [dict(plan.entry.bound.batches.get(batch, {})) for batch in batches]
    return there != ([wanted] if wanted else [])


def _write(store: ReadableStore, plan: _Fold) -> tuple[str, dict[str, Sum], dict[str, TableVersion], list[list[str]]]:
    batch = packing.answers_batch(uuid.uuid4().hex[:16])
    tables, columns = packing.data_tables(plan.fresh, plan.entry.round, batch)
    sums, versions = {}, {}
    for table, rows in tables.items():
        identity = str(delta.open_table(store.place, table).metadata().id)
        versions[table] = TableVersion(identity, commits.append(store.place, table, rows))
        sums[table] = Sum(rows.num_rows, digest(row_digests(table, rows)))
    for table in ("queues", "answers"):  # so that their loss is noticed
        opened = delta.open_once(store.place, table)
        versions[table] = TableVersion(str(opened.table.metadata().id), opened.version)
    return batch, sums, versions, columns


def _entry(
    plan: _Fold, batch: str, sums: Mapping[str, Sum], versions: Mapping[str, TableVersion], columns: list[list[str]]
) -> Entry:
    """The row of the log, bound to the batch of this fold in place of the last one's."""
    base, read, bound = plan.without, plan.read, plan.without.bound
    described = packing.columns_by_batch(base.columns, base.round)
    heard = set(read.labelers)
    silent = sorted(set(bound.knows.get("labelers", ())) - heard)
    batches, of = base.batches, dict(bound.batches)
    if sums:
        described[batch], of[batch] = columns, dict(sums)
        batches = (*batches, batch)
    votes = {"votes": bound.knows["votes"]} if "votes" in bound.knows else {}
    knows = {**knowledge(read), "labelers": silent, **votes}
    record = Record(of, {**bound.tables, **versions}, knows, bound.dated, bound.added)
    return replace(
        base,
        batches=batches,
        gold=int((read.gold >= 0).sum()),
        columns=json.dumps(described, ensure_ascii=False),
        record=record.to_text(),
        action="merge",
    )


# How probable gold was


def _before(stored: StoredRows, labeled: Sequence[str], n_gold: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n,) how probable gold was for each labeled item before anybody answered on the page."""
    if GOLD_PROBABILITY in stored.items.column_names:
        said = dict(zip(stored.items["item"].to_pylist(), stored.items[GOLD_PROBABILITY].to_pylist(), strict=True))
        known = [said.get(item) for item in labeled]
        return np.array([np.nan if one is None else float(one) for one in known], np.float64)
    return np.full(len(labeled), n_gold / max(len(labeled), 1))


def gold_probabilities(
    labeled: Sequence[str],
    before: np.ndarray[Any, np.dtype[np.float64]],
    queues: Sequence[ExpertQueue],
    held: StandingAnswers,
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int]:
    """(n,) how probable it was that each labeled item would have gold by now, and how many came after the draws.

    Items are shown in a random order, so of a queue in which k of n were answered each of the drawn had k / n. Draws
    are independent of each other given what was known, so an item is without gold if every draw passed it by. Items
    that came after the draws had no chance: they get the mean of the others, as if they had been there.
    """
    missed = 1.0 - np.nan_to_num(before, nan=0.0)
    known = np.zeros(len(labeled), bool)
    for queue in queues:
        answered = sum(held.gold[item].queue == queue.queue for item in queue.drawn if item in held.gold)
        share = answered / max(len(queue.drawn), 1)
        chance = dict(zip(queue.items, queue.probability, strict=True))
        drawn = np.array([chance.get(item, np.nan) for item in labeled])
        missed = missed * (1.0 - share * np.nan_to_num(drawn, nan=0.0))
        known |= ~np.isnan(drawn)
    probability = 1.0 - missed
    usual = float(probability[known].mean()) if known.any() else 1.0
    return np.where(known, np.clip(probability, 1e-12, 1.0), usual), int((~known).sum())


# What must be known of it


def gold_findings(queues: Sequence[ExpertQueue], held: StandingAnswers) -> list[Finding]:
    """Skipped items, and experts who disagree."""
    drawn = {item for queue in queues for item in queue.drawn}
    skipped = [item for item in held.skipped() if item in drawn]
    seen = len(skipped) + len(held.gold)
    found = []
    if seen and len(skipped) > MOST_SKIPPED * seen:
        message = (
            f"experts skipped {len(skipped)} of the {seen} items that they saw: if those differ from the others, gold "
            "is no longer a draw of known probability"
        )
        found.append(Finding("F805", message, {"skipped": len(skipped), "seen": seen}, doubts=True))
    both = agreement(held)
    n_twice, n_same = both.items + both.own_items, both.same + both.own_same
    if n_twice >= ENOUGH_TWICE and n_same < LEAST_AGREEMENT * n_twice:
        message = (
            f"experts gave the same answer to only {n_same} of {n_twice} items that were answered twice: gold itself "
            "errs, which no interval allows for"
        )
        found.append(Finding("F806", message, {"same": n_same, "twice": n_twice}, doubts=True))
    return found


def _late_findings(name: str, n_late: int) -> list[Finding]:
    if not n_late:
        return []
    message = (
        f"{count_of(n_late, 'item')} of round {name!r} came after the queue was drawn and could not be in it; they "
        "count as if they had been there"
    )
    return [Finding("F807", message, {"items": n_late})]
