"""Runs tests as another processor would: with fewer vector instructions, other kernels and another hash seed.

    python tests/other_processor.py -m numbers     the arguments are pytest's

Sums are taken in another order there, so last digits differ, and a fit takes another number of steps. On a machine with
AVX-512 the tests run as on one that has only AVX2; on all others, as on one that has no more than numpy's baseline.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np

umath = np._core._multiarray_umath if hasattr(np, "_core") else np.core._multiarray_umath
DISPATCHED: list[str] = list(umath.__cpu_dispatch__)
WIDEST = [name for name in DISPATCHED if "AVX512" in name or name == "X86_V4"]
HASH_SEED = "20"


def environment() -> dict[str, str]:
    """The variables that make numpy, OpenBLAS, numba and the C library calculate as on another processor."""
    has_widest = any(umath.__cpu_features__.get(name) for name in WIDEST)
    found = {
        # only names that this numpy knows: it warns of others, and in tests warnings are errors
        "NPY_DISABLE_CPU_FEATURES": " ".join(WIDEST if has_widest else DISPATCHED),
        "NUMBA_CPU_NAME": "generic",
        "PYTHONHASHSEED": HASH_SEED,
    }
    if platform.machine() in ("x86_64", "AMD64"):
        found["OPENBLAS_CORETYPE"] = "Haswell" if has_widest else "Nehalem"
        if not has_widest:
            found["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX2,-FMA"
    return {name: value for name, value in found.items() if value}


def main(arguments: list[str]) -> int:
    found = environment()
    print("\n".join(f"{name}={value}" for name, value in found.items()), flush=True)
    done = subprocess.run([sys.executable, "-m", "pytest", *arguments], env=os.environ | found, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
