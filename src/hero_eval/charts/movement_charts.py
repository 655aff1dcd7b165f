"""Models over rounds: their values with intervals, and their ranks as lines that cross."""

from __future__ import annotations

from typing import Any

from hero_eval import phrasing
from hero_eval.charts.round_charts import RoundValue, over_rounds
from hero_eval.charts.theme import FAINT, INK, Chart, altair, shaped, short, titled, values
from hero_eval.targets.movement import Movement

MOST_MODELS = 8
"""Lines that can be told apart without color; the files hold all models."""


def _shown(result: Movement) -> dict[str, list[Any]]:
    """The rows of the models that stand highest now."""
    chosen = set(result.models[:MOST_MODELS])
    rows = [at for at, model in enumerate(result.table["model"]) if model in chosen]
    return {name: [column[at] for at in rows] for name, column in result.table.items()}


def movement(result: Movement) -> Chart:
    """Each model's value, round by round, with its interval."""
    table = _shown(result)
    names = ("round", "model", "value", "low", "high")
    rows = zip(*(table[name] for name in names), strict=True)
    points = [RoundValue(round_, "", model, value, low, high) for round_, model, value, low, high in rows]
    drawn = over_rounds(points, what=result.what, bounds=result.bounds, level=result.level)
    return Chart(drawn.title, {name: list(result.table[name]) for name in names}, drawn.drawn)


def rank_movement(result: Movement) -> Chart:
    """Each model's rank, round by round; bars are the ranks that it may have."""
    alt = altair()
    table = _shown(result)
    models = list(result.models[:MOST_MODELS])
    shape, dash = shaped(models)
    worst = max(table["rank_high"], default=1)
    base = alt.Chart(values(table))
    x = alt.X("round:N", sort=None, title="round, oldest first", axis=alt.Axis(labelAngle=-40, labelLimit=110))
    scale = alt.Scale(domain=[worst + 0.5, 0.5], nice=False)
    ticks = list(range(1, worst + 1)) if worst <= 20 else [1, *range(5, worst + 1, 5)]
    y = alt.Y("rank:Q", title="rank", scale=scale, axis=alt.Axis(values=ticks, format="d"))
    offset = {"xOffset": alt.XOffset("model:N", sort=models)} if len(models) > 1 else {}
    legend = alt.Legend(title="model") if len(models) > 1 else None
    layers = [
        base.mark_rule(color=FAINT, strokeWidth=4).encode(
            x=x, y=alt.Y("rank_low:Q", scale=scale, title="rank"), y2="rank_high:Q", **offset
        ),
        base.mark_line(color=INK, strokeWidth=1.5).encode(
            x=x, y=y, strokeDash=alt.StrokeDash("model:N", scale=dash, legend=legend), **offset
        ),
        base.mark_point(color=INK, filled=True, size=70, opacity=1).encode(
            x=x, y=y, shape=alt.Shape("model:N", scale=shape, legend=legend), **offset
        ),
    ]
    title = _first_places(result)
    subtitle = (
        f"Ranks, and those that each may have; of one round all hold together at {phrasing.percent(result.level)}"
    )
    width = min(max(70 * len(result.rounds), 240), 640)
    columns = {name: list(result.table[name]) for name in ("round", "model", "rank", "rank_low", "rank_high")}
    return Chart(title, columns, titled(alt.layer(*layers), title, subtitle, width=width, height=240))


def _first_places(result: Movement) -> str:
    rows = zip(result.table["round"], result.table["model"], result.table["rank"], strict=True)
    first = {round_: model for round_, model, rank in rows if rank == 1}
    last = result.rounds[-1]
    now = first[last]
    told = f"{short(now, 24)} is first in {short(last, 24)}"
    if len(result.rounds) == 1:
        return told
    since = [one for one in result.rounds[:-1] if first.get(one) == now]
    if len(since) == len(result.rounds) - 1:
        return f"{told}, as in the {phrasing.count(len(since), 'round')} before"
    before = result.rounds[-2]
    if first.get(before) == now:
        return f"{told}, as in the round before"
    return f"{told}; in {short(before, 24)} it was {short(first.get(before, 'no model'), 24)}"
