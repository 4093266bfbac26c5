"""The ledger as people edit it: what does not count as they meant it is told, never passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from recollect import Memory
from recollect.facts.book import FactFilter
from recollect.shells.cli.status import examine
from recollect.shells.render.status import report_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ONE = "f-06e5p3v8m1q0y"
TWO = "f-06e5p3v8m1q0z"


class Write(Protocol):
    def __call__(self, name: str, text: str) -> Path: ...


@pytest.fixture
def opened(workspace: Path, environ: dict[str, str]) -> Callable[[], Memory]:
    return lambda: Memory.open(workspace, environ={**environ, "RECOLLECT_PROVIDER": "none"})


@pytest.fixture
def memory(opened: Callable[[], Memory]) -> Iterator[Memory]:
    with opened() as memory:
        yield memory


@pytest.fixture
def written(workspace: Path) -> Write:
    def write(name: str, text: str) -> Path:
        file = workspace / "memory" / "facts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write


def problems(memory: Memory) -> list[tuple[str, str]]:
    listing = memory.facts.listed(FactFilter())
    return [(each.path.removeprefix("memory/facts/"), each.reason) for each in listing.problems]


def held(memory: Memory) -> list[str]:
    return [fact.text for fact in memory.facts.all()]


def test_every_search_reports_a_paragraph_between_facts_once(
    memory: Memory, written: Write
) -> None:
    written("other.md", "# Facts\n\nThe zebra lives\nin the barn.\n\n- The kettle is blue\n")

    told = [memory.search("zebra").notices for _ in range(2)]

    assert [("other.md:3", "is not a fact, so searches do not find it")] == problems(memory)
    assert [[True], [True]] == [["other.md:3 is not a fact" in each for each in n] for n in told]
    assert ["The kettle is blue"] == held(memory)


@pytest.mark.parametrize(
    "line", ["1. One", "> quoted", "| a | b |", f"Lost its dash <!-- {ONE} by=owner -->"]
)
def test_whatever_is_no_bullet_is_told(memory: Memory, written: Write, line: str) -> None:
    written("other.md", f"- The kettle is blue\n\n{line}\n")

    assert [("other.md:3", "is not a fact, so searches do not find it")] == problems(memory)


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: mine\n---\n",
        "# Heading\n",
        "#\n",
        "Heading\n=======\n",
        "Heading\n---\n",
        "<!-- a comment\nof two lines -->\n",
        "```\ncode\n```\n",
        "***\n",
        "- - -\n",
        "- A fact\n  that goes on\n",
        "\n\n",
    ],
)
def test_what_is_a_persons_own_is_not_told(memory: Memory, written: Write, text: str) -> None:
    written("other.md", text)

    assert [] == problems(memory)


def test_a_file_in_a_subfolder_is_reported_even_if_nothing_else_changed(
    memory: Memory, written: Write
) -> None:
    written("other.md", "- The kettle is blue\n")
    memory.sync()
    before = memory.search("zebra").notices

    written("sub/zoo.md", "The zebra lives in the barn.\n")
    after = memory.search("zebra").notices

    assert () == before
    assert ["memory/facts/sub/zoo.md"] == [notice.split()[0] for notice in after]


def test_a_record_needs_no_id(memory: Memory, written: Write) -> None:
    file = written("other.md", '- The lamp is warm <!-- entity=lamp key=light value="warm" -->\n')
    [fact] = memory.facts.all()

    memory.facts.remember("The lamp is cold", entity="lamp", key="light", value="cold")

    assert ("The lamp is warm", "lamp", "light", "warm") == (
        fact.text, fact.entity, fact.key, fact.value
    )  # fmt: skip
    assert ["The lamp is cold"] == held(memory)
    assert f"~~The lamp is warm~~ <!-- {fact.id} entity=lamp" in file.read_text(encoding="utf-8")


def test_a_broken_record_without_an_id_is_told(memory: Memory, written: Write) -> None:
    written("other.md", "- The lamp is warm <!-- entity=lamp value=warm white -->\n")

    assert [("other.md:1", "has a broken record, after value")] == problems(memory)


def test_a_fact_with_a_broken_record_is_found_and_is_no_difference(
    memory: Memory, written: Write
) -> None:
    written("other.md", '- The lamp is warm <!-- f-06e5p3v8m1q0z entity="lamp by=owner -->\n')
    found = memory.search("lamp")

    assert ["The lamp is warm"] == [hit.text for hit in found.hits]
    assert () == memory.verify().differences


@pytest.mark.parametrize("limit", ["scope=user:ada", "scop=user:ada", "expires=2020-01-01"])
def test_a_fact_with_a_broken_record_that_limited_it_is_not_found(
    memory: Memory, written: Write, limit: str
) -> None:
    written("other.md", f'- The lamp is warm <!-- {TWO} {limit} entity="lamp by=owner -->\n')

    assert () == memory.search("lamp").hits
    assert [] == held(memory)


def test_a_comment_that_is_no_record_stays_part_of_the_text(memory: Memory, written: Write) -> None:
    written("other.md", "- The lamp is warm <!-- ask Bo -->\n")

    assert ["The lamp is warm <!-- ask Bo -->"] == held(memory)
    assert [] == problems(memory)


def test_a_fact_whose_successor_was_deleted_by_hand_is_reported_with_the_command_that_restores_it(
    memory: Memory, written: Write, workspace: Path
) -> None:
    old = memory.facts.remember("The wifi is Alpha", entity="wifi", key="name", value="A").fact
    memory.facts.remember("The wifi is Beta", entity="wifi", key="name", value="B")
    file = workspace / "memory" / "facts" / "other.md"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    written("other.md", "".join(line for line in lines if "Beta" not in line))

    [problem] = memory.facts.listed(FactFilter()).problems
    memory.facts.restore(old.id)

    assert "which does not exist: neither is valid" in problem.reason
    assert f"facts supersede --undo {old.id}`" in problem.action
    assert ["The wifi is Alpha"] == held(memory)
    assert [] == problems(memory)


def test_facts_that_supersede_each_other_are_reported_once(memory: Memory, written: Write) -> None:
    written(
        "other.md",
        f"- ~~Tea~~ <!-- {ONE} superseded-by={TWO} -->\n"
        f"- ~~Coffee~~ <!-- {TWO} superseded-by={ONE} -->\n",
    )

    told = problems(memory)
    memory.facts.restore(ONE)

    assert [("other.md:1", f"and {TWO} supersede each other: none of them is valid")] == told
    assert ["Tea"] == held(memory)
    assert [] == problems(memory)


def test_unreadable_kinds_and_numbers_are_reported_in_words(memory: Memory, written: Write) -> None:
    written("other.md", f"- a <!-- {ONE} by=santa -->\n- b <!-- {TWO} confidence=much -->\n")

    [by, confidence] = [reason for _, reason in problems(memory)]

    assert "'santa' is not one of owner, agent, ingest." in by
    assert "The confidence 'much' is not a number." in confidence


def test_the_doctor_fails_while_a_line_is_broken_and_index_counts_lines_not_files(
    memory: Memory, opened: Callable[[], Memory], written: Write
) -> None:
    written("other.md", "- The kettle is blue\n")
    well = {check.name: check.works for check in examine(opened)}

    written("other.md", "- The kettle is blue\n\nA paragraph.\n")
    ill = {check.name: check for check in examine(opened)}
    lines = [line for line, _ in report_text(memory.sync())]

    assert well["facts"]
    assert not ill["facts"].works
    assert "other.md:3 is not a fact" in ill["facts"].detail
    assert ", 0 failed" in lines[0]
    assert "1 line to correct" == lines[1]


def test_many_broken_lines_are_counted_instead_of_named(memory: Memory, written: Write) -> None:
    written("other.md", "- The kettle is blue\n" + "\nA paragraph.\n" * 5)

    notices = memory.search("kettle").notices

    assert 4 == len(notices)
    assert "2 more lines need a correction: `recollect index` names them all." == notices[3]
