"""Short cuts of HERO-3's fit end where the long way ends: the same maximum, the same shape, the same steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from make_rounds import Array, round_of

import hero_eval as hero
from hero_eval.estimation.options import Options
from hero_eval.estimation.replay import analyze
from hero_eval.methods.evidence import JointEvidence
from hero_eval.methods.hero3 import gather_rows
from hero_eval.model.em import EMOptions
from hero_eval.model.even_logits import even_blocks, even_covariance, even_precision, even_spread
from hero_eval.model.hero3 import fit as fitting
from hero_eval.model.hero3 import level_information
from hero_eval.model.hero3 import level_selection as selection
from hero_eval.model.hero3.context import read_in_context
from hero_eval.model.hero3.fit import LevelFit, fit_levels, near_maximum
from hero_eval.model.hero3.level_information import LevelInformation
from hero_eval.model.hero3.level_selection import choose_levels, shape_for
from hero_eval.model.hero3.m_steps import level_step
from hero_eval.model.hero3.multinomial import multinomial_information
from hero_eval.model.hero3.shape import LevelShape, RoundRows, as_vector
from hero_eval.model.pooling import Pooling, inverse_each, separate_parts, solve_each
from hero_eval.round import Round

TIGHT = EMOptions(tolerance=1e-9, step_tolerance=1e-6, max_steps=3_000)


def a_round(number: int, together: float, gold: bool = True) -> Round:
    rng = np.random.default_rng([5, number])
    truth = (rng.random(300) < 0.35 + 0.08 * (number % 3)).astype(int)
    hard, own = rng.normal(size=(300, 1)), rng.normal(size=(300, 6))
    right = together * hard + np.sqrt(1.0 - together**2) * own < np.linspace(0.4, 1.4, 6)
    known = np.where(rng.random(300) < 0.3, truth, -1) if gold else None
    return round_of(np.where(right, truth[:, None], 1 - truth[:, None]), known, prefix=f"r{number}-")


def rows_of(together: float) -> tuple[RoundRows, JointEvidence]:
    past = [a_round(number, together) for number in range(4)]
    evidence = analyze([a_round(9, together, gold=False)], past, Options("hero3")).question.currents[0].evidence
    assert isinstance(evidence, JointEvidence)
    return gather_rows(evidence, 2), evidence


@pytest.fixture(scope="module")
def leveled() -> LevelFit:
    rows, evidence = rows_of(0.7)
    return fit_levels(rows, LevelShape(3, 2, all_degrees=True), evidence.groups, TIGHT)


def test_mean_levels_and_maximum_are_found_at_once_as_in_turn(
    leveled: LevelFit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds would be read in a context that is not theirs, since both move together."""
    at_once = read_in_context(leveled, TIGHT)
    monkeypatch.setattr(fitting, "_settle", lambda *_: None)
    in_turn = read_in_context(leveled, TIGHT)
    assert at_once.prior.context > 0.0
    assert as_vector(at_once.parameters) == pytest.approx(as_vector(in_turn.parameters), abs=1e-6)
    assert at_once.objective == pytest.approx(in_turn.objective, abs=1e-6)
    own = at_once.prior.context * at_once.parameters.weights @ at_once.shape.theta
    assert at_once.rows.shift == pytest.approx(own, abs=1e-6)


def test_last_steps_with_a_kept_information_end_at_the_maximum(
    leveled: LevelFit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fit would stop short of its maximum, where it saves the time of an information."""
    rows, groups = leveled.rows, leveled.groups
    monkeypatch.setattr(fitting, "_chord", lambda *_: None)
    every = fit_levels(rows, leveled.shape, groups, TIGHT)
    assert as_vector(leveled.parameters) == pytest.approx(as_vector(every.parameters), abs=1e-6)


def test_a_step_from_far_off_is_a_step(leveled: LevelFit) -> None:
    """An estimate would end in a traceback where a trial step leaves a level without any weight."""
    at = leveled.parameters
    far = replace(at, levels=np.full_like(at.levels, -2_000.0), tilts=np.zeros_like(at.tilts))
    moved = replace(leveled, parameters=far)
    assert not moved.parameters.weights[:, 1:].any()
    levels, tilts = level_step(moved.rows, moved.shape, far, moved.expected)
    assert np.isfinite(levels).all()
    assert np.isfinite(tilts).all()


def test_looks_at_a_fit_do_not_change_it(leveled: LevelFit) -> None:
    """The shape that is chosen would be fitted another way where it has a rival, from what a look left behind."""
    rows, groups = leveled.rows, leveled.groups
    alone = near_maximum(rows, leveled.shape, groups)
    raced = near_maximum(rows, leveled.shape, groups, to_beat=alone.criterion - 1e6)
    assert raced.report.n_steps > 0  # it was not left
    assert as_vector(raced.parameters) == pytest.approx(as_vector(alone.parameters), abs=1e-12)
    anew = replace(raced)
    assert raced.criterion == pytest.approx(anew.criterion, rel=1e-12)


@pytest.mark.parametrize("n_levels", [0, 3, 7])
def test_priors_are_learned_until_they_rest(n_levels: int) -> None:
    """The interval would rest on how far labelers were thought to spread after so many steps, not on what they show."""
    rows, evidence = rows_of(0.7)
    fit = near_maximum(rows, shape_for(rows.n_rounds, LevelShape(n_levels, 2)), evidence.groups)
    rest = fit
    for _ in range(200):
        rest = fitting._prior_step(rest, None, None, loose=False)
    spread, at_rest = (np.diag(np.linalg.inv(one.prior.answer_precision[0])) for one in (fit, rest))
    assert np.sqrt(spread) == pytest.approx(np.sqrt(at_rest), rel=0.1)
    assert fit.criterion == pytest.approx(rest.criterion, abs=2.0)


def test_a_lost_fit_is_left_where_its_criterion_is_its_own(leveled: LevelFit) -> None:
    """A shape would be given up for the criterion of another point than the one it stands at."""
    rows, groups = leveled.rows, leveled.groups
    left = near_maximum(rows, leveled.shape, groups, to_beat=leveled.criterion + 1e6)
    assert left.report.n_steps == 0
    assert left.criterion == pytest.approx(replace(left).criterion, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("together", [0.0, 0.4, 0.7])
def test_shapes_that_are_left_early_would_not_have_been_chosen(
    together: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shape would be given up that explains the labels best."""
    rows, evidence = rows_of(together)
    quick = choose_levels(rows, evidence.groups, None)
    monkeypatch.setattr(fitting, "_LOST", np.inf)
    monkeypatch.setattr(selection, "_TOLD_LEVELS", 0.0)
    whole = choose_levels(rows, evidence.groups, None)
    assert quick.shape == whole.shape
    assert quick.criterion == pytest.approx(whole.criterion, abs=1e-9)


@pytest.mark.parametrize("n_logits", [1, 2, 4])
def test_priors_of_many_classes_hold_for_two(n_logits: int) -> None:
    """Labelers of two answers would get another prior than the same formula gives those of three."""
    block = np.array([[2.0, 0.3], [0.3, 1.0]])
    assert even_blocks(block, n_logits) == pytest.approx(np.kron(even_precision(n_logits), block))
    assert even_spread(block, n_logits) == pytest.approx(np.kron(even_covariance(n_logits), block))
    assert even_blocks(block, n_logits) is not block  # who adds to it would change the block


def wide(rng: np.random.Generator, n: int, answers: int, classes: int) -> Array:
    """Informations of labelers whose answers in different classes are parts of their own."""
    share = rng.dirichlet(np.ones(answers + 1), (n, classes)).transpose(0, 2, 1)[:, 1:]
    return multinomial_information(rng.uniform(5, 50, (n, classes)), share, np.eye(classes))


def test_many_classes_are_solved_for_part_by_part() -> None:
    """Labelers of twenty classes would get steps that are not Newton's, or take minutes for them."""
    rng = np.random.default_rng(4)
    matrices = wide(rng, 3, 9, 10) + 0.3 * np.eye(90)
    parts = separate_parts(matrices)
    assert parts is not None
    assert parts.shape == (10, 9)
    right = rng.normal(size=(3, 90, 2))
    assert inverse_each(matrices) == pytest.approx(np.linalg.inv(matrices))
    assert solve_each(matrices, right) == pytest.approx(np.linalg.solve(matrices, right))
    tied = matrices + 0.1  # nothing falls apart any more
    assert separate_parts(tied) is None
    assert inverse_each(tied) == pytest.approx(np.linalg.inv(tied))


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("n_groups", [1, 2])
def test_steps_of_many_numbers_are_those_of_the_whole_matrix(alike: bool, n_groups: int) -> None:
    """Means of groups would not move with their labelers."""
    rng = np.random.default_rng(6)
    loose = rng.normal(size=(4, 72, 90)) / 10
    precision = loose @ loose.transpose(0, 2, 1) + 0.5 * np.eye(72)
    precision = np.repeat(precision[:1], 4, axis=0) if alike else precision
    pooling = Pooling(np.arange(4) % n_groups, precision)
    hessian, right = wide(rng, 4, 8, 9) + precision, rng.normal(size=(4, 72))
    full = -pooling.dense()
    for place in range(4):
        at = slice(72 * place, 72 * (place + 1))
        full[at, at] += hessian[place]
    assert pooling.solve(hessian, right).ravel() == pytest.approx(np.linalg.solve(full, right.ravel()), abs=1e-9)


def test_informations_of_classes_by_themselves_are_those_of_any_design() -> None:
    """A labeler's answers in one class would count for another."""
    rng = np.random.default_rng(7)
    share = rng.dirichlet(np.ones(4), (2, 10)).transpose(0, 2, 1)[:, 1:]
    total = rng.uniform(1, 9, (2, 10))
    order = rng.permutation(10)
    apart = multinomial_information(total, share, np.eye(10))
    mixed = multinomial_information(total[:, order], share[:, :, order], np.eye(10)[order])  # no unit matrix any more
    assert apart == pytest.approx(mixed)


@pytest.mark.slow
def test_of_many_classes_the_one_asked_about_has_the_safer_interval() -> None:
    """Twenty profiles would take a minute; or intervals that may be too short would not say so."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 8, 400)
    labels = np.where(rng.random((400, 4)) < 0.8, truth[:, None], rng.integers(0, 8, (400, 4)))
    gold = np.where(np.arange(400) < 40, truth, -1)
    past, now = round_of(labels[:200], gold[:200], prefix="p"), round_of(labels[200:], None, prefix="n")
    found = hero.estimate_rate(now, past, method="hero1", positive="7")
    assert found.interval_kind == "profile"
    assert found.distribution is not None
    other = found.distribution["3"]
    assert other.interval_kind == "influence"
    (said,) = (one for one in other.findings if one.code == "F309")
    assert "may be too short; of 8 classes only what was asked about" in said.message
    assert said.doubts_interval


def test_shifts_move_scores_as_seen_by_moving_them(leveled: LevelFit) -> None:
    """Rounds in context would be read by another slope, so that intervals leave out, or count twice, what is shared."""
    fit = read_in_context(leveled, TIGHT)
    rows, step = fit.rows, 1e-4
    assert rows.shift is not None
    for number in range(rows.n_rounds):
        away = step * np.eye(rows.n_rounds)[number]
        up, down = (
            LevelInformation(replace(fit, rows=rows.with_shift(rows.shift + by))).score_sum() for by in (away, -away)
        )
        found = LevelInformation(fit).slopes.by_shift(fit.post)[:, number]
        assert found == pytest.approx((up - down) / (2 * step), abs=1e-5)


def test_sums_of_scores_are_those_of_all_rows(leveled: LevelFit) -> None:
    """A fit would end beside its maximum: its gradient is a sum over keys, not over rows."""
    classes = fit_levels(leveled.rows, LevelShape(0, 2), leveled.groups, TIGHT)
    for fit in (leveled, classes):
        information = LevelInformation(fit)
        by_rows = fit.rows.patterns.counts @ information.scores
        assert information.score_sum() == pytest.approx(by_rows, abs=1e-9)


def test_squares_of_scores_are_alike_sparse_and_full(leveled: LevelFit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors would depend on how many labelers there are: with many, labels' scores are kept sparse."""
    counts = leveled.rows.patterns.counts
    scores = LevelInformation(leveled).scores.toarray()
    for share in (0.0, 2.0):
        monkeypatch.setattr(level_information, "_DENSE_SHARE", share)
        squares = LevelInformation(leveled)._score_squares(counts)
        assert squares == pytest.approx(scores.T @ (counts[:, None] * scores), abs=1e-9)


def test_products_are_alike_sparse_and_full(leveled: LevelFit) -> None:
    """A fit would depend on how full the table of labels is, and classes that gold rules out would be no numbers."""
    rng = np.random.default_rng(0)
    keyed = leveled.rows.keyed(leveled.shape)
    by_cell, by_key = rng.normal(size=(keyed.patterns.cells.shape[1], 3)), rng.normal(size=(len(keyed.row), 3))
    by_key[keyed.golden, 0] = -np.inf
    found = []
    for full in (True, False):
        again = replace(keyed)
        assert again.shared is not None
        again.shared.__dict__["is_filled"] = full
        patterns = replace(keyed.patterns)
        patterns.__dict__["is_filled"] = full
        again.__dict__["patterns"] = patterns
        by_row = again.to_rows(by_cell, by_key)
        assert by_row.flags.f_contiguous
        shares = np.exp(by_row)
        found.append((by_row, *again.to_keys(shares), patterns.dense_cells))
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, rel=1e-12)
