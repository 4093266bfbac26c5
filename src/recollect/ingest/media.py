"""Images and recordings: which files they are, and how one becomes a Document.

A media file is found by its label, a text such as `Image file: diagram.png`, and by the vector of
label and bytes together. The bytes are never stored: they are read here to be checked, and again
when they are embedded.

The formats are those documented for gemini-embedding-2: PNG and JPEG at
docs.cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/embedding-2, MP3 and WAV at
docs.litellm.ai/blog/gemini_embedding_2_multimodal.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from recollect.ingest.read import (
    content_of,
    is_settled,
    unreadable,
    when_of,
)
from recollect.providers.base import Media
from recollect.records import dataclass
from recollect.reports import Failure
from recollect.text.confined import is_inside, open_inside, too_large
from recollect.types import Document, Modality, digest_of, media_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recollect.ingest.folders import Found
    from recollect.stores.base import Missing

MOST_BYTES = 10 * 1024 * 1024
"""Larger files are left out."""
_MAKE_ROOM = "Make the file smaller, or exclude it."
_LAYER_BITS = 0b0000_0110
_LAYER_3 = 0b0000_0010
_SYNC_BITS = 0b1110_0000


@dataclass(frozen=True, slots=True)
class MediaFormat:
    """One kind of media file."""

    name: str
    modality: Modality
    mime: str
    fits: Callable[[bytes], bool]
    """Returns from the first bytes whether a file is of this kind."""


def _is_mp3(head: bytes) -> bool:
    """Return whether an ID3 tag or an MPEG layer III frame starts here."""
    is_frame = head[:1] == b"\xff" and len(head) > 1 and head[1] & _SYNC_BITS == _SYNC_BITS
    return head.startswith(b"ID3") or (is_frame and head[1] & _LAYER_BITS == _LAYER_3)


_PNG = MediaFormat(
    "PNG", Modality.IMAGE, "image/png", lambda head: head.startswith(b"\x89PNG\r\n\x1a\n")
)
_JPEG = MediaFormat(
    "JPEG", Modality.IMAGE, "image/jpeg", lambda head: head.startswith(b"\xff\xd8\xff")
)
_MP3 = MediaFormat("MP3", Modality.AUDIO, "audio/mpeg", _is_mp3)
_WAV = MediaFormat(
    "WAV", Modality.AUDIO, "audio/wav", lambda head: head[:4] == b"RIFF" and head[8:12] == b"WAVE"
)
_BY_SUFFIX = {".png": _PNG, ".jpg": _JPEG, ".jpeg": _JPEG, ".mp3": _MP3, ".wav": _WAV}


def format_of(path: str) -> MediaFormat | None:
    """Return the kind of media file that a name says it is; None for all others."""
    # Not by pathlib, which takes longer than all else that is done for a file that is found.
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(f"{dot}{suffix.lower()}") if stem else None


def modality_of(path: str) -> Modality | None:
    """Return the modality that a file's name says it has; None if it is not a media file."""
    form = format_of(path)
    return form.modality if form else None


def label_of(path: str) -> str:
    """Return the text that represents a media file, such as `Image file: diagram.png`."""
    form = format_of(path)
    name = PurePosixPath(path).name
    return f"{form.modality.capitalize()} file: {name}" if form else name


def read_media(found: Found, *, now_ns: int) -> Document:
    """Return a media file as a Document whose text is its label."""
    form = format_of(found.path)
    content, stat = content_of(found, max_bytes=MOST_BYTES, action=_MAKE_ROOM)
    if form is None or not form.fits(content):
        named = form.name if form else "media"
        action = "Give it the right suffix, or exclude it."
        raise unreadable(found.path, f"is named as {named} but contains something else", action)
    return Document(
        path=found.path,
        source=found.source,
        text=label_of(found.path),
        digest=digest_of(content),
        stat=stat,
        when=when_of(found.path, front_matter={}),
        is_settled=is_settled(stat, now_ns=now_ns),
        is_media=True,
    )


def oversize(found: Found) -> Failure | None:
    """Return why a media file is left out for its size; None if it is small enough."""
    if found.media is None or found.stat.size_bytes <= MOST_BYTES:
        return None
    return Failure(found.path, too_large(MOST_BYTES), _MAKE_ROOM, is_left_out=True)


def load_media(missing: Missing, *, roots: Sequence[Path]) -> Media | None:
    """Return what to embed of a media file; None if it has changed since it was indexed.

    Args:
        roots: the folders that media files may be in; the first is the workspace.

    """
    form = format_of(missing.path)
    real = Path(os.path.realpath(roots[0] / missing.path))
    root = next((each for each in roots if is_inside(real, each)), None)
    if root is None:
        return None
    try:
        with open_inside(real, root) as stream:
            # One byte more than before: enough to see that the file has grown.
            content = stream.read(missing.size_bytes + 1)
    except OSError:
        return None
    if form is None or media_digest(missing.text, digest_of(content)) != missing.digest:
        return None
    return Media(label=missing.text, mime=form.mime, content=content)
