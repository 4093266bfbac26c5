"""Extracts facts from files: plan what to send, ask a language model, check its answers."""

from __future__ import annotations

from recollect.records import dataclass
from recollect.text.setting import paths, setting


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """Which files are read, and how they are cut and sent."""

    paths: tuple[str, ...] = setting(
        "ingest.paths", (), paths, "globs of files to extract facts from"
    )
    """Empty: the usual files."""
    block_chars: int = 800
    """Characters of a file per block."""
    overlap_chars: int = 100
    """Characters repeated from the previous block; at most half a block."""
    batch_tokens: int = 4000
    """Estimated tokens of files in one request; with more, answers would be cut off."""
    output_tokens: int = 8000
    """Most tokens of one answer: twice what is sent, so that it is hardly ever cut off."""
    temperature: float = 0.2
    batch_seconds: float = 300.0
    """Seconds for one batch, all attempts together."""
