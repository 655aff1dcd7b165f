"""The console script: it loads the commands, and answers Ctrl-C while they are loading, too."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line. Whatever is loaded is loaded in here: Ctrl-C is answered from the first line on."""
    try:
        from hero_eval.cli.main import run as commands  # what takes a quarter of a second to load

        commands()
    except KeyboardInterrupt:
        from hero_eval.cli.interrupts import INTERRUPTED, MESSAGE

        sys.stderr.write(f"{MESSAGE}\n")
        sys.exit(INTERRUPTED)
    finally:
        _forget_interrupts()


def _forget_interrupts() -> None:
    """End with our own exit code.

    Where Ctrl-C met a text of code in `exec`, as of every dataclass that is being loaded, Python remembers it as
    unhandled even if it is handled further up, and at its end kills itself by the signal. The next text clears that.
    """
    exec("")


if __name__ == "__main__":
    run()
