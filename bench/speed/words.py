"""Invented words with the frequencies of real text: Zipf over a vocabulary, and topics.

The most frequent words are the English ones that real text consists of, so that stop words and
stemming cost what they cost; the rest are syllables with English endings.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SPOKEN = """
the of to and a in is that it was for on are with as his they be at one have this from or had by
but some what there we can out other were all your when up use word how said an each she which
do their time if will way about many then them would write like so these her long make thing see
him two has look more day could go come did my sound no most number who over know water than
call first people may down side been now find
"""
_FREQUENT = _SPOKEN.split()
_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ly")
VOCABULARY = 120_000
TOPICS = 400
_TOPIC_WORDS = 300
_TOPIC_RANKS = (200, 40_000)
_TOPIC_SHARE = 0.35
_OFFSET = 2.7  # Zipf-Mandelbrot: the first ranks are flatter than the power law
_TABLE = 1 << 22
_SENTENCE, _SENTENCES = 14, 4


def spell(rank: int) -> str:
    """Return the word of a rank; every rank has its own."""
    if rank < len(_FREQUENT):
        return _FREQUENT[rank]
    syllables = len(_CONSONANTS) * len(_VOWELS)
    number, spelt = rank + syllables, ""
    while number:
        number, syllable = divmod(number, syllables)
        spelt += _CONSONANTS[syllable // len(_VOWELS)] + _VOWELS[syllable % len(_VOWELS)]
    return spelt + _ENDINGS[rank % len(_ENDINGS)]


class Words:
    """Draws words, and makes sentences of them."""

    def __init__(self, seed: int) -> None:
        plain = [spell(rank) for rank in range(VOCABULARY)]
        self.plain = np.array(plain, dtype=object)
        # A word in the middle, with a capital, at the end of a sentence and of a paragraph.
        self._forms = np.array(
            [
                *plain,
                *(word.capitalize() for word in plain),
                *(f"{word}." for word in plain),
                *(f"{word}.\n\n" for word in plain),
            ],
            dtype=object,
        )
        self._by_chance = _quantiles(VOCABULARY, _TABLE)
        self._in_topic = _quantiles(_TOPIC_WORDS, 1 << 14)
        rng = np.random.default_rng((seed, 1))
        self.topics = rng.integers(*_TOPIC_RANKS, size=(TOPICS, _TOPIC_WORDS), dtype=np.int32)

    def draw(
        self, topics: npt.NDArray[np.int64], *, rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return one rank for each token, whose topics are given."""
        count = len(topics)
        ranks = self._by_chance[rng.integers(_TABLE, size=count, dtype=np.int32)]
        special = np.flatnonzero(rng.random(count, dtype=np.float32) < _TOPIC_SHARE)
        places = self._in_topic[rng.integers(len(self._in_topic), size=len(special))]
        ranks[special] = self.topics[topics[special], places]
        return ranks

    def write(self, ranks: npt.NDArray[np.int32], *, rng: np.random.Generator) -> str:
        """Return text: sentences and paragraphs."""
        forms = ranks.copy()
        ends = rng.random(len(ranks), dtype=np.float32)
        forms[1:][ends[:-1] < 1 / _SENTENCE] += VOCABULARY
        forms[0] = ranks[0] + VOCABULARY
        last = ends < 1 / _SENTENCE
        forms[last] = ranks[last] + 2 * VOCABULARY
        paragraph = ends < 1 / _SENTENCE / _SENTENCES
        forms[paragraph] = ranks[paragraph] + 3 * VOCABULARY
        forms[-1] = ranks[-1] + 2 * VOCABULARY
        return " ".join(self._forms[forms]).replace("\n\n ", "\n\n")


def _quantiles(words: int, size: int) -> npt.NDArray[np.int32]:
    """Return the ranks of a Zipf distribution at evenly spaced chances: a draw is one look-up."""
    weights = 1 / (np.arange(words) + _OFFSET)
    sums = np.cumsum(weights / weights.sum())
    chances = (np.arange(size) + 0.5) / size
    ranks: npt.NDArray[np.int32] = np.searchsorted(sums, chances).astype(np.int32)
    return np.minimum(ranks, words - 1)
