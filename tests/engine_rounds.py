"""Engines for tests, and rounds in files for them to count."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from make_rounds import Tables

from hero_eval.read import read_round
from hero_eval.round import Round

ENGINES = ("memory", "duckdb", "spark")

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Spark writes and compiles a program for each plan, which takes much longer than a few rows do without."""


@lru_cache(maxsize=1)
def spark() -> Any:
    """A small Spark on this machine. Without pyspark there is none: a skip, except where everything must be there."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        if os.environ.get("CI") == "true":
            pytest.fail("pyspark is not installed: install the extra 'spark'")
        pytest.skip("pyspark is not installed")
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "false",  # plans of a few rows need no second thoughts
        "spark.default.parallelism": "2",
        # the JVM compiles its own code once, not over and over, since these plans run for milliseconds; with no more
        # room than it takes by itself that code would be thrown away and made again
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m "
        "-XX:InitialHeapSize=1g -XX:NewSize=500m",
        **INTERPRETED,
    }.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def compiled_plans(engine: str) -> Iterator[None]:
    """Meanwhile Spark, if that is the engine, compiles its plans, as it does unless asked otherwise."""
    if engine != "spark":
        yield
        return
    for key in INTERPRETED:
        spark().conf.unset(key)
    try:
        yield
    finally:
        for key, value in INTERPRETED.items():
            spark().conf.set(key, value)


def read_on(engine: str, path: Path, **options: Any) -> Round:
    """The round, counted by this engine."""
    if engine == "spark":
        options["spark"] = spark()
    return read_round(path, engine=engine, **options)


def write(folder: Path, tables: Tables) -> Path:
    """Tables as Parquet files in a new folder."""
    folder.mkdir(parents=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


def one_table(tables: Tables) -> Any:
    """Labels, gold and items as a single table: what describes an item stands on each of its rows."""
    joined = tables["labels"]
    for name in ("gold", "items"):
        if name in tables:
            joined = joined.join(tables[name], "item", join_type="left outer")
    return joined


def gaps(rng: np.random.Generator, values: np.ndarray, share: float) -> list[float | None]:
    """The values, some of them missing."""
    return [None if lost else float(value) for value, lost in zip(values, rng.random(len(values)) < share, strict=True)]
