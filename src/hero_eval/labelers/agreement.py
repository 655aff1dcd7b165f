"""How often two labelers agree, against how often they should if each erred on its own.

Pairs that agree much more often than their reliabilities explain err together, which no method that takes labelers as
independent can see; `agreement` shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hero_eval.labelers.reliability import Reliability
from hero_eval.result_frames import Framed, checked_backend, to_frame

LEAST_SHARED = 20
"""Items that two labelers must share before their agreement tells anything."""
_FULL_SHARE = 0.1
"""The share of labelers in a usual row, from which on full products are faster than sparse ones."""
_MOST_FULL = 1 << 24
"""Rows times labelers up to which they are taken: 128 MB."""


@dataclass(frozen=True)
class PairAgreement:
    """Two labelers on the items that both labeled: the share of equal answers, and what the fit predicts for it."""

    first: str
    second: str
    items: int
    observed: float
    predicted: float

    @property
    def error(self) -> float:
        """The sampling error of the observed share, if the prediction holds."""
        return float(np.sqrt(self.predicted * (1.0 - self.predicted) / self.items))


@dataclass(frozen=True)
class Agreement(Framed):
    """All pairs of labelers that share enough items."""

    pairs: tuple[PairAgreement, ...]
    least_shared: int = LEAST_SHARED

    @property
    def excess(self) -> float:
        """Observed minus predicted agreement, pairs weighted by their items; nan without pairs."""
        if not self.pairs:
            return float("nan")
        items = np.array([one.items for one in self.pairs], dtype=float)
        gaps = np.array([one.observed - one.predicted for one in self.pairs])
        return float(items @ gaps / items.sum())

    def to_frame(self, backend: str | None = None) -> Any:
        """One row a pair: first, second, items, observed, predicted, error."""
        names = ("first", "second", "items", "observed", "predicted", "error")
        columns = {name: [getattr(one, name) for one in self.pairs] for name in names}
        return to_frame(columns, checked_backend(backend, "files"))


def agreement(reliability: Reliability, most: int = 200) -> Agreement:
    """Observed and predicted agreement of the pairs that share the most items, `most` at the most.

    Counted on answer patterns: one sparse product for each answer, of the labelers in these pairs.
    """
    from scipy import sparse

    patterns = reliability.counted.patterns
    rows, labeler, answer = patterns.entries
    items, n_labelers = patterns.items_of_row, len(reliability.labelers)

    def both(chosen: Any, column: Any, width: int) -> Any:
        here = sparse.csr_array((np.ones(int(chosen.sum())), (rows[chosen], column[chosen])), (patterns.n_rows, width))
        if here.nnz >= _FULL_SHARE * patterns.n_rows * width and patterns.n_rows * width <= _MOST_FULL:
            full = here.toarray()
            return sparse.csr_array(full.T @ (full * items[:, None]))
        return here.T @ (here * items[:, None])

    shared = sparse.triu(both(np.ones(len(rows), dtype=bool), labeler, n_labelers), 1, format="csr")
    shared.sort_indices()
    pairs = shared.tocoo()
    first, second, count = (of[pairs.data >= LEAST_SHARED] for of in (pairs.row, pairs.col, pairs.data))
    kept = np.argsort(-count, kind="stable")[:most]
    first, second, count = first[kept], second[kept], count[kept]
    # of many labelers few are in these pairs, and only their answers need comparing
    some, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    at, column = np.split(place, 2), np.searchsorted(some, labeler).clip(max=max(len(some) - 1, 0))
    among = np.isin(labeler, some)
    equal = np.zeros(len(kept))
    for one in range(patterns.n_answers) if len(kept) else ():
        equal += both(among & (answer == one), column, len(some)).toarray()[at[0], at[1]]
    weights = reliability.fit.latent.class_weights()
    expected = np.einsum("k,plk,plk->p", weights, reliability.answers[first], reliability.answers[second])
    shares = zip(first, second, count, equal / count, expected, strict=True)
    return Agreement(tuple(_pair(reliability, *of) for of in shares))


def _pair(
    reliability: Reliability, first: int, second: int, count: float, observed: float, expected: float
) -> PairAgreement:
    names = reliability.labelers
    return PairAgreement(names[first], names[second], round(float(count)), float(observed), float(expected))
