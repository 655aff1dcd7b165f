"""Plays of past rounds that share a fit: the first play's shape and priors, and its maximum to start from.

The rounds are the same in every play, in another order and with another one's gold hidden; where two are played
together, each is fitted without the other. What is shared with a round that is played later is how many levels there
are, how far labelers spread, and where the search for the maximum begins; the maximum itself is that of the play's own
data, in which its gold is hidden. Of that gold the shape and the priors know what little one round of several adds to
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.question import Current
from hero_eval.labelers.fitting import fit_with
from hero_eval.labelers.reliability import Reliability
from hero_eval.methods.evidence import JointEvidence
from hero_eval.model.em import EMOptions
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.patterns import Floats, Ints
from hero_eval.round import Round


@dataclass(frozen=True, eq=False)
class FirstPlay:
    """The evidence of a play, its fit, and the positions of its rounds, the played one last."""

    evidence: JointEvidence
    fit: LevelFit
    order: tuple[int, ...]


class SharedFits:
    """What plays hand on to later ones: history's reliabilities, and for each method the first play's levels."""

    def __init__(self) -> None:
        self._history: Reliability | None = None
        self._first: dict[str, FirstPlay] = {}

    def history(
        self, others: tuple[Round, ...], em: EMOptions, classes: Sequence[str], shrinkage: float
    ) -> Reliability:
        """The reliabilities of a play's history, from those of the first play."""
        fitted = fit_with(others, em, classes, shrinkage=shrinkage, warm=self._history)
        if self._history is None:
            self._history = fitted
        return fitted

    def analysis(self, analysis: Analysis, orders: Sequence[tuple[int, ...]]) -> Analysis:
        """The same, fitted from the first play; `orders` has the positions of the rounds that each current one sees."""
        question, name = analysis.question, analysis.question.method.name
        first, alone = question.currents[0], len(question.currents) == 1
        if not isinstance(first.evidence, JointEvidence):
            return analysis
        if name not in self._first:
            levels = (analysis.fits if alone else [question.method.run(first.evidence)])[0].levels
            if levels is None:
                return analysis
            self._first[name] = FirstPlay(first.evidence, levels, orders[0])
            if alone:
                return analysis
        currents = (self._warm(one, name, order) for one, order in zip(question.currents, orders, strict=True))
        return replace(analysis, question=replace(question, currents=tuple(currents)))

    def _warm(self, current: Current, name: str, order: tuple[int, ...]) -> Current:
        assert isinstance(current.evidence, JointEvidence)
        return replace(current, evidence=started_from(self._first[name], current.evidence, order))


def play_order(n_rounds: int, played: int, beside: int | None = None) -> tuple[int, ...]:
    """The positions of the rounds in a play: the others, then the one that is played; not the one played `beside`."""
    return (*(place for place in range(n_rounds) if place not in (played, beside)), played)


def started_from(first: FirstPlay, evidence: JointEvidence, order: Sequence[int]) -> JointEvidence:
    """The evidence of another play, to be fitted from the first one's; as it is where the two do not fit together."""
    same = set(evidence.labelers) == set(first.evidence.labelers) and len(order) == len(first.order)
    if not same or evidence.covariates is not None or first.evidence.covariates is not None:
        return evidence
    labelers = np.array([first.evidence.labelers.index(name) for name in evidence.labelers])
    rounds = np.array([first.order.index(place) if place in first.order else -1 for place in order])
    return replace(evidence, warm_levels=_laid_out(first.fit, labelers, rounds, evidence.groups))


def _laid_out(fit: LevelFit, labelers: Ints, rounds: Ints, groups: Ints) -> LevelFit:
    """The fit's parameters and priors with labelers and rounds in this order; a round that it lacks (-1) starts as the
    mean of the others."""
    at, prior = fit.parameters, fit.prior
    classes = _rounds_of(at.classes.T, rounds).T if fit.shape.n_levels == 0 else at.classes
    held = None if prior.held_mean is None else prior.held_mean[labelers]
    tilts = _rounds_of(at.tilts, rounds)
    return replace(
        fit,
        parameters=replace(at, answers=at.answers[labelers], tilts=tilts, classes=classes),
        prior=replace(prior, groups=groups, answer_precision=prior.answer_precision[labelers], held_mean=held),
    )


def _rounds_of(values: Floats, rounds: Ints) -> Floats:
    out: Floats = np.where((rounds >= 0)[:, None], values[rounds], values.mean(axis=0))
    return out
