"""Tags: `#tag` in a text, and those of front matter and facts, which describe a chunk.

Names are compared without case and accents. `project` also means `project/alpha`, as in Obsidian.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.text.scripts import fold
from recollect.text.terms import phrase_terms
from recollect.types import CURATED, SourceKind, Tag

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TAG_CHARS = 100
_CHAR = (
    r"[^\s!\"#$%&'()*,.:;<=>?@\[\]\\^`{|}~"
    r"\u2000-\u206F\u2E00-\u2E7F\u3000-\u303F\uFF00-\uFF0F\uFF1A-\uFF20]"
)
"""Characters of a tag in a text: all but spaces and punctuation, so that signs above letters and
emoji belong to it; and `+`, for #c++."""
# Not `[Install](#install)`, `href="#x"` or `\#x`; and a number alone is none.
_TAG = re.compile(
    rf"""(?<![\w&/#\\`"'=])(?<!\]\()#(?=[\d_/-]{{0,{MAX_TAG_CHARS}}}(?![\d_/-]){_CHAR})"""
    rf"({_CHAR}{{1,{MAX_TAG_CHARS}}})"
)
_DECLARED = re.compile(rf"(?<!\S)#([^\s#]\S{{0,{MAX_TAG_CHARS - 1}}})(?!\S)")
"""Characters of a tag in front matter and facts, which mark its end: also `node.js` and `2026`."""
_QUOTE = re.compile(r"[ \t>]*")
_BULLETS = re.compile(r"(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t]+)*")
_FENCE = re.compile(r"(?P<marks>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<about>.*)")
_CODE_INDENT = 4  # columns from where it is code without a fence, or text of code with one
_STARTS_IN_CODE = re.compile(r"(>*(?:`{3,}|~{3,}))(?!\S)")
INLINE_CODE = re.compile(r"`[^`\n]*`")
_COLOUR = re.compile(r"(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_TYPE = "type"
"""The field of front matter that says what a note is, in the Open Knowledge Format."""
_CACHED_TEXTS = 4096  # one question asks several legs about the same chunks


def tag_names(words: Iterable[str]) -> tuple[str, ...]:
    """Return typed words as names of tags: `#UI`, `dark mode`, `a,b` are ui, dark-mode, a and b."""
    return tuple(dict.fromkeys(name.lower() for word in words for name in names_in(word)))


def names_in(word: str) -> list[str]:
    """Return the names of tags in a word that is typed or written in front matter."""
    names = ("-".join(part.split()).lstrip("#").rstrip("/") for part in word.split(","))
    return [name for name in names if name]


def tags_named(words: Iterable[str]) -> tuple[Tag, ...]:
    """Return the tags that a user names."""
    folded = map(fold, tag_names(words))
    return tuple(Tag(name.casefold(), phrase_terms(name)) for name in folded)


def type_named(word: str) -> Tag | None:
    """Return the type of a note that a user names, as a tag; None if it is empty."""
    name = "-".join(names_in(fold(word))).casefold()
    return Tag(f"{_TYPE}:{name}", phrase_terms(name.replace("-", " "))) if name else None


def has_tag(text: str, triggers: str, name: str) -> bool:
    """Return whether a chunk's text or the words that describe it have a tag, or one below it."""
    own = _tags_of(text, triggers)
    return name in own or any(each.startswith(f"{name}/") for each in own)


def declared(names: Iterable[str]) -> str:
    """Return names of tags as words that describe a chunk."""
    return " ".join(f"#{name}" for name in names)


@lru_cache(maxsize=_CACHED_TEXTS)
def _tags_of(text: str, triggers: str) -> frozenset[str]:
    if "#" not in text and "#" not in triggers and _TYPE not in triggers:
        return frozenset()
    described = fold(triggers)
    names = [*_declared(described), *_written(fold(text), _fence_of(triggers))]
    for field in described.split("\n")[1:]:
        key, _, value = field.partition(": ")
        names += (f"{_TYPE}:{name}" for name in names_in(value) if key == _TYPE)
    return frozenset(name.casefold() for name in names)


def shown_tags(text: str, triggers: str = "") -> list[str]:
    """Return the names of a chunk's tags as they are written, each once; colours are none."""
    written = _written(text, _fence_of(triggers))
    own = (name for name in written if not _COLOUR.fullmatch(name.lower()))
    return list(dict.fromkeys((*_declared(triggers), *own)))


def _declared(triggers: str) -> list[str]:
    names = (found[1].rstrip("/,;") for found in _DECLARED.finditer(triggers))
    return [name for name in names if name]


def _fence_of(triggers: str) -> str:
    """Return the fence of the code that a chunk begins in; it is the first of its triggers."""
    found = _STARTS_IN_CODE.match(triggers)
    return found[1] if found else ""


def _written(text: str, fence: str) -> list[str]:
    return [found[1].rstrip("/") for found in _TAG.finditer(_without_code(text, fence))]


def _without_code(text: str, fence: str) -> str:
    """Return a text without code, in which `#define` is not a tag."""
    if not fence and "`" not in text and "~~~" not in text:
        return text
    lines = text.split("\n")
    opened = open_fences(lines, fence)
    around = zip(lines, pairwise(opened), strict=True)
    kept = (line for line, (before, after) in around if not (before or after))
    return INLINE_CODE.sub(" ", "\n".join(kept))


def open_fences(lines: Iterable[str], fence: str = "") -> list[str]:
    """Return the fence of the code that each line begins in, and at last the one left open.

    A fence is written with a `>` for each quotation it is in; outside of code it is empty.
    """
    opened = [fence]
    items: list[int] = []  # at which columns the texts of the list items around a line begin
    for line in lines:
        quote = _QUOTE.match(line)[0]  # type: ignore[index]  # it matches every line
        depth = quote.count(">")
        column = len(quote.rpartition(">")[2].expandtabs(_CODE_INDENT))
        inside = items if len(quote) == len(line) else [each for each in items if each <= column]
        if depth < fence.count(">") or inside != items:  # the end of either ends the code in it
            opened[-1] = fence = ""
        items = inside
        if column - max(items, default=0) < _CODE_INDENT:
            bullets = 0 if fence else len(_BULLETS.match(line, len(quote))[0])  # type: ignore[index]  # as above
            items = [*items, column + bullets] if bullets else items
            if found := _FENCE.match(line, len(quote) + bullets):
                marks = ">" * depth + found["marks"]
                if not fence:
                    fence = marks
                elif marks.startswith(fence) and not found["about"]:
                    fence = ""
        opened.append(fence)
    return opened


def tags_whole_document(source: SourceKind | str, path: str) -> bool:
    """Return whether a tag is the whole note's; entries, facts and turns have their own."""
    return source == SourceKind.MEMORY and path not in CURATED
