r"""Makes untrusted text safe to show on a terminal, as text or as JSON.

Threat: a stranger wrote a note, a heading, a file name or a fact. They want the terminal to obey
it: to retitle the window, fill the clipboard, show a link that leads elsewhere, or forge, erase and
reorder lines. So no control character and no invisible character gets through: a text shows a
picture of it (␛) or nothing, JSON has its escape (\u001b), so the data stays the same.
"""

from __future__ import annotations

import re

INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""Zero-width characters, bidi controls, fillers, and tag characters, which can hide sentences.

Joiners and variation selectors are not among them: emoji and several scripts need them. Region
flags such as Scotland's use tag characters: they become a plain black flag.
"""
LONE_SURROGATES = "\ud800-\udfff"
_REORDERING = "\u202a-\u202e\u2066-\u2069"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
_PICTURES = 0x2400  # of the C0 controls, in their order
_PICTURE_OF_DELETE = "\u2421"
_PICTURE_OF_NEWLINE = "\u240a"
_REPLACEMENT = "\ufffd"
_SPACE = " "
_DELETE = "\x7f"
_BASIC = 0x10000  # from here on, JSON escapes a character as two

# Compiled at once: they are needed to show an error, when there may be no memory left for it.
_UNSAFE = re.compile(f"[{_CONTROLS}{INVISIBLE}{LONE_SURROGATES}]")
_SHOWN_AS_REPLACEMENT = re.compile(f"[\x80-\x9f\u2028\u2029{_REORDERING}{LONE_SURROGATES}]")


def terminal_text(text: str) -> str:
    """Return the text with nothing in it that a terminal obeys; keeps line breaks and tabs."""
    return _UNSAFE.sub(_shown, text.replace("\r\n", "\n"))


def terminal_line(text: str) -> str:
    """Return the text on one line; a line break in it shows, so it cannot forge a line."""
    return terminal_text(text).replace("\n", _PICTURE_OF_NEWLINE)


def terminal_json(encoded: str) -> str:
    """Return JSON that a terminal shows as it is; read back, it is the same value."""
    return _UNSAFE.sub(_escaped, encoded)


def _shown(unsafe: re.Match[str]) -> str:
    character = unsafe[0]
    if character < _SPACE:
        return chr(_PICTURES + ord(character))
    if character == _DELETE:
        return _PICTURE_OF_DELETE
    return _REPLACEMENT if _SHOWN_AS_REPLACEMENT.match(character) else ""


def _escaped(unsafe: re.Match[str]) -> str:
    code = ord(unsafe[0])
    if code < _BASIC:
        return f"\\u{code:04x}"
    high, low = divmod(code - _BASIC, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
