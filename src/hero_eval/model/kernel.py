"""EM steps over labels that do not collapse into few patterns: one pass over compressed sparse rows, on all cores.

Rows are cut into chunks, and each chunk sums into cells of its own; the chunks' sums are then added in their order. How
many chunks there are depends on the data alone, so the sums do not depend on the number of threads. Rows are laid out
by their length, so that no row's end has to be looked up.

For two states only the ratio of their likelihoods enters: the odds o of state 1 are a product over the labels, with no
exponential; its posterior is o / (1 + o), and a row adds log(1 + o) to the likelihood relative to state 0. What state 0
alone adds is a sum over cells, and so is what rows with gold add. Logs are taken of products of as many rows as a
float64 can hold. Where it might not hold even a row's odds, rows go by logarithms.
Shapes: P rows, C cells, S states.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from hero_eval.model.compiling import njit
from hero_eval.model.latent import Latent
from hero_eval.model.patterns import Floats, Ints, Patterns, dot
from hero_eval.model.threads import run_chunks

_CHUNK = 1 << 19
"""Labels of a chunk: a few milliseconds of work. It bounds time only; it must not depend on the machine, since sums are
taken by chunks. Doubled, half the chunks, and last digits differ (reasoned)."""
_MOST_CHUNKS = 64
"""More would only add sums to be added up. Doubled: as above."""
_OWN_SUMS = 1 << 25
"""Entries that all chunks' own sums may take together: 256 MB. Doubled, twice the memory (reasoned)."""
_LABELS_A_SUM = 4
"""Labels of a chunk for each sum of its own, at least: adding sums up takes time too. Doubled, fewer chunks with very
many labelers (reasoned)."""


_BLOCK = 512
"""Rows whose odds are held at a time, in the processor's first cache. It bounds time only (reasoned)."""
_MOST_LOG = 690.0
"""Of a product that is still a float64: e^709 is the largest. Doubled, products would overflow."""


@njit(nogil=True, cache=True)
def _lay_out(order: Any, ends: Any, cells: Any, out: Any) -> None:
    at = 0
    for row in order:
        for k in range(ends[row], ends[row + 1]):
            out[at] = cells[k]
            at += 1


@njit(nogil=True, cache=True)
def _odds(label: int, width: int, cells: Any, ratio: Any, prior: float, odds: Any) -> None:
    """Odds of state 1 of rows that begin at a label and have so many each."""
    if width == 5:  # the usual number, unrolled
        for row in range(len(odds)):
            c = cells[label : label + 5]
            odds[row] = (ratio[c[0]] * ratio[c[1]]) * (ratio[c[2]] * ratio[c[3]]) * (ratio[c[4]] * prior)
            label += 5
        return
    for row in range(len(odds)):
        product = prior
        for k in range(label, label + width):
            product *= ratio[cells[k]]
        label += width
        odds[row] = product


@njit(nogil=True, cache=True)
def _log_odds(label: int, width: int, cells: Any, delta: Any, prior: float, odds: Any) -> None:
    for row in range(len(odds)):
        t = prior
        for k in range(label, label + width):
            t += delta[cells[k]]
        label += width
        odds[row] = t


@njit(nogil=True, cache=True)
def _posteriors(odds: Any, fold: int, shares: Any, whole: Any) -> float:
    """Posteriors of state 1, and the sum of log(1 + odds), by products of `fold` rows."""
    n_rows = len(odds)
    for i in range(n_rows):
        one = 1.0 + odds[i]
        shares[i] = odds[i] / one
        whole[i] = one
    log_sum = 0.0
    for first in range(0, n_rows, fold):
        product = 1.0
        for i in range(first, min(first + fold, n_rows)):
            product *= whole[i]
        log_sum += np.log(product)
    return log_sum


@njit(nogil=True, cache=True)
def _posteriors_of_logs(odds: Any, shares: Any) -> float:
    """The same from log odds t: log(1 + exp(t)) is max(t, 0) + log(1 + exp(-|t|)), the latter's product below 2^512."""
    product, above = 1.0, 0.0
    for i in range(len(odds)):
        t = odds[i]
        e = np.exp(-abs(t))
        q = 1.0 / (1.0 + e)
        shares[i] = q if t > 0.0 else e * q
        product *= 1.0 + e
        above += max(t, 0.0)
    return np.log(product) + above  # type: ignore[no-any-return]


@njit(nogil=True, cache=True)
def _add_shares(label: int, width: int, cells: Any, shares: Any, own: Any) -> float:
    total = 0.0
    if width == 5:
        for row in range(len(shares)):
            share = shares[row]
            total += share
            c = cells[label : label + 5]
            own[c[0]] += share
            own[c[1]] += share
            own[c[2]] += share
            own[c[3]] += share
            own[c[4]] += share
            label += 5
        return total
    for row in range(len(shares)):
        share = shares[row]
        total += share
        for k in range(label, label + width):
            own[cells[k]] += share
        label += width
    return total


@njit(nogil=True, cache=True)
def _two_states(
    start: int, stop: int, groups: Any, cells: Any, special: Any, delta: Any, ratio: Any, prior: float, own: Any
) -> tuple[float, float]:
    """Rows [start, stop): state 1's counts by cell into `own`; returns its total and the sum of log(1 + odds).

    `groups` are first row, first label and width of rows that are alike in length. All rows are first taken as one item
    without gold; `special` (rows, counts, gold) are those that are not. Rows with gold add nothing to the second sum.
    """
    first_rows, first_labels, widths = groups
    rows, counts, gold = special
    at, group = np.searchsorted(rows, start), np.searchsorted(first_rows, start, side="right") - 1
    total, likelihood, steepest = 0.0, 0.0, np.abs(delta).max()
    buffers = np.empty((3, _BLOCK))
    first = start
    while first < stop:
        last = min(first + _BLOCK, stop, first_rows[group + 1])
        width, size = widths[group], last - first
        label = first_labels[group] + (first - first_rows[group]) * width
        odds, shares, whole = buffers[0, :size], buffers[1, :size], buffers[2, :size]
        bound = abs(prior) + width * steepest + 1.0
        by_products = 2.0 * bound < _MOST_LOG
        if by_products:
            _odds(label, width, cells, ratio, np.exp(prior), odds)
        else:
            _log_odds(label, width, cells, delta, prior, odds)
        begin = at
        while at < len(rows) and rows[at] < last:
            i = rows[at] - first
            if gold[at] >= 0:
                odds[i] = 0.0 if by_products else -np.inf
            else:
                t = np.log(odds[i]) if by_products else odds[i]
                likelihood += (counts[at] - 1.0) * (max(t, 0.0) + np.log1p(np.exp(-abs(t))))
            at += 1
        if by_products:
            likelihood += _posteriors(odds, int(_MOST_LOG // bound), shares, whole)
        else:
            likelihood += _posteriors_of_logs(odds, shares)
        for one in range(begin, at):
            i = rows[one] - first
            shares[i] = gold[one] * counts[one] if gold[one] >= 0 else shares[i] * counts[one]
        total += _add_shares(label, width, cells, shares, own)
        first = last
        if last == first_rows[group + 1]:
            group += 1
    return total, likelihood


@njit(nogil=True, cache=True)
def _many_states(
    start: int,
    stop: int,
    groups: Any,
    cells: Any,
    counts: Any,
    gold: Any,
    logs: Any,
    prior: Any,
    state_class: Any,
    own: Any,
    totals: Any,
) -> float:
    """Rows [start, stop) for any number of states: expected counts by cell and state, state totals, likelihood."""
    first_rows, first_labels, widths = groups
    group = np.searchsorted(first_rows, start, side="right") - 1
    n_states = len(prior)
    joint = np.empty(n_states)
    likelihood = 0.0
    for row in range(start, stop):
        while row >= first_rows[group + 1]:
            group += 1
        label = first_labels[group] + (row - first_rows[group]) * widths[group]
        for s in range(n_states):
            joint[s] = prior[s]
        for k in range(label, label + widths[group]):
            for s in range(n_states):
                joint[s] += logs[cells[k], s]
        known = gold[row]
        top = -np.inf
        for s in range(n_states):
            if known < 0 or state_class[s] == known:
                top = max(top, joint[s])
        whole = 0.0
        for s in range(n_states):
            joint[s] = np.exp(joint[s] - top) if known < 0 or state_class[s] == known else 0.0
            whole += joint[s]
        count = counts[row]
        likelihood += count * (top + np.log(whole))
        for s in range(n_states):
            joint[s] *= count / whole
            totals[s] += joint[s]
        for k in range(label, label + widths[group]):
            for s in range(n_states):
                own[cells[k], s] += joint[s]
    return likelihood


@njit(nogil=True, cache=True)
def _others_show(
    start: int, stop: int, groups: Any, cells: Any, counts: Any, gold: Any, delta: Any, prior: float, own: Any
) -> None:
    """Rows [start, stop) of two states: sums by cell of state 1's share without the label itself, and of its square."""
    first_rows, first_labels, widths = groups
    group = np.searchsorted(first_rows, start, side="right") - 1
    for row in range(start, stop):
        while row >= first_rows[group + 1]:
            group += 1
        label = first_labels[group] + (row - first_rows[group]) * widths[group]
        t = prior
        for k in range(label, label + widths[group]):
            t += delta[cells[k]]
        for k in range(label, label + widths[group]):
            share = float(gold[row]) if gold[row] >= 0 else 1.0 / (1.0 + np.exp(delta[cells[k]] - t))
            own[cells[k], 0] += counts[row] * share
            own[cells[k], 1] += counts[row] * share * share


@njit(nogil=True, cache=True)
def _carry(start: int, stop: int, groups: Any, cells: Any, values: Any, offset: float, factors: Any, own: Any) -> float:
    """Rows [start, stop): offset plus the sum of a row's values, times its factor, added to the row's cells."""
    first_rows, first_labels, widths = groups
    group = np.searchsorted(first_rows, start, side="right") - 1
    total = 0.0
    first = start
    while first < stop:
        last, width = min(stop, first_rows[group + 1]), widths[group]
        label = first_labels[group] + (first - first_rows[group]) * width
        for row in range(first, last):
            factor = factors[row]
            if width == 5:  # the usual number, unrolled
                c = cells[label : label + 5]
                moved = (values[c[0]] + values[c[1]]) + (values[c[2]] + values[c[3]]) + (values[c[4]] + offset)
                moved *= factor
                own[c[0]] += moved
                own[c[1]] += moved
                own[c[2]] += moved
                own[c[3]] += moved
                own[c[4]] += moved
            else:
                moved = offset
                for k in range(label, label + width):
                    moved += values[cells[k]]
                moved *= factor
                for k in range(label, label + width):
                    own[cells[k]] += moved
            total += moved
            label += width
        first = last
        group += 1
    return total


@njit(nogil=True, cache=True)
def add_pairs(ends: Any, cells: Any, values: Any, out: Any) -> None:
    """Values of rows into (C, C), by the cells that meet in a row; cells rise within a row, so one half is filled."""
    for row in range(len(ends) - 1):
        for k in range(ends[row], ends[row + 1]):
            for m in range(k, ends[row + 1]):
                out[cells[k], cells[m]] += values[row]


@njit(nogil=True, cache=True)
def _pair_shares(cells: Any, old: Any, clip: float, out: Any) -> None:
    for j in range(cells.shape[0]):
        for s in range(cells.shape[2]):
            total = cells[j, 0, s] + cells[j, 1, s]
            for m in range(2):
                share = cells[j, m, s] / total if total > 0.0 else old[j, m, s]
                out[j, m, s] = min(max(share, clip), 1.0 - clip) if total > 0.0 else share


def pair_shares(cells: Floats, old: Latent, clip: float) -> Floats:
    """`em.answer_shares` for two answers, in one go."""
    out = np.empty_like(cells)
    _pair_shares(cells, old.answers, clip, out)
    return out


def is_binary(latent: Latent) -> bool:
    """Whether there are two states, one a class."""
    return latent.n_states == 2 and bool((latent.state_class == np.arange(2)).all())


class Kernel:
    """Patterns laid out for the passes; `step` is one E-step with the sums that the M-step takes."""

    def __init__(self, patterns: Patterns) -> None:
        n_cells, ends = int(patterns.cells.shape[1]), patterns.cells.indptr
        self._shape = patterns.n_labelers, patterns.n_answers
        lengths = np.diff(ends)
        times = np.bincount(lengths)
        widths = np.flatnonzero(times)
        times = times[widths]
        small = np.uint16 if n_cells <= 1 << 16 else np.int32
        self._order: Ints | None = None
        if len(widths) <= 1:
            self._cells, counts, gold = patterns.cells.indices.astype(small), patterns.counts, patterns.gold
        else:
            order = np.argsort(lengths, kind="stable")
            self._order = order
            self._cells = np.empty(len(patterns.cells.indices), small)
            _lay_out(order, ends, patterns.cells.indices, self._cells)
            counts, gold = patterns.counts[order], patterns.gold[order]
        self._counts, self._gold = counts, gold.astype(np.int8)
        rows = np.flatnonzero((gold >= 0) | (counts != 1.0))
        self._special = rows, counts[rows], gold[rows]
        first_rows, first_labels = (np.concatenate([[0], np.cumsum(of)]) for of in (times, times * widths))
        self._groups = first_rows, first_labels, np.append(widths, 0).astype(np.int64)
        by_size = max(len(self._cells) // _CHUNK, 1)
        by_cells = max(len(self._cells) // (_LABELS_A_SUM * max(n_cells, 1)), 2)
        n_chunks = int(min(by_size, by_cells, _MOST_CHUNKS, max(_OWN_SUMS // max(n_cells, 1), 1)))
        wanted = np.linspace(0, len(self._cells), n_chunks + 1)[:-1]
        group = np.searchsorted(first_labels, wanted, side="right") - 1
        rows_in = (wanted - first_labels[group]) // np.maximum(self._groups[2][group], 1)
        self._cuts = np.append(first_rows[group] + rows_in.astype(np.int64), patterns.n_rows)
        self._cuts[0] = 0

    def _by_cell(self, values: Floats) -> Floats:
        """(C,) values of rows, added up over each cell's labels."""
        out = np.zeros(int(np.prod(self._shape)))
        for first, label, width, last in zip(*self._groups, self._groups[0][1:], strict=False):
            _add_shares(int(label), int(width), self._cells, values[first:last], out)
        return out

    @cached_property
    def _cell_counts(self) -> Floats:
        """(C,) how often each cell occurs: what the states have together."""
        return self._by_cell(self._counts)

    @cached_property
    def _known(self) -> tuple[Floats, float]:
        """(C,) how often each cell occurs with gold of class 1, and how many items have it."""
        of_row = np.where(self._gold == 1, self._counts, 0.0)
        return self._by_cell(of_row), float(of_row.sum())

    def step(self, latent: Latent) -> tuple[Floats, Floats, float]:
        """Expected answers (J, L, S), expected states (S,), and the likelihood, at this point."""
        return self._step_of_two(latent) if is_binary(latent) else self._step_of_many(latent)

    def others_show(self, latent: Latent) -> Floats:
        """(J, L, 3) sums over labels, in a model of two states and classes: of the labels themselves, of the share of
        state 1 that all but the label and the gold show, and of its square."""
        logs = np.log(latent.answers).reshape(-1, 2)
        delta, prior = logs[:, 1] - logs[:, 0], float(np.log(latent.weights[1] / latent.weights[0]))
        own = np.zeros((len(self._cuts) - 1, len(logs), 2))

        def work(chunk: int) -> None:
            _others_show(
                self._cuts[chunk],
                self._cuts[chunk + 1],
                self._groups,
                self._cells,
                self._counts,
                self._gold,
                delta,
                prior,
                own[chunk],
            )

        run_chunks(work, len(own))
        sums = np.concatenate([self._cell_counts[:, None], own.sum(axis=0)], axis=1)
        out: Floats = sums.reshape(*self._shape, 3)
        return out

    def carry(self, cell_values: Floats, offset: float, row_factors: Floats) -> tuple[Floats, float]:
        """Values of cells (C,) summed over each row's labels, and an offset, times the row's factor; then summed by
        cell (C,), and over all rows."""
        factors = row_factors if self._order is None else row_factors[self._order]
        n_chunks = len(self._cuts) - 1
        own, totals = np.zeros((n_chunks, len(cell_values))), np.zeros(n_chunks)

        def work(chunk: int) -> None:
            span = self._cuts[chunk], self._cuts[chunk + 1]
            totals[chunk] = _carry(*span, self._groups, self._cells, cell_values, offset, factors, own[chunk])

        run_chunks(work, n_chunks)
        return own.sum(axis=0), float(totals.sum())

    def _step_of_two(self, latent: Latent) -> tuple[Floats, Floats, float]:
        by_cell = latent.answers.reshape(-1, 2)
        ratio = by_cell[:, 1] / by_cell[:, 0]
        delta, of_first, prior = np.log(ratio), np.log(by_cell[:, 0]), np.log(latent.weights)
        n_chunks = len(self._cuts) - 1
        own = np.zeros((n_chunks, len(ratio)))
        sums = np.zeros((n_chunks, 2))
        lead = float(prior[1] - prior[0])

        def work(chunk: int) -> None:
            sums[chunk] = _two_states(
                self._cuts[chunk],
                self._cuts[chunk + 1],
                self._groups,
                self._cells,
                self._special,
                delta,
                ratio,
                lead,
                own[chunk],
            )

        run_chunks(work, n_chunks)
        first = own[0] if n_chunks == 1 else own.sum(axis=0)
        answers = np.empty((len(ratio), 2))
        answers[:, 1] = first
        np.subtract(self._cell_counts, first, out=answers[:, 0])
        np.maximum(answers, 0.0, out=answers)
        yes, above = sums.sum(axis=0)
        whole = float(self._counts.sum())
        known, n_known = self._known
        base = dot(self._cell_counts, of_first) + dot(known, delta) + whole * float(prior[0]) + n_known * lead
        return answers.reshape(*self._shape, 2), np.array([whole - yes, yes]), base + float(above)

    def _step_of_many(self, latent: Latent) -> tuple[Floats, Floats, float]:
        n_states = latent.n_states
        logs = np.ascontiguousarray(np.log(latent.answers).reshape(-1, n_states))
        prior = np.log(latent.weights)
        n_chunks = len(self._cuts) - 1
        own = np.zeros((n_chunks, len(logs), n_states))
        totals = np.zeros((n_chunks, n_states))
        log_likelihoods = np.zeros(n_chunks)
        state_class = latent.state_class.astype(np.int64)

        def work(chunk: int) -> None:
            log_likelihoods[chunk] = _many_states(
                self._cuts[chunk],
                self._cuts[chunk + 1],
                self._groups,
                self._cells,
                self._counts,
                self._gold,
                logs,
                prior,
                state_class,
                own[chunk],
                totals[chunk],
            )

        run_chunks(work, n_chunks)
        return own.sum(axis=0).reshape(*self._shape, n_states), totals.sum(axis=0), float(log_likelihoods.sum())
