"""Quoted phrases and filters of a question, and whether a text contains a phrase."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from recollect.text.globs import is_literal
from recollect.text.terms import phrase_terms, phrase_words
from recollect.types import MAX_QUERY_CHARS, Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.types import SearchRequest

# 24" and 5'10" are inches: a quote opens before a word and closes after one.
_QUOTED = re.compile(r'(?<![0-9A-Za-z])"([^"]+)"(?![0-9A-Za-z])')
_FILTER = re.compile(r'(?<!\S)(tag|path|type):(?:"([^"]+)"|([^\s"]+))')
"""`tag:recipe`, `type:person`, `path:memory/2026` or `path:"Daily notes"` in a question."""
PATH_HINT = 'A name with spaces needs quotes, a file its ending: path:"Daily notes/dentist.md".'

MAX_PHRASES = 8
"""How many phrases of a question are required; the quotes of others are ignored."""
_MAX_TERMS = 16  # enough to find few chunks


def phrases_in(text: str) -> tuple[Phrase, ...]:
    """Return the first phrases that a question has in double quotes, each once."""
    return tuple(
        Phrase(part, words, phrase_terms(part)[:_MAX_TERMS])
        for part, words in islice(_quoted(text), MAX_PHRASES)
    )


def count_phrases(text: str) -> int:
    """Return how many phrases a question has in double quotes, also those beyond the first."""
    return sum(1 for _ in _quoted(text))


def _quoted(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what a text has in double quotes, each once, and its words."""
    for part in dict.fromkeys(" ".join(part.split()) for part in _QUOTED.findall(text)):
        if words := phrase_words(part):
            yield part, words


def contains_all(fields: Iterable[str], phrases: Iterable[Phrase]) -> bool:
    """Return whether each phrase is in one of the fields of a chunk; each field is read once."""
    read = [_joined(phrase_words(field)) for field in fields]
    return all(any(_joined(each.words) in said for said in read) for each in phrases)


def _joined(words: tuple[str, ...]) -> str:
    """Return words as one text, in which others side by side are found whole: none has a break."""
    return "\n".join(("", *words, ""))


def read_filters(request: SearchRequest) -> SearchRequest:
    """Return the request with the filters that its question names, and without them in it."""
    named = _FILTER.findall(request.query[:MAX_QUERY_CHARS])
    if not named:
        return request
    tags = [request.tags] if isinstance(request.tags, str) else list(request.tags)
    path, note_type = request.path, request.type
    for name, quoted, word in named:
        if name == "tag":
            tags.append(quoted or word)
        elif name == "type":
            note_type = quoted or word
        else:
            path = quoted or word
            # A folder stands for everything in it.
            is_folder = is_literal(path) and "." not in path.rpartition("/")[2]
            path = f"{path.rstrip('/')}/" if is_folder else path
    query = _FILTER.sub("", request.query)
    return replace(request, query=query, tags=tags, path=path, type=note_type)
