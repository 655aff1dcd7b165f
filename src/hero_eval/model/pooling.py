"""Labelers as a population: how far they spread around the mean of their group, and what that does to each of them.

Labelers with many labels tell for themselves how they answer; those with few lean on the mean of their group, the more
so the less labelers differ. The mean is no known number: it is as free as the labelers, and its error is in the
information (`Pooling`). How far labelers differ is learned from pairs of labels by the same labeler: the scores of two
labels are uncorrelated unless the labeler differs from the mean (`overdispersion`). A labeler with a single label adds
nothing to that, so that a crowd of strangers is taken as one labeler; a maximum over all labelers' own numbers, which
lets every one of them fit itself, would not be consistent there (Neyman and Scott, 1948).

Shapes: P rows, J labelers, L answers, E components, q basis functions, w = (L-1)q numbers of a labeler, G groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from hero_eval.model.even_logits import even_blocks, even_covariance, even_precision, even_spread
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns, sum_by

PSEUDO_GROUP = 2.0
"""Labelers' worth of belief that groups are alike: a group of two is drawn half-way. A choice. Doubled, small groups
lean on the others more (reasoned); without groups nothing changes (measured)."""
LEAST_SPREAD = 1e-3
"""The least variance of labelers' logits: below it (three hundredths of a logit) they are one labeler in all but name.
Doubled, nothing that could be seen (reasoned)."""
MOST_SPREAD = 4.0
"""The largest variance, where pairs of labels suggest more: labelers two logits apart are as unlike as people are.
Doubled, crowds with a few wild labelers spread more (reasoned)."""
MEAN_SD = 5.0
"""Of a group's mean around 0: logits farther out are those of answers that are never given. Doubled, next to nothing
changes: labels tell the mean (reasoned)."""
_CHANCE = 2.0
"""Standard errors of the pairs' sum that are taken off before labelers are told apart: chance reaches two once in forty
times. Doubled, crowds are told apart only where they differ a lot (reasoned, `benchmarks/thin_labelers.py`)."""
_WIDE = 64
"""Numbers of a labeler (nine classes have 72) from which on matrices are inverted part by part, if they have parts, and
by Cholesky's method. It bounds time only; last digits differ (reasoned)."""
_TURNED = np.array([[1.0, -1.0], [-1.0, 1.0]])
"""The signs of a matrix of two by two that becomes its inverse."""
_BLOCK = 200_000
"""Labels whose scores are held at a time. It bounds memory only: twice as many take twice as much (reasoned)."""


@dataclass(frozen=True, eq=False)
class Pooling:
    """The labelers' prior with their groups' means taken out.

    Labeler j of group g has numbers t_j (w,), normal around m_g with precision P_j; the means spread around each other
    as if each were also that of `PSEUDO_GROUP` more labelers, and loosely around 0. For given t the best means solve
    A m = U't, where U stacks the P_j by group; what is left is a prior on t alone, of precision  diag(P) - U A^-1 U'.
    So nobody's mean is taken as known: its error is in the information like any other. Where labelers have loose priors
    of their own, means are `held`: they matter little, and only for labelers whom history does not know.
    """

    groups: Ints
    precision: Floats  # (J, w, w)
    held: Floats | None = None  # (J, w): means that are taken as known instead
    n_even: int = 1  # the numbers are logits of so many answers against the first, none unlike the others

    @cached_property
    def n_groups(self) -> int:
        return int(self.groups.max()) + 1

    @cached_property
    def common(self) -> Floats | None:
        """(w, w): the precision of each labeler, if all are of one group and have the same; None if not."""
        if self.held is not None or self.n_groups > 1:
            return None
        first = self.precision[0]
        is_one = self.precision.strides[0] == 0  # one matrix, seen as many
        return first if is_one or (self.precision == first).all() else None

    @cached_property
    def inner(self) -> Floats:
        """A (G w, G w)."""
        n_groups, width = self.n_groups, self.precision.shape[1]
        loose = _loosely(width, self.n_even, n_groups)
        if self.common is not None:
            return len(self.precision) * self.common + loose
        if n_groups == 1:
            single: Floats = np.add.reduce(self.precision, axis=0) + loose
            return single
        out = np.zeros((n_groups, width, n_groups, width))
        each = np.arange(n_groups)
        out[each, :, each] = self._by_group(self.precision) + loose
        apart = PSEUDO_GROUP * (np.eye(n_groups) - 1.0 / n_groups)
        out += apart[:, None, :, None] * self.precision.mean(axis=0)[None, :, None, :]
        return out.reshape(n_groups * width, -1)

    def gather(self, each: Floats) -> Floats:
        """U' x (G w, c) of x (J, w, c)."""
        flat: Floats = self._by_group(np.matmul(self.precision, each)).reshape(-1, each.shape[2])
        return flat

    def _by_group(self, values: Floats) -> Floats:
        """(G, ...): sums of labelers' values (J, ...)."""
        if self.n_groups == 1:
            whole: Floats = np.add.reduce(values, axis=0)[None]
            return whole
        out = np.zeros((self.n_groups, *values.shape[1:]))
        np.add.at(out, self.groups, values)
        return out

    def scatter(self, means: Floats) -> Floats:
        """U m (J, w, c) of m (G w, c)."""
        by_group = means.reshape(self.n_groups, self.precision.shape[1], -1)
        out: Floats = np.matmul(self.precision, by_group[self.groups])
        return out

    def means(self, answers: Floats) -> Floats:
        """(J, w): the mean of each labeler's group: as held, or the one that suits these answers (J, w) best."""
        if self.held is not None:
            return self.held
        if self.common is not None:
            return np.broadcast_to(self._common_mean(answers), answers.shape)
        found: Floats = self._solve(self.gather(answers[:, :, None])).reshape(self.n_groups, -1)[self.groups]
        return found

    def _common_mean(self, answers: Floats) -> Floats:
        """(w,): the mean of all labelers, if they are of one group and have the same precision."""
        out: Floats = self._inverse @ (self.common @ np.add.reduce(answers, axis=0))
        return out

    def _solve(self, right: Floats) -> Floats:
        """A^-1 x."""
        out: Floats = self._inverse @ right
        return out

    @cached_property
    def _inverse(self) -> Floats:
        """A^-1, which is small and well conditioned: a sum of precisions."""
        out: Floats = inverse_each(self.inner[None])[0]
        return out

    def gradient(self, answers: Floats) -> Floats:
        """(J, w): the derivative of the log-prior."""
        if self.common is not None:
            near: Floats = (self._common_mean(answers) - answers) @ self.common
            return near
        out: Floats = ((self.means(answers) - answers)[:, None] @ self.precision)[:, 0]
        return out

    def log_density(self, answers: Floats) -> float:
        """The log-prior, up to a constant."""
        away = answers if self.held is None else answers - self.held
        return 0.5 * float(np.sum(away * self.gradient(answers)))

    def shared(self, vector: Floats) -> Floats:
        """U A^-1 U' x  of a flat vector (J w,): what free means take from the precision."""
        if self.held is not None:
            return np.zeros_like(vector)
        each = vector.reshape(len(self.precision), -1, 1)
        return self.scatter(self._solve(self.gather(each))).ravel()

    def covariance(self, pull: Floats) -> Floats:
        """(c, c): x' (diag(P) - U A^-1 U') x  of x (J, w, c)."""
        own: Floats = np.tensordot(pull, np.matmul(self.precision, pull), axes=([0, 1], [0, 1]))
        if self.held is not None:
            return own
        gathered = self.gather(pull)
        out: Floats = own - gathered.T @ self._solve(gathered)
        return out

    def solve(self, hessian: Floats, right: Floats) -> Floats:
        """(J, w): x with  (diag(hessian) - U A^-1 U') x = right,  hessian (J, w, w), right (J, w)."""
        return self.solve_and_keep(hessian, right)[0]

    def solve_and_keep(self, hessian: Floats, right: Floats) -> tuple[Floats, Floats | None]:
        """The same, and the inverses of the Hessians where these were needed: wide ones take most of the time."""
        if self.common is not None or (right.shape[1] >= _WIDE and self.held is None):
            inverses = inverse_each(hessian)
            return self._solve_wide(inverses, right), inverses
        return self._solve_narrow(hessian, right), None

    def _solve_narrow(self, hessian: Floats, right: Floats) -> Floats:
        if self.held is not None:
            return solve_each(hessian, right[:, :, None])[:, :, 0]
        alone = solve_each(hessian, np.concatenate([right[:, :, None], self.precision], axis=2))
        pulled, spread = alone[:, :, :1], alone[:, :, 1:]
        means = self._free_means(self._by_group(np.matmul(self.precision, spread)), pulled)
        out: Floats = (pulled + np.matmul(spread, means[self.groups]))[:, :, 0]
        return out

    def _solve_wide(self, inverses: Floats, right: Floats) -> Floats:
        """The same by inverses, which take far fewer products where all labelers have one precision."""
        pulled = inverses @ right[:, :, None]
        if self.common is not None:
            crossed = self.common @ np.add.reduce(inverses, axis=0) @ self.common
            pull = self.common @ np.add.reduce(pulled, axis=0)
            moved: Floats = inverses @ (self.common @ solve_each((self.inner - crossed)[None], pull[None])[0])
            moved += pulled
            alone: Floats = moved[:, :, 0]
            return alone
        first = self.precision[0]
        if (self.precision == first).all():
            crossed = first @ self._by_group(inverses) @ first
        else:
            crossed = self._by_group(self.precision @ inverses @ self.precision)
        means = self._free_means(crossed, pulled)
        out: Floats = (pulled + inverses @ (self.precision @ means[self.groups]))[:, :, 0]
        return out

    def _free_means(self, crossed: Floats, pulled: Floats) -> Floats:
        """(G, w, 1): how far the groups' means move; `crossed` (G, w, w) has the sums of P_j H_j^-1 P_j, `pulled`
        (J, w, 1) how far labelers would move alone."""
        width = self.precision.shape[1]
        if self.n_groups == 1:
            inner = self.inner - crossed[0]
        else:
            inner = self.inner.copy()
            for g in range(self.n_groups):
                at = slice(g * width, (g + 1) * width)
                inner[at, at] -= crossed[g]
        out: Floats = solve_each(inner[None], self.gather(pulled)[None]).reshape(self.n_groups, width, 1)
        return out

    def dense(self) -> Floats:
        """(J w, J w): U A^-1 U', what free means take from the precision."""
        n_labelers, width = self.precision.shape[:2]
        if self.held is not None:
            return np.zeros((n_labelers * width,) * 2)
        stacked = np.zeros((n_labelers, width, self.n_groups, width))
        stacked[np.arange(n_labelers), :, self.groups] = self.precision
        flat = stacked.reshape(n_labelers * width, -1)
        out: Floats = flat @ self._solve(flat.T)
        return out


@lru_cache(maxsize=64)
def _loosely(width: int, n_even: int, n_groups: int) -> Floats:
    """(w, w): the precision of a group's mean around 0."""
    out: Floats = even_blocks(np.eye(width // n_even), n_even) / (n_groups * MEAN_SD**2)
    out.flags.writeable = False
    return out


def separate_parts(matrices: Floats) -> Ints | None:
    """(parts, size): rows and columns of wide matrices (n, w, w) that meet none but each other; None if there are none.

    Labelers' answers in different classes are parts of their own, unless their prior ties them together.
    """
    if matrices.shape[1] < _WIDE:
        return None
    from scipy.sparse import csgraph, csr_array  # takes long to load, and few classes do without

    n_parts, of = csgraph.connected_components(csr_array(np.any(matrices, axis=0)), directed=False)
    size = matrices.shape[1] // n_parts
    if n_parts == 1 or (np.bincount(of) != size).any():
        return None
    out: Ints = np.argsort(of, kind="stable").reshape(n_parts, size)
    return out


def inverse_each(matrices: Floats) -> Floats:
    """Inverses of matrices (n, w, w), none of them singular; of two by two in few operations.

    Wide ones are symmetric and positive definite.
    """
    if matrices.shape[1] >= _WIDE:
        return _wide_inverses(matrices)
    if matrices.shape[1] != 2:
        out: Floats = np.linalg.inv(matrices).astype(np.float64, copy=False)
        return out
    turned: Floats = matrices[:, ::-1, ::-1].transpose(0, 2, 1) * _TURNED
    determinant = matrices[:, 0, 0] * matrices[:, 1, 1] - matrices[:, 0, 1] * matrices[:, 1, 0]
    turned /= determinant[:, None, None]
    return turned


def _wide_inverses(matrices: Floats) -> Floats:
    parts = separate_parts(matrices)
    whole = np.zeros_like(matrices)
    if parts is not None:
        inside = (slice(None), parts[:, :, None], parts[:, None])
        whole[inside] = np.linalg.inv(matrices[inside])
        return whole
    from scipy.linalg import lapack  # as in `separate_parts`

    for at, one in enumerate(matrices):
        factor, failed = lapack.dpotrf(one, lower=True)
        found, failed = lapack.dpotri(factor, lower=True) if not failed else (factor, failed)
        if failed:
            whole[at] = np.linalg.inv(one)
            continue
        lower = np.tril(found)
        whole[at] = lower + np.tril(lower, -1).T
    return whole


def solve_each(matrices: Floats, right: Floats) -> Floats:
    """x with  matrices x = right,  (n, w, w) and (n, w, c)."""
    out: Floats
    if matrices.shape[1] == 1:
        out = right / matrices
    elif matrices.shape[1] == 2:
        out = inverse_each(matrices) @ right
    elif (parts := separate_parts(matrices)) is not None:
        out = np.empty_like(right)
        out[:, parts] = np.linalg.solve(matrices[:, parts[:, :, None], parts[:, None]], right[:, parts])
    else:
        out = np.linalg.solve(matrices, right).astype(np.float64, copy=False)
    return out


def labeler_scores(patterns: Patterns, post: Floats, share: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """(J, w) and (J, w, w): the sums of labels' scores by labeler, and of the squares of these scores.

    post (P, E) are the components' shares of every row, share (J, L, E) the labelers' answers in them, basis (E, q).
    """
    n_labelers, n_free = len(share), share.shape[1] - 1
    width = n_free * basis.shape[1]
    sums, squares = np.zeros((n_labelers, width)), np.zeros((n_labelers, width, width))
    row, labeler, answer = patterns.entries
    of_cell = np.eye(n_free + 1)[:, 1:, None] - share[:, None, 1:]  # (J, L, L-1, E): given or not, less its probability
    of_cell = of_cell.reshape(-1, n_free * len(basis))
    for start in range(0, len(row), _BLOCK):
        at = slice(start, start + _BLOCK)
        gap = of_cell.take(labeler[at] * (n_free + 1) + answer[at], axis=0)
        each = gap.reshape(-1, n_free, len(basis))
        each *= post.take(row[at], axis=0)[:, None]
        score = (gap.reshape(-1, len(basis)) @ basis).reshape(len(gap), width)  # one product, not one for each label
        score = np.ascontiguousarray(score.T)
        weighted = score * patterns.counts.take(row[at])
        for a in range(width):
            sums[:, a] += np.bincount(labeler[at], weighted[a], n_labelers)
            for b in range(a, width):
                squares[:, a, b] += np.bincount(labeler[at], weighted[a] * score[b], n_labelers)
    for a in range(1, width):
        squares[:, a, :a] = squares[:, :a, a]
    return sums, squares


def _by_answers(squares: Floats, n_free: int) -> Floats:
    """(J, L-1, q, L-1, q): matrices (J, w, w) by the answer, and by the number of it, of their rows and columns."""
    each = squares.shape[1] // n_free
    return squares.reshape(len(squares), n_free, each, n_free, each)


def overdispersion(sums: Floats, squares: Floats, n_free: int) -> Floats:
    """(q,): variances of labelers' numbers around their mean, at which the scores (J, w) and their squares were taken.

    For labelers that differ by little the expectation of  sum_j (s_j s_j' - O_j)  is  sum_j O_j V O_j:  the products of
    pairs of labels by the same labeler. Solved for a V that is not negative and holds the q numbers of an answer
    independent, with logits of all `n_free` + 1 answers alike, with the pairs taken at the lower end of what chance
    leaves open: labelers are told apart where the labels show that they differ.
    """
    from scipy import optimize  # slow to load, and only crowds need it

    even, known = even_covariance(n_free), _by_answers(squares, n_free)
    by_answer = sums.reshape(len(sums), n_free, -1)
    pairs = np.einsum("jaq,ab,jbq->q", by_answer, even, by_answer) - np.einsum("ab,jaqbq->q", even, known)
    spread = np.einsum("ab,jbqcp->jaqcp", even, known)
    weight = np.einsum("jaqcp,jcpaq->qp", spread, spread)
    scale = np.sqrt(np.maximum(np.diag(weight), 1e-300))
    sure = pairs / scale - _CHANCE * np.sqrt(2.0)  # labelers that do not differ give pairs of standard error sqrt(2)
    found, _ = optimize.nnls(weight / np.outer(scale, scale), sure)
    out: Floats = np.clip(found / scale, LEAST_SPREAD, MOST_SPREAD)
    return out


def thin_spread(
    sums: Floats, squares: Floats, gap: Floats | None, precision: Floats, n_free: int, *, alike: bool = False
) -> Floats:
    """(w, w): the covariance of labelers with few labels: a first guess, or from how far they are off (gap).

    A number of which labelers' own labels say less than their group's mean does is taken to be the same for all. With
    numbers that are `alike`, such as the logits in either class, all are then: labelers who could differ in one class
    alone would have all their differences explained by it, and rates would move towards the other class.
    """
    own = np.einsum("jaa->j", squares) > 0
    even, known = even_covariance(n_free), _by_answers(squares[own], n_free)
    if gap is None:
        covariance = even_spread(np.diag(overdispersion(sums, squares, n_free)), n_free)
    else:
        covariance = (gap.T @ gap + inverse_each(squares[own] + precision[own]).sum(axis=0)) / len(gap)
    each = np.einsum("ab,jaqbq->jq", even, known) / n_free
    typical = (each**2).sum(axis=0) / np.maximum(each.sum(axis=0), 1e-300)  # of the labelers that tell most
    spread = np.einsum("ab,aqbq->q", even_precision(n_free), _by_answers(covariance[None], n_free)[0]) / n_free
    apart = spread * typical >= 1.0
    if alike:
        apart = np.full(len(apart), apart.all())
    kept = np.tile(apart, n_free)
    covariance = np.where(np.outer(kept, kept), covariance, 0.0)
    out: Floats = covariance + even_spread(np.diag(np.where(apart, 0.0, LEAST_SPREAD)), n_free)
    return out


def group_means(flat: Floats, groups: Ints, own: Bools) -> Floats:
    """(J, w): the mean of each labeler's group over those with labels (own), itself leaning on that of all of them."""
    everyone = flat[own].mean(axis=0)
    n_groups = int(groups.max()) + 1
    size = sum_by(groups[own], np.ones(int(own.sum())), n_groups)
    sums = np.stack([sum_by(groups[own], column, n_groups) for column in flat[own].T], axis=1)
    means = (sums + PSEUDO_GROUP * everyone) / (size + PSEUDO_GROUP)[:, None]
    out: Floats = means[groups] if n_groups > 1 else np.tile(everyone, (len(flat), 1))
    return out
