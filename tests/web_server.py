"""Servers for tests: `hero serve` as a process of its own, or the application in a thread."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import httpx
import uvicorn

from hero_eval.methods.registry import all_methods
from hero_eval.web.app import create_app
from hero_eval.web.serving import address, bound, configured
from hero_eval.web.settings import Settings

PATIENCE = 180.0


@contextmanager
def served(store: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[httpx.Client]:
    """A client of a server on a free port of this machine; the server ends with the block."""
    command = [sys.executable, "-m", "hero_eval.cli.main", "serve", "--store", str(store), "--port", "0", *options]
    known = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=known)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://\S+?/(?=\s)", said)
        assert found, said + process.stderr.read()
        with client_of(found[0]) as client:
            yield client
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stderr and process.stderr.close()


def client_of(address: str, **more: Any) -> httpx.Client:
    """A client that trusts nobody's certificates: these servers have none, and to read whom to trust takes longest."""
    return httpx.Client(base_url=address, timeout=30.0, verify=False, **more)


def when_there(client: httpx.Client, path: str, how: str = "GET", **asked: Any) -> httpx.Response:
    """The answer of the API once it is more than a job; what nobody has asked for is asked for."""
    end = time.monotonic() + PATIENCE
    while (answer := client.request(how, path, **asked)).status_code == 202 or _is_unasked(answer):
        assert time.monotonic() < end, answer.json()
        if _is_unasked(answer):
            answer = client.post(path, **asked)
        _until_over(client, [answer.json()["id"]] if answer.status_code == 202 else [], end)
    return answer


def _is_unasked(answer: httpx.Response) -> bool:
    return answer.status_code == 404 and answer.json()["code"] == "E515"


def _until_over(client: httpx.Client, jobs: list[str], end: float) -> None:
    """As the page's own script waits: whole pages, asked for again and again, would take more time than the work."""
    time.sleep(0.02)
    for id in jobs:
        while (told := client.get("/api/v1/job", params={"id": id})).status_code == 200:
            if told.json()["state"] in ("done", "failed"):
                break
            assert time.monotonic() < end, told.json()
            time.sleep(0.1)


START = re.compile(r'<form method="post" action="([^"]+)" class="start"')
FORM_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')
JOB = re.compile(r'data-job="([^"]+)"')


def page_when_there(client: httpx.Client, path: str) -> str:
    """A page once nothing on it is being worked out, with a press on each button that starts work."""
    end = time.monotonic() + PATIENCE
    while "data-job" in (text := client.get(path, follow_redirects=True).text) or "data-start" in text:
        assert time.monotonic() < end, text
        for action in START.findall(text):
            client.post(unescape(action), data={"form_token": FORM_TOKEN.findall(text)[0]})
        _until_over(client, JOB.findall(text), end)
    return text


WORK_LOADS = ("hero_eval.web.jobs", "hero_eval.web.leaderboard_jobs", "hero_eval.web.incoming")
DRAWS_AND_READS = ("hero_eval.store.store", "altair", "vl_convert", "pandas", "deltalake")
"""What every piece of work loads at last, a second for each process."""


@lru_cache(maxsize=1)
def _forked() -> Any:
    """What starts processes that work in the background, from one that has loaded what all of them load."""
    context = multiprocessing.get_context("forkserver")
    methods = [f"hero_eval.methods.{name}" for name in all_methods()]
    context.set_forkserver_preload([*WORK_LOADS, *DRAWS_AND_READS, *methods])
    return context


@contextmanager
def visiting(settings: Settings, **client: Any) -> Iterator[httpx.Client]:
    """A client of a server in a thread of this process, which takes two seconds less to start; its work in the
    background is done by processes of their own, as ever, but these start ready: those of `served` load all."""
    with patch("hero_eval.web.queue.multiprocessing", SimpleNamespace(get_context=lambda _: _forked())):
        yield from _visiting(settings, **client)


def _visiting(settings: Settings, **client: Any) -> Iterator[httpx.Client]:
    taken = bound(replace(settings, host="127.0.0.1", port=0))
    server = uvicorn.Server(configured(create_app(settings), settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        with client_of(address(taken), **client) as found:
            yield found
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        taken.close()
