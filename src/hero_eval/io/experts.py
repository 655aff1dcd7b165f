"""Experts among the labelers: what they said is gold and not labels."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from hero_eval.errors import Problem
from hero_eval.findings import Finding, name_some
from hero_eval.io.arrays import encode_answers, encode_ids, mapped_answers, settle
from hero_eval.io.bridge import kept, taken, to_text_array
from hero_eval.io.column_names import called_like_an_expert, names_a_judge
from hero_eval.io.distinct import Codes
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import InputTable, InputTables, Named, meant, positions, rename
from hero_eval.io.values import canonical, count_of, fold, is_binary
from hero_eval.io.wide import SPARSE

FULL = 0.9
"""The share of the items that labelers' columns answer beside one that may be an expert's. It decides on a remark
alone."""


def expert_notes(labelers: Sequence[str], n_gold: int) -> tuple[Finding, ...]:
    """F131 for labelers of a round without gold who are called like experts."""
    found = [] if n_gold else [one for one in labelers if called_like_an_expert(one)]
    if not found:
        return ()
    return (_may_be_experts(found, f"{name_some(found)} {'is' if len(found) == 1 else 'are'} called like an expert"),)


def sparse_notes(answers: Mapping[str, int], others: Mapping[str, int], n_items: int) -> tuple[Finding, ...]:
    """F131 for a column of a wide table without gold that is mostly empty, where those of all others are full.

    answers: how many items each labeler answered; `others`: the same of columns about the items that may be answers.
    """
    sparse = [name for name, given in answers.items() if given <= SPARSE * n_items]
    full = [name for name, given in answers.items() if given >= FULL * n_items]
    given = {**answers, **others}
    found = [*sparse, *others]
    least = 2 if names_a_judge("".join(found)) else 1
    if len(found) != 1 or len(full) < least or len(full) + len(sparse) < len(answers):
        return ()
    if called_like_an_expert(found[0]) and sparse:
        return ()  # `expert_notes` says so
    fact = (
        f"{found[0]} answered {given[found[0]]} of {n_items} items, {'labelers' if others else 'the others'} nearly all"
    )
    return (_may_be_experts(found, fact, _IGNORED if others else _COUNTED),)


_COUNTED = "what they said counts as labels, which may be wrong, and not as gold"
_IGNORED = "the column counts as one about the items, and not as gold"


def _may_be_experts(labelers: list[str], fact: str, said: str = _COUNTED) -> Finding:
    action = (
        f"If what they say is right, take it for gold: expert={labelers!r} (command: "
        f"{' '.join(f'--expert {shlex.quote(one)}' for one in labelers)}). If they are labelers like others, nothing."
    )
    return Finding("F131", f"{fact}, and there is no gold: {said}", {"labelers": labelers}, action)


@dataclass(frozen=True)
class ExpertRows:
    """A long table, parted into the labels of the others and the gold of experts."""

    labels: Any
    """The rows of the others, under our names, without a column of gold."""
    gold: Any
    """item, gold and source (which expert), with the gold that was there before."""
    experts: tuple[str, ...]
    """Who they are; empty if nobody of these names is there."""
    others: tuple[str, ...]
    n_items: int
    """Items that experts gave gold."""
    torn: int
    """Items on which experts differ, which got none."""


def part_experts(sources: InputTables, experts: Sequence[str], options: ReadOptions) -> ExpertRows | None:
    """What experts said, apart from the labels; None if there is no table with labelers. `*` stands for any text."""
    import pyarrow as pa

    if sources.labels is None:
        return None
    named = rename(sources.labels, ("item", "labeler", "label"), options.columns)
    if not {"item", "labeler", "label"} <= set(named.columns):
        return None  # E104 follows
    people = encode_ids(named.columns["labeler"])
    names = people.list_texts()
    chosen = [any(fnmatchcase(name, expert) for expert in experts) for name in names]
    mask = np.append(np.array(chosen, np.bool_), False)[people.codes]
    rest = {name: kept(column, ~mask) for name, column in named.columns.items() if name != "gold"}
    said = {name: kept(named.columns[name], mask) for name in ("item", "labeler", "label")}
    rows, torn = _agreed(said, options)
    gold = pa.table({ours: taken(said[name], rows) for ours, name in _GOLD.items()})
    before = _gold_before(sources, named, options)
    return ExpertRows(
        labels=pa.table(rest),
        gold=gold if before is None else _together(before, gold),
        experts=tuple(name for name, is_one in zip(names, chosen, strict=True) if is_one),
        others=tuple(name for name, is_one in zip(names, chosen, strict=True) if not is_one),
        n_items=len(rows),
        torn=torn,
    )


_GOLD = {"item": "item", "gold": "label", "source": "labeler"}


def _agreed(said: dict[str, Any], options: ReadOptions) -> tuple[Codes, int]:
    """A row for each item on which all experts said the same, and the number of items on which they differ.

    "Yes" and "1" are the same, as they are in labels.
    """
    items, answers = encode_ids(said["item"]), _read_answers(said["label"], options)
    texts = answers.list_texts()
    binary = is_binary(texts)
    spelled = [canonical(fold(text), binary=binary) for text in texts]
    code = {text: place for place, text in enumerate(dict.fromkeys(spelled))}
    spoken = np.array([*(code[text] for text in spelled), -1], np.int64)[answers.codes]
    settled = settle(items.codes, len(items.texts), spoken)
    torn = np.unique(items.codes[settled.clashes])
    rows = settled.rows[np.setdiff1d(np.flatnonzero(settled.rows >= 0), torn)]
    return rows, len(torn)


def _read_answers(column: Any, options: ReadOptions) -> Any:
    coded = encode_answers(column, frozenset(options.class_texts), options.missing)
    return coded if not options.mapped else mapped_answers(coded, options.mapped)


def _gold_before(sources: InputTables, labels: Named, options: ReadOptions) -> Any | None:
    """Gold that is there without the experts: a table of its own, or a column of the labels or the items."""
    import pyarrow as pa

    if sources.gold is not None:
        return pa.table(rename(sources.gold, ("item", "gold"), options.columns).columns)
    items = None if sources.items is None else rename(sources.items, ("item",), options.columns)
    for table in (labels, items):
        if table is not None and {"item", "gold"} <= set(table.columns):
            ids, answers = encode_ids(table.columns["item"]), encode_answers(table.columns["gold"])
            known = np.flatnonzero((answers.codes >= 0) & (ids.codes >= 0))
            _, first = np.unique(ids.codes[known] * len(answers.texts) + answers.codes[known], return_index=True)
            return pa.table({name: taken(table.columns[name], known[np.sort(first)]) for name in ("item", "gold")})
    return None


def _together(before: Any, gold: Any) -> Any:
    """Two tables of gold as one; where they write ids or answers in two types, as text."""
    import pyarrow as pa

    def as_text(column: Any, encode: Any) -> Any:
        coded = encode(column)
        texts = [*coded.list_texts(), None]
        return to_text_array([texts[code] for code in coded.codes])

    for name, encode in (("item", encode_ids), ("gold", encode_answers)):
        if before[name].type != gold[name].type:
            before = before.set_column(before.column_names.index(name), name, as_text(before[name], encode))
            gold = gold.set_column(gold.column_names.index(name), name, as_text(gold[name], encode))
    return pa.concat_tables([before, gold], promote_options="permissive")


def with_experts(sources: InputTables, options: ReadOptions) -> InputTables:
    """The tables with what the experts said, whom the options name, as gold; what is wrong or to be known is added."""
    if not options.experts or sources.labels is None:
        return sources
    found = part_experts(sources, options.experts, options)
    if found is None:
        return sources
    absent = [one for one in options.experts if not any(fnmatchcase(name, one) for name in found.experts)]
    if absent and not options.lenient:
        problem = absent_experts(sources.labels.name, absent, [*found.others, *found.experts])
        return replace(sources, problems=(*sources.problems, problem))
    if not found.experts:
        return sources
    if not len(found.labels):
        message = (
            f"{sources.labels.name} has labels of experts alone: {name_some(list(found.experts))}. Give labels of "
        )
        problem = Problem("E119", message + "others too, or name fewer experts.")
        return replace(sources, problems=(*sources.problems, problem))
    gold, alone = _of_labeled(found)
    labels = replace(sources.labels, table=found.labels)
    made = InputTable(f"{sources.labels.name}, gold by experts", gold, sources.labels.kind)
    return replace(sources, labels=labels, gold=made, notes=(*sources.notes, *_notes(found, alone)))


def absent_experts(name: str, absent: Sequence[str], there: Sequence[str]) -> Problem:
    """E131 for experts whom nobody knows."""
    return Problem(
        "E131",
        f"{name} has no labeler {name_some(list(absent))} to take for an expert. Labelers: "
        f"{name_some(sorted(there), 12)}.{meant(absent[0], there)} Name labelers that are there (expert=; command: "
        "--expert).",
    )


def _of_labeled(found: ExpertRows) -> tuple[Any, list[str]]:
    """Gold of items that others labeled too, and the items that only experts answered."""
    mine, theirs = encode_ids(found.gold["item"]), encode_ids(found.labels["item"])
    labeled = np.append(positions(mine.texts, theirs.texts) >= 0, True)
    alone = kept(mine.texts, ~labeled[:-1]).to_pylist()
    return found.gold.filter(_mask(labeled[mine.codes])), alone


def _mask(rows: Any) -> Any:
    import pyarrow as pa

    return pa.array(rows)


def _notes(found: ExpertRows, alone: list[str]) -> tuple[Finding, ...]:
    who = list(found.experts)
    message = f"what {name_some(who)} said is gold, as asked: {count_of(found.n_items, 'item')}"
    notes = [Finding("F130", message, {"labelers": who, "items": found.n_items})]
    if alone:
        message = f"items without labels were set aside: {len(alone)}, which only experts answered ({name_some(alone)})"
        notes.append(Finding("F102", message, {"count": len(alone), "items": alone[:5]}))
    return (*notes, *torn_notes(found.torn))


def torn_notes(torn: int) -> tuple[Finding, ...]:
    """F803 for items on which experts differ."""
    if not torn:
        return ()
    return (Finding("F803", f"experts differ on {count_of(torn, 'item')}, which got no gold", {"items": torn}),)
