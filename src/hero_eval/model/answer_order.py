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


def mean_places(answers: Floats) -> Floats:
    """(J, K): where answers (J, L, K) of an order lie on average in each class, from 0, the first answer, to 1."""
    out: Floats = np.einsum("l,jlk->jk", np.linspace(0.0, 1.0, answers.shape[1]), answers)
    return out


def place_errors(answers: Floats, errors: Floats) -> Floats:
    """(J, K): standard errors of mean places, from answers (J, L, K) and their standard errors.

    As of a sample in which shares have these errors, as far as they have any; nan where none has.
    """
    place = np.linspace(0.0, 1.0, answers.shape[1])
    spread = np.einsum("l,jlk->jk", place**2, answers) - mean_places(answers) ** 2
    of_known = np.where(errors > 0.0, answers * (1.0 - answers), 0.0).sum(axis=1)
    known = np.where(errors > 0.0, errors**2, 0.0).sum(axis=1)
    size = of_known / np.where(known > 0.0, known, np.nan)
    out: Floats = np.sqrt(np.maximum(spread, 0.0) / np.where(size > 0.0, size, np.nan))
    return out


def standing(often: Floats) -> Floats:
    """(..., L): where each of L answers, or classes, of an order stands among all that were given, `often` (..., L).

    Twice its mean rank, as a share of all: of two answers the second stands 1 above the first, whatever their shares;
    of many that are alike in number the last stands 2 above the first.
    """
    shares = often / np.maximum(often.sum(axis=-1, keepdims=True), 1e-300)
    out: Floats = 2.0 * np.cumsum(shares, axis=-1) - shares
    return out


def rise_of(answers: Floats, weights: Floats) -> Floats:
    """(J,): how far answers (J, L, K) of an order rise with the class, of which there are shares `weights` (K,).

    By the line of where answers stand on where classes stand. Of two classes it is the chance that of two items of
    different classes the higher gets the higher answer, less the chance that the lower does; of two answers, too, it is
    sensitivity + specificity - 1.
    """
    place = standing(weights)
    centered = weights * (place - weights @ place / weights.sum())
    means = np.einsum("jl,jlk->jk", standing(answers @ weights), answers)
    out: Floats = means @ centered / float(centered @ place)
    return out


def towards_ends(often: Floats, *, ordered: bool = True) -> Floats:
    """(..., L, E): what each answer, or class, counts as: itself; or, of an order, how near its two ends it stands.

    A yes/no answer tells of ten grades though it names none of them; so both count by where they stand.
    """
    if not ordered:
        return np.eye(often.shape[-1])
    stands = standing(often)
    return np.stack([1.0 - stands, stands], axis=-1)
