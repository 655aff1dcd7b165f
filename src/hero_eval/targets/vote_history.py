"""Votes and what past votes teach, put together: one list of labelers, one list of kinds of votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hero_eval.errors import wrong
from hero_eval.io.bridge import to_text_array
from hero_eval.io.vote_table import outcome_of
from hero_eval.model.patterns import Ints
from hero_eval.model.vote_sites import VoteCells
from hero_eval.round import Round
from hero_eval.votes import Votes

_WORDS = ("A", "B", "tie")


def combined(current: Votes, past: Sequence[Votes | Round]) -> tuple[VoteCells, tuple[str, ...]]:
    """The cells of the votes and of past votes with gold, whose pairs do not count; and all labelers."""
    taught = [_taught(one) for one in past]
    labelers = list(dict.fromkeys([*current.labelers, *(name for one in taught for name in one[1])]))
    place = {name: at for at, name in enumerate(labelers)}
    parts = [(current.cells, current.labelers), *taught]
    whole = any(cells.cell is not None for cells, _ in parts)
    cell, cluster, offset, so_far = [], [], 0, 0
    for cells, _ in parts:
        if whole:
            own, groups = _votes_of(cells)
            cell.append(own + offset)
            cluster.append(groups + so_far)
            so_far += int(groups.max(initial=-1)) + 1
        offset += len(cells.counts)
    n_d = current.cells.covariates.shape[1]

    def joined(name: str) -> Any:
        return np.concatenate([getattr(cells, name) for cells, _ in parts])

    people = [np.array([place[name] for name in names], np.int64)[cells.labeler] for cells, names in parts]
    pad = np.zeros((sum(len(cells.counts) for cells, _ in taught), n_d))
    return (
        VoteCells(
            joined("first"),
            joined("second"),
            np.concatenate(people),
            joined("label"),
            joined("gold"),
            joined("counts"),
            np.concatenate([current.cells.covariates, pad]),
            len(current.models),
            len(labelers),
            np.concatenate(cell) if whole else None,
            np.concatenate(cluster) if whole else None,
        ),
        tuple(labelers),
    )


def _votes_of(cells: VoteCells) -> tuple[Ints, Ints]:
    """The cell and the cluster of each vote."""
    if cells.cell is not None and cells.cluster is not None:
        return cells.cell, cells.cluster
    own = np.repeat(np.arange(len(cells.counts)), cells.counts.astype(np.int64))
    return own, np.arange(len(own))


def _taught(one: Votes | Round) -> tuple[VoteCells, tuple[str, ...]]:
    """Past votes with gold: who said what, given which gold."""
    if isinstance(one, Round):
        return _taught_by_round(one)
    cells = one.cells
    keep = (cells.gold >= 0) & (cells.label >= 0)
    number = np.cumsum(keep) - 1
    own, groups = _votes_of(cells)
    used = keep[own]
    _, cluster = np.unique(groups[used], return_inverse=True)
    none = np.full(int(keep.sum()), -1, np.int64)
    return (
        VoteCells(
            none,
            none,
            cells.labeler[keep],
            cells.label[keep],
            cells.gold[keep],
            cells.counts[keep],
            np.zeros((len(none), 0)),
            cells.n_models,
            cells.n_labelers,
            number[own[used]],
            cluster.reshape(-1),
        ),
        one.labelers,
    )


def _taught_by_round(one: Round) -> tuple[VoteCells, tuple[str, ...]]:
    codes = [outcome_of(value) for value in one.values]
    strange = [value for value, code in zip(one.values, codes, strict=True) if code is None]
    if strange:
        raise wrong(
            "E233", f"round {one.name!r} has the answers {', '.join(map(repr, strange))}: rounds of votes say A, B, tie"
        )
    place = np.array([*(code for code in codes if code is not None), -1], np.int64)
    gold = place[one.gold][one.label_item]
    keep = gold >= 0
    n = int(keep.sum())
    none = np.full(n, -1, np.int64)
    _, cluster = np.unique(one.label_item[keep], return_inverse=True)
    cells = VoteCells(
        none,
        none,
        one.label_labeler[keep],
        place[one.label_answer[keep]],
        gold[keep],
        np.ones(n),
        np.zeros((n, 0)),
        0,
        len(one.labelers),
        np.arange(n),
        cluster.reshape(-1),
    )
    return cells, tuple(one.labelers)


def two_model_rounds(current: Votes, past: Sequence[Votes | Round]) -> tuple[Round, list[Round]] | None:
    """Two models in one order as a round of answers A, B and tie, and its history; None where the order varies."""
    if len(np.unique(current.cells.first)) > 1:
        return None
    with_ties = any(2 in (*one.cells.label, *one.cells.gold) for one in (current, *past) if isinstance(one, Votes))
    rounds = [_as_round(one, with_ties) for one in (current, *past)]
    if any(one is None for one in rounds):
        return None
    here, *before = [one for one in rounds if one is not None]
    return here, before


def _as_round(one: Votes | Round, with_ties: bool) -> Round | None:
    import pyarrow as pa

    if isinstance(one, Round):
        return one
    own, cluster = _votes_of(one.cells)
    label, gold, who = (values[own] for values in (one.cells.label, one.cells.gold, one.cells.labeler))
    item = to_text_array([str(number) for number in cluster])
    voted = label >= 0
    words = np.array([*_WORDS, None], dtype=object)
    labels = pa.table(
        {
            "item": item.filter(pa.array(voted)),
            "labeler": to_text_array([one.labelers[at] for at in who[voted]]),
            "label": to_text_array(list(words[label[voted]])),
        }
    )
    known = np.flatnonzero(gold >= 0)
    _, first = np.unique(cluster[known], return_index=True)
    chosen = known[first]
    expert = pa.table({"item": item.take(pa.array(chosen)), "gold": to_text_array(list(words[gold[chosen]]))})
    try:
        return Round(
            labels, expert if len(chosen) else None, classes=list(_WORDS[: 3 if with_ties else 2]), name=one.name
        )
    except ValueError:  # two votes of one labeler on one item, which a round has no place for
        return None
