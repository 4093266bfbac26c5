"""Settings mean what they say, seen from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.remote import KEY, command
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]


def answer(workspace: Path, environ: dict[str, str], *arguments: str) -> Any:
    done = command(workspace, environ, *arguments, "--json")
    assert 0 == done.returncode, done.stderr
    assert "Warning" not in done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_with_the_endpoint_down_the_keyword_leg_answers_even_at_weight_zero(
    workspace: Path, environ: dict[str, str], write: Write, fusion: str
) -> None:
    write("MEMORY.md", "The submarine cable lands at dawn.\n")
    remote = {**environ, "RECOLLECT_PROVIDER": "openai", "OPENAI_API_KEY": KEY}
    with VendorServer(OpenAiFormat(), key=KEY) as server:
        remote["OPENAI_BASE_URL"] = f"{server.url}/v1"
        command(workspace, remote, "index")
    weights = {"RECOLLECT_VECTOR_WEIGHT": "1", "RECOLLECT_TEXT_WEIGHT": "0"}

    found = answer(workspace, {**remote, **weights}, "search", "cable", "--fusion", fusion)

    assert ["MEMORY.md"] == [hit["path"] for hit in found["results"]]
    assert "vector" in found["degraded"]["legs"]


@pytest.mark.parametrize("fusion", ["calibrated", "weighted", "rrf"])
def test_ten_notes_with_the_word_make_six_hits_by_keyword_alone(
    workspace: Path, environ: dict[str, str], write: Write, fusion: str
) -> None:
    environ |= {"RECOLLECT_PROVIDER": "none"}
    for number in range(10):
        write(f"memory/{number}.md", f"A zebra of herd {number} {'grazed ' * number}.\n")

    found = answer(workspace, environ, "search", "zebra", "--fusion", fusion)

    assert 6 == len(found["results"])


@pytest.mark.parametrize("fusion", ["calibrated", "weighted", "rrf"])
def test_a_min_score_of_the_user_shows_no_hit_below_it(
    workspace: Path, environ: dict[str, str], write: Write, fusion: str
) -> None:
    for day in range(1, 9):
        write(f"memory/2024-03-0{day}.md", f"Harbour note {day}: the crane {'moved ' * day}.\n")
    asked = ("search", "harbour crane", "-n", "20", "--fusion", fusion)
    scores = [
        hit["score"] for hit in answer(workspace, environ, *asked, "--min-score", "0")["results"]
    ]
    middle = len(scores) // 2
    floor = (scores[middle - 1] + scores[middle]) / 2

    found = answer(workspace, environ, *asked, "--min-score", str(floor))

    assert scores[:middle] == [hit["score"] for hit in found["results"]]


def test_a_blend_below_the_users_floor_is_left_out_although_one_leg_reaches_it(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/pumps.md", "The report lists pumps, valves, hoses and one zebra.\n")
    asked = ("search", "zebra crossing fines abroad", "--fusion", "weighted")

    usual = answer(workspace, environ, *asked)["results"]
    above = answer(workspace, environ, *asked, "--min-score", "0.99")["results"]

    assert [(True, True)] == [(hit["score"] < 0.99, hit["textScore"] >= 0.99) for hit in usual]
    assert [] == above


@pytest.mark.parametrize("asked", [("search",), ("recall",)])
def test_sync_on_search_false_leaves_the_index_as_it_is(
    workspace: Path, environ: dict[str, str], write: Write, asked: tuple[str, ...]
) -> None:
    environ |= {"RECOLLECT_PROVIDER": "none"}
    write("MEMORY.md", "The submarine cable lands at dawn.\n")
    command(workspace, environ, "index")
    write("memory/later.md", "The zeppelin hangar burned down.\n")
    still = {**environ, "RECOLLECT_SYNC_ON_SEARCH": "false"}

    before = command(workspace, still, *asked, "zeppelin hangar")
    forced = command(workspace, still, "search", "zeppelin hangar", "--sync")

    assert "memory/later.md" not in before.stdout
    assert "memory/later.md" in forced.stdout


def test_sync_on_search_false_counts_for_the_hook_of_a_prompt(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    environ |= {"RECOLLECT_PROVIDER": "none"}
    write("MEMORY.md", "The submarine cable lands at dawn.\n")
    command(workspace, environ, "index")
    write("memory/later.md", "The zeppelin hangar burned down.\n")
    event = json.dumps({"prompt": "the zeppelin hangar burned down", "cwd": str(workspace)})
    still = {**environ, "RECOLLECT_SYNC_ON_SEARCH": "false"}

    quiet = command(workspace, still, "hook", "prompt", stdin=event)
    told = command(workspace, environ, "hook", "prompt", stdin=event)

    assert ("zeppelin" in quiet.stdout, "zeppelin" in told.stdout) == (False, True)
