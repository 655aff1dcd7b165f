"""Gold for votes over HTTP: programs draw and answer battles as experts do, and learn as little of the models."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from vote_tables import BATTLES, MODELS, fill_with_battles
from web_server import PATIENCE, visiting, when_there

import hero_eval as hero
from hero_eval.web.settings import Settings

pytestmark = pytest.mark.slow  # a server is made first
QUEUE = "/api/v1/gold/queue"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(fill_with_battles(tmp_path_factory.mktemp("votes") / "store", 30)[0].path)


@pytest.fixture(scope="module")
def site(place: Path) -> Iterator[httpx.Client]:
    with visiting(Settings(str(place))) as client:
        yield client


def test_battles_by_the_api(site: httpx.Client, place: Path) -> None:
    """A labeling tool that asks for battles would get ids of votes, or the models' names with them."""
    asked = {"round": BATTLES}
    assert site.post(QUEUE, params={**asked, "count": 6, "way": "random"}).status_code == 202
    assert when_there(site, QUEUE, params=asked).json()["items"] == 6
    shown = site.post("/api/v1/gold/next", params=asked, data={"expert": "vera"}).json()["item"]
    assert [one["text"] for one in shown["choices"]][1:3] == ["Both are as good", "Both are bad"]
    assert {shown["columns"][name] for name in shown["contents"]} == {"markdown", "side A", "side B"}
    text = str(shown)
    assert not any(f"'{model}'" in text or f'"{model}"' in text for model in MODELS)
    said = {"expert": "vera", "id": shown["id"], "item": shown["item"], "gold": "both bad"}
    answered = site.post("/api/v1/gold/answer", params=asked, data=said)
    assert answered.status_code == 200
    assert hero.open_store(place).answers(BATTLES)[0]["gold"] == "both bad"
    refused = site.post("/api/v1/gold/answer", params=asked, data={**said, "id": "a" * 32, "gold": "v"})
    assert refused.json()["code"] == "E524"
    judge = site.post("/api/v1/gold/next", params=asked, data={"expert": "ann"})
    assert judge.json()["code"] == "E521"  # gold judges labelers


def test_votes_without_answers_say_what_is_lacking(site: httpx.Client) -> None:
    """Experts would be shown two empty boxes."""
    asked = {"round": BATTLES, "show": ["prompt=text"]}
    site.post(QUEUE, params=asked)
    end = time.monotonic() + PATIENCE
    while "E527" not in (page := site.get("/gold/drawing", params={"round": BATTLES}).text):
        assert time.monotonic() < end, page
        time.sleep(0.1)
    assert "side A" in page
