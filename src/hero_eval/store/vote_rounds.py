"""Votes on their way into the store and back: a vote is an item of its own round, with one label.

The id of a vote names its item, its models, its labeler and which of their votes it is, so that the same vote comes in
once however often it is added. What else the table says of a vote lies among the columns of the items, so that votes
have the digests, the seals and the one commit that all rounds have.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hero_eval.any_round import GOLD_PROBABILITY
from hero_eval.errors import wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.arrays import encode_ids, take
from hero_eval.io.bridge import to_text_array
from hero_eval.io.exports.vote_exports import first_record, is_json_lines, is_vote, votes_of_json
from hero_eval.io.files import beside, read_table
from hero_eval.io.frames import to_input_table
from hero_eval.io.tables import InputTable, InputTables, rename
from hero_eval.io.validate import Contents
from hero_eval.io.vote_table import OURS, PAIR, VoteArrays, guessed_columns, outcome_of, parse_votes
from hero_eval.store.contents import StoredRows, columns_by_batch
from hero_eval.store.log import Entry

ITEM = "hero_item"
"""The column that says which item a vote is on; null where nobody said."""
NOBODY = "everybody"
"""Who voted where no column says so."""
_WORDS = ("A", "B", "tie")
_BAD = "both bad"
_RESERVED = ("weight", GOLD_PROBABILITY, ITEM)


@dataclass(frozen=True)
class VotesToAdd:
    """Votes, or late gold of votes, as the tables of a round; whether each vote names its item and its labeler."""

    tables: InputTables | None
    findings: tuple[Finding, ...] = ()
    is_named: bool = True


def votes_to_add(
    data: Any,
    gold: Any,
    columns: Mapping[str, str] | None,
    mapped: Mapping[Any, Any] | None,
    old: Entry | None,
    stored: Callable[[], StoredRows],
) -> VotesToAdd | None:
    """What comes, if it is of votes; None for labels. E528 if it does not fit the round that is there."""
    source = table_of_votes(data, columns)
    is_late = old is not None and old.is_votes
    if source is None and not is_late:
        return None
    if old is not None and not is_late:
        raise wrong("E528", f"round {old.round!r} holds labels, and these are votes. Choose another --round.")
    late_gold = gold if gold is not None else None
    if source is not None and "label" not in _columns(source, columns):
        source, late_gold = None, source
    if source is not None and late_gold is not None:
        raise wrong("E204", "votes and their gold come apart here. Give gold as a column of the votes, or add it after")
    if source is not None:
        found = incoming_votes(source, columns, mapped)
        if old is not None and not found.is_named:
            message = f"round {old.round!r} has votes already, and these name no item or no labeler: nothing tells"
            raise wrong("E528", f"{message} which of them are there. Choose another --round for them.")
        return found
    if late_gold is not None:
        if old is None:
            raise wrong("E403", "gold came for votes that the store does not have. Add the votes first.")
        return gold_of_battles(_gold_table(late_gold), columns, stored())
    if data is not None:
        assert old is not None
        raise wrong("E528", f"round {old.round!r} holds votes, and {data} has no columns model_a and model_b.")
    return VotesToAdd(None)


def _gold_table(given: Any) -> InputTable:
    if isinstance(given, InputTable):
        return given
    if isinstance(given, str | os.PathLike):
        path = Path(given).expanduser()
        if not path.exists():
            raise wrong("E101", f"{path} does not exist.")
        return InputTable(str(path), read_table(path), "files")
    return to_input_table("gold", given)


def refuse_of_labels(**said: Any) -> None:
    """E204 for what is said of a round of labels, and means nothing of votes."""
    for name, value in said.items():
        if value is not None and value != ():
            raise wrong("E204", f"--{name.replace('_', '-')} is for rounds of labels, and these are votes")


def table_of_votes(data: Any, columns: Mapping[str, str] | None) -> InputTable | None:
    """The table that is given, if it is one of votes: it has two models in a row. None for anything else."""
    if data is None or isinstance(data, InputTables):
        return None
    if not isinstance(data, str | os.PathLike):
        if not hasattr(data, "columns") or hasattr(data, "label_item"):
            return None
        source = to_input_table("votes", data)
        return source if _is_of_pairs(source, columns) else None
    place = Path(data).expanduser()
    if is_json_lines(place):
        return votes_of_json(place, texts=True) if is_vote(first_record(place)) else None
    file = beside(place, "votes") or place
    if not file.is_file():
        return None
    source = InputTable(str(file), read_table(file), "files")
    return source if _is_of_pairs(source, columns) else None


def _is_of_pairs(source: InputTable, columns: Mapping[str, str] | None) -> bool:
    return set(PAIR) <= _columns(source, columns)


def _columns(source: InputTable, columns: Mapping[str, str] | None) -> set[str]:
    said = dict(columns or {})
    return set(rename(source, OURS, {**guessed_columns(source.table.column_names, said), **said}).columns)


def incoming_votes(
    source: InputTable, columns: Mapping[str, str] | None, mapped: Mapping[Any, Any] | None
) -> VotesToAdd:
    """Votes as the tables of a round."""
    said = dict(columns or {})
    said = {**guessed_columns(source.table.column_names, said), **said}
    rows = parse_votes(source, said, {str(old): str(new) for old, new in (mapped or {}).items()})
    named = rename(source, OURS, said).columns
    ids = _item_texts(named, rows)
    people = list(rows.labelers) if "labeler" in named else [NOBODY]
    keys = to_text_array(_keys(rows, ids, people, named))
    tables = _as_round(source, rows, keys, ids, people, named)
    return VotesToAdd(tables, tuple(_notes(source, named, rows)), {"item", "labeler"} <= set(named))


def _item_texts(named: Mapping[str, Any], rows: VoteArrays) -> list[str | None]:
    if "item" not in named:
        return [None] * len(rows.row)
    coded = encode_ids(named["item"])
    texts = [*coded.list_texts(), None]
    return [texts[code] for code in coded.codes[rows.row]]


def _keys(rows: VoteArrays, ids: Sequence[str | None], people: Sequence[str], named: Mapping[str, Any]) -> list[str]:
    """The id of each vote; equal ones are numbered by what else they say, so that the table's order changes nothing."""
    parts = [
        [ids[at], rows.models[rows.first[at]], rows.models[rows.second[at]], people[rows.labeler[at]]]
        for at in range(len(rows.row))
    ]
    out = [json.dumps(one, ensure_ascii=False) for one in parts]
    alike: dict[str, list[int]] = {}
    for at, key in enumerate(out):
        alike.setdefault(key, []).append(at)
    several = [group for group in alike.values() if len(group) > 1]
    chosen = [at for group in several for at in group]
    told = {name: take(of, rows.row[chosen]).to_pylist() for name, of in sorted(named.items())} if chosen else {}
    says = dict(zip(chosen, map(repr, zip(*told.values(), strict=True)), strict=True))
    for group in several:
        for number, at in enumerate(sorted(group, key=says.__getitem__)[1:], start=2):
            out[at] = json.dumps([*parts[at], number], ensure_ascii=False)
    return out


def _as_round(
    source: InputTable, rows: VoteArrays, keys: Any, ids: Sequence[str | None], people: Sequence[str], named: Any
) -> InputTables:
    import pyarrow as pa

    voted, known = np.flatnonzero(rows.label >= 0), np.flatnonzero(rows.gold >= 0)
    words = np.array([*_WORDS, _BAD], dtype=object)
    labels = {
        "item": keys.take(pa.array(voted)),
        "labeler": to_text_array([people[who] for who in rows.labeler[voted]]),
        "label": to_text_array(list(words[np.where(rows.bad, 3, rows.label)[voted]])),
    }
    gold = {"item": keys.take(pa.array(known)), "gold": to_text_array(list(words[rows.gold[known]]))}
    items = {
        "item": keys,
        "model_a": to_text_array([rows.models[at] for at in rows.first]),
        "model_b": to_text_array([rows.models[at] for at in rows.second]),
        ITEM: to_text_array(list(ids)),
        **{name: take(of, rows.row) for name, of in named.items() if name not in (*OURS, *_RESERVED)},
    }
    return InputTables(
        InputTable(source.name, pa.table(labels), source.kind) if len(voted) else None,
        InputTable(f"{source.name}, gold,", pa.table(gold), source.kind) if len(known) else None,
        InputTable(f"{source.name}, votes,", pa.table(items), source.kind),
        frozenset(),
        (),
        shaped=True,
    )


def _notes(source: InputTable, named: Mapping[str, Any], rows: VoteArrays) -> list[Finding]:
    found = []
    lost = [name for name in _RESERVED if name in named]
    if lost:
        message = f"{source.name}: the store keeps no column {name_some(lost)} of votes"
        found.append(Finding("F808", message, {"columns": lost}))
    if rows.n_ignored:
        message = f"{rows.n_ignored:,} rows have neither a label nor gold, and were not added"
        found.append(Finding("F525", message, {"ignored": rows.n_ignored}))
    return found


# Gold that comes apart from the votes


def gold_of_battles(source: InputTable, columns: Mapping[str, str] | None, stored: StoredRows) -> VotesToAdd:
    """Late gold, of an item and two models in either order, as the gold of every vote on them that is stored."""
    import pyarrow as pa

    said = dict(columns or {})
    said = {**guessed_columns(source.table.column_names, said), **said}
    named = rename(source, OURS, said).columns
    lacking = [name for name in ("item", *PAIR, "gold") if name not in named]
    if lacking:
        has = ", ".join(source.table.column_names)
        raise wrong("E104", f"{source.name} has no column {name_some(lacking)}. Columns: {has}. Gold needs them.")
    said_of = _said_of_battles(source, named)
    kept = stored.items.select(["item", ITEM, *PAIR]).to_pydict()
    keys, gold = [], []
    met = set()
    for key, item, a, b in zip(*(kept[name] for name in ("item", ITEM, *PAIR)), strict=True):
        for pair, turned in (((item, a, b), False), ((item, b, a), True)):
            if pair in said_of:
                met.add(pair)
                outcome = said_of[pair]
                keys.append(key)
                gold.append(_WORDS[1 - outcome if turned and outcome < 2 else outcome])
                break
    if not met:
        some = name_some([f"{a} against {b} on {item}" for item, a, b in said_of])
        raise wrong("E531", f"{source.name} has gold for {len(said_of)} pairs, none of which has votes: {some}.")
    table = pa.table({"item": to_text_array(keys), "gold": to_text_array(gold)})
    tables = InputTables(None, InputTable(source.name, table, source.kind), None, frozenset(), (), shaped=True)
    unmet = [f"{a} against {b} on {item}" for item, a, b in said_of if (item, a, b) not in met]
    if not unmet:
        return VotesToAdd(tables)
    message = f"{source.name} has gold for {len(unmet)} pairs that have no votes ({name_some(unmet)}); it was not added"
    return VotesToAdd(tables, (Finding("F809", message, {"pairs": len(unmet)}),))


def _said_of_battles(source: InputTable, named: Mapping[str, Any]) -> dict[tuple[str, str, str], int]:
    texts = []
    for name in ("item", *PAIR, "gold"):
        coded = encode_ids(named[name])
        words = [*coded.list_texts(), None]
        texts.append([words[code] for code in coded.codes])
    found: dict[tuple[str, str, str], int] = {}
    for row, (item, a, b, word) in enumerate(zip(*texts, strict=True)):
        if None in (item, a, b, word):
            continue
        outcome = 0 if word == a else 1 if word == b else outcome_of(str(word))
        if outcome is None:
            known = "Known: A, B, tie, or the name of the model that won"
            raise wrong("E233", f"{source.name} has the gold {word!r} in data row {row + 1}. {known}")
        if found.setdefault((item, a, b), outcome) != outcome:
            raise wrong("E110", f"{source.name} has two golds for item {item!r}, {a!r} against {b!r}. Keep one.")
    return found


# Out of the store


def facts_of_votes(read: Contents) -> dict[str, Any]:
    """What the log knows of votes without reading them: the models, and how many items they are on."""
    models = {name for side in PAIR for name in _texts(read.columns[side])}
    items = _texts(read.columns[ITEM])
    return {"models": sorted(models), "items": len(set(items)) + len(read.item_ids) - len(items)}


def _texts(column: Any) -> list[str]:
    return [str(one) for one in column.to_pylist() if one is not None]


def stored_votes(rows: StoredRows, name: str) -> InputTable:
    """The votes of a round as the table that they came as, with gold as far as it has come since."""
    import pyarrow as pa

    labels, gold, items = rows.labels, rows.gold, rows.items
    at = _places(items["item"], labels["item"])
    expert = _places(items["item"], gold["item"])
    table = {
        "item": items[ITEM],
        "model_a": items["model_a"],
        "model_b": items["model_b"],
        "labeler": take(labels["labeler"], at).fill_null(NOBODY),
        "label": take(labels["label"], at),
        "gold": take(gold["gold"], expert),
    }
    others = {of: items[of] for of in items.column_names if of not in (*table, *_RESERVED)}
    # clusters are numbered as items come: the same in whatever order files hold them
    whole = pa.table({**table, **others, "key": items["item"]}).sort_by("key").drop_columns(["key"])
    return InputTable(f"round {name!r}", whole, "files")


def _places(wanted: Any, among: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(wanted.cast(pa.string()), value_set=among.cast(pa.string()))
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def together(tables: Sequence[InputTable], name: str) -> InputTable:
    """The votes of several rounds as one table; votes on one item stay votes on one item."""
    import pyarrow as pa

    if len(tables) == 1:
        return tables[0]
    whole = pa.concat_tables([one.table for one in tables], promote_options="permissive")
    return replace(tables[0], name=name, table=whole)


def vote_columns(entry: Entry) -> list[str]:
    """The columns of votes besides ours, in any batch: those that one can choose by."""
    ours = {*PAIR, ITEM}
    by_batch = columns_by_batch(entry.columns, entry.round)
    return list(dict.fromkeys(name for of in by_batch.values() for name, _ in of if name not in ours))
