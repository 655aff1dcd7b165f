"""Damages a store, file by file, and asks it everything: an error of ours or the full answer, never another answer.

    python benchmarks/store_damage.py --cases 400

Two stores of the same rounds, one as it grew and one that was compacted and grew on, with late gold, a removed round,
and recorded estimates. Every file of them is deleted, emptied, cut, filled with zeros, turned in one bit and exchanged
for another file of the store, until there are as many cases as asked for. Each case is a copy of the store with one
damage. It is asked for its rounds, labels, gold, items, labelers, history, estimates and for an estimate made anew and
one made again; then a round is added, and it is asked again. Prints a summary as JSON, and ends with 1 if an answer
differed or was none.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import hero_eval as hero

ITEMS = 30
Answers = dict[str, Any]


def tables(seed: int) -> dict[str, pa.Table]:
    """A small round with gold for half of its items, covariates and texts."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, ITEMS)
    items = [f"i{k:03d}" for k in range(ITEMS)]
    rows = [
        (item, who, int(true if rng.random() < 0.8 else 1 - true))
        for who in ("ann", "bob", "cat")
        for item, true in zip(items, truth, strict=True)
    ]
    return {
        "labels": pa.table({name: [row[c] for row in rows] for c, name in enumerate(("item", "labeler", "label"))}),
        "gold": pa.table({"item": items[:15], "gold": truth[:15]}),
        "items": pa.table(
            {"item": items, "x": rng.normal(size=ITEMS), "prompt": [f"Draw {k} trees" for k in range(ITEMS)]}
        ),
    }


def build(path: Path, rounds: int, *, compacted: bool) -> None:
    """A store with late gold, a removed round, who the judges are, and recorded estimates."""
    store = hero.create_store(path)
    who = pa.table({"labeler": ["ann"], "model": ["gpt"], "prompt": ["v1"]})
    for number in range(rounds):
        given = tables(number)
        store.add(hero.Round(**given), round=f"2026-w{10 + number}", question="q", labelers=who)
        if compacted and number == rounds // 2:
            store.compact()
    late = tables(0)
    truth = pa.table({"item": late["items"]["item"].to_pylist()[15:20], "gold": ["1", "0", "1", "0", "1"]})
    store.remove("2026-w11")
    store.estimate(f"2026-w{9 + rounds}", method="hero1")
    store.add(round="2026-w10", gold=truth)
    store.estimate(f"2026-w{9 + rounds}", method="majority_vote")


def told(round: hero.Round) -> Any:
    """All that a round holds, in a form that can be compared."""
    columns = {name: round.texts(name) for name in round.column_names}
    arrays = [getattr(round, name).tolist() for name in ("label_item", "label_labeler", "label_answer", "gold")]
    known = [round.name, list(round.item_ids), round.labelers, round.values, round.classes_given, round.positive]
    return [*known, arrays, columns, [str(note) for note in round.notes]]


QUESTIONS: dict[str, Callable[[hero.Store], Any]] = {
    "rounds": lambda store: [(row.round, row.labels, row.gold, str(row.date), row.removed) for row in store.rounds()],
    "removed": lambda store: [row.round for row in store.rounds(removed=True)],
    "contents": lambda store: [told(store.round(row.round)) for row in store.rounds()],
    "history": lambda store: [told(one) for one in store.history(LAST)],
    "labelers": lambda store: store.labelers(),
    "estimates": lambda store: [row["document"] for row in store.estimates()],
    "estimate": lambda store: hero.estimate_rate(store.round(LAST), store.history(LAST), method="hero1").to_dict(),
    "reproduce": lambda store: [store.reproduce(row["estimate"]).text for row in store.estimates()[:2]],
    "as it was": lambda store: [row.round for row in hero.open_store(store.path, version=2).rounds()],
}
LAST = ""


def ask(path: Path) -> Answers:
    """Every question, by a reader that knows nothing yet; an error of ours is its code."""
    answers: Answers = {}
    for name, question in QUESTIONS.items():
        try:
            answers[name] = question(hero.open_store(path))
        except hero.HeroError as error:
            answers[name] = error
    return answers


def damages(path: Path, rng: random.Random) -> Iterator[tuple[str, Path, Callable[[Path], None]]]:
    """Every damage to every file: what it is, the file, and what does it to a copy of the store."""
    files = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
    for file in files:
        kin = [one for one in files if one != file and one.suffix == file.suffix and one.parent == file.parent]
        strangers = [one for one in files if one.suffix == file.suffix and one.parts[0] != file.parts[0]]
        yield "delete", file, partial(_delete, file)
        yield "empty", file, partial(_cut, file, 0.0)
        yield "cut in half", file, partial(_cut, file, 0.5)
        yield "cut at the end", file, partial(_cut, file, 0.97)
        yield "zeros", file, partial(_zeros, file)
        yield "turn a bit", file, partial(_turn, file, rng.random())
        for what, others in (("swap with kin", kin), ("swap with a stranger", strangers)):
            if others:
                yield what, file, partial(_swap, file, rng.choice(others))


def _delete(file: Path, root: Path) -> None:
    (root / file).unlink()


def _cut(file: Path, share: float, root: Path) -> None:
    data = (root / file).read_bytes()
    (root / file).write_bytes(data[: int(len(data) * share)])


def _zeros(file: Path, root: Path) -> None:
    (root / file).write_bytes(bytes((root / file).stat().st_size))


def _turn(file: Path, where: float, root: Path) -> None:
    data = bytearray((root / file).read_bytes())
    if data:
        place, bit = divmod(int(where * 8 * len(data)), 8)
        data[place] ^= 1 << bit
        (root / file).write_bytes(data)


def _swap(file: Path, other: Path, root: Path) -> None:
    first, second = (root / file).read_bytes(), (root / other).read_bytes()
    (root / file).write_bytes(second)
    (root / other).write_bytes(first)


def judge(right: Answers, found: Answers, after_adding: bool) -> list[str]:
    """The questions whose answer is neither the full one nor an error."""
    wrong = []
    for name, answer in found.items():
        if isinstance(answer, hero.HeroError):
            continue
        expected = right[name]
        if after_adding and isinstance(answer, list):  # what was added comes last, or was never there
            answer = [one for one in answer if "new" not in str(one)[:40]]
        if answer != expected:
            wrong.append(name)
    return wrong


def one_case(base: Path, damage: Callable[[Path], None], right: Answers, folder: Path) -> tuple[str, list[str]]:
    """How the store took it: "whole", "refused" or "wrong", and which questions were answered wrongly."""
    copy = folder / "copy"
    shutil.copytree(base, copy)
    try:
        damage(copy)
        found = ask(copy)
        bad = judge(right, found, False)
        refused = any(isinstance(answer, hero.HeroError) for answer in found.values())
        try:
            given = tables(99)
            hero.open_store(copy).add(
                given["labels"], gold=given["gold"], round="new", question="other", date="2026-12-31"
            )
            again = ask(copy)
            bad += [f"{name} after adding" for name in judge(right, again, True)]
            healed = [name for name in again if isinstance(found[name], hero.HeroError)]
            bad += [
                f"{name} was refused, and is answered after adding"
                for name in healed
                if not isinstance(again[name], hero.HeroError)
            ]
        except hero.HeroError:
            refused = True
        return ("wrong" if bad else "refused" if refused else "whole"), bad
    except Exception:
        return "wrong", [traceback.format_exc(limit=-3)]
    finally:
        shutil.rmtree(copy)


def _each_in_turn(todo: list[Any], kind: Callable[[Any], str]) -> list[Any]:
    """The same in another order: one of each kind, then another of each, so that few cases hold all kinds."""
    seen: Counter[str] = Counter()
    place = []
    for one in todo:
        place.append(seen[kind(one)])
        seen[kind(one)] += 1
    return [todo[at] for at in sorted(range(len(todo)), key=place.__getitem__)]


def run(cases: int, rounds: int, seed: int) -> dict[str, Any]:
    global LAST
    LAST = f"2026-w{9 + rounds}"
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="hero-damage-") as name:
        folder = Path(name)
        todo = []
        for compacted in (False, True):
            base = folder / ("compacted" if compacted else "grown")
            build(base, rounds, compacted=compacted)
            shutil.copytree(base, folder / "asked")  # asking records an estimate
            right = ask(folder / "asked")
            shutil.rmtree(folder / "asked")
            assert not any(isinstance(answer, hero.HeroError) for answer in right.values()), right
            todo += [(base, right, *one) for one in damages(base, rng)]
        rng.shuffle(todo)
        todo = _each_in_turn(todo, lambda one: one[2])
        counts: dict[str, Counter[str]] = {}
        wrong = []
        for base, right, what, file, damage in todo[:cases]:
            how, bad = one_case(base, damage, right, folder)
            counts.setdefault(what, Counter())[how] += 1
            if bad:
                wrong.append({"store": base.name, "damage": what, "file": str(file), "questions": bad})
    total = sum(counts.values(), Counter())
    return {"cases": total.total(), "possible": len(todo), **total, "by damage": counts, "what was wrong": wrong}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = run(given.cases, given.rounds, given.seed)
    print(json.dumps(found, indent=2))
    sys.exit(1 if found["what was wrong"] else 0)


if __name__ == "__main__":
    main()
