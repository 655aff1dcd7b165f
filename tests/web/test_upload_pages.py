"""A file that does not tell all by itself: the page says in its own words what to write where, and takes it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from page_text import PageText
from repository import EXPORTS
from web_server import FORM_TOKEN, page_when_there, visiting

import hero_eval as hero
from hero_eval.web.settings import Settings

pytestmark = pytest.mark.slow  # a server is made first


class Read(PageText):
    """The text of a page."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("uploads") / "store"
    hero.create_store(folder)
    with visiting(Settings(str(folder))) as client:
        yield client


def sent(site: httpx.Client, name: str, body: bytes, **said: str) -> str:
    """The address of a file's preview."""
    fields = {"form_token": FORM_TOKEN.findall(site.get("/upload").text)[0], **said}
    return site.post("/upload", data=fields, files={"file": (name, body)}).headers["location"]


def said_anew(site: httpx.Client, preview: str, **said: str) -> str:
    page = page_when_there(site, preview)
    site.post("/upload/change", data={"form_token": FORM_TOKEN.findall(page)[0], "id": preview.split("=")[1], **said})
    return page_when_there(site, preview)


def two_models() -> bytes:
    results = json.loads((EXPORTS / "promptfoo.json").read_text(encoding="utf-8"))
    rows = results["results"]["results"]
    other = [{**json.loads(json.dumps(one)), "provider": {"id": "new"}, "promptIdx": 1} for one in rows]
    results["results"]["results"] = rows + other
    return json.dumps(results).encode()


def test_one_model_of_a_file_can_be_taken(site: httpx.Client) -> None:
    """The page said "choose one with --provider NAME", an option of the command, and had no field for it."""
    preview = sent(site, "evals.json", two_models(), round="r1", question="q1")
    refused = page_when_there(site, preview)
    assert "“Model in the file”" in Read(refused).text
    assert "E121 evals.json has" in Read(refused).text  # not Evals.json
    assert "<details open>" in refused
    taken = Read(said_anew(site, preview, round="r1", question="q1", provider="new")).text
    assert "This adds round r1: 4 items" in taken


def test_a_table_of_unknown_names_can_be_mapped(site: httpx.Client) -> None:
    """Named columns of a long table were taken for those of a wide one."""
    rows = [f"{item},{rater},{'yes' if item % 3 else 'no'}" for item in range(9) for rater in ("ann", "bob", "cy")]
    body = "\n".join(["task,rater,assessment", *rows]).encode()
    preview = sent(site, "labels.csv", body, round="r2", question="q2")
    assert "E130" in Read(page_when_there(site, preview)).text
    names = "item=task, labeler=rater, label=assessment"
    taken = Read(said_anew(site, preview, round="r2", question="q2", columns=names)).text
    assert "This adds round r2: 9 items, 27 labels" in taken
    assert "labels by 3 labelers" in taken


def test_scores_and_what_is_left_out_are_said(site: httpx.Client) -> None:
    """A preview listed twenty of a hundred scores as answers, and lost a column without a word."""
    rows = [f"{item},judge,{item / 40:.3f},{item}" for item in range(40)]
    rows += [f"{item},other,{item / 50:.3f},{item + 1}" for item in range(40)]
    page = Read(
        page_when_there(site, sent(site, "s.csv", "\n".join(["item,labeler,label,sure", *rows]).encode(), round="r3"))
    ).text
    assert "different numbers from 0 to 0.975: scores" in page
    assert "sure: differs between the rows of an item" in page


def test_a_round_asks_for_its_class_where_it_can_be_said(site: httpx.Client) -> None:
    """The page named options of the command, and hid the form that has the field."""
    preview = sent(site, "one.csv", b"item,labeler,label\na,x,bad\nb,x,good\nc,x,bad\n", round="r4", question="q4")
    page = page_when_there(site, preview)
    site.post("/upload/confirm", data={"form_token": FORM_TOKEN.findall(page)[0], "id": preview.split("=")[1]})
    page_when_there(site, f"/upload/adding?id={preview.split('=')[1]}")
    asked = page_when_there(site, "/round?name=r4")
    assert "Write the class under “Class to count”" in Read(asked).text
    assert '<details class="ask" open>' in asked
    assert "1 labeler," in Read(asked).text
    assert "rate of 'good'" in Read(page_when_there(site, "/round?name=r4&positive=good")).text
