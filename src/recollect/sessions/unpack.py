"""Decompresses and compresses OpenClaw's archived transcripts and long rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

MAX_BYTES = 512 * 1024 * 1024
"""Ten times a long conversation; a small file can unpack to any size."""


class DamagedError(OSError):
    """Compressed content that cannot be decompressed."""


def unpack(packed: BinaryIO | bytes, *, limit: int = MAX_BYTES) -> bytes:
    """Return decompressed content.

    Raises:
        DamagedError: it is damaged, or larger than the limit.

    """
    import zstandard  # noqa: PLC0415 - few transcripts are compressed

    reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    try:
        content = reader.read(limit + 1)
    except zstandard.ZstdError as error:
        raise DamagedError(str(error)) from error
    if len(content) > limit:
        raise DamagedError(f"it unpacks to more than {limit // 1024**2} MiB")
    return content


def pack(content: bytes) -> bytes:
    """Return compressed content."""
    import zstandard  # noqa: PLC0415 - few transcripts are compressed

    return zstandard.ZstdCompressor().compress(content)
