"""Several rounds by one name: a pattern such as `rounds/2026-*`, or a folder that holds rounds."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from hero_eval.errors import wrong
from hero_eval.findings import Finding, name_some
from hero_eval.io.files import holds_table, is_table_file
from hero_eval.io.places import STDIN, address_of
from hero_eval.io.values import count_of, listed


def stands_for(path: str | os.PathLike[str], currents: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The rounds that a path stands for: itself, what its pattern fits, or the rounds in its folder.

    A pattern or a folder leaves out the rounds that are to be estimated. E136 if nothing is left.
    """
    text = os.fspath(path)
    where = Path(text).expanduser()
    if text == STDIN or address_of(text) is not None or where.is_file():
        return [Path(text)]
    if glob.has_magic(text) and not where.exists():
        found = [Path(one) for one in sorted(glob.glob(str(where)))]
        chosen = [one for one in found if is_table_file(one) or one.is_dir()]
        return _without(chosen, currents, f"pattern {text!r} fits {listed([one.name for one in found]) or 'nothing'}")
    if not where.is_dir() or holds_table(where):
        return [Path(text)]
    inside = sorted(one for one in where.iterdir() if not one.name.startswith((".", "_")))
    rounds = [one for one in inside if (one.is_dir() and holds_table(one)) or is_table_file(one)]
    if not rounds:
        return [Path(text)]  # what is wrong with it is said when it is read
    return _without(rounds, currents, f"folder {text} holds {listed([one.name for one in inside])}")


def _without(found: Sequence[Path], currents: Sequence[str | os.PathLike[str]], holds: str) -> list[Path]:
    own = {_place(one) for one in currents}
    rest = [one for one in found if _place(one) not in own]
    if not rest:
        left = ", all of which are to be estimated" if found else ""
        raise wrong("E136", f"no past round is there: {holds}{left}. Check it; quote a pattern: --history 'rounds/*'")
    return rest


def _place(path: str | os.PathLike[str]) -> str:
    return os.path.realpath(Path(path).expanduser())


def which_rounds(asked: Sequence[str | os.PathLike[str]], found: Sequence[Path]) -> Finding | None:
    """F124: what patterns and folders stood for; None if every round was named."""
    wanted, names = [os.fspath(one) for one in asked], [os.fspath(one) for one in found]
    if wanted == names:
        return None
    message = f"{' and '.join(wanted)} stands for {count_of(len(found), 'past round')}: "
    return Finding("F124", message + name_some(names, 8), {"asked": wanted, "rounds": names})
