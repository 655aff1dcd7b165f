"""Takes the pictures of the page for docs/serve.md, of a store with made-up rounds, in a real browser.

    python docs/make_screens.py

Needs what `make browser` brings. Look at the pictures afterwards.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from markers import DOCS

sys.path.insert(0, str(DOCS.parent / "tests"))

from browsing import chromium, look_as
from web_server import page_when_there, served
from web_store import answers, csv_of, fill

SHOTS = {
    "page-models": ("/models?better=low", 1000, 560),
    "page-rounds": ("/", 1000, 760),
    "page-round": ("/round?name=2026-w46", 1000, 900),
    "page-labelers": ("/labelers", 1000, 620),
    "page-backtest": ("/backtest", 1000, 640),
    "page-upload": ("/upload", 1000, 640),
    "page-phone": ("/models?better=low", 400, 760),
}
PATIENCE = 120


def shoot(browser: Any, name: str, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    made = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    (DOCS / "pictures" / f"{name}.png").write_bytes(base64.b64decode(made["data"]))


def preview(browser: Any, address: str, folder: Path) -> None:
    """The form with a file, and what follows."""
    file = folder / "2026-w48.csv"
    file.write_text(csv_of(answers(8, 0.22)[0]), encoding="utf-8")
    browser.get(address + "upload")
    browser.find_element("name", "file").send_keys(str(file))
    browser.find_element("name", "model").send_keys("v8")
    browser.find_element("css selector", "main form button").click()
    end = time.monotonic() + PATIENCE
    while not browser.find_elements("id", "confirm"):
        if time.monotonic() > end:
            sys.exit("the preview did not come")
        time.sleep(0.2)
    shoot(browser, "page-preview", 1000, 760)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "evals"
        fill(store, 4)
        with served(store) as client, chromium() as browser:
            address = str(client.base_url)
            for name in ("2026-w40", "2026-w42", "2026-w44", "2026-w46"):
                page_when_there(client, f"/round?name={name}")
            for path, _, _ in SHOTS.values():
                page_when_there(client, path)
            for name, (path, width, height) in SHOTS.items():
                look_as(browser, width)
                browser.get(address + path.lstrip("/"))
                shoot(browser, name, width, height)
            look_as(browser)
            preview(browser, address, Path(folder))


if __name__ == "__main__":
    main()
