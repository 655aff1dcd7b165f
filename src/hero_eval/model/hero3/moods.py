"""Moods: what all labelers share in a round, where each of them errs by itself given the class.

Labelers whose instructions or prompt changed move together: in round r the logits of labeler j's answers in class k are
alpha_jk + m_rk. Several labels of an item show m_rk without any gold, since classes are what labelers agree about, as
in Dawid and Skene's model; but there every round stands alone, and here what labelers are like in all rounds holds them
apart, so that a round has but its rates and one number for each class and answer to find. Rounds now and then move far
(Student's t distribution around 0). The moods' size has a half-normal prior and a posterior on a grid, by the labels of
all rounds (Laplace's approximation); where labels show no moods, none are read. What past gold makes of them is in
`class_split.split_by_moods`.

Without moods a round in which all labelers grew strict looks like one with fewer items of a class, or, if several
rounds differ so, like items that labelers find hard together: levels then explain labels better than classes do, and
wrongly. `Moods.gain` is what such a choice must be held against (`level_selection`).

Shapes: P rows, R rounds (the last is current), J labelers, L answers, K classes, D = K-1 + K(L-1) numbers of a round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special
from scipy.special import logsumexp

from hero_eval.model.em import EMOptions, run_accelerated_em
from hero_eval.model.even_logits import even_precision
from hero_eval.model.hero3.drift import DRIFT_DF, size_log_prior
from hero_eval.model.hero3.likelihood import LevelModel
from hero_eval.model.hero3.multinomial import damped
from hero_eval.model.latent import log_softmax, normalize_log_weights
from hero_eval.model.patterns import Floats, Patterns, sparse_cells

LEAST_LABELS = 2.5
"""Labels of an item on average, below which nothing but gold tells moods from rates: with two labelers an item has four
answers, three numbers that labels show, and a round three to find. Doubled, rounds of three and four labels an item
would be read without moods (reasoned)."""
LEAST_ROUNDS = 2
"""Past rounds with gold, which show how far rounds drift. Doubled, teams with two or three would do without moods
(reasoned)."""
SIZES: Floats = np.array([0.05, 0.15, 0.3, 0.5, 0.8, 1.2])
"""Of moods: from those that cannot be seen to 1.2 logits, beyond which classes could change places (reasoned)."""
_SIZE_SCALE = 0.5
"""Of their half-normal prior. A choice; labels of a few rounds tell the size better (reasoned)."""
_LOOSE_SIZE = 0.3
"""Of moods while labelers are learned beside them. A choice: labelers are what rounds have in common, which hardly
depends on it (reasoned)."""
_ITEM = 0.5
"""Items of each class that are added to a round: Jeffreys' prior. Doubled, rates of small rounds lie nearer to even."""
_LOOKING = EMOptions(tolerance=1e-7, step_tolerance=None, max_steps=150, accelerate=False)
"""Of EM for the labelers, which starts where these are without moods. Ten times as tight (measured, before the tails
of moods were long): RMSE in simulations changes by .001 or less."""
_AT_MOST, _BESIDE = 3.0, 5.0
"""How many times the likely gain moods may gain at most, and beside it: what then lacks is not looked at. It bounds
time, as long as likely gains are about right (reasoned)."""
_NEWTON_STEPS = 30
"""Of the search for a round's mood. Doubled, nothing changes (reasoned)."""
_REST = 1e-3
"""Logits, below which it rests: the next step would be of a millionth. Doubled, nothing changes that could be seen
(reasoned)."""
_HALVES = 4
"""Times that a step which leads downhill is halved. It changes the way to the maximum, not the maximum (reasoned)."""
_LEAST_SHARE = 1e-12
"""Of a class, so that its logarithm is a number: 28 logits from even. Doubled, nothing changes (reasoned)."""
_FLAT = 1e-6
"""Of its largest eigenvalue: an information with a smaller one bends the wrong way, or not at all. Doubled, nothing
changes that could be seen (reasoned)."""


@dataclass(frozen=True, eq=False)
class Moods:
    """shares (P, K): P(class | labels alone) of every row with its round's mood; size: the mean of the moods' standard
    deviation; gain: by how much moods raise the logarithm of the labels' probability; unsure (K-1, K-1): the covariance
    of the logits of the current round's rates that is due to its mood."""

    shares: Floats
    size: float
    gain: float
    unsure: Floats

    def moves(self, shares: Floats) -> Floats:
        """(P, K-1): by how much they move the class logits of rows with these shares (P, K)."""
        there, here = (np.log(np.maximum(one, _LEAST_SHARE)) for one in (self.shares, shares))
        out: Floats = (there[:, 1:] - there[:, :1]) - (here[:, 1:] - here[:, :1])
        return out


@dataclass(frozen=True, eq=False)
class RoundMoods:
    """Numbers of each round: moods (R, L-1, K), and logits (R, K-1) of its classes against the first."""

    moods: Floats
    logits: Floats

    @property
    def log_weights(self) -> Floats:
        """(R, K): of the classes."""
        return log_softmax(np.concatenate([np.zeros((len(self.logits), 1)), self.logits], axis=1), axis=1)

    def moved(self, step: Floats) -> RoundMoods:
        """By a step (R, D)."""
        n_logits, shape = self.logits.shape[1], self.moods.shape
        by_class = step[:, n_logits:].reshape(shape[0], shape[2], shape[1])
        return RoundMoods(self.moods + by_class.transpose(0, 2, 1), self.logits + step[:, :n_logits])


@dataclass(frozen=True, eq=False)
class Bend:
    """The objective (R,) of each round, its gradient (R, D), and minus its second derivative (R, D, D): as it is, and
    as if all classes were seen."""

    objective: Floats
    gradient: Floats
    information: Floats
    complete: Floats

    @property
    def log_volume(self) -> float:
        """The log-likelihood of all rounds with their numbers integrated out, up to a constant (Laplace)."""
        return float(self.objective.sum() - 0.5 * np.linalg.slogdet(self.safe)[1].sum())

    @property
    def safe(self) -> Floats:
        """(R, D, D): the information, or the complete one where that bends the wrong way."""
        ends = np.linalg.eigvalsh(self.information)
        good = ends[:, 0] > _FLAT * ends[:, -1]
        return np.where(good[:, None, None], self.information, self.complete)


def moods_are_seen(fit: LevelModel) -> bool:
    """Whether labels can show the moods of rounds: several past ones with gold, and several labels of an item."""
    rows = fit.rows
    if fit.shape.err_together or rows.covariates.shape[1] or rows.has_ordered_answers:
        return False
    n_rounds = len(np.unique(rows.round[rows.known & ~rows.is_current]))
    return n_rounds >= LEAST_ROUNDS and rows.patterns.label_weight >= LEAST_LABELS * float(rows.patterns.counts.sum())


def read_moods(fit: LevelModel, needed: float = 0.0) -> Moods | None:
    """The moods of all rounds, where labels show any; None, too, where they cannot gain as much as is needed."""
    told = MoodModel(fit)
    start, none = climb(told, fit.parameters.answers, told.start, None)
    likely = _likely_gain(told, start)
    if likely <= 0.0 or _AT_MOST * likely + _BESIDE < needed:
        return None
    answers, rounds, lifted = told.learn(_LOOSE_SIZE)
    modes: list[RoundMoods] = []
    unsure = np.empty((len(SIZES), rounds.logits.shape[1], rounds.logits.shape[1]))
    log_likelihoods = np.empty(len(SIZES))
    for place in reversed(range(len(SIZES))):
        rounds, bend = climb(told, answers, rounds, float(SIZES[place]))
        modes.insert(0, rounds)
        unsure[place] = _open(bend, rounds.logits.shape[1])
        log_likelihoods[place] = bend.log_volume + told.log_constant(float(SIZES[place]))
    prior = size_log_prior(_SIZE_SCALE, SIZES)
    joint = log_likelihoods + prior
    chance = np.exp(joint - logsumexp(joint))
    moods = np.tensordot(chance, np.stack([one.moods for one in modes]), axes=1)
    logits = np.tensordot(chance, np.stack([one.logits for one in modes]), axes=1)
    shares, _ = told.read(answers, RoundMoods(moods, logits), blind=True)
    gain = float(logsumexp(joint) - logsumexp(prior)) - none.log_volume + lifted
    return Moods(shares, float(chance @ SIZES), gain, np.tensordot(chance, unsure, axes=1))


def _likely_gain(told: MoodModel, rounds: RoundMoods) -> float:
    """By how much moods of the likeliest size would raise the labels' log-probability if that were quadratic around
    none, and labelers stayed as they are."""
    n_logits = rounds.logits.shape[1]
    bend = told.bend(told.fit.parameters.answers, rounds, np.inf)
    own, crossed = bend.information[:, n_logits:, n_logits:], bend.information[:, n_logits:, :n_logits]
    taken = np.linalg.solve(bend.safe[:, :n_logits, :n_logits], crossed.transpose(0, 2, 1))
    even = np.linalg.cholesky(np.linalg.inv(np.kron(np.eye(n_logits + 1), told.even)))
    ends, axes = np.linalg.eigh(even.T @ (own - crossed @ taken) @ even)
    pulls = ((bend.gradient[:, n_logits:] @ even)[:, None] @ axes)[:, 0]
    wide = SIZES[:, None, None] ** 2
    seen = 1.0 + wide * np.maximum(ends, 0.0)
    return float((0.5 * (pulls**2 * wide / seen - np.log(seen))).sum(axis=(1, 2)).max())


@dataclass(frozen=True, eq=False)
class MoodModel:
    """The rows of a fit whose components are classes, read with moods."""

    fit: LevelModel

    @cached_property
    def by_round(self) -> Patterns:
        """The same labels, each labeler being another in each round."""
        rows, patterns = self.fit.rows, self.fit.rows.patterns
        width = patterns.n_labelers * patterns.n_answers
        of_round = np.repeat(rows.round, np.diff(patterns.cells.indptr)).astype(np.int64)
        cells = sparse_cells(patterns.cells.indices + of_round * width, patterns.cells.indptr, rows.n_rounds * width)
        return replace(patterns, cells=cells, n_labelers=rows.n_rounds * patterns.n_labelers)

    @cached_property
    def even(self) -> Floats:
        """(L-1, L-1): the precision of a mood of size 1."""
        return even_precision(self.fit.rows.patterns.n_answers - 1)

    @property
    def n_moods(self) -> int:
        """How many numbers they are."""
        rows = self.fit.rows
        return rows.n_rounds * rows.n_classes * (rows.patterns.n_answers - 1)

    def log_constant(self, size: float) -> float:
        """The logarithm of the constant of the moods' density, beside that of a normal one's in Laplace's formula."""
        n_own, n_rounds = int(self.start.moods[0].size), self.fit.rows.n_rounds
        of_even = 0.5 * self.fit.rows.n_classes * float(np.linalg.slogdet(self.even)[1])
        tails = float(special.gammaln((DRIFT_DF + n_own) / 2.0) - special.gammaln(DRIFT_DF / 2.0))
        return float(n_rounds) * (of_even + tails + 0.5 * n_own * math.log(2.0 / DRIFT_DF / size**2))

    @cached_property
    def start(self) -> RoundMoods:
        """No moods, and the rates that the fit has without them."""
        rows = self.fit.rows
        items = rows.sums_by_round(self.fit.shares * rows.patterns.counts[:, None]) + _ITEM
        n_answers = rows.patterns.n_answers
        moods = np.zeros((rows.n_rounds, n_answers - 1, rows.n_classes))
        return RoundMoods(moods, np.log(items[:, 1:] / items[:, :1]))

    def answer_logs(self, answers: Floats, rounds: RoundMoods) -> Floats:
        """(R, J, L, K): log P(answer | class) of each labeler in each round."""
        lines = answers + rounds.moods[:, None]
        return log_softmax(np.concatenate([np.zeros_like(lines[:, :, :1]), lines], axis=2), axis=2)

    def read(self, answers: Floats, rounds: RoundMoods, *, blind: bool) -> tuple[Floats, Floats]:
        """P(class | labels) (P, K), and gold unless that is left out, and each row's log-likelihood (P,)."""
        rows, logs = self.fit.rows, self.answer_logs(answers, rounds)
        found = self.by_round.from_cells(logs.reshape(-1, rows.n_classes)) + rounds.log_weights[rows.round]
        if not blind:
            other = np.arange(rows.n_classes) != rows.patterns.gold[:, None]
            found[rows.known[:, None] & other] = -np.inf
        return normalize_log_weights(found)

    def expected(self, weighted: Floats) -> Floats:
        """(R, J, L, K): sums of the classes' shares (P, K) by label."""
        patterns = self.fit.rows.patterns
        shape = self.fit.rows.n_rounds, patterns.n_labelers, patterns.n_answers, self.fit.rows.n_classes
        return self.by_round.to_cells(weighted).reshape(shape)

    def learn(self, size: float) -> tuple[Floats, RoundMoods, float]:
        """Labelers, with moods of that size beside them: by EM. And what moods lift their prior's density."""
        rows, pooling = self.fit.rows, self.fit.prior.pooling
        counts, first = rows.patterns.counts, self.fit.parameters.answers
        ends = np.cumsum([first.size, self.start.moods.size])

        def of(vector: Floats) -> tuple[Floats, RoundMoods]:
            answers, moods, logits = np.split(vector, ends)
            return answers.reshape(first.shape), RoundMoods(
                moods.reshape(self.start.moods.shape), logits.reshape(rows.n_rounds, -1)
            )

        def step(vector: Floats) -> tuple[Floats, float]:
            answers, rounds = of(vector)
            post, by_row = self.read(answers, rounds, blind=False)
            weighted = post * counts[:, None]
            objective = float(counts @ by_row) + _ITEM * float(rounds.log_weights.sum())
            objective += pooling.log_density(answers.reshape(len(answers), -1)) - self._off(rounds.moods, size)[0].sum()
            cells = self.expected(weighted)
            answers, moods = self._labeler_step(cells, answers, rounds.moods, size)
            items = rows.sums_by_round(weighted) + _ITEM
            logits = np.log(items[:, 1:] / items[:, :1])
            return np.concatenate([answers.ravel(), moods.ravel(), logits.ravel()]), objective

        start = np.concatenate([first.ravel(), self.start.moods.ravel(), self.start.logits.ravel()])
        found, _ = run_accelerated_em(step, lambda vector: vector, start, _LOOKING)
        answers, rounds = of(found)
        flat = (one.reshape(len(first), -1) for one in (answers, first))
        after, before = (pooling.log_density(one) for one in flat)
        return answers, rounds, after - before

    def _off(self, moods: Floats, size: float) -> tuple[Floats, Floats]:
        """(R,): minus the log-prior of moods, and how many times more firmly it holds each than a normal one would."""
        n_own = moods[0].size
        squares = np.einsum("rlk,lm,rmk->r", moods, self.even, moods) / size**2
        whole = DRIFT_DF + n_own
        return 0.5 * whole * np.log1p(squares / DRIFT_DF), whole / (DRIFT_DF + squares)

    def _labeler_step(self, cells: Floats, answers: Floats, moods: Floats, size: float) -> tuple[Floats, Floats]:
        """A damped Newton step of labelers with moods held, then one of moods."""
        pooling, n_labelers = self.fit.prior.pooling, len(answers)
        gap, spread = self._gaps(cells, answers, moods)
        hessian = _by_answer(spread.sum(axis=0)) + pooling.precision
        pull = gap.sum(axis=0).reshape(n_labelers, -1) + pooling.gradient(answers.reshape(n_labelers, -1))
        answers = answers + damped(pooling.solve(hessian, pull).reshape(answers.shape))
        gap, spread = self._gaps(cells, answers, moods)
        precision = self._off(moods, size)[1][:, None, None, None] * (self.even / size**2)
        slope = gap.sum(axis=1).transpose(0, 2, 1)[..., None] - precision @ moods.transpose(0, 2, 1)[..., None]
        turned = np.linalg.solve(spread.sum(axis=1) + precision, slope)[..., 0]
        return answers, moods + damped(turned.transpose(0, 2, 1))

    def _gaps(self, cells: Floats, answers: Floats, moods: Floats) -> tuple[Floats, Floats]:
        """(R, J, L-1, K): answers less what is expected; (R, J, K, L-1, L-1) how these spread."""
        share = np.exp(self.answer_logs(answers, RoundMoods(moods, self.start.logits)))[:, :, 1:]
        total = cells.sum(axis=2)
        return cells[:, :, 1:] - total[:, :, None] * share, _spread(total, share)

    def bend(self, answers: Floats, rounds: RoundMoods, size: float | None) -> Bend:
        """How the probability of each round's labels changes with its mood and its rates; no mood without a size."""
        rows, counts, n_logits = self.fit.rows, self.fit.rows.patterns.counts, rounds.logits.shape[1]
        post, by_row = self.read(answers, rounds, blind=True)
        rates, scores = np.exp(rounds.log_weights), self._mood_scores(answers, rounds)
        by_class = np.repeat(post, scores.shape[1] // (n_logits + 1), axis=1) * scores
        mean = np.concatenate([post[:, 1:] - rates[rows.round, 1:], by_class], axis=1)
        gradient = rows.sums_by_round(mean * counts[:, None])
        complete = self._complete(answers, rounds, post * counts[:, None])
        information = complete - self._doubt(post * counts[:, None], scores, mean, rates)
        objective = rows.sums_by_round((counts * by_row)[:, None])[:, 0] + _ITEM * rounds.log_weights.sum(axis=1)
        gradient[:, :n_logits] += _ITEM * (1.0 - (n_logits + 1) * rates[:, 1:])
        for one in (complete, information):
            one[:, :n_logits, :n_logits] += _ITEM * (n_logits + 1) * _rate_spread(rates)
        if size is None:
            some = slice(0, n_logits)
            return Bend(objective, gradient[:, some], information[:, some, some], complete[:, some, some])
        off, held = self._off(rounds.moods, size)
        precision = held[:, None, None] * (np.kron(np.eye(n_logits + 1), self.even) / size**2)
        flat = rounds.moods.transpose(0, 2, 1).reshape(len(rates), -1)
        gradient[:, n_logits:] -= (precision @ flat[:, :, None])[:, :, 0]
        for one in (complete, information):
            one[:, n_logits:, n_logits:] += precision
        return Bend(objective - off, gradient, information, complete)

    def _complete(self, answers: Floats, rounds: RoundMoods, weighted: Floats) -> Floats:
        """(R, D, D): the information if all classes were seen."""
        n_logits = rounds.logits.shape[1]
        share = np.exp(self.answer_logs(answers, rounds))[:, :, 1:]
        by_class = _spread(self.expected(weighted).sum(axis=2), share).sum(axis=1)
        width = share.shape[2]
        out = np.zeros((len(rounds.logits),) + (n_logits + width * (n_logits + 1),) * 2)
        items = self.fit.rows.sums_by_round(weighted).sum(axis=1)
        out[:, :n_logits, :n_logits] = items[:, None, None] * _rate_spread(np.exp(rounds.log_weights))
        for k in range(n_logits + 1):
            at = slice(n_logits + k * width, n_logits + (k + 1) * width)
            out[:, at, at] = by_class[:, k]
        return out

    def _mood_scores(self, answers: Floats, rounds: RoundMoods) -> Floats:
        """(P, K(L-1)): how a row's labels speak for each mood, if its class is k."""
        share = np.exp(self.answer_logs(answers, rounds))  # (R, J, L, K)
        n_answers, n_classes = share.shape[2:]
        given = np.eye(n_answers)[:, 1:]  # (L, L-1)
        values = given[:, None] - share[:, :, None, 1:].transpose(0, 1, 2, 4, 3)  # (R, J, L, K, L-1)
        return self.by_round.from_cells(values.reshape(-1, n_classes * (n_answers - 1)))

    def _doubt(self, weighted: Floats, scores: Floats, mean: Floats, rates: Floats) -> Floats:
        """(R, D, D): the variance of rows' scores over the classes that they may be of."""
        n_logits, n_classes = rates.shape[1] - 1, rates.shape[1]
        width, counts = scores.shape[1] // n_classes, self.fit.rows.patterns.counts
        out = np.empty((len(rates), mean.shape[1], mean.shape[1]))
        for r, here in enumerate(self.fit.rows.by_round):
            own, share = out[r], weighted[here]
            own[:] = -(mean[here].T * counts[here]) @ mean[here]
            for k in range(n_classes):
                away = np.eye(n_classes)[k, 1:] - rates[r, 1:]
                at = slice(n_logits + k * width, n_logits + (k + 1) * width)
                some = scores[here][:, k * width : (k + 1) * width]
                crossed = np.outer(away, share[:, k] @ some)
                own[:n_logits, :n_logits] += share[:, k].sum() * np.outer(away, away)
                own[:n_logits, at] += crossed
                own[at, :n_logits] += crossed.T
                own[at, at] += (some.T * share[:, k]) @ some
        return out


def _open(bend: Bend, n_logits: int) -> Floats:
    """(K-1, K-1): the covariance of the last round's logits beyond what it would be if its mood were known."""
    last = bend.safe[-1]
    out: Floats = np.linalg.inv(last)[:n_logits, :n_logits] - np.linalg.inv(last[:n_logits, :n_logits])
    return out


def climb(told: MoodModel, answers: Floats, rounds: RoundMoods, size: float | None) -> tuple[RoundMoods, Bend]:
    """Each round's most probable mood and rates, by labels alone: Newton's method."""
    here = told.bend(answers, rounds, size)
    for _ in range(_NEWTON_STEPS):
        step = np.asarray(np.linalg.solve(here.safe, here.gradient[:, :, None])[:, :, 0], np.float64)
        step /= np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
        if size is None:
            step = np.concatenate([step, np.zeros((len(step), told.n_moods // len(step)))], axis=1)
        for _ in range(_HALVES):
            moved = rounds.moved(step)
            there = told.bend(answers, moved, size)
            worse = there.objective < here.objective - 1e-9 * (1.0 + np.abs(here.objective))
            if not worse.any():
                break
            step[worse] *= 0.5
        else:
            step[worse] = 0.0
            moved = rounds.moved(step)
            there = told.bend(answers, moved, size)
        rounds, here = moved, there
        if np.abs(step).max() < _REST:
            break
    return rounds, here


def _rate_spread(rates: Floats) -> Floats:
    """(R, K-1, K-1): how much one item's class tells of the logits of the rates (R, K)."""
    out: Floats = rates[:, 1:, None] * (np.eye(rates.shape[1] - 1) - rates[:, None, 1:])
    return out


def _spread(total: Floats, share: Floats) -> Floats:
    """(R, J, K, L-1, L-1): the information of answers; total (R, J, K), share (R, J, L-1, K)."""
    turned = share.transpose(0, 1, 3, 2)
    out: Floats = total[..., None, None] * turned[..., None] * (np.eye(turned.shape[3]) - turned[..., None, :])
    return out


def _by_answer(spread: Floats) -> Floats:
    """(J, (L-1)K, (L-1)K): blocks (J, K, L-1, L-1) in the order of a labeler's numbers, answers before classes."""
    n_labelers, n_classes, width = spread.shape[:3]
    out = np.zeros((n_labelers, width, n_classes, width, n_classes))
    each = np.arange(n_classes)
    out[:, :, each, :, each] = spread.transpose(1, 0, 2, 3)
    return out.reshape(n_labelers, width * n_classes, -1)
