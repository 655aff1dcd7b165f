"""`Estimate`: a number, how sure it is, and what one must know about it. All surfaces render this one thing."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hero_eval.display import Displayed, render
from hero_eval.documents import SCHEMA_VERSION as SCHEMA_VERSION
from hero_eval.errors import wrong
from hero_eval.findings import Finding, doubts_of
from hero_eval.influence import Influence
from hero_eval.item_results import ItemResults
from hero_eval.model.em import EMReport
from hero_eval.result_frames import checked_backend, to_frame

if TYPE_CHECKING:
    from hero_eval.estimation.curves import Curve
    from hero_eval.gates import Gate


@dataclass(frozen=True, eq=False)
class Source:
    """What an estimate was made of, so that a report can show more than the number: rounds, history, options."""

    currents: tuple[Any, ...]
    history: Any
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Estimate(Displayed):
    """A value with its standard error and interval. Functions such as `estimate_rate` make it.

    Attributes
    ----------
    target : str
        Which question was answered, such as ``"rate"``.
    what : str
        The quantity in words, such as ``"rate of '1'"``.
    value : float
        The number; nan if the data do not tell it.
    method : str
        The method that was used.
    n_items : int
        Current items behind the number.
    n_gold : int
        Gold items behind the number, of history and of the current round.
    level : float
        The level of the interval.
    interval_kind : str
        How the interval was made: influence, profile, bootstrap, paper or anytime.
    bounds : tuple of float
        The range that the quantity can take.
    center : float
        The value, or a point just inside the range if the value lies on its edge. For use inside the package.
    influence : Influence
        How far each item moves the number. For use inside the package.
    curve : Curve
        The confidence curve that intervals are read off; see the method page.
    why : str
        Why this method.
    em : EMReport or None
        How EM went: `n_steps`, `change`, `converged`, `log_likelihood`; None if the method has no EM.
    findings : tuple of Finding
        What one must know about this number, warnings first.
    distribution : mapping of str to Estimate
        The rate of each class (of a difference: the two rates); may be empty.
    mean_score : Estimate or None
        The mean score of numeric classes, or by the scores given.
    least_error : float
        The least standard error of an estimate on an edge; else 0.
    source : Source or None
        The rounds and options behind the number. For use inside the package.
    n_gold_current : int
        Of the golds used, those in the current round.
    item_results : ItemResults or None
        What `items` makes a table of. For use inside the package.
    """

    target: str
    what: str
    value: float
    method: str
    n_items: int
    n_gold: int
    level: float
    interval_kind: str
    bounds: tuple[float, float]
    center: float
    influence: Influence = field(repr=False)
    curve: Curve = field(repr=False)
    why: str = ""
    em: EMReport | None = None
    findings: tuple[Finding, ...] = ()
    distribution: Mapping[str, Estimate] = field(default_factory=dict)
    mean_score: Estimate | None = None
    least_error: float = 0.0
    source: Source | None = field(default=None, repr=False)
    n_gold_current: int = 0
    item_results: ItemResults | None = field(default=None, repr=False)

    @property
    def n_gold_history(self) -> int:
        """Of the golds used, those in history; the others are the current round's."""
        return self.n_gold - self.n_gold_current

    @property
    def std_error(self) -> float:
        """The standard error; nan if the value is; on an edge no less than `least_error`."""
        if math.isnan(self.value):
            return math.nan
        return max(math.sqrt(self.influence.variance()), self.least_error)

    @property
    def converged(self) -> bool:
        """Whether EM came to rest; True if the method has no EM."""
        return self.em is None or self.em.converged

    def interval(self, level: float | None = None, *, side: str | None = None) -> tuple[float, float]:
        """The interval, or a bound from one side; the whole range if the data say nothing.

        Parameters
        ----------
        level : float, optional
            How sure the interval is to hold the quantity, between 0 and 1. None: the level of the estimate.
        side : {"lower", "upper"}, optional
            ``"lower"`` bounds from below only, ``"upper"`` from above only. None bounds from both sides.

        Returns
        -------
        low : float
            The lower end.
        high : float
            The upper end.

        Raises
        ------
        InputError
            If the level is no probability or the side is not known (E201).
        """
        level = check_level(self.level if level is None else level)
        low, high = self.bounds
        if side == "lower":
            return self._end(1 - level, low), high
        if side == "upper":
            return low, self._end(level, high)
        if side is not None:
            raise wrong("E201", f"side is {side!r}. Known: 'lower', 'upper', or None for both")
        return self._end((1 - level) / 2, low), self._end((1 + level) / 2, high)

    def _end(self, p: float, end: float) -> float:
        """Where the curve has p, within the range and on this side of the value; the range's end if it says nothing."""
        low, high = self.bounds
        found = self.curve.quantile(p)
        if math.isnan(found):
            return end
        if not math.isnan(self.value):
            found = min(found, self.value) if end == low else max(found, self.value)
        return min(max(found, low), high)

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """The findings by which the interval may be too short, unbounded or unidentified; with any, no gate opens."""
        return doubts_of(self.findings)

    def probability_above(self, threshold: float) -> float:
        """How sure the data make us that the quantity lies above `threshold` (the confidence curve there).

        It agrees with the one-sided intervals: above 0.95 exactly where the 95% lower bound is above the threshold. It
        is worth as much as the interval: where `doubts` names findings, whether the quantity lies there is undecided.

        Parameters
        ----------
        threshold : float
            The number to compare the quantity with.

        Returns
        -------
        float
            Between 0 and 1.

        Raises
        ------
        InputError
            If the threshold is no number (E201).
        """
        return 1.0 - self.probability_below(threshold)

    def probability_below(self, threshold: float) -> float:
        """How sure the data make us that the quantity lies below `threshold`; undecided where there are `doubts`.

        Parameters
        ----------
        threshold : float
            The number to compare the quantity with.

        Returns
        -------
        float
            Between 0 and 1.

        Raises
        ------
        InputError
            If the threshold is no number (E201).
        """
        if not isinstance(threshold, Real) or math.isnan(threshold):
            raise wrong("E201", f"the threshold is {threshold!r}. It is a number")
        low, high = self.bounds
        if threshold < low or threshold > high:  # nothing lies outside the range, whatever the curve makes of it
            return 0.0 if threshold < low else 1.0
        return min(max(self.curve.below(float(threshold)), 0.0), 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything that is shown, in plain types.

        Returns
        -------
        dict
            With a `schema_version`; unknown numbers are None. The reference explains each key.
        """
        low, high = self.interval()
        out: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "target": self.target,
            "what": self.what,
            "value": number(self.value),
            "std_error": number(self.std_error),
            "interval": {
                "level": self.level,
                "low": number(low),
                "high": number(high),
                "kind": self.interval_kind,
            },
            "method": self.method,
            "why": self.why,
            "n_items": self.n_items,
            "n_gold": self.n_gold,
            "n_gold_history": self.n_gold_history,
            "n_gold_current": self.n_gold_current,
            "converged": self.converged,
            "em": None if self.em is None else {"steps": self.em.n_steps, "change": number(self.em.change)},
            "shorten": render("shorten", self),
            "findings": [finding.to_dict() for finding in self.findings],
        }
        if self.distribution:
            out["distribution"] = {name: _brief(one) for name, one in self.distribution.items()}
        if self.mean_score is not None:
            out["mean_score"] = _brief(self.mean_score)
        return out

    def to_frame(self, backend: str | None = None) -> Any:
        """The estimate as a dataframe of one row.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the current round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: target, what, value, std_error, low, high, level, method, n_items, n_gold.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        current = self.source.currents[0] if self.source is not None else None
        low, high = self.interval()
        row = {name: getattr(self, name) for name in ("target", "what", "value", "std_error")}
        row |= {"low": low, "high": high}
        row |= {name: getattr(self, name) for name in ("level", "method", "n_items", "n_gold")}
        kind = checked_backend(backend, "files" if current is None else current.frame_kind)
        return to_frame({name: [value] for name, value in row.items()}, kind)

    def items(self, backend: str | None = None) -> Any:
        """One row for each item behind the estimate: how probable each class is, how far the item moves the number.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: as for `to_frame`.

        Returns
        -------
        dataframe
            Columns: item; side (of a difference); class (gold, or the most probable); probability_X of each class X;
            expected (what the item adds to the mean: a probability or a score); labels (how many); has_gold; gold;
            influence (by how much, to first order, the estimate would fall if the item were left out).

        Raises
        ------
        InputError
            If nothing can be said of single items (E128), or the backend is not one of these (E201).
        """
        if self.item_results is None:
            raise wrong("E128", f"the {self.what} is not a mean over items. Ask for a rate, whose items are to be had.")
        kind = checked_backend(backend, self.item_results.rounds[0].round.frame_kind)
        return to_frame(self.item_results.columns(), kind)

    def summary(self) -> str:
        """The answer in plain words, the facts behind it and the findings: what the terminal shows, as text.

        Returns
        -------
        str
            Lines of at most 80 columns, as far as names allow.
        """
        return str(render("summary", self))

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write a report that one can send. Needs `pip install 'hero-eval[report]'`.

        Parameters
        ----------
        path : path-like
            The file to write: ``.html`` (one file, no network), ``.md`` or ``.json`` by its ending.
        title : str, optional
            The title of the report. None: one that says what was estimated.

        Returns
        -------
        Path
            The file that was written.

        Raises
        ------
        InputError
            If the ending is none of these (E201), a package is missing (E410), or the file cannot be written (E213).
        """
        return Path(render("report", self, path, title=title))

    def log_to_mlflow(self, *, prefix: str = "hero", run_id: str | None = None, gate: Gate | None = None) -> str:
        """Log to MLflow: metrics, tags and the whole document. Needs `pip install 'hero-eval[mlflow]'`.

        Parameters
        ----------
        prefix : str
            What the names of metrics, tags and artifacts begin with, such as ``hero.value``.
        run_id : str, optional
            The run to log to. None: the one that is active, or a new one, which is ended.
        gate : Gate, optional
            A release gate, whose verdict becomes the tag ``hero.gate``. None: no verdict is logged.

        Returns
        -------
        str
            The id of the run.

        Raises
        ------
        InputError
            If MLflow is not installed (E410).
        """
        return str(render("mlflow", self, prefix=prefix, run_id=run_id, gate=gate))

    def __repr__(self) -> str:
        low, high = self.interval()
        where = f" ({self.gold_words})" if self.n_gold_current else ""
        return (
            f"Estimate({self.what} {self.value:.4f}, {self.level:.0%} interval {low:.4f} to {high:.4f}, {self.method}, "
            f"{self.n_items} items, {self.n_gold} gold{where})"
        )

    @property
    def gold_words(self) -> str:
        """Where the golds used are: "240 in history, 60 in current"."""
        parts = ((self.n_gold_history, "history"), (self.n_gold_current, "current"))
        return ", ".join(f"{count:,} in {where}" for count, where in parts if count) or f"none that {self.method} uses"


def _brief(estimate: Estimate) -> dict[str, Any]:
    low, high = estimate.interval()
    return {
        "value": number(estimate.value),
        "std_error": number(estimate.std_error),
        "low": number(low),
        "high": number(high),
    }


def table_of(first: str, estimates: Mapping[str, Estimate]) -> dict[str, list[Any]]:
    """Several estimates as columns: their names under `first`, then value, standard error, interval, items, gold."""
    intervals = [one.interval() for one in estimates.values()]
    return {
        first: list(estimates),
        "value": [one.value for one in estimates.values()],
        "std_error": [one.std_error for one in estimates.values()],
        "low": [low for low, _ in intervals],
        "high": [high for _, high in intervals],
        "n_items": [one.n_items for one in estimates.values()],
        "n_gold": [one.n_gold for one in estimates.values()],
    }


def number(value: float) -> float | None:
    """A float for JSON, which knows no nan and no infinity."""
    return float(value) if math.isfinite(value) else None


def check_level(level: float) -> float:
    if not isinstance(level, Real) or isinstance(level, bool) or not 0.0 < float(level) < 1.0:
        raise wrong("E201", f"level is {level!r}. It is a probability between 0 and 1, such as 0.95")
    return float(level)
