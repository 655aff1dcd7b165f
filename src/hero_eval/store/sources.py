"""What a caller wants to add: files, a folder, a Round, late gold alone; and labelers whose word is gold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hero_eval.any_round import GOLD_PROBABILITY
from hero_eval.errors import InputError, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.experts import part_experts, torn_notes
from hero_eval.io.exports.imports import refuse_export
from hero_eval.io.files import beside, read_input_tables, read_table
from hero_eval.io.frames import to_input_table
from hero_eval.io.places import at_hand
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.reshape import find_columns_quietly, reshaped
from hero_eval.io.tables import InputTable, InputTables, meant, rename
from hero_eval.io.validate import NEEDED, Contents
from hero_eval.round import Round
from hero_eval.store.contents import as_sources, rows_of_contents


@dataclass(frozen=True)
class Incoming:
    """Tables to be added, who the labelers are, and where they came from."""

    sources: InputTables
    labelers: InputTable | None = None
    origin: str | None = None
    findings: tuple[Finding, ...] = ()
    round: Contents | None = None
    """What the `Round` holds that was given, if one was, and nothing beside it."""
    is_votes: bool = False


def incoming(given: Any, gold: Any, labelers: Any, options: ReadOptions) -> Incoming:
    """What the arguments of `add` mean. A table with gold but without labels is late gold."""
    sources, origin, folder = _main_tables(given, options)
    if gold is not None:
        if sources.gold is not None and sources.gold.name != "labels":
            raise wrong("E116", f"gold comes twice: in {sources.gold.name} and as --gold. Give one of them.")
        sources = _with_probabilities(replace(sources, gold=_table("gold", gold)))
        origin = origin or _origin(gold)
    who = _table("labelers", labelers) if labelers is not None else None
    if who is None and folder is not None and (file := beside(folder, "labelers")) is not None:
        who = _table("labelers", file)
    alone = isinstance(given, Round) and gold is None
    return Incoming(sources, who, origin, round=given._contents if alone else None)


def _main_tables(given: Any, options: ReadOptions) -> tuple[InputTables, str | None, Path | None]:
    if given is None:
        return InputTables(None, None, None, frozenset(), ()), None, None
    if isinstance(given, Round):
        return as_sources(rows_of_contents(given._contents), f"round {given.name!r}"), None, None
    if isinstance(given, InputTables):
        return given, None, None
    if isinstance(given, str | os.PathLike):
        return _from_path(given, options)
    tables = InputTables(to_input_table("labels", given), None, None, frozenset(), ())
    return reshaped(_without_labels(tables, options), options), None, None


def _from_path(given: str | os.PathLike[str], options: ReadOptions) -> tuple[InputTables, str, Path | None]:
    with at_hand(given) as place:
        read = read_input_tables(place.path)
        refuse_export(place.path, read, options)
        elsewhere = place.copied is not None
        sources = reshaped(_without_labels(read, options), options)
        return sources, os.fspath(given), None if elsewhere else place.path


def _without_labels(sources: InputTables, options: ReadOptions) -> InputTables:
    """Late gold or items come without labels: one table with gold, or a folder without labels."""
    if sources.labels is not None:
        columns = set(rename(sources.labels, NEEDED["labels"], options.columns).columns)
        if {"item", GOLD_PROBABILITY} <= columns and not {"labeler", "label", "gold"} & columns:
            return replace(sources, labels=None, items=sources.labels)
        late = len(columns - {"item", "gold", "source"}) == 0 or find_columns_quietly(sources, options) is None
        if {"item", "gold"} <= columns and not {"labeler", "label"} & columns and late:
            return _with_probabilities(replace(sources, labels=None, gold=sources.labels))
        return sources
    if "labels" in sources.broken and (sources.gold is not None or sources.items is not None):
        problems = tuple(one for one in sources.problems if one.code != "E116")
        return replace(sources, broken=sources.broken - {"labels"}, problems=problems)
    return sources


def _with_probabilities(sources: InputTables) -> InputTables:
    """How probable gold was is said of items: beside gold, as in a queue that an expert filled in, it would be lost."""
    gold = sources.gold
    if gold is None or sources.items is not None or not {"item", GOLD_PROBABILITY} <= set(gold.table.column_names):
        return sources
    return replace(sources, items=replace(gold, table=gold.table.select(["item", GOLD_PROBABILITY])))


def _table(name: str, given: Any) -> InputTable:
    if isinstance(given, str | os.PathLike):
        path = Path(given).expanduser()
        if not path.exists():
            raise wrong("E101", f"{path} does not exist.")
        return InputTable(str(path), read_table(path), "files")
    return to_input_table(name, given)


def _origin(given: Any) -> str | None:
    return str(given) if isinstance(given, str | os.PathLike) else None


def raise_problems(sources: InputTables) -> None:
    if sources.problems:
        raise InputError(sources.problems)


def take_experts(given: Incoming, experts: Sequence[str], options: ReadOptions) -> Incoming:
    """All that these labelers said is gold and not labels. `*` stands for any text. Where experts differ, neither."""
    labels = given.sources.labels
    if not experts:
        return given
    found = part_experts(given.sources, experts, options)
    if labels is None or found is None:
        raise wrong("E201", f"--expert names {name_some(list(experts))}, but there are no labels to take as gold")
    if not found.experts:
        there = sorted(found.others)
        hint = meant(experts[0], there)
        raise wrong("E201", f"--expert is {name_some(list(experts))}. Labelers: {name_some(there, 12)}.{hint}")
    gold = InputTable("gold by experts", found.gold, labels.kind)
    sources = replace(given.sources, labels=replace(labels, table=found.labels), gold=gold)
    return replace(given, sources=sources, findings=(*given.findings, *torn_notes(found.torn)), round=None)
