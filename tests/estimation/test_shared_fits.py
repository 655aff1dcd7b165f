"""Plays of past rounds that share a fit: quicker, and the same for who chooses by them."""

from __future__ import annotations

import numpy as np
import pytest
from make_rounds import binary_answers, labels_given, round_of, some_gold

from hero_eval.estimation.options import Options
from hero_eval.estimation.replay import Quantity, analyze, replay
from hero_eval.estimation.rivals import choose_by_plays
from hero_eval.estimation.select_pairs import PairPlay
from hero_eval.estimation.shared_fits import FirstPlay, SharedFits, play_order, started_from
from hero_eval.methods.evidence import JointEvidence
from hero_eval.methods.hero3 import hero3
from hero_eval.model.em import EMOptions
from hero_eval.round import Round

METHODS = ("gold_proportion", "hero1", "hero3")


@pytest.fixture(scope="module")
def past() -> list[Round]:
    """Four rounds by six labelers, of whom one joined with the last round, and comes first by name."""
    made = []
    for number in range(4):
        rng = np.random.default_rng([31, number])
        truth = (rng.random(220) < 0.3 + 0.1 * number).astype(int)
        hard = rng.random(220) < 0.25  # where all err alike
        skill = binary_answers([0.9, 0.85, 0.8, 0.75, 0.8, 0.85], [0.85, 0.9, 0.8, 0.8, 0.75, 0.9])
        labels = labels_given(rng, np.where(hard, 1 - truth, truth), skill, 0.8)
        if number < 3:
            labels[:, 5] = -1
        names = {"labelers": ["b", "c", "d", "e", "f", "a"], "options": {"name": f"r{number}"}}
        made.append(round_of(labels, some_gold(rng, truth, 0.3), prefix=f"r{number}-", **names))
    return made


def play(past: list[Round], position: int) -> JointEvidence:
    """The evidence of one play."""
    others = [one for place, one in enumerate(past) if place != position]
    analysis = analyze([past[position].without_gold()], others, Options("hero3"))
    evidence = analysis.question.currents[0].evidence
    assert isinstance(evidence, JointEvidence)
    return evidence


def fitted(past: list[Round], position: int) -> tuple[FirstPlay, np.ndarray]:
    evidence = play(past, position)
    fit = hero3(evidence)
    assert fit.levels is not None
    return FirstPlay(evidence, fit.levels, play_order(len(past), position)), fit.rates


def test_a_fit_is_laid_out_for_the_play_that_takes_it(past: list[Round]) -> None:
    """A labeler would start with another one's errors, and a round with another one's rate."""
    first, _ = fitted(past, 3)
    again, order = play(past, 0), play_order(4, 0)
    assert first.evidence.labelers[-1] == "a"  # whom the others' history does not know
    assert again.labelers[0] == "a"
    warm = started_from(first, again, order).warm_levels
    assert warm is not None
    for place, name in enumerate(again.labelers):
        old = first.evidence.labelers.index(name)
        assert (warm.parameters.answers[place] == first.fit.parameters.answers[old]).all()
        assert (warm.prior.answer_precision[place] == first.fit.prior.answer_precision[old]).all()
    for place, number in enumerate(order):
        assert (warm.parameters.tilts[place] == first.fit.parameters.tilts[first.order.index(number)]).all()


@pytest.mark.slow
def test_sharing_chooses_as_full_fits_do(past: list[Round]) -> None:
    """The default would take another method than the past rounds speak for, to save time."""
    quantity = Quantity("rate", np.array([0.0, 1.0]))
    asked = (past, [0, 1, 2, 3], ("0", "1"), [quantity], METHODS, Options())
    shared, full = replay(*asked, shared=SharedFits()), replay(*asked)
    assert [(one.round, one.method) for one in shared.plays] == [(one.round, one.method) for one in full.plays]
    assert len(full.drift) == 4
    assert not shared.drift  # nobody asks, and it takes a tenth of a play
    for one, other in zip(shared.plays, full.plays, strict=True):
        assert one.value == pytest.approx(other.value, abs=0.01)
        assert one.width == pytest.approx(other.width, rel=0.15, abs=0.01)
    assert choose_by_plays(shared.plays, METHODS)[0] == choose_by_plays(full.plays, METHODS)[0]


def test_what_does_not_fit_together_is_fitted_alone(past: list[Round]) -> None:
    """A play with other labelers would be read by parameters that are not theirs."""
    first, _ = fitted(past[:3], 2)  # without the sixth labeler
    assert started_from(first, play(past, 3), play_order(4, 3)).warm_levels is None


def test_a_round_that_the_first_play_lacked_starts_between_the_others(past: list[Round]) -> None:
    """Played in pairs, each round is fitted without the other one: its place would be taken by some other round's."""
    evidence = play(past[:3], 2)
    fit = hero3(evidence)
    assert fit.levels is not None
    first = FirstPlay(evidence, fit.levels, (0, 1, 2))
    order = play_order(4, 0, beside=1)
    assert order == (2, 3, 0)
    warm = started_from(first, evidence, order).warm_levels
    assert warm is not None
    for of in ("tilts", "classes"):
        old, new = (np.asarray(getattr(one.parameters, of)) for one in (fit.levels, warm))
        if of == "classes" and fit.levels.shape.n_levels:
            assert (new == old).all()
            continue
        old, new = (old, new) if of == "tilts" else (old.T, new.T)
        assert (new[[0, 2]] == old[[2, 0]]).all()
        assert new[1] == pytest.approx(old.mean(axis=0))


@pytest.mark.slow
def test_pairs_that_share_fits_are_played_as_full_fits_play_them(past: list[Round]) -> None:
    """The default for differences would go by other errors than the methods make, to save time."""
    quantity = Quantity("difference", np.array([0.0, 1.0]), (-1.0, 1.0))
    asked = (past, ("0", "1"), quantity, Options(), EMOptions(), 0.0, ["1"])
    shared, full = PairPlay(*asked), PairPlay(*asked, shared=None)
    for pair in ((0, 1), (1, 2), (2, 3)):
        for one, other in zip(shared(*pair), full(*pair), strict=True):
            assert (one.round, one.method) == (other.round, other.method)
            assert one.value == pytest.approx(other.value, abs=0.02)
            assert one.width == pytest.approx(other.width, rel=0.15, abs=0.01)
