"""Where the width of an interval comes from, as a chart."""

from __future__ import annotations

from hero_eval import phrasing
from hero_eval.charts.theme import INK, Chart, altair, titled, values
from hero_eval.estimate import Estimate
from hero_eval.estimation.width_parts import WidthPart, drift_is_in, leaves_drift_out, width_parts


def width(result: Estimate) -> Chart:
    """Shares of the variance by source."""
    alt = altair()
    parts = width_parts(result)
    names = ("source", "name", "meaning", "share", "without", "remedy")
    columns = {name: [getattr(part, name) for part in parts] for name in names}
    data = values({**columns, "shown": [f"{100 * part.share:.0f}%" for part in parts]})
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    x = alt.X("share:Q", title="share of the variance", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~p"))
    base = alt.Chart(data)
    bars = base.mark_bar(color=INK, height=14).encode(x=x, y=y)
    told = base.mark_text(align="left", dx=6, color=INK, fontSize=12).encode(x=x, y=y, text="shown:N")
    title = f"{_mostly(parts)}"
    low, high = result.interval()
    subtitle = f"Where the {phrasing.percent(result.level)} interval from {low:.3f} to {high:.3f} gets its width"
    if not drift_is_in(result):
        known = "" if leaves_drift_out(result) else "not known and "
        subtitle += f"; drift between rounds is {known}not in it"
    chart = titled(alt.layer(bars, told), title, subtitle, width=360, height={"step": 30})
    return Chart(title, columns, chart)


def _mostly(parts: tuple[WidthPart, ...]) -> str:
    if not parts:
        return "The data do not tell where the width comes from"
    return f"Most of the doubt comes from {parts[0].meaning}"
