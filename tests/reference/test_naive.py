"""The slow twins against answers worked out by hand. Faster code is held to the slow twins elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from reference import naive

pytestmark = pytest.mark.numbers


def column(*values: int) -> np.ndarray:
    return np.array(values)[:, None]


# One labeler, eight gold items, four of each class, three of four right in both: sensitivity and specificity
# 3/4.
GOLD = np.array([1, 1, 1, 1, 0, 0, 0, 0])
THREE_OF_FOUR = column(1, 1, 1, 0, 0, 0, 0, 1)


def one_labeler(sensitivity: float, specificity: float) -> np.ndarray:
    return np.array([[[specificity, 1 - specificity], [1 - sensitivity, sensitivity]]])


def random_round(
    seed: int, n: int = 60, n_labelers: int = 4, n_classes: int = 3, gold_rate: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    answers = rng.dirichlet(np.ones(n_classes), size=(n_labelers, n_classes))
    answers = 0.5 * answers + 0.5 * np.eye(n_classes)
    truth = rng.integers(n_classes, size=n)
    labels = np.array([[rng.choice(n_classes, p=answers[j, y]) for j in range(n_labelers)] for y in truth])
    labels[rng.random(labels.shape) < 0.3] = -1
    labels[(labels < 0).all(axis=1), 0] = 0
    return labels, np.where(rng.random(n) < gold_rate, truth, -1)


class TestMajorityVote:
    def test_ties_are_split(self) -> None:
        # Item by item the share of class 1: two of three votes -> 1; one of two -> 1/2; a lone 0 -> 0. Mean
        # 1/2.
        labels = np.array([[1, 1, 0], [1, -1, 0], [-1, 0, -1]])
        assert naive.majority_vote(labels, 2) == pytest.approx([0.5, 0.5])

    def test_three_classes(self) -> None:
        # A three-way tie gives 1/3 each, and [2, 2, 0] is class 2: means (1/6, 1/6, 1/6 + 1/2).
        labels = np.array([[0, 1, 2], [2, 2, 0]])
        assert naive.majority_vote(labels, 3) == pytest.approx([1 / 6, 1 / 6, 4 / 6])

    def test_plurality_is_enough(self) -> None:
        # Two of five votes win where the other three are all different.
        assert naive.majority_vote(np.array([[1, 0, 1, 2, 3]]), 4) == pytest.approx([0, 1, 0, 0])

    def test_weights_of_any_scale(self) -> None:
        # A positive item of weight 3 and a negative one of weight 1: 3/4.
        assert naive.majority_vote(column(1, 0), 2, weights=[30, 10]) == pytest.approx([0.25, 0.75])

    def test_an_item_without_labels_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no label"):
            naive.majority_vote(np.array([[-1, -1]]), 2)


class TestFlooredShares:
    def test_two_answers_are_plainly_clipped(self) -> None:
        assert naive.floored_shares(np.array([99.0, 1.0]), 0.05) == pytest.approx([0.95, 0.05])
        assert naive.floored_shares(np.array([3.0, 1.0]), 0.05) == pytest.approx([0.75, 0.25])

    def test_raising_one_share_may_sink_another(self) -> None:
        # Shares .948, .052, 0. The third goes to .05, which leaves .95 for 91 : 5, that is .0495 for the
        # second: below .05 too. So (.9, .05, .05).
        assert naive.floored_shares(np.array([91.0, 5.0, 0.0]), 0.05) == pytest.approx([0.9, 0.05, 0.05])

    def test_it_is_the_maximum(self) -> None:
        # (60, 38, 2) with floor .1: the last at .1, the others share .9 as 60 : 38. No point on a fine grid
        # does better.
        counts = np.array([60.0, 38.0, 2.0])
        shares = naive.floored_shares(counts, 0.1)
        assert shares == pytest.approx([0.9 * 60 / 98, 0.9 * 38 / 98, 0.1])
        grid = np.arange(100, 801) / 1000
        first, second = np.meshgrid(grid, grid)
        third = 1 - first - second
        allowed = third >= 0.1 - 1e-12
        points = np.stack([first[allowed], second[allowed], third[allowed]], axis=1)
        assert (np.log(points) @ counts).max() <= np.log(shares) @ counts


class TestAnchoredEm:
    def test_with_all_gold_it_counts(self) -> None:
        class_weights, answers = naive.anchored_em(THREE_OF_FOUR, GOLD, 2)
        assert class_weights == pytest.approx([0.5, 0.5])
        assert answers == pytest.approx(one_labeler(0.75, 0.75))

    def test_with_all_gold_and_weights_it_counts_weights(self) -> None:
        # The missed positive weighs 3, the rest 1: sensitivity 3/6, positives 6 of 10. Any common factor
        # cancels.
        weights = 7.0 * np.array([1, 1, 1, 3, 1, 1, 1, 1])
        class_weights, answers = naive.anchored_em(THREE_OF_FOUR, GOLD, 2, weights)
        assert class_weights == pytest.approx([0.4, 0.6])
        assert answers == pytest.approx(one_labeler(0.5, 0.75))

    def test_a_perfect_labeler_is_clipped(self) -> None:
        _, answers = naive.anchored_em(column(1, 0), np.array([1, 0]), 2, clip=0.01)
        assert answers == pytest.approx(one_labeler(0.99, 0.99))

    def test_the_start_pools_where_a_labeler_has_no_gold(self) -> None:
        # Labeler 0 saw both positive gold items and said 1, 0: sensitivity 1/2, which labeler 1, who saw
        # none, borrows. On the negative one both said 0: specificity 1, clipped. Gold: 2 of 3 positive.
        labels = np.array([[1, -1], [0, -1], [0, 0], [1, 1]])
        class_weights, answers = naive.anchored_em(labels, np.array([1, 1, 0, -1]), 2, clip=0.1, max_steps=0)
        assert class_weights == pytest.approx([1 / 3, 2 / 3])
        assert answers[0] == pytest.approx(one_labeler(0.5, 0.9)[0])
        assert answers[1] == pytest.approx(one_labeler(0.5, 0.9)[0])

    def test_a_class_without_gold_starts_even(self) -> None:
        class_weights, answers = naive.anchored_em(column(1, 1, 0), np.array([1, -1, -1]), 2, clip=0.1, max_steps=0)
        assert class_weights == pytest.approx([0.1, 0.9])
        assert answers == pytest.approx(one_labeler(0.9, 0.5))

    def test_one_step_by_hand(self) -> None:
        # Labels 1, 0, 1, 1 with gold 1, 0, 0, none; clip .2. Start: weight of class 1 1/3, sensitivity 1 ->
        # .8, specificity 1/2. The last item is positive with (1/3 * .8) / (1/3 * .8 + 2/3 * .5) = 4/9. So the
        # weight of class 1 is (1 + 4/9) / 4 = 13/36. Class 1 was always answered 1: .8 again. Class 0 was
        # answered 0 once, 1 with weight 1 + 5/9: specificity 1 / (2 + 5/9) = 9/23.
        class_weights, answers = naive.anchored_em(
            column(1, 0, 1, 1), np.array([1, 0, 0, -1]), 2, clip=0.2, max_steps=1
        )
        assert class_weights == pytest.approx([23 / 36, 13 / 36])
        assert answers == pytest.approx(one_labeler(0.8, 9 / 23))

    def test_one_labeler_without_current_information_keeps_the_gold_counts(self) -> None:
        # One labeler, and items without gold split half and half like the gold items' labels: the gold start
        # is already the maximum, because it explains the share of ones (1/2 * 3/4 + 1/2 * 1/4 = 1/2) exactly.
        labels = np.concatenate([THREE_OF_FOUR, column(1, 0, 1, 0)])
        gold = np.concatenate([GOLD, np.full(4, -1)])
        class_weights, answers = naive.anchored_em(labels, gold, 2)
        assert class_weights == pytest.approx([0.5, 0.5], abs=1e-8)
        assert answers == pytest.approx(one_labeler(0.75, 0.75), abs=1e-8)

    def test_a_labeler_who_labeled_nothing_keeps_the_start(self) -> None:
        labels = np.hstack([THREE_OF_FOUR, np.full((8, 1), -1)])
        _, answers = naive.anchored_em(labels, GOLD, 2)
        assert answers[1] == pytest.approx(answers[0])

    def test_a_weight_of_two_is_the_item_twice(self) -> None:
        labels, gold = random_round(3)
        weights = np.where(np.arange(len(labels)) % 3 == 0, 2.0, 1.0)
        twice = np.concatenate([labels, labels[weights == 2]])
        of_twice = np.concatenate([gold, gold[weights == 2]])
        weighted = naive.anchored_em(labels, gold, 3, weights)
        repeated = naive.anchored_em(twice, of_twice, 3)
        assert weighted[0] == pytest.approx(repeated[0], abs=1e-7)
        assert weighted[1] == pytest.approx(repeated[1], abs=1e-7)

    @pytest.mark.parametrize("clip", [1e-3, 0.1])
    def test_every_step_climbs(self, clip: float) -> None:
        labels, gold = random_round(5)
        values = [
            naive.log_likelihood(labels, gold, *naive.anchored_em(labels, gold, 3, clip=clip, max_steps=steps))
            for steps in range(25)
        ]
        assert (np.diff(values) >= -1e-12).all()
        assert values[-1] > values[0]

    def test_the_end_does_not_move(self) -> None:
        labels, gold = random_round(6)
        class_weights, answers = naive.anchored_em(labels, gold, 3)
        value = naive.log_likelihood(labels, gold, class_weights, answers)
        # No small change of the class weights does better, within the simplex.
        for k, other in ((0, 1), (1, 2), (2, 0)):
            moved = class_weights.copy()
            moved[k] += 1e-4
            moved[other] -= 1e-4
            assert naive.log_likelihood(labels, gold, moved, answers) < value

    def test_more_answers_than_classes(self) -> None:
        # Class 1 answered 1, 1, 2 (2: "cannot tell"), class 0 answered 0: with clip .1 the row (0, 2/3, 1/3)
        # becomes (.1, .6, .3), and (1, 0, 0) becomes (.8, .1, .1).
        _, answers = naive.anchored_em(column(1, 1, 2, 0), np.array([1, 1, 1, 0]), 2, clip=0.1, n_answers=3)
        assert answers == pytest.approx(np.array([[[0.8, 0.1, 0.1], [0.1, 0.6, 0.3]]]))

    def test_no_gold_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least one item with gold"):
            naive.anchored_em(column(1, 0), np.array([-1, -1]), 2)


def test_log_likelihood_by_hand() -> None:
    # Sensitivity .8, specificity .7, class weight .4. A gold positive answered 1 gives .4 * .8; an item
    # without gold answered 0 gives .4 * .2 + .6 * .7 = .5. The second weighs three times as much: of mean 1,
    # .5 and 1.5.
    value = naive.log_likelihood(column(1, 0), np.array([1, -1]), np.array([0.6, 0.4]), one_labeler(0.8, 0.7), [1, 3])
    assert value == pytest.approx(0.5 * np.log(0.32) + 1.5 * np.log(0.5))


class TestDawidSkene:
    def test_labelers_who_always_agree(self) -> None:
        # Three labelers say the same on every item, 1 on one in four. Then the classes are what they say:
        # share 1/4, every labeler right but for the clip. What an item's other class keeps is of order (.001
        # / .999)^3 = 1e-9.
        labels = np.repeat(column(1, 0, 0, 0), 3, axis=1)
        class_weights, answers = naive.dawid_skene(labels, 2)
        assert class_weights == pytest.approx([0.75, 0.25], abs=1e-7)
        assert answers == pytest.approx(np.repeat(one_labeler(0.999, 0.999), 3, axis=0), abs=1e-7)

    def test_it_starts_from_vote_shares(self) -> None:
        # Items (1, 1), (1, 0), (0, 0): shares of class 1 are 1, 1/2, 0, so its weight is 1/2. Labeler 0 said
        # 1 to items 0 and 1, which hold 1 + 1/2 of class 1's 3/2 and 1/2 of class 0's 3/2: sensitivity 1
        # (clipped), specificity 2/3. Labeler 1 the other way round: 1 to item 0 only, sensitivity 2/3,
        # specificity 1.
        labels = np.array([[1, 1], [1, 0], [0, 0]])
        class_weights, answers = naive.dawid_skene(labels, 2, clip=0.01, max_steps=0)
        assert class_weights == pytest.approx([0.5, 0.5])
        assert answers[0] == pytest.approx(one_labeler(0.99, 2 / 3)[0])
        assert answers[1] == pytest.approx(one_labeler(2 / 3, 0.99)[0])

    def test_an_item_without_labels_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no label"):
            naive.dawid_skene(np.array([[1, 0], [-1, -1]]), 2)


def test_gold_proportions_are_smoothed() -> None:
    # 3 of 4 right becomes (3 + 1) / (4 + 2) = 2/3, on both sides. A labeler without labels gets 1/2.
    labels = np.hstack([THREE_OF_FOUR, np.full((8, 1), -1)])
    answers = naive.gold_proportion_answers(labels, GOLD, 2)
    assert answers[0] == pytest.approx(one_labeler(2 / 3, 2 / 3)[0])
    assert answers[1] == pytest.approx(np.full((2, 2), 0.5))


def test_gold_proportion() -> None:
    # Sensitivity and specificity 2/3, half of the current labels are 1: (1/2 + 2/3 - 1) / (1/3) = 1/2. With 5
    # of 9: (5/9 - 1/3) / (1/3) = 2/3.
    assert naive.gold_proportion(THREE_OF_FOUR, GOLD, column(1, 0), 2)[1] == pytest.approx(1 / 2)
    five_of_nine = column(1, 1, 1, 1, 1, 0, 0, 0, 0)
    assert naive.gold_proportion(THREE_OF_FOUR, GOLD, five_of_nine, 2)[1] == pytest.approx(2 / 3)


def test_class_likelihoods_by_hand() -> None:
    # Labelers with (sensitivity, specificity) (.8, .7) and (.9, .6). Both say 1: .8 * .9 and .3 * .4. Only
    # the first, who says 0: .2 and .7. Nobody: 1 and 1.
    answers = np.concatenate([one_labeler(0.8, 0.7), one_labeler(0.9, 0.6)])
    labels = np.array([[1, 1], [0, -1], [-1, -1]])
    expected = np.array([[0.12, 0.72], [0.7, 0.2], [1.0, 1.0]])
    assert naive.class_likelihoods(labels, answers) == pytest.approx(expected)


class TestSolveRates:
    @staticmethod
    def share_of_ones(ones: int, zeros: int, tilt: float | None = None) -> float:
        """One labeler with sensitivity .8 and specificity .7, whose labels are these."""
        labels = column(*[1] * ones, *[0] * zeros)
        likelihoods = naive.class_likelihoods(labels, one_labeler(0.8, 0.7))
        return float(naive.solve_rates(likelihoods, tilt=None if tilt is None else [tilt])[1])

    def test_one_labeler_is_rogan_gladen(self) -> None:
        # (observed + specificity - 1) / (sensitivity + specificity - 1) = (.5 - .3) / .5 and (.35 - .3) / .5.
        assert self.share_of_ones(10, 10) == pytest.approx(0.4, abs=1e-12)
        assert self.share_of_ones(7, 13) == pytest.approx(0.1, abs=1e-12)

    def test_edges(self) -> None:
        # Fewer ones than false alarms alone would make (.2 < .3), and more than the sensitivity allows (.9 >
        # .8).
        assert self.share_of_ones(2, 8) == 0.0
        assert self.share_of_ones(9, 1) == 1.0

    def test_tilt_by_hand(self) -> None:
        # With p ones observed and q = .3 + .5 rate expected the mean score is .5 (p - q) / (q (1 - q)). At p
        # = 1/2, asking for q = .4 means a tilt of .5 * .1 / .24, and the rate (.4 - .3) / .5 = .2.
        assert self.share_of_ones(10, 10, tilt=0.05 / 0.24) == pytest.approx(0.2, abs=1e-12)

    def test_tilted_over_the_edge(self) -> None:
        # At rate 0 (q = .3) the mean score is .5 * .2 / .21 = .476; a tilt of .5 is above it everywhere.
        assert self.share_of_ones(10, 10, tilt=0.5) == 0.0
        assert self.share_of_ones(10, 10, tilt=-3.0) == 1.0

    def test_weights_are_repetitions(self) -> None:
        likelihoods = naive.class_likelihoods(column(1, 0), one_labeler(0.8, 0.7))
        assert naive.solve_rates(likelihoods, [7, 13])[1] == pytest.approx(0.1, abs=1e-12)

    def test_a_weight_of_zero_is_absence(self) -> None:
        likelihoods = np.array([[0.0, 1.0], [0.3, 0.8], [0.7, 0.2]])
        assert naive.solve_rates(likelihoods, [0, 1, 1])[1] == pytest.approx(0.4, abs=1e-12)

    def test_silence_is_nan(self) -> None:
        assert np.isnan(naive.solve_rates(np.full((3, 2), 0.25))).all()
        assert np.isnan(naive.solve_rates(np.full((3, 3), 0.25))).all()

    def test_impossible_items_are_refused(self) -> None:
        with pytest.raises(ValueError, match="likelihood 0"):
            naive.solve_rates(np.array([[0.0, 0.0], [1.0, 0.5]]))

    CONFUSION = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]])

    def test_three_classes_one_labeler(self) -> None:
        # Rates (.5, .3, .2) make answers with shares (.42, .40, .18) by the columns of the confusion matrix.
        # Observing just these, no rates explain them better, and the matrix can be inverted.
        observed = np.array([0.5, 0.3, 0.2]) @ self.CONFUSION
        assert observed == pytest.approx([0.42, 0.40, 0.18])
        assert naive.solve_rates(self.CONFUSION.T, observed) == pytest.approx([0.5, 0.3, 0.2], abs=1e-10)

    def test_three_classes_tilted(self) -> None:
        # The tilt under which given rates solve the equation is the mean score at these rates.
        wanted = np.array([0.25, 0.35, 0.4])
        observed = np.array([0.42, 0.40, 0.18])
        tilt = observed @ naive.scores(self.CONFUSION.T, wanted)
        assert naive.solve_rates(self.CONFUSION.T, observed, tilt) == pytest.approx(wanted, abs=1e-10)

    def test_three_classes_at_an_edge(self) -> None:
        # Answer 2 is never given, so class 2, half of whose answers it is, has no share: its likelihoods (.2,
        # .3) are below any mix of the others'. What remains is two classes with answers 0 and 1: the mean
        # score vanishes at rate r of class 1 with 6/10 / (.7 - .6 r) * -.6 + 4/10 / (.2 + .6 r) * .6 = 0,
        # that is .6 (.2 + .6 r) = .4 (.7 - .6 r), so r = .16 / .6 = 4/15.
        rates = naive.solve_rates(self.CONFUSION.T[:2], [6, 4])
        assert rates == pytest.approx([11 / 15, 4 / 15, 0], abs=1e-10)

    def test_three_classes_in_a_corner(self) -> None:
        assert naive.solve_rates(self.CONFUSION.T[:1]) == pytest.approx([1, 0, 0], abs=1e-10)

    @pytest.mark.parametrize("seed", range(20))
    @pytest.mark.parametrize("tilted", [False, True])
    def test_nothing_is_left_to_climb(self, seed: int, tilted: bool) -> None:
        # Of a concave function on the simplex a point is the maximum just when no corner is uphill from it.
        labels, gold = random_round(seed, n=40, n_classes=4)
        likelihoods = naive.class_likelihoods(labels, naive.gold_proportion_answers(labels, gold, 4))
        tilt = np.random.default_rng(seed).normal(0, 0.3, 3) if tilted else np.zeros(3)
        rates = naive.solve_rates(likelihoods, tilt=tilt)
        assert rates.sum() == pytest.approx(1)
        assert (rates >= 0).all()
        gradient = (likelihoods / (likelihoods @ rates)[:, None]).mean(axis=0) - np.append(0, tilt)
        assert gradient.max() - gradient @ rates < 1e-10

    def test_two_classes_are_three_with_an_impossible_one(self) -> None:
        labels, gold = random_round(9, n_classes=2)
        likelihoods = naive.class_likelihoods(labels, naive.gold_proportion_answers(labels, gold, 2))
        padded = np.hstack([likelihoods, np.zeros((len(labels), 1))])
        two = naive.solve_rates(likelihoods, tilt=[0.1])
        assert naive.solve_rates(padded, tilt=[0.1, 0.0]) == pytest.approx(np.append(two, 0), abs=1e-10)


def test_scores_by_hand() -> None:
    # Likelihoods (.3, .8) at rates (.6, .4): (.8 - .3) / (.18 + .32) = 1.
    assert naive.scores(np.array([[0.3, 0.8]]), np.array([0.6, 0.4])) == pytest.approx(np.array([[1.0]]))


def test_hero1_by_hand() -> None:
    # History teaches 3/4 and 3/4; 5 of 8 current labels are 1: (5/8 - 1/4) / (1/2) = 3/4.
    rates = naive.hero1(THREE_OF_FOUR, GOLD, column(1, 1, 1, 1, 1, 0, 0, 0), 2)
    assert rates == pytest.approx([0.25, 0.75])


class TestHero2:
    """Sensitivity and specificity 3/4, current labels 1, 1, 0, 0, and the label itself as the covariate.

    With p = 1/2 ones observed and q = 1/4 + rate / 2 expected, the mean score is (p - q) / (2 q (1 - q)). At
    the pilot (q = p) the score is 1 for a one and -1 for a zero, so gamma, its slope in the label, is 2.
    """

    LABELS = column(1, 1, 0, 0)
    X = np.array([[1.0], [1.0], [0.0], [0.0]])
    HISTORY_X = np.array([1.0, 1, 1, 0, 0, 0, 0, 0])[:, None]  # mean 3/8

    def rate(self, history_x: np.ndarray, x: np.ndarray, penalty: float = 0.0) -> float:
        return float(naive.hero2(THREE_OF_FOUR, GOLD, history_x, self.LABELS, x, 2, penalty=penalty)[1])

    def test_gamma(self) -> None:
        pilot = np.array([[1.0], [1.0], [-1.0], [-1.0]])
        assert naive.control_coefficients(pilot, self.X) == pytest.approx(np.array([[2.0]]))

    def test_by_hand(self) -> None:
        # gamma (mean x - m) = 2 (1/2 - 3/8) = 1/4. (1/2 - q) / (2 q (1 - q)) = 1/4 means q^2 - 3 q + 1 = 0,
        # so q = (3 - sqrt 5) / 2, and the rate is 2 q - 1/2.
        expected = (3 - np.sqrt(5)) - 0.5
        assert self.rate(self.HISTORY_X, self.X) == pytest.approx(expected, abs=1e-10)

    def test_penalty_by_hand(self) -> None:
        # One covariate of variance 1: gamma shrinks by 1 + penalty. With penalty 1 the tilt is 1/8, so
        # q^2 - 5 q + 2 = 0 and q = (5 - sqrt 17) / 2. The covariate's unit must not matter.
        expected = (5 - np.sqrt(17)) - 0.5
        assert self.rate(self.HISTORY_X, self.X, penalty=1.0) == pytest.approx(expected, abs=1e-10)
        assert self.rate(60 * self.HISTORY_X, 60 * self.X, penalty=1.0) == pytest.approx(expected, abs=1e-10)

    def test_equal_means_change_nothing(self) -> None:
        balanced = np.array([1.0, 0, 1, 0, 1, 0, 1, 0])[:, None]
        assert self.rate(balanced, self.X) == pytest.approx(0.5, abs=1e-12)

    def test_the_covariates_origin_and_unit_do_not_matter(self) -> None:
        expected = self.rate(self.HISTORY_X, self.X)
        assert self.rate(1000 - 3 * self.HISTORY_X, 1000 - 3 * self.X) == pytest.approx(expected, abs=1e-9)

    def test_a_covariate_that_never_varies_is_ignored(self) -> None:
        constant_too = np.hstack([self.X, np.full((4, 1), 5.0)])
        history_too = np.hstack([self.HISTORY_X, np.arange(8.0)[:, None]])
        expected = self.rate(self.HISTORY_X, self.X)
        assert self.rate(history_too, constant_too) == pytest.approx(expected, abs=1e-10)

    def test_the_same_covariate_twice_changes_nothing(self) -> None:
        expected = self.rate(self.HISTORY_X, self.X)
        twice = self.rate(np.repeat(self.HISTORY_X, 2, axis=1), np.repeat(self.X, 2, axis=1))
        assert twice == pytest.approx(expected, abs=1e-9)

    def test_a_history_mean_too_far_ends_at_the_edge(self) -> None:
        # At rate 0 (q = 1/4) the mean score is (1/4) / (3/8) = 2/3. A history mean of -1 tilts by 3.
        assert self.rate(self.HISTORY_X - 1.375, self.X) == 0.0

    def test_weights_are_repetitions(self) -> None:
        # Each distinct row once, with its count as weight, in both rounds.
        history = THREE_OF_FOUR[[0, 3, 4, 7]], GOLD[[0, 3, 4, 7]]
        # History's covariate mean is (3 * 1/2 + 1 * 0 + 3 * 1/2 + 1 * 0) / 8 = 3/8.
        history_x = np.array([[0.5], [0.0], [0.5], [0.0]])
        rates = naive.hero2(
            *history, history_x, column(1, 0), self.X[1:3], 2, hist_weights=[3, 1, 3, 1], cur_weights=[2, 2]
        )
        assert rates[1] == pytest.approx((3 - np.sqrt(5)) - 0.5, abs=1e-10)

    def test_three_classes_move_with_their_own_coordinate(self) -> None:
        # The result solves its own equation: mean score at the end = gamma (mean x - m), for both
        # coordinates.
        labels, gold = random_round(12, n=200)
        x = np.random.default_rng(1).normal(size=(200, 2)) + 0.3 * (labels[:, :1] == 1)
        history_x = x * 0.9 + 0.02
        rates = naive.hero2(labels, gold, history_x, labels, x, 3)
        _, answers = naive.anchored_em(labels, gold, 3)
        likelihoods = naive.class_likelihoods(labels, answers)
        pilot = naive.scores(likelihoods, naive.solve_rates(likelihoods))
        centerd = x - x.mean(axis=0)
        gamma = np.linalg.solve(centerd.T @ centerd, centerd.T @ pilot)
        tilt = (x.mean(axis=0) - history_x.mean(axis=0)) @ gamma
        assert (rates > 0.01).all()
        assert naive.scores(likelihoods, rates).mean(axis=0) == pytest.approx(tilt, abs=1e-9)

    def test_silence_is_nan(self) -> None:
        # Half right on either side: the labels say nothing.
        coin = column(1, 1, 0, 0, 1, 1, 0, 0)
        assert np.isnan(naive.hero2(coin, GOLD, self.HISTORY_X, self.LABELS, self.X, 2)).all()


class TestInfluenceByRefit:
    VALUES = np.array([1.0, 2.0, 6.0])

    def test_of_a_mean(self) -> None:
        # d/dw_i of sum(w x) / sum(w) at w = 1 is (x_i - mean) / n.
        influence = naive.influence_by_refit(lambda weights: np.average(self.VALUES, weights=weights), np.ones(3))
        assert influence == pytest.approx((self.VALUES - 3) / 3, abs=1e-7)

    def test_of_rogan_gladen(self) -> None:
        # The rate is (mean label - .3) / .5, so its influence is that of the mean label, twice.
        labels = column(1, 0, 0, 1, 1, 0)
        likelihoods = naive.class_likelihoods(labels, one_labeler(0.8, 0.7))
        influence = naive.influence_by_refit(
            lambda weights: naive.solve_rates(likelihoods, weights), np.ones(6), step=1e-3
        )
        assert influence.shape == (6, 2)
        assert influence[:, 1] == pytest.approx(2 * (labels[:, 0] - 0.5) / 6, abs=1e-6)
        assert influence.sum(axis=1) == pytest.approx(np.zeros(6), abs=1e-9)
