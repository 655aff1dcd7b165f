"""Counts on disk: a round, or a whole history, as one Parquet file of answer patterns.

A row is a pattern: its cells, gold, items, sums of weights and, by row, of covariates. What belongs to all rows (names,
products of covariates) is JSON in the file's metadata.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hero_eval.classes import common_classes
from hero_eval.counting.count import refuse_routing, tally_of
from hero_eval.counting.engine import Names
from hero_eval.counting.tally import Tally, add
from hero_eval.errors import InputError, unwritable, wrong
from hero_eval.findings import Finding
from hero_eval.io.files import COUNTS_MARK
from hero_eval.io.read_options import ReadOptions
from hero_eval.io.tables import absent
from hero_eval.model.moments import Forms, Moments
from hero_eval.model.patterns import Floats
from hero_eval.round import Round

_VERSION = 1
_ROWWISE = ("seen", "sums", "seen_sq", "sums_sq")
_WHOLE = ("center", "scale", "products", "products_sq", "observed", "largest")


def save_counts(
    rounds: Round | Sequence[Round], path: str | os.PathLike[str], *, covariates: Sequence[str] | None = None
) -> None:
    """Write rounds as counts of answer patterns, which is all that a later estimate needs of its history.

    The file is read by `read_round`. Saving [the old counts, a new round] adds the round without reading the old ones
    again.

    Parameters
    ----------
    rounds : Round or sequence of Round
        The rounds to be counted together.
    path : path-like
        The file to write; its name ends in ``.parquet``. A file that is there is replaced.
    covariates : sequence of str, optional
        The numeric columns whose sums are kept, for `hero2`. None: those that old counts among the rounds have.

    Raises
    ------
    InputError
        If the rounds do not share their classes, a column is absent, or the file cannot be written.
    """
    several = [rounds] if isinstance(rounds, Round) else list(rounds)
    if not several or not all(isinstance(one, Round) for one in several):
        raise wrong("E201", "save_counts takes a Round, or several in a list")
    where = Path(path)
    if where.suffix.lower() != ".parquet":
        raise wrong("E201", f"the path is {str(path)!r}. Its name ends in .parquet")
    refuse_routing(several)
    _refuse_scores(several)
    classes = common_classes(several)
    wanted = _counted_already(several) if covariates is None else tuple(covariates)
    tally = add([tally_of(one, wanted) for one in several])
    given = any(one.classes_given is not None for one in several)
    positive = next((one.positive for one in several if one.positive is not None), None)
    _write(where, tally, list(classes) if given else None, positive)


def _refuse_scores(rounds: Sequence[Round]) -> None:
    """Bins of scores are learned anew whenever a round joins others, and counts do not hold what that takes."""
    for one in rounds:
        if one.has_scores:
            message = (
                f"the labels of round {one.name!r} are scores, whose bins are learned from all rounds that they meet; "
                "counts would hold them in those of today. Keep the files, which an engine counts again"
            )
            raise wrong("E214", message)


def _counted_already(rounds: Sequence[Round]) -> Names:
    """The covariates that the rounds have sums of: adding a round must not lose those of the others."""
    tallies = [tally_of(one) for one in rounds if not one.holds_items]
    return next((one.moments.names for one in tallies if one.moments is not None), ())


def _write(where: Path, tally: Tally, classes: list[str] | None, positive: str | None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {
        "cells": pa.LargeListArray.from_arrays(pa.array(tally.ends), pa.array(tally.cells.astype(np.int32))),
        "gold": tally.gold,
        "items": tally.items,
        "weight": tally.weight,
        "square": tally.square,
    }
    facts: dict[str, Any] = {
        "version": _VERSION,
        "labelers": tally.labelers,
        "values": tally.values,
        "classes": classes,
        "positive": positive,
        "n_labels": tally.n_labels,
        "covariates": None,
    }
    if tally.moments is not None:
        facts["covariates"] = tally.moments.names
        facts |= {name: getattr(tally.moments, name).tolist() for name in _WHOLE}
        for name in _ROWWISE:
            values = getattr(tally.moments, name)
            columns |= {f"{name}_{j}": values[:, j] for j in range(values.shape[1])}
    table = pa.table(columns).replace_schema_metadata({COUNTS_MARK: json.dumps(facts)})
    partial = where.with_name(f".{where.name}.partial")
    try:
        pq.write_table(table, partial)
        os.replace(partial, where)  # the old counts stay whole if writing fails
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise unwritable(str(where), error) from error


class SavedSource:
    """Counts from a file behind the interface of the engines."""

    stays = False
    scored = False
    answers = None
    label_kind: str | None = None
    idle: frozenset[tuple[str, str]] = frozenset()  # no such option is taken for counts

    def totals(self) -> tuple[int, int, int]:
        whole = self.tally()
        return whole.n_items, whole.n_labels, whole.n_gold

    def __init__(self, path: Path, options: ReadOptions) -> None:
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        facts = json.loads(table.schema.metadata[COUNTS_MARK])
        if facts["version"] != _VERSION:
            raise wrong("E103", f"{path} holds counts of version {facts['version']}; this version reads {_VERSION}.")
        self._path = path
        self._tally = _read(table, facts)
        self.labelers: Names = self._tally.labelers
        self.values: Names = self._tally.values
        self.classes: Names | None = options.classes or (tuple(facts["classes"]) if facts["classes"] else None)
        self.positive: str | None = options.positive or facts["positive"]

    def gold_values(self) -> Names:
        return tuple(self.values[place] for place in np.unique(self._tally.gold[self._tally.gold >= 0]))

    def labels_by_answer(self) -> Floats:
        return self._tally.labels_by_answer()

    def tally(self, covariates: Names = (), labelers: Names | None = None) -> Tally:
        del labelers  # only a current round is counted anew for some of its labelers
        moments = self._tally.moments
        have = moments.names if moments is not None else ()
        lacking = [name for name in covariates if name not in have]
        if lacking:
            raise InputError(absent(str(self._path), "covariate", lacking[0], have))
        if moments is None or covariates in ((), have):
            return self._tally
        return replace(self._tally, moments=moments.of(covariates))

    def grams(self, covariates: Names, labelers: Names | None, forms: Forms) -> Floats:
        del covariates, labelers, forms
        raise wrong(
            "E211",
            f"{self._path} holds counts, which can be history for hero2 but not its current round: "
            "give the current round itself, or use hero1",
        )

    def notes(self) -> tuple[Finding, ...]:
        return ()

    def column_names(self) -> Names:
        return self._tally.moments.names if self._tally.moments is not None else ()

    def numeric_columns(self) -> Names:
        return self.column_names()


def _read(table: Any, facts: dict[str, Any]) -> Tally:
    cells = table["cells"].combine_chunks()
    moments = None
    if facts["covariates"]:
        names = tuple(facts["covariates"])
        rows = {
            name: np.stack([np.asarray(table[f"{name}_{j}"], np.float64) for j in range(len(names))], axis=1)
            for name in _ROWWISE
        }
        moments = Moments(names=names, **rows, **{name: np.array(facts[name]) for name in _WHOLE})
    return Tally(
        labelers=tuple(facts["labelers"]),
        values=tuple(facts["values"]),
        cells=np.asarray(cells.flatten(), np.int64),
        ends=np.concatenate([[0], np.cumsum(np.asarray(cells.value_lengths(), np.int64))]),
        gold=np.asarray(table["gold"].to_numpy(), np.int64),
        items=np.asarray(table["items"], np.float64),
        weight=np.asarray(table["weight"], np.float64),
        square=np.asarray(table["square"], np.float64),
        n_labels=int(facts["n_labels"]),
        moments=moments,
    )
