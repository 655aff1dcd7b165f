"""How far do rounds drift before any round has shown it? The prior of HERO-3's drift, chosen on real rounds.

    HERO_DATA=... python benchmarks/drift_prior.py [--draws 3] [--scales ...] [--freedoms ...] [--moves ...]

Every real round is estimated once, as in real_rounds.py; its interval is then made anew for each scale of the
half-normal prior on the drift's size, for each number of degrees of freedom that drifts have, and for each scale of
the rates' distance from past ones. Judged are the mean
interval score over settings, and the lowest cover of a setting with three or more past rounds. The choice is made with
a set left out at a time: the lowest score on the others among those whose cover is 92% or more there; shown with its
score on the set that was left out.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from real_rounds import LONG_HISTORY, OUTSIDE, SETTINGS, Job, Outcome, learned, run
from real_sets import find_data, parts_of

from hero_eval.estimation.ask import ask
from hero_eval.estimation.intervals import drift_curve, edge_floor
from hero_eval.estimation.options import Options
from hero_eval.model.hero3.drift import DRIFT_DF, drift_posterior, size_log_prior
from hero_eval.model.hero3.drift_variance import RATE_MOVES

SEED, LEAST_COVER = 6, 0.92
Prior = tuple[float, float, float]  # the scale of the sizes, the degrees of freedom of drifts, the rates' moves


@dataclass(frozen=True)
class Scored:
    """One round under one prior."""

    setting: str
    n_past: int
    prior: Prior
    score: float
    covers: bool


def play(job: Job, priors: Sequence[Prior]) -> list[Outcome]:
    """Every round of the setting as the current one; an outcome for each prior, which its method names."""
    warnings.simplefilter("error")
    of_current, of_past = (parts_of(name, find_data()) for name in SETTINGS[job.setting])
    rng = np.random.default_rng([SEED, list(SETTINGS).index(job.setting), round(1000 * job.rate), job.draw])
    shown = {part.name: part.history(rng, job.rate) for part in of_past}
    outcomes = []
    for part in of_current:
        past = [shown[other.name] for other in of_past if other.pool == part.pool and other is not part]
        question = ask([part.current()], learned(past), Options("hero3")).question
        fit, current, contrast = question.fits[0], question.currents[0], np.array([0.0, 1.0])
        between = fit.between
        assert between is not None
        if not between.drift.is_present:
            continue
        with np.errstate(divide="ignore"):
            joint = np.maximum(np.log(between.drift.weights), -700.0)
        heights = joint - size_log_prior()
        value = float(fit.rates[1])
        floor = edge_floor(float(fit.inside[1]), (0.0, 1.0), current.n_items) if fit.on_edge else 0.0
        for scale, freedom, moves in priors:
            drift = drift_posterior(heights, between.drift.n_rounds, scale, freedom)
            drift = replace(drift, spread=between.drift.spread).from_past
            moved = replace(fit, between=replace(between, drift=drift, moves=moves))
            influence = question.influence(moved, current, contrast)
            curve = drift_curve(question, moved, current, contrast, floor, influence)
            low, high = min(curve.quantile(0.025), value), max(curve.quantile(0.975), value)
            name = f"{scale:g} {freedom:g} {moves:g}"
            outcomes.append(Outcome(job, part.name, len(past), name, part.truth, value, low, high))
    return outcomes


def scored(outcomes: Sequence[Outcome]) -> list[Scored]:
    found = []
    for one in outcomes:
        scale, freedom, moves = map(float, one.method.split())
        _, covers, width, score = one.measures
        assert math.isclose(score, width + OUTSIDE * max(one.low - one.truth, one.truth - one.high, 0.0))
        found.append(Scored(one.job.setting, one.n_past, (scale, freedom, moves), score, covers > 0))
    return found


def means(rows: Sequence[Scored], settings: Sequence[str]) -> Mapping[Prior, tuple[float, float]]:
    """Of each prior: the mean score over these settings, and the lowest cover of one with a long history."""
    out = {}
    for prior in sorted({one.prior for one in rows}):
        own = [one for one in rows if one.prior == prior]
        scores = [np.mean([one.score for one in own if one.setting == name]) for name in settings]
        covers = [
            [one.covers for one in own if one.setting == name and one.n_past >= LONG_HISTORY] for name in settings
        ]
        out[prior] = float(np.mean(scores)), min((float(np.mean(each)) for each in covers if each), default=1.0)
    return out


def best(table: Mapping[Prior, tuple[float, float]]) -> Prior:
    """The lowest score among priors that cover; if none does, the one that covers most."""
    covering = [prior for prior, (_, cover) in table.items() if cover >= LEAST_COVER]
    if not covering:
        return max(table, key=lambda prior: table[prior][1])
    return min(covering, key=lambda prior: table[prior][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=0.1, help="share of past items with gold")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--scales", type=float, nargs="+", default=[0.65, 0.8, 1.0])
    parser.add_argument("--freedoms", type=float, nargs="+", default=[DRIFT_DF, 10.0])
    parser.add_argument("--moves", type=float, nargs="+", default=[2.0, RATE_MOVES, 4.0, 100.0])
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    asked = parser.parse_args()
    priors = list(product(asked.scales, asked.freedoms, asked.moves))
    jobs = [Job(setting, asked.rate, draw, ()) for setting in SETTINGS for draw in range(asked.draws)]
    rows = scored(run(jobs, asked.jobs, partial(play, priors=priors)))
    settings = list(dict.fromkeys(one.setting for one in rows))
    print(f"{'scale':>6} {'freedom':>8} {'moves':>6} {'score':>7} {'lowest cover':>13}")
    for (scale, freedom, moves), (score, cover) in means(rows, settings).items():
        print(f"{scale:6g} {freedom:8g} {moves:6g} {score:7.4f} {cover:13.3f}")
    for left in dict.fromkeys(name.split()[0] for name in settings):
        others = [name for name in settings if not name.startswith(left)]
        chosen = best(means(rows, others))
        there = means(rows, [name for name in settings if name.startswith(left)])[chosen]
        told = f"there score {there[0]:.4f}, cover {there[1]:.3f}"
        print(f"without {left}: {named(chosen)}; {told}")
    print(f"with all: {named(best(means(rows, settings)))}")


def named(prior: Prior) -> str:
    return f"scale {prior[0]:g}, freedom {prior[1]:g}, moves {prior[2]:g}"


if __name__ == "__main__":
    main()
