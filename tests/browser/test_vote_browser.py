"""Votes in a real browser: the leaderboard, and the loop from it to gold on battles and back, by keyboard alone.

Needs what `tests/browser/test_report_browser.py` needs; `make browser` brings it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import IN_A_BROWSER, asked_for, find, look_as, serious, text, wait
from gold_browsing import GoldSite, assert_a_phone_shows_it, draw, press_and_see
from vote_tables import BATTLES, MODELS, fill_with_pictures
from web_server import visiting

from hero_eval.store.gold_records import read_records
from hero_eval.store.vote_rounds import stored_votes
from hero_eval.web.settings import Settings

pytestmark = IN_A_BROWSER

LEADERBOARD = "/leaderboard?question=chat&by=votes"
GOLD = f"/gold?round={BATTLES}"


def ranked(browser: Any, desk: GoldSite) -> str:
    """The leaderboard, once it is there."""
    browser.get(desk.address + LEADERBOARD)
    return str(wait(lambda: "What would tell more" in text(browser, "main") and text(browser, "main")))


def lead(desk: GoldSite) -> tuple[float, int]:
    """How wide the interval of the best's lead is, and how many votes have gold, as `hero arena` has it."""
    found = desk.store.estimate(BATTLES, command="arena").result
    pairs = found.pair_columns()
    widths = [high - low for low, high in zip(pairs["low"], pairs["high"], strict=True)]
    return sum(widths) / len(widths), found.n_gold


def test_from_the_leaderboard_to_gold_and_back(browser: Any, desk: GoldSite) -> None:
    """Experts could not teach how voters err: ranks that votes leave open would stay open, whatever is paid."""
    before, none = lead(desk)
    look_as(browser)
    assert "Give gold for 2026-w02" in ranked(browser, desk)
    assert not serious(browser)
    asked_for(browser)
    next(one for one in find(browser, "main a") if one.text == f"Give gold for {BATTLES}").send_keys("\n")
    wait(lambda: find(browser, "#f-count"))
    assert "Which battles should experts judge" in text(browser, "main")
    assert not serious(browser)
    draw(browser, 20)
    find(browser, "#f-expert")[0].send_keys("vera\n")
    wait(lambda: find(browser, ".sides"))
    assert not serious(browser)
    left = judge_all(browser, 24)
    assert 3 <= left <= 17  # the better one stands on either side
    told = wait(lambda: "With 20 gold in this round." in text(browser, ".when") and text(browser, "#told"))
    assert "The lead of the first over the second" in told
    assert not serious(browser)
    after, known = lead(desk)
    assert known - none == 40  # two votes on each battle
    assert after < 0.9 * before
    assert gold_is_right(desk)
    assert f"{known:,} votes with gold" in ranked(browser, desk)
    hosts = {urlsplit(url).netloc for url in asked_for(browser) if not url.startswith("data:")}
    assert hosts <= {urlsplit(desk.address).netloc}
    assert not browser.get_log("browser")


def judge_all(browser: Any, most: int) -> int:
    """Answer by one key after the other as the texts tell, first after a slip; how often the left one was better."""
    n_left = done = 0
    while done < most and find(browser, "#answer"):
        shown = wait(lambda: text(browser, ".sides .part:first-child .markdown"))
        page = browser.page_source
        assert not any(f'"{model}"' in page or f">{model}<" in page for model in MODELS)  # nobody knows the models
        is_left = shown.startswith("The better")
        if done == 0:  # a slip, taken back
            press_and_see(browser, "2")
            press_and_see(browser, "u", "Taken back")
        press_and_see(browser, "1" if is_left else "4")
        n_left, done = n_left + is_left, done + 1
    return n_left


def gold_is_right(desk: GoldSite) -> bool:
    """Whether the gold of each vote names the model that truly won, in the order in which that vote showed the two."""
    store = desk.store
    rows = stored_votes(store.rows(store.find(BATTLES)), BATTLES).table.to_pylist()
    known = [row for row in rows if row["gold"] is not None]
    assert {row["model_a"] < row["model_b"] for row in known} == {True, False}  # votes in both orders
    return all(row["model_a" if row["gold"] == "A" else "model_b"] == desk.winners[row["item"]] for row in known)


def test_what_both_are_is_an_answer_too(browser: Any, desk: GoldSite) -> None:
    """An expert who finds both equal, or both bad, would have to name a winner."""
    look_as(browser)
    browser.delete_all_cookies()
    browser.get(f"{desk.address}/gold/queue?round={BATTLES}")
    draw(browser, 2)
    find(browser, "#f-expert")[0].send_keys("viola\n")
    wait(lambda: find(browser, ".sides"))
    for pressed in ("2", "3"):
        press_and_see(browser, pressed)
    done = desk.records(BATTLES)
    assert [one.gold for one in done[-2:]] == ["tie", "both bad"]


@pytest.mark.parametrize("path", [GOLD, f"/gold/queue?round={BATTLES}", LEADERBOARD])
def test_votes_on_a_phone(browser: Any, desk: GoldSite, path: str) -> None:
    """On a phone, in the dark or with a screen reader an expert, or a reader of ranks, would be shut out."""
    look_as(browser)
    browser.get(desk.address + path)
    if path == LEADERBOARD:
        wait(lambda: "What would tell more" in text(browser, "main"))
    assert_a_phone_shows_it(browser)


ODD = {
    "hostile": "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>\n\n[a](javascript:alert(1))",
    "elsewhere": "https://example.org/w/any.png",
    "missing": "w/not-there.png",
    "svg": "w/drawn.svg",
    "words": "I cannot draw, **but** here is a poem.",
}


def test_battles_of_pictures(browser: Any, tmp_path: Path) -> None:
    """Models that draw could not be judged; or the name of a file, or of a column, would tell whose picture it is."""
    store = fill_with_pictures(tmp_path / "store", tmp_path / "pictures", ODD)
    (tmp_path / "pictures" / "w" / "drawn.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    with visiting(Settings(str(tmp_path / "store"), images=str(tmp_path / "pictures"))) as client:
        site = str(client.base_url).rstrip("/")
        look_as(browser)
        browser.delete_all_cookies()
        asked_for(browser)
        browser.get(site)
        browser.delete_all_cookies()  # who gives gold, as other tests have said
        browser.get(f"{site}/gold/queue?round={BATTLES}")
        draw(browser, 13)
        find(browser, "#f-expert")[0].send_keys("vera\n")
        wait(lambda: find(browser, "#answer"))
        lefts = [is_v for is_v in judge_pictures(browser) if is_v is not None]
        assert 1 <= sum(lefts) < len(lefts) >= 8  # some are asked twice
        kept = read_records(store.place, BATTLES)
        assert {one.gold for one in kept} == {"A"}  # v, whichever side it stood on
        hosts = {urlsplit(url).netloc for url in asked_for(browser) if not url.startswith("data:")}
        assert hosts <= {urlsplit(site).netloc}
        item = next(one.item for one in kept if one.item.startswith("i0"))
        for of in ("column=image_a", "side=left", "side=top"):  # no column, nobody's side, no side
            assert client.get(f"/gold/image?round={BATTLES}&item={item}&{of}").status_code in (400, 404, 422)


def judge_pictures(browser: Any) -> Iterator[bool | None]:
    """Take v's picture each time, by one key; whether it stood on the left, None where the other is no picture."""
    script = "return [...document.querySelectorAll('.sides .part')].map(p => p.querySelector('img')?.naturalWidth ?? 0)"
    while find(browser, "#answer"):
        wait(lambda: len(find(browser, ".sides .part")) == 2)
        wait(lambda: any(browser.execute_script(script)))  # pictures are there
        wide, page, item = browser.execute_script(script), browser.page_source, text(browser, ".id")
        assert wide.count(600) == 1
        assert "image_a" not in page
        assert "any.png" not in page or "elsewhere" in item
        assert "taken" not in browser.title
        assert not any(name in page for name in ("not-there", "drawn.svg"))
        if "words" in item:
            assert "here is a poem" in text(browser, ".sides")
            for width in (1200, 400):
                look_as(browser, width)
                assert browser.execute_script("return document.documentElement.scrollWidth") <= width
                assert not serious(browser)
            look_as(browser)
        press_and_see(browser, "1" if wide[0] == 600 else "4")
        yield wide[0] == 600 if 300 in wide else None
