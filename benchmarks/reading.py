"""Reading and counting: processor time a label, from dataframes and files to answer patterns.

    python benchmarks/reading.py [--labels 2000000] [--repeats 5] [--folder build/bench]

Labels of 1,000 labelers, five per item, as they come from an export (by item) and shuffled; ids as whole numbers, as
texts and as categories, in pandas, Polars, pyarrow and Parquet. Beside each, from the same run and the same columns:
what pandas takes to number the three columns (`factorize`), and DuckDB for a bare group-by of them by item. Processor
time of all threads, the best of the repeats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import hero_eval as hero
from hero_eval.counting.memory import count_in_memory

LABELERS, EACH = 1_000, 5


def make(n_labels: int, shuffled: bool) -> tuple[pa.Table, pa.Table]:
    """The labels with whole numbers for ids and answers, and with texts."""
    rng = np.random.default_rng(0)
    n_items, block = n_labels // EACH, LABELERS // EACH
    item = np.repeat(np.arange(n_items), EACH)
    who = (rng.integers(0, block, (n_items, EACH)) + block * np.arange(EACH)).ravel()
    says = rng.integers(0, 2, len(item))
    order = rng.permutation(len(item)) if shuffled else slice(None)
    item, who, says = item[order], who[order], says[order]
    numbers = {"item": item, "labeler": who.astype(np.int32), "label": says.astype(np.int8)}
    texts = {
        "item": [f"item-{one:07d}" for one in item],
        "labeler": [f"w{one}" for one in who],
        "label": np.array(["no", "yes"])[says].tolist(),
    }
    return pa.table(numbers), pa.table(texts)


def best(work: Callable[[], object], repeats: int) -> float:
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def counted(read: Callable[[], hero.Round]) -> None:
    one = read()
    count_in_memory([one], one.labelers, one.classes)


def factorize(frame: pd.DataFrame) -> None:
    for name in frame.columns:
        pd.factorize(frame[name])


def group_by(table: pa.Table) -> None:
    connection = duckdb.connect()
    connection.register("labels", table)
    connection.sql("SELECT item, count(*), min(labeler), max(label) FROM labels GROUP BY item").to_arrow_table()


def ways(numbers: pa.Table, texts: pa.Table, folder: Path) -> list[tuple[str, Callable[[], hero.Round], Any, pa.Table]]:
    """Each way to give the labels, with the pandas frame and the table that its floors are measured on."""
    whole, words = numbers.to_pandas(), texts.to_pandas()
    groups, frame = words.astype("category"), pl.from_arrow(texts)
    paths = folder / "numbers.parquet", folder / "texts.parquet"
    pq.write_table(numbers, paths[0])
    pq.write_table(texts, paths[1])
    return [
        ("pyarrow, whole numbers", lambda: hero.Round(numbers), whole, numbers),
        ("pandas, whole numbers", lambda: hero.Round(whole), whole, numbers),
        ("Parquet, whole numbers", lambda: hero.read_round(paths[0], engine="memory"), whole, numbers),
        ("pandas, categories", lambda: hero.Round(groups), groups, texts),
        ("pandas, texts", lambda: hero.Round(words), words, texts),
        ("Polars, texts", lambda: hero.Round(frame), words, texts),
        ("Parquet, texts", lambda: hero.read_round(paths[1], engine="memory"), words, texts),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(f"{given.labels:,} labels by {LABELERS:,} labelers: ns of processor time a label, best of {given.repeats}")
    print(f"{'':34s} {'ours':>6s} {'factorize':>10s} {'ratio':>6s} {'group-by':>9s} {'ratio':>6s}")
    for shuffled in (False, True):
        numbers, texts = make(given.labels, shuffled)
        for name, read, frame, table in ways(numbers, texts, given.folder):
            works = (lambda read=read: counted(read), lambda of=frame: factorize(of), lambda of=table: group_by(of))
            ours, coded, grouped = (best(work, given.repeats) / given.labels * 1e9 for work in works)
            shown = f"{name}, {'shuffled' if shuffled else 'by item'}"
            print(
                f"{shown:34s} {ours:6.0f} {coded:10.0f} {ours / coded:6.2f} {grouped:9.0f} {ours / grouped:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
