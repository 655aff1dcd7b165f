"""Which of several models is best, and how sure is each one's rank? Paired by item id, shared history counted once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from hero_eval.display import Displayed
from hero_eval.errors import wrong
from hero_eval.estimate import SCHEMA_VERSION, Estimate, Source, number
from hero_eval.estimation.ask import ask
from hero_eval.estimation.curves import Mirrored
from hero_eval.estimation.options import HistoryLike, Options, as_history, as_round
from hero_eval.estimation.peers import analyze_peers, are_peers
from hero_eval.estimation.select_pairs import best_by_pairs
from hero_eval.estimation.standing import Standing, check_standing, standing_of, t_of_confidence
from hero_eval.estimation.subtract import AnalyzedRound, Differences
from hero_eval.findings import Finding, unique
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Floats
from hero_eval.model.simultaneous import critical_of, nearest_covariance, t_above
from hero_eval.read import RoundLike
from hero_eval.result_frames import Framed
from hero_eval.round import Round
from hero_eval.targets.difference import kept_apart, without_sides
from hero_eval.targets.grouped import chosen_items
from hero_eval.targets.ranked_models import RankedModels


@dataclass(frozen=True, eq=False)
class Ranking(RankedModels, Displayed, Framed, Mapping[str, Estimate]):
    """Several models by their rates, best first: a mapping from their names to their `Estimate`.

    Attributes
    ----------
    estimates : mapping of str to Estimate
        The rate of each model, best first; each has the level of its own by which all intervals hold together.
    pairs : mapping of pairs of str to Estimate
        For each two models, the better first, the difference of their rates.
    standing : Standing
        Ranks, claims and chances. For use inside the package.
    given : tuple of str
        The models in the order in which they were given, which `standing` has. For use inside the package.
    level : float
        The level at which intervals, differences and ranks hold together.
    best : str
        Whether the ``"highest"`` or the ``"lowest"`` rate is best.
    correction : str
        How differences are told: ``"max-t"``, ``"holm"`` or ``"fdr"``.
    findings : tuple of Finding
        What one must know about this ranking, warnings first.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    estimates: Mapping[str, Estimate]
    pairs: Mapping[tuple[str, str], Estimate]
    standing: Standing
    given: tuple[str, ...]
    level: float
    best: str
    correction: str
    findings: tuple[Finding, ...]
    frame_kind: str = "files"

    def __getitem__(self, model: str) -> Estimate:
        return self.estimates[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def what(self) -> str:
        """The quantity in words, such as ``"rate of '1'"``."""
        return next(iter(self.estimates.values())).what

    @property
    def method(self) -> str:
        """The method that was used; several where one does not do for all models."""
        return ", ".join(dict.fromkeys(one.method for one in self.estimates.values()))

    @property
    def compared(self) -> tuple[str, ...]:
        """The models in the order in which they were given."""
        return self.given

    def columns(self) -> dict[str, list[Any]]:
        """The rows of `to_frame`, column by column.

        Returns
        -------
        dict
        """
        ends = [one.interval() for one in self.estimates.values()]
        ranks = [self.rank_interval(model) for model in self.estimates]
        return {
            "rank": list(range(1, len(self) + 1)),
            "model": list(self.estimates),
            "value": [one.value for one in self.estimates.values()],
            "std_error": [one.std_error for one in self.estimates.values()],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
            "rank_low": [low for low, _ in ranks],
            "rank_high": [high for _, high in ranks],
            "p_best": [float(self.standing.p_best[self.given.index(model)]) for model in self.estimates],
            "group": self.standing.letters(),
        }

    def pair_columns(self) -> dict[str, list[Any]]:
        """The rows of `differences`, column by column.

        Returns
        -------
        dict
        """
        places = [(self.given.index(a), self.given.index(b)) for a, b in self.pairs]
        each = max(self.standing.each_level(), self.level)
        ends = [one.interval(each) for one in self.pairs.values()]
        return {
            "better": [a for a, _ in self.pairs],
            "worse": [b for _, b in self.pairs],
            "value": [one.value for one in self.pairs.values()],
            "std_error": [one.std_error for one in self.pairs.values()],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
            "p_value": [float(self.standing.adjusted[at]) for at in places],
            "told_apart": [bool(self.standing.better[at]) for at in places],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything that is shown, in plain types.

        Returns
        -------
        dict
            With a `schema_version`; unknown numbers are None.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "ranking",
            "what": self.what,
            "best": self.best,
            "level": self.level,
            "correction": self.correction,
            "method": self.method,
            "why": next(iter(self.estimates.values())).why,
            "models": rows_of(self.columns()),
            "differences": rows_of(self.pair_columns()),
            "groups": self.groups(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __repr__(self) -> str:
        ends = {model: self.rank_interval(model) for model in self.estimates}
        shown = ", ".join(
            f"{model} {one.value:.4f} (rank {low} to {high})"
            for (model, one), (low, high) in zip(self.estimates.items(), ends.values(), strict=True)
        )
        return f"Ranking({self.what}: {shown})"


def rows_of(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """A table of columns as rows; unknown numbers are None."""
    return [
        {name: number(value) if isinstance(value, float) else value for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


def rank(
    rounds: Sequence[RoundLike] | Mapping[str, RoundLike],
    history: HistoryLike = None,
    *,
    best: str = "highest",
    correction: str = "max-t",
    method: str | None = None,
    covariates: Sequence[str] | None = None,
    text: str | None = None,
    where: Mapping[str, Any] | None = None,
    level: float = 0.95,
    interval: str | None = None,
    cluster: str | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    positive: str | Sequence[str] | None = None,
    penalty: float | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Several models by their rates: intervals, differences and ranks that hold together. History is counted once.

    Items with the same id are paired, whatever models share them. A rank's range comes from the differences: it
    counts the models that are surely better and those that are surely worse. Two models give what
    `estimate_difference` gives.

    Parameters
    ----------
    rounds : sequence of Round, or mapping of str to Round
        One round for each model, under the names that they have, or under those of the mapping.
    history : Round, sequence of Round, Reliability or None, optional
        Past rounds, in which some items have gold: they teach how each labeler answers. A fitted `Reliability` is used
        as it is, without fitting again. None: only what the current rounds themselves hold counts.
    best : {"highest", "lowest"}, default "highest"
        Which rate is best: the highest, or the lowest, as of defects.
    correction : {"max-t", "holm", "fdr"}, default "max-t"
        What differences that are told apart are safe from: any false claim, by the joint distribution of all
        differences (``"max-t"``) or whatever it is (``"holm"``); or too large a share of false claims (``"fdr"``,
        Benjamini and Hochberg). Ranges of ranks are by ``"max-t"`` in any case.
    method : str, optional
        The name of a method, such as ``"hero1"``. None takes the best one that the data allow; `why` of the estimates
        says which and why.
    covariates : sequence of str, optional
        Numeric columns of the items of all rounds that tell something about the answer; ``"labeler:NAME"`` takes the
        answers of that labeler out of the labels and uses them as a covariate. None uses none, except that `hero2`
        takes all numeric columns that the rounds share.
    text : str, optional
        A column of text, such as the prompt, whose most frequent words become covariates. None uses no text.
    where : mapping of str to value or values, optional
        Only items whose column has this value, or one of these, such as ``{"category": "coding"}``; history teaches
        with all of its items. None: all.
    level : float, default 0.95
        How sure all intervals are to hold together, and all ranks, between 0 and 1.
    interval : {"influence", "profile", "bootstrap", "paper"}, optional
        How the intervals are made: from influences, from the profile likelihood (of rates alone), from items drawn
        again, or as in the paper, which takes the reliabilities as known and is too short. None takes ``"influence"``,
        or ``"profile"`` where the first is not safe and the second can be had (finding F309).
    cluster : str, optional
        A column whose equal values mark items that are not independent, such as several outputs for one prompt;
        ``"item"`` takes items of equal id in all rounds as one. None: each item counts by itself.
    replicates : int, optional
        How often the bootstrap draws the items again, at least 50. Only with ``interval="bootstrap"``; None: 1,000.
    seed : int, optional
        The seed of the bootstrap's draws, 0 or more. Only with ``interval="bootstrap"``; None: 0.
    positive : class or sequence of classes, optional
        The class whose rate is asked for, or several that count together. None takes the class that a round names;
        without one, ``1`` of 0 and 1 or the last of two classes that were given in order.
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
    Ranking
        The models, best first, with their rates, ranks and differences.

    Raises
    ------
    InputError
        If there are fewer than two models (E230), two hold the same (E231), the rounds do not fit together, or an
        option is unknown or does not fit the method.
    SupportError
        If the data cannot support the answer: history without gold, no labeler that it knows, no usable item, or too
        little gold for the method.
    """
    check_standing(correction, best)
    options = Options(
        method, covariates, text, penalty, level, interval, cluster, replicates, seed, groups=groups, progress=progress
    )
    given = list(rounds.values()) if isinstance(rounds, Mapping) else rounds if isinstance(rounds, list | tuple) else ()
    history = as_history(history, *given)
    names, taken = named_rounds(rounds)
    taken = tuple(chosen_items(one, where) for one in taken) if where else taken
    select = partial(best_by_pairs, positive=positive)
    if are_peers(taken, history, options):
        past, remarks = without_sides(taken, history)
        analyses = analyze_peers(taken, past, options, select)
        differences = Differences(tuple(AnalyzedRound(one, 0) for one in analyses), positive, peers=True)
    else:
        sides, history, remarks = kept_apart(taken, history)
        if any(one.code == "F114" for one in remarks) and options.cluster is None:
            options = replace(options, cluster="item")  # an item that counts on several sides counts once in the error
        analysis = ask(sides, history, options, best=select)
        history, differences = analysis.question.reliability or history, Differences.of(analysis, positive)
    source = Source(taken, history)
    found = _ranked(names, differences, best, correction)
    told = partial(_with_remarks, remarks=remarks)
    estimates = {of: replace(one, source=source, findings=told(one.findings)) for of, one in found.estimates.items()}
    pairs = {of: replace(one, findings=told(one.findings)) for of, one in found.pairs.items()}
    kind = taken[0].frame_kind
    return replace(found, estimates=estimates, pairs=pairs, findings=told(found.findings), frame_kind=kind)


def _with_remarks(findings: Sequence[Finding], remarks: Sequence[Finding]) -> tuple[Finding, ...]:
    """What was done about models in history comes first; it takes the place of the finding that they are there."""
    return unique([*remarks, *(one for one in findings if not (remarks and one.code == "F114"))])


def named_rounds(rounds: Sequence[RoundLike] | Mapping[str, RoundLike]) -> tuple[tuple[str, ...], tuple[Round, ...]]:
    """Names and rounds of the models; E230 or E231 if they cannot be ranked."""
    if isinstance(rounds, Round):
        raise wrong("E230", "rounds is a single Round. Give one for each model, as a list or a mapping of names")
    if not isinstance(rounds, Mapping) and hasattr(rounds, "columns"):
        raise wrong(
            "E230",
            "rounds is a single dataframe. Give one for each model, such as {name: part for name, part in "
            "frame.groupby('model')} of pandas",
        )
    if not isinstance(rounds, Iterable) or isinstance(rounds, str):
        raise wrong("E230", f"rounds is {type(rounds).__name__}. Give a round for each model: {{'v7': round, ...}}")
    taken = tuple(as_round(one) for one in (rounds.values() if isinstance(rounds, Mapping) else rounds))
    for one in taken:
        one.item_ids  # noqa: B018  pairs are found by id: a round that is counted without its items refuses here
    names = tuple(map(str, rounds)) if isinstance(rounds, Mapping) else tuple(one.name for one in taken)
    if len(taken) < 2:
        raise wrong("E230", f"{len(taken)} round was given to rank. Give one for each of two or more models")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise wrong("E230", f"two rounds are called {twice[0]!r}. Give a mapping of models to rounds: {{'v7': round}}")
    for (a, one), (b, other) in combinations(zip(names, taken, strict=True), 2):
        if one.holds_same_as(other):
            raise wrong("E231", f"the rounds of {a!r} and {b!r} hold the same items, labels and gold. Leave one out")
    return names, taken


def _ranked(names: tuple[str, ...], differences: Differences, best: str, correction: str) -> Ranking:
    question, rates, df = differences.question, differences.rates, differences.df
    if differences.peers:
        rates = _as_currents(rates, differences)
    level, n = question.options.level, len(names)
    made = {(i, j): differences.between(i, j) for i, j in combinations(range(n), 2)}
    variances, t = np.zeros((n, n)), np.zeros((n, n))
    for (i, j), one in made.items():
        variances[i, j] = variances[j, i] = one.std_error**2
        t[i, j] = t_of_confidence(one.probability_below(0.0), df)
        t[j, i] = -t[i, j]
    standing = standing_of(np.array([one.value for one in rates]), variances, t, df, level, correction, best)
    each = _rates_level(rates, variances, df, level)
    order = [int(at) for at in standing.order]
    estimates = {names[at]: replace(rates[at], level=each) for at in order}
    pairs = {}
    for i, j in combinations(order, 2):
        one = made[min(i, j), max(i, j)]
        pairs[names[i], names[j]] = one if i < j else turned(one)
    found = [*_of_models(names, rates), *_of_pairs(rates, made), *_pairing(made)]
    message = (
        f"{n} models: intervals of rates are at {each:.2%} each, those of the {len(made)} differences at "
        f"{max(standing.each_level(), level):.2%}, so that all of either hold together at {level:.0%}; so do the ranks"
    )
    remark = Finding("F520", message, {"models": n, "pairs": len(made), "level": level})
    findings = unique([*found, *([remark] if n > 2 else [])])
    return Ranking(estimates, pairs, standing, names, level, best, correction, findings)


def _as_currents(rates: Sequence[Estimate], differences: Differences) -> tuple[Estimate, ...]:
    """Peers are history to each other, but all are current rounds: so their gold is counted, and their notes told."""
    currents = [one.current.round for one in differences.rounds]
    n_own, past = sum(one.n_gold for one in currents), tuple(f"history {one.name!r}: " for one in currents)
    return tuple(
        replace(
            one,
            n_gold_current=n_own,
            findings=tuple(finding for finding in one.findings if not finding.fact.startswith(past)),
        )
        for one in rates
    )


def _of_models(names: Sequence[str], rates: Sequence[Estimate]) -> list[Finding]:
    """What is found of every model once; what is found of some with their names."""
    said: dict[tuple[str, str], tuple[Finding, list[str]]] = {}
    for name, one in zip(names, rates, strict=True):
        for finding in one.findings:
            said.setdefault((finding.code, finding.fact), (finding, []))[1].append(name)
    return [one if len(of) == len(names) else one.at(", ".join(of)) for one, of in said.values()]


def _of_pairs(rates: Sequence[Estimate], made: Mapping[tuple[int, int], Estimate]) -> list[Finding]:
    """What is found of differences, and of no rate."""
    known = {(finding.code, finding.fact) for one in rates for finding in one.findings}
    return [
        finding
        for one in made.values()
        for finding in one.findings
        if finding.code != "F106" and (finding.code, finding.fact) not in known
    ]


def _pairing(made: Mapping[tuple[int, int], Estimate]) -> list[Finding]:
    """One remark for all pairs that are not labeled on the same items."""
    said = [finding for one in made.values() for finding in one.findings if finding.code == "F106"]
    if len(made) == 1 or not said:
        return said
    paired, unpaired = ([one.data[key] for one in said] for key in ("paired", "unpaired"))
    message = (
        f"in {len(said)} of {len(made)} pairs of models some items are labeled for one model only: {min(unpaired)} to "
        f"{max(unpaired)} items a pair, beside {min(paired)} to {max(paired)} that are paired"
    )
    return [Finding("F106", message, {"pairs": len(said), "unpaired": max(unpaired), "paired": min(paired)})]


def _rates_level(rates: Sequence[Estimate], variances: Floats, df: float, level: float) -> float:
    """The level of each rate's interval by which all hold together."""
    own = np.array([one.std_error**2 for one in rates])
    if not np.isfinite(own).all() or not np.isfinite(variances).all():
        return float(level ** (1.0 / len(own)))
    joint = nearest_covariance(0.5 * (own[:, None] + own[None, :] - variances))
    critical = critical_of(joint, level, df)
    return max(1.0 - 2.0 * float(t_above(np.array(critical), df)), level)


def turned(one: Estimate) -> Estimate:
    """b - a from a - b."""
    value = -one.value if math.isfinite(one.value) else one.value
    sides = {"a": one.distribution["b"], "b": one.distribution["a"]}
    return replace(
        one,
        value=value,
        center=-one.center,
        influence=one.influence * -1.0,
        curve=Mirrored(one.curve, 0.0),
        distribution=sides,
    )
