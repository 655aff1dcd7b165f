"""Methods against each other on plays of past rounds: what each came to, and whether one is clearly better."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hero_eval.estimation.curves import standard_quantile
from hero_eval.estimation.replay import DEFAULT, HISTORY_MEAN, LEAST_ROUNDS, Play
from hero_eval.model.patterns import Floats

_SURE = 0.975


@dataclass(frozen=True)
class Summary:
    """A method over all rounds that it could play: means of |error|, error, width and score; the share covered."""

    method: str
    n_rounds: int
    abs_error: float
    bias: float
    coverage: float
    width: float
    score: float


def summarize(name: str, plays: Sequence[Play]) -> Summary:
    own = [one for one in plays if one.method == name]
    errors = np.array([one.error for one in own])
    errors = errors[np.isfinite(errors)]
    return Summary(
        name,
        len(own),
        float(np.abs(errors).mean()) if len(errors) else math.nan,
        float(errors.mean()) if len(errors) else math.nan,
        float(np.mean([one.covered for one in own])),
        float(np.mean([one.width for one in own])),
        float(np.mean([one.score for one in own])),
    )


@dataclass(frozen=True)
class Gain:
    """By how much a figure is lower than the default's, round by round: the mean and its standard error."""

    mean: float
    error: float
    n_rounds: int

    @property
    def clear(self) -> bool:
        """Beyond t's 97.5% point: 2 standard errors, and more for few rounds."""
        if self.n_rounds < LEAST_ROUNDS:
            return False
        return self.mean > standard_quantile(_SURE, self.n_rounds - 1.0) * self.error


@dataclass(frozen=True)
class Rivalry:
    """A method against the default on the rounds that both played, in interval score and in |error|."""

    method: str
    n_rounds: int
    score: Gain
    error: Gain

    @property
    def clear(self) -> bool:
        """Both: short intervals that have not missed yet would win on the score alone, round after round."""
        return self.score.clear and self.error.clear


def rival(plays: Sequence[Play], method: str, default: str = DEFAULT) -> Rivalry:
    """Round by round; several quantities of one round are averaged."""
    ours, theirs = _by_round(plays, method), _by_round(plays, default)
    both = [name for name in ours if name in theirs]
    score, error = (_gain(np.array([theirs[name][of] - ours[name][of] for name in both])) for of in (0, 1))
    return Rivalry(method, len(both), score, error)


@dataclass(frozen=True)
class Trial:
    """Plays of the rounds that the default was tried on; the positions of those that could not change the choice."""

    plays: tuple[Play, ...]
    left: tuple[int, ...] = ()


def try_in_turn(
    played: Sequence[int],
    rivals: Sequence[str],
    play: Callable[[Sequence[int], Sequence[str]], tuple[Play, ...]],
    default: str = DEFAULT,
) -> Trial:
    """The rivals, which are quick, on all rounds; the default in turn, until none of them could still beat it.

    It begins with rounds in which rivals did badly, and where it therefore probably does better.
    """
    by_position = {position: play([position], rivals) for position in played}

    def ease(position: int) -> float:
        scores = [one.score for one in by_position[position]]
        return min((score for score in scores if math.isfinite(score)), default=math.inf)

    left = sorted(played, key=lambda position: (-ease(position), position))
    plays = tuple(one for found in by_position.values() for one in found)
    while left and (not rivals or any(can_win(plays, name, default) for name in rivals)):
        plays += play([left.pop(0)], [default])
    tried = {one.round for one in plays if one.method == default}
    if not left:
        return Trial(plays)
    return Trial(tuple(one for one in plays if one.round in tried), tuple(sorted(left)))


def can_win(plays: Sequence[Play], method: str, default: str = DEFAULT) -> bool:
    """Whether a method could still clearly beat the default, whatever the rounds show that this has yet to play."""
    ours, theirs = _by_round(plays, method), _by_round(plays, default)
    left = len(ours.keys() - theirs.keys())
    known = [np.array([theirs[name][of] - ours[name][of] for name in ours if name in theirs]) for of in (0, 1)]
    return all(_may_be_clear(gains, left) for gains in known)


def _may_be_clear(gains: Floats, left: int) -> bool:
    """Whether there are gains in the rounds that are `left`, or in some of them, that would make these clear.

    With k gains of mean g and sum of squares S around it, and m more, t is largest where these are all alike, and is
    then  sqrt(n (n - 1)) sqrt(max(g, 0)^2 / S + m / (n k)),  n = k + m, which it reaches, or comes near as they grow.
    """
    n_known = len(gains)
    if n_known == 0 or not np.isfinite(gains).all():
        return n_known + left >= LEAST_ROUNDS
    mean, squares = max(float(gains.mean()), 0.0), float(((gains - gains.mean()) ** 2).sum())
    alone = mean**2 / squares if squares > 0.0 else (math.inf if mean > 0.0 else 0.0)
    for more in range(max(LEAST_ROUNDS - n_known, 0), left + 1):
        n = n_known + more
        if math.sqrt(n * (n - 1) * (alone + more / (n * n_known))) > standard_quantile(_SURE, n - 1.0):
            return True
    return False


def _gain(gains: Floats) -> Gain:
    if len(gains) < 2:
        return Gain(float(gains.mean()) if len(gains) else math.nan, math.inf, len(gains))
    return Gain(float(gains.mean()), float(np.std(gains, ddof=1) / math.sqrt(len(gains))), len(gains))


def _by_round(plays: Sequence[Play], method: str) -> dict[str, tuple[float, float]]:
    """Mean score and mean |error| of a method in each round."""
    grouped: dict[str, list[Play]] = {}
    for one in plays:
        if one.method == method:
            grouped.setdefault(one.round, []).append(one)
    return {
        name: (float(np.mean([one.score for one in of])), float(np.mean([abs(one.error) for one in of])))
        for name, of in grouped.items()
    }


def clear_winner(plays: Sequence[Play], methods: Sequence[str]) -> Rivalry | None:
    """Of the methods that clearly beat the default the one that gains most; None leaves the default."""
    rivals = [rival(plays, name) for name in methods if name not in (DEFAULT, HISTORY_MEAN)]
    clear = [one for one in rivals if one.clear]
    return max(clear, key=lambda one: one.score.mean, default=None)


def choose_by_plays(plays: Sequence[Play], methods: Sequence[str]) -> tuple[str, str]:
    """The method to take, and why; `methods` are those that may be taken."""
    n_rounds = len({one.round for one in plays})
    if DEFAULT not in methods:
        scores = {name: summarize(name, plays).score for name in methods}
        best = min(scores, key=lambda name: scores[name]) if scores else ""
        return best, f"its interval score is the lowest, {scores[best]:.3f}" if best else "no method could play"
    if n_rounds < LEAST_ROUNDS:
        return DEFAULT, f"{n_rounds} rounds cannot tell methods apart"
    winner = clear_winner(plays, methods)
    if winner is not None:
        return winner.method, told(winner)
    rivals = [rival(plays, name) for name in methods if name != DEFAULT]
    nearest = max((one for one in rivals if one.n_rounds), key=lambda one: one.score.mean, default=None)
    score = summarize(DEFAULT, plays).score
    if nearest is None or nearest.score.mean <= 0:
        return DEFAULT, f"over {n_rounds} rounds its interval score {score:.3f} is the lowest"
    close = f"that of {nearest.method} is lower by {_shown(nearest.score)}"
    larger = replace(nearest.error, mean=-nearest.error.mean)
    reason = f"but its errors are not clearly smaller (by {_shown(nearest.error)})"
    if larger.mean > 0:
        reason = f"but its errors are larger by {_shown(larger)}"
    if not nearest.score.clear:
        reason = "which chance explains" if nearest.n_rounds >= LEAST_ROUNDS else f"on {nearest.n_rounds} rounds only"
    return DEFAULT, f"over {n_rounds} rounds its interval score is {score:.3f}; {close}, {reason}"


def told(winner: Rivalry) -> str:
    return (
        f"over {winner.n_rounds} rounds its interval score is lower than that of {DEFAULT} by {_shown(winner.score)}, "
        f"and its errors are smaller by {_shown(winner.error)}"
    )


def _shown(gain: Gain) -> str:
    return f"{gain.mean:.3f} ± {gain.error:.3f}"


def told_figures(plays: Sequence[Play], methods: Sequence[str]) -> str:
    """What each method's plays came to, in a row."""
    each = {method: figures(plays, method) for method in methods}
    return "; ".join(
        f"{method} |error| {of['abs_error']:.3f}, covers {of['coverage']:.0%}, interval score {of['score']:.3f}"
        for method, of in each.items()
        if of is not None
    )


def figures(plays: Sequence[Play], method: str) -> dict[str, float] | None:
    own = [one for one in plays if one.method == method]
    if not own:
        return None
    return {
        "abs_error": float(np.mean([abs(one.error) for one in own])),
        "coverage": float(np.mean([one.covered for one in own])),
        "score": float(np.mean([one.score for one in own])),
    }
