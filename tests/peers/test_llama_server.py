"""llama.cpp's own server, which speaks OpenAI's format: a real peer, not a stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import xllamacpp

from recollect import Memory
from recollect.providers.gguf import open_gguf
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "a-key-for-llama"


@pytest.fixture(scope="module")
def address(gguf_file: Path) -> Iterator[str]:
    params = xllamacpp.CommonParams()
    params.model.path = str(gguf_file)
    params.embedding = True
    params.verbosity = -1
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # its threads spin
    params.model_alias = {"all-minilm"}
    params.api_keys = [KEY]
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def remote(environ: dict[str, str], address: str) -> dict[str, str]:
    return {
        **environ,
        "RECOLLECT_PROVIDER": "openai",
        "RECOLLECT_MODEL": "all-minilm",
        "OPENAI_BASE_URL": address,
        "OPENAI_API_KEY": KEY,
    }


def test_a_memory_is_embedded_and_searched_through_it(sample: Path, remote: dict[str, str]) -> None:
    for file in [*(sample / "memory").glob("20*"), *(sample / "memory" / "projects").iterdir()]:
        file.unlink()  # the others are enough, and quicker
    with Memory.open(sample, environ=remote) as memory:
        report = memory.sync()
        results = memory.search("what to do when a task seems impossible", max_results=3)

    assert report.embedded > 50
    # The model reads English only: the notes in other scripts are left.
    assert (report.refused, None) == (report.pending, report.degraded)
    assert "hybrid" == results.mode
    assert "memory/protocols/persistence.md" in [hit.path for hit in results.hits]


def test_its_vectors_are_those_of_the_same_file_read_here(
    gguf_file: Path, remote: dict[str, str], workspace: Path
) -> None:
    text = "The harbour master keeps the ledger in a green tin."
    (workspace / "MEMORY.md").write_text(text + "\n", encoding="utf-8")
    with Memory.open(workspace, environ=remote) as memory:
        memory.sync()
        shown = memory.search("who keeps the ledger").hits[0].vector_score
    here = open_gguf(gguf_file)

    question = here.embed(["who keeps the ledger"], role=Role.QUERY)[0]
    note = here.embed([text], role=Role.DOCUMENT)[0]
    here.close()

    assert shown == pytest.approx(float(np.dot(question, note)), abs=0.01)


def test_a_text_longer_than_its_context_is_embedded_in_parts(
    remote: dict[str, str], workspace: Path
) -> None:
    (workspace / "MEMORY.md").write_text("harbour ledger " * 800 + "\n", encoding="utf-8")
    settings = {"chunk.tokens": 6000}

    with Memory.open(workspace, environ=remote, settings=settings) as memory:
        report = memory.sync()

    assert 1 == report.chunks == report.embedded
    assert 0 == report.pending


def test_a_wrong_key_is_refused_and_named(remote: dict[str, str], workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("A note.\n", encoding="utf-8")

    with Memory.open(workspace, environ={**remote, "OPENAI_API_KEY": "not-the-key"}) as memory:
        report = memory.sync()

    assert report.degraded is not None
    assert "OPENAI_API_KEY" in report.degraded["vector"].action
    assert "not-the-key" not in report.degraded["vector"].reason
