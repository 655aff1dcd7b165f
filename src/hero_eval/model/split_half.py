"""What few labels a labeler do to a fit: the split-half estimate of its bias.

Every labeler brings parameters of its own, so that more labelers of few labels do not make a maximum-likelihood fit
better: its bias falls with the labels of a labeler, its standard error with all labels. A bias that falls as 1 / labels
is twice as large in half of the items. Errors that are linear in the items cancel between the mean of both halves and
the whole, and the bias is what remains (the split-panel jackknife of Dhaene and Jochmans, 2015).
Shapes: P patterns, J labelers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hero_eval.model.em import EMOptions, run_em, takes_kernel
from hero_eval.model.history import HistoryFit
from hero_eval.model.latent import Latent
from hero_eval.model.patterns import Floats, Ints, Patterns, row_keys

_MOST_STEPS = 60
"""EM steps of a half, from the fit of the whole: near enough to tell a bias from none. Doubled, halves are fitted a
little better, for twice the time (reasoned)."""


def labels_of(patterns: Patterns) -> Floats:
    """(J,) how many labels each labeler gave."""
    out: Floats = patterns.to_cells(patterns.items_of_row[:, None]).sum(axis=(1, 2))
    return out


def typical_labels(labels: Floats) -> float:
    """Half of all labels are by labelers with no more labels than this."""
    rising = np.sort(labels)
    behind = np.cumsum(rising)
    return float(rising[np.searchsorted(behind, behind[-1] / 2.0)])


def halves(patterns: Patterns) -> tuple[Patterns, Patterns]:
    """The items in two parts of one size, with the same share of each gold class, whatever order they came in.

    A row of several items gives half of its count to each part.
    """
    order = np.lexsort((row_keys(patterns), patterns.gold))
    first = np.zeros(patterns.n_rows, dtype=bool)
    first[order[::2]] = True
    several = patterns.items_of_row > 1.5
    counts = np.where(several, patterns.counts / 2.0, patterns.counts)
    one, other = (_part(patterns, np.flatnonzero(side | several), counts) for side in (first, ~first))
    return one, other


def _part(patterns: Patterns, rows: Ints, row_counts: Floats) -> Patterns:
    counts = row_counts[rows]
    return replace(
        patterns,
        cells=patterns.cells[rows],
        gold=patterns.gold[rows],
        counts=counts,
        row_of_item=np.arange(len(rows)),
        item_weight=counts,
        times=None,
        row_items=None,
    )


def half_fits(whole: HistoryFit, options: EMOptions) -> tuple[HistoryFit, ...]:
    """The fit of each half, started from that of the whole; near enough to tell a bias from none."""
    near = replace(options, tolerance=max(options.tolerance, 1e-7), step_tolerance=None, accelerate=True)
    near = replace(near, max_steps=min(options.max_steps, _MOST_STEPS))
    compiled = takes_kernel(whole.patterns)  # is loaded, and halves are large enough to gain by it
    return tuple(_half_fit(half, whole.latent, near, compiled) for half in halves(whole.patterns))


def _half_fit(half: Patterns, start: Latent, options: EMOptions, compiled: bool) -> HistoryFit:
    expect = None
    if compiled:
        from hero_eval.model.kernel import Kernel

        expect = Kernel(half).step
    latent, report = run_em(half, start, options, expect=expect)
    return HistoryFit(half, latent, report, options.clip)
