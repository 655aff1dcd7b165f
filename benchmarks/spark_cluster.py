"""Spark as a cluster: a standalone master with two workers on this machine, started and stopped by this script.

    python benchmarks/spark_cluster.py [--labels 10000000] [--folder build/bench]

1. The estimate is that of memory, to 1e-9, and the driver gets counts only: it is given 512 MB, and the size of all
   that came to it is shown.
2. A worker is killed midway, while a query runs, and the answer is the same.
Everything listens on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from make_labels import make_labels

import hero_eval as hero
from hero_eval.counting import spark as spark_engine


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Cluster:
    """A master and its workers, each a process of ours."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._home = Path(pyspark.__file__).parent
        self._folder = folder
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        where = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port())]
        self._start("master.Master", *where)
        self._wait()

    def _start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{what}-{len(self.processes)}.log").open("wb")
        command = [str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", *arguments]
        environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(self._home)}
        started = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        self.processes.append(started)
        return started

    def _wait(self) -> None:
        for _ in range(120):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.5)
        raise SystemExit(f"the master did not come up; see {self._folder}")

    def add_worker(self) -> subprocess.Popen[bytes]:
        work = self._folder / f"work-{len(self.processes)}"
        memory = ["--cores", "1", "--memory", "1500m", "--work-dir", str(work)]
        ports = ["--host", "127.0.0.1", "--port", str(free_port()), "--webui-port", str(free_port())]
        return self._start("worker.Worker", *memory, *ports, self.url)

    def stop(self) -> None:
        for process in reversed(self.processes):
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """The process and what it started, such as a worker's executors: all of one session of ours."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[Cluster, list[subprocess.Popen[bytes]]]]:
    made = Cluster(folder)
    try:
        yield made, [made.add_worker(), made.add_worker()]
    finally:
        made.stop()


def session(url: str, name: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(url).appName(name)
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "1g",
        "spark.executor.cores": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "16",
    }.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


class Watched(spark_engine.SparkEngine):
    """The engine, with the number and size of all results that came to the driver, and an accident at one of them."""

    received = 0
    queries = 0
    accident: tuple[int, subprocess.Popen[bytes]] | None = None

    def query(self, sql: str) -> Any:
        Watched.queries += 1
        if Watched.accident is not None and Watched.accident[0] == Watched.queries:
            threading.Timer(0.5, kill, [Watched.accident[1]]).start()
        table = super().query(sql)
        Watched.received += table.nbytes
        return table


def estimate(paths: list[Path], **options: Any) -> dict[str, hero.Estimate]:
    now, past = (hero.read_round(path, covariates=["x"], **options) for path in paths)
    asked: dict[str, dict[str, Any]] = {"hero1": {}, "hero2": {"covariates": ["x"]}}
    return {
        method: hero.estimate_rate(now, past, method=method, interval="influence", **given)
        for method, given in asked.items()
    }


def difference(one: dict[str, hero.Estimate], other: dict[str, hero.Estimate]) -> float:
    return max(
        max(abs(one[name].value - other[name].value), abs(one[name].std_error - other[name].std_error)) for name in one
    )


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    given = parser.parse_args()
    logs = given.folder.absolute() / "spark"
    logs.mkdir(parents=True, exist_ok=True)
    paths = [given.folder.absolute() / f"{kind}-{given.labels}-10-spark.parquet" for kind in ("current", "history")]
    make_labels(paths[0], given.labels, 10, seed=1)
    make_labels(paths[1], given.labels // 10, 10, 0.05, seed=2)
    expected = estimate(paths, engine="memory")
    spark_engine.SparkEngine = Watched  # type: ignore[misc]
    with cluster(logs) as (master, workers):
        spark = session(master.url, "hero")
        start = time.perf_counter()
        found = estimate(paths, spark=spark)
        seconds = time.perf_counter() - start
        print(f"{given.labels:,} labels on a master with two workers: {seconds:.0f} s; ", end="")
        print(f"largest difference from memory {difference(expected, found):.1e}; ", end="")
        print(f"the driver received {Watched.received / 1e6:.1f} MB of counts", flush=True)
        middle = Watched.queries // 2
        Watched.queries, Watched.accident = 0, (middle, workers[0])
        start = time.perf_counter()
        found = estimate(paths, spark=spark)
        late = time.perf_counter() - start
        gone = workers[0].poll() is not None
        print(
            f"again, one worker {'killed' if gone else 'NOT killed'} during query {middle} of {Watched.queries}: ",
            end="",
        )
        print(f"{late:.0f} s; largest difference from memory {difference(expected, found):.1e}")
        spark.stop()


if __name__ == "__main__":
    main()
