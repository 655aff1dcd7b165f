"""What machines watch: numbers that Prometheus' own parser reads, for those who may see them."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from web_server import visiting

import hero_eval as hero
from hero_eval.web.settings import Settings

pytestmark = pytest.mark.slow

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"
TOKEN = "0123456789abcdef0123"
HOSTILE = 'v"7\\ \n# HELP x'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rounds, one of a model with a hostile name, and one recorded estimate."""
    path = tmp_path_factory.mktemp("watched") / "store"
    store = hero.create_store(path)
    store.add(hero.read_round(EXAMPLE / "history"), round="2026-04", model="v6", question="defect")
    store.add(hero.read_round(EXAMPLE / "current"), round="2026-05", model="v7", question="defect")
    store.estimate("2026-05")
    return path


def test_recorded_numbers_are_what_prometheus_reads(place: Path) -> None:
    """A dashboard would show another number than the page, or none at all because of one odd character."""
    with visiting(Settings(str(place))) as site:
        text = site.get("/metrics").text
    found = {family.name: family.samples for family in text_string_to_metric_families(text)}
    rate = hero.open_store(place).estimate("2026-05").result
    (value,) = found["hero_estimate_value"]
    assert value.value == pytest.approx(rate.value)
    assert value.labels["round"] == "2026-05"
    assert value.labels["method"] == rate.method
    assert found["hero_estimate_low"][0].value == pytest.approx(rate.interval()[0])
    assert {one.labels["round"]: one.value for one in found["hero_round_items"]} == {"2026-04": 532, "2026-05": 532}


def test_names_cannot_break_the_format() -> None:
    from hero_eval.web.monitoring import _sample

    (family,) = text_string_to_metric_families(f"# TYPE x gauge\n{_sample('x', {'model': HOSTILE}, 1.5)}")
    assert family.samples[0].labels == {"model": HOSTILE}


def test_health_is_for_everybody_and_numbers_are_not(place: Path) -> None:
    """An orchestrator that knows no token would restart a server that is well; a stranger would read the numbers."""
    with visiting(Settings(str(place), token=TOKEN)) as site:
        assert site.get("/health", headers={"Host": "10.0.0.7:8000"}).text == "ok\n"
        assert site.get("/metrics", headers={"Accept": "text/plain"}, follow_redirects=False).status_code in (303, 401)
        answer: httpx.Response = site.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
