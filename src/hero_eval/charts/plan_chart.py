"""Width against spending: how far money, or gold, leads."""

from __future__ import annotations

from hero_eval.charts.theme import INK, Chart, altair, titled, values
from hero_eval.targets.plan_prices import KINDS
from hero_eval.targets.plan_result import Plan


def spending(result: Plan) -> Chart:
    """The width of the interval against what is spent, or against gold where nothing has a price."""
    alt = altair()
    priced = any(one.cost == one.cost and one.cost > 0 for one in result.curve)
    kind = next((name for name in KINDS if any(getattr(one.more, name) for one in result.curve)), "gold")
    name = "spending" if priced else f"more {KINDS[kind]}"
    spent = [one.cost if priced else getattr(one.more, kind) for one in result.curve]
    columns = {"spent": spent, "width": [one.width for one in result.curve]}
    x = alt.X("spent:Q", title=name)
    y = alt.Y("width:Q", title="width of the interval", scale=alt.Scale(zero=True))
    base = alt.Chart(values(columns))
    layers = [base.mark_line(color=INK).encode(x=x, y=y), base.mark_circle(color=INK, size=40).encode(x=x, y=y)]
    if result.wanted is not None:
        mark = alt.Chart(values({"wanted": [result.wanted]}))
        layers.append(mark.mark_rule(color=INK, strokeDash=[4, 3]).encode(y="wanted:Q"))
    title = f"How wide the interval of the {result.what} would be"
    chart = titled(alt.layer(*layers), title, f"{result.width:.3f} now", width=420, height=240)
    return Chart(title, columns, chart)
