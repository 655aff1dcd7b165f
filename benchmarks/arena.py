"""Leaderboards of side-by-side votes: equality with others where labelers never err, error and cover where they do,
and speed.

    python benchmarks/arena.py equal                     # against evalica and arena-rank, three sets of votes
    python benchmarks/arena.py simulate [--draws 40]     # 12 models, 20 labelers; also correlated ones
    python benchmarks/arena.py gold [--draws 20]         # gold on battles: at random, and where ranks are open
    python benchmarks/arena.py speed [--votes 1000000]   # against evalica with its bootstrap, in one run
    python benchmarks/arena.py large [--votes 10000000] [--labelers 50]   # 300 models; time and memory of each step

Needs `pip install 'hero-eval[bench]'` for `equal` and `speed`. Times are processor seconds, and ratios within one run.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

import hero_eval as hero
from hero_eval.store.battle_draws import chosen_battles
from hero_eval.store.battle_gold import StoredBattle
from hero_eval.targets.battles import gold_scores

Floats = NDArray[np.float64]
WORDS = np.array(["A", "B", "tie"])
ELO = 400.0 / np.log(10.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("equal", "simulate", "gold", "speed", "large"))
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--designs", type=int, nargs="+", default=list(range(len(DESIGNS))), help="numbers, from 0")
    parser.add_argument("--votes", type=int, help="of speed (1,000,000) and of large (10,000,000)")
    parser.add_argument("--labelers", type=int, default=50, help="of large")
    parser.add_argument("--engine", default="duckdb", help="of large")
    parser.add_argument("--resamples", type=int, default=20, help="of evalica's bootstrap, whose default is 1,000")
    asked = parser.parse_args()
    if asked.what == "equal":
        equal()
    elif asked.what == "simulate":
        simulate(asked.draws, asked.designs)
    elif asked.what == "gold":
        gold_on_battles(asked.draws)
    elif asked.what == "large":
        large(asked.votes or 10_000_000, asked.labelers, asked.engine)
    else:
        speed(asked.votes or 1_000_000, asked.resamples)


# ---------------------------------------------------------------------------------------- labelers who never err


def plain_votes(rng: np.random.Generator, n_models: int, n: int, tie: float) -> pa.Table:
    """Votes by Davidson's model, of labelers who never err."""
    strengths = rng.normal(0, 0.7, n_models)
    a = rng.integers(0, n_models, n)
    b = (a + rng.integers(1, n_models, n)) % n_models
    delta = strengths[a] - strengths[b]
    weights = np.stack([np.exp(delta / 2), np.exp(-delta / 2), np.full(n, tie)], axis=1)
    drawn = (rng.random(n)[:, None] * weights.sum(axis=1, keepdims=True) > weights.cumsum(axis=1)).sum(axis=1)
    return pa.table(
        {
            "item": [f"i{i}" for i in range(n)],
            "model_a": [f"m{i:03d}" for i in a],
            "model_b": [f"m{i:03d}" for i in b],
            "labeler": [f"j{j}" for j in rng.integers(0, 20, n)],
            "label": WORDS[drawn],
        }
    )


def equal() -> None:
    rng = np.random.default_rng(1)
    sets = {
        "8 models, ties": plain_votes(rng, 8, 4_000, 0.6),
        "20 models, ties": plain_votes(rng, 20, 20_000, 1.0),
        "12 models, no ties": plain_votes(rng, 12, 6_000, 0.0),
    }
    print(
        "votes               evalica, largest |difference|   arena-rank: strengths   standard errors, largest ratio - 1"
    )
    for name, table in sets.items():
        ours = hero.rank_votes(table)
        theirs, errors = by_arena_rank(table)
        gap = np.abs(ours.strengths - by_evalica(table)).max()
        ratio = np.abs(np.sqrt(np.diag(ours.covariance)) / errors - 1.0).max()
        print(f"{name:20}{gap:.1e}{'':26}{np.abs(ours.strengths - theirs).max():.1e}{'':18}{ratio:.4f}")


def by_evalica(table: pa.Table) -> Floats:
    import evalica

    won = {"A": evalica.Winner.X, "B": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    found = evalica.bradley_terry(
        table["model_a"].to_pylist(),
        table["model_b"].to_pylist(),
        [won[one] for one in table["label"].to_pylist()],
        tolerance=1e-14,
        limit=100_000,
    )
    out = np.log(found.scores.sort_index().to_numpy())
    return np.asarray(out - out.mean(), dtype=np.float64)


def by_arena_rank(table: pa.Table) -> tuple[Floats, Floats]:
    """Strengths in log-odds, centered, and their standard errors."""
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    frame = table.to_pandas()
    frame["winner"] = frame["label"].map({"A": "model_a", "B": "model_b", "tie": "tie"})
    data = PairDataset.from_pandas(frame)
    model = BradleyTerry(n_competitors=len(data.competitors), ftol=1e-15, gtol=1e-13)
    found = model.compute_ratings_and_cis(data)
    order = np.argsort([str(one) for one in found["competitors"]])
    ratings = np.asarray(found["ratings"])[order] / ELO
    return ratings - ratings.mean(), np.sqrt(np.asarray(found["variances"]))[order] / ELO


# ---------------------------------------------------------------------------------------- labelers who err


@dataclass(frozen=True)
class Design:
    """`first`: how unevenly models are shown first, 0 by chance; `each` votes an item, correlated at `together`."""

    name: str
    n_items: int
    n_past: int
    each: int = 1
    together: float = 0.0
    first: float = 0.0


DESIGNS = (
    Design("balanced order", 6_000, 6_000),
    Design("models shown first unevenly", 6_000, 6_000, first=1.0),
    Design("3 votes an item, correlated .5", 3_000, 3_000, each=3, together=0.5, first=1.0),
    Design("20,000 votes, unevenly", 20_000, 6_000, first=1.0),
)
N_MODELS, N_LABELERS, GOLD = 12, 20, 0.1


def draw(design: Design, rng: np.random.Generator, known: float = 0.0) -> tuple[Floats, pa.Table, pa.Table]:
    """True strengths, the votes, of which this share has gold, and past votes of which a tenth has."""
    strengths = rng.normal(0, 0.5, N_MODELS)
    strengths -= strengths.mean()
    right = rng.uniform(0.55, 0.95, N_LABELERS)
    skill, bias = np.log(right / (1 - right)), rng.normal(0.4, 0.4, N_LABELERS)
    forward = rng.permutation(N_MODELS)  # who is shown first more often, whatever its strength

    def votes(n: int, gold: float, prefix: str) -> pa.Table:
        a = rng.integers(0, N_MODELS, n)
        b = (a + rng.integers(1, N_MODELS, n)) % N_MODELS
        turn = rng.random(n) > expit(design.first * 0.3 * (forward[a] - forward[b]))
        a, b = np.where(turn, b, a), np.where(turn, a, b)
        true = (rng.random(n) > expit(strengths[a] - strengths[b])).astype(int)
        item = np.repeat(np.arange(n), design.each)
        who = np.concatenate([rng.choice(N_LABELERS, design.each, replace=False) for _ in range(n)])
        shared = np.sqrt(design.together) * rng.normal(size=n)[item]
        luck = ndtr(shared + np.sqrt(1 - design.together) * rng.normal(size=len(item)))
        is_right = luck < expit(skill[who] + np.where(true[item] == 0, 1, -1) * bias[who])
        table = {
            "item": [f"{prefix}{i}" for i in item],
            "model_a": [f"m{i:02d}" for i in a[item]],
            "model_b": [f"m{i:02d}" for i in b[item]],
            "labeler": [f"j{j:02d}" for j in who],
            "label": WORDS[np.where(is_right, true[item], 1 - true[item])],
        }
        has = rng.random(n) < gold if gold else np.zeros(n, bool)
        table["gold"] = pa.array([WORDS[true[i]] if has[i] else None for i in item], pa.string())
        return pa.table(table)

    return strengths, votes(design.n_items, known, "i"), votes(design.n_past, GOLD, "p")


def simulate(n_draws: int, numbers: list[int]) -> None:
    print(
        f"{n_draws} draws of {N_MODELS} models and {N_LABELERS} labelers (right .55 to .95), {GOLD:.0%} gold in history"
    )
    print("design                          method  mean |error|  strengths held  ranks held  all ranks held  width")
    for number, design in enumerate(DESIGNS):
        if number not in numbers:
            continue
        rows: dict[str, list[tuple[float, ...]]] = {"plain": [], "hero": []}
        for seed in range(n_draws):
            strengths, votes, past = draw(design, np.random.default_rng([29, number, seed]))
            for name, found in (("plain", hero.rank_votes(votes)), ("hero", hero.rank_votes(votes, past))):
                rows[name].append(judged(found, strengths))
        for name, of in rows.items():
            mean = np.mean(of, axis=0)
            error = np.std(of, axis=0) / np.sqrt(n_draws)
            print(
                f"{design.name:32}{name:6}  {mean[0]:.3f} ± {error[0]:.3f}  {mean[1]:.3f} ± {error[1]:.3f}   "
                f"{mean[2]:.3f} ± {error[2]:.3f}  {mean[3]:.2f} ± {error[3]:.2f}  {mean[4]:.2f}"
            )


def judged(found: hero.Leaderboard, strengths: Floats) -> tuple[float, ...]:
    """Mean error, share of strengths and of ranks held, whether all ranks are, and how many ranks a range holds."""
    error = np.sqrt(np.diag(found.covariance)) * ndtri(0.975)
    rank = (-strengths).argsort().argsort() + 1
    held = (found.standing.low <= rank) & (rank <= found.standing.high)
    off = np.abs(found.strengths - strengths)
    wide = float((found.standing.high - found.standing.low + 1).mean())
    return float(off.mean()), float((off <= error).mean()), float(held.mean()), float(held.all()), wide


GOLDEN = Design("2,000 votes", 2_000, 1_000, first=1.0)
N_JUDGED = 150


def gold_on_battles(n_draws: int) -> None:
    """What experts' gold on some of the battles does, drawn as `hero serve` and `hero next` draw it."""
    rows: dict[str, list[tuple[float, ...]]] = {"none": [], "at random": [], "where ranks are open": []}
    for seed in range(n_draws):
        rng = np.random.default_rng([31, seed])
        strengths, votes, past = draw(GOLDEN, rng, known=1.0)
        place = votes.column_names.index("gold")
        bare = votes.set_column(place, "gold", pa.nulls(len(votes), pa.string()))
        board = hero.rank_votes(bare, past)
        assert board.state is not None
        found = gold_scores(board.strengths, board.standing, board.state)
        pairs = list(zip(votes["model_a"].to_pylist(), votes["model_b"].to_pylist(), strict=True))
        sides = [(board.models.index(a), board.models.index(b)) for a, b in pairs]
        battles = [
            StoredBattle(str(at), str(at), (min(pair), max(pair)), (at,), (False,), False)
            for at, pair in enumerate(pairs)
        ]
        by_pair = found[tuple(np.array(sides).T)]
        for name, score in (("none", None), ("at random", np.zeros(len(pairs))), ("where ranks are open", by_pair)):
            shown = board
            if score is not None:
                drawn, _ = chosen_battles(battles, np.ones(len(pairs), bool), score, N_JUDGED, rng)
                gold = np.array(votes["gold"].to_pylist(), dtype=object)
                gold[~np.isin(np.arange(len(pairs)), drawn)] = None
                shown = hero.rank_votes(votes.set_column(place, "gold", pa.array(gold, pa.string())), past)
            order = np.argsort(-strengths)
            near = [shown._variance(int(i), int(j)) ** 0.5 for i, j in itertools.pairwise(order)]
            rows[name].append((*judged(shown, strengths), float(np.mean(near))))
    print(f"{n_draws} draws of {GOLDEN.n_items:,} votes, {N_MODELS} models; gold on {N_JUDGED} of the battles")
    print(
        "gold                  mean |error|   strengths held  all ranks held  ranks wide  se of neighbors' difference"
    )
    for name, of in rows.items():
        mean, error = np.mean(of, axis=0), np.std(of, axis=0) / np.sqrt(n_draws)
        print(
            f"{name:20}  {mean[0]:.3f} ± {error[0]:.3f}  {mean[1]:.3f} ± {error[1]:.3f}   "
            f"{mean[3]:.2f} ± {error[3]:.2f}     {mean[4]:.2f}        {mean[5]:.3f} ± {error[5]:.3f}"
        )


# ---------------------------------------------------------------------------------------- speed


def speed(n_votes: int, n_resamples: int) -> None:
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        votes, past = Path(folder) / "votes.parquet", Path(folder) / "past.parquet"
        pq.write_table(plain_votes_of(rng, 100, 50, n_votes, False), votes)
        pq.write_table(plain_votes_of(rng, 100, 50, 20_000, True), past)
        print(f"{n_votes:,} votes, 100 models, 50 labelers, Parquet (processor seconds)")
        found = {}
        for engine in ("memory", "duckdb"):
            start = time.process_time()
            found[engine] = hero.rank_votes(hero.read_votes(votes, engine=engine), past)
            took = time.process_time() - start
            print(f"hero, {engine:7} {took:6.1f}")
        gap = max(
            float(np.abs(found["memory"].strengths - found["duckdb"].strengths).max()),
            float(np.abs(found["memory"].covariance - found["duckdb"].covariance).max()),
        )
        print(f"largest difference between memory and duckdb {gap:.1e}")
        start = time.process_time()
        with_bootstrap(votes, n_resamples)
        theirs = time.process_time() - start
        print(f"evalica, bootstrap of {n_resamples} {theirs:6.1f}; hero takes {took / theirs:.2f} of it")


def large(n_votes: int, n_labelers: int, engine: str, n_models: int = 300) -> None:
    """Votes are written in parts, so that the peak of memory is that of reading and ranking them."""
    rng, part = np.random.default_rng(8), 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        votes, past = Path(folder) / "votes.parquet", Path(folder) / "past.parquet"
        schema = plain_votes_of(rng, n_models, n_labelers, 10, False).schema
        with pq.ParquetWriter(votes, schema) as writer:
            for first in range(0, n_votes, part):
                table = plain_votes_of(rng, n_models, n_labelers, min(part, n_votes - first), False)
                writer.write_table(table.set_column(0, "item", pa.array(np.arange(first, first + len(table)))))
        pq.write_table(plain_votes_of(rng, n_models, n_labelers, 20_000, True), past)
        print(f"{n_votes:,} votes, {n_models} models, {n_labelers} labelers, Parquet, {engine}")
        print(f"before reading: peak {peak():.2f} GB")
        start = time.process_time()
        found = hero.read_votes(votes, engine=engine)
        took = time.process_time() - start
        print(f"counted to {len(found.cells.counts):,} kinds: {took:.1f} processor seconds, peak {peak():.2f} GB")
        start = time.process_time()
        board = hero.rank_votes(found, past)
        print(f"ranked: {time.process_time() - start:.1f} processor seconds, peak {peak():.2f} GB")
        truth = np.random.default_rng(6).normal(0, 0.5, n_models)
        off = np.abs(board.strengths - (truth - truth.mean()))
        error = np.sqrt(np.diag(board.covariance)).mean()
        wide = (board.standing.high - board.standing.low + 1).mean()
        print(f"mean |error| of strengths {off.mean():.4f}, mean standard error {error:.4f}")
        print(f"converged {board.converged}; mean width of ranges of ranks {wide:.1f}")


def peak() -> float:
    """The most memory that this process held so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def plain_votes_of(rng: np.random.Generator, n_models: int, n_labelers: int, n: int, gold: bool) -> pa.Table:
    """Votes of labelers who err, as a table with few distinct texts."""
    strengths = np.random.default_rng(6).normal(0, 0.5, n_models)
    skill = np.random.default_rng(7).uniform(0.4, 2.5, n_labelers)
    a = rng.integers(0, n_models, n)
    b = (a + rng.integers(1, n_models, n)) % n_models
    true = (rng.random(n) > expit(strengths[a] - strengths[b])).astype(int)
    who = rng.integers(0, n_labelers, n)
    said = np.where(rng.random(n) < expit(skill[who]), true, 1 - true)
    said = np.where(rng.random(n) < 0.1, 2, said)

    def coded(codes: NDArray[Any], names: list[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))

    models, people = [f"m{i:03d}" for i in range(n_models)], [f"j{j:02d}" for j in range(n_labelers)]
    table = {
        "item": pa.array(np.arange(n)),
        "model_a": coded(a, models),
        "model_b": coded(b, models),
        "labeler": coded(who, people),
        "label": coded(said, list(WORDS)),
    }
    return pa.table(table | ({"gold": coded(true, list(WORDS))} if gold else {}))


def with_bootstrap(votes: Path, n_resamples: int) -> Any:
    """As evalica documents it: strengths by Bradley-Terry, intervals from votes drawn again."""
    import evalica

    table = pq.read_table(votes).to_pandas()
    won = {"A": evalica.Winner.X, "B": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evalica.bootstrap(
            evalica.bradley_terry,
            table["model_a"].astype(str),
            table["model_b"].astype(str),
            table["label"].map(won).astype(int).map(evalica.Winner),
            n_resamples=n_resamples,
            bootstrap_method="percentile",  # the default needs one fit for each vote
        )


if __name__ == "__main__":
    main()
