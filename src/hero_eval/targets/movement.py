"""How models moved from round to round: the value and the rank of each, as each round's own ranking tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hero_eval.arguments import check_mapping
from hero_eval.errors import wrong
from hero_eval.estimate import SCHEMA_VERSION
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.targets.leaderboard import Leaderboard
from hero_eval.targets.ranking import Ranking, rows_of

_COLUMNS = ("model", "value", "low", "high", "rank", "rank_low", "rank_high")


@dataclass(frozen=True, eq=False)
class Movement(Framed):
    """Models over rounds, each round ranked by itself. `movement` makes it.

    Attributes
    ----------
    what : str
        What values are: a rate, or ``"Elo"``.
    bounds : tuple of float
        The least and the most that a value can be.
    level : float
        The level at which intervals and ranks of one round hold together; rounds are each by themselves.
    rounds : tuple of str
        The rounds, oldest first.
    table : mapping of str to list
        The rows of `to_frame`, column by column.
    skipped : mapping of str to str
        Rounds that could not be ranked, and why.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    what: str
    bounds: tuple[float, float]
    level: float
    rounds: tuple[str, ...]
    table: Mapping[str, list[Any]]
    skipped: Mapping[str, str]
    frame_kind: str = "files"

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each round and model, oldest round first, best model first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the data if it is one of these, else pandas, or pyarrow where pandas
            is not installed.

        Returns
        -------
        dataframe
            Columns: round, model, value, low, high, rank, rank_low, rank_high.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        return to_frame(dict(self.table), checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        """Everything that is shown, in plain types.

        Returns
        -------
        dict
            With a `schema_version`; unknown numbers are None.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "movement",
            "what": self.what,
            "level": self.level,
            "rounds": list(self.rounds),
            "models": rows_of(self.table),
            "skipped": dict(self.skipped),
        }

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in the order of the last round; those that it does not have after them, as they were."""
        last = {name: (-at, self.table["rank"][row]) for row, (at, name) in enumerate(self._places())}
        return tuple(sorted(last, key=lambda name: last[name]))

    def _places(self) -> list[tuple[int, str]]:
        order = {name: at for at, name in enumerate(self.rounds)}
        return [(order[one], model) for one, model in zip(self.table["round"], self.table["model"], strict=True)]

    def __repr__(self) -> str:
        return f"Movement({self.what} of {len(self.models)} models over {len(self.rounds)} rounds)"


def movement(rankings: Mapping[str, Ranking | Leaderboard], skipped: Mapping[str, str] | None = None) -> Movement:
    """How models moved from round to round.

    Parameters
    ----------
    rankings : mapping of str to Ranking or Leaderboard
        The ranking of each round, oldest first, all made by `rank` or all by `rank_votes`.
    skipped : mapping of str to str, optional
        Rounds that could not be ranked, and why. None: none.

    Returns
    -------
    Movement
        The value and the rank of each model in each round.

    Raises
    ------
    InputError
        If there is no ranking, or some are of rates and others of votes, or they are at different levels (E201).
    """
    check_mapping("rankings", rankings, "{'2026-w45': hero_eval.rank(rounds)}")
    found: list[Ranking | Leaderboard] = list((rankings or {}).values())
    if not found:
        raise wrong("E201", "there is no ranking to follow. Give one for each round")
    if any(not isinstance(one, Ranking | Leaderboard) for one in found):
        raise wrong("E201", "rankings holds something else than what rank and rank_votes give. Give one for each round")
    if len({type(one) for one in found}) > 1 or len({one.level for one in found}) > 1:
        raise wrong("E201", "rankings are of rates and of votes, or at different levels. Follow those of one kind")
    table: dict[str, list[Any]] = {"round": [], **{name: [] for name in _COLUMNS}}
    for name, one in rankings.items():
        columns = one.columns()
        columns = {**columns, "value": columns["elo" if isinstance(one, Leaderboard) else "value"]}
        table["round"] += [name] * len(columns["model"])
        for column in _COLUMNS:
            table[column] += columns[column]
    first = found[0]
    what = "Elo" if isinstance(first, Leaderboard) else first.what
    bounds = (float("-inf"), float("inf")) if isinstance(first, Leaderboard) else next(iter(first.values())).bounds
    kind = found[-1].frame_kind
    return Movement(what, bounds, first.level, tuple(rankings), table, dict(skipped or {}), kind)
