"""A damaged keyword index: noticed, and rebuilt from the files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.integration.remote import command

from recollect import Memory
from recollect.stores.sqlite import SqliteStore
from recollect.stores.sqlite.seal import seal_tail

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COUNT = 40
ZEROES = "UPDATE postings SET terms = zeroblob(length(terms))"
DAMAGES = {
    "places": "UPDATE postings SET places = substr(places, 1, length(places) - 2)",
    "places of no chunk": "UPDATE postings SET places = randomblob(length(places))",
    "frequencies": "UPDATE postings SET frequencies = x''",
    "deleted columns": "DELETE FROM columns",
    "a column cut short": "UPDATE columns SET data = substr(data, 2) WHERE name = 'ids'",
    "a row without its end": "UPDATE columns SET tail = 0",
    "a miscounted segment": "UPDATE segments SET chunks = chunks + 1",
    "chunks removed that are there": "UPDATE segments SET removed = 3",
}


@pytest.fixture
def alone(environ: dict[str, str]) -> dict[str, str]:
    """No provider: nothing but the keyword index can answer."""
    return {**environ, "RECOLLECT_PROVIDER": "none"}


@pytest.fixture
def index(workspace: Path, alone: dict[str, str], write: Callable[[str, str], Path]) -> Path:
    """A workspace of forty notes, indexed; the path of its index."""
    for number in range(COUNT):
        write(f"memory/{number}.md", f"# Note {number}\n\nWord{number} and a blue button.\n")
    command(workspace, alone, "index")
    file = next((workspace.parent / "home" / "memory").glob("*.sqlite"))
    with SqliteStore.open(file) as store, store._writing() as connection:
        seal_tail(connection, longest=0)
    return file


def damage(index: Path, sql: str) -> None:
    connection = apsw.Connection(str(index))
    connection.execute(sql)
    connection.close()


@pytest.mark.parametrize("sql", DAMAGES.values(), ids=DAMAGES)
def test_a_search_notices_the_damage_rebuilds_and_answers(
    workspace: Path, alone: dict[str, str], index: Path, sql: str
) -> None:
    damage(index, sql)

    done = command(workspace, alone, "search", "word7", "--json")
    after = command(workspace, alone, "doctor", "--verify")

    assert 0 == done.returncode, done.stderr
    answer = json.loads(done.stdout)
    assert "memory/7.md" == answer["results"][0]["path"]
    assert "set aside" in " ".join(answer["notices"])
    assert 0 == after.returncode, after.stdout


@pytest.mark.parametrize(
    "asked", [("doctor",), ("doctor", "--verify"), ("index",), ("index", "--force")]
)
def test_every_command_reports_it_and_leaves_a_sound_index(
    workspace: Path, alone: dict[str, str], index: Path, asked: tuple[str, ...]
) -> None:
    damage(index, DAMAGES["deleted columns"])

    command(workspace, alone, *asked)
    command(workspace, alone, "search", "word7")
    sound = command(workspace, alone, "doctor", "--verify")

    assert 0 == sound.returncode, sound.stdout


def test_damage_that_no_search_meets_is_found_by_doctor_and_mended_by_its_advice(
    workspace: Path, alone: dict[str, str], index: Path
) -> None:
    damage(index, "UPDATE postings SET frequencies = randomblob(length(frequencies))")

    doctor = command(workspace, alone, "doctor")
    command(workspace, alone, "index", "--force")

    assert 1 == doctor.returncode
    assert "the keyword index does not have all terms of the chunks" in doctor.stdout
    assert "recollect index --force" in doctor.stdout
    assert 0 == command(workspace, alone, "doctor", "--verify").returncode


def test_an_open_memory_does_not_answer_from_vectors_alone(
    workspace: Path, environ: dict[str, str], index: Path
) -> None:
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        damage(index, ZEROES)
        found = memory.search("word7", sync=False)

    assert "memory/7.md" == found.hits[0].path
    assert found.hits[0].text_score
    assert "set aside" in " ".join(found.notices)
