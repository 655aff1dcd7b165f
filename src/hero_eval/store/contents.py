"""A round's tables on their way into the store and back.

What is stored is what reading found: labels and gold in canonical spelling, and every item that was listed, labeled or
not, so that late labels find its covariates. Item columns differ from round to round, so they lie in two maps, numbers
and texts, with their names and types in the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hero_eval.any_round import GOLD_PROBABILITY
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.io.arrays import encode_answers, encode_ids, encode_raw, plain, settle, show, take
from hero_eval.io.bridge import combined, empty_table, to_arrow, to_numpy
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import InputTable, InputTables, rename
from hero_eval.io.validate import NEEDED, Contents, parse_round
from hero_eval.io.values import canonical, count_of, number_text, plain_text
from hero_eval.store.schemas import schema

_EXACT = 2**53  # above this a float no longer names one integer


_OF_ANSWERS = "answers."
"""How the id of a batch starts that holds what experts answered on the page; others have no dot."""


def answers_batch(id: str) -> str:
    """The id of a batch of answers."""
    return f"{_OF_ANSWERS}{id}"


def is_of_answers(batch: str) -> bool:
    return batch.startswith(_OF_ANSWERS)


def without_probability(items: Any) -> Any:
    """Items without how probable gold was for each."""
    return items.drop_columns([GOLD_PROBABILITY]) if GOLD_PROBABILITY in items.column_names else items


@dataclass(frozen=True)
class StoredRows:
    """The tables of a round, or of a part of it, as pyarrow tables of text (items: as they are)."""

    labels: Any
    gold: Any
    items: Any

    @property
    def is_empty(self) -> bool:
        return not (self.labels.num_rows or self.gold.num_rows or self.items.num_rows)


def no_rows() -> StoredRows:
    import pyarrow as pa

    def empty(*names: str) -> Any:
        return empty_table(pa.schema([(name, pa.string()) for name in names]))

    return StoredRows(empty("item", "labeler", "label"), empty("item", "gold", "source"), empty("item"))


def rows_of_contents(contents: Contents) -> StoredRows:
    """The labeled items of a round that was read."""
    import pyarrow as pa

    if contents.gold_number is not None:
        message = (
            f"the gold of round {contents.name!r} was cut into classes for an estimate: add the round as it was read"
        )
        raise wrong("E129", message)
    ids = pa.array(contents.item_ids, pa.string())
    labels = {
        "item": _decode(contents.label_item, ids),
        "labeler": _decode(contents.label_labeler, pa.array(contents.labelers, pa.string())),
        "label": _said_labels(contents),
    }
    known = np.flatnonzero(contents.gold >= 0)
    gold = {
        "item": ids.take(pa.array(known)),
        "gold": _decode(contents.gold[known], pa.array(contents.values, pa.string())),
        "source": pa.nulls(len(known), pa.string()),
    }
    items = {"item": ids, **contents.columns}
    if contents.weight is not None:
        items["weight"] = pa.array(contents.weight)
    return StoredRows(pa.table(labels), pa.table(gold), pa.table(items if len(items) > 1 else {"item": ids[:0]}))


def _said_labels(contents: Contents) -> Any:
    """Labels as texts; scores as the numbers that they are, and not as the bins that they were cut into."""
    import pyarrow as pa

    if contents.label_score is None:
        return _decode(contents.label_answer, pa.array(contents.values, pa.string()))
    numbers, place = np.unique(contents.label_score, return_inverse=True)
    return _decode(place, pa.array([number_text(float(one)) for one in numbers], pa.string()))


def _decode(codes: Any, texts: Any) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), texts).dictionary_decode()


def rows_aside(sources: InputTables, options: ReadOptions, contents: Contents | None) -> StoredRows:
    """Gold and items of what has no labels here: late gold for a stored round, or items that wait for labels."""
    import pyarrow as pa

    none = no_rows()
    labeled = pa.array([] if contents is None else contents.item_ids, pa.large_string())
    parts: dict[str, Any] = {"gold": none.gold, "items": none.items}
    for name in ("gold", "items"):
        source = getattr(sources, name)
        if source is None:
            continue
        named = rename(source, NEEDED[name], options.columns)
        ids = _id_column(named.columns["item"])
        away = np.flatnonzero(ids.is_valid().to_numpy(zero_copy_only=False) & _absent(ids, labeled))
        columns = {"item": ids.take(pa.array(away)).cast(pa.string())}
        if name == "gold":
            values = encode_answers(named.columns["gold"], frozenset(options.class_texts), options.missing)
            columns["gold"] = values.texts.take(pa.array(values.codes[away], mask=values.codes[away] < 0))
            columns["gold"] = columns["gold"].cast(pa.string())
            columns["source"] = pa.nulls(len(away), pa.string())
            parts["gold"] = pa.table(columns).filter(columns["gold"].is_valid())
        else:
            others = {key: of for key, of in named.columns.items() if key not in ("item", "gold")}
            parts["items"] = pa.table({**columns, **{key: take(of, away) for key, of in others.items()}})
    return StoredRows(none.labels, parts["gold"], parts["items"])


def _id_column(column: Any) -> Any:
    coded = encode_ids(column)
    import pyarrow as pa

    return coded.texts.take(pa.array(np.maximum(coded.codes, 0), mask=coded.codes < 0))


def _absent(ids: Any, among: Any) -> Any:
    import pyarrow.compute as pc

    return pc.index_in(ids, value_set=among).is_null().to_numpy(zero_copy_only=False)


def gold_sources(sources: InputTables, options: ReadOptions, default: str | None) -> Any:
    """Who wrote the gold of each item: a `source` column beside the gold, else one name for all; else None."""
    import pyarrow as pa

    source = sources.gold
    if source is not None and "source" in source.table.column_names:
        named = rename(source, NEEDED["gold"], options.columns)
        table = pa.table({"item": _id_column(named.columns["item"]), "source": _id_column(named.columns["source"])})
        table = table.filter(table["source"].is_valid())
        return table.group_by("item").aggregate([("source", "min")]).rename_columns(["item", "source"])
    return default


def with_sources(gold: Any, known: Any) -> Any:
    """The gold rows with who wrote them, from `gold_sources`."""
    import pyarrow as pa

    if known is None:
        return gold
    if isinstance(known, str):
        return gold.set_column(2, "source", pa.repeat(known, gold.num_rows))
    position = _positions(gold["item"], known["item"])
    texts = take(known["source"], position).cast(pa.string())
    return gold.set_column(2, "source", texts)


def _positions(ids: Any, among: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = ids.cast(pa.large_string())
    found = pc.index_in(wanted, value_set=among.cast(pa.large_string()))
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def put_together(parts: Sequence[StoredRows], where: str) -> StoredRows:
    """Several parts of a round as one. Items described in several parts are one; E114 if they contradict each other.

    How probable gold was is said anew by each draw, which allows for those before it: there the last part speaks.
    """
    import pyarrow as pa

    return StoredRows(
        pa.concat_tables([part.labels for part in parts]),
        pa.concat_tables([part.gold for part in parts]),
        items_together([part.items for part in parts if part.items.num_rows], where),
    )


def items_together(tables: Sequence[Any], where: str) -> Any:
    import pyarrow as pa

    if not tables:
        return no_rows().items
    if len(tables) == 1:
        return tables[0]
    names = list(dict.fromkeys(name for table in tables for name in table.column_names))
    whole = {name: _stacked(tables, name) for name in names}
    ids = encode_ids(whole.pop("item"))
    columns: dict[str, Any] = {"item": ids.texts.cast(pa.string())}
    problems = []
    for name, column in whole.items():
        if name == GOLD_PROBABILITY:
            last = settle(ids.codes[::-1], len(ids.texts), encode_raw(column)[::-1]).rows
            columns[name] = take(column, np.where(last < 0, -1, len(ids.codes) - 1 - last))
            continue
        settled = settle(ids.codes, len(ids.texts), encode_raw(column))
        columns[name] = take(column, settled.rows)
        if len(settled.clashes):
            row = settled.clashes[0]
            code = ids.codes[row]
            values = f"{show(column, settled.rows[code])} and {show(column, row)}"
            message = (
                f"{where}, items column {name!r}, has different values for {count_of(len(settled.clashes), 'item')}, "
                f"for example item {ids.text(code)!r}: {values}. Keep the value that is stored, or remove the round."
            )
            problems.append(Problem("E114", message))
    if problems:
        raise InputError(problems)
    return pa.table(columns)


def _stacked(tables: Sequence[Any], name: str) -> Any:
    """One column of several tables, null where a table lacks it; of one type, or as text."""
    import pyarrow as pa

    kinds = {table[name].type for table in tables if name in table.column_names}
    kind = kinds.pop() if len(kinds) == 1 else pa.large_string()

    def part(table: Any) -> Any:
        if name not in table.column_names:
            return pa.chunked_array([pa.nulls(table.num_rows, kind)])
        column = table[name]
        return column if column.type == kind else plain(column).cast(kind)

    return pa.chunked_array([chunk for table in tables for chunk in part(table).chunks], kind)


def checked(rows: StoredRows, options: ReadOptions, where: str) -> Contents:
    """The round that these rows make; InputError with all that contradicts itself."""
    return parse_round(as_sources(rows, where), replace(options, spelling=False))


def as_sources(rows: StoredRows, where: str) -> InputTables:
    """Rows as the tables that a round is read from."""

    def source(name: str, table: Any) -> InputTable | None:
        return InputTable(f"{where}, {name},", table, "files") if table.num_rows else None

    labels = InputTable(f"{where}, labels,", rows.labels, "files")
    gold = rows.gold.select(["item", "gold"])
    return InputTables(labels, source("gold", gold), source("items", rows.items), frozenset(), ())


def new_rows(late: StoredRows, old: StoredRows, values: Sequence[str]) -> StoredRows:
    """What the late rows add, in the spelling of the whole round."""
    labels = _without(_spelled(late.labels, "label", values), old.labels, ["item", "labeler"])
    gold = _without(_spelled(late.gold, "gold", values), old.gold, ["item"])
    same = set(late.items.column_names) <= set(old.items.column_names) and not drawn_anew(late.items, old.items)
    items = _without(late.items, old.items, ["item"]) if same else late.items
    return StoredRows(labels, gold, items)


def drawn_anew(late: Any, old: Any) -> bool:
    """Whether these items had another probability of gold before."""
    if GOLD_PROBABILITY not in late.column_names or GOLD_PROBABILITY not in old.column_names:
        return False
    before = dict(zip(old["item"].to_pylist(), old[GOLD_PROBABILITY].to_pylist(), strict=True))
    said = zip(late["item"].to_pylist(), late[GOLD_PROBABILITY].to_pylist(), strict=True)
    return any(item in before and now is not None and now != before[item] for item, now in said)


def _spelled(table: Any, column: str, values: Sequence[str]) -> Any:
    """Yes is 1 in a round that has nothing but yes and no."""
    import pyarrow as pa

    binary = set(values) <= {"0", "1"}
    encoded = table[column].combine_chunks().dictionary_encode()
    spelled = pa.array([canonical(text, binary=binary) for text in encoded.dictionary.to_pylist()], pa.string())
    position = table.column_names.index(column)
    fixed = pa.DictionaryArray.from_arrays(encoded.indices, spelled).dictionary_decode()
    return table.set_column(position, column, fixed)


def _without(table: Any, old: Any, keys: list[str]) -> Any:
    """The rows whose key is not in the old table, each key once."""
    import pyarrow as pa

    if not table.num_rows:
        return table
    numbered = pa.table(
        {**{key: table[key].cast(pa.string()) for key in keys}, "row": np.arange(table.num_rows, dtype=np.int64)}
    )
    if old.num_rows:
        known = pa.table({key: old[key].cast(pa.string()) for key in keys})
        numbered = numbered.join(known, keys, join_type="left anti")
    if old.num_rows or keys == ["item"]:  # labels that were read are distinct
        first = numbered.group_by(keys).aggregate([("row", "min")])["row_min"]
        return table.take(pa.array(np.sort(first.to_numpy())))
    return table


# Into the store


def data_tables(rows: StoredRows, name: str, batch: str) -> tuple[dict[str, Any], list[list[str]]]:
    """The rows as the store's tables, and the item columns with their types."""
    import pyarrow as pa

    items, columns = pack_items(rows.items)
    made = {"labels": rows.labels, "gold": rows.gold, "items": items}
    stored = {}
    for kind, table in made.items():
        if not table.num_rows:
            continue
        kept = {one: table[one] for one in table.column_names}
        same = {"round": pa.repeat(name, table.num_rows), "batch": pa.repeat(batch, table.num_rows)}
        whole = same | kept
        fields = schema(kind)
        stored[kind] = pa.table([_cast(whole[field.name], field.type) for field in fields], schema=fields)
    return stored, columns if "items" in stored else []


def _cast(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)


def pack_items(items: Any) -> tuple[Any, list[list[str]]]:
    """Item columns as two maps, and [name, type] of each column in order."""
    import pyarrow as pa

    names = [name for name in items.column_names if name not in ("item", "weight")]
    numbers, texts, kinds = {}, {}, []
    for name in names:
        column = items[name].combine_chunks() if isinstance(items[name], pa.ChunkedArray) else items[name]
        if _is_number(column):
            numbers[name] = column.cast(pa.int8() if pa.types.is_boolean(column.type) else column.type)
            numbers[name] = numbers[name].cast(pa.float64())
        else:
            texts[name] = _as_texts(column)
        kinds.append([name, str(column.type)])
    weight = (
        items["weight"].cast(pa.float64()) if "weight" in items.column_names else pa.nulls(len(items), pa.float64())
    )
    packed = {
        "item": items["item"].cast(pa.string()),
        "weight": weight,
        "numbers": _as_map(numbers, items.num_rows, pa.float64()),
        "texts": _as_map(texts, items.num_rows, pa.string()),
    }
    return pa.table(packed), kinds


def _as_texts(column: Any) -> Any:
    """The column as text from which `_native` makes it again; what nothing is made of again, as rounds spell it."""
    import pyarrow as pa

    known = plain(column)
    kind = known.type
    is_exact = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    is_moment = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if pa.types.is_large_string(kind) or is_exact or is_moment:
        return known.cast(pa.string())
    return pa.array([plain_text(value) for value in known.to_pylist()], pa.string())


def _is_number(column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_floating(kind):
        return True
    if not pa.types.is_integer(kind):
        return False
    ends = pc.min_max(column).as_py()
    return all(end is None or abs(end) < _EXACT for end in ends.values())


def _as_map(columns: Mapping[str, Any], n_rows: int, kind: Any) -> Any:
    """One map a row, every row with the same keys in the same order, so that it can be taken apart by position."""
    import pyarrow as pa

    size = len(columns)
    offsets = pa.array(np.arange(n_rows + 1, dtype=np.int32) * size)
    keys = pa.DictionaryArray.from_arrays(
        pa.array(np.tile(np.arange(size, dtype=np.int32), n_rows)), pa.array(list(columns), pa.string())
    ).dictionary_decode()
    if not size:
        return pa.MapArray.from_arrays(offsets, keys, pa.array([], kind))
    stacked = pa.concat_arrays([_one_array(column) for column in columns.values()])
    order = np.arange(size * n_rows).reshape(size, n_rows).T.ravel()
    return pa.MapArray.from_arrays(offsets, keys, stacked.take(pa.array(order)))


def _one_array(column: Any) -> Any:
    import pyarrow as pa

    return combined(column) if isinstance(column, pa.ChunkedArray) else column


# Out of the store


def unpack_items(table: Any, columns: Sequence[Sequence[str]], where: str) -> Any:
    """The items of one batch as they were, from the maps and the [name, type] of each column; E406 if one is lost."""
    import pyarrow as pa

    made: dict[str, Any] = {"item": table["item"]}
    values = {**_from_map(table["numbers"]), **_from_map(table["texts"])}
    for name, kind in columns:
        if name not in values:
            raise wrong("E406", f"round {where!r} has lost its items column {name!r}: a file of the store is damaged.")
        column, native = values[name], _native(kind)
        if native is not None and pa.types.is_timestamp(native) and not pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", native.tz))  # in which every moment is written
        made[name] = column if native is None or column.type == native else column.cast(native)
    if table["weight"].null_count < table.num_rows:
        made["weight"] = table["weight"]
    return pa.table(made)


def _native(kind: str) -> Any:
    """The type that a stored column gets back; what is neither number nor moment stays text."""
    import pyarrow as pa

    if moment := _MOMENT.fullmatch(kind):
        return pa.timestamp(moment["unit"], moment["zone"])
    if kind in ("date32[day]", "bool", "float", "double", "halffloat") or kind.startswith(("int", "uint")):
        return pa.float32() if kind == "halffloat" else pa.type_for_alias(kind)
    return None


_MOMENT = re.compile(r"timestamp\[(?P<unit>s|ms|us|ns)(?:, tz=(?P<zone>.+))?\]")


def _from_map(column: Any) -> dict[str, Any]:
    """The columns in a column of maps, in which every row has the same keys in the same order."""

    array = _one_array(column)
    offsets = to_numpy(array.offsets)
    first, entries = int(offsets[0]), int(offsets[-1] - offsets[0])
    size = entries // len(array) if len(array) else 0
    keys, values = array.keys.slice(first, size).to_pylist(), array.items.slice(first, entries)
    if size == 1:
        return {keys[0]: values}
    return {key: values.take(to_arrow(np.arange(position, entries, size))) for position, key in enumerate(keys)}


def columns_by_batch(text: str, where: str) -> dict[str, list[list[str]]]:
    """The item columns of each batch; E406 if the row of the log is damaged."""
    try:
        found: dict[str, list[list[str]]] = json.loads(text)
        return {batch: [[str(name), str(kind)] for name, kind in columns] for batch, columns in found.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise wrong("E406", f"round {where!r}: its columns in the table rounds are damaged ({error}).") from error
