"""The page in a real browser: it works by mouse and by keyboard, on a phone too, and asks nobody else for anything.

Needs what `tests/browser/test_report_browser.py` needs; `make browser` brings it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from browsing import IN_A_BROWSER, asked_for, find, look_as, serious, text, wait, width_on_a_phone
from web_server import page_when_there, served
from web_store import SCRIPT, add_hostile, answers, csv_of, fill

pytestmark = IN_A_BROWSER

HOSTILE = f"/round?{httpx.QueryParams({'name': f'2018-01 {SCRIPT}', 'method': 'hero1'})}"
PAGES = (
    "/",
    "/round?name=2026-w46",
    "/models?better=low",
    "/leaderboard?question=defect&better=low",
    "/labelers",
    "/backtest",
    "/upload",
    "/work",
    "/api",
    "/nowhere",
    HOSTILE,
    f"/labelers?{httpx.QueryParams({'question': SCRIPT})}",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    store = fill(folder / "store")
    add_hostile(store)
    return folder


@pytest.fixture(scope="module")
def site(place: Path) -> Iterator[str]:
    """A server that has worked out everything that its pages show."""
    with served(place / "store") as client:
        for path in PAGES:
            page_when_there(client, path)
        yield str(client.base_url).rstrip("/")


def press(browser: Any, text: str) -> None:
    """Click the button or link of this text."""
    fitting = [one for one in find(browser, "button, a") if one.text == text]
    assert len(fitting) == 1, text
    fitting[0].click()


def is_over(browser: Any) -> bool:
    """Nothing is being worked out, or about to be, and the page of the result is there: none is while it loads."""
    return not find(browser, "[data-job], [data-start]") and bool(find(browser, "#main"))


def answer(browser: Any) -> str:
    return text(browser, ".answer")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_for_everybody_and_tells_nobody(browser: Any, site: str, path: str) -> None:
    """A page would tell another host who looks at it, run what came with the data, miss a file of its own, shut people
    out who see little or use a screen reader, or run out of the screen of a phone."""
    look_as(browser)
    asked_for(browser)
    browser.get_log("browser")
    browser.get(site + path)
    hosts = {urlsplit(url).netloc for url in asked_for(browser) if not url.startswith("data:")}
    assert hosts <= {urlsplit(site).netloc}
    said = [row["message"] for row in browser.get_log("browser")]
    assert not [text for text in said if "404" not in text or path != "/nowhere"]
    assert browser.title.endswith("· hero")
    assert not serious(browser)
    assert width_on_a_phone(browser) <= 400


@pytest.mark.parametrize("path", PAGES[:5])
def test_the_dark_has_contrast(browser: Any, site: str, path: str) -> None:
    """Who reads in the dark could not."""
    look_as(browser, scheme="dark")
    browser.get(site + path)
    assert not serious(browser, only_colors=True)


def test_a_phone_shows_who_is_better(browser: Any, site: str) -> None:
    """The one column that people came for would be off the screen."""
    look_as(browser, 400)
    browser.get(site + "/models?better=low")
    ends = "return [...document.querySelectorAll('.models .chance')].map(one => one.getBoundingClientRect().right)"
    assert max(browser.execute_script(ends)) <= 400


def test_the_better_model_is_said(browser: Any, site: str) -> None:
    """A reader who knows no statistics could not say which model is better, and how sure that is."""
    look_as(browser)
    browser.delete_all_cookies()
    browser.get(site + "/models")
    press(browser, "a fault")
    assert answer(browser).startswith("Undecided whether v7 is better than")
    assert "(F205). What to do: " in answer(browser)
    assert find(browser, ".models tbody th")[0].text.startswith("v7")
    press(browser, "good")
    named = re.findall(r"\bv\d\b", answer(browser))
    assert named[0] in ("v5", "v6")  # v7 has the fewest


def test_two_rounds_are_compared(browser: Any, site: str) -> None:
    """The choice of rounds below the table would do nothing."""
    look_as(browser)
    browser.get(site + "/models?better=low")
    for one in find(browser, "[name=round]"):
        if one.is_selected() != (one.get_attribute("value") in ("2026-w46", "2026-w42")):
            one.click()
    find(browser, '[name=baseline][value="2026-w42"]')[0].click()
    press(browser, "Compare")
    wait(lambda: is_over(browser) and find(browser, ".models tbody tr"))
    assert [row.text.split()[0] for row in find(browser, ".models tbody th")] == ["v7", "v5"]
    assert answer(browser).startswith("Undecided whether v7 is better than v5: ")


def test_a_labeler_is_found(browser: Any, site: str) -> None:
    """Among hundreds of labelers nobody could find one."""
    look_as(browser)
    browser.get(f"{site}/labelers")
    boxes = find(browser, "[data-filter]")
    if not boxes:  # six labelers need none
        browser.execute_script(
            "const box = document.createElement('input'); box.dataset.filter = '#labelers'; box.id = 'find';"
            "document.querySelector('main').prepend(box); filter(box)"
        )
        boxes = find(browser, "#find")
    boxes[0].send_keys("judge-b")
    shown = [row for row in find(browser, "#labelers tbody tr") if row.is_displayed()]
    assert [row.text.split()[0] for row in shown] == ["judge-b"]


def test_a_report_is_downloaded(browser: Any, site: str, downloads: Path) -> None:
    """The link would open an error instead of a file."""
    look_as(browser)
    browser.get(site + "/round?name=2026-w46")
    press(browser, "Report (HTML)")
    file = downloads / "2026-w46-report.html"
    wait(file.exists)
    assert "Round 2026-w46" in file.read_text(encoding="utf-8")
    browser.get(file.as_uri())
    assert "of 100 items" in answer(browser)


def test_a_good_file_is_added(browser: Any, site: str, place: Path) -> None:
    """A team could not bring its labels in by the page."""
    look_as(browser)
    file = place / "2020-w01.csv"
    file.write_text(csv_of(answers(5, 0.4, 40)[0]), encoding="utf-8")
    browser.get(site + "/upload")
    find(browser, "[name=file]")[0].send_keys(str(file))
    assert find(browser, "[name=round]")[0].get_attribute("value") == "2020-w01"
    find(browser, "[name=question]")[0].send_keys("pilot")
    press(browser, "Look at it")
    wait(lambda: "This adds round 2020-w01: 40 items, 120 labels, 0 gold." in answer(browser))
    press(browser, "Add it")
    wait(lambda: "/round?name=2020-w01" in browser.current_url)
    browser.get(site + "/")
    assert "2020-w01" in find(browser, "main")[0].text


def test_a_bad_file_is_explained_and_can_be_mended(browser: Any, site: str, place: Path) -> None:
    """Whoever brings a damaged file would see a code at most, or would have damaged the store."""
    look_as(browser)
    file = place / "bad.csv"
    file.write_text("thing,who,said\na,ann,1\na,bob,0\n", encoding="utf-8")
    browser.get(site + "/upload")
    find(browser, "[name=file]")[0].send_keys(str(file))
    find(browser, "[name=question]")[0].send_keys("pilot")
    press(browser, "Look at it")
    wait(lambda: "cannot be added" in answer(browser))
    problem = find(browser, ".problem")[0].text
    assert "E104" in problem
    assert "What to do" in problem
    assert not serious(browser)
    assert "Names of columns" in problem  # which is in sight, below
    find(browser, "[name=columns]")[0].send_keys("item=thing, labeler=who, label=said")
    press(browser, "Look again")
    wait(lambda: "This adds round bad: 1 item, 2 labels" in answer(browser))
    press(browser, "Throw it away")
    browser.get(site + "/")
    assert "bad" not in [one.text for one in find(browser, "tbody th")]


def test_a_file_that_is_too_large_is_not_sent(browser: Any, site: str) -> None:
    """Somebody would wait minutes for an upload that is refused."""
    browser.get(site + "/upload")
    file = find(browser, "[name=file]")[0]
    browser.execute_script("arguments[0].dataset.most = 1", file)
    file.send_keys(__file__)
    assert not browser.execute_script("return arguments[0].checkValidity()", file)


def test_the_keyboard_is_enough(browser: Any, site: str) -> None:
    """Who uses no mouse could not get past the head of the page, or could not see where they are."""
    from selenium.webdriver.common.keys import Keys

    look_as(browser)
    browser.get(site + "/")
    reached = []
    for _ in range(13):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        here = browser.switch_to.active_element
        reached.append(here.text or here.get_attribute("aria-label"))
        assert browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert reached[:7] == ["Skip to the content", "hero", "Rounds", "Models", "Leaderboard", "Labelers", "Backtest"]
    assert "2026-w46" in reached
    browser.get(site + "/")
    browser.switch_to.active_element.send_keys(Keys.TAB)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "main"
    browser.get(site + "/models?better=low")
    ways = [one for one in find(browser, ".ways a") if one.text == "good"]
    ways[0].send_keys(Keys.ENTER)
    wait(lambda: "better=high" in browser.current_url)


def test_work_is_shown_and_then_its_result(browser: Any, site: str) -> None:
    """Whoever waits would look at a page that never changes."""
    look_as(browser)
    browser.get(site + "/round?name=2026-w46&level=0.9&method=majority_vote")
    wait(lambda: is_over(browser) and answer(browser))
    assert answer(browser).endswith("(90% interval 17 to 26, in doubt: F308).")
