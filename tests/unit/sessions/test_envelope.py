from __future__ import annotations

import pytest

from recollect.sessions.openclaw import without_envelope

MARK = "⟦openclaw:ctx⟧"
RECORD = '```json\n{\n  "message_id": "12",\n  "sender": "Ada"\n}\n```'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", "plain words"),
        ("[Sun 2026-02-01 10:00 UTC] words", "words"),
        ("[Sun 2026-02-01] words", "[Sun 2026-02-01] words"),
        ("[see 2026-02-01 10:00] words", "words"),
        (f"Conversation info: {MARK}\n{RECORD}\n\nwords", "words"),
        (f"Conversation info: {MARK}\n{RECORD}\n\nSender: {MARK}\n{RECORD}\n\nwords", "words"),
        (f"Recent chat history: {MARK}\n#1 Ada: hi\n#2 Bob: ho\n\nwords", "words"),
        (f"words\n\nContext: {MARK}\nchannel topic\n\nmore context", "words"),
        (f"Conversation info: {MARK}\n{RECORD}\n[Sun 2026-02-01 10:00 UTC] words", "words"),
        (f"Conversation info (untrusted metadata):\n{RECORD}\n\nwords", "words"),
        ("Sender (untrusted metadata):\nwords", "words"),
        ("Chat (untrusted, chronological, newest last):\n#1 hi\n\nwords", "words"),
        (f"{MARK}\nwords", f"{MARK}\nwords"),
        (f"What is {MARK} for?", f"What is {MARK} for?"),
        ("Delivery: to send a message, use the `message` tool.\nwords", "words"),
        ("Delivery: Tuesday at noon", "Delivery: Tuesday at noon"),
        ("Context:\nall of this is mine", "Context:\nall of this is mine"),
        (f"Conversation info: {MARK}\n```json\nnever closed", ""),
    ],
)
def test_the_words_are_taken_out_of_the_envelope(text: str, expected: str) -> None:
    assert expected == without_envelope(text).rstrip("\n")


def test_words_between_blocks_are_kept() -> None:
    text = f"first\nSender: {MARK}\n{RECORD}\nsecond"

    assert "first\nsecond" == without_envelope(text)
