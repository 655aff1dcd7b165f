"""Everything that is shown, as a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from hero_eval.charts.theme import csv_text
from hero_eval.documents import json_text, plain
from hero_eval.errors import wrong
from hero_eval.web import api
from hero_eval.web.layout import Level, Name, Question
from hero_eval.web.leaderboard_pages import BEST
from hero_eval.web.queue import Order
from hero_eval.web.service import RankingOptions, RoundOptions
from hero_eval.web.snapshot import Snapshot

router = APIRouter(include_in_schema=False)


@router.get("/download")
def download(
    request: Request,
    of: Annotated[str, Query(max_length=20)],
    file: Annotated[str, Query(max_length=100)],
    name: Name = "",
    question: Question = None,
    round: Annotated[list[str], Query(max_length=12)] = [],  # noqa: B006
    baseline: Annotated[str | None, Query(max_length=200)] = None,
    method: str = "",
    covariates: str = "",
    level: Level = 0.95,
    positive: str = "",
    cluster: str = "",
    better: Annotated[str, Query(max_length=10)] = "",
    until: Annotated[str, Query(max_length=20)] = "",
    by: Annotated[str, Query(max_length=10)] = "",
    column: Annotated[str, Query(max_length=200)] = "",
    value: Annotated[str, Query(max_length=500)] = "",
    movement: Annotated[str, Query(max_length=1)] = "",
) -> Response:
    """A file of something that is shown; back to its page if it is not worked out yet."""
    service = api.service_of(request)
    now = service.latest.now()
    if of == "rounds":
        return _attachment(file, _rounds_file(now, file), "rounds")
    order: Order
    if of == "round":
        choice = RoundOptions.written(method, covariates, level, positive, cluster)
        order, back, stem = service.round_order(now, name, choice), "/round", name
    elif of == "models":
        choice = RoundOptions(level=level, positive=positive or None, cluster=cluster or None)
        order, _ = service.models_order(now, api.compared(now, question, round), baseline, choice)
        back, stem = "/models", "models"
    elif of == "leaderboard":
        best = BEST.get(better, "highest")
        ranking = RankingOptions.written(best, until, level, positive, by, column, value, movement)
        order = service.leaderboard_order(now, api.needed_question(now, question), ranking)
        back, stem = "/leaderboard", of
    elif of in ("labelers", "backtest"):
        about = api.needed_question(now, question)
        order, back, stem = service.labelers_order(now, about, level), f"/{of}", of
        if of == "backtest":
            order = service.backtest_order(now, about, level, positive or None)
    else:
        raise wrong("E507", f"there is nothing called {of!r} to download")
    answer = service.look(order)
    answer.raise_failure()
    if not answer.is_there:
        kept = [(key, value) for key, value in request.query_params.multi_items() if key not in ("of", "file")]
        return RedirectResponse(f"{back}?{urlencode(kept)}", 303)
    files = {**answer.result.files, f"{of}.json": json_text(answer.result.document) + "\n"}
    if file not in files:
        raise wrong("E507", f"there is no file {file[:60]!r}. There are: {', '.join(sorted(files))}")
    return _attachment(file, files[file], stem)


def _rounds_file(now: Snapshot, file: str) -> str:
    rows = [plain(_flat(api.round_document(now, row))) for row in now.rounds()]
    if file == "rounds.json":
        return json_text({"store_version": now.version, "rounds": rows}) + "\n"
    if file == "rounds.csv":
        return csv_text({key: [row[key] for row in rows] for key in rows[0]}) if rows else "\n"
    raise wrong("E507", f"there is no file {file[:60]!r}. There are: rounds.csv, rounds.json")


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    headline = row["headline"] or {}
    kept = {key: of for key, of in row.items() if key != "headline"}
    return kept | {"date": str(row["date"])} | {key: headline.get(key) for key in ("value", "low", "high", "method")}


MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
}


def _attachment(file: str, text: str, stem: str) -> Response:
    """To be saved, not opened here; and if it is opened here, it may do nothing."""
    plain_stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.")[:80] or "hero"
    base, dot, ending = file.rpartition(".")
    called = file if base == plain_stem else f"{plain_stem}-{file}"
    headers = {
        "Content-Disposition": f'attachment; filename="{called}"',
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    }
    return Response(text, media_type=MEDIA[f"{dot}{ending}"], headers=headers)
