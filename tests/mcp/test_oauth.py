"""Signing in at a server with a password: the SDK's own client, and those who may not come in."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import json
import re
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.testclient import TestClient
from tests.mcp.serving import answer, command, running, synced
from tests.support.commands import recollect_command
from tests.support.servers import free_port
from tests.support.waiting import PATIENCE_SECONDS

from mcp import Client
from recollect.errors import UsageError
from recollect.shells.http.oauth import OAuth
from recollect.shells.sign_ins import SignIns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PASSWORD = "correct-horse-battery-staple"  # noqa: S105 - of this test alone
URL = "https://notes.example"
BACK = "https://claude.ai/api/mcp/auth_callback"
VERIFIER = "v" * 64
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
)


class Kept:
    """What a program keeps between its sessions."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def sealed_in(page: str) -> str:
    """Return what the form of a page sends besides the password."""
    found = re.search(r'name="request" value="([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def test_the_sdk_s_client_registers_signs_in_searches_refreshes_and_is_revoked(
    sample: Path, plain: Mapping[str, str]
) -> None:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    environ = {**plain, "RECOLLECT_TOKEN": PASSWORD}
    kept, seen, pages = Kept(), list[str](), list[str]()

    async def person(address: str) -> None:
        """Open the page in a browser, and type the password."""
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            page = await browser.get(
                address, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
            )
            pages.append(page.text)
            form = {"request": sealed_in(page.text), "password": PASSWORD}
            done = await browser.post(
                str(page.url), data=form, headers={"Origin": base}, follow_redirects=False
            )
        seen.append(done.headers["location"])

    async def came_back() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(seen[-1]).query)
        return AuthorizationCodeResult(
            code=query["code"][0], state=query["state"][0], iss=query["iss"][0]
        )

    registered = OAuthClientMetadata(
        redirect_uris=[AnyUrl("http://127.0.0.1:9/callback")], client_name="A <b>client</b>"
    )
    auth = OAuthClientProvider(f"{base}/mcp", registered, kept, person, came_back)

    async def searched() -> list[str]:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            httpx2.AsyncClient(auth=auth) as http,
            Client(
                streamable_http_client(f"{base}/mcp", http_client=http), mode="legacy"
            ) as client,
        ):
            await synced(client)
            found = await answer(client, "memory_search", query="how do we roll back")
            return [hit["citation"] for hit in found["results"]]

    def told(*arguments: str) -> Any:
        done = subprocess.run(
            [*recollect_command(), "-w", str(sample), "--json", "server", "tokens", *arguments],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    nobody = told("list")
    program = command(sample, "--http", f"127.0.0.1:{port}", "--oauth", base)
    with running(program, environ) as server:
        assert server.process.stderr is not None
        assert b"MCP at" in server.process.stderr.readline()
        first = asyncio.run(searched())
        assert kept.tokens is not None
        earlier = kept.tokens
        again = asyncio.run(searched())
        auth.context.token_expiry_time = 1.0  # it thinks that its token has expired
        refreshed = asyncio.run(searched())
        later = kept.tokens
        (listed,) = told("list")["signedIn"]
        before = len(seen)
        told("revoke", listed["id"])
        asyncio.run(searched())

    assert {"tokens": [], "signedIn": []} == nobody
    assert first
    assert first == again == refreshed
    assert "A &lt;b&gt;client&lt;/b&gt;" in pages[0]
    assert "Access goes to <b>http://127.0.0.1:9</b>" in pages[0]
    assert "A <b>client</b>" == listed["client"]
    assert earlier.access_token != later.access_token
    assert (1, 2) == (before, len(seen))  # revoked: the password was asked for again


def signed_in_at(base: str, browser: httpx2.Client) -> str:
    """Sign in at a server as a person with a browser does; return the access token."""
    told = {"redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    client_id = browser.post(f"{base}/register", json=told).json()["client_id"]
    given = {"response_type": "code", "client_id": client_id, "code_challenge": CHALLENGE}
    page = browser.get(f"{base}/authorize?{urlencode(given)}", follow_redirects=True)
    form = {"request": sealed_in(page.text), "password": PASSWORD}
    done = browser.post(f"{base}/sign-in", data=form, headers={"Origin": base})
    code = parse_qs(urlsplit(done.headers["location"]).query)["code"][0]
    wanted = {"grant_type": "authorization_code", "client_id": client_id, "code": code}
    token = browser.post(f"{base}/token", data={**wanted, "code_verifier": VERIFIER}).json()
    return str(token["access_token"])


@pytest.mark.parametrize("kind", ["serve", "mcp"])
def test_a_server_accepts_only_its_token_or_a_sign_in(
    sample: Path, plain: Mapping[str, str], kind: str
) -> None:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    where = {"serve": ("serve", "--port", str(port)), "mcp": ("mcp", "--http", f"{port}")}[kind]
    path = {"serve": "/api/status", "mcp": "/mcp"}[kind]
    program = [*recollect_command(), "-w", str(sample), *where, "--oauth", base]
    with (
        running(program, {**plain, "RECOLLECT_TOKEN": PASSWORD}) as server,
        httpx2.Client(timeout=PATIENCE_SECONDS) as browser,
    ):
        assert server.process.stderr is not None
        server.process.stderr.readline()

        def status(token: str) -> int:
            sent = {"Authorization": f"Bearer {token}"}
            return browser.request("GET", f"{base}{path}", headers=sent).status_code

        closed = browser.get(f"{base}{path}")
        page = browser.get(f"{base}/sign-in")
        foreign = [
            browser.post(f"{base}/sign-in", data={}, headers={"Origin": each}).status_code
            for each in ("https://evil.example", "null")
        ]
        large = browser.post(f"{base}/sign-in", content=b"x" * (256 * 1024 + 1)).status_code
        inside = {status(PASSWORD), status(signed_in_at(base, browser))}

    assert 401 == closed.status_code
    assert f'resource_metadata="{base}/.well-known/' in closed.headers["www-authenticate"]
    assert "unsafe-none" == page.headers["cross-origin-opener-policy"]
    assert "DENY" == page.headers["x-frame-options"]
    assert [403, 403] == foreign
    assert 413 == large
    assert {{"serve": 200, "mcp": 405}[kind]} == inside  # there is nothing to GET from the tools


def test_a_password_is_required(sample: Path, plain: Mapping[str, str]) -> None:
    done = subprocess.run(
        command(sample, "--http", "0", "--oauth", URL),
        env=dict(plain),
        capture_output=True,
        text=True,
        check=False,
    )

    assert 2 == done.returncode
    assert "--oauth needs a password. Set RECOLLECT_TOKEN" in done.stderr.replace("\n  → ", " ")


def told_in(redirect: Any, name: str) -> str:
    """Return what a redirect says in its address."""
    return str(parse_qs(urlsplit(redirect.headers["location"]).query)[name][0])


class Door:
    """A server's sign-ins in this process, with a clock of the test's."""

    def __init__(self, folder: Path) -> None:
        self.now = 1_800_000_000.0
        self.folder = folder
        self.oauth = self.opened(PASSWORD)

    def opened(self, password: str) -> OAuth:
        self.oauth = OAuth(
            URL, SignIns(self.folder), path="/mcp", password=password, now=lambda: self.now
        )
        app = Starlette(routes=self.oauth.routes)
        self.http = TestClient(app, base_url=URL, follow_redirects=False)
        return self.oauth

    def register(self, *, uri: str = BACK, name: str = "Claude") -> Any:
        told = {"redirect_uris": [uri], "client_name": name, "token_endpoint_auth_method": "none"}
        return self.http.post("/register", json=told)

    def page(self, client_id: str, **more: str) -> Any:
        told = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": BACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s",
            **more,
        }
        return self.http.get(f"/authorize?{urlencode(told)}")

    def request(self, client_id: str) -> str:
        return told_in(self.page(client_id), "request")

    def enter(self, sealed: str, password: str = PASSWORD) -> Any:
        return self.http.post("/sign-in", data={"request": sealed, "password": password})

    def code(self, client_id: str) -> str:
        return told_in(self.enter(self.request(client_id)), "code")

    def exchange(
        self, client_id: str, code: str, *, verifier: str = VERIFIER, uri: str = BACK
    ) -> Any:
        told = {"code": code, "code_verifier": verifier, "redirect_uri": uri}
        return self.token(client_id, grant_type="authorization_code", **told)

    def token(self, client_id: str, **told: str) -> Any:
        return self.http.post("/token", data={"client_id": client_id, **told})

    def signed_in(self) -> tuple[str, Any]:
        client_id = self.register().json()["client_id"]
        return client_id, self.exchange(client_id, self.code(client_id)).json()


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path / "sign-ins")


def test_the_right_password_sends_a_code_to_the_registered_address_only(door: Door) -> None:
    client_id = door.register().json()["client_id"]
    done = door.enter(door.request(client_id))

    assert 303 == done.status_code
    assert done.headers["location"].startswith(f"{BACK}?code=")
    assert ["s"] == parse_qs(urlsplit(done.headers["location"]).query)["state"]
    assert [URL] == parse_qs(urlsplit(done.headers["location"]).query)["iss"]


@pytest.mark.parametrize(
    "uri",
    [
        "http://evil.example/",
        "http://127.0.0.1.evil.example/",
        "https://claude.ai@evil.example/",
        "javascript:alert(1)",
        "data:text/html,hello",
        "https://claude.ai/" + "a" * 500,
        "https://x;sandbox/",
    ],
)
def test_an_address_that_others_could_read_is_not_registered(door: Door, uri: str) -> None:
    done = door.register(uri=uri)

    assert (400, "invalid_redirect_uri") == (done.status_code, done.json()["error"])


@pytest.mark.parametrize("name", ["x" * 61, "two\nlines", "right\u202eleft"])
def test_a_name_that_could_deceive_is_not_registered(door: Door, name: str) -> None:
    assert 400 == door.register(name=name).status_code


@pytest.mark.parametrize("uri", ["https://evil.example/", f"{BACK}/../evil", f"{BACK}?more=1"])
def test_a_redirect_to_an_unregistered_address_is_refused(door: Door, uri: str) -> None:
    client_id = door.register().json()["client_id"]
    done = door.page(client_id, redirect_uri=uri)

    assert 400 == done.status_code
    assert "location" not in done.headers


def test_a_program_that_nobody_registered_is_refused(door: Door, tmp_path: Path) -> None:
    other = Door(tmp_path / "other").register().json()["client_id"]
    body = base64.urlsafe_b64encode(json.dumps([{"redirect_uris": [BACK]}, None]).encode()).decode()

    for client_id in ("made-up", other, f"{body}.{'0' * 64}", f"{body}.", "é.é"):
        assert 400 == door.page(client_id).status_code


def test_a_request_without_pkce_or_for_another_server_is_refused(door: Door) -> None:
    client_id = door.register().json()["client_id"]
    plain = door.page(client_id, code_challenge_method="plain")
    none = door.page(client_id, code_challenge="")
    other = door.page(client_id, resource="https://other.example/mcp")
    ours = door.page(client_id, resource=f"{URL}/mcp")

    assert "error=invalid_request" in plain.headers["location"]
    assert "error=invalid_target" in other.headers["location"]
    assert ours.headers["location"].startswith(f"{URL}/sign-in?request=")
    # An empty challenge is no verifier's.
    code = parse_qs(
        urlsplit(
            door.enter(parse_qs(urlsplit(none.headers["location"]).query)["request"][0]).headers[
                "location"
            ]
        ).query
    )["code"][0]
    assert 400 == door.exchange(client_id, code, verifier="").status_code


def test_a_wrong_password_gives_no_code_and_five_of_them_close_the_page_for_a_minute(
    door: Door,
) -> None:
    sealed = door.request(door.register().json()["client_id"])
    wrong = [door.enter(sealed, f"guess-{number}").status_code for number in range(5)]
    locked = door.enter(sealed)
    door.now += 61
    opened = door.enter(sealed)

    assert [403] * 5 == wrong
    assert 429 == locked.status_code
    assert "location" not in locked.headers
    assert 303 == opened.status_code


def test_a_request_is_signed_and_ends_after_ten_minutes(door: Door) -> None:
    sealed = door.request(door.register().json()["client_id"])
    body, _, mac = sealed.partition(".")
    told, ends = json.loads(base64.urlsafe_b64decode(body))
    forged = base64.urlsafe_b64encode(
        json.dumps([{**told, "redirect_uri": "https://evil.example/"}, ends]).encode()
    ).decode()

    assert 400 == door.enter(f"{forged}.{mac}").status_code
    assert 400 == door.enter("").status_code
    door.now += 601
    assert 400 == door.enter(sealed).status_code


def test_a_client_id_is_no_request_and_a_request_is_no_token(door: Door) -> None:
    client_id, tokens = door.signed_in()

    assert 400 == door.enter(client_id).status_code
    assert not door.oauth.accepts(door.request(client_id))
    assert not door.oauth.accepts(tokens["refresh_token"])
    assert not door.oauth.accepts(client_id)
    assert door.oauth.accepts(tokens["access_token"])


def test_a_code_needs_its_verifier_its_address_and_its_program(door: Door) -> None:
    client_id = door.register().json()["client_id"]
    other = door.register(name="Other").json()["client_id"]
    code = door.code(client_id)

    assert 400 == door.exchange(client_id, code, verifier="w" * 64).status_code
    assert 400 == door.exchange(client_id, code, uri="https://evil.example/").status_code
    assert 400 == door.exchange(other, code).status_code
    assert 200 == door.exchange(client_id, code).status_code


def test_a_code_that_is_used_twice_ends_the_sign_in(door: Door) -> None:
    client_id = door.register().json()["client_id"]
    code = door.code(client_id)
    tokens = door.exchange(client_id, code).json()
    again = door.exchange(client_id, code)

    assert (400, "invalid_grant") == (again.status_code, again.json()["error"])
    assert not door.oauth.accepts(tokens["access_token"])


def test_a_code_ends_after_a_minute(door: Door) -> None:
    client_id = door.register().json()["client_id"]
    code = door.code(client_id)
    door.now += 61

    assert 400 == door.exchange(client_id, code).status_code


def test_an_access_token_ends_after_an_hour_and_a_refresh_replaces_both(door: Door) -> None:
    client_id, tokens = door.signed_in()
    door.now += 3_601
    ended = door.oauth.accepts(tokens["access_token"])
    new = door.token(
        client_id, grant_type="refresh_token", refresh_token=tokens["refresh_token"]
    ).json()

    assert not ended
    assert door.oauth.accepts(new["access_token"])
    assert tokens["refresh_token"] != new["refresh_token"]


def test_a_refresh_token_that_is_used_twice_ends_the_sign_in(door: Door) -> None:
    client_id, tokens = door.signed_in()
    given = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    new = door.token(client_id, **given).json()
    stolen = door.token(client_id, **given)

    assert 400 == stolen.status_code
    assert not door.oauth.accepts(new["access_token"])


def test_another_program_cannot_use_or_revoke_a_token(door: Door) -> None:
    _, tokens = door.signed_in()
    other = door.register(name="Other").json()["client_id"]
    refreshed = door.token(other, grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    door.http.post("/revoke", data={"client_id": other, "token": tokens["access_token"]})

    assert 400 == refreshed.status_code
    assert door.oauth.accepts(tokens["access_token"])


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_program_signs_out_with_either_token(door: Door, kind: str) -> None:
    client_id, tokens = door.signed_in()
    told = {"client_id": client_id, "client_secret": "", "token": tokens[kind]}
    done = door.http.post("/revoke", data=told)

    assert 200 == done.status_code
    assert not door.oauth.accepts(tokens["access_token"])


def test_no_token_is_stored_and_another_password_ends_every_sign_in(door: Door) -> None:
    client_id, tokens = door.signed_in()
    stored = b"".join(file.read_bytes() for file in door.folder.iterdir())
    survives = door.opened(PASSWORD).accepts(tokens["access_token"])
    changed = door.opened("another-password-of-mine")

    assert survives
    for secret in (*tokens.values(), PASSWORD):
        assert str(secret).encode() not in stored or secret in ("Bearer", 3_600)
    assert not changed.accepts(tokens["access_token"])
    assert 400 == door.page(client_id).status_code
    assert {0o600} == {file.stat().st_mode & 0o777 for file in door.folder.iterdir()}


def test_the_page_cannot_be_framed_and_sends_its_form_nowhere_else(door: Door) -> None:
    sealed = door.request(door.register().json()["client_id"])
    page = door.http.get(f"/sign-in?request={sealed}")
    policy = page.headers["content-security-policy"]

    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://claude.ai;" in policy
    assert "same-origin" == page.headers["referrer-policy"]


@pytest.mark.parametrize(
    "url",
    ["http://notes.example", "notes.example", "https://notes.example/below", "https://a@b", ""],
)
def test_an_address_at_which_signing_in_is_impossible_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="cannot sign in"):
        OAuth(url, SignIns(tmp_path), path="/mcp", password=PASSWORD)


def test_sign_ins_that_nobody_renews_for_ninety_days_are_gone_with_the_next_one(door: Door) -> None:
    client_id, tokens = door.signed_in()
    door.now += 90 * 86_400 + 1
    given = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}

    assert 400 == door.token(client_id, **given).status_code
    door.signed_in()
    assert 1 == len(SignIns(door.folder).listed())
