"""Lets claude.ai, ChatGPT and other programs in: OAuth 2.1 with PKCE, and one password.

The SDK answers the protocol; here is what it asks for, and the page with the password. What is
handed out (ids of programs, requests, codes, tokens) is signed, and only sign-ins are stored.

Threats. Anyone may register a program and send somebody a link to the page: so only registered
addresses get a code, on HTTPS or on the reader's own machine, and the page names them. Anyone may
guess passwords: after five wrong ones the page waits a minute, and signatures are made with a
random key, so that they do not help. A page elsewhere may send the form: the guard refuses that.
Somebody may come by a code or a token: a code works once, for a minute and with its verifier, and a
code or refresh token that is used again ends its sign-in. Another password ends all.
"""

from __future__ import annotations

import base64
import hmac
import html
import json
import re
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes, create_protected_resource_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Route

from recollect.errors import RecollectError, UsageError
from recollect.shells.guard import is_loopback
from recollect.shells.http.errors import error_response
from recollect.shells.http.listen import DisconnectedError, ServerLimits, read_body, replayed
from recollect.shells.sign_ins import SignIn, SignIns
from recollect.text.files import make_private_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.auth.provider import AuthorizationParams
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

PAGE = "/sign-in"
# Programs compare addresses letter by letter: no slash may be added.
_URL = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))
_REQUEST_SECONDS, _CODE_SECONDS, _ACCESS_SECONDS = 600, 60, 3_600
_REFRESH_SECONDS = 90 * 86_400
_LOCK_SECONDS, _MOST_WRONG = 60, 5
_METHODS = ("client_secret_post", "client_secret_basic")
_MOST_URIS, _MOST_URI_CHARS, _MOST_NAME_CHARS = 5, 500, 60
_HOST = re.compile(r"[a-z0-9.-]+(?::\d+)?|\[[0-9a-f:]+\](?::\d+)?")
_HTML = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sign in to Recollect</title>
<h1>Recollect</h1>
<p><b>{client}</b> asks to use this memory. Access goes to <b>{address}</b>.
Go on only if you have just asked for that.</p>
<form method="post"><input type="hidden" name="request" value="{sealed}">
<label>Password <input type="password" name="password" autocomplete="current-password" required
autofocus></label> <button>Allow</button></form>
<p role="alert">{trouble}</p></html>
"""


class OAuth(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """The sign-ins of one server, for the SDK, and the routes of the protocol."""

    def __init__(
        self,
        url: str,
        sign_ins: SignIns,
        *,
        path: str,
        password: str,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Read or make the key; a UsageError if programs cannot sign in at `url`, above `path`."""
        parts = urlsplit(url)
        if not _is_safe(url) or parts.path.strip("/") or parts.query:
            action = "Give https://NAME, without a path."
            raise UsageError(f"Programs cannot sign in at {url!r}.", action=action)
        self._url = url.rstrip("/")
        self.host = parts.netloc
        self._password = password.encode()
        self._sign_ins = sign_ins
        self._now = now
        self._used: set[str] = set()
        self._wrong: list[float] = []
        file = sign_ins.folder / "key"
        if not file.exists():
            make_private_folder(file.parent)
            replace_file(file, secrets.token_bytes(32), private=True)
        self._key = hmac.digest(file.read_bytes(), self._password, "sha256")
        self._resource = f"{self._url}{path}"
        issuer, resource = map(_URL.validate_python, (self._url, self._resource))
        routes = create_protected_resource_routes(resource, [issuer])
        self.challenge = f'Bearer resource_metadata="{self._url}{routes[0].path}"'
        routes += create_auth_routes(
            self,
            issuer,
            client_registration_options=ClientRegistrationOptions(enabled=True),
            revocation_options=RevocationOptions(enabled=True),
        )
        self.routes = [*routes, Route(PAGE, self._page, methods=["GET", "POST"])]
        for each in self.routes:
            each.app = _Whole(each.app)

    def accepts(self, token: str) -> bool:
        """Return whether a token that a request sends is of a sign-in."""
        return self._found("access", token) is not None

    async def _page(self, request: Request) -> Response:
        given = request.query_params if request.method == "GET" else await request.form()
        sealed = str(given.get("request", ""))
        wanted = self._opened("request", sealed)
        client = await self.get_client(wanted["client_id"]) if wanted else None
        if wanted is None or client is None:
            return HTMLResponse("This sign-in has expired: go back, and start it again.", 400)
        status, trouble = 200, ""
        self._wrong = [at for at in self._wrong if self._now() < at + _LOCK_SECONDS]
        if request.method == "POST":
            password = str(given.get("password", "")).encode()
            if len(self._wrong) >= _MOST_WRONG:
                status, trouble = 429, "Too many wrong passwords: wait a minute."
            elif hmac.compare_digest(password, self._password):
                wanted["id"] = secrets.token_hex(6)
                code = self._sealed("code", wanted, seconds=_CODE_SECONDS)
                uri = construct_redirect_uri(
                    wanted["redirect_uri"], code=code, state=wanted["state"], iss=self._url
                )
                return RedirectResponse(uri, 303)
            else:
                self._wrong.append(self._now())
                status, trouble = 403, "That is not the password."
        parts = urlsplit(wanted["redirect_uri"])
        address = f"{parts.scheme}://{parts.netloc}"
        name = client.client_name or "A program"
        told = {"client": name, "address": address, "sealed": sealed, "trouble": trouble}
        text = _HTML.format_map({key: html.escape(value) for key, value in told.items()})
        # A browser follows the redirect only to where the form may go, and says where the form is
        # from only if the page lets it.
        policy = f"default-src 'none'; form-action 'self' {address}; frame-ancestors 'none'"
        headers = {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin"}
        return HTMLResponse(text, status, headers)

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Return a registered program: what was registered is in its id."""
        told = self._opened("client", client_id)
        if told is None:
            return None
        has_secret = told["token_endpoint_auth_method"] in _METHODS
        secret = self._mac("secret", client_id) if has_secret else None
        return OAuthClientInformationFull(client_id=client_id, client_secret=secret, **told)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Give a program its id and its secret, or raise RegistrationError."""
        uris = [str(each) for each in client_info.redirect_uris or ()]
        name = client_info.client_name or ""
        if len(uris) > _MOST_URIS or not all(map(_is_safe, uris)):
            reason = "redirect_uris must be HTTPS, or HTTP on a loopback address"
            raise RegistrationError("invalid_redirect_uri", reason)
        if len(name) > _MOST_NAME_CHARS or not name.isprintable():
            reason = f"client_name must be up to {_MOST_NAME_CHARS} plain characters"
            raise RegistrationError("invalid_client_metadata", reason)
        method = client_info.token_endpoint_auth_method
        told = {"redirect_uris": uris, "client_name": name, "token_endpoint_auth_method": method}
        client_info.client_id = self._sealed("client", told)
        if client_info.client_secret is not None:
            client_info.client_secret = self._mac("secret", client_info.client_id)

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        """Return the address of the page with the password, or raise AuthorizeError."""
        if params.resource and params.resource.rstrip("/") != self._resource.rstrip("/"):
            raise AuthorizeError("invalid_target", f"this server is {self._resource}")
        wanted = {**params.model_dump(mode="json"), "client_id": client.client_id, "scopes": []}
        sealed = self._sealed("request", wanted, seconds=_REQUEST_SECONDS)
        return f"{self._url}{PAGE}?{urlencode({'request': sealed})}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """Return a code; one that was used already ends the sign-in that it began."""
        told = self._opened("code", authorization_code)
        if told is None or told["client_id"] != client.client_id:
            return None
        if told["id"] in self._used:
            self._sign_ins.revoke(told["id"])
            return None
        ends = self._now() + _CODE_SECONDS  # the code itself has said when it ends
        return AuthorizationCode(code=authorization_code, expires_at=ends, **told)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Begin a sign-in, or raise TokenError."""
        told = self._opened("code", authorization_code.code)
        if told is None or told["id"] in self._used:
            raise TokenError("invalid_grant", "authorization code does not exist")
        self._used.add(told["id"])
        for each in self._sign_ins.listed():
            if each.renewed.timestamp() + _REFRESH_SECONDS < self._now():
                self._sign_ins.revoke(each.id)
        return self._issued(told["id"], client)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        """Return a refresh token; one that was replaced already ends its sign-in."""
        found = self._found("refresh", refresh_token)
        if found is None and (told := self._opened("refresh", refresh_token)) is not None:
            self._sign_ins.revoke(told["id"])
        if found is None or found.client_id != client.client_id:
            return None
        return RefreshToken(token=refresh_token, client_id=found.client_id, scopes=[])

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Replace both tokens of a sign-in, or raise TokenError."""
        del scopes
        found = self._found("refresh", refresh_token.token)
        if found is None:
            raise TokenError("invalid_grant", "refresh token does not exist")
        return self._issued(found.id, client)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Return an access token; None if it is wrong, expired or revoked."""
        found = self._found("access", token)
        return AccessToken(token=token, client_id=found.client_id, scopes=[]) if found else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """End a sign-in, given either of its tokens."""
        for kind in ("access", "refresh"):
            if told := self._opened(kind, token.token):
                self._sign_ins.revoke(told["id"])

    def _issued(self, sign_in_id: str, client: OAuthClientInformationFull) -> OAuthToken:
        """Store a sign-in with a new serial, and return its tokens."""
        told = {"id": sign_in_id, "serial": secrets.token_hex(16)}
        now = datetime.fromtimestamp(self._now(), UTC)
        name = client.client_name or ""
        self._sign_ins.put(SignIn(sign_in_id, name, now, client.client_id, told["serial"]))
        return OAuthToken(
            access_token=self._sealed("access", told, seconds=_ACCESS_SECONDS),
            refresh_token=self._sealed("refresh", told, seconds=_REFRESH_SECONDS),
            expires_in=_ACCESS_SECONDS,
        )

    def _found(self, kind: str, token: str) -> SignIn | None:
        """Return the sign-in whose token of a kind this is, if it still works."""
        told = self._opened(kind, token)
        found = self._sign_ins.find(told["id"]) if told else None
        return found if found and told and found.serial == told["serial"] else None

    def _mac(self, purpose: str, text: str) -> str:
        return hmac.digest(self._key, f"{purpose}\0{text}".encode(), "sha256").hex()

    def _sealed(self, purpose: str, told: Mapping[str, object], *, seconds: float = 0) -> str:
        """Return what nobody else can make or change, though everyone can read it."""
        ends = self._now() + seconds if seconds else None
        body = base64.urlsafe_b64encode(json.dumps([told, ends]).encode()).decode()
        return f"{body}.{self._mac(purpose, body)}"

    def _opened(self, purpose: str, sealed: str) -> dict[str, Any] | None:
        """Return what was sealed for a purpose; None if it is not ours, or too old."""
        body, _, mac = sealed.partition(".")
        if not hmac.compare_digest(mac.encode(), self._mac(purpose, body).encode()):
            return None
        told, ends = json.loads(base64.urlsafe_b64decode(body))
        return told if ends is None or self._now() < ends else None


class _Whole:
    """Passes on requests whose body is here, in time and no larger than ours may be."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive, limits=ServerLimits())
        except RecollectError as error:
            await error_response(error)(scope, receive, send)
        except DisconnectedError:
            pass
        else:
            await self._app(scope, replayed(body, receive), send)


def _is_safe(address: str) -> bool:
    """Return whether what is sent to an address reaches only who is named there."""
    parts = urlsplit(address)
    is_own = parts.scheme == "http" and is_loopback(parts.hostname or "")
    is_named = _HOST.fullmatch(parts.netloc) is not None
    return (parts.scheme == "https" or is_own) and is_named and len(address) <= _MOST_URI_CHARS
