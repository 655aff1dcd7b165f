"""What a plan says: how much of each kind reaches a width, the best mix, and width against spending."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hero_eval.documents import SCHEMA_VERSION
from hero_eval.estimate import number
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.targets.plan_prices import KINDS, Purchase


@dataclass(frozen=True)
class Route:
    """How far one kind alone leads: how much of it reaches the width asked for, None if none does, and what the
    narrowest width is that it can lead to."""

    kind: str
    amount: float | None
    cost: float
    width: float


@dataclass(frozen=True, eq=False)
class Plan(Framed):
    """What it would take. `plan` makes it.

    Attributes
    ----------
    what : str
        The quantity in words.
    value : float
        The estimate now, or the rate that was assumed.
    width : float
        The width of the interval now.
    wanted : float or None
        The width asked for.
    level : float
        The level of the intervals.
    drift_share : float
        The share of the variance that drift between rounds has now.
    routes : tuple of Route
        How much of each kind alone reaches the width asked for.
    best : Purchase or None
        The cheapest mix for the width, or the best for the budget; None without prices.
    curve : tuple of Purchase
        The best mix for growing spending; of gold in this round alone where no prices were named.
    words : tuple of str
        The plan in sentences.
    power : float or None
        The chance to see the difference asked for.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    what: str
    value: float
    width: float
    wanted: float | None
    level: float
    drift_share: float
    routes: tuple[Route, ...] = ()
    best: Purchase | None = None
    curve: tuple[Purchase, ...] = ()
    words: tuple[str, ...] = ()
    power: float | None = None
    frame_kind: str = field(default="files", repr=False)

    def to_frame(self, backend: str | None = None) -> Any:
        """Width against spending, one row per point of the curve.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the current round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: cost, width, and how much of each kind: gold, past_gold, items, labels.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        columns: dict[str, list[Any]] = {
            "cost": [one.cost for one in self.curve],
            "width": [one.width for one in self.curve],
        }
        columns |= {kind: [getattr(one.more, kind) for one in self.curve] for kind in KINDS}
        return to_frame(columns, checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        """The plan in plain types, for JSON.

        Returns
        -------
        dict
            With a `schema_version`; unknown numbers are None.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "plan",
            "what": self.what,
            "value": number(self.value),
            "level": self.level,
            "width": number(self.width),
            "wanted": self.wanted,
            "drift_share": number(self.drift_share),
            "power": self.power,
            "routes": [
                {"kind": one.kind, "amount": one.amount, "cost": number(one.cost), "width": number(one.width)}
                for one in self.routes
            ],
            "best": None if self.best is None else self.best.to_dict(),
            "curve": [one.to_dict() for one in self.curve],
            "words": list(self.words),
        }

    def __repr__(self) -> str:
        return f"Plan({self.what}: {' '.join(self.words)})"
