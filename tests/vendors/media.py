"""Media files for tests: as small as a format allows, and no two alike."""

from __future__ import annotations

import hashlib

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff\xe0"
MP3 = b"ID3\x04\x00"
FRAME = b"\xff\xfb\x90\x64"


def png(seed: str, *, size_bytes: int = 200) -> bytes:
    """Return bytes that begin as a PNG does."""
    return padded(PNG, seed, size_bytes)


def mp3(seed: str, *, size_bytes: int = 200) -> bytes:
    """Return bytes that begin as an MP3 does."""
    return padded(MP3, seed, size_bytes)


def wav(seed: str, *, size_bytes: int = 200) -> bytes:
    """Return bytes that begin as a WAV does."""
    return padded(b"RIFF" + size_bytes.to_bytes(4, "little") + b"WAVEfmt ", seed, size_bytes)


def padded(head: bytes, seed: str, size_bytes: int) -> bytes:
    filling = hashlib.shake_256(seed.encode()).digest(size_bytes - len(head))
    return head + filling
