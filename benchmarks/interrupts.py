"""How soon Ctrl-C ends `hero estimate`, whatever it is in the middle of.

    python benchmarks/interrupts.py [--labels 2000000] [--labelers 1000] [--times 8] [--folder build/bench]

The command is started on files of so many labels, with a history of half of them, and interrupted at times spread
evenly over how long it takes. Told are the seconds until it has ended, and those of the processor that it used in them:
where others use the processor too, the first are longer than they would be, and the second are not.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from make_labels import make_labels


def used(pid: int) -> float:
    """Processor seconds of a process so far."""
    told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(float, told[11:13])) / os.sysconf("SC_CLK_TCK")


def started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def interrupted(command: list[str], after: float) -> tuple[float, float, int]:
    """Seconds, and those of the processor, from Ctrl-C to the end of a command, once it has used `after` of these."""
    process = started(command)
    while (before := used(process.pid)) < after:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    begun = time.perf_counter()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_utime + usage.ru_stime - before, process.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=2_000_000)
    parser.add_argument("--labelers", type=int, default=1_000)
    parser.add_argument("--times", type=int, default=8)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    current = given.folder / f"current-{given.labels}-{given.labelers}.parquet"
    history = given.folder / f"history-{given.labels // 2}-{given.labelers}.parquet"
    make_labels(current, given.labels, given.labelers, seed=1)
    make_labels(history, given.labels // 2, given.labelers, 0.05, seed=2)
    command = [sys.executable, "-m", "hero_eval.cli.entry", "estimate", str(current), "--history", str(history)]
    process = started(command)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    whole = usage.ru_utime + usage.ru_stime
    print(f"the command takes {whole:.1f} s of the processor", flush=True)
    worst = 0.0
    for number in range(given.times):
        after = whole * (number + 0.5) / given.times
        seconds, processor, code = interrupted(command, after)
        worst = max(worst, processor)
        print(
            f"after {after:5.1f} s: ended in {seconds:.2f} s, {processor:.2f} s of the processor, code {code}",
            flush=True,
        )
    print(f"at most {worst:.2f} s of the processor")


if __name__ == "__main__":
    main()
