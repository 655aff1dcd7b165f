"""Votes in a real browser: the leaderboard, and the loop from it to gold on battles and back, by keyboard alone.

Needs what `tests/browser/test_report_browser.py` needs; `make browser` brings it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import SKIPPED, asked_for, chromium, find, key, look_as, serious, text, wait
from vote_tables import BATTLES, MODELS, fill_with_battles, fill_with_pictures
from web_server import served

import hero_eval as hero
from hero_eval.store.gold_records import read_records
from hero_eval.store.vote_rounds import stored_votes

pytestmark = pytest.mark.browser

if SKIPPED:
    pytest.skip(SKIPPED, allow_module_level=True)

LEADERBOARD = "/leaderboard?question=chat&by=votes"
GOLD = f"/gold?round={BATTLES}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("votes") / "store"
    return folder, fill_with_battles(folder)[1]


@pytest.fixture(scope="module")
def site(place: tuple[Path, dict[str, str]]) -> Iterator[str]:
    with served(place[0]) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


def ranked(browser: Any, site: str) -> str:
    """The leaderboard, once it is there."""
    browser.get(site + LEADERBOARD)
    return str(wait(lambda: "What would tell more" in text(browser, "main") and text(browser, "main")))


def lead(place: Path) -> tuple[float, int]:
    """How wide the interval of the best's lead is, and how many votes have gold, as `hero arena` has it."""
    found = hero.open_store(place).estimate(BATTLES, command="arena").result
    pairs = found.pair_columns()
    widths = [high - low for low, high in zip(pairs["low"], pairs["high"], strict=True)]
    return sum(widths) / len(widths), found.n_gold


def test_from_the_leaderboard_to_gold_and_back(browser: Any, site: str, place: tuple[Path, dict[str, str]]) -> None:
    """Experts could not teach how voters err: ranks that votes leave open would stay open, whatever is paid."""
    before, none = lead(place[0])
    look_as(browser)
    assert "Give gold for 2026-w02" in ranked(browser, site)
    assert not serious(browser)
    asked_for(browser)
    next(one for one in find(browser, "main a") if one.text == f"Give gold for {BATTLES}").send_keys("\n")
    count = wait(lambda: find(browser, "#f-count"))[0]
    assert "Which battles should experts judge" in text(browser, "main")
    assert not serious(browser)
    count.clear()
    count.send_keys("40\n")
    find_name = wait(lambda: find(browser, "#f-expert"))
    find_name[0].send_keys("vera\n")
    wait(lambda: find(browser, ".sides"))
    assert not serious(browser)
    left = judge_all(browser, 44)
    assert 8 <= left <= 36  # the better one stands on either side
    told = wait(lambda: "With 40 gold in this round." in text(browser, ".when") and text(browser, "#told"))
    assert "The lead of the first over the second" in told
    assert not serious(browser)
    after, known = lead(place[0])
    assert known - none == 80  # two votes on each battle
    assert after < 0.85 * before
    assert gold_is_right(place)
    assert f"{known:,} votes with gold" in ranked(browser, site)
    hosts = {urlsplit(url).netloc for url in asked_for(browser) if not url.startswith("data:")}
    assert hosts <= {urlsplit(site).netloc}
    assert not browser.get_log("browser")


def judge_all(browser: Any, most: int) -> int:
    """Answer by one key after the other as the texts tell, with an undo, a tie and one that is bad on both sides; how
    often the left one was better."""
    n_left = done = 0
    while done < most and find(browser, "#answer"):
        shown = wait(lambda: text(browser, ".sides .part:first-child .markdown"))
        page = browser.page_source
        assert not any(f'"{model}"' in page or f">{model}<" in page for model in MODELS)  # nobody knows the models
        is_left = shown.startswith("The better")
        said = text(browser, ".saved")
        if done == 0:  # a slip, taken back
            key(browser, "2")
            wait(lambda before=said: text(browser, ".saved") not in ("", before))
            key(browser, "u")
            wait(lambda: "Taken back" in text(browser, ".saved"))
            said = text(browser, ".saved")
        key(browser, "1" if is_left else "4")
        wait(lambda before=said: text(browser, ".saved") not in ("", before))
        n_left, done = n_left + is_left, done + 1
    return n_left


def gold_is_right(place: tuple[Path, dict[str, str]]) -> bool:
    """Whether the gold of each vote names the model that truly won, in the order in which that vote showed the two."""
    store = hero.open_store(place[0])
    rows = stored_votes(store.rows(store.find(BATTLES)), BATTLES).table.to_pylist()
    known = [row for row in rows if row["gold"] is not None]
    assert {row["model_a"] < row["model_b"] for row in known} == {True, False}  # votes in both orders
    return all(row["model_a" if row["gold"] == "A" else "model_b"] == place[1][row["item"]] for row in known)


def test_what_both_are_is_an_answer_too(browser: Any, site: str, place: tuple[Path, dict[str, str]]) -> None:
    """An expert who finds both equal, or both bad, would have to name a winner."""
    look_as(browser)
    browser.get(f"{site}/gold/queue?round={BATTLES}")
    wait(lambda: find(browser, "#f-count"))[0].send_keys("\n")
    wait(lambda: find(browser, ".sides"))
    for pressed in ("2", "3"):
        said = text(browser, ".saved")
        key(browser, pressed)
        wait(lambda before=said: text(browser, ".saved") not in ("", before))
    done = read_records(hero.open_store(place[0]).place, BATTLES)
    assert [one.gold for one in done[-2:]] == ["tie", "both bad"]


@pytest.mark.parametrize("path", ["/gold", GOLD, f"/gold/queue?round={BATTLES}", LEADERBOARD])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_votes_on_a_phone(browser: Any, site: str, path: str, scheme: str) -> None:
    """On a phone, in the dark or with a screen reader an expert, or a reader of ranks, would be shut out."""
    look_as(browser, 400, scheme)
    browser.get(site + path)
    if path == LEADERBOARD:
        wait(lambda: "What would tell more" in text(browser, "main"))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
    assert not serious(browser)


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
    with served(tmp_path / "store", "--images", str(tmp_path / "pictures")) as client:
        site = str(client.base_url).rstrip("/")
        look_as(browser)
        asked_for(browser)
        browser.get(site)
        browser.delete_all_cookies()  # who gives gold, as other tests have said
        browser.get(f"{site}/gold/queue?round={BATTLES}")
        count = wait(lambda: find(browser, "#f-count"))[0]
        count.clear()
        count.send_keys("13\n")
        wait(lambda: find(browser, "#f-expert"))[0].send_keys("vera\n")
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
        said = text(browser, ".saved")
        key(browser, "1" if wide[0] == 600 else "4")
        wait(lambda before=said: text(browser, ".saved") not in ("", before))
        yield wide[0] == 600 if 300 in wide else None
