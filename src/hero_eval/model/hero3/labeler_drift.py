"""How far labelers move against each other: each labeler's own part of drift, which labels show without any gold.

Where the current round's labelers moved more than those of past rounds did, the excess is added to the variance of the
rates, carried there by their derivative in each labeler's answers (`current_rates`).
Shapes: P rows, R rounds (the last is current), J labelers, L answers.
"""

from __future__ import annotations

import numpy as np

from hero_eval.model.hero3.likelihood import LevelModel, answer_logs
from hero_eval.model.patterns import Floats

_KNOWN_VARIANCE = 1.0
"""Of a move's error, on the logit scale: moves that are known worse do not count. A choice. Doubled, labelers of very
few labels in a round count too, with little weight (reasoned)."""
_USUAL_VARIANCE = 0.1
"""Of a labeler's moves, for their weights alone: those known better count for more. A choice; any value gives an
unbiased mean. Doubled (measured): rates stay, intervals change by about 1%."""


def labeler_moves(fit: LevelModel) -> tuple[Floats, Floats]:
    """(R, J, L): how far each labeler's logits are off in each round, by one Newton step, and that step's variance.

    The logits are those of each answer against all others, so that none is unlike the others; of ordered ones of each
    but the first.

    The variance is infinite where a labeler gave no label in the round.
    """
    rows, shape = fit.rows, fit.shape
    some = slice(int(rows.has_ordered_answers), None)
    share = np.exp(answer_logs(shape, fit.parameters.answers))[:, some]
    moves, variances = [], []
    for here in rows.by_round:
        items = fit.post[here] * rows.patterns.counts[here, None]
        cells = (rows.patterns.cells[here].T @ items).reshape(share.shape[0], -1, items.shape[1])
        total = cells.sum(axis=1, keepdims=True)
        information = (total * share * (1 - share)).sum(axis=2)
        gap = (cells[:, some] - total * share).sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            moves.append(np.where(information > 0, gap / information, 0.0))
            variances.append(np.where(information > 0, 1.0 / information, np.inf))
    return np.stack(moves), np.stack(variances)


def excess_labeler_drift(fit: LevelModel) -> tuple[float, float]:
    """By how much the variance of the current labelers' own moves exceeds that of past rounds, and the latter."""
    if fit.rows.n_rounds == 1:
        return 0.0, 0.0
    moves, variances = labeler_moves(fit)
    if fit.rows.n_rounds == 2:
        apart = _own_variance(moves[1] - moves[0], variances[1] + variances[0])
        return apart, 0.0
    past = [_own_variance(moves[r], variances[r]) for r in range(fit.rows.n_rounds - 1)]
    seen_before = np.isfinite(variances[:-1]).any(axis=0)
    now = _own_variance(moves[-1], np.where(seen_before, variances[-1], np.inf))
    usual = float(np.mean(past))
    return max(0.0, now - usual), usual


def _own_variance(moves: Floats, variances: Floats) -> float:
    """Variance of the moves beyond their noise, the better-known ones counted more; 0 with fewer than two labelers."""
    use = variances < _KNOWN_VARIANCE
    if use.sum() < 2:
        return 0.0
    return max(
        0.0, float(np.average(moves[use] ** 2 - variances[use], weights=1.0 / (variances[use] + _USUAL_VARIANCE)))
    )
