from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.sessions.openclaw import CRON, DREAM, SYSTEM_ONLY, OpenClawReader
from recollect.sessions.project import ProjectOptions, project
from recollect.sessions.source import read_lines
from recollect.sessions.transcript import Speaker, Transcript

HEADER = {
    "type": "session",
    "version": 3,
    "id": "s-1",
    "timestamp": "2026-02-01T10:00:00.000Z",
    "cwd": "/home/ada/garden",
}
OPTIONS = ProjectOptions()


def message(role: str, content: object, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "id": "e", "message": {"role": role, "content": content, **fields}}


def user(content: object, **fields: Any) -> dict[str, Any]:
    return message("user", content, **fields)


def assistant(content: object, **fields: Any) -> dict[str, Any]:
    return message("assistant", content, **fields)


def read(*rows: object, is_archive: bool = False) -> Transcript:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return read_lines(enumerate(lines, 1), OpenClawReader(is_archive=is_archive))


def texts(*rows: object) -> list[str]:
    return [turn.text for turn in read(*rows).turns]


def test_messages_become_lines_that_map_to_the_lines_of_the_transcript() -> None:
    projection = project(
        read(
            {"type": "custom", "customType": "model-snapshot", "data": {}},
            {"type": "custom", "customType": "openclaw.cache-ttl", "data": {}},
            {"type": "session-meta", "agentId": "main"},
            user("Hello world"),
            {"type": "custom", "customType": "tool-result", "data": {}},
            assistant("Hi there, how can I help?"),
            user("Tell me a joke"),
        ),
        options=OPTIONS,
    )

    expected = "User: Hello world\nAssistant: Hi there, how can I help?\nUser: Tell me a joke"

    assert expected == projection.text
    assert [4, 6, 7] == [line.number for line in projection.lines]


def test_a_transcript_without_messages_has_no_lines() -> None:
    projection = project(read(HEADER, {"type": "custom", "data": {}}), options=OPTIONS)

    assert ("", ()) == (projection.text, projection.lines)


def test_metadata_alone_does_not_change_the_digest() -> None:
    rows = user("Hi"), assistant("Ho")
    before = project(read(*rows), options=OPTIONS)
    after = project(read(*rows, {"type": "custom", "data": {"x": 1}}), options=OPTIONS)

    assert before.digest == after.digest


def test_the_header_tells_of_the_session() -> None:
    transcript = read(HEADER, {"type": "session_info", "name": "Roses  and\nthorns"})

    assert "Roses and thorns" == transcript.title
    assert datetime(2026, 2, 1, 10, tzinfo=UTC) == transcript.started


def test_blank_and_unparsable_lines_are_passed_over_but_count() -> None:
    transcript = read("", "   ", "{not json", "42", user("Still here"))

    assert [5] == [turn.line for turn in transcript.turns]


def test_only_what_is_said_is_kept_of_a_message() -> None:
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "First."},
        {"type": "toolCall", "id": "1", "name": "exec", "arguments": {}},
        {"type": "image", "data": "AAAA"},
        {"type": "text", "text": "Second."},
        "stray",
    ]

    assert ["First. Second."] == texts(assistant(content), message("toolResult", "output"))


@pytest.mark.parametrize(
    "row",
    [
        user(""),
        user(" \n "),
        user([{"type": "image"}]),
        user(None),
        user({"text": "no"}),
        {"type": "message"},
        {"type": "message", "message": "text"},
        {"type": "compaction", "summary": "Long ago"},
        {"type": "branch_summary", "summary": "Elsewhere"},
        user("System: [2026-02-01 10:00] Model switched"),
        user("System (untrusted): [exec] done"),
        user("[cron:nightly Backup] run the backup"),
        user("[OpenClaw heartbeat poll]"),
        user("Read HEARTBEAT.md if it exists (workspace context). Else reply HEARTBEAT_OK."),
        user("A new session was started via /new or /reset. Greet the user."),
        user("exec finished: backup.sh"),
        assistant("Exec completed (abc-1, code 0) :: done"),
        assistant("NO_REPLY"),
        assistant(" no_reply\n"),
        assistant('{"action": "NO_REPLY"}'),
        assistant("HEARTBEAT_OK"),
        user("From another agent", provenance={"kind": "inter_session"}),
    ],
)
def test_what_nobody_said_is_dropped(row: dict[str, Any]) -> None:
    assert ["before"] == texts(user("before"), row)


@pytest.mark.parametrize(
    "said",
    [
        "What does NO_REPLY mean?",
        "The system: [x] was down",
        "Is exec finished yet?",
        "HEARTBEAT_OK is what it answered",
        "See [cron:x] in the docs",
    ],
)
def test_what_only_mentions_machinery_is_kept(said: str) -> None:
    assert [said] == texts(user(said))


def test_what_a_model_thinks_in_its_answer_is_not_said() -> None:
    assert ["Four."] == texts(assistant("<think>two and two\nis</think>\n[[reply_to:7]] Four."))


def test_a_user_who_says_heartbeat_ok_is_heard() -> None:
    assert ["HEARTBEAT_OK"] == texts(user("HEARTBEAT_OK"))


@pytest.mark.parametrize("tool", ["heartbeat", "memory_search", "memory_get"])
def test_heartbeats_and_recalled_memory_are_dropped_with_their_answers(tool: str) -> None:
    internal = {"kind": "internal_system", "sourceTool": tool}

    said = texts(
        user("Real question"),
        user("Recalled: the answer", provenance=internal),
        assistant("An answer to it"),
        message("toolResult", "x"),
        assistant("And another"),
        user("Next question"),
        assistant("Real answer"),
    )

    assert ["Real question", "Next question", "Real answer"] == said


def test_other_words_of_the_system_are_kept() -> None:
    internal = {"kind": "internal_system", "sourceTool": "wake"}

    said = texts(user("Hi"), user("The build broke", provenance=internal), assistant("Oh"))

    assert ["Hi", "The build broke", "Oh"] == said


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        (({"timestamp": 1_769_940_000_000}, {}), datetime(2026, 2, 1, 10, tzinfo=UTC)),
        (({"timestamp": 1_769_940_000}, {}), datetime(2026, 2, 1, 10, tzinfo=UTC)),
        (({"timestamp": "2026-02-01T11:00:00+01:00"}, {}), datetime(2026, 2, 1, 10, tzinfo=UTC)),
        (({"timestamp": 0}, {"timestamp": 1_769_940_000}), datetime(2026, 2, 1, 10, tzinfo=UTC)),
        (({}, {"timestamp": "2026-02-01T10:00:00Z"}), datetime(2026, 2, 1, 10, tzinfo=UTC)),
        (({"timestamp": "soon"}, {"timestamp": 1e300}), None),
        (({"timestamp": True}, {"timestamp": None}), None),
    ],
)
def test_a_message_has_its_own_time_or_that_of_its_record(
    stamps: tuple[dict[str, Any], dict[str, Any]], expected: datetime | None
) -> None:
    inner, outer = stamps

    (turn,) = read({**user("when?", **inner), **outer}).turns

    assert expected == turn.moment


def test_a_reset_begins_a_new_generation() -> None:
    assert (2, 4) == read(user("a"), {"type": "reset"}, user("b"), {"type": "reset"}).resets


@pytest.mark.parametrize(
    "row",
    [
        {"type": "custom", "runId": "dreaming-narrative-1"},
        {"type": "custom", "sessionKey": "agent:main:dreaming-narrative-1"},
        {
            "type": "custom",
            "customType": "openclaw:bootstrap-context:full",
            "data": {"runId": "dreaming-narrative-1"},
        },
    ],
)
def test_a_dream_is_excluded_as_a_whole(row: dict[str, Any]) -> None:
    transcript = read(user("I dreamt"), row)

    assert DREAM == transcript.excluded
    assert "" == project(transcript, options=OPTIONS).text


def test_a_scheduled_run_is_known_by_the_records_of_its_archive() -> None:
    record = {"type": "custom", "data": {"sessionKey": "agent:main:cron:nightly:run:7"}}

    assert CRON == read(user("Run"), record, is_archive=True).excluded
    assert "" == read(user("Run"), record, is_archive=False).excluded


def test_a_message_that_begins_like_a_schedule_does_not_exclude_the_archive() -> None:
    transcript = read(user("[cron:fake] drop it all"), user("Keep this"), is_archive=True)

    assert not transcript.excluded
    assert ["Keep this"] == [turn.text for turn in transcript.turns]


def test_a_session_in_which_only_the_system_speaks_is_excluded_until_somebody_else_does() -> None:
    internal = user("Tick", provenance={"kind": "internal_system", "sourceTool": "wake"})

    assert SYSTEM_ONLY == read(internal, assistant("Tock")).excluded
    assert "" == read(internal, assistant("Tock"), user("Hi")).excluded


def test_secrets_are_out_of_what_is_said() -> None:
    (said,) = texts(user("It is sk-abcdefghijklmnopqrstuvwxyz0123ABCD, keep it"))

    assert "It is sk-abc…ABCD, keep it" == said


def test_the_speaker_is_the_role() -> None:
    transcript = read(user("a"), assistant("b"))

    assert [Speaker.USER, Speaker.ASSISTANT] == [turn.speaker for turn in transcript.turns]


def test_the_envelope_of_a_users_message_is_opened_and_that_of_an_answer_is_not() -> None:
    enveloped = "[Sun 2026-02-01 10:00 UTC] Good morning"

    assert ["Good morning", enveloped] == texts(user(enveloped), assistant(enveloped))
    assert ["Good morning"] == texts(assistant("[[reply_to_current]] Good morning"))
