"""The best that can be done where all labelers are alike: the two rates of one labeler, by maximum likelihood.

Labelers who are all right equally often are one labeler, of whom an item has several independent labels. Then the
numbers of answers "1" are all that matters: a mixture of two binomials in each of two rounds, with gold for some past
items. EM finds the maximum for thousands of draws at once; the interval is Wald's on the logit scale, from the observed
information. `thin_labelers.py` holds methods that do not know it against this one: in the same draws, so that a miss
which is the draws' can be told from one which is the method's.
Shapes: B draws, L labels of an item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logit
from scipy.stats import binom, norm

STEPS, REST, STEP, PSEUDO = 3_000, 1e-7, 1e-3, 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """(B, L + 1) each: items by their number of answers "1"; past ones of gold 1, of gold 0, without gold; current."""

    gold1: Floats
    gold0: Floats
    past: Floats
    current: Floats

    @property
    def parts(self) -> tuple[Floats, ...]:
        return self.gold1, self.gold0, self.past, self.current


def draw_answers(
    rng: np.random.Generator, draws: int, n_items: int, labels: int, golds: int, rate: float, right: tuple[float, float]
) -> Answers:
    """Rounds of `n_items` by labelers of one specificity and sensitivity (`right`)."""
    said = np.arange(labels + 1)
    on = binom.pmf(said, labels, 1.0 - right[0]), binom.pmf(said, labels, right[1])

    def of(size: int) -> tuple[Floats, Floats]:
        ones = rng.binomial(size, rate, draws)
        return rng.multinomial(size - ones, on[0]).astype(float), rng.multinomial(ones, on[1]).astype(float)

    gold0, gold1 = of(golds)
    return Answers(gold1, gold0, np.add(*of(n_items - golds)), np.add(*of(n_items)))


def estimate(data: Answers, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """(B,) each: the current rate and the ends of its interval."""
    at = _climbed(data)
    hessian = np.empty((len(at), 4, 4))
    steps = STEP * np.eye(4)
    for i in range(4):
        for j in range(4):
            corners = (
                a * b * _log_likelihood(data, at + a * steps[i] + b * steps[j]) for a in (1, -1) for b in (1, -1)
            )
            hessian[:, i, j] = -sum(corners) / (4.0 * STEP**2)
    spread = norm.ppf(0.5 + level / 2) * np.sqrt(np.maximum(np.linalg.pinv(hessian)[:, 3, 3], 0.0))
    return expit(at[:, 3]), expit(at[:, 3] - spread), expit(at[:, 3] + spread)


def _logs(data: Answers, at: Floats) -> tuple[Floats, Floats]:
    """(B, L + 1): log-probabilities of the answers in class 1 and 0, at logits (B, 4) of hits, false alarms, rates."""
    labels = data.current.shape[1] - 1
    said = np.arange(labels + 1)
    ways = gammaln(labels + 1) - gammaln(said + 1) - gammaln(labels - said + 1)
    yes, no = -np.logaddexp(0.0, -at[:, :2, None]), -np.logaddexp(0.0, at[:, :2, None])
    both = ways + said * yes + (labels - said) * no
    return both[:, 0], both[:, 1]


def _log_likelihood(data: Answers, at: Floats) -> Floats:
    one, zero = _logs(data, at)
    yes, no = -np.logaddexp(0.0, -at[:, 2:, None]), -np.logaddexp(0.0, at[:, 2:, None])
    past1, past0, now1, now0 = one + yes[:, 0], zero + no[:, 0], one + yes[:, 1], zero + no[:, 1]
    known = data.gold1 * past1 + data.gold0 * past0
    out: Floats = (known + data.past * np.logaddexp(past1, past0) + data.current * np.logaddexp(now1, now0)).sum(axis=1)
    return out


def _climbed(data: Answers) -> Floats:
    """(B, 4): where EM comes to rest."""
    labels = data.current.shape[1] - 1
    said = np.arange(labels + 1)
    n_gold = data.gold1.sum(axis=1), data.gold0.sum(axis=1)
    rate = (n_gold[0] + 0.5) / (n_gold[0] + n_gold[1] + 1.0)
    hits, alarms = (
        (data.gold1 @ said + 0.8) / (n_gold[0] * labels + 1.0),
        (data.gold0 @ said + 0.2) / (n_gold[1] * labels + 1.0),
    )
    at: Floats = logit(np.stack([hits, alarms, rate, rate], axis=1))
    for _ in range(STEPS):
        one, zero = _logs(data, at)
        before, now = (expit(one - zero + at[:, k, None]) for k in (2, 3))
        ones = data.gold1 + data.past * before + data.current * now
        zeros = data.gold0 + data.past * (1 - before) + data.current * (1 - now)
        new = [
            (ones @ said + PSEUDO) / (ones.sum(axis=1) * labels + 2 * PSEUDO),
            (zeros @ said + PSEUDO) / (zeros.sum(axis=1) * labels + 2 * PSEUDO),
            (data.gold1 + data.past * before).sum(axis=1) / (data.gold1 + data.gold0 + data.past).sum(axis=1),
            (data.current * now).sum(axis=1) / data.current.sum(axis=1),
        ]
        moved = logit(np.clip(np.stack(new, axis=1), 1e-6, 1 - 1e-6))
        rest = float(np.abs(moved - at).max())
        at = moved
        if rest < REST:
            break
    return at
