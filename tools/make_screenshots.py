"""Takes pictures of the report, of results in a notebook, of the page and of the site, as a browser shows them.

    python tools/make_screenshots.py

Needs what `make browser` brings. Look at the pictures afterwards.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from markers import DOCS, ROOT

import hero_eval as hero

sys.path.insert(0, str(ROOT / "tests"))

from browsing import chromium, look_as
from gold_store import CURRENT, fill_for_gold
from site_builder import build_site, served_folder
from web_server import PATIENCE, page_when_there, served
from web_store import RATES, answers, csv_of, fill

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"
FRAME = "<!doctype html><meta charset='utf-8'><body style='font: 14px sans-serif; margin: 16px'>"


def reports(folder: Path) -> dict[str, str]:
    """A report on a rate and one on a difference, as addresses."""
    current, history = (hero.read_round(EXAMPLE / name) for name in ("current", "history"))
    rate = hero.estimate_rate(current, history)
    moved = hero.estimate_difference(current, history, history, cluster="item")
    made = {"rate": (rate, "How many assets are defective?"), "difference": (moved, "Is the new version better?")}
    return {name: one.report(folder / f"{name}.html", title=title).as_uri() for name, (one, title) in made.items()}


def notebook(folder: Path) -> str:
    """What the example notebook shows, one below the other."""
    cells = json.loads((ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    data = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    place = folder / "notebook.html"
    place.write_text(FRAME + "<hr>".join("".join(one["text/html"]) for one in data if "text/html" in one))
    return place.as_uri()


def shoot(browser: Any, name: str, address: str, width: int, most: int, scheme: str = "light") -> None:
    """The page at this width, down to `most`; `scheme` is light, dark or print."""
    look_as(browser, width, "light" if scheme == "print" else scheme)
    if scheme == "print":
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    browser.get(address)
    if address.startswith("http"):  # the site remembers who chose light or dark
        browser.execute_script("localStorage.clear()")
        browser.get(address)
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    height = min(browser.execute_script("return document.documentElement.scrollHeight"), most)
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    asked = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    made = browser.execute_cdp_cmd("Page.captureScreenshot", asked)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    (DOCS / "pictures" / f"{name}.png").write_bytes(base64.b64decode(made["data"]))
    print(f"docs/pictures/{name}.png")


SHOWN = {
    "page-models": ("models?better=low", 1000, 560),
    "page-leaderboard": ("leaderboard?better=low", 1000, 900),
    "page-rounds": ("", 1000, 760),
    "page-round": ("round?name=2026-w46", 1000, 900),
    "page-labelers": ("labelers", 1000, 620),
    "page-backtest": ("backtest", 1000, 640),
    "page-upload": ("upload", 1000, 640),
    "page-phone": ("models?better=low", 400, 760),
}


def page(browser: Any, folder: Path) -> None:
    """The page over a store with made-up rounds."""
    fill(folder / "evals", len(RATES))
    with served(folder / "evals") as client:
        for path in (*(f"round?name={name}" for name in RATES), *(path for path, _, _ in SHOWN.values())):
            page_when_there(client, f"/{path}")
        for name, (path, width, most) in SHOWN.items():
            shoot(browser, name, f"{client.base_url}{path}", width, most)
        file = folder / "2026-w48.csv"
        file.write_text(csv_of(answers(8, 0.22)[0]), encoding="utf-8")
        browser.get(f"{client.base_url}upload")
        browser.find_element("name", "file").send_keys(str(file))
        browser.find_element("name", "model").send_keys("v8")
        browser.find_element("css selector", "main form button").click()
        end = time.monotonic() + PATIENCE
        while not browser.find_elements("id", "confirm") and time.monotonic() < end:
            time.sleep(0.2)
        shoot(browser, "page-preview", browser.current_url, 1000, 760)


def shown_now(browser: Any, name: str, width: int, most: int) -> None:
    """The page that is shown, as it is: loading it again would lose what was opened on it."""
    look_as(browser, width)
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    height = min(browser.execute_script("return document.documentElement.scrollHeight"), most)
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    asked = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    made = browser.execute_cdp_cmd("Page.captureScreenshot", asked)
    (DOCS / "pictures" / f"{name}.png").write_bytes(base64.b64decode(made["data"]))
    print(f"docs/pictures/{name}.png")


TEXTS = "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText || 'there').join(' ')"


def gold(browser: Any, folder: Path) -> None:
    """Giving gold, from the queue to the last answer."""
    _, truth = fill_for_gold(folder / "gold")
    end = time.monotonic() + PATIENCE

    def wait(selector: str, text: str) -> None:
        while time.monotonic() < end:
            if text in browser.execute_script(TEXTS, selector):
                return
            time.sleep(0.1)

    def answer(count: int) -> None:
        for _ in range(count):
            item = browser.execute_script(TEXTS, ".id").removeprefix("Item ")
            browser.execute_script(
                "document.querySelector(arguments[0]).click()", f'#answer [data-key="{truth[item]}"]'
            )
            wait(".saved", f"Saved: {item}")

    with served(folder / "gold") as client:
        browser.delete_all_cookies()
        look_as(browser, 1000)
        browser.get(f"{client.base_url}gold?round={CURRENT}")
        shown_now(browser, "page-gold-start", 1000, 900)
        browser.find_element("css selector", "main form button").click()
        wait("label", "Your name")
        browser.find_element("id", "f-expert").send_keys("Eve\n")
        wait(".id", "Item")
        answer(15)
        wait(".when", "With 15 gold")
        shown_now(browser, "page-gold-item", 1000, 700)
        shown_now(browser, "page-gold-phone", 400, 800)
        look_as(browser, 1000)
        while browser.find_elements("id", "answer"):
            answer(1)
        wait(".when", "With 30 gold in this round.")
        shown_now(browser, "page-gold-done", 1000, 560)


def main() -> None:
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        found = reports(folder)
        shoot(browser, "report", found["rate"], 1000, 2000)
        shoot(browser, "report-dark", found["rate"], 1000, 1100, "dark")
        shoot(browser, "report-phone", found["rate"], 400, 1400)
        shoot(browser, "report-print", found["rate"], 794, 1123, "print")
        shoot(browser, "report-difference", found["difference"], 1000, 1100)
        shoot(browser, "notebook", notebook(folder), 900, 1500)
        page(browser, folder)
        gold(browser, folder)
        with served_folder(build_site(folder / "site")) as address:
            shoot(browser, "site", f"{address}/index.html", 1300, 1100)
            shoot(browser, "site-dark", f"{address}/results.html", 1300, 1100, "dark")
            shoot(browser, "site-phone", f"{address}/findings.html", 400, 1100)


if __name__ == "__main__":
    main()
