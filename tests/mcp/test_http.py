"""The same server over streamable HTTP: to this machine, or with a token."""

from __future__ import annotations

import asyncio
import json
import subprocess
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.mcp.serving import INITIALIZE, answer, command, served, synced
from tests.support.waiting import PATIENCE_SECONDS

from mcp import Client
from recollect.shells.http.listen import ServerLimits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - of this test alone


def post(address: str, **headers: str | tuple[str, ...]) -> tuple[int, dict[str, Any]]:
    """Send a handshake as any program could; return the status and an error's body.

    A header with several values is sent several times.
    """
    parts = urlsplit(address)
    connection = HTTPConnection(parts.netloc, timeout=PATIENCE_SECONDS)
    body = json.dumps(INITIALIZE).encode()
    connection.putrequest("POST", parts.path, skip_host="Host" in headers)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Accept", "application/json, text/event-stream")
    connection.putheader("Content-Length", str(len(body)))
    for name, value in headers.items():
        for each in (value,) if isinstance(value, str) else value:
            connection.putheader(name.replace("_", "-"), each)
    connection.endheaders(body)
    response = connection.getresponse()
    said = response.read() if response.status != 200 else b"{}"
    connection.close()
    return response.status, json.loads(said)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_searches_over_http(sample: Path, plain: Mapping[str, str], mode: str) -> None:
    async def conversation(address: str) -> str:
        async with asyncio.timeout(PATIENCE_SECONDS), Client(address, mode=mode) as client:
            await synced(client)
            found = await answer(client, "memory_search", query="how do we roll back")
            read = await answer(client, "memory_get", path=found["results"][0]["citation"])
            text: str = read["text"]
            return text

    with served(sample, plain) as (_, address):
        text = asyncio.run(conversation(address))

    assert "Roll-back is one command" in text


def test_two_clients_are_served_at_once(sample: Path, plain: Mapping[str, str]) -> None:
    async def ask(address: str, question: str) -> bool:
        async with Client(address, mode="legacy") as client:
            found = await answer(client, "memory_search", query=question)
            return bool(found["results"])

    async def both(address: str) -> list[bool]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await asyncio.gather(*(ask(address, each) for each in ("release", "canary")))

    with served(sample, plain) as (_, address):
        found = asyncio.run(both(address))

    assert [True, True] == found


def test_other_names_and_pages_are_not_answered(sample: Path, plain: Mapping[str, str]) -> None:
    with served(sample, plain) as (_, address):
        port = urlsplit(address).port
        usual = post(address)
        rebound = post(address, Host=f"evil.example:{port}")
        foreign = post(address, Origin="https://evil.example")
        cross = post(address, Sec_Fetch_Site="cross-site")
        own = post(address, Origin=f"http://127.0.0.1:{port}")

    assert 200 == usual[0] == own[0]
    assert [403, 403, 403] == [rebound[0], foreign[0], cross[0]]
    assert "host" == rebound[1]["error"]["type"]
    assert "origin" == foreign[1]["error"]["type"] == cross[1]["error"]["type"]


def test_a_header_that_is_sent_twice_lets_nobody_in(sample: Path, plain: Mapping[str, str]) -> None:
    with served(sample, {**plain, "RECOLLECT_TOKEN": TOKEN}) as (_, address):
        own = f"http://127.0.0.1:{urlsplit(address).port}"
        right = f"Bearer {TOKEN}"
        answers = [
            post(address, Authorization=right, Origin=("https://evil.example", own)),
            post(address, Authorization=right, Sec_Fetch_Site=("cross-site", "none")),
            post(address, Authorization=("Bearer something", right)),
        ]

    assert [403, 403, 401] == [status for status, _ in answers]


def test_a_token_that_is_set_must_be_brought(sample: Path, plain: Mapping[str, str]) -> None:
    async def names(address: str) -> list[str]:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http), mode="legacy") as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]

    with served(sample, {**plain, "RECOLLECT_TOKEN": TOKEN}) as (_, address):
        without, wrong = post(address), post(address, Authorization="Bearer something")
        found = asyncio.run(names(address))

    assert [401, 401] == [without[0], wrong[0]]
    assert "memory_search" in found


def test_no_session_is_kept_for_a_client_that_may_never_come_back(
    sample: Path, plain: Mapping[str, str]
) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with served(sample, plain) as (_, address):
        opened = httpx2.post(address, json=INITIALIZE, headers=headers)
        listed = httpx2.post(address, json=listing, headers=headers)

    assert "mcp-session-id" not in opened.headers
    assert (200, 200) == (opened.status_code, listed.status_code)
    assert "memory_search" in listed.text


def test_no_stream_is_kept_open_for_a_client_that_only_listens(
    sample: Path, plain: Mapping[str, str]
) -> None:
    with served(sample, plain) as (_, address):
        answers = [
            httpx2.request(method, address, headers={"Accept": "text/event-stream"})
            for method in ("GET", "DELETE")
        ]

    assert [(405, "POST")] * 2 == [(each.status_code, each.headers["allow"]) for each in answers]


def test_a_body_whose_end_is_ambiguous_is_refused(sample: Path, plain: Mapping[str, str]) -> None:
    with served(sample, plain) as (_, address):
        status, said = post(address, Transfer_Encoding="chunked")

    assert (400, "framing") == (status, said["error"]["type"])


def test_a_body_that_is_too_large_is_refused(sample: Path, plain: Mapping[str, str]) -> None:
    body = b" " * (ServerLimits().body_bytes + 1)
    with served(sample, plain) as (_, address):
        said = httpx2.post(address, content=body, headers={"Content-Type": "application/json"})

    assert 413 == said.status_code


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("0.0.0.0:0", "anyone on the network could read this memory"),
        ("127.0.0.1:65536", "is not an address"),
        ("here and there", "is not an address"),
        ("203.0.113.1:0", "anyone on the network"),
    ],
)
def test_it_does_not_start_where_it_must_not(
    sample: Path, plain: Mapping[str, str], address: str, said: str
) -> None:
    done = subprocess.run(
        command(sample, "--http", address),
        env=dict(plain),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert 2 == done.returncode
    assert said in done.stderr
    assert "" == done.stdout
