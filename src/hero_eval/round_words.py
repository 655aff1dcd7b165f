"""Rounds whose labelers answer in words of their own: what they mean is known where gold is, and is told to the others.

A past round with gold shows that pass is yes and fail is no (`io/own_words.py`). The current round has no gold, so that
it was read with four answers, or, among scores, with the ends of a scale of which nobody knew which is up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hero_eval.any_round import AnyRound
from hero_eval.errors import InputError, Problem, wrong
from hero_eval.findings import Finding
from hero_eval.io.own_words import pasted, unclear
from hero_eval.io.values import canonical, in_class_order
from hero_eval.io.vocabularies import NUMBER, SLIP, Vocabulary, meaning, own_words, vocabularies
from hero_eval.round import Round

OneRound = TypeVar("OneRound", bound=AnyRound)


def with_words_read(rounds: Sequence[OneRound]) -> tuple[OneRound, ...]:
    """The rounds with labelers' own words read as those rounds show that know what they mean; E127 where none does."""
    meant = _meant_by(rounds)
    read = [_as_meant(one, meant) for one in rounds] if meant else list(rounds)
    known = {meaning(value): value for one in reversed(read) for value in one.gold_values}
    known = {"0": "0", "1": "1"} | known if known and set(known) <= {"0", "1"} else known
    problems = [problem for one in read for problem in _unclear(one, known)]
    if problems:
        raise InputError(problems)
    return tuple(cast(OneRound, one) for one in read)


def _meant_by(rounds: Sequence[AnyRound]) -> dict[str, str]:
    """What words mean, by all rounds that know it; E205 where two contradict each other."""
    found: dict[str, tuple[str, str]] = {}
    for one in rounds:
        if not isinstance(one, Round) or not one.holds_items:
            continue
        spelled = {meaning(value): value for value in one.values}
        for word, of in ((word, spelled.get(of, of)) for word, of in one._contents.words_meant.items()):
            other, who = found.setdefault(word, (of, one.name))
            if other != of:
                raise wrong(
                    "E205",
                    f"by gold {word!r} means {other!r} in round {who!r}, but {of!r} in round {one.name!r}. Say what it "
                    f"means: {pasted({word: of})}, or leave one of the rounds out.",
                )
    return {word: of for word, (of, _) in found.items()}


def _as_meant(one: AnyRound, meant: Mapping[str, str]) -> AnyRound:
    """The round with words that it could not read by itself read as others have shown."""
    if not isinstance(one, Round) or not one.holds_items or one.classes_given is not None:
        return one
    if one._contents.word_ends:
        return _turned(one, meant)
    values = [meaning(value) for value in one.values]
    if one.has_scores or not any(value in meant for value in values):
        return one
    binary = set(meant.values()) <= {"0", "1"}
    texts = [meant.get(of, canonical(value, binary=binary)) for of, value in zip(values, one.values, strict=True)]
    names = in_class_order(texts)
    place = np.array([*(names.index(text) for text in texts), -1], np.int64)
    contents = dataclasses.replace(
        one._contents, values=names, label_answer=place[one.label_answer], gold=place[one.gold]
    )
    said = {value: meant[of] for of, value in zip(values, one.values, strict=True) if of in meant}
    message = ", ".join(f"{value!r} as {of!r}" for value, of in said.items())
    note = Finding(
        "F138", f"words of labelers' own were read as gold of other rounds shows: {message}", {"answers": said}
    )
    return Round._of(contents).noted(note)


def _turned(one: Round, meant: Mapping[str, str]) -> Round:
    """The round of scores in which words that are the ends of a scale lie as gold of other rounds shows."""
    lower = min(map(meaning, meant.values()))
    wrong_way = [
        who
        for low, _, people in one._contents.word_ends
        if low in meant and meaning(meant[low]) != lower
        for who in people
    ]
    if not wrong_way:
        return one
    rows = np.isin(one.labelers, wrong_way)[one.label_labeler]
    if one.label_score is not None:
        ends: NDArray[np.float64] = np.where(rows, 1.0 - one.label_score, one.label_score)
        return Round._of(dataclasses.replace(one._contents, label_score=ends))
    swap = np.array([one.values.index({"0": "1", "1": "0"}.get(value, value)) for value in one.values], np.int64)
    answers = np.where(rows, swap[one.label_answer], one.label_answer)
    return Round._of(dataclasses.replace(one._contents, label_answer=answers))


def _unclear(one: AnyRound, gold: Mapping[str, str]) -> list[Problem]:
    """E127 for labelers who answer in words that gold of two classes, or without any gold other labelers, never use.

    `gold`: its answers by meaning. Beside more classes strange words are told by F117.
    """
    if one.has_scores or one.classes_given is not None or one.kind_given is not None or one.stays_in_engine:
        return []
    if (
        len(one.values) < 3
        or len(gold) not in (0, 2)
        or NUMBER in gold
        or {meaning(value) for value in one.values} <= set(gold)
    ):
        return []
    found = vocabularies(one.labels_by_answer(), one.values, one.labelers, gold)
    own = own_words(found)
    if not gold and len(own) > 1:  # the largest vocabulary is that of the question
        gold = {meaning(value): value for value in one.values if meaning(value) in own[0].words}
        return [_unclear_in(one, of, list(gold.values())) for of in own[1:]]
    shared = 1.0 - sum(of.share for of in found)
    classes = [gold[of] for of in sorted(gold)]
    return [_unclear_in(one, of, classes) for of in own] if gold and shared > SLIP else []


def _unclear_in(one: AnyRound, words: Vocabulary, classes: Sequence[str]) -> Problem:
    """E127; engines neither map nor learn what words mean."""
    found = unclear(f"round {one.name!r}", words, classes)
    if one.holds_items:
        return found
    return Problem(found.code, f"{found.message} Mapping takes engine='memory' (--engine memory), or mapped files.")
