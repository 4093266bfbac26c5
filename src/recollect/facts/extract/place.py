"""Finding out where a draft stands: by its words, not by what the model says.

A model names the wrong file, and a file can hold a header that names another. The block that shares
most words with the draft is its place; what the model says decides between equals. A draft that
shares hardly a word with anything that was sent was made up, and is marked.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.facts.extract.parse import suspected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.facts.extract.blocks import Block
    from recollect.facts.extract.parse import Draft

_WORD = re.compile(r"\w+")
_LEAST_CHARS = 3  # of a word that says something; digits always do
_IDEOGRAPH = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LEAST_SHARE = 0.3
"""Of a draft's words that have to stand in what was sent: a paraphrase keeps names and numbers."""
_LINE_SHARE = 0.5
"""Of a draft's words that one line has to hold to be the place, not the block around it."""
MADE_UP = "shares hardly a word with the files that were sent"


def placed(drafts: Iterable[Draft], blocks: Sequence[Block]) -> list[Draft]:
    """Return the drafts with their file and lines."""
    known = [(block, _words(block.text)) for block in blocks]
    return [_placed(draft, known) for draft in drafts]


def _placed(draft: Draft, known: Sequence[tuple[Block, frozenset[str]]]) -> Draft:
    wanted = _words(f"{draft.text} {draft.entity} {draft.value}")
    block, words = max(known, key=lambda pair: (len(wanted & pair[1]), pair[0].path == draft.path))
    start, end = _lines(block, wanted)
    draft = replace(draft, path=block.path, start_line=start, end_line=end)
    is_made_up = len(wanted & words) < _LEAST_SHARE * len(wanted)
    return suspected(draft, MADE_UP) if is_made_up else draft


def _lines(block: Block, wanted: frozenset[str]) -> tuple[int, int]:
    """Return the line that holds most of the words, or all lines of the block."""
    lines = block.text.splitlines()
    shared = Counter({number: len(wanted & _words(line)) for number, line in enumerate(lines)})
    for number, count in shared.most_common(1):
        if count >= max(1, _LINE_SHARE * len(wanted)):
            return block.start_line + number, block.start_line + number
    return block.start_line, block.end_line


def _words(text: str) -> frozenset[str]:
    """Return the words that say something; of scripts without spaces, the pairs of characters."""
    words = set[str]()
    for word in _WORD.findall(text.lower()):
        if _IDEOGRAPH.search(word):
            words.update(word[place : place + 2] for place in range(len(word)))
        elif len(word) >= _LEAST_CHARS or word.isdigit():
            words.update(part for part in (word, *word.split("_")) if part)
    return frozenset(words)
