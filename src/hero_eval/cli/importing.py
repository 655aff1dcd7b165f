"""What `hero import` does: read a tool's file, look or add, and show both what it holds and what became of it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval.cli import store_views
from hero_eval.cli.json_output import show_json
from hero_eval.cli.progress import activity
from hero_eval.cli.render import show
from hero_eval.cli.store_actions import added_document
from hero_eval.documents import SCHEMA_VERSION
from hero_eval.errors import HeroError, wrong
from hero_eval.name_lists import mapping, split

if TYPE_CHECKING:
    from hero_eval.cli.option_groups import AboutRound
    from hero_eval.io.exports.imports import Export
    from hero_eval.store.adding import Added

_NO_ROUND = "round"
"""The name under which a file is tried when nobody named a round."""


@dataclass(frozen=True)
class HowToImport:
    """What is said of the file."""

    tool: str | None = None
    fields: tuple[str, ...] = ()
    labeler_columns: str | None = None
    dry_run: bool = False
    item: str | None = None
    provider: str | None = None
    criterion: str | None = None


@dataclass(frozen=True)
class _Part:
    """What becomes one round: the whole file, or the results of one of its models."""

    how: HowToImport
    round: str | None
    about: AboutRound
    export: Export

    def add_to(self, store: hero.Store, file: Path, *, dry_run: bool) -> Added:
        arguments = self.about.arguments() | {"columns": None, "criterion": None, "origin": str(file)}
        if arguments["labelers"] is None and self.export.labelers is not None:
            arguments["labelers"] = self.export.labelers
        return store.add(self.export.sources(), round=self.round or _NO_ROUND, dry_run=dry_run, **arguments)


def import_file(
    path: str, file: Path, how: HowToImport, round: str | None, about: AboutRound, *, as_json: bool
) -> None:
    """Add what a file holds; results of several models become a round for each, all of them or none."""
    if round is None and not how.dry_run:
        raise wrong("E206", "no --round is named. Name it, or look first: --dry-run")
    with activity() as doing:
        doing.say(f"Reading {file}")
        parts = _parts(file, how, round, about)
        if how.dry_run:
            came = [_tried(path, part, file) for part in parts]
        else:
            store = hero.open_store(path)
            doing.say(f"Writing {path}")
            for part in parts if len(parts) > 1 else ():
                part.add_to(store, file, dry_run=True)  # what stands in the way of one stops all
            came = [part.add_to(store, file, dry_run=False) for part in parts]
    show_json(_document(parts, came)) if as_json else show(_pages(parts, came))


def _parts(file: Path, how: HowToImport, round: str | None, about: AboutRound) -> list[_Part]:
    from hero_eval.io.exports.providers import providers_in

    models = providers_in(file) if how.provider is None and how.tool in (None, "promptfoo") else []
    if len(models) < 2:
        about = about if about.model is not None else replace(about, model=how.provider)
        return [_Part(how, round, about, _read(file, how, about))]
    parts = []
    for model in models:
        named = None if round is None else f"{round}-{re.sub(r'[^A-Za-z0-9._-]+', '-', model)}"
        said = about if about.model is not None else replace(about, model=model)
        one = replace(how, provider=model)
        parts.append(_Part(one, named, said, _read(file, one, said)))
    return parts


def _read(file: Path, how: HowToImport, about: AboutRound) -> Export:
    from hero_eval.io.exports.imports import read_export
    from hero_eval.io.exports.vote_exports import is_json_lines
    from hero_eval.store.vote_rounds import table_of_votes

    columns = mapping("--column is", about.column or ())
    if how.tool is None and not is_json_lines(file) and table_of_votes(file, columns):
        raise wrong("E529", f"{file} holds side-by-side votes, not labels. Add them: hero add {file} --round NAME")
    return read_export(
        file,
        tool=how.tool,
        fields=how.fields,
        labeler_columns=split("--labeler-columns", how.labeler_columns),
        columns=columns,
        criterion=how.criterion,
        item=how.item,
        provider=how.provider,
    )


def _tried(path: str, part: _Part, file: Path) -> Added:
    """What adding it would do: in the store, or in an empty one if no round is named or there is no store yet."""
    store = None if part.round is None else _store_if_there(path)
    if store is not None:
        return part.add_to(store, file, dry_run=True)
    with tempfile.TemporaryDirectory() as folder:
        made = part.add_to(hero.create_store(Path(folder, "store")), file, dry_run=True)
    if part.round is not None:
        return made
    return replace(made, findings=tuple(one for one in made.findings if one.code != "F804"))


def _store_if_there(path: str) -> hero.Store | None:
    try:
        store = hero.open_store(path)
        store.log()
    except HeroError as error:
        if error.code == "E401":
            return None
        raise
    return store


def _document(parts: Sequence[_Part], came: Sequence[Added]) -> dict[str, Any]:
    """One document, of several rounds a list."""
    made = []
    for part, added in zip(parts, came, strict=True):
        document = {"import": part.export.to_dict(), **added_document(added)}
        if part.how.dry_run:
            document["would_add"] = document.pop("added")
            document["dry_run"] = True
            if part.round is None:
                del document["round"]
        made.append(document)
    return {"schema_version": SCHEMA_VERSION, **(made[0] if len(made) == 1 else {"rounds": made})}


def _pages(parts: Sequence[_Part], came: Sequence[Added]) -> Any:
    page: list[Any] = []
    for part, added in zip(parts, came, strict=True):
        page += store_views.what_came(part.export, part.how.provider)
        if not part.how.dry_run:
            page += store_views.added(added)
        else:
            page += store_views.would_add(added, named=part.round is not None)
    if parts[0].how.dry_run:
        page.append(store_views.nothing_changed())
    return page
