"""How each labeler answers, given the gold class: learned from history, carried to the current round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hero_eval.counting.memory import Counted
from hero_eval.display import Displayed
from hero_eval.findings import Finding
from hero_eval.model.answer_order import mean_places, place_errors, rise_of
from hero_eval.model.em import EMOptions, EMReport, expectation
from hero_eval.model.gold_table import answers_by_gold
from hero_eval.model.history import HistoryFit
from hero_eval.model.patterns import Floats, Ints, sum_by
from hero_eval.model.row_scores import Scored, can_test, draw_rows, score_rows
from hero_eval.model.score_tests import Dependence, Knowledge, check_dependence, check_knowledge
from hero_eval.model.split_half import half_fits, labels_of
from hero_eval.result_frames import checked_backend, to_frame
from hero_eval.round import Round

TOGETHER = "Estimate with `hero3`, which allows for it. Labels are worth less here than their number suggests."
"""What to do where tables of labelers go by gold, since their labels err together."""
UNINFORMATIVE = 0.1
LITTLE = 0.3
"""A labeler is accused of knowing nothing if it cannot know more than this, and seems to know less than half of it."""
ALARM = 0.05
"""The level of each guard, over all labelers together."""


@dataclass(frozen=True, eq=False)
class Reliability(Displayed):
    """Fitted reliabilities of all labelers of history. Pass it as `history` to estimate without fitting again.

    Attributes
    ----------
    rounds : tuple of Round
        The rounds of history.
    labelers : tuple of str
        Names of the labelers, sorted. J is their number.
    classes : tuple of str
        The classes, in order. K is their number.
    counted : Counted
        History counted by answer patterns. For use inside the package.
    fit : HistoryFit
        The fitted model. For use inside the package.
    options : EMOptions
        The options of the fit. For use inside the package.
    findings : tuple of Finding
        What one must know about this fit.
    shrinkage : float
        Pseudo-answers added to each labeler and class.
    """

    rounds: tuple[Round, ...]
    labelers: tuple[str, ...]
    classes: tuple[str, ...]
    counted: Counted
    fit: HistoryFit
    options: EMOptions
    findings: tuple[Finding, ...]
    shrinkage: float = 0.0

    @property
    def report(self) -> EMReport:
        """How EM went: `n_steps`, `change`, `converged`, `log_likelihood`."""
        assert self.fit.report is not None
        return self.fit.report

    @property
    def converged(self) -> bool:
        """Whether EM came to rest."""
        return self.report.converged

    @property
    def n_items(self) -> int:
        """Items of history."""
        return self.counted.n_items

    @cached_property
    def n_gold(self) -> int:
        """Items of history with gold."""
        return self.counted.patterns.n_gold

    @cached_property
    def answers(self) -> Floats:
        """P(answer | class) of each labeler, (J, L, K)."""
        return self.fit.latent.class_answers()

    @cached_property
    def scored(self) -> bool:
        """Whether labels are scores, so that answers are bins of them and not classes."""
        return any(one.has_scores for one in self.rounds)

    @cached_property
    def knowledge(self) -> Knowledge | None:
        """How far the labels go with the gold; None where the gold cannot tell."""
        return check_knowledge(self.counted.patterns, len(self.classes), ordered=self.scored)

    @property
    def knows_nothing(self) -> bool:
        """The labels have not been shown to go with the gold, and cannot go with it by more than a little."""
        known = self.knowledge
        return known is not None and known.p_value > ALARM and known.below(LITTLE) < ALARM

    @cached_property
    def dependence(self) -> Dependence | None:
        """Whether labelers err together given the gold; None where that would take long."""
        return self.dependence_by(None)

    def dependence_by(self, clusters: Ints | None) -> Dependence | None:
        """As `dependence`, with items of one cluster moving together.

        Parameters
        ----------
        clusters : array of int or None
            The number of each item's cluster, in the order of history's items. None: each item is its own.

        Returns
        -------
        Dependence or None
            The test; None where it would take long.
        """
        patterns, latent, clip = self.counted.patterns, self.fit.latent, self.fit.clip
        if not can_test(patterns, latent):
            return None
        return check_dependence(score_rows(patterns, latent, clip), self.drawn, clusters)

    @cached_property
    def drawn(self) -> Scored:
        """Items drawn from the fitted model, with the labelers and the gold that history's items had."""
        return draw_rows(self.counted.patterns, self.fit.latent, self.fit.clip)

    @cached_property
    def labels_each(self) -> Floats:
        """(J,) how many labels each labeler gave."""
        return labels_of(self.counted.patterns)

    @cached_property
    def halves(self) -> tuple[HistoryFit, ...]:
        """Fits of two halves of history, without shrinkage."""
        return half_fits(self.fit, self.options)

    @property
    def discrimination(self) -> Floats:
        """(J,) 1 = always right, 0 = no better than chance, below 0 = inverted; for two classes sens + spec - 1.

        Of scores and two classes: how much oftener an item of the higher class has the higher score than the lower one,
        of two items of different classes. Of more classes: how far scores rise with the class, both by their ranks.
        """
        return self._discrimination(self.answers)

    @property
    def errs_together(self) -> bool:
        """Whether labelers err together given the gold, by more than chance allows."""
        return self.dependence is not None and self.dependence.p_value < ALARM

    @cached_property
    def by_gold(self) -> tuple[Floats, Floats]:
        """P(answer | class) by the gold that each labeler met, with the labels as help, and standard errors (J, L, K).

        They hold whatever errors labelers share, if gold went to a random part of history; `answers`, by which the
        methods that take labelers as independent go, do not.
        """
        return answers_by_gold(self.counted.patterns, self.fit.latent, self.answers)

    @cached_property
    def table_findings(self) -> tuple[Finding, ...]:
        """All that is to be said beside the table of labelers: the fit's findings, and labelers who err together."""
        return (*self.findings, *_together_finding(self)) if self.errs_together else self.findings

    def to_frame(self, backend: str | None = None, *, independent: bool = False) -> Any:
        """One row per labeler: how well it answers, and what that rests on.

        Where labelers err together (`errs_together`) the shares are by gold, with the labels as help (`by_gold`), since
        a fit that takes labelers as independent over-rates those who agree.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of history's labels if it is one of these, else pandas, or pyarrow
            where pandas is not installed.
        independent : bool, default False
            True shows the fit that takes labelers as independent, even where they err together.

        Returns
        -------
        dataframe
            Columns: labeler; labels and gold, how many of each are behind the row; sensitivity and specificity (two
            classes) or right_CLASS, the share of each class that the labeler names rightly, each with its standard
            error in ``…_se``; and discrimination, 1 for a labeler who is always right and 0 for one who knows nothing.
            Of scores, which name no class, place_CLASS instead: the mean place of the labeler's scores of that class
            among its own, from 0, the lowest, to 1; and discrimination as of ranks.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).

        Examples
        --------
        >>> from importlib.resources import files
        >>> import hero_eval as hero
        >>> history = hero.read_round(files("hero_eval") / "examples" / "defect" / "history")
        >>> table = hero.fit_reliability(history).to_frame("pandas")
        >>> print(table[["labeler", "labels", "gold", "specificity"]].head(2).round(2).to_string(index=False))
          labeler  labels  gold  specificity
        vendor-01     241    24         0.90
        vendor-02     154    16         0.91
        """
        kind = checked_backend(backend, self.rounds[0].frame_kind if self.rounds else "files")
        return to_frame(self._columns(independent or not self.errs_together), kind)

    def frame(self, backend: str | None = None, *, independent: bool = False) -> Any:
        """The same as `to_frame`.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            As in `to_frame`.
        independent : bool, default False
            As in `to_frame`.

        Returns
        -------
        dataframe

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        return self.to_frame(backend, independent=independent)

    def _columns(self, independent: bool) -> dict[str, list[Any]]:
        answers, errors = (self.answers, self.fit.information.answer_std_errors()) if independent else self.by_gold
        columns: dict[str, list[Any]] = {
            "labeler": list(self.labelers),
            "labels": [round(value) for value in self.labels_each],
            "gold": [round(value) for value in self._gold_items()],
        }
        shares, share_errors = self.shares(answers), self._share_errors(answers, errors)
        for k, name in right_names(self.classes, scored=self.scored).items():
            columns[name] = shares[:, k].tolist()
            columns[f"{name}_se"] = share_errors[:, k].tolist()
        columns["discrimination"] = self._discrimination(answers).tolist()
        return columns

    def shares(self, answers: Floats) -> Floats:
        """Of each class what the table of labelers shows, from P(answer | class).

        Parameters
        ----------
        answers : array of float, (J, L, K)
            P(answer | class) of each labeler.

        Returns
        -------
        array of float, (J, K)
            The share that is answered rightly; of scores their mean place.
        """
        return mean_places(answers) if self.scored else np.einsum("jkk->jk", answers)

    def _share_errors(self, answers: Floats, errors: Floats) -> Floats:
        return place_errors(answers, errors) if self.scored else np.einsum("jkk->jk", errors)

    def _discrimination(self, answers: Floats) -> Floats:
        if self.scored:
            return rise_of(answers, self.fit.latent.class_weights())
        out: Floats = (np.einsum("jkk->j", answers) - 1.0) / (answers.shape[2] - 1)
        return out

    def items_met(self) -> Floats:
        """How many items of each class every labeler answered, as far as the fit can tell.

        Returns
        -------
        array of float, (J, K)
        """
        latent = self.fit.latent
        cells, _, _ = expectation(self.counted.patterns, latent)(latent)
        out: Floats = cells.sum(axis=1)
        return out

    def _row_items(self) -> Floats:
        """For each label entry of the patterns: how many items it stands for."""
        patterns = self.counted.patterns
        return patterns.items_of_row[patterns.entries[0]]

    def _gold_items(self) -> Floats:
        patterns = self.counted.patterns
        rows, labeler, _ = patterns.entries
        known = patterns.gold[rows] >= 0
        return sum_by(labeler[known], self._row_items()[known], len(self.labelers))

    def confusion(self, backend: str | None = None) -> Any:
        """Every labeler's P(answer | class), by the fit that takes labelers as independent.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the table. None: that of history's labels if it is one of these, else pandas, or pyarrow
            where pandas is not installed.

        Returns
        -------
        dataframe
            One row for each labeler, class and answer: labeler, class, answer, probability.

        Raises
        ------
        InputError
            If the backend is not one of these (E201).
        """
        kind = checked_backend(backend, self.rounds[0].frame_kind if self.rounds else "files")
        grid = [
            (labeler, given, answer, float(self.answers[j, position, k]))
            for j, labeler in enumerate(self.labelers)
            for k, given in enumerate(self.classes)
            for position, answer in enumerate(self._answer_names)
        ]
        names = ("labeler", "class", "answer", "probability")
        return to_frame({name: [row[c] for row in grid] for c, name in enumerate(names)}, kind)

    @property
    def _answer_names(self) -> tuple[str, ...]:
        """What labels may say: the classes, or the bins of scores."""
        scored = [one.answer_values for one in self.rounds if one.has_scores]
        return scored[0] if scored else self.classes

    def __repr__(self) -> str:
        learned = f"{len(self.labelers)} labelers from {self.n_items} items, {self.n_gold} gold"
        return f"Reliability({learned}; {self.report.state})"


def right_names(classes: Sequence[str], *, scored: bool = False) -> dict[int, str]:
    """What the share of right answers to each class is called, or the place of scores, in the order of the table."""
    if len(classes) == 2 and not scored:
        return {1: "sensitivity", 0: "specificity"}
    return dict(enumerate(f"{'place' if scored else 'right'}_{name}" for name in classes))


def p_text(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def dependence_fact(tested: Dependence) -> str:
    """That labelers err together, and what their labels are worth then."""
    return (
        f"labelers err together given the gold (residual correlation {tested.correlation:.2f}, "
        f"{p_text(tested.p_value)}): the {tested.labels_per_item:.1f} labels of an item tell as much as "
        f"{tested.effective:.1f} independent ones would"
    )


def dependence_data(tested: Dependence) -> dict[str, float]:
    return {
        "z_gold": tested.on_gold.statistic,
        "z_all": tested.on_all.statistic,
        "p_value": tested.p_value,
        "correlation": tested.correlation,
        "labels_per_item": tested.labels_per_item,
        "effective_labels": tested.effective,
    }


def _together_finding(reliability: Reliability) -> list[Finding]:
    """Beside the table of labelers: what taking them as independent would make of the one whom it changes most."""
    tested = reliability.dependence
    assert tested is not None
    shown, independent = reliability.shares(reliability.by_gold[0]), reliability.shares(reliability.answers)
    names = right_names(reliability.classes, scored=reliability.scored)
    gaps = np.stack([independent[:, k] - shown[:, k] for k in names], axis=1)
    j, place = np.unravel_index(int(np.argmax(np.abs(gaps))), gaps.shape)
    k, what = list(names.items())[place]
    most = {
        "labeler": reliability.labelers[j],
        "what": what,
        "independent": float(independent[j, k]),
        "shown": float(shown[j, k]),
    }
    fact = (
        f"{dependence_fact(tested)}; taken as independent {most['labeler']!r} would have a {what} of "
        f"{most['independent']:.2f}, by gold it has {most['shown']:.2f}; the table goes by gold, helped by labels"
    )
    return [Finding("F206", fact, {**dependence_data(tested), "most": most}, TOGETHER, doubts=False)]
