"""What the commands of the store show, as pages of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from hero_eval import phrasing
from hero_eval.cli.blocks import Column, Facts, Heading, Line, Page, Table, remarks
from hero_eval.io.values import listed

LONGEST_NAME = 40

if TYPE_CHECKING:
    from hero_eval.io.exports.imports import Export
    from hero_eval.labelers.over_time import OverTime
    from hero_eval.store.adding import Added
    from hero_eval.store.compacting import Compacted
    from hero_eval.store.log import Entry
    from hero_eval.store.soundness import Soundness


def made(path: str, given: str) -> Page:
    return [
        Line(f"Made an empty store: {path}", whole=True),
        Line(f"Add a round: hero add PATH --round NAME --store {quote(given)}", whole=True),
    ]


def added(result: Added) -> Page:
    entry = result.entry
    model = f", model {entry.model}" if entry.model else ""
    if not result.written:
        return [Line(f"Round {entry.round!r} had all of this already; nothing was added.")]
    verb = "Added to" if result.merged else "Added"
    came = _amounts(result.items, result.labels, result.gold, entry)
    if result.merged:
        came = came.replace(" item", " new item", 1) + f"; {phrasing.count(result.changed, 'item')} changed"
    now = f" It now has {_amounts(entry.items, entry.labels, entry.gold, entry)}." if result.merged else ""
    title = f"{verb} round {entry.round!r} (question {entry.question}{model}, {_when(entry)}): {came}.{now}"
    return [Line(title, strong=True), *remarks(result.findings)]


def would_add(result: Added, *, named: bool) -> Page:
    """What a dry run found: the same that adding would say."""
    came = _amounts(result.items, result.labels, result.gold, result.entry)
    if not named:
        return [Line(f"It would add {came}.", strong=True), *remarks(result.findings)]
    where = f"to round {result.entry.round!r}" if result.merged else f"round {result.entry.round!r}"
    return [Line(f"It would add {where}: {came}.", strong=True), *remarks(result.findings)]


def _when(entry: Entry) -> str:
    """The date, and where it is from if nobody gave it."""
    if entry.date is None:
        return "date unknown"
    return f"{entry.date} by its name" if entry.bound.dated == "name" else f"{entry.date}"


def _amounts(items: int, labels: int, gold: int, of: Entry) -> str:
    what = "label" if of.vote_facts is None else "vote"
    models = (
        "" if of.vote_facts is None or not labels else f" on {phrasing.count(len(of.vote_facts['models']), 'model')}"
    )
    return f"{phrasing.count(items, 'item')}, {phrasing.count(labels, what)}{models}, {gold:,} gold"


def removed(entry: Entry, path: str) -> Page:
    return [
        Line(f"Removed round {entry.round!r} ({_amounts(entry.items, entry.labels, entry.gold, entry)}).", strong=True),
        Line(f"Its data stay. Bring it back: hero restore {quote(entry.round)} --store {quote(path)}", whole=True),
    ]


def restored(entry: Entry) -> Page:
    amounts = _amounts(entry.items, entry.labels, entry.gold, entry)
    return [Line(f"Round {entry.round!r} is back: {amounts}.", strong=True)]


def rounds(rows: Sequence[Entry], path: str, *, removed: bool) -> Page:
    if not rows:
        what = "No round is removed." if removed else f"No rounds yet: hero add PATH --round NAME --store {quote(path)}"
        return [Line(what)]
    telling = {
        "round": True,
        "question": len({row.question for row in rows}) > 1,
        "model": any(row.model for row in rows),
    }
    kinds = len({row.is_votes for row in rows}) > 1
    all_votes = bool(rows) and all(row.is_votes for row in rows)
    names = [name for name, tells in telling.items() if tells]
    columns = [
        *(Column(name, "left", cut=True) for name in names),
        Column("date", "left"),
        *([Column("holds", "left")] if kinds else []),
        *(Column(name) for name in ("items", "votes" if all_votes else "labels", "gold", "labelers")),
    ]
    cells = [
        [
            *(getattr(row, name) or "–" for name in names),
            "unknown" if row.date is None else str(row.date),
            *(["votes" if row.is_votes else "labels"] if kinds else []),
            *(_amount(count) for count in (row.items, row.labels, row.gold, row.labelers)),
        ]
        for row in rows
    ]
    return [Table(columns, cells)]


def _amount(count: int) -> str:
    """A count in seven letters at the most."""
    return f"{count:,}" if count < 1_000_000 else f"{count / 1e6:,.1f}M"


def soundness(found: Soundness) -> Page:
    """What is whole; the problems come on stderr."""
    state = "is whole" if found.is_whole else f"is not whole: {phrasing.count(len(found.problems), 'problem')}"
    facts = [
        ("version", "not known" if found.version is None else f"{found.version}"),
        ("whole rounds", f"{len(found.whole):,}"),
        ("damaged rounds", ", ".join(map(repr, found.damaged)) or "none"),
        ("estimates", f"{found.estimates:,}"),
    ]
    page: Page = [Line(f"Store {found.store} {state}.", strong=True, whole=True), Facts(facts)]
    if found.unbound:
        page.append(
            Line(
                f"Recorded by an earlier hero-eval without digests, so that only counts could be checked: "
                f"{listed(found.unbound)}."
            )
        )
    return page + [Line(f"Note: {note}.") for note in found.notes]


def compacted(done: Compacted) -> Page:
    size = f"{done.bytes_before / 1e6:,.1f} MB are {done.bytes / 1e6:,.1f} MB"
    page: Page = [Line(f"{done.files_before:,} files are now {done.files:,}, {size}.", strong=True)]
    if done.left:
        page.append(Line(f"Somebody else was at {', '.join(done.left)} at the same moment; left as it is."))
    return page


def store(found: Mapping[str, Any]) -> Page:
    facts = [
        ("version", f"{found['version']}"),
        ("rounds", f"{found['rounds']:,}"),
        ("questions", ", ".join(found["questions"]) or "none"),
        *((name, f"{found[name]:,}") for name in ("items", "labels", "gold")),
    ]
    page: Page = [Line(f"Store {found['store']}", strong=True, whole=True), Facts(facts)]
    return page + _changes(found["changes"][-20:]) + _estimates(found["estimates"][-20:])


def round_page(found: Mapping[str, Any]) -> Page:
    votes = found["holds"] == "votes"
    facts = [
        ("question", found["question"]),
        ("models", ", ".join(found["models"])) if votes else ("model", found["model"] or "–"),
        ("date", _date_of(found)),
        ("items", f"{found['items']:,}"),
        ("votes" if votes else "labels", f"{found['labels']:,}"),
        ("gold", f"{found['gold']:,}"),
        ("columns", ", ".join(found["columns"]) or "none") if votes else ("classes", _classes_of(found)),
        ("history", ", ".join(found["history"]) or "none"),
        ("came from", found["source"] or "–"),
    ]
    page: Page = [Line(f"Round {found['round']!r}", strong=True), Facts(facts)]
    people = found["labeler_identities"]
    if people:
        fields = [name for name in ("kind", "model", "prompt", "vendor", "group") if any(row[name] for row in people)]
        columns = [Column("labeler", "left", cut=True), *(Column(name, "left", cut=True) for name in fields)]
        page.append(Table(columns, [[row["labeler"], *(row[name] or "–" for name in fields)] for row in people]))
    return page + _changes(found["changes"]) + _estimates(found["estimates"])


def _classes_of(found: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, found["classes"])) if found["classes"] else "as seen"


def _date_of(found: Mapping[str, Any]) -> str:
    if found["date"] is None:
        return "unknown; it counts as of the day on which it was added"
    return f"{found['date']} (by its name)" if found["date_from"] == "name" else f"{found['date']}"


def _changes(rows: Sequence[Mapping[str, Any]]) -> Page:
    if not rows:
        return []
    columns = [
        Column("version"),
        Column("change", "left"),
        Column("round", "left", cut=True),
        Column("labels"),
        Column("gold"),
        Column("written", "left"),
    ]
    cells = [
        [str(row["version"]), row["action"], row["round"], f"{row['labels']:,}", f"{row['gold']:,}", row["written"]]
        for row in rows
    ]
    return [Heading("Changes"), Table(columns, cells)]


def _estimates(rows: Sequence[Mapping[str, Any]]) -> Page:
    if not rows:
        return []
    columns = [Column(name, "left", cut=name == "round") for name in ("estimate", "command", "round")]
    columns += [Column("value"), Column("interval", "left"), Column("written", "left")]
    cells = [
        [
            row["estimate"][:_SHORT_ID],
            row["command"],
            row["round"],
            phrasing.UNKNOWN if row["value"] is None else phrasing.number(row["value"]),
            row["note"] if row["low"] is None else phrasing.span(row["low"], row["high"]),
            row["written"][:10],
        ]
        for row in rows
    ]
    return [Heading("Estimates"), Table(columns, cells), Line("Make one again: hero reproduce ESTIMATE")]


_SHORT_ID = 10
"""Letters of an estimate's id: its start is enough to name it."""


def what_came(export: Export, provider: str | None = None) -> Page:
    """What an export holds, of one provider if it has several, and what of it is left out."""
    facts = [
        ("tool", f"{export.tool} ({export.why})"),
        ("items", f"{export.n_items:,}"),
        ("labels", f"{export.n_labels:,}"),
        ("labelers", f"{len(export.labeler_names)}: {listed([_short(name) for name in export.labeler_names])}"),
        ("answers", export.answers_in_words),
        ("gold", f"{export.n_gold:,}"),
        ("columns", ", ".join(export.columns) or "none"),
        ("dropped", "; ".join(f"{count:,}: {reason}" for reason, count in export.dropped.items()) or "nothing"),
        *([("left out", "; ".join(what_is_left_out(export)))] if export.left_out else []),
    ]
    head = export.origin if provider is None else f"{export.origin}, provider {provider}"
    return [Line(head, strong=True, whole=True), Facts(facts)]


def what_is_left_out(export: Export) -> list[str]:
    """What the file says of items that the round will not hold, with the reason."""
    return [f"{listed([_short(name) for name in names])}: {why}" for why, names in export.left_out.items()]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def nothing_changed() -> Line:
    return Line("Nothing was changed. Import it: leave --dry-run out and name the --round.")


def over_time(result: OverTime) -> Page:
    """One table for each share: a row for each labeler and round."""
    page: Page = []
    level = phrasing.percent(result.level)
    for what in dict.fromkeys(point.what for point in result.points):
        own = [point for point in result.points if point.what == what]
        who = sorted({point.labeler for point in own})
        rows = [point for name in who for point in own if point.labeler == name]
        drifting = {one.labeler for one in result.drifts if one.what == what and one.drifts}
        columns = [
            Column("labeler", "left", cut=True),
            Column("round", "left", cut=True),
            Column("labels"),
            Column("gold"),
            Column(what),
            Column(f"{level} interval", "left"),
            Column("", "left"),
        ]
        cells, breaks, last = [], set(), None
        for position, point in enumerate(rows):
            if point.labeler != last:
                breaks.add(position)
            cells.append(
                [
                    "" if point.labeler == last else point.labeler,
                    point.round,
                    f"{point.labels:,}",
                    f"{point.gold:,}",
                    phrasing.number(point.value, 2),
                    phrasing.span(point.low, point.high, 2) if point.low == point.low else "not known at a bound",
                    "drifts" if point.labeler in drifting and point.labeler != last else "",
                ]
            )
            last = point.labeler
        page += [Heading(what), Table(columns, cells, frozenset(breaks))]
    if result.skipped:
        page.append(Facts([(name, f"left out: {reason}") for name, reason in result.skipped.items()]))
    if not result.findings:
        page.append(Line("Nobody drifts, as far as the gold tells."))
    return page + remarks(result.findings)
