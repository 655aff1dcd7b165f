"""How far off would each method have been on past rounds? Each plays current in turn, with its gold hidden."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hero_eval.arguments import check_progress
from hero_eval.classes import common_classes
from hero_eval.counting.count import is_large, stays, tally_of
from hero_eval.counting.tally import are_alike
from hero_eval.display import Displayed
from hero_eval.errors import unsupported, wrong
from hero_eval.estimate import SCHEMA_VERSION, number
from hero_eval.estimation.covariates import shared_numeric
from hero_eval.estimation.headline import class_scores, positive_of
from hero_eval.estimation.options import Options
from hero_eval.estimation.replay import (
    HISTORY_MEAN,
    LEAST_ROUNDS,
    Play,
    Quantity,
    RoundDrift,
    common_drift,
    replay,
)
from hero_eval.estimation.rivals import Summary, choose_by_plays, summarize
from hero_eval.findings import Finding, name_some
from hero_eval.gold_scale import gold_means
from hero_eval.labelers.fitting import history_rounds
from hero_eval.labelers.reliability import Reliability
from hero_eval.methods.registry import all_methods
from hero_eval.model.em import EMOptions
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.round import Round


@dataclass(frozen=True, eq=False)
class Backtest(Displayed, Framed):
    """Every method on past rounds whose gold it did not see, and how far reliability drifts between these rounds.

    Errors are estimate minus the round's gold mean. `gold_error` is the sampling error of such a mean, typically:
    intervals are widened by it before they are said to cover, and scored. `score` is width plus 40 times (at 95%) the
    distance outside: lower is better. `history_mean` looks at no label, only at the other rounds' gold.

    Attributes
    ----------
    what : str
        The quantity in words, such as ``"rate of '1'"``.
    level : float
        The level of the intervals.
    plays : tuple of Play
        One for each round and method: `round`, `method`, `value`, `low`, `high`, `seen`, `score`.
    drift : tuple of RoundDrift
        One for each round, by HERO-3: `shift`, `shift_error`, `expected`, `own`, `usual`.
    skipped : mapping of str to mapping
        Why a method could not play some rounds: method, round, reason.
    findings : tuple of Finding
        What one must know about this backtest.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    what: str
    level: float
    plays: tuple[Play, ...]
    drift: tuple[RoundDrift, ...]
    skipped: Mapping[str, Mapping[str, str]]
    findings: tuple[Finding, ...] = ()
    frame_kind: str = "files"

    @property
    def rounds(self) -> tuple[str, ...]:
        """The rounds that were played."""
        return tuple(dict.fromkeys(one.round for one in self.plays))

    @cached_property
    def methods(self) -> Mapping[str, Summary]:
        """Each method over its rounds, by name."""
        return {name: summarize(name, self.plays) for name in dict.fromkeys(one.method for one in self.plays)}

    @property
    def best(self) -> str:
        """hero3, unless another method's interval scores and errors are both clearly lower."""
        return self._choice[0]

    @property
    def why(self) -> str:
        """Why that method."""
        return self._choice[1]

    @cached_property
    def _choice(self) -> tuple[str, str]:
        return choose_by_plays(self.plays, [name for name in self.methods if name != HISTORY_MEAN])

    @property
    def gold_error(self) -> float:
        """The root mean square of the sampling errors of the rounds' gold means."""
        errors = {one.round: one.seen.error for one in self.plays}
        return float(np.sqrt(np.mean(np.square(list(errors.values())))))

    @cached_property
    def common_drift(self) -> float:
        """The typical size of a shift of all class logits between rounds; nan if it is not known."""
        learned = common_drift(self.drift)
        return learned.size if learned.known else math.nan

    @property
    def own_drift(self) -> float:
        """By how much labelers usually move against each other, on the logit scale; nan if it is not known."""
        if len(self.drift) < LEAST_ROUNDS:
            return math.nan
        return float(np.sqrt(np.mean([one.usual**2 for one in self.drift])))

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each round and method.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the first round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: round, method, value, low, high, gold_mean, gold_error, n_items, n_gold, error, covered, width,
            score.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        rows = [_row(one) for one in self.plays]
        return to_frame({key: [row[key] for row in rows] for key in rows[0]}, checked_backend(backend, self.frame_kind))

    def summary(self, backend: str | None = None) -> Any:
        """One row per method.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the first round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: method, n_rounds, and over these rounds the means of abs_error, bias, coverage, width and score.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        rows = [asdict(one) for one in self.methods.values()]
        return to_frame({key: [row[key] for row in rows] for key in rows[0]}, checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types, for JSON.

        Returns
        -------
        dict
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "backtest",
            "what": self.what,
            "level": self.level,
            "best": self.best,
            "why": self.why,
            "gold_error": number(self.gold_error),
            "methods": {name: _plain(asdict(one)) for name, one in self.methods.items()},
            "plays": [_plain(_row(one)) for one in self.plays],
            "drift": {
                "common": number(self.common_drift),
                "own": number(self.own_drift),
                "rounds": [_plain(asdict(one)) for one in self.drift],
            },
            "skipped": {name: dict(of) for name, of in self.skipped.items()},
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {one.score:.3f}" for name, one in self.methods.items())
        return f"Backtest({len(self.rounds)} rounds, best {self.best}, interval scores: {scores})"


def _row(one: Play) -> dict[str, Any]:
    return {
        "round": one.round,
        "method": one.method,
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "gold_mean": one.seen.mean,
        "gold_error": one.seen.error,
        "n_items": one.seen.n_items,
        "n_gold": one.seen.n_gold,
        "error": one.error,
        "covered": one.covered,
        "width": one.width,
        "score": one.score,
    }


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: number(value) if isinstance(value, float) else value for key, value in row.items()}


def backtest(
    rounds: Sequence[Round] | Reliability,
    *,
    methods: Sequence[str] | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    level: float = 0.95,
    cluster: str | None = None,
    positive: object = None,
    scores: Mapping[str, float] | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """Each past round with gold plays current in turn, its gold hidden; the others are its history.

    Every method is held against the round's gold mean, and so is `history_mean`, which answers with the mean of the
    other rounds' gold. The gold is taken for a random part of its round; its sampling error is allowed for.

    Parameters
    ----------
    rounds : sequence of Round or Reliability
        The past rounds, at least two of them with gold; of a fitted `Reliability` those that it was fitted on, with the
        options of its fit.
    methods : sequence of str, optional
        The names of the methods to play. None plays all that can do without the gold of the played round and whose
        covariates are there.
    covariates : sequence of str, optional
        Numeric columns of the items of all rounds that tell something about the answer; ``"labeler:NAME"`` takes the
        answers of that labeler out of the labels and uses them as a covariate. None uses none, except that `hero2`
        takes all numeric columns that the rounds share.
    text : str, optional
        A column of text, such as the prompt, whose most frequent words become covariates. None uses no text.
    level : float, default 0.95
        The level of the intervals that are held against the gold.
    cluster : str, optional
        A column whose equal values mark items that are not independent. None: each item counts by itself.
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
        Called with (done, total) as fits are made. None: nothing is told.

    Returns
    -------
    Backtest
        Each method's errors, coverage and interval scores, the drift of the rounds, and the method to take.

    Raises
    ------
    InputError
        If the rounds do not fit together, one occurs twice, an option is unknown, or no class is positive (E203).
    SupportError
        If fewer than two rounds have gold (E304).
    """
    check_progress(progress)
    past = history_rounds(rounds)
    options = Options(None, covariates, text, penalty, level, cluster=cluster, groups=groups)
    played = [position for position, one in enumerate(past) if one.n_gold]
    _refuse(past, played, cluster)
    names = _known_methods(methods, past, options)
    classes = common_classes(past)
    quantity = _quantity(past, classes, positive, scores)
    em, shrinkage = (rounds.options, rounds.shrinkage) if isinstance(rounds, Reliability) else (EMOptions(), 0.0)
    found = replay(past, played, classes, [quantity], [HISTORY_MEAN, *names], options, em, shrinkage, progress)
    result = Backtest(quantity.what, options.level, found.plays, found.drift, found.skipped, (), past[0].frame_kind)
    return replace(result, findings=tuple(_findings(result, past)))


def _known_methods(methods: Sequence[str] | None, past: Sequence[Round], options: Options) -> list[str]:
    """Those asked for; or all, without the ones whose covariates are neither named nor there."""
    known = all_methods()
    if methods is None:
        covariates = options.covariates or options.text is not None or shared_numeric(past[:1], past[1:])
        can = {name: one for name, one in known.items() if not one.by_design}  # the gold of a played round is hidden
        return [name for name, one in can.items() if covariates or not one.needs_covariates]
    listed = isinstance(methods, Sequence) and not isinstance(methods, str)
    if not listed or not methods or any(name not in known for name in methods):
        raise wrong("E201", f"methods is {methods!r}. Give a list of some of: {', '.join(known)}")
    return list(dict.fromkeys(methods))


def _refuse(past: Sequence[Round], played: Sequence[int], cluster: str | None) -> None:
    large = [one.name for one in past if is_large([one])]
    if large and cluster is not None:
        raise wrong(
            "E211",
            f"clusters ask for items one by one, and {name_some(large)} is kept without its items. Leave cluster out; "
            "or, if it fits into memory, read it with engine='memory'",
        )
    if stays(past):
        raise wrong(
            "E212",
            f"a backtest hides each round's gold in turn, and {name_some(large)} has more labels than can be counted "
            "in memory. Play rounds of fewer labels",
        )
    if len(played) < 2:
        names = name_some([past[position].name for position in played]) or "none"
        message = (
            f"a backtest needs at least two rounds with gold, one to play current and one as its history; of "
            f"{len(past)} with gold: {names}. Add gold to another past round"
        )
        raise unsupported("E304", message)
    for position, one in enumerate(past):
        for other in past[:position]:
            if _same(one, other):
                raise wrong(
                    "E201",
                    f"rounds {other.name!r} and {one.name!r} hold the same items, labels and gold. Name each round "
                    "once: a round that is its own history looks better than it is",
                )


def _same(one: Round, other: Round) -> bool:
    if (one.n_items, one.n_labels, one.labelers, one.values) != (
        other.n_items,
        other.n_labels,
        other.labelers,
        other.values,
    ):
        return False
    if is_large([one, other]):
        return is_large([one]) and is_large([other]) and are_alike(tally_of(one), tally_of(other))
    names = ("item_ids", "label_item", "label_labeler", "label_answer", "gold")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _quantity(
    past: Sequence[Round], classes: tuple[str, ...], positive: object, scores: Mapping[str, float] | None
) -> Quantity:
    """The headline of `estimate_rate`: the rate of the positive classes, or a mean score."""
    values = class_scores(classes, scores)
    named = positive_of(classes, past, positive) if scores is None or positive is not None else []
    if named:
        return Quantity(f"rate of {' or '.join(map(repr, named))}", np.isin(np.array(classes), named).astype(float))
    if values is None and scores is None and (means := gold_means(past)) is not None:
        return Quantity("mean gold", means.values, (float(means.values.min()), float(means.values.max())))
    if values is None:
        raise wrong(
            "E203", f"none of the classes {', '.join(classes)} is named positive. Name it: positive={classes[-1]!r}"
        )
    return Quantity("mean score", values, (float(values.min()), float(values.max())))


def _findings(result: Backtest, past: Sequence[Round]) -> list[Finding]:
    found = []
    found += [
        Finding(note.code, f"round {one.name!r}: {note.message}", note.data)
        for one in past
        for note in one.notes
        if note.code == "F113"
    ]
    without = [one.name for one in past if not one.n_gold]
    if without:
        message = f"{name_some(without)} had no gold and could not be played; the labels count as history"
        found.append(Finding("F601", message, {"rounds": without}))
    if result.gold_error > 0:
        message = (
            f"the gold of a round tells its mean to ± {result.gold_error:.3f} only: intervals were widened by that "
            "before they were compared with it, and errors hold some of it"
        )
        found.append(Finding("F602", message, {"gold_error": result.gold_error}))
    if len(result.rounds) < LEAST_ROUNDS:
        message = f"{len(result.rounds)} rounds tell little of how often intervals cover, and nothing of drift"
        found.append(Finding("F603", message, {"rounds": len(result.rounds)}))
    mean, best = result.methods[HISTORY_MEAN], result.methods.get(result.best)
    if best is not None and mean.score < best.score:
        message = (
            f"the mean of the other rounds' gold, without any label, scores {mean.score:.3f}, and {best.method} "
            f"{best.score:.3f}: on these rounds the labels added nothing"
        )
        found.append(Finding("F604", message, {"history_mean": mean.score, best.method: best.score}))
    for name, of in result.skipped.items():
        message = f"{name} could not be tried on {name_some(list(of))}: {next(iter(of.values()))}"
        found.append(Finding("F605", message, {"method": name, "rounds": dict(of)}))
    return found
