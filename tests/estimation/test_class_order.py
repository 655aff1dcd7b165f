"""Three and more classes have no order: which of them comes first must change no number.

Names are dealt out anew, so that the classes come in another order; all arithmetic is then done in another order, too,
which changes last digits, and fits rest to a millionth of a logit.
"""

from __future__ import annotations

import numpy as np
import pytest
from make_rounds import Array, round_of

import hero_eval as hero
from hero_eval.estimate import Estimate
from hero_eval.model.even_logits import even_covariance, even_precision
from hero_eval.round import Round

pytestmark = pytest.mark.numbers

CLOSE = 1e-6
NAMES = {3: ("abc", "cab", "acb"), 5: ("abcde", "ecabd")}


def drawn(seed: int, n_classes: int, n_labelers: int = 4, size: int = 120) -> tuple[Array, Array]:
    """Classes and labels of items, of which some are hard: labelers then err together, and rounds drift."""
    rng = np.random.default_rng([seed, n_classes])
    truth = rng.choice(n_classes, size, p=np.arange(2, n_classes + 2) / np.arange(2, n_classes + 2).sum())
    seems = np.where(rng.random(size) < 0.3, (truth + rng.integers(1, n_classes, size)) % n_classes, truth)
    right = rng.random((size, n_labelers)) < rng.uniform(0.6, 0.9)
    return truth, np.where(right, seems[:, None], rng.integers(0, n_classes, (size, n_labelers)))


def rounds_of(names: str, n_past: int, own_gold: int = 0, *, n_current: int = 1, n_crowd: int = 0) -> list[Round]:
    """Past rounds with gold, then current ones of the same items; `n_crowd` labelers give one label an item in turn."""
    made = []
    for number in range(n_past + n_current):
        truth, labels = drawn(number, len(names))
        if n_crowd:
            turn = np.arange(len(truth)) % n_crowd
            labels = np.where(turn[:, None] == np.arange(n_crowd), labels[:, :1], -1)
        with_gold = 40 if number < n_past else own_gold
        gold = np.where(np.arange(len(truth)) < with_gold, truth, -1) if with_gold else None
        made.append(round_of(labels, gold, prefix=f"r{min(number, n_past)}-", classes=list(names)))
    return made


def numbers(found: Estimate) -> list[float]:
    return [found.value, found.std_error, *found.interval(), *found.interval(0.8)]


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "n_past", "own_gold"), [(3, 0, 40), (3, 1, 0), (3, 3, 0), (3, 2, 30), (5, 3, 0)])
def test_the_order_of_classes_changes_no_rate(n_classes: int, n_past: int, own_gold: int) -> None:
    """A team that renames a class would publish another interval, and a gate might open."""
    found = []
    for names in NAMES[n_classes]:
        *past, now = rounds_of(names, n_past, own_gold)
        found.append(numbers(hero.estimate_rate(now, past or None, positive=names[1])))
    assert np.ptp(found, axis=0).max() < CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("n_past", [1, 3])
def test_the_order_of_classes_changes_no_win_rate(n_past: int) -> None:
    """Whether ties are called "tie" or "draw" would move the win rate."""
    found = []
    for names in NAMES[3][:2]:
        *past, now = rounds_of(names, n_past)
        a, b, tie = names
        found.append(numbers(hero.estimate_win_rate(now, past, a=a, b=b, tie=tie)))
        back = hero.estimate_win_rate(now, past, a=b, b=a, tie=tie)
        assert back.interval()[0] == pytest.approx(1.0 - found[-1][3], abs=CLOSE)
    assert np.ptp(found, axis=0).max() < CLOSE


@pytest.mark.slow
def test_the_order_of_classes_changes_no_difference() -> None:
    """Which of two models is better would depend on a class's name."""
    found = []
    for names in NAMES[3][:2]:
        *past, a, b = rounds_of(names, 3, n_current=2)
        found.append(numbers(hero.estimate_difference(a, b, past, positive=names[1])))
    assert np.ptp(found, axis=0).max() < CLOSE


@pytest.mark.slow
def test_the_order_of_classes_changes_no_crowd() -> None:
    """Labelers with few labels each are pooled, in a prior of their own."""
    found = []
    for names in NAMES[3][:2]:
        *past, now = rounds_of(names, 2, n_crowd=40)
        found.append(numbers(hero.estimate_rate(now, past, positive=names[1], method="hero3")))
    assert np.ptp(found, axis=0).max() < CLOSE


def test_no_class_is_unlike_the_others() -> None:
    """The covariance of logits against one class would be another against the next."""
    n_classes = 4
    against = np.eye(n_classes)[1:] - np.eye(n_classes)[0]
    other = np.eye(n_classes)[[0, 1, 3]] - np.eye(n_classes)[2]
    turned = other[:, 1:] @ np.linalg.inv(against[:, 1:])
    even = even_covariance(n_classes - 1)
    assert turned @ even @ turned.T == pytest.approx(even)
    assert even @ even_precision(n_classes - 1) == pytest.approx(np.eye(n_classes - 1))
    assert even_covariance(1) == even_precision(1) == 1.0
