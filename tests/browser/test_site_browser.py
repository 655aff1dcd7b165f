"""The site in a real browser: nothing is asked of others, nothing is wrong on the console, everybody can read it.

Needs what the tests of the reports need; see `test_report_browser.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import COLORS, SKIPPED, asked_for, chromium, look_as, serious
from site_builder import served_folder

pytestmark = pytest.mark.browser

if SKIPPED:
    pytest.skip(SKIPPED, allow_module_level=True)

PAGES = ("index", "reports", "method", "results", "reference", "findings")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def site(built_site: Path) -> Iterator[str]:
    """The site's address."""
    with served_folder(built_site) as address:
        yield address


def show(browser: Any, address: str, width: int = 1300, scheme: str = "light") -> None:
    """As a reader sees it who comes for the first time: the site remembers who chose light or dark."""
    browser.get("about:blank")  # a page that is still there would note the scheme that it changes to
    look_as(browser, width, scheme)
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"})
    browser.get(address)


@pytest.mark.parametrize("name", PAGES)
def test_the_site_asks_nobody_else(browser: Any, site: str, name: str) -> None:
    """Readers of the pages would be seen by others, or see half of a page where there is no network."""
    browser.get_log("browser")
    asked_for(browser)
    show(browser, f"{site}/{name}.html")
    places = {place for place in asked_for(browser) if not place.startswith("data:")}
    assert places
    assert not [place for place in places if not place.startswith(site)]
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_read_the_site(browser: Any, site: str, name: str, scheme: str) -> None:
    """axe-core finds nothing serious, in light and in dark."""
    from selenium.webdriver.support.ui import WebDriverWait

    show(browser, f"{site}/{name}.html", scheme=scheme)
    chosen = "return document.body.dataset.mdColorScheme"
    asked = "slate" if scheme == "dark" else "default"
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(chosen) == asked)
    assert not serious(browser, COLORS if scheme == "dark" else ())


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_the_site(browser: Any, site: str, name: str) -> None:
    """On a phone the words of a page must not leave the screen."""
    show(browser, f"{site}/{name}.html", width=400)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400


def test_the_site_is_searched_by_keyboard(browser: Any, site: str) -> None:
    """A code from the terminal is looked up with a few keys, without any other host."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    show(browser, f"{site}/index.html")
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    browser.switch_to.active_element.send_keys("F310")
    results = (By.CSS_SELECTOR, ".md-search-result__link")
    WebDriverWait(browser, 20).until(lambda driver: driver.find_elements(*results))
    places = [one.get_attribute("href") for one in browser.find_elements(*results)]
    assert any("findings.html" in place for place in places)
