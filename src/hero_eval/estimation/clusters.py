"""Items that are not independent: outputs for one prompt, epochs, turns of one conversation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hero_eval.counting.count import is_large
from hero_eval.errors import wrong
from hero_eval.findings import Finding, name_some
from hero_eval.round import Round

OWN_ID = "item"
_LIKELY = (
    "prompt",
    "prompt_id",
    "question",
    "question_id",
    "conversation",
    "conversation_id",
    "doc_id",
    "session",
    "cluster",
)


def clusters_of(one: Round, column: str) -> NDArray[np.object_]:
    """(n_items,) the cluster of each item; an item without one is a cluster by itself."""
    if column == OWN_ID:
        return one.item_ids
    if not one.has_column(column):
        has = ", ".join(one.column_names) or "none"
        raise wrong(
            "E202", f"the cluster column {column!r} is absent from the current round {one.name!r}. Columns: {has}"
        )
    texts = one.texts(column)
    return np.array([text or f"\0{item}" for text, item in zip(texts, one.item_ids, strict=True)], dtype=object)


def clusters_of_history(
    past: Sequence[Round], column: str | None
) -> tuple[NDArray[np.object_] | None, tuple[Finding, ...]]:
    """The clusters of all history items, under the same names as current's; without the column each item is its own."""
    if column is None or not past:
        return None, ()
    lacking = [one.name for one in past if column != OWN_ID and not one.has_column(column)]
    parts = []
    for position, one in enumerate(past):
        known = column == OWN_ID or one.has_column(column)
        own = np.array([f"\0{position} {item}" for item in one.item_ids], dtype=object)
        parts.append(clusters_of(one, column) if known else own)
    message = f"intervals take items with the same {column!r} as one"
    if lacking:
        message += f"; history {name_some(lacking)} has no such column, so its items count as independent"
    return np.concatenate(parts), (Finding("F109", message, {"cluster": column, "without": lacking}),)


def repeat_findings(currents: Sequence[Round], past: Sequence[Round], column: str | None) -> tuple[Finding, ...]:
    """Repeats that nobody declared: a prompt column with fewer values than items, or ids that history has too."""
    if column is not None:
        return ()
    currents, past = ([one for one in side if not is_large([one])] for side in (currents, past))
    found = []
    for one in currents:
        for name in (name for name in one.column_names if name.lower() in _LIKELY):
            distinct = len({text for text in one.texts(name) if text})
            if 0 < distinct <= 0.9 * one.n_items:
                message = (
                    f"{one.n_items} items of {one.name!r} have only {distinct} different values of {name!r}: if these "
                    "are repeats, the interval is too short"
                )
                action = (
                    f"If they are repeats, say `cluster={name!r}` (command: `--cluster {name}`); if each item stands "
                    f"for itself, `cluster={OWN_ID!r}`."
                )
                data = {"column": name, "items": one.n_items, "distinct": distinct}
                found.append(Finding("F108", message, data, action))
                break
    here = set(chain.from_iterable(one.item_ids for one in currents))
    shared = len(here.intersection(chain.from_iterable(one.item_ids for one in past)))
    if shared >= max(0.5 * len(here), 10):
        message = (
            f"{shared} of {len(here)} current items have an id that history has too, and are taken as independent of "
            "history's"
        )
        found.append(Finding("F110", message, {"items": len(here), "shared": shared}))
    return tuple(found)
