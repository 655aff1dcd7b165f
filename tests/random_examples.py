"""How many random examples a test plays: few and always the same, or with HYPOTHESIS_PROFILE=explore many new ones."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

# A test must not pass or fail by luck: the same examples in every run, however slow the machine. Looking for new ones
# is a run of its own.
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", derandomize=False, deadline=None)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "steady")
DEEPER = 20
"""How many times as many examples a run that explores plays."""


def examples(count: int, **more: Any) -> settings:
    """This many examples in a steady run; `more` goes to Hypothesis."""
    return settings(settings.get_profile(PROFILE), max_examples=count * (DEEPER if PROFILE == "explore" else 1), **more)
