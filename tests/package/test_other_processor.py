"""The lane that calculates as another processor really does so."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import other_processor
import pytest

pytestmark = pytest.mark.numbers

ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import other_processor, scipy.linalg
from numba import config
from threadpoolctl import threadpool_info
features = [name for name, has in other_processor.umath.__cpu_features__.items() if has]
blas = [one["architecture"] for one in threadpool_info() if one["internal_api"] == "openblas"]
print(json.dumps([features, blas, config.CPU_NAME, hash("item")]))
"""


def asked(environment: dict[str, str]) -> tuple[list[str], list[str], str | None, int]:
    folder = os.path.dirname(other_processor.__file__)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK, folder],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    features, blas, cpu, hashed = json.loads(done.stdout)
    return features, blas, cpu, hashed


@pytest.mark.slow
def test_the_variables_take_effect() -> None:
    """The lane would run the same tests in the same way a second time, and find nothing."""
    wanted = other_processor.environment()
    features, blas, cpu, hashed = asked(wanted)
    assert not set(wanted.get("NPY_DISABLE_CPU_FEATURES", "").split()) & set(features)
    assert set(blas) <= {wanted.get("OPENBLAS_CORETYPE", *blas[:1])}
    assert cpu == "generic"
    assert hashed != asked({"PYTHONHASHSEED": "21"})[3]
