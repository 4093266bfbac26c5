"""Turns bytes into inputs: texts, JSON values and files made of the words that the code looks for.

A mutated byte is then a changed choice, so a fuzzer that watches coverage reaches what a parser
does after it accepted the outer form. The words are the literals in the source files of the target.
"""

from __future__ import annotations

import ast
import copy
import random
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import recollect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")

PACKAGE = Path(recollect.__file__).parent
_MAX_WORD = 60
_MAX_DEPTH = 6
_MANY = (2, 17, 300, 3000)
_MAX_RUN = 4000  # characters of one repeated word
_JOINTS = ("", " ", "", "\n", ": ", "\t", "-", ", ", "\n\n", '"', "/")
_SCALARS = 7  # kinds of values that are neither lists nor objects
_VALUES: tuple[object, ...] = (
    None, True, False, [], {}, "", 0, 1, -1, 2**31, -(2**63), 10**30, 0.5, -0.0, 1e308, 1e20,
    1722945600, 1722945600000, float("nan"), float("inf"), int("9" * 4000),
)  # fmt: skip
_ODD = (
    "", " ", "\t", "\n", "\r\n", "\r", "\x00", "\x0b", "\x1b[31m", "\x7f", "\x85", "\u2028",
    "\ufeff", "\u200d", "\u202e", "\ud800", "\udfff", "é", "e\u0301", "ß", "İ", "ﬁ", "数据库",
    "👨‍👩‍👧", "ا", "٣", "²", "0", "-1", "1e999", "NaN", "2026-02-01", "0000-00-00", "9999-12-31",
    "31.2.2026", "2026-W53", "yesterday", "T24:00:00Z", "../..", "~", "file:///", "%00", "null",
    "true", "{", "}", "[", "]", '"', "'", "\\", "\\u", "`", "```", "---", "- ", "# ", "> ", "|",
    "<!--", "-->", "<", ">", "=", ":", ";", ",", "*", "**", "?", "(", ")", "$", "^", "@", "&",
    "&#x;", "&#1114112;", "𝒜", "1" * 400, "9" * 5000,
)  # fmt: skip
"""What parsers stumble over."""


class Choices:
    """Reads decisions from bytes; when they run out, every decision is the first one."""

    def __init__(self, content: bytes, words: Sequence[str] = ()) -> None:
        self._content = content
        self._at = 0
        self._words = words or ("word",)

    @property
    def is_done(self) -> bool:
        """Whether the bytes have run out."""
        return self._at >= len(self._content)

    def below(self, limit: int) -> int:
        """Return a number from 0 to below the limit."""
        width = 1 if limit <= 256 else 2
        part = self._content[self._at : self._at + width]
        self._at += width
        return int.from_bytes(part, "little") % limit

    def one_of(self, values: Sequence[T]) -> T:
        """Return one of the values."""
        return values[self.below(len(values))]

    def rest(self) -> bytes:
        """Return all bytes that are left."""
        part = self._content[self._at :]
        self._at = len(self._content)
        return part

    def word(self) -> str:
        """Return a word that the code looks for, something odd, or a few raw characters."""
        match self.below(4):
            case 0 | 1:
                return self.one_of(self._words)
            case 2:
                return self.one_of(_ODD)
            case _:
                size = 1 + self.below(6)
                part = self._content[self._at : self._at + size]
                self._at += size
                return part.decode("utf-8", "replace")

    def text(self, most: int = 40) -> str:
        """Return words one after the other, some of them many times."""
        parts: list[str] = []
        for _ in range(1 + self.below(most)):
            if self.is_done:
                break
            kind = self.below(32)
            part = self.word()
            if kind < 30:
                parts.append(part + _JOINTS[kind % len(_JOINTS)])
            else:
                parts.append(part * min(self.one_of(_MANY), _MAX_RUN // (len(part) + 1)))
        return "".join(parts)

    def raw_or_text(self) -> str:
        """Return the bytes as they are, decoded, or a text of words."""
        if self.below(4) == 0:
            return self.rest().decode("utf-8", "replace")
        return self.text()

    def value(self, depth: int = 0) -> object:
        """Return a JSON value: objects with known names, known and odd strings, extreme numbers."""
        kind = self.below(10 if depth < _MAX_DEPTH else _SCALARS)
        if kind > _SCALARS:
            return self.record(depth)
        if kind == _SCALARS:
            return [self.value(depth + 1) for _ in range(self.below(4))]
        return self.text(6) if kind == 0 else self.word() if kind < 4 else self.one_of(_VALUES)

    def record(self, depth: int = 0) -> dict[str, object]:
        """Return a JSON object."""
        return {self.word(): self.value(depth + 1) for _ in range(self.below(7))}

    def changed(self, sample: object) -> object:
        """Return a valid JSON value with some of its parts replaced, removed or added."""
        value = copy.deepcopy(sample)
        for _ in range(self.below(6)):
            value = self._changed_once(value)
        return value

    def _changed_once(self, value: object) -> object:
        kind = self.below(8)
        if isinstance(value, dict) and value and kind:
            name = self.one_of(list(value))
            if kind == 1:
                del value[name]
            elif kind == 2:
                value[self.word()] = self.value(3)
            else:
                value[name] = self._changed_once(value[name])
            return value
        if isinstance(value, list) and value and kind:
            place = self.below(len(value))
            if kind == 1:
                del value[place]
            elif kind == 2:
                value.insert(place, self.value(3))
            else:
                value[place] = self._changed_once(value[place])
            return value
        if isinstance(value, str) and kind > 4:
            return f"{value[: self.below(len(value) + 1)]}{self.text(3)}{value}"
        return self.value(3)


@cache
def words_of(*places: str) -> tuple[str, ...]:
    """Return the string literals in modules or packages of the source tree."""
    found: dict[str, None] = {}
    for place in places:
        path = PACKAGE / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.update(dict.fromkeys(_words_in(node.value)))
    return tuple(found)


def _words_in(literal: str) -> Iterator[str]:
    if 0 < len(literal) <= _MAX_WORD:
        yield literal
        yield from (part for part in literal.split() if part != literal)


def random_inputs(seed: int, corpus: Sequence[bytes], count: int) -> Iterator[bytes]:
    """Yield mutations of a corpus, the same for the same seed: what a test can afford."""
    chance = random.Random(seed)
    for _ in range(count):
        content = bytearray(chance.choice(corpus) if corpus and chance.random() < 0.5 else b"")
        if not content:
            content = bytearray(chance.randbytes(chance.choice((4, 16, 64, 256))))
        for _ in range(chance.randrange(4)):
            place = chance.randrange(len(content) + 1)
            match chance.randrange(3):
                case 0:
                    content[place:place] = chance.randbytes(chance.randrange(1, 8))
                case 1:
                    del content[place : place + chance.randrange(1, 8)]
                case _:
                    content[place : place + 1] = chance.randbytes(1)
        yield bytes(content)
