"""Single items: how well their probabilities agree with gold."""

from __future__ import annotations

from dataclasses import fields

from hero_eval import phrasing
from hero_eval.charts.theme import INK, QUIET, Chart, altair, titled, values
from hero_eval.model.calibration import CalibrationBin
from hero_eval.targets.item_calibration import ItemCalibration


def calibration(result: ItemCalibration) -> Chart:
    """A reliability diagram: the share of gold that agrees, against the probability that was given."""
    alt = altair()
    columns = {one.name: [getattr(part, one.name) for part in result.bins] for one in fields(CalibrationBin)}
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="~p", tickCount=6)
    x = alt.X("predicted:Q", title="probability given", scale=scale, axis=axis)
    y = alt.Y("observed:Q", title="share of gold that agrees", scale=scale, axis=axis)
    line = alt.Chart(values({"at": [0.0, 1.0]}))
    even = line.mark_line(color=QUIET, strokeDash=[4, 4]).encode(x=alt.X("at:Q", title=""), y=alt.Y("at:Q", title=""))
    base = alt.Chart(values(columns))
    layers = [
        even,
        base.mark_rule(color=QUIET, strokeWidth=2).encode(
            x=x, y=alt.Y("observed_low:Q", title="share of gold that agrees"), y2="observed_high:Q"
        ),
        base.mark_point(color=INK, filled=True, opacity=1).encode(
            x=x, y=y, size=alt.Size("n:Q", title="golds", scale=alt.Scale(range=[40, 260]))
        ),
    ]
    title = (
        f"Probabilities of items are off by {result.error:.3f} on average; chance explains {result.error_by_chance:.3f}"
    )
    subtitle = (
        f"{result.method}, {phrasing.count(result.n_gold, 'gold')} that it did not see; bars are 95% intervals, the "
        "dashed line is perfect agreement"
    )
    return Chart(title, columns, titled(alt.layer(*layers), title, subtitle, width=320, height=320))
