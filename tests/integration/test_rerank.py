"""The reader as a user meets it: real processes, real files, real models."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.commands import recollect_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTES = {
    "memory/2026-02-01.md": "The ferry to the island was painted blue, and the ferry has a cafe.\n",
    "memory/2026-02-02.md": "Boat: departure is at nine in the morning from pier four.\n",
    "memory/2026-02-03.md": "Tickets for the ferry cost twelve euros; dogs travel for free.\n",
    "memory/2020-02-04.md": "The ferry timetable hangs beside the door, code TCK-82152.\n",
}
QUESTION = "at what time does the ferry leave"


@pytest.fixture
def search(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Search four notes with time enough to rerank, whatever else this machine does."""
    for path, text in NOTES.items():
        write(path, text)

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "search", *arguments],
            cwd=workspace,
            env={**environ, "RECOLLECT_RERANK_BUDGET_MS": "60000", **more},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )

    return run


def answer(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def order(found: Any) -> list[str]:
    return [hit["path"] for hit in found["results"]]


@pytest.mark.parametrize("fusion", ["calibrated", "weighted", "rrf"])
def test_scores_and_order_agree_and_the_explanation_adds_up(
    search: Callable[..., subprocess.CompletedProcess[str]], fusion: str
) -> None:
    found = answer(
        search(
            QUESTION, "--rerank", "--explain", "--json", "--min-score=0", f"--fusion={fusion}",
            RECOLLECT_TEMPORAL_DECAY_ENABLED="true",
        )
    )  # fmt: skip

    scores = [hit["score"] for hit in found["results"]]
    assert 4 == len(scores)
    assert sorted(scores, reverse=True) == scores
    assert all(0 <= score <= 1 for score in scores)
    assert found["degraded"] is None
    for hit in found["results"]:
        explain = hit["explain"]
        legs = sum(leg["contribution"] for leg in explain["legs"].values())
        parts = legs + explain["exact"] + explain["decay"] + explain["rerank"]
        assert hit["score"] == pytest.approx(parts, abs=1e-4)
        assert explain["rerank"] >= 0


def test_the_note_that_answers_rises_and_the_explanation_shows_it(
    search: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    plain = answer(search(QUESTION, "--json", "--no-rerank"))
    again = search(QUESTION, "--explain")

    score, location = again.stdout.splitlines()[0].split(" ")
    assert "memory/2026-02-02.md:1-1" == location
    assert "  rerank   +" in again.stdout
    before = next(hit for hit in plain["results"] if hit["path"] == "memory/2026-02-02.md")
    assert float(score) > before["score"]


def test_what_is_exactly_asked_for_stays_first(
    search: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    found = answer(search(f"{QUESTION} TCK-82152", "--rerank", "--all", "--json"))

    assert "memory/2020-02-04.md" == order(found)[0]
    assert found["results"][0]["score"] > found["results"][1]["score"]


def test_out_of_time_the_fused_order_stands_and_the_answer_says_so(
    search: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    plain = answer(search(QUESTION, "--json", "--no-rerank"))
    late = search(QUESTION, "--json", RECOLLECT_RERANK_BUDGET_MS="1")

    assert plain["results"] == answer(late)["results"]
    why = answer(late)["degraded"]["legs"]["rerank"]
    assert re.search(r"read [0-3] of 4 candidates in 1 ms", why["reason"])
    assert "rerank.budget_ms" in why["action"]
    assert f"not reranked: {why['reason']}".lower() in late.stderr.lower()


def test_a_workspace_may_turn_it_off_and_a_command_on(
    search: Callable[..., subprocess.CompletedProcess[str]], write: Callable[[str, str], Path]
) -> None:
    read = answer(search(QUESTION, "--json"))
    write("recollect.toml", "[rerank]\nenabled = false\n")

    assert read["results"] != answer(search(QUESTION, "--json"))["results"]
    assert read["results"] == answer(search(QUESTION, "--json", "--rerank"))["results"]


def test_a_question_the_model_cannot_read_is_answered_as_without_it(
    search: Callable[..., subprocess.CompletedProcess[str]], write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-02-05.md", "渡轮早上九点从四号码头出发。\n")

    found = answer(search("渡轮几点出发", "--json"))

    assert "memory/2026-02-05.md" == order(found)[0]
    assert found["degraded"] is None


def test_confidence_tells_an_answer_from_a_detail_that_no_note_has(
    search: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    there = answer(search(QUESTION, "--json"))
    absent = answer(search("which company painted the ferry", "--json"))

    assert (True, False) == (there["confident"], absent["confident"])
