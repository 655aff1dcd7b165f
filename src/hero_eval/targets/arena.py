"""Which model is best by side-by-side votes of labelers who err? Strengths and true preferences, fitted together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from hero_eval.arguments import check_progress
from hero_eval.errors import HeroError, unsupported, wrong
from hero_eval.estimate import check_level
from hero_eval.estimation.question import gold_df
from hero_eval.estimation.standing import check_standing, standing_of, t_of_confidence
from hero_eval.findings import Finding, name_some, unique
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Bools, Floats, Ints
from hero_eval.model.simultaneous import critical_of
from hero_eval.model.vote_battles import VoteState
from hero_eval.model.vote_errors import VoteErrors, vote_errors
from hero_eval.model.vote_fit import VoteFit, fit_votes
from hero_eval.model.vote_model import TIE_MODELS, confusions, site_slopes
from hero_eval.model.vote_sites import (
    VoteCells,
    components,
    has_finite_strengths,
    labelers_of_one_side,
    models_that_only_tie,
    sites_of,
    votes_of_models,
)
from hero_eval.read import read_votes
from hero_eval.targets.leaderboard import Leaderboard, level_of
from hero_eval.targets.vote_history import combined, two_model_rounds
from hero_eval.votes import Votes

FEW_VOTES = 10
"""A model of fewer votes has no strength to speak of: it is drawn to the others."""
_CLEAR_BIAS = 3.0
_UNINFORMATIVE = 0.1


def rank_votes(
    votes: Any,
    history: Any = None,
    *,
    ties: str = "half",
    reference: str | None = None,
    covariates: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    level: float = 0.95,
    correction: str = "max-t",
    columns: Mapping[str, str] | None = None,
    map: Mapping[Any, Any] | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Models by side-by-side votes, corrected for how each labeler errs, as gold shows it.

    A vote is a labeler's noisy answer on which of two models is truly better on an item. Gold, of these votes or of
    history, shows how often each labeler is right and whether it favors what is shown first; strengths, and how
    labelers vote, are then fitted together. Without any gold votes are taken for true: plain Bradley-Terry (F521).

    Parameters
    ----------
    votes : dataframe, path-like or Votes
        A table with the columns model_a (shown first), model_b, label (A, B, tie, both bad, or the name of the model
        that won) and, where they are known, item, labeler and gold. See `read_votes`.
    history : Votes, Round, dataframe, path-like, or a sequence of these, optional
        Past votes with gold for some: tables as `votes`, or rounds whose answers are A, B and tie. None: only gold of
        the votes themselves counts.
    ties : {"half", "davidson"}, default "half"
        What a tie is: half a vote for each model, as on public leaderboards, or an outcome of its own, the more common
        the closer two models are (Davidson's model).
    reference : str, optional
        The model against which win rates are. None: the best one.
    covariates : sequence of str, optional
        Columns of the pair to hold equal, such as ``length`` ("style control"): a column of that name, or ``length_a``
        and ``length_b``, whose difference over their sum is taken. None: none.
    where : mapping of str to value or values, optional
        Only votes whose column has this value, or one of these, such as ``{"category": "coding"}``; history teaches
        with all of its votes. None: all.
    level : float, default 0.95
        How sure all intervals are to hold together, and all ranks, between 0 and 1.
    correction : {"max-t", "holm", "fdr"}, default "max-t"
        What differences that are told apart are safe from: any false claim (``"max-t"``, ``"holm"``), or too large a
        share of false claims (``"fdr"``). Ranges of ranks are by ``"max-t"`` in any case.
    columns : mapping of str to str, optional
        Our column names mapped to yours. None: the columns have our names, or those that arenas use.
    map : mapping, optional
        Answers that are to be read as others, such as ``{"left": "A"}``. None: as they are.
    progress : callable, optional
        Called with (steps so far, change in the last step) while the fit runs. None: nothing is told.

    Returns
    -------
    Leaderboard
        The models with strengths on the Elo scale, win rates, ranks and the labelers' errors.

    Raises
    ------
    InputError
        If the table is wrong, an option has a value that is not known, or the votes are their own history (E208).
    SupportError
        If no votes connect some models with the others (E232), with the groups.
    """
    check_standing(correction, "highest")
    check_level(level)
    check_progress(progress)
    if ties not in TIE_MODELS:
        raise wrong("E201", f"ties is {ties!r}. Known: {', '.join(repr(one) for one in TIE_MODELS)}")
    if where and isinstance(votes, Votes):
        raise wrong("E204", "where chooses rows of a table, and these votes are counted. Give it to read_votes")
    current = read_votes(votes, columns=columns, map=map, covariates=covariates, where=where)
    past = [_past(one, columns, map) for one in _listed(history)]
    if any(isinstance(one, Votes) and one.holds_same_as(current) for one in past):
        raise wrong(
            "E208",
            f"the votes {current.name!r} are in their own history: the same votes would count twice. Leave them out of "
            "history; the gold that they have counts without it.",
        )
    if reference is not None and reference not in current.models:
        raise wrong("E235", f"reference {reference!r} has no votes. Models: {name_some(list(current.models), 12)}")
    if len(current.models) < 2:
        raise wrong("E230", f"the votes compare {len(current.models)} model. Two or more are ranked")
    if len(current.models) == 2 and ties == "half" and not current.covariates:
        paired = two_model_rounds(current, past)
        if paired is not None and (found := _two_models(current, *paired, level, correction, progress)) is not None:
            return found
    asked = _Asked(ties, reference, level, correction, progress)
    return _ranked(current, *combined(current, past), asked)


@dataclass(frozen=True)
class _Asked:
    ties: str
    reference: str | None
    level: float
    correction: str
    progress: Progress | None


def _listed(history: Any) -> list[Any]:
    if history is None:
        return []
    return list(history) if isinstance(history, list | tuple) else [history]


def _past(one: Any, columns: Mapping[str, str] | None, map: Mapping[Any, Any] | None) -> Any:
    from hero_eval.round import Round

    return one if isinstance(one, Round) else read_votes(one, columns=columns, map=map)


def _ranked(current: Votes, cells: VoteCells, labelers: tuple[str, ...], asked: _Asked) -> Leaderboard:
    parts = components(cells)
    if len(parts) > 1:
        groups = "; ".join(name_some([current.models[at] for at in part]) for part in parts[:5])
        more = f"; and {len(parts) - 5} more" if len(parts) > 5 else ""
        raise unsupported(
            "E232",
            f"no votes connect these {len(parts)} groups of models: {groups}{more}. Have votes on pairs of models of "
            "different groups, or rank each group by itself.",
        )
    taught = float(cells.counts[(cells.gold >= 0) & (cells.label >= 0)].sum())
    untold = bool(((cells.gold < 0) & cells.is_paired).any())
    noisy = taught > 0 and untold
    ties = TIE_MODELS[asked.ties]
    sites, rows = sites_of(ties, cells, noisy)
    each = votes_of_models(cells)
    tied = models_that_only_tie(cells)
    shrink = bool(each.min() < FEW_VOTES or tied.all()) or not has_finite_strengths(cells)
    fit = fit_votes(ties, sites, shrink=shrink, progress=asked.progress)
    errors = vote_errors(fit, rows, tied)
    n_m = len(current.models)
    strengths = fit.at.strengths - fit.at.strengths.mean()
    covariance = errors.shared[:n_m, :n_m]
    df = min(gold_df(taught, 2) if noisy else math.inf, max(current.n_items - n_m, 1.0))
    variances, t = _differences(strengths, covariance)
    standing = standing_of(strengths, variances, t, df, asked.level, asked.correction, "highest")
    people = _labeler_rows(fit, errors, cells, labelers) if noisy else ()
    reference = asked.reference or current.models[int(standing.order[0])]
    n_d = sites.n_covariates
    of_pairs = {
        name: (float(fit.at.beta[at]), math.sqrt(max(float(errors.shared[n_m + at, n_m + at]), 0.0)))
        for at, name in enumerate(current.covariates)
    }
    tie = (fit.at.tau, math.sqrt(max(float(errors.shared[n_m + n_d, n_m + n_d]), 0.0))) if ties.has_ties else (0.0, 0.0)
    found = [
        *current.notes,
        *(_graph_findings(current, each, tied, fit) if shrink else []),
        *(_labeler_findings(people) if noisy else _untaught(cells, labelers, untold)),
        *_fit_findings(fit),
        *_covariate_findings(of_pairs),
    ]
    return Leaderboard(
        current.models,
        strengths,
        covariance,
        standing,
        level_of(critical_of(covariance, asked.level, df), df),
        asked.ties,
        tie,
        reference,
        {name: int(each[at]) for at, name in enumerate(current.models)},
        people,
        of_pairs,
        asked.level,
        asked.correction,
        _method(asked.ties, noisy, untold),
        current.n_votes,
        current.n_items,
        int(taught),
        fit.converged,
        unique([*found, _together(n_m, asked.level)] if n_m > 2 else found),
        VoteState(covariance, _worth(fit)),
        frame_kind=current.frame_kind,
    )


def _method(ties: str, noisy: bool, untold: bool) -> str:
    model = "Bradley-Terry" if ties == "half" else "Davidson"
    if noisy:
        return f"{model}, votes corrected by the labelers' errors"
    return f"{model}, votes taken for true" if untold else f"{model} on gold"


def _differences(strengths: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    own = np.diag(covariance)
    variances = np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0)
    np.fill_diagonal(variances, 0.0)
    apart = strengths[:, None] - strengths[None, :]
    return variances, np.divide(apart, np.sqrt(variances), out=np.zeros_like(apart), where=variances > 0)


def _together(n_models: int, level: float) -> Finding:
    message = (
        f"{n_models} models: strengths' intervals hold together at {level:.0%}, so do those of all "
        f"{n_models * (n_models - 1) // 2} differences, and so do the ranks; win rates' intervals are each by itself"
    )
    return Finding("F520", message, {"models": n_models, "level": level})


def _labeler_rows(
    fit: VoteFit, errors: VoteErrors, cells: VoteCells, labelers: Sequence[str]
) -> tuple[Mapping[str, Any], ...]:
    """How right each is; those who vote here, and those who only taught."""
    answers = confusions(fit.ties, fit.at.answers)
    worth = fit.ties.worth()
    right_first, right_second = answers[:, 0] @ worth, 1.0 - answers[:, 1] @ worth
    n_j = len(labelers)
    votes = np.bincount(cells.labeler, np.where(cells.is_paired & (cells.label >= 0), cells.counts, 0.0), n_j)
    gold = np.bincount(cells.labeler, np.where((cells.gold >= 0) & (cells.label >= 0), cells.counts, 0.0), n_j)
    return tuple(
        {
            "labeler": name,
            "votes": int(votes[j]),
            "gold": int(gold[j]),
            "right_first": float(right_first[j]),
            "right_second": float(right_second[j]),
            "first_bias": float(fit.at.answers[j, 1]),
            "first_bias_se": math.sqrt(float(errors.labelers[j, 1, 1])),
        }
        for j, name in enumerate(labelers)
    )


def _labeler_findings(people: Sequence[Mapping[str, Any]]) -> list[Finding]:
    found = []
    voting = [row for row in people if row["votes"]]
    biased = [row for row in voting if abs(row["first_bias"]) > _CLEAR_BIAS * row["first_bias_se"]]
    if biased:
        worst = max(biased, key=lambda row: abs(row["first_bias"]))
        side = "first" if worst["first_bias"] > 0 else "second"
        who = name_some([row["labeler"] for row in biased])
        favor = f"{who} favor a position, {worst['labeler']!r} most" if len(biased) > 1 else f"{who} favors a position"
        share = 100 * special.expit(abs(worst["first_bias"]))
        message = f"{favor}: it takes the {side} of two equal ones in {share:.0f} of 100 votes"
        found.append(Finding("F523", message, {"labelers": [row["labeler"] for row in biased]}))
    untaught = [row["labeler"] for row in voting if not row["gold"]]
    if untaught:
        message = f"{name_some(untaught)}: no vote of theirs has gold, so that they count as their peers do"
        found.append(Finding("F524", message, {"labelers": untaught}))
    useless = [row["labeler"] for row in voting if row["right_first"] + row["right_second"] - 1.0 < _UNINFORMATIVE]
    if useless:
        message = f"votes that hardly depend on which model is better: {name_some(useless)}; they add little or nothing"
        found.append(Finding("F526", message, {"labelers": useless}))
    return found


def _untaught(cells: VoteCells, labelers: Sequence[str], untold: bool) -> list[Finding]:
    if not untold:
        return []
    found = []
    of_one_side = [labelers[j] for j in labelers_of_one_side(cells, FEW_VOTES)]
    if of_one_side:
        same = (
            f"votes that do not depend on which model is better: on pairs that were shown in both orders "
            f"{name_some(of_one_side)} always took the same side, first or second"
        )
        found.append(Finding("F526", same, {"labelers": of_one_side}))
    message = (
        "no vote has gold, so that votes are taken for true: strengths are those of the votes, and lie too close "
        "together, or in the wrong order, as far as labelers err"
    )
    return [Finding("F521", message), *found]


def _graph_findings(current: Votes, each: Floats, tied: Bools, fit: VoteFit) -> list[Finding]:
    few = [current.models[at] for at in np.flatnonzero(each < FEW_VOTES)]
    why = "some models win, or lose, all votes against the others"
    if few:
        why = f"{name_some(few)}: fewer than {FEW_VOTES} votes"
    elif tied.all():
        why = "no vote says which of two models is better"
    message = f"{why}; strengths were drawn together, as if they had a standard deviation of {fit.priors.strengths:.2f}"
    return [Finding("F522", message, {"models": few, "spread": fit.priors.strengths})]


def _fit_findings(fit: VoteFit) -> list[Finding]:
    if fit.converged:
        return []
    message = f"the fit of the votes did not come to rest in {fit.n_steps} steps (last change {fit.change:.0e})"
    return [Finding("F301", message, {"steps": fit.n_steps, "change": fit.change})]


def _covariate_findings(of_pairs: Mapping[str, tuple[float, float]]) -> list[Finding]:
    if not of_pairs:
        return []
    said = ", ".join(f"{name} {value:+.2f} ± {error:.2f}" for name, (value, error) in of_pairs.items())
    message = f"strengths are those at equal covariates of the pair; log-odds for one standard deviation: {said}"
    return [Finding("F527", message, {"covariates": list(of_pairs)})]


def _worth(fit: VoteFit) -> Floats:
    """(M, M): what one more vote of the usual labeler would tell of the difference of each pair."""
    ties, sites, n = fit.ties, fit.sites, fit.sites.n_models
    first, second = np.triu_indices(n, 1)
    n_pairs, noisy = len(first), sites.n_labelers > 0
    labeler: Ints = np.full(n_pairs, 0 if noisy else -1)
    one = replace(
        sites,
        first=first,
        second=second,
        labeler=labeler,
        phi=np.zeros((n_pairs, ties.n_states)),
        covariates=np.zeros((n_pairs, sites.n_covariates)),
        counts=np.ones((n_pairs, ties.n_states)),
        n_labelers=int(noisy),
    )
    at = replace(fit.at, answers=fit.at.mean[None, :] if noisy else fit.at.answers)
    slopes = site_slopes(ties, one, at)
    out = np.zeros((n, n))
    out[first, second] = out[second, first] = (slopes.share * slopes.by_delta**2).sum(axis=1)
    return out


def _two_models(
    current: Votes, round_: Any, past: Any, level: float, correction: str, progress: Progress | None
) -> Leaderboard | None:
    """Two models that are always shown in one order are a win rate; None where that cannot be had."""
    from hero_eval.targets.win_rate import estimate_win_rate

    try:
        found = estimate_win_rate(round_, past or None, level=level, progress=progress)
    except HeroError:
        return None
    if not math.isfinite(found.value) or not 0.0 < found.value < 1.0:
        return None
    first = int(current.cells.first[0])
    sign = np.array([0.5, -0.5]) if first == 0 else np.array([-0.5, 0.5])
    delta = float(special.logit(found.value))
    error = found.std_error / (found.value * (1.0 - found.value))
    strengths, covariance = sign * delta, np.outer(sign, sign) * error**2
    below = found.probability_below(0.5)
    t = t_of_confidence(below, math.inf) * np.array([[0.0, 1.0], [-1.0, 0.0]]) * (1.0 if first == 0 else -1.0)
    variances = np.array([[0.0, error**2], [error**2, 0.0]])
    standing = standing_of(strengths, variances, t, math.inf, level, correction, "highest")
    each = votes_of_models(current.cells)
    best = current.models[int(standing.order[0])]
    return Leaderboard(
        current.models,
        strengths,
        covariance,
        standing,
        level,
        "half",
        (0.0, 0.0),
        best,
        {name: int(each[at]) for at, name in enumerate(current.models)},
        (),
        {},
        level,
        correction,
        f"win rate by {found.method}",
        current.n_votes,
        current.n_items,
        found.n_gold,
        found.converged,
        unique([*current.notes, *found.findings]),
        None,
        found,
        current.frame_kind,
    )
