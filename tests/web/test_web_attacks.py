"""The server under attack: files that swell, work that never ends, clients that dawdle, pages of other sites."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_examples import examples
from typer.testing import CliRunner
from web_server import FORM_TOKEN, PATIENCE, client_of, page_when_there, served, visiting, when_there
from web_store import answers, csv_of, fill

import hero_eval as hero
from hero_eval.cli.main import app as command
from hero_eval.web import bodies, connections, measuring, queue, security
from hero_eval.web.http_errors import hide, problem_document
from hero_eval.web.process import Limits
from hero_eval.web.queue import JobQueue, Order
from hero_eval.web.scratch import Scratch, sweep
from hero_eval.web.settings import MEGABYTE, Settings
from hero_eval.web.turns import Turns

pytestmark = pytest.mark.slow  # a server or a site is made first

TOKEN = "0123456789abcdef0123"
LABELS = b"item,labeler,label\np001,ann,1\np002,ann,0\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked") / "store"
    fill(folder, 3, 60)
    return folder


@pytest.fixture(scope="module")
def site(place: Path) -> Iterator[httpx.Client]:
    with served(place, "--max-upload", "2", "--max-memory", "500") as client:
        yield client


@pytest.fixture
def calm(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """A server whose processes never begin."""
    monkeypatch.setattr(JobQueue, "_start", lambda *_: None)
    with visiting(Settings(str(place))) as client:
        yield client


def wait(condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def send(client: httpx.Client, name: str, body: bytes, **about: str) -> httpx.Response:
    data = {"round": "2027-w01", "question": "defect", **about}
    return client.post("/api/v1/uploads", files={"file": (name, body)}, data=data)


# Files that swell


def repeated_text(file: Path, length: int, rows: int) -> Path:
    """A table of one long text, written once and meant often."""
    words = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * length]))
    pq.write_table(pa.table({"item": words, "labeler": words, "label": words}), file, compression="zstd")
    return file


def test_a_table_is_measured_by_what_it_says_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six kilobytes of Parquet that stand for five gigabytes would take the machine's memory."""
    long = repeated_text(tmp_path / "long.parquet", MEGABYTE, 1700)
    assert long.stat().st_size < 10_000
    with pytest.raises(hero.InputError, match=r"E504.*400 MB once it is open"):
        measuring.measure(long, 400 * MEGABYTE)
    runs = repeated_text(tmp_path / "runs.parquet", 1, 1_000_000)
    assert runs.stat().st_size < 10_000
    measuring.measure(runs, 20 * MEGABYTE)
    monkeypatch.setattr(measuring, "_count_texts", lambda *_: pytest.fail("values were read"))
    with pytest.raises(hero.InputError, match="E504"):
        measuring.measure(runs, 10 * MEGABYTE)
    zeros = pa.table({"item": pa.array(["0" * 1000] * 3000), "x": pa.array(range(3000))})
    pq.write_table(zeros, tmp_path / "plain.parquet", use_dictionary=False, compression="zstd")
    with pytest.raises(hero.InputError, match="E504"):
        measuring.measure(tmp_path / "plain.parquet", 2 * MEGABYTE)


def test_a_table_that_is_not_swollen_passes(tmp_path: Path) -> None:
    """Honest rounds would be turned away."""
    labels, _ = answers(1, 0.4, 200)
    pq.write_table(labels, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text(csv_of(labels))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(csv_of(labels).encode()))
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) for row in labels.to_pylist()))
    for name in ("a.parquet", "a.csv", "a.csv.gz", "a.jsonl"):
        measuring.measure(tmp_path / name, 50_000)
        with pytest.raises(hero.InputError, match="E504"):
            measuring.measure(tmp_path / name, 5_000)


def test_packed_files_may_not_burst(tmp_path: Path) -> None:
    """A small file could unpack to more than the machine holds."""
    packed = tmp_path / "a.csv.gz"
    with gzip.open(packed, "wb") as stream:
        for _ in range(20):
            stream.write(b"0" * 999_999 + b"\n")
    measuring.measure(packed, 20_000_000)
    with pytest.raises(hero.InputError, match="E504"):
        measuring.measure(packed, 19_000_000)
    log = tmp_path / "a.eval"
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("samples/1.json", b"0" * 2_000_000)
    with pytest.raises(hero.InputError, match="E504"):
        measuring.measure(log, 1_000_000)


@pytest.mark.parametrize("name", ["wide.csv", "wide.tsv", "wide.csv.gz", "wide.parquet"])
def test_tables_have_so_many_columns(tmp_path: Path, name: str) -> None:
    """A table of a million columns would keep the server at work for minutes."""
    columns = [f"c{number}" for number in range(measuring.MOST_COLUMNS + 1)]
    file = tmp_path / name
    text = ("\t" if ".tsv" in name else ",").join(columns).encode() + b"\n"
    if name.endswith(".parquet"):
        pq.write_table(pa.table({one: [1] for one in columns}), file)
    else:
        file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    with pytest.raises(hero.InputError, match=r"E504 .*2,001 columns; 2,000 are taken"):
        measuring.measure(file, MEGABYTE)
    endless = tmp_path / f"endless-{name}"
    if not name.endswith(".parquet"):
        endless.write_bytes((gzip.compress if name.endswith(".gz") else bytes)(b"x" * 3 * MEGABYTE))
        with pytest.raises(hero.InputError, match="first line"):
            measuring.measure(endless, 10 * MEGABYTE)


def test_records_have_so_many_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of which each brings keys of its own would become a table as wide as it is long."""
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(json.dumps({"item": "a", f"k{number}": 1}) for number in range(50)))
    measuring.measure(file, MEGABYTE)
    monkeypatch.setattr(measuring, "MOST_KEYS", 50)
    with pytest.raises(hero.InputError, match=r"E504 .*different keys"):
        measuring.measure(file, MEGABYTE)


def swollen_csv() -> bytes:
    """A good table of 60 MB in a tenth of one."""
    rows = (f"p{number},ann,1,{'x' * 100_000}\n".encode() for number in range(600))
    return gzip.compress(b"item,labeler,label,note\n" + b"".join(rows))


def test_who_skips_the_preview_is_checked_all_the_same(site: httpx.Client, place: Path) -> None:
    """The check of a file would be left out by leaving out the look at it."""
    before = hero.open_store(place).version
    for name, body in (("a.csv.gz", swollen_csv()), ("wide.csv", b",".join(b"c%d" % one for one in range(5000)))):
        sent = send(site, name, body).json()
        done = when_there(site, "/api/v1/upload/confirm", "POST", params={"id": sent["id"]})
        assert (done.status_code, done.json()["code"]) == (413, "E504")
        seen = when_there(site, "/api/v1/upload", params={"id": sent["id"]}).json()
        assert [one["code"] for one in seen["problems"]] == ["E504"]
    assert hero.open_store(place).version == before


def form(*parts: tuple[str, bytes]) -> bytes:
    """A form in parts, each with what is said of it beside its name, cut at the boundary `b`."""
    said = [
        b'--b\r\nContent-Disposition: form-data; name="x%d"%b\r\n\r\n%b\r\n' % (number, more.encode(), body)
        for number, (more, body) in enumerate(parts)
    ]
    return b"".join(said) + b"--b--\r\n"


@pytest.mark.parametrize("path", ["/api/v1/uploads", "/upload"])
@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data; boundary=b", form(("", b"z" * 30_000)), 422),
        ("multipart/form-data; boundary=b", form(*[("", b"z")] * 50), 422),
        ("multipart/form-data; boundary=b", form(*[(f'; filename="{k}.csv"', b"z" * 9000) for k in range(3)]), 422),
        ("multipart/form-data; boundary=b", b"--b\r\nX: " + b"y" * 150_000, 422),
        ("application/x-www-form-urlencoded", b"round=" + b"x" * 150_000, 413),
        ("application/x-www-form-urlencoded", b"a&" * 60_000, 413),
    ],
    ids=["long field", "many fields", "many files", "long header", "no parts", "tiny fields"],
)
def test_a_form_holds_one_file_and_little_else(
    calm: httpx.Client, path: str, kind: str, body: bytes, status: int
) -> None:
    """Three uploads of 200 fields of a megabyte each would take 600 MB of the server itself."""
    sent = calm.post(path, content=body, headers={"content-type": kind})
    assert sent.status_code == status, sent.text
    assert re.search("aximum|larger than|multipart data", sent.text)  # not only that a field is missing


def json_bomb() -> bytes:
    """Records that take many times their length once they are read."""
    record = json.dumps({"item": "i", "labeler": "a", "label": "1", "note": "0" * 4_000}).encode() + b"\n"
    return gzip.compress(record * 15_000)


def read_by(jobs: JobQueue, file: Path, store: Path, client: str = "") -> Order:
    """Ask for the preview of a file, as large as it may be."""
    more = {"store": str(store), "most": 10**12}
    order = Order("preview", f"Reading {file.name}", {"file": str(file), "about": {"round": "r"}}, (), more)
    jobs.ask(order, client)
    return order


def code_of(jobs: JobQueue, order: Order) -> str | None:
    job = jobs.job(order.id)
    assert job is not None
    return job.problems[0].code if job.problems else "done" if job.is_over else None


@pytest.fixture
def bounded() -> Iterator[Callable[..., JobQueue]]:
    """Makes a `JobQueue` whose reading process is bounded; all end with the test."""
    made: list[JobQueue] = []
    scratch = Scratch()

    def make(memory: int = 4000, seconds: float = 60.0, processes: int = 1) -> JobQueue:
        limits = {"reading": Limits(memory * MEGABYTE, seconds), "views": Limits(4000 * MEGABYTE, 60.0)}
        made.append(JobQueue(processes, 10**6, limits=limits, scratch=scratch))
        return made[-1]

    yield make
    for one in made:
        one.close()
    scratch.close()


def test_what_swells_after_it_was_measured_meets_a_limit(
    place: Path, tmp_path: Path, bounded: Callable[..., JobQueue]
) -> None:
    """Half a megabyte of packed JSON would take four gigabytes, whatever was counted before."""
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(json_bomb())
    jobs = bounded(memory=400)
    order = read_by(jobs, file, place)
    assert wait(lambda: code_of(jobs, order)) == "E513"
    job = jobs.job(order.id)
    assert job is not None
    assert "needs more than 400 MB of memory" in job.problems[0].message
    file.write_bytes(gzip.compress(json.dumps({"item": "i", "labeler": "a", "label": "1"}).encode()))
    jobs.forget(order.id)
    read_by(jobs, file, place)
    assert wait(lambda: code_of(jobs, order)) == "done"


# Work that does not end


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """A file that nobody ever finishes reading."""
    os.mkfifo(tmp_path / "stuck.csv")
    return tmp_path / "stuck.csv"


def pid_of(jobs: JobQueue) -> int:
    process = wait(lambda: jobs._lanes["reading"].processes[0]._process)
    return int(process.pid)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_work_has_a_time(place: Path, stuck: Path, bounded: Callable[..., JobQueue]) -> None:
    """One file would keep a process busy for ever."""
    jobs = bounded(seconds=2.0)
    order = read_by(jobs, stuck, place)
    pid = pid_of(jobs)
    assert wait(lambda: code_of(jobs, order)) == "E513"
    wait(lambda: is_gone(pid))
    job = jobs.job(order.id)
    assert job is not None
    assert job.problems[0].message == "Reading stuck.csv: it was stopped after 2 s."


def test_an_upload_holds_up_no_view_and_can_be_stopped(
    place: Path, stuck: Path, bounded: Callable[..., JobQueue]
) -> None:
    """A single file would keep everybody from their estimates, and throwing it away would change nothing."""
    jobs = bounded()
    order = read_by(jobs, stuck, place)
    pid = pid_of(jobs)
    view = Order("round", "Estimating", {"store": str(place), "version": 0, "name": "no", "options": {}})
    jobs.ask(view)
    assert wait(lambda: code_of(jobs, view)) == "E403"
    assert code_of(jobs, order) is None
    behind = read_by(jobs, stuck.with_name("other.csv"), place)
    told = jobs.job(behind.id)
    assert told is not None
    assert re.fullmatch(r"Waiting for its turn; now: Reading stuck.csv \(for \d+ s\)", told.told)
    jobs.stop_reading(str(stuck))
    assert wait(lambda: code_of(jobs, order)) == "E514"
    wait(lambda: is_gone(pid))
    assert wait(lambda: code_of(jobs, behind))


def test_what_waits_can_be_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asked by mistake would have to wait for it."""
    monkeypatch.setattr(JobQueue, "_start", lambda *_: None)
    jobs = JobQueue(1, 10**6)
    orders = [Order("round", f"Estimating {number}", {"number": number}) for number in range(3)]
    for order in orders:
        jobs.ask(order, "ann")
    assert jobs.stop(orders[0].id)
    assert code_of(jobs, orders[0]) == "E514"
    assert not jobs.stop(orders[0].id)
    assert not jobs.stop("unknown")
    told = [jobs.job(order.id) for order in orders[1:]]
    assert [(one.ahead, one.told) for one in told if one] == [
        (0, "Waiting for its turn"),
        (1, "Waiting for its turn; 1 piece of work comes first"),
    ]


def test_one_client_cannot_fill_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for sixty-four estimates would leave no place for anybody else."""
    monkeypatch.setattr(JobQueue, "_start", lambda *_: None)
    jobs = JobQueue(1, 10**6)
    for number in range(queue.MOST_EACH):
        jobs.ask(Order("round", "", {"number": number}), "greedy")
    with pytest.raises(hero.InputError, match="E509"):
        jobs.ask(Order("round", "", {"number": -2}), "greedy")
    assert jobs._lanes["views"].turns.waiting("greedy") == queue.MOST_EACH
    jobs.ask(Order("round", "", {"number": -1}), "modest")


@examples(60)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_clients_take_turns(clients: list[str]) -> None:
    """The page would tell a wrong number of turns, or one client's work would all come first."""
    turns: Turns[int] = Turns()
    for number, client in enumerate(clients):
        turns.put(client, str(number), number)
    told = {number: turns.ahead(str(number)) for number in range(len(clients))}
    order = [turns.take(0) for _ in clients]
    assert [told[number] for number in order if number is not None] == list(range(len(clients)))
    taken: dict[str, int] = {}
    for number in order:
        assert number is not None
        client = clients[number]
        taken[client] = taken.get(client, 0) + 1
        left = [other for other in set(clients) if clients.count(other) > taken.get(other, 0)]
        assert all(taken[client] <= taken.get(other, 0) + 1 for other in left)
    assert turns.take(0) is None


def test_the_page_says_what_waits_and_stops_it(calm: httpx.Client) -> None:
    """Nobody would know why their estimate does not come, or how to end what is in its way."""
    first, second = (calm.post("/api/v1/backtest", params={"level": level}).json() for level in (0.8, 0.9))
    assert (first["ahead"], second["ahead"]) == (0, 1)
    page = calm.get("/work").text
    assert "0 pieces of work are being done, 2 wait." in page
    assert "1 piece of work comes first" in page
    token = FORM_TOKEN.findall(page)[0]
    assert calm.post("/stop", data={"id": first["id"], "form_token": "0" * 64}).status_code == 403
    assert calm.post("/stop", data={"id": first["id"], "form_token": token}).headers["location"] == "/work"
    assert calm.get("/api/v1/job", params={"id": first["id"]}).json()["error"]["code"] == "E514"
    assert calm.delete("/api/v1/job", params={"id": second["id"]}).status_code == 204
    assert calm.delete("/api/v1/job", params={"id": "no"}).status_code == 404
    assert "Nothing is being computed." in calm.get("/work").text
    assert "E514" in calm.get("/work").text


# Clients that dawdle


def connect(client: httpx.Client, said: bytes = b"") -> socket.socket:
    made = socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=60)
    made.sendall(said)
    return made


def stalled_upload(client: httpx.Client) -> socket.socket:
    lines = (
        "POST /api/v1/uploads HTTP/1.1",
        f"Host: {client.base_url.netloc.decode()}",
        "Content-Type: multipart/form-data; boundary=b",
        "Content-Length: 100000",
        "",
        "--b",
    )
    return connect(client, "\r\n".join(lines).encode())


def test_many_who_say_little_starve_nobody(site: httpx.Client) -> None:
    """A few hundred connections that dribble a head would shut everybody else out."""
    slow = [connect(site, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ") for _ in range(260)]
    try:
        for _ in range(5):
            with client_of(str(site.base_url)) as other:
                assert other.get("/").status_code == 200
            for one in slow[-20:]:
                with suppress(OSError):  # the server may have hung up
                    one.sendall(b"y")
    finally:
        for one in slow:
            one.close()


def test_a_head_must_come_in_time(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that never asks anything would be held for ever."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    with visiting(Settings(str(place))) as client:
        silent, dribbling = connect(client), connect(client, b"GET / HTTP/1.1\r\n")
        second = connect(
            client, f"GET /api/v1/store HTTP/1.1\r\nHost: {client.base_url.netloc.decode()}\r\n\r\n".encode()
        )
        assert second.recv(20).startswith(b"HTTP/1.1 200")
        time.sleep(0.5)
        second.sendall(b"GET / HTTP/1.1\r\nX: ")
        start = time.monotonic()
        for one in (silent, dribbling):
            with pytest.raises((ConnectionError, EOFError)):
                _read_to_the_end(one)
        while second.recv(4096):
            pass
        assert time.monotonic() - start < 10
        assert client.get("/").status_code == 200
        for one in (silent, dribbling, second):
            one.close()


def _read_to_the_end(one: socket.socket) -> None:
    if not one.recv(100):
        raise EOFError


def test_who_has_most_connections_loses_the_idle_ones(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All connections of the server would belong to one client."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    monkeypatch.setattr(connections, "MOST_EACH", 100)
    with visiting(Settings(str(place))) as client:
        slow = [connect(client, b"GET") for _ in range(30)]
        assert client.get("/").status_code == 200
        with pytest.raises((ConnectionError, EOFError)):
            _read_to_the_end(slow[0])
        for one in slow:
            one.close()


def test_stalled_uploads_make_room(site: httpx.Client) -> None:
    """Four uploads that never end would keep out all others."""
    stalled = [stalled_upload(site) for _ in range(4)]
    try:
        time.sleep(bodies.MAY_GO_AFTER + 1.0)
        assert send(site, "a.csv", LABELS).status_code == 201
    finally:
        for one in stalled:
            one.close()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("IDLE_SECONDS", 1.0, "nothing came"), ("GRACE", 1.0, "kB came"), ("UPLOAD_SECONDS", 1.0, "took more than")],
)
def test_a_body_must_come_in_time(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: float, said: str
) -> None:
    """An upload would take its place for as long as somebody cares to send a byte now and then."""
    monkeypatch.setattr(security if name == "UPLOAD_SECONDS" else bodies, name, value)
    with visiting(Settings(str(place))) as client, stalled_upload(client) as slow:
        answer = b""
        while piece := slow.recv(4096):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"E516" in answer
        assert said.encode() in answer
        assert b"connection: close" in answer.lower()


def test_one_client_cannot_take_all_threads(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a hundred pages at once would make others wait for all of them."""
    from concurrent.futures import ThreadPoolExecutor

    running, most = [], []

    def slow(_self: Any) -> Any:
        running.append(1)
        most.append(len(running))
        time.sleep(0.05)
        running.pop()
        raise hero.InputError(hero.errors.Problem("E403", "no"))

    with visiting(Settings(str(place))) as client:
        monkeypatch.setattr("hero_eval.web.snapshot.LatestSnapshot.now", slow)
        asked = f"{client.base_url}api/v1/store"
        with ThreadPoolExecutor(30) as pool:
            codes = list(pool.map(lambda _: httpx.get(asked, timeout=60, verify=False).status_code, range(60)))
    assert set(codes) == {404}
    assert max(most) <= bodies.MOST_LOOKING_EACH


# Pages of other sites

VIEWS = (
    "/",
    "/round?name=2026-w46",
    "/round?name=2026-w46&level=0.8123",
    "/models",
    "/leaderboard",
    "/labelers",
    "/backtest",
    "/download?of=round&file=report.html&name=2026-w46",
    "/download?of=backtest&file=plays.csv",
    "/api/v1/round/result?name=2026-w46&level=0.8123",
    "/api/v1/models",
    "/api/v1/labelers",
    "/api/v1/backtest",
    "/api/v1/leaderboard",
)


@pytest.mark.parametrize("path", VIEWS)
def test_to_look_starts_nothing_and_writes_nothing(calm: httpx.Client, place: Path, path: str) -> None:
    """A picture on some other site could start work on this machine and write into the store."""
    before = sorted(str(one) for one in place.rglob("*"))
    for headers in ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, {}):
        answer = calm.get(path, headers=headers)
        assert answer.status_code in (200, 303, 404)
        assert calm.get("/api/v1/jobs").json() == {"jobs": []}
    assert sorted(str(one) for one in place.rglob("*")) == before
    if path.startswith("/api"):
        assert answer.json()["code"] == "E515"
        assert calm.post(path).status_code == 202
        assert calm.get(path).status_code == 202


@pytest.mark.parametrize("path", ["/round?name=2026-w46", "/models", "/leaderboard", "/labelers", "/backtest"])
def test_only_our_own_pages_start_work(calm: httpx.Client, path: str) -> None:
    """A link on another site would start work as soon as somebody follows it."""
    assert 'data-start=""' in calm.get(path).text  # neither a word nor a cookie
    assert 'data-start="now"' in calm.get(path).text
    assert 'data-start="now"' in calm.get(path, headers={"cookie": "", "sec-fetch-site": "none"}).text
    assert 'data-start="now"' in calm.get(path, headers={"sec-fetch-site": "same-origin"}).text
    foreign = calm.get(path, headers={"sec-fetch-site": "cross-site"}).text
    assert 'data-start=""' in foreign
    assert calm.post(path, data={"form_token": "0" * 64}).status_code == 403
    assert calm.get("/api/v1/jobs").json() == {"jobs": []}
    done = calm.post(path, data={"form_token": FORM_TOKEN.findall(foreign)[0]})
    assert (done.status_code, done.headers["location"]) == (303, path)
    assert len(calm.get("/api/v1/jobs").json()["jobs"]) == 1
    assert "data-job" in calm.get(path).text


def test_a_browser_shows_the_token_of_a_form_to_the_api(calm: httpx.Client) -> None:
    """Whoever finds a way around Origin could start work through a visitor's browser."""
    origin = {"origin": str(calm.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    for headers in (origin, {"sec-fetch-site": "none"}, {**origin, "x-form-token": "0" * 64}):
        refused = calm.post("/api/v1/backtest", headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "E503")
    token = FORM_TOKEN.findall(calm.get("/upload").text)[0]
    assert calm.post("/api/v1/backtest", headers={**origin, "x-form-token": token}).status_code == 202


def test_who_is_logged_in_needs_more_than_the_cookie(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cookie travels by itself; a token must be shown."""
    monkeypatch.setattr(JobQueue, "_start", lambda *_: None)
    with visiting(Settings(str(place), token=TOKEN)) as client:
        token = FORM_TOKEN.findall(client.get("/login").text)[0]
        client.post("/login", data={"form_token": token, "token": TOKEN, "next": "/"})
        assert client.get("/api/v1/rounds").status_code == 200
        assert client.post("/api/v1/backtest").status_code == 403
        assert client.post("/api/v1/backtest", headers={"x-form-token": token}).status_code == 202
        assert client.post("/api/v1/labelers", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 202


def test_levels_that_somebody_tries_are_not_recorded(site: httpx.Client, place: Path) -> None:
    """Every level that anybody tries would stay in the store."""
    asked = {"name": "2026-w46", "method": "majority_vote"}
    tried = when_there(site, "/api/v1/round/result", params={**asked, "level": 0.8123}).json()
    assert tried["estimate"]["level"] == 0.8123
    assert tried["recorded"] is None
    usual = when_there(site, "/api/v1/round/result", params=asked).json()
    assert [row["estimate"] for row in hero.open_store(place).estimates()] == [usual["recorded"]]


# Behind a proxy


def test_behind_tls_cookies_are_secure_and_the_name_is_ours(place: Path) -> None:
    """Cookies would travel in the clear, and any name that points here would be answered."""
    behind = Settings(str(place), token=TOKEN, public_url="https://evals.example.org")
    with visiting(behind, headers={"host": "evals.example.org"}) as client:
        page = client.get("/login")
        assert "; secure" in page.headers["set-cookie"].lower()
        client.cookies.clear()  # the client is not on https, and would not show what is secure
        shown = {"cookie": page.headers["set-cookie"].partition(";")[0]}
        fields = {"form_token": FORM_TOKEN.findall(page.text)[0], "token": TOKEN, "next": "/"}
        for origin, status in (
            ("https://evals.example.org", 303),
            ("http://evals.example.org", 403),
            ("https://evil.example", 403),
        ):
            answer = client.post("/login", data=fields, headers={**shown, "origin": origin})
            assert answer.status_code == status
            assert status != 303 or "; secure" in answer.headers["set-cookie"].lower()
        for host in ("127.0.0.1", "evil.example", "evals.example.org:81", ""):
            assert client.get("/login", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(("proxies", "is_believed"), [(("127.0.0.1",), True), (("10.0.0.0/8",), False), ((), False)])
def test_only_the_proxy_is_believed(place: Path, proxies: tuple[str, ...], is_believed: bool) -> None:
    """Anybody could say that they are somebody else, or that the line is safe."""
    seen = []
    told = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
    patch = pytest.MonkeyPatch()
    real = security.client_of
    patch.setattr(security, "client_of", lambda scope: seen.append(real(scope)) or real(scope))
    with visiting(Settings(str(place), proxies=proxies)) as client:
        answer = client.get("/", headers=told)
    patch.undo()
    assert ("; secure" in answer.headers["set-cookie"].lower()) == is_believed
    assert set(seen) == {"203.0.113.9" if is_believed else "127.0.0.1"}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--public-url", "evals.example.org"], "E201"),
        (["--public-url", "https://evals.example.org/hero"], "E201"),
        (["--public-url", "https://evals.example.org"], "E501"),
        (["--proxy-headers", "*"], "E201"),
        (["--max-memory", "10"], "E201"),
        (["--max-seconds", "0"], "E201"),
    ],
)
def test_options_that_would_leave_it_open_are_refused(place: Path, options: list[str], code: str) -> None:
    """A slip in the command would open the store to everybody, or bound nothing."""
    done = CliRunner().invoke(command, ["serve", "--store", str(place), *options])
    assert done.exit_code == 2, done.output
    assert code in done.output


# What is said, and what is left behind


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/estimate", "POST"),
        ("PUT", "/round", "GET, POST"),
        ("POST", "/api/v1/rounds", "GET"),
        ("PATCH", "/api/v1/upload", "DELETE, GET, POST"),
        ("DELETE", "/api/v1/round/result", "GET, POST"),
    ],
)
def test_what_an_address_takes_is_said(calm: httpx.Client, method: str, path: str, allowed: str) -> None:
    """A program would not learn what it may do instead."""
    answer = calm.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed


def test_messages_name_no_folders(tmp_path: Path) -> None:
    """Visitors would learn where things lie on the server."""
    home = tmp_path / "a home"
    store = fill(home / "store", 1, 40)
    store.add(answers(1, 0.4, 20)[0], round="2020-w01", question="defect", origin="/home/ann/may.csv")
    with visiting(Settings(str(home / "store"))) as client:
        listed = {row["round"]: row["source"] for row in client.get("/api/v1/rounds").json()["rounds"]}
        assert listed["2020-w01"] == "may.csv"
        os.rename(home / "store", home / "away")
        for path in ("/", "/api/v1/rounds"):
            said = client.get(path)
            assert said.status_code == 503
            assert str(tmp_path) not in said.text
            assert "a home" not in said.text
            assert "store" in said.text


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("/srv/data/x.csv is empty", "x.csv is empty"),
        ("'/srv/data/x.csv': no", "'x.csv': no"),
        ("see /srv/data/", "see the server's folder"),
        ("the round '../../etc/passwd' is not there", "the round '../../etc/passwd' is not there"),
        ("s3://bucket/evals/x is not there", "s3://bucket/evals/x is not there"),
        ("1/2 of 3/4/5", "1/2 of 3/4/5"),
        ("/my place/evals/rounds is gone", "evals/rounds is gone"),
    ],
)
def test_folders_go_and_names_stay(message: str, said: str) -> None:
    """A message would lose what it is about."""
    hide("/my place/evals")
    assert problem_document(hero.errors.Problem("E103", message))["message"] == said


def test_folders_of_the_dead_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk would fill with uploads of servers that were killed; or a living one would lose its own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    living, dead = Scratch(), tmp_path / "hero-uploads-dead"
    kept = living.folder("upload")
    dead.mkdir()
    (dead / "lock").touch()
    (dead / "labels.csv").touch()
    old, fresh = tmp_path / "hero-uploads-old", tmp_path / "hero-uploads-fresh"
    for one in (old, fresh):
        one.mkdir()
    os.utime(old, (0, 0))
    (tmp_path / "hero-uploads-link").symlink_to(tmp_path)
    assert sweep() == 2
    assert kept.is_dir()
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        [kept.parent.name, "hero-uploads-fresh", "hero-uploads-link"]
    )
    living.close()
    assert not kept.exists()


def test_a_killed_server_leaves_nothing_for_long(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What people uploaded would stay on the disk, and its processes at work."""
    env = {**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-m", "hero_eval.cli.main", "serve", "--store", str(place), "--port", "0"]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stderr is not None
    try:
        found = re.search(r"http://\S+?/(?=\s)", process.stderr.readline())
        assert found
        with client_of(found[0]) as client:
            sent = send(client, "a.csv", LABELS).json()
            when_there(client, "/api/v1/upload", params={"id": sent["id"]})
        children = _children(process.pid)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
    assert list(tmp_path.glob("hero-uploads-*/*/a.csv"))
    assert children
    wait(lambda: all(is_gone(one) for one in children))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with visiting(Settings(str(place))):
        assert not list(tmp_path.glob("hero-uploads-*/*/a.csv"))


def _children(pid: int) -> list[int]:
    told = [one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(one) for one in " ".join(told).split()]


def test_a_file_that_is_added_is_added_once(site: httpx.Client, place: Path) -> None:
    """Whoever looks at the page of a file that came in would add it again, or could not find its round."""
    fields = {"form_token": FORM_TOKEN.findall(site.get("/upload").text)[0], "round": "2021-w01", "question": "late"}
    sent = site.post("/upload", data=fields, files={"file": ("labels.csv", LABELS)})
    id = sent.headers["location"].rpartition("=")[2]
    assert "This adds round 2021-w01" in page_when_there(site, sent.headers["location"])
    before = hero.open_store(place).version
    looked = site.get("/upload/adding", params={"id": id})
    assert looked.headers["location"] == f"/upload/preview?id={id}"
    assert hero.open_store(place).version == before
    site.post("/upload/confirm", data={**fields, "id": id})
    wait(lambda: site.get("/upload/adding", params={"id": id}).status_code == 303)
    assert site.get("/upload/adding", params={"id": id}).headers["location"] == "/round?name=2021-w01"
    assert hero.open_store(place).version == before + 1
