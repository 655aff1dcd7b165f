"""Which items were given gold: at random, with known probabilities, or depending on what the items look like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hero_eval.counting.count import is_large, tally_of
from hero_eval.counting.tally import Tally
from hero_eval.estimation.question import Question
from hero_eval.findings import Finding, name_some
from hero_eval.labelers.reliability import ALARM, p_text
from hero_eval.model.patterns import Bools, Floats, Ints, sum_by
from hero_eval.model.routing import routing_scores, routing_weights
from hero_eval.round import Round

MOST_COLUMNS = 50
MOST_ANSWERS = 10
"""Answers that are looked at one by one."""
_ROUNDING = 1e-9
_BLOCK = 1 << 18
"""Rows looked at at a time. It bounds memory only."""


def used_probabilities(rounds: Sequence[Round], where: str, *, needed: bool = True) -> list[Finding]:
    """What is said of probabilities that were used; not `needed`: they go by the labels, which the model allows for."""
    found = []
    for one in rounds:
        probability = one.gold_probability()
        if probability is None or one.n_gold == 0:
            continue
        weight = routing_weights(one.gold >= 0, probability)[one.gold >= 0]
        effective = float(weight.sum() ** 2 / (weight**2).sum())
        message = (
            f"{where} {one.name!r} says how probable gold was for each item, so its items are weighted by that: "
            f"{one.n_gold} gold items are worth {effective:.0f} drawn at random"
        )
        if not needed:
            message = (
                f"{where} {one.name!r} says how probable gold was for each item; it depends on the labels alone, which "
                f"the model allows for, so its {one.n_gold} gold items are not weighted"
            )
        found.append(Finding("F111", message, {"gold": one.n_gold, "effective_gold": effective}))
    return found


def routing_findings(question: Question, rounds: Sequence[Round], where: str = "history") -> list[Finding]:
    z = routing_z(rounds)
    beyond = [abs(z.pop(name)) for name in [name for name in z if name.startswith(AT_EQUAL_DISPUTE)]]
    by_answers = bool(beyond) and max(beyond) > -float(special.ndtri(ALARM / 2 / len(beyond)))
    if not z:
        return []
    bound = -float(special.ndtri(ALARM / 2 / len(z)))
    names = sorted((name for name, value in z.items() if abs(value) > bound), key=lambda name: -abs(z[name]))
    if not names:
        return []
    largest = abs(z[names[0]])
    p_value = min(1.0, 2 * float(special.ndtr(-largest)) * len(z))
    by_labels = not any(one.has_column(name) for name in names for one in rounds)
    given = any(one.has_column("gold_probability") for one in rounds)
    reads_labels = by_labels and not question.method.by_gold_rows and not question.method.by_design
    allowed, action = reads_labels and not by_answers, ""
    if allowed:
        so = f"{question.method.name} sees these labels and allows for it, as far as labelers err independently"
    elif reads_labels and not given:
        so = (
            f"if it went by these labels, {question.method.name} allows for it; if by what the expert saw in the "
            "items, it does not, and nobody can tell from the labels"
        )
    elif given:
        so, action = "which the column gold_probability does not say", "Correct the column `gold_probability`."
    else:
        so = "nothing was changed: what gold tells of the labelers may not hold for the other items"
    message = (
        f"gold did not go to a random part of {where}, it depends on {name_some(names)} (|z| {largest:.1f}, "
        f"{p_text(p_value)}); {so}"
    )
    data = {"columns": names, "z": [z[name] for name in names], "p_value": p_value}
    return [Finding("F112", message, data, action, doubts=not allowed)]


LABEL_COLUMNS = ("the answers", "disagreement of the labels", "number of labels")
AT_EQUAL_DISPUTE = "at equal disagreement, "
"""Gold for disputed items goes by the labels. Gold for items of one answer may have gone by what the expert saw."""


def routing_z(rounds: Sequence[Round]) -> dict[str, float]:
    """z-values of what having gold may depend on: numeric columns, and what the labels look like."""
    scores: dict[str, float] = {}
    variances: dict[str, float] = {}
    for one in rounds:
        if not 0 < one.n_gold < one.n_items:
            continue
        for name, score, variance in zip(*_scores_of(one), strict=True):
            scores[name] = scores.get(name, 0.0) + score
            variances[name] = variances.get(name, 0.0) + variance
    return {name: scores[name] / math.sqrt(variances[name]) for name in scores if variances[name] > 0}


def _scores_of(one: Round) -> tuple[tuple[str, ...], Floats, Floats]:
    """Names, scores and their variances; of a round that is kept as counts what the labels look like, which they
    show."""
    if is_large([one]):
        tally = tally_of(one)
        values = tally.values if tally.answers is None else tally.answers[:2]
        alike, golden, times = _alike(tally)
        names, looks = _label_columns(alike, values, times)
        share = np.full(len(times), one.n_gold / one.n_items)
        return names, *routing_scores(golden, share, looks, times)
    numeric = one.numeric_columns()[:MOST_COLUMNS]
    values = one.answer_values if one.label_score is None else one.answer_values[:2]
    n_values = max(len(values), int(one.label_answer.max(initial=0)) + 1)
    said = _times_given(one.label_item, one.label_answer, one.n_items, n_values)
    names, looks = _label_columns(said, values, np.ones(one.n_items))
    columns = np.column_stack([*(one.covariate(name) for name in numeric), looks])
    known, given = one.gold >= 0, one.gold_probability()
    expected = np.full(one.n_items, known.mean()) if given is None else given
    return (*numeric, *names), *routing_scores(known, expected, columns)


def _times_given(item: Ints, answer: Ints, n_items: int, n_values: int) -> Ints:
    """(n, L): how often each item was given each answer."""
    return np.bincount(item * n_values + answer, minlength=n_items * n_values).reshape(n_items, n_values)


def _alike(tally: Tally) -> tuple[Ints, Bools, Floats]:
    """The items of a tally that were given the same answers equally often, and have gold or not: the answers (n, L),
    whether they have gold, and how many they are. Some rows at a time, since there may be millions."""
    n_values = max(tally.n_answers, len(tally.values if tally.answers is None else tally.answers[:2]))
    found: dict[bytes, float] = {}
    for start in range(0, tally.n_rows, _BLOCK):
        ends = tally.ends[start : start + _BLOCK + 1]
        n_rows = len(ends) - 1
        answer = tally.cells[ends[0] : ends[-1]] % tally.n_answers
        looks = np.empty((n_rows, n_values + 1), np.int32)
        looks[:, :-1] = _times_given(np.repeat(np.arange(n_rows), np.diff(ends)), answer, n_rows, n_values)
        looks[:, -1] = tally.gold[start : start + n_rows] >= 0
        same, group = np.unique(_codes(looks), return_inverse=True)
        first = np.empty(len(same), np.int64)
        first[group[::-1]] = np.arange(n_rows)[::-1]
        for look, times in zip(
            looks[first], sum_by(group, tally.items[start : start + n_rows], len(same)), strict=True
        ):
            found[look.tobytes()] = found.get(look.tobytes(), 0.0) + float(times)
    looks = np.frombuffer(b"".join(sorted(found)), np.int32).reshape(len(found), n_values + 1)
    return looks[:, :-1].astype(np.int64), looks[:, -1] > 0, np.array([found[look] for look in sorted(found)])


def _codes(looks: Ints) -> NDArray[Any]:
    """A number for each row of small numbers, the same for the same ones; rows as they are where there is none."""
    sizes = [int(size) + 1 for size in looks.max(axis=0)]
    if math.prod(sizes) >= 1 << 62:
        return np.ascontiguousarray(looks).view([("", looks.dtype)] * looks.shape[1]).ravel()
    return looks @ np.cumprod([1, *sizes[:-1]])


def _label_columns(given: Ints, values: Sequence[str], times: Floats) -> tuple[tuple[str, ...], Floats]:
    """Names and columns (n, d) of what the labels look like, given how often each item was given each answer (n, L),
    items counting `times` (n,).

    Mean place of the answers among the values, share of labels off the commonest answer, how many labels; of three and
    more answers the share of each; then the same of the answers beyond what disagreement tells of them.
    """
    n_items, n_values = given.shape
    labels = given.sum(axis=1)
    place, dispute = given @ np.arange(n_values) / labels, 1.0 - given.max(axis=1) / labels
    several = 2 < len(values) <= MOST_ANSWERS
    shares = given / labels[:, None] if several else np.zeros((n_items, 0))
    names = tuple(f"answers {value!r}" for value in values) if several else ()
    by_answer = np.column_stack([place, shares])
    design = np.column_stack([np.ones(n_items), dispute, dispute**2, labels])
    root = np.sqrt(times)[:, None]
    beyond = by_answer - design @ np.linalg.lstsq(design * root, by_answer * root, rcond=None)[0]
    beyond[np.abs(beyond) < _ROUNDING] = 0.0
    apart = tuple(f"{AT_EQUAL_DISPUTE}{name}" for name in (LABEL_COLUMNS[0], *names))
    return (*LABEL_COLUMNS, *names, *apart), np.column_stack([place, dispute, labels, shares, beyond])
