"""What holds for the chunks of any text."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.chunk import chunk
from recollect.ingest.markdown import BlockKind, blocks
from recollect.ingest.options import ChunkOptions
from recollect.text.graphemes import last_sentences, split_line
from recollect.text.size import weigh
from recollect.types import Chunk, Document, SourceKind, Stat

OPTIONS = ChunkOptions(tokens=16, overlap=4)
LIMIT = 64

WORDS = st.sampled_from(
    [
        "tea",
        "the deploy failed",
        "Zürich",
        "数据库迁移",
        "東京タワー。",
        "It works. So far.",
        "서버에서",
        "สวัสดี",
        "x" * 30,
        "| a",
    ]
)
CLUSTERS = st.sampled_from(
    [
        "a",
        " ",
        "。",
        "中",
        "é",
        "e\u0301",
        "👨‍👩‍👧‍👦",
        "👩🏿‍❤️‍💋‍👩🏿",
        "🇩🇪",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\u1112\u1161\u11ab",
        "क्ष",
        "\U00020000",
        "1️⃣",
    ]
)
STARTS = st.sampled_from(
    [
        "",
        "# ",
        "## ",
        "### ",
        "#",
        "- ",
        "* ",
        "  - ",
        "    - ",
        "1. ",
        "2. ",
        "> ",
        "| ",
        "  ",
        "\t",
    ]
)
WHOLE_LINES = st.sampled_from(
    ["", "", "", "---", "===", "```", "```python", "~~~", "````", "<!--", "-->", "|---|---|", "***"]
)
LINES = st.one_of(
    WHOLE_LINES,
    st.builds("{}{}".format, STARTS, st.lists(WORDS, max_size=4).map(" ".join)),
    st.builds("{}{}".format, STARTS, st.lists(CLUSTERS, max_size=60).map("".join)),
)
TEXTS = st.lists(LINES, max_size=40).map("\n".join)
PATHS = st.sampled_from(["memory/2026-02-01.md", "MEMORY.md"])


def document(text: str, *, path: str = "memory/notes.md", body_line: int = 1) -> Document:
    return Document(
        path=path,
        source=SourceKind.MEMORY,
        text=text,
        digest="",
        stat=Stat(0, 0),
        when=None,
        body_line=body_line,
    )


def chunks(text: str, *, path: str = "memory/notes.md") -> list[Chunk]:
    return chunk(document(text, path=path), options=OPTIONS)


@given(text=TEXTS, path=PATHS)
def test_every_line_that_says_something_is_in_a_chunk(text: str, path: str) -> None:
    covered = {
        number
        for each in chunks(text, path=path)
        for number in range(each.start_line, each.end_line + 1)
    }

    written = {number for number, line in enumerate(text.split("\n"), 1) if line.strip()}

    assert written <= covered


@given(text=TEXTS, path=PATHS)
def test_the_text_of_a_chunk_is_the_lines_it_names(text: str, path: str) -> None:
    lines = text.split("\n")

    for each in chunks(text, path=path):
        named = lines[each.start_line - 1 : each.end_line]
        shown = each.text.split("\n")
        assert len(named) == len(shown)
        # The first one may be the last sentences of a line that the chunk before has.
        assert shown[0] in named[0]
        assert all(
            show in name if weigh(name) >= LIMIT else show == name
            for name, show in zip(named[1:], shown[1:], strict=True)
        )


@given(text=TEXTS, path=PATHS)
def test_a_chunk_neither_begins_nor_ends_with_a_blank_line(text: str, path: str) -> None:
    for each in chunks(text, path=path):
        lines = each.text.split("\n")

        assert lines[0].strip()
        assert lines[-1].strip()


@given(text=TEXTS, path=PATHS)
def test_a_chunk_is_within_the_limit_unless_headings_and_one_line_are_more(
    text: str, path: str
) -> None:
    headings = {
        number
        for block in blocks(text.split("\n"))
        if block.kind is BlockKind.HEADING
        for number in range(block.start, block.end + 1)
    }
    for each in chunks(text, path=path):
        body = [
            line
            for number, line in enumerate(each.text.split("\n"), each.start_line)
            if number not in headings and line.strip()
        ]

        assert weigh(each.text) < LIMIT or len(body) <= 1


@given(text=TEXTS, path=PATHS)
def test_chunks_come_in_the_order_of_their_lines(text: str, path: str) -> None:
    found = chunks(text, path=path)

    assert all(
        a.start_line <= b.start_line and a.end_line <= b.end_line for a, b in pairwise(found)
    )


@given(text=TEXTS, path=PATHS)
def test_no_chunk_repeats_the_one_before_as_a_whole(text: str, path: str) -> None:
    lines = text.split("\n")

    for before, after in pairwise(chunks(text, path=path)):
        is_part = after.text.split("\n")[0] != lines[after.start_line - 1]
        assert is_part or before.start_line < after.start_line


@given(text=TEXTS, path=PATHS)
def test_the_same_text_gives_the_same_chunks(text: str, path: str) -> None:
    assert chunks(text, path=path) == chunks(text, path=path)


@given(text=TEXTS, more=TEXTS, path=PATHS)
def test_appending_leaves_every_chunk_but_the_last_as_it_was(
    text: str, more: str, path: str
) -> None:
    before = chunks(text, path=path)[:-1]

    assert before == chunks(f"{text}\n{more}", path=path)[: len(before)]


@given(text=TEXTS, body_line=st.integers(1, 20))
def test_what_is_above_the_body_is_in_no_chunk(text: str, body_line: int) -> None:
    below = text.split("\n")[body_line - 1 :]
    found = chunk(document(text, body_line=body_line), options=OPTIONS)

    # Front matter alone is a chunk: it is all that such a note says.
    body = [each.text for each in found if each.start_line >= body_line]
    assert body == [each.text for each in chunks("\n".join(below))]
    assert len(body) == len(found) or not body


@given(text=TEXTS)
def test_the_prefix_holds_just_the_headings_the_text_does_not_show(text: str) -> None:
    for each in chunks(text):
        shown = {
            block.title
            for block in blocks(text.split("\n"))
            if block.kind is BlockKind.HEADING and each.start_line <= block.start <= each.end_line
        }
        unseen = each.prefix.split(" > ") if each.prefix else []

        assert list(each.heading[: len(unseen)]) == unseen
        assert shown.issuperset(each.heading[len(unseen) :])


@pytest.mark.parametrize("overlap", [0, 10, 40])
@given(clusters=st.lists(CLUSTERS, min_size=1, max_size=300))
def test_a_long_line_is_never_divided_inside_a_visible_character(
    overlap: int, clusters: list[str]
) -> None:
    line = "".join(clusters)
    places = {0, *accumulate(len(cluster) for cluster in clusters)}
    ends = {0}  # where the text may stand so far: repeated clusters leave more than one answer
    for piece in split_line(line, first=40, limit=80, overlap=overlap):
        ends = {
            start + len(piece)
            for end in ends
            for start in range(max(0, end - overlap), end + 1)
            if line.startswith(piece, start)
            and start + len(piece) > end
            and {start, start + len(piece)} <= places
        }
        assert ends

    assert len(line) in ends


@given(clusters=st.lists(CLUSTERS, min_size=1, max_size=300), room=st.integers(0, 80))
def test_the_last_sentences_of_a_line_are_an_end_of_it_that_fits(
    clusters: list[str], room: int
) -> None:
    line = "".join(clusters)
    ending = last_sentences(line, room)

    assert line.endswith(ending)
    assert weigh(ending) <= room
    assert len(line) - len(ending) in {0, *accumulate(map(len, clusters))}
    assert ending != line


@given(line=st.text(min_size=1, max_size=400), limit=st.integers(1, 60))
def test_pieces_without_overlap_are_the_line(line: str, limit: int) -> None:
    found = list(split_line(line, first=limit, limit=limit, overlap=0))

    assert line == "".join(found)
    assert all(found)
