"""Pictures of results: each a function from a result to a `Chart`, which has its numbers as a frame too.

    from hero_eval import charts
    charts.methods(comparison).save("methods.svg")

Altair and vl-convert draw them, without a browser; `pip install 'hero-eval[report]'`.
"""

from hero_eval.charts.intervals import difference, differences, estimates, methods
from hero_eval.charts.labelers import agreement, labelers, over_time, pool_shift
from hero_eval.charts.look import Chart
from hero_eval.charts.rounds import RoundValue, backtest, over_rounds
from hero_eval.charts.studies import coverage, real, study
from hero_eval.charts.width import width

__all__ = [
    "Chart",
    "RoundValue",
    "agreement",
    "backtest",
    "coverage",
    "difference",
    "differences",
    "estimates",
    "labelers",
    "methods",
    "over_rounds",
    "over_time",
    "pool_shift",
    "real",
    "study",
    "width",
]
