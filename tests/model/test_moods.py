"""Labelers who all turn strict in a round: labels show it without gold, and the rate must not follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_rounds import codes, finding, round_of, tables_of
from pyarrow import csv
from scipy.special import expit, logit

import hero_eval as hero
from hero_eval.estimation.ask import ask
from hero_eval.estimation.options import Options
from hero_eval.methods import hero3 as method
from hero_eval.model.hero3 import level_selection
from hero_eval.model.hero3.class_split import split_by_moods
from hero_eval.model.hero3.drift import label_shares
from hero_eval.model.hero3.fit import LevelFit
from hero_eval.model.hero3.moods import MoodModel, Moods, RoundMoods, climb, moods_are_seen, read_moods

Array = np.ndarray
TRUTH = 0.5


def judged(rng: np.random.Generator, right: Array, truth: Array, mood: float) -> Array:
    """Labels (n, J) of judges who each err by themselves: `right` (2, J) is P(right answer), moved by the mood."""
    said = np.where(truth[:, None] == 1, expit(logit(right[1]) + mood), expit(mood - logit(right[0])))
    labels: Array = (rng.random(said.shape) < said).astype(int)
    return labels


def moody_arrays(
    seed: int, n_judges: int = 8, moods: tuple[float, ...] = (0.6, -0.6, 0.5, -0.5, -0.7), n_items: int = 200
) -> list[tuple[Array, Array | None]]:
    """Labels and gold of a current round in which all judges are strict, after past ones in which they were mild or
    strict in turn."""
    rng = np.random.default_rng([57, seed])
    right = rng.uniform(0.65, 0.85, (2, n_judges))
    rounds: list[tuple[Array, Array | None]] = []
    for mood in moods:
        truth = (np.arange(n_items) < TRUTH * n_items).astype(int)
        gold = np.full(n_items, -1)
        shown = rng.choice(n_items, 20, replace=False)
        gold[shown] = truth[shown]
        rounds.append((judged(rng, right, truth, mood), gold))
    rounds[-1] = rounds[-1][0], None
    return rounds


def moody(seed: int, **asked: Any) -> tuple[hero.Round, list[hero.Round]]:
    """The same as rounds: the current one, and the past."""
    drawn = moody_arrays(seed, **asked)
    options = {"classes": ["0", "1"]}
    made = [round_of(*one, prefix=f"r{n}-", options={**options, "name": f"r{n}"}) for n, one in enumerate(drawn)]
    return made[-1], made[:-1]


def fit_of(current: hero.Round, past: list[hero.Round]) -> LevelFit:
    fit = ask([current], past, Options("hero3")).question.fits[0].levels
    assert fit is not None
    return fit


def without_moods(patch: pytest.MonkeyPatch) -> None:
    for where in (method, level_selection):
        patch.setattr(where, "moods_are_seen", lambda _: False)


def test_judges_who_shift_together_are_seen_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stricter prompt of all judges would pass for a worse model."""
    current, past = moody(1)
    found = hero.estimate_rate(current, past)
    low, high = found.interval()
    assert low <= TRUTH <= high
    without_moods(monkeypatch)
    plain = hero.estimate_rate(current, past, method="hero3")
    assert abs(plain.value - TRUTH) > 0.12
    assert abs(found.value - TRUTH) < 0.5 * abs(plain.value - TRUTH)
    assert "F312" not in codes(plain)
    said = finding(found, "F312")
    assert said.data["after"][1] == pytest.approx(found.value, abs=0.01)
    assert "all labelers together" in said.fact


def test_a_file_of_judges_who_shift_together(tmp_path: Path) -> None:
    """What a user does: one file a round, and no method."""
    for number, (labels, gold) in enumerate(moody_arrays(2)):
        folder = tmp_path / f"r{number}"
        folder.mkdir()
        for name, table in tables_of(labels, gold, prefix=f"r{number}-").items():
            csv.write_csv(table, folder / f"{name}.csv")
    history = [hero.read_round(tmp_path / f"r{number}") for number in range(4)]
    found = hero.estimate_rate(hero.read_round(tmp_path / "r4"), history)
    assert found.method == "hero3"
    assert abs(found.value - TRUTH) < 0.06


@pytest.mark.slow
@pytest.mark.numbers
def test_shifts_cost_no_more_than_they_cost_dawid_and_skene() -> None:
    """Eight judges, moods of .5: errors would be four times those of a method that has no gold at all."""
    errors: dict[str, list[float]] = {"hero3": [], "dawid_skene": []}
    covered = []
    for seed in range(24):
        rng = np.random.default_rng([58, seed])
        current, past = moody(seed, moods=tuple(rng.normal(0.0, 0.5, 5)))
        for name, own in errors.items():
            found = hero.estimate_rate(current, past, method=name)
            own.append(found.value - TRUTH)
            if name == "hero3":
                low, high = found.interval()
                covered.append(low <= TRUTH <= high)
    ours, theirs = (np.array(errors[name]) ** 2 for name in ("hero3", "dawid_skene"))
    chance = float(np.std(ours - 1.3**2 * theirs, ddof=1) / np.sqrt(len(ours)))
    assert float((ours - 1.3**2 * theirs).mean()) < 3.0 * chance
    assert float(np.sqrt(ours.mean())) < 0.06  # without moods .11
    assert np.mean(covered) > 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / len(covered))


def test_without_moods_none_are_read() -> None:
    """Chance would move every rate of labelers who are what they were."""
    read = []
    for seed in range(6):
        current, past = moody(seed, moods=(0.0,) * 5)
        fit = fit_of(current, past)
        assert moods_are_seen(fit)
        read.append(read_moods(fit))
    assert sum(one is not None for one in read) <= 3
    assert all(one.size < 0.25 for one in read if one is not None)


def test_two_labels_an_item_show_no_moods() -> None:
    """Two judges' agreement has as many numbers as there would be to find: a guess would be told as an answer."""
    assert not moods_are_seen(fit_of(*moody(1, n_judges=2)))


@pytest.mark.slow
def test_labelers_who_err_together_keep_their_levels() -> None:
    """Hard items that all labelers miss would be taken for moods, which no round shows."""
    rng = np.random.default_rng(59)
    rounds = []
    for number in range(5):
        truth = (rng.random(300) < 0.4).astype(int)
        noise = np.sqrt(0.5) * rng.normal(size=(300, 1)) + np.sqrt(0.5) * rng.normal(size=(300, 6))
        labels = ((2 * truth[:, None] - 1) * np.linspace(0.5, 1.2, 6) + noise > 0).astype(int)
        gold = np.where(rng.random(300) < 0.2, truth, -1) if number < 4 else None
        rounds.append(
            round_of(labels, gold, prefix=f"r{number}-", options={"classes": ["0", "1"], "name": f"r{number}"})
        )
    fit = fit_of(rounds[-1], rounds[:-1])
    assert fit.shape.n_levels > 0
    assert not moods_are_seen(fit)


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def drawn(request: pytest.FixtureRequest) -> tuple[MoodModel, RoundMoods]:
    """A small model, and a point that is no maximum."""
    n_classes = request.param
    rng = np.random.default_rng([60, n_classes])
    rounds = []
    for number in range(3):
        truth = rng.integers(0, n_classes, 60)
        said = np.where(rng.random((60, 4)) < 0.7, truth[:, None], rng.integers(0, n_classes, (60, 4)))
        said[rng.random((60, 4)) < 0.2] = -1
        said[:, 0] = np.where(said[:, 0] < 0, truth, said[:, 0])
        gold = np.where(np.arange(60) < 20, truth, -1) if number < 2 else None
        options = {"classes": [str(k) for k in range(n_classes)], "name": f"r{number}"}
        rounds.append(round_of(said, gold, prefix=f"r{number}-", options=options))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(level_selection, "LEVELS", (0,))
        model = MoodModel(fit_of(rounds[-1], rounds[:-1]))
    at = RoundMoods(
        0.5 * rng.normal(size=model.start.moods.shape), model.start.logits + 0.3 * rng.normal(size=(3, n_classes - 1))
    )
    return model, at


def slow_objective(model: MoodModel, at: RoundMoods, r: int, size: float) -> float:
    """A round's objective, label by label."""
    rows, answers = model.fit.rows, model.fit.parameters.answers
    n_classes = rows.n_classes
    weights = np.append(0.0, at.logits[r])
    weights = weights - np.log(np.exp(weights).sum())
    found = 0.5 * weights.sum()
    for row in np.flatnonzero(rows.round == r):
        logs = weights.copy()
        for cell in rows.patterns.cells[[row]].indices:
            j, answer = divmod(int(cell), rows.patterns.n_answers)
            for k in range(n_classes):
                lines = np.append(0.0, answers[j, :, k] + at.moods[r, :, k])
                logs[k] += lines[answer] - np.log(np.exp(lines).sum())
        found += rows.patterns.counts[row] * np.log(np.exp(logs).sum())
    width = n_classes - 1
    precision = 2.0 * (np.eye(width) - 1.0 / (width + 1.0))  # of effects of all answers that are alike
    squares = sum(float(at.moods[r, :, k] @ precision @ at.moods[r, :, k]) for k in range(n_classes)) / size**2
    return float(found - 0.5 * (5.0 + n_classes * width) * np.log1p(squares / 5.0))


def test_objective_and_gradient_are_those_of_the_labels(drawn: tuple[MoodModel, RoundMoods]) -> None:
    """Moods would be read off another likelihood than the one that is stated."""
    model, at = drawn
    bend = model.bend(model.fit.parameters.answers, at, 0.4)
    slow = np.array([slow_objective(model, at, r, 0.4) for r in range(3)])
    assert bend.objective == pytest.approx(slow, rel=1e-10)
    for place in range(bend.gradient.shape[1]):
        step = np.zeros_like(bend.gradient)
        step[:, place] = 1e-5
        ahead, behind = (model.bend(model.fit.parameters.answers, at.moved(s * step), 0.4) for s in (1.0, -1.0))
        slope = (ahead.objective - behind.objective) / 2e-5
        assert bend.gradient[:, place] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_the_information_of_labels_is_the_curvature(drawn: tuple[MoodModel, RoundMoods]) -> None:
    """Evidence for moods, and what is left open of them, would be too much or too little."""
    model, at = drawn
    bend = model.bend(model.fit.parameters.answers, at, np.inf)  # the prior's own bend is bounded, not exact
    for place in range(bend.gradient.shape[1]):
        step = np.zeros_like(bend.gradient)
        step[:, place] = 1e-5
        ahead, behind = (model.bend(model.fit.parameters.answers, at.moved(s * step), np.inf) for s in (1.0, -1.0))
        slope = (ahead.gradient - behind.gradient) / 2e-5
        assert bend.information[:, place] == pytest.approx(-slope, rel=1e-4, abs=1e-4)


def test_the_climb_ends_at_a_maximum(drawn: tuple[MoodModel, RoundMoods]) -> None:
    model, at = drawn
    answers = model.fit.parameters.answers
    top, bend = climb(model, answers, at, 0.4)
    rng = np.random.default_rng(61)
    for _ in range(10):
        near = top.moved(0.05 * rng.normal(size=bend.gradient.shape))
        assert (model.bend(answers, near, 0.4).objective <= bend.objective + 1e-9).all()


@pytest.mark.slow
def test_gold_decides_whether_moods_are_believed() -> None:
    """Moods that past gold contradicts would move every estimate the wrong way."""
    fit = fit_of(*moody(1))
    right = read_moods(fit)
    assert right is not None
    shares = label_shares(fit)
    moved = np.exp(np.log(shares) - np.concatenate([np.zeros((len(shares), 1)), right.moves(shares)], axis=1))
    wrong = Moods(moved / moved.sum(axis=1, keepdims=True), right.size, right.gain, right.unsure)  # the opposite
    believed, doubted = split_by_moods(fit, right), split_by_moods(fit, wrong)
    assert believed.weight > 0.6
    assert doubted.weight < 0.5 * believed.weight


@pytest.mark.slow
def test_no_class_is_first() -> None:
    """Naming classes otherwise would change the answer."""
    rng = np.random.default_rng(62)
    skill = rng.uniform(1.0, 2.0, 6)
    values = []
    rounds = []
    for number in range(4):
        truth = rng.choice(3, 200, p=[0.3, 0.5, 0.2])
        lines = skill[:, None] * np.eye(3)[truth][:, None] + np.array([0.0, 0.8 * (-1) ** number, 0.4])
        said = (
            np.cumsum(np.exp(lines), axis=2) / np.exp(lines).sum(axis=2, keepdims=True) < rng.random((200, 6, 1))
        ).sum(axis=2)
        rounds.append((said, np.where(np.arange(200) < 40, truth, -1) if number < 3 else None))
    for order in ([0, 1, 2], [2, 0, 1]):
        turned = np.array([*order, -1])
        options = {"classes": ["0", "1", "2"]}
        made = [
            round_of(
                turned[said],
                None if gold is None else turned[gold],
                prefix=f"r{n}-",
                options={**options, "name": f"r{n}"},
            )
            for n, (said, gold) in enumerate(rounds)
        ]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(level_selection, "LEVELS", (0,))
            fit = ask([made[-1]], made[:-1], Options("hero3")).question.fits[0]
        values.append(fit.rates[order])
        assert fit.levels is not None
        assert read_moods(fit.levels) is not None  # so that moods are what is tested
        assert fit.between is not None
        assert fit.between.toward is not None  # and a mean of grades drifts by all steps of its scale
    assert values[0] == pytest.approx(values[1], abs=1e-9)
