"""What Citus needs to shard by tenant, checked on any PostgreSQL.

Every statement of the store is collected and planned for the superuser, without the policies. The
planner derives what holds for each table from all conditions of a statement, as Citus's does: a
scan that is not restricted to one tenant would have to ask all shards.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest
from tests.support.notes import (
    chunk_of,
    document_of,
    drop_document,
    keyword_pool,
    known_document,
    put_document,
    vector_pool,
)
from tests.support.postgres import CITUS, host_of, owner_of

from recollect.ingest.lease import beat, give_back, take
from recollect.stores import notes, postgres
from recollect.stores.base import DocumentWrite, Holder, SpaceTexts, SpaceVectors, published_in
from recollect.stores.postgres import segments
from recollect.stores.postgres.adapt import register
from recollect.stores.postgres.connect import Session, parameters, run
from recollect.stores.postgres.pushed import _DROP_OLDEST, PostgresPushed
from recollect.stores.postgres.schema import SCHEMA, TABLES
from recollect.stores.pushed import MemoryLimits, PushedChange
from recollect.types import Background, FactMark, Fingerprint, Phrase, Scope, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.postgres.conftest import Statement

    from recollect.stores.postgres import PostgresStore

    Open = Callable[[str], PostgresStore]

SPACE = Fingerprint("test", "citus", 8, "plain")
OTHER = Fingerprint("test", "citus-other", 8, "plain")
WITHOUT_STATEMENTS = {
    *("close", "is_replacement", "is_shared", "is_writable", "location", "patience"),
    *("recovering", "share", "snapshot"),
}
SPANS_TENANTS = ("queue", "tokens", "migrations")
"""Tables of the server and the schema: not sharded, and not used by a search."""


def exercise(store: PostgresStore) -> None:
    """Call everything that a store can do."""
    fact = FactMark("f1", "global", datetime(2026, 1, 1, tzinfo=UTC), None, superseded_by="")
    chunks = [
        chunk_of("memory/a.md", "lamp of brass"),
        replace(chunk_of("memory/a.md", "lamp of glass", line=2), media="aa" * 32),
        replace(chunk_of("memory/a.md", "lamp of tin", line=3), fact=fact),
    ]
    document = document_of("memory/a.md", "lamp")
    put_document(store, document, chunks, recipe="r")
    store.put_many([DocumentWrite(document, chunks, "r")], jointly=True)
    put_document(store, document_of("memory/b.md"), [chunk_of("memory/b.md", "boat")], recipe="r")
    store.put_many([DocumentWrite(document, None, "")])
    _embed_and_search(store)
    _keep_and_lease(store)
    store.prune(keep=[SPACE])
    known = known_document(store, "memory/a.md", source=SourceKind.MEMORY)
    assert known is not None
    store.drop_many([known])
    drop_document(store, "memory/b.md")
    store.chunks_of("memory/b.md", source=SourceKind.MEMORY)
    assert {} == store.known()
    store.clear()


def _embed_and_search(store: PostgresStore) -> None:
    vectors = np.eye(3, 8, dtype=np.float32)
    missing = [
        *store.missing(SpaceTexts(SPACE), limit=9),
        *store.missing(SpaceTexts(SPACE, media=True), limit=9),
    ][:3]
    digests = [each.digest for each in missing]
    for space in (SPACE, OTHER):
        store.put_vectors(space, digests=digests, vectors=vectors, words=[b"code"] * 3)
        store.missing(SpaceTexts(space), limit=9)
    store.put_background(SPACE, Background(0.1, 0.1))
    store.publish(SPACE)
    assert SPACE in store.spaces()
    assert published_in(store.spaces()) == SPACE
    scopes = (
        Scope(),
        Scope(source=SourceKind.MEMORY, since=date(2020, 1, 1), before=date(2030, 1, 1)),
        Scope(path="memory/*.md", phrases=(Phrase("lamp", ("lamp",), ("lamp",)),)),
        Scope(as_of=datetime(2026, 2, 1, tzinfo=UTC), phrases=(Phrase("x", ("x",), ()),)),
        Scope(audience=frozenset({"other"}), with_superseded=True),
    )
    for scope in scopes:
        found = keyword_pool(store, ["lamp", "boat"], scope=scope, limit=9).keys
        near = vector_pool(store, SPACE, vector=vectors[0], scope=scope, limit=9).keys
        unit = np.eye(1, 8, dtype=np.float32)
        with store.snapshot():  # as a search does, which asks for some texts at its end
            store.propose(["lamp", "shed"], asked=SpaceVectors(SPACE, unit), scope=scope, limit=9)
            loaded = store.load(found, terms=["lamp"], fingerprint=SPACE)
            assert loaded.ask_texts is not None
            loaded.ask_texts(found)
        assert len(found) == len([chunk.text for chunk in loaded.chunks])
        store.load([*found, *near], terms=["lamp"], fingerprint=SPACE)
        store.load(found, terms=["lamp"], fingerprint=None)
        store.word_codes(SPACE, keys=found)
        store.holds(scope)
        store.documents(scope, limit=9, offset=0)
        store.days(scope)
        store.superseded(scope)
        store.embedded(SPACE, scope=scope)


def _keep_and_lease(store: PostgresStore) -> None:
    notes.put_batch(store, SPACE, "batch", {"aa"})
    notes.batches(store, SPACE)
    notes.drop_batch(store, SPACE, "batch")
    notes.put_refused(store, SPACE, {"aa"})
    notes.refused(store, SPACE)
    notes.claim(store, "/workspace")
    notes.workspace_of(store)
    store.status(SpaceTexts(SPACE, media=True), audience=frozenset({"global"}))
    store.status(SpaceTexts(SPACE))
    store.coverage(SpaceTexts(SPACE))
    store.version()
    store.spaces()
    store.holds()
    store.check()
    assert [] == store.check(deep=True)
    holder = Holder("t", "p", 1, "h", 1.0, 1.0)
    take(store, holder, is_gone=lambda _: True)
    beat(store, token=holder.token, now=2.0)
    give_back(store, token=holder.token)


def push(pushed: PostgresPushed) -> None:
    """Call everything that a memory of pushed documents can do."""
    for content in (b"one", b"two", None):
        pushed.change([PushedChange("memory/a.md", content)])
    pushed.listed()
    pushed.named(["memory/a.md"])
    pushed.contents(["memory/a.md"])
    pushed.versions("memory/a.md")
    pushed.content("memory/a.md", version=1)
    pushed.deleted()
    with pushed.changing() as connection:
        run(connection, _DROP_OLDEST, (pushed._tenant, pushed._tenant, 1, 1))
    pushed.purge("memory/a.md")
    pushed.close()


class CallRecorder:
    """Passes calls on to a store and remembers their names."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.called.add(name)
        return getattr(self._store, name)


@pytest.fixture
def superuser(address: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    owner = parameters(owner_of(address))
    path = f"-c search_path={SCHEMA},public"
    with psycopg.connect(**owner, options=path, autocommit=True) as connection:
        register(connection)
        yield connection


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a plan that read or write a table."""
    if "Relation Name" in plan or plan["Node Type"] == "Function Scan":
        yield plan
    for part in plan.get("Plans", ()):
        yield from scans(part)


def is_of_one_tenant(node: dict[str, Any], tenant: str) -> bool:
    """Tell whether a scan is restricted to a tenant, or a row to insert names it."""
    if node.get("Operation") == "Insert":
        (source,) = node["Plans"]
        read = list(scans(source))
        tables = [each for each in read if "Relation Name" in each]
        if not tables:
            # What a function returns is sent to a shard by COPY, which policies refuse.
            return not read and f"'{tenant}'" in source["Output"][0]
        return all(is_of_one_tenant(each, tenant) for each in tables)
    if node["Node Type"] == "ModifyTable":
        return True  # what it changes is scanned below it
    conditions = " ".join(str(value) for name, value in node.items() if name in _CONDITIONS)
    return bool(re.search(rf"tenant = '{tenant}'", conditions))


_CONDITIONS = ("Index Cond", "Filter", "Recheck Cond")
_PLANNED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


NOT_OF_A_TENANT = {
    *("admin", "host", "near", "queue", "schema", "tokens"),  # operators, servers and workers
    "connect",  # begins transactions
}


def written() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the names of the constants that are statements, and what they are when executed."""
    for module in pkgutil.iter_modules(postgres.__path__):
        if module.name in NOT_OF_A_TENANT:
            continue
        found = importlib.import_module(f"{postgres.__name__}.{module.name}")
        for name, value in vars(found).items():
            words = value.split() if isinstance(value, str | bytes) and name.isupper() else []
            if isinstance(value, bytes):
                words = value.decode().split()
            if words and words[0] in _PLANNED and len(words) > 1:
                parts = re.split(r"\{\w*\}", " ".join(words))
                yield f"{module.name}.{name}", re.compile(".*".join(map(re.escape, parts)))


def test_every_statement_stays_within_one_tenant(  # noqa: PLR0917 - fixtures
    opened: Open,
    address: str,
    tenant: str,
    statements: list[Statement],
    superuser: psycopg.Connection[tuple[Any, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segments, "TAIL", 0)  # so that few chunks take every way
    for name in ("SPACE", "OTHER"):  # spaces that no other test has created
        own = Fingerprint("test", f"{tenant}-{name}", 8, "plain")
        monkeypatch.setattr(sys.modules[__name__], name, own)
    store = CallRecorder(opened(tenant))

    exercise(store)  # type: ignore[arg-type]
    push(PostgresPushed(Session(host_of(address), f"{tenant}-pushed"), limits=MemoryLimits()))

    offered = {name for name in dir(type(store._store)) if not name.startswith("_")}
    assert offered - WITHOUT_STATEMENTS <= store.called
    planned = {text: values for text, values in statements if text.split()[0].upper() in _PLANNED}
    executed = [" ".join(text.split()) for text, _ in statements]
    assert [] == [name for name, form in written() if not any(map(form.match, executed))]
    wrong: list[tuple[str, str]] = []
    tasks: dict[str, int] = {}
    for text, values in planned.items():
        if any(re.search(rf"\b{table}\b", text) for table in SPANS_TENANTS):
            continue
        explained = superuser.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {text}".encode(), values)
        ((found,),) = explained.fetchall()
        statement = re.sub(r"vectors_\w{16}", "vectors_SPACE", " ".join(text.split()))
        if CITUS:
            tasks[statement] = tasks_of(found[0]["Plan"])
            continue
        tables = [node for node in scans(found[0]["Plan"]) if node.get("Schema") == SCHEMA]
        tasks[statement] = int(bool(tables))
        of = f"{tenant}-pushed" if f"{tenant}-pushed" in values else tenant
        wrong += [
            (text, node["Relation Name"]) for node in tables if not is_of_one_tenant(node, of)
        ]
    assert [] == wrong
    if CITUS:
        (citus,) = superuser.execute("SELECT citus_version()").fetchone() or ("",)
        server = superuser.info.parameter_status("server_version")
        about = (
            f"# Tasks and statement, as {citus.partition(' on ')[0]} on PostgreSQL {server} plans"
        )
        lines = [about, *(f"{tasks[each]} {each}" for each in sorted(tasks))]
        PLANS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert tasks == planned_by_a_cluster()
    assert {0, 1} == set(tasks.values())


PLANS = Path(__file__).parent / "citus_plans.txt"
"""What a cluster planned: how many tasks each statement has, one for each shard that it reads, and
none if it reads no table of ours. Run on a cluster (RECOLLECT_TEST_CITUS_DSN), the test writes it.
"""


def planned_by_a_cluster() -> dict[str, int]:
    lines = PLANS.read_text(encoding="utf-8").splitlines()[1:]
    return {each: int(count) for count, _, each in (line.partition(" ") for line in lines)}


def tasks_of(plan: dict[str, Any]) -> int:
    """Return how many tasks Citus makes of a statement: 1 if it is sent to one shard."""
    own = int(plan.get("Distributed Query", {}).get("Job", {}).get("Task Count", 0))
    return own + sum(map(tasks_of, plan.get("Plans", ())))


def test_nothing_is_set_together_with_something_else(
    opened: Open, tenant: str, statements: list[Statement]
) -> None:
    """Citus sends its workers the whole message in which something is set."""
    exercise(opened(tenant))

    setting = {text for text, _ in statements if "SET LOCAL" in text}
    assert setting
    assert [] == [text for text in setting if ";" in text]


def test_what_runs_as_the_owner_is_alone_in_its_transaction(
    opened: Open, tenant: str, statements: list[Statement]
) -> None:
    """Citus refuses rows to one role that another has changed in the same transaction."""
    space = Fingerprint("test", tenant, 8, "plain")
    unit = np.eye(1, 8, dtype=np.float32)
    opened(tenant).put_vectors(space, digests=["aa"], vectors=unit)

    said = [text for text, _ in statements]
    (place,) = (number for number, text in enumerate(said) if "add_space(" in text)
    begun = max(number for number in range(place) if said[number].startswith("BEGIN"))
    ended = next(number for number in range(place, len(said)) if said[number] == "COMMIT")
    together = " ".join(said[begun:ended]).split()
    assert not {"INSERT", "UPDATE", "DELETE"} & set(together)


@pytest.mark.parametrize(
    ("source", "is_pushed_down"),
    [
        ("SELECT 'ada', * FROM unnest(ARRAY['a'], ARRAY['b'])", False),
        ("SELECT tenant, p.* FROM tenants, unnest(ARRAY['a'], ARRAY['b']) p", False),
        ("SELECT tenant, key, 'b' FROM tenants, unnest(ARRAY['a']) key WHERE tenant = 'ada'", True),
        ("VALUES ('ada', 'a', 'b')", True),
    ],
)
def test_rows_to_insert_are_made_where_they_are_stored(
    superuser: psycopg.Connection[tuple[Any, ...]], source: str, *, is_pushed_down: bool
) -> None:
    """As Citus 14 does it, measured on a cluster: this is what the rule above accepts."""
    statement = f"EXPLAIN (VERBOSE, FORMAT JSON) INSERT INTO meta {source}"
    ((found,),) = superuser.execute(statement.encode()).fetchall()

    plan = found[0]["Plan"]
    assert is_pushed_down == (tasks_of(plan) == 1 if CITUS else is_of_one_tenant(plan, "ada"))


def test_every_key_contains_the_tenant_and_no_id_comes_from_a_sequence(
    superuser: psycopg.Connection[tuple[Any, ...]],
) -> None:
    tables = superuser.execute(
        "SELECT relname, oid FROM pg_class WHERE relnamespace = %s::regnamespace "
        "AND relkind = 'r' AND NOT relname = ANY(%s)",
        (SCHEMA, list(SPANS_TENANTS)),
    ).fetchall()
    oids = [oid for _, oid in tables]
    unique = superuser.execute(
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indisunique AND indrelid = ANY(%s)",
        (oids,),
    ).fetchall()
    foreign = superuser.execute(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE contype = 'f' AND conrelid = ANY(%s)",
        (oids,),
    ).fetchall()
    sequences = superuser.execute(
        "SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relnamespace = %s::regnamespace",
        (SCHEMA,),
    ).fetchone()

    named = {name for name, _ in tables}
    assert set(TABLES) <= named
    assert named == {*TABLES, *(name for name in named if name.startswith("vectors_"))}
    assert (0,) == sequences
    assert unique
    for (index,) in unique:
        assert "USING btree (tenant" in index
    assert foreign
    for (key,) in foreign:
        target = re.match(r"FOREIGN KEY \(tenant, \w+\) REFERENCES (\w+)\(tenant, \w+\)", key)
        assert target, key
        assert target[1] in TABLES
