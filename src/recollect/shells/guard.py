"""Which requests a server accepts: checks Host, Origin, Sec-Fetch-Site and the token.

Threats. A web page in the user's browser can send requests to 127.0.0.1: cross-site, or as if it
were our page, if its own name resolves there (DNS rebinding). Anyone on the network can reach an
address other than loopback. Therefore: only our own host names, only our own page, and beyond
loopback only with a token.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import stat
from dataclasses import field
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.records import dataclass
from recollect.shells.http.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

TOKEN_VARIABLE = "RECOLLECT_TOKEN"  # noqa: S105 - the variable's name, not a token
MIN_TOKEN_CHARS = 16
"""A shorter token could be guessed."""

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - recognised, not bound to
_AUTHORITY = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+))(?::(?P<port>\d{1,5}))?"
)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#@]+)")
_TOKEN = re.compile(r"[!-~]+")
_BEARER = "bearer "
_OWN_SITES = frozenset({None, "same-origin", "none"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """What a request says about where it comes from; None for a missing header."""

    host: str | None
    origin: str | None = None
    fetch_site: str | None = None
    """Sec-Fetch-Site: how the page that sent the request relates to us."""
    authorization: str | None = None
    is_navigation: bool = False
    """A person opens our page, perhaps from a link elsewhere. That changes and reveals nothing."""
    is_open: bool = False
    """The path needs no token."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of one server."""

    host: str
    port: int
    names: tuple[str, ...] = ()
    """More host names: `NAME` with any port, or `NAME:PORT`."""
    token: str | None = field(default=None, repr=False)
    accepts: Callable[[str], bool] = lambda _: False
    """Whether another token is accepted too: that of a sign-in."""
    challenge: str = "Bearer"
    """What a request without a token is told about where to get one."""

    def __post_init__(self) -> None:
        """Refuse a name that no request could ever send."""
        for name in self.names:
            if _parsed(name) is None:
                raise UsageError(
                    f"{name!r} is not a host name.",
                    action="Give NAME or NAME:PORT, without http:// and without a path.",
                )

    def refusal(self, origin: RequestOrigin) -> RequestError | None:
        """Return why a request is refused; None if it is accepted."""
        if not self.is_own(origin.host):
            return RequestError(
                403,
                "host",
                "This server does not accept that Host.",
                action="Use the address that it printed, or start it with --allow-host NAME.",
            )
        is_own_site = origin.fetch_site in _OWN_SITES or origin.is_navigation
        if not is_own_site or not is_same_origin(origin.origin, host=origin.host):
            return RequestError(
                403,
                "origin",
                "Requests from other web pages are refused.",
                action="Use the page of this server, or a program other than a browser.",
            )
        if origin.is_open or self.token is None or is_token(origin.authorization, self.token):
            return None
        if self.accepts(bearer_of(origin.authorization) or ""):
            return None
        return RequestError(
            401,
            "token",
            "This request needs the server's token.",
            action="Send it as `Authorization: Bearer TOKEN`.",
            headers={"WWW-Authenticate": self.challenge},
        )

    def is_own(self, host: str | None) -> bool:
        """Return whether a Host header names this server."""
        found = _parsed(host)
        if found is None:
            return False
        name, port = found
        named = filter(None, map(_parsed, self.names))
        if any(own == name and at in (None, port) for own, at in named):
            return True
        if (port or _DEFAULT_PORTS["http"]) != self.port:
            return False
        if name == self.host.lower() or name in _LOOPBACK_NAMES:
            return True
        # Listening on every address, we accept each of them: rebinding needs a name.
        return self.host in WILDCARDS and _is_address(name)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_same_origin(origin: str | None, *, host: str | None) -> bool:
    """Return whether a request comes from a page of this host, or from no page."""
    if origin is None:
        return True
    parts = _ORIGIN.fullmatch(origin.lower())
    if parts is None or host is None:
        return False
    standard = _DEFAULT_PORTS[parts["scheme"]]
    theirs, ours = _parsed(parts["authority"]), _parsed(host)
    if theirs is None or ours is None:
        return False
    return (theirs[0], theirs[1] or standard) == (ours[0], ours[1] or standard)


def is_token(authorization: str | None, token: str) -> bool:
    """Return whether a header has the token, in a time that does not depend on it."""
    given = bearer_of(authorization)
    if given is None:
        return False
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def bearer_of(authorization: str | None) -> str | None:
    """Return the token that a header sends; None if it sends none."""
    if authorization is None or authorization[: len(_BEARER)].lower() != _BEARER:
        return None
    return authorization[len(_BEARER) :].strip()


def read_token(environ: Mapping[str, str], *, file: Path | None) -> str | None:
    """Return the token from a file, or else from the environment; None if there is none."""
    if file is None:
        given, origin = environ.get(TOKEN_VARIABLE), TOKEN_VARIABLE
    else:
        given, origin = _content(file), str(file)
    if given is None:
        return None
    token = given.strip()
    if len(token) < MIN_TOKEN_CHARS or not _TOKEN.fullmatch(token):
        raise UsageError(
            f"{origin} has no usable token.",
            action=f"Use {MIN_TOKEN_CHARS} or more letters and digits: `openssl rand -hex 32`.",
        )
    return token


def require_token(host: str, *, token: str | None) -> None:
    """Require a token if other machines can reach the server."""
    if token is None and not is_loopback(host):
        raise UsageError(
            f"On {host or 'every address'}, anyone on the network could read this memory.",
            action=f"Set {TOKEN_VARIABLE} or --token-file, or use 127.0.0.1.",
        )


def _content(file: Path) -> str:
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The token file {file} cannot be read.", action="Name a file that contains the token."
        ) from error
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise UsageError(
            f"Other users of this machine can read {file}.", action=f"Run `chmod 600 {file}`."
        )
    return text


def _parsed(authority: str | None) -> tuple[str, int | None] | None:
    """Return the name and the port of `name:port`; None if it is not one."""
    parts = _AUTHORITY.fullmatch((authority or "").lower())
    if parts is None:
        return None
    return parts["six"] or parts["name"], int(parts["port"]) if parts["port"] else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
