"""Slow twins: every method's numbers, written straight from the paper's formulas, for the tests only.

The fast code counts answer patterns and takes shortcuts; this module does neither. It keeps the whole answer
matrix, goes through labelers one by one, and prefers the sure way to the quick one (bisection, a barrier
taken away slowly), so that a disagreement with the fast code points at the fast code. It imports nothing of
it.

The paper's symbols, for K classes (class 0 is the reference; of two classes, 1 is the positive one) and L
answers:

- alpha_j, beta_j (sensitivity, specificity): `answers[j, 1, 1]` and `answers[j, 0, 0]`, where `answers[j, k,
  l]` is the probability that labeler j answers l when the gold class is k.
- l_i(k): `likelihoods[i, k]`, the probability of item i's answers in class k.
- mu: `rates`, the classes' shares in the current round (K numbers that sum to 1; mu itself is `rates[1]`). In
  history the same numbers are called `class_weights`, because there they only serve the reliabilities.
- psi: `scores[i, k - 1]` = (l_i(k) - l_i(0)) / sum_k rates_k l_i(k), the slope of an item's log-likelihood in
  rate k.
- gamma: `coefficients[:, k - 1]`, the regression of psi on the covariates.

`labels` is an integer matrix (items, labelers) with -1 where there is no label, `gold` an integer for each
item with -1 where it is unknown. `weights` may have any scale: they are brought to mean 1 here. Likelihoods
are plain products, as printed in the paper: they hold for some hundred labels an item, then they underflow.
PPI and HERO-3 are not the paper's: `ppi` takes its predictions as they are; `level_joint` and
`level_log_prior` are HERO-3's model, item by item.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]


def majority_vote(labels: Integers, n_classes: int, weights: ArrayLike | None = None) -> Floats:
    """The share of each class among the items' most frequent answers, (K,).

    A tie is split evenly between the tied classes: any other rule would favor a class by its name.
    """
    unit = _mean_one(weights, len(labels))
    rates = np.zeros(n_classes)
    for row, weight in zip(_vote_counts(labels, n_classes), unit, strict=True):
        winners = row == row.max()
        rates += weight / len(labels) * winners / winners.sum()
    return rates


def anchored_em(
    labels: Integers,
    gold: Integers,
    n_classes: int,
    weights: ArrayLike | None = None,
    clip: float = 1e-3,
    tolerance: float = 1e-10,
    max_steps: int = 100_000,
    *,
    n_answers: int | None = None,
) -> tuple[Floats, Floats]:
    """Algorithm 1, stage A: class weights (K,) and answers (J, K, L) of history, with its gold held fixed.

    A labeler who never met a gold item of some class starts at the rate of all labelers together, and a class
    without any labeled gold starts at even answers. `max_steps` is obeyed silently (0 gives the start, 1 one
    step), so that single steps can be compared as well as the end.
    """
    unit = _mean_one(weights, len(labels))
    n_answers = n_classes if n_answers is None else n_answers
    if not (gold >= 0).any():
        raise ValueError("anchored_em needs at least one item with gold")
    known = _one_hot(gold, n_classes)
    counts = _answer_counts(labels, known, unit, n_answers)
    pooled = counts.sum(axis=0)
    answers = np.full(counts.shape, 1.0 / n_answers)
    for j, k in np.ndindex(counts.shape[:2]):
        source = counts[j, k] if counts[j, k].sum() > 0 else pooled[k]
        if source.sum() > 0:
            answers[j, k] = floored_shares(source, clip)
    class_weights = floored_shares(unit @ known, clip)
    return _climb(labels, gold, unit, class_weights, answers, clip, tolerance, max_steps)


def dawid_skene(
    labels: Integers,
    n_classes: int,
    weights: ArrayLike | None = None,
    clip: float = 1e-3,
    tolerance: float = 1e-10,
    max_steps: int = 100_000,
) -> tuple[Floats, Floats]:
    """The same EM without any gold, as (class weights, answers).

    The vote shares of each item stand in for its class in a first M-step. Without gold nothing else says
    which of the hidden classes is which.
    """
    unit = _mean_one(weights, len(labels))
    votes = _vote_counts(labels, n_classes)
    shares = votes / votes.sum(axis=1, keepdims=True)
    even = np.full((labels.shape[1], n_classes, n_classes), 1.0 / n_classes)
    class_weights, answers = _m_step(labels, shares, unit, even, clip)
    nothing = np.full(len(labels), -1)
    return _climb(labels, nothing, unit, class_weights, answers, clip, tolerance, max_steps)


def gold_proportion_answers(
    labels: Integers,
    gold: Integers,
    n_classes: int,
    weights: ArrayLike | None = None,
    *,
    n_answers: int | None = None,
) -> Floats:
    """Answers (J, K, L) counted on the gold items alone, each answer once more than it was seen (Laplace)."""
    n_answers = n_classes if n_answers is None else n_answers
    counts = _answer_counts(labels, _one_hot(gold, n_classes), _mean_one(weights, len(labels)), n_answers)
    return np.asarray((counts + 1.0) / (counts.sum(axis=2, keepdims=True) + n_answers), dtype=np.float64)


def class_likelihoods(labels: Integers, answers: Floats) -> Floats:
    """l_i(k), (n, K): the product over the item's labelers of the probability of what they said."""
    likelihoods = np.ones((labels.shape[0], answers.shape[1]))
    for j in range(labels.shape[1]):
        said = labels[:, j] >= 0
        likelihoods[said] *= answers[j][:, labels[said, j]].T
    return likelihoods


def log_likelihood(
    labels: Integers,
    gold: Integers,
    class_weights: Floats,
    answers: Floats,
    weights: ArrayLike | None = None,
) -> float:
    """What the M-step climbs: log(weight of the gold class * l_i(gold)), or log of the sum without gold.

    The paper prints the gold items' term without the class weight, but its M-step averages the class over all
    items, gold ones included, and that step climbs only the likelihood which has the weight in it.
    """
    joint = class_weights * class_likelihoods(labels, answers)
    return _joint_log_likelihood(joint, gold, _mean_one(weights, len(labels)))


def solve_rates(
    likelihoods: Floats,
    weights: ArrayLike | None = None,
    tilt: ArrayLike | None = None,
) -> Floats:
    """The rates (K,) that maximize mean log(sum_k rates_k l_i(k)) - tilt . rates[1:] over the simplex.

    That is where the mean score equals the tilt, or an edge of the simplex when it does so nowhere. Where all
    answers are equally likely in all classes and nothing tilts, every rate is as good as any other: nan. With
    more classes, some of which the answers cannot tell apart, one of the maximizers comes back.
    """
    if (likelihoods.max(axis=1) <= 0).any():
        raise ValueError("an item has likelihood 0 in every class")
    scaled = likelihoods / likelihoods.max(axis=1, keepdims=True)
    n_classes = likelihoods.shape[1]
    shares = _mean_one(weights, len(likelihoods)) / len(likelihoods)
    present = shares > 0
    scaled, shares = scaled[present], shares[present]
    slopes = np.zeros(n_classes)
    if tilt is not None:
        slopes[1:] = np.asarray(tilt, dtype=np.float64)
    if not slopes.any() and (scaled == 1.0).all():
        return np.full(n_classes, np.nan)
    if n_classes == 2:
        positive = _bisect_rate(scaled, shares, float(slopes[1]))
        return np.array([1.0 - positive, positive])
    return _follow_barrier(scaled, shares, slopes)


def scores(likelihoods: Floats, rates: Floats) -> Floats:
    """psi (n, K - 1) of every item at the given rates."""
    gaps = likelihoods[:, 1:] - likelihoods[:, :1]
    return np.asarray(gaps / (likelihoods @ rates)[:, None], dtype=np.float64)


def control_coefficients(
    pilot_scores: Floats,
    covariates: Floats,
    weights: ArrayLike | None = None,
    penalty: float = 0.0,
) -> Floats:
    """gamma (d, K - 1), on the covariates' own scale: (V + penalty I)^-1 C for covariates of variance 1.

    The covariates are first divided by their standard deviation, so that the penalty treats a share and a
    length alike. One that never varies gets 0. With no penalty the scale cancels and this is the paper's
    Var(X)^-1 Cov(X, psi).
    """
    shares = _mean_one(weights, len(covariates)) / len(covariates)
    centerd = covariates - shares @ covariates
    spread = np.sqrt(shares @ centerd**2)
    varies = spread > 1e-12 * np.maximum(1.0, np.abs(covariates).max(axis=0))
    scale = np.where(varies, spread, 1.0)
    standard = np.where(varies, centerd / scale, 0.0)
    variance = standard.T @ (shares[:, None] * standard)
    covariance = standard.T @ (shares[:, None] * pilot_scores)
    ridge = variance + penalty * np.eye(len(scale))
    return np.asarray(np.linalg.pinv(ridge, hermitian=True) @ covariance / scale[:, None], dtype=np.float64)


def gold_proportion(
    hist_labels: Integers,
    hist_gold: Integers,
    cur_labels: Integers,
    n_classes: int,
    *,
    hist_weights: ArrayLike | None = None,
    cur_weights: ArrayLike | None = None,
) -> Floats:
    """The rates (K,) that best explain the current labels, with reliabilities counted on history's gold."""
    answers = gold_proportion_answers(hist_labels, hist_gold, n_classes, hist_weights)
    return solve_rates(class_likelihoods(cur_labels, answers), cur_weights)


def hero1(
    hist_labels: Integers,
    hist_gold: Integers,
    cur_labels: Integers,
    n_classes: int,
    *,
    hist_weights: ArrayLike | None = None,
    cur_weights: ArrayLike | None = None,
    clip: float = 1e-3,
    tolerance: float = 1e-10,
    max_steps: int = 100_000,
) -> Floats:
    """HERO-1 (K,): the rates that best explain the current labels, with reliabilities from anchored EM."""
    _, answers = anchored_em(hist_labels, hist_gold, n_classes, hist_weights, clip, tolerance, max_steps)
    return solve_rates(class_likelihoods(cur_labels, answers), cur_weights)


def hero2(
    hist_labels: Integers,
    hist_gold: Integers,
    hist_x: Floats,
    cur_labels: Integers,
    cur_x: Floats,
    n_classes: int,
    *,
    hist_weights: ArrayLike | None = None,
    cur_weights: ArrayLike | None = None,
    penalty: float = 0.0,
    clip: float = 1e-3,
    tolerance: float = 1e-10,
    max_steps: int = 100_000,
) -> Floats:
    """HERO-2 (K,): HERO-1's score equation, tilted by the covariates' distance from history's mean."""
    _, answers = anchored_em(hist_labels, hist_gold, n_classes, hist_weights, clip, tolerance, max_steps)
    likelihoods = class_likelihoods(cur_labels, answers)
    pilot = solve_rates(likelihoods, cur_weights)
    if np.isnan(pilot).any():
        return pilot
    coefficients = control_coefficients(scores(likelihoods, pilot), cur_x, cur_weights, penalty)
    gap = _weighted_mean(cur_x, cur_weights) - _weighted_mean(hist_x, hist_weights)
    return solve_rates(likelihoods, cur_weights, tilt=gap @ coefficients)


def level_joint(
    said: Integers,
    gold: int,
    of_round: int,
    covariates: Floats,
    n_levels: int,
    answers: Floats,
    level_weights: Floats,
    classes: Floats,
    n_appeals: int = 0,
) -> Floats:
    """HERO-3's model of one item, (E, K): P(component, class, the item's answers, its gold).

    With levels a component is a place on the scale from -3 to 3: labelers' logits are `answers[j, l - 1]` =
    (intercept, slope), the class's are `classes[k - 1]` = (intercept, slope, covariates' slopes). Without levels
    (0) a component is a class: `answers[j, l - 1, k]` are logits, and `classes[k - 1]` has one logit for each
    round before the covariates' slopes. First answers and classes have logit 0. With appeals a component is a class
    and a place on a scale of its own, `answers[j, l - 1]` has that scale's slope last, and `level_weights` are theirs.
    """
    n_classes = len(classes) + 1
    if n_appeals:
        return _appeal_joint(said, gold, of_round, covariates, n_appeals, answers, level_weights, classes)
    joint = np.zeros((n_levels or n_classes, n_classes))
    for component in range(len(joint)):
        place = -3.0 + 6.0 * component / (n_levels - 1) if n_levels else 0.0
        basis = np.array([1.0, place] if n_levels else [float(k == component) for k in range(n_classes)])
        start = [1.0, place] if n_levels else [float(r == of_round) for r in range(len(level_weights))]
        share = level_weights[of_round, component] if n_levels else 1.0
        for j, answer in enumerate(said):
            if answer >= 0:
                share *= _softmax([0.0, *(float(line @ basis) for line in answers[j])])[answer]
        of_class = _softmax([0.0, *(float(line @ [*start, *covariates]) for line in classes)])
        for k in range(n_classes):
            if gold in (-1, k) and (n_levels or k == component):
                joint[component, k] = share * of_class[k]
    return joint


def _appeal_joint(
    said: Integers,
    gold: int,
    of_round: int,
    covariates: Floats,
    n_appeals: int,
    answers: Floats,
    weights: Floats,
    classes: Floats,
) -> Floats:
    """`level_joint` of classes with appeals: the class and the appeal of an item are drawn each by itself."""
    n_classes = len(classes) + 1
    of_class = _softmax([0.0, *(float(line[of_round] + line[len(weights) :] @ covariates) for line in classes)])
    joint = np.zeros((n_classes * n_appeals, n_classes))
    for k in range(n_classes):
        for appeal in range(n_appeals):
            share = of_class[k] * weights[of_round, appeal]
            place = -3.0 + 6.0 * appeal / (n_appeals - 1)
            for j, answer in enumerate(said):
                if answer >= 0:
                    share *= _softmax([0.0, *(float(line[k] + line[n_classes] * place) for line in answers[j])])[answer]
            if gold in (-1, k):
                joint[k * n_appeals + appeal, k] = share
    return joint


def level_log_prior(
    answers: Floats,
    levels: Floats,
    tilts: Floats,
    classes: Floats,
    *,
    groups: Sequence[int],
    answer_precision: Floats,
    mean_sd: float,
    alike: float,
    pull: float,
    tilt_sd: float,
    class_mean: Floats,
    class_precision: Floats,
) -> float:
    """What HERO-3 adds to the log-likelihood, up to a constant.

    Normal priors of each labeler's logits (J, m) around the best mean of its group, of each class's and of the rounds'
    tilts, and `pull` items that have every level equally often (nothing where there is one component a class).
    """
    height = _best_means_height(answers, groups, answer_precision, mean_sd, alike)
    height -= 0.5 * sum(2.0 * float(line @ class_precision @ line) for line in _effects(classes - class_mean))
    if len(levels):
        shares = _softmax([0.0, *levels])
        height += sum(pull / len(shares) * math.log(share) for share in shares)
        height -= sum(0.5 * (tilt / tilt_sd) ** 2 for tilt in tilts.ravel())
    return height


def _effects(logits: Floats) -> Floats:
    """(K, m): effects of all classes, of mean 0, from logits (K-1, m) against the first.

    Effects of variance 1/2 around their mean are what makes the logits of any two classes spread alike.
    """
    whole = np.concatenate([np.zeros((1, logits.shape[1])), logits])
    return whole - whole.mean(axis=0)


def _best_means_height(
    answers: Floats, groups: Sequence[int], precision: Floats, mean_sd: float, alike: float
) -> float:
    """The labelers' prior at the means (G, m) of their groups that suit it best, found by descent from any start."""
    flat = answers.reshape(len(answers), -1)
    n_logits = answers.shape[1]
    bend = _bend_of_means(tuple(groups), precision.tobytes(), precision.shape, n_logits, mean_sd, alike)
    start = np.zeros(len(bend))

    def cost(means: Floats) -> float:
        return _means_cost(means, flat, groups, precision, n_logits, mean_sd, alike)

    slope = np.array([(cost(start + e) - cost(start - e)) / 2.0 for e in np.eye(len(start))])  # exact of a parabola
    return -cost(-np.linalg.solve(bend, slope))


def _means_cost(
    vector: Floats,
    flat: Floats,
    groups: Sequence[int],
    precision: Floats,
    n_logits: int,
    mean_sd: float,
    alike: float,
) -> float:
    """How badly means (G * m,) of groups suit labelers' logits (J, m): a parabola in the means."""
    means = vector.reshape(max(groups) + 1, -1)
    total = sum(0.5 * (t - means[g]) @ p @ (t - means[g]) for t, g, p in zip(flat, groups, precision, strict=True))
    middle, usual = means.mean(axis=0), precision.mean(axis=0)
    for mean in means:
        total += 0.5 * alike * (mean - middle) @ usual @ (mean - middle)
        effects = _effects(mean.reshape(n_logits, -1))
        total += 0.5 * 2.0 * (effects**2).sum() / (len(means) * mean_sd**2)
    return float(total)


@lru_cache(maxsize=4)
def _bend_of_means(
    groups: tuple[int, ...], raw: bytes, shape: tuple[int, ...], n_logits: int, mean_sd: float, alike: float
) -> Floats:
    """The parabola's second derivatives (G * m, G * m), which are the same wherever the labelers' logits lie."""
    precision = np.frombuffer(raw).reshape(shape)
    flat = np.zeros(shape[:2])
    each = np.eye((max(groups) + 1) * shape[1])

    def cost(means: Floats) -> float:
        return _means_cost(means, flat, groups, precision, n_logits, mean_sd, alike)

    bend = [[cost(e + f) - cost(e - f) - cost(f - e) + cost(-e - f) for f in each] for e in each]
    return np.array(bend) / 4.0


def ppi(
    predictions: Floats,
    gold: Integers,
    weights: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
) -> tuple[Floats, Floats, float]:
    """Prediction-powered rates (K,), their covariance (K, K) and the power, by sums over items one at a time.

    Items with gold count as their weight over the probability that they had of being given gold. The power is the
    slope of gold on prediction, classes taken together, less twice what its own error explains of it, between 0 and 1.
    Golds that vary about their predictions less than these expect are given so much of their plain deviations as that.
    """
    n_items, n_classes = predictions.shape
    unit = _mean_one(weights, n_items) / n_items
    chance = np.ones(n_items) if probabilities is None else np.asarray(probabilities, dtype=np.float64)
    known = [i for i in range(n_items) if gold[i] >= 0]
    mass = sum(unit[i] / chance[i] for i in known)
    part = {i: unit[i] / chance[i] / mass for i in known}
    seen = {i: np.eye(n_classes)[gold[i]] for i in known}
    mean_seen = np.sum([part[i] * seen[i] for i in known], axis=0)
    mean_foreseen = np.sum([part[i] * predictions[i] for i in known], axis=0)
    together = sum(part[i] ** 2 * float((seen[i] - mean_seen) @ (predictions[i] - mean_foreseen)) for i in known)
    spread = sum(part[i] ** 2 * float(np.sum((predictions[i] - mean_foreseen) ** 2)) for i in known)
    power = 0.0
    if len(known) < n_items and len(known) > 2 and spread > 0 and together > 0:
        slope = together / spread
        rest = sum(
            part[i] ** 2 * float(np.sum((seen[i] - mean_seen - slope * (predictions[i] - mean_foreseen)) ** 2))
            for i in known
        ) / (len(known) - 2)
        power = min(1.0, slope * max(0.0, 1.0 - 2.0 * rest / spread / slope**2))
    overall = np.sum([unit[i] * predictions[i] for i in range(n_items)], axis=0)
    correction = np.sum([part[i] * (seen[i] - power * predictions[i]) for i in known], axis=0)
    free = len(known) - (2 if power > 0 else 1)
    loose = math.sqrt(len(known) / free)
    away = {i: loose * part[i] * (seen[i] - power * predictions[i] - correction) for i in known}
    if power > 0:
        each = [
            float(np.sum(predictions[i] * (1 - predictions[i]) + (1 - power) ** 2 * (predictions[i] - overall) ** 2))
            for i in range(n_items)
        ]
        expected = float(np.sum(unit * each)) * sum(part[i] ** 2 for i in known)
        plain = {i: loose * part[i] * (seen[i] - power * overall - correction) for i in known}

        def short(c: float) -> float:
            return expected - sum(float(np.sum((away[i] + c * plain[i]) ** 2)) for i in known)

        low, high = 0.0, 1e3 if short(0.0) > 0 else 0.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if short(middle) > 0 else (low, middle)
        away = {i: away[i] + low * plain[i] for i in known}
    covariance = np.zeros((n_classes, n_classes))
    for i in range(n_items):
        pull = unit[i] * power * (predictions[i] - overall) + away.get(i, 0.0)
        covariance += np.outer(pull, pull)
    return power * overall + correction, covariance, power


def influence_by_refit(
    estimator: Callable[[Floats], ArrayLike],
    weights: ArrayLike,
    step: float = 1e-4,
) -> Floats:
    """How an estimate moves with each item's weight, (n, ...): central differences of `estimator(weights)`.

    This is the plain derivative. For weights of mean 1 the influence function is n times it, and the squared
    standard error is the sum of its squares.
    """
    base = np.asarray(weights, dtype=np.float64)
    moved = []
    for i in range(len(base)):
        ahead, behind = base.copy(), base.copy()
        ahead[i] += step
        behind[i] -= step
        moved.append((np.asarray(estimator(ahead)) - np.asarray(estimator(behind))) / (2.0 * step))
    return np.array(moved, dtype=np.float64)


def floored_shares(counts: Floats, floor: float) -> Floats:
    """The p that maximize sum counts_l log p_l, with sum 1 and every p_l at least `floor`.

    Shares below the floor are raised to it and the others share what is left in proportion, until none is
    below (water filling). For two answers this is the paper's plain clipping to [floor, 1 - floor].
    """
    low = np.zeros(len(counts), dtype=bool)
    while True:
        room = 1.0 - floor * low.sum()
        shares = np.where(low, floor, room * counts / counts[~low].sum())
        below = ~low & (shares < floor)
        if not below.any():
            return shares
        low |= below


def _climb(
    labels: Integers,
    gold: Integers,
    unit: Floats,
    class_weights: Floats,
    answers: Floats,
    clip: float,
    tolerance: float,
    max_steps: int,
) -> tuple[Floats, Floats]:
    """E- and M-steps until the likelihood rests and, where the tolerance is strict, the parameters too."""
    joint = class_weights * class_likelihoods(labels, answers)
    value = _joint_log_likelihood(joint, gold, unit)
    for _ in range(max_steps):
        before = np.concatenate([class_weights, answers.ravel()])
        classes = _e_step(joint, gold)
        class_weights, answers = _m_step(labels, classes, unit, answers, clip)
        joint = class_weights * class_likelihoods(labels, answers)
        last, value = value, _joint_log_likelihood(joint, gold, unit)
        moved = np.abs(np.concatenate([class_weights, answers.ravel()]) - before).max()
        rests = value == last or abs(value - last) < tolerance * abs(last)
        if rests and (tolerance >= 1e-8 or moved < 1e-9):
            break
    return class_weights, answers


def _e_step(joint: Floats, gold: Integers) -> Floats:
    """Each item's class probabilities (n, K), certain where gold is known."""
    classes = joint / joint.sum(axis=1, keepdims=True)
    known = gold >= 0
    classes[known] = _one_hot(gold, joint.shape[1])[known]
    return np.asarray(classes, dtype=np.float64)


def _m_step(labels: Integers, classes: Floats, unit: Floats, previous: Floats, clip: float) -> tuple[Floats, Floats]:
    """Class weights over all items, and each labeler's answers (kept where no item is expected)."""
    counts = _answer_counts(labels, classes, unit, previous.shape[2])
    answers = previous.copy()
    for j, k in np.ndindex(counts.shape[:2]):
        if counts[j, k].sum() > 0:
            answers[j, k] = floored_shares(counts[j, k], clip)
    return floored_shares(unit @ classes, clip), answers


def _joint_log_likelihood(joint: Floats, gold: Integers, unit: Floats) -> float:
    of_gold = np.take_along_axis(joint, np.maximum(gold, 0)[:, None].astype(np.int64), axis=1)[:, 0]
    return float(unit @ np.log(np.where(gold >= 0, of_gold, joint.sum(axis=1))))


def _answer_counts(labels: Integers, classes: Floats, unit: Floats, n_answers: int) -> Floats:
    """Weighted number of times that labeler j said l to an item of class k, (J, K, L)."""
    counts = np.zeros((labels.shape[1], classes.shape[1], n_answers))
    for j in range(labels.shape[1]):
        for answer in range(n_answers):
            said = labels[:, j] == answer
            counts[j, :, answer] = unit[said] @ classes[said]
    return counts


def _softmax(logits: list[float]) -> list[float]:
    top = max(logits)
    powers = [math.exp(logit - top) for logit in logits]
    return [power / sum(powers) for power in powers]


def _vote_counts(labels: Integers, n_classes: int) -> Floats:
    if not (labels >= 0).any(axis=1).all():
        raise ValueError("an item has no label: leave it out")
    return np.stack([(labels == k).sum(axis=1) for k in range(n_classes)], axis=1).astype(np.float64)


def _one_hot(gold: Integers, n_classes: int) -> Floats:
    """1 at the gold class; a row of zeros where gold is unknown."""
    return np.asarray(gold[:, None] == np.arange(n_classes), dtype=np.float64)


def _mean_one(weights: ArrayLike | None, n_items: int) -> Floats:
    if weights is None:
        return np.ones(n_items)
    raw = np.asarray(weights, dtype=np.float64)
    return np.asarray(raw / raw.mean(), dtype=np.float64)


def _weighted_mean(values: Floats, weights: ArrayLike | None) -> Floats:
    return np.asarray(_mean_one(weights, len(values)) @ values / len(values), dtype=np.float64)


def _bisect_rate(likelihoods: Floats, shares: Floats, tilt: float) -> float:
    """The one root of the falling mean score minus the tilt in [0, 1], or the edge it points at."""

    def slope(rate: float) -> float:
        with np.errstate(divide="ignore"):
            psi = scores(likelihoods, np.array([1.0 - rate, rate]))[:, 0]
        return float(shares @ psi) - tilt

    if slope(0.0) <= 0:
        return 0.0
    if slope(1.0) >= 0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def _follow_barrier(likelihoods: Floats, shares: Floats, slopes: Floats) -> Floats:
    """The maximizer for more than two classes: Newton's method away from the edges, then ever nearer to them.

    A term barrier * sum log(rates) keeps the climb off the edges and is then shrunk to nothing, so that a
    rate whose place is at an edge ends there without having been stuck at it on the way. Moves are relative
    to each rate (rates * (1 + length * move)), which keeps the equations sound when a rate is tiny.
    """
    n_classes = likelihoods.shape[1]

    def objective(rates: Floats, barrier: float) -> float:
        climb = shares @ np.log(likelihoods @ rates) - slopes @ rates
        return float(climb + barrier * np.log(rates).sum())

    rates = np.full(n_classes, 1.0 / n_classes)
    for barrier in 10.0 ** -np.arange(1.0, 19.0):
        for _ in range(50):
            ratios = likelihoods / (likelihoods @ rates)[:, None] * rates
            curvature = ratios.T @ (shares[:, None] * ratios) + barrier * np.eye(n_classes)
            gradient = shares @ ratios - slopes * rates + barrier
            # Newton's step under the condition that the rates' moves sum to 0.
            system = np.block([[curvature, rates[:, None]], [rates, np.zeros(1)]])
            move = np.linalg.lstsq(system, np.append(gradient, 0.0), rcond=1e-20)[0][:-1]
            length = min(1.0, 0.9 / max(-move.min(), 1e-300))
            now = objective(rates, barrier)
            while objective(rates * (1.0 + length * move), barrier) < now - 1e-14 and length > 1e-12:
                length /= 2
            rates = np.maximum(rates * (1.0 + length * move), 1e-30)
            rates /= rates.sum()
            if np.abs(rates * move).max() < 1e-14:
                break
    return rates
