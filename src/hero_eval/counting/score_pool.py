"""Scores of several rounds together: parts of every labeler's scores, from which bins are learned, in SQL.

The engine ranks the distinct scores of every labeler in all rounds, exactly, and a hundred parts for each labeler leave
it: those that `atoms_of` makes in memory, from the same arithmetic on whole numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.counting.engine import Names, Session
from hero_eval.counting.sql import floats, literal
from hero_eval.errors import wrong
from hero_eval.io.score_bins import ATOMS, Atoms, ScoreDistribution
from hero_eval.model.patterns import Floats, Ints
from hero_eval.round_scales import NumberFacts

MOST_RANKED = 1_000_000
"""Distinct scores that are ranked at a time, unless a single labeler gave more. It bounds memory only (reasoned)."""
_SERIAL = itertools.count()


@dataclass(frozen=True, eq=False)
class ScorePart:
    """Distinct scores of one round, as SQL (j, score, n), j a position in `labelers`."""

    labelers: Names
    session: Session
    relation: str
    known: dict[tuple[str, ...], ScoreDistribution] = field(default_factory=dict)
    """What was learned from this round, first by name, and others."""

    def facts(self, who: Collection[str], above: float, below: float) -> NumberFacts | None:
        """How many scores these labelers gave, from where to where, and how many beyond two bounds."""
        places = [str(j) for j, name in enumerate(self.labelers) if name in who]
        bounds = [
            f"sum(CASE WHEN score {sign} {literal(bound)} THEN n ELSE 0 END)" if np.isfinite(bound) else "0"
            for sign, bound in ((">", above), ("<", below))
        ]
        row = self.session.query(
            f"SELECT sum(n) AS n, min(score) AS low, max(score) AS high, {bounds[0]} AS above, {bounds[1]} AS below "
            f"FROM {self.relation} AS s WHERE j IN ({', '.join(places) or '-1'})"
        ).to_pylist()[0]
        return None if row["n"] is None else NumberFacts(**{name: float(value) for name, value in row.items()})


@dataclass(frozen=True, eq=False)
class HeldScores:
    """Scores of one round in memory: (n_labels,) both, positions in `labelers` and numbers."""

    labelers: Names
    labeler: Ints
    score: NDArray[np.float64]


def pooled(parts: Sequence[ScorePart | HeldScores]) -> ScoreDistribution:
    """How the scores of all these rounds lie together; one of them at least is in an engine."""
    in_engine = sorted((part for part in parts if isinstance(part, ScorePart)), key=lambda part: part.relation)
    session = _one_engine([part.session for part in in_engine])
    key = tuple(part.relation for part in in_engine)
    if len(in_engine) == len(parts) and key in in_engine[0].known:
        return in_engine[0].known[key]
    names = tuple(sorted({name for part in parts for name in part.labelers}))
    place = {name: position for position, name in enumerate(names)}
    sources = []
    for part in parts:
        serial = next(_SERIAL)
        who = np.array([place[name] for name in part.labelers], np.int64)
        relation = part.relation if isinstance(part, ScorePart) else _lent(session, part, f"hero_held_{serial}")
        _lend(session, f"hero_place_{serial}", {"j": np.arange(len(who)), "place": who})
        sources.append(
            f"SELECT m.place AS j, s.score AS score, s.n AS n FROM {relation} AS s "
            f"JOIN hero_place_{serial} AS m ON s.j = m.j"
        )
    found = _distribution(session, names, f"({' UNION ALL '.join(sources)})")
    if len(in_engine) == len(parts):
        in_engine[0].known[key] = found
    return found


def _one_engine(sessions: Sequence[Session]) -> Session:
    others = sorted({one.name for one in sessions})
    if len(others) > 1:
        raise wrong(
            "E204",
            f"bins of scores are learned from all rounds together, and these are counted by {' and '.join(others)}. "
            "Read them with the same engine",
        )
    return sessions[0]


def _distribution(session: Session, names: Names, together: str) -> ScoreDistribution:
    """From SQL (j, score, n), where a labeler's score may be there once for each round."""
    sizes = session.query(
        f"SELECT j, count(*) AS size, min(score) AS low, max(score) AS high FROM {together} AS p GROUP BY j ORDER BY j"
    )
    atoms: dict[int, Atoms] = {}
    for some in _batches(np.asarray(sizes["j"], np.int64), floats(sizes["size"])):
        atoms |= _ranked(session, together, some)
    nothing = Atoms(np.zeros(0), np.zeros(0))
    low, high = (floats(sizes[name]) for name in ("low", "high"))
    span = (float(low.min()), float(high.max())) if len(low) else (np.nan, np.nan)
    every = tuple(atoms.get(j, nothing) for j in range(len(names)))
    return ScoreDistribution(names, every, _distinct(session, together, every), *span)


def _distinct(session: Session, together: str, atoms: Sequence[Atoms]) -> int:
    """How many different scores there are, counted between numbers that leave few of them to be held at a time."""
    lows, counts = (np.concatenate([getattr(of, name) for of in atoms]) for name in ("lows", "counts"))
    order = np.argsort(lows, kind="stable")
    step = np.floor(np.cumsum(counts[order]) / MOST_RANKED)
    cuts = np.unique(lows[order][np.flatnonzero(np.diff(step, prepend=0.0) > 0)])
    total = 0
    for low, high in pairwise([-np.inf, *cuts.tolist(), np.inf]):
        ends = [(">=", low), ("<", high)]
        within = [f"score {sign} {literal(end)}" for sign, end in ends if np.isfinite(end)]
        where = f"WHERE {' AND '.join(within)}" if within else ""
        found = session.query(
            f"SELECT count(*) AS n FROM (SELECT score FROM {together} AS p {where} GROUP BY score) AS d"
        )
        total += int(found.to_pylist()[0]["n"])
    return total


def _batches(labelers: Ints, sizes: Floats) -> list[list[int]]:
    """Labelers whose distinct scores are ranked together: as many as fit into little memory, one at least."""
    out: list[list[int]] = []
    room = 0.0
    for j, size in zip(labelers.tolist(), sizes.tolist(), strict=True):
        if size > room:
            out.append([])
            room = MOST_RANKED
        out[-1].append(j)
        room -= size
    return out


def _ranked(session: Session, together: str, some: list[int]) -> dict[int, Atoms]:
    """The atoms of these labelers."""
    summed = (
        f"SELECT j, score, CAST(sum(n) AS BIGINT) AS n FROM {together} AS u WHERE j IN ({', '.join(map(str, some))}) "
        "GROUP BY j, score"
    )
    of_one = "PARTITION BY j"
    ranked = (
        f"SELECT j, score, n, sum(n) OVER ({of_one} ORDER BY score ROWS UNBOUNDED PRECEDING) AS upto, "
        f"sum(n) OVER ({of_one}) AS whole, count(*) OVER ({of_one}) AS size, "
        f"row_number() OVER ({of_one} ORDER BY score) AS place FROM ({summed}) AS p"
    )
    middle = "(CAST(upto AS DOUBLE) - CAST(n AS DOUBLE) / 2e0) / CAST(whole AS DOUBLE)"
    atom = f"CASE WHEN size <= {ATOMS} THEN CAST(place AS DOUBLE) ELSE floor({middle} * {literal(ATOMS)}) END"
    found = session.query(
        "SELECT j, atom, min(score) AS low, sum(n) AS n "
        f"FROM (SELECT j, score, n, {atom} AS atom FROM ({ranked}) AS r) AS a GROUP BY j, atom ORDER BY j, atom"
    )
    labeler, low, counts = (floats(found[name]) for name in ("j", "low", "n"))
    return {j: Atoms(low[labeler == j], counts[labeler == j]) for j in some}


def _lent(session: Session, part: HeldScores, name: str) -> str:
    """The distinct scores of a round in memory, known to the engine."""
    pairs = np.column_stack([part.labeler.astype(np.float64), part.score + 0.0])
    seen, counts = np.unique(pairs, axis=0, return_counts=True)
    _lend(session, name, {"j": seen[:, 0].astype(np.int64), "score": seen[:, 1], "n": counts.astype(np.int64)})
    return name


def _lend(session: Session, name: str, columns: dict[str, Any]) -> None:
    import pyarrow as pa

    session.lend(name, pa.table(columns))
