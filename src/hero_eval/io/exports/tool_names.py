"""The tools whose exports can be read, in a file of its own: help is shown without loading a reader."""

from __future__ import annotations

TOOLS = {
    "label-studio": "label_studio",
    "argilla": "argilla",
    "langfuse": "langfuse",
    "inspect": "inspect_log",
    "promptfoo": "promptfoo",
    "lm-eval": "lm_eval",
    "mt-bench": "mt_bench",
    "long": "plain_long",
    "wide": "plain_wide",
}
"""Names of `--from`, and the files beside this one, in the order in which they are tried."""
