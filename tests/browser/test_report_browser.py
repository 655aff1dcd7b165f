"""Reports in a real browser: nothing is asked of anybody, nothing is wrong on the console, everybody can read it.

Needs Debian's chromium with its driver, selenium, and axe-core (`make browser` brings axe-core). Where a part is
missing the tests are skipped; with CI=true that is a failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browsing import IN_A_BROWSER, MISSING, asked_for, look_as, serious, width_on_a_phone
from make_rounds import Pair

import hero_eval as hero
from hero_eval.report.html import html
from hero_eval.report.making import report_of

pytestmark = IN_A_BROWSER


def test_the_browser_is_there() -> None:
    """The tests in a browser would be skipped without a word."""
    assert not MISSING


@pytest.fixture(scope="module")
def places(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of each kind."""
    folder = tmp_path_factory.mktemp("reports")
    rate = hero.estimate_rate(pair.current, pair.history, covariates=["x"])
    moved = hero.estimate_difference(pair.current, pair.history, pair.history, method="hero1")
    made = {"rate": report_of(rate), "difference": report_of(moved), "hostile": report_of(rate, title=HOSTILE)}
    for name, report in made.items():
        (folder / f"{name}.html").write_text(html(report), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


HOSTILE = "</title><script>document.title='run'</script>\"'😀" + "x" * 10_000
REPORTS = ("rate", "difference", "hostile")


def show(browser: Any, place: Path, width: int = 1000, scheme: str = "light") -> None:
    look_as(browser, width, scheme)
    browser.get(place.as_uri())


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_for_everybody_and_tells_nobody(browser: Any, places: dict[str, Path], name: str) -> None:
    """A report would ask others for something, run its title, shut readers out, or run out of a phone's screen."""
    asked_for(browser)
    show(browser, places[name])
    assert asked_for(browser) <= {places[name].as_uri()}
    assert browser.get_log("browser") == []
    assert browser.title != "run"
    assert not serious(browser)
    assert width_on_a_phone(browser) <= 400


@pytest.mark.parametrize("name", REPORTS)
def test_the_dark_has_contrast(browser: Any, places: dict[str, Path], name: str) -> None:
    show(browser, places[name], scheme="dark")
    assert not serious(browser, only_colors=True)


def test_what_shuts_readers_out_would_be_noticed(browser: Any, places: dict[str, Path]) -> None:
    """The tests above, and those of the pages and the site, would pass whatever is shown."""
    show(browser, places["rate"])
    browser.execute_script(
        "const cells = document.querySelectorAll('td'); cells[cells.length >> 1].style.color = '#ddd';"
        "document.querySelector('main').append(document.createElement('img'))"
    )
    assert [code for code, _ in serious(browser)] == ["image-alt", "color-contrast"]
    assert [code for code, _ in serious(browser, only_colors=True)] == ["color-contrast"]
    browser.execute_script("document.querySelector('main').style.width = '500px'")
    assert width_on_a_phone(browser) > 400


def test_what_scrolls_can_be_reached_by_keyboard(browser: Any, places: dict[str, Path]) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(browser, places["rate"], width=400)
    wide = len(browser.find_elements(By.CSS_SELECTOR, ".wide"))
    reached = set()
    for _ in range(wide):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(browser.switch_to.active_element.get_attribute("aria-label"))
    assert len(reached) == wide
    assert None not in reached


def test_pictures_follow_the_dark_setting(browser: Any, places: dict[str, Path]) -> None:
    """Words in pictures would be dark on dark."""
    ink = "return getComputedStyle(document.querySelector('figure svg text')).fill.match(/\\d+/g).map(Number)"
    show(browser, places["rate"], scheme="light")
    assert max(browser.execute_script(ink)) < 128
    show(browser, places["rate"], scheme="dark")
    assert min(browser.execute_script(ink)) > 128
