"""The small interface behind which counting runs: in memory, on DuckDB, on Spark.

A `CountSource` is one round and an engine that can count it. A method that needs patterns only works on every engine;
one that needs covariates gets their sums with the tally, and by `grams` the products that its variance takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hero_eval.counting.tally import Tally
from hero_eval.findings import Finding
from hero_eval.model.moments import Forms
from hero_eval.model.patterns import Floats

if TYPE_CHECKING:
    from hero_eval.counting.score_pool import ScorePart
    from hero_eval.io.score_bins import ScoreCuts

Names = tuple[str, ...]


class CountSource(Protocol):
    """One round, ready to be counted."""

    @property
    def labelers(self) -> Names: ...

    @property
    def values(self) -> Names: ...

    @property
    def scored(self) -> bool:
        """Whether labels are scores."""
        ...

    @property
    def answers(self) -> Names | None:
        """What labels say, where that is not `values`: the bins of scores."""
        ...

    @property
    def label_kind(self) -> str | None:
        """What the caller said that labels are."""
        ...

    @property
    def classes(self) -> Names | None: ...

    @property
    def positive(self) -> str | None: ...

    @property
    def idle(self) -> frozenset[tuple[str, str]]:
        """Options that had no effect, see `AnyRound.idle`."""
        ...

    def labels_by_answer(self) -> Floats:
        """(J, L) how often each labeler gave each answer, known without a count of items."""
        ...

    @property
    def stays(self) -> bool:
        """Whether there are too many labels of too many patterns for a tally, which is refused then."""
        ...

    def gold_values(self) -> Names:
        """Those of the values that gold has."""
        ...

    def totals(self) -> tuple[int, int, int]:
        """Items, labels and items with gold."""
        ...

    def tally(self, covariates: Names = (), labelers: Names | None = None) -> Tally:
        """Counts with sums of these covariates; only labels by `labelers` if they are given."""
        ...

    def grams(self, covariates: Names, labelers: Names | None, forms: Forms) -> Floats:
        """(P, m+1, m+1): sums of w^2 f f' over the items of each row of that tally, f the `features` of the forms."""
        ...

    def notes(self) -> tuple[Finding, ...]: ...

    def column_names(self) -> Names: ...

    def numeric_columns(self) -> Names: ...


class ScoreSource(CountSource, Protocol):
    """One round of scores."""

    def in_bins(self, cuts: ScoreCuts) -> CountSource:
        """The round with its labels in these bins."""
        ...

    def part(self) -> ScorePart:
        """What bins are learned from."""
        ...

    @property
    def is_cut(self) -> bool:
        """Whether the bins are those of all rounds that this one goes with."""
        ...

    @property
    def facts(self) -> tuple[Any, ...]:
        """What is known of the scores at no cost: rounds for which it differs are different."""
        ...


class Session(Protocol):
    """What an SQL engine must be able to do."""

    name: str

    def scan(self, path: Path) -> str:
        """SQL for all rows of a file."""
        ...

    def header(self, relation: str) -> Any:
        """The relation's columns with their types: a pyarrow table without rows."""
        ...

    def query(self, sql: str) -> Any:
        """The result as a pyarrow table."""
        ...

    def lend(self, name: str, table: Any) -> None:
        """Make a small pyarrow table known to the engine."""
        ...

    def keep(self, name: str, sql: str) -> None:
        """Make a result known under a name, computed once."""
        ...

    def drop(self, name: str) -> None:
        """Forget a result that was kept."""
        ...

    def share(self, name: str, sql: str) -> str:
        """Compute a result once; SQL by which this and other sessions of the engine read it, while this one lives."""
        ...

    def quoted(self, name: str) -> str:
        """A column's name as the engine writes it."""
        ...

    def part(self, expression: str, count: int) -> str:
        """SQL for a number from 0 to count - 1, the same for equal values and evenly spread over others."""
        ...

    def whole_sum(self, expression: str) -> str:
        """SQL for the sum of an expression of 64-bit whole numbers, as a double; it must not overflow."""
        ...
