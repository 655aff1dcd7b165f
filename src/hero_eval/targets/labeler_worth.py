"""What each labeler's labels are worth: how much wider the interval would be without them, and what they cost.

From the information of HERO-3's model (`model/width_forecast.py`): the labels of one labeler are taken out of the
current round, with everything that is known of the labelers kept. Judges and people stand in one table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hero_eval.arguments import check_progress
from hero_eval.documents import SCHEMA_VERSION
from hero_eval.errors import unsupported
from hero_eval.estimate import number
from hero_eval.estimation.forecast import Outcome
from hero_eval.estimation.options import HistoryLike, as_history, as_round
from hero_eval.io.values import count_of
from hero_eval.model.history import Progress
from hero_eval.model.width_forecast import More
from hero_eval.read import RoundLike
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.targets.plan import outcome_of
from hero_eval.targets.plan_prices import Prices, check_prices


@dataclass(frozen=True)
class LabelerWorth:
    """Of one labeler: its labels per item of the current round, what one costs and what all cost (nan: no price), the
    width and the variance's growth without it, what that is per unit of money, and how many golds would make up for it.
    """

    labeler: str
    kind: str
    labels: float
    price: float
    cost: float
    width_without: float
    """nan where the model's information is too weak without this labeler."""
    variance_share: float
    """By which share of itself the variance would grow without this labeler."""
    worth: float
    """That share for each unit of money; nan without a price, inf if it costs nothing."""
    golds_instead: float
    """Golds in the current round that make up for it; nan if none do."""


@dataclass(frozen=True, eq=False)
class Worths(Framed):
    """What the labelers of a round are worth.

    Attributes
    ----------
    labelers : tuple of LabelerWorth
        The labelers, those worth most first.
    width : float
        The width of the interval with all of them.
    level : float
        The level of that interval.
    words : tuple of str
        What would do the same for less, in words.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    method : str
        Whose interval it is: the method with a model of each labeler.
    """

    labelers: tuple[LabelerWorth, ...]
    width: float
    level: float
    words: tuple[str, ...]
    frame_kind: str = "files"
    method: str = "hero3"

    def __repr__(self) -> str:
        first = f", {self.labelers[0].labeler!r} worth most" if self.labelers else ""
        return f"Worths({len(self.labelers)} labelers{first}; the interval is {self.width:.3f} wide)"

    def to_frame(self, backend: str | None = None) -> Any:
        """The labelers, one row each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the current round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: labeler, kind, labels, price, cost, width_without, variance_share, worth, golds_instead.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        names = list(LabelerWorth.__dataclass_fields__)
        columns = {name: [getattr(one, name) for one in self.labelers] for name in names}
        return to_frame(columns, checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON.

        Returns
        -------
        dict
        """
        rows = [
            {key: number(value) if isinstance(value, float) else value for key, value in vars(one).items()}
            for one in self.labelers
        ]
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "labelers' worth",
            "level": self.level,
            "width": number(self.width),
            "method": self.method,
            "labelers": rows,
            "words": list(self.words),
        }


def labeler_worth(
    current: RoundLike,
    history: HistoryLike = None,
    *,
    costs: Mapping[str, float] | None = None,
    judges: Sequence[str] = (),
    level: float = 0.95,
    positive: object = None,
    progress: Progress | None = None,
) -> Worths:
    """What each labeler's labels are worth in the current round: the interval without them, and what they cost.

    Parameters
    ----------
    current : Round, path or dataframe
        The current round.
    history : Round, path, dataframe, sequence of these, Reliability or None, optional
        Past rounds, in which some items have gold.
    costs : mapping of str to float, optional
        Prices of `gold`, `label` and `judge`, and of single labelers by name. None: nothing has a price, and no worth
        per unit of money is told.
    judges : sequence of str, default ()
        Labelers whose labels cost what a judge's does.
    level : float, default 0.95
        The level of the interval whose width counts.
    positive : object, optional
        The class, or classes, whose rate is asked for. None: the round's own positive class.
    progress : callable, optional
        Called with (done, total) as the model is fitted. None: nothing is told.

    Returns
    -------
    Worths
        One row per labeler, those worth most first, and what would do the same for less in words.

    Raises
    ------
    InputError
        If the rounds do not fit together, or an option is unknown.
    SupportError
        If gold is too little to say what a labeler adds (E222).
    """
    check_prices(costs, judges)
    check_progress(progress)
    history, current = as_history(history, current), as_round(current)
    prices = Prices(dict(costs or {}), frozenset(judges), current)
    outcome, _ = outcome_of(current, history, level, positive, None, progress, method="hero3")
    model = outcome.model
    if model is None:
        raise unsupported("E222", "the model's information is too weak to say what a labeler adds")
    evidence: Any = outcome.current.evidence
    width = outcome.width()
    found = []
    for at, one in model.without.items():
        name = evidence.labelers[at]
        price = prices.of_label(name)
        share = outcome.without_share(at)
        cost = one.labels * current.n_items * price
        per = math.nan if math.isnan(cost) else share / cost if cost > 0.0 else math.inf
        found.append(
            LabelerWorth(
                name,
                "judge" if name in prices.judges else "labeler",
                one.labels,
                price,
                cost,
                width * math.sqrt(1.0 + share),
                share,
                per,
                _golds_instead(outcome, share, current.n_items - current.n_gold),
            )
        )
    order = sorted(found, key=lambda one: (-(one.worth if one.worth == one.worth else one.variance_share), one.labeler))
    words = tuple(_words(order, prices.named.get("gold", math.nan), width))
    return Worths(tuple(order), width, level, words, current.frame_kind, outcome.now.method)


def _golds_instead(outcome: Outcome, share: float, most: int) -> float:
    """The least golds whose effect on the variance makes up for the share, by halving."""
    if math.isnan(share):
        return math.nan
    if share <= 0.0:
        return 0.0
    now = outcome.variance()
    if most < 1 or outcome.variance(More(gold=float(most))) * (1.0 + share) > now:
        return math.nan
    few, enough = 0, most
    while enough - few > 1:
        middle = (few + enough) // 2
        made_up = outcome.variance(More(gold=float(middle))) * (1.0 + share) <= now
        few, enough = (few, middle) if made_up else (middle, enough)
    return float(enough)


def _words(found: Sequence[LabelerWorth], gold: float, width: float) -> list[str]:
    """Which labeler is worth least, and whether gold in its place would do the same for less."""
    told = []
    idle = [one.labeler for one in found if one.variance_share < 0.005]
    if idle:
        told.append(f"Without {', '.join(idle)} the interval would be as short: their labels add nothing here.")
    for one in reversed(found):
        instead = one.golds_instead * gold
        if one.golds_instead > 0.0 and instead < one.cost:
            golds = f"{count_of(round(one.golds_instead), 'gold')} in this round"
            cheaper = f"for {instead:,.2f} instead of {one.cost:,.2f}"
            told.append(f"{golds} would do what {one.labeler} does, a width of {width:.3f}, {cheaper}.")
    if not told and not math.isnan(gold):
        told.append("No labeler could be replaced by gold for less.")
    return told
