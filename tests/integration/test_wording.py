"""Imagined answers and rewordings, from a language model's server on loopback to the vector leg."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS
from tests.vendors.chat import KEY, KNOWN_CHATS, Reply, chat_server
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, refuse

from recollect import Memory
from recollect.types import Leg

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]

OPENAI = next(known for known in KNOWN_CHATS if known.name == "openai")
QUESTION = "how is nan after the op"
REWORDINGS = "How is my grandmother after her surgery?\nHas grandma recovered from the operation?"


def environment(environ: dict[str, str], server: VendorServer, *wanted: str) -> dict[str, str]:
    return {
        **environ,
        "RECOLLECT_PROVIDER": "local",
        "RECOLLECT_LLM_PROVIDER": "openai",
        "RECOLLECT_LLM_BASE_URL": f"{server.url}/v1",
        "RECOLLECT_LLM_API_KEY": "env:OPENAI_API_KEY",
        "OPENAI_API_KEY": KEY,
        **{f"RECOLLECT_{name.upper()}_ENABLED": "true" for name in wanted},
    }


def write_notes(write: Write) -> None:
    write("memory/family.md", "Grandma's hip replacement went well; she is walking again.\n")
    write("memory/music.md", "The opera opens with an overture for strings.\n")


def test_an_imagined_answer_serves_the_vector_leg_only(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "The ferry leaves at dawn.\n")
    with (
        chat_server(OPENAI, lambda _: "The ferry departs early in the morning.") as server,
        Memory.open(workspace, environ=environment(environ, server, "hyde")) as memory,
    ):
        memory.sync()
        results = memory.search("when do we have to get up", explain=True)

    assert 1 == len(server.requests)
    assert ["memory/a.md"] == [hit.path for hit in results.hits]
    assert results.hits[0].text_score is None
    assert results.degraded is None


def test_rewordings_serve_the_vector_leg_only(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write)
    with (
        Memory.open(workspace, environ=environ) as plain,
        chat_server(OPENAI, lambda _: REWORDINGS) as server,
        Memory.open(workspace, environ=environment(environ, server, "expand")) as memory,
    ):
        plain.sync()
        before = plain.search(QUESTION).hits[0]
        results = memory.search(QUESTION)

    first = results.hits[0]
    assert 1 == len(server.requests)
    assert ("memory/family.md", before.text_score) == (first.path, first.text_score)
    assert before.vector_score is not None
    assert first.vector_score is not None
    assert first.vector_score > before.vector_score
    assert results.degraded is None


def test_the_parts_of_a_score_add_up_with_rewordings_too(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write)
    with (
        chat_server(OPENAI, lambda _: REWORDINGS) as server,
        Memory.open(workspace, environ=environment(environ, server, "expand")) as memory,
    ):
        hits = memory.search("grandma walking after the op", explain=True).hits

    assert hits
    for hit in hits:
        assert hit.trace is not None
        parts = sum(leg.contribution for leg in hit.trace.legs.values())
        parts += hit.trace.source + hit.trace.exact + hit.trace.decay + hit.trace.rerank
        assert hit.score == pytest.approx(parts)
        assert hit.vector_score == hit.trace.legs[Leg.VECTOR].raw


def test_the_question_and_its_rewordings_are_embedded_in_one_request(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write)
    with (
        VendorServer(OpenAiFormat(), key=KEY) as embedding,
        chat_server(OPENAI, lambda _: REWORDINGS) as server,
    ):
        remote = {
            **environment(environ, server, "expand"),
            "RECOLLECT_PROVIDER": "openai",
            "OPENAI_BASE_URL": f"{embedding.url}/v1",
        }
        with Memory.open(workspace, environ=remote) as memory:
            memory.sync()
            asked = len(embedding.requests)
            memory.search(QUESTION)
        last = embedding.format.texts(embedding.requests[-1])

    assert asked + 1 == len(embedding.requests)
    assert [QUESTION, *REWORDINGS.splitlines()] == last


@pytest.mark.parametrize("reply", [Reply(""), Reply(is_refusal=True)])
@pytest.mark.parametrize("name", ["hyde", "expand"])
def test_where_the_model_brings_nothing_the_question_serves_and_it_is_said(
    workspace: Path, environ: dict[str, str], write: Write, reply: Reply, name: str
) -> None:
    write_notes(write)
    with (
        Memory.open(workspace, environ=environ) as plain,
        chat_server(OPENAI, lambda _: reply) as server,
        Memory.open(workspace, environ=environment(environ, server, name)) as memory,
    ):
        expected = plain.search(QUESTION)
        results = memory.search(QUESTION)

    assert expected.hits == results.hits
    assert expected.mode == results.mode
    assert results.degraded is not None
    assert [name] == list(results.degraded)


def test_both_are_asked_for_at_the_same_time_and_each_failure_has_its_own_name(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write)
    both = threading.Barrier(2)

    def script(_prompt: str) -> str:
        both.wait(PATIENCE_SECONDS)  # only two that are under way at once get past
        return REWORDINGS

    wanted = ("hyde", "expand")
    with chat_server(OPENAI, script) as server:
        with Memory.open(workspace, environ=environment(environ, server, *wanted)) as memory:
            results = memory.search(QUESTION)
        assert results.degraded is None
        assert 2 == server.most_at_once == len(server.requests)

    with (
        chat_server(OPENAI, script, always=refuse(401, "who are you?")) as server,
        Memory.open(workspace, environ=environment(environ, server, *wanted)) as memory,
    ):
        results = memory.search(QUESTION)
    assert results.degraded is not None
    assert set(wanted) == set(results.degraded)


def test_without_a_language_model_both_say_so(workspace: Path, environ: dict[str, str]) -> None:
    wanted = {"hyde.enabled": True, "expand.enabled": True}
    with Memory.open(workspace, environ=environ, settings=wanted) as memory:
        results = memory.search(QUESTION)

    assert results.degraded is not None
    assert {"hyde", "expand"} == set(results.degraded)
    assert {"No language model is set."} == {why.reason for why in results.degraded.values()}


def test_a_search_by_keyword_alone_asks_no_model(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write)
    with (
        chat_server(OPENAI, lambda _: REWORDINGS) as server,
        Memory.open(workspace, environ=environment(environ, server, "hyde", "expand")) as memory,
    ):
        results = memory.search("grandma", legs=["keyword"])

    assert [] == server.requests
    assert results.degraded is None


def test_the_command_says_that_the_question_was_not_reworded(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write)
    with chat_server(OPENAI, lambda _: Reply("")) as server:
        done = subprocess.run(
            [*recollect_command(), "-w", str(workspace), "search", "grandma"],
            env=environment(environ, server, "expand"),
            capture_output=True,
            text=True,
            check=False,
        )

    assert 0 == done.returncode
    assert "The query was not expanded: the model's answer contains no rewording" in done.stderr


def test_hyde_may_have_a_model_of_its_own(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write)
    models = {"RECOLLECT_LLM_MODEL": "gpt-large", "RECOLLECT_HYDE_MODEL": "gpt-small"}
    with chat_server(OPENAI, lambda _: "The ferry departs early in the morning.") as server:
        asked = environment(environ, server, "hyde")
        for more in (models, {"RECOLLECT_LLM_MODEL": "gpt-large"}):
            with Memory.open(workspace, environ={**asked, **more}) as memory:
                memory.search("when does the boat leave")

    assert ["gpt-small", "gpt-large"] == [request.body["model"] for request in server.requests]
