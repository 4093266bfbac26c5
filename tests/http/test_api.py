"""The operations: they answer as the command line does, and refuse what they do not know."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.http.servers import inside
from tests.support.commands import recollect_command
from tests.support.waiting import wait_until

from recollect.facts.record import CATEGORIES
from recollect.shells.http.operations import OPERATIONS
from recollect.shells.http.server import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.http.servers import Command

HERE = ServeOptions("127.0.0.1", 0)


def printed(command: Command, *arguments: str) -> dict[str, Any]:
    return printed_by(command.workspace, command.environ, *arguments)


def printed_by(workspace: Path, environ: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), *arguments, "--json"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    shape: dict[str, Any] = json.loads(done.stdout)
    return shape


def without(shape: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in shape.items() if name not in names}


def test_search_answers_as_the_command_does(server: Command) -> None:
    answer = server.get(
        "/api/search",
        params={
            "query": "how are backups kept safe",
            "maxResults": 3,
            "source": "memory",
            "explain": "true",
            "fusion": "rrf",
        },
    )

    arguments = ["-n", "3", "--source", "memory", "--explain", "--fusion", "rrf"]
    expected = printed(server, "search", "how are backups kept safe", *arguments)
    assert expected["results"]
    assert without(expected, "tookMs", "notices") == without(answer.json(), "tookMs", "notices")


def test_search_narrows_by_day_and_path(server: Command) -> None:
    answer = server.get(
        "/api/search",
        params={"query": "backup", "since": "15 Sep. 2026", "path": "memory/2026-*"},
    )

    hits = answer.json()["results"]
    assert hits
    assert all(hit["path"].startswith("memory/2026-") for hit in hits)
    assert all(hit["date"] >= "2026-09-15" for hit in hits)


def test_a_part_of_a_file_is_read_as_by_the_command(server: Command) -> None:
    answer = server.get("/api/file", params={"path": "MEMORY.md", "from": 3, "lines": 2})

    assert printed(server, "get", "MEMORY.md:3:2") == answer.json()


def test_a_block_is_recalled_as_by_the_command(server: Command) -> None:
    answer = server.get(
        "/api/recall", params={"prompt": "how do we keep backups safe", "budget": 300}
    )

    expected = printed(server, "recall", "how do we keep backups safe", "--budget", "300")
    assert expected["block"]
    assert without(expected, "notices") == without(answer.json(), "notices")


def test_status_tells_of_the_index_and_of_the_worker(server: Command) -> None:
    answer = server.get("/api/status").json()

    expected = printed(server, "status")
    assert expected["index"] == answer["index"]
    assert expected["legs"] == answer["legs"]
    assert "idle" == answer["worker"]["state"]
    assert answer["worker"]["lastError"] is None
    assert 0 == answer["worker"]["lastReport"]["pending"]


def test_health_touches_nothing_and_names_the_version(server: Command) -> None:
    answer = server.get("/health").json()

    assert {"status", "version", "worker"} == set(answer)
    assert "ok" == answer["status"]


def test_a_sync_that_is_asked_for_finds_a_new_note(
    workspace: Path, environ: Mapping[str, str], write: Callable[[str, str], Path]
) -> None:
    with inside(workspace, environ, HERE) as here:
        wait_until(lambda: here.memory.last_sync.at)
        write("memory/2026-03-01.md", "The harbour crane is painted orange.")

        started = httpx.post(f"{here.url}/api/sync", json={})

        assert (202, {"started": True}) == (started.status_code, started.json())
        wait_until(lambda: here.memory.last_sync.report and here.memory.last_sync.report.chunks)
        found = httpx.get(f"{here.url}/api/search?query=harbour crane", timeout=60).json()
        assert ["memory/2026-03-01.md"] == [hit["path"] for hit in found["results"]]


def test_a_note_that_is_there_twice_is_one_hit_that_names_both(
    workspace: Path, environ: Mapping[str, str], write: Callable[[str, str], Path]
) -> None:
    for name in ("a", "b"):
        write(f"memory/{name}.md", "The harbour crane is painted orange.")
    with inside(workspace, environ, HERE) as here:
        wait_until(lambda: here.memory.last_sync.at)

        found = httpx.get(f"{here.url}/api/search?query=harbour crane", timeout=60).json()

    [hit] = found["results"]
    assert "memory/a.md" == hit["path"]
    assert [
        {"path": "memory/b.md", "startLine": 1, "endLine": 1, "citation": "memory/b.md#L1"}
    ] == hit["alsoIn"]


def test_a_fact_is_written_found_at_once_superseded_and_forgotten(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    with (
        inside(workspace, environ, HERE) as here,
        httpx.Client(base_url=here.url, timeout=60) as client,
    ):
        wait_until(lambda: here.memory.state == "idle")
        old = client.post(
            "/api/facts",
            json={
                "text": "The lamp in the hall is green.",
                "category": "technical",
                "tags": ["lamp"],
                "validFrom": "2026-01-02",
            },
        )
        found = client.get("/api/search", params={"query": "hall lamp", "source": "facts"})
        new = client.post("/api/facts", json={"text": "The hall has a red lantern now."})
        done = client.post(
            f"/api/facts/{old.json()['id']}/supersede", json={"by": new.json()["id"]}
        )
        after = client.get("/api/search", params={"query": "green lamp", "source": "facts"})
        gone = client.delete(f"/api/facts/{new.json()['id']}")
        back = client.post(
            f"/api/facts/{new.json()['id']}/restore", json={"entry": gone.json()["entry"]}
        )
        client.delete(f"/api/facts/{new.json()['id']}")
        again = client.delete(f"/api/facts/{new.json()['id']}")

    assert [201, 201, 200, 200, 404] == [each.status_code for each in (old, new, done, gone, again)]
    assert (200, new.json()["id"]) == (back.status_code, back.json()["id"])
    assert f"/api/facts/{old.json()['id']}" == old.headers["location"]
    assert "technical" == old.json()["category"]
    assert ["The lamp in the hall is green."] == [hit["snippet"] for hit in found.json()["results"]]
    assert old.json()["id"] == done.json()["superseded"]["id"]
    assert old.json()["id"] not in [hit["fact"]["id"] for hit in after.json()["results"]]
    assert [old.json()["id"]] == [fact["id"] for fact in gone.json()["restored"]]


def test_a_secret_is_refused_by_its_kind_unless_it_is_forced(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    said = {"text": "The wifi password is Blue-Whale-42"}
    with (
        inside(workspace, environ, HERE) as here,
        httpx.Client(base_url=here.url, timeout=60) as client,
    ):
        refused = client.post("/api/facts", json=said)
        before = client.get("/api/facts").json()["facts"]
        forced = client.post("/api/facts", json={**said, "force": True})

    assert (400, "secret") == (refused.status_code, refused.json()["error"]["type"])
    assert "a secret (password)" in refused.text
    assert "Blue-Whale" not in refused.text
    assert 'send "force": true' in refused.json()["error"]["action"]
    assert "--force" not in refused.text
    assert ([], 201) == (before, forced.status_code)


def test_facts_that_do_not_fit_each_other_are_not_joined(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    with (
        inside(workspace, environ, HERE) as here,
        httpx.Client(base_url=here.url, timeout=60) as client,
    ):
        first, second, other = (
            client.post("/api/facts", json={"text": text, "scope": scope}).json()["id"]
            for text, scope in (
                ("Tea is at four.", "global"),
                ("The gate is locked at night.", "global"),
                ("Coffee is at ten.", "user:ada"),
            )
        )
        answers = [
            client.post(f"/api/facts/{first}/supersede", json={"by": "f-0000000000000"}),
            client.post(f"/api/facts/{first}/supersede", json={"by": other}),
            client.post(f"/api/facts/{first}/supersede", json={"by": first}),
            client.post("/api/facts", json={"text": "No.", "supersedes": [other]}),
            client.post(f"/api/facts/{first}/supersede", json={"by": second}),
        ]

    assert [409, 409, 409, 409, 200] == [answer.status_code for answer in answers]
    assert {"conflict"} == {answer.json()["error"]["type"] for answer in answers[:4]}


@pytest.mark.parametrize(
    ("path", "message", "action"),
    [
        ("/api/search?query=x&maxResult=2", "'maxResult'", "Did you mean maxResults?"),
        ("/api/search?query=x&zzz=1", "'zzz'", "It takes asOf,"),
        ("/api/search", "query is missing.", "openapi"),
        ("/api/search?query=a&query=b", "query is given 2 times.", "openapi"),
        (
            "/api/search?query=%20%00",
            "query should be non-blank text of 1 to 4000 characters",
            "openapi",
        ),
        (
            "/api/search?query=x&maxResults=0",
            "maxResults should be greater than or equal to 1, not '0'.",
            "openapi",
        ),
        ("/api/search?query=x&maxResults=2.5", "maxResults should be a valid integer", "openapi"),
        (
            "/api/search?query=x&minScore=nan",
            "minScore should be less than or equal to 1, not 'nan'.",
            "openapi",
        ),
        ("/api/search?query=x&explain=maybe", "explain should be a valid boolean", "openapi"),
        ("/api/search?query=x&since=sometime", "a day such as", "openapi"),
        ("/api/search?query=x&since=2026-02-30", "a day such as", "openapi"),
        (
            "/api/search?query=x&fusion=best",
            "fusion should be 'calibrated', 'weighted' or 'rrf', not 'best'.",
            "openapi",
        ),
        ("/api/search?query=x&scope=ada", "global, user:NAME", "openapi"),
        ("/api/search?query=x&since=2026-02-02&before=2026-02-01", "No day is", "earlier"),
        (
            "/api/recall?prompt=x&budget=1",
            "budget should be greater than or equal to 60, not '1'.",
            "openapi",
        ),
        ("/health?verbose=1", "'verbose'", "openapi"),
    ],
)
def test_a_wrong_argument_is_named_with_what_to_do(
    path: str, message: str, action: str, server: Command
) -> None:
    answer = server.get(path)

    assert 400 == answer.status_code
    error = answer.json()["error"]
    assert message in error["message"]
    assert action in error["action"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "body is missing."),
        (b"{", "The body is not JSON."),
        (b'{"text": NaN}', "text should be non-blank text of 1 to 4000 characters, not nan."),
        (b"[" * 100_000, "The body is not JSON."),
        (b"\xff{}", "The body is not JSON."),
        (
            b'{"text": "\\udfff"}',
            "text should be non-blank text of 1 to 4000 characters, not '\\udfff'.",
        ),
        (b"[]", "body should be a valid dictionary or object to extract fields from, not []."),
        (b"{}", "text is missing."),
        (b'{"text": 1}', "text should be non-blank text of 1 to 4000 characters, not 1."),
        (
            b'{"text": "x", "category": "\\ud800"}',
            f"category should be one of {', '.join(CATEGORIES)}, not '\\ud800'.",
        ),
        (b'{"txt": "x"}', "There is no parameter 'txt' here."),
        (b'{"text": "x", "tags": "a"}', "tags should be a valid list, not 'a'."),
        (
            b'{"text": "x", "supersedes": ["1"]}',
            "supersedes.0 should be the id of a fact, not '1'.",
        ),
    ],
)
def test_a_wrong_body_is_refused(body: bytes, message: str, server: Command) -> None:
    answer = httpx.post(
        f"{server.url}/api/facts", content=body, headers={"Content-Type": "application/json"}
    )

    assert 400 == answer.status_code
    assert message == answer.json()["error"]["message"]


def test_a_path_that_leads_nowhere_names_the_description(server: Command) -> None:
    answer = server.get("/api/serch")

    assert 404 == answer.status_code
    assert "See /openapi.json." == answer.json()["error"]["action"]


def test_a_file_that_is_not_there_is_a_404(server: Command) -> None:
    answer = server.get("/api/file?path=memory/none.md")

    assert (404, "not_found") == (answer.status_code, answer.json()["error"]["type"])


def test_every_path_refuses_other_methods_and_names_its_own(server: Command) -> None:
    by_path: dict[str, set[str]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, set()).add(operation.method)
    wrong = {}
    for path, methods in by_path.items():
        for method in ("PUT", "PATCH", "OPTIONS", "TRACE"):
            answer = httpx.request(method, server.url + path.replace("{", "").replace("}", ""))
            allowed = set(answer.headers.get("allow", "").split(", "))
            expected = methods | ({"HEAD"} if "GET" in methods else set())
            if (answer.status_code, allowed) != (405, expected):
                wrong[method, path] = (answer.status_code, allowed)

    assert {} == wrong


def test_head_answers_like_get_without_a_body(server: Command) -> None:
    got = server.get("/api/file?path=MEMORY.md")
    head = httpx.head(f"{server.url}/api/file?path=MEMORY.md")

    assert 200 == head.status_code
    assert b"" == head.content
    assert got.headers["content-length"] == head.headers["content-length"]


def test_a_server_that_only_reads_writes_no_facts(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    options = ServeOptions("127.0.0.1", 0, is_read_only=True)
    with inside(workspace, environ, options) as here:
        wrote = httpx.post(f"{here.url}/api/facts", json={"text": "No."})
        forgot = httpx.delete(f"{here.url}/api/facts/f-06e5p3v8m1q0z")
        synced = httpx.post(f"{here.url}/api/sync", json={})

    assert (403, "read_only") == (wrote.status_code, wrote.json()["error"]["type"])
    assert 403 == forgot.status_code
    assert 202 == synced.status_code
    assert not (workspace / "memory" / "facts").exists()


def test_health_is_degraded_when_a_leg_did_not_run(
    workspace: Path, environ: Mapping[str, str], write: Callable[[str, str], Path]
) -> None:
    write("MEMORY.md", "The anchor is in the shed.")
    with inside(workspace, {**environ, "RECOLLECT_PROVIDER": "openai"}, HERE) as here:
        wait_until(lambda: here.memory.last_sync.at)
        found = httpx.get(f"{here.url}/api/search?query=anchor", timeout=60).json()
        health = httpx.get(f"{here.url}/health").json()
        metrics = httpx.get(f"{here.url}/metrics", timeout=60).text

    assert "keyword" == found["mode"]
    assert "degraded" == health["status"]
    assert 'recollect_searches_degraded_total{leg="vector"} 1' in metrics


def test_a_server_answers_from_a_personal_memory_too_and_sees_it_change(
    workspace: Path, environ: dict[str, str]
) -> None:
    notes = Path(environ["HOME"]) / "notes"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text("My dentist is Doctor Albers.\n", encoding="utf-8")
    (workspace / "MEMORY.md").write_text("The crane is orange.\n", encoding="utf-8")
    also = {**environ, "RECOLLECT_ALSO": "~/notes", "RECOLLECT_PROVIDER": "none"}
    with inside(workspace, also, HERE) as here:

        def ask(operation: str, **params: str) -> dict[str, Any]:
            shape: dict[str, Any] = httpx.get(f"{here.url}/api/{operation}", params=params).json()
            return shape

        wait_until(lambda: here.memory.state == "idle")
        [hit] = ask("search", query="who is my dentist", highlight="true")["results"]
        read = ask("file", path=hit["path"])
        asked = printed_by(workspace, also, "search", "who is my dentist")
        status = ask("status")
        (notes / "MEMORY.md").write_text("My dentist is Doctor Birk.\n", encoding="utf-8")
        wait_until(lambda: "Birk" in str(ask("search", query="who is my dentist")))

    assert ("~/notes/MEMORY.md", "~/notes") == (hit["path"], hit["memory"])
    assert "My dentist is Doctor Albers." == read["text"]
    assert ["~/notes/MEMORY.md"] == [each["path"] for each in asked["results"]]
    assert {"~/notes": {"documents": 1, "chunks": 1}} == status["also"]
