"""The API against its own description: whatever is sent, the answer is one that the description names, and no 5xx."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given
from random_examples import examples
from web_server import PATIENCE, visiting
from web_store import HOSTILE, SCRIPT, answers

import hero_eval as hero
from hero_eval.web.settings import Settings

pytestmark = pytest.mark.slow  # a server or a site is made first

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
CALLS = [
    ("GET", "/api/v1/store"),
    ("GET", "/api/v1/rounds"),
    ("GET", "/api/v1/round"),
    ("GET", "/api/v1/round/result"),
    ("POST", "/api/v1/round/result"),
    ("GET", "/api/v1/models"),
    ("POST", "/api/v1/models"),
    ("GET", "/api/v1/labelers"),
    ("POST", "/api/v1/labelers"),
    ("GET", "/api/v1/backtest"),
    ("POST", "/api/v1/backtest"),
    ("GET", "/api/v1/leaderboard"),
    ("POST", "/api/v1/leaderboard"),
    ("GET", "/api/v1/gold"),
    ("GET", "/api/v1/gold/records"),
    ("GET", "/api/v1/gold/queue"),
    ("POST", "/api/v1/gold/queue"),
    ("POST", "/api/v1/gold/next"),
    ("POST", "/api/v1/gold/answer"),
    ("POST", "/api/v1/gold/skip"),
    ("POST", "/api/v1/gold/undo"),
    ("POST", "/api/v1/gold/progress"),
    ("GET", "/api/v1/jobs"),
    ("GET", "/api/v1/job"),
    ("DELETE", "/api/v1/job"),
    ("POST", "/api/v1/uploads"),
    ("GET", "/api/v1/upload"),
    ("POST", "/api/v1/upload"),
    ("POST", "/api/v1/upload/confirm"),
    ("DELETE", "/api/v1/upload"),
]

BARE = ("/api/v1/store", "/api/v1/jobs")
"""Calls without a parameter, of which nothing can be wrong."""


class Api:
    """The description, and the address of a server that should keep to it."""

    def __init__(self, described: dict[str, Any], address: str) -> None:
        import schemathesis.checks  # here and not above: it would be loaded with every run of any test

        self.schema = schemathesis.openapi.from_dict(described)
        self.checks = [getattr(schemathesis.checks, name) for name in CHECKS]
        self.modes = schemathesis.GenerationMode
        self.address = address

    def ask(self, how: str, path: str, **parts: Any) -> Any:
        """One call, held against the description."""
        case = self.schema[path][how].Case(**parts)
        return self.check(case)

    def check(self, case: Any) -> Any:
        answer = case.call(base_url=self.address)
        case.validate_response(answer, checks=self.checks)
        return answer

    def when_there(self, path: str, **query: Any) -> Any:
        end = time.monotonic() + PATIENCE
        while (answer := self.ask("POST", path, query=query)).status_code == 202:
            assert time.monotonic() < end
            time.sleep(0.1)
        if answer.status_code == 200:
            assert self.ask("GET", path, query=query).json() == answer.json()
        return answer.json()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("api") / "store"
    store = hero.create_store(folder)
    for number, name in enumerate(("2026-w01", "2026-w02")):
        labels, gold = answers(number, 0.4, 80)
        store.add(labels, round=name, gold=gold, model=f"v{number}", question="defect")
    with visiting(Settings(str(folder), max_upload=100_000)) as client:
        yield Api(client.get("/api/openapi.json").json(), str(client.base_url).rstrip("/"))


def test_every_call_is_tried(api: Api) -> None:
    """A new call would be held against nothing."""
    described = [(one.ok().method.upper(), one.ok().path) for one in api.schema.get_all_operations()]
    assert sorted(described) == sorted(CALLS)
    for _, path in CALLS:
        for call in api.schema.raw_schema["paths"][path].values():
            assert {"404", "422", "401", "403"} <= set(call["responses"])


def test_what_is_there_is_as_described(api: Api) -> None:
    """Results would not fit the types that programs were generated from."""
    assert api.ask("GET", "/api/v1/store").json()["rounds"] == 2
    assert len(api.ask("GET", "/api/v1/rounds").json()["rounds"]) == 2
    assert api.ask("GET", "/api/v1/round", query={"name": "2026-w02"}).json()["history"] == ["2026-w01"]
    found = api.when_there("/api/v1/round/result", name="2026-w02", method="hero1")
    assert 0 < found["estimate"]["value"] < 1
    assert api.when_there("/api/v1/round/result", name="2026-w02", method=SCRIPT)["code"] == "E201"
    assert len(api.when_there("/api/v1/models")["models"]) == 2
    assert api.when_there("/api/v1/labelers")["labelers"]
    assert api.when_there("/api/v1/backtest")["plays"]
    assert len(api.when_there("/api/v1/leaderboard")["differences"]) == 1
    jobs = api.ask("GET", "/api/v1/jobs").json()["jobs"]
    assert {one["state"] for one in jobs} >= {"done", "failed"}
    for one in jobs[:5]:
        assert api.ask("GET", "/api/v1/job", query={"id": one["id"]}).json()["id"] == one["id"]


@pytest.mark.parametrize(
    ("how", "path", "mode"),
    [
        *((how, path, "POSITIVE") for how, path in CALLS),
        *((how, path, "NEGATIVE") for how, path in CALLS if path not in BARE),
    ],
)
def test_whatever_is_sent_the_answer_is_described(api: Api, how: str, path: str, mode: str) -> None:
    """A program would meet an answer that it was not told of, or break the server by what it sends."""

    @examples(6, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
    @given(case=api.schema[path][how].as_strategy(generation_mode=api.modes[mode]))
    def run(case: Any) -> None:
        api.check(case)

    run()


@pytest.mark.parametrize("name", [*HOSTILE[:4], "x" * 10_000, "", " ", "\x00", "%2e%2e%2f", "2026-w01\n"])
def test_hostile_names_are_only_names(api: Api, name: str) -> None:
    """A name could reach a file, a template or a log where it means something else."""
    for path, asked in (
        ("/api/v1/round", {"name": name}),
        ("/api/v1/round/result", {"name": name}),
        ("/api/v1/round/result", {"name": "2026-w02", "method": name}),
        ("/api/v1/rounds", {"question": name}),
        ("/api/v1/models", {"round": ["2026-w01", name]}),
        ("/api/v1/models", {"baseline": name}),
        ("/api/v1/labelers", {"question": name}),
        ("/api/v1/backtest", {"question": name}),
        ("/api/v1/leaderboard", {"question": name}),
        ("/api/v1/job", {"id": name}),
        ("/api/v1/upload", {"id": name}),
    ):
        answer = api.ask("GET", path, query=asked)
        assert answer.status_code in (200, 202, 404, 422)
        if answer.status_code >= 400:
            assert answer.json()["remedy"]
