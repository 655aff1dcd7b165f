"""Tables as they came, made long: wide ones are melted, and labelers and criteria that the caller chose are kept."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from hero_eval.errors import HeroError, InputError, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.arrays import encode_answers, encode_ids
from hero_eval.io.bridge import kept
from hero_eval.io.experts import sparse_notes
from hero_eval.io.json_cells import with_cells_opened
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.summary_rows import without_summary
from hero_eval.io.tables import SYNONYMS, InputTable, InputTables, meant, unknown_mappings
from hero_eval.io.unclaimed import judges_without_answers, sparse_others
from hero_eval.io.values import count_of, listed, plain_text
from hero_eval.io.wide import Asked, WideColumns, answered, find_columns, melted


def reshaped(sources: InputTables, options: ReadOptions) -> InputTables:
    """The tables, long, of the labelers and the criterion that were asked for; problems and findings are added."""
    if sources.labels is None or sources.shaped:
        return sources
    try:
        long = is_long(sources.labels.table.column_names, options)
        made = _chosen(sources, sources.labels, options) if long else _melted(sources, sources.labels, options)
        return replace(made, shaped=True)
    except HeroError as error:
        broken = sources.broken | {"labels"}
        return replace(sources, labels=None, broken=broken, problems=(*sources.problems, *error.problems))


def is_long(header: Sequence[str], options: ReadOptions) -> bool:
    """Whether a table has a row for each label, by its columns: our names, mapped ones, or others that mean the same.

    A column `label` without one of labelers is a long table that lacks something, unless labelers are named.
    """
    there = {ours for ours in ("labeler", "label") if ours in header or options.columns.get(ours) in header}
    if "labeler" in there or (there and options.only is None and options.columns.get("gold") != "label"):
        return True
    lowered = {name.lower().strip() for name in header}
    return options.only is None and all(lowered & {*SYNONYMS[ours]} for ours in ("labeler", "label"))


def asked_of(options: ReadOptions) -> Asked:
    aside = [*options.covariates, *options.used, *([options.text] if options.text is not None else [])]
    return Asked(
        columns=options.columns,
        labelers=options.only,
        excluded=options.excluded,
        criterion=options.criterion,
        missing=options.missing,
        mapped=options.mapped,
        experts=options.experts,
        known=options.familiar,
        aside=aside,
        lenient=options.lenient,
        among_several=options.among_several,
    )


def find_columns_quietly(sources: InputTables, options: ReadOptions) -> WideColumns | None:
    """What the columns of the labels table are if it is wide; None if it is not, or it is not clear."""
    assert sources.labels is not None
    try:
        return find_columns(sources.labels.name, sources.labels.table, asked_of(options))
    except HeroError:
        return None


def _melted(sources: InputTables, labels: InputTable, options: ReadOptions) -> InputTables:
    """A wide table made long, and what its columns were taken for; as it is if it does not look wide."""
    table, summed = without_summary(labels.name, labels.table)
    table, broken = with_cells_opened(table)
    asked = asked_of(options)
    columns = find_columns(labels.name, table, asked) if table.num_rows else None
    if columns is None:
        _refuse_free_text(labels.name, table, asked)
        return sources
    elsewhere = ("gold", "labeler", "label") if options.among_several else ()  # another round may have them
    named = {ours: theirs for ours, theirs in options.columns.items() if ours not in ("criterion", *elsewhere)}
    if unknown := unknown_mappings(sources.given(), named):
        raise InputError(unknown.values())
    _refuse_nameless(labels.name, table, columns)
    notes = [_taken_for(columns, options), *summed, *broken, *_columns_left_out(labels.name, table.column_names, asked)]
    long, gold, items = melted(table, columns)
    if gold is None and sources.gold is None and not columns.experts and options.only is None:
        answers = {str(one["values"]): int(one["counts"]) for one in long["labeler"].value_counts().to_pylist()}
        notes += sparse_notes(answers, sparse_others(table, columns, asked), table.num_rows)
    made = {"labels": InputTable(labels.name, long, labels.kind, origin=_origin(table, columns))}
    if gold is not None and sources.gold is None:
        made["gold"] = InputTable(labels.name, gold, labels.kind, {"gold": columns.gold or "gold"})
    if sources.items is None:
        made["items"] = InputTable(labels.name, items, labels.kind)
    return replace(sources, **made, notes=(*sources.notes, *notes))  # type: ignore[arg-type]


def _refuse_nameless(name: str, table: Any, columns: WideColumns) -> None:
    """E107 for rows without an id, which say something."""
    if columns.item is None or (ids := encode_ids(table[columns.item])).complete:
        return
    people = (*columns.labelers.values(), *columns.experts.values())
    spoken = {int(row) for one in people for row in answered(table[one])}
    lost = [row for row in np.flatnonzero(ids.codes < 0).tolist() if row in spoken]
    if lost:
        raise wrong(
            "E107",
            f"{name} column {columns.item!r} is empty in {len(lost)} of {table.num_rows} rows, first in data row "
            f"{lost[0] + 1}. Give each row its id, or drop these rows.",
        )


def _refuse_free_text(name: str, table: Any, asked: Asked) -> None:
    """E124 for a table of which no column holds answers, though some are called like judges'."""
    called = judges_without_answers(table, asked)
    if not called or {"labeler", "label"} & {*table.column_names}:
        return
    shown = next((text for value in table[called[0]].to_pylist() if (text := plain_text(value))), "")
    raise wrong(
        "E124",
        f"{name} has columns that are called like judges, {name_some(called)}, but hold too many different texts for "
        f"answers, such as {shown[:80]!r}. Write the verdict alone into a column for each judge, such as "
        f"{called[0]}_verdict.",
    )


def _origin(table: Any, columns: WideColumns) -> Callable[[int], str]:
    """Where a row of the long table was in the wide one."""

    def place(row: int) -> str:
        for column in (*columns.labelers.values(), *columns.experts.values()):
            there = answered(table[column])
            if row < len(there):
                return f"column {column!r}, data row {int(there[row]) + 1}"
            row -= len(there)
        return ""

    return place


def _columns_left_out(name: str, header: Sequence[str], asked: Asked) -> list[Finding]:
    """F123 for columns of a wide table that are left out as asked; E131 for a name that none has."""
    idle = [one for one in asked.excluded if not any(fnmatchcase(column, one) for column in header)]
    if idle and not asked.lenient:
        raise wrong(
            "E131",
            f"{name} has no column {name_some(idle)} to leave out. Columns: {listed(header)}.{meant(idle[0], header)}",
        )
    gone = [one for one in header if asked.excludes(one)]
    return [Finding("F123", f"columns left out as asked: {name_some(gone)}", {"labelers": gone})] if gone else []


def _taken_for(columns: WideColumns, options: ReadOptions) -> Finding:
    """F122: what each column was taken for, and why."""
    people = list(columns.labelers)
    parts = [f"labelers {_some(people)} ({columns.why})"]
    given = [*([] if columns.gold is None else [columns.gold]), *columns.experts]
    parts.append(f"gold in {_some(given)}" if given else "no gold")
    parts.append(f"ids of items in {columns.item}" if columns.item is not None else "items by the number of their row")
    others = list(columns.others)
    if others:
        parts.append(f"about the items {_some(others)}")
    if columns.dropped:
        parts.append(f"other criteria's, left out, {_some(columns.dropped)}")
    data = {
        "labelers": people,
        "gold": columns.gold,
        "item": columns.item,
        "columns": others,
        "left_out": list(columns.dropped),
        "why": columns.why,
        "named": options.only is not None,
    }
    return Finding("F122", f"a wide table, one column per labeler: {'; '.join(parts)}", data)


def _some(columns: Sequence[str], most: int = 8) -> str:
    """Columns as they are called, and how many more there are."""
    more = f" and {len(columns) - most:,} more" if len(columns) > most else ""
    return f"{', '.join(columns[:most])}{more}"


def _chosen(sources: InputTables, labels: InputTable, options: ReadOptions) -> InputTables:
    """A long table with the labels of the labelers, and of the criterion, that the caller asked for."""
    table, notes = labels.table, list(sources.notes)
    if options.criterion is not None:
        table = _of_criterion(labels.name, table, options.criterion, options)
    else:
        _refuse_criteria(labels.name, table, options)
    if options.only is not None or options.excluded:
        column = options.columns.get("labeler", "labeler")
        table, found = _of_labelers(labels.name, table, column, options)
        notes += [] if found is None else [found]
    if table is labels.table:
        return sources
    return replace(sources, labels=replace(labels, table=table), notes=tuple(notes))


def _of_labelers(name: str, table: Any, column: str, options: ReadOptions) -> tuple[Any, Finding | None]:
    """The rows of chosen labelers; `*` in what is excluded stands for any text. E131 for a name that nobody has."""
    if column not in table.column_names:
        return table, None  # E104 follows
    people = encode_ids(table[column])
    names = people.list_texts()
    experts = [one for one in names if any(fnmatchcase(one, pattern) for pattern in options.experts)]
    wanted = names if options.only is None else [*options.only, *experts]
    out = {one for one in names if any(fnmatchcase(one, pattern) for pattern in options.excluded)}
    idle = [one for one in options.excluded if not any(fnmatchcase(who, one) for who in names)]
    absent = [one for one in wanted if one not in names] + idle
    keep = np.array([one in wanted and one not in out for one in names], np.bool_)
    if (absent and not options.lenient) or not keep.any():
        which = f"has no labeler {name_some(absent)}" if absent else "has no labeler left"
        near = meant(absent[0], names) if absent else ""
        raise wrong("E131", f"{name} {which}. Labelers: {name_some(names, 12)}.{near} Name labelers that it has.")
    if keep.all():
        return table, None
    rows = np.append(keep, True)[people.codes]  # rows without a labeler are E107 later
    gone = [one for one, kept_one in zip(names, keep, strict=True) if not kept_one]
    message = f"labelers left out as asked: {name_some(gone)} ({count_of(int((~rows).sum()), 'label')})"
    finding = Finding("F123", message, {"labelers": gone, "labels": int((~rows).sum())})
    return _rows(table, rows), finding


def _refuse_criteria(name: str, table: Any, options: ReadOptions) -> None:
    """E132 if a column `criterion` says that items were judged by several; of one each it describes the items."""
    column, item = (options.columns.get(ours, ours) for ours in ("criterion", "item"))
    if not {column, item} <= set(table.column_names):
        return
    criteria, items = encode_ids(table[column]), encode_ids(table[item])
    pairs = np.unique(items.codes * (len(criteria.texts) + 1) + criteria.codes)
    if len(pairs) > len(np.unique(items.codes)):
        first = criteria.list_texts()[0]
        raise wrong(
            "E132",
            f"{name} holds several criteria: {name_some(criteria.list_texts(), 12)}. Choose one (criterion={first!r}; "
            f"command: --criterion {shlex.quote(first)}).",
        )


def _of_criterion(name: str, table: Any, criterion: str, options: ReadOptions) -> Any:
    """The rows of one criterion of a long table, which tells it in a column `criterion`."""
    column = options.columns.get("criterion", "criterion")
    if column not in table.column_names:
        raise wrong(
            "E132",
            f"{name} has no column 'criterion' that tells criterion {criterion!r} from others. Columns: "
            f"{', '.join(table.column_names)}. Map it (columns={{'criterion': ...}}; command: --column criterion=...), "
            "or leave the criterion out.",
        )
    coded = encode_answers(table[column])
    texts = coded.list_texts()
    if criterion not in texts:
        raise wrong(
            "E132",
            f"{name} has no row of criterion {criterion!r}. It has: {name_some(texts, 12)}.{meant(criterion, texts)} "
            "Name one that is there (criterion=; command: --criterion).",
        )
    return _rows(table, coded.codes == texts.index(criterion)).drop_columns([column])


def _rows(table: Any, mask: Any) -> Any:
    import pyarrow as pa

    return pa.table({name: kept(table[name], mask) for name in table.column_names})
