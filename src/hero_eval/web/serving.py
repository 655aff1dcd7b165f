"""`hero serve`: one server on one address, until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hero_eval.errors import wrong
from hero_eval.web.settings import Settings, checked

if TYPE_CHECKING:
    import uvicorn

BACKLOG = 128
NEEDED = ("fastapi", "uvicorn", "python_multipart", "deltalake", "jinja2", "altair", "vl_convert", "markdown_it")


def bound(settings: Settings) -> socket.socket:
    """The address, taken; E512 if it cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # named TCP, or asyncio does not turn Nagle's delay off, and small answers take 40 ms
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((settings.host.strip("[]"), settings.port))
        taken.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        taken.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong(
            "E512", f"{settings.host} port {settings.port} cannot be used: {reason}. Name another --port, or --port 0"
        ) from error
    return taken


def address(taken: socket.socket) -> str:
    """What to open in a browser."""
    host, port = taken.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve until interrupted. `ready` is told the address once it is taken."""
    checked(settings)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise wrong("E410", f"the page needs {', '.join(missing)}. Install: pip install 'hero-eval[web]'")
    import uvicorn

    from hero_eval.web.app import create_app
    from hero_eval.web.connections import allow_files

    app = create_app(settings)
    taken = bound(settings)
    allow_files()
    app.state.service.get_ready()
    here = address(taken)
    ready(f"{settings.public_url} (here: {here} )" if settings.public_url else here)
    uvicorn.Server(configured(app, settings)).run(sockets=[taken])


def configured(app: Any, settings: Settings) -> uvicorn.Config:
    """How connections are served: our own class counts and times them."""
    import uvicorn

    from hero_eval.web.connections import connection_class

    return uvicorn.Config(
        app,
        http=connection_class(settings.proxies),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=5,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=",".join(settings.proxies) or None,
    )
