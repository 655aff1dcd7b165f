"""The columns of a store's tables.

`rounds` is a log: a row for every change of a round, never altered. A round is what its last row says. Its data lie in
`labels`, `gold`, `items` and `labelers` under batch ids; a batch that no row of `rounds` names does not exist for a
reader. So the one commit that adds a row to `rounds` is what makes a change happen, all of it or none.

Each row of `rounds` also binds the rest: its `record` says how many rows each of its batches has in each table and what
their digest is, and which table, at which version, held them; its `seal` is a digest of the row and of the seal before.
"""

from __future__ import annotations

from functools import cache
from typing import Any

TABLES = ("labels", "gold", "items", "labelers", "estimates", "rounds")
"""In the order in which they are made: `rounds` comes last, since its presence makes a folder a store."""

GIVEN = ("queues", "answers")
"""What experts are asked and what they answer; made when somebody first gives gold, so a store may lack them.

Both only grow: an answer that was taken back stays, and so does the record that took it back. `folding` makes the
answers that hold the gold of their round.
"""

DATA = ("labels", "gold", "items", "labelers")
"""The tables that hold batches."""

LATER_COLUMNS = {"rounds": ("record", "seal")}
"""Columns that stores of format 1 did not have."""


@cache
def schema(name: str) -> Any:
    """The pyarrow schema of a table."""
    import pyarrow as pa

    text, count, moment = pa.string(), pa.int64(), pa.timestamp("us", tz="UTC")
    data = [("round", text), ("batch", text)]
    columns = {
        "labels": [*data, ("item", text), ("labeler", text), ("label", text)],
        "gold": [*data, ("item", text), ("gold", text), ("source", text)],
        "items": [
            *data,
            ("item", text),
            ("weight", pa.float64()),
            ("numbers", pa.map_(text, pa.float64())),
            ("texts", pa.map_(text, text)),
        ],
        "labelers": [
            *data,
            *((name, text) for name in ("labeler", "name", "kind", "model", "prompt", "settings", "vendor", "group")),
        ],
        "rounds": [
            ("round", text),
            ("version", count),
            ("action", text),
            ("question", text),
            ("model", text),
            ("date", pa.date32()),
            ("first_version", count),
            ("batches", pa.list_(text)),
            *((name, count) for name in ("items", "labels", "gold", "labelers")),
            ("classes", pa.list_(text)),
            ("positive", text),
            ("columns", text),
            ("source", text),
            ("written", moment),
            ("package", text),
            ("record", text),
            ("seal", text),
        ],
        "estimates": [
            *((name, text) for name in ("estimate", "command", "round", "question")),
            ("store_version", count),
            ("history", pa.list_(text)),
            *((name, text) for name in ("options", "package", "document")),
            ("written", moment),
        ],
        "queues": [
            *((name, text) for name in ("queue", "round", "way", "expert")),
            ("seed", count),
            *((name, pa.list_(text)) for name in ("drawn", "twice", "items")),
            ("probability", pa.list_(pa.float64())),
            *((name, text) for name in ("options", "contents", "package")),
            ("written", moment),
        ],
        "answers": [
            *((name, text) for name in ("id", "queue", "round", "action", "item", "gold", "expert")),
            ("second", pa.bool_()),
            *((name, text) for name in ("left", "note", "reason", "of")),
            ("seconds", pa.float64()),
            ("package", text),
            ("written", moment),
        ],
    }
    return pa.schema(columns[name])
