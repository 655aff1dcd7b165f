"""How much each item moves a fit of history: scores and the observed information of its parameters.

For a fit that maximizes the sum of log-likelihoods, item i moves the parameters by  H^-1 s_i  (H the observed
information, s_i the item's score), in the free logits of `coordinates`. What that does to the current rates is in
`rate_derivatives`; stacking both gives each item's influence on the rate, and with it every standard error, difference
and ratio. The paper's mu, alpha_j and beta_j are entries of the model's probabilities (`latent`).
Shapes: P patterns, J labelers, L answers, S states, C cells (a labeler's answer each), p free parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import linalg, sparse

from hero_eval.errors import unsupported
from hero_eval.model.conjugate_gradients import DENSE_LIMIT, conjugate_gradients
from hero_eval.model.coordinates import along_logits, coordinates, slope_matrices, to_logits
from hero_eval.model.em import takes_kernel
from hero_eval.model.latent import Latent, floored_shares, posterior, state_barrier
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns

_SPECTRUM_LIMIT = 400
"""Parameters up to which all eigenvalues are looked at for a weak direction: a tenth of a second. It bounds time only:
above it a fit is called weak only where H has no Cholesky factor. Doubled, such a check takes eight times as long, and
some larger fits would be called weak (reasoned)."""
_WEAK_SHARE = 1e-4
"""Of the information that seeing all states would give: with less left, a direction is as good as unknown. It chooses
when a finding is raised, no number. Doubled, fits are called weak a little sooner (reasoned)."""
_LEAST_SEEN = 1e-3
"""Expected labels (times share and counter-share) behind a parameter that is worth a thought in what is nearly the
inverse. Doubled, conjugate gradients take a few steps more or less, to the same solution (reasoned)."""
_LEAST_KEPT = 1e-3
"""Of that information, in what is nearly the inverse. Doubled: as above."""
_LEAST_EIGENVALUE = 1e-10
"""Of an information that is not positive definite, relative to its largest eigenvalue, so that it can be inverted. Such
a fit is called weak. Doubled, its standard errors, which nobody should read, are smaller by up to a factor 1.4
(reasoned)."""
_MOST_OWN = 1 << 26
"""Numbers in the labelers' own informations: 512 MB. With more, what is nearly the inverse leaves out what not seeing
the states loses. It bounds memory only (reasoned)."""
_MOST_SLOPES = 1 << 28
"""Numbers in the derivatives of the answers, of which a few copies are made: 2 GB each. With more, the fit is refused
rather than the machine brought to its knees (reasoned)."""
_DENSE_SHARE = 0.05
"""The share of entries that are not 0, from which on a sparse matrix is multiplied as a full one. It bounds time only
(reasoned)."""
_BLOCK_NUMBERS = 1 << 22
"""Numbers of a full copy of some rows: 32 MB. It bounds memory only (reasoned)."""
_NO_INFORMATION = 1e-14
"""Relative to the largest diagonal entry: rounding alone leaves as much. Doubled, nothing changes (reasoned)."""
_REST_BOUNDS = np.inf, 1e-4, 1e-5, 1e-6
"""Largest steps of a labeler at rest, each tried where none before gave a solution. Doubled, a few labelers more are
let move, or the next bound is taken (reasoned)."""


class Information:
    """Scores of all rows and the observed information of a fitted history.

    `pseudo` is the number of pseudo-answers added to each (labeler, answer, state) cell by the fit's prior.
    """

    def __init__(self, patterns: Patterns, latent: Latent, clip: float, pseudo: float | Floats = 0.0) -> None:
        self.patterns = patterns
        self.latent = latent
        self.clip = clip
        n_labelers, n_answers, n_states = latent.answers.shape
        if n_labelers * n_answers**2 * n_states > _MOST_SLOPES:
            message = f"{n_answers:,} answers in {n_states:,} classes by {n_labelers:,} labelers have more parameters"
            raise unsupported("E306", f"{message} than can be told apart in memory.")
        self.at = coordinates(latent, clip)
        self.post, _ = posterior(patterns, latent, state_barrier(patterns.gold, latent.state_class))
        expected = self.post * patterns.counts[:, None]
        self._expected = expected
        self._answer_counts = patterns.to_cells(expected) + pseudo
        self._state_counts = expected.sum(axis=0)

    @property
    def n_parameters(self) -> int:
        return self.at.n_free

    def _complete(self) -> tuple[Floats, Floats]:
        """Information if all states were seen: weights (S-1, S-1) and for each labeler and state (J, S, L-1, L-1)."""
        slopes = self.at.answer_slopes
        # sum over answers m of count_m * slope_m slope_m' equals count * (diag - outer) at a maximum; the expected
        # form is used so that pseudo-answers and clipped entries are counted consistently
        free_count = np.einsum("jls,jls->js", self._answer_counts, (np.abs(slopes).sum(axis=2) > 0) * 1.0)
        shares = self._inner_shares()
        diagonal = np.einsum("jcs,cd->jscd", shares, np.eye(shares.shape[1]))
        outer = np.einsum("jcs,jds->jscd", shares, shares)
        answers = free_count[:, :, None, None] * (diagonal - outer)
        inner = self._inner_weights()
        weights = self._free_state_count() * (np.diag(inner) - np.outer(inner, inner))
        return weights, answers

    def _inner_shares(self) -> Floats:
        """(J, L-1, S): the shares behind the free logits, of the mass that is not held at the bound."""
        slopes = self.at.answer_slopes
        own = slopes.max(axis=1)  # 1 - share at its own entry
        return np.where(own > 0, 1.0 - own, 0.0)

    def _inner_weights(self) -> Floats:
        own = self.at.weight_slopes.max(axis=0)
        return np.where(own > 0, 1.0 - own, 0.0)

    def _free_state_count(self) -> float:
        free = np.abs(self.at.weight_slopes).sum(axis=1) > 0
        return float(self._state_counts[free].sum())

    def product(self, vector: Floats) -> Floats:
        """H @ vector without H: complete information, less what not seeing the states loses."""
        complete_weights, complete_answers = self._known
        on_weights, on_answers = self.at.unpack(vector)
        n_labelers, n_states = complete_answers.shape[:2]
        by_labeler = on_answers.reshape(n_labelers, -1, n_states)
        answers = np.einsum("jscd,jds->jcs", complete_answers, by_labeler).reshape(-1, n_states)
        by_state, by_cell = self._lost(self.at.weight_slopes @ on_weights, on_answers)
        weights = complete_weights @ on_weights - self.at.weight_slopes.T @ by_state
        return self.at.pack(weights, answers - by_cell)

    @cached_property
    def _known(self) -> tuple[Floats, Floats]:
        return self._complete()

    def _lost(self, offsets: Floats, on_answers: Floats) -> tuple[Floats, Floats]:
        """What not seeing the states loses of a move of the states (S,) and logits (J*(L-1), S): in the same places."""
        if self._kernel is None:
            moved = offsets + self._along(on_answers)
            centered = self._expected * (moved - (self.post * moved).sum(axis=1, keepdims=True))
            return centered.sum(axis=0), to_logits(self.patterns, self.at, centered)
        # of two states, one loses what the other gains, and both by the difference of their moves
        kernel, factors = self._kernel
        slopes = self.at.answer_slopes
        n_labelers, n_answers, width, _ = slopes.shape
        moves = np.einsum("jlcs,jcs->jls", slopes, on_answers.reshape(n_labelers, width, 2)).reshape(-1, 2)
        by_cell, total = kernel.carry(moves[:, 1] - moves[:, 0], float(offsets[1] - offsets[0]), factors)
        both = np.stack([-by_cell, by_cell], axis=1).reshape(n_labelers, n_answers, 2)
        lost: Floats = np.einsum("jlcs,jls->jcs", slopes, both)
        return np.array([-total, total]), lost.reshape(-1, 2)

    @cached_property
    def _kernel(self) -> tuple[Any, Floats] | None:
        """Compiled passes over many labels of two states, and what a row's move is multiplied with."""
        if self.post.shape[1] != 2 or not takes_kernel(self.patterns):
            return None
        from hero_eval.model.kernel import Kernel  # compiled code, which small data need not load

        return Kernel(self.patterns), self._expected[:, 1] * self.post[:, 0]

    @cached_property
    def matrix(self) -> Floats:
        """H as a dense (p, p) matrix."""
        if self.post.shape[1] > 2 or len(self.at.free) > 2 * DENSE_LIMIT:
            return self._matrix_of_free()
        complete_weights, complete_answers = self._complete()
        n_labelers, n_states, width, _ = complete_answers.shape
        n_weights = n_states - 1
        block = n_labelers * width
        full = np.zeros((n_weights + n_states * block,) * 2)
        full[:n_weights, :n_weights] = complete_weights
        for s in range(n_states):
            start = n_weights + s * block
            for j in range(n_labelers):
                where = slice(start + j * width, start + (j + 1) * width)
                full[where, where] = complete_answers[j, s]
        whole = full - self._lost_information(n_weights, block)
        keep = np.nonzero(self.at.free)[0]
        out: Floats = whole[np.ix_(keep, keep)]
        return out

    def _matrix_of_free(self) -> Floats:
        """H of many states, or where most parameters are held at their bound: nothing is formed for those."""
        complete_weights, complete_answers = self._known
        on_weights, on_answers = self._free_places
        n_weights = len(on_weights)
        out = np.zeros((self.n_parameters, self.n_parameters))
        out[:n_weights, :n_weights] = complete_weights[np.ix_(on_weights, on_weights)]
        tops, counts = self.at.weight_slopes[:, on_weights], self.patterns.counts
        scores: list[Any] = [sparse.csr_array(self.post @ tops)]
        start, width = n_weights, complete_answers.shape[2]
        for s, free in enumerate(on_answers):
            here = slice(start, start + len(free))
            labeler, logit = free // width, free % width
            own = complete_answers[labeler[:, None], s, logit[:, None], logit] * (labeler[:, None] == labeler)
            slopes, weight = self._free_slopes(s, free), self._expected[:, s]
            out[here, here] = own - _row_squares(slopes, weight)
            out[:n_weights, here] = -np.outer(tops[s], slopes.T @ weight)
            out[here, :n_weights] = out[:n_weights, here].T
            out[:n_weights, :n_weights] -= weight.sum() * np.outer(tops[s], tops[s])
            scores.append(sparse.diags_array(self.post[:, s]) @ slopes)
            start += len(free)
        out += _row_squares(sparse.hstack(scores, format="csr"), counts)
        return 0.5 * (out + out.T)

    @cached_property
    def _free_places(self) -> tuple[Ints, list[Ints]]:
        """Which of the weights' logits are free, and which of the answers' (J*(L-1)) in each state."""
        n_states = self.post.shape[1]
        free = self.at.free
        return np.flatnonzero(free[: n_states - 1]), [
            np.flatnonzero(of) for of in free[n_states - 1 :].reshape(n_states, -1)
        ]

    def _free_slopes(self, state: int, free: Ints) -> Any:
        """(P, n) sparse: the derivative of log P(answers | state) in the free logits of a state."""
        slopes = self.at.answer_slopes
        n_labelers, n_answers, width, _ = slopes.shape
        labeler, logit = free // width, free % width
        cells = labeler[:, None] * n_answers + np.arange(n_answers)
        places = np.broadcast_to(np.arange(len(free))[:, None], cells.shape)
        values = slopes[labeler, :, logit, state]
        by_cell = sparse.coo_array(
            (values.ravel(), (cells.ravel(), places.ravel())), shape=(n_labelers * n_answers, len(free))
        )
        return (self.patterns.cells.astype(float) @ by_cell.tocsr()).tocsr()

    def _lost_information(self, n_weights: int, block: int) -> Floats:
        """sum over rows of count * Var(derivative | row) over the row's possible states."""
        post, counts, tops = self.post, self.patterns.counts, self.at.weight_slopes
        n_states = post.shape[1]
        size = n_weights + n_states * block
        lost = np.zeros((size, size))
        spread = [[counts * post[:, s] * ((s == t) - post[:, t]) for t in range(n_states)] for s in range(n_states)]
        between = np.array([[spread[s][t].sum() for t in range(n_states)] for s in range(n_states)])
        lost[:n_weights, :n_weights] = tops.T @ between @ tops
        if not any(of.any() for row in spread for of in row):  # every row's state is known, as in rows with gold
            return lost
        toward = [to_logits(self.patterns, self.at, np.stack(of, axis=1)) for of in spread]  # symmetric in s and t
        pairs = self._pairs(spread)
        for s in range(n_states):
            on_s = slice(n_weights + s * block, n_weights + (s + 1) * block)
            lost[:n_weights, on_s] = sum(np.outer(tops[t], toward[t][:, s]) for t in range(n_states))
            lost[on_s, :n_weights] = lost[:n_weights, on_s].T
            for t in range(s, n_states):
                on_t = slice(n_weights + t * block, n_weights + (t + 1) * block)
                product = next(pairs)
                lost[on_s, on_t] = product
                lost[on_t, on_s] = product.T
        return lost

    def _pairs(self, spread: list[list[Floats]]) -> Iterator[Floats]:
        """For states s <= t the (J*(L-1), J*(L-1)) sums over rows of spread[s][t] * slope_s slope_t'."""
        n_states = len(spread)
        if self.patterns.is_small:
            slopes = slope_matrices(self.patterns, self.at)
            for s in range(n_states):
                for t in range(s, n_states):
                    yield slopes[s].T @ (spread[s][t][:, None] * slopes[t])
            return
        met = np.zeros((0, 0))
        for s in range(n_states):
            for t in range(s, n_states):
                if n_states > 2 or not len(met):
                    met = pair_sums(self.patterns, spread[s][t])
                # with two states the spreads differ in their sign only
                sign = -1.0 if n_states == 2 and s != t else 1.0
                yield sign * self._between_logits(met, s, t)

    def _between_logits(self, met: Floats, s: int, t: int) -> Floats:
        """Sums over pairs of cells (C, C) as sums over pairs of logits of states s and t."""
        slopes = self.at.answer_slopes
        n_labelers, n_answers, width, _ = slopes.shape
        size, block = n_labelers * n_answers, n_labelers * width
        half = np.einsum("jlc,jlx->jcx", slopes[:, :, :, s], met.reshape(n_labelers, n_answers, size))
        half = half.reshape(block, n_labelers, n_answers)
        out: Floats = np.einsum("xkm,kmd->xkd", half, slopes[:, :, :, t])
        return out.reshape(block, block)

    @cached_property
    def _factor(self) -> tuple[Any, bool]:
        """Cholesky factor of H, and whether H had to be changed because it is not positive definite."""
        held, flat = self._without_flat()
        try:
            return linalg.cho_factor(held, lower=True), flat
        except linalg.LinAlgError:
            values, vectors = np.linalg.eigh(self.matrix)
            floor = max(values.max(), 1.0) * _LEAST_EIGENVALUE
            definite = (vectors * np.maximum(values, floor)) @ vectors.T
            return linalg.cho_factor(0.5 * (definite + definite.T), lower=True), True

    def _without_flat(self) -> tuple[Floats, bool]:
        """H with something on the diagonal of parameters that no label speaks of, and whether there are any.

        Their scores are 0, so that what is put there moves nothing, and saves a search for what else is amiss.
        """
        diagonal = np.diag(self.matrix)
        flat = np.flatnonzero(np.abs(self.matrix).max(axis=0) <= _NO_INFORMATION * diagonal.max())
        if not len(flat):
            return self.matrix, False
        held = self.matrix.copy()
        held[flat, flat] = max(diagonal.max(), 1.0) * _LEAST_EIGENVALUE
        return held, True

    @property
    def is_dense(self) -> bool:
        """Whether H is small enough to be formed and factored."""
        return self.n_parameters <= DENSE_LIMIT

    @cached_property
    def is_weak(self) -> bool:
        """True when some direction of the parameters has next to no information left after not seeing the states."""
        if self.n_parameters == 0 or not self.is_dense:
            return False
        if self._factor[1] or self.n_parameters > _SPECTRUM_LIMIT:
            return self._factor[1]
        complete_weights, complete_answers = self._complete()
        answers = np.einsum("jscc->jcs", complete_answers).reshape(-1, self.latent.n_states)
        scale = 1.0 / np.sqrt(np.maximum(self.at.pack(np.diag(complete_weights), answers), 1e-12))
        kept = self.matrix * np.outer(scale, scale)
        kept[np.diag_indices_from(kept)] -= _WEAK_SHARE
        try:  # a Cholesky factor ends where an eigenvalue is negative, at a tenth of the cost of all eigenvalues
            np.linalg.cholesky(kept)
        except np.linalg.LinAlgError:
            return True
        return False

    def solve(self, right: Floats) -> Floats:
        """H^-1 @ right for right (p, m); nan where the right side is unknown."""
        if not np.isfinite(right).all():
            return np.full_like(right, np.nan)
        if self.n_parameters == 0:
            return np.zeros_like(right)
        if self.is_dense:
            solved: Floats = linalg.cho_solve(self._factor[0], right)
            return solved
        return np.stack([self._solve_by_products(column) for column in right.T], axis=1)

    def _solve_by_products(self, right: Floats) -> Floats:
        """H^-1 @ right; where there is none, with labelers that have not come to rest taken as known.

        Among very many labelers a few still creep towards a bound when all else rests. The rate hardly depends on
        them, but there the likelihood bends the wrong way, so that H has no inverse.
        """
        out, tried = np.full_like(right, np.nan), list[int]()
        for most in _REST_BOUNDS:
            resting = self._unrest <= most
            if int(resting.sum()) in tried:  # the bounds fall, so these are the same labelers
                continue
            tried.append(int(resting.sum()))
            out = conjugate_gradients(self.product, partial(self._nearly_inverse, resting), right)
            if np.isfinite(out).all():
                break
        return out

    @cached_property
    def _unrest(self) -> Floats:
        """(J,) how far another EM step would move a labeler's answers, on the logit scale."""
        answers = self.latent.answers
        step = np.nan_to_num(floored_shares(self._answer_counts, self.clip, axis=1) - answers)
        out: Floats = np.max(np.abs(step) / (answers * (1.0 - answers)), axis=(1, 2), initial=0.0)
        return out

    def _nearly_inverse(self, resting: Bools, vector: Floats) -> Floats:
        """Nearly H^-1 @ vector: labelers' own parameters among themselves, as if nothing tied labelers together."""
        weights, inverse = self._own_inverse
        on_weights, on_answers = self.at.unpack(vector)
        n_labelers, n_states = len(inverse), on_answers.shape[1]
        if inverse.ndim == 4:
            by_state = on_answers.reshape(n_labelers, -1, n_states)
            moved = np.einsum("jscd,jds->jcs", inverse, by_state).reshape(n_labelers, -1)
        else:
            moved = np.einsum("jab,jb->ja", inverse, on_answers.reshape(n_labelers, -1))
        moved *= resting[:, None]
        return self.at.pack(weights @ on_weights, moved.reshape(-1, n_states))

    @cached_property
    def _own_inverse(self) -> tuple[Floats, Floats]:
        """Inverses of the weights' own information (S-1, S-1) and of each labeler's, (J, (L-1)*S, (L-1)*S); with very
        many classes of what seeing the states would give, (J, S, L-1, L-1).

        A labeler that is hardly ever met in some state says nothing of its answers there, and is not asked to: a
        direction of so little information would drown all others in rounding errors.
        """
        complete_weights, complete_answers = self._known
        n_labelers, n_states, width, _ = complete_answers.shape
        if n_labelers * (width * n_states) ** 2 > _MOST_OWN:
            near = _steady_inverse(complete_answers.reshape(-1, width, width))
            return _steady_inverse(complete_weights[None])[0], near.reshape(complete_answers.shape)
        own = np.zeros((n_labelers, width, n_states, width, n_states))
        for s in range(n_states):
            own[:, :, s, :, s] = complete_answers[:, s]
        whole = np.einsum("jcscs->jcs", own).copy().reshape(n_labelers, -1)  # before what is lost goes off
        own -= self._own_lost()
        return _steady_inverse(complete_weights[None])[0], _steady_inverse(
            own.reshape(n_labelers, width * n_states, -1), whole
        )

    def _own_lost(self) -> Floats:
        """(J, L-1, S, L-1, S): what each labeler's own parameters lose by not seeing the states.

        A labeler labels an item once, so that these are sums over its labels, not over pairs of them.
        """
        slopes, post = self.at.answer_slopes, self.post
        n_labelers, _, width, n_states = slopes.shape
        lost = np.zeros((n_labelers, width, n_states, width, n_states))
        for s in range(n_states):
            spread = self._expected[:, s, None] * ((np.arange(n_states) == s) - post)
            by_cell = self.patterns.to_cells(spread)
            lost[:, :, s] = np.einsum("jlc,jlt,jldt->jcdt", slopes[:, :, :, s], by_cell, slopes)
        return lost

    def item_influence(self, direction: Floats) -> Floats:
        """(n, m): each item's score times `direction` (p, m) = solve(gradient): its pull on what has that gradient."""
        return self.patterns.to_items(self.row_influence(direction))

    def row_influence(self, direction: Floats) -> Floats:
        """(P, m): the same for one item of weight 1 in each row."""
        columns = []
        for one in direction.T:
            on_weights, on_answers = self.at.unpack(one)
            by_state = self.at.weight_slopes @ on_weights + self._along(on_answers)
            columns.append((self.post * by_state).sum(axis=1))
        return np.stack(columns, axis=1)

    def _along(self, on_answers: Floats) -> Floats:
        """(P, S): how far each state's log-likelihood moves when its logits move by on_answers (J*(L-1), S)."""
        return along_logits(self.patterns, self.at, on_answers)

    def answer_std_errors(self) -> Floats:
        """Standard errors of answers[j, l, s] from the inverse information, nan where it is too large to invert."""
        shape = self.latent.answers.shape
        if not self.is_dense or self.n_parameters == 0:
            return np.full(shape, np.nan)
        inverse = linalg.cho_solve(self._factor[0], np.eye(self.n_parameters))
        place = np.full(len(self.at.free) + 1, self.n_parameters)  # of each logit among the free ones
        place[:-1][self.at.free] = np.arange(self.n_parameters)
        inverse = np.pad(inverse, (0, 1))  # what is held has no error
        n_labelers, n_answers, n_states = shape
        width, n_weights = n_answers - 1, n_states - 1
        out = np.full(shape, np.nan)
        for s in range(n_states):
            for j in range(n_labelers):
                start = n_weights + s * n_labelers * width + j * width
                here = place[start : start + width]
                block = inverse[np.ix_(here, here)]
                jacobian = self.latent.answers[j, :, s][:, None] * self.at.answer_slopes[j, :, :, s]
                variance = np.einsum("lc,cd,ld->l", jacobian, block, jacobian)
                out[j, :, s] = np.where(np.abs(jacobian).sum(axis=1) > 0, np.sqrt(np.maximum(variance, 0)), np.nan)
        return out


def _steady_inverse(blocks: Floats, whole: Floats | None = None) -> Floats:
    """Inverses of symmetric matrices (n, k, k), as shares of the diagonals `whole` (n, k), by default their own.

    Directions without information are taken to have a little; entries without any diagonal are left out: 0.
    """
    diagonal = np.einsum("naa->na", blocks) if whole is None else whole
    seen = diagonal > _LEAST_SEEN
    scale = np.where(seen, 1.0 / np.sqrt(np.where(seen, diagonal, 1.0)), 0.0)
    both = scale[:, :, None] * scale[:, None, :]
    values, vectors = np.linalg.eigh(blocks * both)
    out: Floats = (vectors / np.maximum(values, _LEAST_KEPT)[:, None, :]) @ np.swapaxes(vectors, 1, 2) * both
    return out


def _row_squares(rows: Any, by: Floats) -> Floats:
    """(n, n): the sum of the sparse rows' (P, n) products with themselves, each times its number.

    Rows that are nearly full are multiplied as full ones, some at a time, which is many times as fast.
    """
    n_rows, width = rows.shape
    if rows.nnz < _DENSE_SHARE * n_rows * width:
        sparse_sum: Floats = (rows.T @ (sparse.diags_array(by) @ rows)).toarray()
        return sparse_sum
    out = np.zeros((width, width))
    step = max(_BLOCK_NUMBERS // max(width, 1), 1)
    for start in range(0, n_rows, step):
        full = rows[start : start + step].toarray().astype(float)
        out += (full.T * by[start : start + step]) @ full
    return out


def pair_sums(patterns: Patterns, row_values: Floats) -> Floats:
    """(C, C): values of rows, added up over the rows in which two cells meet."""
    size = int(patterns.cells.shape[1])
    out = np.zeros((size, size))
    if takes_kernel(patterns):
        from hero_eval.model.kernel import add_pairs  # compiled code, which small data need not load

        add_pairs(patterns.cells.indptr, patterns.cells.indices, row_values, out)
        return out + np.triu(out, 1).T
    for rows in patterns.row_blocks():
        out += _row_squares(patterns.cells[rows], row_values[rows])
    return out
