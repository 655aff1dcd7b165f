"""Which classes an answer speaks for, where answers are not the classes themselves but lie in order along them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hero_eval.model.patterns import Floats


@lru_cache(maxsize=64)
def answer_classes(n_answers: int, n_classes: int) -> Floats:
    """(L, K): how far each answer speaks for each class, rows adding up to 1; the identity if there are as many.

    Ordered answers are spread over the classes: the first speaks for the first class, the last for the last, one in
    between for the two classes next to it.
    """
    out = np.eye(n_answers, n_classes)
    if n_answers != n_classes:
        place = np.linspace(0.0, n_classes - 1.0, n_answers)
        out = np.maximum(1.0 - np.abs(place[:, None] - np.arange(n_classes)), 0.0)
    out.flags.writeable = False
    return out


def as_class_answers(answers: Floats) -> Floats:
    """(J, K, K): shares of answers (J, L, K) by the classes that the answers speak for."""
    n_answers, n_classes = answers.shape[1:]
    if n_answers == n_classes:
        return answers
    out: Floats = np.einsum("lk,jlc->jkc", answer_classes(n_answers, n_classes), answers)
    return out


def as_class_errors(errors: Floats) -> Floats:
    """The same of standard errors, as if answers were independent."""
    n_answers, n_classes = errors.shape[1:]
    if n_answers == n_classes:
        return errors
    out: Floats = np.sqrt(np.einsum("lk,jlc->jkc", answer_classes(n_answers, n_classes) ** 2, errors**2))
    return out


def by_classes(cross: Floats, sums: Floats, often: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums over labels by answer, (J, L, S) and (J, L), as sums by class, (J, S, S) and (J, S); `cross` as it is."""
    n_answers, n_states = sums.shape[1:]
    if n_answers == n_states:
        return cross, sums, often
    speaks = answer_classes(n_answers, n_states)
    return cross, np.einsum("lk,jls->jks", speaks, sums), often @ speaks
