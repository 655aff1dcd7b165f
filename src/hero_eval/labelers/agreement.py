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


@dataclass(frozen=True)
class PairAgreement:
    """Two labelers on the items that both labelled: the share of equal answers, and what the fit predicts for it."""

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

    Counted on answer patterns: one sparse product for each answer, never a look at single labels.
    """
    from scipy import sparse

    patterns = reliability.counted.patterns
    rows, labeler, answer = patterns.entries
    items = patterns.items_of_row
    shape = (patterns.n_rows, len(reliability.labelers))

    def both(chosen: Any) -> Any:
        here = sparse.csr_matrix((np.ones(int(chosen.sum())), (rows[chosen], labeler[chosen])), shape)
        return np.asarray((here.T @ sparse.diags(items) @ here).todense())

    shared = both(np.ones(len(rows), dtype=bool))
    equal = np.asarray(sum(both(answer == one) for one in range(len(reliability.classes))))
    weights = reliability.fit.latent.class_weights()
    expected = np.einsum("k,jlk,mlk->jm", weights, reliability.answers, reliability.answers)
    first, second = np.triu_indices(len(reliability.labelers), 1)
    enough = np.nonzero(shared[first, second] >= LEAST_SHARED)[0]
    kept = enough[np.argsort(-shared[first, second][enough], kind="stable")[:most]]
    return Agreement(tuple(_pair(reliability, shared, equal, expected, first[at], second[at]) for at in kept))


def _pair(reliability: Reliability, shared: Any, equal: Any, expected: Any, j: int, m: int) -> PairAgreement:
    return PairAgreement(
        reliability.labelers[j],
        reliability.labelers[m],
        round(float(shared[j, m])),
        float(equal[j, m] / shared[j, m]),
        float(expected[j, m]),
    )
