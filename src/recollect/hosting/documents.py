"""What shells and clients use of pushed documents."""

from __future__ import annotations

from recollect.ingest.pushed import MOST_DOCUMENT_BYTES, MOST_PATH_CHARS, parse_new_path
from recollect.stores.pushed import PushedChange, PushedDocument

__all__ = [
    "MOST_DOCUMENT_BYTES",
    "MOST_PATH_CHARS",
    "PushedChange",
    "PushedDocument",
    "parse_new_path",
]
