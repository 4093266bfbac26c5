"""What browsers, strangers and clever paths cannot do to a running server."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.http.servers import Command, Serving

PATHS = (
    "/",
    "/health",
    "/metrics",
    "/openapi.json",
    "/api/search?query=x",
    "/api/search",
    "/api/nothing",
    "/static/none.js",
)


def raw(server: Command, request: bytes) -> bytes:
    """Send bytes as they are; return all that comes back."""
    port = int(server.url.rpartition(":")[2])
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        while part := connection.recv(65_536):
            answer += part
    return answer


def answered(server: Command, target: str, *headers: str) -> bytes:
    host = server.url.removeprefix("http://")
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    return raw(server, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "127.0.0.1:{port}."]
)
@pytest.mark.parametrize("path", ["/", "/health", "/api/search?query=x", "/static/app.js"])
def test_a_name_that_was_made_to_point_here_is_refused(
    host: str, path: str, server: Command
) -> None:
    port = server.url.rpartition(":")[2]

    answer = server.get(path, headers={"Host": host.format(port=port)})

    assert (403, "host") == (answer.status_code, answer.json()["error"]["type"])


def test_a_request_without_a_host_or_with_two_is_refused(server: Command) -> None:
    without = raw(server, b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
    twice = answered(server, "/health", "Host: evil.example")
    ancient = raw(server, b"GET /health HTTP/1.0\r\n\r\n")

    assert without.startswith(b"HTTP/1.1 400 ")
    assert twice.startswith(b"HTTP/1.1 400 ")
    assert b" 403 " in ancient.split(b"\r\n")[0]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1"])
def test_a_page_of_another_origin_can_neither_read_nor_write(origin: str, server: Command) -> None:
    read = server.get("/api/search?query=x", headers={"Origin": origin})
    wrote = httpx.post(
        f"{server.url}/api/facts", json={"text": "Planted."}, headers={"Origin": origin}
    )
    asked = httpx.options(
        f"{server.url}/api/facts",
        headers={"Origin": origin, "Access-Control-Request-Method": "POST"},
    )

    for answer in (read, wrote, asked):
        assert 403 == answer.status_code
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_our_own_page_may_read_and_write(server: Command) -> None:
    answer = httpx.post(
        f"{server.url}/api/sync",
        json={},
        headers={"Origin": server.url, "Sec-Fetch-Site": "same-origin"},
    )

    assert 202 == answer.status_code


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_can_send_nothing_not_even_without_an_origin(
    site: str, server: Command
) -> None:
    headers = {"Sec-Fetch-Site": site}
    wrote = httpx.post(f"{server.url}/api/facts", json={"text": "Planted."}, headers=headers)
    loaded = server.get("/static/app.js", headers=headers)
    framed = server.get("/api/search?query=x", headers={**headers, "Sec-Fetch-Mode": "navigate"})
    linked = server.get("/", headers={**headers, "Sec-Fetch-Mode": "navigate"})

    assert [403, 403, 403, 200] == [
        answer.status_code for answer in (wrote, loaded, framed, linked)
    ]


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_of_any_page_writes_nothing(media: str, server: Command) -> None:
    headers = {"Content-Type": media} if media else {}
    for path in ("/api/facts", "/api/sync"):
        answer = httpx.post(
            f"{server.url}{path}", content=b'{"text":"Planted.","query":"x"}', headers=headers
        )

        assert 415 == answer.status_code


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.js",
        "/static/..%2f..%2frun.py",
        "/static/%2e%2e%2f%2e%2e%2frun.py",
        "/static/..%5c..%5crun.py",
        "/static/%2fetc%2fpasswd",
        "/static//etc/passwd",
        "/static/index.html%00.js",
        "/static/.",
        "/static/..",
        "/static/__init__.py",
        "/static/",
    ],
)
def test_no_path_leads_out_of_the_page(path: str, server: Command) -> None:
    status = answered(server, path).split(b"\r\n")[0]

    assert status.split(b" ")[1] in {b"400", b"404"}


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "memory/../../secret.txt",
        "/etc/passwd",
        "{outside}",
        "memory\\..\\..\\secret.txt",
        "MEMORY.md\0.txt",
        "recollect.toml",
        "link.md",
        "memory/link.md",
        "file:///etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_workspace(path: str, server: Command) -> None:
    outside = server.workspace.parent / "secret.txt"
    outside.write_text("SECRET", encoding="utf-8")
    (server.workspace / "recollect.toml").write_text("# SECRET", encoding="utf-8")
    for link in ("link.md", "memory/link.md"):
        if not (server.workspace / link).is_symlink():
            (server.workspace / link).symlink_to(outside)

    answer = server.get("/api/file", params={"path": path.format(outside=outside)})

    assert 404 == answer.status_code
    assert "SECRET" not in answer.text
    assert "root:" not in answer.text


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_tells_browsers_to_be_strict(path: str, server: Command) -> None:
    headers = server.get(path).headers

    assert (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ) == headers["content-security-policy"]
    assert "nosniff" == headers["x-content-type-options"]
    assert "no-referrer" == headers["referrer-policy"]
    assert "same-origin" == headers["cross-origin-resource-policy"]
    assert ("no-cache" if path == "/" else "no-store") == headers["cache-control"]
    assert "server" not in headers


def test_refusals_have_the_same_headers(server: Command) -> None:
    for answer in (
        server.get("/", headers={"Host": "evil.example"}),
        httpx.put(f"{server.url}/api/search"),
        httpx.post(f"{server.url}/api/facts", content=b"x"),
    ):
        assert answer.status_code >= 400
        assert "nosniff" == answer.headers["x-content-type-options"]
        assert "no-store" == answer.headers["cache-control"]


@pytest.mark.parametrize("text", ["a\r\nSet-Cookie: x=1", "a\nX-Injected: 1", "a\x00b"])
def test_what_is_asked_cannot_become_a_header(text: str, server: Command) -> None:
    for path in ("/api/search", "/api/file", "/api/recall", "/api/nothing"):
        answer = server.get(path, params={text: text, "query": text, "path": text})

        assert not {"set-cookie", "x-injected"} & set(answer.headers)


def test_malformed_requests_end_in_a_400(server: Command) -> None:
    for request in (
        b"nonsense\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n",
        b"POST /api/facts HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 80_000,
    ):
        assert raw(server, request).startswith(b"HTTP/1.1 400 ")
    assert 200 == server.get("/health").status_code


def test_an_upgrade_to_a_websocket_is_no_way_in(server: Command) -> None:
    answer = answered(
        server,
        "/api/status",
        "Connection: upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )

    assert b" 101 " not in answer.split(b"\r\n")[0]


def test_neither_the_token_nor_a_question_is_logged(
    workspace: Path, environ: Mapping[str, str], serving: Serving
) -> None:
    token = "a-token-that-nobody-guesses"  # noqa: S105 - of no server but this
    command = serving(workspace, {**environ, "RECOLLECT_TOKEN": token}, "--port", "0")
    for authorization in (f"Bearer {token}", f"Bearer {token}wrong", f"Basic {token}"):
        for path in ("/api/search?query=private", "/api/file?path=private", "/private"):
            answer = command.get(path, headers={"Authorization": authorization})
            assert token not in answer.text
    command.child.terminate()
    command.end()

    assert token not in command.output
    assert "private" not in command.output
