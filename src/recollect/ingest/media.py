"""Images and recordings, found by their label and by the vector of label and bytes together.

The bytes are never stored: they are read to be checked, and again to be embedded. The formats are
those documented for gemini-embedding-2: PNG and JPEG at
docs.cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/embedding-2, MP3 and WAV at
docs.litellm.ai/blog/gemini_embedding_2_multimodal.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from recollect.ingest.read import content_of, is_settled, unreadable, when_of
from recollect.providers.base import Media
from recollect.reports import Failure
from recollect.text.confined import is_inside, open_inside, too_large
from recollect.types import Document, Modality, digest_of, media_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.ingest.folders import Found
    from recollect.stores.base import Missing

MOST_BYTES = 10 * 1024 * 1024
"""Larger files are left out."""
_MAKE_ROOM = "Make the file smaller, or exclude it."


class MediaFormat(NamedTuple):
    """One kind of media file."""

    name: str
    modality: Modality
    mime: str
    head: re.Pattern[bytes]
    """The first bytes of such a file."""


_PNG = MediaFormat("PNG", Modality.IMAGE, "image/png", re.compile(rb"\x89PNG\r\n\x1a\n"))
_JPEG = MediaFormat("JPEG", Modality.IMAGE, "image/jpeg", re.compile(rb"\xff\xd8\xff"))
_MP3 = MediaFormat(  # an ID3 tag or an MPEG layer III frame
    "MP3",
    Modality.AUDIO,
    "audio/mpeg",
    re.compile(rb"ID3|\xff[\xe2\xe3\xea\xeb\xf2\xf3\xfa\xfb]"),
)
_WAV = MediaFormat("WAV", Modality.AUDIO, "audio/wav", re.compile(rb"RIFF.{4}WAVE", re.DOTALL))
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
    if form is None or not form.head.match(content):
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
    """Return what to embed of a media file; None if it changed since it was indexed."""
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
