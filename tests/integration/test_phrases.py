"""Quoted phrases and parts of identifiers, asked from the command line and the façade."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.remote import command

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]


@pytest.fixture
def notes(write: Write) -> None:
    write("memory/deploy.md", "To roll back, press the blue button in the console.\n")
    write("memory/paint.md", "The button by the door is blue. Roll the carpet back.\n")
    write("memory/users.md", "`getUserById` lives in users.ts and caches for a minute.\n")
    write("memory/zh.md", "点击蓝色按钮回滚部署。\n")
    write("memory/zh2.md", "蓝色的按钮在门边。\n")


def answer(workspace: Path, environ: dict[str, str], *arguments: str) -> Any:
    done = command(workspace, environ, *arguments, "--json")
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def paths(found: Any) -> list[str]:
    return [hit["path"] for hit in found["results"]]


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ('"blue button"', ["memory/deploy.md"]),
        ('how to undo a release "blue button"', ["memory/deploy.md"]),
        ('"蓝色按钮"', ["memory/zh.md"]),
        ('"roll back" "blue button"', ["memory/deploy.md"]),
    ],
)
def test_only_notes_with_the_phrase_are_shown(
    workspace: Path, environ: dict[str, str], question: str, expected: list[str]
) -> None:
    found = answer(workspace, environ, "search", question, "-n", "20", "--min-score", "0")

    assert expected == paths(found)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ('"ferry pier"', 1.0),
        ('"ferry pier" "Tuesday"', 1.0),
        ('"the"', 0.0),
        ('"pier of the ferry"', 0.0),
    ],
)
def test_a_phrase_that_a_note_has_is_its_own_answer(
    workspace: Path, environ: dict[str, str], write: Write, question: str, expected: float
) -> None:
    write("memory/a.md", "| B | at the ferry pier | 14 |\n\nNext meeting: Tuesday.\n")

    found = answer(workspace, environ, "search", question)

    assert (expected, expected > 0) == (found["confidence"], found["confident"])


@pytest.mark.usefixtures("notes")
def test_a_phrase_that_no_note_has_is_searched_as_words_and_the_answer_says_so(
    workspace: Path, environ: dict[str, str]
) -> None:
    found = answer(workspace, environ, "search", 'press the "green button"')

    assert "memory/deploy.md" == paths(found)[0]
    expected = 'Searched without these quotes, because nothing contains "green button".'
    assert [expected] == found["notices"]
    assert not found["confident"]


@pytest.mark.usefixtures("notes")
def test_every_store_honours_phrases(
    workspace: Path, environ: dict[str, str], each_store: str
) -> None:
    with Memory.open(workspace, environ=environ, settings={"store": each_store}) as memory:
        found = memory.search('"blue button"', max_results=20, min_score=0.0)

    assert ["memory/deploy.md"] == [hit.path for hit in found.hits]


@pytest.mark.usefixtures("notes")
def test_only_the_phrases_that_occur_nowhere_are_dropped_in_every_store(
    workspace: Path, environ: dict[str, str], each_store: str
) -> None:
    with Memory.open(workspace, environ=environ, settings={"store": each_store}) as memory:
        dropped = memory.search('"blue button" "green door"', max_results=20, min_score=0.0)
        apart = memory.search('"blue button" "roll the carpet"')
        outside = memory.search('"blue button"', path="memory/paint.md")
        nothing = memory.search('"blue button"', path="memory/none.md")

    assert ["memory/deploy.md"] == [hit.path for hit in dropped.hits]
    assert (
        'Searched without these quotes, because nothing contains "green door".' in dropped.notices
    )
    assert () == apart.hits
    assert 'No hit contains "blue button" and "roll the carpet" together.' in apart.notices[0]
    assert ["memory/paint.md"] == [hit.path for hit in outside.hits]
    assert 'because nothing within your filters contains "blue button".' in outside.notices[0]
    assert () == nothing.hits
    assert 'Nothing within your filters contains "blue button".' in nothing.notices


@pytest.mark.usefixtures("notes")
def test_a_quoted_identifier_that_occurs_nowhere_has_one_notice(
    workspace: Path, environ: dict[str, str]
) -> None:
    with Memory.open(workspace, environ=environ) as memory:
        found = memory.search('who calls "getUserByName"')

    assert "memory/users.md" == found.hits[0].path
    assert ["getUserByName"] == [each.split('"')[1] for each in found.notices]
    assert not found.confident


@pytest.mark.usefixtures("notes")
def test_a_prompt_may_quote_without_asking_for_a_phrase(
    workspace: Path, environ: dict[str, str]
) -> None:
    done = command(workspace, environ, "recall", 'he said "press it": the blue button, roll back')

    assert "memory/deploy.md" in done.stdout


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("question", ["user", "getUserById", "getuserbyid", '"getUserById"'])
def test_an_identifier_is_found_by_its_parts_and_as_a_whole(
    workspace: Path, environ: dict[str, str], question: str
) -> None:
    alone = {**environ, "RECOLLECT_PROVIDER": "none"}

    assert "memory/users.md" in paths(answer(workspace, alone, "search", question))
