"""Extracts facts from files: plan what to send, ask a language model, check its answers."""

from __future__ import annotations

from recollect.records import dataclass
from recollect.text.setting import paths, setting


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """Which files are read."""

    paths: tuple[str, ...] = setting(
        "ingest.paths", (), paths, "globs of files to extract facts from"
    )
    """Empty: the usual files."""
