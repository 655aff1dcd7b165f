"""Other tools' packages, loaded when first used, with a clear error where one is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hero_eval.errors import wrong


def need(module: str, extra: str, what: str) -> Any:
    """The module; E410 if its package is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # the package is there, and something else is missing
        package = module.split(".")[0]
        raise wrong("E410", f"{what} needs {package}. Install: pip install 'hero-eval[{extra}]'") from None
