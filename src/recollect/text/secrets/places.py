"""Secrets that are recognised by where they are: in an address, a header, a command, a key file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.text.secrets.values import (
    Name,
    Secret,
    Spot,
    is_irregular,
    is_reference,
    looks_random,
    secret_at,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_WEBHOOK = re.compile(
    r"//[^\s/]{0,64}(?:hooks\.slack\.com/(?:services|workflows|triggers)/|/api/webhooks/|/webhookb2/"
    r"|hooks\.zapier\.com/hooks/catch/|/trigger/[^\s/]{1,64}/with/key/|api\.telegram\.org/bot)"
    r"(?=[\w/-]{16})([\w/@:.-]+)"
)
_ADDRESS = re.compile(r"://[^\s/:@]{0,256}:([^\s/]{1,1024})(?=@)")
_ADDRESS_TOKEN = re.compile(r"://([A-Za-z0-9_.%-]{20,256})@")
_SIGNATURE = re.compile(
    r"[?&;](?:sig|[Xx]-[A-Za-z]{3,4}-[Ss]ignature|[Ss]ignature)=([\w%+/=-]{20,})"
)

_ARMOUR = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_ARMOUR_END = re.compile(r"-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_ARMOUR_LINES = re.compile(
    r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{16,})+(?:(?:\s|\\[nr])*[A-Za-z0-9+/]{1,63}={1,2}(?![\w=]))?"
)
_PUTTY = re.compile(r"Private-Lines: [0-9]{1,3}((?:\s{1,2}[A-Za-z0-9+/=]{16,64}){1,200})")
_AWS_SECRET = re.compile(r"[^A-Za-z0-9/+]{1,8}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])")
_PGPASS = re.compile(
    r":(?:[0-9]{4,5}|\*):(?:\*|[A-Za-z_][\w-]{0,62}):[A-Za-z_][\w-]{0,62}:([^\s:\"']{3,256})(?!\S)"
)

_SCHEME = re.compile(
    r"(?i)authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?"
    r"(?:bearer|basic|token|digest|apikey|ssws|bot|negotiate)\s{1,4}"
)
_BEARER = re.compile(r"(?i)bearer\s{1,4}")
_COOKIE = re.compile(
    r"(?i)cookie\\?[\"']?\s{0,2}[:=]\s{0,2}\\?[\"']?"
    r"((?:[\w.%-]{1,64}=[^\s;,\"'\\]{1,4096}(?:;\s?)?){1,64})"
)
_LONG_COOKIE = re.compile(r"=[^;]{16}")
_COMMANDS = {
    " -u": (("curl", re.compile(r"[ ]-u[ =]?[\"']?[^\s:\"']{1,64}:(?=[^\s\"']{3})")),),
    " --": (
        ("curl", re.compile(r"[ ]--(?:proxy-)?user[ =][\"']?[^\s:\"']{1,64}:(?=[^\s\"']{3})")),
    ),
    " -p": (
        ("sshpass", re.compile(r"(?<=sshpass)[ ]-p[ ]?")),
        ("mysql", re.compile(r"[ ]-p(?=[^\s\"'-])")),
        ("mongo", re.compile(r"[ ]-p[ ](?!-)")),
        (" login ", re.compile(r"(?<=[ ])-p[ ](?!-)")),
    ),
    " -a ": (("redis-cli", re.compile(r"[ ]-a[ ](?!-)")),),
    "SecureString": (("SecureString", re.compile(r"[ ](?:-String[ ])?(?=[\"'])")),),
    "IDENTIFIED BY": (("IDENTIFIED BY", re.compile(r"[ ](?=[\"'])")),),
}
"""Commands, and what stands between them and a password, by a word in every such text."""
_PHRASES = tuple(
    re.compile(
        rf"{word}\b[^\n:=]{{0,24}}[:=]?\s{{0,4}}[\"'`]?"
        r"((?:(?:[0-9]{1,2}[.)]\s?)?[a-z]{3,8}[\s,]{1,3}){11,23}(?:[0-9]{1,2}[.)]\s?)?[a-z]{3,8})\b"
    )
    for word in ("eed phrase", "ecovery phrase", "ackup phrase", "allet phrase", "nemonic")
)
_MAX_COMMAND_CHARS = 512
"""How far behind its command a password may be."""

PLACE_CUES = "auth|bearer|cookie"


def find_placed(text: str) -> list[Secret]:
    """Return the secrets in addresses, key files, commands and lists of credentials."""
    found: list[Secret] = []
    if "://" in text:
        found += _addressed(text)
    if "PRIVATE KEY" in text:
        found += _armoured(text)
    if "Private-Lines" in text:
        found += _of(_PUTTY, text, "private key")
    if " phrase" in text or "nemonic" in text:
        for phrase in _PHRASES:
            found += _of(phrase, text, "recovery phrase")
    for letters, commands in _COMMANDS.items():
        if letters in text:
            for command, option in commands:
                found += _commands(text, command, option)
    if _PGPASS.search(text):
        found += _of(_PGPASS, text, Name.PASSWORD.kind)
    return found


def _addressed(text: str) -> Iterator[Secret]:
    for secret in _of(_ADDRESS, text, "password in an address"):
        if not is_reference(text[secret.start : secret.end]):
            yield secret
    for secret in _of(_ADDRESS_TOKEN, text, "token in an address"):
        if looks_random(text[secret.start : secret.end]):
            yield secret
    yield from _of(_WEBHOOK, text, "webhook address")
    yield from _of(_SIGNATURE, text, "signature of an address")


def _commands(text: str, command: str, option: re.Pattern[str]) -> Iterator[Secret]:
    reached = 0
    while (start := text.find(command, reached)) >= 0:
        begin = start + len(command)
        end = text.find("\n", begin, begin + _MAX_COMMAND_CHARS)
        reached = end if end >= 0 else begin + _MAX_COMMAND_CHARS
        found = option.search(text, begin, reached)
        secret = secret_at(text, Spot(found.end(), Name.PASSWORD, is_tight=True)) if found else None
        if secret is not None:
            yield secret


def paired(text: str, key: Secret) -> Iterator[Secret]:
    """Yield the secret key that stands behind an AWS access key, which has no format of its own."""
    if key.kind == "AWS access key":
        found = _AWS_SECRET.match(text, key.end)
        if found is not None and is_irregular(found[1]):
            yield Secret(*found.span(1), "AWS secret key")


def find_cued(text: str, cue: str, start: int) -> Secret | None:
    """Return the secret in the header that starts with a cue, one of PLACE_CUES."""
    if cue == "auth":
        return _behind(_SCHEME.match(text, start), Name.KEY)
    if cue == "bearer":
        return _behind(_BEARER.match(text, start), Name.BEARER)
    found = _COOKIE.match(text, start)
    is_secret = found is not None and any(map(looks_random, _LONG_COOKIE.findall(found[1])))
    return Secret(*found.span(1), "cookie") if found and is_secret else None


def _behind(found: re.Match[str] | None, name: Name) -> Secret | None:
    if found is None:
        return None
    spot = Spot(found.end(), name, is_tight=False)
    return secret_at(found.string, spot, kind=Name.BEARER.kind)


def _of(pattern: re.Pattern[str], text: str, kind: str) -> Iterator[Secret]:
    for found in pattern.finditer(text):
        if found[1].strip("*"):
            yield Secret(*found.span(1), kind)


def _armoured(text: str) -> Iterator[Secret]:
    at = 0
    is_closed = True  # until one key has no end line; then no later one has, either
    while found := _ARMOUR.search(text, at):
        start = found.end()
        end = _ARMOUR_END.search(text, start) if is_closed else None
        is_closed = end is not None
        lines = None if end else _ARMOUR_LINES.match(text, start)
        at = end.start() if end else lines.end() if lines else start
        if start < at and text[start:at].strip("*"):
            yield Secret(start, at, "private key")
