"""The leaderboard: the newest round of each model of a question, ranked together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import hero_eval as hero
from hero_eval.charts.theme import csv_text
from hero_eval.documents import plain
from hero_eval.report.ranking_report import report_of_ranking
from hero_eval.store.log import Entry
from hero_eval.store.past_rounds import common_past
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
) -> Result:
    """One round for each model, by `hero.rank` and the past rounds that all of them share."""
    opened = hero.open_store(store, version=version)
    log = opened.log()
    entries = [log.find(name) for name in rounds]
    past, is_apart = common_past(log, rounds)
    read = read_all(opened, tell, [*entries, *past])
    result = hero.rank(
        {str(row.model): read[row.round] for row in entries},
        [read[row.round] for row in past] or None,
        best=best,
        level=level,
        positive=positive,
        progress=steps(tell, "Ranking"),
    )
    tell("Drawing", 0, 0)
    report = report_of_ranking(result, f"Leaderboard of {question}")
    whole, of = result.to_dict(), {str(row.model): row for row in entries}
    document: dict[str, Any] = {
        "question": question,
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


def _placed(row: Mapping[str, Any], of: Entry) -> dict[str, Any]:
    """A model's row with the round behind it."""
    return {**row, "round": of.round, "date": None if of.date is None else of.date.isoformat()}
