"""Put a built site beside its earlier versions, each in a folder of its own, with a list that the pages show.

python tools/publish_site.py PUBLISHED VERSION [--site build/site] [--not-latest]

PUBLISHED/VERSION holds the site, PUBLISHED/latest the newest one, PUBLISHED/versions.json the list, as the theme's own
menu of versions reads it, and PUBLISHED/index.html leads to the latest. Nothing is fetched and nothing is sent: copy
PUBLISHED to wherever pages are served. Build the site with HERO_SITE_VERSIONS=mike, so that it has the menu.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path

LATEST = "latest"
_FORWARD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>hero-eval</title>'
    f'<meta http-equiv="refresh" content="0; url={LATEST}/index.html">'
    f'<a href="{LATEST}/index.html">hero-eval</a></html>\n'
)


def publish(site: Path, published: Path, version: str, *, is_latest: bool = True) -> list[dict[str, object]]:
    """The list of versions, newest first, after the site was put there; a version that is there is replaced."""
    if not re.fullmatch(r"\d+(\.\d+)*([a-z]+\d*)?", version):
        raise SystemExit(f"the version is {version!r}. It is one such as 1.2 or 1.2.0rc1")
    if not (site / "index.html").is_file():
        raise SystemExit(f"{site} holds no site. Build it: make docs")
    published.mkdir(parents=True, exist_ok=True)
    for name in (version, *([LATEST] if is_latest else [])):
        shutil.rmtree(published / name, ignore_errors=True)
        shutil.copytree(site, published / name)
    listing = published / "versions.json"
    before = json.loads(listing.read_text(encoding="utf-8")) if listing.is_file() else []
    rest = [one for one in before if one["version"] != version]
    if is_latest:
        rest = [one | {"aliases": []} for one in rest]
    mine = {"version": version, "title": version, "aliases": [LATEST] if is_latest else []}
    found = sorted([mine, *rest], key=lambda one: _order(str(one["version"])), reverse=True)
    listing.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (published / "index.html").write_text(_FORWARD, encoding="utf-8")
    return found


def _order(version: str) -> tuple[list[int], bool, str]:
    """1.10 comes after 1.9, and 1.2 after 1.2rc1."""
    numbers, rest = re.fullmatch(r"([\d.]+?)([a-z]+\d*)?", version).groups()  # type: ignore[union-attr]
    return [int(one) for one in numbers.split(".")], not rest, rest or ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Put a built site beside its earlier versions.")
    parser.add_argument("published", type=Path, help="the folder of all versions")
    parser.add_argument("version", help="such as 1.2")
    parser.add_argument("--site", type=Path, default=Path("build/site"), help="the site that was built")
    parser.add_argument("--not-latest", action="store_true", help="an old version: latest stays as it is")
    asked = parser.parse_args()
    found = publish(asked.site, asked.published, asked.version, is_latest=not asked.not_latest)
    print(f"{asked.published}/index.html: {', '.join(str(one['version']) for one in found)}")


if __name__ == "__main__":
    main()
