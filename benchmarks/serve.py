"""`hero serve` over a store of many large rounds: how fast its pages are, and whether its memory stays.

    python benchmarks/serve.py --rounds 100 --labels 1000000 --requests 10000

The store is built (or taken, with --keep, if it is there), served on a free port of this machine, and warmed up: the
server gets ready to draw, which it does by itself when it starts, and then each page is asked for until its result is
there. Then a second process asks for the pages in turn over a few connections.
The figures are milliseconds by page, and the server's resident memory as the requests go by.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from store import QUESTIONS, tables

import hero_eval as hero

LOOKS = 20
"""How often the memory is looked at."""


def build(path: Path, rounds: int, labels: int) -> None:
    """Rounds of ten questions in turn, each of a model of its own."""
    store = hero.create_store(path)
    for number in range(rounds):
        data, gold = tables(number, labels)
        week, question = divmod(number, QUESTIONS)
        name = f"2025-w{week + 1:02d} q{question}"
        store.add(data, gold=gold if gold.num_rows else None, round=name, question=f"q{question}", model=f"v{week}")
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {rounds} rounds", end="", file=sys.stderr)


def serve(path: Path) -> tuple[subprocess.Popen[str], str]:
    """The server's process and its address."""
    command = [sys.executable, "-m", "hero_eval.cli.main", "serve", "--store", str(path), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r"http://\S+?/(?=\s)", process.stderr.readline())
    if found is None:
        sys.exit(process.stderr.read())
    return process, found[0]


def processor_seconds(pid: int) -> float:
    """Of a process and all that it started, so far."""
    used: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        used[int(stat.parent.name)] = int(told[1]), sum(map(float, told[11:15])) / os.sysconf("SC_CLK_TCK")
    family = {pid}
    while more := {one for one, (parent, _) in used.items() if parent in family} - family:
        family |= more
    return sum(used[one][1] for one in family if one in used)


def warm_up(process: subprocess.Popen[str], address: str, pages: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Seconds until each page shows its result for the first time, and those of the processor."""
    seconds = {}
    with httpx.Client(base_url=address, timeout=60) as client:
        start, before = time.perf_counter(), processor_seconds(process.pid)
        while any(job["state"] in ("waiting", "running") for job in client.get("/api/v1/jobs").json()["jobs"]):
            time.sleep(0.2)
        seconds["getting ready"] = time.perf_counter() - start, processor_seconds(process.pid) - before
        for page in pages:
            start, before = time.perf_counter(), processor_seconds(process.pid)
            while "data-job" in (text := client.get(page).raise_for_status().text) or "data-start" in text:
                press(client, text)
                time.sleep(0.2)
            seconds[page] = time.perf_counter() - start, processor_seconds(process.pid) - before
    return seconds


def press(client: httpx.Client, text: str) -> None:
    """Press the buttons of a page that start work."""
    for action in re.findall(r'<form method="post" action="([^"]+)" class="start"', text):
        token = re.findall(r'name="form_token" value="([0-9a-f]+)"', text)[0]
        client.post(unescape(action), data={"form_token": token})


def load(address: str, pages: Sequence[str], requests: int, clients: int, line: Any) -> None:
    """Ask for the pages in turn, over as many connections as there are clients; tell every answer's milliseconds."""
    numbers = iter(range(requests))
    lock = threading.Lock()

    def one_client() -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                page = pages[number % len(pages)]
                start = time.perf_counter()
                client.get(page).raise_for_status()
                spent = 1000 * (time.perf_counter() - start)
                with lock:
                    line.send((page, spent))

    threads = [threading.Thread(target=one_client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    line.send(None)


def resident(pid: int) -> float:
    """Megabytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1000 if found else float("nan")


def measure(process: subprocess.Popen[str], address: str, pages: Sequence[str], given: Any) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    asking = context.Process(target=load, args=(address, list(pages), given.requests, given.clients, there))
    asking.start()
    spent: dict[str, list[float]] = {page: [] for page in pages}
    memory = [resident(process.pid)]
    every = max(given.requests // LOOKS, 1)
    start, count = time.perf_counter(), 0
    while (told := here.recv()) is not None:
        spent[told[0]].append(told[1])
        count += 1
        if count % every == 0:
            memory.append(resident(process.pid))
    seconds = time.perf_counter() - start
    asking.join()
    whole = np.concatenate([np.array(of) for of in spent.values()])
    by_page = {page: [round(float(np.percentile(of, q)), 1) for q in (50, 95, 100)] for page, of in spent.items()}
    return {
        "requests": count,
        "requests a second": round(count / seconds, 1),
        "ms at the 95th percentile": round(float(np.percentile(whole, 95)), 1),
        "ms by page (50%, 95%, most)": by_page,
        "MB of the server": [round(one, 1) for one in memory],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--round-pages", type=int, default=3, help="pages of rounds among those asked for")
    parser.add_argument("--keep", type=Path, default=None, help="build the store here and leave it")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends with us
    with tempfile.TemporaryDirectory(prefix="hero-bench-") as folder:
        path = given.keep or Path(folder) / "store"
        if not path.exists():
            build(path, given.rounds, given.labels)
        names = [row.round for row in hero.open_store(path).rounds()][-given.round_pages :]
        rounds = [f"/round?name={name.replace(' ', '+')}" for name in names]
        pages = ["/", *rounds, "/models", "/labelers", "/backtest", "/upload", "/api/v1/rounds"]
        process, address = serve(path)
        try:
            warm = {page: [round(one, 1) for one in of] for page, of in warm_up(process, address, pages).items()}
            found = measure(process, address, pages, given)
        finally:
            process.terminate()
            process.wait()
    told = {"rounds": given.rounds, "labels a round": given.labels, "s of a first view, and of the processor": warm}
    print(json.dumps(told | found, indent=2))


if __name__ == "__main__":
    main()
