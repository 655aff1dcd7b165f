"""Who the labelers are. A judge is a model, a prompt version and its settings; a person has a vendor and a group.

A judge whose identity changed is another labeler: it gets a name of its own, and the old one as its group, so that its
reliability is not carried over in silence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hero_eval.errors import InputError, Problem, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.bridge import to_text_array
from hero_eval.io.tables import InputTable
from hero_eval.io.values import listed, plain_text
from hero_eval.store.delta import BRING_BACK, Place
from hero_eval.store.digests import COLUMNS, digest, row_digests
from hero_eval.store.log import Entry
from hero_eval.store.records import Sum
from hero_eval.store.schemas import schema

FIELDS = ("kind", "model", "prompt", "settings", "vendor", "group")
JUDGED_BY = ("model", "prompt", "settings")
"""What makes a judge the judge it is."""

KINDS = ("judge", "person")


@dataclass(frozen=True)
class Labeler:
    """A labeler of one round. `labeler` is its name in the store, `name` that in the files."""

    labeler: str
    name: str
    kind: str | None = None
    model: str | None = None
    prompt: str | None = None
    settings: str | None = None
    vendor: str | None = None
    group: str | None = None

    @property
    def identity(self) -> tuple[str | None, ...] | None:
        """What must stay the same for a reliability to carry over; None if it was not said."""
        said = tuple(getattr(self, field) for field in JUDGED_BY)
        return said if any(part is not None for part in said) else None


def read_labelers(source: InputTable | None, names: Sequence[str]) -> dict[str, Labeler]:
    """What the labelers table says of these labelers; others are known by name only. E104, E201 or E114 if wrong."""
    found = {name: Labeler(name, name) for name in names}
    if source is None:
        return found
    columns = source.table.column_names
    if "labeler" not in columns:
        raise wrong("E104", f"{source.name} has no column 'labeler'. Columns: {listed(columns)}.")
    problems = []
    told: dict[str, Labeler] = {}
    for row in source.table.to_pylist():
        labeler = _from_row(row)
        if labeler.kind not in (None, *KINDS):
            message = f"{source.name}: kind of {labeler.name!r} is {labeler.kind!r}. Known: {', '.join(KINDS)}."
            problems.append(Problem("E201", message))
        if told.setdefault(labeler.name, labeler) != labeler:
            message = f"{source.name} describes {labeler.name!r} twice, differently. Keep one row a labeler."
            problems.append(Problem("E114", message))
    if problems:
        raise InputError(problems)
    return {name: told.get(name, plain) for name, plain in found.items()}


def _from_row(row: Mapping[str, Any]) -> Labeler:
    name = plain_text(row["labeler"]) or ""
    said = {field: _text(row.get(field)) for field in FIELDS}
    if said["kind"] is None and any(said[field] for field in JUDGED_BY):
        said["kind"] = "judge"
    elif said["kind"] is None and said["vendor"]:
        said["kind"] = "person"
    return Labeler(name, name, **said)


def _text(value: Any) -> str | None:
    """One spelling of a value: settings that are the same must compare as the same."""
    if isinstance(value, Mapping | list):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    text = plain_text(value)
    text = None if text is None else text.strip()
    if not text:
        return None
    if text[0] in "{[":
        try:
            return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
        except ValueError:
            return text
    return text


@dataclass(frozen=True)
class Resolved:
    """The labelers of a round under the names that they have in the store, and what a user must know of it."""

    labelers: tuple[Labeler, ...]
    findings: tuple[Finding, ...]

    @property
    def renamed(self) -> dict[str, str]:
        return {one.name: one.labeler for one in self.labelers if one.name != one.labeler}


def resolve(now: Mapping[str, Labeler], past: Sequence[Labeler]) -> Resolved:
    """Compare with all labelers that the store knows, oldest first."""
    chosen, changed, unsaid = [], [], []
    for name, one in now.items():
        same_name = [old for old in past if old.name == name]
        stated = [old for old in same_name if old.identity is not None]
        if one.identity is None:
            if stated and stated[-1].labeler == name:
                unsaid.append(name)
            chosen.append(replace(one, labeler=name))
            continue
        known = next((old for old in stated if old.identity == one.identity), None)
        if known is not None:
            chosen.append(replace(one, labeler=known.labeler, group=one.group or known.group))
        elif stated:
            fresh = replace(one, labeler=_new_name(name, one), group=name)
            changed.append((stated[-1], fresh))
            chosen.append(fresh)
        else:
            if same_name:
                unsaid.append(name)
            chosen.append(one)
    return Resolved(tuple(chosen), (*map(_changed, changed), *_unsaid(unsaid)))


def _new_name(name: str, one: Labeler) -> str:
    """The same for the same identity, whoever writes first."""
    digest = hashlib.sha256(json.dumps(one.identity, ensure_ascii=False).encode()).hexdigest()[:6]
    return f"{name}@{digest}"


def _changed(pair: tuple[Labeler, Labeler]) -> Finding:
    old, new = pair
    parts = [
        f"{field} {getattr(old, field)!r} is now {getattr(new, field)!r}"
        for field in JUDGED_BY
        if getattr(old, field) != getattr(new, field)
    ]
    message = (
        f"judge {new.name!r} is not what it was ({'; '.join(parts)}): it is the new labeler {new.labeler!r} of group "
        f"{new.group!r}"
    )
    return Finding("F801", message, {"labeler": new.labeler, "group": new.group, "was": old.labeler})


def _unsaid(names: Sequence[str]) -> list[Finding]:
    if not names:
        return []
    message = (
        f"model, prompt and settings are known for some rounds of {name_some(list(names))} and not for others; "
        "taken as unchanged"
    )
    return [Finding("F802", message, {"labelers": list(names)})]


def refuse_own_gold(parts: Sequence[Any], judged: Sequence[str], where: str) -> None:
    """E405 if gold, stored or new, was written by somebody whose labels it would judge."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gold = pa.concat_tables([part.select(["source"]).cast(pa.schema([("source", pa.string())])) for part in parts])
    sources = set(gold["source"].unique().to_pylist()) - {None}
    both = sorted(sources & set(judged))
    if both:
        rows = pc.sum(pc.is_in(gold["source"], value_set=pa.array(both))).as_py()
        raise wrong(
            "E405",
            f"{where}: {rows} of {gold.num_rows} gold values were written by {name_some(both)}, who is also judged as "
            "a labeler. Gold must come from somebody else: leave these gold values out, or count all that "
            f"they said as gold and not as labels: --expert {both[0]}",
        )


def labeler_rows(labelers: Sequence[Labeler], name: str, batch: str) -> Any:
    """The labelers as the store's table."""
    import pyarrow as pa

    rows = [{"round": name, "batch": batch, **vars(one)} for one in labelers]
    return pa.Table.from_pylist(rows, schema=schema("labelers"))


def check_labelers(place: Place, entries: Sequence[Entry], rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """E406 unless the labelers of each batch are those that its record says."""
    import pyarrow as pa

    bound = [(entry, batch, said["labelers"]) for entry in entries for batch, said in _with_labelers(entry)]
    names = COLUMNS["labelers"]
    told = [row for _, batch, _ in bound for row in rows.get(batch, ())]
    table = pa.table({name: to_text_array([row[name] for row in told]) for name in names})
    sums, at = row_digests("labelers", table), 0
    for entry, batch, said in bound:
        count = len(rows.get(batch, ()))
        if (count, digest(sums[at : at + count])) != (said.rows, said.digest):
            raise wrong(
                "E406",
                f"{place.uri}: round {entry.round!r} has {count} labelers in batch {batch}, not the {said.rows} that "
                f"were added: files of the store are missing or damaged. {BRING_BACK}",
            )
        at += count


def _with_labelers(entry: Entry) -> list[tuple[str, Mapping[str, Sum]]]:
    return [(batch, said) for batch, said in entry.bound.batches.items() if "labelers" in said]


def labelers_from(rows: Sequence[Mapping[str, Any]]) -> list[Labeler]:
    fields = ("labeler", "name", *FIELDS)
    return [Labeler(**{field: row[field] for field in fields}) for row in rows]
