"""Who may do what: every operation, with and without a token, a scope and the right to write.

Another user's facts must not show in any answer, not even as a count, a size or a date. That is
checked twice: no answer contains a word of theirs, and every answer is the same whether they have
facts or not.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.http.servers import inside
from tests.support.waiting import wait_until

from recollect import Memory
from recollect.shells.http.operations import OPERATIONS
from recollect.shells.http.server import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ADA, BOB = "user:ada", "user:bob"
TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - of this test alone
RIGHT = {"Authorization": f"Bearer {TOKEN}"}
LEDGER = "memory/facts/fact.md"
BOBS_FILE = "memory/facts/preference.md"
HIDDEN_WORDS = {
    ADA: ("zanzibar", "vault", "opal", "2031-05", "bobkey", "bobtag", "user:bob"),
    BOB: ("green", "sold"),
}
WORDS = "boat harbour"


@dataclass(frozen=True)
class Asked:
    """A request to an operation: how it is made, and what the owner gets."""

    params: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """The parameters in its path; `{ada}`, `{bob}` and so on stand for the ids of facts."""
    status: int = 200
    for_ada: int | None = None
    """What a server for ada answers, if that differs."""
    for_bob: int | None = None

    def expected(self, scope: str | None) -> int:
        """Return the status that a server for this scope answers with."""
        own = {ADA: self.for_ada, BOB: self.for_bob}.get(scope or "")
        return self.status if own is None else own


ANY = Asked()
REQUESTS: dict[tuple[str, str], tuple[Asked, ...]] = {
    ("GET", "/health"): (ANY,),
    ("GET", "/api/status"): (ANY, Asked({"deep": "true"})),
    ("GET", "/metrics"): (ANY,),
    ("GET", "/openapi.json"): (ANY,),
    ("GET", "/api/search"): (
        Asked({"query": WORDS, "minScore": 0, "explain": "true"}),
        Asked({"query": "zanzibar", "minScore": 0}),
        Asked({"query": WORDS, "scope": ADA}, for_bob=403),
        Asked({"query": WORDS, "scope": BOB}, for_ada=403),
        Asked({"query": WORDS, "includeSuperseded": "true", "source": "facts", "minScore": 0}),
        Asked({"query": WORDS, "asOf": "2031-06-01", "minScore": 0}),
    ),
    ("GET", "/api/recall"): (Asked({"prompt": WORDS}), Asked({"prompt": "the zanzibar vault"})),
    ("GET", "/api/file"): (
        Asked({"path": LEDGER}),
        Asked({"path": BOBS_FILE}, for_ada=404),
        Asked({"path": "memory/notes.md"}),
    ),
    ("GET", "/api/facts"): (
        ANY,
        Asked({"includeSuperseded": "true"}),
        Asked({"scope": BOB}, for_ada=403),
        Asked({"category": "nothing-of-the-kind"}, status=400),
        Asked({"text": "zanzibar"}),
    ),
    ("GET", "/api/facts/{id}"): (
        Asked(names={"id": "{ada}"}, for_bob=404),
        Asked(names={"id": "{bob}"}, for_ada=404),
    ),
    ("GET", "/api/documents"): (
        ANY,
        Asked({"source": "facts"}),
        Asked({"scope": ADA, "source": "facts"}, for_bob=403),
        Asked({"since": "2031-01-01"}),
    ),
    ("GET", "/api/timeline"): (ANY, Asked({"scope": ADA}, for_bob=403)),
    ("GET", "/api/map"): (ANY, Asked({}), Asked({"scope": BOB}, for_ada=403)),
    ("GET", "/api/related"): (
        Asked({"path": "memory/notes.md"}),
        Asked({"path": LEDGER}),
        Asked({"path": LEDGER, "scope": BOB}, for_ada=403),
    ),
    ("GET", "/api/picture"): (Asked({"path": "vault.png"}, status=404),),
    ("GET", "/api/tidy"): (ANY,),
    ("GET", "/"): (ANY,),
    ("GET", "/static/{name}"): (Asked(names={"name": "main.js"}),),
    # What writes comes last: it changes what the others show.
    ("POST", "/api/feedback"): (
        Asked(body={"query": WORDS, "citation": "memory/notes.md#L3", "right": True}),
        Asked(body={"query": WORDS, "citation": BOBS_FILE, "right": True}, for_ada=404),
    ),
    ("POST", "/api/facts"): (
        Asked(
            body={"text": "The opal vault is in Zanzibar.", "scope": ADA}, status=201, for_bob=403
        ),
        Asked(body={"text": "Mine.", "scope": BOB}, status=201, for_ada=403),
        Asked(body={"text": "Mine.", "supersedes": ["{bob}"]}, status=409),
    ),
    ("POST", "/api/facts/{id}/supersede"): (
        Asked(names={"id": "{bob}"}, body={"by": "{ada}"}, status=409, for_ada=404),
        Asked(names={"id": "{ada}"}, body={"by": "{bob}"}, status=409, for_bob=404),
        Asked(names={"id": "{ada}"}, body={"by": "{later}"}, for_bob=404),
    ),
    ("POST", "/api/facts/{id}/restore"): (
        Asked(names={"id": "{ada}"}, body={}, for_bob=404),
        Asked(names={"id": "{bob}"}, body={}, status=409, for_ada=404),
    ),
    ("DELETE", "/api/facts/{id}"): (
        Asked(names={"id": "{later}"}, for_bob=404),
        Asked(names={"id": "{bob}"}, for_ada=404),
    ),
    ("POST", "/api/sync"): (Asked(body={}, status=202),),
}


@dataclass
class World:
    """A workspace with facts of three scopes, to which bob's can be added."""

    workspace: Path
    environ: Mapping[str, str]
    ids: dict[str, str]

    def add_bob(self) -> None:
        """Write bob's facts after those of the others, and a file of his alone."""
        with Memory.open(self.workspace, environ=self.environ) as memory:
            after = datetime(2031, 5, 5, tzinfo=UTC)
            said = memory.facts.remember(
                "The zanzibar boat is in the harbour vault.",
                category="fact",
                entity="opal",
                key="bobkey",
                value="zanzibar",
                tags=("bobtag",),
                scope=BOB,
            )
            memory.facts.remember(
                "The opal boat moves in 2031.", category="fact", scope=BOB, valid_from=after
            )
            memory.facts.remember("No boat in the vault.", category="preference", scope=BOB)
            self.ids["bob"] = said.fact.id

    @contextlib.contextmanager
    def served(self, **options: Any) -> Iterator[httpx.Client]:
        """Serve it; yields a client that brings the token, if there is one."""
        headers = RIGHT if options.get("token") else {}
        serving = ServeOptions("127.0.0.1", 0, **options)
        with (
            inside(self.workspace, self.environ, serving) as here,
            httpx.Client(base_url=here.url, timeout=60, headers=headers) as client,
        ):
            wait_until(lambda: here.memory.state == "idle")
            yield client


@pytest.fixture
def world(workspace: Path, environ: dict[str, str]) -> World:
    (workspace / "memory" / "notes.md").write_text("# Boats\n\nOne boat is in the harbour.\n")
    (workspace / "memory-cases.jsonl").write_text(
        json.dumps({"query": WORDS, "expected": ["memory/notes.md"]}) + "\n"
    )
    environ = {**environ, "RECOLLECT_PROVIDER": "none"}
    with Memory.open(workspace, environ=environ) as memory:

        def remember(text: str, scope: str) -> str:
            return memory.facts.remember(text, category="fact", scope=scope).fact.id

        ids = {
            "global": remember("The harbour of the boat opens at nine.", "global"),
            "ada": remember("Ada's boat is green.", ADA),
            "later": remember("Ada sold a boat.", ADA),
        }
    return World(workspace, environ, {**ids, "bob": "f-0000000000000"})


def send(client: httpx.Client, at: tuple[str, str], asked: Asked, ids: Mapping[str, str]) -> Any:
    method, path = at
    body = asked.body
    if body is not None:
        body = json.loads(re.sub(r"\{(\w+)\}", lambda m: ids[m[1]], json.dumps(body)))
    names = {name: value.format(**ids) for name, value in asked.names.items()}
    return client.request(method, path.format(**names), params=dict(asked.params), json=body)


def every(client: httpx.Client, world: World) -> Iterator[tuple[str, tuple[str, str], Asked, Any]]:
    """Make every request."""
    for at, requests in REQUESTS.items():
        for asked in requests:
            name = f"{' '.join(at)} {dict(asked.params)} {asked.body}"
            yield name, at, asked, send(client, at, asked, world.ids)


def test_every_operation_is_in_the_matrix() -> None:
    assert {(each.method, each.path) for each in OPERATIONS} == set(REQUESTS)


@pytest.mark.parametrize(
    ("scope", "read_only"), [(None, False), (ADA, False), (BOB, False), (ADA, True)]
)
def test_every_operation_asks_for_the_token_the_scope_and_the_right_to_write(
    world: World, scope: str | None, *, read_only: bool
) -> None:
    world.add_bob()
    writing = {(each.method, each.path) for each in OPERATIONS if each.writes}
    scopes = frozenset({scope}) if scope else None
    wrong: list[str] = []
    with world.served(scopes=scopes, is_read_only=read_only, token=TOKEN) as client:
        wrong += without_the_token(client, world)
        for name, at, asked, answer in every(client, world):
            expected = 403 if read_only and at in writing else asked.expected(scope)
            if answer.status_code != expected:
                wrong.append(f"{name}: {answer.status_code}, not {expected}: {answer.text[:200]}")
            if leaked := hidden_words(answer.text, asked, scope):
                wrong.append(f"{name} shows {leaked}")

    assert [] == wrong


def without_the_token(client: httpx.Client, world: World) -> Iterator[str]:
    """Yield what is answered without the token, or with a wrong one, and should not be."""
    for given in (None, "Bearer wrong-token-wrong-token", f"Basic {TOKEN}", TOKEN):
        with httpx.Client(base_url=client.base_url, timeout=60) as barred:
            barred.headers.update({"Authorization": given} if given else {})
            for each in OPERATIONS:
                at = (each.method, each.path)
                asked = REQUESTS[at][0]
                got = send(barred, at, asked, world.ids).status_code
                if got != (asked.status if each.is_public else 401):
                    yield f"{at} with {given}: {got}"


def hidden_words(said: str, asked: Asked, scope: str | None) -> list[str]:
    """Return which words of others an answer contains that the request did not."""
    own = json.dumps([dict(asked.params), asked.body]).lower()
    hidden = HIDDEN_WORDS.get(scope or "", ())
    return [word for word in hidden if word in said.lower() and word not in own]


def test_every_answer_to_ada_is_the_same_whether_bob_has_facts_or_not(
    world: World, tmp_path: Path
) -> None:
    facts = world.workspace / "memory" / "facts"

    def answers() -> dict[str, str]:
        shutil.copytree(facts, tmp_path / "before", dirs_exist_ok=True)
        with world.served(scopes=frozenset({ADA})) as client:
            wait_until(lambda: "recollect_index_chunks" in client.get("/metrics").text)
            found = {
                name: comparable(answer.text, world) for name, _, _, answer in every(client, world)
            }
        shutil.rmtree(facts)
        (tmp_path / "before").rename(facts)
        shutil.rmtree(Path(world.environ["RECOLLECT_HOME"]) / "cases")  # what ada said of a hit
        return found

    without = answers()
    world.add_bob()
    with_bob = answers()

    differing = [name for name in without if without[name] != with_bob[name]]

    assert [] == differing


_MOVING_METRICS = ("recollect_http_request", "recollect_last_sync", "recollect_worker")
_MOVING = re.compile(
    r'"(tookMs|lastSyncAt|created_at|last_active_at|created|validFrom|validUntil|latencyMs|worker|atWork)"'
    r':("[^"]*"|[-0-9.e]+|null)'
)

# Earlier requests make the worker sync, which may still be under way.
_WORKER_STATE = re.compile(r'("worker":\{"state"):"(?:syncing|idle)"')


def comparable(said: str, world: World) -> str:
    """Return an answer without times and the ids of new facts."""
    for name, known in world.ids.items():
        said = said.replace(known, f"<{name}>")
    said = re.sub(r"f-[0-9a-z]{13}", "<new>", said)
    said = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.+Z-]+", "<time>", said)
    said = "\n".join(line for line in said.splitlines() if not line.startswith(_MOVING_METRICS))
    said = _WORKER_STATE.sub(r"\1:0", said)
    return _MOVING.sub(r'"\1":0', said)
