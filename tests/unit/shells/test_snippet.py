"""The lines of a hit that a person is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.shells.cli.shared import progress_lines
from recollect.shells.render.snippet import snippet_rows
from recollect.text.excerpt import sentences, weight_of
from recollect.text.terms import query_terms
from recollect.types import Hit, SourceKind, Step

WIDTH = 40
HIT = Hit("a.md", 1, 1, 0.5, None, None, "", SourceKind.MEMORY, "a.md#L1", (), None)


def shown(text: str, query: str, *, heading: tuple[str, ...] = (), count: int = 3) -> list[str]:
    """Return the rows as text, matched words in square brackets."""
    asked = query_terms(query)
    wanted = frozenset(asked.terms) - asked.stop or frozenset(asked.terms)
    weights = dict.fromkeys(wanted, 1.0)
    sentence = max(sentences(text), key=lambda each: weight_of(each, weights), default="")
    sentence = sentence if weight_of(sentence, weights) else ""
    hit = replace(HIT, text=text, heading=heading, sentence=sentence)
    rows = snippet_rows(hit, wanted=wanted, width=WIDTH, count=count)
    return ["".join(f"[{part}]" if style else part for part, style in row) for row in rows]


def test_the_rows_with_most_of_the_question_are_shown_and_its_words_marked() -> None:
    text = "# Trip\n\n" + "Nothing of note.\n\n" * 9 + "We went climbing near Sintra.\n\nThe end.\n"

    rows = shown(text, "where did we climb in Sintra?", heading=("Trip",), count=2)

    assert ["  … We went [climbing] near [Sintra].", "  The end."] == rows


def test_a_paragraph_is_wrapped_at_words_and_a_list_is_not_joined() -> None:
    text = "One line that goes on\nand on until it is wrapped.\n- first\n- second\n"

    rows = shown(text, "first")

    assert ["  … it is wrapped.", "  - [first]", "  - second"] == rows


def test_a_row_of_a_table_is_shown_whole_or_not() -> None:
    text = "| what | who |\n|---|---|\n| hedge | Ann |\n" + f"| wall | {'Bob and ' * 9}Cy |\n"

    assert ["  … | [hedge] | Ann | …"] == shown(text, "hedge", count=2)


def test_a_sentence_begins_a_row() -> None:
    text = "It rained. We went climbing near Sintra. The end.\n"

    assert ["  … We went [climbing] near Sintra. The …"] == shown(text, "climb", count=1)


def test_lines_of_code_are_not_joined() -> None:
    text = "How to:\n```\ngit rebase main\ngit reflog\n```\nThen push\nit.\n"

    rows = shown(text, "rebase", count=4)

    assert ["  How to:", "  git [rebase] main", "  git reflog", "  Then push it."] == rows


@pytest.mark.parametrize(
    ("text", "query", "rows"),
    [
        ("猫的名字叫墨墨，很可爱。", "墨墨", ["  猫的名字叫[墨墨]，很可爱。"]),
        ("```bash\nrestic unlock\n```", "unlock", ["  restic [unlock]"]),
        ("See (OPS-4471), please.", "OPS-4471", ["  See ([OPS-4471]), please."]),
        ("# Only a title", "title", ["  # Only a [title]"]),
        ("the", "the", ["  [the]"]),
        ("", "x", []),
    ],
)
def test_what_matches_is_marked_in_any_script(text: str, query: str, rows: list[str]) -> None:
    assert rows == shown(text, query)


def test_no_row_is_wider_than_the_screen_whatever_the_words() -> None:
    rows = shown("漢" * 200 + " " + "x" * 200, "x")

    assert 3 == len(rows)
    assert all(len(row) + row.count("漢") <= WIDTH for row in rows)


def test_without_a_terminal_progress_is_a_line_every_few_seconds() -> None:
    told: list[str] = []
    now = 0.0
    show = progress_lines(told.append, clock=lambda: now)

    for done in range(0, 301, 10):
        show(Step("embed", done, 300))
        now += 1.0

    assert "Embedding: 50 of 300" == told[0]
    assert 5 == len(told)
