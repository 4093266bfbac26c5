"""`recollect server push`: a folder and a memory of a server become equal, and little is sent."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.postgres.serving import Served, serving
from tests.support.commands import recollect_command

from recollect.config.load import Setup
from recollect.errors import UsageError
from recollect.hosting.push import PushError, RemoteMemory, push
from recollect.shells.http.many import ROOT
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recollect.hosting.host import MemoryHost
    from recollect.hosting.push import PushReport

    Write = Callable[[str, str], Path]

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"


@pytest.fixture
def served(host: MemoryHost) -> Iterator[Served]:
    with serving(host) as server:
        yield server


def url_of(served: Served, agent: str) -> str:
    return served.url + ROOT.replace("{agent}", agent)


def pushed(
    workspace: Path, environ: dict[str, str], remote: RemoteMemory, **settings: object
) -> PushReport:
    setup = Setup.of(workspace, agent=None, config_file=None, settings=settings, environ=environ)
    with closing(replace(remote)) as connected:
        return push(setup, connected)


def counts(report: PushReport) -> tuple[int, int, int]:
    return report.sent, report.deleted, report.unchanged


def test_only_what_differs_is_sent_and_what_is_gone_is_deleted(
    served: Served, tenant: str, workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("MEMORY.md", "The anchor is in the shed.\r\n")
    write("memory/a.md", "A lighthouse.\n")
    write("memory/b.md", "B.\n")
    write("memory/facts/person.md", "- Grace sails on Sundays\n")
    sent: list[str] = []
    remote = RemoteMemory(url_of(served, tenant), served.token(tenant), transport=Noting(sent))

    first = pushed(workspace, environ, remote)
    again = pushed(workspace, environ, remote)
    write("memory/a.md", "A lamp.\n")
    (workspace / "memory" / "b.md").unlink()
    third = pushed(workspace, environ, remote)
    with served.client(remote.token) as client:
        listed = client.get(f"{remote.url}/manifest").json()["documents"]
        facts = client.get(f"{remote.url}/facts").json()["facts"]

    assert [(4, 0, 0), (0, 0, 4), (1, 1, 2)] == [counts(each) for each in (first, again, third)]
    assert ["GET", "POST", "GET", "GET", "POST"] == sent
    paths = ["MEMORY.md", "memory/a.md", "memory/facts/person.md"]
    assert paths == [each["path"] for each in listed]
    assert ["Grace sails on Sundays"] == [each["text"] for each in facts]


class Noting(httpx.HTTPTransport):
    """The network, with a list of what was asked."""

    def __init__(self, sent: list[str]) -> None:
        super().__init__()
        self._sent = sent

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._sent.append(request.method)
        return super().handle_request(request)


def test_facts_of_the_server_are_never_replaced(
    served: Served, tenant: str, workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/facts/other.md", "- Here\n")
    remote = RemoteMemory(url_of(served, tenant), served.token(tenant))
    with served.client(remote.token) as client:
        client.post(f"{remote.url}/facts", json={"text": "There."})
        client.post(f"{remote.url}/facts", json={"text": "Elsewhere.", "category": "project"})
        report = pushed(workspace, environ, remote)
        facts = client.get(f"{remote.url}/facts").json()["facts"]

    assert (0, 0, 0) == counts(report)
    assert ["memory/facts/other.md"] == [each.path for each in report.failed]
    assert {"There.", "Elsewhere."} == {each["text"] for each in facts}


def test_secrets_are_hidden_unless_that_is_switched_off(
    served: Served, tenant: str, workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", f"The key is {KEY} now.\n")
    remote = RemoteMemory(url_of(served, tenant), served.token(tenant))

    hidden = pushed(workspace, environ, remote)
    again = pushed(workspace, environ, remote)
    with served.client(remote.token) as client:
        text = client.get(f"{remote.url}/documents/memory/a.md").json()["text"]
        plain = pushed(workspace, environ, remote, redact=False)
        whole = client.get(f"{remote.url}/documents/memory/a.md").json()["text"]

    assert (1, (0, 0, 1)) == (hidden.redacted, counts(again))
    assert KEY not in text
    assert (0, True) == (plain.redacted, KEY in whole)


def test_a_folder_without_notes_does_not_empty_a_memory(
    served: Served, tenant: str, workspace: Path, environ: dict[str, str], write: Write
) -> None:
    note = write("memory/a.md", "A.\n")
    remote = RemoteMemory(url_of(served, tenant), served.token(tenant))
    pushed(workspace, environ, remote)
    note.unlink()

    with pytest.raises(UsageError, match="everything would be deleted"):
        pushed(workspace, environ, remote)

    with closing(remote):
        assert ["memory/a.md"] == list(remote.manifest())


def test_a_busy_server_is_retried_and_a_refusal_is_reported(
    workspace: Path, environ: dict[str, str], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("recollect.hosting.push.time.sleep", waited.append)
    write("memory/a.md", "A.\n")
    answers = iter(
        [
            httpx.Response(429, headers={"Retry-After": "7"}, json={}),
            httpx.Response(200, json={"documents": []}),
            httpx.Response(503, json={}),
            httpx.Response(507, json={"error": {"message": "Full.", "action": "Delete."}}),
        ]
    )
    transport = httpx.MockTransport(lambda _request: next(answers))
    remote = RemoteMemory("https://host/api/memories/ada", "token", transport=transport)

    with pytest.raises(PushError, match="Full") as refused:
        pushed(workspace, environ, remote)

    assert "Delete." == refused.value.action
    assert [7.0, 0.5] == waited


@pytest.mark.parametrize(
    "url",
    [
        "http://memories.example/api/memories/ada",
        "ftp://host/ada",
        "ada",
        "https:///ada",
        "https://user:hunter2@memories.example/ada",
    ],
)
def test_a_token_is_not_sent_in_the_clear(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        RemoteMemory(url, "token")

    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize("token", ["rct_…", "bad\ntoken"])
def test_what_is_not_a_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(UsageError) as refused:
        RemoteMemory("https://memories.example/api/memories/ada", token)

    assert token not in refused.value.message


@pytest.mark.parametrize("status", [404, 412])
def test_a_memory_that_another_client_changes_meanwhile_is_to_be_pushed_again(
    workspace: Path, environ: dict[str, str], write: Write, status: int
) -> None:
    write("memory/a.md", "A.\n")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            listed = [{"path": "memory/b.md", "etag": "1"}]
            return httpx.Response(200, json={"documents": listed})
        return httpx.Response(status, json={})

    remote = RemoteMemory("http://localhost/ada", "token", httpx.MockTransport(answer))

    with pytest.raises(PushError, match="Another client") as told:
        pushed(workspace, environ, remote)

    assert "Push again." == told.value.action


@pytest.mark.skipif(
    "ALL_QUESTIONS" not in os.environ, reason="takes long: `make test-postgres` runs it"
)
def test_the_command_reports_and_needs_a_token(
    served: Served, tenant: str, workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "A.\n")
    command = [
        *recollect_command(),
        "server",
        "push",
        str(workspace),
        url_of(served, tenant),
        "--json",
    ]

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        given = {**environ, **more}
        return subprocess.run(command, env=given, capture_output=True, text=True, check=False)

    done = run(RECOLLECT_TOKEN=served.token(tenant))
    without = run()
    wrong = run(RECOLLECT_TOKEN="rct_wrong_wrong_wrong")  # noqa: S106 - no token

    assert (0, 1) == (done.returncode, json.loads(done.stdout)["sent"])
    assert (2, 1) == (without.returncode, wrong.returncode)
    assert "token" in json.loads(wrong.stdout)["error"]["message"]


def test_private_notes_and_parts_stay_on_this_machine(
    served: Served, tenant: str, workspace: Path, environ: dict[str, str], write: Write
) -> None:
    remote = RemoteMemory(url_of(served, tenant), served.token(tenant))
    write("memory/a.md", "A red boat.\n")
    before = pushed(workspace, environ, remote)
    write("memory/a.md", "---\nprivate: true\n---\nA red boat.\n")
    write("memory/b.md", "A sail.\n<private>zanzibar</private>\n")
    after = pushed(workspace, environ, remote)
    with closing(replace(remote)) as connected:
        stored = connected.manifest()
    hidden = {"text": "---\nprivate: true\n---\nzanzibar\n"}
    with served.client(remote.token) as client:
        client.put(f"{remote.url}/documents/memory/c.md", json=hidden)
        shown = client.get(f"{remote.url}/file", params={"path": "memory/c.md"})

    assert 404 == shown.status_code
    assert ((1, 0, 0), (1, 1, 0)) == (counts(before), counts(after))
    assert {"memory/b.md": digest_of(b"A sail.\n\n")} == stored
