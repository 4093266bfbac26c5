"""Tags: `#tag` in a text, and those of front matter and facts, which are stored in the same form.

Names are compared without case and accents. `project` also means `project/alpha`, as in Obsidian.
"""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.text.scripts import fold
from recollect.text.terms import phrase_terms
from recollect.types import CURATED, SourceKind, Tag

_MAX_CHARS = 100
_CHAR = (
    r"[^\s!\"#$%&'()*+,.:;<=>?@\[\]\\^`{|}~"
    r"\u2000-\u206F\u2E00-\u2E7F\u3000-\u303F\uFF00-\uFF0F\uFF1A-\uFF20]"
)
"""Of a tag: all but spaces and punctuation, so that signs above letters and emoji belong to it."""
# Not `[Install](#install)`, `href="#x"` or `\#x`; and a number alone is none.
_TAG = re.compile(
    rf"""(?<![\w&/#\\`"'=])(?<!\]\()#(?=[\d_/-]{{0,{_MAX_CHARS}}}(?![\d_/-]){_CHAR})"""
    rf"({_CHAR}{{1,{_MAX_CHARS}}})"
)
_COLOUR = re.compile(r"(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_CACHED_TEXTS = 4096  # one question asks several legs about the same chunks


def tag_named(text: str) -> Tag | None:
    """Return the tag that a user names, with or without `#`; None if it is not one word."""
    name = fold(text).strip().lstrip("#").rstrip("/")
    return Tag(name.casefold(), phrase_terms(name)) if len(name.split()) == 1 else None


@lru_cache(maxsize=_CACHED_TEXTS)
def tags_in(text: str) -> frozenset[str]:
    """Return the names of the tags in a text, as they are compared."""
    if "#" not in text:
        return frozenset()
    return frozenset(found[1].casefold().rstrip("/") for found in _TAG.finditer(fold(text)))


def shown_tags(text: str) -> list[str]:
    """Return the names of the tags in a text as they are written, each once; colours are none."""
    found = dict.fromkeys(each[1].rstrip("/") for each in _TAG.finditer(text))
    return [name for name in found if not _COLOUR.fullmatch(name.lower())]


def has_tag(text: str, triggers: str, name: str) -> bool:
    """Return whether a chunk's text or the words that describe it have a tag, or one below it."""
    own = tags_in(text) | tags_in(triggers)
    return name in own or any(each.startswith(f"{name}/") for each in own)


def tags_whole_document(source: SourceKind | str, path: str) -> bool:
    """Return whether a tag is the whole note's; entries, facts and turns have their own."""
    return source == SourceKind.MEMORY and path not in CURATED
