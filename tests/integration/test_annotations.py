"""What authors say of the worth of their notes: annotations of entries, and front matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[str, str], Path]

ENTRIES = ("- The gateway stays on loopback.", "- The gateway restarts at night.")


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as opened:
        yield opened


def scores(memory: Memory, question: str) -> dict[str, float]:
    return {hit.text: hit.score for hit in memory.search(question).hits}


def test_importance_multiplies_the_score_and_explains_itself(memory: Memory, write: Write) -> None:
    write("MEMORY.md", "\n".join(ENTRIES))
    before = scores(memory, "gateway")
    write("MEMORY.md", f"{ENTRIES[0]} <!-- importance: 2 -->\n{ENTRIES[1]}")
    after = scores(memory, "gateway")
    (best, other) = memory.search("gateway", explain=True).hits

    assert before[ENTRIES[1]] == after[ENTRIES[1]]
    assert pytest.approx(before[ENTRIES[0]] * (0.75 + 0.05 * 2), abs=1e-9) == after[ENTRIES[0]]
    assert [ENTRIES[1], ENTRIES[0]] == [best.text, other.text]
    assert other.trace is not None
    parts = (
        other.trace.source,
        other.trace.rerank,
        *(leg.contribution for leg in other.trace.legs.values()),
    )
    assert pytest.approx(other.score, abs=1e-6) == sum(parts)
    assert other.trace.source < 0


def test_an_entry_is_found_by_its_triggers_which_are_not_shown(
    memory: Memory, write: Write
) -> None:
    write("MEMORY.md", f"{ENTRIES[0]} <!-- trigger: network safety, firewall -->\n{ENTRIES[1]}")
    (hit,) = memory.search("firewall").hits

    assert ENTRIES[0] == hit.text
    assert "firewall" not in hit.snippet


def test_a_changed_annotation_counts_at_the_next_search(memory: Memory, write: Write) -> None:
    write("USER.md", f"{ENTRIES[0]} <!-- trigger: firewall -->")
    assert [ENTRIES[0]] == list(scores(memory, "firewall"))

    write("USER.md", f"{ENTRIES[0]} <!-- trigger: router -->")

    assert ([], [ENTRIES[0]]) == (
        list(scores(memory, "firewall")),
        list(scores(memory, "router")),
    )


def test_annotations_in_daily_notes_are_text(memory: Memory, write: Write) -> None:
    write("memory/2026-02-01.md", f"{ENTRIES[0]} <!-- importance: 10 -->\n")
    (marked,) = memory.search("gateway", explain=True).hits

    assert "importance" in marked.text
    assert marked.trace is not None
    assert 0 == marked.trace.source


@pytest.mark.parametrize(
    "said",
    [
        "superseded_by: plan-b.md",
        "superseded_by:\n  - plan-b.md",
        "status: Superseded",
        "status: obsolete",
        'status: "deprecated" # since May',
        "status: deprecated #old",
    ],
)
def test_a_note_that_another_one_replaces_comes_after_it(
    memory: Memory, write: Write, said: str
) -> None:
    write("memory/plan-a.md", "The launch is in May, with a party in the garden.\n")
    write("memory/plan-b.md", "The launch is in June, with a party in the hall.\n")
    question = "launch with a party in the garden"
    assert "memory/plan-a.md" == memory.search(question).hits[0].path

    write(
        "memory/plan-a.md", f"---\n{said}\n---\nThe launch is in May, with a party in the hall.\n"
    )

    assert ["memory/plan-b.md", "memory/plan-a.md"] == [
        hit.path for hit in memory.search("launch with a party in the hall", tail=True).hits
    ]


@pytest.mark.parametrize(
    "front",
    [
        "---\nsuperseded_by: null\n---",
        "---\nsuperseded_by: ~\nreplaced-by: false # as yet\n---",
        "---\nhistory:\n  - version: 1\n    status: deprecated\n    superseded_by: b.md\n---",
        "---\nhistory:\n- status: deprecated\n---",
        "---\nabout: |\n  status: deprecated\n---",
    ],
)
def test_a_note_that_names_no_successor_of_its_own_still_holds(
    memory: Memory, write: Write, front: str
) -> None:
    write("memory/plan-a.md", f"{front}\nThe launch is in May.\n")
    (hit,) = memory.search("launch in May", explain=True).hits

    assert hit.trace is not None
    assert 0 == hit.trace.source


def test_a_text_in_front_matter_may_have_a_hash(memory: Memory, write: Write) -> None:
    write("memory/a.md", "---\nabout: |\n  Rule # gondola\nsee: issue #zeppelin\n---\nLaunch.\n")

    for word in ("gondola", "zeppelin"):
        assert ["memory/a.md"] == [hit.path for hit in memory.search(word).hits]


def test_a_note_is_not_found_by_the_name_of_its_successor(memory: Memory, write: Write) -> None:
    write("memory/plan-a.md", "---\nsuperseded_by: zeppelin\n---\nThe launch is in May.\n")

    assert () == memory.search("zeppelin").hits
