"""Scripts as regex classes, and the forms in which different spellings of a word are equal."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from Stemmer import Stemmer

HAN_KANA = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303c\u3041-\u30ff\u3105-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
"""Chinese and Japanese, for a regex class: radicals, marks, kana, bopomofo, ideographs."""

SOUTH_EAST_ASIAN = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f"
    "\ua980-\ua9ff\uaa60-\uaadf"
)
"""Thai, Lao, Myanmar, Khmer, Tai, Balinese, Javanese: written without spaces, like Chinese."""

HANGUL = "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
"""Korean syllables, and jamo that do not compose to one."""

EMOJI = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
"""Pictographs. Arrows, boxes and bullets stay outside: in notes they are layout."""

FLAG_HALF = "\U0001f1e6-\U0001f1ff"
"""Regional indicators: two of them are one flag."""

_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_CYRILLIC = re.compile("[\u0400-\u04ff]+")
_PICTOGRAPH = re.compile(f"[{EMOJI}]")
_LETTERS = re.compile(r"[^\W\d_]+")
_NON_LATIN_LETTERS = re.compile(r"[^\W\d_\x00-\u024f\u1e00-\u1eff]+")
# Emoji and ideographs are added every year; this Python may not know the latest.
_KEPT_UNASSIGNED = re.compile("[\U0001f000-\U0001faff\U00020000-\U0003ffff]")
# Accents, stress marks, Hebrew points, Arabic harakat and tatweel, variation selectors and skin
# tones. Indic and Thai vowel signs and the Japanese dakuten are not here: they change the word.
_DROPPED = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe2f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
)
_MAX_MARKS = 30
_MARK_RUN = re.compile(rf"[^\w\x00-\x7f]{{{_MAX_MARKS + 1},}}")
_MAX_CHARS = 1 << 15
_MAX_STEMS = 1 << 16
_MIN_STEMMED_CHARS = 3

_TRADE_MARK = "\u2122"
"""NFKC would spell it out and join it to the previous word."""

_RESPELT = (
    "\u2018' \u2019' \u02bb' \u02bc' \u2010- \u2212- æae ÆAE œoe ŒOE øo ØO łl ŁL đd ðd ĐD ÐD ħh ĦH"
    " \u0131i þth ÞTh \u0451\u0435 \u0401\u0415"
)
"""Letters without decomposition: quotes, hyphens, stroked letters, and Russian io, often written
ie."""
_SPELLINGS = {ord(pair[0]): pair[1:] for pair in _RESPELT.split()}

_ENDING = " .,;:!?…。！？；，、"
"""Punctuation at the end of a text that does not change its meaning."""


def fold(text: str) -> str:
    """Return the text in one spelling, with its case; non-ASCII separators become spaces.

    Applies NFKC, drops accents of Latin and Greek letters, and writes decimal digits as ASCII.
    """
    if text.isascii():
        return text
    text = _MARK_RUN.sub(_thinned, text.replace(_TRADE_MARK, " "))
    return _FOREIGN.sub(_translated, unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=_MAX_STEMS)
def stem(word: str) -> str:
    """Return the stem of a case-folded word: English for ASCII letters, Russian for Cyrillic.

    The script decides, not a guessed language, so a word has the same stem in every text.
    """
    if len(word) < _MIN_STEMMED_CHARS or not word.isalpha():
        return word
    if word.isascii():
        return str(_stemmer("english").stemWord(word))
    return str(_stemmer("russian").stemWord(word)) if _CYRILLIC.fullmatch(word) else word


@cache
def _stemmer(language: str) -> Stemmer:
    """Return a stemmer, which threads may share: it does not let go of the interpreter."""
    from Stemmer import Stemmer  # noqa: PLC0415 - few commands stem

    return Stemmer(language, 0)  # `stem` keeps what it has stemmed


def normalised(text: str) -> str:
    """Return a form that is equal for texts that differ only in case, spacing or final stops."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Case folding may leave characters that NFKC composes.
    return " ".join(unicodedata.normalize("NFKC", folded).split()).rstrip(_ENDING)


def latin_share(text: str) -> float:
    """Return the share of letters, not of digits or signs, that a Latin model can read."""
    try:
        text.encode("latin-1")  # a hundred times as fast as the patterns below
    except UnicodeEncodeError:
        foreign = len("".join(_NON_LATIN_LETTERS.findall(text)))
        return 1.0 - foreign / len("".join(_LETTERS.findall(text))) if foreign else 1.0
    return 1.0


def _thinned(run: re.Match[str]) -> str:
    # CPython sorts the marks of one letter in quadratic time; Unicode's stream-safe form
    # (UAX #15, section 13) allows 30.
    kept: list[str] = []
    marks = 0
    for char in run[0]:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MAX_MARKS:
            kept.append(char)
    return "".join(kept)


def _translated(run: re.Match[str]) -> str:
    return run[0].translate(_FOLDS)


def _folded(char: str) -> str:
    category = unicodedata.category(char)
    if category in {"Cf", "Me"} or _DROPPED.match(char):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category[0] in "LNM":
        return _without_accents(char)
    is_kept = _PICTOGRAPH.match(char) if category == "So" else _KEPT_UNASSIGNED.match(char)
    return char if is_kept else " "


def _without_accents(char: str) -> str:
    parts = unicodedata.normalize("NFD", char)
    base = parts[0]
    # Only where the accented letter is a variant of the plain one: й is not и, が is not か.
    if parts != base and (
        base.isascii() or unicodedata.name(base, "").startswith(("LATIN", "GREEK"))
    ):
        return _SPELLINGS.get(ord(base), base)
    return char


class CharTable(dict[int, str]):
    """A table for `str.translate` that computes its entries on first use."""

    def __init__(self, rule: Callable[[str], str], known: dict[int, str] | None = None) -> None:
        super().__init__(known or {})
        self._rule = rule

    def __missing__(self, code: int) -> str:
        translated = self._rule(chr(code))
        # Bounded: a file with every code point must not occupy 100 MB for good.
        if len(self) < _MAX_CHARS:
            self[code] = translated
        return translated


_FOLDS = CharTable(_folded, _SPELLINGS)
