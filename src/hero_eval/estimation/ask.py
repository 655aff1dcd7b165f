"""The way of one estimate: rounds are gathered, a method is selected, its evidence prepared, and the rest analyzed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hero_eval.blas_threads import one_blas_thread
from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.options import Options, PastRounds
from hero_eval.estimation.prepare import RoundSet, gather_rounds, prepare
from hero_eval.estimation.requirements import require
from hero_eval.estimation.select import MethodChoice, best_with_gold, reconsider, without_history_gold
from hero_eval.estimation.stuck import without_stuck
from hero_eval.methods.registry import all_methods
from hero_eval.round import Round


@one_blas_thread()
def ask(
    currents: Sequence[Round],
    history: PastRounds,
    options: Options,
    split: str | None = None,
    best: Callable[[RoundSet, Options], MethodChoice] = best_with_gold,
) -> Analysis:
    """Check the call, select the method, learn from history, and count the current rounds.

    `split` is a column whose value is the same throughout each current round: history's covariate means are then those
    of its items with that value. `best` selects where history has gold and no method is named.
    """
    named = None if options.method is None else all_methods()[options.method]
    rounds = replace(gather_rounds(currents, history, options.at_least, named), one_round=split is not None)
    if named is not None:
        chosen = require(named, "asked for", rounds, options)
        return Analysis(prepare(rounds, chosen, options, split))
    rounds = without_stuck(rounds)
    choice = best(rounds, options) if rounds.past_has_gold else without_history_gold(rounds, options)
    return analysis_by(choice, rounds, options, split)


def analysis_by(choice: MethodChoice, rounds: RoundSet, options: Options, split: str | None = None) -> Analysis:
    """By a method that was chosen and not asked for: another may stand in where what it assumes is refuted."""
    chosen = require(all_methods()[choice.name], choice.why, rounds, options, choice.findings)
    begun = choice.begun if split is None else None
    if begun is None or not _same(begun.rounds, rounds.all_rounds):  # peers are chosen for together
        return Analysis(reconsider(prepare(rounds, chosen, options, split)))
    findings = (*chosen.findings, *begun.findings)
    return Analysis(reconsider(replace(begun, why=chosen.why, findings=findings, made=(begun.method, begun.fits))))


def _same(one: Sequence[Round], other: Sequence[Round]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
