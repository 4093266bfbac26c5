"""Divides a document into chunks along its Markdown structure: a heading stays with what follows.

Decisions look only backwards, so appending to a file leaves every chunk but the last as it was, and
only what changed is embedded again.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from recollect.ingest.front_matter import describe
from recollect.ingest.markdown import BlockKind, blocks
from recollect.text.days import start_of
from recollect.text.graphemes import last_sentences, split_line
from recollect.text.merge_conflicts import find_conflicts, without_markers
from recollect.text.size import CHARS_PER_TOKEN, weigh
from recollect.text.tags import open_fences
from recollect.types import CURATED, HEADING_SEPARATOR, SUPERSEDED, Chunk, FactMark

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from recollect.ingest.front_matter import Described
    from recollect.ingest.markdown import Block
    from recollect.ingest.options import ChunkOptions
    from recollect.text.merge_conflicts import Conflict
    from recollect.types import Document

_FENCE_CHARS = 3
_MIN_LIMIT = 32
"""Least weight of a chunk, as in OpenClaw: below it chunks are fragments of words."""
_ANNOTATION = re.compile(
    r"<!--\s*(?P<name>trigger|importance|project)\s*:(?P<value>(?:(?!<!--).)*?)-->"
)
_USED = ("importance", "trigger")
_IMPORTANCE = re.compile(r"10|[1-9]")


class NoteLines(NamedTuple):
    """The lines of a note as they are searched, and what its front matter says."""

    texts: Sequence[str]
    """The lines without the markers of conflicts and without annotations."""
    conflicts: Sequence[Conflict]
    described: Described

    @classmethod
    def of(cls, document: Document) -> NoteLines:
        """Read the lines of a document."""
        texts = [line.removesuffix("\r") for line in document.text.split("\n")]
        if conflicts := find_conflicts(texts):
            texts = without_markers(texts, conflicts)
        if document.path in CURATED:
            texts = [line[: _text_end(line)] for line in texts]
        return cls(texts, conflicts, describe(document, texts))


def chunk(
    document: Document, *, options: ChunkOptions, lines: NoteLines | None = None
) -> list[Chunk]:
    """Return the chunks of a document in the order of its lines; a media file is one."""
    if document.is_media:
        return [_label(document)]
    has_entries = document.path in CURATED
    texts, _, described = lines or NoteLines.of(document)
    found = blocks(texts, first=document.body_line)
    packer = ChunkPacker(
        document,
        described=described,
        lines=[Line(number, text, weigh(text) + 1) for number, text in enumerate(texts, 1)],
        starts={block.start for block in found},
        closers={block.end for block in found if _is_closed(block, texts)},
        limit=max(_MIN_LIMIT, options.tokens * CHARS_PER_TOKEN),
        overlap=max(0, options.overlap) * CHARS_PER_TOKEN,
    )
    placed = 0
    for block, last in zip(found, _last_lines(found), strict=True):
        # A heading longer than a chunk is a paragraph that starts with a `#`.
        if block.kind is BlockKind.HEADING and packer.fits(block):
            packer.begin_section(block)
        elif block.start > placed:
            is_bullet = block.kind is BlockKind.BULLET and texts[block.start - 1][0] in "-*"
            if has_entries and is_bullet:
                packer.begin_entry()
            if packer.place(block.start, last):
                placed = last
            else:
                packer.place_lines(block, is_opening=last > block.end)
    chunks = packer.close()
    annotated = [_annotated(each, document) for each in chunks] if has_entries else chunks
    marked = _marked(annotated, texts, first=document.body_line)
    return _described(marked or _front(document, texts), described)


def _marked(chunks: list[Chunk], texts: Sequence[str], *, first: int) -> list[Chunk]:
    """Return the chunks; one that begins inside code gets its fence: `#define` is not a tag."""
    if not any("```" in text or "~~~" in text for text in texts):
        return chunks
    opened = open_fences(texts[first - 1 :])
    fences = (opened[each.start_line - first] for each in chunks)
    return [
        replace(each, triggers=f"{fence} {each.triggers}".strip()) if fence else each
        for each, fence in zip(chunks, fences, strict=True)
    ]


def _is_closed(block: Block, texts: Sequence[str]) -> bool:
    """Return whether a block is code that ends with a fence; without one it may still go on."""
    last = texts[block.end - 1].strip()
    is_fence = len(last) >= _FENCE_CHARS and set(last) in ({"`"}, {"~"})
    return block.kind is BlockKind.FENCE and block.end > block.start and is_fence


def _described(chunks: list[Chunk], described: Described) -> list[Chunk]:
    """Return the chunks, the first to be found by what the front matter says as well."""
    if described.is_superseded:
        chunks = [replace(each, importance=SUPERSEDED) for each in chunks]
    if described.until:
        with suppress(OverflowError):  # 9999-12-31 is written for never
            mark = FactMark("", until=start_of(described.until + timedelta(days=1)))
            chunks = [replace(each, fact=mark) for each in chunks]
    if not (chunks and described.words):
        return chunks
    triggers = f"{chunks[0].triggers} {described.words}".strip(" ")
    return [replace(chunks[0], triggers=triggers), *chunks[1:]]


def _front(document: Document, texts: Sequence[str]) -> list[Chunk]:
    """Return the chunk of a note that has nothing but front matter, if it has any."""
    lines = texts[1 : max(document.body_line - 2, 1)]  # between its fences
    if not any(map(str.strip, lines)):
        return []
    text = "\n".join(lines)
    end = document.body_line - 2
    return [Chunk(document.path, document.source, 2, end, text=text, when=document.when)]


def _annotated(made: Chunk, document: Document) -> Chunk:
    """Return an entry with what its trailing annotations say, as in OpenClaw.

    The highest importance counts; triggers are words by which the entry should be found.
    """
    lines = document.text.split("\n")[made.start_line - 1 : made.end_line]
    marks = [mark for line in lines for mark in _ANNOTATION.finditer(line, _text_end(line))]
    said = {
        name: [mark["value"].strip() for mark in marks if mark["name"] == name] for name in _USED
    }
    valid = [int(value) for value in said["importance"] if _IMPORTANCE.fullmatch(value)]
    importance = max(valid, default=None)
    return replace(made, importance=importance, triggers=" ".join(said["trigger"]))


def _text_end(line: str) -> int:
    """Return where the trailing annotations of a line begin; its length if it has none."""
    end = len(line.rstrip())
    while line.endswith("-->", 0, end):
        start = line.rfind("<!--", 0, end)
        if start < 0 or not _ANNOTATION.fullmatch(line, start, end):
            break
        end = start
        while end and line[end - 1].isspace():
            end -= 1
    return len(line) if end == len(line.rstrip()) else end


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


def _last_lines(found: Sequence[Block]) -> list[int]:
    """Return the last line of each block including everything nested in it."""
    lasts = [block.end for block in found]
    around: list[int] = []
    for index, block in enumerate(found):
        while around and found[around[-1]].depth >= block.depth:
            lasts[around.pop()] = found[index - 1].end
        around.append(index)
    for index in around:
        lasts[index] = found[-1].end
    return lasts


class Line(NamedTuple):
    """A line of the document, or a piece of one that is longer than a chunk."""

    number: int
    text: str
    weight: int

    @property
    def is_blank(self) -> bool:
        """True if it is empty."""
        return not self.text.strip()


class ChunkPacker:
    """Fills chunks with lines: what fits stays together, a cut leaves an overlap."""

    def __init__(  # noqa: PLR0913 - what to pack, and the limits
        self,
        document: Document,
        *,
        described: Described,
        lines: Sequence[Line],
        starts: Collection[int],
        closers: Collection[int],
        limit: int,
        overlap: int,
    ) -> None:
        """Store what to pack; blocks begin with the lines `starts`, code ends with `closers`."""
        self._document = document
        self._all = lines
        self._sums = [0, *accumulate(line.weight for line in lines)]
        self._title = described.title
        self._names = described.names
        self._starts = starts
        self._closers = closers
        self._limit = limit
        # More than half would repeat the chunk before rather than lead over from it.
        self._overlap = min(overlap, limit // 2)
        self._chunks: list[Chunk] = []
        self._path: list[Block] = []
        self._lines: list[Line] = []
        self._taken = 0  # what they weigh
        self._heads = 0  # how many of them are headings, with the blank lines between
        self._is_opening = True  # they only introduce what comes, so it should not go elsewhere

    def fits(self, block: Block) -> bool:
        """Return whether a block is no more than a chunk."""
        return self._weight(block.start, block.end) <= self._limit

    def begin_section(self, heading: Block) -> None:
        """Begin a chunk with a heading, unless it is the first below the heading before it."""
        is_first_below = bool(self._path) and heading.level > self._path[-1].level
        if self._has_body or not is_first_below:
            self._emit()
        self._path = [*(above for above in self._path if above.level < heading.level), heading]
        self._extend(heading.start, heading.end)
        self._heads = len(self._lines)

    def begin_entry(self) -> None:
        """Begin a chunk, unless there is nothing but headings to keep the entry company."""
        if self._has_body:
            self._emit()

    def place(self, start: int, end: int) -> bool:
        """Take in lines as one, here or in the next chunk; False if they are too many."""
        if not self._fits(start, end):
            if self._is_opening or self._weight(start, end) > self._limit:
                return False
            self._turn(start, end)
        self._extend(start, end)
        self._is_opening = False
        return True

    def place_lines(self, block: Block, *, is_opening: bool) -> None:
        """Take in a block by its lines; `is_opening` if it only introduces those nested in it."""
        if not self._is_opening:
            self._turn(block.start, block.end if self.fits(block) else block.start)
        for number in range(block.start, block.end + 1):
            self._place_line(number)
        self._is_opening = is_opening

    def close(self) -> list[Chunk]:
        """Return all chunks."""
        self._emit()
        return self._chunks

    @property
    def _has_body(self) -> bool:
        return len(self._lines) > self._heads

    def _weight(self, start: int, end: int) -> int:
        return self._sums[end] - self._sums[start - 1]

    def _from(self, start: int) -> int:
        """Return the first line to add: blank lines before it only matter inside a chunk."""
        return self._lines[-1].number + 1 if self._lines else start

    def _fits(self, start: int, end: int) -> bool:
        return self._taken + self._weight(self._from(start), end) <= self._limit

    def _extend(self, start: int, end: int) -> None:
        start = self._from(start)
        self._taken += self._weight(start, end)
        self._lines += self._all[start - 1 : end]

    def _place_line(self, number: int) -> None:
        if self._weight(number, number) > self._limit:
            self._place_pieces(number)
            return
        # A heading keeps its first line even if both are more than the limit.
        stays = not self._has_body and self._weight(self._from(number), number) <= self._limit
        # The line before the end of a code block goes with it: no chunk begins with the end.
        last = number + 1 if number + 1 in self._closers else number
        last = last if self._weight(number, last) <= self._limit else number
        if not stays and not self._fits(number, last):
            self._turn(number, last)
        self._extend(number, number)

    def _place_pieces(self, number: int) -> None:
        if self._has_body or self._weight(self._from(number), number - 1) > self._limit:
            self._emit()
        self._extend(number, number - 1)
        divided = split_line(
            self._all[number - 1].text,
            first=max(self._limit - self._taken, self._limit // 2) - 1,
            limit=self._limit - 1,
            overlap=self._overlap,
        )
        for index, piece in enumerate(divided):
            if index:
                self._emit()
            self._lines.append(Line(number, piece, weigh(piece) + 1))
            self._taken += self._lines[-1].weight

    def _turn(self, start: int, end: int) -> None:
        """Begin the next chunk with the end of this one, as far as it leaves room for lines."""
        room = self._limit - self._weight(self._from(start), end)
        carried = self._carried(min(self._overlap, room))
        self._emit()
        self._start_over(carried)

    def _carried(self, room: int) -> list[Line]:
        body = self._lines[self._heads :]
        first = next((at for at, line in enumerate(body) if not line.is_blank), len(body))
        kept = len(body)
        # Not the first line: then nothing but the heading would tell the two chunks apart.
        while kept > first + 1 and body[kept - 1].weight <= room:
            kept -= 1
            room -= body[kept].weight
        whole = (at for at in range(kept, len(body)) if body[at].number in self._starts)
        kept = next(whole, kept)
        while kept < len(body) and (body[kept].is_blank or body[kept].number in self._closers):
            kept += 1
        return body[kept:] or _ending(body, room)

    def _start_over(self, lines: list[Line]) -> None:
        self._lines = lines
        self._taken = sum(line.weight for line in lines)
        self._heads = 0
        self._is_opening = True

    def _emit(self) -> None:
        lines = self._lines
        start, end = 0, len(lines)
        while start < end and lines[start].is_blank:
            start += 1
        while end > start and lines[end - 1].is_blank:
            end -= 1
        if start < end:
            self._chunks.append(self._made_of(lines[start:end]))
        self._start_over([])

    def _made_of(self, lines: Sequence[Line]) -> Chunk:
        first, last = lines[0].number, lines[-1].number
        titled = [heading for heading in self._path if heading.title]
        unseen = [heading.title for heading in titled if not first <= heading.start <= last]
        above = () if self._is_shown([each.title for each in titled]) else (self._title,)
        return Chunk(
            path=self._document.path,
            source=self._document.source,
            start_line=first,
            end_line=last,
            text="\n".join(line.text for line in lines),
            heading=(*above, *(heading.title for heading in titled)),
            prefix=HEADING_SEPARATOR.join((*((self._names,) if self._names else above), *unseen)),
            when=self._document.when,
        )

    def _is_shown(self, headings: Sequence[str]) -> bool:
        """Return whether the title is one of the headings, or there is none."""
        title = self._title.casefold()
        return not title or any(title == heading.casefold() for heading in headings)


def _ending(body: Sequence[Line], room: int) -> list[Line]:
    """Return the last sentences of the last line, which is too long to be repeated."""
    text = last_sentences(body[-1].text, room - 1) if body else ""
    return [Line(body[-1].number, text, weigh(text) + 1)] if text else []
