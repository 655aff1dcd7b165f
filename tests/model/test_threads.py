"""Matrices of a fit are multiplied on one thread, and the process has its threads back afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from make_rounds import draw_pair
from threadpoolctl import threadpool_info, threadpool_limits

import hero_eval as hero
from hero_eval.blas_threads import one_blas_thread
from hero_eval.methods.registry import all_methods
from hero_eval.model import threads as numbered
from hero_eval.model.threads import run_chunks


def blas_threads() -> set[int]:
    import scipy.linalg  # noqa: F401 - which brings a library of its own

    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_one_thread_inside_and_all_again_outside() -> None:
    """Threads that wait for each other would cost several times the fit, or the caller would be left without his."""
    with threadpool_limits(3, user_api="blas"):
        before = blas_threads()
        with one_blas_thread(), one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before


TWO_AT_ONCE = """
import scipy.linalg
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from threadpoolctl import threadpool_info
from hero_eval.blas_threads import one_blas_thread

def blas_threads():
    return sorted({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})

inside, first_left = Barrier(2), Barrier(2)

def work(is_first):
    if not is_first:
        inside.wait()
    with one_blas_thread():
        if is_first:
            inside.wait()
        else:
            first_left.wait()
    if is_first:
        first_left.wait()

before = blas_threads()
with ThreadPoolExecutor(2) as pool:
    list(pool.map(work, [True, False]))
after = blas_threads()
with one_blas_thread():
    print(before == after, blas_threads() in ([], [1]))
"""


def test_two_at_once_leave_the_process_its_threads() -> None:
    """Two estimates at the same time would leave the process with one thread for good."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", TWO_AT_ONCE], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_a_fit_is_made_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimate would take several times as long on a busy machine, and its digits would depend on the cores."""
    seen: list[set[int]] = []
    pair = draw_pair(1)
    method = all_methods()["hero1"]
    run = method.run

    def watched(evidence: object) -> object:
        seen.append(blas_threads())
        return run(evidence)  # type: ignore[arg-type]

    monkeypatch.setitem(method.__dict__, "run", watched)
    with threadpool_limits(3, user_api="blas"):
        before = blas_threads()
        hero.estimate_rate(pair.current, pair.history, method="hero1")
        assert blas_threads() == before
    assert seen == [{1}]


@pytest.mark.parametrize("threads", [1, 4])
def test_every_chunk_is_worked_on_once(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over labels would miss a part of them, or have it twice, or hide that one failed."""
    monkeypatch.setattr(numbered, "thread_count", lambda: threads)
    for n_chunks in (0, 1, 3, 50):
        done: list[int] = []
        run_chunks(done.append, n_chunks)
        assert sorted(done) == list(range(n_chunks))

    def fail(chunk: int) -> None:
        raise ArithmeticError(chunk)

    with pytest.raises(ArithmeticError):
        run_chunks(fail, 5)
