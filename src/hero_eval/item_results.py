"""What an estimate says of single items: class probabilities, gold, labels, and how far each moves the estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hero_eval.errors import wrong
from hero_eval.model.item_posteriors import ItemPosteriors
from hero_eval.model.patterns import Bools, Floats
from hero_eval.round import Round


@dataclass(frozen=True, eq=False)
class RoundItems:
    """The items of one current round behind an estimate.

    `kept` (n_items,) tells which the estimate rests on, None where items were not told apart; influence (n, K-1): on
    the class rates [1:]; `factor` and `shift` (n,) make of it the influence on the estimate; `known`: whether the
    labels tell the rate at all.
    """

    round: Round
    kept: Bools | None
    posteriors: ItemPosteriors | None
    influence: Floats
    known: bool = True
    factor: float = 1.0
    shift: Floats | None = None
    marks: Mapping[str, Any] = field(default_factory=dict)

    def times(self, factor: float) -> RoundItems:
        return replace(self, factor=self.factor * factor)


@dataclass(frozen=True, eq=False)
class ItemResults:
    """Items of all current rounds of an estimate of  contrast . rates,  contrast (K,)."""

    method: str
    classes: tuple[str, ...]
    contrast: Floats
    rounds: tuple[RoundItems, ...]

    def mirrored(self) -> ItemResults:
        """The items behind 1 minus the estimate."""
        return replace(self, contrast=1.0 - self.contrast)

    def columns(self) -> dict[str, Sequence[Any]]:
        """One row for each item; InputError E128 if there are none to be had."""
        parts = [self._columns_of(one) for one in self.rounds]
        return {name: [value for part in parts for value in part[name]] for name in parts[0]}

    def _columns_of(self, one: RoundItems) -> dict[str, Sequence[Any]]:
        chance = self.probabilities(one)
        here = one.round
        gold = here.gold[one.kept]
        said = np.array([*here.values, None], dtype=object)[gold]
        labels = np.bincount(here.label_item, minlength=here.n_items)[one.kept]
        best = [None if math.isnan(row[0]) else self.classes[int(np.argmax(row))] for row in chance]
        along = self.contrast[1:] - self.contrast[0]
        moved = one.factor * (one.influence @ along) + (0.0 if one.shift is None else one.shift)
        moved = moved if one.known else np.full(len(gold), np.nan)
        return {
            "item": here.item_ids[one.kept].tolist(),
            **{name: [value] * len(gold) for name, value in one.marks.items()},
            "class": [best[i] if said[i] is None else said[i] for i in range(len(gold))],
            **{f"probability_{name}": chance[:, k].tolist() for k, name in enumerate(self.classes)},
            "expected": (chance @ self.contrast).tolist(),
            "labels": labels.tolist(),
            "has_gold": (gold >= 0).tolist(),
            "gold": self._golds(one, said),
            "influence": moved.tolist(),
        }

    def _golds(self, one: RoundItems, said: Any) -> list[Any]:
        """The golds as classes; as numbers where these were cut into classes."""
        numbers = one.round._contents.gold_number
        if numbers is None:
            return list(said)
        known = zip(said, numbers[one.kept], strict=True)
        return [None if name is None else float(number) for name, number in known]

    def probabilities(self, one: RoundItems) -> Floats:
        """(n, K): of each class, nan where the labels tell nothing; InputError E128 if there are none to be had."""
        if one.kept is None or not one.round.holds_items:
            raise wrong(
                "E128",
                f"round {one.round.name!r} was counted without its items, so that there is nothing to say of single "
                "ones. Read it with engine='memory' (command: --engine memory) if it fits.",
            )
        if one.posteriors is None:
            raise wrong(
                "E128",
                f"{self.method} gives no probabilities of single items. Use hero3 or hero1 (command: --method hero3).",
            )
        chance = one.posteriors.by_item
        return chance if one.known else np.full_like(chance, np.nan)
