"""The Unigram (SentencePiece) tokenizer of XLM-RoBERTa: finds the likeliest segmentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

SPACE = "\u2581"
"""Stands for a space in pieces, and begins a text."""
_UNKNOWN_PENALTY = 10.0
_SPACES = re.compile(" {2,}")


@dataclass(frozen=True, slots=True)
class Unigram:
    """Divides texts into pieces."""

    pieces: Mapping[str, int]
    scores: list[float]
    """The logarithm of each piece's frequency."""
    replacements: Mapping[int, str]
    """Replacements of letters that are written in another way, by code point."""
    unknown: int
    """The piece for a letter that no other contains."""
    unknown_score: float
    longest: int
    """Letters of the longest piece."""

    @classmethod
    def of(
        cls, names: list[str], scores: list[float], *, replacements: Mapping[int, str], unknown: int
    ) -> Unigram:
        """Return the tokenizer of these pieces, which are numbered in order."""
        # Of two pieces with one name the first counts.
        pieces = {name: number for number, name in reversed(list(enumerate(names)))}
        del pieces[names[unknown]]
        unknown_score = min(scores) - _UNKNOWN_PENALTY
        return cls(pieces, scores, replacements, unknown, unknown_score, max(map(len, pieces)))

    def ids(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces."""
        spaced = _SPACES.sub(" ", text.translate(self.replacements)).replace(" ", SPACE)
        return self._best(spaced if spaced.startswith(SPACE) else SPACE + spaced)

    def _best(self, text: str) -> list[int]:
        """Return the division with the highest sum of scores (Viterbi)."""
        size, find, scores = len(text), self.pieces.get, self.scores
        # Up to each letter: the highest sum, where its last piece began, and which that is.
        best = [0.0] + [-1e30] * size
        began, last = [0] * (size + 1), [self.unknown] * (size + 1)
        for start in range(size):
            before = best[start]
            for end in range(start + 1, min(size, start + self.longest) + 1):
                piece = find(text[start:end])
                if piece is not None and before + scores[piece] > best[end]:
                    best[end], began[end], last[end] = before + scores[piece], start, piece
            if before + self.unknown_score > best[start + 1]:
                best[start + 1], began[start + 1] = before + self.unknown_score, start
                last[start + 1] = self.unknown
        found = []
        at = size
        while at:
            found.append(last[at])
            at = began[at]
        return found[::-1]
