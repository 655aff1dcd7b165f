"""Kills whoever takes experts' answers, at each step of the write, and looks whether anything acknowledged is lost.

    python tests/crash_gold.py --kills 100            # 100 kills at every step
    python tests/crash_gold.py --server --kills 30    # hero serve itself, by SIGKILL at random moments, over HTTP
    python tests/crash_gold.py --votes [--server]     # the same with battles, each with votes in both orders

A child takes answers at a desk and makes them gold; before it starts, one of the small functions through which all
writes go (`hero_eval.store.disk`) is told to end the process (`os._exit`) when it is called for the n-th time, before
or after doing its work. What the child had acknowledged, over a pipe, must be in the store, once each and unchanged;
at most the one answer that was under way may be there besides; and the round must be readable, with all of them as gold
once they are folded. Prints a summary as JSON and ends with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import deltalake
import deltalake.exceptions  # noqa: F401
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

import hero_eval as hero
from hero_eval.store import disk
from hero_eval.store.battle_gold import BATTLE_CLASSES, battles_of
from hero_eval.store.folding import fold_answers
from hero_eval.store.gold_records import ExpertQueue, read_records, standing, write_queue
from hero_eval.store.vote_rounds import stored_votes
from hero_eval.web.gold_desk import GoldDesk

ROUND, EXPERT = "r1", "eve"
STEPS = ("_make", "_write", "_link", "_rename", "_remove", "_sync_folder")
"""The functions of `disk` that touch the disk."""
MOMENTS = tuple(f"{when} {step}" for step in STEPS if step != "_rename" for when in ("before", "after"))
ITEMS = tuple(f"i{number:05d}" for number in range(20_000))


def build(path: str, n_items: int, votes: bool) -> None:
    """A store with one round and a queue of all its items, or battles."""
    items = ITEMS[:n_items]
    if votes:
        return build_votes(path, items)
    labels = pa.table({"item": items, "labeler": ["ann"] * len(items), "label": ["0", "1"] * (len(items) // 2)})
    store = hero.create_store(path)
    store.add(labels, round=ROUND, question="q")
    options = {"classes": ["0", "1"], "columns": {}, "names": {}, "question": "", "sides": None}
    queue = ExpertQueue("q1", ROUND, "random", 0, items, (), items, (1.0,) * len(items), options)
    write_queue(store.place, queue)
    return None


def build_votes(path: str, items: tuple[str, ...]) -> None:
    """On each item two votes on the models v and w, who are shown in either order."""
    both = {"item": items * 2, "model_a": ["v"] * len(items) + ["w"] * len(items)}
    both |= {"model_b": ["w"] * len(items) + ["v"] * len(items), "labeler": ["ann", "bob"] * len(items)}
    texts = {"answer_a": ["one"] * 2 * len(items), "answer_b": ["other"] * 2 * len(items)}
    store = hero.create_store(path)
    store.add(pa.table(both | {"label": ["A", "B"] * len(items)} | texts), round=ROUND, question="q")
    battles = battles_of(store.rows(store.find(ROUND)))
    drawn = tuple(one.id for one in battles)
    options = {
        "classes": list(BATTLE_CLASSES),
        "columns": {"answer_a": "side A", "answer_b": "side B"},
        "names": {},
        "question": "",
        "sides": {"columns": ["answer_a", "answer_b"], "classes": ["A", "B"]},
        "pairs": {one.id: list(one.models) for one in battles},
    }
    shown = {one: {"answer_a": "one", "answer_b": "other"} for one in drawn}
    write_queue(
        store.place, ExpertQueue("q1", ROUND, "random", 0, drawn, (), drawn, (1.0,) * len(drawn), options, shown)
    )


def end_at(step: str, number: int) -> None:
    """From now on the n-th call of this function of `disk` is the end of this process."""
    when, name = step.split()
    real = getattr(disk, name)
    left = [number]

    def deadly(*given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and when == "before":
            os._exit(9)
        found = real(*given)
        if left[0] == 0:
            os._exit(9)
        return found

    setattr(disk, name, deadly)


def answering(path: str, into: int, step: str, number: int, folds: bool) -> None:
    """What the child does: answer, take back now and then, and say what is acknowledged."""
    end_at(step, number)
    desk = GoldDesk(path)
    queue = desk.queue(ROUND)
    assert queue is not None
    answers = queue.options["classes"]
    store = hero.open_store(path)
    for turn in range(12):
        showing = desk.next(ROUND, EXPERT)
        assert showing is not None
        made = desk.answer(ROUND, EXPERT, id=showing.id, item=showing.item, gold=answers[turn % len(answers)])
        os.write(into, f"{json.dumps([made.id, made.action, made.item, made.gold])}\n".encode())
        if turn % 5 == 4:
            back = desk.undo(ROUND, EXPERT)
            os.write(into, f"{json.dumps([back.id, back.action, back.item, back.of])}\n".encode())
        if folds and turn % 3 == 2:
            fold_answers(store, ROUND)


def one_kill(path: str, step: str, number: int, folds: bool) -> tuple[list[list[Any]], bool]:
    """What a child acknowledged before its end, and whether it was ended by the step."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        try:
            answering(path, into, step, number, folds)
        except BaseException as error:
            os.write(into, f"{json.dumps(['error', repr(error)])}\n".encode())
            os._exit(1)
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as stream:
        said = [json.loads(line) for line in stream.read().splitlines()]
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, 9), said
    return said, code == 9


def apart(work: Callable[[], Any]) -> None:
    """Do it in a child: the package that reads tables does not survive a fork once it was used."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            os.write(into, f"{type(error).__name__}: {error}".encode()[:2_000])
            os._exit(1)
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as stream:
        said = stream.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said


def check_whole(path: str) -> None:
    assert hero.open_store(path).check().is_whole


def check(path: str, acknowledged: list[list[Any]], kills: int) -> None:
    """All that was acknowledged is there, once, as it was; of each kill at most one answer more."""
    records = read_records(hero.open_store(path).place)
    there = {one.id: [one.id, one.action, one.item, one.of if one.action == "undo" else one.gold] for one in records}
    lost = [one for one in acknowledged if there.get(one[0]) != one]
    assert not lost, f"acknowledged and lost: {lost[:3]}"
    assert len(records) == len(there)
    assert len(there) - len(acknowledged) <= kills, "more is there than anybody sent"
    gold = Counter(one.item for one in standing(records).records)
    assert not gold or max(gold.values()) == 1, "an item was answered twice"


def check_fold(path: str) -> None:
    """The round holds what stands, whatever was cut off before."""
    store = hero.open_store(path)
    held = standing(read_records(store.place))
    fold_answers(store, ROUND)
    if store.find(ROUND).is_votes:
        return check_votes(store, {item.split("~")[0]: str(one.gold) for item, one in held.gold.items()})
    read = store.round(ROUND)
    known = {str(item): read.values[code] for item, code in zip(read.item_ids, read.gold, strict=True) if code >= 0}
    assert known == {item: one.gold for item, one in held.gold.items()}, "gold is not what experts answered"
    return None


def check_votes(store: hero.Store, answered: dict[str, str]) -> None:
    """Both votes on a battle have what was answered, as v and w stood in them, and no other vote has gold."""
    turned = {"A": "B", "B": "A"}
    for row in stored_votes(store.rows(store.find(ROUND)), ROUND).table.to_pylist():
        gold = answered.get(row["item"])
        there = turned.get(str(gold), gold) if row["model_a"] == "w" else gold
        assert row["gold"] == there, "gold of a vote is not what experts answered"


def run_steps(folder: Path, kills: int, seed: int, moments: tuple[str, ...], votes: bool) -> dict[str, Any]:
    rng = random.Random(seed)
    apart(lambda: build(str(folder / "built"), 50 + 20 * kills, votes))
    done: dict[str, int] = {}
    answers = 0
    for step in moments:
        path = str(folder / "store")
        shutil.copytree(folder / "built", path)
        acknowledged: list[list[Any]] = []
        killed = tries = 0
        while killed < kills:
            tries += 1
            assert tries < 3 * kills + 20, f"{step} is hardly ever reached"
            if "_make" in step and tries > 1:  # folders are made for the first answer alone
                shutil.rmtree(path)
                shutil.copytree(folder / "built", path)
                acknowledged = []
            folds = rng.random() < 0.3
            number = rng.randint(1, 2 if "_make" in step else 24 if folds else 10)
            said, was_killed = one_kill(path, step, number, folds)
            acknowledged += said
            answers += len(said)
            killed += was_killed
            if tries % 10 == 0 or "_make" in step:
                apart(partial(check, path, acknowledged, tries))
        apart(partial(check, path, acknowledged, tries))
        apart(partial(check_fold, path))
        apart(partial(check_whole, path))
        done[step] = killed
        shutil.rmtree(path)
    return {"kills": sum(done.values()), "by step": done, "acknowledged": answers, "lost": 0}


# The server itself


def run_server(folder: Path, kills: int, seed: int, votes: bool) -> dict[str, Any]:
    """Start the server, answer over HTTP, kill it at a random moment, and look; again and again."""
    import httpx

    rng = random.Random(seed)
    path = str(folder / "store")
    build(path, 4_000, votes)
    acknowledged: list[list[Any]] = []
    times: list[float] = []
    command = [sys.executable, "-m", "hero_eval.cli.main", "serve", "--store", path, "--port", "0"]
    for _ in range(kills):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        found = re.search(r"http://\S+?/(?=\s)", process.stderr.readline())
        assert found
        timer = threading.Timer(rng.uniform(0.05, 1.5), process.kill)
        about = {"params": {"round": ROUND}}
        try:
            with httpx.Client(base_url=found[0], timeout=20.0) as client:
                client.get("/api/v1/store")
                timer.start()
                while True:
                    item = client.post("/api/v1/gold/next", data={"expert": EXPERT}, **about).json()["item"]
                    said = {"expert": EXPERT, "id": item["id"], "item": item["item"], "gold": "B" if votes else "1"}
                    start = time.perf_counter()
                    made = client.post("/api/v1/gold/answer", data=said, **about)
                    if made.status_code == 200:
                        times.append(time.perf_counter() - start)
                        one = made.json()
                        acknowledged.append([one["id"], one["action"], one["item"], one["gold"]])
        except httpx.HTTPError:
            pass
        finally:
            timer.cancel()
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stderr.close()
        check(path, acknowledged, kills)
    check_fold(path)
    ordered = sorted(times)
    spread = {name: round(1000 * ordered[int(share * (len(ordered) - 1))], 1) for name, share in
              (("median", 0.5), ("95%", 0.95), ("most", 1.0))}  # fmt: skip
    return {"kills": kills, "acknowledged": len(acknowledged), "lost": 0, "milliseconds an answer": spread}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--votes", action="store_true")
    parser.add_argument("--steps", nargs="*", default=MOMENTS, choices=MOMENTS)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hero-crash-"))
    try:
        if given.server:
            print(json.dumps(run_server(folder, given.kills, given.seed, given.votes)))
        else:
            print(json.dumps(run_steps(folder, given.kills, given.seed, tuple(given.steps), given.votes)))
    except AssertionError as error:
        print(json.dumps({"wrong": str(error)}))
        sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
