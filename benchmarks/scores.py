"""Scores instead of thresholds: what labels that are numbers tell, on real rounds and in a simulation.

    HERO_DATA=... python benchmarks/scores.py [--draws 10] [--settings SC PQ] [--bins 7]
    python benchmarks/scores.py --simulate [--draws 100] [--correlations 0 .5] [--gold .05 .10] [--drifts 0 .3]
    python benchmarks/scores.py --cover [--draws 100] [--correlations 0 .5] [--gold .05 .10] [--drifts 0 .3]
    python benchmarks/scores.py --ideal [--draws 100] [--correlations 0 .5] [--gold .05 .10]

Real rounds: imagenhub's judges give 0 to 10. Every round in turn is current with its gold hidden, the past rounds of
its task show a tenth of theirs, drawn as in `real_rounds.py`; hero3 from the raw scores is held against hero3 from the
labels that a threshold made of them. Wanted: a mean |error| of at most .080 on SC and .070 on PQ, cover of .93 or more,
and an interval score (width + 40 times the distance by which the truth lies outside) below that of thresholds.

Simulation: probit scores of four judges with slopes and scales of their own, whose noise correlates at 0 or .5, gold
of .05 or .10 of past items; rounds are small, so that a hundred draws of a cell take minutes. Wanted: an RMSE of at
most .92 of the best common threshold's, cover of .93 to .97; a judge whose scores are noise changes nothing, and a
judge who writes all scores on another scale less than a tenth of a standard error. The ratio's Monte Carlo error is by
draws left out in turn (jackknife); the two changes are looked at in every fifth draw. `--drifts` moves what all judges
see of a round by a normal error of that standard deviation. Without any, intervals that allow for drift cover more than
they promise: ten golds a round cannot rule it out.

Ideal: the same worlds read by an estimator that knows the distribution of every judge's scores given the level, and the
spread of levels, and learns from gold where the classes part; from the scores, from bins of them and from labels by a
threshold. What is left of the ratio there is the least that a method can reach.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from real_rounds import LEVEL, OUTSIDE, SEED, SETTINGS
from real_sets import Part, find_data, parts_of
from scipy import optimize, stats

import hero_eval as hero
from hero_eval import score_scale
from hero_eval.io.score_bins import MOST_BINS
from hero_eval.round import Round

RATE = 0.10
SLOPES = (1.6, 1.0, 0.7, 0.4)
N_PAST, N_ITEMS, N_CURRENT = 4, 200, 250
CHANGED_EVERY = 5
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""Shares of a judge's scores below a common threshold; the best one is that of the least RMSE."""


@dataclass(frozen=True)
class Answer:
    """An estimate beside the truth."""

    truth: float
    value: float
    low: float
    high: float

    @property
    def measures(self) -> tuple[float, float, float, float]:
        """|error|, covered, width and interval score."""
        outside = max(self.low - self.truth, self.truth - self.high, 0.0)
        width = self.high - self.low
        return abs(self.value - self.truth), float(outside == 0.0), width, width + OUTSIDE * outside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--ideal", action="store_true")
    parser.add_argument(
        "--cover", action="store_true", help="as --simulate, from scores alone: more draws in less time"
    )
    parser.add_argument("--draws", type=int)
    parser.add_argument("--settings", nargs="+", default=["SC", "PQ"])
    parser.add_argument("--bins", type=int, default=MOST_BINS, help="of each judge's scores, at most")
    parser.add_argument("--correlations", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--gold", type=float, nargs="+", default=[0.05, 0.10])
    parser.add_argument("--drifts", type=float, nargs="+", default=[0.0])
    asked = parser.parse_args()
    vars(score_scale)["MOST_BINS"] = asked.bins  # where rounds are cut together
    if asked.simulate:
        simulation(asked.draws or 100, asked.correlations, asked.gold, asked.drifts)
    elif asked.cover:
        covers(asked.draws or 100, asked.correlations, asked.gold, asked.drifts)
    elif asked.ideal:
        ideal(asked.draws or 100, asked.correlations, asked.gold)
    else:
        real(asked.settings, asked.draws or 10)


# ------------------------------------------------------------------------------------------------ real rounds


def real(aspects: Sequence[str], draws: int) -> None:
    folder = find_data()
    for aspect, scored in product(aspects, (False, True)):
        setting = f"imagenhub {aspect}"
        parts = parts_of(setting, folder)
        tables = {part.name: raw_scores(part, folder) if scored else part.labels for part in parts}
        each = [
            np.mean([one.measures for one in play(setting, parts, tables, scored, d)], axis=0) for d in range(draws)
        ]
        tell(f"{setting}, {'scores' if scored else 'thresholds'}", np.array(each))


def raw_scores(part: Part, folder: Path) -> pa.Table:
    labels = pq.read_table(folder / "imagenhub_vie" / "labels.parquet")
    own = labels.filter(pc.is_in(labels["item"], part.labels["item"].combine_chunks()))
    return pa.table({"item": own["item"], "labeler": own["labeler"], "label": own["score"]})


def play(setting: str, parts: Sequence[Part], tables: dict[str, pa.Table], scored: bool, draw: int) -> Iterator[Answer]:
    """Every round of the setting as the current one."""
    rng = np.random.default_rng([SEED, list(SETTINGS).index(setting), round(1000 * RATE), draw])
    golds = {part.name: part.gold.filter(pa.array(rng.random(part.gold.num_rows) < RATE)) for part in parts}

    def read(part: Part, gold: pa.Table | None) -> Round:
        if scored:
            return Round(tables[part.name], gold, name=part.name, label_kind="score")
        return Round(tables[part.name], gold, name=part.name, classes=["0", "1"])

    for part in parts:
        past = [
            read(other, golds[other.name] if golds[other.name].num_rows else None)
            for other in parts
            if other.pool == part.pool and other is not part
        ]
        found = hero.estimate_rate(read(part, None), past, method="hero3", level=LEVEL)
        yield Answer(part.truth, found.value, *found.interval())


def tell(what: str, each: np.ndarray) -> None:
    error, cover, width, score = each.mean(axis=0)
    spread = each[:, 0].std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
    print(f"{what}: |error| {error:.3f} ± {spread:.3f}, covers {cover:.3f}, width {width:.3f}, score {score:.3f}")


# ------------------------------------------------------------------------------------------------ simulation


@dataclass(frozen=True)
class World:
    """One history and one current round: latent scores (items, judges) of each round, and the gold."""

    scores: tuple[np.ndarray, ...]
    truth: tuple[np.ndarray, ...]
    shown: tuple[np.ndarray, ...]


def draw_world(rng: np.random.Generator, correlation: float, gold_rate: float, drift: float = 0.0) -> World:
    scores, truth, shown = [], [], []
    for size in (*(N_ITEMS,) * N_PAST, N_CURRENT):
        level = rng.normal(rng.normal(0.0, 0.4), 1.0, size)
        truth.append((level + rng.normal(0.0, 0.5, size) > 0).astype(int))
        shared = rng.normal(size=size)[:, None]
        noise = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.normal(size=(size, len(SLOPES)))
        seen = level if drift == 0.0 else level + rng.normal(0.0, drift)
        scores.append(seen[:, None] * np.array(SLOPES) + noise)
        shown.append(rng.random(size) < gold_rate)
    return World(tuple(scores), tuple(truth), tuple(shown))


def to_rounds(world: World, matrices: Sequence[np.ndarray], kind: str) -> tuple[Round, list[Round]]:
    """The current round without its gold, and the past ones, of any matrices (items, judges) of labels."""
    made = []
    for number, (labels, truth, shown) in enumerate(zip(matrices, world.truth, world.shown, strict=True)):
        items = np.array([f"r{number}-{i:04d}" for i in range(len(labels))])
        judges = np.array([f"judge{j}" for j in range(labels.shape[1])])
        table = pa.table(
            {
                "item": np.repeat(items, labels.shape[1]),
                "labeler": np.tile(judges, len(items)),
                "label": labels.ravel(),
            }
        )
        gold = pa.table({"item": items[shown], "gold": truth[shown]})
        past = number < N_PAST and shown.any()
        made.append(Round(table, gold if past else None, name=f"r{number}", label_kind=kind))
    return made[-1], made[:-1]


def ask(world: World, matrices: Sequence[np.ndarray], kind: str = "score") -> hero.Estimate:
    current, past = to_rounds(world, matrices, kind)
    return hero.estimate_rate(current, past, method="hero3")


def simulation(draws: int, correlations: Sequence[float], golds: Sequence[float], drifts: Sequence[float]) -> None:
    for drift, correlation, rate in product(drifts, correlations, golds):
        worlds = [draw_world(np.random.default_rng([SEED, draw]), correlation, rate, drift) for draw in range(draws)]
        table = np.array([one_draw(world, changed=draw % CHANGED_EVERY == 0) for draw, world in enumerate(worlds)])
        squares = table[:, : 1 + len(THRESHOLDS)] ** 2
        ratio, error = jackknifed(squares)
        rmse = np.sqrt(squares.mean(axis=0))
        cover, noise, distorted = table[:, -3:].T
        print(
            f"drift {drift}, correlation {correlation}, gold {rate}, {draws} draws: RMSE {rmse[0]:.4f}, best threshold "
            f"{rmse[1:].min():.4f}, ratio {ratio:.3f} ± {error:.3f}; covers {cover.mean():.3f} ± "
            f"{np.sqrt(0.95 * 0.05 / draws):.3f}; with a judge of noise the estimate moves by {np.nanmean(noise):.2f} "
            f"standard errors, with another scale by {np.nanmax(distorted):.3f} at most",
            flush=True,
        )


def covers(draws: int, correlations: Sequence[float], golds: Sequence[float], drifts: Sequence[float]) -> None:
    for drift, correlation, rate in product(drifts, correlations, golds):
        found = []
        for draw in range(draws):
            world = draw_world(np.random.default_rng([SEED, draw]), correlation, rate, drift)
            estimate = ask(world, world.scores)
            found.append(Answer(float(world.truth[-1].mean()), estimate.value, *estimate.interval()).measures)
        errors, covered, width, score = np.array(found).T
        print(
            f"drift {drift}, correlation {correlation}, gold {rate}, {draws} draws: RMSE "
            f"{np.sqrt((errors**2).mean()):.4f}, covers {covered.mean():.3f} ± {np.sqrt(0.95 * 0.05 / draws):.3f}, "
            f"width {width.mean():.3f}, score {score.mean():.3f}",
            flush=True,
        )


def jackknifed(squares: np.ndarray) -> tuple[float, float]:
    """The ratio of the first column's RMSE to the least of the others', and its Monte Carlo error."""

    def ratio(of: np.ndarray) -> float:
        means = of.mean(axis=0)
        return float(np.sqrt(means[0] / means[1:].min()))

    n = len(squares)
    left = np.array([ratio(np.delete(squares, draw, axis=0)) for draw in range(n)])
    return ratio(squares), float(np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()))


def one_draw(world: World, *, changed: bool) -> list[float]:
    """Errors by scores and by each threshold; covered; moves by a judge of noise and by another scale."""
    scale, place = np.array([1.0, 10.0, 0.2, 3.0]), np.array([0.0, 50.0, 1.0, -8.0])
    raw = [one * scale + place for one in world.scores]
    truth = float(world.truth[-1].mean())
    found = ask(world, raw)
    low, high = found.interval()
    errors = [found.value - truth]
    everything = np.concatenate(world.scores)
    for share in THRESHOLDS:
        cut = np.quantile(everything, share)
        errors.append(ask(world, [(one > cut).astype(int) for one in world.scores], "answer").value - truth)
    if not changed:
        return [*errors, float(low <= truth <= high), np.nan, np.nan]
    rng = np.random.default_rng([SEED, len(raw), int(world.truth[-1].sum())])
    noisy = ask(world, [np.column_stack([one, rng.normal(size=len(one))]) for one in raw])
    other = [np.column_stack([np.exp(one[:, :1]), one[:, 1:]]) for one in raw]
    moves = [abs(of.value - found.value) / found.std_error for of in (noisy, ask(world, other))]
    return [*errors, float(low <= truth <= high), *moves]


# ------------------------------------------------------------------------------------------------ ideal

LEVELS = np.linspace(-5.0, 5.0, 201)
BINS = (3, 5, 7)


def ideal(draws: int, correlations: Sequence[float], golds: Sequence[float]) -> None:
    for correlation, rate in product(correlations, golds):
        worlds = [draw_world(np.random.default_rng([SEED, draw]), correlation, rate) for draw in range(draws)]
        errors = np.array([ideal_errors(world, correlation) for world in worlds])
        ratio, error = jackknifed(errors[:, : 1 + len(THRESHOLDS)] ** 2)
        rmse = np.sqrt((errors**2).mean(axis=0))
        binned = ", ".join(f"{n} bins {of:.4f}" for n, of in zip(BINS, rmse[1 + len(THRESHOLDS) :], strict=True))
        print(
            f"ideal, correlation {correlation}, gold {rate}, {draws} draws: RMSE {rmse[0]:.4f}, best threshold "
            f"{rmse[1 : 1 + len(THRESHOLDS)].min():.4f}, ratio {ratio:.3f} ± {error:.3f}; {binned}",
            flush=True,
        )


def ideal_errors(world: World, correlation: float) -> list[float]:
    """By scores, by each threshold, by bins."""
    everything, truth = np.concatenate(world.scores), float(world.truth[-1].mean())
    logs = [[score_logs(one, correlation) for one in world.scores]]
    cuts = [np.full((len(SLOPES), 1), np.quantile(everything, share)) for share in THRESHOLDS]
    cuts += [np.quantile(everything, np.arange(1, n) / n, axis=0).T for n in BINS]
    logs += [[bin_logs(one, cut, correlation) for one in world.scores] for cut in cuts]
    return [ideal_rate(world, of) - truth for of in logs]


def score_logs(scores: np.ndarray, correlation: float) -> np.ndarray:
    """(n, G): the log-density of an item's scores at every level."""
    n_judges = len(SLOPES)
    precision = np.linalg.inv((1 - correlation) * np.eye(n_judges) + correlation)
    gap = scores[:, None] - LEVELS[:, None] * np.array(SLOPES)
    out: np.ndarray = -0.5 * ((gap @ precision) * gap).sum(axis=2)
    return out


def bin_logs(scores: np.ndarray, cuts: np.ndarray, correlation: float) -> np.ndarray:
    """(n, G): the log-probability of the bins (between cuts (J, L-1)) of an item's scores at every level."""
    places, weights = np.polynomial.hermite_e.hermegauss(15 if correlation else 1)
    found = np.zeros((len(scores), len(LEVELS)))
    for place, weight in zip(places, weights / weights.sum(), strict=True):
        each = np.ones_like(found)
        for judge, cut in enumerate(cuts):
            ends = np.concatenate([[-np.inf], cut, [np.inf]])[:, None]
            mean = SLOPES[judge] * LEVELS + np.sqrt(correlation) * place
            below = stats.norm.cdf((ends - mean) / np.sqrt(1 - correlation))
            each *= np.diff(below, axis=0)[np.searchsorted(cut, scores[:, judge])]
        found += weight * each
    return np.log(found + 1e-300)


def ideal_rate(world: World, logs: Sequence[np.ndarray]) -> float:
    """The mean of the class's probability, its place and steepness along the level by the gold of past rounds."""
    posts = [level_shares(of) for of in logs]
    past = list(zip(posts[:-1], world.truth[:-1], world.shown[:-1], strict=True))
    shares = np.concatenate([post[seen] for post, _, seen in past])
    gold = np.concatenate([truth[seen] for _, truth, seen in past])

    def against(at: np.ndarray) -> float:
        positive = np.clip(shares @ stats.norm.cdf((LEVELS - at[0]) * np.exp(at[1])), 1e-12, 1 - 1e-12)
        fits = float(np.log(np.where(gold == 1, positive, 1 - positive)).sum())
        return 0.5 * float(at[1] - np.log(2.0)) ** 2 - fits

    place, steep = optimize.minimize(against, [0.0, np.log(2.0)], method="Nelder-Mead").x
    return float((posts[-1] @ stats.norm.cdf((LEVELS - place) * np.exp(steep))).mean())


def level_shares(logs: np.ndarray) -> np.ndarray:
    """(n, G): the posterior of every item's level, the round's mean level by its labels."""

    def joint(mean: float) -> np.ndarray:
        out: np.ndarray = logs + stats.norm.logpdf(LEVELS, mean, 1.0)
        return out

    def against(mean: float) -> float:
        return -float(np.logaddexp.reduce(joint(mean), axis=1).sum()) + 0.5 * (mean / 0.4) ** 2

    mean = float(optimize.minimize_scalar(against, bounds=(-2.0, 2.0), method="bounded").x)
    found = np.exp(joint(mean) - joint(mean).max(axis=1, keepdims=True))
    shares: np.ndarray = found / found.sum(axis=1, keepdims=True)
    return shares


if __name__ == "__main__":
    main()
