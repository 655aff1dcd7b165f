"""What the commands of the store do: ask the library, show."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval.cli import store_views
from hero_eval.cli.json_output import show_json
from hero_eval.cli.progress import activity
from hero_eval.cli.render import show
from hero_eval.documents import SCHEMA_VERSION

if TYPE_CHECKING:
    from hero_eval.cli.option_groups import AboutRound
    from hero_eval.store.adding import Added
    from hero_eval.store.log import Entry


def init(path: str, *, as_json: bool) -> None:
    store = hero.create_store(path)
    if as_json:
        show_json({"schema_version": SCHEMA_VERSION, "store": store.path, "version": 0})
    else:
        show(store_views.made(store.path, path))


def add(path: str, data: Path | None, round: str, about: AboutRound, *, as_json: bool) -> None:
    with activity() as doing:
        doing.say(f"Reading {data or about.gold or path}")
        added = hero.open_store(path).add(data, round=round, **about.arguments())
    _show_added(added, as_json=as_json)


def _show_added(added: Added, *, as_json: bool) -> None:
    if as_json:
        show_json({"schema_version": SCHEMA_VERSION, **added_document(added)})
    else:
        show(store_views.added(added))


def added_document(added: Added) -> dict[str, Any]:
    """What came into the store, as JSON."""
    return {
        "added": {"items": added.items, "labels": added.labels, "gold": added.gold},
        "merged": added.merged,
        "changed": added.changed,
        "round": added.entry.to_dict(),
        "findings": [finding.to_dict() for finding in added.findings],
    }


def rounds(path: str, question: str | None, *, removed: bool, as_json: bool) -> None:
    store = hero.open_store(path)
    log = store.log()
    rows = [row for row in log.last().values() if row.removed == removed and question in (None, row.question)]
    if as_json:
        listed = [row.to_dict() for row in rows]
        show_json({"schema_version": SCHEMA_VERSION, "store": store.path, "version": log.version, "rounds": listed})
    else:
        show(store_views.rounds(rows, path, removed=removed))


def show_round(path: str, name: str | None, *, as_json: bool) -> None:
    store = hero.open_store(path)
    if name is None:
        found = _store_facts(store)
        show_json(found) if as_json else show(store_views.store(found))
        return
    from hero_eval.store.vote_rounds import vote_columns

    log = store.log()
    entry = log.find(name)
    found = {
        "schema_version": SCHEMA_VERSION,
        **entry.to_dict(),
        "classes": list(entry.classes) if entry.classes else None,
        "positive": entry.positive,
        **({"columns": vote_columns(entry)} if entry.is_votes else {}),
        "history": [row.round for row in store.history_of(name)],
        "labeler_identities": [row for row in store.labelers() if row["round"] == name],
        "changes": [_change(row) for row in log.rows if row.round == name],
        "estimates": [_estimate(row) for row in store.estimates() if row["round"] == name],
    }
    show_json(found) if as_json else show(store_views.round_page(found))


def _store_facts(store: hero.Store) -> dict[str, Any]:
    log = store.log()
    live = list(log.live().values())
    return {
        "schema_version": SCHEMA_VERSION,
        "store": store.path,
        "version": log.version,
        "rounds": len(live),
        "questions": sorted({row.question for row in live}),
        "items": sum(row.items for row in live),
        "labels": sum(row.labels for row in live),
        "gold": sum(row.gold for row in live),
        "changes": [_change(row) for row in log.rows],
        "estimates": [_estimate(row) for row in store.estimates()],
    }


def _change(row: Entry) -> dict[str, Any]:
    when = row.written.isoformat(timespec="seconds") if row.written else None
    kept = {"round": row.round, "labels": row.labels, "gold": row.gold, "package": row.package}
    return {"version": row.version, "action": row.action, "written": when, **kept}


def _estimate(row: dict[str, Any]) -> dict[str, Any]:
    keys = ("estimate", "command", "round", "store_version", "package")
    written = row["written"].isoformat(timespec="seconds")
    return {key: row[key] for key in keys} | {"written": written} | _answer_of(json.loads(row["document"]))


def _answer_of(document: dict[str, Any]) -> dict[str, Any]:
    """The number and the interval that were recorded; of several numbers how many there are."""
    one = document.get("prevalence", document)
    interval = one.get("interval") or {}
    low, high = interval.get("low"), interval.get("high")
    several = document.get("groups") or document.get("methods") or ()
    note = f"{len(several)} numbers" if several else ""
    return {"what": one.get("what"), "value": one.get("value"), "low": low, "high": high, "note": note}


def remove(path: str, name: str, *, as_json: bool) -> None:
    entry = hero.open_store(path).remove(name)
    _show_change(entry, store_views.removed(entry, path), as_json=as_json)


def restore(path: str, name: str, *, as_json: bool) -> None:
    entry = hero.open_store(path).restore(name)
    _show_change(entry, store_views.restored(entry), as_json=as_json)


def _show_change(entry: Entry, page: Any, *, as_json: bool) -> None:
    show_json(
        {"schema_version": SCHEMA_VERSION, "action": entry.action, "round": entry.to_dict()}
    ) if as_json else show(page)


def reproduce(path: str, estimate: str) -> None:
    from hero_eval.store.estimates import reproduce as again

    with activity() as doing:
        doing.say(f"Making {estimate} again")
        made = again(hero.open_store(path), estimate, doing.step)
    show_json(made.document)
    if sys.stderr.isatty():
        from hero_eval.cli.exit_codes import say

        say(f"Estimate {made.estimate} came out the same, byte for byte.")


def check(path: str, *, as_json: bool) -> None:
    with activity() as doing:
        doing.say(f"Reading {path}")
        found = hero.open_store(path).check()
    if as_json:
        show_json({"schema_version": SCHEMA_VERSION, **found.to_dict()})
    else:
        show(store_views.soundness(found))
    found.raise_any()


def compact(path: str, *, as_json: bool) -> None:
    with activity() as doing:
        doing.say(f"Putting {path} together")
        done = hero.open_store(path).compact()
    if as_json:
        show_json({"schema_version": SCHEMA_VERSION, "store": path, **vars(done), "left": list(done.left)})
    else:
        show(store_views.compacted(done))


def serve(
    path: str,
    *,
    host: str,
    port: int,
    token: str | None,
    max_upload: int,
    processes: int,
    max_memory: int,
    max_seconds: int,
    public_url: str | None,
    proxy_headers: str | None,
    gold_token: str | None,
    images: str | None,
    saves: bool,
) -> None:
    from hero_eval.cli.exit_codes import say
    from hero_eval.web.serving import serve as run
    from hero_eval.web.settings import MEGABYTE, Settings

    settings = Settings(
        path,
        host,
        port,
        token or None,
        max_upload * MEGABYTE,
        processes,
        save=saves,
        memory=max_memory * MEGABYTE,
        seconds=float(max_seconds),
        public_url=public_url,
        proxies=tuple(one.strip() for one in (proxy_headers or "").split(",") if one.strip()),
        gold_token=gold_token or None,
        images=images,
    )
    run(settings, lambda address: say(f"Serving {path} at {address} (Ctrl+C stops it)", whole=True))


def mcp(path: str, *, write: bool) -> None:
    from hero_eval.integrations.mcp_server import make_server

    make_server(path, write=write).run()
