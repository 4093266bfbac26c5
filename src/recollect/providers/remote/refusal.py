"""Reads why a server refused a request; the formats of the vendors do not contradict each other.

Servers quote what they were sent. So only codes, and sentences worded as the vendors word them,
decide what a refusal means.
"""

from __future__ import annotations

import json
import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

_READ_BYTES = 64 * 1024  # enough for any refusal
_MOST_LEVELS = 8  # of lists and objects around a message
_LONGEST_SECONDS = 365 * 86400.0
_PAYMENT_REQUIRED = 402
_OUT_OF_MONEY = (403, 429)  # what vendors answer instead of 402

_CODES = frozenset({"code", "type", "status", "reason", "quotaId"})
_SPENT_CODE = re.compile(r"\b(insufficient_quota|billing_(hard_limit_reached|not_active))\b|PerDay")
_SPENT_WORDS = re.compile(
    r"insufficient (funds|balance|credits?)|credit balance|payment required"
    r"|credits? (is|are|have been) (depleted|exhausted)|(monthly|spend\w{0,12}) (limit|cap)\b",
    re.IGNORECASE,
)
_TAG = re.compile("<[^<>]*>")
_KEY_CODE = re.compile(r"\b(API_KEY_INVALID|invalid_api_key)\b")
_KEY_WORDS = re.compile(r"(incorrect |invalid )?api[ _]key\b", re.IGNORECASE)
_MODEL_WORDS = re.compile(
    r"\bmodels?\b.{0,120}?(\bnot (found|supported)\b|does not (exist|support embed))"
    r"|\b(invalid|unknown) model\b",
    re.IGNORECASE,
)
_LENGTH_WORDS = re.compile(
    r"(exceed|longer|larger).{0,60}context (length|size|window)|input.{0,40}too (large|long)"
    r"|^request too large",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a server said when it refused a request."""

    message: str
    """The server's words. They may contain anything it was sent, even the key."""
    is_spent: bool
    """The account is out of money or quota; waiting does not help."""
    is_key_refused: bool
    """The key is the reason, whatever the status."""
    is_model_unknown: bool
    is_too_long: bool
    """A text is too long for the model, whatever the status."""
    wait_seconds: float | None
    """How long the server asks to wait, if it does."""


def read_refusal(status: int, body: bytes, *, headers: Mapping[str, str], now: datetime) -> Refusal:
    """Return the meaning of a refusal, as far as it can be understood."""
    text = body[:_READ_BYTES].decode("utf-8", "replace")
    parsed = _parsed(text)
    message = _plain(_message(parsed) or _TAG.sub(" ", text))
    codes = " ".join(_strings(parsed, _CODES))
    return Refusal(
        message=message,
        is_spent=status == _PAYMENT_REQUIRED
        or bool(_SPENT_CODE.search(codes))
        or (status in _OUT_OF_MONEY and bool(_SPENT_WORDS.search(message))),
        is_key_refused=bool(_KEY_CODE.search(codes) or _KEY_WORDS.match(message)),
        is_model_unknown=bool(_MODEL_WORDS.search(message)),
        is_too_long=bool(_LENGTH_WORDS.search(message)),
        wait_seconds=_wait(headers, parsed, now=now),
    )


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _message(parsed: object, level: int = 0) -> str:
    """Return the first text under the names that vendors use for it."""
    if isinstance(parsed, str):
        return parsed
    if level == _MOST_LEVELS:
        return ""
    inner: list[object] = []
    if isinstance(parsed, list):
        inner = parsed
    elif isinstance(parsed, dict):
        inner = [parsed.get(name) for name in ("error", "message", "detail", "msg")]
    return next(filter(None, (_message(part, level + 1) for part in inner)), "")


def _plain(text: str) -> str:
    """Return the text on one line, without control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _strings(parsed: object, names: frozenset[str]) -> Iterator[str]:
    """Yield every text under one of the names, at any depth."""
    remaining = [parsed]
    while remaining:
        part = remaining.pop()
        if isinstance(part, dict):
            yield from (
                value for name, value in part.items() if name in names and isinstance(value, str)
            )
            remaining += part.values()
        elif isinstance(part, list):
            remaining += part


def _wait(headers: Mapping[str, str], parsed: object, *, now: datetime) -> float | None:
    """Return the requested wait: Retry-After in seconds or as a date, or Google's retryDelay."""
    requested = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", requested):
        return min(float(requested), _LONGEST_SECONDS)
    if (until := _date(requested)) is not None:
        return min(max((until - now).total_seconds(), 0.0), _LONGEST_SECONDS)
    for delay in _strings(parsed, frozenset({"retryDelay"})):
        if found := re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)s", delay):
            return min(float(found[1]), _LONGEST_SECONDS)
    return None


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    # A date without a zone is in UTC, as the standard requires.
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
