"""`Leaderboard`: models by their strengths in side-by-side votes, with ranks, win rates and the labelers' errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hero_eval.display import Displayed
from hero_eval.errors import wrong
from hero_eval.estimate import SCHEMA_VERSION
from hero_eval.estimation.standing import Standing
from hero_eval.findings import Finding
from hero_eval.model.patterns import Floats
from hero_eval.model.simultaneous import t_above, t_quantile
from hero_eval.model.vote_battles import VoteState
from hero_eval.model.vote_model import TIE_MODELS, state_shares
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.targets.battles import Battle, choose_battles
from hero_eval.targets.ranked_models import RankedModels
from hero_eval.targets.ranking import rows_of

ELO = 400.0 / math.log(10.0)
"""Points of Elo for one unit of log-odds."""
AVERAGE = 1000.0


@dataclass(frozen=True, eq=False)
class Leaderboard(RankedModels, Displayed, Framed):
    """Models by their strengths in side-by-side votes. `rank_votes` makes it.

    Attributes
    ----------
    models : tuple of str
        The models, in the order of `strengths`; `to_frame` has them best first.
    strengths : array
        The strength of each model in log-odds; their mean is 0.
    covariance : array
        Of the strengths, the uncertainty of the labelers' errors included.
    standing : Standing
        Ranks, claims and chances. For use inside the package.
    each_level : float
        The level of a single strength's interval by which all hold together.
    ties : str
        What a tie is: ``"half"`` a vote for each, or an outcome of its own (``"davidson"``).
    tie : tuple of float
        The tie parameter of Davidson's model and its standard error; 0 without one.
    reference : str
        The model against which win rates are.
    votes : mapping of str to int
        How many votes each model has.
    labeler_rows : tuple of mapping
        What `labelers` shows.
    covariates : mapping of str to tuple of float
        Of each covariate of the pair its coefficient, for one standard deviation, and the standard error.
    level : float
        The level at which intervals and ranks hold together.
    correction : str
        How differences are told: ``"max-t"``, ``"holm"`` or ``"fdr"``.
    method : str
        How the strengths were found, and from what.
    n_votes : int
        How many votes there are.
    n_items : int
        How many items they are on.
    n_gold : int
        How many votes with gold taught the labelers' errors.
    converged : bool
        Whether the fit came to rest.
    findings : tuple of Finding
        What one must know about this leaderboard, warnings first.
    state : VoteState or None
        What the next battles are chosen by. For use inside the package.
    win_rate : Estimate or None
        Of two models the win rate, where it is `estimate_win_rate`'s.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    models: tuple[str, ...]
    strengths: Floats
    covariance: Floats
    standing: Standing
    each_level: float
    ties: str
    tie: tuple[float, float]
    reference: str
    votes: Mapping[str, int]
    labeler_rows: tuple[Mapping[str, Any], ...]
    covariates: Mapping[str, tuple[float, float]]
    level: float
    correction: str
    method: str
    n_votes: int
    n_items: int
    n_gold: int
    converged: bool
    findings: tuple[Finding, ...]
    state: VoteState | None = None
    win_rate: Any = None
    frame_kind: str = "files"

    def __len__(self) -> int:
        return len(self.models)

    @property
    def compared(self) -> tuple[str, ...]:
        """The models in the order in which they were given."""
        return self.models

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The models, best first."""
        return tuple(self.models[at] for at in self.standing.order)

    @property
    def elo(self) -> Floats:
        """The strengths on the Elo scale: 400 points are odds of 10 to 1, the mean is 1000."""
        out: Floats = AVERAGE + ELO * self.strengths
        return out

    def columns(self) -> dict[str, list[Any]]:
        """The rows of `to_frame`, column by column.

        Returns
        -------
        dict
        """
        order = [int(at) for at in self.standing.order]
        error = np.sqrt(np.diag(self.covariance))
        reach = t_quantile((1.0 + self.each_level) / 2.0, self.standing.df)
        rates = [self._win(at, self.models.index(self.reference)) for at in order]
        return {
            "rank": list(range(1, len(order) + 1)),
            "model": [self.models[at] for at in order],
            "elo": [float(self.elo[at]) for at in order],
            "std_error": [float(ELO * error[at]) for at in order],
            "low": [float(self.elo[at] - ELO * reach * error[at]) for at in order],
            "high": [float(self.elo[at] + ELO * reach * error[at]) for at in order],
            "rank_low": [int(self.standing.low[at]) for at in order],
            "rank_high": [int(self.standing.high[at]) for at in order],
            "p_best": [float(self.standing.p_best[at]) for at in order],
            "win_rate": [value for value, _, _ in rates],
            "win_low": [low for _, low, _ in rates],
            "win_high": [high for _, _, high in rates],
            "votes": [self.votes[self.models[at]] for at in order],
            "group": self.standing.letters(),
        }

    def pair_columns(self) -> dict[str, list[Any]]:
        """The rows of `differences`, column by column.

        Returns
        -------
        dict
        """
        order = self.standing.order
        places = [(int(order[i]), int(order[j])) for i in range(len(order)) for j in range(i + 1, len(order))]
        values = [float(ELO * (self.strengths[i] - self.strengths[j])) for i, j in places]
        errors = [ELO * math.sqrt(max(self._variance(i, j), 0.0)) for i, j in places]
        reach = self.standing.critical
        return {
            "better": [self.models[i] for i, _ in places],
            "worse": [self.models[j] for _, j in places],
            "elo": values,
            "std_error": errors,
            "low": [value - reach * error for value, error in zip(values, errors, strict=True)],
            "high": [value + reach * error for value, error in zip(values, errors, strict=True)],
            "p_value": [float(self.standing.adjusted[at]) for at in places],
            "told_apart": [bool(self.standing.better[at]) for at in places],
            "win_rate": [self._win(i, j)[0] for i, j in places],
        }

    def win_matrix(self, backend: str | None = None) -> Any:
        """How often each model wins against each other, a tie half a win, best first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: as `to_frame`.

        Returns
        -------
        dataframe
            A row for each model, with its name as `model` and a column for each opponent.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        order = [int(at) for at in self.standing.order]
        matrix = {self.models[j]: [self._win(i, j)[0] if i != j else math.nan for i in order] for j in order}
        return to_frame({"model": list(self.order), **matrix}, checked_backend(backend, self.frame_kind))

    def labelers(self, backend: str | None = None) -> Any:
        """How each labeler votes, given which model is better.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: as `to_frame`.

        Returns
        -------
        dataframe
            Columns: labeler, votes, gold, right_first and right_second (how often it is right where the first, and
            where the second, is better; a tie half right), first_bias (log-odds by which it favors what is shown first)
            and first_bias_se. Empty where no gold shows how labelers err.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        names = ("labeler", "votes", "gold", "right_first", "right_second", "first_bias", "first_bias_se")
        columns = {name: [row[name] for row in self.labeler_rows] for name in names}
        return to_frame(columns, checked_backend(backend, self.frame_kind))

    def next_battles(
        self, count: int = 100, *, top: int | None = None, pair: Sequence[str] | None = None
    ) -> list[Battle]:
        """Which pairs to compare next, and how many votes each should have, by what they would tell.

        Parameters
        ----------
        count : int, default 100
            How many votes there are to give.
        top : int, optional
            What matters is who is among the best so many. None, without `pair`: 1.
        pair : two of the models, optional
            What matters is which of these two is better. None: see `top`.

        Returns
        -------
        list of Battle
            Pairs with their share of the votes, most first.

        Raises
        ------
        InputError
            If an option has a value that is not known (E201), or a model has no votes (E235).
        """
        if self.state is None:
            raise wrong("E204", "two models have one pair: every vote goes to it")
        return choose_battles(self.models, self.strengths, self.standing, self.state, count, top, pair)

    def to_dict(self) -> dict[str, Any]:
        """Everything that is shown, in plain types.

        Returns
        -------
        dict
            With a `schema_version`; unknown numbers are None.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "leaderboard",
            "level": self.level,
            "correction": self.correction,
            "ties": self.ties,
            "method": self.method,
            "reference": self.reference,
            "n_votes": self.n_votes,
            "n_items": self.n_items,
            "n_gold": self.n_gold,
            "converged": self.converged,
            "models": rows_of(self.columns()),
            "differences": rows_of(self.pair_columns()),
            "win_matrix": {a: {b: self._win(i, j)[0] for j, b in self._others(i)} for i, a in enumerate(self.models)},
            "groups": self.groups(),
            "labelers": [dict(row) for row in self.labeler_rows],
            "covariates": {
                name: {"coefficient": value, "std_error": error} for name, (value, error) in self.covariates.items()
            },
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def _others(self, at: int) -> list[tuple[int, str]]:
        return [(j, name) for j, name in enumerate(self.models) if j != at]

    def _variance(self, i: int, j: int) -> float:
        return float(self.covariance[i, i] + self.covariance[j, j] - 2.0 * self.covariance[i, j])

    def _win(self, i: int, j: int) -> tuple[float, float, float]:
        """How often i wins against j, a tie half a win, and the interval of that single rate."""
        if i == j:
            return 0.5, 0.5, 0.5
        ties = TIE_MODELS[self.ties]
        delta = float(self.strengths[i] - self.strengths[j])
        reach = t_quantile((1.0 + self.level) / 2.0, self.standing.df) * math.sqrt(max(self._variance(i, j), 0.0))
        places = np.array([delta, delta - reach, delta + reach])
        found = state_shares(ties, places, self.tie[0]) @ ties.worth()
        return float(found[0]), float(found[1]), float(found[2])

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{model} {self.elo[self.models.index(model)]:.0f} (rank {low} to {high})"
            for model in self.order
            for low, high in [self.rank_interval(model)]
        )
        return f"Leaderboard({self.n_votes:,} votes: {shown})"


def level_of(critical: float, df: float) -> float:
    """The level of a single interval of this many standard errors."""
    return 1.0 - 2.0 * float(t_above(np.array(critical), df))
