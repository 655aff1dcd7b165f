"""Results as JSON text: the same document, the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

SCHEMA_VERSION = 1
"""The version of the layout of all documents."""


def plain(value: Any) -> Any:
    """Only what JSON knows; unknown numbers are null."""
    if isinstance(value, Mapping):
        return {str(key): plain(of) for key, of in value.items()}
    if hasattr(value, "tolist"):  # arrays and scalars of numpy
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(of) for of in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def json_text(document: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """One strict JSON document, indented."""
    return json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=ascii_only)
