"""Small rounds for a store, and what comes out of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from make_rounds import binary_answers, labels_given, some_gold, tables_of

import hero_eval as hero
from hero_eval.round import Round
from hero_eval.store.store import Store


def small(seed: int, n_items: int = 60, gold: float = 0.5, **spelling: Any) -> dict[str, pa.Table]:
    """The tables of a small round by four labelers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_items)
    labels = labels_given(rng, truth, binary_answers([0.8, 0.9, 0.7, 0.85], [0.9, 0.8, 0.75, 0.85]), 0.8)
    known = some_gold(rng, truth, gold) if gold else None
    return tables_of(labels, known, {"x": rng.normal(size=n_items)}, prefix=f"s{seed}-", **spelling)


def add(store: Store, name: str, seed: int, **options: Any) -> Any:
    given = small(seed, gold=options.pop("share", 0.5))
    return store.add(Round(**given), round=name, **options)


def add_when_told(path: str, name: str, seed: int, go: Any, told: Any) -> None:
    """By a process of its own: say that all is ready, wait for the word, add a round, and say how that went."""
    store, given = hero.open_store(path), Round(**small(seed))
    told.put("ready")
    go.wait()
    try:
        store.add(given, round=name, question="q")
        told.put("added")
    except hero.HeroError as error:
        told.put(str(error))


def refused(call: Any) -> hero.HeroError:
    with pytest.raises(hero.HeroError) as caught:
        call()
    return caught.value


def same(a: Round, b: Round) -> None:
    """Two rounds that hold the same."""
    assert list(a.item_ids) == list(b.item_ids)
    assert (a.labelers, a.values) == (b.labelers, b.values)
    for name in ("label_item", "label_labeler", "label_answer", "gold"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert (a.weight is None) == (b.weight is None)
    if a.weight is not None and b.weight is not None:
        assert np.array_equal(a.weight, b.weight)
    assert set(a.column_names) == set(b.column_names)
    for name in a.column_names:
        assert a.texts(name) == b.texts(name), name
        assert (name in a.numeric_columns()) == (name in b.numeric_columns()), name


def parts(seed: int) -> tuple[dict[str, pa.Table], dict[str, pa.Table], dict[str, pa.Table]]:
    """A round whole, and as an early and a late part: labels of one labeler and half of the gold come late."""
    whole = small(seed)
    late = pa.array([who == "j3" for who in whole["labels"]["labeler"].to_pylist()])
    early = pa.array([not one for one in late.to_pylist()])
    n_gold = whole["gold"].num_rows // 2
    first = {"labels": whole["labels"].filter(early), "gold": whole["gold"].slice(0, n_gold), "items": whole["items"]}
    second = {"labels": whole["labels"].filter(late), "gold": whole["gold"].slice(n_gold)}
    return whole, first, second
