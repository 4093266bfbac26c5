"""What a fact is known by: its id, and the digest of its text.

An id is `f-` and 13 characters of Crockford's base 32, which has no letters that look like digits:
42 bits of milliseconds, so that ids sort by age until the year 2109, then 23 bits of chance. Two
processes that mint the same one are told apart by the ledger, which alone sees both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.text.scripts import normalised
from recollect.types import digest_of

if TYPE_CHECKING:
    from datetime import datetime

ID_PATTERN = r"f-[0-9a-hjkmnp-tv-z]{13}"
CHANCE_BITS = 23
"""How much randomness an id has room for."""

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGIT_BITS = 5
_ID_DIGITS = 13
_ID_BITS = _DIGIT_BITS * _ID_DIGITS
_ID = re.compile(ID_PATTERN)
_MISREAD = str.maketrans("ilo", "110")


def minted(now: datetime, *, chance: int) -> str:
    """Return an id of this moment.

    Args:
        now: with a time zone.
        chance: random bits, of which the lowest `CHANCE_BITS` count.

    """
    moment = int(now.timestamp() * 1000) % (1 << (_ID_BITS - CHANCE_BITS))
    return _written((moment << CHANCE_BITS) | (chance % (1 << CHANCE_BITS)))


def derived(text: str, *, ordinal: int = 0) -> str:
    """Return the id of a bullet that has none yet: the same for the same words.

    Args:
        text: of the bullet.
        ordinal: how many bullets with the same words came before it.

    """
    digest = int(normalised_digest(f"{normalised(text)} #{ordinal}"), 16)
    return _written(digest % (1 << _ID_BITS))


def following(fact_id: str) -> str:
    """Return the id next to this one: for a fact whose own id is taken."""
    number = 0
    for digit in fact_id.removeprefix("f-"):
        number = number << _DIGIT_BITS | _DIGITS.index(digit)
    return _written((number + 1) % (1 << _ID_BITS))


def is_id(text: str) -> bool:
    """Tell whether a text has the form of an id."""
    return _ID.fullmatch(text) is not None


def parse_id(text: str) -> str:
    """Return the id a person typed: case and look-alikes do not matter, nor a missing `f-`.

    Raises:
        UsageError: it is no id.

    """
    digits = text.strip().lower().removeprefix("f-").translate(_MISREAD)
    if not is_id(f"f-{digits}"):
        raise UsageError(
            f"{text!r} is not the id of a fact.",
            action="Ids look like f-06e5p3v8m1q0z; recollect facts list shows them.",
        )
    return f"f-{digits}"


def normalised_digest(text: str) -> str:
    """Return the digest of the normalised text."""
    return digest_of(normalised(text).encode("utf-8", "surrogatepass"))


def _written(number: int) -> str:
    shifts = range(_ID_BITS - _DIGIT_BITS, -1, -_DIGIT_BITS)
    return "f-" + "".join(_DIGITS[number >> shift & 31] for shift in shifts)
