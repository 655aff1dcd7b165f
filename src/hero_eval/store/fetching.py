"""Rounds out of the store: the rows of many rounds at once, held against their records, and made rounds again.

Each file is read once for all rounds that have rows in it, and each distinct text is looked at once. Rows whose digest
is that of the record were checked when they were added, so they are not parsed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import wrong
from hero_eval.io.arrays import take
from hero_eval.io.bridge import combined, empty_table, to_numpy, to_objects
from hero_eval.io.validate import Contents
from hero_eval.store import contents as packing
from hero_eval.store import delta
from hero_eval.store.contents import StoredRows
from hero_eval.store.digests import COLUMNS, digest, row_digests
from hero_eval.store.log import Entry
from hero_eval.store.records import Sum, TableVersion, from_json, recalled
from hero_eval.store.schemas import schema

ROWS_AT_ONCE = 2_000_000
"""So many labels are held as text at the same time."""

_CODED = {"labels": ("item", "labeler", "label"), "gold": ("item", "gold", "source")}
_TABLES = ("labels", "gold", "items")

Ints = NDArray[np.int64]


@dataclass
class Loaded:
    """The rows of several batches in one table of the store."""

    table: Any
    rows: Mapping[str, slice | Ints]
    """Where the rows of each batch are."""

    def of(self, batches: Sequence[str]) -> slice | Ints:
        """Where the rows of a round are."""
        found = [self.rows[batch] for batch in batches if batch in self.rows]
        if len(found) == 1:
            return found[0]
        every = np.arange(self.table.num_rows)
        return np.concatenate([every[part] for part in found]) if found else slice(0, 0)

    def part(self, batches: Sequence[str]) -> Any:
        """The rows of a round, as a table."""
        where = self.of(batches)
        if isinstance(where, slice):
            return self.table.slice(where.start, where.stop - where.start)
        import pyarrow as pa

        return self.table.take(pa.array(where))


def load(place: delta.Place, name: str, batches: Sequence[str]) -> Loaded:
    """The rows of these batches; a file that was replaced by another meanwhile is looked for again."""
    return delta.again_if_replaced(place, name, lambda: _load(place, name, batches))


def _load(place: delta.Place, name: str, batches: Sequence[str]) -> Loaded:
    import pyarrow as pa

    wanted, coded = set(batches), _CODED.get(name, ())
    parts: list[Any] = []
    spans: dict[str, list[slice]] = {}
    at = 0
    for file in _files_with(place, name, sorted(wanted)):
        own = file.first_batch == file.last_batch
        columns = [*COLUMNS[name], *(() if own else ("batch",))]
        part = delta.read_file(place, name, file, columns, batches, (*coded, *(() if own else ("batch",))))
        found = [(file.first_batch, 0)] if own else delta.runs(part["batch"])
        parts.append(part if own else part.drop_columns(["batch"]))
        for (batch, start), end in zip(found, [*(start for _, start in found[1:]), part.num_rows], strict=True):
            if batch in wanted:
                spans.setdefault(batch, []).append(slice(at + start, at + end))
        at += part.num_rows
    empty = empty_table(pa.schema([schema(name).field(one) for one in COLUMNS[name]]))
    whole = pa.concat_tables([_like(empty, part, coded) for part in parts]) if parts else empty
    whole = whole.unify_dictionaries().combine_chunks() if parts else whole
    return Loaded(whole, {batch: _joined(of) for batch, of in spans.items()})


def _like(empty: Any, part: Any, coded: Sequence[str]) -> Any:
    """A part whose texts are coded, also if its file is of no row and has no codes."""
    import pyarrow as pa

    for column in coded:
        if column in part.column_names and not pa.types.is_dictionary(part[column].type):
            position = part.column_names.index(column)
            part = part.set_column(position, column, part[column].dictionary_encode())
    return part.select(empty.column_names)


def _joined(spans: Sequence[slice]) -> slice | Ints:
    if len(spans) == 1:
        return spans[0]
    return np.concatenate([np.arange(span.start, span.stop) for span in spans])


def _files_with(place: delta.Place, name: str, wanted: Sequence[str]) -> list[delta.File]:
    """The files that may hold one of these batches (sorted)."""
    from bisect import bisect_left

    chosen = []
    for file in delta.list_files(place, name):
        at = bisect_left(wanted, file.first_batch)
        if at < len(wanted) and wanted[at] <= file.last_batch:
            chosen.append(file)
    return chosen


# Held against the records


def check_tables(place: delta.Place, entries: Sequence[Entry]) -> None:
    """E406 unless the tables are those that held the rounds, and hold what they held then."""
    said: dict[str, list[tuple[TableVersion, Entry]]] = {}
    for entry in entries:
        for name, source in entry.bound.tables.items():
            said.setdefault(name, []).append((source, entry))
    for name, sources in said.items():
        opened = delta.open_once(place, name)
        identity = str(opened.table.metadata().id)
        stranger = next((entry for source, entry in sources if source.id != identity), None)
        if stranger is not None:
            raise wrong(
                "E406",
                f"{place.uri}: the table {name} is not the one that round {stranger.round!r} was added to: it is of "
                f"another store, or was made anew. {delta.BRING_BACK}",
            )
        source, entry = max(sources, key=lambda one: one[0].version)
        if opened.version < source.version:
            raise wrong(
                "E406",
                f"{place.uri}: the table {name} is at version {opened.version}, but had version {source.version} when "
                f"round {entry.round!r} was added: its last commits are lost. {delta.BRING_BACK}",
            )


def check_rows(place: delta.Place, name: str, loaded: Loaded, entries: Sequence[Entry]) -> None:
    """E406 for the first batch that does not hold what its record says."""
    sums = row_digests(name, loaded.table)
    nothing = slice(0, 0)
    for entry in entries:
        for batch, said in entry.bound.batches.items():
            found = sums[loaded.rows.get(batch, nothing)]
            wanted = said.get(name, Sum(0, digest(found[:0])))
            if len(found) != wanted.rows:
                problem = f"{len(found):,} of its {wanted.rows:,} rows"
            elif digest(found) != wanted.digest:
                problem = "other rows than were added"
            else:
                continue
            raise wrong(
                "E406",
                f"{place.uri}: round {entry.round!r} has {problem} in {name} (batch {batch}): files of the store are "
                f"missing or damaged. {delta.BRING_BACK}",
            )


# Rounds


@dataclass(frozen=True)
class Stock:
    """The rows of several rounds, whole as their records say."""

    place: delta.Place
    loaded: Mapping[str, Loaded]

    def rows(self, entry: Entry) -> StoredRows:
        """All that is stored of a round; E406 if it is less than the log says."""
        labels, gold = (_as_text(self.loaded[name].part(entry.batches)) for name in ("labels", "gold"))
        whole = StoredRows(labels, gold, self._items(entry))
        for name, count in (("labels", entry.labels), ("gold", entry.gold)):
            found = getattr(whole, name).num_rows
            if found < count:
                message = f"{self.place.uri}: round {entry.round!r} has {found} of its {count} {name}; "
                raise wrong("E406", f"{message}files of the store are missing. {delta.BRING_BACK}")
        return whole

    def _items(self, entry: Entry) -> Any:
        columns, loaded = packing.columns_by_batch(entry.columns, entry.round), self.loaded["items"]
        parts: list[Any] = []
        for batch in entry.batches:
            table = loaded.part([batch])
            # columns of a batch that by its own record has no items were written once, and promise nothing
            promised = columns.get(batch) and "items" in entry.bound.batches.get(batch, {"items": None})
            if promised and not table.num_rows:
                raise wrong(
                    "E406",
                    f"{self.place.uri}: round {entry.round!r} has no items in batch {batch}; files of the store are "
                    f"missing. {delta.BRING_BACK}",
                )
            if table.num_rows:
                if packing.is_of_answers(batch):  # it allows for what was known before
                    parts = [packing.without_probability(part) for part in parts]
                parts.append(packing.unpack_items(table, columns.get(batch, []), entry.round))
        return packing.items_together(parts, f"round {entry.round!r}")

    def contents(self, entry: Entry, codes: Codes) -> Contents | None:
        """The round as it was when it was added; None if its rows must be parsed for that."""
        knows = entry.bound.knows
        if not knows or set(entry.batches) - set(entry.bound.batches) or knows.get("label_kind") == "score":
            return None
        values = from_json(knows["values"])
        where = self.loaded["labels"].of(entry.batches)
        item, labeler = codes.label_item[where], codes.label_labeler[where]
        answer = codes.answers("labels", values)[codes.label_answer[where]]
        items, own_item = np.unique(item, return_inverse=True)
        labelers, own_labeler = np.unique(labeler, return_inverse=True)
        names = tuple(codes.labelers[labelers])
        everybody = tuple(sorted({*names, *knows.get("labelers", ())}))
        if len(everybody) > len(names):
            own_labeler = np.searchsorted(np.array(everybody, object), np.array(names, object))[own_labeler]
        gold = self._gold(entry, codes, items, values)
        if (answer < 0).any() or gold is None:
            return None  # a later delivery changed how answers are spelled
        order = np.lexsort((own_labeler, own_item))
        weight, columns = self._described(entry, codes, items)
        found = Contents(
            name=entry.round,
            ids=codes.items[items],
            labelers=everybody,
            values=values,
            label_item=np.asarray(own_item, np.int64)[order],
            label_labeler=np.asarray(own_labeler, np.int64)[order],
            label_answer=np.asarray(answer, np.int64)[order],
            gold=gold,
            weight=weight,
            columns=columns,
            items_name="items",
            classes_given=entry.classes,
            positive=entry.positive,
            notes=(),
            frame_kind="files",
        )
        return recalled(found, knows)

    def _gold(self, entry: Entry, codes: Codes, items: Ints, values: Sequence[str]) -> Ints | None:
        where = self.loaded["gold"].of(entry.batches)
        item, answer = codes.gold_item[where], codes.answers("gold", values)[codes.gold_answer[where]]
        position = _position(items, item)
        if (answer[position >= 0] < 0).any():
            return None
        gold = np.full(len(items), -1, np.int64)
        gold[position[position >= 0]] = answer[position >= 0]
        return gold

    def _described(self, entry: Entry, codes: Codes, items: Ints) -> tuple[Any, dict[str, Any]]:
        """Weight and columns of the labeled items."""
        table = self._items(entry)
        if not table.num_rows:
            return None, {}
        with_items = [batch for batch in entry.batches if batch in self.loaded["items"].rows]
        if len(with_items) == 1:
            own = codes.items_item[self.loaded["items"].of(with_items)]
        else:
            own = codes.ranks(table["item"])
        rows = np.full(len(items), -1, np.int64)
        position = _position(items, own)
        rows[position[position >= 0]] = np.flatnonzero(position >= 0)
        as_is = len(rows) == len(own) and np.array_equal(rows, np.arange(len(own)))
        columns = {
            name: _one_array(table[name]) if as_is else _one_array(take(table[name], rows))
            for name in table.column_names
            if name != "item"
        }
        weight = columns.pop("weight", None)
        if weight is not None:
            weight = np.array(to_numpy(weight, np.nan), np.float64)
        return weight, columns


def _position(items: Ints, of: Ints) -> Ints:
    """Where each of these is among the items of a round (sorted); -1 if it is not."""
    at = np.searchsorted(items, of)
    inside = at < len(items)
    found = np.full(len(of), -1, np.int64)
    found[inside] = np.where(items[at[inside]] == of[inside], at[inside], -1)
    return found


def _one_array(column: Any) -> Any:
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else combined(column)


def _as_text(table: Any) -> Any:
    import pyarrow as pa

    return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))


class Codes:
    """The texts of many rounds as numbers in the order of the texts, found once for all of them."""

    def __init__(self, loaded: Mapping[str, Loaded]) -> None:
        import pyarrow.compute as pc

        labels, gold, items = (loaded[name].table for name in _TABLES)
        self._sorted, self.label_item = _ranked(labels["item"])
        who, self.label_labeler = _ranked(labels["labeler"])
        self.items = to_objects(self._sorted)
        self.labelers = to_objects(who)
        self._texts = {}
        self._texts["labels"], self.label_answer = _ranked(labels["label"])
        self._texts["gold"], self.gold_answer = _ranked(gold["gold"])
        names, own = _ranked(gold["item"])
        self.gold_item = _through(pc.index_in(names, value_set=self._sorted), own)
        self.items_item = self.ranks(items["item"])
        self._maps: dict[tuple[str, tuple[str, ...]], Ints] = {}

    def ranks(self, column: Any) -> Ints:
        """Places among all labeled items; -1 for an item without labels."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.index_in(column.cast(pa.string()), value_set=self._sorted)
        return _filled(_one_array(found))

    def answers(self, name: str, values: Sequence[str]) -> Ints:
        """For each text of the column its place among these values; -1 if it has none."""
        key = (name, tuple(values))
        if key not in self._maps:
            place = {value: position for position, value in enumerate(values)}
            texts = self._texts[name].to_pylist()
            self._maps[key] = np.array([place.get(text, -1) for text in texts], np.int64)
        return self._maps[key]


def _ranked(column: Any) -> tuple[Any, Ints]:
    """The distinct texts, sorted, and each row's place among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _one_array(column)
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    texts = coded.dictionary
    places = pc.sort_indices(texts)
    order = to_numpy(places)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    codes = to_numpy(coded.indices, len(order))  # no row is null, or there is no such place
    return texts.take(places), rank[codes] if len(order) else np.zeros(0, np.int64)


def _filled(found: Any) -> Ints:
    return to_numpy(found, -1).astype(np.int64)


def _through(places: Any, codes: Ints) -> Ints:
    known = _filled(places)
    return known[codes] if len(known) else np.zeros(0, np.int64)


def stock(place: delta.Place, entries: Sequence[Entry]) -> Stock:
    """The rows of these rounds, each held against its record."""
    check_tables(place, entries)
    batches = [batch for entry in entries for batch in entry.batches]
    loaded = {name: load(place, name, batches) for name in _TABLES}
    for name, found in loaded.items():
        check_rows(place, name, found, entries)
    return Stock(place, loaded)


def in_parts(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Rounds that are read together."""
    part: list[Entry] = []
    rows = 0
    for entry in entries:
        if part and rows + entry.labels > ROWS_AT_ONCE:
            yield part
            part, rows = [], 0
        part.append(entry)
        rows += entry.labels
    if part:
        yield part
