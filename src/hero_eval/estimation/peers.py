"""Models that are ranked together teach each other: each one's gold tells of the labelers for all the others.

Every model is then the current round of an analysis of its own, in which the others stand at the end of its past
rounds. An item that moves several of these analyses is one item: influences are added up by item ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hero_eval.counting.count import is_large
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.ask import analysis_by
from hero_eval.estimation.clusters import OWN_ID
from hero_eval.estimation.options import Options, PastRounds
from hero_eval.estimation.prepare import RoundSet, gather_rounds
from hero_eval.estimation.select import LEAST_GOLD, MethodChoice
from hero_eval.findings import Finding
from hero_eval.labelers.fitting import history_rounds
from hero_eval.labelers.reliability import Reliability
from hero_eval.round import Round

LEAST_PEERS = 2
"""Other models with gold, of each model, from which they serve as its past rounds: one alone shows no drift."""
MOST_LABELS = 3_000_000
"""Of all models together, times the models, each of which is fitted beside all others: above that a ranking would take
minutes (500,000 labels take HERO-3 a few seconds), and each model is judged by history and its own gold."""
_INTERVALS = (None, "influence", "anytime")


def are_peers(sides: Sequence[Round], history: PastRounds, options: Options) -> bool:
    """Whether each of these models has enough gold in the others to learn from, and nothing asked speaks against it."""
    asked = options.method is not None or options.wants_covariates or options.penalty is not None
    if asked or options.interval not in _INTERVALS or isinstance(history, Reliability):
        return False
    golden = [one for one in sides if one.n_gold >= LEAST_GOLD]
    past = () if history is None else history_rounds(history)
    if len(golden) <= LEAST_PEERS or is_large([*sides, *past]):
        return False
    if len(sides) * sum(one.n_labels for one in (*sides, *past)) > MOST_LABELS:
        return False
    return all(_knows_labelers(one, [other for other in golden if other is not one]) for one in sides)


def _knows_labelers(one: Round, others: Sequence[Round]) -> bool:
    """Whether most of a model's labelers answered for the others, too: of strangers their gold tells nothing."""
    known = {name for other in others for name in other.labelers}
    return 2 * sum(name in known for name in one.labelers) > len(one.labelers)


def analyze_peers(
    sides: Sequence[Round],
    past: Sequence[Round],
    options: Options,
    best: Callable[[RoundSet, Options], MethodChoice],
) -> tuple[Analysis, ...]:
    """One analysis for each model, all by the method that `best` selects over all rounds."""
    options = replace(options, cluster=options.cluster or OWN_ID)
    sets = [gather_rounds([one], (*past, *_others(sides, at)), options.at_least) for at, one in enumerate(sides)]
    everything = tuple(one.currents[0] for one in sets)
    choice = best(replace(sets[0], past=(*sets[0].past[: len(past)], *everything)), options)
    n_gold = sum(one.n_gold for one in sides)
    message = (
        f"the {n_gold} golds of these {len(sides)} models tell of the labelers for all of them: the others are past "
        "rounds of each"
    )
    told = Finding("F540", message, {"gold": n_gold, "models": len(sides)})
    choice = replace(choice, findings=(*choice.findings, told))
    return tuple(_told_once(analysis_by(choice, one, options)) for one in sets)


def _told_once(analysis: Analysis) -> Analysis:
    """Without the remark that items of one id count as one, which nobody asked for and a ranking does anyway."""
    question = analysis.question
    kept = tuple(one for one in question.findings if one.code != "F109")
    return replace(analysis, question=replace(question, findings=kept))


def _others(sides: Sequence[Round], at: int) -> tuple[Round, ...]:
    return (*sides[:at], *sides[at + 1 :])
