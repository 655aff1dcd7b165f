"""Reports in a real browser: nothing is asked of anybody, nothing is wrong on the console, everybody can read it.

Needs Debian's chromium with its driver, selenium, and axe-core (`make browser` brings axe-core). Where a part is
missing the tests are skipped; with CI=true that is a failure.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from make_rounds import Pair

import hero_eval as hero
from hero_eval.report.making import report_of
from hero_eval.report.pages import html

AXE = Path(os.environ.get("HERO_AXE", Path(__file__).resolve().parent.parent / "build/browser/axe.min.js"))
MISSING = [
    name
    for name, there in (
        ("chromium", shutil.which("chromium")),
        ("chromedriver", shutil.which("chromedriver")),
        ("selenium", find_spec("selenium")),
        (str(AXE), AXE.exists()),
    )
    if not there
]

if MISSING and os.environ.get("CI") != "true":
    pytest.skip(f"not installed: {', '.join(MISSING)}", allow_module_level=True)


def test_the_browser_is_there() -> None:
    assert not MISSING


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


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
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chosen = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", chosen)
    browser.get(place.as_uri())


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_asked_and_nothing_is_wrong(browser: Any, places: dict[str, Path], name: str) -> None:
    import json

    browser.get_log("performance")
    show(browser, places[name])
    asked = [
        event["params"]["request"]["url"]
        for event in (json.loads(row["message"])["message"] for row in browser.get_log("performance"))
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert set(asked) <= {places[name].as_uri()}
    assert browser.get_log("browser") == []
    assert browser.title != "run"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", REPORTS)
def test_everybody_can_read_it(browser: Any, places: dict[str, Path], name: str, scheme: str) -> None:
    """axe-core finds nothing serious, contrast included, in light and in dark."""
    show(browser, places[name], scheme=scheme)
    # the page's own policy lets no script in; the debugger's does
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    bad = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert not [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in bad]


@pytest.mark.parametrize("name", REPORTS)
def test_a_phone_shows_it_without_scrolling_sideways(browser: Any, places: dict[str, Path], name: str) -> None:
    show(browser, places[name], width=400)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400


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
    ink = "return getComputedStyle(document.querySelector('figure svg text')).fill"
    show(browser, places["rate"], scheme="light")
    light = browser.execute_script(ink)
    show(browser, places["rate"], scheme="dark")
    assert browser.execute_script(ink) != light
