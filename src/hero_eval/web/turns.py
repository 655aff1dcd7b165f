"""Whose turn it is: work that waits, one client after the other, so nobody waits behind all that somebody asked."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """A queue with a row for each client; the rows are served in turn. For many threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rows: OrderedDict[str, deque[tuple[str, T]]] = OrderedDict()
        self._closed = False

    def put(self, client: str, key: str, what: T) -> None:
        with self._changed:
            self._rows.setdefault(client, deque()).append((key, what))
            self._changed.notify()

    def take(self, timeout: float | None = None) -> T | None:
        """The next, once there is one; None if the queue was closed or nothing came in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._rows), timeout)
            if self._closed or not self._rows:
                return None
            client, row = next(iter(self._rows.items()))
            _, what = row.popleft()
            del self._rows[client]
            if row:  # to the end of the circle
                self._rows[client] = row
            return what

    def drop(self, key: str) -> bool:
        """Take it out before its turn; whether it was there."""
        with self._changed:
            for client, row in self._rows.items():
                for one in row:
                    if one[0] == key:
                        row.remove(one)
                        if not row:
                            del self._rows[client]
                        return True
            return False

    def ahead(self, key: str) -> int:
        """How many turns come before its own."""
        with self._changed:
            mine = next(
                (
                    (place, depth)
                    for place, row in enumerate(self._rows.values())
                    for depth, one in enumerate(row)
                    if one[0] == key
                ),
                None,
            )
            if mine is None:
                return 0
            place, depth = mine
            return sum(min(len(row), depth + (at < place)) for at, row in enumerate(self._rows.values()))

    def waiting(self, client: str | None = None) -> int:
        with self._changed:
            return sum(len(row) for name, row in self._rows.items() if client in (None, name))

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
