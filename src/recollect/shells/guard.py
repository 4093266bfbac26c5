"""Who may ask a server of ours: the Host, the Origin, the site that fetches, the token.

Threats. A web page in the user's browser may send requests to 127.0.0.1: across sites, or, by a
name of its own that it lets point there (DNS rebinding), as if it were our page. Other users of the
network may reach whatever is bound to more than loopback. Therefore: only names that are ours, only
our own page, and beyond loopback only with a token. Nothing here knows a web framework.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

TOKEN_VARIABLE = "RECOLLECT_TOKEN"  # noqa: S105 - the variable's name, not a token
LEAST_TOKEN_CHARS = 16
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
class Asked:
    """What a request says of where it comes from; None is a header that is not there."""

    host: str | None
    origin: str | None = None
    fetch_site: str | None = None
    """Sec-Fetch-Site: browsers say by it which site fetches."""
    authorization: str | None = None
    is_navigation: bool = False
    """A person opens our page, perhaps by a link elsewhere: nothing is changed or told by that."""
    is_open: bool = False
    """What is asked for needs no token."""

    @classmethod
    def by(
        cls,
        headers: Iterable[tuple[bytes, bytes]],
        *,
        is_navigation: bool = False,
        is_open: bool = False,
    ) -> Asked:
        """Return what the headers of a request say, their names in lower case."""
        said: dict[bytes, str] = {}
        for name, value in headers:
            # One that is given twice is none that can be trusted: joined, it is nothing we know.
            text = value.decode("latin-1")
            said[name] = f"{said[name]}, {text}" if name in said else text
        return cls(
            host=said.get(b"host"),
            origin=said.get(b"origin"),
            fetch_site=said.get(b"sec-fetch-site"),
            authorization=said.get(b"authorization"),
            is_navigation=is_navigation,
            is_open=is_open,
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a request is not answered."""

    status: int
    kind: str
    message: str
    action: str


@dataclass(frozen=True, slots=True)
class Guard:
    """What one server lets in."""

    host: str
    """The address it is bound to."""
    port: int
    names: tuple[str, ...] = ()
    """Besides: `NAME` with any port, or `NAME:PORT`."""
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse a name that no request could ever bring."""
        for name in self.names:
            if _parsed(name) is None:
                raise UsageError(
                    f"{name!r} is not the name of a host.",
                    action="Give NAME or NAME:PORT, without http:// and without a path.",
                )

    def refusal(self, asked: Asked) -> Refused | None:
        """Return why a request is refused; None lets it in."""
        if not self.is_own(asked.host):
            return Refused(
                403,
                "host",
                "This server does not answer to that Host.",
                "Use the address it printed, or start it with --allow-host NAME.",
            )
        if not is_same_origin(asked.origin, host=asked.host):
            return Refused(
                403,
                "origin",
                "Requests of other web pages are not answered.",
                "Ask from the page of this server, or without a browser.",
            )
        if asked.fetch_site not in _OWN_SITES and not asked.is_navigation:
            return Refused(
                403,
                "origin",
                "Requests from other sites are not answered.",
                "Ask from the page of this server, or without a browser.",
            )
        if asked.is_open or self.token is None or is_token(asked.authorization, self.token):
            return None
        return Refused(
            401,
            "token",
            "This needs the token of the server.",
            "Send it as `Authorization: Bearer TOKEN`.",
        )

    def is_own(self, host: str | None) -> bool:
        """Tell whether a Host names this server."""
        found = _parsed(host)
        if found is None:
            return False
        name, port = found
        if any(_names(given, name=name, port=port) for given in self.names):
            return True
        if (port or _DEFAULT_PORTS["http"]) != self.port:
            return False
        if name == self.host.lower() or name in _LOOPBACK_NAMES:
            return True
        # Bound to every address, it is reached by each of them. A rebinding needs a name.
        return self.host in WILDCARDS and _is_address(name)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches what is bound to a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_same_origin(origin: str | None, *, host: str | None) -> bool:
    """Tell whether a page of this very host asks, or no page at all."""
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
    """Tell whether a header brings the token; how long that takes tells nothing of it."""
    if authorization is None or authorization[: len(_BEARER)].lower() != _BEARER:
        return False
    given = authorization[len(_BEARER) :].strip()
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def read_token(environ: Mapping[str, str], *, file: Path | None) -> str | None:
    """Return the token of a server, from a file or else the environment; None where none is set.

    Raises:
        UsageError: there is no such file, others may read it, or what it holds is no token.

    """
    if file is None:
        given, origin = environ.get(TOKEN_VARIABLE), TOKEN_VARIABLE
    else:
        given, origin = _content(file), str(file)
    if given is None:
        return None
    token = given.strip()
    if len(token) < LEAST_TOKEN_CHARS or not _TOKEN.fullmatch(token):
        raise UsageError(
            f"{origin} holds no token that can be used.",
            action=f"Use {LEAST_TOKEN_CHARS} or more letters and digits: `openssl rand -hex 32`.",
        )
    return token


def require_token(host: str, *, token: str | None) -> None:
    """Refuse to be reached from other machines without a token.

    Raises:
        UsageError: it would be.

    """
    if token is None and not is_loopback(host):
        raise UsageError(
            f"Bound to {host or 'every address'}, anyone on the network could read this memory.",
            action=f"Set {TOKEN_VARIABLE} or --token-file, or bind to 127.0.0.1.",
        )


def _content(file: Path) -> str:
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The token file {file} cannot be read.", action="Name a file that holds the token."
        ) from error
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise UsageError(
            f"Other users of this machine may read {file}.", action=f"Run `chmod 600 {file}`."
        )
    return text


def _parsed(authority: str | None) -> tuple[str, int | None] | None:
    """Return the name and the port of `name:port`; None where it is nothing like that."""
    parts = _AUTHORITY.fullmatch((authority or "").lower())
    if parts is None:
        return None
    return parts["six"] or parts["name"], int(parts["port"]) if parts["port"] else None


def _names(given: str, *, name: str, port: int | None) -> bool:
    wanted = _parsed(given)
    return wanted is not None and wanted[0] == name and wanted[1] in (None, port)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
