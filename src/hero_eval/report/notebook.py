"""What a notebook shows of a result: the same parts, findings and remedies as a report, on a small page."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hero_eval import phrasing
from hero_eval.errors import InputError
from hero_eval.estimate import Estimate
from hero_eval.findings import Finding
from hero_eval.io.values import listed
from hero_eval.labelers.reliability import Reliability
from hero_eval.report.document import chances_of, labeler_rows, row_of, told_of
from hero_eval.report.html import environment
from hero_eval.round import Round
from hero_eval.targets.backtest import Backtest
from hero_eval.targets.comparison import Comparison
from hero_eval.targets.grouped import GroupedEstimates
from hero_eval.targets.item_calibration import ItemCalibration
from hero_eval.targets.leaderboard import Leaderboard
from hero_eval.targets.moderation import Moderation
from hero_eval.targets.ranking import Ranking
from hero_eval.votes import Votes

MOST_LABELERS = 30
"""Rows of the table of labelers: what one looks at in passing."""

Page = dict[str, Any]


def shown(result: object) -> str:
    """The result as HTML that brings its own look; its text where Jinja is not installed."""
    try:
        templates = environment()
    except InputError as error:
        if error.code != "E410":
            raise
        return f"<pre>{html.escape(repr(result))}</pre>"
    page = next(make(result) for kind, make in _PAGES.items() if isinstance(result, kind))
    return str(templates.get_template("notebook.html").render(_BLANK | page))


_BLANK: Page = {
    "title": "",
    "answer": "",
    "key": (),
    "rows": (),
    "bounds": (0.0, 1.0),
    "name": "",
    "facts": (),
    "table": None,
    "labelers": (),
    "n_labelers": 0,
    "told": (),
    "skipped": {},
}


def _estimate(one: Estimate) -> Page:
    is_difference = one.target == "difference"
    several = one.distribution if is_difference or len(one.distribution) > 2 else {}
    return {
        "title": one.what,
        "answer": phrasing.difference(one, "A", "B") if is_difference else phrasing.headline(one),
        "key": _key(one),
        "rows": _sides(one) if is_difference else _rows(several),
        "bounds": _bounds(several.values()),
        "name": "model" if is_difference else "class",
        "told": told_of(one.findings),
    }


def _key(one: Estimate) -> list[tuple[str, str]]:
    from hero_eval.charts.interval_charts import number_text

    low, high = (number_text(end, one.bounds) for end in one.interval())
    return [
        (one.target, number_text(one.value, one.bounds)),
        (f"{phrasing.percent(one.level)} interval", f"{low} to {high}"),
        ("method", one.method),
        ("items", f"{one.n_items:,}"),
        ("items with gold", one.gold_words),
    ]


def _sides(one: Estimate) -> list[Any]:
    """The two models of a difference, and how sure it is that each is the higher one."""
    chances = chances_of(one, ("A", "B"))
    return [row_of(name, one.distribution[name.lower()], **chances.get(name, {})) for name in ("A", "B")]


def _rows(estimates: Mapping[str, Estimate]) -> list[Any]:
    return [row_of(name, one) for name, one in estimates.items()]


def _bounds(estimates: Iterable[Estimate]) -> tuple[float, float]:
    return next((one.bounds for one in estimates), (0.0, 1.0))


def _comparison(result: Comparison) -> Page:
    first = next(iter(result.values()), None)
    return {
        "title": f"{first.what}, by every method" if first is not None else "no method could answer",
        "rows": _rows(result),
        "bounds": _bounds(result.values()),
        "name": "method",
        "skipped": result.skipped,
    }


def _family(result: GroupedEstimates) -> Page:
    first = next(iter(result.values()))
    return {
        "title": f"{first.what.split(' where ')[0]}, by {result.by}",
        "answer": f"{phrasing.percent(result.level)} sure that all of these intervals hold together",
        "rows": _rows(result),
        "bounds": _bounds(result.values()),
        "name": result.by,
        "told": told_of(result.findings),
    }


def _ranked_columns(result: Ranking | Leaderboard) -> dict[str, Any]:
    """The chance to be best is undecided where findings leave it open."""
    columns = dict(result.columns())
    return columns | ({"p_best": ["undecided"] * len(columns["p_best"])} if result.doubts else {})


def _ranking(result: Ranking) -> Page:
    columns = _ranked_columns(result)
    head = ("model", "rank", "rank from", "rank to", "chance to be best", "group")
    names = ("model", "rank", "rank_low", "rank_high", "p_best", "group")
    return {
        "title": f"{result.what}, by model",
        "answer": phrasing.ranking(result),
        "rows": _rows(result),
        "bounds": _bounds(result.values()),
        "name": "model",
        "table": (head, list(zip(*(columns[name] for name in names), strict=True)), None),
        "told": told_of(result.findings),
    }


def _leaderboard(result: Leaderboard) -> Page:
    columns = _ranked_columns(result)
    head = ("model", "Elo", "from", "to", "rank from", "rank to", "chance to be best", "wins", "group")
    names = ("model", "elo", "low", "high", "rank_low", "rank_high", "p_best", "win_rate", "group")
    return {
        "title": "leaderboard",
        "answer": phrasing.leaderboard(result),
        "facts": [("method", result.method), ("votes", f"{result.n_votes:,}"), ("wins against", result.reference)],
        "table": (head, list(zip(*(columns[name] for name in names), strict=True)), None),
        "told": told_of(result.findings),
    }


def _votes(one: Votes) -> Page:
    return {
        "title": f"votes {one.name}",
        "answer": f"{one.n_votes:,} votes on {phrasing.count(one.n_items, 'item')}, {one.n_gold:,} with gold",
        "facts": [
            (f"{len(one.models):,} models", listed(one.models)),
            (f"{len(one.labelers):,} labelers", listed(one.labelers)),
        ],
        "told": told_of(one.notes),
    }


def _moderation(result: Moderation) -> Page:
    return {
        "title": "moderation",
        "answer": phrasing.moderation(result.prevalence, result.precision, result.recall),
        "rows": _rows({name.replace("_", " "): one for name, one in result.items()}),
        "name": "quantity",
        "told": told_of(result.findings),
    }


def _backtest(result: Backtest) -> Page:
    head = ("method", "rounds", "mean |error|", "bias", "covers", "width", "score")
    rows = [
        (name, one.n_rounds, one.abs_error, one.bias, one.coverage, one.width, one.score)
        for name, one in result.methods.items()
    ]
    return {
        "title": f"{result.what} of past rounds, their gold hidden",
        "answer": phrasing.backtest(result),
        "facts": [("method to take", f"{result.best}: {result.why}")],
        "table": (head, rows, result.best),
        "told": told_of(result.findings),
    }


def _calibration(result: ItemCalibration) -> Page:
    head = ("probability", "golds", "predicted", "observed", "from", "to")
    rows = [
        (f"{one.low:.2f} to {one.high:.2f}", one.n, one.predicted, one.observed, one.observed_low, one.observed_high)
        for one in result.bins
    ]
    return {
        "title": "probabilities of single items, beside gold that was hidden",
        "answer": phrasing.calibration(result),
        "table": (head, rows, ""),
        "told": told_of(result.findings),
    }


def _reliability(result: Reliability) -> Page:
    return {
        "title": "reliability of the labelers",
        "answer": (
            f"{phrasing.count(len(result.labelers), 'labeler')}, learned from "
            f"{phrasing.count(result.n_items, 'item')} of which {result.n_gold:,} have gold"
        ),
        "facts": [("fit", result.report.state)],
        "labelers": labeler_rows(result, MOST_LABELERS),
        "n_labelers": len(result.labelers),
        "told": told_of(result.table_findings),
    }


def _round(one: Round) -> Page:
    notes: tuple[Finding, ...] = one.notes
    return {
        "title": f"round {one.name}",
        "answer": (
            f"{phrasing.count(one.n_items, 'item')}, {phrasing.count(one.n_labels, 'label')}, {one.n_gold:,} with gold"
        ),
        "facts": [
            (f"{len(one.labelers):,} labelers", listed(one.labelers)),
            ("answers", listed(one.values)),
            ("columns of items", listed(one.column_names) or "none"),
        ],
        "told": told_of(notes),
    }


_PAGES: dict[type, Callable[[Any], Page]] = {
    Estimate: _estimate,
    Comparison: _comparison,
    GroupedEstimates: _family,
    Moderation: _moderation,
    Ranking: _ranking,
    Leaderboard: _leaderboard,
    Votes: _votes,
    Backtest: _backtest,
    ItemCalibration: _calibration,
    Reliability: _reliability,
    Round: _round,
}
