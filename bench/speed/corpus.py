"""Made-up memories of any size, the same for the same seed: texts, days, folders, facts, questions.

python -m bench.speed.corpus CHUNKS:SEED …     prints a digest of everything that is made

Documents come in blocks that are made independently of each other, so a million chunks need no
memory, and any document can be made again alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from bench.speed.words import TOPICS, Words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

VERSION = 1
"""Part of the names of what is kept: a change of what is made here needs another one."""
SECTIONS = 10
"""Sections of a document; each has a heading, so each is a chunk."""
_BLOCK = 100  # documents
_WORDS = (130, 206)  # of a section: 168 in the mean, and never more than a chunk holds
AREAS = {"work": 0.5, "home": 0.389, "travel": 0.1, "garden": 0.01, "attic": 0.001}
"""The folders below memory/, with the share of documents in each."""
_DATED = 0.7
FIRST_DAY = date(2021, 1, 1)
DAYS = 1826
TODAY = date(2026, 1, 1)
_FACTS_PER_CHUNK, _LEAST_FACTS, _MOST_FACTS = 0.01, 20, 5000
SCOPES = ("global", "user:ann", "user:ben", "agent:scout", "session:s1")
_SCOPE_SHARES = (0.6, 0.1, 0.1, 0.1, 0.1)
_SHARED = 0.8
"""How much all vectors have in common, as those of a text model have."""
_SPREAD, _DOCUMENT_SPREAD, _QUESTION_SPREAD = 0.7, 0.55, 0.6
_VECTOR_BLOCK = 20_000


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides a corpus completely."""

    chunks: int
    dimensions: int = 384
    seed: int = 1

    @property
    def documents(self) -> int:
        """How many files it has."""
        return -(-self.chunks // SECTIONS)

    @property
    def name(self) -> str:
        """A name for a folder."""
        return f"{VERSION}-{self.chunks}-{self.seed}"


@dataclass(frozen=True, slots=True)
class Section:
    """One chunk."""

    number: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """One file."""

    number: int
    path: str
    day: date | None
    title: str
    sections: tuple[Section, ...]

    @property
    def markdown(self) -> str:
        """The file's content."""
        parts = (f"## {each.heading}\n\n{each.text}\n" for each in self.sections)
        return f"# {self.title}\n\n" + "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, near one chunk in words and in meaning."""

    text: str
    phrase: str
    """Two words that stand side by side in that chunk."""
    target: int
    path: str
    """The file of that chunk."""


def marker(number: int) -> str:
    """Return the identifier in a chunk's heading, by which its vector is found."""
    return f"r{number:07d}"


class Corpus:
    """A whole made-up memory."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    @cached_property
    def words(self) -> Words:
        """The vocabulary."""
        return Words(self.shape.seed)

    @cached_property
    def topics(self) -> npt.NDArray[np.int64]:
        """The topic of each document."""
        rng = np.random.default_rng((self.shape.seed, 2))
        return rng.integers(TOPICS, size=self.shape.documents)

    @cached_property
    def _chances(self) -> npt.NDArray[np.float64]:
        """What names each file: it must not change with the version of its text."""
        return np.random.default_rng((self.shape.seed, 4)).random((self.shape.documents, 3))

    def documents(self, first: int = 0, end: int | None = None) -> Iterator[Document]:
        """Yield documents by number, block by block."""
        end = self.shape.documents if end is None else end
        for block in range(first // _BLOCK, -(-end // _BLOCK)):
            for document in self._block(block):
                if first <= document.number < end:
                    yield document

    def document(self, number: int, *, version: int = 0) -> Document:
        """Return one document; each version has other text."""
        if version:
            return next(self._made(range(number, number + 1), (number, version)))
        return next(self.documents(number, number + 1))

    def _block(self, block: int) -> Iterator[Document]:
        numbers = range(block * _BLOCK, min((block + 1) * _BLOCK, self.shape.documents))
        return self._made(numbers, (block, 0))

    def _made(self, numbers: range, key: tuple[int, int]) -> Iterator[Document]:
        seed, words = self.shape.seed, self.words
        rng = np.random.default_rng((seed, 3, *key))
        lengths = rng.integers(*_WORDS, size=len(numbers) * SECTIONS)
        topics = self.topics[numbers.start : numbers.stop]
        ranks = words.draw(np.repeat(np.repeat(topics, SECTIONS), lengths), rng=rng)
        ends = np.cumsum(lengths)
        names = words.plain[
            words.topics[
                np.repeat(topics, SECTIONS + 2),
                rng.integers(60, size=len(numbers) * (SECTIONS + 2)),
            ]
        ].reshape(len(numbers), -1)
        for row, number in enumerate(numbers):
            sections = []
            for place in range(min(SECTIONS, self.shape.chunks - number * SECTIONS)):
                at, chunk = row * SECTIONS + place, number * SECTIONS + place
                begin = ends[at] - lengths[at]
                text = words.write(ranks[begin : ends[at]], rng=rng)
                heading = f"{names[row, place].capitalize()} {marker(chunk)}"
                sections.append(Section(chunk, heading, text))
            path, day = _place(number, self._chances[number])
            title = " ".join(names[row, SECTIONS:]).capitalize()
            yield Document(number, path, day, title, tuple(sections))

    @cached_property
    def _centres(self) -> npt.NDArray[np.float32]:
        rng = np.random.default_rng((self.shape.seed, 5))
        shared = rng.standard_normal(self.shape.dimensions, dtype=np.float32)
        centres = rng.standard_normal((TOPICS, self.shape.dimensions), dtype=np.float32)
        return unit(centres + _SHARED * shared)

    def vectors(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the vectors of all chunks in blocks: by topic, then by document, then chance."""
        shape = self.shape
        scale = np.float32(shape.dimensions**-0.5)
        for begin in range(0, shape.chunks, _VECTOR_BLOCK):
            rng = np.random.default_rng((shape.seed, 6, begin))
            owners = np.arange(begin, min(begin + _VECTOR_BLOCK, shape.chunks)) // SECTIONS
            made = rng.standard_normal((len(owners), shape.dimensions), dtype=np.float32)
            made *= _SPREAD * scale
            made += self._centres[self.topics[owners]]
            first = owners[0]
            files = rng.standard_normal((owners[-1] - first + 1, made.shape[1]), dtype=np.float32)
            made += (_DOCUMENT_SPREAD * scale * files)[owners - first]
            yield unit(made)

    def write_vectors(self, file: Path) -> None:
        """Write all vectors as one array, to be mapped."""
        with file.open("wb") as out:
            for block in self.vectors():
                block.tofile(out)

    def questions(self, count: int) -> list[Question]:
        """Return questions of about a dozen words, stop words included."""
        rng = np.random.default_rng((self.shape.seed, 7))
        found = []
        for target in rng.integers(self.shape.chunks, size=count):
            document = self.document(int(target) // SECTIONS)
            text = document.sections[int(target) % SECTIONS].text
            spoken = text.lower().split()
            rare = [word.strip(".") for word in spoken if len(word) > 5]  # noqa: PLR2004 - not a stop word
            a, b, c, d, e = (rare[place] for place in rng.integers(len(rare), size=5))
            inside = [place for place, word in enumerate(spoken[:-1]) if not word.endswith(".")]
            begin = int(rng.choice(inside))
            found.append(
                Question(
                    f"what did we say about the {a} and {b} {c} when it was {d} {e}",
                    " ".join(spoken[begin : begin + 2]).strip("."),
                    int(target),
                    document.path,
                )
            )
        return found

    def question_vectors(
        self,
        questions: list[Question],
        vectors: npt.NDArray[np.float32],
    ) -> npt.NDArray[np.float32]:
        """Return the vectors of questions: near those of their chunks."""
        rng = np.random.default_rng((self.shape.seed, 8))
        near = vectors[[question.target for question in questions]]
        noise = rng.standard_normal(near.shape, dtype=np.float32)
        return unit(near + _QUESTION_SPREAD * self.shape.dimensions**-0.5 * noise)

    def facts(self) -> Iterator[str]:
        """Yield facts as bullets of a page: some ended, some of narrow scopes."""
        seed, words = self.shape.seed, self.words
        rng = np.random.default_rng((seed, 9))
        count = int(min(_MOST_FACTS, max(_LEAST_FACTS, self.shape.chunks * _FACTS_PER_CHUNK)))
        for _ in range(count):
            drawn = words.plain[rng.integers(200, 20_000, size=8)]
            begun = FIRST_DAY + timedelta(days=int(rng.integers(DAYS - 400)))
            ended = begun + timedelta(days=int(rng.integers(30, 400)))
            text = f"The {' '.join(drawn[:2])} of {drawn[2]} is {' '.join(drawn[3:])}."
            record = f"scope={rng.choice(SCOPES, p=_SCOPE_SHARES)} valid-from={begun}"
            if rng.random() < 0.3:  # noqa: PLR2004 - a share
                record += f" valid-until={ended}"
            yield f"- {text} <!-- {record} -->\n"


def unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the same directions with length one."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _place(number: int, chances: npt.NDArray[np.float64]) -> tuple[str, date | None]:
    at = int(np.searchsorted(np.cumsum(list(AREAS.values())), chances[0], side="right"))
    area = list(AREAS)[min(at, len(AREAS) - 1)]
    day = FIRST_DAY + timedelta(days=int(chances[1] * DAYS))
    if chances[2] < _DATED:
        return f"memory/{area}/{day.year}/{day}-note-{number:06d}.md", day
    return f"memory/{area}/topics/{number // 500:04d}/note-{number:06d}.md", None


def digest(shape: Shape) -> str:
    """Return a digest of everything that is made of a shape."""
    corpus, seen = Corpus(shape), hashlib.sha256()
    for document in corpus.documents():
        seen.update(json.dumps(asdict(document), default=str).encode())
    for block in corpus.vectors():
        seen.update(np.round(block, 4).tobytes())
    for question in corpus.questions(10):
        seen.update(json.dumps(asdict(question)).encode())
    for fact in corpus.facts():
        seen.update(fact.encode())
    return seen.hexdigest()


if __name__ == "__main__":
    for each in sys.argv[1:]:
        size, _, chosen = each.partition(":")
        print(digest(Shape(int(size), seed=int(chosen or 1))))
