"""What could be estimated from rounds, before anything is: the methods that could run, the one that would be taken, and
what there would be to say of its answer. Past rounds are not played for it, and one method alone is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hero_eval.errors import HeroError
from hero_eval.estimation.ask import analysis_by
from hero_eval.estimation.headline import headline, positive_of
from hero_eval.estimation.options import Options
from hero_eval.estimation.prepare import RoundSet, gather_rounds, prepare
from hero_eval.estimation.requirements import is_lack, require
from hero_eval.estimation.select import unplayed, without_history_gold
from hero_eval.findings import Finding
from hero_eval.labelers.fitting import fit_with
from hero_eval.methods.registry import all_methods
from hero_eval.model.history import Progress
from hero_eval.round import Round


@dataclass(frozen=True)
class Outlook:
    """What each method lacks (None: it could run), the one that would be taken, what is to be said of its answer, and
    what stands in the way of one."""

    lacks: dict[str, str | None] | None = None
    method: str | None = None
    why: str = ""
    findings: tuple[Finding, ...] = ()
    error: HeroError | None = None


def look_ahead(
    current: Round, history: Sequence[Round], positive: object = None, progress: Progress | None = None
) -> Outlook:
    """What `estimate_rate` could make of a round; what is wrong with the call is in `error`, and not raised."""
    options = Options(progress=progress)
    lacks: dict[str, str | None] | None = None
    try:
        rounds = gather_rounds([current], list(history) or None)
        if rounds.past_has_gold:
            fitted = fit_with(rounds.past, rounds.em, rounds.classes, progress)
            rounds = replace(rounds, fitted=fitted)
        positive_of(rounds.classes, rounds.all_rounds, positive)  # or it is said what is wrong with it
        lacks = _lacks(rounds, options)
        choice = unplayed(rounds, options) if rounds.past_has_gold else without_history_gold(rounds, options)
        found = headline(analysis_by(choice, rounds, options), 0, positive)
    except HeroError as error:
        return Outlook(lacks, error=error)
    return Outlook(lacks, found.method, found.why, found.findings)


def _lacks(rounds: RoundSet, options: Options) -> dict[str, str | None]:
    """Of each method what keeps it from running: what it asks of rounds, and what its evidence is prepared from."""
    prepared: set[object] = set()
    lacks: dict[str, str | None] = {}
    for name, method in all_methods().items():
        asked = replace(options, method=name)
        try:
            chosen = require(method, "asked for", rounds, asked)
            alike = method.evidence, method.uses_history, chosen.covariates  # is prepared from the same in the same way
            if alike not in prepared:
                prepare(rounds, chosen, asked)
                prepared.add(alike)
            lacks[name] = None
        except HeroError as error:
            if not is_lack(error):
                raise
            lacks[name] = "; ".join(problem.message for problem in error.problems)
    return lacks
