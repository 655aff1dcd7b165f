"""What queues of items and queues of battles have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import hero_eval as hero
from hero_eval.errors import HeroError, wrong
from hero_eval.store.estimates import save

TEN = 10
NUMBERS = {10: "ten"}
LITTLE = 0.97
"""What is expected to leave more than this of the width changes little."""

MOST_CONTENTS = 30_000_000
"""Characters of all that a queue shows."""


def answered_twice(order: Sequence[str], share: float, rng: np.random.Generator) -> tuple[str, ...]:
    """The share of the items that is answered twice, at random, in their order."""
    n_twice = int(np.ceil(share * len(order))) if share else 0
    return tuple(order[place] for place in sorted(rng.permutation(len(order))[:n_twice]))


def check_size(shown: Mapping[str, Mapping[str, str]]) -> None:
    """E527 if it is too much to keep."""
    size = sum(len(text) for of in shown.values() for text in of.values())
    if size > MOST_CONTENTS:
        raise wrong("E527", f"the items hold {size:,} characters; a queue keeps {MOST_CONTENTS:,} at most")


def save_estimate(store: hero.Store, recorded: Any) -> None:
    """Record it, if the store may be written."""
    try:
        save(store, recorded)
    except HeroError:  # a store that may not be written is still worth reading
        return
