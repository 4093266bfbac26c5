"""Removes secrets from text before it is stored, embedded or sent.

A key recognised by its format keeps its first six and last four characters, as in OpenClaw, so that
people can tell which it was. One of fewer than 18 characters, or a secret recognised by its name or
place, is hidden completely. Better to hide a word too many than to show a character too many.
Randomness alone does not make a secret: people search for hashes and identifiers. Every pattern
starts with fixed letters and has bounded lookahead, so redaction takes linear time.
"""

from __future__ import annotations

import json
import re

from recollect.text.secrets import Secret, find_secrets

HIDDEN = "***"
"""Replaces a secret that is hidden completely."""

_MIN_SHOWN_CHARS = 18
"""Characters of a key of which ten may be shown; of a shorter one they reveal too much."""
_HEAD_CHARS, _TAIL_CHARS = 6, 4
_MOST_PASSES = 4
_MAX_NAMED_CHARS = 256
"""A longer value of a field is judged by its content alone."""
_MIN_BLOB_CHARS = 4096
_BLOB = re.compile("[A-Za-z0-9+/=_-]+")
_DATA_URL = re.compile("data:[A-Za-z0-9/+.-]{1,64};base64,")
_MEDIA_TYPES = frozenset({"mime_type", "mimeType", "media_type"})


def redact(text: str) -> str:
    """Return the text without its secrets. Idempotent."""
    for _ in range(_MOST_PASSES):  # what is hidden may bring a name and a value together
        hidden = _redact_once(text)
        if hidden == text:
            break
        text = hidden
    return text


def _redact_once(text: str) -> str:
    kept: list[str] = []
    reached = 0
    for secret in find_secrets(text):
        kept += [text[reached : secret.start], _shown(text, secret)]
        reached = secret.end
    return "".join([*kept, text[reached:]]) if kept else text


def _shown(text: str, secret: Secret) -> str:
    if not secret.is_key or secret.end - secret.start < _MIN_SHOWN_CHARS:
        return HIDDEN
    head, tail = secret.start + _HEAD_CHARS, secret.end - _TAIL_CHARS
    return f"{text[secret.start : head]}…{text[tail : secret.end]}"


def redact_json(value: object) -> object:
    """Return what a JSON document holds, without its secrets; a field's name counts as a name."""
    if isinstance(value, str):
        return redact(value) if not _is_blob(value) else value
    if isinstance(value, list):
        return [redact_json(each) for each in value]
    if isinstance(value, dict):
        is_media = not _MEDIA_TYPES.isdisjoint(value)
        return {
            name: each if is_media and name == "data" else _redact_field(str(name), each)
            for name, each in value.items()
        }
    return value


def redact_rows(content: bytes) -> bytes:
    """Return JSON, or an upload of JSON Lines, without the secrets in it."""
    return b"\n".join(map(_redact_row, content.split(b"\n")))


def _redact_row(row: bytes) -> bytes:
    if not row.startswith(b"{"):
        return row
    try:
        given = json.loads(row)
    except (ValueError, RecursionError):
        return redact(row.decode("utf-8", "replace")).encode()
    hidden = redact_json(given)
    if hidden == given:
        return row
    return json.dumps(hidden, ensure_ascii=False).encode("utf-8", "replace")


def _redact_field(name: str, value: object) -> object:
    if not isinstance(value, str) or len(value) > _MAX_NAMED_CHARS:
        return redact_json(value)
    hidden = redact(value)
    quote = next((quote for quote in "\"'`" if quote not in value), "")
    named = f"{name}={quote}{value}{quote}"
    if hidden == value and any(found.start > len(name) for found in find_secrets(named)):
        return HIDDEN
    return hidden


def _is_blob(value: str) -> bool:
    """Return whether a text is an image or other binary content in base64."""
    is_long = len(value) >= _MIN_BLOB_CHARS and _BLOB.fullmatch(value) is not None
    return is_long or _DATA_URL.match(value) is not None
