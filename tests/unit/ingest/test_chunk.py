from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest

from recollect.ingest.chunk import chunk
from recollect.ingest.options import ChunkOptions
from recollect.text.size import weigh
from recollect.types import Chunk, Document, SourceKind, Stat


def chunks(
    text: str,
    *,
    tokens: int = 400,
    overlap: int = 80,
    path: str = "memory/notes.md",
    body_line: int = 1,
) -> list[Chunk]:
    document = Document(
        path=path,
        source=SourceKind.MEMORY,
        text=text,
        digest="",
        stat=Stat(0, 0),
        when=date(2026, 2, 1),
        body_line=body_line,
    )
    return chunk(document, options=ChunkOptions(tokens=tokens, overlap=overlap))


def texts(
    text: str, *, tokens: int = 400, overlap: int = 0, path: str = "memory/notes.md"
) -> list[str]:
    return [each.text for each in chunks(text, tokens=tokens, overlap=overlap, path=path)]


def test_a_chunk_knows_where_it_is_from() -> None:
    expected = Chunk(
        path="memory/notes.md",
        source=SourceKind.MEMORY,
        start_line=2,
        end_line=4,
        text="# Tea\n\nGreen, no sugar.",
        heading=("Tea",),
        prefix="",
        when=date(2026, 2, 1),
    )

    assert [expected] == chunks("\n# Tea\n\nGreen, no sugar.\n\n")


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n"])
def test_a_text_that_says_nothing_has_no_chunks(text: str) -> None:
    assert chunks(text) == []


def test_a_heading_begins_a_chunk_and_stays_with_its_body() -> None:
    text = "before\n# One\n\nfirst\n# Two\nsecond\n"

    assert texts(text) == ["before", "# One\n\nfirst", "# Two\nsecond"]


def test_a_heading_stays_with_its_body_even_if_both_are_more_than_the_limit() -> None:
    text = "# Plan\nThe irrigation starts at dawn."

    assert [text] == texts(text, tokens=8)


def test_a_heading_stays_with_the_first_heading_below_it() -> None:
    text = "# One\n\n## Deeper\nbody\n## Next\nmore"

    assert texts(text) == ["# One\n\n## Deeper\nbody", "## Next\nmore"]


def test_a_heading_without_a_body_is_kept() -> None:
    assert texts("# Empty\n# Full\nbody\n# Last") == ["# Empty", "# Full\nbody", "# Last"]


def test_the_heading_path_is_in_front_as_far_as_the_text_does_not_show_it() -> None:
    text = "# One\n## Two\nfirst\n### Three\nsecond\n## Four\nthird\n# Five\nfourth"

    actual = [(each.heading, each.prefix) for each in chunks(text)]

    assert actual == [
        (("One", "Two"), ""),
        (("One", "Two", "Three"), "One > Two"),
        (("One", "Four"), "One"),
        (("Five",), ""),
    ]


def test_a_section_that_goes_on_in_a_second_chunk_has_its_whole_path_in_front() -> None:
    text = "# One\n## Two\n" + "\n\n".join("word " * 20 for _ in range(8))

    first, second, *_ = chunks(text, tokens=100)

    assert first.prefix == ""
    assert second.prefix == "One > Two"
    assert second.heading == first.heading == ("One", "Two")


def test_a_heading_that_skipped_levels_has_the_path_that_is_there() -> None:
    text = "### Deep\na\n# Top\nb\n### Below\nc"

    assert [each.heading for each in chunks(text)] == [("Deep",), ("Top",), ("Top", "Below")]


def test_headings_inside_a_fence_are_text() -> None:
    text = "# Real\n```bash\n# comment\nls\n```\nafter"

    assert [text] == texts(text)


def test_whole_paragraphs_are_packed_until_the_next_does_not_fit() -> None:
    # 40 tokens are a weight of 160; each paragraph weighs 60 with its newline, each gap 1.
    paragraph = "x" * 59
    text = "\n\n".join([paragraph] * 3)

    assert [f"{paragraph}\n\n{paragraph}", paragraph] == texts(text, tokens=40)


def test_a_list_entry_is_not_divided_if_it_fits_in_a_chunk() -> None:
    entry = "- " + "word " * 6 + "\n  " + "more " * 6
    text = "\n".join([entry] * 5)

    assert all(each.startswith("- ") for each in texts(text, tokens=40))


def test_an_entry_stays_with_what_is_nested_in_it_if_both_fit() -> None:
    entry = "- top entry here\n  - nested entry\n  - another nested entry"
    text = "\n".join([entry] * 4)

    assert all(each.startswith("- top") for each in texts(text, tokens=40))


def test_an_entry_too_long_for_a_chunk_is_divided_between_its_nested_entries() -> None:
    text = "- top\n" + "\n".join(f"  - nested entry number {number:02}" for number in range(12))

    actual = texts(text, tokens=32)

    assert len(actual) > 2
    assert actual[0].startswith("- top\n  - nested entry number 00")
    assert all(each.startswith("  - nested entry") for each in actual[1:])


def test_a_table_that_fits_in_a_chunk_is_not_divided() -> None:
    table = "| name | drink |\n|------|-------|\n| Ada  | tea   |\n| Bob  | mate  |"
    text = "x" * 100 + "\n\n" + table

    assert texts(text, tokens=40)[1] == table


def test_a_table_too_long_for_a_chunk_is_divided_between_rows() -> None:
    rows = [f"| row {number:02} | value {number:02} |" for number in range(20)]
    text = "\n".join(["| key | value |", "|---|---|", *rows])

    actual = texts(text, tokens=40)

    assert actual[0].startswith("| key | value |\n|---|---|\n| row 00")
    assert rows == "\n".join(actual).split("\n")[2:]


def test_a_fence_that_fits_in_a_chunk_is_not_divided() -> None:
    fence = "```python\n" + "\n".join(f"line_{number} = 1" for number in range(6)) + "\n```"
    text = "x" * 100 + "\n\n" + fence

    assert texts(text, tokens=40)[1] == fence


def test_a_divided_section_leads_over_with_the_last_whole_lines() -> None:
    # Lines weigh 20; 10 tokens of overlap are a weight of 40, so two lines.
    lines = [f"line number {number:02} ...." for number in range(12)]

    first, second, *_ = chunks("\n".join(lines), tokens=40, overlap=10)

    assert first.text.split("\n") == lines[:8]
    assert second.text.split("\n")[:3] == lines[6:9]
    assert second.start_line == 7


def test_the_overlap_begins_with_a_whole_block_if_one_is_near() -> None:
    text = "- " + "a" * 30 + "\n  second line\n- short\n- " + "b" * 60

    assert [each.text for each in chunks(text, tokens=25, overlap=10)][1].startswith("- short\n- b")


PARAGRAPHS = [
    " ".join(
        f"In week {week} the team of part {part} measured the harbour and wrote it down."
        for part in "abcde"
    )
    for week in range(12)
]
"""Each of five sentences, about 370 characters: more than the 320 of 80 tokens."""


@pytest.mark.parametrize("separator", ["\n\n", "\n\n\n"])
def test_a_chunk_of_paragraphs_begins_with_the_last_sentences_of_the_one_before(
    separator: str,
) -> None:
    found = texts(separator.join(PARAGRAPHS), overlap=80)

    assert len(found) > 3
    for before, after in pairwise(found):
        repeated = after.split("\n")[0]
        assert 230 <= len(repeated) <= 320
        assert before.endswith(f". {repeated}")


def test_the_last_sentences_of_a_text_without_spaces_are_repeated() -> None:
    paragraphs = [f"第{week}周团队测量了港口并写了下来。" * 6 for week in range(8)]

    found = texts("\n\n".join(paragraphs), overlap=80)

    assert len(found) > 1
    for before, after in pairwise(found):
        repeated = after.split("\n")[0]
        assert before.endswith(f"。{repeated}")
        assert repeated.startswith("第")


def test_nothing_is_repeated_of_a_paragraph_that_is_one_long_sentence() -> None:
    paragraphs = [f"{letter} word " * 50 for letter in "abcdef"]

    found = texts("\n\n".join(paragraphs), overlap=80)

    assert all(after.split("\n")[0] in paragraphs for after in found)


def test_the_overlap_gives_way_to_a_block_that_needs_the_room() -> None:
    text = "a" * 40 + "\n\n" + "b" * 40 + "\n\n" + "c" * 150

    actual = [each.text for each in chunks(text, tokens=40, overlap=20)]

    assert actual == ["a" * 40 + "\n\n" + "b" * 40, "c" * 150]


def test_nothing_is_repeated_across_headings() -> None:
    text = "# One\nfirst\nsecond\n# Two\nthird"

    assert [each.text for each in chunks(text)] == ["# One\nfirst\nsecond", "# Two\nthird"]


@pytest.mark.parametrize("path", ["MEMORY.md", "USER.md"])
def test_curated_files_have_one_entry_a_chunk(path: str) -> None:
    text = "# People\n\n- Ada drinks tea\n  with milk\n- Bob\n  - likes mate\n\n* Eve\n\nfree text"

    assert texts(text, overlap=80, path=path) == [
        "# People\n\n- Ada drinks tea\n  with milk",
        "- Bob\n  - likes mate",
        "* Eve\n\nfree text",
    ]


def test_entries_know_their_heading() -> None:
    found = chunks("# People\n- Ada\n- Bob\n## Work\n- Eve", path="MEMORY.md")

    assert [each.prefix for each in found] == ["", "People", "People"]


@pytest.mark.parametrize("path", ["memory/MEMORY.md", "../USER.md", "memory.md"])
def test_entries_of_other_files_are_packed(path: str) -> None:
    assert texts("- a\n- b", path=path) == ["- a\n- b"]


def test_bullets_inside_a_fence_are_no_entries() -> None:
    text = "- a\n```\n- b\n```\n- c"

    assert texts(text, path="MEMORY.md") == ["- a\n```\n- b\n```", "- c"]


def test_an_entry_longer_than_a_chunk_is_divided_but_not_mixed_with_the_next() -> None:
    text = "- " + "\n  ".join("word " * 6 for _ in range(6)) + "\n- next"

    actual = texts(text, tokens=20, overlap=10, path="MEMORY.md")

    assert len(actual) > 2
    assert actual[-1] == "- next"


def test_annotations_of_curated_files_are_not_text() -> None:
    text = (
        "- Deploys on Friday <!-- trigger: deploy, release --> <!-- importance: 8 -->\n"
        "- Uses tabs <!-- project: github.com/a/b -->  \n"
        "- A plain <!-- comment -->\n"
        "- In <!-- importance: 3 --> the middle\n"
        "<!-- trigger: alone -->"
    )

    assert texts(text, path="MEMORY.md") == [
        "- Deploys on Friday",
        "- Uses tabs",
        "- A plain <!-- comment -->",
        "- In <!-- importance: 3 --> the middle",
    ]


def test_an_entry_has_the_importance_and_the_triggers_of_its_annotations() -> None:
    text = (
        "- Deploys on Friday <!-- trigger: release, ship it --> <!-- importance: 8 -->\n"
        "  after the review <!-- importance: 3 --> <!-- trigger: rollout -->\n"
        "- Uses tabs <!-- importance: 11 --> <!-- trigger: -->\n"
        "- Plain\n"
    )

    made = chunks(text, path="MEMORY.md")

    assert [(8, "release, ship it rollout"), (None, ""), (None, "")] == [
        (each.importance, each.triggers) for each in made
    ]


def test_annotations_of_other_files_are_text() -> None:
    text = "- a <!-- importance: 8 -->"

    assert [text] == texts(text)


def test_front_matter_is_counted_but_not_chunked() -> None:
    (actual,) = chunks("---\ndate: 2026-02-01\n---\n\nTea.", body_line=4)

    assert (actual.start_line, actual.end_line, actual.text) == (5, 5, "Tea.")


def test_carriage_returns_at_line_ends_are_dropped() -> None:
    assert texts("# Tea\r\nGreen.\r\n") == ["# Tea\nGreen."]


def test_a_long_line_is_divided_into_pieces_within_the_limit() -> None:
    found = chunks("a" * (1600 * 3 + 25))

    assert all(weigh(each.text) < 1600 for each in found)
    assert {(1, 1)} == {(each.start_line, each.end_line) for each in found}


def test_characters_of_cjk_scripts_weigh_four_times_as_much() -> None:
    found = texts("中" * 2000, tokens=200)

    assert len(found) >= 8
    assert max(map(len, found)) <= 400
    assert len(texts("a" * 2000, tokens=200)) <= 5


def test_a_long_line_is_divided_between_words_and_best_after_a_sentence() -> None:
    actual = texts("The pump runs at dawn. It stops again long before noon comes.", tokens=12)

    assert actual == ["The pump runs at dawn. It stops again long ", "before noon comes."]

    actual = texts("The pump runs in the garden at dawn. It stops at noon.", tokens=11)

    assert actual == ["The pump runs in the garden at dawn. ", "It stops at noon."]


def test_a_long_line_is_not_divided_before_what_closes_a_phrase() -> None:
    actual = texts("今天讨论数据库、明天。" * 3, tokens=10)

    assert all(each[0] not in "、。" for each in actual)


def test_pieces_of_a_long_line_lead_over_with_the_end_of_the_one_before() -> None:
    words = " ".join(f"word{number:03}" for number in range(60))

    actual = texts(words, tokens=25, overlap=5)

    assert all(after.split()[0] in before for before, after in pairwise(actual))
    assert all(each.startswith("word") for each in actual)


def test_what_follows_a_long_line_is_packed_with_its_last_piece() -> None:
    *_, last = chunks("word " * 90 + "\nnext", tokens=32, overlap=0)

    assert last.text.endswith("\nnext")
    assert (last.start_line, last.end_line) == (1, 2)


@pytest.mark.parametrize(
    "cluster",
    ["👨‍👩‍👧‍👦", "👩🏿‍❤️‍💋‍👩🏿", "🇩🇪", "e\u0301\u0323", "\u1112\u1161\u11ab", "क्षि", "1️⃣", "กำ"],
)
def test_a_long_line_is_not_divided_inside_a_visible_character(cluster: str) -> None:
    actual = texts(cluster * 100, tokens=8, overlap=4)

    assert all(each == cluster * (len(each) // len(cluster)) for each in actual)


def test_a_visible_character_heavier_than_the_limit_is_a_piece_of_its_own() -> None:
    heavy = "e" + "\u0301" * 50

    assert [heavy, heavy] == texts(heavy * 2, tokens=8)


def test_a_run_of_marks_longer_than_any_character_is_divided_all_the_same() -> None:
    actual = texts("e" + "\u0301" * 5000, tokens=8)

    assert max(map(len, actual)) <= 64
    assert sum(map(len, actual)) == 5001


def test_a_long_first_line_stays_with_its_heading() -> None:
    first, second, *_ = texts("# Tea\n" + "word " * 50, tokens=20)

    assert first.startswith("# Tea\nword word")
    assert second.startswith("word")


def test_a_heading_longer_than_a_chunk_is_text() -> None:
    found = chunks("# " + "word " * 50 + "\nbody", tokens=20)

    assert {()} == {each.heading for each in found}


def test_a_limit_too_small_to_hold_words_is_raised() -> None:
    assert texts("the tea is green", tokens=0) == ["the tea is green"]


def test_blank_lines_without_end_do_not_fill_chunks() -> None:
    actual = texts("# Tea\n" + "\n" * 5000 + "green\n" + "\n" * 5000 + "black")

    assert actual == ["# Tea", "green", "black"]


def test_editing_one_section_leaves_the_others_as_they_were() -> None:
    before = chunks("# One\na\n# Two\nb\n# Three\nc")
    after = chunks("# One\na\n# Two\nchanged\n# Three\nc")

    assert [before[0].digest, before[2].digest] == [after[0].digest, after[2].digest]


def test_front_matter_says_what_a_note_is_about() -> None:
    front = (
        '---\ntitle: "Lisbon trip"\naliases: [Portugal, "the big one"]\ntags:\n  - travel/europe\n'
        "created: 2026-02-01\nstatus: paused\n---\n"
    )
    first, second = chunks(f"{front}We went.\n\n## Hotel\n\nNice.\n", body_line=9)

    assert f"#travel/europe {'Portugal the big one ' * 3}\nstatus: paused" == first.triggers
    assert ("Lisbon trip",) == first.heading
    names = "Lisbon trip (Portugal, the big one)"
    assert ("", ("Lisbon trip", "Hotel"), names) == (
        second.triggers,
        second.heading,
        second.prefix,
    )


def test_a_title_that_every_chunk_repeats_stays_short() -> None:
    [found] = chunks(f"---\ntitle: {'very ' * 40}long\n---\nGreen.\n", body_line=4)

    assert 200 == len(found.heading[0])
    assert "long" in found.triggers


def test_a_title_that_is_also_a_heading_is_shown_once() -> None:
    found = chunks("---\ntitle: Tea\n---\n# Tea\n\nGreen.\n", body_line=4)

    assert [("Tea",)] == [each.heading for each in found]


def test_a_note_of_front_matter_alone_is_found() -> None:
    [found] = chunks("---\ntitle: Tea\nstatus: paused\n---\n", body_line=5)

    assert (2, 3, "title: Tea\nstatus: paused") == (found.start_line, found.end_line, found.text)


@pytest.mark.parametrize("overlap", [0, 8, 40])
def test_no_chunk_begins_with_the_end_of_a_code_block(overlap: int) -> None:
    code = "".join(f"line{number} = compute({number})\n" for number in range(40))
    text = f"intro\n\n```python\n{code}```\n\nafter it\n"

    firsts = {
        each.text.split("\n")[0]
        for tokens in range(16, 80)
        for each in chunks(text, tokens=tokens, overlap=overlap)
    }

    assert "```" not in firsts
