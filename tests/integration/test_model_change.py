"""Another model is another space: searches go on, nothing is compared across, back is free."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.integration.remote import KEY, command, notes_of, write_notes
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, bag_of_words, hang, refuse

from recollect import Memory
from recollect.ingest import sync
from recollect.providers.calibrate import NOTES, QUESTIONS
from recollect.types import Leg

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.vendors.server import Fault, Request

    from recollect.types import Results

OLD, NEW = "text-embedding-3-small", "text-embedding-ada-002"  # both have 1536 dimensions
QUESTION = "violin lantern harbour"


@pytest.fixture
def server() -> Iterator[VendorServer]:
    with VendorServer(OpenAiFormat(), key=KEY, model_of=model_of) as running:
        yield running


def model_of(request: Request) -> str:
    return str(request.body["model"])


@pytest.fixture
def remote(environ: dict[str, str], server: VendorServer) -> dict[str, str]:
    return {
        **environ,
        "RECOLLECT_PROVIDER": "openai",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "RECOLLECT_MODEL": OLD,
    }


def cosine_of(text: str, *, model: str) -> float:
    one, other = (
        np.array(bag_of_words(each, 1536, model=model)) for each in (QUESTION, text.strip())
    )
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def assert_space(results: Results, workspace: Path, *, model: str) -> None:
    """Every cosine is the one that this model alone gives for the question and the text."""
    assert results.hits
    for hit in results.hits:
        text = (workspace / hit.path).read_text(encoding="utf-8")
        assert hit.vector_score is None or hit.vector_score == pytest.approx(
            cosine_of(text, model=model), abs=1e-4
        )
    assert any(hit.vector_score is not None for hit in results.hits)
    assert model == results.model


def test_the_old_vectors_answer_until_the_new_ones_are_all_there(
    workspace: Path, remote: dict[str, str]
) -> None:
    write_notes(workspace, 120)
    changed = {**remote, "RECOLLECT_MODEL": NEW}
    with Memory.open(workspace, environ=remote) as memory:
        memory.sync()

    with Memory.open(workspace, environ=changed) as memory:
        before = memory.search(QUESTION, sync=False)
        part = memory.sync(max_texts=60)
        during = memory.search(QUESTION, sync=False)
        rest = memory.sync()
        after = memory.search(QUESTION, sync=False)

    assert_space(before, workspace, model=OLD)
    assert_space(during, workspace, model=OLD)
    assert_space(after, workspace, model=NEW)
    assert (60, 60) == (part.embedded, rest.embedded)
    assert any("50 % is done" in notice for notice in during.notices)
    assert () == after.notices


@pytest.mark.parametrize(
    ("before", "after"),
    [(OLD, NEW), (OLD, "text-embedding-3-large"), (None, OLD)],
    ids=["same dimensions", "other dimensions", "local to openai"],
)
def test_one_search_moves_a_small_memory_to_a_new_model(
    workspace: Path,
    environ: dict[str, str],
    remote: dict[str, str],
    before: str | None,
    after: str,
) -> None:
    write_notes(workspace, 12)  # few: a search has three seconds for them
    with Memory.open(
        workspace, environ={**remote, "RECOLLECT_MODEL": before} if before else environ
    ) as memory:
        memory.sync()
    changed = {**remote, "RECOLLECT_MODEL": after}

    by_command = json.loads(command(workspace, changed, "search", QUESTION, "--json").stdout)
    with Memory.open(workspace, environ=changed) as memory:
        by_python = memory.search(QUESTION)

    assert ("hybrid", after) == (by_command["mode"], by_command["model"])
    assert ("hybrid", after) == (by_python.mode, by_python.model)
    assert () == by_python.notices


def test_a_new_model_that_is_too_slow_for_a_search_leaves_the_old_vectors_answering(
    workspace: Path,
    remote: dict[str, str],
    server: VendorServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_notes(workspace, 61)
    with Memory.open(workspace, environ=remote) as memory:
        memory.sync()
    released = threading.Event()
    monkeypatch.setattr(sync, "CHEAP", replace(sync.CHEAP, embed_seconds=0.2))

    with Memory.open(workspace, environ={**remote, "RECOLLECT_MODEL": NEW}) as memory:
        for part in (QUESTIONS[0], NOTES[0], "Note 60"):
            server.script = partial(_hang_if, part.encode(), released)
            results = memory.search(QUESTION)

            assert_space(results, workspace, model=OLD)
            assert memory.is_behind
        released.set()
        server.script = lambda *_: None
        monkeypatch.undo()
        results = memory.search(QUESTION)

    assert_space(results, workspace, model=NEW)


def _hang_if(part: bytes, released: threading.Event, _: int, request: Request) -> Fault | None:
    """Leave a request to the new model that holds this part without an answer."""
    is_meant = NEW == model_of(request) and part in request.raw
    return hang(released) if is_meant else None


def test_with_equal_dimensions_no_search_compares_across_the_two(
    workspace: Path, remote: dict[str, str]
) -> None:
    write_notes(workspace, 40)
    for model in (OLD, NEW, OLD, NEW):
        with Memory.open(workspace, environ={**remote, "RECOLLECT_MODEL": model}) as memory:
            memory.sync(max_texts=25)
            results = memory.search(QUESTION, sync=False)
            alone = memory.search(QUESTION, legs=(Leg.VECTOR,), sync=False)
        serving = str(results.model)

        assert serving in (OLD, NEW)
        assert_space(results, workspace, model=serving)
        assert_space(alone, workspace, model=serving)


def test_when_the_old_model_does_not_answer_the_new_vectors_serve_as_they_arrive(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 60)
    with Memory.open(workspace, environ=remote) as memory:
        memory.sync()
    server.script = lambda _, request: (
        refuse(404, "no such model") if model_of(request) == OLD else None
    )

    with Memory.open(workspace, environ={**remote, "RECOLLECT_MODEL": NEW}) as memory:
        memory.sync(max_texts=30)
        results = memory.search(QUESTION, sync=False)

    assert_space(results, workspace, model=NEW)
    assert "hybrid" == results.mode


def test_going_back_costs_nothing(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 300)
    for model in (OLD, NEW):
        with Memory.open(workspace, environ={**remote, "RECOLLECT_MODEL": model}) as memory:
            memory.sync()
    server.requests.clear()

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()
        results = memory.search(QUESTION, sync=False)

    assert (0, 300, 0) == (report.embedded, report.reused, report.pending)
    assert 1 == len(server.requests)  # the question
    assert_space(results, workspace, model=OLD)


def test_a_deleted_index_is_rebuilt_without_paying_again(
    tmp_path: Path, workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 50)
    command(workspace, remote, "index")
    for file in (tmp_path / "home" / "memory").iterdir():
        file.unlink()
    server.requests.clear()

    done = command(workspace, remote, "index")

    assert "0 embedded now, 50 from the cache, 0 waiting" in done.stdout
    assert [] == server.requests


def test_two_agents_of_a_home_pay_once_for_a_text_they_share(
    tmp_path: Path, workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    other = tmp_path / "other"
    (other / "memory").mkdir(parents=True)
    write_notes(workspace, 20)
    write_notes(other, 20)
    command(workspace, remote, "index")

    with Memory.open(other, environ=remote) as memory:
        report = memory.sync(force=True)

    assert (0, 20) == (report.embedded, report.reused)
    assert {1} == set(notes_of(server).values())


def test_another_address_is_another_space(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 10)
    with Memory.open(workspace, environ=remote) as memory:
        memory.sync()
    moved = {**remote, "OPENAI_BASE_URL": f"{server.url}/proxy/v1"}

    with Memory.open(workspace, environ=moved) as memory:
        status = memory.status()
        report = memory.sync()

    assert status.legs.vector.space != status.legs.vector.served_from
    assert 10 == report.embedded


def test_switching_vectors_off_and_on_again_costs_nothing(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 10)
    with Memory.open(workspace, environ=remote) as memory:
        memory.sync()
    with Memory.open(
        workspace, environ={**remote, "RECOLLECT_PROVIDER": "none", "RECOLLECT_MODEL": ""}
    ) as memory:
        memory.sync()
        plain = memory.search(QUESTION, sync=False)
    server.requests.clear()

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    assert "keyword" == plain.mode
    assert plain.degraded is None
    assert 0 == report.embedded == report.pending
    assert [] == server.requests


def test_a_provider_without_its_key_is_reported_while_the_earlier_vectors_answer(
    workspace: Path, environ: dict[str, str]
) -> None:
    write_notes(workspace, 5)
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()

    with Memory.open(workspace, environ={**environ, "RECOLLECT_PROVIDER": "voyage"}) as memory:
        report = memory.sync()
        results = memory.search("violin")

    assert report.degraded is not None
    assert "VOYAGE_API_KEY" in report.degraded["vector"].reason
    assert ("hybrid", "local") == (results.mode, results.provider)
    assert results.degraded is not None
    assert "VOYAGE_API_KEY" in results.degraded["vector"].reason
    assert "Meanwhile the vectors of" in results.degraded["vector"].reason


def test_auto_stays_with_the_provider_of_a_complete_index(
    tmp_path: Path, workspace: Path, environ: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 5)
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
    offline = {
        **environ,
        "RECOLLECT_LOCAL_MODEL_PATH": str(tmp_path / "nowhere"),
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{server.url}/v1",
    }
    (tmp_path / "nowhere").mkdir()

    with Memory.open(workspace, environ=offline) as memory:
        report = memory.sync()
        results = memory.search("violin")

    assert [] == server.requests
    assert report.degraded is not None
    assert "keyword" == results.mode


def test_a_named_fallback_embeds_a_new_index_and_says_why(
    tmp_path: Path, workspace: Path, environ: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 5)
    (tmp_path / "nowhere").mkdir()
    offline = {
        **environ,
        "RECOLLECT_LOCAL_MODEL_PATH": str(tmp_path / "nowhere"),
        "RECOLLECT_FALLBACK": "openai,gemini",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{server.url}/v1",
    }

    with Memory.open(workspace, environ=offline) as memory:
        report = memory.sync()
        status = memory.status(deep=True)

    assert 5 == report.embedded
    assert "openai" == status.provider.name
    assert ["local", "gemini"] == list(status.provider.skipped)
    assert "cannot be" in status.provider.skipped["local"].reason
    assert any("openai" in notice for notice in report.notices)


def test_another_provider_with_a_model_of_its_own_leaves_the_old_vectors_serving(
    workspace: Path, environ: dict[str, str], remote: dict[str, str]
) -> None:
    write_notes(workspace, 5)
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()

    with Memory.open(workspace, environ={**remote, "RECOLLECT_MODEL": "my/own"}) as memory:
        results = memory.search("violin", sync=False)

    assert ("hybrid", "local") == (results.mode, results.provider)


def test_a_failing_new_provider_is_reported_while_the_old_vectors_answer(
    workspace: Path, environ: dict[str, str], remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 5)
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
    server.script = lambda *_: refuse(401, "wrong key")

    with Memory.open(workspace, environ=remote) as memory:
        results = memory.search("violin")
    deep = command(workspace, remote, "status", "--deep")

    assert ("hybrid", "local") == (results.mode, results.provider)
    assert results.degraded is not None
    assert "401" in results.degraded["vector"].reason
    assert "OPENAI_API_KEY" in results.degraded["vector"].action
    assert "401" in deep.stdout
    assert "OPENAI_API_KEY" in deep.stdout
