"""The studies' figures: bias, SD and RMSE of every method, how often intervals cover; real rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hero_eval.charts.theme import ACCENT, INK, QUIET, Chart, altair, shaped, titled, values
from hero_eval.errors import wrong

Rows = Sequence[Mapping[str, Any]]

_AXES = {"gold_rate": "share of history with gold", "concentration": "how alike the labelers are"}
_NUMBERS = {"bias": "bias", "sd": "standard deviation", "rmse": "root mean squared error"}


def study(rows: Rows, number: str = "rmse", against: str | None = None) -> Chart:
    """One number of every method against the gold rate or the heterogeneity of labelers; a panel for each study."""
    alt = altair()
    if number not in _NUMBERS:
        raise wrong("E201", f"number is {number!r}. Known: {', '.join(_NUMBERS)}")
    axis = against or ("concentration" if len({float(row["concentration"]) for row in rows}) > 2 else "gold_rate")
    if axis not in _AXES:
        raise wrong("E201", f"against is {against!r}. Known: {', '.join(_AXES)}")
    other = next(name for name in _AXES if name != axis)
    columns: dict[str, list[Any]] = {
        "panel": [_panel(row, other) for row in rows],
        "method": [str(row["method"]) for row in rows],
        axis: [float(row[axis]) for row in rows],
        number: [float(row[number]) for row in rows],
        f"{number}_se": [float(row[f"{number}_se"]) for row in rows],
    }
    shape, dash = shaped(columns["method"])
    base = alt.Chart(values(columns))
    x = alt.X(f"{axis}:O", title=_AXES[axis], axis=alt.Axis(labelAngle=0, labelOverlap=True))
    y = alt.Y(f"{number}:Q", title=_NUMBERS[number])
    legend = alt.Legend(title="method", columns=3)
    layers = alt.layer(
        base.mark_line(color=INK, strokeWidth=1.5).encode(
            x=x, y=y, strokeDash=alt.StrokeDash("method:N", scale=dash, legend=legend)
        ),
        base.mark_point(color=INK, filled=True, size=55, opacity=1).encode(
            x=x, y=y, shape=alt.Shape("method:N", scale=shape, legend=legend)
        ),
    ).properties(width=190, height=200)
    panels = list(dict.fromkeys(columns["panel"]))
    drawn = layers.facet(facet=alt.Facet("panel:N", sort=panels, title=None), columns=3).resolve_scale(x="independent")
    title = _least(columns, number)
    draws = sorted({int(row["replications"]) for row in rows})
    subtitle = f"{_NUMBERS[number].capitalize()} of every method over {draws[0]:,} simulated rounds a point"
    return Chart(title, columns, titled(drawn, title, subtitle))


def _panel(row: Mapping[str, Any], other: str) -> str:
    return str(row["study"]) if other == "concentration" else f"{row['study']}, gold {float(row['gold_rate']):g}"


def _least(columns: Mapping[str, Sequence[Any]], number: str) -> str:
    """The method that is least off, on average over the cells."""
    means = _means(columns, number)
    best, worst = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
    what = {"bias": "absolute bias", "sd": "standard deviation", "rmse": "error"}[number]
    return f"{best} has the least {what}, {means[best]:.3f} on average; {worst} the most, {means[worst]:.3f}"


def coverage(rows: Rows, level: float = 0.95) -> Chart:
    """How often the interval covered in each cell, with twice the Monte Carlo error on either side."""
    alt = altair()
    covers = [float(row["coverage"]) for row in rows]
    errors = [float(row["coverage_se"]) for row in rows]
    columns: dict[str, list[Any]] = {
        "cell": [str(row["cell"]) for row in rows],
        "method": [str(row["method"]) for row in rows],
        "coverage": covers,
        "low": [max(value - 2 * error, 0.0) for value, error in zip(covers, errors, strict=True)],
        "high": [min(value + 2 * error, 1.0) for value, error in zip(covers, errors, strict=True)],
    }
    shape, _ = shaped(columns["method"])
    base = alt.Chart(values(columns))
    y = alt.Y("cell:N", sort=None, title=None, axis=alt.Axis(ticks=False, labelLimit=260))
    scale = alt.Scale(domain=[min([*columns["low"], 0.9]), 1.0], nice=False, zero=False)
    target = alt.Chart(alt.InlineData(values=[{"at": level}]))
    layers = alt.layer(
        target.mark_rule(strokeDash=[4, 4], color=QUIET).encode(x=alt.X("at:Q", scale=scale)),
        base.mark_rule(color=QUIET).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y),
        base.mark_point(color=INK, filled=True, size=45, opacity=1).encode(
            x=alt.X("coverage:Q", title="share of intervals that cover the truth", axis=alt.Axis(format="~p")),
            y=y,
            shape=alt.Shape("method:N", scale=shape, title=None),
        ),
    )
    near = sum(high >= level for high in columns["high"])
    title = f"{near} of {len(rows)} intervals cover {100 * level:.0f}% of the time or more, within simulation error"
    subtitle = "Lines span twice the Monte Carlo error on either side; the dashed line is what was asked for"
    return Chart(title, columns, titled(layers, title, subtitle, width=380, height={"step": 17}))


_REAL = {
    "error": ("mean |error|", "is off least"),
    "coverage": ("share of 95% intervals that hold the truth", "covers nearest to 95%"),
    "width": ("mean width of the interval", "has the shortest intervals"),
    "score": ("mean interval score, lower is better", "has the best intervals"),
}
_ASKED = 0.95


def real(rows: Rows, number: str = "error") -> Chart:
    """One number of every method on real rounds, a panel a setting; rows as `benchmarks/real_rounds.py` writes."""
    alt = altair()
    if number not in _REAL:
        raise wrong("E201", f"number is {number!r}. Known: {', '.join(_REAL)}")
    columns: dict[str, list[Any]] = {
        "setting": [str(row["setting"]) for row in rows],
        "method": [str(row["method"]) for row in rows],
        number: [float(row[number]) for row in rows],
        f"{number}_se": [float(row[f"{number}_se"]) for row in rows],
    }
    means = _means(columns, number)
    near = {name: abs(value - _ASKED) if number == "coverage" else value for name, value in means.items()}
    best = min(near, key=lambda name: near[name])
    what, praise = _REAL[number]
    base = alt.Chart(values({**columns, "best": ["yes" if name == best else "no" for name in columns["method"]]}))
    wide = number == "score"  # the scores of intervals that miss are many times those that hold
    scale = alt.Scale(type="log", nice=False, padding=8) if wide else alt.Scale(domainMin=0, padding=8)
    axis = alt.Axis(format="~g", **({"values": [0.1, 0.3, 1, 3, 10]} if wide else {"tickCount": 3}))
    x = alt.X(f"{number}:Q", title=None, scale=scale, axis=axis)
    y = alt.Y("method:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    ink = alt.condition(alt.datum.best == "yes", alt.value(ACCENT), alt.value(INK))
    shape = alt.condition(alt.datum.best == "yes", alt.value("diamond"), alt.value("circle"))
    layers = [base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=ink, shape=shape)]
    if number == "coverage":
        line = base.transform_calculate(asked=str(_ASKED)).mark_rule(strokeDash=[4, 4], color=QUIET)
        layers.insert(0, line.encode(x="asked:Q"))
    panel = alt.layer(*layers).properties(width=130, height={"step": 20})
    settings = list(dict.fromkeys(columns["setting"]))
    drawn = panel.facet(facet=alt.Facet("setting:N", sort=settings, title=None), columns=3)
    title = f"On real rounds {best} {praise}: {means[best]:.3f} on average over settings"
    return Chart(
        title, columns, titled(drawn, title, f"{what[0].upper()}{what[1:]}, by setting; the diamond is {best}")
    )


def _means(columns: Mapping[str, Sequence[Any]], number: str) -> dict[str, float]:
    """Each method's mean over the settings."""
    sums: dict[str, list[float]] = {}
    for method, value in zip(columns["method"], columns[number], strict=True):
        sums.setdefault(method, []).append(abs(float(value)))
    return {method: sum(of) / len(of) for method, of in sums.items()}
