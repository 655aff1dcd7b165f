"""Every method side by side on the same rounds, with history fitted once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hero_eval.classes import common_classes, in_one_spelling
from hero_eval.display import Displayed
from hero_eval.errors import HeroError
from hero_eval.estimate import SCHEMA_VERSION, Estimate, table_of
from hero_eval.estimation.options import PastRounds, require_round
from hero_eval.estimation.requirements import is_lack
from hero_eval.labelers.fitting import fit_with, history_rounds
from hero_eval.labelers.reliability import Reliability
from hero_eval.methods.registry import all_methods
from hero_eval.model.em import EMOptions
from hero_eval.model.history import Progress
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.round import Round
from hero_eval.score_scale import on_one_scale
from hero_eval.targets.rate import estimate_rate


@dataclass(frozen=True, eq=False)
class Comparison(Displayed, Framed, Mapping[str, Estimate]):
    """Estimates by method, and why the others could not be had. A mapping from the methods' names.

    Attributes
    ----------
    estimates : mapping of str to Estimate
        An `Estimate` for each method that could run.
    skipped : mapping of str to str
        For each other method the reason.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    estimates: Mapping[str, Estimate]
    skipped: Mapping[str, str]
    frame_kind: str = "files"

    def __getitem__(self, method: str) -> Estimate:
        return self.estimates[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per method that could run.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the current round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: method, value, std_error, low, high, n_items, n_gold.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        return to_frame(table_of("method", self.estimates), checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        """The estimates in plain types, for JSON.

        Returns
        -------
        dict
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "comparison",
            "methods": {name: one.to_dict() for name, one in self.estimates.items()},
            "skipped": dict(self.skipped),
        }

    def __repr__(self) -> str:
        return "Comparison(" + ", ".join(f"{name} {one.value:.4f}" for name, one in self.estimates.items()) + ")"


def compare_methods(
    current: Round,
    history: PastRounds = None,
    *,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    cluster: str | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    positive: str | Sequence[str] | None = None,
    scores: Mapping[str, float] | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """All methods on one round. A method that the data cannot feed is listed in `.skipped` with the reason.

    Each method is given only the options that it has a use for; history is fitted once for all of them.

    Parameters
    ----------
    current : Round
        The round to be estimated. Its own gold counts too, where the method uses it.
    history : Round, sequence of Round, Reliability or None, optional
        Past rounds, in which some items have gold: they teach how each labeler answers. A fitted `Reliability` is used
        as it is, without fitting again. None: only what the current round itself holds counts.
    covariates : sequence of str, optional
        Numeric columns of the items of all rounds that tell something about the answer; ``"labeler:NAME"`` takes the
        answers of that labeler out of the labels and uses them as a covariate. None uses none, except that `hero2`
        takes all numeric columns that the rounds share.
    text : str, optional
        A column of text, such as the prompt, whose most frequent words become covariates. None uses no text.
    level : float, default 0.95
        The level of the interval: how sure it is to hold the quantity, between 0 and 1.
    interval : {"influence", "profile", "bootstrap", "paper", "anytime"}, optional
        How the interval is made: from influences, from the profile likelihood, from items drawn again, or as in the
        paper, which takes the reliabilities as known and is too short. None takes ``"influence"``, or ``"profile"``
        where the first is not safe and the second can be had (finding F309).
    cluster : str, optional
        A column whose equal values mark items that are not independent, such as several outputs for one prompt;
        ``"item"`` takes items of equal id in all rounds as one. None: each item counts by itself.
    replicates : int, optional
        How often the bootstrap draws the items again, at least 50. Only with ``interval="bootstrap"``; None: 1,000.
    seed : int, optional
        The seed of the bootstrap's draws, 0 or more. Only with ``interval="bootstrap"``; None: 0.
    positive : class or sequence of classes, optional
        The class whose rate is asked for, or several that count together. None takes the class that a round names;
        without one, ``1`` of 0 and 1 or the last of two classes that were given in order. More than two classes then
        have no positive one.
    scores : mapping of class to number, optional
        What each class counts for in the mean score. None: of more than two classes that are numbers, the numbers.
    penalty : float, optional
        The ridge penalty on the coefficients of the covariates, 0 or more. None has it chosen from the data.
    groups : mapping of labeler to group, optional
        Which labelers are alike, such as ``{"ann": "vendor-1"}``: a labeler that history never saw counts as its group
        does. Only `hero3`, `ppi` and `balanced` take it. None takes all labelers for one group.
    progress : callable, optional
        Called with (steps so far, change in the last step) while a fit runs, and with (replicates so far, share of them
        still to come) while the bootstrap does. None: nothing is told.

    Returns
    -------
    Comparison
        An `Estimate` for each method that could answer, and why the others could not.

    Raises
    ------
    InputError
        If the rounds do not fit together, or an option is unknown or has no meaning for these rounds.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import hero_eval as hero
    >>> example = files("hero_eval") / "examples" / "defect"
    >>> current = hero.read_round(example / "current")
    >>> history = hero.read_round(example / "history")
    >>> compared = hero.compare_methods(current, history)
    >>> for name in ("majority_vote", "hero1", "hero3"):
    ...     print(f"{name:13} {compared[name].value:.2f}")
    majority_vote 0.11
    hero1         0.21
    hero3         0.20
    """
    asked: dict[str, Any] = {
        "covariates": covariates,
        "text": text,
        "penalty": penalty,
        "groups": groups,
        "level": level,
        "interval": interval,
        "cluster": cluster,
        "replicates": replicates,
        "seed": seed,
        "positive": positive,
        "scores": scores,
        "progress": progress,
    }
    return compare_some(list(all_methods()), current, history, **asked)


def compare_some(
    methods: Sequence[str],
    current: Round,
    history: PastRounds,
    *,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **common: Any,
) -> Comparison:
    """As `compare_methods`, of these methods; each is given only the options that it has a use for."""
    require_round(current)
    history = _fitted_once(current, history, progress)
    estimates, skipped = {}, {}
    asked_too_much: HeroError | None = None
    asked = {"covariates": covariates, "text": text, "penalty": penalty}
    for name in methods:
        method = all_methods()[name]
        extra: dict[str, Any] = asked if method.uses_covariates else {}
        extra = extra | ({"groups": groups} if method.takes_groups else {})
        try:
            estimates[name] = estimate_rate(current, history, method=name, progress=progress, **extra, **common)
        except HeroError as error:
            if not is_lack(error):
                raise
            skipped[name], asked_too_much = "; ".join(problem.message for problem in error.problems), error
    if not estimates and asked_too_much is not None and asked_too_much.code == "E211":
        raise asked_too_much  # what no method can do for these rounds is wrong with the call
    return Comparison(estimates, skipped, current.frame_kind)


def _fitted_once(current: Round, history: PastRounds, progress: Progress | None) -> PastRounds:
    if history is None or isinstance(history, Reliability):
        return history
    *past, current = on_one_scale(in_one_spelling([*history_rounds(history), current]))
    try:
        return fit_with(tuple(past), EMOptions(), common_classes([current, *past]), progress)
    except HeroError as error:
        if error.exit_code == 3:
            return history
        raise
