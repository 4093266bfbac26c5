"""Estimates how many tokens a text has without a tokenizer: weighted characters, four per token.

The classes and weights are those of OpenClaw's chunker, so the same text is cut at the same
places. They are measured averages over current tokenizers.
"""

from __future__ import annotations

import re

CHARS_PER_TOKEN = 4

_UTF16_UNIT_BYTES = 2

# The ranges are OpenClaw's.
_COMMON = "\u00b7\u3000-\u319f\u4e00-\u9fa5\uac00-\ud7af\uff01-\uff60"
"""Kana, CJK punctuation, everyday ideographs, Hangul syllables, full-width forms, middle dot."""

_RARE = (
    "\u1100-\u11ff\u2e80-\u2fff\u31a0-\u4dff\u9fa6-\u9fff\ua000-\ua4ff\ua700-\ua707"
    "\ua960-\ua97f\ud7b0-\ud7ff\uf900-\ufaff"
)
"""Jamo, radicals, extension A, the end of the basic block, Yi, Lisu, compatibility ideographs."""

_COMPATIBLE = (
    "\u02c7\u02c9-\u02cb\u02d9\u02ea\u02eb\u0305\u0323\ufe10-\ufe4f\uff61-\uffdc\uffe0-\uffe6"
)
"""Chinese tone marks, vertical and half-width forms, wide currency signs."""

_COUNTING_RODS = "\U0001d360-\U0001d371"

_SUPPLEMENTARY = (
    "\U00016fe0-\U00016fff\U0001aff0-\U0001b16f\U0001f200-\U0001f2ff"
    "\U00020000-\U0002fa1f\U00030000-\U0003347f"
)
"""Ideographic marks, kana extensions, enclosed ideographs, extensions B to J."""

# The weight of one character beyond its UTF-16 length.
_SURCHARGES = (
    (re.compile(f"[{_COMMON}]+"), 4 - 1),
    (re.compile(f"[{_RARE}]+"), 12 - 1),
    (re.compile(f"[{_COMPATIBLE}]+"), 8 - 1),
    (re.compile(f"[{_COUNTING_RODS}]+"), 12 - 2),
    (re.compile(f"[{_SUPPLEMENTARY}]+"), 16 - 2),
)


def weigh(text: str) -> int:
    """Return the weighted length of a text: UTF-16 units, with CJK characters counting more."""
    if text.isascii():
        return len(text)
    utf16_units = len(text.encode("utf-16-le", "surrogatepass")) // _UTF16_UNIT_BYTES
    return utf16_units + sum(
        surcharge * sum(map(len, run.findall(text))) for run, surcharge in _SURCHARGES
    )


def tokens_of(text_bytes: int) -> int:
    """Return about how many tokens texts of that size have in all, without looking at them."""
    return text_bytes // CHARS_PER_TOKEN


def estimate_tokens(text: str) -> int:
    """Return roughly how many tokens a model sees in a text."""
    return -(-weigh(text) // CHARS_PER_TOKEN)
