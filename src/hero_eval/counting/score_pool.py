"""Scores of several rounds together: parts of every labeler's scores, from which bins are learned, in SQL.

The engine ranks the distinct scores of every labeler in all rounds, exactly, and a hundred parts for each labeler leave
it: those that `atoms_of` makes in memory, from the same arithmetic on whole numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.counting.engine import Names, Session
from hero_eval.counting.sql import floats, literal
from hero_eval.errors import wrong
from hero_eval.io.score_bins import ATOMS, Atoms, ScoreDistribution
from hero_eval.model.patterns import Ints
from hero_eval.round_scales import NumberFacts

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
    together = sources[0] if len(sources) == 1 else _summed(" UNION ALL ".join(sources))
    found = _distribution(session, names, together)
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


def _summed(rows: str) -> str:
    return f"SELECT j, score, CAST(sum(n) AS BIGINT) AS n FROM ({rows}) AS u GROUP BY j, score"


def _distribution(session: Session, names: Names, together: str) -> ScoreDistribution:
    of_one = "PARTITION BY j"
    ranked = (
        f"SELECT j, score, n, sum(n) OVER ({of_one} ORDER BY score ROWS UNBOUNDED PRECEDING) AS upto, "
        f"sum(n) OVER ({of_one}) AS whole, count(*) OVER ({of_one}) AS distinct_scores, "
        f"row_number() OVER ({of_one} ORDER BY score) AS rank FROM ({together}) AS p"
    )
    middle = "(CAST(upto AS DOUBLE) - CAST(n AS DOUBLE) / 2e0) / CAST(whole AS DOUBLE)"
    atom = f"CASE WHEN distinct_scores <= {ATOMS} THEN CAST(rank AS DOUBLE) ELSE floor({middle} * {literal(ATOMS)}) END"
    found = session.query(
        f"SELECT j, atom, min(score) AS low, max(score) AS high, sum(n) AS n "
        f"FROM (SELECT j, score, n, {atom} AS atom FROM ({ranked}) AS r) AS a GROUP BY j, atom ORDER BY j, atom"
    )
    distinct = session.query(f"SELECT count(DISTINCT score) AS n FROM ({together}) AS p").to_pylist()[0]["n"]
    labeler, low, counts = (floats(found[name]) for name in ("j", "low", "n"))
    atoms = tuple(Atoms(low[labeler == j], counts[labeler == j]) for j in range(len(names)))
    lowest, highest = (float(low.min()), float(floats(found["high"]).max())) if len(low) else (np.nan, np.nan)
    return ScoreDistribution(names, atoms, int(distinct), lowest, highest)


def _lent(session: Session, part: HeldScores, name: str) -> str:
    """The distinct scores of a round in memory, known to the engine."""
    pairs = np.column_stack([part.labeler.astype(np.float64), part.score + 0.0])
    seen, counts = np.unique(pairs, axis=0, return_counts=True)
    _lend(session, name, {"j": seen[:, 0].astype(np.int64), "score": seen[:, 1], "n": counts.astype(np.int64)})
    return name


def _lend(session: Session, name: str, columns: dict[str, Any]) -> None:
    import pyarrow as pa

    session.lend(name, pa.table(columns))
