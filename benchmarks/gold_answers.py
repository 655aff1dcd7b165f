"""What an answer on the page costs: from an expert's key to the disk, and from the answers to gold of the round.

    python benchmarks/gold_answers.py --answers 200 --items 2000

Processor time is this process's own; the rest of the elapsed time is the disk, and whoever else uses the machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import hero_eval as hero
from hero_eval.store.gold_records import ExpertQueue, write_queue
from hero_eval.web.gold_desk import GoldDesk


def measured(folder: Path, n_answers: int, n_items: int) -> dict[str, float | int]:
    """Answers at the desk, then one fold."""
    items = [f"i{number:06d}" for number in range(n_items)]
    labels = {"item": items * 3, "labeler": np.repeat(["a", "b", "c"], n_items), "label": ["0", "1", "1"] * n_items}
    store = hero.create_store(folder / "store")
    store.add(pa.table(labels), round="r", question="q")
    options: dict[str, object] = {"classes": ["0", "1"], "columns": {}, "names": {}, "question": "", "sides": None}
    drawn, chance = tuple(items[:n_answers]), (n_answers / n_items,) * n_items
    write_queue(store.place, ExpertQueue("q", "r", "random", 0, drawn, (), tuple(items), chance, options))
    desk = GoldDesk(store.path)
    elapsed, worked = [], []
    for number in range(n_answers):
        showing = desk.next("r", "expert")
        assert showing is not None
        start = time.perf_counter(), time.process_time()
        desk.answer("r", "expert", id=showing.id, item=showing.item, gold=str(number % 2))
        elapsed.append(time.perf_counter() - start[0])
        worked.append(time.process_time() - start[1])
    begin = time.process_time()
    folded = store.fold("r")
    return {
        "answers": folded.gold,
        "items": n_items,
        "processor ms an answer, median": round(1000 * float(np.median(worked)), 2),
        "processor ms an answer, last tenth against first": round(
            float(np.mean(worked[-n_answers // 10 :]) / np.mean(worked[: n_answers // 10])), 2
        ),
        "elapsed ms an answer, median": round(1000 * float(np.median(elapsed)), 2),
        "processor ms of the fold": round(1000 * (time.process_time() - begin), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--items", type=int, default=2_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(Path(folder), given.answers, given.items), indent=1))


if __name__ == "__main__":
    main()
