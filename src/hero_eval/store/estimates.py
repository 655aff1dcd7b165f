"""Estimates that a store remembers: from which version, by which options, and with which result, byte by byte."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hero_eval import __version__
from hero_eval.documents import json_text, plain
from hero_eval.errors import wrong
from hero_eval.estimation.keywords import RateOptions
from hero_eval.findings import Finding, name_some
from hero_eval.model.history import Progress
from hero_eval.round import Round
from hero_eval.store import commits, delta
from hero_eval.store.log import Entry
from hero_eval.store.past_rounds import History, common_past
from hero_eval.store.reading import ReadableStore, refuse_old_version
from hero_eval.store.receipts import hand_out, receipts
from hero_eval.store.schemas import schema
from hero_eval.targets.moderation_groups import moderation_by

COMMANDS = ("estimate", "compare", "winrate", "moderation", "arena")

_READING = ("classes", "positive")
"""Options that say how to read the rounds."""


class StoredOptions(RateOptions, total=False):
    """The options of `Store.estimate`: those of the commands, and which rounds to take and how to read them."""

    history: History | None
    other: str | None
    classes: Sequence[str] | None
    by: str | None
    shrinkage: float | None
    flag: str
    ties: str
    a: str | None
    b: str | None
    tie: str | None
    reference: str | None
    correction: str
    where: Mapping[str, Any] | None
    together: bool


@dataclass(frozen=True)
class StoredQuestion:
    """A question to the store: what `reproduce` needs to ask again."""

    command: str
    round: str
    other: str | None
    """The second round of a comparison."""
    history: History
    options: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        chosen = {key: value for key, value in asdict(self.history).items() if value}
        given = {key: value for key, value in sorted(self.options.items()) if value is not None}
        out = {"command": self.command, "round": self.round, "other": self.other, "history": chosen, "options": given}
        return dict(plain(out))

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> StoredQuestion:
        chosen: dict[str, Any] = {
            key: tuple(of) if isinstance(of, list) else of for key, of in saved["history"].items()
        }
        return cls(saved["command"], saved["round"], saved["other"], History(**chosen), saved["options"])


@dataclass(frozen=True)
class Recorded:
    """An estimate made from the store. `text` is the JSON document that is saved and that `reproduce` gives again."""

    estimate: str
    """The id under which it is saved: the same for the same question to the same version."""
    asked: StoredQuestion
    store_version: int
    question: str
    history: tuple[str, ...]
    result: Any
    """An `Estimate`, `GroupedEstimates`, `Comparison`, `Moderation`, `GroupedModeration` or `Leaderboard`."""
    document: Mapping[str, Any]
    text: str
    undated: tuple[str, ...] = ()
    """Rounds of it whose date is not known, so that their place in time is that of their adding."""
    unbound: tuple[str, ...] = ()
    """Rounds of it that an earlier hero-eval recorded without digests: only their counts could be checked."""


def make_and_save(store: ReadableStore, round: str, command: str, options: Mapping[str, Any]) -> Recorded:
    recorded = make(store, asked_of(command, round, options), options.get("progress"))
    save(store, recorded)
    return recorded


def asked_of(command: str, round: str, options: Mapping[str, Any]) -> StoredQuestion:
    """The question in the arguments of a call."""
    if command not in COMMANDS:
        raise wrong("E201", f"command is {command!r}. Known: {', '.join(COMMANDS)}")
    rest = {key: value for key, value in options.items() if key not in ("progress", "history", "other")}
    chosen = options.get("history") or History()
    if not isinstance(chosen, History):
        raise wrong("E201", f"history is {chosen!r}. It is a History: hero_eval.History(models=('v6',))")
    return StoredQuestion(command, round, options.get("other"), chosen, rest)


def make(
    store: ReadableStore, asked: StoredQuestion, progress: Progress | None = None, version: int | None = None
) -> Recorded:
    """The answer from the store as it is, or as it was at a version."""
    log = store.log()
    then = ReadableStore(store.place, log.version if version is None else version)
    current = then.find(asked.round)
    if current.is_votes != (asked.command == "arena"):
        raise wrong("E529", _other_kind(current, asked.command))
    past = then.history_of(asked.round, asked.history)
    if asked.other is not None:  # a round that is compared is no history of its own
        past, _ = common_past(then.log(), (asked.round, asked.other), asked.history)
    result = _answer(then, asked, current, past, progress)
    told = {
        "store_version": then.version,
        "round": asked.round,
        **({"other": asked.other} if asked.other else {}),
        "question": current.question,
        "history": [row.round for row in past],
        "options": asked.to_dict()["options"],
        "seed": asked.options.get("seed") or 0,  # what None means to the bootstrap
        "package": __version__,
    }
    used = [current, *past, *([then.find(asked.other)] if asked.other else [])]
    undated = tuple(row.round for row in used if row.date is None)
    if undated:
        told["undated"] = list(undated)
    told["estimate"] = _id(asked, told)
    document = {**result.to_dict(), "made_from": told}
    return Recorded(
        told["estimate"],
        asked,
        then.version,
        current.question,
        tuple(row.round for row in past),
        result,
        document,
        json_text(document),
        undated,
        tuple(row.round for row in used if not row.is_bound),
    )


def _other_kind(current: Entry, command: str) -> str:
    if current.is_votes:
        return f"round {current.round!r} holds side-by-side votes, and {command} needs labels. Rank it: hero arena"
    return f"round {current.round!r} holds labels, not votes. Estimate it: hero estimate --round {current.round}"


def _arena(
    then: ReadableStore, asked: StoredQuestion, current: Entry, past: Sequence[Entry], progress: Progress | None
) -> Any:
    """Votes of the round, or of it and all before it together; the gold of those before teaches in either case."""
    import hero_eval as hero

    options = {key: value for key, value in asked.options.items() if value is not None}
    reading = {key: options.pop(key, None) for key in ("covariates", "where")}
    if options.pop("together", False):
        return hero.rank_votes(then.read_votes([*past, current], **reading), None, progress=progress, **options)
    history = [then.read_votes([row]) for row in past if row.gold]
    return hero.rank_votes(then.read_votes([current], **reading), history or None, progress=progress, **options)


def _id(asked: StoredQuestion, told: Mapping[str, Any]) -> str:
    text = json.dumps([asked.to_dict(), plain(told)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _answer(
    then: ReadableStore, asked: StoredQuestion, current: Entry, past: Sequence[Entry], progress: Progress | None
) -> Any:
    import hero_eval as hero

    if asked.command == "arena":
        return _arena(then, asked, current, past, progress)
    options = {key: value for key, value in asked.options.items() if key not in _READING and value is not None}
    classes, positive = asked.options.get("classes"), asked.options.get("positive")
    several = isinstance(positive, list | tuple) and len(positive) > 1
    single = positive[0] if isinstance(positive, list | tuple) and not several else positive

    def read(entry: Entry, of: Any = None) -> Round:
        return then.read(entry, positive=of, classes=classes)

    here = read(current, None if several else single)
    history: Any = then.read_all(past, classes=classes) or None
    shrinkage = options.pop("shrinkage", None)
    if shrinkage is not None and history is not None:
        history = hero.fit_reliability(history, shrinkage=shrinkage, progress=progress)
    if several:
        options["positive"] = list(positive or ())
    options["progress"] = progress
    targets: dict[str, Callable[..., Any]] = {
        "estimate": hero.estimate_rate,
        "winrate": hero.estimate_win_rate,
        "moderation": hero.estimate_moderation if "by" not in options else moderation_by,
        "compare": hero.compare_methods,
    }
    if asked.other is not None:
        other = read(then.find(asked.other), None if several else single)
        return hero.estimate_difference(here, other, history, **options)
    return targets[asked.command](here, history, **options)


def looks_before(store: ReadableStore, recorded: Recorded) -> int:
    """At how many earlier states of the store the same was asked of this round."""
    asked = recorded.asked
    rows = _rows(store, ["command", "round", "store_version", "options"])
    same = [row for row in rows if (row["command"], row["round"]) == (asked.command, asked.round)]
    versions = {row["store_version"] for row in same if json.loads(row["options"]).get("other") == asked.other}
    return len(versions - {recorded.store_version})


def looks_finding(before: int, kind: str) -> Finding | None:
    """What is said of an interval for one look that was looked at before."""
    if before < 1 or kind == "anytime":
        return None
    message = (
        f"this round was estimated at {before} earlier state{'s' * (before > 1)} of the store: look {before + 1}; the "
        "interval holds for a single look, and whoever stops when it suits is wrong more often"
    )
    return Finding("F513", message, {"looks": before + 1})


def save(store: ReadableStore, recorded: Recorded) -> None:
    """Keep it, by one commit; the same one twice is kept once."""
    import pyarrow as pa

    refuse_old_version(store)
    if any(row["estimate"] == recorded.estimate for row in _rows(store, ["estimate"])):
        return
    row = {
        "estimate": recorded.estimate,
        "command": recorded.asked.command,
        "round": recorded.asked.round,
        "question": recorded.question,
        "store_version": recorded.store_version,
        "history": list(recorded.history),
        "options": json.dumps(recorded.asked.to_dict(), sort_keys=True, ensure_ascii=False),
        "package": __version__,
        "document": recorded.text,
        "written": datetime.datetime.now(datetime.UTC),
    }
    commits.append(store.place, "estimates", pa.Table.from_pylist([row], schema=schema("estimates")))
    hand_out(store.place, f"estimates-{recorded.estimate}", {"round": recorded.asked.round})
    commits.tidy(store.place, "estimates")


def _rows(store: ReadableStore, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    return delta.read_rows(store.place, "estimates", columns)


def listed_estimates(store: ReadableStore) -> list[dict[str, Any]]:
    """The recorded estimates, each once, oldest first."""
    acknowledged = receipts(store.place, "estimates")
    found: dict[str, dict[str, Any]] = {}
    for row in sorted(_rows(store), key=lambda one: one["written"]):
        found.setdefault(row["estimate"], row)
    lost = [one for one in acknowledged if one not in found]
    if lost:
        raise wrong(
            "E406",
            f"{store.path}: recorded estimates are lost: {name_some(lost)}. Files of the table estimates are missing. "
            f"{delta.BRING_BACK}",
        )
    return list(found.values())


def find(store: ReadableStore, estimate: str) -> dict[str, Any]:
    """The record of this id, or of the only id that starts so; E407 if there is none."""
    rows = listed_estimates(store)
    fitting = [row for row in rows if row["estimate"] == estimate] or [
        row for row in rows if estimate and row["estimate"].startswith(estimate)
    ]
    if len(fitting) != 1:
        last = [f"{row['estimate']} ({row['round']})" for row in rows[-8:]]
        there = f"The last ones are: {', '.join(last)}." if last else "It holds no estimate yet."
        many = "several estimates" if fitting else "no estimate"
        raise wrong("E407", f"the store has {many} whose id is or starts with {estimate!r}. {there}")
    return fitting[0]


def reproduce(store: ReadableStore, estimate: str, progress: Progress | None = None) -> Recorded:
    """Ask again as it was asked then, of the store as it was then; E408 with what differs."""
    row = find(store, estimate)
    try:
        asked = StoredQuestion.from_dict(json.loads(row["options"]))
    except (ValueError, KeyError, TypeError) as error:
        raise wrong("E406", f"{store.path}: the record of estimate {row['estimate']} is damaged ({error}).") from error
    again = make(store, asked, progress, version=row["store_version"])
    if again.text != row["document"]:
        differing = _differences(json.loads(row["document"]), plain(again.document))
        if not differing:  # what a later version tells besides was not recorded
            return replace(again, text=row["document"])
        by = (
            f" It was made by hero-eval {row['package']}, this is {__version__}."
            if row["package"] != __version__
            else ""
        )
        raise wrong(
            "E408",
            f"estimate {row['estimate']} came out differently in {name_some(differing, 6)}.{by} The record stays.",
        )
    return again


def _differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Where the second document tells something else than the first; what only the second tells is no difference."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [found for key in old for found in _differences(old[key], new.get(key), f"{path}.{key}".strip("."))]
    return [] if old == new else [path or "document"]
