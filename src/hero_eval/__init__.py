"""hero-eval: how good a generative model really is, from noisy labels and a history with a little gold.

Names load when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hero_eval.counting.tally_files import save_counts
    from hero_eval.errors import HeroError, InputError, SupportError
    from hero_eval.estimate import Estimate
    from hero_eval.findings import Finding
    from hero_eval.gates import Gate
    from hero_eval.labelers.fitting import fit_reliability
    from hero_eval.labelers.reliability import Reliability
    from hero_eval.read import read_round, read_votes
    from hero_eval.round import Round
    from hero_eval.store.past_rounds import History
    from hero_eval.store.store import Store, create_store, open_store
    from hero_eval.store.watching import Watch, watch
    from hero_eval.targets.arena import rank_votes
    from hero_eval.targets.backtest import Backtest, backtest
    from hero_eval.targets.battles import Battle
    from hero_eval.targets.comparison import Comparison, compare_methods
    from hero_eval.targets.difference import estimate_difference
    from hero_eval.targets.gold_queue import GoldQueue, choose_gold
    from hero_eval.targets.grouped import GroupedEstimates
    from hero_eval.targets.item_calibration import ItemCalibration, item_calibration
    from hero_eval.targets.labeler_worth import Worths, labeler_worth
    from hero_eval.targets.leaderboard import Leaderboard
    from hero_eval.targets.moderation import Moderation, estimate_moderation
    from hero_eval.targets.movement import Movement, movement
    from hero_eval.targets.plan import plan
    from hero_eval.targets.plan_result import Plan
    from hero_eval.targets.ranking import Ranking, rank
    from hero_eval.targets.rate import estimate_rate
    from hero_eval.targets.win_rate import estimate_win_rate
    from hero_eval.votes import Votes

__version__ = "0.1.0"

_HOMES = {
    "Backtest": "targets.backtest",
    "Battle": "targets.battles",
    "Comparison": "targets.comparison",
    "Estimate": "estimate",
    "Finding": "findings",
    "Gate": "gates",
    "GoldQueue": "targets.gold_queue",
    "GroupedEstimates": "targets.grouped",
    "HeroError": "errors",
    "History": "store.past_rounds",
    "InputError": "errors",
    "ItemCalibration": "targets.item_calibration",
    "Leaderboard": "targets.leaderboard",
    "Moderation": "targets.moderation",
    "Movement": "targets.movement",
    "Plan": "targets.plan_result",
    "Ranking": "targets.ranking",
    "Reliability": "labelers.reliability",
    "Round": "round",
    "Store": "store.store",
    "SupportError": "errors",
    "Votes": "votes",
    "Watch": "store.watching",
    "Worths": "targets.labeler_worth",
    "backtest": "targets.backtest",
    "choose_gold": "targets.gold_queue",
    "compare_methods": "targets.comparison",
    "create_store": "store.store",
    "estimate_difference": "targets.difference",
    "estimate_moderation": "targets.moderation",
    "estimate_rate": "targets.rate",
    "estimate_win_rate": "targets.win_rate",
    "fit_reliability": "labelers.fitting",
    "item_calibration": "targets.item_calibration",
    "labeler_worth": "targets.labeler_worth",
    "movement": "targets.movement",
    "open_store": "store.store",
    "rank": "targets.ranking",
    "plan": "targets.plan",
    "rank_votes": "targets.arena",
    "read_round": "read",
    "read_votes": "read",
    "save_counts": "counting.tally_files",
    "watch": "store.watching",
}

__all__ = [
    "Backtest",
    "Battle",
    "Comparison",
    "Estimate",
    "Finding",
    "Gate",
    "GoldQueue",
    "GroupedEstimates",
    "HeroError",
    "History",
    "InputError",
    "ItemCalibration",
    "Leaderboard",
    "Moderation",
    "Movement",
    "Plan",
    "Ranking",
    "Reliability",
    "Round",
    "Store",
    "SupportError",
    "Votes",
    "Watch",
    "Worths",
    "__version__",
    "backtest",
    "choose_gold",
    "compare_methods",
    "create_store",
    "estimate_difference",
    "estimate_moderation",
    "estimate_rate",
    "estimate_win_rate",
    "fit_reliability",
    "item_calibration",
    "labeler_worth",
    "movement",
    "open_store",
    "plan",
    "rank",
    "rank_votes",
    "read_round",
    "read_votes",
    "save_counts",
    "watch",
]


_RENAMED = {"Family": "GroupedEstimates"}
"""Names of the version before, which still work, and what they are called now."""


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        from hero_eval.deprecation import warn_renamed

        warn_renamed(f"hero_eval.{name}", _RENAMED[name])
        name = _RENAMED[name]
    if name not in _HOMES:
        raise AttributeError(f"module 'hero_eval' has no attribute {name!r}")
    return getattr(import_module(f"hero_eval.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
