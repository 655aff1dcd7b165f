"""Do the intervals cover? Simulated rounds put through the public functions, with their defaults, cell by cell.

The grid is the paper's, and beyond it: rare and frequent classes, 3 to 200 labelers, 5 to 500 gold labels, labelers
with very unequal shares of the labels, three classes, ties, paired differences, precision and recall, repeated prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from hero_eval.errors import SupportError
from hero_eval.estimate import Estimate
from hero_eval.model.patterns import Floats
from hero_eval.round import Round
from hero_eval.studies.designs import EXPERIMENTS, Design, draw
from hero_eval.targets.difference import estimate_difference
from hero_eval.targets.moderation import estimate_moderation
from hero_eval.targets.rate import estimate_rate
from hero_eval.targets.win_rate import estimate_win_rate

Answers = NDArray[np.int8]
Outcome = dict[str, tuple[Estimate, float]]  # quantity -> estimate and truth


@dataclass(frozen=True)
class CoverageCell:
    """One cell: `simulate` draws a replication and answers it; None where the data refuse an answer."""

    name: str
    simulate: Callable[[np.random.Generator], Outcome]


def outcomes(cell: CoverageCell, rng: np.random.Generator) -> dict[str, Floats] | None:
    """Of each quantity: value, low, high, truth, gold items, and whether the safer interval was taken."""
    try:
        answered = cell.simulate(rng)
    except SupportError:
        return None
    return {
        name: np.array([one.value, *one.interval(), truth, one.n_gold, one.interval_kind == "profile"])
        for name, (one, truth) in answered.items()
    }


def make_round(
    labels: Answers, gold: Answers | None, columns: Mapping[str, Any], classes: list[str], prefix: str = "i"
) -> Round:
    """A Round from a matrix of answers (-1 none) whose items all have labels."""
    import pyarrow as pa

    ids = np.array([f"{prefix}{i:05d}" for i in range(len(labels))], dtype=object)
    item, labeler = np.nonzero(labels >= 0)
    names, answers = (
        np.array([f"j{j:03d}" for j in range(labels.shape[1])], dtype=object),
        np.array(classes, dtype=object),
    )
    table = pa.table({"item": ids[item], "labeler": names[labeler], "label": answers[labels[item, labeler]]})
    known = None
    if gold is not None and (gold >= 0).any():
        known = pa.table({"item": ids[gold >= 0], "gold": answers[gold[gold >= 0]]})
    return Round(table, known, pa.table({"item": ids, **columns}), classes=classes)


def _rate_cell(design: Design, methods: tuple[str, ...] = ("hero1", "hero2")) -> CoverageCell:
    """HERO-1 and HERO-2 on one draw of the paper's kind of population."""

    def simulate(rng: np.random.Generator) -> Outcome:
        made = draw(design, rng)
        history = make_round(made.history_labels, made.history_gold, {"x": made.history_x[:, 0]}, ["0", "1"])
        current = make_round(made.current_labels, None, {"x": made.current_x[:, 0]}, ["0", "1"])
        options: dict[str, dict[str, Any]] = {"hero1": {}, "hero2": {"covariates": ["x"]}}
        return {
            name: (estimate_rate(current, history, method=name, **options[name]), design.true_rate())
            for name in methods
        }

    return CoverageCell(design.name, simulate)


@dataclass(frozen=True)
class _Pool:
    """Labelers of a K-class question: answers (J, K, K) given the class, and how often each labels (J,)."""

    answers: Floats
    activity: Floats

    def label(self, truth: NDArray[Any], rng: np.random.Generator) -> Answers:
        """(n, J); an item that nobody labeled is labeled by the first."""
        levels = self.answers[:, truth].cumsum(axis=2).transpose(1, 0, 2)
        said = (rng.random((len(truth), len(self.activity), 1)) > levels).sum(axis=2)
        said = np.minimum(said, self.answers.shape[1] - 1)
        active = rng.random(said.shape) < self.activity
        active[~active.any(axis=1), 0] = True
        return np.where(active, said, -1).astype(np.int8)


def _pool(n_classes: int, n_labelers: int, rng: np.random.Generator, skill: tuple[float, float] = (0.4, 0.8)) -> _Pool:
    known = rng.uniform(*skill, n_labelers)[:, None, None]
    noise = rng.dirichlet(np.full(n_classes, 4.0), (n_labelers, n_classes))
    return _Pool(known * np.eye(n_classes) + (1 - known) * noise, rng.uniform(0.2, 0.6, n_labelers))


def _gold(truth: NDArray[Any], rate: float, rng: np.random.Generator) -> Answers:
    return np.where(rng.random(len(truth)) < rate, truth, -1).astype(np.int8)


def _three_classes(rng: np.random.Generator) -> Outcome:
    pool, rates = _pool(3, 10, rng), np.array([0.2, 0.3, 0.5])
    past, now = rng.choice(3, 800, p=rates[::-1]), rng.choice(3, 300, p=rates)
    history = make_round(pool.label(past, rng), _gold(past, 0.1, rng), {}, ["1", "2", "3"])
    current = make_round(pool.label(now, rng), None, {}, ["1", "2", "3"])
    found = estimate_rate(current, history, positive="3")
    assert found.mean_score is not None
    return {
        "rate of 3": (found, 0.5),
        "rate of 1": (found.distribution["1"], 0.2),
        "mean score": (found.mean_score, 2.3),
    }


def _win_rate(rng: np.random.Generator) -> Outcome:
    pool, rates = _pool(3, 10, rng), np.array([0.45, 0.35, 0.2])
    past, now = rng.choice(3, 800, p=[0.4, 0.4, 0.2]), rng.choice(3, 300, p=rates)
    history = make_round(pool.label(past, rng), _gold(past, 0.1, rng), {}, ["A", "B", "tie"])
    current = make_round(pool.label(now, rng), None, {}, ["A", "B", "tie"])
    return {"win rate": (estimate_win_rate(current, history), 0.55)}


def _difference(rng: np.random.Generator) -> Outcome:
    """Two models on the same prompts, whose hardness both share."""
    pool = _pool(2, 10, rng)
    hardness = rng.standard_normal(300)
    past = (rng.random(800) < expit(1.5 * rng.standard_normal(800))).astype(int)
    a, b = ((rng.random(300) < expit(shift + 1.5 * hardness)).astype(int) for shift in (0.5, 0.0))
    history = make_round(pool.label(past, rng), _gold(past, 0.1, rng), {}, ["0", "1"], "h")
    rounds = [make_round(pool.label(truth, rng), None, {}, ["0", "1"]) for truth in (a, b)]
    truth = replace(EXPERIMENTS["exp1-large"][0], intercept=0.5, slope=1.5).true_rate() - 0.5
    return {"difference": (estimate_difference(rounds[0], rounds[1], history), truth)}


def _moderation(rng: np.random.Generator) -> Outcome:
    """A filter that flags 70% of the violations and 10% of the rest; a fifth of the items violate."""
    pool = _pool(2, 10, rng)
    past, now = ((rng.random(size) < rate).astype(int) for size, rate in ((1200, 0.3), (800, 0.2)))
    flags = rng.random(len(now)) < np.where(now == 1, 0.7, 0.1)
    history = make_round(pool.label(past, rng), _gold(past, 0.1, rng), {}, ["0", "1"])
    current = make_round(pool.label(now, rng), None, {"flag": flags}, ["0", "1"])
    found = estimate_moderation(current, history, flag="flag")
    flagged = 0.7 * 0.2 + 0.1 * 0.8
    truths = {"prevalence": 0.2, "precision": 0.14 / flagged, "recall": 0.7, "f1": 2 * 0.14 / (flagged + 0.2)}
    return {name: (found[name], truth) for name, truth in truths.items()}


def _clustered(rng: np.random.Generator) -> Outcome:
    """Eight outputs for each of 60 prompts; the prompt decides most of how good they are."""
    pool = _pool(2, 10, rng)

    def items(n_prompts: int, prefix: str) -> tuple[NDArray[Any], list[str]]:
        hardness = np.repeat(rng.standard_normal(n_prompts), 8)
        truth = (rng.random(len(hardness)) < expit(-0.2 + 2.0 * hardness)).astype(int)
        return truth, [f"{prefix}{number // 8}" for number in range(len(hardness))]

    past, past_prompts = items(150, "p")
    now, prompts = items(60, "q")
    history = make_round(pool.label(past, rng), _gold(past, 0.1, rng), {"prompt": past_prompts}, ["0", "1"])
    current = make_round(pool.label(now, rng), None, {"prompt": prompts}, ["0", "1"])
    truth = replace(EXPERIMENTS["exp1-large"][0], slope=2.0).true_rate()
    return {"rate, clustered": (estimate_rate(current, history, cluster="prompt"), truth)}


def _wider(name: str, **changes: Any) -> Design:
    """A larger round than the paper's, with one thing changed."""
    base = replace(EXPERIMENTS["exp1-large"][0], n_current=600, n_history=1500, slope=1.0, gold_rate=0.10)
    return replace(base, name=name, sensitivity_mean=0.8, specificity_mean=0.75, **changes)


def _prevalence(rate: float) -> Design:
    """A population with this share of positives."""
    blank = _wider(f"prevalence {rate:.2f}", n_current=1000, n_history=3000)
    at = brentq(lambda intercept: replace(blank, intercept=intercept).true_rate() - rate, -12.0, 12.0)
    return replace(blank, intercept=float(at))


def coverage_cells() -> list[CoverageCell]:
    """The paper's 26 cells, then those beyond."""
    paper = [_rate_cell(design) for designs in EXPERIMENTS.values() for design in designs]
    beyond = [_prevalence(rate) for rate in (0.02, 0.1, 0.9, 0.98)]
    beyond += [_wider("labelers 3", n_labelers=3, labeling_low=0.6, labeling_high=0.9)]
    beyond += [_wider("labelers 50", n_labelers=50, labeling_low=0.05, labeling_high=0.15)]
    beyond += [_wider("labelers 200", n_labelers=200, labeling_low=0.01, labeling_high=0.05)]
    beyond += [_wider(f"gold {count}", n_history=1000, gold_rate=count / 1000) for count in (5, 20, 100, 500)]
    beyond += [_wider("unequal labeling", labeling_low=0.01, labeling_high=0.9)]
    targets = {
        "three classes": _three_classes,
        "win rate with ties": _win_rate,
        "paired difference": _difference,
        "moderation": _moderation,
        "eight repeats": _clustered,
    }
    return [
        *paper,
        *(_rate_cell(design) for design in beyond),
        *(CoverageCell(name, simulate) for name, simulate in targets.items()),
    ]


def coverage_row(study: str, cell: str, quantity: str, outcome: Floats, asked: int) -> dict[str, Any]:
    """Coverage, width and interval score of one quantity in one cell, each with its Monte Carlo error."""
    value, low, high, truth, gold, safer = outcome.T
    count = len(value)
    known = np.isfinite(value)  # an unknown value has the whole range as its interval, and no error
    error = (value - truth)[known]
    covered = (low <= truth) & (truth <= high)
    share = float(covered.mean())
    score = (high - low) + 40.0 * np.maximum(low - truth, 0.0) + 40.0 * np.maximum(truth - high, 0.0)
    spread, rmse = float(error.std(ddof=1)), float(np.sqrt(np.mean(error**2)))
    best = best_constant_score(np.abs(error))
    return {
        "study": study,
        "cell": cell,
        "method": quantity,
        "gold": float(gold.mean()),
        "replications": count,
        "refused": asked - count,
        "unknown": int((~known).sum()),
        "safer": float(safer.mean()),
        "bias": float(error.mean()),
        "bias_se": spread / np.sqrt(count),
        "sd": spread,
        "rmse": rmse,
        "rmse_se": float((error**2).std(ddof=1) / np.sqrt(count) / (2 * rmse)),
        "coverage": share,
        "coverage_se": float(np.sqrt(share * (1 - share) / count)),
        "missed_below": float(np.mean(high < truth)),
        "missed_above": float(np.mean(low > truth)),
        "width": float(np.mean(high - low)),
        "score": float(score.mean()),
        "best_score": best,
        "score_ratio": float(score.mean()) / best,
    }


def best_constant_score(distance: Floats) -> float:
    """The least mean interval score of an interval of one width for all, which knows the true errors."""
    halves = np.unique(np.quantile(distance, np.linspace(0.5, 1.0, 501)))
    return float(min(2 * half + 40.0 * np.mean(np.maximum(distance - half, 0.0)) for half in halves))
