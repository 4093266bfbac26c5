"""Judges a value behind a name: a secret, or a word, a variable, a placeholder.

How much a value has to look like a secret depends on the name. Behind `password=` nearly everything
is one; behind `token:`, which ordinary sentences use too, only what looks random.
"""

from __future__ import annotations

import re
import string
from enum import Enum
from itertools import pairwise
from typing import NamedTuple


class Secret(NamedTuple):
    """The place and kind of a secret; not the secret itself, so it can be shown and logged."""

    start: int
    end: int
    kind: str
    """Kind in words for people: `GitHub token`, `password`."""
    is_key: bool = False
    """True for a key of a known format: its ends tell people which key it is."""


class Name(Enum):
    """How strongly a name suggests that its value is secret."""

    PASSWORD = 1
    PASS = 2
    """A password, but also a verb: counts only in front of `:` or `=`."""
    KEY = 3
    WORD = 4
    """A word that ordinary sentences use, too."""
    NEAR = 5
    """A name with words before its value, as in `the token for staging …`."""
    BEARER = 6

    @property
    def kind(self) -> str:
        """The kind of secret, for people."""
        return _KINDS.get(self, "key or token")


_KINDS = {
    Name.PASSWORD: "password",
    Name.PASS: "password",
    Name.BEARER: "authorization header",
}


class Spot(NamedTuple):
    """Where a value starts that may be secret."""

    start: int
    name: Name
    is_tight: bool
    """True when no space separates name and value, unlike in a sentence."""
    is_said: bool = False
    """True for a sentence: `my password is …`."""


_LEAST_CHARS = {
    Name.PASSWORD: 5,
    Name.PASS: 5,
    Name.KEY: 6,
    Name.WORD: 12,
    Name.BEARER: 16,
    Name.NEAR: 24,
}
_LEAST_TIGHT_CHARS = {**_LEAST_CHARS, Name.PASSWORD: 3, Name.PASS: 3, Name.WORD: 6}
_LONG_CHARS = 16
"""A value too long for a word: counts as random even without a digit."""
_IRREGULAR_SHARE = 0.3
"""Share of neighbours of different class (a, A, 1): 0.6 in random keys, 0.1 in names."""

_OPENING = re.compile(r"\\{0,4}[\"'`]|[“‘「]")
_CLOSING_OF = {"“": "”", "‘": "’", "「": "」"}
_MAX_QUOTED_CHARS = 256
_BARE = re.compile(r"(?:[^\s\"'`\\<]|\\(?![\"'`]))+")
_BARE_HEAD = re.compile(r"(?:[^\s\"'`\\<]|\\(?![\"'`])){1,64}")
"""The part of a value that is enough to judge it."""
_CLOSING = ".,;:!?)]}>*|。，、）」"

_SHOWN = re.compile(r"[A-Za-z0-9][\w.:-]{5}…[\w.-]{4}")
"""A key that was shortened already; the name in front of it must not hide it again."""
_CODE = re.compile(
    r"[<{(\[]|\$(?:[{(]|[A-Z_][A-Z0-9_]*$|[a-z_]+$)|%(?:[sd(]|[A-Z_]+%)|\*+$"
    r"|https?:|env:|file:|\.{2,}|…|&[a-z]"
    r"|[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)\w+)*[(\[{]|[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$",
    re.ASCII,
)
"""A reference instead of a value: a variable, a call."""
_VARIABLE = re.compile(
    r"(?i)\w*_(?:password|passwd|pass|pwd|pw|secret|token|key|creds|credentials?|auth)\Z"
)
_PLACEHOLDER = re.compile(
    r"(?i)(?:your|my|enter|insert|some|the|new|old|example|sample|dummy|fake)"
    r"(?:[-_ ]?(?:own|actual|real|new|api|access|secret|db|database|user|admin|private|auth|client"
    r"|password|passphrase|pass|key|token|value|string|goes|here|id)){1,6}\Z"
    r"|change[-_ ]?(?:me|it|this)\Z|placeholder\Z|example\Z|x{3,}\Z|[-_]+\Z"
)
_IDENTIFIER = re.compile(
    r"(?=.{0,24}?[a-z]{3}.{0,24}[A-Z][a-z]{2})_{0,2}[a-z]*"
    r"(?:[A-Z][a-z]+[0-9]{0,5}|[A-Z][0-9]{2,4})+\Z"
)
"""A name in a program: `SyncX509Identity`."""
_NOT_IN_KEYS = re.compile(r"[\s|]")
_MARKS = frozenset("!@#$%^&*+~?=")
_ORDINARY = """
password passwd pwd passphrase secret token key apikey api_key credentials none null nil true false
undefined str string text bytes int number optional required missing invalid empty hidden redacted
wrong incorrect expired weak strong long short correct right known valid unknown unset set stored
saved shared not still too the a an in on at by to for and or also only always never now here there
this that it its my your fine ok okay working lost gone forgotten default plain plaintext encrypted
hashed masked blank changed reset rotated revoked needed used unused safe unsafe bad good same
different yes no bool boolean any object self cls nullable integer bearer basic secretstr
secretbytes
"""
_ORDINARY_WORDS = frozenset(_ORDINARY.split())
"""Words that describe a secret instead of being one."""
_DESCRIBING = """
see ask yet one two per time user users admin case least must with from than based
"""
_DESCRIBING_WORDS = (_ORDINARY_WORDS - {"correct"}).union(_DESCRIBING.split())
"""Words of an attribute, such as `one-time-only`, and not of a passphrase."""
_PHRASE_WORDS = 3
_PHRASE_WORD_CHARS = 3
_CLASSES = str.maketrans(
    {
        **dict.fromkeys(string.ascii_lowercase, "a"),
        **dict.fromkeys(string.ascii_uppercase, "A"),
        **dict.fromkeys(string.digits, "1"),
    }
)


def secret_at(text: str, spot: Spot, *, kind: str = "") -> Secret | None:
    """Return the value at a spot, if it is secret."""
    start, end = _value(text, spot)
    return Secret(start, end, kind or spot.name.kind) if start < end else None


def _value(text: str, spot: Spot) -> tuple[int, int]:
    """Return start and end of the secret; an empty span if there is none."""
    start = spot.start
    opening = _OPENING.match(text, start)
    if opening is not None:
        start = opening.end()
        closing = _CLOSING_OF.get(opening[0], opening[0])
        end = text.find(closing, start, start + _MAX_QUOTED_CHARS)
        if end >= 0:
            is_secret = _is_secret(text[start:end], spot, is_quoted=True)
            return start, end if is_secret else start
    head = _BARE_HEAD.match(text, start)
    if head is None or not _is_secret(head[0].rstrip(_CLOSING), spot, is_quoted=False):
        return start, start
    whole = _BARE.match(text, start)
    end = whole.end() if whole else start
    return start, max(start + 1, start + len(text[start:end].rstrip(_CLOSING)))


def _is_secret(value: str, spot: Spot, *, is_quoted: bool) -> bool:
    is_tight = spot.is_tight or (is_quoted and not spot.is_said)
    least = _LEAST_TIGHT_CHARS if is_tight else _LEAST_CHARS
    if len(value) < least[spot.name] or value[0].isspace() or is_reference(value):
        return False  # a space: the quote ended something else, as in `password=` here
    if spot.name in (Name.PASSWORD, Name.PASS):
        is_phrase = not spot.is_said and _is_passphrase(value)
        return is_phrase or _is_password(value, is_tight=is_tight, is_quoted=is_quoted)
    if _NOT_IN_KEYS.search(value) or _IDENTIFIER.match(value):
        return False
    return is_irregular(value) if spot.name is Name.NEAR else looks_random(value)


def _is_password(value: str, *, is_tight: bool, is_quoted: bool) -> bool:
    if is_tight:
        return set(value) != {"*"}
    if is_quoted and " " not in value:
        return True
    if _IDENTIFIER.match(value) and not value[-1].isdigit():
        return False
    return _has_digit(value) or _is_mixed(value) or any(char in _MARKS for char in value)


def _is_passphrase(value: str) -> bool:
    """Return whether a value is three or more words joined by hyphens that describe nothing."""
    words = value.lower().split("-")
    is_joined = len(words) >= _PHRASE_WORDS and all(
        len(word) >= _PHRASE_WORD_CHARS and word.isalpha() for word in words
    )
    return is_joined and _DESCRIBING_WORDS.isdisjoint(words)


def is_reference(value: str) -> bool:
    """Return whether a value stands for another one: a variable, a placeholder, a word."""
    return (
        value.lower().lstrip("$").rstrip("?") in _ORDINARY_WORDS
        or "..." in value
        or any(
            pattern.match(value) is not None for pattern in (_SHOWN, _CODE, _VARIABLE, _PLACEHOLDER)
        )
    )


def looks_random(value: str) -> bool:
    """Return whether a value is too irregular for words and numbers."""
    has_letter = any(map(str.isalpha, value))
    return (_has_digit(value) and has_letter) or (_is_mixed(value) and len(value) >= _LONG_CHARS)


def is_irregular(value: str) -> bool:
    """Return whether a value changes between letters and digits as often as random ones do."""
    classes = value.translate(_CLASSES)
    changes = sum(left != right for left, right in pairwise(classes))
    return "1" in classes and changes >= _IRREGULAR_SHARE * len(value)


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


def _is_mixed(value: str) -> bool:
    """Return whether a value has capitals, and not only the first or all letters."""
    return value[1:] != value[1:].lower() and value != value.upper()
