"""Which engine reads a round: the one that was asked for, or the one that its size asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hero_eval.counting.engine import Names, Session
from hero_eval.counting.large_round import LargeRound
from hero_eval.counting.tally_files import SavedSource, is_counts
from hero_eval.errors import wrong
from hero_eval.io.describe import LABELER_PREFIX
from hero_eval.io.read_options import Options

ENGINES = ("memory", "duckdb", "spark")
LARGE_BYTES = 256 * 2**20
"""Files of this size and more are left where they are."""


def open_round(
    files: Mapping[str, Path], options: Options, engine: str | None, memory_limit: str | None, spark: Any
) -> LargeRound | None:
    """A round that stays in its files; None if it is to be read into memory."""
    if engine is not None and engine not in ENGINES:
        raise wrong("E201", f"engine is {engine!r}. Known: {', '.join(map(repr, ENGINES))}")
    if spark is not None and engine not in (None, "spark"):
        raise wrong("E204", f"spark belongs to engine='spark', not to {engine!r}")
    if memory_limit is not None and engine not in (None, "duckdb"):
        raise wrong("E204", f"memory_limit belongs to engine='duckdb', not to {engine!r}")
    if is_counts(files["labels"]):
        if options.missing:
            message = f"{files['labels']} holds counts, from which no answer can be left out. Leave out missing"
            raise wrong("E204", message)
        return LargeRound(SavedSource(files["labels"], options), options.name, "saved counts")
    chosen = engine or ("spark" if spark is not None else _by_size(files, memory_limit))
    if chosen == "memory":
        return None
    from hero_eval.counting.sql_round import SqlSource

    source = SqlSource(_session(chosen, memory_limit, spark), files, options)
    return LargeRound(source, options.name, chosen, _plain(options))


def _plain(options: Options) -> Names:
    return tuple(name for name in options.covariates if not name.startswith(LABELER_PREFIX))


def _by_size(files: Mapping[str, Path], memory_limit: str | None) -> str:
    return "duckdb" if memory_limit is not None or sum(map(_size, files.values())) >= LARGE_BYTES else "memory"


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(os.stat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(path) for name in names)


def _session(engine: str, memory_limit: str | None, spark: Any) -> Session:
    if engine == "spark":
        from hero_eval.counting.spark import spark_session

        return spark_session(spark)
    from hero_eval.counting.duckdb import DuckSession

    return DuckSession(memory_limit)
