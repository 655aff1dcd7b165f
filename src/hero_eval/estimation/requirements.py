"""What a method asks of the rounds and options it is given, checked before anything is fitted."""

from __future__ import annotations

from hero_eval.counting.count import stays
from hero_eval.errors import HeroError, unsupported, wrong
from hero_eval.estimation import covariates as shared
from hero_eval.estimation.options import Options
from hero_eval.estimation.prepare import Chosen, RoundSet
from hero_eval.findings import Finding
from hero_eval.labelers.fitting import no_gold
from hero_eval.methods.evidence import JointEvidence, LabelsOnly
from hero_eval.methods.registry import GoldNeed, Method

LEAST_OWN = 2  # golds of a current round: the error of fewer is not to be had


def require(method: Method, why: str, rounds: RoundSet, options: Options, findings: tuple[Finding, ...] = ()) -> Chosen:
    """The method with the covariates that it takes, or what is wrong with the call."""
    name, gold = method.name, rounds.past_has_gold
    if options.groups is not None and not method.takes_groups:
        raise wrong(
            "E204", f"groups tells what new labelers are like, which {name} does not use: use hero3, or leave it out"
        )
    _refuse_scores(method, rounds, named=options.method is not None)
    _require_gold(method, rounds)
    if options.wants_covariates and not gold and method.uses_covariates:
        raise wrong(
            "E206", f"covariates of {name} need a history with gold; leave them out to use the round's own gold"
        )
    if not method.uses_covariates:
        _refuse_unused(method, why, options, gold)
        return Chosen(method, why, (), findings)
    names = tuple(options.covariates or ())
    if not method.needs_covariates:
        if not options.wants_covariates and options.penalty is not None:
            raise wrong("E204", "penalty is for covariates, and none were named")
        return Chosen(method, why, names, findings)
    if not options.wants_covariates and options.covariates is None:
        names = shared.shared_numeric(rounds.currents, rounds.past, options.not_covariates)
    if not names and options.text is None:
        message = f"{name} needs covariates that history and current share; name them with covariates= or text="
        raise wrong("E206", message)
    return Chosen(method, why, names, findings)


def is_lack(error: HeroError) -> bool:
    """The method lacks something (gold, covariates, known labelers, items), as against a call that is wrong."""
    return error.exit_code == 3 or error.code in ("E206", "E211", "E214")


def _refuse_scores(method: Method, rounds: RoundSet, *, named: bool) -> None:
    """Without gold nothing tells which scores are high enough for which class; `named`: the method was asked for."""
    scored = [one.name for one in rounds.all_rounds if one.has_scores]
    hint = next((f". {note.action}" for one in rounds.all_rounds for note in one.notes if note.code == "F131"), "")
    if scored and method.evidence is LabelsOnly and not named:
        message = (
            f"the labels of round {scored[0]!r} are scores, and no gold tells how high a score a class takes: have an "
            "expert answer some items, give a history with gold, or make labels 0 and 1 by a threshold of your own"
        )
        raise unsupported("E214", f"{message}{hint}")
    if scored and method.evidence is LabelsOnly:
        message = (
            f"the labels of round {scored[0]!r} are scores, and {method.name} looks at no gold, which alone tells how "
            "high a score a class takes: give a history with gold, or make labels 0 and 1 by a threshold of your own"
        )
        raise wrong("E214", f"{message}{hint}")


def _refuse_unused(method: Method, why: str, options: Options, gold: bool) -> None:
    """Options that would change nothing are refused, unless past rounds spoke against what they ask for."""
    if options.method is None and gold and (options.wants_covariates or options.penalty is None):
        return
    unused = {"covariates": options.covariates, "text": options.text, "penalty": options.penalty}
    given = [key for key, value in unused.items() if value is not None and value != [] and value != ()]
    if given:
        reason = f" ({why})" if options.method is None else ""
        raise wrong(
            "E204",
            f"{method.name}{reason} uses no covariates, but {' and '.join(given)} was given: use hero2, or leave it "
            "out",
        )


def _require_gold(method: Method, rounds: RoundSet) -> None:
    """The gold that a method asked for cannot do without."""
    currents, past = rounds.currents, rounds.past
    if any(one.n_gold for one in past) and not method.by_design:
        return
    if method.by_design and stays([*currents, *past]):
        raise wrong("E211", f"{method.name} needs counts; the labels of a round here stay in their engine: use hero1")
    least = LEAST_OWN if method.by_design else 1
    poor = [one for one in currents if one.n_gold < least or stays([one])]  # whose labels stay in an engine, cannot
    if method.by_design and poor:
        has = f"{poor[0].name!r}, which has gold for {poor[0].n_gold}"
        message = f"{method.name} needs gold for {LEAST_OWN} or more items of {has}"
        raise unsupported("E305", message)
    if poor and issubclass(method.evidence, JointEvidence) and rounds.parts_share_gold and len(poor) < len(currents):
        return
    if method.gold is GoldNeed.HISTORY or (method.gold is GoldNeed.EITHER and poor):
        if past:
            raise no_gold(past)
        either = "" if method.gold is GoldNeed.HISTORY else ", and the current round has none either"
        raise wrong("E206", f"{method.name} needs a history with gold; none was given{either}")
