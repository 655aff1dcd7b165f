"""A file that somebody uploaded: what it holds and what would become of it, and then adding it to the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hero_eval as hero
from hero_eval.documents import plain
from hero_eval.errors import HeroError, InputError, Problem
from hero_eval.io.exports.imports import Export, read_export
from hero_eval.io.exports.vote_exports import is_json_lines
from hero_eval.store.adding import Added
from hero_eval.store.vote_rounds import table_of_votes
from hero_eval.web.jobs import Result, findings_document, told_of
from hero_eval.web.measuring import measure
from hero_eval.web.process import Tell, is_about_memory

MOST_SHOWN = 20
SAMPLE = 8


def preview(tell: Tell, store: str, file: str, about: Mapping[str, Any], most: int) -> Result:
    """What the file holds, what adding it would do, and all that stands in the way. Nothing is written."""
    place = Path(file)
    tell("Reading the file", 0, 0)
    problems: list[Problem] = []
    export: Export | None = None
    added: Added | None = None
    try:
        measure(place, most)
        export = None if _is_of_votes(place, about) else _export(place, about)
    except HeroError as error:
        if is_about_memory(error):
            raise
        if not _may_be_late(error):
            problems += error.problems
    if not problems:
        tell("Checking it against the store", 0, 0)
        try:
            added = _add(store, place, export, about, dry_run=True)
        except HeroError as error:
            if is_about_memory(error):
                raise
            problems += error.problems
    document = {
        "file": place.name,
        "bytes": place.stat().st_size,
        "holds": None if export is None else _holds(export),
        "would": None if added is None else _would(added),
        "problems": [{"code": one.code, "message": _without(place, one.message)} for one in problems],
        "ready": added is not None,
    }
    return Result(dict(plain(document)))


def add(tell: Tell, store: str, file: str, about: Mapping[str, Any], most: int) -> Result:
    """Into the store, by one commit. It is measured again: nobody need have looked at the preview."""
    place = Path(file)
    try:
        tell("Reading the file", 0, 0)
        measure(place, most)
        try:
            export = None if _is_of_votes(place, about) else _export(place, about)
        except HeroError as error:
            if not _may_be_late(error):
                raise
            export = None
        tell("Writing the store", 0, 0)
        added = _add(store, place, export, about, dry_run=False)
    except HeroError as error:
        found = [Problem(one.code, _without(place, one.message)) for one in error.problems]
        raise InputError(found) from error
    return Result(dict(plain(_would(added))))


def _is_of_votes(place: Path, about: Mapping[str, Any]) -> bool:
    """Side-by-side votes would else be taken for labels; what a tool exported is read as its export."""
    if about.get("tool") is not None or is_json_lines(place):
        return False
    return table_of_votes(place, about.get("columns") or None) is not None


def _export(place: Path, about: Mapping[str, Any]) -> Export:
    return read_export(
        place,
        tool=about.get("tool"),
        fields=about.get("fields") or (),
        columns=about.get("columns") or None,
        provider=about.get("provider"),
        item=about.get("item"),
        labeler_columns=about.get("labeler_columns") or None,
    )


def _may_be_late(error: HeroError) -> bool:
    """A file that is nobody's export may be late gold: a plain table without labels."""
    return error.code == "E120"


def _add(store: str, place: Path, export: Export | None, about: Mapping[str, Any], *, dry_run: bool) -> Added:
    options: dict[str, Any] = {
        key: about.get(key) for key in ("question", "model", "date", "gold_source", "classes", "positive")
    }
    options["model"] = options["model"] or about.get("provider")
    data: Any = place
    if export is not None:
        data, options["labelers"] = export.sources(), export.labelers
    else:
        options["columns"] = about.get("columns") or None
    return hero.open_store(store).add(
        data,
        round=str(about.get("round") or ""),
        experts=tuple(about.get("experts") or ()),
        origin=place.name,
        dry_run=dry_run,
        **options,
    )


def _holds(export: Export) -> dict[str, Any]:
    rows = export.labels.slice(0, SAMPLE).to_pylist()
    return {
        "tool": export.tool,
        "why": export.why,
        "items": export.n_items,
        "labels": export.n_labels,
        "gold": export.n_gold,
        "labelers": _some(export.labeler_names),
        "n_labelers": len(export.labeler_names),
        "answers": _some(export.answers),
        "n_answers": len(export.answers),
        "answers_in_words": export.answers_in_words,
        "columns": _some(export.columns),
        "dropped": [{"reason": reason, "count": count} for reason, count in export.dropped.items()],
        "left_out": [{"reason": why, "columns": _some(names)} for why, names in export.left_out.items()],
        "sample": [{key: str(row[key]) for key in ("item", "labeler", "label")} for row in rows],
    }


def _some(names: Sequence[str]) -> list[str]:
    return list(names[:MOST_SHOWN])


def _would(added: Added) -> dict[str, Any]:
    entry = added.entry
    return {
        "round": entry.round,
        "question": entry.question,
        "model": entry.model,
        "date": None if entry.date is None else entry.date.isoformat(),
        "merged": added.merged,
        "items": added.items,
        "labels": added.labels,
        "gold": added.gold,
        "then": {"items": entry.items, "labels": entry.labels, "gold": entry.gold, "labelers": entry.labelers},
        "findings": findings_document(told_of(added.findings)),
    }


def _without(place: Path, message: str) -> str:
    """The server's folders concern nobody."""
    return message.replace(f"{place.parent}/", "").replace(str(place.parent), "the upload")
