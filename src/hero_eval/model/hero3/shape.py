"""What HERO-3's model is made of: the rows it is fitted to, its shape, its parameters and their prior.

Every item is in a hidden *component*; labelers answer independently given it. There are three shapes of one model:

- one component per class (the paper's): labeler j's answers have free logits in each class, and an item of round r with
  covariates x is of class k with probability softmax(u_rk + x eta_k);
- levels on a scale, theta_1 < ... < theta_G: labeler j's logits are straight lines alpha_j + beta_j theta, level g
  occurs in round r with probability softmax(p_g + a_r b_g), so that rounds are tilted towards good or bad, and an
  item of level theta is of class k with probability softmax(u_k + v_k theta + x eta_k). A state is a (level, class)
  pair, so a class has several states ("clearly good", "borderline"), and labelers who all look at the level err
  together given the class. Gold alone tells where on the scale a class begins, so rows without gold cannot drag it off.
  With few past rounds b_g is theta_g alone: rounds with free shares of the levels could each have levels of its own,
  and gold of one round would tell nothing of another. With more, b_g has polynomials of all degrees.
- classes with *appeals* (`appeals`): a component is a class and a place theta on a scale of what else labelers see in
  an item; labeler j's logits are alpha_jk + beta_j theta, with class probabilities as in the first shape and weights of
  the places as in the second, each by itself. Labelers err together within a class, and labels can tell the class all
  the same.

The modules, each using only those before it: `shape`, `likelihood`, `multinomial`, `level_priors`, `m_steps`,
`level_information`, `fit`, `context`; then `drift`, `appeals`, `moods`, `class_split`, `level_selection`,
`shared_drift`, `drift_split` and `current_rates`, which read a fit.

Symbols: alpha_j, beta_j are `LevelParameters.answers` (not the paper's sensitivity and specificity, which are what the
lines give at a class); p_g `levels`, a_r `tilts`, (u, v, eta) `classes`. The paper's mu is the mean of the current
rows' class shares (`current_rates`).
What happens when a constant is doubled is said beside it. *Measured* there means: on two rounds each of tqa v2 and
imagenhub SC, with gold for a tenth of the past items, and on the built-in example; by how much rates moved, and by how
much intervals became longer or shorter. *Reasoned* means that nothing was run.
Shapes: P rows, J labelers, L answers, E components, G levels, q basis functions, t tilts, R rounds (the last is
current), K classes, d covariates, m columns of the class design.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from hero_eval.model.latent import log_softmax
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns, sparse_cells
from hero_eval.model.pooling import Pooling

HIGHER_TILT_SIZE = 0.3
"""The root mean square of a basis function of degree 2 or more, where the level itself has about 2: rounds that could
bend freely would hide their drift in their levels. A choice. Doubled (measured): where there are enough rounds, rates
move by up to .008 and intervals are 6 to 10% shorter."""
_FEW_KEYS = 100
"""More keys than labelers' answers and these are not made part of one table with them. It bounds time only
(reasoned)."""
_MOST_PAIRS = 1_000_000
"""Pairs of labels in rows, and of cells, up to which they are laid out to be summed by one product: 12 MB. It bounds
time and memory only (reasoned)."""
_FULL_KEYS = 1_000
"""Keys up to which sums over them are full products, which cost less to start. It bounds time only (reasoned)."""
_SCALE_END = 3.0
"""Levels lie between -3 and 3, as a standard normal quality nearly does. Slopes adapt to the unit, the priors of slopes
and tilts do not. Doubled (measured): rates move by up to .003, intervals are up to 13% shorter."""


@dataclass(frozen=True, eq=False)
class RoundRows:
    """Answer patterns of all rounds, each row within one round, current last; covariates (P, d), 0 where unknown.

    `shift` (R,) is added to the levels of each round where they are read as classes.
    """

    patterns: Patterns
    round: Ints
    n_rounds: int
    n_classes: int
    covariates: Floats
    shift: Floats | None = None

    def read_levels(self, shape: LevelShape) -> Floats:
        """(R, G): the levels of each round as the class regression sees them."""
        shift = np.zeros(self.n_rounds) if self.shift is None else self.shift
        out: Floats = shape.theta + shift[:, None]
        return out

    @property
    def is_current(self) -> Bools:
        out: Bools = self.round == self.n_rounds - 1
        return out

    @cached_property
    def known(self) -> Bools:
        out: Bools = self.patterns.gold >= 0
        return out

    @cached_property
    def met_before(self) -> Bools:
        """(J,): the labelers who have labels in past rounds; without these all who have any."""
        past = np.where(self.is_current & (self.n_rounds > 1), 0.0, self.patterns.counts)
        out: Bools = self.patterns.to_cells(past[:, None]).sum(axis=(1, 2)) > 0
        return out

    @property
    def has_ordered_answers(self) -> bool:
        """Whether answers are steps along the classes, of which there are fewer."""
        return self.patterns.n_answers > self.n_classes

    @property
    def n_even(self) -> int:
        """Answers but the first, if none is unlike the others (`even_logits`); 1 if they are ordered, so that all
        numbers of a labeler are taken as those of one answer, independent of each other."""
        return 1 if self.has_ordered_answers else self.patterns.n_answers - 1

    @cached_property
    def _in_round(self) -> Any:
        """(R, P) sparse: which rows are of which round."""
        return _indicator(self.round, np.arange(len(self.round)), (self.n_rounds, len(self.round)))

    @cached_property
    def by_round(self) -> tuple[slice | Ints, ...]:
        """The rows of each round: a slice where they follow each other."""
        found: list[slice | Ints] = []
        for number in range(self.n_rounds):
            at = np.flatnonzero(self.round == number)
            follow = len(at) > 0 and at[-1] - at[0] == len(at) - 1
            found.append(slice(int(at[0]), int(at[-1]) + 1) if follow else at)
        return tuple(found)

    def sums_by_round(self, values: Any) -> Any:
        """(R, n): sums of the values (P, n), dense or sparse, of each round's rows."""
        return self._in_round @ values

    @cached_property
    def gold_rows(self) -> Ints:
        """The rows with gold."""
        return np.flatnonzero(self.known)

    @cached_property
    def gold_cells(self) -> Any:
        """(R C, n) sparse, C cells: which labels the rows with gold have, by round."""
        some, of_round = self.patterns.cells[self.gold_rows], self.round[self.gold_rows]
        lengths, n_cells = np.diff(some.indptr), int(some.shape[1])
        places = np.repeat(of_round, lengths) * n_cells + some.indices
        at = np.repeat(np.arange(len(of_round)), lengths)
        return _indicator(places, at, (self.n_rounds * n_cells, len(of_round)))

    @cached_property
    def gold_rounds(self) -> Any:
        """(R, n) sparse: which rows with gold are of which round."""
        return self._in_round[:, self.gold_rows]

    def keyed(self, shape: LevelShape) -> KeyedRows:
        """The rows as an E-step goes through them. Without levels covariates are asked for in every row."""
        return self._keyed_all if shape.n_levels == 0 else self._keyed_gold

    @cached_property
    def _keyed_gold(self) -> KeyedRows:
        return keyed_rows(self, self.known)

    @cached_property
    def _keyed_all(self) -> KeyedRows:
        return keyed_rows(self, np.ones(len(self.round), bool)) if self.covariates.shape[1] else self._keyed_gold

    def with_shift(self, shift: Floats) -> RoundRows:
        """The same rows with other shifts; what was worked out about the rows is kept."""
        out = replace(self, shift=shift)
        out.__dict__.update({name: self.__dict__[name] for name in _UNSHIFTED if name in self.__dict__})
        return out

    def some(self, where: Bools) -> RoundRows:
        """Some of the rows, whose items are not told apart."""
        at, patterns = np.flatnonzero(where), self.patterns
        counts = patterns.counts[at]
        kept = replace(
            patterns,
            cells=patterns.cells[at],
            gold=patterns.gold[at],
            counts=counts,
            row_of_item=np.arange(len(at)),
            item_weight=counts,
            times=None,
            row_items=None,
        )
        return replace(self, patterns=kept, round=self.round[at], covariates=self.covariates[at])

    def blind(self) -> RoundRows:
        """The same rows with all gold forgotten."""
        return replace(self, patterns=replace(self.patterns, gold=np.full_like(self.patterns.gold, -1)))


_UNSHIFTED = "known", "_in_round", "by_round", "gold_rows", "gold_cells", "gold_rounds", "_keyed_gold", "_keyed_all"


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Rows with a *key* each: all that the model knows of a row beside its labels, so that its components' weights are
    those of its key. N keys: rounds with gold of each class or none; where covariates matter a key is a single row.

    of_row (P,) the key of each row; round, gold (-1 for none) and row (N,): of each key; row is one of its rows.
    """

    patterns: Patterns
    of_row: Ints
    round: Ints
    gold: Ints
    row: Ints
    n_rounds: int

    @cached_property
    def shared(self) -> Patterns | None:
        """Labels and keys as one table of cells (P, J*L + N), one product with which is both; None for many keys."""
        n_rows, n_keys = len(self.of_row), len(self.row)
        if n_keys > _FEW_KEYS + self.patterns.cells.shape[1]:
            return None
        ends, indices = self.patterns.cells.indptr, self.patterns.cells.indices
        at = np.arange(n_rows) + ends[1:]  # behind the labels of a row
        cells = np.empty(len(indices) + n_rows, np.int64)
        of_label = np.ones(len(cells), bool)
        of_label[at] = False
        cells[at], cells[of_label] = self.of_row + self.patterns.cells.shape[1], indices
        n_cells = int(self.patterns.cells.shape[1]) + n_keys
        whole = sparse_cells(cells, np.append(0, at + 1), n_cells)
        return replace(self.patterns, cells=whole, n_labelers=n_cells, n_answers=1)

    @cached_property
    def in_key(self) -> Any:
        """(N, P) sparse: which rows have which key."""
        return _indicator(self.of_row, np.arange(len(self.of_row)), (len(self.row), len(self.of_row)))

    @cached_property
    def in_round(self) -> Any:
        """(R, N): which keys are of which round; full, as there are few, or sparse."""
        out = _indicator(self.round, np.arange(len(self.round)), (self.n_rounds, len(self.round)))
        return out.toarray() if len(self.round) < _FULL_KEYS else out

    @cached_property
    def pairs(self) -> Any:
        """(C C, P) sparse, C cells and keys: which two of them meet in which rows, the first no later; None for many.

        One product with it gives the sums of all pairs, where rows and cells are few enough to keep it.
        """
        if self.shared is None:
            return None
        cells, ends = self.shared.cells.indices.astype(np.int64), self.shared.cells.indptr
        n_cells, lengths = int(self.shared.cells.shape[1]), np.diff(ends)
        if max((lengths * (lengths + 1)).sum() // 2, n_cells**2) > _MOST_PAIRS:
            return None
        row = np.repeat(np.arange(len(lengths)), lengths)
        left = np.repeat(ends[1:], lengths) - np.arange(len(cells))  # labels from here to the row's end
        places, at = [], []
        for apart in range(int(lengths.max(initial=0))):
            first = np.flatnonzero(left > apart)
            places.append(cells[first] * n_cells + cells[first + apart])
            at.append(row[first])
        return _indicator(np.concatenate(places), np.concatenate(at), (n_cells**2, len(lengths)))

    def to_rows(self, by_cell: Floats, by_key: Floats) -> Floats:
        """(P, n): numbers of cells (J*L, n) and of keys (N, n), summed for each row; column by column in memory.

        Those of keys may be infinite, but not in a full product: 0 times infinity is no number.
        """
        if self.shared is None or (self.shared.is_filled and not np.isfinite(by_key).all()):
            out = np.asfortranarray(self.patterns.from_cells(by_cell))
            out += by_key[self.of_row]
            return out
        return np.asfortranarray(self.shared.from_cells(np.concatenate([by_cell, by_key])))

    def to_keys(self, by_row: Floats) -> tuple[Floats, Floats]:
        """Numbers of rows (P, n), summed by cell (J*L, n) and by key (N, n)."""
        n_cells = self.patterns.n_labelers * self.patterns.n_answers
        if self.shared is None:
            return self.patterns.to_cells(by_row).reshape(n_cells, -1), self.in_key @ by_row
        both = self.shared.to_cells(by_row)[:, 0]
        return both[:n_cells], both[n_cells:]

    @cached_property
    def golden(self) -> Ints:
        """The keys with gold."""
        return np.flatnonzero(self.gold >= 0)


def keyed_rows(rows: RoundRows, apart: Bools) -> KeyedRows:
    """Rows with their keys; those of rows `apart` are their own where there are covariates."""
    gold, n_classes = rows.patterns.gold, rows.n_classes
    key = rows.round * (n_classes + 1) + gold + 1
    if rows.covariates.shape[1]:
        key = np.where(apart, rows.n_rounds * (n_classes + 1) + np.arange(len(key)), rows.round * (n_classes + 1))
    _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
    return KeyedRows(rows.patterns, of_row, rows.round[first], gold[first], first, rows.n_rounds)


def _indicator(places: Ints, rows: Ints, shape: tuple[int, int]) -> Any:
    """A sparse matrix of ones, whose product with values of rows sums them by place."""
    return sparse.csr_array((np.ones(len(rows)), (places, rows)), shape=shape)


def level_grid(n_levels: int) -> Floats:
    """(G,): the places of the levels."""
    return np.linspace(-_SCALE_END, _SCALE_END, n_levels)


@lru_cache(maxsize=64)
def tilt_basis(n_levels: int, n_tilts: int) -> Floats:
    """(G, t): the level, then polynomials of higher degrees, orthogonal, of size `HIGHER_TILT_SIZE`."""
    theta = level_grid(n_levels)
    powers = (theta[:, None] / _SCALE_END) ** np.arange(n_tilts + 1)
    apart: Floats = np.linalg.qr(powers)[0][:, 1:] * (HIGHER_TILT_SIZE * np.sqrt(n_levels))
    if n_tilts:
        apart[:, 0] = theta
    apart.flags.writeable = False
    return apart


@dataclass(frozen=True)
class LevelShape:
    """`n_levels` of the scale, 0 for components that are classes; whether rounds may differ in more than a tilt of
    them; `n_appeals` of items within each class, 0 for one component a class."""

    n_levels: int
    n_classes: int
    all_degrees: bool = False
    n_appeals: int = 0

    @property
    def n_weighted(self) -> int:
        """Levels or appeals, whose weights are the rounds' own; 0 where there are neither."""
        return self.n_levels or self.n_appeals

    @property
    def err_together(self) -> bool:
        """Whether labelers' answers hang together within a class."""
        return self.n_weighted > 0

    @property
    def n_tilts(self) -> int:
        """The degrees in which rounds may differ."""
        if self.n_levels:
            return self.n_levels - 1 if self.all_degrees else 1
        return 1 if self.n_appeals else 0

    @property
    def n_components(self) -> int:
        return self.n_levels or self.n_classes * max(self.n_appeals, 1)

    @cached_property
    def component_class(self) -> Ints:
        """(E,): the class of each component, where components are classes."""
        return np.arange(self.n_components) // max(self.n_appeals, 1)

    @cached_property
    def component_weight(self) -> Ints:
        """(E,): the level or the appeal of each component."""
        return np.arange(self.n_components) % max(self.n_weighted, 1)

    def by_class(self, values: Floats) -> Floats:
        """(n, K): values of components (n, E) that are classes, summed over appeals."""
        if self.n_appeals == 0:
            return values
        out: Floats = values.reshape(len(values), self.n_classes, -1).sum(axis=2)
        return out

    def by_weight(self, values: Floats) -> Floats:
        """(n, G): values of components (n, E), summed over the classes of each appeal; of levels as they are."""
        if self.n_appeals == 0:
            return values
        out: Floats = values.reshape(len(values), self.n_classes, -1).sum(axis=1)
        return out

    @cached_property
    def theta(self) -> Floats:
        return level_grid(self.n_weighted) if self.n_weighted else np.zeros(1)

    @cached_property
    def basis(self) -> Floats:
        """(E, q): what a labeler's logits are a combination of."""
        if self.n_levels == 0:
            classes = np.eye(self.n_classes)[self.component_class]
            along = self.theta[self.component_weight][:, None]
            return np.concatenate([classes, along], axis=1) if self.n_appeals else classes
        return np.stack([np.ones(self.n_levels), self.theta], axis=1)


@dataclass(frozen=True, eq=False)
class LevelParameters:
    """Parameters: answers (J, L-1, q) logits against the first answer; levels (G-1,) logits against the first level and
    tilts (R, t) of the rounds (none without levels); classes (K-1, m) logits against the first class, over
    [rounds or (1, theta), covariates]."""

    answers: Floats
    levels: Floats
    tilts: Floats
    classes: Floats

    @cached_property
    def basis(self) -> Floats:
        """(G, t): what rounds' tilts are made of."""
        return tilt_basis(len(self.levels) + 1, self.tilts.shape[1])

    @cached_property
    def log_pool(self) -> Floats:
        """(G,): the logarithms of `pool`, finite where those shares are too small for a number."""
        return log_softmax(np.concatenate([[0.0], self.levels]), axis=0)

    @cached_property
    def pool(self) -> Floats:
        """(G,): how often each level occurs in a round without tilt."""
        out: Floats = np.exp(self.log_pool)
        return out

    @cached_property
    def log_weights(self) -> Floats:
        """(R, G): the logarithms of `weights`."""
        logits = np.concatenate([[0.0], self.levels]) + self.tilts @ self.basis.T
        return log_softmax(logits, axis=1)

    @cached_property
    def weights(self) -> Floats:
        """(R, G): how often each level occurs in each round; one column of ones without levels."""
        out: Floats = np.exp(self.log_weights)
        return out


def n_parameters(at: LevelParameters) -> int:
    """How many numbers are free."""
    return at.answers.size + at.levels.size + at.tilts.size + at.classes.size


def as_vector(point: LevelParameters) -> Floats:
    """(p,): all free numbers."""
    return np.concatenate([point.answers.ravel(), point.levels, point.tilts.ravel(), point.classes.ravel()])


def moved_parameters(at: LevelParameters, step: Floats) -> LevelParameters:
    """The parameters with all free numbers moved, in the order of `as_vector`."""
    by = parameters_of(step, at)
    return LevelParameters(at.answers + by.answers, at.levels + by.levels, at.tilts + by.tilts, at.classes + by.classes)


def parameters_of(vector: Floats, like: LevelParameters) -> LevelParameters:
    """The parameters whose free numbers (p,) are these, as many of each kind as those `like` them."""
    answers, levels, tilts, classes = np.split(
        vector, np.cumsum([like.answers.size, like.levels.size, like.tilts.size])
    )
    shapes = like.answers.shape, like.tilts.shape, like.classes.shape
    return LevelParameters(answers.reshape(shapes[0]), levels, tilts.reshape(shapes[1]), classes.reshape(shapes[2]))


def as_even_vector(point: LevelParameters) -> Floats:
    """All free numbers with logits against their mean, not against the first: lengths are the same in any order."""
    logits = point.answers, point.levels[None], point.classes[None]
    answers, levels, classes = (_centered(one).ravel() for one in logits)
    return np.concatenate([answers, levels, point.tilts.ravel(), classes])


def parameters_of_even(vector: Floats, like: LevelParameters) -> LevelParameters:
    """The parameters from that, as many of each kind as those `like` them."""
    shapes = [(len(one), one.shape[1] + 1, *one.shape[2:]) for one in (like.answers, like.levels[None])]
    rows = like.classes.shape[0] + 1, like.classes.shape[1]
    sizes = [int(np.prod(shapes[0])), int(np.prod(shapes[1])), like.tilts.size]
    answers, levels, tilts, classes = np.split(vector, np.cumsum(sizes))
    by_answer, by_level, by_class = answers.reshape(shapes[0]), levels, classes.reshape(rows)
    return LevelParameters(
        by_answer[:, 1:] - by_answer[:, :1],
        by_level[1:] - by_level[0],
        tilts.reshape(like.tilts.shape),
        by_class[1:] - by_class[:1],
    )


def _centered(logits: Floats) -> Floats:
    """(n, L, ...): logits (n, L-1, ...) against the first of L, against the mean of all."""
    whole = np.concatenate([np.zeros((len(logits), 1, *logits.shape[2:])), logits], axis=1)
    out: Floats = whole - whole.mean(axis=1, keepdims=True)
    return out


@dataclass(frozen=True, eq=False)
class LevelPrior:
    """answers: precisions (J, (L-1)q, (L-1)q) around the means of the labelers' groups (J,), which are as free as the
    labelers themselves; classes: means, and a precision (m, m) in which no class is unlike the others (`even_logits`);
    context: how far a round's mean level moves the reading of its levels; n_even: `RoundRows.n_even`."""

    groups: Ints
    answer_precision: Floats
    class_mean: Floats
    class_precision: Floats
    context: float = 0.0
    held_mean: Floats | None = None
    n_even: int = 1

    @cached_property
    def pooling(self) -> Pooling:
        return Pooling(self.groups, self.answer_precision, self.held_mean, self.n_even)
