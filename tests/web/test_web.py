"""The page: what it shows is what the library says, nobody comes in who should not, and nothing leaves the store."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from page_text import PageText
from typer.testing import CliRunner
from web_server import PATIENCE, client_of, page_when_there, served, visiting, when_there
from web_store import HOSTILE, SCRIPT, add_hostile, answers, csv_of, fill

import hero_eval as hero
from hero_eval.cli.main import app as command
from hero_eval.web import queue, uploads
from hero_eval.web.forms import about_from
from hero_eval.web.queue import JobQueue, Order, Results
from hero_eval.web.security import HEADERS
from hero_eval.web.settings import MEGABYTE, Settings
from hero_eval.web.verdict import chance_of, in_order, sureness, verdict

pytestmark = pytest.mark.slow  # a server or a site is made first

TOKEN = "0123456789abcdef0123"
PAGES = ("/", "/models", "/leaderboard", "/labelers", "/backtest", "/upload", "/work", "/api")
SHOWN = (
    "/",
    "/round?name=2026-w46",
    "/models?baseline=2026-w44",
    "/leaderboard?question=defect&better=low",
    "/labelers",
    "/backtest",
)


class Read(PageText):
    """The text and the tags of a page; nothing on it may run by itself."""

    def see(self, tag: str, given: dict[str, str | None]) -> None:
        assert tag != "script" or given.get("src") == "/static/page.js"
        assert not [name for name in given if name.startswith("on") or name == "style"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "store"
    fill(folder)
    return folder


@pytest.fixture(scope="module")
def site(place: Path) -> Iterator[httpx.Client]:
    with served(place) as client:
        yield client


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("empty") / "store"
    hero.create_store(folder)
    with visiting(Settings(str(folder), max_upload=100_000)) as client:
        yield client


def form_token(page: str) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]+)"', page)
    assert found
    return found[1]


# What is shown


def test_the_server_gets_ready_before_anybody_asks(site: httpx.Client) -> None:
    """Who opens the first view would wait for the drawing engine to load, too."""
    end, state = time.monotonic() + PATIENCE, "waiting"
    while state in ("waiting", "running"):
        assert time.monotonic() < end
        state = next(one["state"] for one in site.get("/api/v1/jobs").json()["jobs"] if one["kind"] == "ready")
        time.sleep(0.1)
    assert state == "done"


def test_a_round_says_what_the_library_says(site: httpx.Client, place: Path) -> None:
    """The page would show another number than `hero estimate --round`, and nobody could say which holds."""
    found = when_there(site, "/api/v1/round/result", params={"name": "2026-w46"}).json()
    store = hero.open_store(place)
    wanted = hero.estimate_rate(store.round("2026-w46"), store.history("2026-w46"))
    assert found["estimate"]["value"] == wanted.value
    assert (found["estimate"]["low"], found["estimate"]["high"]) == wanted.interval()
    assert {row["name"] for row in found["methods"]} >= {"majority_vote", "hero1", wanted.method}
    assert [one["code"] for one in found["findings"]][:1] == [wanted.findings[0].code]
    assert all(one["action"] for one in found["findings"])
    page = Read(page_when_there(site, "/round?name=2026-w46")).text
    assert f"{100 * wanted.value:.1f}%" in page
    assert "All methods side by side" in page
    assert "What to do:" in page
    for labeler in ("ann", "judge-a"):
        assert labeler in page


def test_what_was_estimated_is_recorded_and_listed(site: httpx.Client, place: Path) -> None:
    """After a restart every number would have to be worked out again."""
    found = when_there(site, "/api/v1/round/result", params={"name": "2026-w46"}).json()
    assert found["recorded"] in {row["estimate"] for row in hero.open_store(place).estimates()}
    listed = {row["round"]: row for row in site.get("/api/v1/rounds").json()["rounds"]}
    assert listed["2026-w46"]["headline"]["value"] == found["estimate"]["value"]
    assert f"{100 * found['estimate']['value']:.1f}%" in Read(site.get("/").text).text
    recorded = hero.open_store(place).reproduce(found["recorded"])
    assert recorded.result.value == found["estimate"]["value"]


def test_other_options_are_other_numbers(site: httpx.Client) -> None:
    """The form below a result would change nothing."""
    asked = {"name": "2026-w46", "method": "majority_vote", "level": 0.8}
    found = when_there(site, "/api/v1/round/result", params=asked).json()
    assert found["estimate"]["method"] == "majority_vote"
    assert found["estimate"]["level"] == 0.8
    page = page_when_there(site, "/round?name=2026-w46&method=majority_vote&level=0.8")
    assert "80% interval" in page


def test_a_round_has_one_number(site: httpx.Client, place: Path) -> None:
    """A round showed 33.5% on one page and 37.1% on another."""
    found = when_there(site, "/api/v1/models", params={"baseline": "2026-w44"}).json()
    store = hero.open_store(place)
    for row in found["models"]:
        own = when_there(site, "/api/v1/round/result", params={"name": row["round"]}).json()
        assert {key: row[key] for key in ("value", "low", "high", "method")} == {
            key: own["estimate"][key] for key in ("value", "low", "high", "method")
        }
        assert row["history"] == own["history"]
        assert row["value"] == pytest.approx(store.estimate(row["round"]).result.value, abs=1e-12)
    page = Read(page_when_there(site, "/models?baseline=2026-w44")).text
    assert "no round before it" in page
    assert "by 2 rounds before it" in page
    assert "need not be the difference of the two numbers" in page


def test_models_are_compared_by_one_history(site: httpx.Client, place: Path) -> None:
    """The reader would be told the wrong winner, or a wrong chance."""
    found = when_there(site, "/api/v1/models", params={"baseline": "2026-w44"}).json()
    rows = {row["model"]: row for row in found["models"]}
    assert set(rows) == {"v5", "v6", "v7"}
    gap = rows["v7"]["difference"]
    assert gap["high"] < 0
    store = hero.open_store(place)
    history = [store.round(name) for name in found["history"] if name not in ("2026-w46", "2026-w44")]
    wanted = hero.estimate_difference(store.round("2026-w46"), store.round("2026-w44"), history)
    assert gap["value"] == pytest.approx(wanted.value, abs=1e-9)
    assert (gap["low"], gap["high"]) == pytest.approx(wanted.interval(), abs=1e-9)
    assert found["leaders"]["low"]["first"] == "v7"
    # the one past round that is left does not fit the labels of the careless week: no winner is named
    assert {one["code"] for one in rows["v7"]["undecided"]} == {one.code for one in wanted.doubts} == {"F205"}
    assert rows["v7"]["chance_higher"] is None
    assert not found["leaders"]["low"]["is_clear"]
    page = Read(page_when_there(site, "/models?better=low&baseline=2026-w44")).text
    assert "v7 is best" not in page
    assert "chance to be better" in page
    assert "without the two that are compared" in page


def test_which_way_is_good_is_asked_and_remembered(site: httpx.Client) -> None:
    """A rate of defects would be praised for being high, or the reader would have to say so again on every visit."""
    with client_of(str(site.base_url)) as client:
        page = page_when_there(client, "/models?baseline=2026-w44")
        assert "chance to be higher" in page
        page_when_there(client, "/models?baseline=2026-w44&better=low")
        assert "chance to be better" in page_when_there(client, "/models?baseline=2026-w44")


def test_labelers_show_who_drifts(site: httpx.Client) -> None:
    """A judge that went bad would go on being believed."""
    found = when_there(site, "/api/v1/labelers").json()
    assert [row["labeler"] for row in found["labelers"] if row["drifts"]] == ["vendor-7"]
    assert found["labelers"][0]["labeler"] == "vendor-7"
    judge = next(row for row in found["labelers"] if row["labeler"] == "judge-a")
    assert (judge["kind"], judge["model"], judge["prompt"]) == ("judge", "gpt-x", "p1")
    assert found["skipped"] == {"2026-w46": "no gold"}
    page = Read(page_when_there(site, "/labelers")).text
    assert "1 of 6 labelers changed" in page
    assert "▲ drifts" in page


def test_the_backtest_is_the_librarys(site: httpx.Client, place: Path) -> None:
    """The page would recommend another method than `hero.backtest`."""
    found = when_there(site, "/api/v1/backtest").json()
    store = hero.open_store(place)
    wanted = hero.backtest([store.read(row) for row in store.rounds()])
    assert found["best"] == wanted.best
    assert {row["method"]: row["score"] for row in found["methods"]} == {
        name: one.score for name, one in wanted.methods.items()
    }
    assert f"Take {wanted.best}." in Read(page_when_there(site, "/backtest")).text


def test_the_leaderboard_is_the_librarys(site: httpx.Client, place: Path) -> None:
    """The page would rank models otherwise than `hero.rank` and `hero rank --store`."""
    found = when_there(site, "/api/v1/leaderboard", params={"question": "defect", "best": "lowest"}).json()
    store = hero.open_store(place)
    read = {row.round: store.read(row) for row in store.rounds() if row.question == "defect"}
    models = {"v5": read["2026-w42"], "v6": read["2026-w44"], "v7": read["2026-w46"]}
    wanted = hero.rank(models, [models["v5"], models["v6"]], best="lowest")
    rows = [{key: one for key, one in row.items() if key not in ("round", "date")} for row in found["models"]]
    whole = wanted.to_dict()
    assert (rows, found["differences"]) == (whole["models"], whole["differences"])
    assert (found["groups"], found["method"], found["best"]) == (wanted.groups(), wanted.method, "lowest")
    assert [one["code"] for one in found["findings"]] == [one.code for one in wanted.findings]
    assert found["history"] == ["2026-w42", "2026-w44"]
    assert not found["history_is_apart"]  # no other round has gold
    page = Read(page_when_there(site, "/leaderboard?question=defect&better=low")).text
    assert found["answer"] in page
    assert "v6 − v5" in page
    for row in found["models"]:
        assert f"{100 * row['value']:.1f}%" in page or f"{100 * row['value']:.0f}%" in page


def test_the_leaderboard_of_a_day_counts_the_rounds_up_to_it(site: httpx.Client) -> None:
    """Nobody could see who led before the newest round came, or it would be told by rounds that came later."""
    asked = {"question": "defect", "until": "2026-11-08"}
    found = when_there(site, "/api/v1/leaderboard", params=asked).json()
    assert sorted(row["model"] for row in found["models"]) == ["v5", "v6"]
    assert "2026-w46" not in found["history"]
    text = Read(site.get("/leaderboard", params={"question": "defect", "until": "2026-10-20"}).text).text
    assert "Nothing to rank yet" in text
    assert "rounds of v5 up to 2026-10-20" in text
    refused = site.get("/api/v1/leaderboard", params={"question": "defect", "until": "2026-10-20"})
    assert (refused.status_code, refused.json()["code"]) == (422, "E230")
    for path in ("/leaderboard", "/download?of=leaderboard&file=leaderboard.csv"):
        wrong = site.get(path, params={**dict(httpx.URL(path).params), "until": "soon"})
        assert wrong.status_code == 422
        assert "E201" in wrong.text


@pytest.mark.parametrize(
    ("of", "files"),
    [
        ("rounds", ["rounds.csv", "rounds.json"]),
        (
            "round&name=2026-w46",
            ["report.html", "report.md", "report.json", "round.json", "methods.csv", "labelers.csv", "methods.svg"],
        ),
        ("models&baseline=2026-w44", ["models.csv", "models.json", "models.svg", "differences.svg"]),
        ("labelers", ["labelers.csv", "labelers.json", "over-time.svg", "over-time.csv"]),
        ("backtest", ["methods.csv", "plays.csv", "backtest.json", "backtest.svg"]),
        (
            "leaderboard&question=defect&better=low",
            ["leaderboard.csv", "differences.csv", "leaderboard.json", "ranks.svg", "ranks.csv"],
        ),
    ],
)
def test_everything_shown_can_be_taken_away(site: httpx.Client, of: str, files: list[str]) -> None:
    """Somebody would have to copy numbers off the screen."""
    for file in files:
        answer = site.get(f"/download?of={of}&file={file}")
        if answer.status_code == 303:  # to the page on which one can ask for it
            page_when_there(site, answer.headers["location"])
            answer = site.get(f"/download?of={of}&file={file}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["content-security-policy"]
        assert len(answer.text) > 40
        if file.endswith(".json"):
            json.loads(answer.text)
        if file.endswith(".svg"):
            assert answer.text.startswith("<svg")


def test_every_download_on_a_page_is_there(site: httpx.Client) -> None:
    """A link would lead to an error."""
    for path in SHOWN:
        page = page_when_there(site, path)
        found = [unescape(link) for link in re.findall(r'href="(/download[^"]+)"', page)]
        assert found
        for link in found:
            assert site.get(link).status_code == 200, link


def test_a_view_reads_no_labels(site: httpx.Client, place: Path) -> None:
    """Pages over a store of a hundred million labels would take minutes."""
    for path in SHOWN:
        page_when_there(site, path)
    os.rename(place / "labels", place / "elsewhere")
    try:
        for path in SHOWN:
            answer = site.get(path)
            assert answer.status_code == 200
            assert "data-job" not in answer.text
    finally:
        os.rename(place / "elsewhere", place / "labels")


def test_a_change_of_the_store_is_seen_at_once(site: httpx.Client, place: Path) -> None:
    """The page would go on showing numbers of yesterday's labels; or forget all of them for one new round."""
    store = hero.open_store(place)
    for number, name in enumerate(("2019-w01", "2019-w03")):
        labels, gold = answers(number, 0.3, 60)
        store.add(labels, round=name, gold=gold, question="change")
    asked = {"name": "2019-w03", "method": "hero1"}
    before = when_there(site, "/api/v1/round/result", params=asked).json()
    store.add(answers(2, 0.3, 60)[0], round="2019-w05", question="change")
    assert "2019-w05" in site.get("/").text
    again = site.get("/api/v1/round/result", params=asked)
    assert (again.status_code, again.json()) == (200, before)
    store.add(answers(3, 0.5, 60)[0], round="2019-w02", question="change")
    after = when_there(site, "/api/v1/round/result", params=asked).json()
    assert after["history"] == ["2019-w01", "2019-w02"]
    assert after["estimate"]["value"] != before["estimate"]["value"]
    store.remove("2019-w01")
    lost = when_there(site, "/api/v1/round/result", params=asked).json()
    assert lost["history"] == ["2019-w02"]
    assert lost["estimate"]["n_gold_history"] == 0
    assert lost["estimate"]["value"] != after["estimate"]["value"]


# Nothing there yet


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_store_says_what_to_do(empty: httpx.Client, path: str) -> None:
    """The first thing that a team sees would be an error or a blank page."""
    answer = empty.get(path)
    assert answer.status_code == 200
    read = Read(answer.text)
    assert "Add a round" in read.text
    if path in ("/", "/models", "/leaderboard", "/labelers", "/backtest"):
        assert 'href="/upload"' in answer.text


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nowhere", 404, "E507"),
        ("/static/../app.py", 404, "E507"),
        ("/static/app.py", 404, "E507"),
        ("/round?name=no", 404, "E403"),
        ("/round?name=../../etc/passwd", 404, "E403"),
        ("/round", 422, "E508"),
        ("/round?name=no&level=7", 422, "E508"),
        ("/models?question=no", 404, "E403"),
        ("/labelers?question=no", 404, "E403"),
        ("/backtest?question=no", 404, "E403"),
        ("/leaderboard?question=no", 404, "E403"),
        ("/upload/preview?id=no", 404, "E506"),
        ("/download?of=no&file=x", 404, "E507"),
        ("/download?of=rounds&file=../x", 404, "E507"),
    ],
)
def test_what_is_not_there_is_said_with_a_remedy(empty: httpx.Client, path: str, status: int, code: str) -> None:
    """A wrong link would end in a traceback, or in words that do not help."""
    answer = empty.get(path)
    assert answer.status_code == status
    read = Read(answer.text)
    assert code in read.text
    assert "What to do:" in read.text
    if not path.startswith(("/static", "/nowhere", "/upload", "/download")):
        name, _, query = path[1:].partition("?")
        wanted = f"/api/v1/{name}{'/result' if name == 'round' else ''}?{query}"
        said = empty.get(wanted)
        assert said.status_code == status
        assert set(said.json()) == {"code", "message", "remedy", "problems"}
        assert said.json()["code"] == code


def test_a_mistake_of_the_server_is_not_told_to_strangers(empty: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback with paths and code would be sent to the browser."""
    monkeypatch.setattr("hero_eval.web.snapshot.LatestSnapshot.now", lambda _: 1 / 0)
    for path in ("/", "/api/v1/rounds"):
        answer = empty.get(path)
        assert answer.status_code == 500
        assert "E511" in answer.text
        assert "ZeroDivision" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"


# Who may come in


@pytest.mark.parametrize("path", [*PAGES, "/nowhere", "/api/v1/rounds", "/api/openapi.json", "/static/page.js"])
def test_every_answer_carries_the_headers(empty: httpx.Client, path: str) -> None:
    """A page could be framed, sniffed, or run a script that came with the data."""
    answer = empty.get(path)
    for name, value in HEADERS.items():
        if name != "Cache-Control" or not path.startswith("/static"):
            assert answer.headers[name] == value
    assert "unsafe-inline" not in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "192.168.1.5", "", "127.0.0.1.evil.example"])
def test_names_that_are_not_ours_are_refused(empty: httpx.Client, host: str) -> None:
    """A site could point its own name at this machine and read the store through a visitor's browser."""
    for path in ("/", "/api/v1/rounds", "/static/page.js"):
        answer = empty.get(path, headers={"host": host})
        assert answer.status_code == 403
        assert "E503" in answer.text
    for ours in ("localhost:99", "[::1]:8000", "127.0.0.1"):
        assert empty.get("/", headers={"host": ours}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_sites_change_nothing(empty: httpx.Client, headers: dict[str, str]) -> None:
    """A page somewhere else could add rounds through a visitor's browser."""
    file = {"file": ("a.csv", b"item,labeler,label\na,b,1\n")}
    answer = empty.post("/api/v1/uploads", files=file, data={"round": "r"}, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["code"] == "E503"


@pytest.mark.parametrize(
    "path", ["/upload", "/upload/change", "/upload/confirm", "/upload/drop", "/retry", "/estimate"]
)
def test_forms_must_be_ours(empty: httpx.Client, path: str) -> None:
    """A form that somebody else wrote would be taken for ours."""
    empty.get("/upload")
    fields = {"id": "x", "back": "/", "question": "x", "round": "r", "form_token": "0" * 64}
    answer = empty.post(path, data=fields)
    assert answer.status_code == 403
    assert "E503" in answer.text


def test_an_open_address_demands_a_token(tmp_path: Path) -> None:
    """The whole network could read and write the store."""
    hero.create_store(tmp_path / "store")
    for options, code in (
        (["--host", "0.0.0.0"], "E501"),
        (["--host", "0.0.0.0", "--token", "short"], "E501"),
        (["--host", "::"], "E501"),
        (["--max-upload", "0"], "E201"),
        (["--processes", "0"], "E201"),
    ):
        done = CliRunner().invoke(command, ["serve", "--store", str(tmp_path / "store"), *options])
        assert done.exit_code == 2, done.output
        assert code in done.output


def test_a_taken_address_and_a_missing_store_are_said(tmp_path: Path, site: httpx.Client) -> None:
    """A traceback of sockets would stand where a remedy should."""
    done = CliRunner().invoke(command, ["serve", "--store", str(tmp_path / "none")])
    assert done.exit_code == 2
    assert "E401" in done.output
    hero.create_store(tmp_path / "store")
    taken = str(site.base_url.port)
    done = CliRunner().invoke(command, ["serve", "--store", str(tmp_path / "store"), "--port", taken])
    assert done.exit_code == 2
    assert "E512" in done.output


def test_the_command_hands_on_what_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option of the server would change nothing, or something else."""
    told: list[Settings] = []
    monkeypatch.setattr("hero_eval.web.serving.serve", lambda settings, _: told.append(settings))
    asked = {
        "--host": "0.0.0.0",
        "--port": "81",
        "--token": TOKEN,
        "--max-upload": "3",
        "--processes": "5",
        "--max-memory": "700",
        "--max-seconds": "60",
        "--public-url": "https://team.example",
        "--proxy-headers": "10.0.0.1, 10.0.0.2",
        "--gold-token": TOKEN[::-1],
        "--images": str(tmp_path / "pictures"),
    }
    for options in ([], ["--no-save", *(word for pair in asked.items() for word in pair)]):
        done = CliRunner().invoke(command, ["serve", "--store", str(tmp_path / "store"), *options])
        assert done.exit_code == 0, done.output
    plain, whole = told
    assert plain == Settings(str(tmp_path / "store"))
    assert whole == Settings(
        str(tmp_path / "store"),
        host="0.0.0.0",
        port=81,
        token=TOKEN,
        max_upload=3 * MEGABYTE,
        processes=5,
        save=False,
        memory=700 * MEGABYTE,
        seconds=60.0,
        public_url="https://team.example",
        proxies=("10.0.0.1", "10.0.0.2"),
        gold_token=TOKEN[::-1],
        images=str(tmp_path / "pictures"),
    )


def test_packages_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever installed the package alone would see a traceback of imports."""
    monkeypatch.setattr("hero_eval.web.serving.find_spec", lambda name: None if name == "fastapi" else name)
    done = CliRunner().invoke(command, ["serve", "--store", str(tmp_path)])
    assert done.exit_code == 2
    assert "E410" in done.output
    assert "hero-eval[web]" in done.output


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[httpx.Client]:
    hero.create_store(tmp_path / "store")
    settings = Settings(str(tmp_path / "store"), host="0.0.0.0", token=TOKEN)
    with visiting(settings, headers={"host": "team.example"}) as client:
        yield client


def test_without_the_token_nothing_is_seen(locked: httpx.Client) -> None:
    """Strangers would read the store."""
    for path in ("/", "/upload", "/download?of=rounds&file=rounds.csv", "/api"):
        answer = locked.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?next=")
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}, {"cookie": f"hero_login={TOKEN}"}):
        for path in ("/api/v1/rounds", "/api/openapi.json"):
            answer = locked.get(path, headers=headers)
            assert answer.status_code == 401
            assert answer.json()["code"] == "E502"
            assert answer.headers["www-authenticate"] == "Bearer"
    assert locked.post("/upload").status_code == 401
    assert locked.get("/api/v1/rounds", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_logging_in_and_out(locked: httpx.Client) -> None:
    """People could not come in by a browser, or stay in when they leave."""
    page = locked.get("/login?next=/models").text
    fields = {"form_token": form_token(page), "next": "/models", "token": "wrong-wrong-wrong"}
    wrong = locked.post("/login", data=fields)
    assert wrong.status_code == 401
    assert "E502" in wrong.text
    right = locked.post("/login", data={**fields, "token": TOKEN})
    assert (right.status_code, right.headers["location"]) == (303, "/models")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert TOKEN not in cookie
    page = locked.get("/").text
    assert "Log out" in page
    locked.post("/logout", data={"form_token": form_token(page)})
    assert locked.get("/").status_code == 303


@pytest.mark.parametrize("next", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_logging_in_leads_nowhere_else(locked: httpx.Client, next: str) -> None:
    """A link could send whoever logs in to another site."""
    page = locked.get("/login", params={"next": next}).text
    answer = locked.post("/login", data={"form_token": form_token(page), "next": next, "token": TOKEN})
    assert answer.headers["location"] == "/"


# Uploads


def send(client: Any, name: str, body: bytes | str, **about: str) -> Any:
    data = {"round": "2027-w01", "question": "defect", **about}
    return client.post("/api/v1/uploads", files={"file": (name, body)}, data=data)


def test_a_file_is_shown_then_added(site: httpx.Client, place: Path) -> None:
    """A team could not get its rounds in, or would not see beforehand what it adds."""
    store = hero.open_store(place)
    labels, gold = answers(1, 0.4, 60)
    fields = {"form_token": form_token(site.get("/upload").text), "round": "2020-w01", "question": "new", "model": "v9"}
    sent = site.post("/upload", data=fields, files={"file": ("labels.csv", csv_of(labels))})
    assert sent.status_code == 303, sent.text
    preview = page_when_there(site, sent.headers["location"])
    read = Read(preview).text
    assert "This adds round 2020-w01: 60 items, 180 labels, 0 gold." in read
    assert "Nothing was changed yet" in read
    assert "2020-w01" not in [row.round for row in store.rounds()]
    id = sent.headers["location"].rpartition("=")[2]
    done = site.post("/upload/confirm", data={"form_token": form_token(preview), "id": id})
    assert done.status_code == 303
    end = time.monotonic() + PATIENCE
    while "data-job" in (answer := site.get(done.headers["location"])).text:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert answer.headers["location"] == "/round?name=2020-w01"
    added = store.find("2020-w01")
    assert (added.labels, added.model, added.source, added.question) == (180, "v9", "labels.csv", "new")
    late = send(site, "late.csv", csv_of(gold), round="2020-w01", question="new").json()
    seen = when_there(site, "/api/v1/upload", params={"id": late["id"]}).json()
    assert seen["would"]["merged"]
    assert seen["would"]["gold"] == gold.num_rows
    when_there(site, "/api/v1/upload/confirm", "POST", params={"id": late["id"]})
    assert store.find("2020-w01").gold == gold.num_rows


@pytest.mark.parametrize(
    ("name", "body", "about", "code"),
    [
        ("bad.csv", "item,labeler,label\na,ann,1\na,ann,0\n", {}, "E108"),
        ("bad.csv", "a,b\n1,2\n", {}, "E104"),
        ("bad.csv", "", {}, "E102"),
        ("bad.json", "{", {}, "E103"),
        ("bad.csv.gz", "this is not gzip", {}, "E103"),
        ("good.csv", "item,labeler,label\na,ann,1\n", {"question": "  ", "round": "no\nname"}, "E201"),
        ("good.csv", "item,labeler,label\na,ann,1\n", {"date": "yesterday"}, "E201"),
        ("good.csv", "item,labeler,label\np001,ann,1\n", {"round": "2026-w46", "question": "other"}, "E404"),
    ],
)
def test_what_stands_in_the_way_is_shown_and_nothing_is_added(
    site: httpx.Client, place: Path, name: str, body: str, about: dict[str, str], code: str
) -> None:
    """A damaged file would get in, or its owner would not learn what is wrong with it."""
    before = hero.open_store(place).version
    sent = send(site, name, body, **about).json()
    seen = when_there(site, "/api/v1/upload", params={"id": sent["id"]}).json()
    assert {one["code"] for one in seen["problems"]} == {code}
    assert not seen["ready"]
    assert "hero-uploads" not in json.dumps(seen)
    assert code in Read(page_when_there(site, f"/upload/preview?id={sent['id']}")).text
    failed = when_there(site, "/api/v1/upload/confirm", "POST", params={"id": sent["id"]})
    assert (failed.json()["code"], failed.status_code) == (code, 409 if code == "E404" else 422)
    assert hero.open_store(place).version == before


def test_what_was_said_of_a_file_can_be_changed(empty: httpx.Client) -> None:
    """Whoever forgot the model would have to upload the file again."""
    page = empty.get("/upload").text
    fields = {"form_token": form_token(page), "round": "one"}
    sent = empty.post("/upload", data=fields, files={"file": ("a.csv", b"item,labeler,label\na,b,1\n")})
    id = sent.headers["location"].rpartition("=")[2]
    said = {**fields, "id": id, "round": "two", "model": "v2", "columns": "labeler=rater, label=score"}
    assert empty.post("/upload/change", data=said).status_code == 303
    page = empty.get(sent.headers["location"]).text
    assert "Reading a.csv" in page
    assert empty.post("/upload/drop", data={**fields, "id": id}).status_code == 303
    assert empty.get(sent.headers["location"]).status_code == 404


def test_lists_in_forms_are_read_as_on_the_command_line() -> None:
    """A class with a comma in its name could not be said, and an empty one would be lost without a word."""
    said = {"classes": '"no, never", yes', "columns": "labeler=rater, label=score", "fields": " "}
    about = {"classes": ["no, never", "yes"], "columns": {"labeler": "rater", "label": "score"}}
    assert about_from(said) == about
    for wrong in ({"classes": "no,,yes"}, {"columns": "labeler"}, {"columns": "labeler=a, labeler=b"}):
        with pytest.raises(hero.InputError) as caught:
            about_from(wrong)
        assert caught.value.code == "E201"


@pytest.mark.parametrize(
    ("name", "code"),
    [("a.exe", 415), ("a.csv.exe", 415), ("a", 415), (".csv", 201), ("../../a.csv", 201), ("a.JSONL", 201)],
)
def test_kinds_of_files(empty: httpx.Client, name: str, code: int) -> None:
    """Anything could be put on the server's disk, under any name."""
    assert send(empty, name, b"item,labeler,label\n").status_code == code


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd.csv", "..\\..\\a.csv", "a/b.csv", "\x00.csv", "é😀.csv", "-.csv"]
)
def test_names_of_files_stay_names(name: str) -> None:
    """A file could be written outside the upload folder."""
    assert re.fullmatch(r"[a-z0-9_-]+\.csv", uploads.safe_name(name))


def test_too_much_is_refused_early(empty: httpx.Client) -> None:
    """One upload could fill the disk or the memory."""
    large = send(empty, "a.csv", b"x" * 100_001)
    assert (large.status_code, large.json()["code"]) == (413, "E504")
    assert empty.post("/retry", content=b"x" * 2_000_000).status_code == 413
    pieces = []

    def endless() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        for _ in range(1000):
            pieces.append(100_000)
            yield b"x" * 100_000

    kind = {"content-type": "multipart/form-data; boundary=b"}
    with suppress(httpx.TransportError):  # the server may hang up first
        assert empty.post("/api/v1/uploads", content=endless(), headers=kind).status_code == 413
    assert len(pieces) < 900


def test_only_so_many_uploads_arrive_at_once(empty: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many uploads at the same moment could fill the disk together."""
    monkeypatch.setattr("hero_eval.web.bodies.MOST_ARRIVING", 0)
    answer = send(empty, "a.csv", b"item,labeler,label\n")
    assert (answer.status_code, answer.json()["code"]) == (429, "E509")
    assert empty.get("/upload").status_code == 200


def test_another_store_in_its_place_is_seen(tmp_path: Path) -> None:
    """The server would go on showing a store that somebody moved away, or made anew."""
    fill(tmp_path / "store", 1, 40)
    with visiting(Settings(str(tmp_path / "store"))) as client:
        assert "2026-w46" in client.get("/").text
        os.rename(tmp_path / "store", tmp_path / "away")
        gone = client.get("/api/v1/rounds")
        assert gone.status_code == 503
        assert gone.json()["code"] in ("E401", "E406")
        hero.create_store(tmp_path / "store")
        assert "Nothing here yet" in client.get("/").text
        os.rename(tmp_path / "store", tmp_path / "other")
        os.rename(tmp_path / "away", tmp_path / "store")
        assert "2026-w46" in client.get("/").text


def test_only_so_many_uploads_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that nobody confirms would pile up."""
    kept = uploads.Uploads(1000)
    made = [kept.take("a.csv", io.BytesIO(b"x"), {}) for _ in range(uploads.MOST_PENDING + 3)]
    assert [one.path.exists() for one in made] == [False] * 3 + [True] * uploads.MOST_PENDING
    with pytest.raises(hero.InputError, match="E506"):
        kept.find(made[0].id)
    assert kept.find(made[-1].id).path.parent.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(uploads, "KEPT_FOR", -1.0)
    with pytest.raises(hero.InputError, match="E506"):
        kept.find(made[-1].id)
    kept.close()
    assert not made[-1].path.exists()


# Hostile names


def test_hostile_names_are_text_and_files_stay_in_the_store(site: httpx.Client, place: Path) -> None:
    """Whoever names a labeler, an item, a round or a model could run a script, or write somewhere else."""
    around = sorted(path.name for path in (*place.parent.iterdir(), *place.parent.parent.iterdir()))
    rounds = add_hostile(hero.open_store(place))
    asked = [("/round", {"name": name}) for name in rounds]
    asked += [(path, {"question": SCRIPT}) for path in ("/models", "/leaderboard", "/labelers", "/backtest")]
    texts = [Read(page_when_there(site, str(httpx.URL(path, params=of)))).text for path, of in asked]
    texts.append(Read(site.get("/").text).text)
    for name in (SCRIPT, HOSTILE[1], HOSTILE[2], HOSTILE[3], HOSTILE[4][:60]):
        assert any(name in text for text in texts), name
    for file in ("report.html", "labelers.svg"):
        answer = site.get("/download", params={"of": "round", "file": file, "name": rounds[1]})
        assert answer.status_code == 200
        assert "<script" not in answer.text
        assert re.fullmatch(r'attachment; filename="[\w.-]+"', answer.headers["content-disposition"])
    body = csv_of(answers(3, 0.4, 20)[0])
    sent = send(site, "<script>'\".csv", body, round="../../outside", date="2018-05-01", question=SCRIPT)
    when_there(site, "/api/v1/upload/confirm", "POST", params={"id": sent.json()["id"]})
    assert "../../outside" in [row["round"] for row in site.get("/api/v1/rounds").json()["rounds"]]
    assert sorted(path.name for path in (*place.parent.iterdir(), *place.parent.parent.iterdir())) == around


# Work


def wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_work_is_done_once_and_survives_a_dead_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two people who open a page would wait twice as long; a process out of memory would end the server's work."""
    hero.create_store(tmp_path / "store")
    order = Order("round", "Estimating", {"store": str(tmp_path / "store"), "version": 0, "name": "no", "options": {}})
    start, killed = queue._Process._start, []

    def start_and_die_once(process: queue._Process) -> None:
        start(process)
        if not killed:
            killed.append(process._process.pid)
            os.kill(process._process.pid, signal.SIGKILL)

    monkeypatch.setattr(queue._Process, "_start", start_and_die_once)
    jobs = JobQueue(1, 10**6)

    def code(wanted: str) -> bool:
        job = jobs.job(order.id)
        assert job is not None
        return job.is_over and [one.code for one in job.problems] == [wanted]

    try:
        first, _ = jobs.ask(order)
        assert jobs.ask(order)[0].id == first.id
        wait(lambda: code("E510"))
        assert jobs.ask(order)[0].state == "failed"
        jobs.forget(order.id)
        assert jobs.ask(order)[0].state == "waiting"
        wait(lambda: code("E403"))
    finally:
        jobs.close()


def test_the_queue_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand clicks would keep the server busy for days."""
    monkeypatch.setattr(JobQueue, "_start", lambda *_: None)
    jobs = JobQueue(1, 10**6)
    for number in range(queue.MOST_WAITING):
        jobs.ask(Order("round", "", {"number": number}), f"client {number % 4}")
    with pytest.raises(hero.InputError, match="E509"):
        jobs.ask(Order("round", "", {"number": -1}), "client 5")
    assert len(jobs.jobs()) == queue.MOST_WAITING


def test_results_are_bounded() -> None:
    """A server that runs for months would eat the memory."""
    kept = Results(100)
    for number in range(50):
        kept.put(str(number), number, 30)
        assert kept.size <= 100
    assert [str(number) in kept for number in (46, 47, 48, 49)] == [False, True, True, True]
    assert kept.get("47") == 47
    kept.put("50", 50, 30)
    assert "47" in kept
    assert "48" not in kept


# Words


def leader(chance: float, is_clear: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"low": 0.0, "high": 0.1, "is_clear": is_clear, "undecided": []}
    return {"first": "new", "second": "old", "chance": chance, **told}


@pytest.mark.parametrize(
    ("chance", "is_clear", "said"),
    [
        (0.99999, True, "new is better than old. That is more than 99.9% sure."),
        (0.98, True, "new is better than old. That is 98% sure."),
        (0.9, False, "new is probably better than old, but not surely: the chance is 90%."),
        (0.55, False, "new and old cannot be told apart yet: the chance that new is better is 55%, and 50%"),
    ],
)
def test_the_verdict_says_who_and_how_sure(chance: float, is_clear: bool, said: str) -> None:
    """A reader who knows no statistics could not say which model is better."""
    found = {"leaders": {"high": leader(chance, is_clear), "low": None}, "models": [{"value": 0.3}, {"value": 0.2}]}
    assert verdict(found, "high").startswith(said)
    assert "do not tell" in verdict(found, "low")
    assert "higher" in verdict(found, None)
    three = {**found, "models": [{"value": 0.1}] * 3}
    assert "name the class" in verdict({**found, "models": [{"value": None}] * 2}, "high")
    assert not is_clear or verdict(three, "high").startswith("new is best, ahead of old.")


def test_chances_and_order_follow_what_is_good() -> None:
    """The best model of a rate of faults would stand last."""
    rows = [
        {"value": 0.2, "chance_higher": 0.1},
        {"value": None, "chance_higher": None},
        {"value": 0.3, "chance_higher": 0.7},
    ]
    assert [row["value"] for row in in_order({"models": rows}, "low")] == [0.2, 0.3, None]
    assert [row["value"] for row in in_order({"models": rows}, "high")] == [0.3, 0.2, None]
    assert chance_of(rows[0], "low") == pytest.approx(0.9)
    assert chance_of(rows[0], "high") == 0.1
    assert chance_of(rows[1], "low") is None
    assert (sureness(0.0), sureness(1.0)) == ("less than 0.1%", "more than 99.9%")
