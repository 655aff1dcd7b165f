"""Spark: for a cluster. Only counts of answer patterns come to the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hero_eval.errors import wrong
from hero_eval.io.files import text_format


def spark_session(given: Any = None) -> SparkEngine:
    """An engine on the caller's session, on the master whose URL was given, or on this machine."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        message = "engine='spark' needs pyspark, which is not installed. Run: pip install 'hero-eval[spark]'"
        raise wrong("E212", message) from error
    if given is not None and not isinstance(given, str):
        if not hasattr(given, "sql") or not hasattr(given, "createDataFrame"):
            raise wrong("E201", f"spark is {type(given).__name__}. It is a SparkSession, or a master's URL")
        return SparkEngine(given)
    master = given or "local[*]"
    builder = SparkSession.builder.appName("hero-eval").master(master).config("spark.ui.enabled", "false")
    if master.startswith("local") or "//127.0.0.1" in master:  # nobody else need reach this machine
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    try:
        return SparkEngine(builder.getOrCreate())
    except Exception as error:
        raise _failed(error) from error


class SparkEngine:
    """A Spark session as the engines want it. Files must be where its workers can read them."""

    name = "spark"

    def __init__(self, session: Any) -> None:
        self._session = session
        self._kept: dict[str, Any] = {}

    def scan(self, path: Path) -> str:
        text = text_format(path)
        where = path.absolute().as_uri()
        if text is None:
            return f"parquet.`{where}`"
        view = f"hero_file_{abs(hash(where))}"
        options = {"header": True, "sep": text[0], "mode": "FAILFAST", "multiLine": True, "escape": '"'}
        self._session.read.options(**options).csv(where).createOrReplaceTempView(view)
        return view

    def header(self, relation: str) -> Any:
        return self.query(f"SELECT * FROM {relation} LIMIT 0")

    def query(self, sql: str) -> Any:
        try:
            return self._session.sql(sql).toArrow()
        except Exception as error:
            raise _failed(error) from error

    def lend(self, name: str, table: Any) -> None:
        self._session.createDataFrame(table).createOrReplaceTempView(name)

    def keep(self, name: str, sql: str) -> None:
        """Cached on the workers, in memory and on their disks; what a lost worker held is computed again."""
        try:
            frame = self._session.sql(sql).persist()
        except Exception as error:
            raise _failed(error) from error
        frame.createOrReplaceTempView(name)
        self._kept[name] = frame

    def drop(self, name: str) -> None:
        frame = self._kept.pop(name, None)
        if frame is not None:
            frame.unpersist()
            self._session.catalog.dropTempView(name)

    def share(self, name: str, sql: str) -> str:
        try:
            frame = self._session.sql(sql).persist()
        except Exception as error:
            raise _failed(error) from error
        frame.createOrReplaceGlobalTempView(name)
        return f"global_temp.{name}"

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def part(self, expression: str, count: int) -> str:
        return f"pmod(hash({expression}), {count})"

    def whole_sum(self, expression: str) -> str:
        return f"CAST(sum(CAST({expression} AS DECIMAL(38, 0))) AS DOUBLE)"  # 64-bit sums would overflow


def _failed(error: Exception) -> Exception:
    first = " ".join(str(error).split())[:300]
    return wrong("E212", f"Spark failed: {first}")
