"""Bins of scores: where they begin, labeler by labeler.

What a score says is where it stands among the other scores of its labeler, so scores are cut into a few ordered bins,
labeler by labeler. Bins depend on the order of the scores alone: a labeler who would write every score on another
scale, in the same order, gets the same bins. Equal scores are never parted. What decides is how often each score was
given, of which at most a hundred parts are looked at; so memory and engines, which bring these parts, cut alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_eval.findings import Finding
from hero_eval.io.distinct import Codes
from hero_eval.io.values import count_of

MOST_BINS = 7
"""Bins of a labeler's scores. A choice, with which hero3 was measured on real rounds (`benchmarks/scores.py`)."""
ATOMS = 100
"""Parts of a labeler's scores between which bins may begin: finer ones would not be seen."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """One labeler's scores in parts that no bin divides: the least score of each (m,), rising, and how many (m,)."""

    lows: NDArray[np.float64]
    counts: NDArray[np.float64]


def atoms_of(score: NDArray[np.float64]) -> Atoms:
    """Distinct scores, if there are few; else those of equal hundredths of the labeler's scores together.

    `counting/score_pool.py` says the same in SQL.
    """
    values, counts = np.unique(score, return_counts=True)
    if len(values) <= ATOMS:
        return Atoms(values, counts.astype(np.float64))
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    first, atom = np.unique(np.floor(middle * ATOMS), return_index=True, return_inverse=True)[1:]
    return Atoms(values[first], np.bincount(atom, weights=counts).astype(np.float64))


@dataclass(frozen=True, eq=False)
class ScoreCuts:
    """Where every labeler's bins begin: the least score of each, and its place among `n_bins`, (size,) both."""

    labelers: tuple[str, ...]
    lows: tuple[NDArray[np.float64], ...]
    places: tuple[Codes, ...]
    n_bins: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"bin {place + 1} of {self.n_bins}" for place in range(self.n_bins))

    def bins(self, score: NDArray[np.float64], labeler: Codes, labelers: Sequence[str]) -> Codes:
        """(n,) the bin of each score, by positions in `labelers`, all of whom are known here."""
        place = {name: position for position, name in enumerate(self.labelers)}
        order = np.argsort(labeler, kind="stable")
        ends = np.searchsorted(labeler[order], np.arange(len(labelers) + 1))
        out = np.zeros(len(score), np.int64)
        for j, name in enumerate(labelers):
            at = order[ends[j] : ends[j + 1]]
            if len(at):
                lows = self.lows[place[name]]
                out[at] = self.places[place[name]][np.searchsorted(lows, score[at], side="right") - 1]
        return out


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """How the scores of some rounds lie: every labeler's atoms, and the distinct numbers, lowest and highest of all."""

    labelers: tuple[str, ...]
    atoms: tuple[Atoms, ...]
    distinct: int
    low: float
    high: float

    def cut(self, most: int = MOST_BINS) -> ScoreCuts:
        """At most so many bins for each labeler, as evenly filled as equal scores allow.

        A labeler with fewer bins than others has them spread over the whole range: a yes/no answer is the first or the
        last. One who always gives the same score has one, in the middle.
        """
        lows = tuple(_least(of, most) for of in self.atoms)
        n_bins = max(2, *(len(of) for of in lows)) if lows else 2
        return ScoreCuts(self.labelers, lows, tuple(_spread(len(of), n_bins) for of in lows), n_bins)

    def note(self, n_bins: int) -> Finding:
        """F118: that labels count as scores, and what becomes of them."""
        message = (
            f"labels are scores ({count_of(self.distinct, 'distinct number')} from {self.low:.4g} to {self.high:.4g}): "
            f"each labeler's are cut into at most {n_bins} ordered bins, by that labeler's own scores"
        )
        return Finding("F118", message, {"distinct": self.distinct, "low": self.low, "high": self.high})


def distribution_of(score: NDArray[np.float64], labeler: Codes, labelers: Sequence[str]) -> ScoreDistribution:
    """The distribution of scores at hand, by positions in `labelers`."""
    order = np.argsort(labeler, kind="stable")
    ends = np.searchsorted(labeler[order], np.arange(len(labelers) + 1))
    atoms = tuple(atoms_of(score[order[ends[j] : ends[j + 1]]]) for j in range(len(labelers)))
    low, high = (float(score.min()), float(score.max())) if len(score) else (np.nan, np.nan)
    return ScoreDistribution(tuple(labelers), atoms, len(np.unique(score)), low, high)


def cut_scores(score: NDArray[np.float64], labeler: Codes, n_labelers: int, most: int = MOST_BINS) -> tuple[Codes, int]:
    """(n,) the bin of each score at hand, and how many bins there are at most."""
    names = [str(j) for j in range(n_labelers)]
    cuts = distribution_of(score, labeler, names).cut(most)
    return cuts.bins(score, labeler, names), cuts.n_bins


def _spread(size: int, n_bins: int) -> Codes:
    """(size,) the places of a labeler's bins among all."""
    even = np.linspace(0, n_bins - 1, size) if size > 1 else np.full(size, (n_bins - 1) // 2)
    return np.round(even).astype(np.int64)


def _least(atoms: Atoms, most: int) -> NDArray[np.float64]:
    """(size,) the least score of every bin."""
    if len(atoms.lows) <= most:
        return atoms.lows
    part = _even_parts(atoms.counts / atoms.counts.sum(), most)
    return atoms.lows[np.flatnonzero(np.diff(part, prepend=-1))]


def _even_parts(mass: NDArray[np.float64], parts: int) -> Codes:
    """(m,) the part of each of m shares in a row, cut so that the parts' entropy is the largest."""
    sums = np.concatenate([[0.0], np.cumsum(mass)])
    size = len(mass)
    share = np.maximum(sums[None, :] - sums[:, None], 0.0)  # from i up to j
    gain = np.where(np.arange(size + 1)[None] > np.arange(size + 1)[:, None], _entropy(share), -np.inf)
    best, cuts = gain[0], []
    for _ in range(min(parts, size) - 1):
        whole = best[:, None] + gain
        cuts.append(np.argmax(whole, axis=0))
        best = np.max(whole, axis=0)
    starts, end = [0], size
    for back in reversed(cuts):
        end = int(back[end])
        starts.append(end)
    out: Codes = np.searchsorted(np.sort(starts), np.arange(size), side="right") - 1
    return out


def _entropy(share: NDArray[np.float64]) -> NDArray[np.float64]:
    out: NDArray[np.float64] = -share * np.log(np.where(share > 0, share, 1.0))
    return out
