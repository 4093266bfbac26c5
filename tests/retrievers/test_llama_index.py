"""The LlamaIndex retriever: nodes of real notes, through LlamaIndex' own interfaces."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from llama_index.core.schema import MetadataMode, TextNode

from recollect.retrievers.llama_index import RecollectRetriever

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from recollect import Memory


def test_a_node_is_the_whole_chunk_with_where_it_stands(memory: Memory) -> None:
    [found] = RecollectRetriever(memory, max_results=1).retrieve("nightly copy vault")

    [hit] = memory.search("nightly copy vault", max_results=1).hits
    citation = f"memory/2026-02-01.md#L1-L{hit.end_line}"
    assert isinstance(found.node, TextNode)
    assert (hit.text, hit.score) == (found.node.text, found.score)
    assert f"{memory.agent}:{citation}" == found.node.node_id
    assert {
        "id": found.node.node_id,
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
    } == found.node.metadata


def test_a_model_is_told_what_helps_it_and_nothing_is_embedded(memory: Memory) -> None:
    [found] = RecollectRetriever(memory, max_results=1).retrieve("cat")

    assert isinstance(found.node, TextNode)
    assert "citation: memory/pets.md#L1-L3\nheading: Pets" == found.node.get_metadata_str(
        mode=MetadataMode.LLM
    )
    assert found.node.text == found.node.get_content(metadata_mode=MetadataMode.EMBED)


def test_the_asynchronous_way_finds_the_same_from_many_tasks(memory: Memory) -> None:
    retriever = RecollectRetriever(memory)
    expected = [found.node.node_id for found in retriever.retrieve("peanuts")]

    async def many() -> list[list[str]]:
        answers = await asyncio.gather(*(retriever.aretrieve("peanuts") for _ in range(8)))
        return [[found.node.node_id for found in answer] for answer in answers]

    assert [expected] * 8 == asyncio.run(many())


def test_an_event_loop_goes_on_while_memory_is_asked(memory: Memory) -> None:
    retriever = RecollectRetriever(memory)

    async def turns_meanwhile() -> int:
        task = asyncio.create_task(retriever.aretrieve("peanuts"))
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    # Asked in the loop itself, the task would be done after a handful of turns.
    assert 20 < asyncio.run(turns_meanwhile())


def test_a_retriever_may_open_the_workspace_itself(notes: Path, environ: dict[str, str]) -> None:
    with RecollectRetriever.open(notes, environ=environ, path="memory/food.md") as retriever:
        found = retriever.retrieve("cat peanuts")

    assert ["memory/food.md"] == [each.node.metadata["path"] for each in found]


def test_an_unembedded_answer_says_so_in_the_log_and_in_each_node(
    notes: Path, environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"provider": "openai"}
    with (
        caplog.at_level(logging.WARNING, logger="recollect.retrievers"),
        RecollectRetriever.open(notes, environ=environ, settings=settings) as retriever,
    ):
        [found] = retriever.retrieve("thunder")

    assert "OPENAI_API_KEY" in found.node.metadata["degraded"]
    assert f"Degraded: {found.node.metadata['degraded']}" in caplog.messages
