"""What a server is told when it starts, and what it refuses to be."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from hero_eval.errors import wrong

MEGABYTE = 1_000_000
SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Settings:
    """Which store, where, and who may come in."""

    store: str
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    max_upload: int = 200 * MEGABYTE
    """Bytes."""
    processes: int = 1
    """Processes that estimate."""
    keep: int = 256 * MEGABYTE
    """Bytes of results that are kept in memory."""
    save: bool = True
    """Record estimates in the store, as the command does."""

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address of this name."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def checked(settings: Settings) -> Settings:
    """E501 for an open address without a token, E201 for values that mean nothing."""
    token = settings.token
    if not settings.is_loopback and not token:
        raise wrong(
            "E501",
            f"{settings.host} can be reached from other machines, and no token keeps strangers out. Give --token or "
            "HERO_TOKEN, or leave --host out.",
        )
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise wrong(
            "E501",
            f"the token has {len(token)} characters. It needs {SHORTEST_TOKEN} or more, all plain ASCII, for example "
            "what `openssl rand -hex 16` prints.",
        )
    if settings.max_upload < 1:
        raise wrong("E201", f"--max-upload is {settings.max_upload / MEGABYTE:g}. It is a number of megabytes above 0")
    if settings.processes < 1:
        raise wrong("E201", f"--processes is {settings.processes}. It is 1 or more")
    return settings
