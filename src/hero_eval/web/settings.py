"""What a server is told when it starts, and what it refuses to be."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from hero_eval.errors import wrong

MEGABYTE = 1_000_000
SHORTEST_TOKEN = 16
LEAST_MEMORY = 500 * MEGABYTE
"""A process takes nearly this much with its packages and charts."""


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
    keep: int = 128 * MEGABYTE
    """Bytes of results that are kept in memory."""
    save: bool = True
    """Record estimates in the store, as the command does."""
    memory: int = 4000 * MEGABYTE
    """Bytes that a process may hold; one that reads an upload may hold half of it."""
    seconds: float = 900.0
    """How long one piece of work may take; reading an upload may take a fifth of it."""
    public_url: str | None = None
    """Where people find the page if a proxy stands before it."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose word is taken on who asks, and over http or https."""
    gold_token: str | None = None
    """Who shows this one may give gold and see nothing else."""
    images: str | None = None
    """The folder of the pictures that items name; None: no pictures are shown."""

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def most_unpacked(self) -> int:
        """Bytes of a file as it is read, unpacked; what is made of it takes a few times as many."""
        return max(self.max_upload, self.memory // 10)

    @property
    def public_name(self) -> str | None:
        """The Host that requests must be for, if one is known."""
        return urlsplit(self.public_url).netloc.lower() if self.public_url else None

    @property
    def is_over_tls(self) -> bool:
        return self.public_url is not None and self.public_url.lower().startswith("https:")


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
    _check_address(settings)
    token = settings.token
    if not settings.is_loopback and not token:
        raise wrong(
            "E501",
            f"{settings.host} can be reached from other machines, and no token keeps strangers out. Give --token or "
            "HERO_TOKEN, or leave --host out.",
        )
    if settings.public_url and not token and not is_loopback(urlsplit(settings.public_url).hostname or ""):
        raise wrong(
            "E501",
            f"{settings.public_url} can be reached from other machines, and no token keeps strangers out. Give --token "
            "or HERO_TOKEN.",
        )
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise wrong(
            "E501",
            f"the token has {len(token)} characters. It needs {SHORTEST_TOKEN} or more, all plain ASCII, for example "
            "what `openssl rand -hex 16` prints.",
        )
    _check_gold(settings)
    if settings.max_upload < 1:
        raise wrong("E201", f"--max-upload is {settings.max_upload / MEGABYTE:g}. It is a number of megabytes above 0")
    if settings.processes < 1:
        raise wrong("E201", f"--processes is {settings.processes}. It is 1 or more")
    if settings.memory < LEAST_MEMORY:
        raise wrong(
            "E201",
            f"--max-memory is {settings.memory / MEGABYTE:g}. It is a number of megabytes, {LEAST_MEMORY / MEGABYTE:g} "
            "or more",
        )
    if not settings.seconds > 0:
        raise wrong("E201", f"--max-seconds is {settings.seconds:g}. It is a number of seconds above 0")
    return settings


def _check_gold(settings: Settings) -> None:
    """E501 for a token of experts that keeps nobody out, E201 for a folder that is not there."""
    token = settings.gold_token
    if token is not None:
        if settings.token is None:
            raise wrong("E501", "--gold-token is for experts alone, so the other pages need a --token (HERO_TOKEN)")
        if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or token == settings.token:
            raise wrong(
                "E501",
                f"--gold-token has {len(token)} characters. It needs {SHORTEST_TOKEN} or more, all plain ASCII, and is "
                "not the --token.",
            )
    if settings.images is not None and not os.path.isdir(settings.images):
        raise wrong("E201", f"--images is {settings.images!r}, which is no folder")


def _check_address(settings: Settings) -> None:
    """E201 for an address that people could not open, or a proxy that could be anybody."""
    if settings.public_url is not None:
        try:
            parts = urlsplit(settings.public_url)
            is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            is_right = is_right and parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
        except ValueError:
            is_right = False
        if not is_right:
            raise wrong(
                "E201",
                f"--public-url is {settings.public_url!r}. It is where people open the page, without a path: "
                "https://evals.example.org",
            )
    for one in settings.proxies:
        try:
            ipaddress.ip_network(one, strict=False)
        except ValueError as error:
            raise wrong(
                "E201",
                f"--proxy-headers is {one!r}. It is the address of the proxy, or its network: 127.0.0.1, 10.0.0.0/8",
            ) from error
