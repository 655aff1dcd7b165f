"""Takes pictures of the report, of results in a notebook and of the site, as a browser shows them.

    python docs/make_screenshots.py

Needs what `make browser` brings. Look at the pictures afterwards.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from markers import DOCS, ROOT

import hero_eval as hero

sys.path.insert(0, str(ROOT / "tests"))

from browsing import chromium, look_as
from site_builder import build_site, served_folder

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"
FRAME = "<!doctype html><meta charset='utf-8'><body style='font: 14px sans-serif; margin: 16px'>"


def reports(folder: Path) -> dict[str, str]:
    """A report on a rate and one on a difference, as addresses."""
    current, history = (hero.read_round(EXAMPLE / name) for name in ("current", "history"))
    rate = hero.estimate_rate(current, history, covariates=["judge"])
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
        with served_folder(build_site(folder / "site")) as address:
            shoot(browser, "site", f"{address}/index.html", 1300, 1100)
            shoot(browser, "site-dark", f"{address}/results.html", 1300, 1100, "dark")
            shoot(browser, "site-phone", f"{address}/findings.html", 400, 1100)


if __name__ == "__main__":
    main()
