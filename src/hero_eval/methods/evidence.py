"""What methods are given: one type for each kind of evidence, which knows how it is prepared from rounds.

A method declares the type it takes and gets just that. `LabelsOnly` is the current round's labels; `CarriedEvidence`
adds reliabilities learned elsewhere, `CovariateEvidence` covariates; `JointEvidence` is all rounds side by side, on the
labelers of all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

import numpy as np

from hero_eval.counting.count import count
from hero_eval.counting.covariate_sums import CurrentSide
from hero_eval.counting.memory import Counted
from hero_eval.errors import unsupported, wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.values import count_of
from hero_eval.labelers.fitting import fit_with, labelers_of
from hero_eval.labelers.reliability import Reliability
from hero_eval.model.em import EMOptions
from hero_eval.model.history import HistoryFit, Progress, fit_anchored, fit_gold_proportions
from hero_eval.model.latent import Latent
from hero_eval.model.moments import Forms, Moments
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns
from hero_eval.model.routing import goes_by_labels
from hero_eval.round import Round

if TYPE_CHECKING:
    from hero_eval.methods.result import Fit
    from hero_eval.model.hero3.fit import LevelFit


@dataclass(frozen=True, eq=False)
class CovariateColumns:
    """Covariates of both rounds as they came, current (n, d) and history (N, d), nan = missing; texts share a scale."""

    names: tuple[str, ...]
    current: Floats
    history: Floats
    common_scale: Bools
    in_scope: Bools | None = None
    """(N,) the history items whose covariates are meant to count; None: all."""


@dataclass(frozen=True, eq=False)
class CountedCovariates:
    """Covariates of rounds that were counted without their items: sums by row of both rounds' patterns.

    `grams` gives, for linear forms of the covariates, the sums of products of their features by row of current.
    """

    names: tuple[str, ...]
    current: Moments
    history: Moments
    grams: Callable[[Forms], Floats]


@dataclass(frozen=True, eq=False)
class Material:
    """What evidence is prepared from: one current round, what history taught of labelers, and what the caller set.

    `reliability` is None where history has no gold, or none that the method looks at. `counted` names covariates of
    which only sums are to be had, `past_moments` has those of history. `named`: the caller named the method or the
    labelers' groups, so that labelers may count of whom history knows nothing. `alone`: this is a whole round, and the
    only one that is asked about: parts of a round differ from history because they are parts, and two rounds of the
    same labelers differ from it by the same drift. `siblings`: where no history has gold, the other parts of the round
    of which this is a part, whose gold tells of the same labelers.
    """

    current: Round
    classes: tuple[str, ...]
    reliability: Reliability | None = None
    columns: CovariateColumns | None = None
    counted: tuple[str, ...] = ()
    past_moments: Moments | None = None
    penalty: float | None = None
    groups: Mapping[str, str] | None = None
    progress: Progress | None = None
    named: bool = False
    alone: bool = True
    siblings: tuple[Round, ...] = ()

    @cached_property
    def everything(self) -> Counted:
        """Every label of the current round."""
        return count([self.current], self.current.labelers, self.classes)

    @cached_property
    def own(self) -> Reliability:
        """What the current round's own gold says of its labelers."""
        return fit_with((self.current,), EMOptions(), self.classes, self.progress, where="the current round")

    def own_patterns(self) -> Patterns:
        """Every label of the current round, items weighted by their known probabilities of having gold."""
        return count([self.current], self.own.labelers, self.classes, routed=True).patterns

    def strangers(self, known: Sequence[str]) -> tuple[list[str], bool]:
        """Labelers of the current round that are not among the known ones, and whether these are all it has."""
        active = set(self.current.labelers)
        if self.everything.kept is not None:
            active = {self.current.labelers[j] for j in np.unique(self.current.label_labeler)}
        unknown = sorted(active - set(known))
        return unknown, len(unknown) == len(active)

    def group_numbers(self, labelers: Sequence[str]) -> Ints:
        """Labelers without a group form one of their own."""
        named = {str(key): str(value) for key, value in (self.groups or {}).items()}
        unknown = sorted(set(named) - set(labelers))
        if self.groups is not None and len(unknown) == len(named):
            raise wrong("E201", f"groups names none of the labelers; it has {name_some(unknown, 3)}")
        numbers = {name: number + 1 for number, name in enumerate(sorted(set(named.values())))}
        return np.array([numbers[named[one]] if one in named else 0 for one in labelers], dtype=np.int64)


E = TypeVar("E", bound="Evidence", covariant=True)

LITTLE_GOLD = 10
"""Of a part of a round, below which it rests on the gold of the other parts. Doubled, gates on more parts stay shut."""


@dataclass(frozen=True, eq=False)
class Prepared(Generic[E]):
    """Evidence of one current round; `kept` (n_items,) tells which of its items are in it, None where items were not
    told apart; `own` is what its own gold says of its labelers, where no history does."""

    evidence: E
    kept: Bools | None
    findings: tuple[Finding, ...] = ()
    own: Reliability | None = None


@dataclass(frozen=True, eq=False)
class Evidence(ABC):
    """What every method has: the current round's patterns, counted as the method reads them."""

    n_classes: int
    current: Patterns

    every_labeler: ClassVar[bool] = True
    """Whether labels count of labelers that history never saw."""
    reads_current_gold: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def prepare(cls, material: Material) -> Prepared[Self]:
        """The evidence that this method has in a current round."""

    @abstractmethod
    def redrawn(self, here: Floats, there: Floats | None, first: Fit) -> Self:
        """The same with items drawn `here` (current) and `there` (history) times, to be fitted from a warm start:
        `first` is the fit of the items as they are."""

    def history_times(self, n_history: int) -> Floats | None:
        """How many items each of the `n_history` entries of history stands for; None: one each."""
        del n_history
        return None

    def past_blocks(self) -> tuple[int | Floats, ...] | None:
        """The past rounds' items within which a bootstrap draws, by number or by times; None: the rounds' own."""
        return None


def _loosened(em: EMOptions) -> EMOptions:
    """What a replicate of a bootstrap needs."""
    return replace(em, tolerance=min(em.tolerance, 1e-8), step_tolerance=1e-5, accelerate=True)


@dataclass(frozen=True, eq=False)
class LabelsOnly(Evidence):
    """Every label of the current round, and nothing else."""

    em: EMOptions = field(default_factory=EMOptions)
    progress: Progress | None = None

    @classmethod
    def prepare(cls, material: Material) -> Prepared[Self]:
        everything = material.everything
        made = cls(len(material.classes), everything.patterns, progress=material.progress)
        return Prepared(made, everything.kept)

    def redrawn(self, here: Floats, there: Floats | None, first: Fit) -> Self:
        del there, first
        current = self.current.reweighted(self.current.item_weight * here)
        return replace(self, current=current, em=_loosened(self.em), progress=None)


@dataclass(frozen=True, eq=False)
class CarriedEvidence(Evidence):
    """Labels of labelers whose reliabilities are learned from history.

    Without a history that has gold the current round is its own: labelers are known by its gold, and `current` has
    every label, its items weighted by their known probabilities of having gold.
    """

    history: Patterns | None = None
    em: EMOptions = field(default_factory=EMOptions)
    progress: Progress | None = None
    given: HistoryFit | None = None
    warm: Latent | None = None
    shrinkage: float = 0.0

    every_labeler: ClassVar[bool] = False

    @property
    def learned_from(self) -> Patterns:
        """What reliabilities are learned from: history, or the current round where its own gold is all there is."""
        return self.current if self.history is None else self.history

    @cached_property
    def anchored(self) -> HistoryFit:
        """Reliabilities by anchored EM, fitted once however many methods ask."""
        if self.given is not None:
            return self.given
        return fit_anchored(self.learned_from, self.n_classes, self.em, self.progress, self.warm, self.shrinkage)

    @cached_property
    def gold_only(self) -> HistoryFit:
        """Reliabilities from the items with gold alone."""
        return fit_gold_proportions(self.learned_from, self.n_classes)

    @classmethod
    def prepare(cls, material: Material) -> Prepared[Self]:
        if material.reliability is None:
            made = cls(
                len(material.classes), material.own_patterns(), progress=material.progress, given=material.own.fit
            )
            return Prepared(made, material.everything.kept, own=material.own)
        known, set_aside = known_labels(material, material.reliability)
        made, kept = cls._with_history(material, known, material.reliability)
        return Prepared(made, kept, set_aside)

    @classmethod
    def _with_history(cls, material: Material, known: Counted, reliability: Reliability) -> tuple[Self, Bools | None]:
        """The evidence of these labels, and which items are in it."""
        made = cls(
            len(material.classes),
            known.patterns,
            reliability.counted.patterns,
            em=reliability.options,
            progress=material.progress,
            given=reliability.fit,
            shrinkage=reliability.shrinkage,
        )
        return made, known.kept

    def redrawn(self, here: Floats, there: Floats | None, first: Fit) -> Self:
        del first
        past = self.history
        return replace(
            self,
            current=self.current.reweighted(self.current.item_weight * here),
            history=past if past is None or there is None else past.reweighted(past.item_weight * there),
            em=_loosened(self.em),
            progress=None,
            given=None,
            warm=None if self.given is None else self.given.latent,
        )

    def history_times(self, n_history: int) -> Floats | None:
        times = None if self.history is None else self.history.times
        return times if times is not None and len(times) == n_history else None

    def past_blocks(self) -> tuple[int | Floats, ...] | None:
        times = None if self.history is None else self.history.times
        return None if times is None else (times,)


def known_labels(material: Material, reliability: Reliability) -> tuple[Counted, tuple[Finding, ...]]:
    """The labels of labelers that history knows, and what is said of the others."""
    unknown, nobody_known = material.strangers(reliability.labelers)
    if nobody_known:
        raise _nobody_known(material, unknown, reliability)
    known = count([material.current], reliability.labelers, material.classes)
    if not unknown:
        return known, ()
    lost, one = known.items_set_aside, len(unknown) == 1
    message = (
        f"{count_of(known.labels_set_aside, 'label')} by {count_of(len(unknown), 'labeler')} that history never saw "
        f"were set aside ({name_some(unknown)}), and {count_of(lost, 'item')} that only "
        f"{'this one' if one else 'they'} labeled"
    )
    data = {"labelers": unknown, "labels": known.labels_set_aside, "items": lost}
    return known, (Finding("F104", message, data),)


def _nobody_known(material: Material, unknown: Sequence[str], reliability: Reliability) -> Exception:
    none = f"none of the {len(unknown)} labelers" if len(unknown) > 1 else "the only labeler"
    own = ", or leave history out: the current round has gold of its own" if material.current.n_gold else ""
    message = (
        f"{none} of {material.current.name!r} ({name_some(list(unknown), 3)}) "
        f"{'occurs' if len(unknown) > 1 else 'does not occur'} in history, whose labelers are "
        f"{name_some(list(reliability.labelers), 3)}: nothing is known of their errors. To take them for labelers like "
        f"those, ask for hero3 (method='hero3'; command: --method hero3){own}"
    )
    return unsupported("E301", message)


@dataclass(frozen=True, eq=False)
class CovariateEvidence(CarriedEvidence):
    """The same, with covariates of the items of both rounds, one by one or as sums by answer pattern."""

    classes: tuple[str, ...] = ()
    columns: CovariateColumns | None = None
    counted: CountedCovariates | None = None
    penalty: float | None = None

    @property
    def covariate_names(self) -> tuple[str, ...]:
        held = self.columns if self.counted is None else self.counted
        return () if held is None else held.names

    @classmethod
    def _with_history(cls, material: Material, known: Counted, reliability: Reliability) -> tuple[Self, Bools | None]:
        columns, counted = material.columns, None
        if material.counted:
            assert material.past_moments is not None
            side = CurrentSide(material.current, material.counted, reliability.labelers, material.classes)
            known = side.side.counted
            counted = CountedCovariates(material.counted, side.side.moments, material.past_moments, side.grams)
        elif columns is not None:
            columns = replace(columns, current=columns.current[known.kept])
        made, kept = super()._with_history(material, known, reliability)
        return replace(made, classes=material.classes, columns=columns, counted=counted, penalty=material.penalty), kept


def joined_times(patterns: Sequence[Patterns]) -> Floats | None:
    """`Patterns.times` of several patterns in a row; None where every entry is one item."""
    if all(one.times is None for one in patterns):
        return None
    return np.concatenate([np.ones(len(one.row_of_item)) if one.times is None else one.times for one in patterns])


@dataclass(frozen=True, eq=False)
class JointEvidence(Evidence):
    """All rounds on the labelers of all of them: history's first, then those whom it never saw.

    `past` has the patterns of every past round, `current` every label and the current gold, its items weighted by their
    known probabilities of having gold, unless these depend on the labels alone, which a likelihood of the labels allows
    for; `unrouted` leaves the weights out, and `gold_weight` (n,) has them, where they differ from those of `current`.
    of_one_round: `past` has no past rounds, but the other parts of the round of which `current` is a part. groups (J,)
    number the labelers' groups; covariates are those of all current items.
    """

    labelers: tuple[str, ...]
    past: tuple[Patterns, ...]
    groups: Ints
    unrouted: Patterns
    n_strangers: int = 0
    covariates: CovariateColumns | None = None
    penalty: float | None = None
    em: EMOptions = field(default_factory=EMOptions)
    progress: Progress | None = None
    warm_levels: LevelFit | None = None
    over_both: bool = False
    alone: bool = True
    gold_weight: Floats | None = None
    of_one_round: bool = False

    reads_current_gold: ClassVar[bool] = True

    @property
    def n_history(self) -> int:
        """Items of all past rounds."""
        return sum(len(one.row_of_item) for one in self.past)

    @property
    def history_weight(self) -> Floats:
        return np.concatenate([np.zeros(0), *(one.item_weight for one in self.past)])

    @classmethod
    def prepare(cls, material: Material) -> Prepared[Self]:
        reliability, classes = material.reliability, material.classes
        if reliability is None:
            labelers = labelers_of((material.current, *material.siblings))
            patterns, weight = _own_gold_patterns(material.current, labelers, classes)
            made = cls(
                len(classes),
                patterns,
                labelers,
                tuple(_own_gold_patterns(one, labelers, classes)[0] for one in material.siblings),
                material.group_numbers(labelers),
                material.everything.patterns,
                progress=material.progress,
                alone=material.alone,
                gold_weight=weight,
                of_one_round=bool(material.siblings),
            )
            own = material.own if material.current.n_gold else None
            return Prepared(made, material.everything.kept, _little_gold(material), own)
        unknown, nobody_known = material.strangers(reliability.labelers)
        if nobody_known and not material.named:
            raise _nobody_known(material, unknown, reliability)
        labelers = (*reliability.labelers, *unknown)
        patterns, weight = _own_gold_patterns(material.current, labelers, classes)
        made = cls(
            len(classes),
            patterns,
            labelers,
            tuple(count([past], labelers, classes).patterns for past in reliability.rounds),
            material.group_numbers(labelers),
            material.everything.patterns,
            len(unknown),
            material.columns,
            material.penalty,
            progress=material.progress,
            alone=material.alone,
            gold_weight=weight,
        )
        return Prepared(made, material.everything.kept)

    def redrawn(self, here: Floats, there: Floats | None, first: Fit) -> Self:
        past = self.past
        if there is not None and past:
            parts = np.split(there, np.cumsum([len(one.row_of_item) for one in past])[:-1])
            past = tuple(one.reweighted(one.item_weight * part) for one, part in zip(past, parts, strict=True))
        return replace(
            self,
            current=self.current.reweighted(self.current.item_weight * here),
            unrouted=self.unrouted.reweighted(self.unrouted.item_weight * here),
            gold_weight=None if self.gold_weight is None else self.gold_weight * here,
            past=past,
            progress=None,
            warm_levels=first.levels,
            over_both=first.over_both,
        )

    def history_times(self, n_history: int) -> Floats | None:
        del n_history
        return joined_times(self.past)

    def past_blocks(self) -> tuple[int | Floats, ...] | None:
        return tuple(len(one.row_of_item) if one.times is None else one.times for one in self.past)


def _little_gold(material: Material) -> tuple[Finding, ...]:
    """What is said of a part of a round that rests on the gold of other parts."""
    n_gold = material.current.n_gold
    if not material.siblings or n_gold >= LITTLE_GOLD:
        return ()
    message = (
        f"this part of the round has gold for {n_gold} items: its labelers are taken to answer as they do in the other "
        "parts, by whose gold they are known, and no gold here shows whether they do"
    )
    return (Finding("F324", message, {"gold": n_gold}),)


def _own_gold_patterns(one: Round, labelers: Sequence[str], classes: tuple[str, ...]) -> tuple[Patterns, Floats | None]:
    """The patterns of a round whose own gold counts, and what items with gold stand for where that is not their weight.

    Known probabilities of having gold weigh the items, but for a likelihood of labels where they go by the labels.
    """
    routed = count([one], labelers, classes, routed=True).patterns
    probability = one.gold_probability() if one.n_gold else None
    if probability is None or len(probability) != len(routed.row_of_item) or not goes_by_labels(routed, probability):
        return routed, None
    return count([one], labelers, classes).patterns, routed.item_weight
