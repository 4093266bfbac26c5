"""Reads and checks the training memories: `python -m training.memories` prints what there is."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

FOLDER = Path(__file__).parent / "data"
KINDS = ("direct", "natural", "adjacent", "vague", "conversation", "absent")
HELD_OUT = (
    "A-13", "B-14", "C-13", "D-13", "E-07", "E-15", "F-08", "G-07", "G-14", "G-19", "H-03", "I-14",
)  # fmt: skip
"""Memories that no model is trained on: they choose between models and calibrate them."""
ENGLISH = "ABCDEFG"
"""First letters of the memories in English; those of the others have further languages."""

_WORD = re.compile(r"\w+")
_PIECE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_FUNCTION_WORDS = (
    "a an the and or but if of to in on at by for with from as is are was were be been being am do "
    "does did have has had will would can could should may might must not no so than then that "
    "this these those there here it its he she they them his her their i me my we us our you your "
    "who whom whose which what when where why how all any some"
)
_ENDINGS = ("ing", "ed", "es", "s", "ly")
_LEAST_STEM = 3


@dataclass(frozen=True)
class Question:
    """A question with the notes that answer it, or with those that only seem to."""

    text: str
    kind: str
    notes: tuple[str, ...]
    near: tuple[str, ...]


@dataclass(eq=False)
class Memory:
    """The notes and questions of one author."""

    name: str
    notes: dict[str, str]
    translations: dict[str, str]
    """English texts of the notes that are in another language."""
    questions: tuple[Question, ...]

    @property
    def is_held_out(self) -> bool:
        """Whether no model is trained on it."""
        return self.name.startswith(HELD_OUT)

    def rivals(self, question: Question) -> list[str]:
        """Return the notes that do not answer, those that share most with the question first."""
        asked = set(informative_words(question.text))
        return sorted(
            (name for name in self.notes if name not in question.notes),
            key=lambda name: -sum(self._weights.get(word, 0) for word in asked & self._words[name]),
        )

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        return {name: set(informative_words(text)) for name, text in self.notes.items()}

    @cached_property
    def _weights(self) -> dict[str, float]:
        counts = Counter(word for words in self._words.values() for word in words)
        return {word: math.log(1 + len(self.notes) / count) for word, count in counts.items()}


def informative_words(text: str) -> list[str]:
    """Return the words of a text without function words and frequent endings."""
    left_out = _function_words()
    found = (word for word in _WORD.findall(text.lower()) if word not in left_out)
    return [_stem(word) for word in found]


@cache
def _function_words() -> frozenset[str]:
    return frozenset(_FUNCTION_WORDS.split())


def _stem(word: str) -> str:
    for end in _ENDINGS:
        if word.endswith(end) and len(word) - len(end) >= _LEAST_STEM:
            return word[: -len(end)]
    return word


def best_part(text: str, question: str, *, most_words: int = 90) -> str:
    """Return the sentences and lines of a long text around what shares most with a question."""
    if len(text.split()) <= most_words:
        return text
    pieces = [piece for piece in _PIECE_END.split(text) if piece.strip()]
    asked = set(informative_words(question))
    shared = [float(len(asked.intersection(informative_words(piece)))) for piece in pieces]

    def around(place: int) -> float:
        return shared[place] + 0.5 * sum(shared[max(0, place - 1) : place + 2])

    first = last = max(range(len(pieces)), key=around)
    size = len(pieces[first].split())
    while first > 0 or last + 1 < len(pieces):
        before = shared[first - 1] if first else -1.0
        after = shared[last + 1] if last + 1 < len(pieces) else -1.0
        grown = (first - 1, last) if before >= after else (first, last + 1)
        size += len(pieces[grown[0] if before >= after else grown[1]].split())
        if size > most_words:
            break
        first, last = grown
    return "\n".join(pieces[first : last + 1])


def read(file: Path) -> Memory:
    """Return the memory of a file.

    Raises:
        ValueError: a line is not as BRIEF.md describes it.

    """
    notes: dict[str, str] = {}
    translations: dict[str, str] = {}
    questions: list[Question] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        entry = json.loads(line)
        if "note" in entry:
            notes[entry["note"]] = entry["text"]
            if "en" in entry:
                translations[entry["note"]] = entry["en"]
            continue
        question = Question(
            entry["q"], entry["kind"], tuple(entry["notes"]), tuple(entry.get("near", ()))
        )
        is_absent = question.kind == "absent"
        if question.kind not in KINDS or is_absent == bool(question.notes):
            raise ValueError(f"{file.name}:{number}: the kind {question.kind!r} does not fit")
        questions.append(question)
    for question in questions:
        if unknown := {*question.notes, *question.near} - notes.keys():
            raise ValueError(f"{file.name}: {question.text!r} names unknown notes {unknown}")
    return Memory(file.stem, notes, translations, tuple(questions))


def read_all(folder: Path = FOLDER) -> list[Memory]:
    """Return all memories, in the order of their names."""
    return [read(file) for file in sorted(folder.glob("*.jsonl"))]


def latin_part(memory: Memory) -> Memory:
    """Return a memory without the questions and notes in other scripts."""
    notes = {name: text for name, text in memory.notes.items() if _is_latin(text)}
    questions = tuple(
        each
        for each in memory.questions
        if _is_latin(each.text) and notes.keys() >= {*each.notes, *each.near}
    )
    return Memory(memory.name, notes, memory.translations, questions)


def _is_latin(text: str) -> bool:
    letters = [each for each in text if each.isalpha()]
    return sum(each < "\u0250" for each in letters) >= 0.9 * max(len(letters), 1)


def main() -> None:
    """Print how many memories, notes and questions there are."""
    memories = read_all()
    for letter in sorted({memory.name[0] for memory in memories}):
        own = [memory for memory in memories if memory.name[0] == letter]
        kinds = Counter(question.kind for memory in own for question in memory.questions)
        counts = "  ".join(f"{kind} {kinds[kind]}" for kind in KINDS)
        notes = sum(len(memory.notes) for memory in own)
        print(
            f"{letter}  {len(own):3} memories  {notes:5} notes  {sum(kinds.values()):5}  {counts}"
        )


if __name__ == "__main__":
    main()
