"""Are the probabilities of single items right? Held against gold that they did not see.

The gold of whole rounds is hidden in turn, as it is in a current round: each round with gold plays current without it,
the others are its history. Where a single round has gold, or a method rests on the current round's own, that gold is
cut into folds, and each fold is hidden in turn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hero_eval.arguments import check_progress
from hero_eval.counting.count import is_large
from hero_eval.display import Displayed
from hero_eval.errors import HeroError, unsupported, wrong
from hero_eval.estimate import SCHEMA_VERSION
from hero_eval.estimation.ask import ask
from hero_eval.estimation.options import Options, PastRounds
from hero_eval.estimation.prepare import gather_rounds
from hero_eval.estimation.replay import analyze, options_of
from hero_eval.estimation.requirements import is_lack
from hero_eval.findings import Finding, name_some
from hero_eval.methods.registry import GoldNeed, Method, all_methods
from hero_eval.model.calibration import Calibrated, CalibrationBin, calibration
from hero_eval.model.patterns import Bools, Floats, Ints
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.round import Round

FOLDS = 5
FEW_GOLD = 50
"""Golds below which the calibration error is mostly chance."""
FAR_OFF = 0.05
"""A calibration error beyond chance that a user must know of."""


@dataclass(frozen=True, eq=False)
class ItemCalibration(Displayed, Framed):
    """How well the probabilities of single items agree with gold that they did not see.

    Attributes
    ----------
    method : str
        The method whose probabilities these are.
    classes : tuple of str
        The classes. Of two, bins are of the probabilities of the last; of more, of every class against the others.
    bins : tuple of CalibrationBin
        Predictions in bins of equal width: `low`, `high`, `n`, `predicted`, `observed`, `observed_low`,
        `observed_high`.
    error : float
        The expected calibration error: the mean distance between predicted and observed, by the bins' sizes.
    error_by_chance : float
        What that error would be of probabilities that are right, with as many golds.
    brier : float
        The Brier score: the mean square of probability minus gold, of two classes; 0 is perfect. Of more classes half
        the sum over them.
    brier_of_mean : float
        The same if every item were given the mean of the gold.
    n_gold : int
        The golds that were hidden and held against the probabilities.
    rounds : tuple of str
        The rounds that they are of.
    findings : tuple of Finding
        What one must know of these numbers; F321 says how gold was hidden.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    method: str
    classes: tuple[str, ...]
    bins: tuple[CalibrationBin, ...]
    error: float
    error_by_chance: float
    brier: float
    brier_of_mean: float
    n_gold: int
    rounds: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    frame_kind: str = "files"

    def to_frame(self, backend: str | None = None) -> Any:
        """The bins, one row each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the current round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: low, high, n, predicted, observed, observed_low, observed_high.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        names = [one.name for one in dataclasses.fields(CalibrationBin)]
        columns = {name: [getattr(one, name) for one in self.bins] for name in names}
        return to_frame(columns, checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON.

        Returns
        -------
        dict
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "item calibration",
            "method": self.method,
            "classes": list(self.classes),
            "expected_calibration_error": self.error,
            "error_by_chance": self.error_by_chance,
            "brier": self.brier,
            "brier_of_mean": self.brier_of_mean,
            "n_gold": self.n_gold,
            "rounds": list(self.rounds),
            "bins": [dataclasses.asdict(one) for one in self.bins],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __repr__(self) -> str:
        return (
            f"ItemCalibration({self.method}, {self.n_gold} gold, expected calibration error {self.error:.3f}, by "
            f"chance {self.error_by_chance:.3f}, Brier score {self.brier:.3f})"
        )


def item_calibration(
    current: Round,
    history: PastRounds = None,
    *,
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    at_least: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ItemCalibration:
    """How well the probabilities of `Estimate.items` agree with gold, each given without the gold it is held against.

    Every round with gold plays current in turn with its gold hidden, the others are its history. If a single round has
    gold, or the method rests on the current round's own, that gold is hidden a fifth at a time.

    Parameters
    ----------
    current : Round
        The current round, whose items are asked about.
    history : Round, sequence of Round, Reliability or None, optional
        Past rounds, in which some items have gold.
    method : str, optional
        The name of a method. None: the one that `estimate_rate` takes for these rounds.
    covariates : sequence of str, optional
        Numeric columns of the items that tell something about the answer. None uses none.
    text : str, optional
        A column of text whose most frequent words become covariates. None uses no text.
    penalty : float, optional
        The ridge penalty on the coefficients of the covariates, 0 or more. None has it chosen from the data.
    groups : mapping of labeler to group, optional
        Which labelers are alike. None takes all labelers for one group.
    at_least : float, optional
        Where gold is numbers: classes are below this number, and from it on. None: a few ordered classes.
    progress : callable, optional
        Called with (done, total) as fits are made. None: nothing is told.

    Returns
    -------
    ItemCalibration
        Bins of predicted and observed shares, the expected calibration error and the Brier score.

    Raises
    ------
    InputError
        If the rounds do not fit together, an option is unknown, or the method gives no probabilities of single items
        (E128).
    SupportError
        If there is too little gold to hide any of it (E128).
    """
    check_progress(progress)
    options = Options(method, covariates, text, penalty, groups=groups, at_least=at_least)
    rounds = gather_rounds([current], history, at_least)
    everything = (*rounds.past, *rounds.currents)
    if is_large(everything):
        counted = name_some([one.name for one in everything if not one.holds_items])
        raise wrong("E128", f"{counted} was counted without items, so that none can be held against gold")
    chosen = all_methods()[method or ask([current], history, options).question.method.name]
    plays, how = _plays(everything, chosen)
    heard: list[tuple[str, Floats, Ints]] = []
    skipped: list[str] = []
    for number, one in enumerate(plays):
        if progress is not None:
            progress(number, len(plays))
        try:
            heard.append(_play(one, options_of(chosen.name, options), rounds.classes))
        except HeroError as error:
            if not is_lack(error):
                raise
            skipped.append(f"{one.current.name!r}: {error.problems[0].message}")
    if progress is not None:
        progress(len(plays), len(plays))
    if not heard:
        raise unsupported("E128", f"no round can play current with its gold hidden: {'; '.join(skipped)}")
    found = calibration(np.concatenate([of[1] for of in heard]), np.concatenate([of[2] for of in heard]))
    names = tuple(dict.fromkeys(of[0] for of in heard))
    return ItemCalibration(
        chosen.name,
        rounds.classes,
        found.bins,
        found.error,
        found.error_by_chance,
        found.brier,
        found.brier_of_mean,
        found.n,
        names,
        _findings(found, how, skipped),
        current.frame_kind,
    )


@dataclass(frozen=True, eq=False)
class _HiddenGold:
    """One play: the current round with some gold hidden, its history, and which items' gold that is."""

    current: Round
    history: tuple[Round, ...]
    hidden: Bools
    gold: Ints


def _plays(rounds: Sequence[Round], method: Method) -> tuple[list[_HiddenGold], str]:
    """What is hidden in turn, and that in words; the current round is the last of the rounds."""
    golden = [place for place, one in enumerate(rounds) if one.n_gold]
    if method.by_design:
        golden = [place for place in golden if place == len(rounds) - 1]
    elif len(golden) > 1:
        plays = [_hidden(rounds, place, rounds[place].gold >= 0) for place in golden]
        return plays, f"the gold of {len(plays)} rounds was hidden, a whole round at a time"
    if not golden or (method.gold is GoldNeed.HISTORY) or rounds[golden[0]].n_gold < 2 * FOLDS:
        has = "no round has gold" if not golden else f"only {rounds[golden[0]].name!r} has, {rounds[golden[0]].n_gold}"
        needs = "the current round" if method.by_design else "two rounds, or ten items of one,"
        raise unsupported("E128", f"calibration asks for gold to hide: {needs} must have some, and {has}")
    place = golden[0]
    fold = np.full(rounds[place].n_items, -1)
    known = np.flatnonzero(rounds[place].gold >= 0)
    fold[np.random.default_rng(0).permutation(known)] = np.arange(len(known)) % FOLDS
    plays = [_hidden(rounds, place, fold == number, alone=not method.by_design) for number in range(FOLDS)]
    return plays, f"the gold of {rounds[place].name!r} was hidden, a fifth of it at a time"


def _hidden(rounds: Sequence[Round], place: int, mask: Bools, *, alone: bool = False) -> _HiddenGold:
    one = rounds[place]
    gold = np.where(mask, -1, one.gold)
    current = Round._of(dataclasses.replace(one._contents, gold=gold))
    others = () if alone else tuple(other for at, other in enumerate(rounds) if at != place)
    return _HiddenGold(current, others, mask, one.gold)


def _play(one: _HiddenGold, options: Options, classes: tuple[str, ...]) -> tuple[str, Floats, Ints]:
    """The round's name, the class probabilities of the items whose gold was hidden, and that gold."""
    analysis = analyze([one.current], one.history or None, options)
    items = analysis.round_items(0)
    results = analysis.items_of(np.zeros(len(classes)), [items])
    chance = results.probabilities(items)
    kept = items.kept if items.kept is not None else np.ones(one.current.n_items, bool)
    asked = one.hidden[kept] & np.isfinite(chance).all(axis=1)
    number = np.array([classes.index(value) for value in one.current.values], dtype=np.int64)
    return one.current.name, chance[asked], number[one.gold[kept][asked]]


def _findings(found: Calibrated, how: str, skipped: Sequence[str]) -> tuple[Finding, ...]:
    out = [Finding("F321", f"{how}; {found.n} items were then held against it", {"gold": found.n})]
    if skipped:
        out.append(Finding("F605", f"could not be played: {'; '.join(skipped)}", {"rounds": list(skipped)}))
    if found.n < FEW_GOLD:
        message = (
            f"{found.n} golds tell little of calibration: chance alone makes an error of {found.error_by_chance:.3f}"
        )
        out.append(Finding("F323", message, {"gold": found.n, "by_chance": found.error_by_chance}))
    elif found.error > found.error_by_chance + FAR_OFF:
        message = (
            f"the probabilities of single items are off by {found.error:.3f} on average, where chance would explain "
            f"{found.error_by_chance:.3f}"
        )
        out.append(Finding("F322", message, {"error": found.error, "by_chance": found.error_by_chance}))
    return tuple(sorted(out, key=lambda one: one.severity != "warning"))
