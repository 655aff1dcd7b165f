"""The site in a real browser: nothing is asked of others, nothing is wrong on the console, everybody can read it.

Needs what the tests of the reports need; see `test_report_browser.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import IN_A_BROWSER, asked_for, find, look_as, serious, wait, width_on_a_phone
from site_builder import served_folder

pytestmark = IN_A_BROWSER

PAGES = ("index", "reports", "method", "results", "reference", "findings")


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


def is_shown_as(browser: Any, scheme: str) -> bool:
    return bool(browser.execute_script("return document.body.dataset.mdColorScheme") == scheme)


@pytest.mark.parametrize("name", PAGES)
def test_the_site_is_for_everybody_and_tells_nobody(browser: Any, site: str, name: str) -> None:
    """Readers of the pages would be seen by others, see half of a page where there is no network, be shut out, or lose
    words on a phone."""
    browser.get_log("browser")
    asked_for(browser)
    show(browser, f"{site}/{name}.html")
    wait(lambda: is_shown_as(browser, "default"))
    places = {place for place in asked_for(browser) if not place.startswith("data:")}
    assert places
    assert not [place for place in places if not place.startswith(site)]
    assert browser.get_log("browser") == []
    assert not serious(browser)
    assert width_on_a_phone(browser) <= 400


@pytest.mark.parametrize("name", PAGES)
def test_the_site_has_contrast_in_the_dark(browser: Any, site: str, name: str) -> None:
    """Who reads in the dark could not."""
    show(browser, f"{site}/{name}.html", scheme="dark")
    wait(lambda: is_shown_as(browser, "slate"))
    assert not serious(browser, only_colors=True)


def test_the_site_is_searched_by_keyboard(browser: Any, site: str) -> None:
    """A code from the terminal is looked up with a few keys, without any other host."""
    show(browser, f"{site}/index.html")
    find(browser, "body")[0].send_keys("/")
    browser.switch_to.active_element.send_keys("F310")
    places = [one.get_attribute("href") for one in wait(lambda: find(browser, ".md-search-result__link"))]
    assert any("findings.html" in place for place in places)
