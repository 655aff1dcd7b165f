"""From two folders to a decision: is the rate below a limit, and how sure are we?

    python examples/rate_from_files.py                            the built-in example, limit 0.30
    python examples/rate_from_files.py rounds/may rounds/april 0.2

The folders hold labels.csv, history's also gold.csv. Exits with 0 if the rate is below the limit with 95% confidence,
with 1 if not, so that it can guard a release.
"""

from __future__ import annotations

import sys
from pathlib import Path

import hero_eval as hero

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"
LEVEL = 0.95


def main(arguments: list[str]) -> int:
    folders = arguments[:2] or [str(EXAMPLE / "current"), str(EXAMPLE / "history")]
    limit = float(arguments[2]) if len(arguments) > 2 else 0.30
    try:
        current, history = (hero.read_round(folder) for folder in folders)
        rate = hero.estimate_rate(current, history)
    except hero.HeroError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    _, high = rate.interval(LEVEL, side="upper")
    print(f"{rate.what}: {rate.value:.3f} by {rate.method} ({rate.why})")
    print(f"{LEVEL:.0%} sure that it is below {high:.3f}")
    for finding in rate.findings:
        print(f"{finding.severity} {finding}")
    below = high < limit
    print(f"limit {limit:g}: {'below it' if below else 'not shown to be below it'}")
    return 0 if below else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
