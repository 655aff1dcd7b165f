"""Labelers: how reliable each is, how the pool shifts between rounds, who drifts, and who errs together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from hero_eval import phrasing
from hero_eval.charts.theme import ACCENT, INK, QUIET, WIDTH, Chart, altair, drawn_name, shaped, short, titled, values
from hero_eval.labelers.agreement import Agreement
from hero_eval.labelers.over_time import OverTime
from hero_eval.labelers.reliability import Reliability
from hero_eval.round import Round

MOST = 40
"""Labelers that one picture can show; the table behind it holds all."""

PANEL = 190
PANELS = 4
"""Of them side by side."""


def labelers(result: Reliability, level: float = 0.95) -> Chart:
    """Agreement with gold, and the share of each gold class that a labeler names rightly, with intervals.

    Of scores, which agree with nothing, their mean place in each gold class.
    """
    alt = altair()
    columns = reliability_columns(result, level)
    form = ".1f" if result.scored else "~p"
    shown = _most_labels(columns, result)
    data = values({name: [of[row] for row in shown] for name, of in columns.items()})
    y = alt.Y("labeler:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    x = alt.X("value:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=form, tickCount=3))
    base = alt.Chart(data)
    layers = alt.layer(
        base.mark_rule(strokeWidth=2, color=INK).encode(x=alt.X("low:Q", title=None), x2="high:Q", y=y),
        base.mark_point(filled=True, size=60, opacity=1, color=INK).encode(x=x, y=y),
    ).properties(width=PANEL, height={"step": 22})
    order = list(dict.fromkeys(columns["what"]))
    if len(order) <= PANELS:
        drawn = layers.facet(column=alt.Column("what:N", sort=order, title=None), spacing=16)
    else:  # in one row they would be too small to read
        drawn = layers.facet(facet=alt.Facet("what:N", sort=order, title=None), columns=PANELS, spacing=16)
    title = _rise_of(result) if result.scored else _span_of(columns)
    what = "Mean place of scores among the labeler's own" if result.scored else "Share of answers that are right"
    left = len(result.labelers) - len({columns["labeler"][row] for row in shown})
    more = f"; the {MOST} with the most labels of {len(result.labelers)}" if left else ""
    subtitle = f"{what}, with {phrasing.percent(level)} intervals{more}"
    return Chart(title, columns, titled(drawn, title, subtitle))


def reliability_columns(result: Reliability, level: float = 0.95) -> dict[str, list[Any]]:
    """One row for each labeler and share: labeler, what, value, low, high, labels, gold."""
    rows = result.to_frame("pyarrow").to_pylist()
    shares = [key.removesuffix("_se") for key in rows[0] if key.endswith("_se")]
    z = float(special.ndtri(0.5 + level / 2))
    agreed = [] if result.scored else _agreement_with_gold(result)
    made: list[tuple[Any, ...]] = []
    for row, (right, of) in zip(rows, agreed, strict=False):
        ends = _wilson(right, of, z)
        made.append((row["labeler"], "agreement with gold", *ends, row["labels"], row["gold"]))
    for share, met in zip(shares, result.items_met()[:, _classes_of(shares)].T, strict=True):
        for row, of in zip(rows, met.tolist(), strict=True):
            ends = _logit_ends(row[share], row[f"{share}_se"], of, z)
            made.append((row["labeler"], _share_name(share), *ends, row["labels"], row["gold"]))
    names = ("labeler", "what", "value", "low", "high", "labels", "gold")
    return {name: [row[place] for row in made] for place, name in enumerate(names)}


def _classes_of(shares: Sequence[str]) -> list[int]:
    """The class of each share."""
    return [1, 0] if shares[0] == "sensitivity" else list(range(len(shares)))


def _share_name(share: str) -> str:
    if share.startswith("place_"):
        return f"where gold is {short(share.removeprefix('place_'), 20)!r}"
    return f"right on {short(share.removeprefix('right_'), 20)!r}" if share.startswith("right_") else share


def _agreement_with_gold(result: Reliability) -> list[tuple[float, float]]:
    """For each labeler: answers that equal the gold, and answers on items with gold."""
    patterns = result.counted.patterns
    rows, labeler, answer = patterns.entries
    items = patterns.items_of_row[rows]
    gold = patterns.gold[rows]
    known, size = gold >= 0, len(result.labelers)
    of = np.bincount(labeler[known], items[known], size)
    right = np.bincount(labeler[known], (items * (gold == answer))[known], size)
    return list(zip(right.tolist(), of.tolist(), strict=True))


def _wilson(right: float, of: float, z: float) -> tuple[float, float, float]:
    if of <= 0:
        return math.nan, math.nan, math.nan
    share = right / of
    center = (share + z**2 / (2 * of)) / (1 + z**2 / of)
    reach = z * math.sqrt(share * (1 - share) / of + z**2 / (4 * of**2)) / (1 + z**2 / of)
    return share, max(center - reach, 0.0), min(center + reach, 1.0)


def _logit_ends(value: float, error: float, met: float, z: float) -> tuple[float, float, float]:
    """On the logit scale; at a bound, which has no error, that of right or wrong answers to all items met."""
    if not (0.0 < value < 1.0 and math.isfinite(error)):
        _, low, high = _wilson(met if value > 0.5 else 0.0, met, z)
        return value, low, high
    center, reach = special.logit(value), z * error / (value * (1 - value))
    return value, float(special.expit(center - reach)), float(special.expit(center + reach))


def _most_labels(columns: dict[str, list[Any]], result: Reliability) -> list[int]:
    labels = dict(zip(columns["labeler"], columns["labels"], strict=True))
    kept = set(sorted(result.labelers, key=lambda name: (-labels[name], name))[:MOST])
    return [row for row, name in enumerate(columns["labeler"]) if name in kept]


def _span_of(columns: dict[str, list[Any]]) -> str:
    agreed = [
        value
        for what, value in zip(columns["what"], columns["value"], strict=True)
        if what == "agreement with gold" and math.isfinite(value)
    ]
    if not agreed:
        return "No labeler has answered an item with gold"
    if len(agreed) == 1:
        return f"The labeler agrees with gold {100 * agreed[0]:.0f}% of the time"
    return f"Labelers agree with gold {100 * min(agreed):.0f}% to {100 * max(agreed):.0f}% of the time"


def _rise_of(result: Reliability) -> str:
    skill = result.to_frame("pyarrow")["discrimination"].to_pylist()
    known = [value for value in skill if math.isfinite(value)]
    if not known:
        return "No labeler has scored an item with gold"
    if len(known) == 1:
        return f"How far scores rise with gold (1 is perfectly): {known[0]:.2f}"
    return f"How far scores rise with gold (1 is perfectly): {min(known):.2f} to {max(known):.2f}"


def pool_shift(rounds: Sequence[Round]) -> Chart:
    """Which share of each round's labels came from whom, oldest round first."""
    alt = altair()
    columns = _pool_columns(rounds)
    names = [one.name for one in rounds]
    shape, _ = shaped(names)
    color = alt.Scale(domain=names, range=[*[INK] * (len(names) - 1), ACCENT])
    base = alt.Chart(values(_largest(columns)))
    y = alt.Y("labeler:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    x = alt.X(
        "share:Q",
        title="share of the round's labels",
        scale=alt.Scale(padding=10, nice=False),
        axis=alt.Axis(format="~p", tickCount=6),
    )
    spans = base.mark_line(color=QUIET, strokeWidth=1.5).encode(x=x, y=y, detail="labeler:N")
    dots = base.mark_point(size=80, filled=True, opacity=1).encode(
        x=x,
        y=y,
        shape=alt.Shape("round:N", scale=shape, title="round", sort=None),
        color=alt.Color("round:N", scale=color, title="round", sort=None),
    )
    title = _moved(columns, rounds)
    drawn = titled(
        alt.layer(spans, dots), title, "Who labeled how much, round by round", width=WIDTH, height={"step": 22}
    )
    return Chart(title, columns, drawn)


def _pool_columns(rounds: Sequence[Round]) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = {"labeler": [], "round": [], "labels": [], "share": []}
    who = sorted({name for one in rounds for name in one.labelers})
    for one in rounds:
        count = dict(zip(one.labelers, one.labels_by_labeler(), strict=True))
        for name in who:
            labels = int(count.get(name, 0))
            for key, value in zip(made, (name, one.name, labels, labels / max(one.n_labels, 1)), strict=True):
                made[key].append(value)
    return made


def _largest(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    total: dict[str, int] = {}
    for name, labels in zip(columns["labeler"], columns["labels"], strict=True):
        total[name] = total.get(name, 0) + labels
    kept = set(sorted(total, key=lambda name: (-total[name], name))[:MOST])
    rows = [row for row, name in enumerate(columns["labeler"]) if name in kept]
    return {name: [of[row] for row in rows] for name, of in columns.items()}


def _moved(columns: dict[str, list[Any]], rounds: Sequence[Round]) -> str:
    if len(rounds) < 2:
        return f"{phrasing.count(len(rounds[0].labelers), 'labeler')} labeled {short(rounds[0].name)}"
    last, first = rounds[-1].name, rounds[-2].name
    shares: dict[str, dict[str, float]] = {first: {}, last: {}}
    for name, one, share in zip(columns["labeler"], columns["round"], columns["share"], strict=True):
        if one in shares:
            shares[one][name] = share
    moved = sum(abs(shares[last][name] - shares[first][name]) for name in shares[last]) / 2
    return f"{100 * moved:.0f}% of the labels changed hands between {short(first, 24)} and {short(last, 24)}"


def over_time(result: OverTime) -> Chart:
    """Each labeler's shares, round by round, with intervals."""
    alt = altair()
    names = ("labeler", "round", "what", "labels", "gold", "value", "low", "high")
    columns = {name: [getattr(point, name) for point in result.points] for name in names}
    who = list(dict.fromkeys(columns["labeler"]))
    drifting = [one.labeler for one in result.drifts if one.drifts]
    kept = set([*dict.fromkeys(drifting), *(name for name in who if name not in drifting)][:12])
    rows = [row for row, name in enumerate(columns["labeler"]) if name in kept]
    data = values({name: [of[row] for row in rows] for name, of in columns.items()})
    shape, dash = shaped(columns["what"])
    placed = any(what.startswith("place_") for what in columns["what"])
    share = "place" if placed else "share right"
    base = alt.Chart(data)
    x = alt.X("round:N", sort=None, title=None, axis=alt.Axis(labelAngle=-40, labelLimit=90))
    y = alt.Y("value:Q", title=share, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~p", tickCount=3))
    layers = alt.layer(
        base.mark_rule(color=QUIET, strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q", title=share), y2="high:Q"),
        base.mark_line(color=INK, strokeWidth=1.5).encode(
            x=x, y=y, strokeDash=alt.StrokeDash("what:N", scale=dash, title=None)
        ),
        base.mark_point(color=INK, filled=True, size=45, opacity=1).encode(
            x=x, y=y, shape=alt.Shape("what:N", scale=shape, title=None)
        ),
    ).properties(width=PANEL, height=90)
    shown = list(dict.fromkeys(drawn_name(columns["labeler"][row]) for row in rows))
    drawn = layers.facet(facet=alt.Facet("labeler:N", sort=shown, title=None), columns=3)
    title = (
        f"{phrasing.join([short(name, 24) for name in dict.fromkeys(drifting)][:4])} changed between rounds"
        if drifting
        else "No labeler changed, as far as the gold tells"
    )
    more = f"; {len(kept)} of {len(who)} labelers" if len(who) > len(kept) else ""
    told = "Mean place of scores in each gold class" if placed else "Share of each gold class answered rightly"
    subtitle = f"{told}, with {phrasing.percent(result.level)} intervals{more}"
    return Chart(title, columns, titled(drawn, title, subtitle))


def agreement(result: Agreement) -> Chart:
    """How often pairs of labelers agree, against what their reliabilities predict."""
    alt = altair()
    names = ("first", "second", "items", "observed", "predicted", "error")
    columns = {name: [getattr(one, name) for one in result.pairs] for name in names}
    least = min([*columns["observed"], *columns["predicted"]], default=0.0)
    domain = [max(least - 0.05, 0.0), 1.0]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    base = alt.Chart(values(columns))
    share = alt.Axis(format="~p", tickCount=5)
    x = alt.X("predicted:Q", scale=scale, axis=share, title="agreement predicted, if labelers err on their own")
    dots = base.mark_point(size=50, color=INK, opacity=0.8).encode(
        x=x, y=alt.Y("observed:Q", scale=scale, axis=share, title="agreement observed")
    )
    ends = alt.InlineData(values=[{"at": end} for end in domain])
    line = (
        alt.Chart(ends)
        .mark_line(strokeDash=[4, 4], color=QUIET)
        .encode(x=alt.X("at:Q", scale=scale), y=alt.Y("at:Q", scale=scale))
    )
    title = _together(result)
    subtitle = f"A point a pair of labelers with {result.least_shared} items or more; on the dashed line both are equal"
    return Chart(title, columns, titled(alt.layer(line, dots), title, subtitle, width=300, height=300))


def _together(result: Agreement) -> str:
    if not result.pairs:
        return "No two labelers share enough items"
    excess = 100 * result.excess
    far = [one for one in result.pairs if abs(one.observed - one.predicted) > 3 * one.error]
    if not far:
        return "Pairs agree as often as labelers who err on their own"
    more = "more" if excess > 0 else "less"
    return f"Pairs agree {abs(excess):.1f} points {more} than labelers who err on their own would"
