"""Labelers who answer in words of their own: pass and fail, where others and gold say yes and no.

Which of two words means which of gold's two classes is what the labeler's items with gold show; where they do not show
it, the caller is asked. Without gold nothing is decided, except that among scores the words are the two ends of that
labeler's scale: which end is up, a past round may tell (`round_words.py`).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hero_eval.errors import Problem
from hero_eval.findings import Finding, name_some
from hero_eval.io.arrays import mapped_answers
from hero_eval.io.distinct import Codes
from hero_eval.io.labels import Gold, Labels
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.scores import OF_PAIRS
from hero_eval.io.strays import NOTHING
from hero_eval.io.tables import positions
from hero_eval.io.values import BINARY_WORDS, as_missing
from hero_eval.io.vocabularies import NUMBER, SLIP, Vocabulary, counted, meaning, own_words, read_as, vocabularies

CHANCE = 0.005
"""How likely chance alone may make words and gold agree, or differ, so well where what they mean counts as known."""
MOST_WORDS = 100
"""With more of them labels are free text."""


@dataclass(frozen=True)
class OwnWords:
    """What became of labelers' own words."""

    meant: Mapping[str, str] = field(default_factory=dict)
    """Each word, and gold's class that it was read as, both by meaning."""
    ends: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Pairs of words that were read as 0 and 1, the ends of a scale, and who says them: which is up, nobody knows."""
    notes: tuple[Finding, ...] = ()
    hint: Mapping[str, str] = field(default_factory=dict)
    """What gold shows words to mean that were not read, since no label is one of gold's."""


def read_own_words(
    labels: Labels | None, gold: Gold | None, options: ReadOptions, problems: list[Problem]
) -> tuple[Labels | None, OwnWords]:
    """The labels with labelers' own words read as answers that gold gives, or as scores; E126 where words among scores
    have no order."""
    if labels is None or options.classes is not None or options.label_kind == "answer":
        return labels, OwnWords()
    texts = labels.answers.list_texts()
    said = {meaning(text) for text in texts}
    spoken = _classes(gold, said) if gold else {}
    if len(said) > MOST_WORDS or said | set(spoken) <= OF_PAIRS or not _is_mixed(texts, said, set(spoken)):
        return labels, OwnWords()
    usable, who = labels.usable, labels.labelers.list_texts()
    table, answers = counted(labels.labelers.codes[usable], labels.answers.codes[usable], len(who), texts)
    found = vocabularies(table, answers, who, spoken)
    if gold is None or not spoken:
        return _without_gold(labels, found, problems)
    scored = NUMBER in answers and table[:, answers.index(NUMBER)].sum() > SLIP * table.sum()
    return _by_gold(labels, gold, spoken, found, scored, problems)


def _is_mixed(texts: Sequence[str], said: set[str], known: set[str]) -> bool:
    """Whether labelers may speak other languages than gold or each other; most rounds are spared a second look."""
    if NUMBER in said - known and said & {"0", "1"} and any(text.lower() in BINARY_WORDS for text in texts):
        return True
    if not known:
        return NUMBER in said and bool(said - {NUMBER, "0", "1"})
    in_words = NUMBER in said - known and not known <= {"0", "1"}  # scores beside gold that is words
    return in_words or bool(said - known - {NUMBER})


def _classes(gold: Gold, said: set[str]) -> dict[str, str]:
    """Gold's classes by meaning, in order, and how it writes each; of 0 and 1 both are there if one is.

    What stands for nothing is none, unless labels say it too.
    """
    texts = gold.answers.list_texts()
    times = np.bincount(gold.answers.codes[gold.answers.codes >= 0], minlength=len(texts))
    written: dict[str, str] = {}
    for at in np.argsort(-times, kind="stable").tolist():
        if (of := meaning(texts[at])) not in NOTHING - said:
            written.setdefault(of, texts[at])
    if written and set(written) <= {"0", "1"}:
        written = {"0": "0", "1": "1"} | written
    return {of: written[of] for of in sorted(written)}


def _without_gold(labels: Labels, found: Sequence[Vocabulary], problems: list[Problem]) -> tuple[Labels, OwnWords]:
    """Without gold: words beside numbers are the ends of their labelers' scales."""
    if not any(set(one.words) <= {NUMBER, "0", "1"} for one in found):
        return labels, OwnWords()
    own = [one for one in own_words(found) if one.words[0] not in ("0", "1")]
    sides, made = _as_ends(labels, own, problems)
    return _read(labels, {"0": "0", "1": "1"} | sides), made


def _as_ends(labels: Labels, own: Sequence[Vocabulary], problems: list[Problem]) -> tuple[dict[str, str], OwnWords]:
    """Words that nobody knows the meaning of as the ends of a scale; E126 where they are not two."""
    problems += [_no_ends(labels.table.column("label"), one) for one in own if one.pair is None]
    ends = tuple((*one.pair, one.labelers) for one in own if one.pair is not None)
    sides = {word: value for low, high, _ in ends for word, value in ((low, "0"), (high, "1"))}
    notes = []
    for one in own if ends else ():
        read = read_as(sides, sorted(one.texts, key=meaning))
        words = " and ".join(map(repr, read))
        message = (
            f"{_answers(one)} beside scores of others: {words} are the ends of a scale, and gold tells which is up"
        )
        data = {"labelers": list(one.labelers), "answers": read}
        action = f"Nothing, or say which number each is: {pasted(read)}."
        notes.append(Finding("F138", message, data, action))
    return sides, OwnWords(ends=ends, notes=tuple(notes))


def _no_ends(place: str, one: Vocabulary) -> Problem:
    numbers = ",".join(f"{text}={at}" for at, text in enumerate(sorted(one.texts)[:5]))
    return Problem(
        "E126",
        f"{place}: {_answers(one)}, where other labelers give numbers. Say which number each stands for, in place of "
        f"these: map={{...}} (command: --map {shlex.quote(numbers)}), or count them as not given "
        f"({as_missing(sorted(one.texts))}).",
    )


def _answers(one: Vocabulary) -> str:
    """Who answers in which words."""
    verb = "answers" if len(one.labelers) == 1 else "answer"
    return f"{name_some(list(one.labelers))} {verb} {name_some(sorted(one.texts))}"


def _by_gold(
    labels: Labels,
    gold: Gold,
    spoken: Mapping[str, str],
    found: Sequence[Vocabulary],
    scored: bool,
    problems: list[Problem],
) -> tuple[Labels, OwnWords]:
    """With gold of two classes, words mean what it shows. What it does not show other rounds may, or the caller."""
    if len(spoken) != 2 or NUMBER in spoken:
        return labels, OwnWords()
    learned = {one: _meaning_by_gold(labels, gold, one, list(spoken)) for one in own_words(found)}
    meant = {word: of for one in learned.values() if one is not None for word, of in one.meant.items()}
    if not scored and sum(one.share for one in found) > 1 - SLIP:
        return labels, OwnWords(
            hint={text: spoken[of] for text, of in read_as(meant, labels.answers.list_texts()).items()}
        )
    notes = tuple(_note(one, of, spoken) for one, of in learned.items() if of is not None)
    if not scored:
        return _read(labels, {word: spoken[of] for word, of in meant.items()}), OwnWords(meant, notes=notes)
    scale = dict(zip(spoken, ("0", "1"), strict=True))
    sides, made = _as_ends(labels, [one for one, of in learned.items() if of is None], problems)
    read = scale | sides | {word: scale[of] for word, of in meant.items()}
    return _read(labels, read), replace(made, meant=meant, notes=(*notes, *made.notes))


@dataclass(frozen=True)
class _Learned:
    """What words mean by gold, and on how many items of how many they are right."""

    meant: Mapping[str, str]
    right: int
    items: int


def _meaning_by_gold(labels: Labels, gold: Gold, one: Vocabulary, classes: Sequence[str]) -> _Learned | None:
    """Which word means which class; None where chance may have made them agree."""
    if one.pair is None:
        return None
    low, high = one.pair
    people = [at for at, who in enumerate(labels.labelers.list_texts()) if who in one.labelers]
    side = _sides(labels.answers.list_texts(), low, high)[labels.answers.codes]
    rows = (side != 0) & np.isin(labels.labelers.codes, people) & (labels.items.codes >= 0)
    leaning = np.sign(np.bincount(labels.items.codes[rows], side[rows], minlength=len(labels.items.texts)))
    truth = _sides(gold.answers.list_texts(), *classes)[gold.answers.codes]
    item = np.append(positions(gold.items.texts, labels.items.texts), -1)[gold.items.codes]
    told = np.append(leaning, 0.0)[item]
    table = [[int(((told == a) & (truth == b)).sum()) for b in (-1, 1)] for a in (-1, 1)]
    straight, turned = _tails(table)
    agree, total = table[0][0] + table[1][1], sum(map(sum, table))
    if min(straight, turned) > CHANCE:
        return None
    if straight < turned:
        return _Learned({low: classes[0], high: classes[1]}, agree, total)
    return _Learned({low: classes[1], high: classes[0]}, total - agree, total)


def _sides(texts: Sequence[str], low: str, high: str) -> Codes:
    """(n_texts + 1,) -1 for texts that say the one, 1 for the other, 0 for all else."""
    side = {low: -1, high: 1}
    return np.array([*(side.get(meaning(text), 0) for text in texts), 0], np.int64)


def _tails(table: Sequence[Sequence[int]]) -> tuple[float, float]:
    """How likely chance makes the first corner of a table of two by two so large, and so small (Fisher's test)."""
    (a, b), (c, d) = table
    row, column, total = a + b, a + c, a + b + c + d

    def ways(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    low, high = max(0, row + column - total), min(row, column)
    chance = [
        math.exp(ways(row, k) + ways(total - row, column - k) - ways(total, column)) for k in range(low, high + 1)
    ]
    return sum(chance[a - low :]), sum(chance[: a - low + 1])


def _read(labels: Labels, words: Mapping[str, str]) -> Labels:
    """The labels with these words, by meaning, read as other texts."""
    pairs = read_as(words, labels.answers.list_texts())
    pairs = {old: new for old, new in pairs.items() if old != new}
    if not pairs:
        return labels
    answers = mapped_answers(labels.answers, pairs)
    return replace(labels, answers=replace(answers, mapped=labels.answers.mapped))  # nobody asked for it


def _note(one: Vocabulary, learned: _Learned, spoken: Mapping[str, str]) -> Finding:
    """F138, with the option that would say the contrary."""
    meant = {text: spoken[of] for text, of in read_as(learned.meant, one.texts).items()}
    words = ", ".join(f"{word!r} as {of!r}" for word, of in meant.items())
    message = (
        f"{_answers(one)}, which gold never is: read as gold shows, {words} (right on {learned.right} of "
        f"{learned.items} items)"
    )
    data = {"labelers": list(one.labelers), "answers": meant, "right": learned.right, "items": learned.items}
    action = f"Nothing, if that is what they mean. Otherwise say what they mean: {pasted(swapped(meant))}."
    return Finding("F138", message, data, action)


def swapped(meant: Mapping[str, str]) -> dict[str, str]:
    """The other way round, of two answers."""
    one, two = dict.fromkeys(meant.values())
    other = {one: two, two: one}
    return {text: other[of] for text, of in meant.items()}


def pasted(meant: Mapping[str, str]) -> str:
    """A mapping as Python and as the command take it."""
    command = ",".join(f"{word}={value}" for word, value in meant.items())
    return f"map={dict(meant)} (command: --map {shlex.quote(command)})"


def unclear(place: str, one: Vocabulary, classes: Sequence[str]) -> Problem:
    """E127 for labelers of whose words nobody knows what they mean."""
    if len(classes) == 2 and one.pair is not None:
        meant = read_as(dict(zip(one.pair, classes, strict=True)), sorted(one.texts, key=meaning))
        remedy = (
            f"If {list(meant)[-1]!r} means {meant[list(meant)[-1]]!r}, say so: {pasted(meant)}; if it means the "
            f"other: {pasted(swapped(meant))}"
        )
    else:
        command = shlex.quote(",".join(f"{text}=..." for text in sorted(one.texts)[:5]))
        remedy = f"Say which of these each means, in place of the dots: map={{...}} (command: --map {command})"
    out = list(one.labelers)[:5]
    return Problem(
        "E127",
        f"{place}: {_answers(one)}, which is none of gold's or other labelers' answers, {name_some(list(classes))}. "
        f"{remedy}. If they are answers of their own, name all answers (classes=[...]; command: --classes); if that is "
        f"no labeler of this question, leave it out (exclude_labelers={out}; command: --exclude-labelers "
        f"{shlex.quote(','.join(out))}).",
    )
