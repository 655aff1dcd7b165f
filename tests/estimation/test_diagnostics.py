"""The guards: their arithmetic against slow twins, an alarm where an assumption fails, none where all hold."""

from __future__ import annotations

import csv
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from make_rounds import GOOD, LARGE, binary_answers, codes, draw_pair, finding, labels_given, round_of, tables_of
from repository import RESULTS
from scipy import sparse
from scipy.special import expit
from typer.testing import CliRunner

import hero_eval as hero
from hero_eval.cli.main import app
from hero_eval.model import row_scores
from hero_eval.model import score_tests as guards
from hero_eval.model.em import EMOptions
from hero_eval.model.history import fit_anchored
from hero_eval.model.latent import Latent, posterior, state_barrier
from hero_eval.model.patterns import Patterns, patterns_of_matrix
from hero_eval.model.routing import routing_scores, routing_weights
from hero_eval.studies import run
from hero_eval.studies.alarms import GUARDS, PAPER, SITUATIONS, GuardCell, guard_cells, guard_outcome, guard_rows
from hero_eval.studies.run import run_study


def some_history(n_classes: int = 2, seed: int = 0, n_items: int = 60) -> tuple[Patterns, Latent]:
    """Patterns with some gold, and a model for them that is not the best one."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, n_classes, (n_items, 4))
    labels[(labels < 0).all(axis=1), 0] = 0
    gold = np.where(rng.random(n_items) < 0.4, rng.integers(0, n_classes, n_items), -1)
    answers = rng.dirichlet(np.full(n_classes, 5.0), (4, n_classes)).transpose(0, 2, 1)
    weights = rng.dirichlet(np.full(n_classes, 9.0))
    return patterns_of_matrix(labels, n_classes, gold), Latent(weights, answers, np.arange(n_classes))


# ------------------------------------------------------------------------------------------ arithmetic


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_derivatives(n_classes: int) -> None:
    """Every score test would look in a wrong direction."""
    patterns, latent = some_history(n_classes)
    scored = row_scores.score_rows(patterns, latent, 1e-3)
    barrier = state_barrier(patterns.gold, latent.state_class)
    towards, better = guards._directions(latent, scored.at, n_classes - 1)

    def height(answers: Any) -> Any:
        return posterior(patterns, replace(latent, answers=answers / answers.sum(axis=1, keepdims=True)), barrier)[1]

    step = 1e-5
    for j in range(4):
        for k in range(n_classes):
            moved = latent.answers.copy()
            moved[j, k, k] *= np.exp(step)
            slope = (height(moved) - height(latent.answers)) / step
            assert scored.scores @ better[:, j, k] == pytest.approx(slope, abs=1e-4)
        for answer in range(1, n_classes):
            moved = latent.answers.copy()
            moved[j, answer] *= np.exp(step)
            slope = (height(moved) - height(latent.answers)) / step
            assert scored.scores @ towards[:, j, answer - 1] == pytest.approx(slope, abs=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_residual_pairs_are_those_of_the_slow_twin(n_classes: int) -> None:
    """Labelers who err together would be measured by something else."""
    patterns, latent = some_history(n_classes)
    scored = row_scores.score_rows(patterns, latent, 1e-3)
    fast, spread = guards._residual_pairs(scored)
    cells = patterns.dense_cells
    for row in range(patterns.n_rows):
        slow, deviations = 0.0, 0.0
        for s in range(n_classes):
            residual = {j: cells[row, j] - latent.answers[j, :, s] for j in range(4) if cells[row, j].sum() > 0}
            for a, b in itertools.combinations(residual, 2):
                slow += scored.post[row, s] * float(residual[a] @ residual[b])
                sizes = [1 - float((latent.answers[j, :, s] ** 2).sum()) for j in (a, b)]
                deviations += scored.post[row, s] * float(np.sqrt(sizes[0] * sizes[1]))
        assert fast[row] == pytest.approx(slow, abs=1e-12)
        assert spread[row] == pytest.approx(deviations, abs=1e-12)


def test_skill_on_gold_is_sensitivity_and_specificity() -> None:
    """Discrimination would not be what it is called."""
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 2, 90)
    labels = rng.integers(0, 2, (90, 2))
    patterns = patterns_of_matrix(labels, 2, gold)
    _, latent = some_history()
    latent = replace(latent, answers=latent.answers[:2])
    skills = guards.measure_skills(patterns, latent)
    for j in range(2):
        right = [np.mean(labels[gold == k, j] == k) for k in (0, 1)]
        assert skills.value[j] == pytest.approx(sum(right) - 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_errors_are_those_of_dealing_answers_out_again(n_classes: int) -> None:
    """A labeler with little gold would be accused by chance."""
    rng = np.random.default_rng(4)
    gold, answer = rng.integers(0, n_classes, 40), rng.integers(0, n_classes, 40)
    shares = np.eye(n_classes)[gold] * 0.9 + 0.1 / n_classes
    dealt = np.eye(n_classes)[np.stack([answer, *(rng.permutation(answer) for _ in range(4000))])]
    cross = np.broadcast_to(shares.T @ shares, (len(dealt), n_classes, n_classes))
    sums = dealt.swapaxes(1, 2) @ shares
    found = guards._skills(cross, sums, dealt.sum(axis=1), np.broadcast_to(np.eye(n_classes), sums.shape))
    values = found.value[1:]
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(len(values))
    assert found.error[0] == pytest.approx(values.std(), rel=0.05)


def test_knowledge_has_the_error_of_dealing_gold_out_again() -> None:
    """Labelers who only agree with each other would pass for knowing, and good ones be refused."""
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 2, 50)
    same = rng.integers(0, 2, (50, 1))
    labels = np.where(rng.random((50, 5)) < 0.8, same, rng.integers(0, 2, (50, 5)))
    found = guards.check_knowledge(patterns_of_matrix(labels, 2, gold), 2)
    assert found is not None
    dealt = []
    for _ in range(1000):
        one = guards.check_knowledge(patterns_of_matrix(labels, 2, rng.permutation(gold)), 2)
        assert one is not None
        dealt.append(one.discrimination)
    assert found.error == pytest.approx(np.std(dealt), rel=0.08)
    all_right = guards.check_knowledge(patterns_of_matrix(np.tile(gold[:, None], 5), 2, gold), 2)
    assert all_right is not None
    assert all_right.discrimination == pytest.approx(1)
    assert guards.check_knowledge(patterns_of_matrix(labels, 2, np.zeros(50)), 2) is None


def test_drawn_items_follow_the_model() -> None:
    """Expected information would be that of another model."""
    patterns, latent = some_history(3, n_items=400)
    drawn = row_scores.draw_rows(patterns, latent, 1e-3)
    assert drawn.patterns.total == pytest.approx(patterns.total)
    means = drawn.patterns.counts @ drawn.scores / patterns.total
    errors = np.sqrt(np.diag(drawn.information) / patterns.total / drawn.patterns.n_rows)
    assert np.abs(means / np.maximum(errors, 1e-12)).max() < 5
    again = row_scores.draw_rows(patterns, latent, 1e-3)
    assert (again.scores == drawn.scores).all()


def test_clusters_of_one_item_change_nothing() -> None:
    """Asking for clusters that are items would move the alarm."""
    pair = draw_pair(1)
    plain = hero.fit_reliability(pair.history)
    assert plain.dependence is not None
    by_item = plain.dependence_by(np.arange(plain.n_items))
    assert by_item is not None
    assert by_item.on_all.statistic == pytest.approx(plain.dependence.on_all.statistic)
    whole = plain.dependence_by(np.arange(plain.n_items) // 2)
    assert whole is not None
    assert whole.on_all.statistic != pytest.approx(plain.dependence.on_all.statistic)


def test_routing_scores_are_those_of_a_logistic_model() -> None:
    """Gold that follows a covariate would not be seen, or seen everywhere."""
    rng = np.random.default_rng(6)
    known, columns = rng.random(80) < 0.3, rng.standard_normal((80, 2))
    columns[:5, 1] = np.nan
    share = np.full(80, known.mean())
    score, variance = routing_scores(known, share, columns)
    x = columns[:, 0] - columns[:, 0].mean()
    assert score[0] == pytest.approx((known - known.mean()) @ x)
    assert variance[0] == pytest.approx(known.mean() * (1 - known.mean()) * (x**2).sum())
    seen = columns[5:, 1]
    assert score[1] == pytest.approx((known[5:] - known.mean()) @ (seen - seen.mean()))
    assert routing_scores(known, share, np.ones((80, 1)))[1] == 0


@pytest.mark.slow
def test_routing_weights_make_each_part_stand_for_all() -> None:
    """Gold of items that were sure to have it would count as if they were the typical ones."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal(200_000)
    probability = expit(-1 + x)
    known = rng.random(len(x)) < probability
    weight = routing_weights(known, probability)
    for part in (known, ~known):
        assert weight[part] @ x[part] / weight[part].sum() == pytest.approx(0, abs=0.02)
    assert weight.mean() == pytest.approx(1, abs=0.02)
    assert routing_weights(known, np.full(len(x), 0.3)) == pytest.approx(1)


# ------------------------------------------------------------------------------------------ alarms


@pytest.mark.parametrize("situation", [one for one in SITUATIONS if one.sees], ids=lambda one: one.name)
def test_guards_alarm(situation: Any) -> None:
    """An assumption would fail by a size that matters, and nobody would say so."""
    cell = GuardCell(replace(PAPER, n_history=1600, n_current=600), situation)
    made = [guard_outcome(cell, np.random.default_rng([1, number])) for number in range(3)]
    outcomes = np.array([one for one in made if one is not None])
    position = list(GUARDS).index(situation.sees[0])
    assert outcomes[:, position].mean() > 0.5


@pytest.mark.simulation
def test_guards_are_quiet_where_all_holds() -> None:
    """Alarms that come always are read never."""
    cell = GuardCell(PAPER, SITUATIONS[0])
    made = [guard_outcome(cell, np.random.default_rng([2, number])) for number in range(20)]
    alarms = np.array([one for one in made if one is not None])
    assert (alarms.mean(axis=0) <= 0.2).all()
    assert alarms.mean() < 0.06


def test_guards_say_the_same_twice() -> None:
    """The same data would be clean today and suspect tomorrow."""
    pair = draw_pair(2, LARGE)
    first, second = (hero.estimate_rate(pair.current, pair.history, method="hero1") for _ in range(2))
    assert first.to_dict() == second.to_dict()


def erring_together(seed: int = 1) -> tuple[hero.Round, hero.Round]:
    """Labelers who all misread the same fifth of the items."""
    rng = np.random.default_rng(seed)
    answers = binary_answers([0.95] * 6, [0.95] * 6)

    def labels(size: int) -> tuple[Any, Any]:
        truth = rng.integers(0, 2, size)
        seems = np.where(rng.random(size) < 0.2, 1 - truth, truth)
        return labels_given(rng, seems, answers), truth

    (past, gold), (now, _) = labels(800), labels(300)
    return round_of(now, prefix="c"), round_of(past, np.where(rng.random(800) < 0.2, gold, -1), prefix="h")


def test_dependence_is_told_with_what_labels_are_worth() -> None:
    """Ten judges of one family would count as ten witnesses."""
    current, history = erring_together()
    told = finding(hero.estimate_rate(current, history, method="hero1"), "F206")
    assert told.severity == "warning"
    assert told.data["p_value"] < 1e-6
    assert told.data["correlation"] > 0.5
    assert 1 <= told.data["effective_labels"] < 2
    assert "`hero3`, which allows for it" in told.action
    modeled = hero.estimate_rate(current, history, method="hero3")
    assert "F206" not in codes(modeled)
    assert finding(modeled, "F204").data["p_value"] < 1e-6


def test_drift_is_told_with_agreement() -> None:
    """Labelers who got worse since history would be trusted as before."""
    rng = np.random.default_rng(2)
    past, now = rng.integers(0, 2, 800), rng.integers(0, 2, 400)
    before, after = binary_answers([0.9] * 5, [0.85] * 5), binary_answers([0.7] * 5, [0.85] * 5)
    history = round_of(labels_given(rng, past, before), np.where(rng.random(800) < 0.2, past, -1), prefix="h")
    current = round_of(labels_given(rng, now, after), prefix="c")
    told = finding(hero.estimate_rate(current, history, method="hero1"), "F205")
    assert told.data["p_value"] < 0.01
    assert told.data["agreement"] < told.data["agreement_expected"]
    assert "use `hero3`" in told.action
    assert told.doubts_interval
    same = round_of(labels_given(rng, now, before), prefix="c")
    assert "F205" not in codes(hero.estimate_rate(same, history, method="hero1"))


def test_one_labeler_who_moved_is_named() -> None:
    """Nobody would know whose reliability to learn again."""
    rng = np.random.default_rng(3)
    past, now = rng.integers(0, 2, 800), rng.integers(0, 2, 400)
    before = binary_answers([0.9] * 5, [0.85] * 5)
    after = before.copy()
    after[2] = binary_answers([0.6], [0.98])[0]
    history = round_of(labels_given(rng, past, before), np.where(rng.random(800) < 0.2, past, -1), prefix="h")
    told = finding(hero.estimate_rate(round_of(labels_given(rng, now, after)), history, method="hero1"), "F205")
    assert told.data["labelers"] == ["j2"]


def test_strangers_leave_transport_to_the_known() -> None:
    """A labeler without history would be taken for one who moved, or stop the estimate."""
    rng = np.random.default_rng(4)
    past, now = rng.integers(0, 2, 400), rng.integers(0, 2, 200)
    answers = binary_answers([0.9] * 4, [0.85] * 4)
    history = round_of(labels_given(rng, past, answers), np.where(rng.random(400) < 0.3, past, -1), prefix="h")
    labels = labels_given(rng, now, answers)
    mixed = round_of(labels, labelers=["j0", "j1", "j2", "new"])
    assert "F205" not in codes(hero.estimate_rate(mixed, history, method="hero3"))
    unknown = round_of(labels, labelers=["a", "b", "c", "d"])
    assert "F205" not in codes(hero.estimate_rate(unknown, history, method="hero3"))


def test_a_labeler_with_little_gold_is_not_accused() -> None:
    """A new labeler who erred twice in a row would be called inverted."""
    rng = np.random.default_rng(5)
    past = rng.integers(0, 2, 300)
    labels = labels_given(rng, past, binary_answers([0.85] * 4, [0.85] * 4))
    labels[4:, 3] = -1
    labels[:4, 3] = 1 - past[:4]
    fitted = hero.fit_reliability(round_of(labels, past))
    assert fitted.discrimination[3] < 0
    assert not {"F201", "F202"} & set(codes(fitted))


def test_accusations_have_their_numbers() -> None:
    """A labeler would be dismissed without the evidence."""
    rng = np.random.default_rng(6)
    past = rng.integers(0, 2, 600)
    labels = labels_given(rng, past, binary_answers([0.9, 0.85, 0.8, 0.15], [0.9, 0.8, 0.85, 0.2]))
    fitted = hero.fit_reliability(round_of(labels, np.where(rng.random(600) < 0.2, past, -1)))
    told = finding(fitted, "F202")
    assert told.data["labelers"] == ["j3"]
    assert told.data["discrimination"][0] == pytest.approx(-0.65, abs=0.1)
    assert told.data["p_value"][0] < 1e-6


def test_hero2_by_name_says_what_hero1_says() -> None:
    """Whoever insists on HERO-2 after a shift would not see how far it is off."""
    pair = draw_pair(3, replace(LARGE, gold_rate=0.3))
    x = pair.drawn.current_x[:, 0] + 1.0
    moved = round_of(pair.drawn.current_labels, columns={"x": x}, prefix="c")
    told = finding(hero.estimate_rate(moved, pair.history, method="hero2", covariates=["x"]), "F403")
    plain = hero.estimate_rate(moved, pair.history, method="hero1")
    assert told.data["hero1"]["1"] == pytest.approx(plain.value)
    assert told.data["p_value"] < 0.001
    assert f"which says {plain.value:.4f}" in told.action


# ------------------------------------------------------------------------------------------ routed gold


def routed(given: bool, seed: int = 0) -> tuple[hero.Round, hero.Round, float]:
    """Hard items are mislabeled more, and get gold more often."""
    rng = np.random.default_rng(seed)
    easy, hard = binary_answers([0.95] * 4, [0.95] * 4), binary_answers([0.6] * 4, [0.6] * 4)

    def items(size: int) -> tuple[Any, Any, Any]:
        truth, is_hard = (rng.random(size) < 0.3).astype(int), rng.random(size) < 0.5
        labels = np.where(is_hard[:, None], labels_given(rng, truth, hard), labels_given(rng, truth, easy))
        return labels, truth, is_hard

    past, truth, is_hard = items(4000)
    probability = np.where(is_hard, 0.3, 0.03)
    columns: dict[str, Any] = {"hard": is_hard.astype(float)}
    if given:
        columns["gold_probability"] = probability
    gold = np.where(rng.random(4000) < probability, truth, -1)
    now, now_truth, _ = items(3000)
    return round_of(now, prefix="c"), round_of(past, gold, columns, prefix="h"), float(now_truth.mean())


def test_known_routing_is_used() -> None:
    """Reliabilities would be those of the hard items, where the gold went."""
    off, repaired = [], []
    for given, errors in ((False, off), (True, repaired)):
        for seed in range(3):
            current, history, truth = routed(given, seed)
            estimate = hero.estimate_rate(current, history, method="gold_proportion")
            errors.append(abs(estimate.value - truth))
            assert ("F111" in codes(estimate)) is given
            assert ("F112" in codes(estimate)) is not given
    assert np.mean(repaired) < 0.5 * np.mean(off)
    told = finding(estimate, "F111")
    assert told.data["effective_gold"] < told.data["gold"]


def test_routing_that_is_equal_for_all_changes_nothing() -> None:
    """Saying that gold was drawn at random would move the estimate."""
    pair = draw_pair(4)
    columns = {"x": pair.drawn.history_x[:, 0], "gold_probability": np.full(len(pair.drawn.history_x), 0.3)}
    told = round_of(pair.drawn.history_labels, pair.drawn.history_gold, columns, prefix="h")
    plain = hero.estimate_rate(pair.current, pair.history, method="hero1")
    assert hero.estimate_rate(pair.current, told, method="hero1").value == pytest.approx(plain.value, abs=1e-9)


def test_a_routing_probability_is_no_covariate() -> None:
    """HERO-2 would take the routing for something that items have."""
    pair = draw_pair(5)
    both = {"gold_probability": np.full(len(pair.drawn.history_x), 0.3)}
    history = round_of(pair.drawn.history_labels, pair.drawn.history_gold, both, prefix="h")
    assert history.numeric_columns() == ()
    assert history.gold_probability() == pytest.approx(0.3)
    assert pair.history.gold_probability() is None


@pytest.mark.parametrize("value", [0.0, 1.5, np.nan])
def test_impossible_probabilities_are_refused(value: float) -> None:
    """A weight of infinity would swallow history."""
    pair = draw_pair(6)
    probability = np.full(len(pair.drawn.history_x), 0.3)
    probability[0] = value
    history = round_of(pair.drawn.history_labels, pair.drawn.history_gold, {"gold_probability": probability})
    with pytest.raises(hero.InputError, match=r"gold_probability.*for 1 of"):
        hero.estimate_rate(pair.current, history)


# ------------------------------------------------------------------------------------------ refusal


def coins(n_items: int, gold: float, prefix: str, rng: np.random.Generator) -> dict[str, Any]:
    truth = rng.integers(0, 2, n_items)
    labels = labels_given(rng, truth, binary_answers([0.6, 0.5, 0.4], [0.4, 0.5, 0.6]))
    return tables_of(labels, np.where(rng.random(n_items) < gold, truth, -1), prefix=prefix)


@pytest.mark.parametrize("method", ["gold_proportion", "hero1", "hero3"])
def test_labelers_who_know_nothing_leave_the_range_open(method: str) -> None:
    """Coin flips would be read as a rate near one half, with an interval that looks like knowledge."""
    rng = np.random.default_rng(8)
    history, current = hero.Round(**coins(600, 0.3, "h", rng)), hero.Round(**coins(500, 0.0, "c", rng))
    estimate = hero.estimate_rate(current, history, method=method)
    assert estimate.interval() == (0, 1)
    told = finding(estimate, "F303")
    assert told.data["gold_needed"] == 385
    assert told.data["p_value"] > 0.05
    assert "these labelers cannot tell good from bad" in told.message
    assert "Label 385 more items with gold" in told.action


def test_gold_on_the_wrong_side_is_told() -> None:
    """History and current swapped would answer about the past round without a word."""
    pair = draw_pair(3, GOOD)
    swapped = hero.estimate_rate(pair.history, pair.current)
    assert "swapped" in finding(swapped, "F136").action
    assert "F136" not in codes(hero.estimate_rate(pair.current, pair.history))


def test_where_every_item_has_gold_only_items_help() -> None:
    """More gold would be asked for where none is left to give."""
    rng = np.random.default_rng(4)
    truth = (rng.random(80) < 0.4).astype(int)
    labels = labels_given(rng, truth, binary_answers([0.8, 0.8], [0.9, 0.8]))
    (part,) = hero.estimate_rate(round_of(labels, truth)).to_dict()["shorten"]["parts"]
    assert part["remedy"] == "More items in this round"


def test_gold_for_all_is_asked_of_a_small_round() -> None:
    """More gold would be asked for than there are items."""
    rng = np.random.default_rng(9)
    history, current = hero.Round(**coins(600, 0.3, "h", rng)), hero.Round(**coins(100, 0.0, "c", rng))
    told = finding(hero.estimate_rate(current, history, method="hero1"), "F303")
    assert told.data["gold_needed"] == 100
    assert "Label all 100 items with gold" in told.action


@pytest.mark.slow
def test_check_refuses_in_words(tmp_path: Path) -> None:
    """A team would find out from the release that its labelers knew nothing."""
    rng = np.random.default_rng(10)
    for name, tables in (("past", coins(600, 0.3, "h", rng)), ("now", coins(500, 0.0, "c", rng))):
        (tmp_path / name).mkdir()
        for table, of in tables.items():
            pyarrow.csv.write_csv(of, tmp_path / name / f"{table}.csv")
    result = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["check", str(tmp_path / "now"), "--history", str(tmp_path / "past")]
    )
    assert result.exit_code == 0
    assert "These labelers cannot tell good from bad (" in result.stdout
    assert "Label 385 more items with gold, which alone" in result.stdout


def test_labelers_who_know_something_are_not_refused() -> None:
    """Useful labels would be thrown away."""
    for seed in range(5):
        pair = draw_pair(seed, GOOD)
        estimate = hero.estimate_rate(pair.current, pair.history, method="hero1")
        assert "F303" not in codes(estimate)
        low, high = estimate.interval()
        assert high - low < 0.5


def test_little_gold_is_no_refusal() -> None:
    """Five gold items cannot prove that labelers know nothing."""
    pair = draw_pair(1, replace(GOOD, gold_rate=0.02))
    fitted = hero.fit_reliability(pair.history)
    assert fitted.n_gold < 15
    assert not fitted.knows_nothing


# ------------------------------------------------------------------------------------------ the study


def test_the_study_measures_every_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of false alarms and power would leave a guard out."""
    few = (guard_cells()[0], guard_cells()[5])
    monkeypatch.setattr(run, "guard_cells", lambda: few)
    result = run_study("guards", replications=3, processes=1)
    assert [row["method"] for row in result.rows if row["measures"] == "false alarms"][: len(GUARDS)] == list(GUARDS)
    assert [row["method"] for row in result.rows if row["measures"] == "power"] == ["F205"]
    measured = {(one.situation.sees, code) for one in guard_cells() for code in one.situation.sees}
    assert {code for _, code in measured} == set(GUARDS)
    rows = guard_rows(few[1], np.ones((4, len(GUARDS))), 5)
    assert {row["refused"] for row in rows} == {1}
    with pytest.raises(hero.HeroError, match="E204"):
        run_study("guards", gold_rates=(0.1,))


def test_the_table_shows_what_guards_are_for() -> None:
    """Guards that cry wolf, or sleep, would be advertised."""
    with (RESULTS / "guards.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert min(int(row["replications"]) for row in rows) >= 200
    for code in GUARDS:
        quiet = [float(row["alarms"]) for row in rows if row["method"] == code and row["measures"] == "false alarms"]
        loud = [float(row["alarms"]) for row in rows if row["method"] == code and row["measures"] == "power"]
        assert np.mean(quiet) <= 0.07
        assert min(loud) >= 0.8


def test_big_histories_are_left_alone() -> None:
    """Thousands of labelers would make a guard slower than the estimate."""
    patterns, latent = some_history()
    assert row_scores.can_test(patterns, latent)
    many = replace(latent, answers=np.repeat(latent.answers, 200, axis=0))
    assert not row_scores.can_test(patterns, many)


def test_sampled_rows_stand_for_all() -> None:
    """Of very large data the covariance of scores would be that of a few rows, and alarms come from everywhere."""
    patterns, latent = some_history(seed=5)
    scored = row_scores.score_rows(patterns, latent, 1e-3)
    assert scored.sampled == 0
    whole = scored.squares(None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_scores, "_MOST_PRODUCTS", 0.0)
        patch.setattr(row_scores, "_DRAWS", patterns.n_rows * 3 // 4)
        assert 0 < scored.sampled < patterns.n_rows
        part = scored.squares(None)
        assert (part == scored.squares(None)).all()
    sizes = np.sqrt(np.outer(np.diag(whole), np.diag(whole)))
    assert np.abs(part - whole).max() < 0.3 * sizes.max()
    assert np.trace(part) == pytest.approx(np.trace(whole), rel=0.15)


def test_a_fit_by_many_labelers_is_tested_alike() -> None:
    """The way to add up scores that are mostly 0 would give other alarms."""
    patterns, _ = some_history(seed=3)
    fit = fit_anchored(patterns, 2, EMOptions())
    scored = row_scores.score_rows(patterns, fit.latent, fit.clip)
    dense = scored.scores.T @ (patterns.counts[:, None] * scored.scores)
    assert scored.information == pytest.approx(dense)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_scores, "_MANY", 1)
        patch.setattr(row_scores, "_THIN", 1.0)
        patch.setattr("hero_eval.model.patterns._DENSE_CELLS", 0)
        again = row_scores.score_rows(patterns, fit.latent, fit.clip)
        assert sparse.issparse(again.scores)
        assert again.scores.toarray() == pytest.approx(scored.scores)
        assert again.information == pytest.approx(dense)
        clusters = np.arange(len(patterns.row_of_item)) // 3
        for of in (None, clusters):
            assert again.squares(of) == pytest.approx(scored.squares(of))
            assert again.squares(of) == pytest.approx(again.covariance(scored.scores, of))
        right = np.random.default_rng(0).normal(size=(len(dense), 2))
        quick = row_scores.solve_flat(dense, right)
    assert quick == pytest.approx(row_scores.solve_flat(dense, right), rel=1e-8)
