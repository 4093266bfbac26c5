"""Which notes link to which: `[[Ada Lovelace]]` and `[Ada](people/ada.md)`, as Obsidian does."""

from __future__ import annotations

import posixpath
import re
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import unquote

from recollect.records import dataclass
from recollect.text.tags import INLINE_CODE, open_fences
from recollect.types import HEADING_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from recollect.types import Chunk

_LINK = re.compile(
    r"\[\[(?P<name>[^\[\]|#^\n]{1,200})[^\[\]\n]{0,300}\]\]"
    r"|\]\((?P<path><[^<>\n]{1,300}>|[^()\s<>]{1,300})(?:[ \t][^()\n]{0,200})?\)"
)
_ELSEWHERE = re.compile(r"[a-zA-Z][\w+.-]{1,20}:|//")
"""How the address of a page begins."""


@dataclass(frozen=True, slots=True)
class LinkTargets:
    """What may be linked to: paths, and by name those of notes."""

    paths: frozenset[str]
    names: Mapping[str, str]

    def path_of(self, target: str, *, source: str = "") -> str | None:
        """Return the path that a link in a note means, by path or by name."""
        places = places_of(target, source=source)
        named = self.names.get(_name(target))
        return next((each for each in places if each in self.paths), named)


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """The links between notes, by their paths."""

    links: Mapping[str, tuple[str, ...]]
    backlinks: Mapping[str, tuple[str, ...]]
    dead: tuple[tuple[str, int, str], ...]
    """Links to what is not indexed: path, line and target."""
    targets: LinkTargets


def link_graph(chunks: Iterable[Chunk], *, paths: Iterable[str]) -> LinkGraph:
    """Return the links in chunks of notes; `paths` are all that may be linked to."""
    known = sorted(paths, key=lambda path: (len(path), path), reverse=True)  # the first one counts
    first: dict[str, Chunk] = {}  # of each note
    found: dict[tuple[str, int, str], None] = {}  # chunks overlap
    for chunk in chunks:
        first.setdefault(chunk.path, chunk)
        for line, target in _links_in(chunk.text):
            found[chunk.path, chunk.start_line + line, target] = None
    named = {name: chunk.path for chunk in first.values() for name in _names_in(chunk)}
    targets = LinkTargets(frozenset(known), named | {_name(path): path for path in known})
    links: dict[str, dict[str, None]] = {}
    backlinks: dict[str, dict[str, None]] = {}
    dead = []
    for source, line, target in found:
        path = targets.path_of(target, source=source)
        if path is None:
            dead.append((source, line, target))
        elif path != source:
            links.setdefault(source, {})[path] = None
            backlinks.setdefault(path, {})[source] = None
    return LinkGraph(
        {path: tuple(others) for path, others in links.items()},
        {path: tuple(others) for path, others in backlinks.items()},
        tuple(dead),
        targets,
    )


def places_of(target: str, *, source: str) -> list[str]:
    """Return the paths that a link in a note may mean, as they are stored."""
    top = posixpath.normpath(target.lstrip("/"))
    near = posixpath.normpath(posixpath.join(posixpath.dirname(source), target)).lstrip("/")
    return [f"{path}{suffix}" for path in (near, top) for suffix in ("", ".md")]


def _links_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the links of a text with their lines, from 0 on; what is in code is none."""
    if "](" not in text and "[[" not in text:
        return
    lines = text.split("\n")
    for number, (line, fences) in enumerate(zip(lines, pairwise(open_fences(lines)), strict=True)):
        for found in () if any(fences) else _LINK.finditer(INLINE_CODE.sub(" ", line)):
            path = (found["path"] or "").strip("<>")
            target = (found["name"] or unquote(re.split("[#?]", path)[0])).strip()
            if target and not _ELSEWHERE.match(path):
                yield number, target


def _name(path: str) -> str:
    name = posixpath.basename(path).casefold().removesuffix(".md")
    return " ".join(name.replace("-", " ").split())


def _names_in(chunk: Chunk) -> Iterator[str]:
    """Yield what a note is called besides its file: its title, its aliases, its `name:`."""
    said = [field.removeprefix("name: ") for field in chunk.fields if field.startswith("name: ")]
    titles = (*chunk.heading[:1], *re.split(r"[(),]", chunk.prefix.partition(HEADING_SEPARATOR)[0]))
    return filter(None, map(_name, (*titles, *said)))
