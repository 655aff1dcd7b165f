"""Giving gold over HTTP: by forms and by the API, with and without a login, and with items that nobody hopes for."""

from __future__ import annotations

import csv
import re
import shutil
import struct
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from gold_store import CURRENT, HOSTILE, fill_for_gold
from web_server import FORM_TOKEN, PATIENCE, visiting, when_there

import hero_eval as hero
from hero_eval.errors import HeroError
from hero_eval.store.gold_records import ExpertQueue, read_records, write_queue
from hero_eval.web.gold_setup import proposed_columns, queue_request
from hero_eval.web.settings import Settings, checked

pytestmark = pytest.mark.slow  # a server is started, and answers are synced to the disk

TOKEN, GOLD_TOKEN = "owner-token-123456", "expert-token-123456"
CONTENTS = {"text": "Is this *fine*?", "picture": "a.png", "site": "https://example.org/page"}


def lay_out(place: Path, n_items: int = 20, contents: dict[str, Any] | None = None, **options: Any) -> ExpertQueue:
    """A queue of all items of the current round."""
    drawn = tuple(f"p{item:03d}" for item in range(n_items))
    columns = {"text": "markdown", "picture": "image", "site": "link"}
    known = {"classes": ["0", "1"], "columns": columns, "names": {"1": "bad"}, "question": "Is it bad?", "sides": None}
    shown = contents or dict.fromkeys(drawn, CONTENTS)
    queue = ExpertQueue("q1", CURRENT, "random", 0, drawn, drawn[:1], drawn, (1.0,) * n_items, known | options, shown)
    return write_queue(hero.open_store(place).place, queue)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store that tests take copies of, and the truth."""
    folder = tmp_path_factory.mktemp("built") / "store"
    return folder, fill_for_gold(folder, 20)[1]


@pytest.fixture
def place(tmp_path: Path, built: tuple[Path, dict[str, str]]) -> Path:
    shutil.copytree(built[0], tmp_path / "store")
    (tmp_path / "pictures").mkdir()
    return tmp_path / "store"


@pytest.fixture
def client(place: Path) -> Iterator[httpx.Client]:
    lay_out(place)
    with visiting(Settings(str(place), images=str(place.parent / "pictures"), save=False)) as found:
        yield found


def fields(page: str, action: str) -> dict[str, str]:
    """The hidden fields of a form."""
    form = re.search(rf'<form method="post" action="{action}".*?</form>', page, re.S)
    assert form, page
    return {name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0])}


def begin(client: httpx.Client, name: str = "eve") -> str:
    """Say a name; the page of the first item."""
    page = client.get("/gold", params={"round": CURRENT}).text
    token = FORM_TOKEN.findall(page)[0]
    said = {"round": CURRENT, "expert": name, "form_token": token}
    return client.post("/gold/name", data=said, follow_redirects=True).text


def press(client: httpx.Client, page: str, action: str, **more: str) -> str:
    """Send a form of the page; the page after it."""
    answer = client.post(action, data={**fields(page, action), **more}, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_a_whole_loop_without_a_script(client: httpx.Client, place: Path) -> None:
    """Whoever has no JavaScript, or a screen reader that dislikes it, could not give gold."""
    page = begin(client)
    assert "Is it bad?" in page
    assert "<em>fine</em>" in page
    assert "<kbd>1</kbd> bad</button>" in page
    page = press(client, page, "/gold/answer", place="1", note="a note")
    assert "Saved: p000 is bad." in page
    page = press(client, page, "/gold/skip", reason="cannot be judged")
    assert "Saved: p001 skipped." in page
    page = press(client, page, "/gold/answer", place="0")
    page = press(client, page, "/gold/undo")
    assert "Taken back: p002." in page
    assert "Item p002" in page
    done = [
        (one.action, one.item, one.gold, one.note, one.reason) for one in read_records(hero.open_store(place).place)
    ]
    assert done == [
        ("answer", "p000", "1", "a note", None),
        ("skip", "p001", None, None, "cannot be judged"),
        ("answer", "p002", "0", None, None),
        ("undo", "p002", None, None, None),
    ]
    told = list(csv.DictReader(client.get("/gold/answers.csv", params={"round": CURRENT}).text.splitlines()))
    assert [row["action"] for row in told] == ["answer", "skip", "answer", "undo"]


def test_experts_do_not_see_what_labelers_said(client: httpx.Client) -> None:
    """The expert would agree with the judge instead of judging it."""
    page = begin(client)
    for name in ("judge-a", "vendor-7", "cleo", "v7", "judge_score"):
        assert name not in page


def test_numbers_are_hidden_on_request(client: httpx.Client) -> None:
    """Whoever sees where the rate goes may help it along."""
    page = begin(client)
    assert "So far" in page
    page = press(client, page, "/gold/hide")
    assert "So far" not in page
    assert "So far" in press(client, page, "/gold/hide")


def test_a_labeler_cannot_give_gold(client: httpx.Client) -> None:
    """They would be judged by themselves."""
    assert "E521" in begin(client, "judge-a")
    assert "E521" in begin(client, " ")
    answer = client.post("/api/v1/gold/next", params={"round": CURRENT}, data={"expert": "ann"})
    assert (answer.status_code, answer.json()["code"]) == (422, "E521")


def test_forms_of_other_sites_are_refused(client: httpx.Client, place: Path) -> None:
    """Another site could answer in an expert's name."""
    page = begin(client)
    said = {**fields(page, "/gold/answer"), "place": "1"}
    for action in ("answer", "skip", "undo", "name", "queue", "hide", "leave"):
        assert client.post(f"/gold/{action}", data={**said, "form_token": "0" * 64}).status_code == 403
        foreign = {"Origin": "https://example.org"}
        assert client.post(f"/gold/{action}", data=said, headers=foreign).status_code == 403
    for call in ("answer", "skip", "undo", "next", "progress", "queue"):
        headers = {"Origin": str(client.base_url).rstrip("/")}
        assert client.post(f"/api/v1/gold/{call}", params={"round": CURRENT}, headers=headers).status_code == 403
    assert not read_records(hero.open_store(place).place)


def test_hostile_items_are_text(place: Path) -> None:
    """An item could take the page over. It is parsed as a browser does, and the policy stands besides."""
    shown = {f"p{at:03d}": {"text": text, "picture": text[:400], "site": text[:400]} for at, text in enumerate(HOSTILE)}
    lay_out(place, len(HOSTILE), shown)
    with visiting(Settings(str(place), save=False)) as client:
        page = begin(client)
        for _ in HOSTILE:
            answer = client.get("/gold", params={"round": CURRENT})
            assert "script-src 'self'" in answer.headers["content-security-policy"]
            item = page[page.index('class="item"') : page.index("<aside")]
            assert not re.search(r"<(script|svg|iframe|img|object|embed|style|link)\b|=.javascript:", item), item[:2000]
            assert item.count("<form") == 2 + ("/gold/undo" in item)
            page = press(client, page, "/gold/answer", place="0")


def test_pictures_come_from_the_folder_alone(client: httpx.Client, place: Path) -> None:
    """Items could have the server send its files, or the browser ask other hosts."""
    picture = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 10, 10) + b"\0" * 30
    (place.parent / "pictures" / "a.png").write_bytes(picture)
    page = begin(client)
    address = unescape(re.findall(r'<img class="picture" src="([^"]+)"', page)[0])
    answer = client.get(address)
    assert (answer.content, answer.headers["content-type"]) == (picture, "image/png")
    assert answer.headers["x-content-type-options"] == "nosniff"
    for asked in (
        {"item": "p000", "column": "text"},
        {"item": "../x", "column": "picture"},
        {"item": "p000", "column": "no"},
    ):
        assert client.get("/gold/image", params={"round": CURRENT, **asked}).status_code == 404


def test_two_answers_side_by_side(place: Path) -> None:
    """The page would tell which model is on the left, or count the wrong one."""
    shown = {f"p{at:03d}": {"one": "answer of A", "two": "answer of B"} for at in range(4)}
    lay_out(
        place,
        4,
        shown,
        classes=["A", "B", "tie"],
        columns={"one": "side A", "two": "side B"},
        sides={"columns": ["one", "two"], "classes": ["A", "B"]},
    )
    with visiting(Settings(str(place), save=False)) as client:
        page = begin(client)
        for _ in range(4):
            left = re.search(r"<h3>Left</h3>.*?answer of (\w)", page, re.S)
            assert left
            before = len(read_records(hero.open_store(place).place))
            page = press(client, page, "/gold/answer", place="0")
            made = read_records(hero.open_store(place).place)[before]
            assert made.gold == made.left == left[1]


def test_a_login_for_gold_alone(place: Path) -> None:
    """Experts would see the labels that they must not see, or change the store."""
    lay_out(place)
    settings = Settings(str(place), token=TOKEN, gold_token=GOLD_TOKEN, save=False)
    with visiting(settings) as client:
        assert client.get("/gold", params={"round": CURRENT}).status_code == 303
        page = client.get("/login", params={"next": "/"}).text
        said = {"token": GOLD_TOKEN, "next": "/", "form_token": FORM_TOKEN.findall(page)[0]}
        page = client.post("/login", data=said, follow_redirects=True).text
        assert "Give gold" in page
        assert "Backtest" not in page
        page = begin(client)
        press(client, page, "/gold/answer", place="1")
        closed = ("/", "/models", f"/round?name={CURRENT}", "/labelers", "/api/v1/rounds", "/goldfish", "/work")
        for path in (*closed, f"/gold/answers.csv?round={CURRENT}", f"/api/v1/gold/records?round={CURRENT}"):
            assert (client.get(path).status_code, "E520" in client.get(path).text) == (403, True), path
        assert client.get("/gold/queue", params={"round": CURRENT}).status_code == 404
    for token, status in ((TOKEN, 200), (GOLD_TOKEN, 403)):
        with visiting(settings, headers={"Authorization": f"Bearer {token}"}) as program:
            assert program.get("/api/v1/rounds").status_code == status
            assert program.post("/api/v1/gold/next", params={"round": CURRENT}, data={"expert": "x"}).status_code == 200


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("E501", {"gold_token": GOLD_TOKEN}),
        ("E501", {"token": TOKEN, "gold_token": TOKEN}),
        ("E501", {"token": TOKEN, "gold_token": "short"}),
        ("E201", {"images": "/nowhere/at/all"}),
    ],
)
def test_settings_that_mean_nothing(code: str, said: dict[str, str]) -> None:
    """A server would start that keeps nobody out."""
    with pytest.raises(HeroError, match=code):
        checked(Settings("store", **said))


def test_a_queue_is_drawn_answered_and_estimated(place: Path, built: tuple[Path, dict[str, str]]) -> None:
    """The whole loop by a program: a queue, answers, and an estimate that knows them."""
    truth = built[1]
    about = {"round": CURRENT}
    with visiting(Settings(str(place))) as client:
        assert client.get("/api/v1/gold", params=about).json()["code"] == "E522"
        assert client.post("/api/v1/gold/queue", params={**about, "count": 8, "twice": 0}).status_code == 202
        queue = when_there(client, "/api/v1/gold/queue", params=about).json()
        assert queue["items"] == 8
        seen = []
        while (
            item := client.post("/api/v1/gold/next", params=about, data={"expert": "eve"}).json()["item"]
        ) is not None:
            seen.append(item["item"])
            assert set(item["contents"]) == {"prompt", "answer"}
            said = {"expert": "eve", "id": item["id"], "item": item["item"], "gold": truth[item["item"]]}
            how = {"json": said} if len(seen) % 2 else {"data": said}  # a form or an object: the same
            assert client.post("/api/v1/gold/answer", params=about, **how).json()["gold"] == truth[item["item"]]
        assert len(set(seen)) == 8
        for body, code in (
            ([], "E508"),
            ({"expert": ["eve"]}, "E508"),
            ({}, "E508"),
            ({"expert": "x" * 20_001}, "E508"),
        ):
            refused = client.post("/api/v1/gold/next", params=about, json=body)
            assert (refused.status_code, refused.json()["code"]) == (422, code)
        broken = client.post(
            "/api/v1/gold/next", params=about, content=b"{", headers={"content-type": "application/json"}
        )
        assert broken.json()["code"] == "E508"
        client.post("/api/v1/gold/progress", params=about)
        found, end = client.get("/api/v1/gold", params=about).json(), time.monotonic() + PATIENCE
        while found["newer"] or found["progress"] is None:
            assert time.monotonic() < end, found
            time.sleep(0.2)
            found = client.get("/api/v1/gold", params=about).json()
        assert found["progress"]["from_page"] == 8
        assert 0 <= found["progress"]["low"] <= found["progress"]["value"] <= found["progress"]["high"] <= 1
        assert client.get("/api/v1/round", params={"name": CURRENT}).json()["gold"] == 8
        assert len(client.get("/api/v1/gold/records", params=about).json()["records"]) == 8
    read = hero.open_store(place).round(CURRENT)
    assert read.n_gold == 8
    assert (read.gold_probability() > 0).all()


def test_columns_are_proposed_by_name_and_type() -> None:
    """Experts would see whose answer it is, or nothing at all."""
    columns = {
        "prompt": "string",
        "model_name": "string",
        "image_path": "string",
        "source_url": "large_string",
        "length": "double",
        "judge_score": "string",
    }
    assert proposed_columns(columns) == {
        "prompt": "markdown",
        "model_name": "hidden",
        "image_path": "image",
        "source_url": "link",
        "length": "hidden",
        "judge_score": "hidden",
    }
    sides = proposed_columns({"prompt": "string", "response_a": "string", "response_b": "string"})
    assert sides == {"prompt": "markdown", "response_a": "side A", "response_b": "side B"}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("E201", {"count": "0"}),
        ("E201", {"count": "many"}),
        ("E201", {"twice": "200"}),
        ("E201", {"way": "best"}),
        ("E201", {"show a": "loud"}),
        ("E527", {"show a": "side A"}),
    ],
)
def test_what_cannot_be_drawn(code: str, said: dict[str, str]) -> None:
    """A slip in the form would draw something else without a word."""
    with pytest.raises(HeroError, match=code):
        queue_request(said, ["a", "b"])


def test_a_round_with_nothing_left(tmp_path: Path) -> None:
    """The draw would end in a fault of the server."""
    from hero_eval.web.gold_jobs import draw_queue

    store, truth = fill_for_gold(tmp_path / "store", 8)
    asked = queue_request({"count": "50", "way": "random"}, [])
    assert draw_queue(lambda *_: None, store.path, CURRENT, asked, None, 0).document["items"] == 8
    store.add(pa.table({"item": list(truth), "gold": list(truth.values())}), round=CURRENT)
    with pytest.raises(HeroError, match="E527"):
        draw_queue(lambda *_: None, store.path, CURRENT, queue_request({}, []), None, 0)


def test_win_rates_and_grades_go_the_same_way(tmp_path: Path) -> None:
    """Teams that compare two answers, or grade from 1 to 5, could not use the page."""
    from hero_eval.web.gold_desk import GoldDesk
    from hero_eval.web.gold_jobs import draw_queue, gold_progress

    rng = np.random.default_rng(2)
    store = hero.create_store(tmp_path / "store")
    items = [f"p{item:02d}" for item in range(40)]
    columns = {"prompt": "text", "response_a": "side A", "response_b": "side B"}
    texts = {name: [f"{name} of {item}" for item in items] for name in columns}
    for name, classes in (("pairs", ("A", "B", "tie")), ("grades", ("1", "2", "3", "4", "5"))):
        truth = rng.choice(classes, 40)
        said = [(item, who, one if rng.random() < 0.7 else rng.choice(classes)) for who in ("ann", "bo")
                for item, one in zip(items, truth, strict=True)]  # fmt: skip
        labels = pa.table({key: [row[at] for row in said] for at, key in enumerate(("item", "labeler", "label"))})
        described = pa.table({"item": items, **texts})
        store.add(hero.Round(labels, items=described), round=name, question=name, classes=list(classes))
        shown = columns if name == "pairs" else {"prompt": "markdown"}
        asked = queue_request({"count": "20", **{f"show {key}": how for key, how in shown.items()}}, list(columns))
        made = draw_queue(lambda *_: None, store.path, name, asked, None, 0)
        assert made.document["items"] == 20
        desk, right = GoldDesk(store.path), dict(zip(items, truth, strict=True))
        while (showing := desk.next(name, "eve")) is not None:
            assert {one.value for one in showing.choices} == set(classes)
            assert (showing.sides is not None) == (name == "pairs")
            desk.answer(name, "eve", id=showing.id, item=showing.item, gold=str(right[showing.item]))
        told = gold_progress(lambda *_: None, store.path, name, saved=False).document
        assert told["from_page"] == 20
        assert told["answer"]
        assert name == "grades" or told["value"] is not None


def test_a_round_of_many_columns_has_a_form(tmp_path: Path) -> None:
    """The form would have more fields than the server takes."""
    items = [f"p{item}" for item in range(4)]
    labels = pa.table({"item": items, "labeler": ["ann"] * 4, "label": ["0", "1", "0", "1"]})
    many = {"item": items, **{f"text {number}": ["x"] * 4 for number in range(60)}}
    hero.create_store(tmp_path / "store").add(hero.Round(labels, items=pa.table(many)), round="r", question="q")
    with visiting(Settings(str(tmp_path / "store"), save=False)) as client:
        page = client.get("/gold", params={"round": "r"}).text
        assert "35 more columns stay hidden." in page
        said = {"round": "r", "form_token": FORM_TOKEN.findall(page)[0]}
        said |= {unescape(name): "hidden" for name in re.findall(r'<select id="c-\d+" name="([^"]+)"', page)}
        assert client.post("/gold/queue", data={**said, "count": "2"}).status_code == 303


def test_what_the_next_answers_do_in_words() -> None:
    """Somebody would read a width as a rate, or hope for what is not expected."""
    from hero_eval.web.gold_jobs import narrowing

    assert narrowing(0.242, 0.19, 10).endswith("The next ten answers are expected to make it about 19.")
    assert narrowing(0.242, 0.24, 10).endswith("The next ten answers are expected to change little.")
    assert narrowing(0.242, 0.2, 1).endswith("The next answer is expected to make it about 20.")
