"""The settings of what is read and how it is chunked."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.setting import endings, paths, plain, setting, switch, user_setting, whole
from recollect.text.terms import TERMS_VERSION
from recollect.types import digest_of

if TYPE_CHECKING:
    from pathlib import Path

NOTE_SUFFIX = ".md"
CHUNK_VERSION = 13
"""Raise it when equal documents and options give other chunks than before."""


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """Where else to look, and where not to."""

    extra_paths: tuple[str, ...] = setting(
        "extra_paths", (), paths, "more files, folders and globs to index"
    )
    """Absolute, below `~` or relative to the workspace."""
    exclude: tuple[str, ...] = setting("exclude", (), paths, "globs of files to leave out")
    """Matched against stored paths; a folder that matches is left out with all it contains."""
    text_files: tuple[str, ...] = setting(
        "text_files", (), endings, "endings of other text files to index: .txt,.org,.rst,.adoc"
    )
    command: str = user_setting(
        "preprocess.command",
        "",
        plain,
        "command that prints a file as text; it gets the path, and the file on standard input",
    )
    command_files: tuple[str, ...] = user_setting(
        "preprocess.files", (), endings, "endings of the files to index by that command: .pdf"
    )
    media: bool = user_setting(
        "multimodal.enabled",
        False,
        switch,
        "send images and recordings in extra_paths to gemini to be embedded",
    )
    """Whether media files are indexed besides Markdown; only from the extra paths."""
    stays_inside: bool = False
    """Whether the extra paths may not lead out of the workspace: its own file names them."""
    user_home: Path | None = None
    """A folder that is never indexed as a whole, like those above it."""

    def is_text(self, name: str) -> bool:
        """Return whether a file is read as text, by its name."""
        return name.lower().endswith((NOTE_SUFFIX, *self.text_files))

    def command_for(self, name: str) -> str:
        """Return the command that turns a file into text; empty if none does."""
        is_wanted = bool(self.command_files) and name.lower().endswith(self.command_files)
        return self.command if is_wanted and not self.is_text(name) else ""


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """How large chunks are."""

    tokens: int = setting("chunk.tokens", 400, whole(16, 8000), "target size of a chunk")
    overlap: int = setting(
        "chunk.overlap",
        80,
        whole(0, 4000),
        "tokens repeated from the previous chunk, in whole lines or sentences",
    )


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Which files are read, and how they are chunked."""

    walk: WalkOptions = field(default_factory=WalkOptions)
    chunk: ChunkOptions = field(default_factory=ChunkOptions)

    @property
    def recipe(self) -> str:
        """Return the identity of the chunking and term rules."""
        command = self.walk.command
        made_by = f"-p{digest_of(command.encode())[:8]}" if command else ""
        size = f"{self.chunk.tokens}.{self.chunk.overlap}"
        return f"c{CHUNK_VERSION}.{size}-t{TERMS_VERSION}{made_by}"
