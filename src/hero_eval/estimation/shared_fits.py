"""Plays of past rounds that share a fit: the first play's shape and priors, and its maximum to start from.

The rounds are the same in every play, in another order and with another one's gold hidden. What is shared with a round
that is played later is how many levels there are, how far labelers spread, and where the search for the maximum
begins; the maximum itself is that of the play's own data, in which its gold is hidden. Of that gold the shape and the
priors know what little one round of several adds to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.methods.evidence import JointEvidence
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.patterns import Ints


@dataclass(frozen=True, eq=False)
class FirstPlay:
    """The evidence of a play, its fit, and the positions of its rounds, the played one last."""

    evidence: JointEvidence
    fit: LevelFit
    order: tuple[int, ...]


def play_order(n_rounds: int, played: int) -> tuple[int, ...]:
    """The positions of the rounds in a play: the others, then the one that is played."""
    return (*(place for place in range(n_rounds) if place != played), played)


def started_from(first: FirstPlay, evidence: JointEvidence, order: Sequence[int]) -> JointEvidence:
    """The evidence of another play, to be fitted from the first one's; as it is where the two do not fit together."""
    same = set(evidence.labelers) == set(first.evidence.labelers) and set(order) == set(first.order)
    if not same or evidence.covariates is not None or first.evidence.covariates is not None:
        return evidence
    labelers = np.array([first.evidence.labelers.index(name) for name in evidence.labelers])
    rounds = np.array([first.order.index(place) for place in order])
    return replace(evidence, warm_levels=_laid_out(first.fit, labelers, rounds, evidence.groups))


def _laid_out(fit: LevelFit, labelers: Ints, rounds: Ints, groups: Ints) -> LevelFit:
    """The fit's parameters and priors with labelers and rounds in this order."""
    at, prior = fit.parameters, fit.prior
    classes = at.classes[:, rounds] if fit.shape.n_levels == 0 else at.classes
    held = None if prior.held_mean is None else prior.held_mean[labelers]
    return replace(
        fit,
        parameters=replace(at, answers=at.answers[labelers], tilts=at.tilts[rounds], classes=classes),
        prior=replace(prior, groups=groups, answer_precision=prior.answer_precision[labelers], held_mean=held),
    )
