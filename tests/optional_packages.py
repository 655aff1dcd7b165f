"""Packages that not everybody has: their tests are skipped without them, but never in continuous integration."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest


def needs(package: str, reason: str) -> pytest.MarkDecorator:
    """Skip where a package is missing; it is looked for and not loaded, since every process collects all tests."""
    return pytest.mark.skipif(find_spec(package) is None and os.environ.get("CI") != "true", reason=reason)
