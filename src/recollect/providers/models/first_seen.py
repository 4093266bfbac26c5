"""Remembers the SHA-256 of files that are not pinned, as they were first downloaded.

From then on they are checked like pinned ones, also if the model is removed and downloaded again.
The record is in the user's own folder, as is that of checked files (`integrity.py`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import FetchError
from recollect.providers.models.integrity import read_record, sha256_of
from recollect.text.files import make_private_folder, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.providers.models.integrity import ModelCache
    from recollect.providers.models.manifest import Manifest, ModelFile

    _Manifest = TypeVar("_Manifest", bound=Manifest)

_HASH_CHARS = 64


def expected(manifest: _Manifest, cache: ModelCache) -> _Manifest:
    """Return the manifest with the hashes and sizes of the first download, if there was one."""
    if all(file.is_pinned for file in manifest.files):
        return manifest
    seen = read_record(cache.first_seen)
    files = [_recorded(file, seen.get(_key(manifest, file))) for file in manifest.files]
    if not all(file.sha256 for file in files):
        return manifest
    return replace(manifest, files=tuple(files))


def remember(manifest: _Manifest, folder: Path, *, cache: ModelCache) -> _Manifest:
    """Record the files of a first download, and return the manifest with their hashes.

    Raises:
        FetchError: another process has just recorded other files.
        OSError: a file cannot be read, or the record not be written.

    """
    if all(file.sha256 for file in manifest.files):
        return manifest
    files = []
    for file in manifest.files:
        path = folder / file.name
        files.append(replace(file, sha256=sha256_of(path), size_bytes=path.stat().st_size))
    found = replace(manifest, files=tuple(files))
    known = expected(manifest, cache)
    if known.files[0].sha256:
        if known != found:
            raise FetchError("hub: another process has just recorded other files")
        return found
    make_private_folder(cache.first_seen.parent)
    entries = {
        _key(manifest, file): {"sha256": file.sha256, "size_bytes": file.size_bytes}
        for file in files
    }
    record = {**read_record(cache.first_seen), **entries}
    replace_file(cache.first_seen, json.dumps(record, indent=1).encode(), private=True)
    return found


def _key(manifest: Manifest, file: ModelFile) -> str:
    hub = manifest.hub
    assert hub is not None  # noqa: S101 - only files of the hub are not pinned
    return f"{hub.repository}/{hub.revision}/{hub.paths[file.name]}"


def _recorded(file: ModelFile, entry: object) -> ModelFile:
    """Return a file as it was recorded; a damaged entry says nothing."""
    if not isinstance(entry, dict):
        return file
    sha256, size_bytes = entry.get("sha256"), entry.get("size_bytes")
    if not isinstance(sha256, str) or len(sha256) != _HASH_CHARS or not isinstance(size_bytes, int):
        return file
    return replace(file, sha256=sha256, size_bytes=size_bytes)
