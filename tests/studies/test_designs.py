"""The simulated populations: do they have the sizes, rates and spreads that the paper prints?

Monte Carlo checks allow five standard errors, worked out beside each; seeds are fixed, so they either hold or
do not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from repository import EXAMPLES, load_script
from scipy.special import expit
from scipy.stats import norm

import hero_eval
from hero_eval.studies.designs import EXPERIMENTS, Design, Draw, draw
from hero_eval.studies.twins import Twin, defect_twin, reveal, safety_twin

SMALL = EXPERIMENTS["exp1-small"][-1]
LARGE = EXPERIMENTS["exp1-large"][-1]


def draws(design: Design, count: int) -> list[Draw]:
    rng = np.random.default_rng(2024)
    return [draw(design, rng) for _ in range(count)]


def assert_same(first: Draw | Twin, second: Draw | Twin) -> None:
    for field in fields(first):
        np.testing.assert_equal(getattr(first, field.name), getattr(second, field.name))


class TestCells:
    def test_the_papers_table(self) -> None:
        assert [len(cells) for cells in EXPERIMENTS.values()] == [10, 6, 10]
        every = [cell for cells in EXPERIMENTS.values() for cell in cells]
        assert len({cell.name for cell in every}) == 26
        assert {(c.intercept, c.sensitivity_mean, c.specificity_mean) for c in every} == {(-0.2, 0.85, 0.55)}
        assert {(c.labeling_low, c.labeling_high) for c in every} == {(0.2, 0.6)}
        small, large = EXPERIMENTS["exp1-small"], EXPERIMENTS["exp1-large"]
        assert {(c.n_current, c.n_history, c.n_labelers, c.slope, c.concentration) for c in small} == {
            (150, 400, 5, 1.0, 8.0)
        }
        assert {(c.n_current, c.n_history, c.n_labelers, c.slope, c.concentration) for c in large} == {
            (300, 800, 10, 3.0, 8.0)
        }
        assert [c.gold_rate for c in small] == [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1]
        assert [c.gold_rate for c in large] == [0.05, 0.06, 0.07, 0.08, 0.09, 0.1]

    def test_the_second_experiment(self) -> None:
        cells = EXPERIMENTS["exp2"]
        assert [(c.concentration, c.gold_rate) for c in cells] == [
            (k, rate) for k in (150, 30, 12, 6, 3) for rate in (0.05, 0.1)
        ]
        assert {(c.n_current, c.n_history, c.n_labelers, c.slope) for c in cells} == {(300, 800, 10, 3.0)}


class TestTrueRate:
    def test_without_a_slope_it_is_the_logistic(self) -> None:
        assert replace(SMALL, slope=0.0).true_rate() == pytest.approx(float(expit(-0.2)), abs=1e-12)

    def test_without_an_intercept_it_is_a_half(self) -> None:
        assert replace(LARGE, intercept=0.0).true_rate() == pytest.approx(0.5, abs=1e-12)

    @pytest.mark.parametrize("design", [SMALL, LARGE])
    def test_near_the_probit(self, design: Design) -> None:
        # logistic(t) is within .0095 of Phi(t / 1.702), whose mean over X has the closed form Phi(b0 /
        # sqrt(1.702^2 + b1^2)): .4597 and .4769. A mean of errors below .0095 is below .0095.
        closed = norm.cdf(design.intercept / np.sqrt(1.702**2 + design.slope**2))
        assert design.true_rate() == pytest.approx(closed, abs=0.0095)

    @pytest.mark.parametrize(("design", "rate"), [(SMALL, 0.45876), (LARGE, 0.47705)])
    def test_by_the_trapezoid_rule(self, design: Design, rate: float) -> None:
        # On a fine grid the trapezoid rule is all but exact for a smooth function that vanishes at both ends.
        x = np.linspace(-10, 10, 20_001)
        values = expit(design.intercept + design.slope * x) * norm.pdf(x)
        assert design.true_rate() == pytest.approx(float(values.sum() * 1e-3), abs=1e-9)
        assert design.true_rate() == pytest.approx(rate, abs=5e-6)

    def test_the_items_have_it(self) -> None:
        truth = np.concatenate([d.current_truth for d in draws(LARGE, 100)])
        # About 29,800 items: a standard error of .0029.
        assert truth.mean() == pytest.approx(LARGE.true_rate(), abs=5 * 0.0029)


class TestDraw:
    def test_shapes_and_codes(self) -> None:
        one = draws(SMALL, 1)[0]
        n_history, n_current = len(one.history_gold), len(one.current_truth)
        assert one.history_labels.shape == (n_history, 5)
        assert one.history_x.shape == (n_history, 1)
        assert one.current_labels.shape == (n_current, 5)
        assert one.current_x.shape == (n_current, 1)
        assert one.sensitivity.shape == one.specificity.shape == (5,)
        assert one.history_labels.dtype == one.history_gold.dtype == one.current_truth.dtype == np.int8
        assert set(np.unique(one.history_labels)) == {-1, 0, 1}
        assert set(np.unique(one.history_gold)) == {-1, 0, 1}
        assert set(np.unique(one.current_truth)) == {0, 1}

    def test_a_seed_is_a_draw(self) -> None:
        first, again, other = (draw(LARGE, np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert_same(first, again)
        assert not np.array_equal(first.sensitivity, other.sensitivity)

    def test_a_generator_goes_on(self) -> None:
        first, second = draws(SMALL, 2)
        assert not np.array_equal(first.sensitivity, second.sensitivity)

    @pytest.mark.parametrize(("design", "share"), [(SMALL, 0.6**5), (LARGE, 0.6**10)])
    def test_items_that_nobody_labeled_are_left_out(self, design: Design, share: float) -> None:
        # A labeler is active with .4 on average, independently, so 7.8% of items have no label with five
        # labelers and .6% with ten. It varies between pools; the standard error over 400 pools is taken from
        # them.
        every = draws(design, 400)
        assert all((d.history_labels >= 0).any(axis=1).all() for d in every)
        assert all((d.current_labels >= 0).any(axis=1).all() for d in every)
        left_out = np.array([1 - len(d.history_gold) / design.n_history for d in every])
        assert left_out.mean() == pytest.approx(share, abs=5 * left_out.std() / np.sqrt(400))

    @pytest.mark.parametrize(
        ("design", "sensitivity_sd", "specificity_sd"),
        [
            (EXPERIMENTS["exp2"][0], 0.029, 0.040),
            (EXPERIMENTS["exp2"][2], 0.064, 0.089),
            (EXPERIMENTS["exp2"][4], 0.099, 0.138),
            (EXPERIMENTS["exp2"][6], 0.135, 0.188),
            (EXPERIMENTS["exp2"][8], 0.179, 0.249),
        ],
    )
    def test_labelers_differ_as_printed(self, design: Design, sensitivity_sd: float, specificity_sd: float) -> None:
        small_items = replace(design, n_history=10, n_current=10)
        every = draws(small_items, 1000)
        for values, mean, sd in (
            (np.concatenate([d.sensitivity for d in every]), 0.85, sensitivity_sd),
            (np.concatenate([d.specificity for d in every]), 0.55, specificity_sd),
        ):
            # 10,000 labelers: the mean's standard error is sd / 100; the sd's is at most 1.5% of it (the
            # kurtosis of these Betas is below 10, and sqrt((10 - 1) / 4 / 10,000) = .015). The table is
            # rounded to .0005.
            assert values.mean() == pytest.approx(mean, abs=5 * sd / 100)
            assert values.std() == pytest.approx(sd, abs=5 * 0.015 * sd + 0.0005)

    @pytest.mark.parametrize("design", [EXPERIMENTS["exp1-small"][0], LARGE])
    def test_gold_rates(self, design: Design) -> None:
        gold = np.concatenate([d.history_gold for d in draws(design, 200)])
        error = np.sqrt(design.gold_rate * (1 - design.gold_rate) / len(gold))
        assert (gold >= 0).mean() == pytest.approx(design.gold_rate, abs=5 * error)
        known = gold[gold >= 0]
        assert known.mean() == pytest.approx(design.true_rate(), abs=5 * 0.5 / np.sqrt(len(known)))

    def test_gold_may_be_missing_by_chance(self) -> None:
        # With about 370 items and a rate of .01, none is drawn with probability .99^370 = .024.
        every = draws(EXPERIMENTS["exp1-small"][0], 300)
        assert any((d.history_gold < 0).all() for d in every)

    def test_history_and_current_share_the_labelers(self) -> None:
        one = draw(replace(LARGE, n_history=40_000, n_current=40_000, gold_rate=1.0), np.random.default_rng(3))
        for labels, truth in (
            (one.history_labels, one.history_gold),
            (one.current_labels, one.current_truth),
        ):
            for j in range(10):
                for answer, probability in ((1, one.sensitivity[j]), (0, one.specificity[j])):
                    said = labels[(truth == answer) & (labels[:, j] >= 0), j]
                    error = np.sqrt(probability * (1 - probability) / len(said))
                    assert (said == answer).mean() == pytest.approx(probability, abs=5 * error)
        active = (one.history_labels >= 0).mean(axis=0), (one.current_labels >= 0).mean(axis=0)
        assert active[0] == pytest.approx(active[1], abs=5 * np.sqrt(0.5 / 40_000))
        # Leaving out the unlabeled raises the shares by no more than their .6% or so.
        assert (active[0] > 0.19).all()
        assert (active[0] < 0.62).all()

    def test_the_covariate_speaks_about_the_class(self) -> None:
        one = draw(replace(LARGE, n_current=40_000), np.random.default_rng(4))
        right = one.current_x[:, 0] > 1.5
        expected = expit(-0.2 + 3 * one.current_x[right, 0]).mean()
        assert one.current_truth[right].mean() == pytest.approx(expected, abs=5 * 0.13 / np.sqrt(right.sum()))


class TestTwins:
    @pytest.mark.parametrize("twin", [defect_twin, safety_twin])
    def test_a_seed_is_a_twin(self, twin: Callable[[np.random.Generator], Twin]) -> None:
        first, again, other = (twin(np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert_same(first, again)
        assert first.prompts != other.prompts
        assert len(set(first.prompts)) == len(first.prompts)

    def test_defect(self) -> None:
        twin = defect_twin(np.random.default_rng(5))
        assert len(twin.prompts) == 532
        assert twin.labelers[0] == "vendor-01"
        assert len(twin.labelers) == 10
        assert twin.history_judge is not None
        assert twin.current_judge is not None
        for labels, judge, truth, rate in (
            (twin.history_labels, twin.history_judge, twin.history_truth, 0.26),
            (twin.current_labels, twin.current_judge, twin.current_truth, 0.24),
        ):
            assert labels.shape == (532, 10)
            assert ((labels >= 0).sum(axis=1) == 3).all()
            # Standard errors: .020 for the rates, .010 for 6% missing, .016 for the judge's 88% or so
            # agreement.
            assert truth.mean() == pytest.approx(rate, abs=5 * 0.020)
            assert np.isnan(judge).mean() == pytest.approx(0.06, abs=5 * 0.010)
            assert (judge == truth)[~np.isnan(judge)].mean() == pytest.approx(0.875, abs=5 * 0.016)

    def test_defect_labelers_are_unlike(self) -> None:
        pooled = [defect_twin(np.random.default_rng(seed)) for seed in range(10)]
        labels = np.concatenate([twin.history_labels for twin in pooled])
        truth = np.concatenate([twin.history_truth for twin in pooled])
        agreement = [(labels[:, j] == truth)[labels[:, j] >= 0].mean() for j in range(10)]
        assert min(agreement) == pytest.approx(0.42, abs=0.05)
        assert max(agreement) == pytest.approx(0.91, abs=0.03)

    def test_defect_labeler_pool_shifts(self) -> None:
        twin = defect_twin(np.random.default_rng(5))
        history, current = ((labels >= 0).sum(axis=0) for labels in (twin.history_labels, twin.current_labels))
        assert (history > 0).all()
        assert (current == 0).sum() == 2
        assert np.abs(history / history.sum() - current / current.sum()).max() > 0.05

    def test_the_two_versions_of_a_prompt_go_together(self) -> None:
        correlations = []
        for seed in range(20):
            twin = defect_twin(np.random.default_rng(seed))
            correlations.append(np.corrcoef(twin.history_truth, twin.current_truth)[0, 1])
        # A single one has a standard error of about 1 / sqrt(532) = .043.
        assert 0.15 < np.mean(correlations) < 0.30

    def test_safety(self) -> None:
        twin = safety_twin(np.random.default_rng(6))
        assert len(twin.prompts) == 2046
        assert len(twin.labelers) == 11
        assert twin.gold_rate == 0.8
        assert twin.history_judge is None
        assert twin.current_judge is None
        for labels, truth, rate in (
            (twin.history_labels, twin.history_truth, 0.22),
            (twin.current_labels, twin.current_truth, 0.15),
        ):
            assert labels.shape == (2046, 11)
            counts = (labels >= 0).sum(axis=1)
            assert set(counts) == {4, 5, 6, 7}
            assert truth.mean() == pytest.approx(rate, abs=5 * 0.009)
        assert np.corrcoef(twin.history_truth, twin.current_truth)[0, 1] > 0.1

    def test_reveal(self) -> None:
        truth = np.arange(100, dtype=np.int8) % 2
        gold = reveal(truth.astype(np.int8), 0.1, np.random.default_rng(0))
        assert (gold >= 0).sum() == 10
        assert (gold[gold >= 0] == truth[gold >= 0]).all()


EXAMPLE = Path(hero_eval.__path__[0]) / "examples" / "defect"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script(EXAMPLES, "make_example")


class TestExample:
    def test_the_script_makes_just_these_bytes(self, script: ModuleType, tmp_path: Path) -> None:
        script.write_example(tmp_path)
        made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        kept = {path.relative_to(EXAMPLE): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
        assert made == kept

    def test_files(self) -> None:
        names = {str(path.relative_to(EXAMPLE)) for path in EXAMPLE.rglob("*") if path.is_file()}
        assert names == {
            "about.json",
            "history/labels.csv",
            "history/gold.csv",
            "history/items.csv",
            "current/labels.csv",
            "current/items.csv",
        }
        assert len((EXAMPLE / "history" / "gold.csv").read_text().splitlines()) == 1 + 53
        assert len((EXAMPLE / "current" / "labels.csv").read_text().splitlines()) == 1 + 3 * 532
        about = json.loads((EXAMPLE / "about.json").read_text())
        assert about["truth"] == pytest.approx(0.24, abs=0.03)
        assert about["history_truth"] == pytest.approx(0.29, abs=0.03)

    def test_the_story(self, script: ModuleType) -> None:
        truth, majority, hero1, hero2 = script.story_numbers(script.SEED)
        assert majority < -0.3 * truth
        assert abs(hero1) < abs(majority) / 2
        assert abs(hero2) < abs(majority) / 2
