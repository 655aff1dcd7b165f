"""Numbers over rounds: models as time goes by, and how methods did on past rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hero_eval import phrasing
from hero_eval.charts.interval_charts import number_text
from hero_eval.charts.theme import ACCENT, INK, QUIET, Chart, altair, known, percents, shaped, short, titled, values


@dataclass(frozen=True)
class RoundValue:
    """The number of one round: what a line over rounds is drawn through."""

    round: str
    date: str
    model: str
    value: float
    low: float
    high: float
    method: str = ""
    n_items: int = 0


def over_rounds(
    points: Sequence[RoundValue], *, what: str = "rate", bounds: tuple[float, float] = (0.0, 1.0), level: float = 0.95
) -> Chart:
    """Each model's number, round by round, with its interval."""
    alt = altair()
    names = ("round", "date", "model", "value", "low", "high", "method", "n_items")
    columns = {name: [getattr(one, name) for one in points] for name in names}
    models = list(dict.fromkeys(columns["model"]))
    shape, dash = shaped(models)
    ends = known([*columns["low"], *columns["high"], *columns["value"]])
    domain = [min(ends, default=bounds[0]), max(ends, default=bounds[1])]
    base = alt.Chart(values(columns))
    x = alt.X("round:N", sort=None, title="round, oldest first", axis=alt.Axis(labelAngle=-40, labelLimit=110))
    y = alt.Y("value:Q", title=what, scale=alt.Scale(domain=domain, zero=False), axis=alt.Axis(format=percents(bounds)))
    # labels of a lone model would say nothing
    legend = alt.Legend(title="model") if len(models) > 1 else None
    offset = {"xOffset": alt.XOffset("model:N", sort=None)} if len(models) > 1 else {}
    layers = [
        base.mark_rule(color=QUIET, strokeWidth=2).encode(x=x, y=alt.Y("low:Q", title=what), y2="high:Q", **offset),
        base.mark_line(color=INK, strokeWidth=1.5).encode(
            x=x, y=y, strokeDash=alt.StrokeDash("model:N", scale=dash, legend=legend), **offset
        ),
        base.mark_point(color=INK, filled=True, size=70, opacity=1).encode(
            x=x, y=y, shape=alt.Shape("model:N", scale=shape, legend=legend), **offset
        ),
    ]
    title = _course(points, bounds)
    subtitle = f"The {what} with {phrasing.percent(level)} intervals"
    width = min(max(46 * len(dict.fromkeys(columns["round"])), 240), 640)
    return Chart(title, columns, titled(alt.layer(*layers), title, subtitle, width=width, height=240))


def _course(points: Sequence[RoundValue], bounds: tuple[float, float]) -> str:
    found = [one for one in points if math.isfinite(one.value)]
    if not found:
        return "No round has a number yet"
    last = found[-1]
    models = list(dict.fromkeys(one.model for one in found))
    if len(models) > 1:
        latest = [next(one for one in reversed(found) if one.model == name) for name in models[:4]]
        told = [f"{short(one.model, 24)} {number_text(one.value, bounds)}" for one in latest]
        return f"Last seen: {phrasing.join(told)}" + (" and others" if len(models) > 4 else "")
    told_last = f"{number_text(last.value, bounds)} in {short(last.round, 28)}"
    if len(found) == 1:
        return told_last
    before = found[-2]
    if last.low > before.high or last.high < before.low:
        way = "up" if last.value > before.value else "down"
        return f"{told_last}, clearly {way} from {number_text(before.value, bounds)} in {short(before.round, 28)}"
    return f"{told_last}; intervals of this and the round before overlap"


def backtest(result: Any) -> Chart:
    """How each method's interval, widened by the gold's own error, sat around the gold of past rounds."""
    alt = altair()
    frame = result.to_frame("pyarrow").to_pydict()
    names = ("round", "method", "value", "low", "high", "gold_mean", "error", "covered")
    columns = {name: frame[name] for name in names}
    order = list(dict.fromkeys(columns["method"]))
    base = alt.Chart(values({**columns, "inside": ["yes" if one else "no" for one in columns["covered"]]}))
    y = alt.Y("round:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=140))
    x = alt.X("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
    inside = alt.Shape(
        "inside:N", title="gold inside the interval", scale=alt.Scale(domain=["yes", "no"], range=["circle", "square"])
    )
    layers = alt.layer(
        base.mark_rule(color=QUIET, strokeWidth=2).encode(x=alt.X("low:Q", title=None), x2="high:Q", y=y),
        base.mark_point(color=INK, filled=True, size=45, opacity=1).encode(x=x, y=y, shape=inside),
        base.mark_tick(color=ACCENT, thickness=3, size=14, opacity=1).encode(x="gold_mean:Q", y=y),
    ).properties(width=150, height={"step": 20})
    drawn = layers.facet(facet=alt.Facet("method:N", sort=order, title=None), columns=3)
    title = phrasing.backtest(result).rstrip(".")
    subtitle = f"Estimate and interval of the {result.what}, and the round's own gold mean (thick stroke)"
    return Chart(title, columns, titled(drawn, title, subtitle))
