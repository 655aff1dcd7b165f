"""Numbers with their intervals, one below the other on a common axis: methods, models, groups, differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hero_eval import phrasing
from hero_eval.charts.theme import (
    ACCENT,
    INK,
    QUIET,
    WIDTH,
    Chart,
    Columns,
    altair,
    known,
    percents,
    share_axis,
    short,
    titled,
    values,
)
from hero_eval.estimate import Estimate, table_of
from hero_eval.gates import chance_above

ROW = 30


def methods(result: Mapping[str, Estimate], *, truth: float | None = None, chosen: str | None = None) -> Chart:
    """Every method's estimate with its interval, on one axis; `chosen` is the method to read."""
    first = next(iter(result.values()), None)
    columns = table_of("method", result)
    what, bounds = (first.what, first.bounds) if first is not None else ("rate", (0.0, 1.0))
    title = _spread(columns, bounds, "method")
    return _rows("method", columns, title, f"The {what} with its {_level(first)} interval", bounds, truth, chosen)


def estimates(result: Mapping[str, Estimate], by: str = "model", *, mark: float | None = None) -> Chart:
    """One number for each model (or group), with its interval, on one axis."""
    first = next(iter(result.values()), None)
    columns = table_of(by, result)
    bounds = first.bounds if first is not None else (0.0, 1.0)
    names = {one.what.split(" where ")[0] for one in result.values()} or {"value"}
    what = names.pop() if len(names) == 1 else f"rate of each {by}"
    title = _highest(columns, by, bounds)
    return _rows(by, columns, title, f"The {what} with {_level(first)} intervals", bounds, mark)


def difference(result: Estimate, a: str, b: str) -> Chart:
    """A minus B with its interval, and where no difference would be."""
    return differences({a: result}, b)


def differences(result: Mapping[str, Estimate], baseline: str) -> Chart:
    """Each model minus the baseline, paired, with its interval and the chance that it is higher."""
    columns = {**table_of("model", result), "chance_higher": [_chance(one) for one in result.values()]}
    first = next(iter(result.values()), None)
    bounds = first.bounds if first is not None else (-1.0, 1.0)
    subtitle = (
        f"{_minus(first)} minus {short(baseline)}, with {_level(first)} intervals; the dashed line is no difference"
    )
    return _rows(
        "model", columns, _clear(result, baseline), subtitle, bounds, 0.0, axis=f"difference to {short(baseline)}"
    )


def _minus(first: Estimate | None) -> str:
    return first.what.removeprefix("difference in ").capitalize() if first is not None else "Value"


def _chance(one: Estimate) -> float:
    """nan where it is undecided."""
    chance = chance_above(one, 0.0)
    return math.nan if chance is None else chance


def _clear(result: Mapping[str, Estimate], baseline: str) -> str:
    ends = {name: one.interval() for name, one in result.items() if not one.doubts}
    if result and not ends:
        return f"Whether any model differs from {short(baseline, 24)} is undecided"
    higher = [name for name, (low, _) in ends.items() if low > 0]
    lower = [name for name, (_, high) in ends.items() if high < 0]
    parts = [
        f"{phrasing.join([short(name, 24) for name in some[:4]])} {'is' if len(some) == 1 else 'are'} {word}"
        for some, word in ((higher, "higher"), (lower, "lower"))
        if some
    ]
    told = " and ".join(parts)
    if told:
        return f"{told} than {short(baseline)}"
    alone = short(next(iter(result)), 24) if len(result) == 1 else "none of them"
    return f"The data cannot tell {alone} from {short(baseline, 24)}"


def _level(first: Estimate | None) -> str:
    return phrasing.percent(first.level) if first is not None else "95%"


def number_text(value: float, bounds: tuple[float, float]) -> str:
    """As the axes write it: shares in percent."""
    if not math.isfinite(value):
        return phrasing.UNKNOWN
    if percents(bounds) == "~p":
        return f"{100 * value:.1f}%"
    return f"{value:.3g}" if abs(value) < 1000.0 else f"{value:.0f}"


def _spread(columns: Columns, bounds: tuple[float, float], what: str) -> str:
    """How far the rows lie apart, which is what their chart is looked at for."""
    found = known(columns["value"])
    if not found:
        return "The data do not tell the value by any method"
    if len(found) == 1:
        return f"One {what} could answer: {number_text(found[0], bounds)}"
    low, high = number_text(min(found), bounds), number_text(max(found), bounds)
    return f"{len(found)} {what}s answer between {low} and {high}"


def _highest(columns: Columns, by: str, bounds: tuple[float, float]) -> str:
    ranked = sorted(
        (row for row in zip(columns[by], columns["value"], columns["low"], strict=True) if math.isfinite(row[1])),
        key=lambda row: -row[1],
    )
    if len(ranked) < 2:
        return f"{short(str(ranked[0][0]))}: {number_text(ranked[0][1], bounds)}" if ranked else "The data do not tell"
    top, rest = ranked[0], ranked[1:]
    others = dict(zip(columns[by], columns["high"], strict=True))
    apart = all(top[2] > others[row[0]] for row in rest)
    sure = "its interval lies above all others" if apart else "but intervals overlap"
    return f"{short(str(top[0]))} is highest with {number_text(top[1], bounds)}; {sure}"


def _rows(
    first: str,
    columns: Columns,
    title: str,
    subtitle: str,
    bounds: tuple[float, float],
    mark: float | None = None,
    chosen: str | None = None,
    axis: str | None = None,
) -> Chart:
    alt = altair()
    ends = known([*columns["low"], *columns["high"], *columns["value"], mark])
    drawn = {**columns, "shown": [number_text(value, bounds) for value in columns["value"]]}
    data = values(drawn)
    x = share_axis(axis or subtitle.split(" with ")[0].removeprefix("The "), *_around(ends, bounds), bounds)
    y = alt.Y(f"{first}:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    ink = alt.condition(alt.datum[first] == chosen, alt.value(ACCENT), alt.value(INK)) if chosen else alt.value(INK)
    base = alt.Chart(data)
    bars = base.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q", scale=x["scale"]), x2="high:Q", y=y, color=ink)
    caps = [base.mark_tick(thickness=2.5, size=14).encode(x=f"{end}:Q", y=y, color=ink) for end in ("low", "high")]
    dots = base.mark_point(size=90, filled=True, opacity=1).encode(x=x, y=y, color=ink)
    told = base.mark_text(dy=-13, fontSize=12).encode(x="value:Q", y=y, text="shown:N", color=ink)
    layers: list[Any] = [bars, *caps, dots, told]
    if mark is not None:
        line = alt.Chart(alt.InlineData(values=[{"value": mark}]))
        layers.insert(0, line.mark_rule(strokeDash=[4, 4], color=QUIET, strokeWidth=1.5).encode(x="value:Q"))
    height = max(ROW * len(columns[first]) * 1.2, 60)
    return Chart(title, columns, titled(alt.layer(*layers), title, subtitle, width=WIDTH, height=height))


def _around(ends: Sequence[float], bounds: tuple[float, float]) -> tuple[float, float]:
    return (min(ends), max(ends)) if ends else bounds
