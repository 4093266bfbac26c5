"""`recollect serve --memories`: every operation, every token, and no way into another memory."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.postgres.serving import Served, serving
from tests.support.postgres import host_of

from recollect.errors import StoreError
from recollect.hosting.host import MemoryHost
from recollect.shells import hosted
from recollect.shells.http.many import MANY_OPERATIONS, ROOT
from recollect.shells.mcp.tools import tools_for
from recollect.stores.postgres.connect import Session, shown
from recollect.stores.postgres.pushed import PostgresPushed
from recollect.stores.pushed import MemoryLimits, PushedChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
import psycopg

NOTE = "memory/2026-02-01.md"
TEXT = "# Harbour\n\nThe lighthouse was painted red.\n"
LEDGER = "memory/facts/other.md"
SECRET = "zanzibar"  # noqa: S105 - a word that only another memory contains
NO_FACT = "f-0000000000000"
VALUES = {"path": NOTE, "id": NO_FACT}
BODIES: dict[str, dict[str, object]] = {
    "put_document": {"text": TEXT},
    "change_documents": {"changes": [{"path": "memory/b.md", "text": "B."}]},
    "remember": {"text": "The boat is called Otter."},
    "supersede": {"by": "f-0000000000001"},
    "feedback": {"query": "Where is the boat?", "citation": f"{NOTE}#L1", "right": True},
}
QUERIES = {
    "search": {"query": f"{SECRET} lighthouse"},
    "recall_block": {"prompt": f"{SECRET} lighthouse"},
    "file": {"path": NOTE},
    "related": {"path": NOTE},
}
OF_MEMORIES = [each for each in MANY_OPERATIONS if each.path.startswith("/api/")]


@pytest.fixture
def served(host: MemoryHost) -> Iterator[Served]:
    with serving(host) as server:
        yield server


def ask(client: httpx.Client, operation: Any, agent: str) -> httpx.Response:
    name = operation.run.__name__
    path = operation.path.replace("{agent}", agent)
    path = re.sub(r"\{(\w+)\}", lambda found: VALUES[found[1]], path)
    body = BODIES.get(name, {}) if operation.takes_body else None
    return client.request(operation.method, path, json=body, params=QUERIES.get(name))


def test_every_operation_works_with_the_token_of_its_memory(served: Served, tenant: str) -> None:
    root = ROOT.replace("{agent}", tenant)
    wrong: list[str] = []
    with served.client(served.token(tenant)) as client:
        assert 201 == client.put(f"{root}/documents/{NOTE}", json={"text": TEXT}).status_code
        for each in sorted(OF_MEMORIES, key=lambda each: each.method == "DELETE"):
            answer = ask(client, each, tenant)
            # There is no such fact; what is said of hits, and pictures, are only kept beside notes.
            needs_notes = each.path.endswith(("/feedback", "/picture"))
            refused = (404, 409) if "{id}" in each.path else (400,) * needs_notes
            if answer.status_code not in (200, each.status, *refused):
                wrong.append(f"{each.method} {each.path}: {answer.status_code} {answer.text}")
            if shown(served.url) in answer.text or "postgresql" in answer.text:
                wrong.append(f"{each.path} shows the database: {answer.text}")
        with served.client(None) as anyone:
            assert "ok" == anyone.get("/health").json()["status"]
            counters = anyone.get("/metrics").text
            described = anyone.get("/openapi.json").json()["paths"]

    assert [] == wrong
    assert tenant not in counters
    assert f'route="{ROOT}/search"' in counters
    assert {each.path for each in MANY_OPERATIONS} == set(described)


def test_without_the_right_token_every_operation_of_a_memory_is_refused(
    served: Served, tenant: str
) -> None:
    other = f"{tenant}-other"
    with served.client(served.token(other)) as theirs:
        path = f"{ROOT.replace('{agent}', other)}/documents/memory/secret.md"
        theirs.put(path, json={"text": f"The {SECRET} lighthouse."})
    right = served.token(tenant)
    now = datetime.now(tz=UTC)
    yesterday, earlier = now - timedelta(days=1), now - timedelta(days=2)
    expired = served.token(tenant, expires=yesterday, now=earlier)
    bad = [None, "wrong", right[:-1] + ("0" if right[-1] != "0" else "1"), expired, right.upper()]
    wrong: list[str] = []
    for token in bad:
        with served.client(token) as client:
            wrong += [
                f"{each.method} {each.path} with {token}: {got}"
                for each in OF_MEMORIES
                if 401 != (got := ask(client, each, tenant).status_code)
            ]
    with served.client(right) as client:
        for each in OF_MEMORIES:
            answers = [ask(client, each, agent) for agent in (other, f"{tenant}-nobody")]
            if "{agent}" in each.path and {403} != {each.status_code for each in answers}:
                wrong.append(f"{each.method} {each.path}: {answers}")
            if answers[0].text != answers[1].text and "{agent}" in each.path:
                wrong.append(f"{each.path} tells which memories exist")
            if "The zanzibar" in answers[0].text:
                wrong.append(f"{each.path} shows another memory")
    with served.client(served.token(other)) as theirs:
        listed = theirs.get(f"{ROOT.replace('{agent}', other)}/manifest").json()["documents"]

    assert [] == wrong
    assert ["memory/secret.md"] == [each["path"] for each in listed]


def test_a_read_only_token_writes_nothing(served: Served, tenant: str) -> None:
    with served.client(served.token(tenant, read_only=True)) as client:
        got = {
            (each.method, each.path): ask(client, each, tenant).status_code for each in OF_MEMORIES
        }
        empty = client.get(f"{ROOT.replace('{agent}', tenant)}/manifest").json()

    assert {403} == {got[each.method, each.path] for each in OF_MEMORIES if each.writes}
    assert {"documents": []} == empty


def test_a_token_of_one_scope_sees_no_fact_of_another(served: Served, tenant: str) -> None:
    root = ROOT.replace("{agent}", tenant)
    with served.client(served.token(tenant)) as owner:
        for who in ("ada", "bob"):
            said = {"text": f"{who} has a boat called {who}boat.", "scope": f"user:{who}"}
            assert 201 == owner.post(f"{root}/facts", json=said).status_code
    page = f"{root}/documents/{LEDGER}"
    with served.client(served.token(tenant, scopes=("user:ada",))) as ada:
        texts = [ask(ada, each, tenant).text for each in OF_MEMORIES if each.method == "GET"]
        texts.append(ada.get(f"{root}/search", params={"query": "boat bobboat"}).text)
        texts.append(ada.get(f"{root}/file", params={"path": LEDGER}).text)
        seen = ada.get(f"{root}/facts").json()["facts"]
        refused = [
            ada.get(page),
            ada.put(page, json={"text": "- Mine\n"}),
            ada.delete(page),
            ada.post(f"{root}/documents", json={"changes": [{"path": LEDGER, "delete": True}]}),
            ada.get(f"{root}/facts", params={"scope": "user:bob"}),
        ]

    assert [] == [text for text in texts if "has a boat called bobboat" in text]
    assert ["ada has a boat called adaboat."] == [each["text"] for each in seen]
    assert [403] * 5 == [each.status_code for each in refused]


def test_facts_of_another_scope_change_no_answer_to_a_token(served: Served, tenant: str) -> None:
    root = ROOT.replace("{agent}", tenant)
    reads = [each for each in OF_MEMORIES if each.method == "GET"]
    with (
        served.client(served.token(tenant)) as owner,
        served.client(served.token(tenant, scopes=("user:ada",))) as ada,
    ):

        def answers() -> dict[str, str]:
            told = {each.path: ask(ada, each, tenant).text for each in reads}
            told |= {tool: str(call(ada, tenant, tool, **given)) for tool, given in SEEN.items()}
            return {name: _TIMES.sub("", text) for name, text in told.items()}

        owner.put(f"{root}/documents/{NOTE}", json={"text": TEXT})
        owner.post(f"{root}/facts", json={"text": "Ada has a boat.", "scope": "user:ada"})
        before = answers()
        for category in ("other", "decision", "preference"):
            said = {"text": f"Bob has a {category}.", "scope": "user:bob", "category": category}
            assert 201 == owner.post(f"{root}/facts", json=said).status_code
        after = answers()

    changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    assert {} == changed


def test_a_revoked_token_ends_at_once(served: Served, tenant: str, host: MemoryHost) -> None:
    token = served.token(tenant)
    with served.client(token) as client:
        before = client.get(f"{ROOT.replace('{agent}', tenant)}/manifest").status_code
        host.database.revoke_token(token.split("_")[1])
        after = client.get(f"{ROOT.replace('{agent}', tenant)}/manifest").status_code

    assert (200, 401) == (before, after)


def test_only_a_digest_of_a_token_is_stored(served: Served, tenant: str, host: MemoryHost) -> None:
    token = served.token(tenant)
    _, token_id, secret = token.split("_")

    found = host.database.find_token(token_id)

    assert found is not None
    assert secret.encode() not in found[1]
    assert bytes.fromhex(secret) not in found[1]


def test_documents_have_etags_and_conditions(served: Served, tenant: str) -> None:
    root = ROOT.replace("{agent}", tenant)
    place = f"{root}/documents/memory/Größe%20%26%20more.md"
    with served.client(served.token(tenant)) as client:
        made = client.put(place, json={"text": "One."}, headers={"If-None-Match": "*"})
        tag = made.headers["etag"]
        again = client.put(place, json={"text": "Two."}, headers={"If-None-Match": "*"})
        late = client.put(place, json={"text": "Two."}, headers={"If-Match": '"0"'})
        ok = client.put(place, json={"text": "Two."}, headers={"If-Match": tag})
        stale = client.delete(place, headers={"If-Match": tag})
        old = client.get(place, params={"version": 1}).json()["text"]
        versions = client.get(place.replace("/documents/", "/versions/")).json()["documents"]
        bad = client.put(place, json={"text": "No."}, headers={"If-Match": "unquoted"})
        gone = client.delete(place, headers={"If-Match": ok.headers["etag"]})
        missing = client.get(place)

    got = [made, again, late, ok, stale, bad, gone, missing]
    assert [201, 412, 412, 200, 412, 400, 200, 404] == [each.status_code for each in got]
    assert ("One.", [2, 1]) == (old, [each["version"] for each in versions])


@pytest.mark.parametrize(
    "path",
    [
        "..%2F..%2Fetc.md", "%2Fetc%2Fpasswd.md", "a%00.md", ".hidden.md", "a%1b.md",
        "memory%5Ca.md", "a%ff.md", "a%ed%a0%80.md",
    ],
)  # fmt: skip
def test_a_path_from_a_client_is_not_trusted(served: Served, tenant: str, path: str) -> None:
    with served.client(served.token(tenant)) as client:
        answer = client.put(
            f"{ROOT.replace('{agent}', tenant)}/documents/{path}", json={"text": "No."}
        )

        listed = client.get(f"{ROOT.replace('{agent}', tenant)}/manifest").json()

    assert 400 == answer.status_code
    assert answer.json()["error"]["action"]
    assert {"documents": []} == listed


def test_what_is_too_much_is_refused_with_a_next_step(
    tenant: str, environ: dict[str, str], host: MemoryHost
) -> None:
    few = {
        "store": host.config.store,
        "provider": "none",
        "limits.documents": 1,
        "limits.requests_per_minute": 3,
    }
    root = ROOT.replace("{agent}", tenant)
    large = "x" * (2 * 1024 * 1024 + 1)
    with (
        type(host).open(settings=few, environ=environ) as limited,
        serving(limited) as served,
        served.client(served.token(tenant)) as client,
    ):
        ok = client.put(f"{root}/documents/a.md", json={"text": "A."})
        full = client.put(f"{root}/documents/b.md", json={"text": "B."})
        too_large = client.put(f"{root}/documents/a.md", json={"text": large})
        often = client.get(f"{root}/manifest")
    with serving(host) as served, served.client(served.token(tenant)) as client:
        larger = client.put(f"{root}/documents/a.md", json={"text": large + large})
        changes = {"changes": [{"path": "a.md", "text": large}]}
        one_of_many = client.post(f"{root}/documents", json=changes)

    answers = (ok, full, too_large, often, larger, one_of_many)
    assert [201, 507, 413, 429, 413, 413] == [each.status_code for each in answers]
    assert all(each.json()["error"]["action"] for each in answers[1:])
    assert int(often.headers["retry-after"]) >= 1


def test_a_memory_that_waits_leaves_room_for_the_others(
    host: MemoryHost, served: Served, address: str, tenant: str
) -> None:
    most = hosted._MOST_OF_ONE + hosted._MOST_WAITING
    other = f"{tenant}-other"
    with (
        ThreadPoolExecutor(most + 1) as pool,
        host.memory(tenant) as memory,
        served.client(served.token(tenant)) as client,
        served.client(served.token(other)) as quiet,
    ):
        memory.pushed.write([PushedChange(NOTE, b"The lamp.")])
        with PostgresPushed(Session(host_of(address), tenant), limits=MemoryLimits()).changing():
            puts = [
                pool.submit(
                    client.put,
                    f"/api/memories/{tenant}/documents/memory/{n}.md",
                    json={"text": "x"},
                )
                for n in range(most + 1)
            ]
            refused = next(as_completed(puts)).result()
            answered = quiet.get(f"/api/memories/{other}/manifest").status_code
            ended = [each for each in puts if each.done()]
        stored = sorted(each.result().status_code for each in puts)

    assert (429, "1") == (refused.status_code, refused.headers["retry-after"])
    assert "several changes in one request" in refused.json()["error"]["action"]
    assert 200 == answered
    assert 1 == len(ended)
    assert [*([201] * most), 429] == stored


def test_the_counters_are_for_the_operator(host: MemoryHost, tenant: str) -> None:
    operator = "0123456789abcdef0123456789abcdef"
    with (
        serving(host, token=operator) as served,
        served.client(None) as anyone,
        served.client(operator) as known,
    ):
        with served.client(served.token(tenant)) as client:
            client.get(f"{ROOT.replace('{agent}', tenant)}/search", params={"query": "lamp"})
        got = [anyone.get("/metrics"), known.get("/metrics"), anyone.get("/health")]
        memory = known.get(f"{ROOT.replace('{agent}', tenant)}/manifest")

    assert [401, 200, 200] == [each.status_code for each in got]
    assert 401 == memory.status_code
    assert 'recollect_memory_search_seconds_count{size="small"} 1' in got[1].text
    assert tenant not in got[1].text


def test_a_role_that_may_not_serve_is_refused_at_the_start(
    address: str, environ: dict[str, str]
) -> None:
    settings = {"store": address, "provider": "none"}

    with pytest.raises(StoreError) as raised:
        MemoryHost.open(settings=settings, environ=environ)

    assert "The role agent" in raised.value.message
    database = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
    assert f"GRANT recollect_server_{database} TO agent" in raised.value.action


def test_behind_a_proxy_the_counters_are_not_for_everybody(host: MemoryHost) -> None:
    with serving(host, names=("memories.example",)) as served, served.client(None) as anyone:
        proxied = {"Host": "memories.example"}
        got = [anyone.get(path, headers=proxied) for path in ("/metrics", "/health")]

    assert [401, 200] == [each.status_code for each in got]


def test_a_document_is_purged_with_its_versions(served: Served, tenant: str) -> None:
    root = ROOT.replace("{agent}", tenant)
    with served.client(served.token(tenant)) as client:
        for text in ("One.", "Two.", "Three."):
            client.put(f"{root}/documents/{NOTE}", json={"text": text})
        earlier = client.delete(f"{root}/versions/{NOTE}", params={"keepCurrent": "true"}).json()
        client.delete(f"{root}/documents/{NOTE}")
        deleted = client.get(f"{root}/manifest", params={"deleted": "true"}).json()["documents"]
        purged = client.delete(f"{root}/versions/{NOTE}")
        again = client.delete(f"{root}/versions/{NOTE}")
        kept = client.get(f"{root}/versions/{NOTE}")

    assert {"path": NOTE, "versions": 2} == earlier
    assert [(NOTE, 3)] == [(each["path"], each["version"]) for each in deleted]
    assert [200, 404, 404] == [each.status_code for each in (purged, again, kept)]


def test_text_with_nul_is_refused(served: Served, tenant: str) -> None:
    place = f"{ROOT.replace('{agent}', tenant)}/documents/{NOTE}"
    with served.client(served.token(tenant)) as client:
        refused = client.put(place, json={"text": "a\0b"})

    assert (400, "usage") == (refused.status_code, refused.json()["error"]["type"])


def call(client: httpx.Client, agent: str, tool: str, **given: object) -> Any:
    """Call a tool; return the status, or what the tool answers."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": given},
    }
    accepted = {"Accept": "application/json, text/event-stream"}
    path = f"{ROOT.replace('{agent}', agent)}/mcp"
    answer = client.post(path, json=message, headers=accepted)
    return answer.text if answer.status_code == 200 else answer.status_code


_TIMES = re.compile(r'"(?:tookMs|took|asOf|startedAt)": ?[^,}]*|\d+ ms')
SEEN: dict[str, dict[str, object]] = {
    "memory_search": {"query": "boat lighthouse"},
    "memory_status": {},
    "memory_feedback": {"query": "zanzibar", "citation": "memory/secret.md#L1", "right": True},
    "search": {"query": "boat lighthouse"},
}
TOOLS: dict[str, dict[str, object]] = {
    "memory_search": {"query": "zanzibar lighthouse"},
    "memory_get": {"path": "memory/secret.md"},
    "memory_remember": {"text": "The boat is called Otter."},
    "memory_forget": {"id": NO_FACT},
    "memory_status": {},
    "memory_feedback": {"query": "zanzibar", "citation": "memory/secret.md#L1", "right": True},
    "search": {"query": "zanzibar lighthouse"},
    "fetch": {"id": "memory/secret.md"},
}


def test_the_tools_of_a_memory_need_its_token_and_see_no_other(served: Served, tenant: str) -> None:
    other = f"{tenant}-other"
    place = f"{ROOT.replace('{agent}', other)}/documents/memory/secret.md"
    with served.client(served.token(other)) as theirs:
        theirs.put(place, json={"text": "The zanzibar lighthouse."})
        seen = call(theirs, other, "memory_search", query="lighthouse")
    with served.client(served.token(tenant)) as mine, served.client(None) as anyone:
        own = {tool: call(mine, tenant, tool, **given) for tool, given in TOOLS.items()}
        refused = {call(mine, other, tool, **given) for tool, given in TOOLS.items()}
        nobody = {call(anyone, tenant, tool, **given) for tool, given in TOOLS.items()}
        listed = mine.get(f"{ROOT.replace('{agent}', tenant)}/mcp").status_code
    with served.client(served.token(tenant, read_only=True)) as reader:
        written = call(reader, tenant, "memory_remember", text="No.")

    assert {tool.name for tool in tools_for(read_only=False)} == set(TOOLS)
    assert "The zanzibar" in seen
    assert [] == [tool for tool, text in own.items() if "The zanzibar" in str(text)]
    assert "Otter" in own["memory_remember"]
    assert ({403}, {401}, 405) == (refused, nobody, listed)
    assert "Unknown tool" in str(written)
