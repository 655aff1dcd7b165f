"""What every ranking of models has, whatever it ranks them by: ranges of ranks, groups, doubts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from hero_eval.estimation.standing import Standing
from hero_eval.findings import Finding, doubts_of


class RankedModels(ABC):
    """Models with a standing among each other."""

    standing: Standing
    findings: tuple[Finding, ...]

    @property
    @abstractmethod
    def compared(self) -> Sequence[str]:
        """The models in the order in which their standing counts them."""

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """The findings by which intervals and ranks may be too narrow."""
        return doubts_of(self.findings)

    def rank_interval(self, model: str) -> tuple[int, int]:
        """The best and the worst rank that the data allow; all models' hold together at the level.

        Parameters
        ----------
        model : str
            The name of the model.

        Returns
        -------
        low : int
            The best rank, 1 for the first.
        high : int
            The worst rank.
        """
        at = self.compared.index(model)
        return int(self.standing.low[at]), int(self.standing.high[at])

    def groups(self) -> list[list[str]]:
        """The largest groups of models that the data cannot tell apart, best first; they may overlap.

        Returns
        -------
        list of list of str
        """
        return [[self.compared[at] for at in group] for group in self.standing.groups]
