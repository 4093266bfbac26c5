"""Where everything stands in a JSON text, with or without comments: spans, not values.

Understands what JSON5 allows: comments, trailing commas, keys without quotes. Values are read by a
parser elsewhere; here only places are found, so that an edit can leave all the rest alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<blank>[\s\ufeff]+)"""
    r"""|(?P<comment>//[^\n\r\u2028\u2029]*|/\*.*?\*/)"""
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<mark>[{}\[\]:,])"""
    r"""|(?P<bare>(?:[^\s\ufeff{}\[\]:,"'/])+)""",
    re.DOTALL,
)
_REMARKS = re.compile(r"(?:[ \t]*(?://[^\n\r]*|/\*[^\n]*?\*/))*")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text that is neither blank nor comment."""

    kind: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """A value, by where it stands."""

    start: int
    end: int
    members: tuple[Member, ...] | None = None
    """Of a table; None for anything else."""
    elements: tuple[Node, ...] | None = None
    """Of a list; None for anything else."""

    def member(self, key: str) -> Member | None:
        """Return the member of a table by its key.

        Raises:
            ValueError: the key is there twice, so nobody can tell which one counts.

        """
        found = [each for each in self.members or () if each.key == key]
        if len(found) > 1:
            raise ValueError(f"the key {key!r} is there twice")
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Member:
    """A key with its value."""

    key: str
    start: int
    value: Node


def scan(text: str) -> Node:
    """Return the outermost value of the text.

    Raises:
        ValueError: the text is not JSON, not even with comments; it names the line, not what is
            in it, which may be a key.

    """
    return _Scanner(text).whole()


def remarks_end(text: str, start: int) -> int:
    """Return where the comments that stand on the rest of this line end."""
    found = _REMARKS.match(text, start)
    return found.end() if found else start


class _Scanner:
    """Goes through the tokens of a text once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._place = 0

    def whole(self) -> Node:
        node = self._value()
        if self._place < len(self._tokens):
            raise self._wrong(self._tokens[self._place].start)
        return node

    def _split(self) -> Iterator[Token]:
        start = 0
        while start < len(self._text):
            found = _TOKEN.match(self._text, start)
            if found is None or found.lastgroup is None:
                raise self._wrong(start)
            if found.lastgroup not in ("blank", "comment"):
                yield Token(found.lastgroup, start, found.end(), found[0])
            start = found.end()

    def _value(self) -> Node:
        token = self._take()
        if token.kind != "mark":
            return Node(token.start, token.end)
        if token.text == "{":
            return self._table(token.start)
        if token.text == "[":
            return self._list(token.start)
        raise self._wrong(token.start)

    def _table(self, start: int) -> Node:
        members: list[Member] = []
        while (token := self._take()).text != "}" or token.kind != "mark":
            colon = self._take()
            if token.kind == "mark" or colon.text != ":":
                raise self._wrong(token.start)
            members.append(Member(_key(token), token.start, self._value()))
            self._comma_unless("}")
        return Node(start, token.end, members=tuple(members))

    def _list(self, start: int) -> Node:
        elements: list[Node] = []
        while not self._next_is("]"):
            elements.append(self._value())
            self._comma_unless("]")
        return Node(start, self._take().end, elements=tuple(elements))

    def _comma_unless(self, closing: str) -> None:
        if self._next_is(","):
            self._place += 1
        elif not self._next_is(closing):
            raise self._wrong(self._tokens[self._place].start)

    def _next_is(self, mark: str) -> bool:
        token = self._take()
        self._place -= 1
        return token.kind == "mark" and token.text == mark

    def _take(self) -> Token:
        if self._place >= len(self._tokens):
            raise ValueError("it ends too early" if self._tokens else "it is empty")
        self._place += 1
        return self._tokens[self._place - 1]

    def _wrong(self, start: int) -> ValueError:
        line = self._text.count("\n", 0, start) + 1
        return ValueError(f"line {line} is not JSON")


def _key(token: Token) -> str:
    if token.kind == "bare" or "\\" not in token.text:
        return token.text[1:-1] if token.kind == "text" else token.text
    if token.text.startswith('"'):
        return str(json.loads(token.text))
    import json5  # noqa: PLC0415 - only for what hardly any file has

    return str(json5.loads(token.text))
