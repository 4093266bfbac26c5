"""Removes secrets from text before it is stored or embedded.

A key recognised by its format keeps its first six and last four characters, as in OpenClaw, so
that people can tell which key it was. A key of fewer than 18 characters is hidden completely, and
so is a value that follows a telling name (`password=`, `Bearer`, the password in a URL). A match
extends to the end of the key: better to hide a word too many than to show a character too many.

Randomness alone does not make a secret: people search for hashes, UUIDs and identifiers. Every
pattern starts with fixed letters and has bounded lookahead, so redaction takes linear time.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN = "***"
"""Replaces a secret that is hidden completely."""

_MIN_SHOWN_CHARS = 18
"""Of a shorter key, ten characters would reveal too much."""
_HEAD_CHARS, _TAIL_CHARS = 6, 4
_SHOWN = re.compile(r"[A-Za-z0-9][\w.:-]{5}…[\w.-]{4}")
"""A key that was shortened already; the name in front of it must not hide it again."""

_REST = r"(?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])|:(?=AA[A-Za-z0-9_-]{30}))*"
"""The rest of anything a key could be part of, without the full stop of a sentence."""

_MIXED = "(?=[A-Za-z]{0,19}[0-9])(?=[a-z0-9]{0,19}[A-Z])(?=[A-Z0-9]{0,19}[a-z])[A-Za-z0-9]{20}"
_SHAPES = (
    r"(?<![A-Za-z])sk-(?=[A-Za-z0-9_-]{8})(?=[A-Za-z_-]{0,64}[0-9]|[A-Za-z0-9]{16})",
    # After a letter (task-, disk-) only what cannot be a word.
    r"(?<=[A-Za-z])sk-(?=(?:[a-z0-9]{2,8}-){0,3}[A-Za-z0-9]{40})",
    r"(?<=[A-Za-z])sk-(?=(?:[a-z0-9]{2,8}-){0,3}(?=[A-Za-z]{0,31}[0-9])[A-Za-z0-9]{32})",
    rf"(?<=[A-Za-z])sk-(?=(?:[a-z0-9]{{2,8}}-){{0,3}}{_MIXED})",
    r"[sr]k_(?:live|test)_(?=[A-Za-z0-9]{16})",
    r"gh[pousr]_(?=[A-Za-z0-9]{20})",
    r"github_pat_(?=[A-Za-z0-9_]{20})",
    r"gl(?:pat|dt|rt|ptt|cbt|soat|ft|imt|agent)-(?=[A-Za-z0-9_-]{16})",
    r"xox[abeoprs]-(?=[A-Za-z0-9-]{10})",
    r"xapp-(?=[0-9][A-Za-z0-9-]{9})",
    r"A(?:KIA|SIA)(?=[A-Z0-9]{16})",
    r"AIza(?=[A-Za-z0-9_-]{20})",
    r"ya29\.(?=[A-Za-z0-9_-]{20})",
    r"eyJ(?=[A-Za-z0-9_-]{17})",  # JSON in base64: JWTs start with it
    r"(?:hf|npm|r8|gsk)_(?=[A-Za-z0-9]{20})",
    r"(?:pplx|xai)-(?=[A-Za-z0-9]{20})",
    r"pypi-AgE(?=[A-Za-z0-9_-]{20})",
    r"dop_v1_(?=[a-f0-9]{32})",
    r"shp(?:at|ca|pa|ss)_(?=[A-Fa-f0-9]{30})",
    r"SG\.(?=[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16})",
    r"AGE-SECRET-KEY-1(?=[A-Z0-9]{20})",
    r"[0-9]{8,10}:AA(?=[A-Za-z0-9_-]{30})",  # Telegram
)
_SHAPE = re.compile(f"(?:{'|'.join(_SHAPES)}){_REST}")
_RUN = re.compile("[A-Za-z0-9_.:-]{11,}")
"""Anything long enough to be a key: searching only these for keys is eight times as fast."""

_WEBHOOK = re.compile(r"(hooks\.slack\.com/services/|/api/webhooks/)(?=[\w/-]{16})[\w/-]+")
_ADDRESS = re.compile(r"(://[^\s/:@]{0,256}:)[^\s/]{1,1024}(?=@)")

_ARMOUR = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_ARMOUR_END = re.compile(r"-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_ARMOUR_LINES = re.compile(
    r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{16,})+(?:(?:\s|\\[nr])*[A-Za-z0-9+/]{1,63}={1,2}(?![\w=]))?"
)

_WATCHWORDS = (
    "passw(?:or)?d|passphrase|pwd|passwort|kennwort|contraseña|mot de passe|пароль"
    "|密码|密碼|パスワード|비밀번호"
)
_NAME_ENDS = """
password passwd passphrase pwd passwort kennwort contraseña passe пароль
密码 密碼 パスワード 비밀번호
secret token credential credentials _key -key
apikey accesskey secretkey privatekey authkey signingkey encryptionkey
"""
_NAMES = (*_NAME_ENDS.split(), "api key", "access key", "secret key", "private key", "auth key")
"""Endings of names whose values are checked; most names end differently."""
_MAX_NAME_CHARS = 40
_SEPARATOR = re.compile("[:=：][=>]?[ \t\r\n]{0,4}")
_BETWEEN = " \t\r\n\"'`"
_FLAG = re.compile(
    rf"(?i)--(?:[a-z0-9]{{1,16}}-){{0,3}}(?:{_WATCHWORDS}|secret|token|api-?key)\s{{1,4}}(?!-)"
)
_SCHEME = re.compile(
    r"""(?i)(authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|token)\s{1,4})"""
    r"|\bbearer\s{1,4}"
)

_QUOTES = "\"'`"
_MAX_QUOTED_CHARS = 256
_BARE = re.compile(r"[^\s\"'`]+")
_BARE_HEAD = re.compile(r"[^\s\"'`]{1,64}")
"""The part of a value that is enough to judge it."""
_CLOSING = ".,;:!?)]}>"
_VALUE_END = re.compile(r"[.,;:!?)\]}>]{0,8}(?=[\s\"'`]|\Z)")

_CODE = re.compile(
    r"[<{(]|\$(?:[{(]|[A-Z_][A-Z0-9_]*$)|%(?:[sd(]|[A-Z_]+%)|\*+$|https?:|env:"
    r"|[A-Za-z_]\w*(?:\.\w+)*[(\[]|[A-Za-z_]+(?:\.[A-Za-z_]+)+$",
    re.ASCII,
)
"""A reference instead of a value: a variable, a call, a placeholder."""
_ORDINARY = """
password passwd pwd passphrase secret token key apikey api_key credentials none null nil true false
undefined str string text bytes int number optional required missing invalid empty hidden redacted
"""
_ORDINARY_VALUES = frozenset(_ORDINARY.split())


class _NameKind(Enum):
    """How strongly a name suggests that its value is secret."""

    PASSWORD = auto()
    KEY = auto()
    WORD = auto()
    """Also used in ordinary sentences."""
    BEARER = auto()


_KINDS = (
    (_NameKind.PASSWORD, re.compile(rf"(?i)(?:{_WATCHWORDS})\Z")),
    (
        _NameKind.KEY,
        re.compile(
            r"(?i)(?:api|access|secret|private|auth|signing|encryption)[-_ ]?key\Z"
            r"|[a-z0-9_-](?:secret|token)\Z|(?-i:[A-Z0-9]_KEY\Z)"
        ),
    ),
    (_NameKind.WORD, re.compile(r"(?i)(?:secret|token|credentials?)\Z")),
)


class _Spot(NamedTuple):
    """Where a value starts that may be secret."""

    start: int
    kind: _NameKind
    is_tight: bool
    """True when no space separates name and value, unlike in a sentence."""


_LEAST_CHARS = {_NameKind.PASSWORD: 5, _NameKind.KEY: 6, _NameKind.WORD: 12, _NameKind.BEARER: 16}
_LEAST_TIGHT_CHARS = {**_LEAST_CHARS, _NameKind.PASSWORD: 3, _NameKind.WORD: 6}
_LONG_CHARS = 16
"""Too long for a word: counts as random even without a digit."""


def redact(text: str) -> str:
    """Return the text without its secrets. Idempotent."""
    text = _ADDRESS.sub(rf"\1{HIDDEN}", text)
    text = _WEBHOOK.sub(rf"\1{HIDDEN}", text)
    for spots in (_schemes, _flags, _names):
        text = _without_values(text, spots(text))
    return _RUN.sub(_without_keys, _without_armoured(text))


def _without_keys(run: re.Match[str]) -> str:
    return _SHAPE.sub(_shown, run[0])


def _shown(key: re.Match[str]) -> str:
    if len(key[0]) < _MIN_SHOWN_CHARS:
        return HIDDEN
    return f"{key[0][:_HEAD_CHARS]}…{key[0][-_TAIL_CHARS:]}"


def _without_armoured(text: str) -> str:
    kept: list[str] = []
    reached = at = 0
    is_closed = True  # until one key has no end line; then no later one has, either
    while found := _ARMOUR.search(text, at):
        start = found.end()
        end = _ARMOUR_END.search(text, start) if is_closed else None
        is_closed = end is not None
        lines = None if end else _ARMOUR_LINES.match(text, start)
        at = end.start() if end else lines.end() if lines else start
        if start < at:
            kept += [text[reached:start], HIDDEN]
            reached = at
    return "".join([*kept, text[reached:]]) if kept else text


def _schemes(text: str) -> Iterator[_Spot]:
    lowered = text.lower()
    if "bearer" in lowered or "authorization" in lowered:
        for found in _SCHEME.finditer(text):
            kind = _NameKind.KEY if found[1] else _NameKind.BEARER
            yield _Spot(found.end(), kind, is_tight=False)


def _flags(text: str) -> Iterator[_Spot]:
    for found in _FLAG.finditer(text):
        yield _Spot(found.end(), _NameKind.KEY, is_tight=False)


def _names(text: str) -> Iterator[_Spot]:
    for found in _SEPARATOR.finditer(text):
        before = text[max(0, found.start() - _MAX_NAME_CHARS) : found.start()]
        name = before.rstrip(_BETWEEN)
        if name.lower().endswith(_NAMES):
            kind = next((kind for kind, pattern in _KINDS if pattern.search(name)), None)
            if kind is not None:
                between = before[len(name) :] + found[0]
                is_tight = not any(char.isspace() for char in between)
                yield _Spot(found.end(), kind, is_tight)


def _without_values(text: str, spots: Iterator[_Spot]) -> str:
    kept: list[str] = []
    reached = 0
    for spot in spots:
        if spot.start >= reached:
            start, end = _value(text, spot)
            if start < end:
                kept += [text[reached:start], HIDDEN]
                reached = end
    return "".join([*kept, text[reached:]]) if kept else text


def _value(text: str, spot: _Spot) -> tuple[int, int]:
    """Return start and end of the secret; an empty span if there is none."""
    start = spot.start
    quote = text[start : start + 1]
    is_quoted = bool(quote) and quote in _QUOTES
    start += is_quoted
    if _is_key(text, start):
        return start, start  # shortened already or later: its ends are worth showing
    if is_quoted:
        end = text.find(quote, start, start + _MAX_QUOTED_CHARS)
        if end >= 0:
            is_secret = _is_secret(text[start:end], spot.kind, is_tight=True)
            return start, end if is_secret else start
    head = _BARE_HEAD.match(text, start)
    if head is None or not _is_secret(head[0].rstrip(_CLOSING), spot.kind, is_tight=spot.is_tight):
        return start, start
    whole = _BARE.match(text, start)
    end = whole.end() if whole else start
    return start, max(start + 1, start + len(text[start:end].rstrip(_CLOSING)))


def _is_key(text: str, start: int) -> bool:
    found = _SHOWN.match(text, start) or _SHAPE.match(text, start)
    return found is not None and _VALUE_END.match(text, found.end()) is not None


def _is_reference(value: str) -> bool:
    lowered = value.lower().lstrip("$")
    is_variable = "_" in value and lowered.endswith(_NAMES)
    return is_variable or lowered in _ORDINARY_VALUES or _CODE.match(value) is not None


def _is_secret(value: str, kind: _NameKind, *, is_tight: bool) -> bool:
    least = _LEAST_TIGHT_CHARS if is_tight else _LEAST_CHARS
    if len(value) < least[kind] or _is_reference(value):
        return False
    if kind is _NameKind.PASSWORD and is_tight:
        return set(value) != {"*"}
    has_digit = any(map(str.isdigit, value))
    is_mixed = value[1:] != value[1:].lower() and value != value.upper()
    if kind is _NameKind.PASSWORD:
        return has_digit or is_mixed or any(char in "!@#$%^&*+~" for char in value)
    has_letter = any(map(str.isalpha, value))
    return (has_digit and has_letter) or (is_mixed and len(value) >= _LONG_CHARS)
