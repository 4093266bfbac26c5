"""Dividing a document into chunks along its Markdown structure.

A heading begins a chunk and stays with what follows it; whole blocks are packed until the next
one would not fit. Decisions look only backwards, so appending to a file leaves every chunk but
the last as it was, and only what changed is embedded again. It knows nothing of files, stores
or models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.ingest.curated import is_curated, without_annotations
from recollect.ingest.markdown import Kind, blocks
from recollect.ingest.pack import Line, Packer
from recollect.text.setting import setting, whole
from recollect.text.size import CHARS_PER_TOKEN, weigh
from recollect.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.ingest.markdown import Block
    from recollect.types import Document

CHUNK_VERSION = 1
"""To be raised when equal documents and options give other chunks than before."""

_MIN_LIMIT = 32
"""Weight below which chunks would be shreds of words; as in OpenClaw."""


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """How large chunks are."""

    tokens: int = setting("chunk.tokens", 400, whole(16, 8000), "target size of a chunk")
    overlap: int = setting(
        "chunk.overlap", 80, whole(0, 4000), "tokens repeated from the chunk before"
    )


def chunk(document: Document, *, options: ChunkOptions) -> list[Chunk]:
    """Return the chunks of a document in the order of its lines; a media file is one."""
    if document.is_media:
        return [_label(document)]
    has_entries = is_curated(document.path)
    texts = [line.removesuffix("\r") for line in document.text.split("\n")]
    if has_entries:
        texts = [without_annotations(line) for line in texts]
    found = blocks(texts, first=document.body_line)
    packer = Packer(
        document,
        lines=[Line(number, text, weigh(text) + 1) for number, text in enumerate(texts, 1)],
        starts={block.start for block in found},
        limit=max(_MIN_LIMIT, options.tokens * CHARS_PER_TOKEN),
        overlap=max(0, options.overlap) * CHARS_PER_TOKEN,
    )
    placed = 0
    for block, last in zip(found, _last_lines(found), strict=True):
        # A heading longer than a chunk is a paragraph that begins with a `#`.
        if block.kind is Kind.HEADING and packer.fits(block):
            packer.begin_section(block)
        elif block.start > placed:
            if has_entries and _is_entry(block, texts[block.start - 1]):
                packer.begin_entry()
            if packer.place(block.start, last):
                placed = last
            else:
                packer.place_lines(block, is_opening=last > block.end)
    return packer.close()


def _label(document: Document) -> Chunk:
    return Chunk(
        document.path,
        document.source,
        start_line=1,
        end_line=1,
        text=document.text,
        when=document.when,
        media=document.digest,
    )


def _is_entry(block: Block, line: str) -> bool:
    return block.kind is Kind.BULLET and line[0] in "-*"


def _last_lines(found: Sequence[Block]) -> list[int]:
    """Return per block the last line of it and of all that is nested in it."""
    lasts = [block.end for block in found]
    around: list[int] = []
    for index, block in enumerate(found):
        while around and found[around[-1]].depth >= block.depth:
            lasts[around.pop()] = found[index - 1].end
        around.append(index)
    for index in around:
        lasts[index] = found[-1].end
    return lasts
