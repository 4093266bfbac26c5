"""The LangChain retriever: Documents of real notes, through LangChain's own interfaces."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import date
from typing import TYPE_CHECKING

import pytest
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from recollect import Memory
from recollect.retrievers.langchain import RecollectRetriever

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_document_is_the_whole_chunk_with_where_it_stands(memory: Memory) -> None:
    [document] = RecollectRetriever(memory=memory, max_results=1).invoke("nightly copy vault")

    [hit] = memory.search("nightly copy vault", max_results=1).hits
    citation = f"memory/2026-02-01.md#L1-L{hit.end_line}"
    assert hit.text == document.page_content
    assert len(hit.snippet) < len(hit.text)
    assert f"{memory.agent}:{citation}" == document.id
    assert {
        "id": document.id,
        "path": "memory/2026-02-01.md",
        "start_line": 1,
        "end_line": hit.end_line,
        "citation": citation,
        "score": hit.score,
        "source": "memory",
        "heading": "Server > Backups",
        "date": "2026-02-01",
        "confident": True,
        "degraded": None,
    } == document.metadata
    assert document.metadata == json.loads(json.dumps(document.metadata))


def test_a_question_without_a_word_of_the_note_finds_it(memory: Memory) -> None:
    documents = RecollectRetriever(memory=memory).invoke("which animal fears storms?")

    assert "memory/pets.md" == documents[0].metadata["path"]


def test_the_asynchronous_way_finds_the_same(memory: Memory) -> None:
    retriever = RecollectRetriever(memory=memory)
    expected = retriever.invoke("peanuts")

    async def many() -> list[list[str | None]]:
        answers = await asyncio.gather(*(retriever.ainvoke("peanuts") for _ in range(8)))
        return [[document.id for document in answer] for answer in answers]

    assert [[document.id for document in expected]] * 8 == asyncio.run(many())


def test_retrievers_of_one_memory_may_be_asked_from_many_threads(
    sample: Path, environ: dict[str, str]
) -> None:
    with Memory.open(sample, environ=environ, settings={"provider": "none"}) as memory:
        first = RecollectRetriever(memory=memory, path="memory/protocols/*")
        second = RecollectRetriever(memory=memory, path="memory/projects/*")

        async def both() -> list[set[str]]:
            # LangChain's own threads, of two retrievers at once.
            questions = ["backups and restore", "the server and its disks", "who verifies"] * 20
            answers = await asyncio.gather(first.abatch(questions), second.abatch(questions))
            return [
                {document.metadata["path"].split("/")[1] for found in answer for document in found}
                for answer in answers
            ]

        assert [{"protocols"}, {"projects"}] == asyncio.run(both())


def test_the_fields_narrow_the_search(memory: Memory) -> None:
    dated = RecollectRetriever(memory=memory, since=date(2026, 1, 1), before=date(2026, 3, 1))

    assert {"memory/2026-02-01.md"} == {
        document.metadata["path"] for document in dated.invoke("cat copy peanuts")
    }
    assert [] == RecollectRetriever(memory=memory, source="facts").invoke("cat")
    assert [] == RecollectRetriever(memory=memory, min_score=1.0).invoke("cat")


def test_a_mistyped_field_is_refused(memory: Memory) -> None:
    with pytest.raises(TypeError, match="max_result"):
        RecollectRetriever(memory, max_result=3)


def test_a_retriever_may_open_the_workspace_itself(notes: Path, environ: dict[str, str]) -> None:
    with RecollectRetriever.open(notes, environ=environ, max_results=1) as retriever:
        found = retriever.invoke("cat")

    assert ["memory/pets.md"] == [document.metadata["path"] for document in found]


def test_an_unembedded_answer_says_so_in_the_log_and_in_each_document(
    notes: Path, environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"provider": "openai"}
    with (
        caplog.at_level(logging.WARNING, logger="recollect.retrievers"),
        RecollectRetriever.open(notes, environ=environ, settings=settings) as retriever,
    ):
        [document] = retriever.invoke("thunder")

    assert "OPENAI_API_KEY" in document.metadata["degraded"]
    assert f"Degraded: {document.metadata['degraded']}" in caplog.messages


def test_an_empty_answer_that_is_degraded_says_so_in_the_log(
    notes: Path, environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"provider": "openai"}
    with (
        caplog.at_level(logging.WARNING, logger="recollect.retrievers"),
        RecollectRetriever.open(notes, environ=environ, settings=settings) as retriever,
    ):
        found = retriever.invoke("xylophone")

    assert [] == found
    assert any(message.startswith("Degraded: vector: ") for message in caplog.messages)


def test_a_fact_and_what_is_outdated_are_told_apart(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/old.md", "Ink is on order. The printer is called Caxton.\n")
    for name in ("Caxton", "Gutenberg"):
        text = f"The printer is called {name}."
        memory.facts.remember(text, entity="printer", key="name", value=name)

    found = RecollectRetriever(memory=memory).invoke("what is the printer called")

    by_path = {document.metadata["path"]: document.metadata for document in found}
    facts = [metadata for metadata in by_path.values() if metadata["source"] == "facts"]
    assert [metadata["fact"] for metadata in facts] == [by_path["memory/old.md"]["superseded_by"]]


def test_it_is_part_of_a_chain(memory: Memory) -> None:
    retriever = RecollectRetriever(memory=memory, max_results=1)
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    chain = {
        "context": retriever | (lambda found: "\n".join(each.page_content for each in found)),
        "question": RunnablePassthrough(),
    } | prompt

    text = chain.invoke("what is Ada allergic to?").to_string()

    assert "No peanuts: Ada is allergic to them." in text
