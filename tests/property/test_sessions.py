"""What holds for the transcripts of anybody, and for whatever strangers wrote into them."""

from __future__ import annotations

import json
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.sessions.clean import RECALLED, flatten, without_blocks, without_internal_context
from recollect.sessions.find import folder_of, format_of
from recollect.sessions.openclaw import excluded_sessions, without_envelope, without_reply_tag
from recollect.sessions.project import LABELS, ProjectOptions, document_of, pack, project, wrap
from recollect.sessions.rows import row_of, whole_lines
from recollect.sessions.source import read_lines, reader_of
from recollect.sessions.transcript import TranscriptFormat
from recollect.text.graphemes import MAX_CLUSTER_CHARS, is_boundary
from recollect.text.redact import redact
from recollect.text.size import weigh
from recollect.types import Stat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.sessions.transcript import Transcript
    from recollect.types import Chunk

OPTIONS = ProjectOptions(tokens=16, overlap=8)
HOSTILE_CHARS = 100_000
"""Enough for a quadratic pattern to be noticed by everybody who waits for it."""

WORDS = st.sampled_from(
    [
        "Prune",
        "the roses",
        "数据库迁移",
        "👨‍👩‍👧‍👦",
        "e\u0301",
        "x" * 70,
        "NO_REPLY",
        "\n",
        "sk-a1",
        "…",
    ]
)
SAID = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | SAID,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KINDS = st.sampled_from(
    ["message", "user", "assistant", "session", "reset", "custom", "event_msg", "response_item",
     "session_meta", "attachment", "ai-title", "summary", "session_info"]
)  # fmt: skip
FIELDS = st.sampled_from(
    ["type", "role", "content", "message", "payload", "text", "timestamp", "provenance", "kind",
     "sourceTool", "origin", "attachment", "prompt", "data", "sessionKey", "__openclaw", "id",
     "isSidechain", "model", "summary", "leafUuid", "aiTitle", "name", "source", "cwd"]
)  # fmt: skip
ROWS = st.builds(
    lambda kind, fields: {**fields, "type": kind} if kind else fields,
    KINDS | st.none(),
    st.dictionaries(
        FIELDS,
        JSON
        | st.dictionaries(FIELDS, JSON | st.dictionaries(FIELDS, JSON, max_size=3), max_size=5),
        max_size=6,
    ),
)
LINES = ROWS.map(json.dumps) | st.text(max_size=20).map(lambda text: text.replace("\n", " "))


def openclaw_row(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": text}}


def claude_row(role: str, text: str) -> dict[str, Any]:
    return {"type": role, "sessionId": "s", "message": {"role": role, "content": text}}


def codex_row(role: str, text: str) -> dict[str, Any]:
    kind = {"user": "user_message", "assistant": "agent_message"}[role]
    return {"type": "event_msg", "payload": {"type": kind, "message": text}}


def codex_twin(role: str, text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return {
        "type": "response_item",
        "payload": {"type": "message", "role": role, "content": content},
    }


ROLES = st.sampled_from(["user", "assistant"])
RESET: dict[str, Any] = {"type": "reset"}
OPENCLAW_ROWS = st.builds(openclaw_row, ROLES, SAID) | st.just(RESET)
CODEX_ROWS = st.builds(codex_row, ROLES, SAID) | st.builds(codex_twin, ROLES, SAID)
CONVERSATIONS = [
    pytest.param(TranscriptFormat.OPENCLAW, OPENCLAW_ROWS, id="openclaw"),
    pytest.param(TranscriptFormat.CLAUDE_CODE, st.builds(claude_row, ROLES, SAID), id="claude"),
    pytest.param(TranscriptFormat.CODEX, CODEX_ROWS, id="codex"),
]


def numbered(rows: Iterable[object]) -> list[tuple[int, str]]:
    return [(number, json.dumps(row)) for number, row in enumerate(rows, 1)]


def read(form: TranscriptFormat, lines: Iterable[tuple[int, str]]) -> Transcript:
    return read_lines(lines, reader_of(form, is_archive=False))


def chunks(transcript: Transcript) -> list[Chunk]:
    path, stat = "sessions/main/s.jsonl", Stat(0, 0)
    return document_of(transcript, path=path, stat=stat, now_ns=0, options=OPTIONS)[1]


@pytest.mark.parametrize("form", TranscriptFormat)
@given(lines=st.lists(LINES, max_size=12))
def test_no_file_breaks_a_reader(form: TranscriptFormat, lines: list[str]) -> None:
    transcript = read(form, enumerate(lines, 1))

    assert all(1 <= turn.line <= len(lines) for turn in transcript.turns)
    assert all(a.line <= b.line for a, b in pairwise(transcript.turns))
    for turn in transcript.turns:
        assert turn.text
        assert turn.text == " ".join(turn.text.split())
        turn.text.encode()


@given(line=LINES)
def test_no_row_breaks_what_looks_at_it(line: str) -> None:
    row = row_of(line)
    if row is not None:
        assert format_of(row) in (None, *TranscriptFormat)
        assert all(isinstance(folder_of(row, form), str) for form in TranscriptFormat)


@given(index=st.dictionaries(st.text(max_size=20), JSON | st.dictionaries(FIELDS, JSON)))
def test_no_index_breaks_what_looks_at_it(index: dict[str, Any]) -> None:
    assert all(excluded_sessions(index).values())


@pytest.mark.parametrize(("form", "rows"), CONVERSATIONS)
@given(drawn=st.data())
def test_a_conversation_that_goes_on_leaves_every_chunk_but_the_last(
    form: TranscriptFormat,
    rows: st.SearchStrategy[dict[str, Any]],
    drawn: st.DataObject,
) -> None:
    conversation = drawn.draw(st.lists(rows, max_size=25))
    length = drawn.draw(st.integers(0, len(conversation)))

    before = chunks(read(form, numbered(conversation[:length])))[:-1]
    after = chunks(read(form, numbered(conversation)))

    assert before == after[: len(before)]
    assert [each.digest for each in before] == [each.digest for each in after[: len(before)]]


@pytest.mark.parametrize(("form", "rows"), CONVERSATIONS)
@given(drawn=st.data())
def test_chunks_hold_every_line_in_order_and_none_across_a_reset(
    form: TranscriptFormat,
    rows: st.SearchStrategy[dict[str, Any]],
    drawn: st.DataObject,
) -> None:
    transcript = read(form, numbered(drawn.draw(st.lists(rows, max_size=25))))
    projection = project(transcript, options=OPTIONS)
    packed = pack(projection.lines, limit=64, overlap=32)

    reached = {0}  # where the chunks so far may end: equal lines leave it open
    for chunk in packed:
        count = len(chunk)
        reached = {
            start + count
            for start in range(len(projection.lines) - count + 1)
            if projection.lines[start : start + count] == tuple(chunk)
            and any(start <= end < start + count for end in reached)
        }
        assert 1 == len({line.generation for line in chunk})
    assert len(projection.lines) in reached
    assert all(line.text.startswith(LABELS[line.speaker]) for line in projection.lines)
    assert {turn.line for turn in transcript.turns} == {line.number for line in projection.lines}


@given(lines=st.lists(LINES, max_size=8), end=st.integers(0, 4000))
def test_what_is_read_of_a_file_that_grows_is_there_when_it_is_finished(
    lines: list[str], end: int
) -> None:
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    at_first = list(whole_lines(BytesIO(content[:end])))
    in_the_end = list(whole_lines(BytesIO(content)))

    *settled, last = at_first or [(0, "")]
    assert settled == in_the_end[: len(settled)]
    # The last one may have looked whole and have gone on.
    assert not at_first or in_the_end[len(settled)][1].startswith(last[1])


def is_one_character(line: str) -> bool:
    """Return whether a line cannot be split, or is a run of marks that is as long as may be."""
    places = range(1, min(len(line), MAX_CLUSTER_CHARS))
    return not any(is_boundary(line, place, 0) for place in places)


@given(text=st.text(max_size=300) | SAID, width=st.integers(1, 60))
def test_lines_are_the_text_and_no_heavier_than_the_width(text: str, width: int) -> None:
    text = flatten(text)
    found = list(wrap(text, width=width))

    assert text.replace(" ", "") == "".join(found).replace(" ", "")
    assert all(weigh(line) <= width or is_one_character(line) for line in found)
    assert all(line.strip() == line != "" for line in found)


ALNUM = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=36)
PREFIXES = st.sampled_from(
    ["gh" + "p_", "github" + "_pat_", "xox" + "b-", "xox" + "p-", "gl" + "pat-", "AI" + "za",
     "h" + "f_", "np" + "m_", "ey" + "J", "sk" + "_live_"]
)  # fmt: skip
SHAPED = st.builds("{}{}".format, PREFIXES, ALNUM)
MIXED = st.builds("{}{}aB3{}".format, st.sampled_from(["sk-", "sk-proj-", "sk-ant-"]), ALNUM, ALNUM)
ACCESS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=16).map("AKIA".__add__)
AROUND = st.lists(
    st.text(max_size=6)
    | st.sampled_from(
        ["password=", "token: ", " ", '"', "://a:", "@", "Bearer ", "-----BEGIN PRIVATE KEY-----",
         "sk-", "eyJ", "…", "***", "--token ", ".", "/", "\n"]
    ),
    max_size=5,
).map("".join)  # fmt: skip


@given(key=SHAPED | ACCESS, before=AROUND, after=AROUND)
def test_a_key_never_survives_whatever_is_around_it(key: str, before: str, after: str) -> None:
    assert key not in redact(f"{before}{key}{after}")


@given(key=MIXED, before=AROUND, after=AROUND)
def test_a_key_that_could_be_the_end_of_a_word_never_survives_either(
    key: str, before: str, after: str
) -> None:
    assert key not in redact(f"{before}{key}{after}")


@given(keys=st.lists(SHAPED | ACCESS | AROUND, max_size=6))
def test_nothing_is_hidden_twice(keys: list[str]) -> None:
    hidden = redact("".join(keys))

    assert hidden == redact(hidden)


@given(secret=st.from_regex(r"[a-z]{3}[0-9][A-Za-z0-9!%_-]{4,20}", fullmatch=True), before=AROUND)
@pytest.mark.parametrize("name", ["password=", "DB_PASSWORD=", "password: ", '"apiKey": "'])
def test_what_is_named_a_secret_never_survives(name: str, secret: str, before: str) -> None:
    assert secret not in redact(f"{before} {name}{secret}")


HOSTILE = st.lists(
    st.sampled_from(
        ["<", ">", "<system-reminder", "<system-reminder>", "</system-reminder>", "</", " ", "\n",
         "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>", "```json",
         "x ⟦openclaw:ctx⟧", "[Sun 2026-02-01 10:00", "[[reply_to:", "data:a;base64,", "sk-", "eyJ",
         "://", "://a:", "@", "password=", "token:", "token: ", '"', "'", "--token ", "Bearer ",
         "authorization:", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "AKIA", "=",
         "1234567890:AA", "SG.", "a", "A1", ".", "-", "_", "中", "\u0301", "🇩", "key"]
    ),
    min_size=1,
    max_size=3,
).map("".join)  # fmt: skip


@settings(max_examples=40)
@given(head=HOSTILE, unit=HOSTILE, end=HOSTILE)
def test_no_text_takes_more_than_its_length_in_time(head: str, unit: str, end: str) -> None:
    text = f"{head}{unit * (HOSTILE_CHARS // len(unit))}{end}"

    cleaned = without_reply_tag(without_envelope(text))
    cleaned = flatten(without_blocks(without_internal_context(cleaned), RECALLED))
    hidden = redact(cleaned)
    lines = list(wrap(hidden, width=800))

    assert hidden.replace(" ", "") == "".join(lines).replace(" ", "")
    redact(text)
