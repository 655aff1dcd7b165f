"""The leaderboard of votes: what page and API show is what the library says, filtered as asked."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pandas as pd
import pytest
from vote_tables import make_votes
from web_server import page_when_there, visiting, when_there

import hero_eval as hero
from hero_eval.web.settings import Settings

pytestmark = pytest.mark.slow  # a server is made first


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    store = hero.create_store(tmp_path_factory.mktemp("votes") / "store")
    store.add(make_votes(1), round="2026-w01", question="chat")
    store.add(make_votes(2, gold=0.0, start=1000), round="2026-w02", question="chat")
    labels = pd.DataFrame({"item": list("aabb"), "labeler": ["x", "y"] * 2, "label": [1, 0, 1, 1]})
    for name, model in (("2025-w01", "v"), ("2025-w02", "w")):
        gold = pd.DataFrame({"item": list("ab"), "gold": [1, 0]})
        store.add(
            labels.assign(label=[1, int(model == "v"), 1, 0]), round=name, question="chat", model=model, gold=gold
        )
    with visiting(Settings(str(store.path))) as client:
        yield client


def test_the_leaderboard_of_votes_is_the_librarys(site: httpx.Client) -> None:
    found = when_there(site, "/api/v1/leaderboard", params={"question": "chat"}).json()
    wanted = hero.rank_votes(make_votes(2, gold=0.0, start=1000), make_votes(1))
    assert (found["by"], found["round"], found["history"]) == ("votes", "2026-w02", ["2026-w01"])
    assert [row["model"] for row in found["models"]] == list(wanted.order)
    assert [row["elo"] for row in found["models"]] == pytest.approx(wanted.columns()["elo"], abs=1e-6)
    assert [row["rank_high"] for row in found["models"]] == wanted.columns()["rank_high"]
    assert found["win_matrix"]["v"]["w"] == pytest.approx(wanted.to_dict()["win_matrix"]["v"]["w"], abs=1e-9)
    page = page_when_there(site, "/leaderboard?question=chat")
    assert found["answer"] in page
    assert "by votes" in page  # the question has rounds of models too
    assert site.get("/round?name=2026-w02").headers["location"] == "/leaderboard?question=chat&by=votes"
    listed = site.get("/api/v1/rounds").json()["rounds"]
    assert {row["round"]: row["holds"] for row in listed}["2026-w02"] == "votes"


def test_rounds_of_votes_are_listed_like_others(site: httpx.Client) -> None:
    """The list of rounds, the page's first, was an error (E529) for a store with a round of votes that nobody ranked
    on the command line: it looked for the estimate of every round that has no number yet."""
    listed = site.get("/")
    assert listed.status_code == 200
    assert "Leaderboard of 2026-w02" in listed.text
    assert "Estimate 2026-w02" not in listed.text  # votes have no rate
    assert all(name in listed.text for name in ("2026-w01", "2026-w02", "2025-w01"))
    for page in ("labelers", "backtest", "models", "gold", "work"):
        assert site.get(f"/{page}?question=chat", follow_redirects=True).status_code == 200, page


def test_a_category_a_day_and_movement(site: httpx.Client) -> None:
    asked = {"question": "chat", "where": "category=code", "movement": "true"}
    found = when_there(site, "/api/v1/leaderboard", params=asked).json()
    wanted = hero.rank_votes(make_votes(2, gold=0.0, start=1000), make_votes(1), where={"category": "code"})
    assert (found["n_votes"], found["where"]) == (wanted.n_votes, {"category": ["code"]})
    assert found["movement"]["rounds"] == ["2026-w01", "2026-w02"]
    assert set(found["charts"]) == {"ranks", "strengths", "win_matrix", "movement", "rank_movement"}
    page = page_when_there(site, "/leaderboard?question=chat&column=category&value=code&movement=1")
    assert "category code alone" in page
    for file in ("leaderboard.csv", "wins.csv", "leaderboard.json", "rank_movement.svg", "movement.csv"):
        path = f"/download?of=leaderboard&question=chat&column=category&value=code&movement=1&file={file}"
        assert site.get(path).status_code == 200, file
    then = when_there(site, "/api/v1/leaderboard", params={"question": "chat", "until": "2026-01-04"}).json()
    assert then["round"] == "2026-w01"
    none = when_there(site, "/api/v1/leaderboard", params={"question": "chat", "where": "category=art"})
    assert none.json()["code"] == "E532"
    assert site.get("/api/v1/leaderboard", params={"question": "chat", "where": "art"}).json()["code"] == "E201"


def test_rates_of_the_same_question_are_a_tab_away(site: httpx.Client) -> None:
    found = when_there(site, "/api/v1/leaderboard", params={"question": "chat", "by": "rates"}).json()
    assert (found["by"], found["movement"]) == ("rates", None)
    assert sorted(row["model"] for row in found["models"]) == ["v", "w"]
