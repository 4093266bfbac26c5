"""Tells whether a model's files are the published ones.

Hashing 34 MB takes 20 ms, so a file is hashed once and then recognised by size, times and inode:
a later change to it changes at least one of them, and it is hashed again. The record of this is in
the user's own folder, never beside the files, which others may be able to write.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.files import make_private_folder, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.providers.models.manifest import ModelFile

_RECORD = "verified.json"
_MOST_RECORD_BYTES = 1 << 20  # thousands of files; a larger one was not written here
_SAMPLES = 16
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ModelCache:
    """Where models are downloaded to, and which of their files were checked."""

    folder: Path
    record: Path | None = None
    """Record of checked files; None hashes every file whenever it is used."""

    @classmethod
    def of(cls, configured: Path | None, *, default: Path) -> ModelCache:
        """Return the cache in the configured folder, else in the user's own.

        The record is in the user's own folder in either case.
        """
        return cls(configured or default, default / _RECORD)


def problem_of(path: Path, file: ModelFile, *, record: Path | None) -> str | None:
    """Return why a file is not the published one; None if it is.

    Args:
        path: the file.
        file: what it should be.
        record: remembers files that were hashed; None hashes it now.

    """
    try:
        seen = _seen(path.stat())
        if record is not None and read_record(record).get(_key(path)) == [*seen, file.sha256]:
            return None
        found = sha256_of(path)
        is_still = _seen(path.stat()) == seen
    except OSError as error:
        return f"{file.name} cannot be read ({error.strerror})"
    if found != file.sha256:
        return f"{file.name} does not match its published SHA-256 (it has {found[:12]}…)"
    if record is not None and is_still:
        _note(record, _key(path), [*seen, found])
    return None


def read_published(path: Path, file: ModelFile, *, record: Path | None) -> bytes:
    """Return a file's content, which is hashed unless the open file is the one that was hashed.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not the published one.

    """
    with path.open("rb") as stream:
        seen = _seen(os.fstat(stream.fileno()))
        content = stream.read()
        is_still = _seen(os.fstat(stream.fileno())) == seen
    known = read_record(record).get(_key(path)) if record is not None and is_still else None
    if known != [*seen, file.sha256] and hashlib.sha256(content).hexdigest() != file.sha256:
        raise ValueError(f"{file.name} does not match its published SHA-256")
    return content


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        OSError: the file cannot be read.

    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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


def _key(path: Path) -> str:
    return str(path.resolve())


def _seen(stat: os.stat_result) -> list[object]:
    """Return what changes with a file's content. Nobody can set the third, the change time."""
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


def read_record(record: Path) -> dict[str, object]:
    """Return the record; an unreadable one says nothing, so that every file is checked again."""
    try:
        with record.open("rb") as stream:
            found = json.loads(stream.read(_MOST_RECORD_BYTES))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _note(record: Path, key: str, seen: list[object]) -> None:
    with suppress(OSError):  # the record only saves time
        make_private_folder(record.parent)
        known = json.dumps({**read_record(record), key: seen}, indent=1)
        replace_file(record, known.encode(), private=True)
