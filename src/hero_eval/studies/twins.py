"""Synthetic twins of the paper's two case studies, whose own data were not published.

They copy what the paper tells about its data (sizes, labels an item, how unlike the labelers are, a labeler
pool that shifts between rounds, a judge that misses some items) and invent the rest. As in the method's
model, labelers answer independently of each other once the class is given. The two versions of the defect twin are
nearly as good as each other, as a judge's verdict can serve as a covariate only where its mean is shared: were the
newer version much better, the judge would see fewer defects in it, and a control variate would take that for chance.

Only `Generator.random` is drawn from, because that stream is the one numpy is least likely to change: the
package's built-in example is made here and must not change with a numpy release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]
T = TypeVar("T")


@dataclass(frozen=True)
class Twin:
    """A population of N prompts that was labeled in two rounds; prompt i is row i of both.

    The truth is known for every row: a study reveals `gold_rate` of history's (see `reveal`) and keeps the
    current one to measure errors with. Labels are -1 where there is none; a missing verdict of the judge is
    nan.
    """

    history_labels: Codes  # (N, J)
    history_truth: Codes  # (N,)
    history_judge: Floats | None  # (N,)
    current_labels: Codes  # (N, J)
    current_truth: Codes  # (N,)
    current_judge: Floats | None  # (N,)
    prompts: list[str]
    labelers: list[str]
    gold_rate: float


def reveal(truth: Codes, rate: float, rng: np.random.Generator) -> Codes:
    """Gold (N,) for a completely random subset of exactly round(rate * N) items, -1 elsewhere."""
    gold = np.full(len(truth), -1, dtype=np.int8)
    chosen = np.argsort(rng.random(len(truth)))[: round(rate * len(truth))]
    gold[chosen] = truth[chosen]
    return gold


# The defect twin's labelers: sensitivity, specificity, and their share of the labels in history and current.
# Two are careful, five overlook defects, one sees them everywhere, two are noisy on both sides. A careful one
# and the one who sees defects everywhere have left by the current round: what remains leans to "no defect".
_DEFECT_LABELERS = (
    (0.90, 0.93, 1.6, 0.0),
    (0.82, 0.92, 0.8, 0.9),
    (0.52, 0.95, 1.0, 1.3),
    (0.36, 0.96, 1.2, 1.6),
    (0.30, 0.94, 0.7, 1.4),
    (0.26, 0.92, 1.0, 1.2),
    (0.86, 0.22, 1.1, 0.0),
    (0.40, 0.78, 0.9, 0.8),
    (0.38, 0.95, 1.3, 1.7),
    (0.64, 0.36, 0.6, 0.4),
)
_JUDGE_SENSITIVITY, _JUDGE_SPECIFICITY, _JUDGE_MISSING = 0.80, 0.90, 0.06


def defect_twin(rng: np.random.Generator) -> Twin:
    """532 prompts for 3D assets, made by an older (history) and a newer (current) version of a model.

    Prompts with many parts and thin structures go wrong more often, in both versions. Three of ten labelers
    judge each asset, and a language model gives its verdict on most.
    """
    prompts, hardness = _asset_prompts(532, rng)
    sensitivity, specificity, history_shares, current_shares = np.array(_DEFECT_LABELERS).T
    three = np.full(len(prompts), 3)

    def version(defect_rate: float, shares: Floats) -> tuple[Codes, Codes, Floats]:
        truth = _draw_classes(hardness, defect_rate, rng)
        labels = _label(truth, sensitivity, specificity, _choose_labelers(three, shares, rng), rng)
        return labels, truth, _judge(truth, rng)

    history_labels, history_truth, history_judge = version(0.26, history_shares)
    current_labels, current_truth, current_judge = version(0.24, current_shares)
    return Twin(
        history_labels=history_labels,
        history_truth=history_truth,
        history_judge=history_judge,
        current_labels=current_labels,
        current_truth=current_truth,
        current_judge=current_judge,
        prompts=prompts,
        labelers=_labeler_names(len(sensitivity)),
        gold_rate=0.10,
    )


# The safety twin's labelers: sensitivity, specificity, and their share of the labels in history and current.
_SAFETY_LABELERS = (
    (0.92, 0.95, 1.0, 0.5),
    (0.85, 0.93, 1.2, 0.6),
    (0.78, 0.90, 0.8, 1.0),
    (0.90, 0.72, 0.7, 1.6),
    (0.88, 0.64, 0.9, 1.5),
    (0.70, 0.88, 1.0, 0.8),
    (0.48, 0.96, 1.4, 0.6),
    (0.42, 0.94, 1.2, 0.7),
    (0.62, 0.70, 0.8, 1.2),
    (0.80, 0.58, 0.5, 1.4),
    (0.55, 0.60, 0.5, 1.1),
)


def safety_twin(rng: np.random.Generator) -> Twin:
    """2,046 prompts labeled for violence (history) and for dangerous goods (current) by eleven labelers.

    Some words of a prompt raise the risk of one dimension, some of both. A labeler is as reliable in one
    dimension as in the other, and each asset has four to seven labelers.
    """
    prompts, violence, danger = _risky_prompts(2046, rng)
    sensitivity, specificity, history_shares, current_shares = np.array(_SAFETY_LABELERS).T

    def dimension(risk: Floats, rate: float, shares: Floats) -> tuple[Codes, Codes]:
        truth = _draw_classes(risk, rate, rng)
        counts = 4 + np.floor(4 * rng.random(len(prompts))).astype(np.int64)
        return _label(truth, sensitivity, specificity, _choose_labelers(counts, shares, rng), rng), truth

    history_labels, history_truth = dimension(violence, 0.22, history_shares)
    current_labels, current_truth = dimension(danger, 0.15, current_shares)
    return Twin(
        history_labels=history_labels,
        history_truth=history_truth,
        history_judge=None,
        current_labels=current_labels,
        current_truth=current_truth,
        current_judge=None,
        prompts=prompts,
        labelers=_labeler_names(len(sensitivity)),
        gold_rate=0.80,
    )


def _draw_classes(risk: Floats, rate: float, rng: np.random.Generator) -> Codes:
    """Positive with probability logistic(shift + risk), the shift chosen so that these have mean `rate`."""
    shift = brentq(lambda value: float(expit(value + risk).mean()) - rate, -30.0, 30.0)
    return np.asarray(rng.random(len(risk)) < expit(shift + risk), dtype=np.int8)


def _choose_labelers(counts: NDArray[np.int64], shares: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Who labels what, (N, J): `counts[i]` distinct labelers, likelier those with larger shares.

    The ones with the earliest of exponential waiting times at these rates; a share of 0 waits for ever.
    """
    with np.errstate(divide="ignore"):
        waiting = -np.log1p(-rng.random((len(counts), len(shares)))) / shares
    return np.argsort(np.argsort(waiting, axis=1), axis=1) < counts[:, None]


def _label(
    truth: Codes,
    sensitivity: Floats,
    specificity: Floats,
    chosen: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Codes:
    says_positive = np.where(truth[:, None] == 1, sensitivity, 1.0 - specificity)
    labels = (rng.random(chosen.shape) < says_positive).astype(np.int8)
    labels[~chosen] = -1
    return labels


def _judge(truth: Codes, rng: np.random.Generator) -> Floats:
    """A language model's verdict (N,), nan where it gave none."""
    says_positive = np.where(truth == 1, _JUDGE_SENSITIVITY, 1.0 - _JUDGE_SPECIFICITY)
    verdict = (rng.random(len(truth)) < says_positive).astype(np.float64)
    return np.where(rng.random(len(truth)) < _JUDGE_MISSING, np.nan, verdict)


def _labeler_names(count: int) -> list[str]:
    return [f"vendor-{number:02d}" for number in range(1, count + 1)]


# Words with what they add to the hardness: many parts and thin structures are what the generator gets wrong.
_LOOKS = (
    ("rusty", 0.1), ("wooden", 0.0), ("medieval", 0.3), ("futuristic", 0.4), ("tiny", 0.2), ("ornate", 0.9),
    ("broken", 0.5), ("shiny", 0.0), ("painted", 0.0), ("weathered", 0.1), ("glowing", 0.2),
    ("cartoon", -0.4), ("low-poly", -0.6), ("steampunk", 0.8), ("stone", -0.3), ("velvet", 0.1),
    ("cracked", 0.3), ("striped", 0.1), ("antique", 0.3), ("frozen", 0.2),
)  # fmt: skip
_OBJECTS = (
    ("lantern", 0.3), ("barrel", -1.0), ("bicycle", 1.9), ("crate", -1.2), ("umbrella", 1.2),
    ("sword", -0.4), ("sailing ship", 1.6), ("teapot", -0.5), ("chair", 0.0), ("bird cage", 1.7),
    ("spider", 1.4), ("boulder", -1.5), ("windmill", 0.9), ("chandelier", 1.8), ("mushroom", -0.9),
    ("helmet", -0.4), ("suspension bridge", 1.5), ("treasure chest", -0.6), ("fishing rod", 0.8),
    ("robot", 0.7), ("dragon", 1.0), ("pumpkin", -1.1), ("garden gate", 0.9), ("piano", 0.4),
    ("street lamp", 0.2), ("cactus", -0.2), ("deck chair", 0.5), ("pocket watch", 0.6), ("canoe", -0.7),
    ("weathervane", 1.0),
)  # fmt: skip
_PARTS = (
    ("", -0.5), ("", -0.5), ("", -0.5), ("with thin chains", 1.3), ("with a cracked lid", 0.1),
    ("with wire spokes", 1.4), ("with brass rivets", 0.4), ("with trailing ribbons", 1.0),
    ("with a thick base", -0.5), ("with six antennae", 1.5), ("with moss on one side", 0.0),
    ("with a long thin handle", 0.8), ("with loose ropes", 1.2), ("with two round windows", 0.3),
    ("with tangled vines", 1.3), ("with a flat top", -0.6),
)  # fmt: skip


def _asset_prompts(count: int, rng: np.random.Generator) -> tuple[list[str], Floats]:
    """Distinct prompts such as "a rusty lantern with thin chains", and how hard each is to get right."""
    hardness: dict[str, float] = {}
    while len(hardness) < count:
        look, of_look = _pick(_LOOKS, rng)
        thing, of_thing = _pick(_OBJECTS, rng)
        part, of_part = _pick(_PARTS, rng)
        prompt = f"{_article(look)} {look} {thing} {part}".rstrip()
        hardness.setdefault(prompt, of_look + of_thing + of_part)
    return list(hardness), np.array(list(hardness.values()))


# Words with what they add to the risk of violence and to the risk of dangerous goods.
_MOODS = (
    ("a cheerful", -0.6, -0.3), ("a bloody", 2.6, 0.3), ("a quiet", -0.4, -0.2), ("an abandoned", 0.2, 0.2),
    ("a realistic", 0.5, 0.6), ("a plush", -1.2, -1.0), ("a menacing", 1.5, 0.7), ("a homemade", 0.2, 1.8),
    ("a colorful", -0.5, -0.3), ("a wounded", 2.2, -0.1), ("a smuggled", 0.2, 2.0), ("a small", 0.0, 0.0),
    ("an old", 0.0, 0.1), ("a burning", 1.1, 0.9),
)  # fmt: skip
_SUBJECTS = (
    ("rifle", 2.0, 2.6), ("teddy bear", -1.0, -1.0), ("castle", -0.3, -0.6), ("grenade", 2.1, 2.8),
    ("soldier", 1.5, 0.8), ("birthday cake", -1.2, -1.0), ("chemistry set", -0.4, 1.5),
    ("knight", 0.8, 0.2), ("garden", -1.0, -0.6), ("dagger", 1.8, 1.7), ("fuel canister", 0.2, 2.0),
    ("race car", -0.4, 0.0), ("boxer", 1.4, -0.4), ("fireworks crate", 0.1, 1.9), ("puppy", -0.9, -0.9),
    ("zombie", 1.9, -0.2), ("pill bottle", -0.1, 1.9), ("spaceship", -0.2, 0.0), ("library", -1.1, -0.9),
    ("crossbow", 1.4, 1.6), ("pirate", 1.0, 0.4), ("tree house", -0.8, -0.5), ("guillotine", 2.2, 0.6),
    ("toolbox", -0.5, 0.4),
)  # fmt: skip
_SCENES = (
    ("in a meadow", -0.4, -0.3), ("on a battlefield", 1.6, 0.8), ("in a kitchen", -0.3, -0.1),
    ("in a warehouse", 0.0, 0.6), ("at a school", 0.2, 0.4), ("on a stage", -0.2, -0.3),
    ("in the rain", 0.0, 0.0), ("after a fight", 1.8, 0.3), ("on a shelf", -0.3, 0.2),
    ("under a spotlight", 0.0, 0.0), ("in a laboratory", -0.1, 1.0), ("at night", 0.2, 0.1),
    ("in a toy shop", -0.9, -0.8),
)  # fmt: skip


def _risky_prompts(count: int, rng: np.random.Generator) -> tuple[list[str], Floats, Floats]:
    """Distinct prompts such as "a menacing knight on a stage", with the risk of each in both dimensions."""
    risks: dict[str, tuple[float, float]] = {}
    while len(risks) < count:
        words = [_pick(_MOODS, rng), _pick(_SUBJECTS, rng), _pick(_SCENES, rng)]
        prompt = " ".join(word for word, _, _ in words)
        risks.setdefault(prompt, (sum(v for _, v, _ in words), sum(d for _, _, d in words)))
    violence, danger = np.array(list(risks.values())).T
    return list(risks), violence, danger


def _pick(options: Sequence[T], rng: np.random.Generator) -> T:
    return options[int(rng.random() * len(options))]


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
