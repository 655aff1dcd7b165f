"""Labels that do not collapse into few patterns: they leave the engine as numbers, the items of one part at a time.

An engine sorts what it gives, so that what it holds, and what it gives at once, is bounded by the size of a part and
not by that of the round. Which part an item is in depends on its id alone, so its labels stay together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hero_eval.counting.engine import Names
from hero_eval.counting.item_arrays import ItemArrays, with_covariates
from hero_eval.counting.tally import without_items
from hero_eval.model.patterns import Floats, Ints, count_rows, smallest_whole

PART_LABELS = 10_000_000
"""Labels that leave the engine at a time, about: half a gigabyte of the engine's memory. Doubled, as much more, and
half as many passes over the file."""
_BLOCK = 1 << 20
"""Labels looked at at a time. It bounds memory only."""


def n_parts(n_labels: int) -> int:
    """Into how many parts so many labels are cut."""
    return max(math.ceil(n_labels / PART_LABELS), 1)


class LongLabels:
    """Items with their labels, as parts of a round give them; at most `room` labels."""

    def __init__(self, room: int, n_labelers: int, n_answers: int, covariates: Names) -> None:
        self._n_labelers, self._n_answers = n_labelers, n_answers
        self._covariates = covariates
        self._cell = np.empty(room, smallest_whole(max(room, n_labelers * n_answers)))  # memory is taken as it fills
        self._n = 0
        self._lengths: list[Ints] = []
        self._gold: list[Ints] = []
        self._columns: list[list[Floats]] = [[] for _ in covariates]
        self._weight: list[Floats] = []
        self.once = True

    def add(self, about: Any, cells: Any) -> None:
        """A part, both tables sorted by item: a row an item (k0 labels, gold, x0 ..., maybe w), and a number a label,
        sorted within the item. `once` tells whether no labeler labeled an item twice so far."""
        cell = np.asarray(cells.to_numpy())
        lengths = np.asarray(about["k0"].to_numpy()).astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        fits = ends[-1] == len(cell) and self._n + len(cell) <= len(self._cell)
        if not self.once or not fits or _labeled_twice(cell, ends, self._n_answers):
            self.once = False
            return
        self._cell[self._n : self._n + len(cell)] = cell
        self._n += len(cell)
        self._lengths.append(lengths)
        self._gold.append(np.asarray(about["gold"].to_numpy()).astype(np.int32))
        for j, columns in enumerate(self._columns):
            columns.append(np.asarray(about[f"x{j}"].to_numpy(), np.float64))
        if "w" in about.column_names:
            self._weight.append(np.asarray(about["w"].to_numpy(), np.float64))

    def arrays(self, labelers: Names, values: Names, answers: Names | None) -> ItemArrays:
        """All parts as one; `answers` are the bins of scores. Nothing can be added from then on."""
        lengths, self._lengths = np.concatenate(self._lengths), []
        ends = np.zeros(len(lengths) + 1, self._cell.dtype)
        np.cumsum(lengths, out=ends[1:])
        del lengths
        gold, self._gold = np.concatenate(self._gold), []
        cell, self._cell = self._cell[: self._n], self._cell[:0]
        patterns = count_rows(
            cell,
            ends,
            n_labelers=self._n_labelers,
            n_answers=self._n_answers,
            gold=gold,
            weight=np.concatenate(self._weight) if self._weight else None,
        )
        columns = [np.concatenate(parts) for parts in self._columns]
        table = np.stack(columns, axis=1) if columns else np.zeros((len(gold), 0))
        return with_covariates(patterns, without_items(patterns, labelers, values, answers), self._covariates, table)


def _labeled_twice(cell: Ints, ends: Ints, n_answers: int) -> bool:
    """Whether an item has two labels by one labeler, which then follow each other."""
    begins = np.zeros(len(cell) + 1, dtype=bool)
    begins[ends] = True
    for start in range(1, len(cell), _BLOCK):  # a block at a time: quotients of all labels would fill memory
        stop = min(start + _BLOCK, len(cell))
        who = cell[start - 1 : stop] // n_answers
        if ((who[1:] == who[:-1]) & ~begins[start:stop]).any():
            return True
    return False


def joined_facts(parts: list[dict[str, float]]) -> dict[str, float]:
    """What is known of the items of all parts, from what is known of each: numbers of items, and of every column how
    many have it, its mean, least and most; `clash` is a number of flags."""
    out: dict[str, float] = {}
    for name in parts[0]:
        values = np.array([part[name] for part in parts])
        if name == "clash":
            out[name] = float(np.bitwise_or.reduce(values.astype(np.int64)))
        elif name.endswith(("_min", "_max")):
            known = values[~np.isnan(values)]
            how = np.min if name.endswith("_min") else np.max
            out[name] = float(how(known)) if len(known) else math.nan
        elif name.endswith("_mean"):
            out[name] = _mean(values, parts, name.replace("_mean", "_n"))
        else:
            out[name] = float(values.sum())
    return out


def _mean(values: Floats, parts: list[dict[str, float]], times: str) -> float:
    weights = np.array([part[times] for part in parts])
    whole = float(weights.sum())
    return float(np.nansum(values * weights)) / whole if whole else math.nan
