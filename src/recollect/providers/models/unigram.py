"""The Unigram (SentencePiece) tokenizer of XLM-RoBERTa: finds the likeliest segmentation."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

SPACE = "\u2581"
"""Stands for a space in pieces, and begins a text."""
_UNKNOWN_PENALTY = 10.0
_MOST_CHARS = 16_384  # about eight model inputs; the rest of a longer text is cut
_MAX_CACHED_WORDS = 1 << 15
_WORD = re.compile(f"{SPACE}[^{SPACE}]*")
_SPACES = re.compile(f"{SPACE}{{2,}}")


class Unigram:
    """Turns a text into the ids of its pieces."""

    def __init__(
        self,
        pieces: list[str],
        scores: list[float],
        *,
        controls: tuple[int, int, int],
        replacements: dict[int, str],
    ) -> None:
        """Store the pieces, numbered in order, with the logarithms of their frequencies.

        `controls` are the ids of the start of a text, its end, and a letter that no piece contains;
        `replacements` the letters that are written in another way.
        """
        self.start_id, self.end_id, self._unknown = controls
        # Of two pieces with one name the first counts. A control piece in a text is plain text.
        self._ids = dict(zip(reversed(pieces), range(len(pieces) - 1, -1, -1), strict=True))
        for control in controls:
            self._ids.pop(pieces[control], None)
        self._scores = scores
        self._unknown_score = min(scores) - _UNKNOWN_PENALTY
        self._longest = max(map(len, self._ids))
        self._replacements = replacements
        self._word_ids = lru_cache(maxsize=_MAX_CACHED_WORDS)(self._best)

    @classmethod
    def from_bytes(cls, content: bytes) -> Unigram:
        """Read the file `pieces.txt`: control ids, pieces with scores, then replacements."""
        head, _, replaced = content.decode("utf-8").partition("\n\n")
        controls, _, table = head.partition("\n")
        start, end, unknown = map(int, controls.split())
        fields = table.replace("\n", "\t").split("\t")
        pairs = (line.partition("\t") for line in replaced.removesuffix("\n").split("\n") if line)
        return cls(
            fields[::2],
            list(map(float, fields[1::2])),
            controls=(start, end, unknown),
            replacements={int(letter): text for letter, _, text in pairs},
        )

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, without control pieces."""
        return [number for _, ids in self.words(text) for number in ids]

    def words(self, text: str) -> list[tuple[str, tuple[int, ...]]]:
        """Return the words of a text, each with its ids: no piece crosses a space."""
        clean = SPACE + self._normal(text).replace(" ", SPACE)
        return [(word, self._word_ids(word)) for word in _WORD.findall(_SPACES.sub(SPACE, clean))]

    def _normal(self, text: str) -> str:
        """Return a text as the model was trained to read it, without what is not text."""
        normal = unicodedata.normalize("NFKC", text[:_MOST_CHARS])[:_MOST_CHARS]
        normal = normal.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
        return normal.translate(self._replacements)

    def _best(self, word: str) -> tuple[int, ...]:
        """Return the division with the highest sum of scores (Viterbi)."""
        size, find, scores = len(word), self._ids.get, self._scores
        # Up to each letter: the highest sum, where its last piece began, and which that is.
        best = [0.0] + [-1e30] * size
        began, last = [0] * (size + 1), [self._unknown] * (size + 1)
        for start in range(size):
            before = best[start]
            for end in range(start + 1, min(size, start + self._longest) + 1):
                piece = find(word[start:end])
                if piece is not None and before + scores[piece] > best[end]:
                    best[end], began[end], last[end] = before + scores[piece], start, piece
            if before + self._unknown_score > best[start + 1]:
                best[start + 1], began[start + 1] = before + self._unknown_score, start
                last[start + 1] = self._unknown
        found = []
        at = size
        while at:
            found.append(last[at])
            at = began[at]
        return tuple(found[::-1])
