"""A store whose current round has no gold, with items that an expert can read, and the answers that are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import hero_eval as hero

LABELERS = ("ann", "bob", "cleo", "judge-a", "judge-b", "vendor-7")
PROMPTS = ("How do I reset my password?", "Where is my order?", "Can I change the address?", "Why was I charged twice?")
GOOD = "Open **Settings**, choose *Account*, then:\n\n1. press the button\n2. follow the link in the mail\n"
BAD = "I am sorry, I cannot help with that. Have you tried `turning it off`?"
CURRENT = "2026-w46"

HOSTILE = (
    "<script>document.title='run'</script>",
    "<svg onload=\"document.title='run'\"><script>document.title='run'</script></svg>",
    "[press me](javascript:document.title='run')",
    "![x](https://example.org/tracker.png)",
    "<img src=x onerror=\"document.title='run'\">",
    "data:text/html;base64,PHNjcmlwdD5kb2N1bWVudC50aXRsZT0ncnVuJzwvc2NyaXB0Pg==" + "A" * 400,
    "<iframe srcdoc='<script>parent.document.title=1</script>'></iframe>",
    "</div></section></main><form action='https://example.org'><button>1</button></form>",
    "&lt;script&gt;document.title='run'&lt;/script&gt; {{7*7}} {% raw %}",
    "\u202etxet desrever\u202c " + "x" * 5_000,
    "[a](data:text/html,<script>alert(1)</script>) [b](vbscript:x) <javascript:alert(1)> [c](//example.org)",
    "javascript:document.title='run'",
)
"""What items may hold that nobody hopes for."""


def labeled(rng: np.random.Generator, rate: float, n_items: int, skill: float) -> tuple[pa.Table, np.ndarray]:
    """Three labels an item by labelers who are right with about this probability, and the truth."""
    truth = (rng.random(n_items) < rate).astype(int)
    rows = []
    for item in range(n_items):
        for who in rng.choice(len(LABELERS), 3, replace=False):
            said = truth[item] if rng.random() < skill else 1 - truth[item]
            rows.append((f"p{item:03d}", LABELERS[who], str(said)))
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(("item", "labeler", "label"))})
    return table, truth


def described(truth: np.ndarray) -> pa.Table:
    """Items as an expert reads them; what sways is there too and must not be shown."""
    return pa.table(
        {
            "item": [f"p{item:03d}" for item in range(len(truth))],
            "prompt": [f"{PROMPTS[item % len(PROMPTS)]} (case {item})" for item in range(len(truth))],
            "answer": [BAD if bad else GOOD for bad in truth],
            "judge_score": [f"0.{item % 10}" for item in range(len(truth))],
            "length": [float(item) for item in range(len(truth))],
        }
    )


def fill_for_gold(place: Path, n_items: int = 160, items: pa.Table | None = None) -> tuple[hero.Store, dict[str, str]]:
    """Two past rounds with gold and a current one without; its labelers have become worse. The store, and the truth."""
    rng = np.random.default_rng(5)
    store = hero.create_store(place)
    for name, rate in (("2026-w42", 0.35), ("2026-w44", 0.30)):
        labels, truth = labeled(rng, rate, n_items, 0.85)
        known = range(0, n_items, 2)
        gold = pa.table({"item": [f"p{one:03d}" for one in known], "gold": [str(truth[one]) for one in known]})
        store.add(labels, round=name, gold=gold, model=name, question="Is the answer bad?", positive="1")
    labels, truth = labeled(rng, 0.4, n_items, 0.75)
    round = hero.Round(labels, items=described(truth) if items is None else items)
    store.add(round, round=CURRENT, model="v7", question="Is the answer bad?", positive="1")
    return store, {f"p{item:03d}": str(value) for item, value in enumerate(truth)}
