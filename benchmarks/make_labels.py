"""Labels on disk, of any size, written in chunks: item, labeler, label, a covariate x, and gold if asked for.

    python benchmarks/make_labels.py PATH LABELS LABELERS [GOLD_RATE [SEED [CLASS_RATE]]]

Every item has five labels. Labelers differ in their reliability, the same for every file with as many labelers, so that
one file can be the history of another.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EACH = 5
_CHUNK = 1_000_000


def make_labels(
    path: Path,
    n_labels: int,
    n_labelers: int,
    gold_rate: float = 0.0,
    seed: int = 1,
    rate: float = 0.4,
    fresh: int | None = None,
    *,
    scores: bool = False,
) -> None:
    """Write the file, unless it is there. After `fresh` items labels repeat, under new ids: drawing takes longest.

    `scores`: labels are probabilities of eight decimals.
    """
    if path.exists():
        return
    rng = np.random.default_rng(seed)
    partial = path.with_suffix(".partial")
    writer = None
    drawn: list[pa.Table] = []
    for number, start in enumerate(range(0, n_labels // EACH, _CHUNK)):
        n_items = min(_CHUNK, n_labels // EACH - start)
        if fresh is None or start < fresh:
            table = _chunk(start, n_items, n_labelers, gold_rate, rate, rng, scores)
            drawn += [] if fresh is None else [table]
        else:
            table = drawn[number % len(drawn)].slice(0, n_items * EACH)
            table = table.set_column(0, "item", pa.array(np.repeat(np.arange(start, start + n_items), EACH)))
        writer = writer or pq.ParquetWriter(
            partial,
            table.schema,
            use_dictionary=["labeler"] if scores else ["labeler", "label"],
            column_encoding={"item": "DELTA_BINARY_PACKED"},
        )
        writer.write_table(table)
    assert writer is not None
    writer.close()
    partial.rename(path)


def _chunk(
    start: int, n_items: int, n_labelers: int, gold_rate: float, rate: float, rng: np.random.Generator, scores: bool
) -> pa.Table:
    fixed = np.random.default_rng(n_labelers)
    sensitivity, specificity = fixed.uniform(0.6, 0.95, (2, n_labelers))
    truth = rng.random(n_items) < rate
    x = truth + rng.normal(size=n_items)
    block = n_labelers // EACH
    who = rng.integers(0, block, (n_items, EACH)) + block * np.arange(EACH)
    if n_labelers == 10:  # few enough for every choice of five
        choices = np.array(list(combinations(range(n_labelers), EACH)))
        who = choices[rng.integers(0, len(choices), n_items)]
    says = rng.random((n_items, EACH)) < np.where(truth[:, None], sensitivity[who], 1 - specificity[who])
    label = says.astype(np.int8)
    if scores:
        seen = 4.0 * (sensitivity[who] - 0.5) * np.where(truth, 1.0, -1.0)[:, None] + rng.normal(size=(n_items, EACH))
        label = np.round(1.0 / (1.0 + np.exp(-seen)), 8)
    columns = {
        "item": np.repeat(np.arange(start, start + n_items), EACH),
        "labeler": who.ravel().astype(np.int32),
        "label": label.ravel(),
        "x": np.repeat(x.astype(np.float32), EACH),
    }
    if gold_rate > 0:
        unknown = rng.random(n_items) >= gold_rate
        columns["gold"] = pa.array(np.repeat(truth.astype(np.int8), EACH), mask=np.repeat(unknown, EACH))
    return pa.table(columns)


if __name__ == "__main__":
    given = sys.argv[1:]
    make_labels(Path(given[0]), int(given[1]), int(given[2]), *(float(given[3]),) if len(given) > 3 else ())
