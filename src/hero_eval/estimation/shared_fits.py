"""Plays of past rounds that share a fit: its shape and priors, and its maximum to start from.

The rounds are the same in every play, in another order and with another one's gold hidden; where two are played
together, each is fitted without the other. The fit that they share is that of the question itself, of all past rounds
and the current one, or else that of the first play. What is shared is how many levels there are, how far labelers
spread, and where the search for the maximum begins; the maximum itself is that of the play's own data, in which its
gold is hidden. Of that gold the shape and the priors know what little one round of several adds to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.estimation.analysis import Analysis
from hero_eval.estimation.question import Current, Question
from hero_eval.labelers.fitting import fit_with
from hero_eval.labelers.reliability import Reliability
from hero_eval.methods.evidence import JointEvidence
from hero_eval.model.em import EMOptions
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.hero3.level_priors import rounds_prior
from hero_eval.model.hero3.level_selection import shape_for
from hero_eval.model.patterns import Floats, Ints
from hero_eval.round import Round

PLAY_REST = 1e-8
"""A play's reliabilities rest when none moves by more in a step: with a hundred labelers of few labels a third of the
steps, and estimates within 1e-4 of those at the maximum, where plays are told apart by hundredths."""


@dataclass(frozen=True, eq=False)
class FirstPlay:
    """The evidence that a fit was made of, the fit, and the positions of its rounds, the current one last."""

    evidence: JointEvidence
    fit: LevelFit
    order: tuple[int, ...]


class SharedFits:
    """What plays hand on to later ones: history's reliabilities, and for each method the first fit's levels.

    `begun` is the question itself, if it was fitted before any play: a single current round, without covariates.
    """

    def __init__(self, begun: Question | None = None) -> None:
        self._history: Reliability | None = None
        self._histories: dict[tuple[int, ...], Reliability] = {}
        self._first: dict[str, FirstPlay] = {}
        if begun is None:
            return
        self._history = begun.reliability
        evidence, levels = begun.currents[0].evidence, begun.fits[0].levels
        if isinstance(evidence, JointEvidence) and levels is not None:
            order = tuple(range(len(evidence.past) + 1))
            self._first[begun.method.name] = FirstPlay(evidence, levels, order)

    def history(
        self, others: tuple[Round, ...], em: EMOptions, classes: Sequence[str], shrinkage: float
    ) -> Reliability:
        """The reliabilities of a play's history, started from the first ones, and fitted once."""
        key = tuple(map(id, others))
        if key not in self._histories:
            near = replace(em, step_tolerance=None if em.step_tolerance is None else max(em.step_tolerance, PLAY_REST))
            self._histories[key] = fit_with(
                others, near, classes, shrinkage=shrinkage, warm=self._history, remarks=False
            )
        if self._history is None:
            self._history = self._histories[key]
        return self._histories[key]

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
    among = set(evidence.labelers) <= set(first.evidence.labelers)
    if not among or evidence.covariates is not None or first.evidence.covariates is not None:
        return evidence
    labelers = np.array([first.evidence.labelers.index(name) for name in evidence.labelers])
    rounds = np.array([first.order.index(place) if place in first.order else -1 for place in order])
    return replace(evidence, warm_levels=_laid_out(first.fit, labelers, rounds, evidence.groups))


def _laid_out(fit: LevelFit, labelers: Ints, rounds: Ints, groups: Ints) -> LevelFit:
    """The fit's parameters and priors with labelers and rounds in this order; a round that it lacks (-1) starts as the
    mean of the others."""
    at, prior = fit.parameters, fit.prior
    shape = shape_for(len(rounds), fit.shape) if fit.shape.all_degrees else fit.shape  # of ordered answers none has all
    classes = _rounds_of(at.classes.T, rounds).T if fit.shape.n_levels == 0 else at.classes
    mean, precision = (prior.class_mean, prior.class_precision) if fit.shape.n_levels else rounds_prior(classes)
    held = None if prior.held_mean is None else prior.held_mean[labelers]
    tilts = _rounds_of(at.tilts, rounds)[:, : shape.n_tilts]
    return replace(
        fit,
        shape=shape,
        parameters=replace(at, answers=at.answers[labelers], tilts=tilts, classes=classes),
        prior=replace(
            prior,
            groups=groups,
            answer_precision=prior.answer_precision[labelers],
            class_mean=mean,
            class_precision=precision,
            held_mean=held,
        ),
    )


def _rounds_of(values: Floats, rounds: Ints) -> Floats:
    out: Floats = np.where((rounds >= 0)[:, None], values[rounds], values.mean(axis=0))
    return out
