"""The leaderboard: the newest round of each model of a question, ranked together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import hero_eval as hero
from hero_eval import charts
from hero_eval.charts.theme import Chart, csv_text
from hero_eval.documents import plain
from hero_eval.report.arena_report import report_of_leaderboard
from hero_eval.report.ranking_report import report_of_ranking
from hero_eval.store.log import Entry
from hero_eval.store.movements import movement_of_rates, movement_of_votes
from hero_eval.store.past_rounds import common_past, past_of
from hero_eval.web.jobs import Result, findings_document, pictures, read_all, steps
from hero_eval.web.process import Tell
from hero_eval.web.rendering import link, render


def leaderboard(
    tell: Tell,
    store: str,
    version: int,
    question: str,
    rounds: Sequence[str],
    skipped: Mapping[str, str],
    best: str,
    level: float,
    positive: str | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    movement: bool = False,
) -> Result:
    """One round for each model, by `hero.rank` and the past rounds that all of them share."""
    opened = hero.open_store(store, version=version)
    log = opened.log()
    entries = [log.find(name) for name in rounds]
    past, is_apart = common_past(log, rounds)
    read = read_all(opened, tell, [*entries, *past])
    asked: dict[str, Any] = {"best": best, "level": level, "positive": positive, "where": where}
    result = hero.rank(
        {str(row.model): read[row.round] for row in entries},
        [read[row.round] for row in past] or None,
        progress=steps(tell, "Ranking"),
        **asked,
    )
    moved = movement_of_rates(opened, log, entries, asked, say=tell) if movement else None
    tell("Drawing", 0, 0)
    report = report_of_ranking(result, f"Leaderboard of {question}", more_charts=moved_charts(moved))
    whole, of = result.to_dict(), {str(row.model): row for row in entries}
    document: dict[str, Any] = {
        "question": question,
        "by": "rates",
        "where": dict(where or {}),
        "store_version": version,
        **{key: whole[key] for key in ("what", "best", "level", "correction", "method", "why", "groups")},
        "answer": report.answer,
        "bounds": list(report.bounds),
        "history": [row.round for row in past],
        "history_is_apart": is_apart,
        "models": [_placed(row, of[row["model"]]) for row in whole["models"]],
        "differences": whole["differences"],
        "skipped": dict(skipped),
        "findings": findings_document(report.told),
        "charts": {name: chart.title for name, chart in report.charts.items()},
        "movement": moved_document(moved),
    }
    document = dict(plain(document))
    made_of = {name: {"round": row.round, "link": link("/round", name=row.round)} for name, row in of.items()}
    shown = render("parts/leaderboard.html", found=document, report=report, made_of=made_of)
    files = {
        "leaderboard.csv": csv_text({key: [row[key] for row in document["models"]] for key in document["models"][0]}),
        "differences.csv": csv_text(result.pair_columns()),
        **pictures(report.charts),
    }
    return Result(document, shown, files)


def vote_leaderboard(
    tell: Tell,
    store: str,
    version: int,
    question: str,
    round: str,
    level: float,
    where: Mapping[str, Sequence[str]] | None = None,
    movement: bool = False,
) -> Result:
    """The votes of a round, by `hero.rank_votes`; gold of the rounds of votes before it teaches how labelers err."""
    opened = hero.open_store(store, version=version)
    log = opened.log()
    current = log.find(round)
    past = past_of(log, round)
    tell("Reading the votes", 0, 0)
    history = [opened.read_votes([row]) for row in past if row.gold]
    votes = opened.read_votes([current], where=where)
    result = hero.rank_votes(votes, history or None, level=level, progress=steps(tell, "Ranking"))
    moved = movement_of_votes(opened, log, current, {"level": level}, where=where, say=tell) if movement else None
    tell("Drawing", 0, 0)
    report = report_of_leaderboard(result, f"Leaderboard of {question}", more_charts=moved_charts(moved))
    whole = result.to_dict()
    kept = ("level", "correction", "ties", "method", "reference", "n_votes", "n_items", "n_gold", "groups")
    document: dict[str, Any] = {
        "question": question,
        "by": "votes",
        "where": dict(where or {}),
        "store_version": version,
        "round": round,
        "date": None if current.date is None else current.date.isoformat(),
        **{key: whole[key] for key in kept},
        "answer": report.answer,
        "history": [row.round for row in past],
        **{key: whole[key] for key in ("models", "differences", "win_matrix", "labelers")},
        "next_battles": [asdict(one) for one in result.next_battles()] if result.state is not None else [],
        "findings": findings_document(report.told),
        "charts": {name: chart.title for name, chart in report.charts.items()},
        "movement": moved_document(moved),
    }
    document = dict(plain(document))
    shown = render("parts/vote_leaderboard.html", found=document, report=report, made_of={})
    wins = result.win_matrix("pyarrow").to_pydict()
    files = {
        "leaderboard.csv": csv_text(result.columns()),
        "differences.csv": csv_text(result.pair_columns()),
        "wins.csv": csv_text(wins),
        **pictures(report.charts),
    }
    return Result(document, shown, files)


def moved_charts(moved: hero.Movement | None) -> dict[str, Chart]:
    """Over one round nothing moves."""
    if moved is None or len(moved.rounds) < 2:
        return {}
    return {"movement": charts.movement(moved), "rank_movement": charts.rank_movement(moved)}


def moved_document(moved: hero.Movement | None) -> dict[str, Any] | None:
    if moved is None:
        return None
    return {key: of for key, of in moved.to_dict().items() if key in ("what", "rounds", "models", "skipped")}


def _placed(row: Mapping[str, Any], of: Entry) -> dict[str, Any]:
    """A model's row with the round behind it."""
    return {**row, "round": of.round, "date": None if of.date is None else of.date.isoformat()}
