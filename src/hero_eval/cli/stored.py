"""Estimates of rounds in the store: the same questions as of files, recorded so that they can be made again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval.cli import views as pages
from hero_eval.cli.blocks import Line, Page
from hero_eval.cli.inputs import Data, names, split
from hero_eval.cli.progress import activity
from hero_eval.cli.render import show, show_json
from hero_eval.errors import wrong
from hero_eval.findings import name_some

if TYPE_CHECKING:
    from hero_eval.cli.actions import Ask
    from hero_eval.gates import Gate
    from hero_eval.store.estimates import Recorded


@dataclass(frozen=True)
class FromStore:
    """Which round of which store, with which history."""

    store: str
    round: str | None = None
    question: str | None = None
    models: tuple[str, ...] = ()
    since: str | None = None
    before: str | None = None
    save: bool = True

    def asked(self, path: Path | None) -> bool:
        """Whether the round is one of the store; E206 or E204 if nothing or too much was named."""
        if path is not None and self.round is not None:
            raise wrong("E204", f"both {path} and --round {self.round} are named. Name files, or a round of the store.")
        if path is None and self.round is None:
            raise wrong(
                "E206", "no round is named. Give CURRENT, a folder or a file, or a round of the store: --round NAME"
            )
        chosen = self.question or self.models or self.since or self.before
        if path is not None and chosen:
            raise wrong(
                "E204", "--from-question, --from-model, --since and --before need a round of the store: --round"
            )
        return path is None

    def history(self, data: Data) -> hero.History:
        """The choice of past rounds; --history names rounds of the store here."""
        named = tuple(str(path) for path in data.history)
        if named and (self.question or self.models or self.since or self.before):
            raise wrong(
                "E204", "--history names the past rounds, so nothing is left to choose by question, model or date."
            )
        return hero.History(self.question, self.models, self.since, self.before, named)


def estimate(
    command: str,
    stored: FromStore,
    data: Data,
    ask: Ask,
    gate: Gate,
    *,
    as_json: bool,
    other: str | None = None,
    **extra: Any,
) -> None:
    """Ask the store, record, show, let the gate decide. A number that could not be recorded is shown all the same."""
    from hero_eval.cli.actions import enforce, refuse_for_all_methods
    from hero_eval.store.estimates import save

    problems = ask.problems()
    if command == "compare" and other is None:
        problems.attempt(lambda: refuse_for_all_methods(ask, gate))
    problems.raise_any()
    store, recorded = ask_store(command, stored, data, ask, other, **extra)
    try:
        if stored.save:
            save(store, recorded)
    except hero.HeroError:
        show_recorded(recorded, as_json=as_json, saved=False, gate=gate)
        raise
    show_recorded(recorded, as_json=as_json, saved=stored.save, gate=gate)
    enforce(gate, _numbers(recorded.result))


_KEPT = (
    "--missing has no effect on rounds of the store, whose answers are kept as they were added: give it to hero add."
)


def ask_store(
    command: str, stored: FromStore, data: Data, ask: Ask, other: str | None = None, **extra: Any
) -> tuple[hero.Store, Recorded]:
    """The answer of the store to a command, not yet recorded."""
    from hero_eval.store.estimates import asked_of, make

    assert stored.round is not None
    if data.columns:
        raise wrong("E204", "--column has no effect on a round of the store, whose columns have our names already.")
    if data.where.missing is not None:
        raise wrong("E204", _KEPT)
    options = ask.arguments() | {
        "classes": split(data.classes),
        "positive": names("--positive", data.positive),
        "covariates": names("--covariates", data.covariates),
        "text": data.text,
        "history": stored.history(data),
        "other": other,
        **extra,
    }
    if command == "compare" and other is None:
        options.pop("method")
    with activity() as doing:
        doing.say(f"Reading {stored.store}")
        store = hero.open_store(stored.store)
        return store, make(store, asked_of(command, stored.round, options), doing.step)


def show_recorded(recorded: Recorded, *, as_json: bool, saved: bool, gate: Gate | None = None) -> None:
    """The gate is no part of what is recorded: it is asked of a number, and may be asked anew."""
    from hero_eval.cli.actions import with_gate

    if as_json:
        document = recorded.document
        show_json(document if gate is None else with_gate(document, gate, _numbers(recorded.result)))
        return
    past = ", ".join(recorded.history) or "none"
    tail = [Line(f"History: {past} (store version {recorded.store_version}).")]
    if recorded.undated:
        tail.append(
            Line(
                f"No date is known of {name_some(list(recorded.undated))}: they count as of the day on which they were "
                "added. Say it: hero add --round NAME --date DATE"
            )
        )
    if recorded.unbound:
        tail.append(
            Line(
                f"{name_some(list(recorded.unbound))} were recorded by an earlier hero-eval without digests: their "
                "counts were checked, their contents cannot be."
            )
        )
    if saved:
        tail.append(Line(f"Recorded: hero reproduce {recorded.estimate}", whole=True))
    show([*page_of(recorded), *tail])


def page_of(recorded: Recorded) -> Page:
    """The page of whatever was asked."""
    result, asked = recorded.result, recorded.asked
    if isinstance(result, hero.GroupedEstimates):
        return pages.family(result)
    if isinstance(result, hero.Moderation):
        return pages.moderation(result)
    if isinstance(result, hero.Comparison):
        return pages.methods_of_round(result)
    return pages.difference(result, asked.round, asked.other) if asked.other else pages.estimate(result)


def _numbers(result: Any) -> list[hero.Estimate]:
    """The numbers that a gate looks at."""
    if isinstance(result, hero.GroupedEstimates):
        return list(result.values())
    return [result] if isinstance(result, hero.Estimate) else []


def _past_rounds(chosen: FromStore, data: Data) -> list[hero.Round]:
    """Files that were named, or the rounds of the store that fit, oldest first."""
    from hero_eval.cli.inputs import read_rounds

    with activity() as doing:
        if data.history:
            return list(read_rounds(data, doing).history or ())
        if data.where.missing is not None:
            raise wrong("E204", _KEPT)
        store = _store_instead_of_files(chosen.store)
        doing.say(f"Reading {chosen.store}")
        return store.read_all(_fitting(store, chosen), positive=data.positive, classes=split(data.classes))


def _store_instead_of_files(path: str) -> hero.Store:
    """The store; if there is none, files may have been meant."""
    try:
        return hero.open_store(path)
    except hero.InputError as error:
        if error.code != "E401":
            raise
        raise wrong("E401", f"{error.problems[0].message}. Or name past rounds: hero labelers HISTORY") from error


def _fitting(store: hero.Store, chosen: FromStore) -> list[Any]:
    rows = store.rounds()
    questions = sorted({row.question for row in rows})
    if chosen.question is None and len(questions) > 1:
        raise wrong("E206", f"the store holds the questions {', '.join(questions)}. Say which: --question")
    if chosen.question is not None and chosen.question not in questions:
        raise wrong("E201", f"--question is {chosen.question!r}. The store holds: {', '.join(questions) or 'no round'}")
    choice = hero.History(models=chosen.models, since=chosen.since, before=chosen.before)
    fitting = [row for row in rows if chosen.question in (None, row.question) and choice.fits(row)]
    if not fitting:
        raise wrong("E403", f"{store.path} has no round that fits. See what is there: hero rounds")
    return fitting


def labelers(chosen: FromStore, data: Data, *, as_json: bool) -> None:
    """How reliable each labeler is, learned from all rounds of the store that fit."""
    from hero_eval.cli.actions import show_labelers

    past = _past_rounds(chosen, data)
    with activity() as doing:
        doing.say("Learning from history")
        result = hero.fit_reliability(past, progress=doing.step)
    show_labelers(result, as_json=as_json)


def labelers_over_time(chosen: FromStore, data: Data, level: float, *, as_json: bool) -> None:
    """Each round by itself, and who drifts."""
    from hero_eval.cli import store_views as store_pages
    from hero_eval.documents import SCHEMA_VERSION
    from hero_eval.estimate import check_level
    from hero_eval.labelers.over_time import reliability_over_time

    check_level(level)
    past = _past_rounds(chosen, data)
    with activity() as doing:
        doing.say("Learning from each round")
        result = reliability_over_time(past, level)
    if not as_json:
        show(store_pages.over_time(result))
        return
    show_json(
        {
            "schema_version": SCHEMA_VERSION,
            "target": "labelers over time",
            "level": level,
            "labelers": result.to_frame("pyarrow").to_pylist(),
            "drift": [vars(one) | {"drifts": one.drifts} for one in result.drifts],
            "skipped": dict(result.skipped),
            "findings": [finding.to_dict() for finding in result.findings],
        }
    )
