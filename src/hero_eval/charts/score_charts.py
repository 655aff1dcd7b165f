"""Labels that are scores: how they spread in each gold class, and how gold follows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hero_eval import phrasing
from hero_eval.charts.theme import FAINT, INK, QUIET, Chart, altair, shaped, titled, values
from hero_eval.labelers.score_curves import ScoreCurves

MOST_SHOWN = 6
"""Labelers in a picture: those with the most golds. The frame has all."""


def score_spreads(result: ScoreCurves) -> Chart:
    """Of each labeler how its scores spread on items of each gold class: median, half and four fifths of them."""
    alt = altair()
    columns = _columns(result.spreads)
    shape, _ = shaped(list(dict.fromkeys(columns.get("gold", []))))
    base = alt.Chart(values(_shown(columns)))
    y = alt.Y("gold:N", sort=None, title="gold", axis=alt.Axis(ticks=False, domain=False))
    layers = alt.layer(
        base.mark_rule(color=QUIET, strokeWidth=1.5).encode(x=alt.X("q10:Q", title="score"), x2="q90:Q", y=y),
        base.mark_rule(color=QUIET, strokeWidth=6).encode(x=alt.X("q25:Q", title="score"), x2="q75:Q", y=y),
        base.mark_point(color=INK, filled=True, size=80, opacity=1).encode(
            x=alt.X("median:Q", title="score"), y=y, shape=alt.Shape("gold:N", scale=shape, legend=None)
        ),
    ).properties(width=240, height={"step": 24})
    drawn = layers.facet(facet=alt.Facet("labeler:N", sort=None, title=None), columns=2).resolve_scale(x="independent")
    who = phrasing.count(len(dict.fromkeys(columns.get("labeler", []))), "labeler")
    title = f"How the scores of {who} spread in each gold class"
    subtitle = f"Median, middle half and middle four fifths, on {phrasing.count(result.n_gold, 'item')} with gold"
    return Chart(title, columns, titled(drawn, title, subtitle + _left_out(columns)))


def score_curves(result: ScoreCurves) -> Chart:
    """Of each labeler how often gold is in the upper class, along its scores, with a 95% band."""
    alt = altair()
    columns = _columns(result.points)
    base = alt.Chart(values(_shown(columns)))
    x = alt.X("score:Q", title="score", scale=alt.Scale(zero=False))
    y = alt.Y("share:Q", title="share of gold", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~p", tickCount=5))
    layers = alt.layer(
        base.mark_area(color=FAINT).encode(x=x, y=alt.Y("low:Q", title="share of gold"), y2="high:Q"),
        base.mark_line(color=INK, strokeWidth=1.5).encode(x=x, y=y),
        base.mark_point(color=INK, filled=True, size=50, opacity=1).encode(x=x, y=y),
    ).properties(width=240, height=140)
    drawn = layers.facet(facet=alt.Facet("labeler:N", sort=None, title=None), columns=2).resolve_scale(x="independent")
    title = f"How often gold is {result.upper}, by the score"
    subtitle = f"Each point a part of a labeler's scores, with 95% intervals, on {result.n_gold:,} items with gold"
    return Chart(title, columns, titled(drawn, title, subtitle + _left_out(columns)))


def _columns(rows: Sequence[Any]) -> dict[str, list[Any]]:
    made = [asdict(one) for one in rows]
    return {name: [row[name] for row in made] for name in made[0]} if made else {}


def _shown(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    kept = set(list(dict.fromkeys(columns.get("labeler", [])))[:MOST_SHOWN])
    rows = [row for row, name in enumerate(columns.get("labeler", [])) if name in kept]
    return {name: [of[row] for row in rows] for name, of in columns.items()}


def _left_out(columns: dict[str, list[Any]]) -> str:
    more = len(dict.fromkeys(columns.get("labeler", []))) - MOST_SHOWN
    return f"; {more} labelers with fewer are left out" if more > 0 else ""
