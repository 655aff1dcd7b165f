"""The anchored latent-class model: hidden states, each inside one gold class, and answers that depend on the state.

An item's state is s with probability `weights[s]`; labeler j then answers l with probability `answers[j, l, s]`,
independently of the other labelers; gold, where known, leaves only the states of its class. The paper's model is two
states, two classes and two answers: its mu is weights[1], alpha_j is answers[j, 1, 1], beta_j is answers[j, 0, 0].
Shapes: P patterns, J labelers, L answers, S states, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hero_eval.model.patterns import Floats, Ints, Patterns, sum_by


@dataclass(frozen=True, eq=False)
class Latent:
    """Parameters: weights (S,), answers (J, L, S), and the class of each state (S,)."""

    weights: Floats
    answers: Floats
    state_class: Ints

    @property
    def n_states(self) -> int:
        return len(self.weights)

    @property
    def n_classes(self) -> int:
        return int(self.state_class.max()) + 1

    def within_class(self) -> Floats:
        """Each state's share of its class (S,)."""
        totals = self.class_weights()
        shares: Floats = self.weights / totals[self.state_class]
        return shares

    def class_weights(self) -> Floats:
        return sum_by(self.state_class, self.weights, self.n_classes)

    def class_answers(self) -> Floats:
        """P(answer | class) of each labeler, (J, L, K)."""
        out = np.zeros((*self.answers.shape[:2], self.n_classes))
        shares = self.within_class()
        for state, of_class in enumerate(self.state_class):
            out[:, :, of_class] += shares[state] * self.answers[:, :, state]
        return out


def state_barrier(gold: Ints, state_class: Ints) -> Floats:
    """(P, S) to add to log-probabilities: 0 for the states a row may be in, given its gold, -inf for the others."""
    allowed = (gold[:, None] < 0) | (gold[:, None] == state_class[None, :])
    return np.where(allowed, 0.0, -np.inf)


def answer_log_likelihood(patterns: Patterns, answers: Floats) -> Floats:
    """log P(row's answers | state), (P, S)."""
    return patterns.from_cells(np.log(answers).reshape(-1, answers.shape[2]))


def class_log_likelihood(patterns: Patterns, latent: Latent) -> Floats:
    """log P(row's answers | class), (P, K): the states of a class mixed by their shares."""
    return classes_of_states(answer_log_likelihood(patterns, latent.answers), latent)


def classes_of_states(by_state: Floats, latent: Latent) -> Floats:
    """log P(row's answers | class), (P, K), from those of the states (P, S)."""
    if latent.n_states == latent.n_classes:
        return by_state[:, np.argsort(latent.state_class)]
    by_state = by_state + np.log(latent.within_class())
    columns = [np.logaddexp.reduce(by_state[:, latent.state_class == k], axis=1) for k in range(latent.n_classes)]
    return np.stack(columns, axis=1)


def posterior(patterns: Patterns, latent: Latent, barrier: Floats) -> tuple[Floats, Floats]:
    """E-step: P(state | answers, gold) (P, S), and each row's log-likelihood (P,).

    A gold row contributes log(weight * likelihood) of its class, weight included: that is the likelihood that the
    M-step of Algorithm 1 climbs (the paper's displayed one leaves the weight out of the gold rows).
    """
    joint = answer_log_likelihood(patterns, latent.answers)
    joint += np.log(latent.weights)
    joint += barrier
    return normalize_log_weights(joint)


def normalize_log_weights(joint: Floats) -> tuple[Floats, Floats]:
    """Rows of log-weights as shares (in place, P x S), and the log of what each row adds up to (P,)."""
    top = _over_states(np.maximum, joint)
    joint -= top
    np.exp(joint, out=joint)
    total = _over_states(np.add, joint)
    joint /= total
    return joint, (np.log(total) + top)[:, 0]


def _over_states(combine: np.ufunc, values: Floats) -> Floats:
    """(P, 1): `combine` along the few states; column by column, which is faster than along short rows."""
    out = values[:, :1].copy()
    for s in range(1, values.shape[1]):
        combine(out, values[:, s : s + 1], out=out)
    return out


def log_softmax(logits: Floats, axis: int) -> Floats:
    """Logits as logarithms of shares along `axis`."""
    shifted = logits - np.maximum.reduce(logits, axis=axis, keepdims=True)
    out: Floats = shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))
    return out


def floored_shares(counts: Floats, floor: float, axis: int) -> Floats:
    """Shares along `axis` that maximize sum(counts * log(share)) with every share at least `floor`.

    For two shares this is clipping to [floor, 1 - floor]. Where all counts are 0 the result is nan.
    """
    two = counts.shape[axis] == 2
    if two:  # adding two slices is faster than summing along an axis of two
        before = (slice(None),) * (axis % counts.ndim)
        total = counts[(*before, slice(0, 1))] + counts[(*before, slice(1, 2))]
    else:
        total = np.add.reduce(counts, axis=axis, keepdims=True)
    shares: Floats = counts / np.where(total > 0, total, np.nan)
    if two:
        np.maximum(shares, floor, out=shares)
        return np.minimum(shares, 1.0 - floor, out=shares)
    if not (shares < floor).any():
        return shares
    low = np.zeros(shares.shape, dtype=bool)
    for _ in range(counts.shape[axis]):
        low |= shares < floor
        free = np.where(low, 0.0, counts)
        room = 1.0 - floor * low.sum(axis=axis, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = free / free.sum(axis=axis, keepdims=True) * room
        shares = np.where(low, np.where(np.isnan(spread), np.nan, floor), spread)
        if not (shares < floor).any():
            break
    return shares
