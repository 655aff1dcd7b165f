"""Pictures of results: each a function from a result to a `Chart`, which has its numbers as a frame too.

    from hero_eval import charts
    charts.methods(comparison).save("methods.svg")

Altair and vl-convert draw them, without a browser; `pip install 'hero-eval[report]'`.
"""

from hero_eval.charts.interval_charts import difference, differences, estimates, methods
from hero_eval.charts.item_charts import calibration
from hero_eval.charts.labeler_charts import agreement, labelers, over_time, pool_shift
from hero_eval.charts.movement_charts import movement, rank_movement
from hero_eval.charts.plan_chart import spending
from hero_eval.charts.ranking_charts import ranks, strengths, win_matrix
from hero_eval.charts.round_charts import RoundValue, backtest, over_rounds
from hero_eval.charts.score_charts import score_curves, score_spreads
from hero_eval.charts.study_charts import coverage, real, study
from hero_eval.charts.theme import Chart
from hero_eval.charts.width_chart import width

__all__ = [
    "Chart",
    "RoundValue",
    "agreement",
    "backtest",
    "calibration",
    "coverage",
    "difference",
    "differences",
    "estimates",
    "labelers",
    "methods",
    "movement",
    "over_rounds",
    "over_time",
    "pool_shift",
    "rank_movement",
    "ranks",
    "real",
    "score_curves",
    "score_spreads",
    "spending",
    "strengths",
    "study",
    "width",
    "win_matrix",
]
