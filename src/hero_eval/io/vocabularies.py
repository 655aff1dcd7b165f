"""Which answers belong together: a labeler of pass and fail speaks another language than one of yes and no.

Answers are one vocabulary if some labeler gives both, or gold does. Vocabularies without gold's answers are labelers'
own. What a labeler says hardly ever, a slip of the keyboard, joins nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_eval.io.values import folded_answer, number

NUMBER = "#"
"""What numbers other than 0 and 1 have in common: they lie on a scale."""
SLIP = 0.01
"""The share of a labeler's labels, and of all, up to which an answer joins nothing and stays what it is."""
ASIDE = 0.1
"""The share of a vocabulary's labels that may be other answers than its two commonest, such as "unsure"."""


def meaning(text: str) -> str:
    """An answer without case, space and ways of saying yes and no; all numbers but 0 and 1 are one."""
    if number(text) is not None:  # looked at first: of scores there may be very many
        return text if text in ("0", "1") else NUMBER
    return folded_answer(text)


@dataclass(frozen=True)
class Vocabulary:
    """Answers that belong together."""

    words: tuple[str, ...]
    """By meaning, the commonest first."""
    times: tuple[float, ...]
    """How many labels say each."""
    labelers: tuple[str, ...]
    share: float
    """Of all labels."""
    texts: tuple[str, ...] = ()
    """The words as labels spell them, in the order of `words`, and more than one where yes and true mean the same."""

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two words that nearly all labels say, in their order; None if there are fewer or more."""
        if len(self.words) < 2 or sum(self.times[2:]) > ASIDE * sum(self.times):
            return None
        low, high = sorted(self.words[:2])
        return low, high


def vocabularies(
    said: NDArray[np.float64], texts: Sequence[str], labelers: Sequence[str], known: Collection[str] = ()
) -> list[Vocabulary]:
    """The vocabularies of these labelers, the largest first; that of gold, whose words are `known`, is left out.

    said: (n_labelers, n_texts), how often each said each.
    """
    spelled: dict[str, list[str]] = {}
    for text in texts:
        spelled.setdefault(meaning(text), []).append(text)
    words = list(spelled)
    place = {word: at for at, word in enumerate(words)}
    said = said @ np.eye(len(words))[[place[meaning(text)] for text in texts]]
    groups: dict[int, list[int]] = {}
    meant = said > SLIP * said.sum(axis=1, keepdims=True)
    root = list(range(len(words)))

    def find(word: int) -> int:
        while root[word] != word:
            root[word] = root[root[word]]
            word = root[word]
        return word

    def join(group: Sequence[int]) -> None:
        for other in group[1:]:
            root[find(other)] = find(group[0])

    join([place for place, word in enumerate(words) if word in known])
    for row in meant:
        join(np.flatnonzero(row).tolist())
    total = said.sum()
    for word in np.flatnonzero(meant.any(axis=0)).tolist():
        groups.setdefault(find(word), []).append(word)
    out = []
    for group in groups.values():
        if any(words[word] in known for word in group):
            continue
        times = said[:, group].sum(axis=0)
        order = sorted(range(len(group)), key=lambda at: (-times[at], words[group[at]]))
        who = [name for name, row in zip(labelers, meant[:, group].any(axis=1), strict=True) if row]
        ordered = tuple(words[group[at]] for at in order)
        out.append(
            Vocabulary(
                words=ordered,
                times=tuple(float(times[at]) for at in order),
                labelers=tuple(who),
                share=float(times.sum() / total),
                texts=tuple(text for word in ordered for text in (spelled[word] if word != NUMBER else ())),
            )
        )
    return sorted(out, key=lambda one: (-one.share, one.words))


def own_words(found: Sequence[Vocabulary]) -> list[Vocabulary]:
    """Those of several words, none of them numbers, that are more than slips."""
    return [one for one in found if len(one.words) > 1 and NUMBER not in one.words and one.share > SLIP]


def read_as(words: Mapping[str, str], texts: Sequence[str]) -> dict[str, str]:
    """What to read each of these texts as, by what words mean."""
    return {text: words[said] for text in texts if (said := meaning(text)) in words}


def counted(
    labeler: NDArray[np.int64], answer: NDArray[np.int64], n_labelers: int, texts: Sequence[str]
) -> tuple[NDArray[np.float64], list[str]]:
    """How often each labeler gave each answer (n_labelers, n_answers), and the answers, of which all numbers are one;
    `answer` are places in `texts`."""
    kept = [NUMBER if meaning(text) == NUMBER else text for text in texts]
    answers = list(dict.fromkeys(kept))
    place = {text: at for at, text in enumerate(answers)}
    to = np.array([place[text] for text in kept], np.int64)
    cells = np.bincount(labeler * len(answers) + to[answer], minlength=n_labelers * len(answers))
    return cells.reshape(n_labelers, len(answers)).astype(np.float64), answers
