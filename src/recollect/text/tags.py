"""Tags: `#tag` in a text, and those of front matter and facts, which describe a chunk.

Names are compared without case and accents. `project` also means `project/alpha`, as in Obsidian.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from recollect.text.scripts import fold
from recollect.text.terms import phrase_terms
from recollect.types import CURATED, SourceKind, Tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_TAG_CHARS = 100
_CHAR = (
    r"[^\s!\"#$%&'()*,.:;<=>?@\[\]\\^`{|}~"
    r"\u2000-\u206F\u2E00-\u2E7F\u3000-\u303F\uFF00-\uFF0F\uFF1A-\uFF20]"
)
"""Of a tag in a text: all but spaces and punctuation, so that signs above letters and emoji belong
to it; and `+`, for #c++."""
# Not `[Install](#install)`, `href="#x"` or `\#x`; and a number alone is none.
_TAG = re.compile(
    rf"""(?<![\w&/#\\`"'=])(?<!\]\()#(?=[\d_/-]{{0,{MAX_TAG_CHARS}}}(?![\d_/-]){_CHAR})"""
    rf"({_CHAR}{{1,{MAX_TAG_CHARS}}})"
)
_DECLARED = re.compile(rf"(?<!\S)#([^\s#]\S{{0,{MAX_TAG_CHARS - 1}}})(?!\S)")
"""Of front matter and facts, which say themselves where a tag ends: also `node.js` and `2026`."""
_FENCE = re.compile(r"[ \t]*(?P<marks>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<about>.*)")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_COLOUR = re.compile(r"(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
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


def has_tag(text: str, triggers: str, name: str) -> bool:
    """Return whether a chunk's text or the words that describe it have a tag, or one below it."""
    own = _tags_of(text, triggers)
    return name in own or any(each.startswith(f"{name}/") for each in own)


def declared(names: Iterable[str]) -> str:
    """Return names of tags as words that describe a chunk."""
    return " ".join(f"#{name}" for name in names)


@lru_cache(maxsize=_CACHED_TEXTS)
def _tags_of(text: str, triggers: str) -> frozenset[str]:
    if "#" not in text and "#" not in triggers:
        return frozenset()
    names = (*_declared(fold(triggers)), *_written(fold(text)))
    return frozenset(name.casefold() for name in names)


def shown_tags(text: str, triggers: str = "") -> list[str]:
    """Return the names of a chunk's tags as they are written, each once; colours are none."""
    own = (name for name in _written(text) if not _COLOUR.fullmatch(name.lower()))
    return list(dict.fromkeys((*_declared(triggers), *own)))


def _declared(triggers: str) -> list[str]:
    names = (found[1].rstrip("/,;") for found in _DECLARED.finditer(triggers))
    return [name for name in names if name]


def _written(text: str) -> list[str]:
    return [found[1].rstrip("/") for found in _TAG.finditer(_without_code(text))]


def _without_code(text: str) -> str:
    """Return a text without code, in which `#define` is not a tag."""
    if "`" not in text and "~~~" not in text:
        return text
    lines = text.split("\n")
    kept, left_open = _outside_fences(lines)
    if left_open:  # the chunk starts inside of a code block, which its first fence ends
        kept, _ = _outside_fences(lines, fence=left_open)
    return _INLINE_CODE.sub(" ", "\n".join(kept))


def _outside_fences(lines: Sequence[str], fence: str = "") -> tuple[list[str], str]:
    """Return the lines that are not code, and the fence without a language that is left open."""
    kept: list[str] = []
    about = ""
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            is_end = found and found["marks"].startswith(fence) and not found["about"]
            fence = "" if is_end else fence
        elif found:
            fence, about = found["marks"], found["about"]
        else:
            kept.append(line)
    return kept, "" if about else fence


def tags_whole_document(source: SourceKind | str, path: str) -> bool:
    """Return whether a tag is the whole note's; entries, facts and turns have their own."""
    return source == SourceKind.MEMORY and path not in CURATED
