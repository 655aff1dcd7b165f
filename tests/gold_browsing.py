"""Giving gold in a real browser: items, hostile items and battles that wait, and what an expert does with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from browsing import find, key, look_as, serious, text, wait, width_on_a_phone
from gold_store import HOSTILE, fill_for_gold
from vote_tables import add_battles
from web_server import visiting

import hero_eval as hero
from hero_eval.store.gold_records import ExpertQueue, read_records, write_queue
from hero_eval.web.settings import Settings

ODD = "hostile"
"""A round whose items are attacks."""


@dataclass(frozen=True)
class GoldSite:
    """A store, its server's address, and what is right: the class of each item, the winner of each battle."""

    place: Path
    address: str
    truth: dict[str, str]
    winners: dict[str, str]

    @property
    def store(self) -> hero.Store:
        """As it is now."""
        return hero.open_store(self.place)

    def records(self, round: str) -> list[Any]:
        """What experts did, in order."""
        return read_records(self.store.place, round)


@contextmanager
def open_gold_site(folder: Path) -> Iterator[GoldSite]:
    """All that waits for experts in one store, and its server."""
    store, truth = fill_for_gold(folder)
    winners = add_battles(store)
    _add_hostile_items(store)
    with visiting(Settings(str(folder))) as client:
        yield GoldSite(folder, str(client.base_url).rstrip("/"), truth, winners)


def _add_hostile_items(store: hero.Store) -> None:
    names = [f"p{at:03d}" for at in range(len(HOSTILE))]
    labels = pa.table(
        {"item": names * 2, "labeler": ["x"] * len(names) + ["y"] * len(names), "label": ["0", "1"] * len(names)}
    )
    store.add(labels, round=ODD, question="odd", date="2020-01-01")
    shown = {name: {"text": text, "site": text} for name, text in zip(names, HOSTILE, strict=True)}
    options = {
        "classes": ["0", "1"],
        "columns": {"text": "markdown", "site": "link"},
        "names": {},
        "question": HOSTILE[0],
    }
    queue = ExpertQueue("odd", ODD, "random", 0, tuple(names), (), tuple(names), (1.0,) * len(names), options, shown)
    write_queue(store.place, queue)


def begin(browser: Any, desk: GoldSite, round: str, name: str) -> None:
    """Sit down as an expert of this name whom the page does not know."""
    browser.delete_all_cookies()
    browser.get(f"{desk.address}/gold?round={round}")
    find(browser, "#f-expert")[0].send_keys(name + "\n")
    wait(lambda: find(browser, "#answer"))


def draw(browser: Any, count: int) -> None:
    """Ask for so many, by keyboard; the page then asks for a name."""
    field = wait(lambda: find(browser, "#f-count"))[0]
    field.clear()
    field.send_keys(f"{count}\n")  # Enter sends the form
    wait(lambda: find(browser, "#f-expert"))


def press_and_see(browser: Any, pressed: str, said: str = "") -> None:
    """Press a key and wait until the page says something new of what was saved, or just these words."""
    before = text(browser, ".saved")
    key(browser, pressed)
    wait(lambda: (found := text(browser, ".saved")) not in ("", before) and said in found)


def assert_a_phone_shows_it(browser: Any) -> None:
    """The page that is shown fits, and everybody can read it, in the dark too."""
    assert width_on_a_phone(browser) <= 400
    assert not serious(browser)
    look_as(browser, 400, "dark")
    wait(lambda: browser.execute_script("return matchMedia('(prefers-color-scheme: dark)').matches"))
    assert not serious(browser, only_colors=True)
