"""Versions of the site, side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from repository import TOOLS, load_script

publish = load_script(TOOLS, "publish_site").publish


def test_versions_stand_side_by_side(tmp_path: Path) -> None:
    site, published = tmp_path / "site", tmp_path / "published"
    site.mkdir()
    for version in ("1.9", "1.10", "1.10rc1"):
        (site / "index.html").write_text(version, encoding="utf-8")
        publish(site, published, version, is_latest=version != "1.10rc1")
    assert (published / "1.9" / "index.html").read_text(encoding="utf-8") == "1.9"
    assert (published / "latest" / "index.html").read_text(encoding="utf-8") == "1.10"
    listed = json.loads((published / "versions.json").read_text(encoding="utf-8"))
    assert [one["version"] for one in listed] == ["1.10", "1.10rc1", "1.9"]
    assert [one["aliases"] for one in listed] == [["latest"], [], []]
    assert "latest/index.html" in (published / "index.html").read_text(encoding="utf-8")


def test_what_is_no_site_or_no_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no site"):
        publish(tmp_path, tmp_path / "published", "1.0")
    with pytest.raises(SystemExit, match="the version is"):
        publish(tmp_path, tmp_path / "published", "../x")
