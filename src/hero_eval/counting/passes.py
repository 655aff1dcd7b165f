"""EM beyond memory: labels that neither collapse nor fit stay in the engine, and each EM step is an aggregation there.

A pass adds numbers of cells up by item (forward), makes of each item's sums what the step asks for, and adds that up by
cell (backward). What the information of a fit needs has the same form, so that intervals can be had too: with products
of the information and a vector, and conjugate gradients.
Shapes: C cells, S states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hero_eval.counting.engine import Session
from hero_eval.counting.sql import fixed_sum, floats, literal
from hero_eval.model.coordinates import coordinates
from hero_eval.model.em import EMOptions, gold_start, run_em
from hero_eval.model.history import HistoryFit, Progress
from hero_eval.model.information import Information
from hero_eval.model.latent import Latent
from hero_eval.model.patterns import Floats, Patterns, sum_by

_LOG_BOUND = 64.0  # of a logarithm of a probability, and of the steps along a direction after scaling
_HEIGHT_BOUND = 1e7


@dataclass(frozen=True)
class Passes:
    """One round inside an engine: tables `labels` (item, cell) and `items` (item, gold, w), cells numbered for all."""

    session: Session
    labels: str
    items: str
    n_cells: int
    n_answers: int
    heaviest: float

    def _name(self, what: str) -> str:
        return f"{self.labels}_{what}"

    def label_counts(self) -> Floats:
        """(J,) how many labels each labeler gave."""
        found = self.session.query(f"SELECT cell, count(*) AS n FROM {self.labels} GROUP BY cell")
        labeler = np.asarray(found["cell"].to_numpy(), np.int64) // self.n_answers
        return sum_by(labeler, floats(found["n"]), self.n_cells // self.n_answers)

    def _forward(self, cell_values: Floats, bound: float) -> str:
        """SQL for the sums of cell values (C, S) by item: columns d0, d1, ..."""
        import pyarrow as pa

        columns = {f"v{s}": cell_values[:, s] for s in range(cell_values.shape[1])}
        self.session.lend(self._name("point"), pa.table({"p_cell": np.arange(self.n_cells, dtype=np.int32), **columns}))
        sums = ", ".join(f"{fixed_sum(self.session, f'p.v{s}', bound)} AS d{s}" for s in range(cell_values.shape[1]))
        return (
            f"SELECT l.item AS item, {sums} FROM {self.labels} AS l JOIN {self._name('point')} AS p "
            "ON l.cell = p.p_cell GROUP BY l.item"
        )

    def _backward(self, table: str, columns: Sequence[str], bound: float) -> Floats:
        """(C, columns): what the items of each cell's labels have together."""
        sums = ", ".join(f"{fixed_sum(self.session, f't.{name}', bound)} AS {name}" for name in columns)
        joined = f"{self.labels} AS l JOIN {table} AS t ON l.item = t.item"
        found = self.session.query(f"SELECT l.cell AS cell, {sums} FROM {joined} GROUP BY l.cell")
        out = np.zeros((self.n_cells, len(columns)))
        cell = np.asarray(found["cell"].to_numpy(), np.int64)
        out[cell] = np.stack([floats(found[name]) for name in columns], axis=1)
        return out

    def _totals(self, table: str, bounds: dict[str, float]) -> Floats:
        sums = ", ".join(f"{fixed_sum(self.session, name, bound)} AS {name}" for name, bound in bounds.items())
        found = self.session.query(f"SELECT {sums} FROM {table}")
        return np.array([floats(found[name])[0] for name in bounds])

    def step(self, latent: Latent) -> tuple[Floats, Floats, float]:
        """Expected answers (C, S), expected states (S,), and the likelihood; posteriors stay in the engine."""
        n_states = latent.n_states
        logs = np.log(latent.answers).reshape(-1, n_states)
        forward = self._forward(logs, _LOG_BOUND)
        post = self._name("post")
        self.session.keep(post, _posteriors(forward, self.items, np.log(latent.weights), latent.state_class))
        shares = [f"q{s}" for s in range(n_states)]
        totals = self._totals(post, dict.fromkeys(shares, self.heaviest) | {"height": _HEIGHT_BOUND * self.heaviest})
        return self._backward(post, shares, self.heaviest), totals[:-1], float(totals[-1])

    def lost(self, cell_values: Floats, offsets: Floats) -> tuple[Floats, Floats]:
        """For a move of the log-likelihoods, by cell (C, S) and state (S,): what not seeing the states loses of it.

        Sums by cell and by state of q_s * (move_s - mean move), at the posteriors of the last step.
        """
        n_states = len(offsets)
        size = max(float(np.abs(cell_values).max()), float(np.abs(offsets).max()), 1e-300)
        forward = self._forward(cell_values / size, _LOG_BOUND)
        moved, lost = self._name("moved"), [f"r{s}" for s in range(n_states)]
        move = [f"(f.d{s} + {literal(offsets[s] / size)})" for s in range(n_states)]
        mean = " + ".join(f"p.q{s} * {move[s]}" for s in range(n_states))
        shown = ", ".join(f"p.q{s} * ({move[s]} - ({mean}) / p.w) AS r{s}" for s in range(n_states))
        self.session.keep(
            moved,
            f"SELECT f.item AS item, {shown} FROM ({forward}) AS f JOIN {self._name('post')} AS p ON f.item = p.item",
        )
        bound = 4096.0 * self.heaviest
        totals = self._totals(moved, dict.fromkeys(lost, bound))
        return self._backward(moved, lost, bound) * size, totals * size

    def squares(self, cell_values: Sequence[Floats], offsets: Sequence[Floats]) -> Floats:
        """(m, m) sums of w^2 a a' over items; a_k is the posterior mean of an item's k-th move."""
        n_states = len(offsets[0])
        size = max(max(float(np.abs(of).max()) for of in (*cell_values, *offsets)), 1e-300)
        forward = self._forward(np.concatenate(list(cell_values), axis=1) / size, _LOG_BOUND)
        moves = [
            " + ".join(f"p.q{s} * (f.d{k * n_states + s} + {literal(offset[s] / size)})" for s in range(n_states))
            for k, offset in enumerate(offsets)
        ]
        pairs = {f"g{a}_{b}": f"a{a} * a{b}" for a in range(len(moves)) for b in range(a, len(moves))}
        shown = ", ".join(f"{move} AS a{k}" for k, move in enumerate(moves))
        inner = f"SELECT {shown} FROM ({forward}) AS f JOIN {self._name('post')} AS p ON f.item = p.item"
        sums = ", ".join(
            f"{fixed_sum(self.session, sql, (4096.0 * self.heaviest) ** 2)} AS {name}" for name, sql in pairs.items()
        )
        found = self.session.query(f"SELECT {sums} FROM ({inner}) AS t")
        out = np.zeros((len(moves), len(moves)))
        for name in pairs:
            a, b = map(int, name[1:].split("_"))
            out[a, b] = out[b, a] = floats(found[name])[0]
        return out * size**2


def _posteriors(forward: str, items: str, prior: Floats, state_class: Any) -> str:
    """SQL for each item's w, w * P(state) (q0, q1, ...) and its part of the likelihood."""
    states = range(len(prior))
    joint = ", ".join(
        f"CASE WHEN i.gold < 0 OR i.gold = {int(state_class[s])} THEN f.d{s} + {literal(prior[s])} END AS j{s}"
        for s in states
    )
    inner = f"SELECT f.item AS item, i.w AS w, {joint} FROM ({forward}) AS f JOIN {items} AS i ON f.item = i.item"
    names = ", ".join(f"j{s}" for s in states)
    terms = ", ".join(f"coalesce(exp(j{s} - top), 0e0) AS e{s}" for s in states)
    whole = " + ".join(f"e{s}" for s in states)
    shares = ", ".join(f"w * e{s} / ({whole}) AS q{s}" for s in states)
    return (
        f"SELECT item, w, {shares}, w * (top + ln({whole})) AS height FROM (SELECT item, w, top, {terms} FROM "
        f"(SELECT *, greatest({names}) AS top FROM ({inner}) AS a) AS b) AS c"
    )


class PassedInformation(Information):
    """The information of a fit whose labels stay in an engine: products by passes, solved by conjugate gradients."""

    def __init__(self, passes: Sequence[Passes], latent: Latent, clip: float) -> None:
        self._passes = passes
        self.latent = latent
        self.clip = clip
        self.at = coordinates(latent, clip)
        cells, states, _ = step_of(passes, latent)
        self._answer_counts = cells
        self._state_counts = states

    @property
    def is_dense(self) -> bool:
        return False

    def _moves(self, vector: Floats) -> tuple[Floats, Floats]:
        """A direction of the parameters as moves of the log-likelihoods: by cell (C, S) and by state (S,)."""
        on_weights, on_answers = self.at.unpack(vector)
        n_labelers, n_answers, width, n_states = self.at.answer_slopes.shape
        by_labeler = on_answers.reshape(n_labelers, width, n_states)
        moves: Floats = np.einsum("jlcs,jcs->jls", self.at.answer_slopes, by_labeler)
        return moves.reshape(n_labelers * n_answers, n_states), self.at.weight_slopes @ on_weights

    def product(self, vector: Floats) -> Floats:
        if not np.isfinite(vector).all():
            return np.full_like(vector, np.nan)
        complete_weights, complete_answers = self._complete()
        on_weights, on_answers = self.at.unpack(vector)
        n_labelers, n_states = complete_answers.shape[:2]
        by_labeler = on_answers.reshape(n_labelers, -1, n_states)
        answers = np.einsum("jscd,jds->jcs", complete_answers, by_labeler)
        moves, offsets = self._moves(vector)
        found = [one.lost(moves, offsets) for one in self._passes]
        by_cell, by_state = sum(of[0] for of in found), sum(of[1] for of in found)
        lost = np.einsum("jlcs,jls->jcs", self.at.answer_slopes, np.asarray(by_cell).reshape(n_labelers, -1, n_states))
        weights = complete_weights @ on_weights - self.at.weight_slopes.T @ np.asarray(by_state)
        return self.at.pack(weights, (answers - lost).reshape(-1, n_states))

    def _own_lost(self) -> Floats:
        """Left out: it would take one more pass for each state, and only speeds the solution."""
        n_labelers, _, width, n_states = self.at.answer_slopes.shape
        return np.zeros((n_labelers, width, n_states, width, n_states))

    def item_influence(self, direction: Floats) -> Floats:
        """A factor of the sum of squared influences, which stands for the items' own."""
        if not np.isfinite(direction).all():
            return np.full((direction.shape[1],) * 2, np.nan)
        moves = [self._moves(column) for column in direction.T]
        squares: Floats = np.sum(
            [one.squares([of for of, _ in moves], [of for _, of in moves]) for one in self._passes], axis=0
        )
        values, vectors = np.linalg.eigh(squares)
        out: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return out

    def row_influence(self, direction: Floats) -> Floats:
        raise NotImplementedError("labels that stay in an engine have no rows")


def step_of(passes: Sequence[Passes], latent: Latent) -> tuple[Floats, Floats, float]:
    """One E-step over several rounds."""
    found = [one.step(latent) for one in passes]
    cells = np.sum([of[0] for of in found], axis=0).reshape(latent.answers.shape)
    return cells, np.sum([of[1] for of in found], axis=0), float(sum(of[2] for of in found))


@dataclass(frozen=True, eq=False)
class PassedFit(HistoryFit):
    """A fit by passes. `patterns` are those of the items with gold."""

    passes: tuple[Passes, ...] = ()

    @cached_property
    def information(self) -> Information:
        return PassedInformation(self.passes, self.latent, self.clip)


def fit_by_passes(
    golden: Patterns,
    passes: Sequence[Passes],
    n_classes: int,
    options: EMOptions,
    progress: Progress | None = None,
    warm: Latent | None = None,
) -> PassedFit:
    """Anchored EM, started from the items with gold (or warm), with every E-step an aggregation in the engine."""
    start = gold_start(golden, n_classes, options.clip) if warm is None else warm

    def expect(at: Latent) -> tuple[Floats, Floats, float]:
        return step_of(passes, at)

    latent, report = run_em(golden, start, options, progress, expect=expect)
    return PassedFit(golden, latent, report, options.clip, passes=tuple(passes))
