"""Signing in with a real browser, in a window that another site has opened, as claude.ai does."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import httpx2
from tests.mcp.serving import command, running
from tests.support.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from playwright.sync_api import Browser

PASSWORD = "correct-horse-battery-staple"  # noqa: S105 - of this test alone
OPENING = (
    b'<button onclick="window.open(decodeURIComponent(location.search.slice(1)))">connect</button>'
)
BACK = b"<script>document.title = window.opener ? 'came back' : 'lost'</script>"


@contextmanager
def service() -> Iterator[int]:
    """Serve the site of a program: a button, and the page that people come back to."""

    class Page(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(BACK if self.path.startswith("/back") else OPENING)

    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_person_signs_in_and_comes_back_to_the_window_that_waits(
    chromium: Browser, sample: Path, environ: Mapping[str, str]
) -> None:
    base = f"http://127.0.0.1:{free_port()}"
    options = ("--http", base.partition("//")[2], "--oauth", base)
    told = {**environ, "RECOLLECT_TOKEN": PASSWORD, "RECOLLECT_PROVIDER": "none"}
    with service() as port, running(command(sample, *options), told) as server:
        assert server.process.stderr is not None
        server.process.stderr.readline()
        registered = {
            "redirect_uris": [f"http://127.0.0.1:{port}/back"],
            "client_name": "Probe",
            "token_endpoint_auth_method": "none",
        }
        client_id = httpx2.post(f"{base}/register", json=registered).json()["client_id"]
        wanted = {"response_type": "code", "client_id": client_id, "code_challenge": "x" * 43}
        address = f"{base}/authorize?{urlencode(wanted)}"
        page = chromium.new_page()
        page.goto(f"http://localhost:{port}/?{quote(address, safe='')}")
        with page.expect_popup() as opened:
            page.get_by_role("button").click()
        window = opened.value
        asked = window.inner_text("body")
        for password in ("wrong-password-of-mine", PASSWORD):
            window.get_by_label("Password").fill(password)
            window.get_by_role("button").click()
            if password != PASSWORD:
                window.get_by_text("That is not the password.").wait_for()
        window.wait_for_url("**/back?code=**")
        title = window.title()
        page.close()

    assert f"Probe asks to use this memory. Access goes to http://127.0.0.1:{port}." in asked
    assert "came back" == title
