"""A real browser for tests: Debian's chromium, driven by selenium, with axe-core to look for what shuts people out."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from repository import ROOT
from web_server import PATIENCE

AXE = Path(os.environ.get("HERO_AXE", ROOT / "build/browser/axe.min.js"))
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
IN_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(
        bool(MISSING) and os.environ.get("CI") != "true", reason=f"not installed: {', '.join(map(str, MISSING))}"
    ),
]
"""The marks of a file of such tests."""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium(downloads: Path | None = None) -> Iterator[Any]:
    """A browser with an empty profile; what it downloads lands in `downloads`."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if downloads is not None:
            options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        driver.set_script_timeout(PATIENCE)  # a busy machine looks through a long page for more than half a minute
        try:
            yield driver
        finally:
            driver.quit()


def forget(browser: Any) -> None:
    """Leave the page, and with it all cookies, files and notes of what was asked and said."""
    browser.get("about:blank")
    for what in ("Cookies", "Cache"):
        browser.execute_cdp_cmd(f"Network.clearBrowser{what}", {})
    for log in ("browser", "performance"):
        browser.get_log(log)


def look_as(browser: Any, width: int = 1000, scheme: str = "light") -> None:
    """The size of the window, and light or dark."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chosen = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", chosen)


def width_on_a_phone(browser: Any) -> int:
    """How wide the page that is shown becomes on a screen of 400 pixels; with more than these it must be pushed."""
    look_as(browser, 400)
    wait(lambda: browser.execute_script("return innerWidth") == 400)
    return int(browser.execute_script("return document.documentElement.scrollWidth"))


def asked_for(browser: Any) -> set[str]:
    """The addresses that were asked since the last look, without files of the browser's own pages.

    On a busy machine its start page may still be loading.
    """
    events = (json.loads(row["message"])["message"] for row in browser.get_log("performance"))
    asked = {one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"}
    return {url for url in asked if not url.startswith("chrome")}


COLORS = ("color-contrast", "link-in-text-block")
"""The rules of axe-core that look at colors: all that a dark page can break if the light one keeps the others."""


TOLD = """
const [asked, tell] = arguments;
const short = (one) => ({ ...one, nodes: one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)) });
const run = (where, rules) => axe.run(where, { ...asked, ...rules }).then((found) => found.violations.map(short));
"""
"""What axe-core says, cut in the page: all of it, written out, would take as long as the search."""

LOOKS = f"""
const colors = {list(COLORS)};
const isHeading = (one) => /^H[1-6]$/.test(one.tagName);
const styled = (one) => [one.tagName, one.getAttribute("class"), isHeading(one) || one.id, one.getAttribute("style"),
  one.getAttribute("fill"), one.tagName === "TR" && one.rowIndex % 2];
const look = (one) => (one.parentElement ? look(one.parentElement) : "") + "/" + styled(one);
const hasWords = (one) => one.matches("input, select, textarea")
  || [...one.childNodes].some((part) => part.nodeType === Node.TEXT_NODE && part.data.trim());
const looks = new Map();
for (const one of document.body.querySelectorAll("*"))
  if (hasWords(one) && one.checkVisibility()) looks.set(look(one), one);
for (const one of looks.values()) one.setAttribute("data-look", "");
const byColors = () => run({{ include: [["[data-look]"]] }}, {{ runOnly: {{ type: "rule", values: colors }} }});
"""
"""Colors are looked at once for each way in which words can look: a page of a thousand rows has a handful."""

IN_LIGHT = """
const others = Object.fromEntries(colors.map((name) => [name, { enabled: false }]));
run(document, { rules: others }).then((found) => byColors().then((more) => tell([...found, ...more])));
"""


def serious(browser: Any, only_colors: bool = False) -> list[tuple[str, list[str]]]:
    """What axe-core finds serious on the page that is shown; by all its rules, or by those that look at colors."""
    if not browser.execute_script("return 'axe' in window"):
        # the page's own policy lets no script in; the debugger's does
        browser.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    # What is in order need not be told node by node, and no rule that is on by itself looks into files of styles.
    asked = {"resultTypes": ["violations"], "preload": False}
    found = browser.execute_async_script(TOLD + LOOKS + ("byColors().then(tell)" if only_colors else IN_LIGHT), asked)
    return [(one["id"], one["nodes"]) for one in found if one["impact"] in ("serious", "critical")]


def wait(condition: Callable[[], Any]) -> Any:
    """What the condition gives, once that is something."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def find(browser: Any, selector: str) -> list[Any]:
    """All that the selector meets, which may be nothing."""
    found: list[Any] = browser.find_elements("css selector", selector)
    return found


def text(browser: Any, selector: str) -> str:
    """All that is shown there; nothing while the page is on its way out, of which a driver tells in several ways."""
    from selenium.common.exceptions import WebDriverException

    try:
        return " ".join(one.text for one in find(browser, selector))
    except WebDriverException:
        return ""


def key(browser: Any, name: str) -> None:
    """Press a key, wherever the focus is."""
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(name).perform()
