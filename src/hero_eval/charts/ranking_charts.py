"""Models one below the other, best first: strengths with their intervals, ranges of ranks, and who wins how often."""

from __future__ import annotations

import math
from typing import Any

from hero_eval import phrasing
from hero_eval.charts.theme import ACCENT, FAINT, INK, WIDTH, Chart, altair, short, titled, values
from hero_eval.targets.leaderboard import Leaderboard
from hero_eval.targets.ranking import Ranking

ROW = 26


def strengths(result: Leaderboard) -> Chart:
    """Each model's strength on the Elo scale with its interval; all hold together."""
    alt = altair()
    found = result.columns()
    columns = {name: found[name] for name in ("model", "elo", "low", "high", "votes")}
    shown = {**columns, "shown": [f"{elo:.0f}" for elo in columns["elo"]]}
    base = alt.Chart(values(shown))
    y = alt.Y("model:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    scale = alt.Scale(zero=False, nice=True)
    x = alt.X("elo:Q", scale=scale, title="strength (Elo)", axis=alt.Axis(format="d", tickCount=6))
    layers: list[Any] = [
        base.mark_rule(strokeWidth=2.5, color=INK).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y),
        *(base.mark_tick(thickness=2.5, size=12, color=INK).encode(x=f"{end}:Q", y=y) for end in ("low", "high")),
        base.mark_point(size=80, filled=True, opacity=1, color=ACCENT).encode(x=x, y=y),
        base.mark_text(dy=-12, fontSize=11, color=INK).encode(x="elo:Q", y=y, text="shown:N"),
    ]
    title = phrasing.leaderboard(result)
    subtitle = f"Strengths with {phrasing.percent(result.level)} intervals that hold together"
    height = max(ROW * 1.3 * len(result), 60)
    return Chart(title, columns, titled(alt.layer(*layers), title, subtitle, width=WIDTH, height=height))


def ranks(result: Leaderboard | Ranking) -> Chart:
    """The range of each model's rank; all hold together."""
    alt = altair()
    found = result.columns()
    columns = {name: found[name] for name in ("model", "rank", "rank_low", "rank_high", "p_best", "group")}
    base = alt.Chart(values(columns))
    y = alt.Y("model:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    n = len(columns["model"])
    scale = alt.Scale(domain=[0.5, n + 0.5], nice=False)
    axis = alt.Axis(values=list(range(1, n + 1)), format="d")
    bars = base.mark_rule(strokeWidth=7, color=FAINT, strokeCap="round").encode(
        x=alt.X("rank_low:Q", scale=scale, title="rank", axis=axis), x2="rank_high:Q", y=y
    )
    ends = [
        base.mark_tick(thickness=2.5, size=13, color=INK).encode(x=alt.X(f"{end}:Q", scale=scale), y=y)
        for end in ("rank_low", "rank_high")
    ]
    dots = base.mark_point(size=70, filled=True, opacity=1, color=ACCENT).encode(x=alt.X("rank:Q", scale=scale), y=y)
    sure = sum(low == high for low, high in zip(columns["rank_low"], columns["rank_high"], strict=True))
    title = f"The data tell the rank of {sure} of {phrasing.count(n, 'model')}"
    subtitle = f"The ranks that each may have; all hold together at {phrasing.percent(result.level)}"
    height = max(ROW * n, 60)
    return Chart(title, columns, titled(alt.layer(bars, *ends, dots), title, subtitle, width=WIDTH, height=height))


def win_matrix(result: Leaderboard, most: int | None = None) -> Chart:
    """How often the model of each row wins against that of each column, a tie half a win; of the best `most` models."""
    alt = altair()
    wins = result.to_dict()["win_matrix"]
    order = list(result.order)[:most]
    rows = [(a, b, wins[a][b]) for a in order for b in order if a != b]
    columns = {
        "model": [row[0] for row in rows],
        "against": [row[1] for row in rows],
        "win_rate": [row[2] for row in rows],
    }
    drawn = {
        **columns,
        "shown": [f"{100 * rate:.0f}" if math.isfinite(rate) else phrasing.UNKNOWN for rate in columns["win_rate"]],
        "far": [abs(rate - 0.5) if math.isfinite(rate) else 0.0 for rate in columns["win_rate"]],
    }
    base = alt.Chart(values(drawn)).encode(
        x=alt.X("against:N", sort=order, title="against", axis=alt.Axis(labelAngle=-40, orient="top")),
        y=alt.Y("model:N", sort=order, title=None),
    )
    cells = base.mark_rect(color=ACCENT).encode(
        opacity=alt.Opacity("far:Q", scale=alt.Scale(domain=[0, 0.5], range=[0, 0.45]), legend=None)
    )
    told = base.mark_text(fontSize=11, color=INK).encode(text="shown:N")
    best, last = order[0], order[-1]
    title = f"{short(best, 24)} wins {100 * wins[best][last]:.0f} of 100 against {short(last, 24)}"
    subtitle = "Wins of the row against the column, of 100, a tie half a win"
    side = max(30 * len(order), 120)
    return Chart(title, columns, titled(alt.layer(cells, told), title, subtitle, width=side, height=side))
