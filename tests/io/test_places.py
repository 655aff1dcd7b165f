"""Rounds elsewhere: standard input, addresses, patterns and folders of rounds; and what is said if nothing is there."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from test_wide import wide

import hero_eval as hero
from hero_eval.io.places import address_of, at_hand
from hero_eval.io.several import stands_for


def code(path: Any) -> str:
    with pytest.raises(hero.InputError) as caught:
        hero.read_round(path)
    return caught.value.code


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "json", "jsonl", "parquet", "xlsx"])
def test_standard_input_of_any_kind(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "xlsx":
        pytest.importorskip("openpyxl")
    frame, file = wide(30), tmp_path / f"x.{kind}"
    if kind.startswith("json"):
        frame.to_json(file, orient="records", lines=kind == "jsonl")
    else:
        writers = {"parquet": frame.to_parquet, "xlsx": frame.to_excel}
        writers.get(kind, frame.to_csv)(file, index=False)  # type: ignore[operator]
    pipe(monkeypatch, file.read_bytes())
    one = hero.read_round("-")
    assert one.name == "stdin"
    assert one.holds_same_as(hero.Round(frame))


def test_an_empty_pipe_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, b"")
    assert code("-") == "E102"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b""), isatty=lambda: True))
    assert code("-") == "E135"


def test_addresses_are_fetched() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    frame = wide(30)
    memory.pipe("/evals/may.csv", frame.to_csv(index=False).encode())
    memory.pipe("/evals/june/labels.csv", frame.to_csv(index=False).encode())
    for address in ("memory://evals/may.csv", Path("memory://evals/may.csv"), "memory://evals/june"):
        assert hero.read_round(address).holds_same_as(hero.Round(frame))
    assert hero.estimate_rate("memory://evals/may.csv").n_gold == 6
    assert code("memory://evals/nowhere") == "E101"
    memory.pipe("/evals/bad.csv", b"item,labeler,label\n1,a\n")
    with pytest.raises(hero.InputError, match=r"memory://evals/bad\.csv"):  # and not the copy's place
        hero.read_round("memory://evals/bad.csv")
    assert code("nonsense://evals/may") == "E135"


def test_copies_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec").filesystem("memory").pipe("/x/may.csv", wide(30).to_csv(index=False).encode())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with at_hand("memory://x/may.csv") as place:
        assert place.path.exists()
    assert not list(tmp_path.iterdir())


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(hero.InputError, match=r"hero-eval\[s3\]") as caught:
        hero.read_round("s3://bucket/may.csv")
    assert caught.value.code == "E134"
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(hero.InputError, match=r"hero-eval\[excel\]"):
        hero.read_round(tmp_path / "x.xlsx")


def test_paths_are_no_addresses(tmp_path: Path) -> None:
    assert address_of(tmp_path) is None
    assert address_of("C:/rounds/may") is None
    assert address_of("s3:/bucket/may") == "s3://bucket/may"  # as pathlib leaves it


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket on a server of this machine that speaks as S3 does."""
    pytest.importorskip("s3fs")
    server_of = pytest.importorskip("moto.server")
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    system.mkdir("evals")
    yield "evals"
    server.stop()
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what the server's packages warn of is theirs
def test_a_bucket(bucket: str) -> None:
    import s3fs

    frame = wide(30)
    s3fs.S3FileSystem().pipe(f"{bucket}/may.csv", frame.to_csv(index=False).encode())
    assert hero.read_round(f"s3://{bucket}/may.csv").holds_same_as(hero.Round(frame))
    assert code(f"s3://{bucket}/nowhere.csv") == "E101"


@pytest.fixture
def rounds(tmp_path: Path) -> Path:
    for seed, name in enumerate(("2026-04", "2026-05", "2025-12")):
        wide(60, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_patterns_and_folders_of_rounds(rounds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [path.name for path in stands_for(str(rounds / "2026-*"), [])]
    assert names == ["2026-04.csv", "2026-05.csv"]
    current = str(rounds / "2026-05.csv")
    assert [path.name for path in stands_for(rounds, [current])] == ["2025-12.csv", "2026-04.csv"]
    monkeypatch.chdir(rounds)
    by_pattern = hero.estimate_rate("2026-05.csv", history="202?-*")
    one_by_one = hero.estimate_rate("2026-05.csv", history=["2025-12.csv", "2026-04.csv"])
    assert by_pattern.value == one_by_one.value
    assert "F124" in [finding.code for finding in by_pattern.findings]
    with pytest.raises(hero.InputError) as caught:
        hero.estimate_rate(current, history="2024-*")
    assert caught.value.code == "E136"


@pytest.mark.slow
def test_frames_and_paths_and_rounds_are_the_same(rounds: Path) -> None:
    path, past = rounds / "2026-05.csv", rounds / "2026-04.csv"
    frames = [pd.read_csv(path), pd.read_csv(past)]
    expected = hero.estimate_rate(hero.read_round(path), hero.read_round(past)).value
    assert hero.estimate_rate(frames[0], frames[1]).value == pytest.approx(expected, abs=1e-12)
    assert hero.estimate_rate(os.fspath(path), [past]).value == expected
    assert hero.compare_methods(path, past)["hero1"].value == pytest.approx(
        hero.estimate_rate(path, past, method="hero1").value
    )
    assert hero.fit_reliability(past).n_gold == hero.fit_reliability(frames[1]).n_gold


def test_a_folder_of_parts_is_a_table(tmp_path: Path) -> None:
    frame = wide(60)
    (tmp_path / "may").mkdir()
    frame[:30].to_parquet(tmp_path / "may" / "part-0000.parquet")
    frame[30:].to_parquet(tmp_path / "may" / "part-0001.parquet")
    (tmp_path / "may" / "_SUCCESS").touch()
    assert hero.read_round(tmp_path / "may").holds_same_as(hero.Round(frame))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what the server's packages warn of is theirs
def test_google_storage_on_a_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """gs:// by its own package, against an emulator of the service on this machine.

    The emulator does not speak gRPC, by which the package would ask for a minute what kind of bucket it has.
    """
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    gcsfs = pytest.importorskip("gcsfs")
    emulator = pytest.importorskip("gcp_storage_emulator.server")
    server = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="evals")
    server.start()
    try:
        while server._api._httpd is None:  # its thread makes it
            time.sleep(0.01)
        port = server._api._httpd.server_port
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        gcsfs.GCSFileSystem.clear_instance_cache()
        frame = wide(30)
        store = gcsfs.GCSFileSystem(token="anon")
        store.pipe("evals/may.csv", frame.to_csv(index=False).encode())
        assert hero.read_round("gs://evals/may.csv").holds_same_as(hero.Round(frame))
        assert code("gs://evals/nowhere.csv") == "E101"
    finally:
        server.stop()
        gcsfs.GCSFileSystem.clear_instance_cache()
