"""`Votes`: side-by-side votes, counted: votes of the same pair, labeler, label and gold are one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hero_eval.display import Displayed
from hero_eval.findings import Finding
from hero_eval.io.frames import to_input_table
from hero_eval.io.tables import InputTable
from hero_eval.io.vote_table import VoteArrays, chosen_rows, parse_votes
from hero_eval.model.patterns import Ints
from hero_eval.model.vote_sites import VoteCells


@dataclass(frozen=True, eq=False)
class Votes(Displayed):
    """Side-by-side votes, as `read_votes` reads them.

    Attributes
    ----------
    name : str
        What messages call them.
    models : tuple of str
        The models that were compared.
    labelers : tuple of str
        Who voted.
    cells : VoteCells
        The kinds of votes and how many there are of each. For use inside the package.
    n_items : int
        How many items the votes are on.
    covariates : tuple of str
        The covariates of pairs that were read.
    notes : tuple of Finding
        What was found while reading.
    frame_kind : str
        The library that tables come in by default. For use inside the package.
    """

    name: str
    models: tuple[str, ...]
    labelers: tuple[str, ...]
    cells: VoteCells
    n_items: int
    covariates: tuple[str, ...] = ()
    notes: tuple[Finding, ...] = ()
    frame_kind: str = "files"

    @property
    def n_votes(self) -> int:
        """How many votes there are."""
        return int(self.cells.counts[self.cells.label >= 0].sum())

    @cached_property
    def n_gold(self) -> int:
        """How many votes, or items without votes, have gold."""
        return int(self.cells.counts[self.cells.gold >= 0].sum())

    def holds_same_as(self, other: Votes) -> bool:
        """Whether the other ones are the same votes, with the same gold.

        Parameters
        ----------
        other : Votes
            Other votes, or the same.

        Returns
        -------
        bool
        """
        if (self.models, self.labelers, self.n_items) != (other.models, other.labelers, other.n_items):
            return False
        names = ("first", "second", "labeler", "label", "gold", "counts", "covariates")
        return all(np.array_equal(getattr(self.cells, name), getattr(other.cells, name)) for name in names)

    def __repr__(self) -> str:
        return (
            f"Votes {self.name!r}: {self.n_votes:,} votes on {self.n_items:,} items, {len(self.models)} models, "
            f"{len(self.labelers)} labelers, {self.n_gold:,} with gold"
        )


def votes_of(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    mapped: Mapping[str, str] | None = None,
    covariates: Sequence[str] = (),
    name: str = "votes",
    where: Mapping[str, Any] | None = None,
) -> Votes:
    """The votes of a dataframe."""
    return votes_in(to_input_table(name, frame), columns or {}, mapped or {}, covariates, name, where or {})


def votes_in(
    source: InputTable,
    columns: Mapping[str, str],
    mapped: Mapping[str, str],
    covariates: Sequence[str],
    name: str,
    where: Mapping[str, Any] | None = None,
) -> Votes:
    """The votes of a table, or those whose columns have the values that `where` asks for."""
    chosen = chosen_rows(source, where) if where else source
    return counted(parse_votes(chosen, columns, mapped, covariates), name, source.kind, tuple(covariates))


def counted(
    rows: VoteArrays,
    name: str,
    kind: str,
    covariates: tuple[str, ...] = (),
    items: int | None = None,
) -> Votes:
    """Rows as cells, sorted, so that the same votes in any order are the same cells.

    `items` says how many items there are where rows are counts already, each vote an item by itself.
    """
    key = np.zeros(len(rows.first), dtype=np.int64)
    sizes = (len(rows.models), len(rows.models), len(rows.labelers), 4, 4)
    codes = (rows.first, rows.second, rows.labeler, rows.label + 1, rows.gold + 1)
    for code, size in zip(codes, sizes, strict=True):
        key = key * size + code
    if rows.covariates.shape[1]:
        key = np.unique(np.column_stack([key, rows.covariates]), axis=0, return_inverse=True)[1].reshape(-1)
    _, chosen, cell = np.unique(key, return_index=True, return_inverse=True)
    cell = cell.reshape(-1)
    cluster, n_items = _clusters(rows, items)
    cells = VoteCells(
        rows.first[chosen],
        rows.second[chosen],
        rows.labeler[chosen],
        rows.label[chosen],
        rows.gold[chosen],
        np.bincount(cell, rows.counts, len(chosen)).astype(np.float64),
        rows.covariates[chosen],
        len(rows.models),
        len(rows.labelers),
        None if cluster is None else cell,
        cluster,
    )
    return Votes(name, rows.models, rows.labelers, cells, n_items, covariates, tuple(_notes(rows)), kind)


def _clusters(rows: VoteArrays, items: int | None) -> tuple[Ints | None, int]:
    """The item of each vote, None where no item has two votes; and how many items there are."""
    if rows.item is None:
        return None, int(rows.counts.sum()) if items is None else items
    known = rows.item >= 0
    own = int(rows.item.max(initial=-1)) + 1
    number = np.where(known, rows.item, own + np.arange(len(rows.item)))
    found, cluster = np.unique(number, return_inverse=True)
    return (None if len(found) == len(number) else cluster.reshape(-1)), len(found)


def _notes(rows: VoteArrays) -> list[Finding]:
    found = []
    if rows.n_bad:
        message = f"{rows.n_bad:,} votes say that both are bad, and count as ties"
        found.append(Finding("F525", message, {"both_bad": rows.n_bad}))
    if rows.n_ignored:
        message = f"{rows.n_ignored:,} rows have neither a label nor gold, and were ignored"
        found.append(Finding("F525", message, {"ignored": rows.n_ignored}))
    return found
