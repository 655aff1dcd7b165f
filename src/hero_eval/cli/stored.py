"""Estimates of rounds in the store: the same questions as of files, recorded so that they can be made again."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval.cli import views
from hero_eval.cli.blocks import Line, Page, remarks
from hero_eval.cli.inputs import Data
from hero_eval.cli.json_output import show_json
from hero_eval.cli.progress import activity
from hero_eval.cli.render import show
from hero_eval.errors import unsupported, wrong
from hero_eval.findings import name_some
from hero_eval.name_lists import names, split
from hero_eval.targets.moderation_groups import GroupedModeration

if TYPE_CHECKING:
    from hero_eval.cli.inputs import Rounds
    from hero_eval.cli.option_groups import CurrentInStore, Estimating, FromStore
    from hero_eval.findings import Finding
    from hero_eval.gates import Gate
    from hero_eval.store.estimates import Recorded


def estimate(
    command: str,
    round: str,
    stored: FromStore,
    data: Data,
    how: Estimating,
    gate: Gate,
    *,
    as_json: bool,
    other: str | None = None,
    gate_on: str = "prevalence",
    **extra: Any,
) -> None:
    """Ask the store, record, show, let the gate decide. A number that could not be recorded is shown all the same."""
    from hero_eval.cli.actions import UNKNOWN_BY_ALL, enforce, refuse_for_all_methods, tells_something
    from hero_eval.store.estimates import looks_before, looks_finding, save

    problems = how.problems()
    if command == "compare" and other is None:
        problems.attempt(lambda: refuse_for_all_methods(how, gate))
    problems.raise_any()
    store, recorded = ask_store(command, round, stored, data, how, other, **extra)
    told = looks_finding(looks_before(store, recorded), getattr(recorded.result, "interval_kind", "influence"))
    try:
        if not stored.no_save:
            save(store, recorded)
    except hero.HeroError:
        show_recorded(recorded, as_json=as_json, saved=False, gate=gate, gate_on=gate_on, looked=told)
        raise
    show_recorded(recorded, as_json=as_json, saved=not stored.no_save, gate=gate, gate_on=gate_on, looked=told)
    enforce(gate, _numbers(recorded.result, gate_on))
    if isinstance(recorded.result, hero.Comparison) and not tells_something(recorded.result):
        raise unsupported("E209", UNKNOWN_BY_ALL)


_KEPT = (
    "--missing has no effect on rounds of the store, whose answers are kept as they were added: give it to hero add."
)


def _refuse_reading(data: Data) -> None:
    """What would be read otherwise in files has been read when the round was added."""
    said = (
        ("--missing", data.reading.missing),
        ("--map", data.reading.map),
        ("--label-kind", data.reading.label_kind),
        ("--labelers", data.reading.labelers),
        ("--exclude-labelers", data.reading.exclude_labelers),
        ("--criterion", data.reading.criterion),
        ("--expert", data.reading.expert),
    )
    for name, value in said:
        if value is not None:
            raise wrong("E204", _KEPT.replace("--missing", name))


def ask_store(
    command: str,
    round: str,
    stored: FromStore,
    data: Data,
    how: Estimating,
    other: str | None = None,
    **extra: Any,
) -> tuple[hero.Store, Recorded]:
    """The answer of the store to a command, not yet recorded."""
    from hero_eval.store.estimates import asked_of, make
    from hero_eval.store.folding import fold_all

    if data.reading.column:
        raise wrong("E204", "--column has no effect on a round of the store, whose columns have our names already.")
    _refuse_reading(data)
    options = how.arguments() | {
        "classes": split("--classes", data.reading.classes),
        "positive": names("--positive", data.positive),
        "covariates": names("--covariates", data.covariates),
        "text": data.text,
        "history": stored.history(tuple(map(str, data.history))),
        "other": other,
        **({} if data.at_least is None else {"at_least": data.at_least}),
        **({} if how.shrinkage is None else {"shrinkage": how.shrinkage}),
        **extra,
    }
    if command == "compare" and other is None:
        options.pop("method")
    with activity() as doing:
        doing.say(f"Reading {stored.store}")
        store = hero.open_store(stored.store)
        fold_all(store)  # what experts have answered on the page meanwhile counts
        return store, make(store, asked_of(command, round, options), doing.step)


def show_recorded(
    recorded: Recorded,
    *,
    as_json: bool,
    saved: bool,
    gate: Gate | None = None,
    gate_on: str = "prevalence",
    looked: Finding | None = None,
) -> None:
    """Gate and looks are no part of what is recorded: they are of the asking, which may be done anew."""
    from hero_eval.cli.actions import with_gate

    if as_json:
        document = dict(recorded.document) | ({} if looked is None else {"looks": looked.to_dict()})
        show_json(document if gate is None else with_gate(document, gate, _numbers(recorded.result, gate_on)))
        return
    past = ", ".join(recorded.history) or "none"
    tail: Page = [*remarks([looked] if looked is not None else [])]
    tail.append(Line(f"History: {past} (store version {recorded.store_version})."))
    if recorded.undated:
        several = len(recorded.undated) > 1
        it, was = ("they count", "they were") if several else ("it counts", "it was")
        which = "NAME" if several else shlex.quote(recorded.undated[0])
        tail.append(
            Line(
                f"No date is known of {name_some(list(recorded.undated))}: {it} as of the day on which {was} added. "
                f"Say it: hero add --round {which} --date DATE"
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
        return views.family(result)
    if isinstance(result, hero.Moderation):
        return views.moderation(result)
    if isinstance(result, GroupedModeration):
        return views.moderation_family(result)
    if isinstance(result, hero.Comparison):
        return views.methods_of_round(result)
    return views.difference(result, asked.round, asked.other) if asked.other else views.estimate(result)


def _numbers(result: Any, gate_on: str) -> list[hero.Estimate]:
    """The numbers that a gate looks at."""
    if isinstance(result, hero.Moderation):
        return [result[gate_on]]
    if isinstance(result, GroupedModeration):
        return [one[gate_on] for one in result.values()]
    if isinstance(result, hero.GroupedEstimates):
        return list(result.values())
    return [result] if isinstance(result, hero.Estimate) else []


def past_rounds(chosen: FromStore, data: Data, files: str = "hero labelers HISTORY") -> list[hero.Round]:
    """Files that were named, or the rounds of the store that fit, oldest first."""
    from hero_eval.cli.inputs import read_rounds

    with activity() as doing:
        if data.history:
            return list(read_rounds(data, doing).history or ())
        _refuse_reading(data)
        store = _store_instead_of_files(chosen.store, files)
        doing.say(f"Reading {chosen.store}")
        return store.read_all(
            _fitting(store, chosen), positive=data.positive, classes=split("--classes", data.reading.classes)
        )


def _store_instead_of_files(path: str, files: str) -> hero.Store:
    """The store; if there is none, files may have been meant."""
    try:
        return hero.open_store(path)
    except hero.InputError as error:
        if error.code != "E401":
            raise
        raise wrong("E401", f"{error.problems[0].message}. Or name files: {files}") from error


def _fitting(store: hero.Store, chosen: FromStore) -> list[Any]:
    rows, question = [row for row in store.rounds() if not row.is_votes], chosen.from_question
    questions = sorted({row.question for row in rows})
    if question is None and len(questions) > 1:
        raise wrong("E206", f"the store holds the questions {', '.join(questions)}. Say which: --question")
    if question is not None and question not in questions:
        raise wrong("E201", f"--question is {question!r}. The store holds: {', '.join(questions) or 'no round'}")
    choice = chosen.history()
    fitting = [row for row in rows if question in (None, row.question) and choice.fits(row)]
    if not fitting:
        raise wrong("E403", f"{store.path} has no round that fits. See what is there: hero rounds")
    return fitting


def round_and_history(chosen: CurrentInStore, data: Data, files: str) -> Rounds:
    """A round of the store, by name or the newest of its question, with the rounds before it as history."""
    from hero_eval.cli.inputs import Rounds
    from hero_eval.cli.option_groups import FromStore
    from hero_eval.store.folding import fold_all
    from hero_eval.store.past_rounds import History

    if data.reading.column:
        raise wrong("E204", "--column has no effect on a round of the store, whose columns have our names already.")
    _refuse_reading(data)
    positive, classes = names("--positive", data.positive), split("--classes", data.reading.classes)
    single = positive[0] if positive is not None and len(positive) == 1 else None
    store = _store_instead_of_files(chosen.store, files)
    fold_all(store)  # what experts have answered on the page meanwhile counts
    entry = store.find(chosen.round) if chosen.round else _fitting(store, FromStore(chosen.question))[-1]
    if chosen.question not in (None, entry.question):
        raise wrong("E201", f"--question is {chosen.question!r}, but round {entry.round!r} is of {entry.question!r}")
    if entry.is_votes:
        raise wrong(
            "E529", f"round {entry.round!r} holds side-by-side votes. Which pairs to compare next: hero arena --next"
        )
    past = store.history_of(entry.round, History(rounds=tuple(map(str, data.history))))
    current = store.read(entry, positive=single, classes=classes)
    history = tuple(store.read_all(past, classes=classes))
    return Rounds((current,), history or None, None, None, None if single is not None else positive)


def votes_meant(chosen: CurrentInStore) -> tuple[hero.Store, str] | None:
    """The store and the name of the round, if that holds votes; None for labels."""
    from hero_eval.store.folding import fold_answers

    if chosen.round is None and chosen.question is None:
        return None
    store = _store_instead_of_files(chosen.store, "hero next CURRENT --history PATH")
    rows = [row for row in store.rounds() if row.question == chosen.question]
    entry = store.find(chosen.round) if chosen.round else rows[-1] if rows else None
    if entry is None or not entry.is_votes or chosen.question not in (None, entry.question):
        return None
    fold_answers(store, entry.round)
    return store, entry.round


def backtest(chosen: FromStore, data: Data, how: Estimating, methods: list[str] | None, shape: str) -> None:
    """Each round of the store that fits in turn as the current one."""
    from hero_eval.cli.actions import play
    from hero_eval.cli.inputs import Rounds

    how.problems().raise_any()
    positive, covariates = names("--positive", data.positive), names("--covariates", data.covariates)
    single = data.positive if positive is not None and len(positive) == 1 else None
    past = past_rounds(chosen, replace(data, positive=single), "hero backtest PATH")
    rounds = Rounds((), tuple(past), covariates, data.text, None if single is not None else positive)
    play(rounds, how, methods, shape)


def labelers(chosen: FromStore, data: Data, *, as_json: bool) -> None:
    """How reliable each labeler is, learned from all rounds of the store that fit."""
    from hero_eval.cli.actions import show_labelers

    past = past_rounds(chosen, data)
    with activity() as doing:
        doing.say("Learning from history")
        result = hero.fit_reliability(past, progress=doing.step)
    show_labelers(result, as_json=as_json)


def labelers_over_time(chosen: FromStore, data: Data, level: float, *, as_json: bool) -> None:
    """Each round by itself, and who drifts."""
    from hero_eval.cli import store_views
    from hero_eval.documents import SCHEMA_VERSION
    from hero_eval.estimate import check_level
    from hero_eval.labelers.over_time import reliability_over_time

    check_level(level)
    past = past_rounds(chosen, data)
    with activity() as doing:
        doing.say("Learning from each round")
        result = reliability_over_time(past, level)
    if not as_json:
        show(store_views.over_time(result))
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
