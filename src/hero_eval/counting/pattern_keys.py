"""Answer patterns as sums of numbers, so that any engine that can add can tell them apart.

The labelers are digits and the answers their values: an item's sum spells its whole pattern. Nothing is hashed, so two
patterns cannot meet in one key. On top of the digits sits a check: for each label a constant and its digit. If a
labeler labeled an item twice, digits flow over or coincide, and the check is larger than the digits that can be read
(both lose by it, and nothing can make up for it), so that repeats never pass as a pattern.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hero_eval.model.patterns import Floats, Ints

WHOLE = 2.0**52
"""Whole numbers up to here are exact in a float64, and so are their sums in any order."""
MOST_WORDS = 8


@dataclass(frozen=True)
class Words:
    """For each word the labelers [start, stop) whose digits it holds; above them, in the last word, the check."""

    base: int
    spans: tuple[tuple[int, int], ...]
    check_unit: float
    check_label: int

    @property
    def names(self) -> list[str]:
        return [f"k{position}" for position in range(len(self.spans))]

    def columns(self, labeler: Ints, answer: Ints) -> dict[str, Floats]:
        """What one label adds to each word."""
        out = {}
        for name, (start, stop) in zip(self.names, self.spans, strict=True):
            inside = (labeler >= start) & (labeler < stop)
            place = float(self.base) ** np.where(inside, labeler - start, 0)
            out[name] = np.where(inside, (answer + 1.0) * place, 0.0)
        out[self.names[-1]] += self.check_unit * (self.check_label + answer + 1.0)
        return out

    def read(self, keys: Sequence[Floats]) -> tuple[Ints, Ints, bool]:
        """Keys, one (P,) array per word, as cells and row ends; and whether nobody labeled an item twice."""
        rows, cells = [], []
        check, last = np.divmod(keys[-1], self.check_unit)
        expected = np.zeros(len(check))
        sound = True
        for word, (start, stop) in zip([*keys[:-1], last], self.spans, strict=True):
            left = word
            for labeler in range(start, stop):
                left, digit = np.divmod(left, self.base)
                there = np.flatnonzero(digit)
                rows.append(there)
                cells.append(labeler * (self.base - 1) + digit[there].astype(np.int64) - 1)
                expected[there] += self.check_label + digit[there]
            sound = sound and not left.any()
        row, cell = np.concatenate(rows), np.concatenate(cells)
        ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(check)))])
        return cell[np.argsort(row, kind="stable")], ends, sound and bool((check == expected).all())


def plan_words(n_labelers: int, n_answers: int) -> Words | None:
    """None if the labelers are too many for so few words."""
    base = n_answers + 1
    each = max(int(math.log(WHOLE) / math.log(base) - 1e-9), 1)
    spans = [(start, min(start + each, n_labelers)) for start in range(0, n_labelers, each)]
    unit = float(base) ** (spans[-1][1] - spans[-1][0])
    label = n_labelers * n_answers + 1
    if unit * label * (n_labelers + 1) > WHOLE:
        spans.append((n_labelers, n_labelers))
        unit = 1.0
    return Words(base, tuple(spans), unit, label) if len(spans) <= MOST_WORDS else None
