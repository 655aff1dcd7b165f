"""What every ranking of models has, whatever it ranks them by: ranges of ranks, groups, doubts."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hero_eval.display import render
from hero_eval.estimation.standing import Standing
from hero_eval.findings import Finding, doubts_of
from hero_eval.result_frames import checked_backend, to_frame


class RankedModels(ABC):
    """Models with a standing among each other."""

    standing: Standing
    findings: tuple[Finding, ...]
    frame_kind: str

    @property
    @abstractmethod
    def compared(self) -> Sequence[str]:
        """The models in the order in which their standing counts them."""

    @abstractmethod
    def columns(self) -> dict[str, list[Any]]:
        """The rows of `to_frame`, column by column."""

    @abstractmethod
    def pair_columns(self) -> dict[str, list[Any]]:
        """The rows of `differences`, column by column."""

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per model, best first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the data if it is one of these, else pandas, or pyarrow where pandas
            is not installed.

        Returns
        -------
        dataframe
            Columns: rank, model, value (of a leaderboard elo), std_error, low and high (which hold together), rank_low
            and rank_high (which hold together), p_best, group (models that share a letter are not told apart); of a
            leaderboard also win_rate against the reference with win_low and win_high, and votes.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        return to_frame(self.columns(), checked_backend(backend, self.frame_kind))

    def differences(self, backend: str | None = None) -> Any:
        """One row for each two models, the better first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: as `to_frame`.

        Returns
        -------
        dataframe
            Columns: better, worse, value (of a leaderboard elo, in points), std_error, low and high (which hold
            together at the level), p_value (after the correction), told_apart; of a leaderboard also win_rate, how
            often the better one wins.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        return to_frame(self.pair_columns(), checked_backend(backend, self.frame_kind))

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """The findings by which intervals and ranks may be too narrow."""
        return doubts_of(self.findings)

    def rank_interval(self, model: str) -> tuple[int, int]:
        """The best and the worst rank that the data allow; all models' hold together at the level.

        Parameters
        ----------
        model : str
            The name of the model.

        Returns
        -------
        low : int
            The best rank, 1 for the first.
        high : int
            The worst rank.
        """
        at = self.compared.index(model)
        return int(self.standing.low[at]), int(self.standing.high[at])

    def groups(self) -> list[list[str]]:
        """The largest groups of models that the data cannot tell apart, best first; they may overlap.

        Returns
        -------
        list of list of str
        """
        return [[self.compared[at] for at in group] for group in self.standing.groups]

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write a report that one can send. Needs `pip install 'hero-eval[report]'`.

        Parameters
        ----------
        path : path-like
            The file to write: ``.html`` (one file, no network), ``.md`` or ``.json`` by its ending.
        title : str, optional
            The title of the report. None: one that says what was ranked.

        Returns
        -------
        Path
            The file that was written.

        Raises
        ------
        InputError
            If the ending is none of these (E201), a package is missing (E410), or the file cannot be written (E213).
        """
        return Path(render("ranking_report", self, path, title=title))
