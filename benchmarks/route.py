"""Which items get gold: does `choose_gold` make intervals shorter and rates better than gold at random?

    HERO_DATA=... python benchmarks/route.py [--draws 20] [--golds 20,40,80] [--only tqa] [--floors .25]    real rounds
    python benchmarks/route.py --simulated [--draws 200]                                      three draws in a row
    HERO_DATA=... python benchmarks/route.py --limit [--golds 20,40,80] [--only tqa]          what routing can reach

Real: every round in turn is current; past rounds show a tenth of their gold. 20, 40 and 80 golds of the current round
are drawn at random and by `choose_gold`, from the same history; `hero3` estimates both. The rival is active inference
(Zrnic and Candes, 2024) on the same number of golds: the majority vote predicts, items are drawn with probabilities in
proportion to the share of labels against the vote, half mixed with equal ones, and the mean is corrected by gold over
its probability. The truth is the share of gold among the round's items. Shown: mean width of the 95% intervals, RMSE,
cover, and the ratios to random golds. `--floors` names shares of the draw that go to all items alike.

Simulated: five labelers, 300 past items with 60 golds, 150 current items of another rate; three queues of 15 one after
the other, each drawn with the gold of those before. Shown: cover, and bias in its standard errors, of hero3 and ppi.

Limit: what `hero3`'s own model foresees for the width if all gold goes to the items of the most doubtful class, none at
random, as a share of what it foresees for golds at random. An item tells of the round's drift by the variance of its
class, p (1 - p), a quarter at most; random items have the mean of that. No queue that keeps a floor gets there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from real_sets import Part, find_data, parts_of

import hero_eval as hero
from hero_eval.estimate import Estimate
from hero_eval.estimation.ask import ask
from hero_eval.estimation.forecast import Outcome
from hero_eval.estimation.headline import rate_estimate
from hero_eval.estimation.options import Options
from hero_eval.model.gold_draw import draw_systematic, inclusion_probabilities
from hero_eval.model.hero3.drift_variance import DriftVariance
from hero_eval.model.width_forecast import Forecast, More
from hero_eval.round import Round

SETTINGS = ("tqa v1", "tqa v2", "imagenhub SC", "imagenhub PQ")
HISTORY_RATE, SEED = 0.10, 29
Floats = NDArray[np.float64]
Row = tuple[str, int, str, float, float, float]
"""Setting, golds, rule, error, width, covered."""


def main() -> None:
    asked = options()
    started = time.process_time()
    golds = [int(one) for one in asked.golds.split(",")]
    floors = [float(one) for one in asked.floors.split(",")]
    if asked.simulated:
        simulate(asked.draws)
    elif asked.limit:
        for name in SETTINGS:
            if asked.only in name:
                limit(name, golds)
    else:
        rows: list[Row] = []
        for name in SETTINGS:
            if asked.only in name:
                rows += [row for draw in range(asked.draws) for row in play(name, golds, draw, floors)]
                report([row for row in rows if row[0] == name])
        report([("all", *row[1:]) for row in rows])
    print(f"{time.process_time() - started:.0f} s of processor time", file=sys.stderr)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--golds", default="20,40,80", help="golds of the current round")
    parser.add_argument("--only", default="", help="settings whose name has this in it")
    parser.add_argument("--floors", default="0.25", help="of the queue")
    parser.add_argument("--limit", action="store_true", help="what the model foresees of the best gold")
    parser.add_argument("--simulated", action="store_true", help="three queues in a row, on simulated rounds")
    return parser.parse_args()


def estimated(current: Round, history: Any, method: str = "hero3") -> Estimate:
    """By one method, without the tests of its assumptions, which take half of the time."""
    return rate_estimate(replace(ask([current], history, Options(method=method)), diagnosed=False))


# ------------------------------------------------------------------------------------------------ real rounds


def play(name: str, golds: Sequence[int], draw: int, floors: Sequence[float]) -> list[Row]:
    """Every round of a setting as current, once."""
    rows: list[Row] = []
    parts = parts_of(name, find_data())
    for number, part in enumerate(parts):
        rng = np.random.default_rng([SEED, SETTINGS.index(name), draw, number])
        past = [one.history(rng, HISTORY_RATE) for one in parts if one.pool == part.pool and one.name != part.name]
        past = [one for one in past if one.n_gold]
        if len(past) < 1:
            continue
        learned = hero.fit_reliability(past)
        labels = part.labels.filter(pc.is_in(part.labels["item"], part.gold["item"].combine_chunks()))
        bare = Round(labels, classes=["0", "1"], name=part.name)
        truth = true_classes(bare, part)
        for count in golds:
            if count < 0.75 * len(truth):
                rows += one_count(name, labels, bare, truth, learned, count, floors, rng)
    return rows


def true_classes(bare: Round, part: Part) -> NDArray[np.int64]:
    known = dict(zip(part.gold["item"].to_pylist(), part.gold["gold"].to_pylist(), strict=True))
    return np.array([int(known[item]) for item in bare.item_ids])


def one_count(
    name: str,
    labels: pa.Table,
    bare: Round,
    truth: NDArray[np.int64],
    learned: Any,
    count: int,
    floors: Sequence[float],
    rng: Any,
) -> list[Row]:
    ids, rate, rows = bare.item_ids.astype(str), float(truth.mean()), []

    def told(rule: str, value: float, low: float, high: float) -> None:
        rows.append((name, count, rule, value - rate, high - low, float(low <= rate <= high)))

    def given(drawn: NDArray[np.bool_], chance: Floats | None) -> Round:
        gold = pa.table({"item": ids[drawn], "gold": truth[drawn]})
        items = None if chance is None else pa.table({"item": ids, "gold_probability": chance})
        return Round(labels, gold, items, classes=["0", "1"], name=bare.name)

    at_random = np.isin(np.arange(len(ids)), rng.choice(len(ids), count, replace=False))
    found = estimated(given(at_random, None), learned)
    told("random", found.value, *found.interval())
    for floor in floors:
        queue = hero.choose_gold(bare, learned, count=count, floor=floor, seed=int(rng.integers(1 << 30)))
        chance = np.array(queue.probabilities(backend="pyarrow")["gold_probability"].to_pylist())
        found = estimated(given(np.isin(ids, queue.items), chance), learned)
        told(f"routed, floor {floor:g}", found.value, *found.interval())
    told("active inference", *active_inference(bare, truth, count, rng))
    return rows


def active_inference(bare: Round, truth: NDArray[np.int64], count: int, rng: Any) -> tuple[float, float, float]:
    """The rate and its interval by the majority vote and gold drawn by how far labels disagree with it."""
    n = bare.n_items
    given = np.bincount(bare.label_item, minlength=n)
    share = np.bincount(bare.label_item, bare.label_answer, n) / given
    vote, against = (share > 0.5).astype(float), np.minimum(share, 1 - share)
    chance = inclusion_probabilities(against, count, 0.5, np.ones(n, bool))
    drawn = np.isin(np.arange(n), draw_systematic(chance, rng.permutation(n), rng))
    each = vote + np.where(drawn, (truth - vote) / chance, 0.0)
    error = 1.96 * float(each.std(ddof=1)) / np.sqrt(n)
    return float(each.mean()), float(each.mean()) - error, float(each.mean()) + error


def report(rows: Sequence[Row]) -> None:
    """Of each number of golds and rule: width, RMSE, cover; and the ratios to random."""
    for count in sorted({row[1] for row in rows}):
        base: tuple[float, float] | None = None
        for rule in dict.fromkeys(row[2] for row in rows):
            own = np.array([row[3:] for row in rows if row[1] == count and row[2] == rule])
            width, rmse, cover = own[:, 1].mean(), np.sqrt((own[:, 0] ** 2).mean()), own[:, 2].mean()
            base = base or (width, rmse)
            ratios = f"width {width / base[0]:.3f}, RMSE {rmse / base[1]:.3f} of random's"
            print(
                f"{rows[0][0]:14s} {count:3d} golds  {rule:18s} width {width:.4f}  RMSE {rmse:.4f}  cover {cover:.3f}  "
                f"{ratios}  ({len(own)} estimates)",
                flush=True,
            )


# ------------------------------------------------------------------------------------------------ the limit


class MostDoubtful(Forecast):
    """The forecast for gold of the items whose class is most open, instead of gold at random."""

    def taken(self, gold: float) -> Floats:
        """(P,) how many items of each row get gold."""
        rows = self.fit.rows
        left = np.where(rows.is_current & ~rows.known, rows.patterns.counts, 0.0)
        order = np.argsort(-self.spread, kind="stable")
        before = np.cumsum(left[order]) - left[order]
        out = np.zeros(len(left))
        out[order] = np.clip(gold - before, 0.0, left[order])
        return out

    @property
    def spread(self) -> Floats:
        """(P,) the variance of each row's class."""
        out: Floats = self.shares[:, 1] * (1.0 - self.shares[:, 1])
        return out

    def variance(self, more: More = More()) -> float:  # noqa: B008
        if more.gold:
            self.__dict__["_gold_here"] = self._gold_information(self.taken(more.gold))
        return super().variance(more)

    def drift_after(self, drift: DriftVariance, more: More) -> DriftVariance:
        if not more.gold:
            return drift
        taken, here = self.taken(more.gold), self.fit.rows.is_current
        left = drift.drift.given_gold(float(taken @ self.spread))
        left = replace(left, n_rounds=left.n_rounds + 1)
        sure = taken @ self.shares
        shares = np.concatenate([drift.shares, np.eye(len(sure))])
        return replace(drift, drift=left, shares=shares, counts=np.concatenate([drift.counts - taken[here], sure]))


def limit(name: str, golds: Sequence[int]) -> None:
    """The widths that the model foresees for the best and for random golds, before any is given."""
    found: dict[int, list[tuple[float, float]]] = {count: [] for count in golds}
    parts = parts_of(name, find_data())
    for number, part in enumerate(parts):
        rng = np.random.default_rng([SEED, SETTINGS.index(name), 0, number])
        past = [one.history(rng, HISTORY_RATE) for one in parts if one.pool == part.pool and one.name != part.name]
        past = [one for one in past if one.n_gold]
        if not past:
            continue
        analysis = replace(ask([part.current()], past, Options(method="hero3")), diagnosed=False)
        outcome, best = (Outcome(analysis, np.array([0.0, 1.0])) for _ in range(2))
        if outcome.model is None:
            continue
        best.__dict__["model"] = MostDoubtful(outcome.model.fit, outcome.model.contrast)
        for count in golds:
            if count < 0.75 * part.gold.num_rows:
                found[count].append((best.width(More(gold=count)), outcome.width(More(gold=count))))
    for count, widths in found.items():
        if widths:
            least, random = np.mean(widths, axis=0)
            print(
                f"{name:14s} {count:3d} golds: foreseen width {least:.3f} with the most doubtful items, {random:.3f} "
                f"at random, ratio {least / random:.3f} ({len(widths)} rounds)",
                flush=True,
            )


# ------------------------------------------------------------------------------------------------ simulated rounds


def simulate(draws: int) -> None:
    """Three queues in a row."""
    rate, found = 0.55, []
    for draw in range(draws):
        rng = np.random.default_rng([SEED, draw])
        before, answers, names = drawn_round(rng, 300, 0.4, "past")
        shown = np.isin(np.arange(300), rng.choice(300, 60, replace=False))
        learned = hero.fit_reliability(made(before, answers, names, shown, None))
        labels, truth, ids = drawn_round(rng, 150, rate, "now")
        known, chance = np.zeros(150, bool), None
        for step in range(3):
            queue = hero.choose_gold(made(labels, truth, ids, known, chance), learned, count=15, seed=3 * draw + step)
            known |= np.isin(ids, queue.items)
            chance = np.array(queue.probabilities(backend="pyarrow")["gold_probability"].to_pylist())
        final = made(labels, truth, ids, known, chance)
        found.append([(one.value, *one.interval()) for one in (estimated(final, learned, m) for m in ("hero3", "ppi"))])
    values = np.array(found)
    for at, method in enumerate(("hero3", "ppi")):
        value, low, high = values[:, at].T
        cover, off = ((low <= rate) & (rate <= high)).mean(), value - rate
        error = off.std(ddof=1) / np.sqrt(draws)
        print(
            f"three queues of 15, {method}: cover {cover:.3f} (+-{np.sqrt(cover * (1 - cover) / draws):.3f}), "
            f"bias {off.mean():+.4f} (+-{error:.4f}), mean width {(high - low).mean():.3f}, {draws} draws"
        )


def drawn_round(rng: Any, n: int, rate: float, name: str) -> tuple[Any, Any, Any]:
    truth = (rng.random(n) < rate).astype(np.int64)
    right = rng.random((n, 5)) < np.array([0.8, 0.8, 0.9, 0.65, 0.7])
    ids = np.array([f"{name}{i:04d}" for i in range(n)])
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth, ids


def made(labels: Any, truth: Any, ids: Any, known: Any, chance: Floats | None) -> Round:
    item, person = np.nonzero(labels >= 0)
    table = pa.table({"item": ids[item], "labeler": person.astype(str), "label": labels[item, person]})
    gold = pa.table({"item": ids[known], "gold": truth[known]}) if known.any() else None
    items = None if chance is None else pa.table({"item": ids, "gold_probability": chance})
    return Round(table, gold, items, classes=["0", "1"], name="round")


if __name__ == "__main__":
    main()
