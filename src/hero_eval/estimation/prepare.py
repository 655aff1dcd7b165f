"""From rounds, a method and options to a `Question`: what history teaches, and each current round's evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hero_eval.classes import common_classes, in_one_spelling
from hero_eval.counting.count import is_large
from hero_eval.counting.covariate_sums import count_with_covariates
from hero_eval.errors import unsupported, wrong
from hero_eval.estimation import covariates as shared
from hero_eval.estimation.clusters import clusters_of, clusters_of_history, repeat_findings
from hero_eval.estimation.options import Options, PastRounds, require_round
from hero_eval.estimation.question import Current, Question
from hero_eval.estimation.repeated_data import overlap_findings, refuse_same
from hero_eval.estimation.unseen_answers import outside_gold
from hero_eval.findings import Finding, name_some
from hero_eval.labelers.fitting import fit_with, history_rounds, labelers_of
from hero_eval.labelers.reliability import Reliability
from hero_eval.methods.evidence import CovariateColumns, JointEvidence, Material
from hero_eval.methods.registry import GoldNeed, Method
from hero_eval.model.em import EMOptions
from hero_eval.round import Round
from hero_eval.score_scale import on_one_scale

MOST_SHARED_LABELS = 2_000_000
"""Of a round's parts that learn from each other's gold, each with all the others: labels times parts, about half a
minute. Above it each part rests on its own gold, of which there is then plenty. Doubled, so is that time."""


@dataclass(frozen=True, eq=False)
class RoundSet:
    """Current and past rounds in one spelling of their classes, and how history is, or was, fitted.

    `fitted` is a fit of these past rounds that the caller brought. `one_round`: the current ones are parts of one.
    """

    currents: tuple[Round, ...]
    past: tuple[Round, ...]
    classes: tuple[str, ...]
    fitted: Reliability | None = None
    em: EMOptions = field(default_factory=EMOptions)
    shrinkage: float = 0.0
    one_round: bool = False

    @property
    def all_rounds(self) -> tuple[Round, ...]:
        return (*self.currents, *self.past)

    @property
    def is_large(self) -> bool:
        """Whether the items of one of them are not at hand."""
        return is_large(self.all_rounds)

    @property
    def past_has_gold(self) -> bool:
        return any(one.n_gold for one in self.past)

    @property
    def parts_share_gold(self) -> bool:
        """Whether the current ones are parts of a round that learn of their labelers by each other's gold.

        Each is then fitted with all of the others, so that parts and labels must not be too many.
        """
        n_labels = sum(one.n_labels for one in self.currents)
        few = len(self.currents) * n_labels <= MOST_SHARED_LABELS
        return self.one_round and not self.past_has_gold and few and not self.is_large

    @property
    def fitted_otherwise(self) -> bool:
        """Whether history was fitted with options of its own."""
        return self.shrinkage > 0 or self.em != EMOptions()


@dataclass(frozen=True)
class Chosen:
    """The method that answers, why, the covariates it takes, and what is said of the choice."""

    method: Method
    why: str
    covariates: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def gather_rounds(
    currents: Sequence[Round], history: PastRounds, at_least: float | None = None, method: Method | None = None
) -> RoundSet:
    """Check that these are rounds, that none is its own history, and that they have classes in common.

    Gold of many numbers is cut into classes; `at_least` says where. Scores are cut into as many bins as the method
    asked for can use.
    """
    for current in currents:
        require_round(current)
    past = () if history is None else history_rounds(history)
    fine = method is None or method.evidence.every_labeler
    together = on_one_scale(in_one_spelling([*past, *currents]), at_least, fine=fine)
    respelled = any(new is not old for new, old in zip(together, past, strict=False))
    past, here = tuple(together[: len(past)]), tuple(together[len(past) :])
    for current in here:
        refuse_same(current, past)
    classes = common_classes([*here, *past])
    if not isinstance(history, Reliability):
        return RoundSet(here, past, classes)
    fitted = None if respelled else history
    return RoundSet(here, past, classes, fitted, history.options, history.shrinkage)


def prepare(
    rounds: RoundSet, chosen: Chosen, options: Options, split: str | None = None, *, remarks: bool = True
) -> Question:
    """Learn from history, and prepare the current rounds' evidence.

    `split` is a column whose value is the same throughout each current round: history's covariate means are then those
    of its items with that value. Who wants only numbers saves the time of `remarks` on the rounds.
    """
    names, method = chosen.covariates, chosen.method
    columns: tuple[CovariateColumns | None, ...] = (None,) * len(rounds.currents)
    before = rounds
    told: tuple[Finding, ...] = ()
    if rounds.is_large and (names or options.text is not None):
        shared.check_countable(rounds.currents, rounds.past, names, options.text)
        if names:
            return _prepare_counted(rounds, chosen, options)
    elif names or options.text is not None:
        gathered = shared.gather(rounds.currents, rounds.past, names, options.text, rounds.classes)
        same = all(new is old for new, old in zip(gathered.history, rounds.past, strict=True))
        fitted = rounds.fitted if same else None
        rounds = replace(rounds, currents=gathered.currents, past=gathered.history, fitted=fitted)
        columns, told = gathered.columns, gathered.findings
    reliability = _learn(rounds, method, options)
    if split is not None and columns[0] is not None:
        columns = _split_history(columns, rounds, split)
    alone = len(rounds.currents) == 1 and split is None
    material = Material(
        rounds.currents[0],
        rounds.classes,
        reliability,
        penalty=options.penalty,
        groups=options.groups,
        progress=options.progress,
        named=options.method is not None or options.groups is not None,
        alone=alone,
    )
    prepared = tuple(
        _prepare_current(replace(material, current=one, columns=column), method, options, rounds, beside)
        for one, column, beside in zip(rounds.currents, columns, _siblings(rounds, method), strict=True)
    )
    past_clusters, on_clusters = clusters_of_history(rounds.past, options.cluster)
    found = (*chosen.findings, *told)
    if remarks:
        found += (
            *_advice(before, chosen, options),
            *on_clusters,
            *repeat_findings(rounds.currents, rounds.past, options.cluster),
            *overlap_findings(rounds.currents, rounds.past),
            *outside_gold(rounds.currents, rounds.past, rounds.classes),
        )
    everything = rounds.all_rounds
    return Question(
        rounds.classes, prepared, reliability, method, chosen.why, options, found, past_clusters, everything
    )


def _siblings(rounds: RoundSet, method: Method) -> tuple[tuple[int, ...], ...]:
    """For each part of a round the places of the other parts whose gold tells of its labelers, too."""
    parts = rounds.currents
    if not rounds.parts_share_gold or not issubclass(method.evidence, JointEvidence):
        return ((),) * len(parts)
    golden = [at for at, one in enumerate(parts) if one.n_gold]
    return tuple(tuple(at for at in golden if at != here) for here in range(len(parts)))


def _prepare_counted(rounds: RoundSet, chosen: Chosen, options: Options) -> Question:
    """Covariates of rounds of which some are too large to be held: sums by answer pattern stand for the items."""
    names, fitted = chosen.covariates, rounds.fitted
    if chosen.method.evidence.every_labeler:
        message = (
            f"covariates of {chosen.method.name} need items one by one; a round here is kept without them: use hero2"
        )
        raise wrong("E211", message)
    side = count_with_covariates(rounds.past, names, labelers_of(rounds.past), rounds.classes)
    if fitted is not None and fitted.classes == rounds.classes and fitted.counted.kept is None:
        reliability = fitted
    else:
        reliability = fit_with(rounds.past, rounds.em, rounds.classes, options.progress, rounds.shrinkage, side.counted)
    material = Material(
        rounds.currents[0],
        rounds.classes,
        reliability,
        counted=names,
        past_moments=side.moments,
        penalty=options.penalty,
        progress=options.progress,
    )
    prepared = tuple(
        _prepare_current(replace(material, current=one), chosen.method, options, rounds) for one in rounds.currents
    )
    if options.cluster is not None or options.interval == "bootstrap":
        what = "cluster" if options.cluster is not None else "interval='bootstrap'"
        raise wrong("E211", f"{what} needs the items of hero2 one by one; a round here is kept without them")
    found = (*chosen.findings, *_advice(rounds, chosen, options))
    return Question(
        rounds.classes, prepared, reliability, chosen.method, chosen.why, options, found, None, rounds.all_rounds
    )


def _learn(rounds: RoundSet, method: Method, options: Options) -> Reliability | None:
    """History's reliabilities if the method needs them; a fitted one is used again when its classes agree."""
    if not method.uses_history or not (rounds.past_has_gold or method.gold is GoldNeed.HISTORY):
        return None
    if rounds.fitted is not None and rounds.fitted.classes == rounds.classes:
        return rounds.fitted
    return fit_with(rounds.past, rounds.em, rounds.classes, options.progress, rounds.shrinkage)


def _split_history(
    columns: Sequence[CovariateColumns | None], rounds: RoundSet, split: str
) -> tuple[CovariateColumns | None, ...]:
    """The mean that history knows must be that of its items with the same value: the others count as unseen."""
    lacking = [one.name for one in rounds.past if not one.has_column(split)]
    if lacking:
        message = f"with covariates the column {split!r} is needed in history too; absent from {', '.join(lacking)}"
        raise wrong("E202", message)
    values = np.array([value for one in rounds.past for value in one.words(split)], dtype=object)
    masked = []
    for one, column in zip(rounds.currents, columns, strict=True):
        assert column is not None
        same = values == one.words(split)[0]
        masked.append(replace(column, history=np.where(same[:, None], column.history, np.nan), in_scope=same))
    return tuple(masked)


def _prepare_current(
    material: Material, method: Method, options: Options, rounds: RoundSet, beside: tuple[int, ...] = ()
) -> Current:
    """One current round; `beside` are the places of those that are parts of one round with it, and teach of it."""
    one = material.current
    if one.n_items == 0:
        raise unsupported("E303", f"no item of the current round {one.name!r} has a usable label")
    made = method.evidence.prepare(replace(material, siblings=tuple(rounds.currents[place] for place in beside)))
    notes = [note.at(f"current {one.name!r}") for note in one.notes]
    if one.n_gold and not method.evidence.reads_current_gold and made.own is None:
        message = f"{one.n_gold} items of {one.name!r} have gold; {method.name} does not use the current round's gold"
        notes.append(Finding("F105", message, {"gold": one.n_gold}))
    units = None if options.cluster is None else clusters_of(one, options.cluster)
    return Current(one, made.evidence, made.kept, (*notes, *made.findings), units, made.own, beside)


def _advice(rounds: RoundSet, chosen: Chosen, options: Options) -> tuple[Finding, ...]:
    """What the caller left to us, and what could be had."""
    found = []
    names, method = chosen.covariates, chosen.method
    own = sum(one.n_gold for one in rounds.currents)
    if own and rounds.past and not rounds.past_has_gold:
        message = (
            f"history ({name_some([one.name for one in rounds.past])}) has no gold, and the current round has {own}"
        )
        found.append(Finding("F136", message, {"history": [one.name for one in rounds.past], "gold": own}))
    if names and not options.wants_covariates:
        message = f"{method.name} uses every numeric column that all rounds share: {name_some(list(names))}"
        found.append(Finding("F406", message, {"covariates": list(names)}))
    nothing_named = options.method is None and not (names or options.wants_covariates)
    if nothing_named and method.uses_history and rounds.past:
        unused = shared.shared_numeric(rounds.currents, rounds.past, options.not_covariates)
        if unused:
            message = f"history and current share {name_some(list(unused))}, which could sharpen the estimate"
            found.append(Finding("F404", message, {"covariates": list(unused)}))
    return tuple(found)
