"""Giving gold in a real browser: the whole loop by keyboard alone, by two experts, on a phone, and with hostile items.

Needs what `tests/browser/test_report_browser.py` needs; `make browser` brings it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from browsing import MISSING, SKIPPED, asked_for, chromium, find, key, look_as, serious, text, wait
from gold_store import CURRENT, HOSTILE, fill_for_gold
from web_server import served

import hero_eval as hero
from hero_eval.store.gold_records import ExpertQueue, read_records, write_queue

pytestmark = pytest.mark.browser

if SKIPPED:
    pytest.skip(SKIPPED, allow_module_level=True)

ODD = "hostile"
"""A round whose items are attacks."""
GOLD = f"/gold?round={CURRENT}"


def test_the_browser_is_there() -> None:
    """The tests below would be skipped without a word."""
    assert not MISSING


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("gold") / "store"
    store, truth = fill_for_gold(folder)
    names = [f"p{at:03d}" for at in range(len(HOSTILE))]
    labels = pa.table(
        {"item": names * 2, "labeler": ["x"] * len(names) + ["y"] * len(names), "label": ["0", "1"] * len(names)}
    )
    store.add(labels, round=ODD, question="odd", date="2020-01-01")
    shown = {name: {"text": text, "site": text} for name, text in zip(names, HOSTILE, strict=True)}
    options = {
        "classes": ["0", "1"],
        "columns": {"text": "markdown", "site": "link"},
        "names": {},
        "question": HOSTILE[0],
    }
    queue = ExpertQueue("odd", ODD, "random", 0, tuple(names), (), tuple(names), (1.0,) * len(names), options, shown)
    write_queue(store.place, queue)
    return folder, truth


@pytest.fixture(scope="module")
def site(place: tuple[Path, dict[str, str]]) -> Iterator[str]:
    with served(place[0]) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


def begin(browser: Any, site: str, round: str, name: str) -> None:
    browser.delete_all_cookies()
    browser.get(f"{site}/gold?round={round}")
    find(browser, "#f-expert")[0].send_keys(name + "\n")
    wait(lambda: find(browser, ".item"))


def item(browser: Any) -> str:
    return text(browser, ".id").removeprefix("Item ")


def answer_all(browser: Any, truth: dict[str, str], most: int) -> list[str]:
    """Answer by one key after the other; the items, in order."""
    seen = []
    while len(seen) < most and find(browser, "#answer"):
        shown = wait(lambda: item(browser))
        seen.append(shown)
        said = text(browser, ".saved")
        key(browser, truth[shown])
        wait(lambda before=said: text(browser, ".saved") not in ("", before))
    return seen


def records(place: tuple[Path, dict[str, str]], round: str) -> list[Any]:
    return read_records(hero.open_store(place[0]).place, round)


def test_the_whole_loop_by_keyboard(browser: Any, site: str, place: tuple[Path, dict[str, str]]) -> None:
    """From no gold to a sharper number, without a mouse: draw, 30 answers, undo, note, skip; and the estimate knows."""
    before = hero.open_store(place[0]).estimate(CURRENT).result
    look_as(browser)
    browser.get(site + GOLD)
    assert not serious(browser)
    count = find(browser, "#f-count")[0]
    count.clear()
    count.send_keys("31\n")  # Enter sends the form
    wait(lambda: find(browser, "#f-expert"))
    assert not serious(browser)
    begin(browser, site, CURRENT, "eve")
    assert not serious(browser)
    assert "judge_score" not in text(browser, "main")
    first = item(browser)
    key(browser, "n")
    wait(lambda: browser.switch_to.active_element.tag_name == "textarea")
    key(browser, "01us unclear\ue00c")  # letters, not shortcuts; then Escape
    key(browser, place[1][first])
    wait(lambda: f"Saved: {first}" in text(browser, ".saved"))
    key(browser, "u")
    wait(lambda: f"Taken back: {first}" in text(browser, ".saved"))
    assert item(browser) == first
    key(browser, "s")
    wait(lambda: browser.switch_to.active_element.text == "unclear question")
    key(browser, "\ue007")
    wait(lambda: "skipped" in text(browser, ".saved"))
    seen = answer_all(browser, place[1], 30)
    assert len(set(seen)) == 30
    told = wait(lambda: "With 30 gold in this round." in text(browser, ".when") and text(browser, "#told"))
    assert "points wide now" in told
    assert not serious(browser)
    after = hero.open_store(place[0]).estimate(CURRENT).result
    assert after.n_gold_current == 30
    widths = [one.interval()[1] - one.interval()[0] for one in (before, after)]
    assert widths[1] < 0.9 * widths[0]
    done = records(place, CURRENT)
    assert [one.action for one in done[:3]] == ["answer", "undo", "skip"]
    assert done[0].note == "01us unclear"
    key(browser, "h")
    wait(lambda: "Numbers are hidden" in text(browser, "aside"))
    assert not serious(browser)
    assert not browser.get_log("browser")


def test_two_experts_at_once(browser: Any, site: str, place: tuple[Path, dict[str, str]]) -> None:
    """They would pay twice for one item; or none would be answered twice on purpose."""
    store = hero.open_store(place[0])
    answered = {one.item for one in records(place, CURRENT)}
    drawn = tuple([name for name in place[1] if name not in answered][:10])
    options = {"classes": ["0", "1"], "columns": {}, "names": {}, "question": "Q?"}
    everything = tuple(place[1])
    queue = ExpertQueue("two", CURRENT, "random", 0, drawn, drawn[:2], everything, (0.1,) * len(everything), options)
    write_queue(store.place, queue)
    with chromium() as other:
        for one, name in ((browser, "eve"), (other, "ada")):
            look_as(one)
            begin(one, site, CURRENT, name)
        for _ in range(10):
            shown = [item(one) for one in (browser, other) if find(one, "#answer")]
            assert len(set(shown)) == len(shown)
            for one in (browser, other):
                answer_all(one, place[1], 1)
    made = [one for one in records(place, CURRENT) if one.queue == "two"]
    firsts = [one.item for one in made if not one.second]
    assert sorted(firsts) == sorted(drawn)
    assert {one.item for one in made if one.second} == set(drawn[:2])
    assert {one.expert for one in made} == {"eve", "ada"}
    browser.get(site + GOLD)
    assert "same answer to 2 of 2 items" in text(browser, "aside")


def test_hostile_items_run_nothing_and_ask_nobody(browser: Any, site: str, place: tuple[Path, dict[str, str]]) -> None:
    """An item could answer as the expert, or tell another host who reads it."""
    begin(browser, site, ODD, "eve")
    asked_for(browser)
    browser.get_log("browser")
    for width in (1000, 400):
        look_as(browser, width)
        for _ in range(len(HOSTILE) // 2):
            assert browser.title.endswith("· hero")
            assert not find(browser, ".item script, .item svg, .item iframe, .item img, .item object")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            assert not serious(browser)
            answer_all(browser, dict.fromkeys(place[1], "0"), 1)
    hosts = {urlsplit(url).netloc for url in asked_for(browser) if not url.startswith("data:")}
    assert hosts <= {urlsplit(site).netloc}
    assert not browser.get_log("browser")
    assert len(records(place, ODD)) == len(HOSTILE)


@pytest.mark.parametrize("path", ["/gold", GOLD, f"/gold/queue?round={CURRENT}"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_to_everybody(browser: Any, site: str, path: str, scheme: str) -> None:
    """On a phone, in the dark or with a screen reader an expert would be shut out."""
    look_as(browser, 400, scheme)
    browser.get(site + path)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
    assert not serious(browser)
