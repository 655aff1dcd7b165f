"""Ctrl-C ends a command soon, with one line and the code that shells expect, whatever it is in the middle of."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from hero_eval.cli.interrupts import answering_interrupts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process there")

IN_COMPILED_CODE = """
import numpy as np
from hero_eval.cli.interrupts import answering_interrupts
square = np.random.default_rng(0).normal(size=(4000, 4000))
with answering_interrupts():
    print("begun", flush=True)
    np.linalg.svd(square)
print("done", flush=True)
"""
"""One call that takes half a minute and looks at no signal."""
COMMAND = "from hero_eval.cli.entry import run; print('begun', flush=True); run()"
"""What the installed script does. Before it Python loads itself, and answers Ctrl-C in its own way."""


def interrupted(command: list[str], *, after: float = 0.0, begun: bool = False) -> tuple[int, str, str]:
    """How a command ends that gets Ctrl-C: its code, and the rest of what it wrote."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if begun:
            assert process.stdout.readline() == "begun\n"
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=60)
        return process.returncode, out, told


@pytest.mark.slow
def test_a_long_call_of_compiled_code_is_ended() -> None:
    """Nothing would happen until the call comes back, in seconds or minutes."""
    code, out, told = interrupted([sys.executable, "-c", IN_COMPILED_CODE], after=0.1, begun=True)
    assert (code, out, told) == (130, "", "Interrupted.\n")


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.1, 2.0])
def test_a_command_is_ended(after: float) -> None:
    """While it is loading, or at work, there would be a traceback, or another code."""
    study = ["study", "exp1-small", "--replications", "1000", "--gold-rate", "0.05", "--processes", "1"]
    code, out, told = interrupted([sys.executable, "-c", COMMAND, *study], after=after, begun=True)
    assert (code, out, told) == (130, "", "Interrupted.\n")


def test_the_code_is_ours_wherever_the_signal_meets_python() -> None:
    """Ctrl-C while a dataclass was being loaded said "Interrupted.", and then ended as if nobody had answered it."""
    met = "import hero_eval.cli.entry as e, hero_eval.cli.main as m; m.run = lambda: exec('raise KeyboardInterrupt')"
    ended = subprocess.run([sys.executable, "-c", f"{met}; e.run()"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "Interrupted.\n")


def test_signals_are_told_to_whom_they_were_told_before() -> None:
    """A server that is told of signals by the same way would not hear them any more."""
    before = signal.set_wakeup_fd(-1)
    with answering_interrupts():
        assert signal.set_wakeup_fd(-1) != -1
    assert signal.set_wakeup_fd(before) == -1


def test_other_threads_may_use_it() -> None:
    """Only the main thread may ask to be told of signals; work in others would fail."""
    done = []

    def work() -> None:
        with answering_interrupts():
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]
