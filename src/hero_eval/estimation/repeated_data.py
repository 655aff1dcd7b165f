"""The same data twice: a round that is in its own history, or whose labels are there in another state of it; and two
past rounds that are two states of one.

What counts twice makes intervals too short, and a round that has gold vouches for itself.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hero_eval.counting.count import is_large
from hero_eval.errors import wrong
from hero_eval.findings import Finding
from hero_eval.labelers.fitting import history_rounds
from hero_eval.labelers.reliability import Reliability
from hero_eval.model.patterns import Bools, Floats, Ints
from hero_eval.round import Round

FEW = 20
"""Labels that two rounds share must be at least so many to tell anything."""
ALIKE = 0.9
"""Cohen's kappa between two rounds' labels of the same items by the same labelers, from which on they are the same
labels: outputs of two models for one prompt do not get there, and a few corrected labels do not leave it."""

_SAMPLED = 128
_SAMPLED_BOTH = 5
_SAMPLED_ALIKE = 0.5
_LOOKED_AT = 2_000
"""Labels of a large round whose items are looked for in another: half of them are 1,000 give or take 22."""
_FAR_FROM_HALF = 0.35
"""Their share below which it is not half of all labels: 13 standard errors away."""


def refuse_own_history(current: Round, history: Round | Sequence[Round] | Reliability | None) -> None:
    """E208 for a current round that is one of the past rounds, under whatever name."""
    refuse_same(current, () if history is None else history_rounds(history))


def refuse_same(current: Round, past: Sequence[Round]) -> None:
    """The same for rounds that are known to differ from each other."""
    for one in past:
        if current.holds_same_as(one):
            raise wrong(
                "E208",
                f"the current round {current.name!r} is in its own history, as {one.name!r}: the same items, labels "
                f"and gold would count twice. Leave {one.name!r} out of history; to use the gold of the current round "
                "itself, take a method that does (`hero methods`), or none to have one chosen.",
            )


def overlap_findings(currents: Sequence[Round], past: Sequence[Round]) -> tuple[Finding, ...]:
    """Past rounds that seem to be another state of a current one, or of each other: the same labels of the same
    items."""
    found = [
        _overlap(current, one, repr(current.name), "")
        for current in currents
        for one in past
        if not is_large([current, one])  # single labels are not at hand there
    ]
    action = "Leave one of the two out if they are two states of one round."
    single = [one for one in past if not is_large([one])]
    for i, j in _alike(single) if len(single) > 1 else ():
        small, large = sorted((single[i], single[j]), key=lambda of: of.n_labels)
        found.append(_overlap(small, large, f"past round {small.name!r}", action))
    return tuple(one for one in found if one is not None)


def _overlap(one: Round, other: Round, name: str, action: str) -> Finding | None:
    """F114 for a round most of whose labels are in the other."""
    if _mostly_other_items(one, other):
        return None
    here, there = _shared_labels(one, other)
    if len(here) < max(0.5 * one.n_labels, FEW) or _kappa(here, there) < ALIKE:
        return None
    same = int((here == there).sum())
    message = (
        f"{same} of {one.n_labels} labels of {name} are in past round {other.name!r} too, for the same items by the "
        "same labelers: if it is another state of the same round, its labels and gold count twice"
    )
    return Finding("F114", message, {"round": other.name, "labels": one.n_labels, "shared": same}, action)


def _mostly_other_items(one: Round, other: Round) -> bool:
    """Whether some labels of a large round leave no doubt that the other lacks the items of more than half of them."""
    if one.n_labels <= _LOOKED_AT:
        return False
    labels = np.linspace(0, one.n_labels - 1, _LOOKED_AT).astype(np.int64)
    known = set(other.item_ids)
    return sum(item in known for item in one.item_ids[one.label_item[labels]]) < _FAR_FROM_HALF * _LOOKED_AT


def _alike(rounds: Sequence[Round]) -> list[tuple[int, int]]:
    """Pairs of rounds of which samples leave it possible that one is most of the other: comparing all labels of all
    pairs would take longer than to estimate."""
    samples = [_sample(one) for one in rounds]
    row = np.repeat(np.arange(len(rounds)), [len(keys) for keys, _ in samples])
    _, key = np.unique(np.concatenate([keys for keys, _ in samples]), return_inverse=True)
    names, said = np.unique(np.concatenate([answers for _, answers in samples]), return_inverse=True)

    def shared(column: Ints) -> Floats:
        held = sparse.csr_array((np.ones(len(row)), (row, column)), (len(rounds), int(column.max()) + 1))
        out: Floats = (held @ held.T).toarray()
        return out

    both = shared(key)
    counts = np.zeros((len(rounds), len(names)))
    np.add.at(counts, (row, said), 1.0)
    shares = counts / counts.sum(axis=1, keepdims=True)
    expected = np.minimum(shares @ shares.T, 1.0 - 1e-9)
    kappa = (shared(key * len(names) + said) / np.maximum(both, 1.0) - expected) / (1.0 - expected)
    first, second = np.nonzero(np.triu((both >= _SAMPLED_BOTH) & (kappa > _SAMPLED_ALIKE), 1))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def _sample(one: Round) -> tuple[NDArray[np.uint64], NDArray[np.str_]]:
    """Some labels, the same of every round that has them: item and labeler as one number, and what was said.

    Those whose numbers are smallest; of two rounds that share labels, the samples share some.
    """
    item, labeler = (
        np.fromiter(map(zlib.crc32, map(str.encode, map(str, names))), np.uint64, len(names))
        for names in (one.item_ids, one.labelers)
    )
    both = (item[one.label_item] << np.uint64(32)) + labeler[one.label_labeler]
    mixed = (both ^ (both >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)  # wraps around
    least = np.arange(len(mixed))
    if len(mixed) > _SAMPLED:  # most need not be sorted
        least = np.flatnonzero(mixed <= np.partition(mixed, _SAMPLED - 1)[_SAMPLED - 1])
    least = least[np.argsort(mixed[least], kind="stable")[:_SAMPLED]]
    return mixed[least], np.array(one.answer_values, dtype=np.str_)[one.label_answer[least]]


def _shared_labels(one: Round, other: Round) -> tuple[Ints, Ints]:
    """What both rounds' labelers answered, where both have a label of one item by one labeler."""
    nothing: Ints = np.empty(0, np.int64)
    item, labeler = _places(one.item_ids, other.item_ids), _places(one.labelers, other.labelers)
    rows: Bools = (item[one.label_item] >= 0) & (labeler[one.label_labeler] >= 0)
    if not rows.any():
        return nothing, nothing
    width = len(other.labelers)
    wanted = item[one.label_item[rows]] * width + labeler[one.label_labeler[rows]]
    have = other.label_item * width + other.label_labeler  # sorted, and each pair once
    at = np.minimum(np.searchsorted(have, wanted), len(have) - 1)
    both = have[at] == wanted
    spelled = _places(other.answer_values, one.answer_values)
    there: Ints = np.where(spelled < 0, len(one.answer_values) + np.arange(len(spelled)), spelled)[other.label_answer]
    return one.label_answer[rows][both], there[at[both]]


def _places(names: Sequence[str] | np.ndarray, among: Sequence[str] | np.ndarray) -> Ints:
    """Where each name is among others, -1 = nowhere."""
    place = {name: position for position, name in enumerate(among)}
    return np.array([place.get(name, -1) for name in names], dtype=np.int64)


def _kappa(here: Ints, there: Ints) -> float:
    """Agreement beyond what the answers' shares give by chance; 0 where chance alone explains all."""
    size = int(max(here.max(), there.max())) + 1
    expected = float(np.bincount(here, minlength=size) @ np.bincount(there, minlength=size)) / len(here) ** 2
    return 0.0 if expected >= 1.0 else (float((here == there).mean()) - expected) / (1.0 - expected)
