"""A memory without a workspace: pushed documents and facts, in the store alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from tests.support.postgres import owner_of

from recollect import Memory, SearchRequest
from recollect.errors import (
    ChangedError,
    ElsewhereError,
    NotFoundError,
    StorageLimitError,
    UsageError,
)
from recollect.hosting.host import MemoryHost
from recollect.ingest.pushed import MOST_DOCUMENT_BYTES, parse_path
from recollect.stores.pushed import KEPT_VERSIONS, PushedChange

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.facts.record import Fact
    from recollect.hosting.host import PushedMemory

NOTE = "memory/2026-02-01.md"


def put(memory: PushedMemory, path: str, text: str, **expected: frozenset[str | None]) -> str:
    [written] = memory.pushed.write([PushedChange(path, text.encode(), **expected)])
    return written.digest


def test_what_is_pushed_is_found_read_and_dated_as_a_file_is(host: MemoryHost, tenant: str) -> None:
    with host.memory(tenant) as memory:
        put(memory, NOTE, "# Harbour\n\nThe lighthouse was painted red.\n")

        [hit] = memory.answer(SearchRequest("lighthouse")).hits
        status = memory.status()

        assert (NOTE, "2026-02-01", ("Harbour",)) == (hit.path, str(hit.date), hit.heading)
        assert "painted red" in memory.get(NOTE).text
        assert (1, ()) == (status.index.documents, status.stale.changed)


def test_a_deleted_document_is_no_longer_found_and_its_versions_stay(
    host: MemoryHost, tenant: str
) -> None:
    with host.memory(tenant) as memory:
        for number in range(KEPT_VERSIONS + 3):
            put(memory, NOTE, f"The lighthouse has {number} lamps.\n")
        memory.pushed.write([PushedChange(NOTE, None)])

        assert () == memory.answer(SearchRequest("lighthouse")).hits
        versions = [each.version for each in memory.pushed.versions(NOTE)]
        assert list(range(13, 3, -1)) == versions
        assert "has 12 lamps" in memory.pushed.read(NOTE, version=13)[1]
        with pytest.raises(NotFoundError):
            memory.pushed.read(NOTE)
        with pytest.raises(NotFoundError):
            memory.pushed.write([PushedChange(NOTE, None)])
        put(memory, NOTE, "Back.\n")
        assert 14 == memory.pushed.read(NOTE)[0].version


def test_a_change_made_for_another_version_is_refused(host: MemoryHost, tenant: str) -> None:
    with host.memory(tenant) as memory:
        first = put(memory, NOTE, "One.\n", expected=frozenset({None}))
        put(memory, NOTE, "Two.\n", expected=frozenset({first}))

        with pytest.raises(ChangedError):
            put(memory, NOTE, "Three.\n", expected=frozenset({first}))
        with pytest.raises(ChangedError):
            put(memory, NOTE, "Three.\n", expected=frozenset({None}))
        assert "Two.\n" == memory.pushed.read(NOTE)[1]


def test_of_several_changes_all_or_none_are_made(host: MemoryHost, tenant: str) -> None:
    with host.memory(tenant) as memory:
        with pytest.raises(ChangedError):
            memory.pushed.write(
                [
                    PushedChange("memory/a.md", b"A lighthouse."),
                    PushedChange("memory/b.md", b"B.", expected=frozenset({"not there"})),
                ]
            )

        assert [] == memory.pushed.listed()
        assert () == memory.answer(SearchRequest("lighthouse")).hits


def test_a_memory_holds_no_more_than_it_may(
    tenant: str, environ: dict[str, str], host: MemoryHost
) -> None:
    few = {"store": host.config.store, "provider": "none", "limits.documents": 2}
    with (
        MemoryHost.open(settings=few, environ=environ) as limited,
        limited.memory(tenant) as memory,
    ):
        put(memory, "memory/a.md", "A.")
        put(memory, "memory/b.md", "B.")
        put(memory, "memory/b.md", "C.")
        with pytest.raises(StorageLimitError, match="2 documents"):
            put(memory, "memory/d.md", "D.")
        with pytest.raises(StorageLimitError, match="documents"):
            memory.facts.remember("A fact is a document as well.")
        with pytest.raises(StorageLimitError, match="bytes"):
            put(memory, "memory/a.md", "A" * (MOST_DOCUMENT_BYTES + 1))
        assert 2 == len(memory.pushed.listed())


def test_facts_are_written_found_superseded_and_forgotten_in_the_store(
    host: MemoryHost, tenant: str
) -> None:
    def remember(text: str, value: str, scope: str = "global") -> Fact:
        with host.memory(tenant) as memory:
            return memory.facts.remember(
                text, entity="boat", key="name", value=value, scope=scope
            ).fact

    old = remember("The boat is called Otter.", "Otter")
    new = remember("The boat is called Heron.", "Heron")
    remember("The boat of Ada is called Seal.", "Seal", "user:ada")

    with host.memory(tenant) as memory:
        found = [
            hit.fact.id for hit in memory.answer(SearchRequest("boat called")).hits if hit.fact
        ]
        history = [each.id for each in memory.facts.history(new.id)]
        memory.facts.forget(new.id)
        again = [
            hit.fact.id for hit in memory.answer(SearchRequest("boat called")).hits if hit.fact
        ]
    with host.memory(tenant, scopes=frozenset()) as limited:
        page = limited.get("memory/facts/other.md").text

    assert ([new.id], [old.id, new.id]) == (found, history)
    assert [old.id] == again
    assert "Otter" in page
    assert "Seal" not in page


def test_a_forgotten_fact_is_in_no_row_of_the_database(
    host: MemoryHost, tenant: str, address: str
) -> None:
    """Nor in earlier versions of its page, of a page that it was on before, or of a deleted one."""
    with host.memory(tenant) as memory:
        put(memory, "memory/facts/old.md", "- The password hint is lighthouse\n")
        put(memory, "memory/facts/old.md", "- The anchor is in the shed\n")
        put(memory, "memory/facts/gone.md", "- The password hint is lighthouse\n")
        memory.pushed.write([PushedChange("memory/facts/gone.md", None)])
        memory.facts.remember("The boat is called Otter.")
        for lamp in ("One", "Two"):  # the second time, it is known as forgotten
            fact = memory.facts.remember("The password hint is lighthouse.").fact
            memory.facts.remember(f"{lamp} lamp is broken.")
            memory.facts.forget(fact.id)

            assert "lighthouse" not in rows_of(address, tenant)
        assert {"The boat is called Otter.", "The anchor is in the shed"} <= {
            each.text for each in memory.facts.all()
        }


def test_a_pushed_page_of_facts_is_read_as_facts(host: MemoryHost, tenant: str) -> None:
    with host.memory(tenant) as memory:
        put(memory, "memory/facts/person.md", "- Grace sails on Sundays\n")

        assert ["Grace sails on Sundays"] == [each.text for each in memory.facts.all()]
        [hit] = memory.answer(SearchRequest("Grace")).hits
        assert "facts" == hit.source


def test_a_memory_made_from_files_is_searched_but_not_written(
    host: MemoryHost, address: str, tenant: str, workspace: Path, environ: dict[str, str]
) -> None:
    (workspace / "MEMORY.md").write_text("The anchor is in the shed.\n", encoding="utf-8")
    settings = {"store": address, "provider": "none"}
    with Memory.open(workspace, agent=tenant, settings=settings, environ=environ) as own:
        own.sync()

    with host.memory(tenant) as memory:
        assert ["MEMORY.md"] == [hit.path for hit in memory.answer(SearchRequest("anchor")).hits]
        assert 1 == memory.status().index.documents
        for refused in (
            lambda: put(memory, NOTE, "No."),
            lambda: memory.facts.remember("No."),
            lambda: memory.get("MEMORY.md"),
            memory.sync,
        ):
            with pytest.raises(ElsewhereError):
                refused()
        assert 1 == memory.status().index.documents


def test_a_memory_of_pushed_documents_is_not_made_from_files_by_mistake(
    host: MemoryHost, address: str, tenant: str, workspace: Path, environ: dict[str, str]
) -> None:
    with host.memory(tenant) as memory:
        put(memory, NOTE, "The lighthouse.\n")
    settings = {"store": address, "provider": "none"}

    with pytest.raises(ElsewhereError):
        Memory.open(workspace, agent=tenant, settings=settings, environ=environ)

    with host.memory(tenant) as memory:
        put(memory, NOTE, "The lighthouse again.\n")


def test_earlier_versions_are_bounded_and_those_of_deleted_documents_count(
    tenant: str, environ: dict[str, str], host: MemoryHost
) -> None:
    small = {"store": host.config.store, "provider": "none", "limits.megabytes": 1}
    text = "lamp " * 60_000  # a third of what the memory may hold
    with (
        MemoryHost.open(settings=small, environ=environ) as limited,
        limited.memory(tenant) as memory,
    ):
        for number in range(5):
            put(memory, f"memory/{number}.md", f"{number} {text}")
            memory.pushed.write([PushedChange(f"memory/{number}.md", None)])

        left = [each.path for each in memory.pushed.deleted()]
        assert ["memory/2.md", "memory/3.md", "memory/4.md"] == left


def test_the_number_of_earlier_versions_is_bounded(
    tenant: str, environ: dict[str, str], host: MemoryHost
) -> None:
    few = {"store": host.config.store, "provider": "none", "limits.documents": 1}
    with (
        MemoryHost.open(settings=few, environ=environ) as limited,
        limited.memory(tenant) as memory,
    ):
        for number in range(KEPT_VERSIONS + 2):
            put(memory, f"memory/{number:02}.md", "Soon gone.")
            memory.pushed.write([PushedChange(f"memory/{number:02}.md", None)])

        assert KEPT_VERSIONS == len(memory.pushed.deleted())
        assert "memory/02.md" == memory.pushed.deleted()[0].path


def test_a_purged_document_leaves_nothing_behind(
    host: MemoryHost, tenant: str, address: str
) -> None:
    with host.memory(tenant) as memory:
        put(memory, "memory/kept.md", "The old anchor.\n")
        put(memory, "memory/kept.md", "The new anchor.\n")
        for text in ("The secret lighthouse.\n", "The lighthouse is gone.\n"):
            put(memory, NOTE, text)

        assert 1 == memory.pushed.purge("memory/kept.md", keep_current=True)
        assert 2 == memory.pushed.purge(NOTE)

        assert [] == memory.pushed.deleted()
        assert ["memory/kept.md"] == [each.path for each in memory.pushed.listed()]
        assert "The new anchor.\n" == memory.pushed.read("memory/kept.md")[1]
        assert () == memory.answer(SearchRequest("lighthouse")).hits
        with pytest.raises(NotFoundError):
            memory.pushed.purge(NOTE)
    assert "lighthouse" not in rows_of(address, tenant)


def rows_of(address: str, tenant: str) -> str:
    """Return everything that the tables with texts hold of a memory."""
    found = []
    with psycopg.connect(owner_of(address)) as connection:
        for table in ("pushed", "pushed_versions", "chunks", "documents", "facts"):
            query = sql.SQL("SELECT * FROM recollect.{} WHERE tenant = %s")
            found += connection.execute(query.format(sql.Identifier(table)), (tenant,)).fetchall()
    return repr(found)


@pytest.mark.parametrize("text", ["before\0after", "\0"])
def test_what_could_not_be_read_from_a_file_is_not_pushed(
    host: MemoryHost, tenant: str, text: str
) -> None:
    with host.memory(tenant) as memory:
        with pytest.raises(UsageError, match="NUL"):
            put(memory, NOTE, text)
        assert [] == memory.pushed.listed()


@pytest.mark.parametrize(
    "path",
    [
        "", "/etc/passwd.md", "../up.md", "memory/../../up.md", "memory//two.md", "memory/./a.md",
        "memory\\a.md", "C:/a.md", "memory/.git/a.md", ".hidden.md", "memory/a.md\n", "a\0.md",
        "memory/a.txt", "memory/", "memory/a.md/", "memory/ a.md", "memory/a .md/b.md ", "a\x9b.md",
        "memory/\udc80.md", f"{'a' * 400}.md", "memory/dots./a.md",
    ],
)  # fmt: skip
def test_a_path_that_could_mean_something_else_is_refused(path: str) -> None:
    with pytest.raises(UsageError):
        parse_path(path)


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\u2066", "\xad", "\U000e0041"])
def test_a_path_has_no_character_that_is_not_seen(
    host: MemoryHost, tenant: str, hidden: str
) -> None:
    path = f"memory/a{hidden}b.md"
    with (
        host.memory(tenant) as memory,
        pytest.raises(UsageError, match=f"invisible character, U\\+{ord(hidden):04X}"),
    ):
        put(memory, path, "One.")


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "memory/2026/02/01.md", "memory/Größe & 漢字.md", "memory/👩‍💻 می‌روم.md"]
)
def test_a_plain_path_is_taken_as_it_is(path: str) -> None:
    assert path == parse_path(path)
