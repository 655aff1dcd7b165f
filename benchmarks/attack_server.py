"""`hero serve` under attack, on this machine alone: what others feel of it, and how much memory the server takes.

    python benchmarks/attack_server.py
    python benchmarks/attack_server.py --seconds 30 --only heads,uploads

A store is built and served on a free port of 127.0.0.1. A process of its own, the others, opens the pages at a steady
pace from first to last. Meanwhile one attack after the other comes from other loopback addresses:

    bombs       Parquet of 6 kB that stands for 5 GB, packed JSON and CSV; previewed, and confirmed without a preview
    forms       200 MB of fields, of small files or of one header where a file should be, by twelve at once
    wide        a CSV of a million columns, and one of as many as are taken
    heads       260 connections that dribble the head of a request
    uploads     uploads that stall, and whether an honest one still gets through
    cross-site  what a page of another site could send: it must start nothing and write nothing
    estimates   64 heavy estimates at once

Every attack has a count and an end. The script fails if the server itself holds 500 MB or more, if the 95th percentile
of the others' pages is 500 ms or more during any attack, or if an attack gets what it wants. Figures depend on what
else the machine does: the load is printed with them, and each attack's percentile beside that of the calm before it.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from store import tables

import hero_eval as hero

MOST_MEMORY = 500.0
"""Megabytes of the server itself."""

MOST_WAIT = 500.0
"""Milliseconds of the others' pages at the 95th percentile."""

PACE = 0.1
"""Seconds between two pages of one of the others."""

N_OTHERS = 2
HEADS = 260
ESTIMATES = 64
ATTACKERS = tuple(f"127.0.0.{number}" for number in range(2, 6))
"""Addresses of this machine that are not those of the others."""


# The store, the server, the others


def build(path: Path, rounds: int, labels: int) -> list[str]:
    store = hero.create_store(path)
    names = []
    for number in range(rounds):
        data, gold = tables(number, labels)
        names.append(f"2025-w{number + 1:02d}")
        store.add(data, gold=gold if gold.num_rows else None, round=names[-1], question="q", model=f"v{number}")
    return names


@contextlib.contextmanager
def served(path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server's process and its address."""
    command = [sys.executable, "-m", "hero_eval.cli.main", "serve", "--store", str(path), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+/(?=\s)", process.stderr.readline())
        if found is None:
            sys.exit(process.stderr.read())
        threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it never waits for us to read
        yield process, found[0]
    finally:
        process.terminate()
        process.wait(timeout=30)


def other(address: str, pages: list[str], line: Any, end: Any) -> None:
    """One of the others: opens the pages in turn and tells when, which, how long and how it ended."""
    with httpx.Client(base_url=address, timeout=60) as client:
        number = 0
        while not end.is_set():
            page = pages[number % len(pages)]
            number += 1
            start = time.monotonic()
            status: Any
            try:
                status = client.get(page).status_code
            except httpx.HTTPError as error:
                status = type(error).__name__
            line.send((start, page, 1000 * (time.monotonic() - start), status))
            time.sleep(PACE)


def resident(pid: int) -> float:
    """Megabytes of a process; 0 if it is gone."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1000 if found else 0.0


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        told = [one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/children")]
        return [int(one) for one in " ".join(told).split()]
    return []


@dataclass
class Watch:
    """Looks at the server's memory, and collects what the others saw."""

    pid: int
    lines: list[Any]
    seen: list[tuple[float, str, float, Any]] = field(default_factory=list)
    memory: list[tuple[float, float, float]] = field(default_factory=list)
    """When, megabytes of the server, megabytes of its largest process."""
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.over.wait(0.2):
            workers = max((resident(one) for one in children(self.pid)), default=0.0)
            self.memory.append((time.monotonic(), resident(self.pid), workers))
            for line in self.lines:
                with contextlib.suppress(EOFError, OSError):
                    while line.poll():
                        self.seen.append(line.recv())

    def between(self, start: float, end: float) -> dict[str, Any]:
        spent = [ms for at, _, ms, _ in self.seen if start <= at < end]
        bad = [status for at, _, _, status in self.seen if start <= at < end and status != 200]
        held = [one for one in self.memory if start <= one[0] < end]
        p50, p95, most = (float(np.percentile(spent, q)) if spent else float("nan") for q in (50, 95, 100))
        return {
            "pages": len(spent),
            "not 200": len(bad),
            "p50": round(p50, 1),
            "p95": round(p95, 1),
            "most": round(most, 1),
            "server MB": round(max((one[1] for one in held), default=0.0), 1),
            "largest process MB": round(max((one[2] for one in held), default=0.0), 1),
        }


# Attacks. Each says what it saw, and True if it got nothing of what it wanted.

Attack = Callable[[str, list[str], Path, float], tuple[dict[str, Any], bool]]


def attacker(address: str, number: int = 0) -> httpx.Client:
    transport = httpx.HTTPTransport(local_address=ATTACKERS[number % len(ATTACKERS)])
    return httpx.Client(base_url=address, timeout=60, transport=transport)


def repeated(folder: Path) -> bytes:
    """Parquet: one text of a megabyte, named 1,700 times in each of three columns."""
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 1700, pa.int32()), pa.array(["x" * 10**6]))
    pq.write_table(pa.table({"item": words, "labeler": words, "label": words}), folder / "b", compression="zstd")
    return (folder / "b").read_bytes()


def runs(folder: Path) -> bytes:
    """Parquet: 35 million rows of one value in each of three columns."""
    place = folder / "r"
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, np.int32)), pa.array(["1"]))
    table = pa.table({"item": column, "labeler": column, "label": column})
    with pq.ParquetWriter(place, table.schema, compression="zstd") as out:
        for _ in range(35):
            out.write_table(table)
    return place.read_bytes()


def packed(start: bytes, piece: bytes, size: int) -> bytes:
    """The start once, then the piece until there are so many bytes, with gzip: ten megabytes, and these again."""
    ten = gzip.compress(piece * (10**7 // len(piece)))
    return (gzip.compress(start) if start else b"") + ten * (size // 10**7)


def outcome(client: httpx.Client, name: str, body: bytes, *, looks: bool) -> dict[str, Any]:
    """What became of a file: previewed first, or confirmed at once."""
    start = time.monotonic()
    about = {"round": f"attack {name}", "question": "q"}
    sent = client.post("/api/v1/uploads", files={"file": (name, body)}, data=about)
    if sent.status_code != 201:
        return {"bytes": len(body), "code": sent.json()["code"], "seconds": 0.0}
    path = "/api/v1/upload" if looks else "/api/v1/upload/confirm"
    answer = client.post(path, params={"id": sent.json()["id"]})
    while answer.status_code == 202 and time.monotonic() - start < 240:
        time.sleep(0.2)
        answer = client.post(path, params={"id": sent.json()["id"]})
    said = answer.json()
    codes = [one["code"] for one in said.get("problems", [])] or [said.get("code", "added")]
    client.delete("/api/v1/upload", params={"id": sent.json()["id"]})
    return {"bytes": len(body), "code": codes[0], "seconds": round(time.monotonic() - start, 1)}


def bombs(address: str, _rounds: list[str], folder: Path, _seconds: float) -> tuple[dict[str, Any], bool]:
    record = json.dumps({"item": "i", "labeler": "a", "label": "1", "note": "0" * 500}).encode() + b"\n"
    row = b"p,ann,1," + b"0" * 1000 + b"\n"
    files = {
        "5gb.parquet": repeated(folder),
        "runs.parquet": runs(folder),
        "480mb.json.gz": packed(b"", record, 480 * 10**6),
        "300mb.json.gz": packed(b"", record, 300 * 10**6),
        "900mb.csv.gz": packed(b"item,labeler,label,note\n", row, 900 * 10**6),
    }
    said = {}
    with attacker(address) as client:
        for name, body in files.items():
            for looks in (True, False):
                said[f"{name} {'previewed' if looks else 'confirmed at once'}"] = outcome(
                    client, name, body, looks=looks
                )
    # the smaller JSON is as large as is taken; it may be read, within the limits of its process
    return said, all(one["code"] in ("E504", "E513") or name.startswith("300mb") for name, one in said.items())


def forms(address: str, _rounds: list[str], _folder: Path, _seconds: float) -> tuple[dict[str, Any], bool]:
    """What a form holds beside its file would be held in memory, by the server itself."""
    port = int(address.rstrip("/").rpartition(":")[2])
    parts = "multipart/form-data; boundary=b"
    piece = b"z" * 990_000

    def many(more: str) -> bytes:
        starts = (f'--b\r\nContent-Disposition: form-data; name="x{k}"{more}\r\n\r\n'.encode() for k in range(200))
        return b"".join(start + piece + b"\r\n" for start in starts)

    bodies = {
        "fields": (parts, many("")),
        "small files": (parts, many('; filename="a.csv"')),
        "one header": (parts, b"--b\r\nX: " + piece * 200),
        "one field, not in parts": ("application/x-www-form-urlencoded", b"round=" + piece * 200),
    }
    said: dict[str, Any] = {}
    for name, (kind, body) in bodies.items():
        statuses: list[str] = []
        threads = [
            threading.Thread(target=_send_form, args=(port, number, kind, body, statuses)) for number in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        said[name] = {one: statuses.count(one) for one in sorted(set(statuses))}
    return said, all(set(one) <= {"413", "422", "429"} for one in said.values())


def _send_form(port: int, number: int, kind: str, body: bytes, statuses: list[str]) -> None:
    """Send as much of it as is taken, but never the end, and note how it was answered."""
    head = (
        f"POST /api/v1/uploads HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body) + 1000}\r\n"
        f"Content-Type: {kind}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", port), 60, (ATTACKERS[number % len(ATTACKERS)], 0)) as made:
        with contextlib.suppress(OSError):
            made.sendall(head)
            made.sendall(body)
        try:
            statuses.append(made.recv(100).decode("latin-1").split(" ")[1])
        except (OSError, IndexError) as error:
            statuses.append(type(error).__name__)


def wide(address: str, _rounds: list[str], _folder: Path, _seconds: float) -> tuple[dict[str, Any], bool]:
    million = b",".join(b"c%d" % number for number in range(10**6)) + b"\n"
    most = b"item," + b",".join(b"c%d" % number for number in range(1999)) + b"\n"
    most += b"".join(b"p%d," % row + b",".join([b"1"] * 1999) + b"\n" for row in range(300))
    with attacker(address) as client:
        said = {
            "a million columns": outcome(client, "million.csv", million, looks=False),
            "2,000 columns": outcome(client, "most.csv", most, looks=True),
        }
        start = time.monotonic()
        sent = client.post(
            "/api/v1/uploads", files={"file": ("most.csv", most)}, data={"round": "attack", "question": "q"}
        ).json()
        client.post("/api/v1/upload", params={"id": sent["id"]})
        time.sleep(2.0)
        dropped = client.delete("/api/v1/upload", params={"id": sent["id"]}).status_code
        said["thrown away"] = {"status": dropped, "seconds": round(time.monotonic() - start, 1)}
    return said, said["a million columns"]["code"] == "E504" and dropped == 204


def heads(address: str, _rounds: list[str], _folder: Path, seconds: float) -> tuple[dict[str, Any], bool]:
    port = int(address.rstrip("/").rpartition(":")[2])
    held: list[socket.socket] = []
    refused = lost = 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            while len(held) < HEADS:
                try:
                    made = socket.create_connection(("127.0.0.1", port), 5, (ATTACKERS[0], 0))
                    made.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
                    held.append(made)
                except OSError:
                    refused += 1
                    break
            for one in list(held):
                try:
                    one.sendall(b"y")
                except OSError:
                    lost += 1
                    held.remove(one)
                    one.close()
            time.sleep(1.0)
    finally:
        for one in held:
            one.close()
    return {"connections": HEADS, "hung up on": lost, "refused": refused}, lost > 0


def uploads(address: str, _rounds: list[str], _folder: Path, seconds: float) -> tuple[dict[str, Any], bool]:
    port = int(address.rstrip("/").rpartition(":")[2])
    head = (
        f"POST /api/v1/uploads HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 1000000\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b"
    ).encode()
    stalled = []
    for number in range(16):
        made = socket.create_connection(("127.0.0.1", port), 5, (ATTACKERS[number % len(ATTACKERS)], 0))
        made.sendall(head)
        stalled.append(made)
    waits, end = [], time.monotonic() + seconds
    with httpx.Client(base_url=address, timeout=60) as honest:
        while time.monotonic() < end:
            start = time.monotonic()
            while (answer := _small(honest)).status_code == 429 and time.monotonic() - start < 30:
                time.sleep(0.5)
            waits.append(round(time.monotonic() - start, 2))
            honest.delete("/api/v1/upload", params={"id": answer.json().get("id", "")})
            time.sleep(1.0)
    for one in stalled:
        one.close()
    return {"stalled": len(stalled), "s until an honest upload is taken": max(waits)}, max(waits) < 10


def _small(client: httpx.Client) -> httpx.Response:
    file = {"file": ("a.csv", b"item,labeler,label\na,b,1\n")}
    return client.post("/api/v1/uploads", files=file, data={"round": "attack", "question": "q"})


def cross_site(address: str, rounds: list[str], folder: Path, seconds: float) -> tuple[dict[str, Any], bool]:
    store = folder / "store"
    before = sorted(str(one) for one in store.rglob("*"))
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "origin": "https://evil.example"}
    end, count, statuses = time.monotonic() + seconds, 0, set()
    with attacker(address) as client:
        jobs = {one["id"] for one in client.get("/api/v1/jobs").json()["jobs"]}
        while time.monotonic() < end and count < 2000:
            count += 1
            asked = {"name": rounds[-1], "level": f"0.{count + 1000}"}
            statuses.add(client.get("/api/v1/round/result", params=asked, headers=foreign).status_code)
            statuses.add(client.get("/round", params=asked, headers=foreign).status_code)
            statuses.add(client.post("/api/v1/round/result", params=asked, headers=foreign).status_code)
            time.sleep(0.02)
        after = {one["id"] for one in client.get("/api/v1/jobs").json()["jobs"]}
    started, written = len(after - jobs), sorted(str(one) for one in store.rglob("*")) != before
    return {"requests": 3 * count, "statuses": sorted(statuses), "jobs started": started, "written": written}, (
        not started and not written
    )


def estimates(address: str, rounds: list[str], _folder: Path, seconds: float) -> tuple[dict[str, Any], bool]:
    """As many as the queue takes, from four clients at once; then somebody else asks for one, and how long it waits."""
    taken: list[str] = []
    statuses: dict[int, int] = {}
    lock = threading.Lock()

    def ask(number: int) -> None:
        with attacker(address, number) as client:
            asked = {"name": rounds[-1], "level": f"0.{9000 + number}"}
            answer = client.post("/api/v1/round/result", params=asked)
            with lock:
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
                if answer.status_code == 202:
                    taken.append(answer.json()["id"])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(ESTIMATES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with httpx.Client(base_url=address, timeout=60) as client:
        mine = client.post("/api/v1/labelers", params={"level": 0.77}).json()
        ahead = mine.get("ahead", 0)
        time.sleep(seconds)
        for id in taken:
            client.delete("/api/v1/job", params={"id": id})
        end = time.monotonic() + 30
        while time.monotonic() < end:
            left = [one for one in client.get("/api/v1/jobs").json()["jobs"] if one["id"] in taken]
            if all(one["state"] in ("done", "failed") for one in left):
                break
            time.sleep(0.2)
    stopped = all(one["state"] in ("done", "failed") for one in left)
    said = {"asked": ESTIMATES, "statuses": statuses, "ahead of somebody else's": ahead, "all stopped": stopped}
    return said, stopped and ahead <= len(ATTACKERS)


ATTACKS: dict[str, Attack] = {
    "bombs": bombs,
    "forms": forms,
    "wide": wide,
    "heads": heads,
    "uploads": uploads,
    "cross-site": cross_site,
    "estimates": estimates,
}


# Running


def warm_up(address: str, rounds: list[str]) -> list[str]:
    """The pages, each with its result."""
    asked: list[tuple[str, dict[str, str]]] = [
        ("/api/v1/round/result", {"name": rounds[-1]}),
        ("/api/v1/models", {}),
        ("/api/v1/labelers", {}),
    ]
    with httpx.Client(base_url=address, timeout=60) as client:
        for path, of in asked:
            while client.post(path, params=of).status_code == 202:
                time.sleep(0.5)
    return ["/", f"/round?name={rounds[-1]}", "/models", "/labelers", "/upload", "/work", "/api/v1/rounds"]


def run(folder: Path, given: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    chosen = given.only.split(",") if given.only else list(ATTACKS)
    rounds = build(folder / "store", given.rounds, given.labels)
    found: dict[str, Any] = {"load before": os.getloadavg(), "processors": os.cpu_count(), "attacks": {}}
    with served(folder / "store") as (process, address):
        pages = warm_up(address, rounds)
        context = multiprocessing.get_context("spawn")
        end = context.Event()
        pipes = [context.Pipe(duplex=False) for _ in range(N_OTHERS)]
        asking = [context.Process(target=other, args=(address, pages, pipe[1], end), daemon=True) for pipe in pipes]
        watch = Watch(process.pid, [pipe[0] for pipe in pipes])
        watching = threading.Thread(target=watch.run, daemon=True)
        for one in asking:
            one.start()
        watching.start()
        time.sleep(3.0)
        start = time.monotonic()
        time.sleep(given.seconds)
        calm = watch.between(start, time.monotonic())
        found["calm"] = calm
        is_well = True
        for name in chosen:
            print(f"{name} …", file=sys.stderr)
            start = time.monotonic()
            said, is_held = ATTACKS[name](address, rounds, folder, given.seconds)
            time.sleep(1.0)
            felt = watch.between(start, time.monotonic())
            ratio = round(felt["p95"] / calm["p95"], 2)
            found["attacks"][name] = {"held": is_held, "said": said, "others": felt, "p95 to calm": ratio}
            is_well = is_well and is_held and felt["p95"] < MOST_WAIT and felt["server MB"] < MOST_MEMORY
            is_well = is_well and not felt["not 200"]
        end.set()
        watch.over.set()
        watching.join()
    found["load after"] = os.getloadavg()
    return found, is_well


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--labels", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each attack that has no end of its own")
    parser.add_argument("--most", type=int, default=1800, help="seconds after which all of it ends, whatever happens")
    parser.add_argument("--only", default=None, help=f"some of: {', '.join(ATTACKS)}")
    given = parser.parse_args()
    for sign in (signal.SIGTERM, signal.SIGALRM):  # so that the server ends with us, and we end
        signal.signal(sign, lambda *_: sys.exit(1))
    signal.alarm(given.most)
    with tempfile.TemporaryDirectory(prefix="hero-attack-") as folder:
        found, is_well = run(Path(folder), given)
    print(json.dumps(found, indent=2))
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
