"""What the commands about gold do: read, ask the library, show or write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hero_eval as hero
from hero_eval.cli import gold_views
from hero_eval.cli.actions import check_output
from hero_eval.cli.blocks import Line
from hero_eval.cli.inputs import Data, read_rounds
from hero_eval.cli.progress import activity
from hero_eval.cli.render import show, show_json


def next_items(
    data: Data, chosen: Mapping[str, Any], output: Path | None, probabilities: Path | None, *, as_json: bool
) -> None:
    for path in (output, probabilities):
        if path is not None:
            check_output(path)
    with activity() as doing:
        rounds = read_rounds(data, doing)
        doing.say("Looking for items that tell most")
        queue = hero.choose_gold(
            rounds.currents, rounds.history, positive=rounds.positive, progress=doing.step, **chosen
        )
    written = []
    if output is not None:
        write_table(queue.to_frame("pyarrow"), output)
        written.append(f"Queue: {output}")
    if probabilities is not None:
        write_table(_all_probabilities(queue), probabilities)
        written.append(f"Probabilities of all items: {probabilities}")
    if as_json:
        show_json(queue.to_dict())
        return
    page = gold_views.queue(queue, full=output is None, kept=probabilities is not None)
    show([*page, *(Line(line, whole=True) for line in written)])


def _all_probabilities(queue: hero.GoldQueue) -> Any:
    """Of every item of every round; with several rounds the round's name beside it."""
    import pyarrow as pa

    tables = []
    for one in queue.draws:
        table = queue.probabilities(one.name, backend="pyarrow")
        name = pa.array([one.name] * table.num_rows)
        tables.append(table.add_column(0, "round", name) if len(queue.draws) > 1 else table)
    return pa.concat_tables(tables)


def write_table(table: Any, path: Path) -> None:
    """As CSV or Parquet, by the ending, which `check_output` has looked at."""
    if path.suffix == ".csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        from pyarrow import parquet

        parquet.write_table(table, path)
