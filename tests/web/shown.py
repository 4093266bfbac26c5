"""Which page the pictures in docs/images show: a digest of its files, the sample and the camera."""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"
MARK = IMAGES / "page.sha256"
_SHOWN = ("src/recollect/shells/web", "examples/workspace", "tests/web/test_pictures.py")

_SUFFIXES = {".css", ".html", ".js", ".md", ".py", ".svg"}


def shown_digest() -> str:
    """Return the digest of all that the pictures depend on, but for what the server answers."""
    digest = hashlib.sha256()
    for place in (ROOT / name for name in _SHOWN):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.suffix in _SUFFIXES:
                digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0")
                digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()
