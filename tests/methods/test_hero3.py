"""HERO-3: its model against a slow twin, its derivatives against numbers, and what must (not) change its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from make_rounds import binary_answers, codes, finding, labels_given, near_answers, round_of, some_gold
from reference import naive
from repository import TOOLS, load_script

import hero_eval as hero
from hero_eval.errors import HeroError
from hero_eval.estimate import Estimate
from hero_eval.methods import hero3 as hero3_module
from hero_eval.methods.evidence import CovariateColumns, JointEvidence
from hero_eval.model.em import EMOptions
from hero_eval.model.hero3 import context, current_rates, drift_split, level_information, level_selection
from hero_eval.model.hero3.context import read_in_context
from hero_eval.model.hero3.fit import LevelFit, fit_levels
from hero_eval.model.hero3.level_information import LevelInformation
from hero_eval.model.hero3.level_priors import PSEUDO_ITEMS, TILT_SD, log_prior
from hero_eval.model.hero3.likelihood import class_shares, e_step
from hero_eval.model.hero3.m_steps import level_step
from hero_eval.model.hero3.ordered_answers import first_scale
from hero_eval.model.hero3.shape import LevelParameters, LevelShape, RoundRows, moved_parameters, n_parameters
from hero_eval.model.patterns import patterns_of_matrix
from hero_eval.model.pooling import MEAN_SD, PSEUDO_GROUP
from hero_eval.round import Round

Array = np.ndarray
TIGHT = EMOptions(tolerance=1e-14, step_tolerance=1e-11, max_steps=30_000)
BOTH_SHAPES = pytest.mark.parametrize("n_levels", [0, 3], ids=["one component a class", "three levels"])
SHAPES = pytest.mark.parametrize("n_levels", [0, 3, -3], ids=["one component a class", "three levels", "three appeals"])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


@dataclass(frozen=True, eq=False)
class Items:
    """All items of two past rounds and the current one, item by item, and the same as the package's evidence."""

    labels: Array
    gold: Array
    of_round: Array
    weight: Array
    covariates: Array
    evidence: JointEvidence

    @property
    def rows(self) -> RoundRows:
        """With covariates as they are, so that they mean the same to the slow twin."""
        rows = hero3_module.gather_rows(self.evidence, self.evidence.n_classes)
        if self.covariates.shape[1] == 0:
            return rows
        patterns = replace(
            rows.patterns,
            cells=rows.patterns.cells[rows.patterns.row_of_item],
            gold=self.gold,
            counts=self.weight,
            row_of_item=np.arange(len(self.gold)),
        )
        return RoundRows(patterns, self.of_round, 3, self.evidence.n_classes, self.covariates)


def make_items(n_classes: int, n_covariates: int = 0, seed: int = 1, sizes: tuple[int, ...] = (60, 50, 40)) -> Items:
    """Five labelers, the last a stranger to history; gold in every round; items of any weight."""
    rng = np.random.default_rng([seed, n_classes, n_covariates])
    answers = near_answers(5, n_classes, 0.5, rng)
    of_round = np.repeat(np.arange(3), sizes)
    truth = np.array([rng.choice(n_classes, p=rng.dirichlet(np.full(n_classes, 9.0))) for _ in of_round])
    labels = labels_given(rng, truth, answers, 0.7)
    labels[of_round < 2, 4] = -1
    lost = (labels < 0).all(axis=1)
    labels[lost, 0] = truth[lost]
    gold = some_gold(rng, truth, 0.4)
    gold[of_round == 2] = np.where(rng.random(sizes[2]) < 0.15, truth[of_round == 2], -1)
    weight = rng.uniform(0.5, 2.0, len(truth))
    x = rng.normal(size=(len(truth), n_covariates)) + 0.7 * truth[:, None] * (np.arange(n_covariates) == 0)
    rounds = [
        patterns_of_matrix(labels[here], n_classes, gold[here]).reweighted(weight[here])
        for here in (of_round == number for number in range(3))
    ]
    now, names = of_round == 2, tuple(f"x{c}" for c in range(n_covariates))
    columns = CovariateColumns(names, x[now], x[~now], np.zeros(n_covariates, bool)) if n_covariates else None
    evidence = JointEvidence(
        n_classes=n_classes,
        current=rounds[2],
        unrouted=rounds[2],
        labelers=tuple("abcde"),
        past=tuple(rounds[:2]),
        groups=np.array([0, 0, 1, 1, 1]),
        n_strangers=1,
        covariates=columns,
    )
    return Items(labels, gold, of_round, weight, x, evidence)


def shape_of(n_levels: int, n_classes: int) -> LevelShape:
    """So many levels, or appeals if the number is negative."""
    return LevelShape(max(n_levels, 0), n_classes, n_appeals=max(-n_levels, 0))


def fitted(items: Items, n_levels: int, options: EMOptions = TIGHT) -> LevelFit:
    shape = shape_of(n_levels, items.evidence.n_classes)
    return fit_levels(items.rows, shape, items.evidence.groups, options)


def random_point(items: Items, shape: LevelShape, seed: int) -> LevelParameters:
    rng = np.random.default_rng(seed)
    n_classes, n_labelers = shape.n_classes, items.labels.shape[1]
    levels, tilts = (
        rng.normal(size=max(shape.n_weighted - 1, 0)),
        rng.normal(size=(3, shape.n_tilts)),
    )
    n_design = (2 if shape.n_levels else 3) + items.covariates.shape[1]
    lines = rng.normal(size=(n_labelers, n_classes - 1, shape.basis.shape[1]))
    return LevelParameters(lines, levels, tilts, rng.normal(size=(n_classes - 1, n_design)))


def slow_joints(items: Items, shape: LevelShape, at: LevelParameters) -> list[Array]:
    return [
        naive.level_joint(
            said, int(gold), int(r), x, shape.n_levels, at.answers, at.weights, at.classes, shape.n_appeals
        )
        for said, gold, r, x in zip(items.labels, items.gold, items.of_round, items.covariates, strict=True)
    ]


def slow_objective(items: Items, fit: LevelFit, at: LevelParameters) -> float:
    """The penalized log-likelihood, item by item."""
    likelihood = items.weight @ np.log([joint.sum() for joint in slow_joints(items, fit.shape, at)])
    prior = fit.prior
    return float(likelihood) + naive.level_log_prior(
        at.answers,
        at.levels,
        at.tilts,
        at.classes,
        groups=prior.groups.tolist(),
        answer_precision=prior.answer_precision,
        mean_sd=MEAN_SD,
        alike=PSEUDO_GROUP,
        pull=PSEUDO_ITEMS,
        tilt_sd=TILT_SD,
        class_mean=prior.class_mean,
        class_precision=prior.class_precision,
    )


def slopes_of(of: Callable[[LevelParameters], Any], at: LevelParameters, step: float = 1e-4) -> Array:
    """(p, ...): central differences in every free coordinate."""
    directions = step * np.eye(n_parameters(at))
    return np.array(
        [
            (np.asarray(of(moved_parameters(at, d))) - np.asarray(of(moved_parameters(at, -d)))) / (2 * step)
            for d in directions
        ]
    )


# ------------------------------------------------------------------------------------------------ the slow twin


@SHAPES
@CLASSES
@pytest.mark.parametrize("n_covariates", [0, 2])
def test_likelihood_is_that_of_the_slow_twin(n_classes: int, n_covariates: int, n_levels: int) -> None:
    """Counting patterns and working in logarithms would have changed what is fitted."""
    items = make_items(n_classes, n_covariates)
    rows, shape = items.rows, shape_of(n_levels, n_classes)
    for seed in range(2):
        at = random_point(items, shape, seed)
        joints = slow_joints(items, shape, at)
        post, by_row = e_step(rows, shape, at)
        assert by_row[rows.patterns.row_of_item] == pytest.approx(np.log([j.sum() for j in joints]), abs=1e-9)
        assert float(rows.patterns.counts @ by_row) == pytest.approx(
            float(items.weight @ np.log([j.sum() for j in joints])), abs=1e-9
        )
        shares = class_shares(rows, shape, at, post)[rows.patterns.row_of_item]
        assert shares == pytest.approx(np.array([j.sum(axis=0) / j.sum() for j in joints]), abs=1e-9)


@pytest.mark.slow
@SHAPES
@CLASSES
@pytest.mark.parametrize("n_covariates", [0, 1])
def test_the_fit_is_a_peak_of_the_slow_twin(n_classes: int, n_covariates: int, n_levels: int) -> None:
    """The climb would end beside the maximum, or climb something else than the model says.

    A peak is a peak for any items; these are few, since the twin goes through all of them twice for each parameter.
    """
    items = make_items(n_classes, n_covariates, sizes=(20, 18, 14))
    fit = fitted(items, n_levels)
    assert fit.report.converged
    slopes = slopes_of(lambda at: slow_objective(items, fit, at), fit.parameters)
    assert np.abs(slopes).max() < 2e-5
    assert fit.report.log_likelihood == pytest.approx(slow_objective(items, fit, fit.parameters), abs=1e-6)


@pytest.mark.slow
@CLASSES
@pytest.mark.parametrize("n_covariates", [0, 1])
def test_levels_in_context_are_shifted_intercepts(n_classes: int, n_covariates: int) -> None:
    """A level would be read otherwise than said: with h times its round's mean level added."""
    items = make_items(n_classes, n_covariates, sizes=(40, 35, 25))
    fit = read_in_context(fitted(items, 3), TIGHT)
    assert fit.prior.context > 0
    means = fit.parameters.weights @ fit.shape.theta
    assert fit.rows.shift == pytest.approx(fit.prior.context * means, abs=1e-6)
    post, by_row = e_step(fit.rows, fit.shape, fit.parameters)
    shares = class_shares(fit.rows, fit.shape, fit.parameters, post)
    for number in range(3):
        classes = fit.parameters.classes.copy()
        classes[:, 0] += classes[:, 1] * fit.prior.context * means[number]
        joints = slow_joints(items, fit.shape, replace(fit.parameters, classes=classes))
        for item in np.flatnonzero(items.of_round == number):
            row = fit.rows.patterns.row_of_item[item]
            assert by_row[row] == pytest.approx(np.log(joints[item].sum()), abs=1e-6)
            assert shares[row] == pytest.approx(joints[item].sum(axis=0) / joints[item].sum(), abs=1e-6)


def judged_rounds(rng: np.random.Generator, shared: float, n_past: int = 6) -> tuple[list[Round], Round, float]:
    """Rounds of unlike quality, seen by judges who add one shared error to each item's quality and an own one."""
    rounds, rate = [], 0.0
    for number in range(n_past + 1):
        quality = rng.normal(rng.normal(0.0, 0.8), 1.0, 150)
        seen = quality[:, None] + shared * rng.normal(size=(150, 1)) + 0.7 * rng.normal(size=(150, 6))
        truth = (quality > 0).astype(int)
        gold = some_gold(rng, truth, 0.25) if number < n_past else None
        rounds.append(round_of((seen > 0.2).astype(int), gold, prefix=f"r{number}", options={"classes": ["0", "1"]}))
        rate = float(truth.mean())
    return rounds[:-1], rounds[-1], rate


@pytest.mark.simulation
def test_rates_are_not_pulled_to_history_by_shared_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model much better than its forerunners would be told to be only a little better."""
    slopes = {}
    for ratio in (1.0, context.NOISE_RATIO):  # at 1 levels are read alike in all rounds
        monkeypatch.setattr(context, "NOISE_RATIO", ratio)
        rng = np.random.default_rng(17)
        ahead, off = [], []
        for _ in range(12):
            past, current, rate = judged_rounds(rng, 1.0)
            history = np.concatenate([one.gold[one.gold >= 0] for one in past]).mean()
            ahead.append(rate - history)
            off.append(hero.estimate_rate(current, past, method="hero3").value - rate)
        slopes[ratio] = float(np.dot(ahead, off) / np.dot(ahead, ahead))
    # B = 12, standard error of a slope about .03: nearly half of the lead was lost, and now a quarter
    assert slopes[1.0] < -0.35
    assert abs(slopes[context.NOISE_RATIO]) < 0.30


@SHAPES
def test_the_likelihood_climbs(n_levels: int) -> None:
    """A step of the fit could lead downhill, and the end depend on when it stops."""
    items = make_items(3)
    plain = replace(TIGHT, step_tolerance=None, accelerate=False, max_steps=60)
    path = fitted(items, n_levels, plain).report.path
    assert len(path) > 3
    assert np.diff(path).min() > -1e-7


# ------------------------------------------------------------------------------------------------ derivatives


@pytest.mark.slow
@SHAPES
@CLASSES
@pytest.mark.parametrize("n_covariates", [0, 2])
def test_scores_and_information_are_derivatives(n_classes: int, n_covariates: int, n_levels: int) -> None:
    """Every standard error of HERO-3 would rest on a wrong slope or curvature."""
    items = make_items(n_classes, n_covariates, sizes=(40, 35, 25))
    fit = fitted(items, n_levels)
    rows, shape, counts = fit.rows, fit.shape, fit.rows.patterns.counts

    def at_point(at: LevelParameters) -> LevelInformation:
        return LevelInformation(replace(fit, parameters=at))

    information = at_point(fit.parameters)
    assert information.size == n_parameters(fit.parameters)
    scores = slopes_of(lambda at: e_step(rows, shape, at)[1], fit.parameters).T
    assert information.scores.toarray() == pytest.approx(scores, abs=1e-6)
    here = rows.is_current
    curvature = -slopes_of(lambda at: at_point(at).scores.T @ np.where(here, counts, 0.0), fit.parameters)
    assert information.of_rows(here).toarray() == pytest.approx(curvature, abs=1e-4)
    whole = -slopes_of(lambda at: at_point(at).scores.T @ counts, fit.parameters)
    on_prior = -slopes_of(
        lambda at: slopes_of(lambda one: log_prior(shape, one, fit.prior), at, 1e-3), fit.parameters, 1e-3
    )
    assert information.solve(whole + on_prior) == pytest.approx(np.eye(information.size), abs=1e-3)
    assert not information.is_weak


@SHAPES
@CLASSES
def test_share_gradients_are_derivatives(n_classes: int, n_levels: int) -> None:
    """The parameters' errors would be carried to the rate by a wrong slope."""
    items = make_items(n_classes, 2, sizes=(40, 35, 25))
    fit = fitted(items, n_levels)
    rows, shape = fit.rows, fit.shape
    pull = np.random.default_rng(0).normal(size=(rows.patterns.n_rows, n_classes, 2))

    def total(at: LevelParameters) -> Array:
        return np.einsum("pk,pkc->c", class_shares(rows, shape, at, e_step(rows, shape, at)[0]), pull)

    assert fit.information.gradient(pull) == pytest.approx(slopes_of(total, fit.parameters), abs=1e-5)
    if n_levels > 0:
        return

    def total_of_prior(at: LevelParameters) -> Array:
        shares, _ = replace(fit, parameters=at).prior_shares(2)
        return np.einsum("pk,pkc->c", shares, pull)

    assert fit.information.prior_gradient(pull, 2) == pytest.approx(slopes_of(total_of_prior, fit.parameters), abs=1e-5)


def test_many_parameters_are_solved_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many labelers, where the information is never formed, the interval would change."""
    fit = fitted(make_items(3), 3)
    right = np.random.default_rng(0).normal(size=(n_parameters(fit.parameters), 2))
    dense = fit.information.solve(right)
    monkeypatch.setattr(level_information, "DENSE_LIMIT", 0)
    assert LevelInformation(fit).solve(right) == pytest.approx(dense, rel=1e-5, abs=1e-6)


@pytest.mark.slow
@SHAPES
@CLASSES
@pytest.mark.parametrize("n_covariates", [0, 1])
def test_influence_is_the_refitted_derivative(
    n_classes: int, n_covariates: int, n_levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A standard error would not be the one of this estimator: an item moves it by another amount than claimed.

    What the current gold shows of the round's drift is held, and so is what labels show of its mood: their errors are
    part of what is left of the drift.
    """
    shape = shape_of(n_levels, n_classes)
    monkeypatch.setattr(
        hero3_module, "choose_levels", lambda rows, groups, _: fit_levels(rows, shape, groups, TIGHT, loose=False)
    )
    monkeypatch.setattr(hero3_module, "_OPTIONS", TIGHT)
    hold(monkeypatch, current_rates, "gold_shift")
    hold(monkeypatch, hero3_module, "split_by_moods")
    evidence = make_items(n_classes, n_covariates, seed=3).evidence
    fit = hero3_module.hero3(evidence)
    assert fit.history is not None
    assert fit.over_both == (n_levels <= 0 and n_covariates > 0)  # so that both ways of averaging are tested
    assert fit.levels is not None
    assert (fit.levels.prior.context > 0) == (n_levels > 0)  # and levels in their context
    warm = replace(evidence, warm_levels=fit.levels, over_both=fit.over_both)
    first = evidence.past[0].n_items
    rng = np.random.default_rng(0)
    for number, claimed in ((2, fit.current), (0, fit.history[:first]), (1, fit.history[first:])):
        for item in rng.choice(len(claimed), 2, replace=False):
            slope = refit_slope(warm, number, int(item))
            assert slope == pytest.approx(claimed[item], rel=0.02, abs=0.01 * np.abs(claimed).max())


@pytest.mark.slow
@CLASSES
def test_influence_is_the_refitted_derivative_with_one_past_round(
    n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same where a part of the shift from the one past round is taken for drift; how far drift reaches is held."""
    monkeypatch.setattr(level_selection, "LEVELS", (3,))
    monkeypatch.setattr(hero3_module, "_OPTIONS", TIGHT)
    hold(monkeypatch, current_rates, "gold_shift")
    split, reaches = drift_split.split_shift, []

    def split_by_first(seen: Array, *reach: Any) -> Array:
        reaches.append(reach)
        return split(seen, *reaches[0])

    monkeypatch.setattr(drift_split, "split_shift", split_by_first)
    items = make_items(n_classes, seed=3)
    evidence = replace(items.evidence, past=items.evidence.past[:1])
    fit = hero3_module.hero3(evidence)
    assert fit.history is not None
    assert fit.levels is not None
    assert fit.between is not None
    unmoved = fit.between.moved(np.zeros(n_classes - 1))
    assert np.abs(fit.rates - unmoved).max() > 0.003  # a part was taken for drift
    warm = replace(evidence, warm_levels=fit.levels)
    rng = np.random.default_rng(0)
    for number, claimed in ((1, fit.current), (0, fit.history)):
        for item in rng.choice(len(claimed), 3, replace=False):
            slope = refit_slope(warm, number, int(item))
            assert slope == pytest.approx(claimed[item], rel=0.03, abs=0.02 * np.abs(claimed).max())


def hold(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """Let a function that a module calls return for ever what it returned first."""
    whole, first = getattr(module, name), []

    def once(*values: Any) -> Any:
        if not first:
            first.append(whole(*values))
        return first[0]

    monkeypatch.setattr(module, name, once)


def reweighted(wide: JointEvidence, number: int, weight: Array) -> JointEvidence:
    """With other weights in one round; the last is current."""
    if number == len(wide.past):
        return replace(wide, current=wide.current.reweighted(weight))
    past = list(wide.past)
    past[number] = past[number].reweighted(weight)
    return replace(wide, past=tuple(past))


def refit_slope(evidence: JointEvidence, number: int, item: int) -> Array:
    """d rates[1:] / d(log weight) of one item, by central differences of the refitted estimate, priors held."""
    step, found = 5e-3, []
    for sign in (1, -1):
        weight = (*evidence.past, evidence.current)[number].item_weight.copy()
        weight[item] *= 1 + sign * step
        found.append(hero3_module.rates(reweighted(evidence, number, weight))[1:])
    return (found[0] - found[1]) / (2 * step)


# ------------------------------------------------------------------------------------------------ invariance


@dataclass(frozen=True, eq=False)
class Team:
    """Three past rounds and a current one by the same labelers, as matrices."""

    labels: tuple[Array, ...]
    gold: tuple[Array, ...]
    truth: tuple[Array, ...]

    def round(self, number: int, **spelling: Any) -> Round:
        last = number == len(self.labels) - 1
        options = {"name": f"r{number}", **spelling.pop("options", {})}
        gold = None if last else self.gold[number]
        return round_of(self.labels[number], gold, prefix=f"r{number}-", options=options, **spelling)

    def rounds(self, **spelling: Any) -> list[Round]:
        return [self.round(number, **spelling) for number in range(len(self.labels))]


def make_team(
    seed: int,
    *,
    n_labelers: int = 6,
    size: int = 120,
    rates: tuple[float, ...] = (0.4, 0.6, 0.5, 0.45),
    drifts: tuple[float, ...] | None = None,
    gold: float = 0.3,
    together: float = 0.0,
) -> Team:
    """Labelers of fair skill; `drifts` are added to the logit of saying 1 in each round, `together` to each item's."""
    rng = np.random.default_rng(seed)
    skill, bias = rng.normal(1.3, 0.3, n_labelers), rng.normal(0.0, 0.4, n_labelers)
    labels, shown, truths = [], [], []
    for number, rate in enumerate(rates):
        truth = (rng.random(size) < rate).astype(int)
        logit = bias + skill * (2 * truth[:, None] - 1) + together * rng.normal(size=(size, 1))
        logit += drifts[number] if drifts else 0.0
        labels.append((rng.random((size, n_labelers)) < 1 / (1 + np.exp(-logit))).astype(int))
        shown.append(some_gold(rng, truth, gold))
        truths.append(truth)
    return Team(tuple(labels), tuple(shown), tuple(truths))


@pytest.fixture(scope="module")
def team() -> Team:
    return make_team(2, together=0.8)


def answer(rounds: list[Round], **options: Any) -> Estimate:
    """HERO-3 on the last of the rounds."""
    return hero.estimate_rate(rounds[-1], rounds[:-1], method="hero3", **options)


@pytest.fixture(scope="module")
def before(team: Team) -> Estimate:
    return answer(team.rounds())


def assert_same(one: Estimate, other: Estimate, tolerance: float = 1e-6) -> None:
    assert other.value == pytest.approx(one.value, abs=tolerance)
    assert other.std_error == pytest.approx(one.std_error, abs=tolerance)
    assert other.interval() == pytest.approx(one.interval(), abs=tolerance)


def test_the_same_data_give_the_same_bytes(team: Team, before: Estimate) -> None:
    """Two runs of the same command would print two numbers."""
    assert answer(team.rounds()).to_dict() == before.to_dict()


def test_names_change_nothing(team: Team, before: Estimate) -> None:
    """A team that anonymises its items, labelers or rounds would publish another number."""
    rng = np.random.default_rng(5)
    people = [f"person {code}" for code in rng.permutation(6)]
    renamed = [
        team.round(
            n, ids=[f"{n}/{code}" for code in rng.permutation(120)], labelers=people, options={"name": f"x{9 - n}"}
        )
        for n in range(4)
    ]
    assert_same(before, answer(renamed))


def test_the_order_of_past_rounds_changes_nothing(team: Team, before: Estimate) -> None:
    """Which past round is listed first would matter."""
    rounds = team.rounds()
    assert_same(before, answer([rounds[2], rounds[0], rounds[1], rounds[3]]))


def test_two_classes_mirror_each_other(team: Team, before: Estimate) -> None:
    """The rate of the one class would not be 1 less the rate of the other."""
    swapped = Team(
        tuple(1 - labels for labels in team.labels),
        tuple(np.where(gold >= 0, 1 - gold, -1) for gold in team.gold),
        team.truth,
    )
    after = answer(swapped.rounds())
    low, high = before.interval()
    assert after.value == pytest.approx(1 - before.value, abs=1e-5)
    assert after.std_error == pytest.approx(before.std_error, abs=1e-5)
    assert after.interval() == pytest.approx((1 - high, 1 - low), abs=1e-5)


@pytest.mark.slow
@BOTH_SHAPES
def test_a_weight_is_so_many_items(n_levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item of weight 2 would not count as two equal items."""
    monkeypatch.setattr(level_selection, "LEVELS", (n_levels,))
    evidence = make_items(2).evidence
    wide = repeated = evidence
    rng = np.random.default_rng(1)
    for number, patterns in enumerate((*wide.past, wide.current)):
        times = rng.integers(1, 4, patterns.n_items)
        wide = reweighted(wide, number, times.astype(float))
        again = replace(patterns, row_of_item=np.repeat(patterns.row_of_item, times)).reweighted(np.ones(times.sum()))
        rounds = [*repeated.past, repeated.current]
        rounds[number] = again
        repeated = replace(repeated, past=tuple(rounds[:-1]), current=rounds[-1])
    both = [replace(each, unrouted=each.current) for each in (wide, repeated)]  # weights of items, not of their gold
    one, other = (hero3_module.hero3(each) for each in both)
    assert other.rates == pytest.approx(one.rates, abs=1e-8)
    assert other.between is not None
    assert one.between is not None
    assert other.between.covariance() == pytest.approx(one.between.covariance(), abs=1e-8)


@pytest.mark.slow
def test_gold_for_all_current_items_is_counting(team: Team) -> None:
    """Where every current item has gold, the answer would still lean on the labelers."""
    past = team.rounds()[:-1]
    truth = team.truth[-1]
    current = round_of(team.labels[-1], truth, options={"name": "now"})
    found = answer([*past, current])
    assert found.value == pytest.approx(truth.mean(), abs=1e-9)
    by_counting = np.sqrt(truth.mean() * (1 - truth.mean()) / len(truth))
    assert found.std_error == pytest.approx(by_counting, rel=0.02)


def test_current_gold_sharpens(team: Team, before: Estimate) -> None:
    """A team that pays for some gold in the current round would gain nothing by it."""
    truth = team.truth[-1]
    shown = some_gold(np.random.default_rng(3), truth, 0.4)
    found = answer([*team.rounds()[:-1], round_of(team.labels[-1], shown, prefix="r3-")])
    low, high = found.interval()
    assert found.n_gold == before.n_gold + (shown >= 0).sum()
    assert high - low < np.diff(before.interval())[0]
    assert low <= truth.mean() <= high


# ------------------------------------------------------------------------------------------------ strangers


def named(labels: Array, people: list[str], gold: Array | None = None, **options: Any) -> Round:
    return round_of(labels, gold, labelers=people, prefix=options.get("name", "i"), options=options)


@pytest.mark.slow
def test_a_stranger_is_used_and_named(team: Team) -> None:
    """Labels of a new labeler would be thrown away, or used without a word."""
    people = [f"j{j}" for j in range(6)]
    past = [named(team.labels[n][:, :5], people[:5], team.gold[n], name=f"p{n}") for n in range(3)]
    whole = answer([*past, named(team.labels[3], people, name="now")])
    told = finding(whole, "F208")
    assert told.data["labelers"] == ["j5"]
    assert "j5" in told.message
    assert 0 < told.data["share"] < 0.5
    assert f"{told.data['share']:.0%}" in told.message
    without = answer([*past, named(team.labels[3][:, :5], people[:5], name="now")])
    assert "F208" not in codes(without)
    assert abs(whole.value - without.value) > 1e-4


def test_a_round_of_strangers_alone_is_answered(team: Team) -> None:
    """A team with all new labelers would get an error instead of an answer."""
    found = answer([*team.rounds()[:-1], named(team.labels[3], [f"new{j}" for j in range(6)], name="now")])
    low, high = found.interval()
    assert finding(found, "F208").data["share"] == pytest.approx(1.0)
    assert low <= team.truth[3].mean() <= high


def test_strangers_are_less_sure_than_known_labelers(team: Team) -> None:
    """The labels of two people never seen before would be trusted as if their reliability were known."""
    past, two = team.rounds()[:-1], team.labels[3][:, :2]
    known, strange = (answer([*past, named(two, people, name="now")]) for people in (["j0", "j1"], ["n0", "n1"]))
    assert strange.std_error > 1.05 * known.std_error


@pytest.mark.slow
def test_groups_tell_what_a_stranger_is_like() -> None:
    """A new labeler would be taken for an average one although its vendor is known to be another kind."""
    rng = np.random.default_rng(8)
    strict, lenient = binary_answers([0.6] * 4, [0.97] * 4), binary_answers([0.97] * 4, [0.6] * 4)
    answers = np.concatenate([strict, lenient])
    people = [f"strict{j}" for j in range(4)] + [f"lenient{j}" for j in range(4)]
    past = []
    for number, rate in enumerate((0.4, 0.5, 0.6)):
        truth = (rng.random(200) < rate).astype(int)
        past.append(named(labels_given(rng, truth, answers), people, some_gold(rng, truth, 0.5), name=f"p{number}"))
    truth = (rng.random(300) < 0.5).astype(int)
    now = named(labels_given(rng, truth, lenient[:2]), ["new0", "new1"], name="now")
    of_group = {one: one.rstrip("0123456789") for one in people}
    grouped = answer([*past, now], groups=of_group | {"new0": "lenient", "new1": "lenient"})
    wrong_group = answer([*past, now], groups=of_group | {"new0": "strict", "new1": "strict"})
    pooled = answer([*past, now])
    assert "groups" in finding(grouped, "F208").message
    assert "peers" in finding(pooled, "F208").message
    assert max(grouped.value, pooled.value) < wrong_group.value - 0.1  # a lenient labeler's "1" tells less
    assert abs(grouped.value - truth.mean()) < abs(wrong_group.value - truth.mean())


# ------------------------------------------------------------------------------------------------ drift


@pytest.mark.slow
def test_rounds_that_drift_widen_the_interval() -> None:
    """Reliability that moves from round to round would leave the interval as short as if it stood still."""
    rates = (0.4, 0.6, 0.5, 0.55, 0.45, 0.5)
    calm = answer(make_team(4, rates=rates, drifts=(0.0,) * 6, size=150).rounds())
    wild = answer(make_team(4, rates=rates, drifts=(1.5, -1.5, 1.2, -1.2, 1.5, 0.0), size=150).rounds())
    widths = [np.diff(one.interval())[0] for one in (calm, wild)]
    assert widths[1] > 1.3 * widths[0]
    assert "F310" not in codes(calm) + codes(wild)


def test_one_past_round_says_that_drift_is_unknown(team: Team) -> None:
    """A team with a single past round would think that its interval allows for the drift of its own rounds."""
    rounds = team.rounds()
    found = answer([rounds[0], rounds[3]])
    assert finding(found, "F310").data["assumed"] == ("F204" in codes(found))
    blind = round_of(team.labels[1], None, prefix="r1-", options={"name": "r1"})
    assert "F310" in codes(answer([rounds[0], blind, rounds[3]]))  # only rounds with gold show drift
    assert "F310" not in codes(answer(rounds))


@pytest.mark.slow
def test_two_rounds_of_one_name_drift_apart(team: Team) -> None:
    """The drift of two models' rounds would cancel in their difference, because neither round was given a name."""
    rng = np.random.default_rng(1)
    other = np.where(rng.random(team.labels[3].shape) < 0.9, team.labels[3], 0)
    errors = []
    for names in (("a", "b"), ("round", "round")):
        a, b = (
            round_of(labels, prefix="same-", options={"name": name})
            for labels, name in zip((team.labels[3], other), names, strict=True)
        )
        errors.append(hero.estimate_difference(a, b, team.rounds()[:-1], method="hero3").std_error)
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)


# ------------------------------------------------------------------------------------------------ simulation


@pytest.mark.simulation
def test_labelers_that_err_together_bias_it_far_less() -> None:
    """Errors that labelers share would pass for agreement, as they do in HERO-1."""
    limits = load_script(TOOLS, "measure_limits")
    (situation,) = (one for one in limits.SITUATIONS if one.together == 0.5)
    truth, gaps = limits.DESIGN.true_rate(), []
    for number in range(10):
        current, history = limits.draw(limits.DESIGN, situation, np.random.default_rng([9, number]))
        learned = hero.fit_reliability(history)
        gaps.append([hero.estimate_rate(current, learned, method=m).value - truth for m in ("hero1", "hero3")])
    bias = np.mean(gaps, axis=0)
    error = np.std(gaps, axis=0, ddof=1) / np.sqrt(len(gaps))
    assert bias[0] - 3 * error[0] > 0.05  # ten draws tell it to a hundredth
    assert abs(bias[1]) < bias[0] / 3 + 3 * np.hypot(error[1], error[0] / 3)


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"groups": ["j0", "j1"]}, "E201", "groups is list. It maps labelers to groups"),
        ({"groups": "vendor"}, "E201", "groups is str"),
        (
            {"groups": {"nobody": "a", "noone": "b"}},
            "E201",
            "groups names none of the labelers; it has 'nobody', 'noone'",
        ),
        ({"groups": {}}, "E201", "groups names none of the labelers"),
        ({"groups": {"j0": "a"}, "method": "hero1"}, "E204", "use hero3, or leave it out"),
        ({"penalty": 1.0}, "E204", "penalty is for covariates"),
        ({"covariates": ["height"]}, "E202", "height"),
        ({"interval": "profile"}, "E204", "hero3 has no profile likelihood"),
    ],
)
def test_wrong_calls_are_told(team: Team, options: dict[str, Any], code: str, message: str) -> None:
    """A typing error would end in a traceback from within, or in an answer to another question."""
    rounds = team.rounds()
    with pytest.raises(HeroError) as caught:
        hero.estimate_rate(rounds[-1], rounds[:-1], **{"method": "hero3", **options})
    assert caught.value.code == code
    assert message in str(caught.value)


def test_history_without_gold_is_told(team: Team) -> None:
    """Without any gold the model would name its classes by guess."""
    past = round_of(team.labels[0], None, prefix="p")
    with pytest.raises(HeroError, match="gold"):
        hero.estimate_rate(team.round(3), past, method="hero3")


def test_a_step_from_a_point_without_a_level_leads_back() -> None:
    """A long step that was tried on the way would end the estimate with a singular matrix."""
    items = make_items(2)
    fit = fitted(items, 3, EMOptions(max_steps=5))
    emptied = replace(fit.parameters, levels=np.array([-3000.0, 0.0]), tilts=np.zeros_like(fit.parameters.tilts))
    assert emptied.weights[:, 1].max() == 0.0
    expected = replace(fit, parameters=emptied).expected
    levels, tilts = level_step(items.rows, fit.shape, emptied, expected)
    assert levels[0] > emptied.levels[0]
    assert np.isfinite(tilts).all()


def test_answers_that_no_two_labels_share_keep_their_order() -> None:
    """One answer that items get again and again, and others once each, say nothing of which lie near each other; what a
    square root was rounded by said it, and in some tables started the fit at nan."""
    for size in range(2, 40):
        labels = np.full((4, size), -1)
        labels[0], labels[1:, 0] = 2, [0, 1, 2]
        patterns = patterns_of_matrix(labels, 3, np.array([2, -1, -1, -1]))
        rows = RoundRows(patterns, np.zeros(4, np.int64), 1, 3, np.zeros((4, 0)))
        assert first_scale(rows) == pytest.approx([0.0, 0.5, 1.0])


@pytest.mark.slow
def test_the_same_data_give_the_same_fit() -> None:
    """Other tests take a fit that was made before for the one that would be made again (`tests/fits_once.py`)."""
    rng = np.random.default_rng(8)
    answers = binary_answers(np.full(4, 0.85), np.full(4, 0.8))
    truth = rng.integers(0, 2, 200)
    labels = labels_given(rng, truth, answers)
    rows = [round_of(labels, some_gold(rng, truth, 0.3), prefix="h"), round_of(labels[:90], prefix="c")]
    first, second = (hero.estimate_rate(rows[1], rows[0], method="hero3") for _ in range(2))
    assert first.to_dict() == second.to_dict()
    assert first.items("pyarrow").equals(second.items("pyarrow"))
