"""Which items should an expert answer next? Those that tell most about the rate, and some at random, each with the
probability with which it was drawn.

What gold of an item would tell is worked out by HERO-3's model (`model/gold_moves.py`): by how far its answer is
expected to move the rate. A share of the draw goes to all items alike, so that a model that is wrong is found out. The
probabilities go back into the round (column `gold_probability` of items), where methods weigh gold by them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_eval.classes import spelled
from hero_eval.counting.count import refuse_routing_by_items
from hero_eval.documents import SCHEMA_VERSION
from hero_eval.errors import wrong
from hero_eval.estimation.ask import ask
from hero_eval.estimation.headline import class_scores, rate_contrast
from hero_eval.estimation.options import HistoryLike, Options, PastRounds, as_history, as_round
from hero_eval.estimation.question import Question
from hero_eval.findings import Finding
from hero_eval.labelers.fitting import history_rounds
from hero_eval.methods.evidence import JointEvidence
from hero_eval.methods.hero3 import moves_by_gold
from hero_eval.model.gold_draw import draw_systematic, drawn_again, inclusion_probabilities
from hero_eval.model.gold_moves import GoldMoves
from hero_eval.model.history import Progress
from hero_eval.model.patterns import Bools, Floats, Ints
from hero_eval.read import RoundLike
from hero_eval.result_frames import Framed, checked_backend, to_frame
from hero_eval.round import Round
from hero_eval.targets.grouped import groups_of
from hero_eval.targets.win_rate import win_worth

TARGETS = ("rate", "difference", "win_rate")
FLOOR = 0.25
"""Of the draw, the share that goes to all items alike."""


@dataclass(frozen=True, eq=False)
class GoldQueue(Framed):
    """The items to be answered next, in the order in which to answer them. `choose_gold` makes it.

    The order is random, so that whoever stops early has answered a random part of it.

    Attributes
    ----------
    items : tuple of str
        The items to be answered.
    rounds : tuple of str
        The round of each of them.
    gold_probability : array of float
        With which probability each has gold once the queue is answered, what was drawn before included.
    why : tuple of str
        Why each was drawn, in words.
    target : str
        What was to be known better: ``"rate"``, ``"difference"`` or ``"win_rate"``.
    floor : float
        The share of the draw that went to all items alike.
    seed : int
        The seed of the draw.
    findings : tuple of Finding
        What one must know about the queue.
    draws : tuple of RoundDraw
        The probabilities of all items, round by round. For use inside the package; see `probabilities`.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    items: tuple[str, ...]
    rounds: tuple[str, ...]
    gold_probability: Floats
    why: tuple[str, ...]
    target: str
    floor: float
    seed: int
    findings: tuple[Finding, ...] = ()
    draws: tuple[RoundDraw, ...] = field(default=(), repr=False)
    frame_kind: str = "files"

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        names = list(dict.fromkeys(self.rounds))
        low, high = self.gold_probability.min(), self.gold_probability.max()
        return f"GoldQueue({len(self)} items of {', '.join(names)}, gold_probability {low:.3f} to {high:.3f})"

    def to_frame(self, backend: str | None = None) -> Any:
        """The queue, one row per item to be answered.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of the current round's labels if it is one of these, else pandas, or
            pyarrow where pandas is not installed.

        Returns
        -------
        dataframe
            Columns: round (only if there are several), item, gold_probability, why.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        columns: dict[str, list[Any]] = {"round": list(self.rounds)} if len(self.draws) > 1 else {}
        columns |= {"item": list(self.items), "gold_probability": self.gold_probability.tolist(), "why": list(self.why)}
        return to_frame(columns, checked_backend(backend, self.frame_kind))

    def probabilities(
        self, round: str | None = None, *, answered: int | None = None, backend: str | None = None
    ) -> Any:
        """With which probability each item of a round has gold: what belongs beside its items before it is estimated.

        Parameters
        ----------
        round : str, optional
            The name of the round. None: the only one.
        answered : int, optional
            How many items of the queue were answered, from its beginning. None: all of them.
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table, as in `to_frame`.

        Returns
        -------
        dataframe
            Columns item and gold_probability, a row for every item of the round, drawn or not.

        Raises
        ------
        InputError
            If there is no such round, or the number answered is not one of the queue (E201).
        """
        names = [one.name for one in self.draws]
        if (round is None and len(names) > 1) or (round is not None and round not in names):
            raise wrong("E201", f"round is {round!r}. Rounds of this queue: {', '.join(names)}")
        if answered is not None and not (isinstance(answered, int) and 0 <= answered <= len(self)):
            raise wrong("E201", f"answered is {answered!r}. The queue has {len(self)} items")
        done = 1.0 if answered is None else answered / max(len(self), 1)
        one = self.draws[0 if round is None else names.index(round)]
        columns = {"item": [str(name) for name in one.ids], "gold_probability": one.after(done).tolist()}
        return to_frame(columns, checked_backend(backend, self.frame_kind))

    def to_dict(self) -> dict[str, Any]:
        """The queue in plain types, for JSON.

        Returns
        -------
        dict
            With the queue's rows, and the findings.
        """
        rows = zip(self.rounds, self.items, self.gold_probability.tolist(), self.why, strict=True)
        names = ("round", "item", "gold_probability", "why")
        return {
            "schema_version": SCHEMA_VERSION,
            "target": "gold queue",
            "for": self.target,
            "count": len(self),
            "floor": self.floor,
            "seed": self.seed,
            "items": [dict(zip(names, row, strict=True)) for row in rows],
            "findings": [one.to_dict() for one in self.findings],
        }


@dataclass(frozen=True, eq=False)
class RoundDraw:
    """Of every item of a round: its id, the probability of having had gold before, and that of being drawn now."""

    name: str
    ids: NDArray[np.object_]
    before: Floats
    now: Floats

    def after(self, done: float) -> Floats:
        """The probability of gold once this share of the queue is answered; items of history's own keep theirs."""
        found = drawn_again(self.before, done * self.now)
        return np.maximum(found, 1e-12)


def choose_gold(
    current: RoundLike | Sequence[RoundLike],
    history: HistoryLike = None,
    *,
    count: int,
    seed: int = 0,
    target: str = "rate",
    floor: float = FLOOR,
    by: str | None = None,
    positive: object = None,
    scores: Mapping[str, float] | None = None,
    ties: str = "half",
    a: str | None = None,
    b: str | None = None,
    tie: str | None = None,
    groups: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> GoldQueue:
    """Which items an expert should answer next, each with the probability with which it was drawn.

    Items whose answer is expected to move the rate far are drawn more often, others less, none below the floor. Write
    the probabilities beside the items (`GoldQueue.probabilities`, column `gold_probability`): methods weigh gold by
    them, so that the estimate stays honest. What was drawn before counts: give the round with its gold and its
    probabilities, and the next draw goes on from there.

    Parameters
    ----------
    current : Round or sequence of Round
        The round to be estimated, or those of several models.
    history : Round, sequence of Round, Reliability or None, optional
        Past rounds, in which some items have gold. None, or a history without gold: the current round's own gold says
        what is known of labelers; without that too, items are drawn at random.
    count : int
        How many items to draw, of all rounds together.
    seed : int, default 0
        The seed of the draw.
    target : {"rate", "difference", "win_rate"}, default "rate"
        What is to be known better: the rate of every round, the difference of two rounds (items that both have are
        drawn in pairs, each worth two of `count`), or a win rate.
    floor : float, default 0.25
        The share of the draw that goes to all items alike, above 0 and at most 1; 1 draws at random.
    by : str, optional
        A column of the items: the rate of each of its values is to be known, not only that of the whole round.
    positive : class or sequence of classes, optional
        The class whose rate is asked for, as in `estimate_rate`.
    scores : mapping of class to number, optional
        What each class counts for in a mean score, as in `estimate_rate`.
    ties : {"half", "own"}, default "half"
        What a tie counts for in a win rate, as in `estimate_win_rate`.
    a : str, optional
        The class that says that A wins. None: recognized by its name.
    b : str, optional
        The class that says that B wins. None: recognized by its name.
    tie : str, optional
        The class that says that neither wins. None: recognized by its name.
    groups : mapping of labeler to group, optional
        Which labelers are alike, as in `estimate_rate`.
    progress : callable, optional
        Called with (steps so far, change in the last step) while a fit runs. None: nothing is told.

    Returns
    -------
    GoldQueue
        The items with their probabilities, in the order in which to answer them.

    Raises
    ------
    InputError
        If an option is not known (E201) or does not fit (E204), or there are fewer items without gold than asked for
        (E220).

    Examples
    --------
    >>> from importlib.resources import files
    >>> import hero_eval as hero
    >>> example = files("hero_eval") / "examples" / "defect"
    >>> current = hero.read_round(example / "current")
    >>> history = hero.read_round(example / "history")
    >>> queue = hero.choose_gold(current, history, count=30)
    >>> len(queue)
    30
    >>> list(queue.to_frame("pandas").columns)
    ['item', 'gold_probability', 'why']
    """
    given: list[Any] = list(current) if isinstance(current, list | tuple) else [current]
    history, currents = as_history(history, *given), [as_round(one) for one in given]
    _check(currents, count, seed, target, floor, by)
    parts = [part for one in currents for part in (groups_of(one, by).values() if by is not None else (one,))]
    left_out = sum(one.n_items for one in currents) - sum(one.n_items for one in parts)
    if left_out:
        raise wrong("E220", f"{left_out} items have no value of {by!r}; every item must have a chance to be drawn")
    asked = {"positive": positive, "scores": scores, "ties": ties, "a": a, "b": b, "tie": tie}
    moves, found = _moves(parts, history, target, asked, groups, by, progress)
    if any(len(one) == 0 for one in (part.item_ids for part in parts)):
        raise wrong("E220", "a round has no items to draw from")
    return _drawn(currents, parts, moves, count, target, floor, seed, found)


def _check(currents: Sequence[Round], count: int, seed: int, target: str, floor: float, by: str | None) -> None:
    refuse_routing_by_items(currents)
    if not currents or len({one.name for one in currents}) < len(currents):
        raise wrong("E201", "several rounds need names of their own: Round(..., name='model-a')")
    if target not in TARGETS:
        raise wrong("E201", f"target is {target!r}. Known: {', '.join(map(repr, TARGETS))}")
    if target == "difference" and (len(currents) != 2 or by is not None):
        raise wrong("E204", f"a difference is of two rounds, without by; {len(currents)} were given")
    for name, value, least in (("count", count, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise wrong("E201", f"{name} is {value!r}. It is a whole number of {least} or more")
    if not isinstance(floor, int | float) or not 0.0 < floor <= 1.0:
        raise wrong("E201", f"floor is {floor!r}. It is above 0, so that every item has a chance, and at most 1")
    n_open = sum(one.n_items - one.n_gold for one in currents)
    if count > n_open:
        raise wrong("E220", f"count is {count}, but only {n_open} items are without gold")


def _moves(
    parts: Sequence[Round],
    history: PastRounds,
    target: str,
    asked: Mapping[str, Any],
    groups: Mapping[str, str] | None,
    by: str | None,
    progress: Progress | None,
) -> tuple[list[GoldMoves | None], tuple[Finding, ...]]:
    """What gold of each part's items would tell; None where nothing is known of labelers."""
    past = () if history is None else history_rounds(history)
    known = any(one.n_gold for one in past)
    able = [part for part in parts if known or part.n_gold]
    found: dict[int, GoldMoves] = {}
    if able:
        options = Options(method="hero3", groups=groups, progress=progress)
        question = ask(able, history, options, split=by).question
        for part, here in zip(able, question.currents, strict=True):
            assert isinstance(here.evidence, JointEvidence)
            found[id(part)] = moves_by_gold(here.evidence, _contrast(question, target, asked))
    blank = [part.name for part in parts if id(part) not in found]
    said: tuple[Finding, ...] = ()
    if blank:
        message = f"no gold says how labelers answer, so items of {', '.join(dict.fromkeys(blank))} are drawn at random"
        said = (Finding("F510", message, {"rounds": blank}),)
    return [found.get(id(part)) for part in parts], said


def _contrast(question: Question, target: str, asked: Mapping[str, Any]) -> Floats:
    """(K,) what each class counts for in what is to be known."""
    if target == "win_rate":
        sides = [None if asked[name] is None else spelled(asked[name], question.classes) for name in ("a", "b", "tie")]
        return win_worth(question.classes, sides, asked["ties"])[0]
    if asked["scores"] is not None:
        values = class_scores(question.classes, asked["scores"])
        assert values is not None
        return values / float(np.ptp(values))
    worth = rate_contrast(question, asked["positive"])
    if np.isnan(worth).any():  # no class is the one: the commonest question is any of them
        return np.linspace(0.0, 1.0, len(worth))
    return worth / float(np.ptp(worth))


def _drawn(
    currents: Sequence[Round],
    parts: Sequence[Round],
    moves: Sequence[GoldMoves | None],
    count: int,
    target: str,
    floor: float,
    seed: int,
    findings: tuple[Finding, ...],
) -> GoldQueue:
    rng = np.random.default_rng(seed)
    pool = _pool(parts, moves)
    units, n_units = pool.unit, count
    if target == "difference":
        units = pool.paired()
        n_units = max(count // 2, 1)
    score, may, expected, size = pool.by_unit(units)
    n_units = min(n_units, int(may.sum()))
    now = inclusion_probabilities(score, n_units, floor, may)
    order = np.lexsort((rng.random(len(score)), expected, size))
    taken = draw_systematic(now, order[may[order]], rng)
    chosen = np.flatnonzero(np.isin(units, taken) & ~pool.gold)
    ranks = rng.permutation(len(score))[units]
    chosen = chosen[np.lexsort((pool.part[chosen], ranks[chosen]))]
    draws = tuple(pool.draw_of(one, at, parts, now[units]) for at, one in enumerate(currents))
    after = {(one.name, name): p for one in draws for name, p in zip(one.ids, one.after(1.0), strict=True)}
    names = [parts[part].name for part in pool.part[chosen]]
    ids = [str(name) for name in pool.ids[chosen]]
    even = n_units / max(int(may.sum()), 1)
    return GoldQueue(
        items=tuple(ids),
        rounds=tuple(names),
        gold_probability=np.array([after[key] for key in zip(names, ids, strict=True)]),
        why=tuple(_why(pool, int(at), float(now[units[at]]), even) for at in chosen),
        target=target,
        floor=float(floor),
        seed=seed,
        findings=findings,
        draws=draws,
        frame_kind=currents[0].frame_kind,
    )


@dataclass(frozen=True, eq=False)
class Pool:
    """All items of all parts, one after the other: part, id, gain and doubt by gold, expected answer, has gold?"""

    part: Ints
    ids: NDArray[np.object_]
    gain: Floats
    doubt: Floats
    expected: Floats
    told: tuple[str, ...]
    gold: Bools
    before: Floats

    @property
    def unit(self) -> Ints:
        return np.arange(len(self.ids))

    def paired(self) -> Ints:
        """(n,) the unit of each item: those of one id are drawn together."""
        return np.unique(self.ids.astype(str), return_inverse=True)[1].reshape(-1)

    def by_unit(self, units: Ints) -> tuple[Floats, Bools, Floats, Ints]:
        """Score, whether it may be drawn, expected answer and size of every unit."""
        n = int(units.max()) + 1
        gain = np.bincount(units, self.gain, n)
        size = np.bincount(units, minlength=n)
        may = np.bincount(units, ~self.gold, n) > 0
        return np.sqrt(gain), may, np.bincount(units, self.expected, n) / size, size

    def draw_of(self, one: Round, at: int, parts: Sequence[Round], now: Floats) -> RoundDraw:
        del at
        mine = np.isin(self.part, [place for place, part in enumerate(parts) if part.name == one.name])
        order = np.argsort(self.ids[mine].astype(str), kind="stable")
        return RoundDraw(one.name, self.ids[mine][order], self.before[mine][order], now[mine][order])


def _pool(parts: Sequence[Round], moves: Sequence[GoldMoves | None]) -> Pool:
    part = np.repeat(np.arange(len(parts)), [one.n_items for one in parts])
    known = [one for one in moves if one is not None]
    usual = float(np.mean(np.concatenate([one.gain for one in known]))) if known else 1.0

    def each(of: str, blank: float) -> Floats:
        pairs = zip(parts, moves, strict=True)
        return np.concatenate([np.full(one.n_items, blank) if m is None else getattr(m, of) for one, m in pairs])

    told = tuple(
        reason
        for one, m in zip(parts, moves, strict=True)
        for reason in (("drawn at random",) * one.n_items if m is None else m.reasons)
    )
    return Pool(
        part,
        np.concatenate([one.item_ids for one in parts]),
        each("gain", usual),
        each("doubt", math.nan),
        each("expected", 0.0),
        told,
        np.concatenate([one.gold >= 0 for one in parts]),
        np.concatenate([_before(one) for one in parts]),
    )


def _before(one: Round) -> Floats:
    """With which probability each item has had gold so far: as the round says, or its share of gold at random."""
    given = one.gold_probability() if one.n_gold else None
    return np.full(one.n_items, one.n_gold / one.n_items) if given is None else given


def _why(pool: Pool, at: int, now: float, even: float) -> str:
    """What speaks for an item; those that are drawn no more often than others are there by chance."""
    if now <= even or math.isnan(pool.doubt[at]):
        return "drawn at random"
    return pool.told[at]
