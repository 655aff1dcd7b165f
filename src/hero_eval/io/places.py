"""Where a round may lie besides this machine's files: standard input (`-`), and addresses such as `s3://bucket/may`.

Both are copied to a folder of their own before they are read; messages call them as the caller did.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hero_eval.errors import HeroError, Problem, wrong

STDIN = "-"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.\-]+):/{1,2}(?=[^/])")
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}


@dataclass
class AtHand:
    """A copy that can be read; it is gone after reading unless it is to be kept until the program ends."""

    path: Path
    copied: Path | None = None
    kept: bool = False

    def keep(self) -> None:
        """Leave it until the program ends: an engine reads it later."""
        if self.copied is not None and not self.kept:
            atexit.register(shutil.rmtree, self.copied, True)
        self.kept = True


def address_of(path: str | os.PathLike[str]) -> str | None:
    """The address that this is, None for a file of this machine. A Path has lost one of the slashes."""
    text = os.fspath(path)
    found = _ADDRESS.match(text)
    if found is None or Path(text).exists():
        return None
    return f"{found[1]}://{text[found.end() :]}"


@contextmanager
def at_hand(path: str | os.PathLike[str]) -> Iterator[AtHand]:
    """The files of a path, copied here if they are elsewhere; messages name the place as the caller did."""
    address = address_of(path)
    if address is None and os.fspath(path) != STDIN:
        yield AtHand(Path(path).expanduser())
        return
    folder = Path(tempfile.mkdtemp(prefix="hero-"))
    place = AtHand(folder, folder)
    try:
        place.path = _fetched(address, folder) if address is not None else _from_stdin(folder)
        yield place
    except HeroError as error:
        shown = address if address is not None else "standard input"
        raise type(error)(
            Problem(one.code, one.message.replace(str(place.path), shown).replace(str(folder), shown))
            for one in error.problems
        ) from error
    finally:
        if not place.kept:
            shutil.rmtree(folder, ignore_errors=True)


def _from_stdin(folder: Path) -> Path:
    """What is piped in, under an ending that its first bytes tell."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise wrong("E135", "nothing is piped in: '-' reads standard input. Pipe a table into the command, or name it.")
    start = stream.read(1 << 16)
    if not start:
        raise wrong("E102", "standard input is empty. Pipe a table into the command.")
    file = folder / f"stdin{_ending_of(start)}"
    with file.open("wb") as out:
        out.write(start)
        shutil.copyfileobj(stream, out)
    return file


def _ending_of(start: bytes) -> str:
    if start[:2] == b"\x1f\x8b":
        import zlib

        inside = zlib.decompressobj(31).decompress(start, 4096)
        return f"{_ending_of(inside)}.gz"
    if start[:4] == b"PAR1":
        return ".parquet"
    if start[:4] == b"PK\x03\x04":
        return ".xlsx"
    return ".json" if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") else ".csv"


def _fetched(address: str, folder: Path) -> Path:
    """A copy of a file or folder at an address."""
    system, where = _file_system(address)
    name = PurePosixPath(where.rstrip("/")).name or "round"
    try:
        if system.isfile(where):
            system.get_file(where, str(folder / name))
            return folder / name
        inside = [one for one in system.find(where) if not PurePosixPath(one).name.startswith((".", "_"))]
    except Exception as error:  # whatever the file system's own package makes of a refusal
        raise _unreachable(address, error) from error
    if not inside:
        raise wrong("E101", f"{address} does not exist, or is empty. Check the address.")
    root = system._strip_protocol(where).rstrip("/")
    for one in inside:
        local = folder / name / PurePosixPath(one.removeprefix(root).lstrip("/"))
        local.parent.mkdir(parents=True, exist_ok=True)
        try:
            system.get_file(one, str(local))
        except Exception as error:
            raise _unreachable(address, error) from error
    return folder / name


def _file_system(address: str) -> tuple[Any, str]:
    kind = address.partition("://")[0]
    extra = _EXTRAS.get(kind)
    install = f"pip install 'hero-eval[{extra}]'" if extra else f"a package of fsspec for {kind}://"
    try:
        import fsspec

        system, where = fsspec.url_to_fs(address)
    except ImportError:
        raise wrong(
            "E134", f"{address} is read by a package that is not installed. Install it: {install}; or fetch the file."
        ) from None
    except ValueError:
        raise wrong(
            "E135", f"{address}: {kind}:// is not known. Known are s3://, gs:// and what fsspec knows."
        ) from None
    except Exception as error:
        raise _unreachable(address, error) from error
    return system, where


def _unreachable(address: str, error: Exception) -> HeroError:
    reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
    return wrong("E135", f"{address} cannot be fetched: {reason}. Check the address, and that you may read it.")
