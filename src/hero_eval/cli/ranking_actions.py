"""What the commands that rank models do: read, ask the library, show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hero_eval as hero
from hero_eval.cli import ranking_views
from hero_eval.cli.actions import options_of
from hero_eval.cli.blocks import Line, Page, remarks
from hero_eval.cli.inputs import Data, read_rounds
from hero_eval.cli.json_output import show_json
from hero_eval.cli.option_groups import Estimating
from hero_eval.cli.problems import Problems
from hero_eval.cli.progress import activity
from hero_eval.cli.render import show
from hero_eval.errors import unwritable, wrong
from hero_eval.name_lists import MAPPED, chosen_values, mapping, names, split

if TYPE_CHECKING:
    from hero_eval.store.past_rounds import History


@dataclass(frozen=True)
class StoredModels:
    """Which rounds of a store are ranked, and which are their history."""

    store: str
    question: str | None
    models: tuple[str, ...]
    since: str | None
    before: str | None
    movement: bool = False


@dataclass(frozen=True)
class StoredVotes:
    """Which votes of a store are ranked, and which teach how labelers err."""

    store: str
    question: str | None
    round: str | None
    together: bool
    history: History
    saved: bool
    movement: bool = False


@dataclass(frozen=True)
class VoteReading:
    """How tables of votes are read."""

    column: list[str] | None
    map: str | None
    covariates: str | None
    engine: str | None
    memory_limit: str | None
    where: list[str] | None = None


@dataclass(frozen=True)
class NextBattles:
    """Which pairs to ask for, if any."""

    count: int | None
    top: int | None
    pair: str | None

    def check(self) -> None:
        pair = names("--pair", self.pair)
        if self.count is None and (self.top is not None or pair is not None):
            raise wrong("E204", "--top and --pair say what --next is for: give --next N too")

    def chosen(self, result: hero.Leaderboard) -> list[hero.Battle] | None:
        if self.count is None:
            return None
        return result.next_battles(self.count, top=self.top, pair=names("--pair", self.pair))


@dataclass(frozen=True)
class Files:
    """Where a ranking is written beside the screen, if anywhere."""

    csv: Path | None
    report: Path | None

    def check(self) -> None:
        """What would stop the report is found before the estimate takes its time."""
        if self.report is not None:
            from hero_eval.report.html import checked_place, environment

            checked_place(self.report)
            environment()


def rank(data: Data, how: Estimating, asked: Mapping[str, Any], files: Files, *, as_json: bool) -> None:
    files.check()
    with activity() as doing:
        rounds = read_rounds(data, doing, how.problems())
        doing.say("Estimating")
        options = options_of(rounds, how, doing) | {"positive": rounds.positive}
        named = dict(zip(names_of(data.currents, [one.name for one in rounds.currents]), rounds.currents, strict=True))
        if len(named) < len(rounds.currents):
            raise wrong("E230", "a round is named twice. Name one round for each model")
        result = hero.rank(named, rounds.history, **asked, **options)
    _show(result, files, as_json=as_json)


def names_of(paths: Sequence[Path], called: Sequence[str]) -> list[str]:
    """The names of the rounds, or their paths where two have the same name."""
    return list(called) if len(set(called)) == len(called) else [str(path) for path in paths]


def rank_stored(
    data: Data, how: Estimating, asked: Mapping[str, Any], chosen: StoredModels, files: Files, *, as_json: bool
) -> None:
    from hero_eval.store.past_rounds import History, common_past, newest_of_models

    files.check()
    problems = how.problems()
    if data.reading.column:
        problems.errors.append(wrong("E204", "--column has no effect on rounds of the store."))
    problems.raise_any()
    with activity() as doing:
        doing.say(f"Reading {chosen.store}")
        store = hero.open_store(chosen.store)
        log = store.log()
        rows = newest_of_models(log, chosen.question, chosen.models)
        if len(rows) < 2:
            known = ", ".join(row.model or "" for row in rows) or "none"
            raise wrong("E230", f"rounds of {known} alone are there to rank. Say the model of rounds: hero add --model")
        history = History(since=chosen.since, before=chosen.before, rounds=tuple(map(str, data.history)))
        past, _ = common_past(log, [row.round for row in rows], history)
        classes, positive = split("--classes", data.reading.classes), names("--positive", data.positive)
        single = positive[0] if positive is not None and len(positive) == 1 else None
        rounds = {str(row.model): store.read(row, positive=single, classes=classes) for row in rows}
        before = store.read_all(past, classes=classes) or None
        doing.say("Estimating")
        options = how.arguments() | {
            "covariates": names("--covariates", data.covariates),
            "text": data.text,
            "progress": doing.step,
            "positive": None if single is not None else positive,
        }
        result = hero.rank(rounds, before, **asked, **options)
        moved = None
        if chosen.movement:
            from hero_eval.store.movements import movement_of_rates

            moved = movement_of_rates(
                store,
                log,
                rows,
                {**asked, **options},
                positive=single,
                classes=classes,
                say=lambda text, *_: doing.say(text),
            )
    told = {"rounds": {row.model: row.round for row in rows}, "history": [row.round for row in past]}
    _show(result, files, as_json=as_json, made_from={**told, "store_version": log.version}, moved=moved)


def _show(
    result: hero.Ranking,
    files: Files,
    *,
    as_json: bool,
    made_from: Mapping[str, Any] | None = None,
    moved: hero.Movement | None = None,
) -> None:
    tail: Page = []
    if files.csv is not None:
        write_csv(result.columns(), files.csv)
        tail.append(Line(f"Table: {files.csv}", whole=True))
    if files.report is not None:
        tail.append(Line(f"Report: {_reported(result, files.report, made_from or {}, moved)}", whole=True))
    if as_json:
        show_json(result.to_dict() | ({"made_from": made_from} if made_from else {}) | _moved_document(moved))
        return
    tail[:0] = ranking_views.movement(moved)
    if made_from:
        tail.append(Line(f"History: {', '.join(made_from['history']) or 'none'}."))
    show([*ranking_views.ranking(result), *tail])


def _moved_document(moved: hero.Movement | None) -> dict[str, Any]:
    return {} if moved is None else {"movement": moved.to_dict()}


def _moved_charts(moved: hero.Movement | None) -> dict[str, Any]:
    from hero_eval import charts

    if moved is None or len(moved.rounds) < 2:
        return {}
    return {"movement": charts.movement(moved), "rank_movement": charts.rank_movement(moved)}


def _reported(
    result: hero.Ranking, place: Path, made_from: Mapping[str, Any], moved: hero.Movement | None = None
) -> Path:
    from hero_eval.report.html import write_ranking
    from hero_eval.report.ranking_report import report_of_ranking

    facts = []
    if made_from:
        facts = [
            ("store", f"version {made_from['store_version']}"),
            ("rounds", ", ".join(f"{model}: {name}" for model, name in made_from["rounds"].items())),
            ("history", ", ".join(made_from["history"]) or "none"),
        ]
    more = _moved_charts(moved)
    return write_ranking(report_of_ranking(result, made_from=facts, more_charts=more), place)


def write_csv(columns: Mapping[str, Sequence[Any]], file: Path) -> None:
    import csv

    try:
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    except OSError as error:
        raise unwritable(str(file), error) from error


def arena(
    votes: Path,
    history: Sequence[Path],
    reading: VoteReading,
    asked: Mapping[str, Any],
    battles: NextBattles,
    files: Files,
    *,
    as_json: bool,
) -> None:
    problems = Problems()
    problems.attempt(files.check)
    where = problems.attempt(lambda: chosen_values("--where", reading.where))
    columns = problems.attempt(lambda: mapping("--column is", reading.column or ()))
    answers = problems.attempt(lambda: mapping("--map is", split("--map", reading.map) or (), MAPPED) or None)
    chosen = problems.attempt(lambda: names("--covariates", reading.covariates))
    problems.attempt(battles.check)
    problems.raise_any()
    common: dict[str, Any] = {"columns": columns, "map": answers}
    with activity() as doing:
        doing.say(f"Reading {votes}")
        engine: dict[str, Any] = {"engine": reading.engine, "memory_limit": reading.memory_limit}
        current = problems.attempt(lambda: hero.read_votes(votes, covariates=chosen, where=where, **common, **engine))
        past = [problems.attempt(partial(_past_votes, path, common)) for path in history]
        problems.raise_any()
        doing.say("Ranking")
        result = hero.rank_votes(current, [one for one in past if one is not None], progress=doing.step, **asked)
        wanted = battles.chosen(result)
    _show_leaderboard(result, wanted, files, as_json=as_json)


def arena_stored(
    chosen: StoredVotes,
    reading: VoteReading,
    asked: Mapping[str, Any],
    battles: NextBattles,
    files: Files,
    *,
    as_json: bool,
) -> None:
    from hero_eval.store.estimates import asked_of, looks_before, looks_finding, make, save
    from hero_eval.store.past_rounds import newest_votes

    problems = Problems()
    problems.attempt(files.check)
    where = problems.attempt(lambda: chosen_values("--where", reading.where))
    covariates = problems.attempt(lambda: names("--covariates", reading.covariates))
    problems.attempt(battles.check)
    for name in ("column", "map", "engine", "memory_limit"):
        if getattr(reading, name) is not None:
            option = name.replace("_", "-")
            problems.errors.append(wrong("E204", f"--{option} has no effect on votes of the store, read when added"))
    problems.raise_any()
    with activity() as doing:
        doing.say(f"Reading {chosen.store}")
        store = hero.open_store(chosen.store)
        entry = newest_votes(store.log(), chosen.question, chosen.round)
        options = {**asked, "covariates": covariates, "where": where, "history": chosen.history}
        options |= {"together": True} if chosen.together else {}
        recorded = make(store, asked_of("arena", entry.round, options), doing.step)
        wanted = battles.chosen(recorded.result)
        moved = None
        if chosen.movement:
            from hero_eval.store.movements import movement_of_votes

            how = {key: value for key, value in asked.items() if key != "reference"}  # which a round may lack
            moved = movement_of_votes(
                store,
                store.log(),
                entry,
                how,
                where=where,
                covariates=covariates,
                say=lambda text, *_: doing.say(text),
            )
    looked = looks_finding(looks_before(store, recorded), "influence")
    if chosen.saved:
        save(store, recorded)
    made_from = dict(recorded.document["made_from"]) | {"saved": chosen.saved}
    _show_leaderboard(recorded.result, wanted, files, as_json=as_json, made_from=made_from, looked=looked, moved=moved)


def _show_leaderboard(
    result: hero.Leaderboard,
    wanted: Sequence[Any] | None,
    files: Files,
    *,
    as_json: bool,
    made_from: Mapping[str, Any] | None = None,
    looked: hero.Finding | None = None,
    moved: hero.Movement | None = None,
) -> None:
    tail: Page = [*ranking_views.movement(moved), *remarks([looked] if looked is not None else [])]
    if files.csv is not None:
        write_csv(result.columns(), files.csv)
        tail.append(Line(f"Table: {files.csv}", whole=True))
    if files.report is not None:
        from hero_eval.report.arena_report import report_of_leaderboard
        from hero_eval.report.html import write_ranking

        more = _moved_charts(moved)
        report = report_of_leaderboard(result, made_from=_facts_of(made_from), more_charts=more)
        place = write_ranking(report, files.report)
        tail.append(Line(f"Report: {place}", whole=True))
    if as_json:
        listed = {"next_battles": [asdict(one) for one in wanted]} if wanted is not None else {}
        told = {} if looked is None else {"looks": looked.to_dict()}
        told |= _moved_document(moved)
        show_json(result.to_dict() | listed | ({"made_from": made_from} if made_from else {}) | told)
        return
    if made_from:
        past = ", ".join(made_from["history"]) or "none"
        version = made_from["store_version"]
        tail.append(Line(f"Votes of {made_from['round']}; before it: {past} (store version {version})."))
        if made_from["saved"]:
            tail.append(Line(f"Recorded: hero reproduce {made_from['estimate']}", whole=True))
    show([*ranking_views.leaderboard(result, wanted), *tail])


def _facts_of(made_from: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if not made_from:
        return []
    return [
        ("store", f"version {made_from['store_version']}"),
        ("votes", f"round {made_from['round']}, question {made_from['question']}"),
        ("before it", ", ".join(made_from["history"]) or "none"),
        *([("again", f"hero reproduce {made_from['estimate']}")] if made_from["saved"] else []),
    ]


def _past_votes(path: Path, common: Mapping[str, Any]) -> hero.Votes | hero.Round:
    """A table of past votes; a folder with labels is a round."""
    from hero_eval.io.files import beside

    if beside(path, "labels") is not None:
        return hero.read_round(path, columns=common["columns"], map=common["map"])
    return hero.read_votes(path, **common)
