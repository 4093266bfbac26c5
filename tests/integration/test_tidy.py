"""`recollect tidy`: what in a memory needs care, and what mends it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import Cli

from recollect import Memory
from recollect.evaluate.tidy import tidy
from recollect.text.claims import contradict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.evaluate.tidy import Finding

    Write = Callable[[str, str], Path]

OLD = (datetime.now(tz=UTC) - timedelta(days=60)).date()
NEW = (datetime.now(tz=UTC) - timedelta(days=6)).date()


def findings(
    workspace: Path, environ: dict[str, str], *facts: str, provider: str = "none"
) -> list[Finding]:
    with Memory.open(workspace, settings={"provider": provider}, environ=environ) as memory:
        for fact in facts:
            memory.facts.remember(fact)
        memory.sync()
        return [*tidy(memory.parts).findings]


def test_a_clean_memory_exits_0_and_says_what_was_not_looked_at(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "The boat is red.\n")
    done = Cli(workspace, {**environ, "RECOLLECT_PROVIDER": "none"})("tidy")

    assert (0, "0 findings in 1 note.\n") == (done.returncode, done.stdout)
    assert "0 questions are recorded" in done.stderr


def test_findings_exit_1_and_each_has_a_command_that_mends_it(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "# A\n\nSee [[nowhere]].\n")
    cli = Cli(workspace, {**environ, "RECOLLECT_PROVIDER": "none"})
    shown, as_json = cli("tidy"), cli("tidy", "--json")

    assert (1, 1) == (shown.returncode, as_json.returncode)
    assert "memory/a.md:3 links to 'nowhere', which does not exist" in shown.stdout
    assert "→ Correct the link: `$EDITOR +3 memory/a.md`" in shown.stdout
    assert '"kind": "dead-link"' in as_json.stdout


def test_what_cannot_be_looked_at_exits_2(workspace: Path, environ: dict[str, str]) -> None:
    assert 2 == Cli(workspace, environ)("tidy", "-w", str(workspace / "gone")).returncode


def test_equal_texts_are_named_once_with_the_first_of_them(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    said = "The spare key of the boat house hangs behind the blue barrel.\n"
    for name in "abc":
        write(f"memory/{name}.md", said)
    write("memory/short.md", "Yes.\n")
    write("memory/other.md", "Yes.\n")

    assert [
        ("memory/b.md:1", "says the same as memory/a.md:1"),
        ("memory/c.md:1", "says the same as memory/a.md:1"),
    ] == [(each.place, each.reason) for each in findings(workspace, environ)]


def test_nearly_equal_texts_are_found_by_their_vectors_unless_a_number_differs(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    said = "The spare key of the boat house hangs behind the {} barrel near the door."
    write("memory/a.md", said.format("blue"))
    write(
        "memory/b.md", said.format("blue").replace("hangs", "is hanging").replace(" near", ", near")
    )
    write("memory/c.md", said.format("blue 12"))
    found = findings(workspace, environ, provider="local")

    assert [("memory/b.md:1", "says nearly the same as memory/a.md:1")] == [
        (each.place, each.reason) for each in found
    ]


def test_a_note_that_contradicts_a_fact_is_named_with_both_sentences(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "# People\n\nAda takes sugar in her tea. Bob likes cake.\n")
    (found,) = findings(workspace, environ, "Ada drinks tea without sugar", "Bob likes cake")

    assert ("contradiction", "memory/a.md:1") == (found.kind, found.place)
    assert "'Ada takes sugar in her tea.' contradicts the fact" in found.reason
    assert "recollect facts forget f-" in found.action


def test_facts_that_contradict_each_other_come_with_the_command_that_settles_it(
    workspace: Path, environ: dict[str, str]
) -> None:
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as memory:
        old = datetime(2020, 1, 1, tzinfo=UTC)
        new = memory.facts.remember(
            "The gateway listens on 1.", entity="gateway", key="port", value="1"
        ).fact
        memory.facts.remember(
            "The gateway listens on 2.", entity="gateway", key="port", value="2", valid_from=old
        )
        memory.sync()
        (found,) = tidy(memory.parts).findings

    assert new.id in f"{found.place} {found.reason}"
    assert found.action.startswith("Keep one: `recollect facts supersede f-")


def test_undated_notes_that_nothing_links_to_are_named_if_notes_are_linked(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/hub.md", "See [[spoke]].\n")
    write("memory/spoke.md", "Back to [[hub]].\n")
    write("memory/alone.md", "Nobody links here.\n")
    write(f"memory/{OLD}.md", "A day.\n")

    assert [("unlinked", "memory/alone.md:1")] == [
        (each.kind, each.place) for each in findings(workspace, environ)
    ]


def test_notes_without_links_are_not_named_where_hardly_any_note_links(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    for number in range(9):
        write(f"memory/note-{number}.md", f"The boat number {number} is out.\n")
    write("memory/hub.md", "See [[note 1]].\n")

    assert [] == findings(workspace, environ)


def test_a_link_with_a_slip_names_the_note_that_it_may_mean(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/people/tove-lind.md", "---\nname: Tove Lind\n---\nPlays the cello.\n")
    write("memory/a.md", "Rehearsed with [[Tove Lindt]] and [[Quentin]].\n")

    assert [
        "Did you mean memory/people/tove-lind.md? Correct the link: `$EDITOR +1 memory/a.md`",
        "Correct the link: `$EDITOR +1 memory/a.md`",
    ] == [each.action for each in findings(workspace, environ)]


def test_a_path_in_a_command_is_quoted_and_no_link_breaks_the_report(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/$(touch owned).md", f"[a](%00) [b]({'x' * 290})\n")
    found = findings(workspace, environ)

    assert 2 == len(found)
    assert {"Correct the link: `$EDITOR +1 'memory/$(touch owned).md'`"} == {
        each.action for each in found
    }


def test_a_link_to_a_file_that_is_not_indexed_is_not_dead(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/plan.png", "")
    write("memory/a.md", "![the plan](plan.png)\n")

    assert [] == findings(workspace, environ)


def test_what_is_in_progress_for_more_than_a_month_is_named(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write(f"memory/{OLD}.md", "- Paint the boat (in progress)\n")
    write(f"memory/{NEW}.md", "- Paint the shed (in progress)\n")
    write(f"memory/{OLD}-b.md", "---\nstatus: in-progress\n---\nThe roof.\n")
    write(f"memory/{OLD}-c.md", "We made progress in the shed.\n")

    assert [("stale", f"memory/{OLD}-b.md:4"), ("stale", f"memory/{OLD}.md:1")] == [
        (each.kind, each.place) for each in findings(workspace, environ)
    ]


def test_notes_that_no_recorded_question_finds_are_named_if_there_are_enough_questions(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "The boat is red.\n")
    write("memory/b.md", "Nobody asks for the walrus.\n")
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as memory:
        memory.sync()
        file = memory.parts.setup.places.cases_of(memory.agent)
        file.parent.mkdir(parents=True)
        file.write_text(
            "".join(f'{{"query": "boat {n}", "expected": ["memory/a.md"]}}\n' for n in range(50))
        )
        (found,) = tidy(memory.parts).findings

    assert ("unfound", "memory/b.md:1") == (found.kind, found.place)


@pytest.mark.parametrize(
    ("one", "other", "is_contradiction"),
    [
        ("Ada drinks tea without sugar", "Ada takes sugar in her tea", True),
        ("The gateway is not on loopback", "The gateway stays on loopback", True),
        ("The port of the gateway is 8080", "The gateway's port is 9090", True),
        ("Mika never eats meat", "Mika eats meat on Sundays", True),
        ("The API requires no token", "The API requires a token", True),
        ("Ada drinks tea without sugar", "Ada drinks tea", False),
        ("Bob does not work on Mondays", "Bob works on Tuesdays", False),
        ("The red boat is not in the shed", "The blue boat is in the shed", False),
        ("Ticket 4411 is closed", "Ticket 4412 is closed", False),
        ("Meeting on 2026-02-01 with Bob", "Meeting on 2026-03-01 with Bob", False),
        ("We used to deploy on Fridays", "We do not deploy on Fridays", False),
        ("Is the boiler repaired?", "The boiler is not repaired", False),
    ],
)
def test_two_sentences_contradict_if_one_denies_the_other_or_measures_otherwise(
    one: str, other: str, *, is_contradiction: bool
) -> None:
    assert is_contradiction is contradict(one, other) is contradict(other, one)


def test_whether_something_outside_of_the_workspace_exists_is_not_told(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    outside = workspace.with_name("outside")
    outside.mkdir()
    (outside / "there.md").write_text("Private.\n", encoding="utf-8")
    write("memory/a.md", "[[../../outside/there.md]] [[../../outside/gone.md]]\n[[away/gone]]\n")
    (workspace / "memory" / "away").symlink_to(outside)

    assert [] == findings(workspace, environ)


def test_parts_of_one_line_are_not_copies_of_each_other(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/long.md", "# Long\n\n" + "the key of the boat hangs behind a barrel " * 900)

    assert [] == findings(workspace, environ)
