"""Giving gold in a real browser: the whole loop by keyboard alone, by two experts, on a phone, and with hostile items.

Needs what `tests/browser/test_report_browser.py` needs; `make browser` brings it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import IN_A_BROWSER, asked_for, chromium, find, key, look_as, serious, text, wait
from gold_browsing import ODD, GoldSite, assert_a_phone_shows_it, begin, draw, press_and_see
from gold_store import CURRENT, HOSTILE

from hero_eval.store.gold_records import ExpertQueue, write_queue

pytestmark = IN_A_BROWSER

GOLD = f"/gold?round={CURRENT}"


def item(browser: Any) -> str:
    return text(browser, ".id").removeprefix("Item ")


def answer_all(browser: Any, truth: dict[str, str], most: int) -> list[str]:
    """Answer by one key after the other; the items, in order."""
    seen = []
    while len(seen) < most and find(browser, "#answer"):
        shown = wait(lambda: item(browser))
        seen.append(shown)
        press_and_see(browser, truth[shown])
    return seen


def test_the_whole_loop_by_keyboard(browser: Any, desk: GoldSite) -> None:
    """From no gold to a sharper number, without a mouse: draw, 16 answers, undo, note, skip; and the estimate knows."""
    before = desk.store.estimate(CURRENT).result
    look_as(browser)
    browser.get(desk.address + GOLD)
    assert not serious(browser)
    draw(browser, 17)
    assert not serious(browser)
    begin(browser, desk, CURRENT, "eve")
    assert not serious(browser)
    assert "judge_score" not in text(browser, "main")
    first = item(browser)
    key(browser, "n")
    wait(lambda: browser.switch_to.active_element.tag_name == "textarea")
    key(browser, "01us unclear\ue00c")  # letters, not shortcuts; then Escape
    press_and_see(browser, desk.truth[first], f"Saved: {first}")
    press_and_see(browser, "u", f"Taken back: {first}")
    assert item(browser) == first
    key(browser, "s")
    wait(lambda: browser.switch_to.active_element.text == "unclear question")
    press_and_see(browser, "\ue007", "skipped")
    seen = answer_all(browser, desk.truth, 16)
    assert len(set(seen)) == 16
    told = wait(lambda: "With 16 gold in this round." in text(browser, ".when") and text(browser, "#told"))
    assert "points wide now" in told
    assert not serious(browser)
    after = desk.store.estimate(CURRENT).result
    assert after.n_gold_current == 16
    widths = [one.interval()[1] - one.interval()[0] for one in (before, after)]
    assert widths[1] < 0.9 * widths[0]
    done = desk.records(CURRENT)
    assert [one.action for one in done[:3]] == ["answer", "undo", "skip"]
    assert done[0].note == "01us unclear"
    key(browser, "h")
    wait(lambda: "Numbers are hidden" in text(browser, "aside"))
    assert not serious(browser)
    assert not browser.get_log("browser")


def test_two_experts_at_once(browser: Any, desk: GoldSite) -> None:
    """They would pay twice for one item; or none would be answered twice on purpose."""
    answered = {one.item for one in desk.records(CURRENT)}
    drawn = tuple([name for name in desk.truth if name not in answered][:10])
    options = {"classes": ["0", "1"], "columns": {}, "names": {}, "question": "Q?"}
    everything = tuple(desk.truth)
    queue = ExpertQueue("two", CURRENT, "random", 0, drawn, drawn[:2], everything, (0.1,) * len(everything), options)
    write_queue(desk.store.place, queue)
    with chromium() as other:
        for one, name in ((browser, "eve"), (other, "ada")):
            look_as(one)
            begin(one, desk, CURRENT, name)
        for _ in range(10):
            shown = [item(one) for one in (browser, other) if find(one, "#answer")]
            assert len(set(shown)) == len(shown)
            for one in (browser, other):
                answer_all(one, desk.truth, 1)
    made = [one for one in desk.records(CURRENT) if one.queue == "two"]
    firsts = [one.item for one in made if not one.second]
    assert sorted(firsts) == sorted(drawn)
    assert {one.item for one in made if one.second} == set(drawn[:2])
    assert {one.expert for one in made} == {"eve", "ada"}
    browser.get(desk.address + GOLD)
    assert "same answer to 2 of 2 items" in text(browser, "aside")


def test_hostile_items_run_nothing_and_ask_nobody(browser: Any, desk: GoldSite) -> None:
    """An item could answer as the expert, or tell another host who reads it."""
    begin(browser, desk, ODD, "eve")
    asked_for(browser)
    browser.get_log("browser")
    for width in (1000, 400):
        look_as(browser, width)
        for _ in range(len(HOSTILE) // 2):
            assert browser.title.endswith("· hero")
            assert not find(browser, ".item script, .item svg, .item iframe, .item img, .item object")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            assert not serious(browser)
            answer_all(browser, dict.fromkeys(desk.truth, "0"), 1)
    hosts = {urlsplit(url).netloc for url in asked_for(browser) if not url.startswith("data:")}
    assert hosts <= {urlsplit(desk.address).netloc}
    assert not browser.get_log("browser")
    assert len(desk.records(ODD)) == len(HOSTILE)


@pytest.mark.parametrize("path", ["/gold", GOLD, f"/gold/queue?round={CURRENT}"])
def test_a_phone_shows_it_to_everybody(browser: Any, desk: GoldSite, path: str) -> None:
    """On a phone, in the dark or with a screen reader an expert would be shut out."""
    look_as(browser)
    browser.get(desk.address + path)
    assert_a_phone_shows_it(browser)
