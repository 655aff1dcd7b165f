"""The classes that several rounds share, and answers that they spell differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from hero_eval.any_round import AnyRound
from hero_eval.errors import wrong
from hero_eval.findings import name_some
from hero_eval.io.values import BINARY_WORDS, answer_text, canonical, fold, in_class_order, number

OneRound = TypeVar("OneRound", bound=AnyRound)


def spelled(value: object, classes: Sequence[str]) -> str:
    """A class as a caller may write it (4, 4.0, True, "Yes") in the spelling of `classes`."""
    text = answer_text(value, frozenset(classes)) or ""
    return text if text in classes else canonical(text, binary=tuple(classes) == ("0", "1"))


def in_one_spelling(rounds: Sequence[OneRound]) -> tuple[OneRound, ...]:
    """The rounds with answers that only case or space tells apart spelled alike: as classes given, else as the first.

    Answers that one and the same round tells apart so stay apart.
    """
    first: dict[str, str] = {}
    apart: set[str] = set()
    given = [one.classes_given for one in rounds if one.classes_given is not None]
    for names in (*given, *(one.values for one in rounds)):
        folded = [fold(name) for name in names]
        apart |= {one for one in folded if folded.count(one) > 1}
        for key, name in zip(folded, names, strict=True):
            first.setdefault(key, name)
    out = []
    for one in rounds:
        names = (*(one.classes_given or ()), *one.values)
        other = {name: first[fold(name)] for name in names if fold(name) not in apart and first[fold(name)] != name}
        out.append(cast(OneRound, one.respelled(other)) if other else one)
    return tuple(out)


def common_classes(rounds: Sequence[AnyRound]) -> tuple[str, ...]:
    """The classes that these rounds share, in order: as given, else 0 and 1, else the answers seen, sorted.

    Of two classes the positive one comes last. InputError E205 if the rounds contradict each other, E118 if a
    single answer was seen and nobody said what else was possible.
    """
    given = _given_classes(rounds)
    seen = {value for one in rounds for value in one.values}
    if given is not None:
        _refuse_strangers(rounds, given)
        classes = given
    elif seen <= {"0", "1"}:
        classes = ("0", "1")
    else:
        _refuse_mixed_spelling(rounds, seen)
        _refuse_unrelated(rounds)
        classes = in_class_order(seen)
    if len(classes) < 2:
        names = name_some([one.name for one in rounds])
        raise wrong("E118", f"every answer of {names} is {classes[0]!r}. Name all possible answers: classes=[...].")
    return _positive_last(rounds, classes)


def _given_classes(rounds: Sequence[AnyRound]) -> tuple[str, ...] | None:
    """The classes that callers gave, if any did."""
    giving = [one for one in rounds if one.classes_given is not None]
    for one in giving[1:]:
        if one.classes_given != giving[0].classes_given:
            raise wrong(
                "E205",
                f"rounds {giving[0].name!r} and {one.name!r} were given different classes: "
                f"{list(giving[0].classes_given or ())} and {list(one.classes_given or ())}. "
                "Give them the same, in the same order.",
            )
    return giving[0].classes_given if giving else None


def _refuse_strangers(rounds: Sequence[AnyRound], classes: tuple[str, ...]) -> None:
    for one in rounds:
        outside = [value for value in one.values if value not in classes]
        if outside:
            raise wrong(
                "E205",
                f"round {one.name!r} has answers outside the classes {name_some(list(classes), 12)} of the "
                f"other rounds: {name_some(outside)}. Give all rounds the same classes.",
            )


def _refuse_mixed_spelling(rounds: Sequence[AnyRound], seen: set[str]) -> None:
    """A round of yes and no alone was read as 1 and 0; beside one of yes, no and maybe that is wrong."""
    words = sorted(value for value in seen if value.lower() in BINARY_WORDS)
    if not words or not seen & {"0", "1"}:
        return
    digits = next(one for one in rounds if {"0", "1"} & set(one.values))
    spelled = next(one for one in rounds if words[0] in one.values)
    raise wrong(
        "E205",
        f"round {digits.name!r} has the answers {name_some(list(digits.values))} (yes and no are read as 1 "
        f"and 0 in a round that has nothing else), but round {spelled.name!r} has "
        f"{name_some(list(spelled.values), 12)}. "
        "Give all rounds the same classes.",
    )


def _refuse_unrelated(rounds: Sequence[AnyRound]) -> None:
    """Rounds without a single answer in common, numbers apart, answer different questions."""
    telling = [one for one in rounds if one.values]  # a round of scores without gold names no class
    first = telling[0]
    for one in telling[1:]:
        together = [*first.values, *one.values]
        if set(first.values) & set(one.values) or all(number(value) is not None for value in together):
            continue
        raise wrong(
            "E205",
            f"rounds {first.name!r} and {one.name!r} have no answer in common: {name_some(list(first.values))} and "
            f"{name_some(list(one.values))}. If they ask the same question, give all rounds the same classes.",
        )


def _positive_last(rounds: Sequence[AnyRound], classes: tuple[str, ...]) -> tuple[str, ...]:
    naming = [one for one in rounds if one.positive is not None]
    for one in naming[1:]:
        if one.positive != naming[0].positive:
            raise wrong(
                "E205",
                f"rounds {naming[0].name!r} and {one.name!r} name different positive classes: "
                f"{naming[0].positive!r} and {one.positive!r}. Name the same one.",
            )
    if len(classes) == 2 and naming and naming[0].positive == classes[0]:
        return classes[::-1]
    return classes
