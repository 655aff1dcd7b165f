"""Wide tables: one row for each item, one column for each labeler. Which columns are whose, and the same table long.

One rule for `read_round`, `Round`, the store and `hero import`. What it took for what is said in a finding, and the
caller may name the columns instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.arrays import Coded, encode_answers, encode_ids, mapped_answers, plain
from hero_eval.io.bridge import to_text_array
from hero_eval.io.column_names import (
    called_like_an_expert,
    goes_with,
    is_gold_name,
    names_a_fact,
    names_a_judge,
    plain_name,
    says_expert_alone,
)
from hero_eval.io.criteria import Grid, belongs_to, hidden_grid, named_grid
from hero_eval.io.repeated_items import refuse_long, refuse_names
from hero_eval.io.strays import FEW, NOTHING, RARE, parted
from hero_eval.io.tables import SYNONYMS, meant
from hero_eval.io.values import SCALE_TOPS, canonical, fold, is_binary, listed, number

MOST_ANSWERS = 20
"""A column of texts with more different values is no labeler's."""
SPARSE = 0.5
"""The share of the items up to which a column whose name has such a word is an expert's, too."""
_ABOUT_ITEMS = ("item", "gold", "weight", "source", "gold_probability", "label", "labeler")


@dataclass(frozen=True)
class WideColumns:
    """What each column of a wide table is."""

    item: str | None
    """None: rows are numbered."""
    labelers: Mapping[str, str]
    """A labeler's name → its column."""
    gold: str | None
    others: tuple[str, ...]
    """What describes items."""
    why: str
    """In words, by what the labelers were known."""
    dropped: tuple[str, ...] = ()
    """Columns of other criteria."""
    experts: Mapping[str, str] = field(default_factory=dict)
    """An expert's name → the column, whose answers are gold."""


@dataclass(frozen=True)
class ColumnLook:
    """What a column's values look like."""

    values: frozenset[str]
    """The different answers, in one spelling; of many texts only some."""
    many: bool
    """Whether they are more than answers may be, and no numbers."""
    low: float = np.nan
    high: float = np.nan
    times: Mapping[str, int] = field(default_factory=dict)
    """How many cells hold each value."""

    @property
    def is_numeric(self) -> bool:
        return not np.isnan(self.low)

    @property
    def scale(self) -> float:
        """The end of the common scale that the numbers lie on; inf for others."""
        return next((top for top in SCALE_TOPS if self.high <= top), np.inf) if self.low >= 0 else np.inf


@dataclass(frozen=True)
class Asked:
    """What the caller said of a table's columns."""

    columns: Mapping[str, str] = field(default_factory=dict)
    labelers: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    criterion: str | None = None
    missing: tuple[str, ...] = ()
    mapped: Mapping[str, str] = field(default_factory=dict)
    experts: tuple[str, ...] = ()
    known: Collection[str] = ()
    """Labelers of other rounds: a column of such a name is theirs."""
    aside: Collection[str] = ()
    """Columns that the caller uses for something else."""
    lenient: bool = False
    """Whether some of the named labelers may be absent: another round has them."""
    among_several: bool = False
    """The same of the column of gold."""
    option: str = "--labelers"
    """How the command names labelers' columns."""

    def excludes(self, labeler: str) -> bool:
        """Whether this labeler was to be left out; `*` stands for any text."""
        return any(fnmatchcase(labeler, pattern) for pattern in self.excluded)

    def is_expert(self, labeler: str) -> bool:
        """Whether what this labeler said is gold; `*` stands for any text."""
        return any(fnmatchcase(labeler, pattern) for pattern in self.experts)


def find_columns(name: str, table: Any, asked: Asked) -> WideColumns | None:
    """What the columns of this table are; None if it does not look wide.

    `name` is what messages call the table. Where columns could be taken for two things it is E130, of several criteria
    E132, and a labeler that the caller named and that has no column is E131.
    """
    header = list(table.column_names)
    item = _item_column(table, asked)
    if asked.criterion is not None:
        return _of_criterion(name, table, asked, named_grid(header, asked.criterion), item)
    experts = [one for one in header if one != item and asked.is_expert(one)]
    gold = _gold_column(name, table, asked, [one for one in header if one not in experts])
    taken = (item, gold, *experts, *_ABOUT_ITEMS)
    free = [one for one in header if one not in taken and one not in asked.aside]
    if asked.labelers is not None:
        chosen = _named(name, asked, free, header)
        why = "as named"
    else:
        free = [one for one in free if not asked.excludes(one)]
        chosen, why = _recognized(name, table, free, gold or next(iter(experts), None), asked)
        _refuse_criteria(name, [*chosen, *experts, *([] if gold is None else [gold])])
    if not chosen:
        _refuse_to_leave_out_all(name, table, asked)
        return None
    _refuse_label_column(name, header, gold, asked)
    used = {None if item in asked.aside else item, gold, *experts, *chosen}
    others = tuple(one for one in header if one not in used and not asked.excludes(one))
    if asked.labelers is None and "item" not in asked.columns and len(chosen) == 1 and gold is not None:
        refuse_long(name, table, chosen[0], gold, others)
    if asked.labelers is None and "item" not in asked.columns and len(chosen) <= 2 and not {*chosen} & {*asked.known}:
        refuse_names(name, table, chosen, gold)
    labelers = {one: one for one in chosen}
    return WideColumns(item, labelers, gold, others, why, experts={one: one for one in experts})


def _refuse_to_leave_out_all(name: str, table: Any, asked: Asked) -> None:
    """E131 if there are columns of labelers, and all of them were to be left out."""
    if not asked.excluded or (found := find_columns(name, table, replace(asked, excluded=()))) is None:
        return
    raise wrong(
        "E131",
        f"{name} has no labeler left: {name_some(list(found.labelers))} were to be left out. Leave out fewer "
        "(exclude_labelers=; command: --exclude-labelers).",
    )


def _named(name: str, asked: Asked, free: Sequence[str], header: Sequence[str]) -> list[str]:
    """The columns that the caller named; E131 for those that are not there."""
    wanted = asked.labelers or ()
    known = set(free)
    absent = [one for one in wanted if one not in known]
    there = [one for one in wanted if one in known]
    if absent and not (asked.lenient and there):
        raise wrong(
            "E131",
            f"{name} has no column for {'labeler' if len(absent) == 1 else 'labelers'} {name_some(absent)}. Columns: "
            f"{listed(header)}.{meant(absent[0], free)} Name columns that are there (labelers=[...]; command: "
            f"{asked.option} A,B).",
        )
    return [one for one in there if not asked.excludes(one)]


def _item_column(table: Any, asked: Asked) -> str | None:
    """The column of ids: as mapped, by its name, or one of a name that means it, if no id is there twice."""
    header: list[str] = table.column_names
    if asked.columns.get("item") in header:
        return asked.columns["item"]
    if "item" in header:
        return "item"
    lowered = {plain_name(one): one for one in reversed(header)}
    for synonym in ("item", *SYNONYMS["item"]):
        if synonym in lowered and _names_rows(table[lowered[synonym]], nearly=synonym in _SURE_IDS):
            return lowered[synonym]
    taken = {*(asked.labelers or ()), *asked.experts, *asked.aside, *asked.columns.values()}
    ids = [one for one in header if _ID_NAME.search(one) and one not in taken and not names_a_judge(one)]
    ids = [one for one in ids if _names_rows(table[one], nearly=False)]
    return ids[0] if len(ids) == 1 else None


_ID_NAME = re.compile(r"(?:^|[\W_])(?:[iI][dD]|[uU][uU][iI][dD]|[gG][uU][iI][dD]|[kK][eE][yY])$|(?<=[a-z])I[dD]$")
"""How names of ids end, of whatever: conversation_id, traceId, uuid."""
_SURE_IDS = ("item", "id", "item_id", "task_id", "example_id")
"""Names of ids, which a slip repeats; a prompt may have several answers, each an item."""
NEARLY = 0.9


def _names_rows(column: Any, *, nearly: bool) -> bool:
    """Whether no two rows have one id; or hardly any, where rows were most likely written twice."""
    coded = encode_ids(column)
    if not coded.complete and not nearly:
        return False  # a slip forgets some of a sure name's, which E107 tells
    return len(coded.texts) == len(column) or (nearly and len(coded.texts) >= NEARLY * len(column))


def _gold_column(name: str, table: Any, asked: Asked, header: Sequence[str]) -> str | None:
    """The column of gold: as mapped, or by its name if it holds answers; E130 if several names leave no doubt.

    Without such a name it is the one that speaks of experts, if its name says nothing else or it is mostly empty.
    """
    given = asked.columns.get("gold", "gold")
    if given in header:
        return given
    if "gold" in asked.columns:  # what was named is taken, or nothing is
        if (hint := meant(given, header)) and not asked.among_several:
            raise wrong("E104", f"{name} has no column {given!r}. Columns: {name_some(list(header))}.{hint}")
        return None
    taken = {*(asked.labelers or ()), *asked.aside, *asked.known}
    free = [one for one in header if one not in taken and called_like_an_expert(one)]
    free = [one for one in free if not (look := look_at(table[one], asked)).many and look.values]
    found = [one for one in free if is_gold_name(one)]
    if len(found) > 1:
        raise wrong(
            "E130",
            f"{name} has {len(found)} columns that may be gold: {name_some(found)}. Say which, and drop the others, or "
            f"name them as labelers (columns={{'gold': {found[0]!r}}}; command: --column gold={found[0]}).",
        )
    if found or asked.experts or asked.criterion is not None:
        return found[0] if found else None
    free = [one for one in free if not names_a_fact(one) and not goes_with(one, header) and not asked.excludes(one)]
    alone = [one for one in free if says_expert_alone(one)]
    sparse = [] if alone else [one for one in free if _is_sparse(table[one])]
    return alone[0] if len(alone) == 1 else free[0] if len(free) == len(sparse) == 1 else None


def _is_sparse(column: Any) -> bool:
    return bool(len(answered(column)) <= SPARSE * len(column))


def _refuse_label_column(name: str, header: Sequence[str], gold: str | None, asked: Asked) -> None:
    """A column `label` beside those of labelers is gold, or another labeler's: nothing tells which."""
    if "label" in header and gold is None and "label" not in (asked.labelers or ()):
        raise wrong(
            "E130",
            f"{name} has a column 'label' beside those of its labelers, which may be gold. If it is, map it "
            "(columns={'gold': 'label'}; command: --column gold=label); if it is not, rename it.",
        )


def look_at(column: Any, asked: Asked) -> ColumnLook:
    """The values of a column, as answers; without cells that say nothing, and without a few words among numbers."""
    import pyarrow as pa

    kind = plain(column[:0]).type if len(column) else column.type
    if pa.types.is_nested(column.type) or pa.types.is_temporal(kind):
        return ColumnLook(frozenset(), True)
    coded = encode_answers(column, missing=asked.missing)
    coded = mapped_answers(coded, asked.mapped) if asked.mapped else coded
    texts = coded.list_texts()
    cells = np.bincount(coded.codes[coded.codes >= 0], minlength=len(texts))
    told = dict(zip(texts, cells.tolist(), strict=True))
    texts = parted(told)[0] or [text for text in texts if fold(text) not in NOTHING] or texts
    some = texts[: MOST_ANSWERS + 1]
    binary = is_binary(some) and len(texts) <= MOST_ANSWERS
    spell = {text: canonical(text, binary=True) for text in some}  # beside a slip, yes is still what 1 is elsewhere
    values = frozenset(spell.values())
    numbers = [number(canonical(text, binary=binary)) for text in texts]
    found = [value for value in numbers if value is not None]
    times: dict[str, int] = {}
    for text in some:
        value = spell[text]
        times[value] = times.get(value, 0) + told[text]
    if not texts or len(found) < len(texts):
        return ColumnLook(values, len(texts) > MOST_ANSWERS, times=times)
    return ColumnLook(values, False, min(found), max(found), times)


def _recognized(name: str, table: Any, free: Sequence[str], gold: str | None, asked: Asked) -> tuple[list[str], str]:
    """The columns that look like labelers', and by what."""
    looks = {one: look_at(table[one], asked) for one in free}
    looks = {one: look for one, look in looks.items() if look.values and not look.many}
    familiar = [one for one in looks if one in asked.known]
    if familiar:
        met = set(familiar)
        rest = [one for one in free if one not in met]
        if gold is not None:
            more, _ = _recognized(name, table, rest, gold, replace(asked, known=()))
        else:  # a new judge beside them
            new = [one for one in looks if names_a_judge(one) and not names_a_fact(one)]
            more = _scales_of(familiar, {one: looks[one] for one in (*new, *familiar)})
        return _in_order(free, familiar, more), "other rounds have labelers of these names"
    beside = [one for one in looks if not goes_with(one, looks)]
    plausible = {one: looks[one] for one in beside if not names_a_fact(one)}
    called = [one for one in plausible if names_a_judge(one)]
    if gold is not None:
        fitting = _fitting(plausible, look_at(table[gold], asked))
        if fitting:
            return _in_order(free, fitting, called), f"their answers are those of {gold!r}"
    if called:
        alike = _scales_of(called, plausible)
        return _in_order(free, called, alike), "their names are those of judges, or their answers are on the same scale"
    groups = _groups(plausible if gold is None else {n: look for n, look in plausible.items() if look.is_numeric})
    if not groups:
        return [], ""
    largest = max(map(len, groups))
    if largest == 1 and gold is None:
        return [], ""  # one column of few values may be anything
    best = [group for group in groups if len(group) == largest]
    if len(best) > 1:
        _refuse_unclear(name, best)
    return _in_order(free, best[0], ()), "they are on one scale" if largest > 1 else "no other column holds answers"


def _in_order(header: Sequence[str], *groups: Collection[str]) -> list[str]:
    wanted = {one for group in groups for one in group}
    return [one for one in header if one in wanted]


def _fitting(looks: Mapping[str, ColumnLook], truth: ColumnLook) -> list[str]:
    """Columns whose answers are gold's; of 0 and 1 both, even if little gold has only one of them.

    A cell or two that are something else do not make a column another's: they are reported later.
    """
    allowed = truth.values | ({"0", "1"} if truth.values <= {"0", "1"} else frozenset())

    def fits(look: ColumnLook) -> bool:
        inside = sum(count for value, count in look.times.items() if value in allowed)
        outside = sum(look.times.values()) - inside
        spread = len(look.values & allowed) > 1 and outside <= max(FEW, RARE * inside) and 10 * outside <= inside
        wider = not look.is_numeric and len(truth.values) > 1 and truth.values <= look.values  # little gold lacks some
        return look.values <= allowed or wider or (spread and not _is_fraction(look.values - allowed))

    return [one for one, look in looks.items() if fits(look)]


def _is_fraction(values: Collection[str]) -> bool:
    """Whether some of these are numbers between the whole ones, as scores and covariates have them."""
    return any((found := number(value)) is not None and found != round(found) for value in values)


def _scales_of(called: Sequence[str], looks: Mapping[str, ColumnLook]) -> list[str]:
    """Columns with just the answers that one of these columns has, or numbers on its scale up to 10."""
    mine = [looks[one] for one in called]
    return [
        one
        for one, look in looks.items()
        if any(
            look.values == other.values or (look.is_numeric and other.is_numeric and look.scale == other.scale <= 10.0)
            for other in mine
        )
    ]


def _groups(looks: Mapping[str, ColumnLook]) -> list[list[str]]:
    """Columns that may belong together: numbers of one scale, and texts of which all are among one column's."""
    by_scale: dict[float, list[str]] = {}
    for one, look in looks.items():
        if look.is_numeric:
            by_scale.setdefault(look.scale, []).append(one)
    texts = {one: look.values for one, look in looks.items() if not look.is_numeric}
    bases = sorted(
        set(texts.values()), key=lambda base: (-sum(of <= base for of in texts.values()), len(base), min(base))
    )
    groups = [*by_scale.values()]
    if bases:
        groups.append([one for one, of in texts.items() if of <= bases[0]])
    return groups


def _refuse_unclear(name: str, groups: Sequence[Sequence[str]]) -> None:
    there = "; ".join(name_some(list(group)) for group in groups)
    first = ",".join(groups[0])
    raise wrong(
        "E130",
        f"{name} may be a wide table, but it is not clear which columns are labelers: {there}. Name them "
        f"(labelers={list(groups[0])}; command: --labelers {first}).",
    )


def _refuse_criteria(name: str, columns: Sequence[str]) -> None:
    """E132 for columns that answer several questions."""
    grid = hidden_grid(columns, lambda part: is_gold_name(part) or names_a_judge(part), is_gold_name)
    if grid is not None:
        raise wrong(
            "E132",
            f"{name} has columns of several criteria: {name_some(list(grid.criteria), 12)}, each with "
            f"{name_some(list(grid.labelers))}. Choose one (criterion={grid.criteria[0]!r}; command: --criterion "
            f"{grid.criteria[0]}), or name the labelers' columns if all answer one question (labelers=[...]; command: "
            "--labelers A,B).",
        )


def _of_criterion(name: str, table: Any, asked: Asked, grid: Grid, item: str | None) -> WideColumns:
    """The columns of one criterion; what belongs to the others is left out."""
    assert asked.criterion is not None
    own = grid.columns_of(asked.criterion)
    if not own:
        near = meant(asked.criterion, grid.criteria)
        raise wrong(
            "E132",
            f"{name} has no columns of criterion {asked.criterion!r}, such as {asked.criterion}_gpt or "
            f"gpt_{asked.criterion}. Columns: {listed(table.column_names)}.{near} Name one that is there (criterion=; "
            "command: --criterion).",
        )
    gold = next((column for labeler, column in own.items() if is_gold_name(labeler)), None)
    experts = {one: column for one, column in own.items() if column != gold and asked.is_expert(one)}
    people = {
        one: column for one, column in own.items() if column != gold and one not in experts and not asked.excludes(one)
    }
    if asked.labelers is not None:
        people = {one: column for one, column in people.items() if one in asked.labelers}
        _named(name, asked, list(own), table.column_names)
    if gold is None:
        gold = _gold_column(name, table, asked, [one for one in table.column_names if one not in grid.all_columns])
    elsewhere = [one for one in grid.criteria if one.lower() != asked.criterion.lower()]
    dropped = tuple(
        one
        for one in table.column_names
        if one not in (item, gold, *own.values())
        and (
            one in grid.all_columns
            or belongs_to(one, elsewhere, lambda part: is_gold_name(part) or names_a_judge(part))
        )
    )
    used = {None if item in asked.aside else item, gold, *own.values(), *dropped}
    others = tuple(one for one in table.column_names if one not in used)
    why = f"columns of criterion {asked.criterion!r}"
    return WideColumns(item, people, gold, others, why, dropped, experts)


def melted(table: Any, columns: WideColumns) -> tuple[Any, Any, Any]:
    """The wide table as labels (item, labeler, label), gold (item, gold; None without) and items (item, the rest)."""
    import pyarrow as pa

    ids = table[columns.item] if columns.item is not None else to_text_array([f"{k + 1}" for k in range(len(table))])
    rows: list[Any] = []
    who: list[Any] = []
    said: list[list[str]] = []
    people = {**columns.labelers, **columns.experts}
    for column in people.values():
        coded = _coded(table[column])
        there = np.flatnonzero(coded.codes >= 0)
        texts = coded.list_texts()
        rows.append(there)
        who.append(np.full(len(there), len(who)))
        said.append([texts[code] for code in coded.codes[there]])
    names = list(people)
    place = np.concatenate(rows) if rows else np.empty(0, np.int64)
    labels = pa.table(
        {
            "item": _taken(ids, place),
            "labeler": to_text_array([names[k] for k in np.concatenate(who)] if names else []),
            "label": to_text_array([text for part in said for text in part]),
        }
    )
    gold = None if columns.gold is None else pa.table({"item": ids, "gold": table[columns.gold]})
    items = pa.table({"item": ids, **{one: table[one] for one in columns.others if one not in _RESERVED}})
    return labels, gold, items


def answered(column: Any) -> NDArray[np.int64]:
    """The rows in which a labeler's column holds something."""
    return np.flatnonzero(_coded(column).codes >= 0)


def _coded(column: Any) -> Coded:
    return encode_answers(column, frozenset({"None"}))


_RESERVED = ("item", "labeler", "label", "gold")


def _taken(column: Any, rows: Any) -> Any:
    import pyarrow as pa

    return column.take(pa.array(rows))
