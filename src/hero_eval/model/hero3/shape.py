"""What HERO-3's model is made of: the rows it is fitted to, its shape, its parameters and their prior.

Every item is in a hidden *component*; labelers answer independently given it. There are two shapes of one model:

- one component per class (the paper's): labeler j's answers have free logits in each class, and an item of round r with
  covariates x is of class k with probability softmax(u_rk + x eta_k);
- levels on a scale, theta_1 < ... < theta_G: labeler j's logits are straight lines alpha_j + beta_j theta, level g
  occurs in round r with probability softmax(p_g + a_r b_g), so that rounds are tilted towards good or bad, and an
  item of level theta is of class k with probability softmax(u_k + v_k theta + x eta_k). A state is a (level, class)
  pair, so a class has several states ("clearly good", "borderline"), and labelers who all look at the level err
  together given the class. Gold alone tells where on the scale a class begins, so rows without gold cannot drag it off.
  With few past rounds b_g is theta_g alone: rounds with free shares of the levels could each have levels of its own,
  and gold of one round would tell nothing of another. With more, b_g has polynomials of all degrees.

The modules, each using only those before it: `shape`, `likelihood`, `multinomial`, `level_priors`, `m_steps`,
`level_information`, `fit`, `context`; then `level_selection`, `drift`, `class_split`, `shared_drift`, `drift_split` and
`current_rates`, which read a fit.

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
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns
from hero_eval.model.pooling import Pooling

HIGHER_TILT_SIZE = 0.3
"""The root mean square of a basis function of degree 2 or more, where the level itself has about 2: rounds that could
bend freely would hide their drift in their levels. A choice. Doubled (measured): where there are enough rounds, rates
move by up to .008 and intervals are 6 to 10% shorter."""
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
    def _in_round(self) -> Any:
        """(R, P) sparse: which rows are of which round."""
        return _indicator(self.round, np.arange(len(self.round)), (self.n_rounds, len(self.round)))

    @cached_property
    def _of_gold(self) -> Any:
        """(K R, P) sparse: which rows have gold of which class, in which round."""
        at = np.flatnonzero(self.known)
        places = self.patterns.gold[at] * self.n_rounds + self.round[at]
        return _indicator(places, at, (self.n_classes * self.n_rounds, len(self.round)))

    def sums_by_round(self, values: Any) -> Any:
        """(R, n): sums of the values (P, n), dense or sparse, of each round's rows."""
        return self._in_round @ values

    def sums_by_gold(self, values: Floats) -> Floats:
        """(K, R, n): sums of the values (P, n) of the rows with gold of each class, in each round."""
        out: Floats = (self._of_gold @ values).reshape(self.n_classes, self.n_rounds, -1)
        return out

    def blind(self) -> RoundRows:
        """The same rows with all gold forgotten."""
        return replace(self, patterns=replace(self.patterns, gold=np.full_like(self.patterns.gold, -1)))


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
    """`n_levels` of the scale, 0 for one component a class; whether rounds may differ in more than a tilt of them."""

    n_levels: int
    n_classes: int
    all_degrees: bool = False

    @property
    def n_tilts(self) -> int:
        """The degrees in which rounds may differ."""
        return (self.n_levels - 1 if self.all_degrees else 1) if self.n_levels else 0

    @property
    def n_components(self) -> int:
        return self.n_levels or self.n_classes

    @cached_property
    def theta(self) -> Floats:
        return level_grid(self.n_levels) if self.n_levels else np.zeros(1)

    @cached_property
    def basis(self) -> Floats:
        """(E, q): what a labeler's logits are a combination of."""
        if self.n_levels == 0:
            return np.eye(self.n_classes)
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
    def pool(self) -> Floats:
        """(G,): how often each level occurs in a round without tilt."""
        out: Floats = np.exp(log_softmax(np.concatenate([[0.0], self.levels]), axis=0))
        return out

    @cached_property
    def weights(self) -> Floats:
        """(R, G): how often each level occurs in each round; one column of ones without levels."""
        logits = np.concatenate([[0.0], self.levels]) + self.tilts @ self.basis.T
        out: Floats = np.exp(log_softmax(logits, axis=1))
        return out


def n_parameters(at: LevelParameters) -> int:
    """How many numbers are free."""
    return at.answers.size + at.levels.size + at.tilts.size + at.classes.size


def as_vector(point: LevelParameters) -> Floats:
    """(p,): all free numbers."""
    return np.concatenate([point.answers.ravel(), point.levels, point.tilts.ravel(), point.classes.ravel()])


def moved_parameters(at: LevelParameters, step: Floats) -> LevelParameters:
    """The parameters with all free numbers moved, in the order of `as_vector`."""
    answers, levels, tilts, classes = np.split(step, np.cumsum([at.answers.size, at.levels.size, at.tilts.size]))
    return LevelParameters(
        at.answers + answers.reshape(at.answers.shape),
        at.levels + levels,
        at.tilts + tilts.reshape(at.tilts.shape),
        at.classes + classes.reshape(at.classes.shape),
    )


@dataclass(frozen=True, eq=False)
class LevelPrior:
    """answers: precisions (J, (L-1)q, (L-1)q) around the means of the labelers' groups (J,), which are as free as the
    labelers themselves; classes: means and precision (m, m); context: how far a round's mean level moves the reading of
    its levels."""

    groups: Ints
    answer_precision: Floats
    class_mean: Floats
    class_precision: Floats
    context: float = 0.0
    held_mean: Floats | None = None

    @cached_property
    def pooling(self) -> Pooling:
        return Pooling(self.groups, self.answer_precision, self.held_mean)
