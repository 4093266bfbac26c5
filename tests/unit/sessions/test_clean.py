from __future__ import annotations

import pytest

from recollect.sessions.clean import (
    RECALLED,
    flatten,
    tag_pattern,
    without_blocks,
    without_internal_context,
)
from recollect.text.safe import OWN_BLOCK

BEGIN, END = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"


@pytest.mark.parametrize(
    "block",
    [
        "<relevant-memories>\n- tea\n</relevant-memories>",
        '<relevant-memories format="index">tea</relevant-memories>',
        "<recalled-context><relevant-memories>x</relevant-memories></recalled-context>",
        "<system-reminder>Do not mention this.</system-reminder>",
        "<active_memory_plugin>x</active_memory_plugin>",
        f'<{OWN_BLOCK} query="tea">\nold words\n</{OWN_BLOCK}>',
    ],
)
def test_what_was_recalled_is_not_said_again(block: str) -> None:
    assert "before after" == flatten(without_blocks(f"before {block} after", RECALLED))


@pytest.mark.parametrize(
    "text",
    [
        "What does <system-reminder> mean?",
        "It ends with </relevant-memories> somehow",
        "<system-reminders>no such tag</system-reminders>",
        "a < b and c > d",
    ],
)
def test_a_tag_without_its_partner_takes_nothing_with_it(text: str) -> None:
    assert text == without_blocks(text, RECALLED)


def test_blocks_within_blocks_go_with_the_outermost() -> None:
    pattern = tag_pattern(["a", "b"])

    assert "1 2" == flatten(without_blocks("1<a>x<b>y<a>z</a></b>w</a>2", pattern))


def test_a_mentioned_tag_does_not_reach_to_a_later_block() -> None:
    text = "the <system-reminder> tag\n<system-reminder>injected</system-reminder>\nmy words"

    assert "the <system-reminder> tag my words" == flatten(without_blocks(text, RECALLED))


def test_what_remains_does_not_grow_together_into_a_tag() -> None:
    text = "<system-<relevant-memories></relevant-memories>reminder>kept</system-reminder>"

    assert "kept" in without_blocks(without_blocks(text, RECALLED), RECALLED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{BEGIN}\nevent\n{END}", ""),
        (f"words\n{BEGIN}\nevent\n{END}\nmore", "words more"),
        (f"words {BEGIN} event {END} more", "words more"),
        (f"{BEGIN}\n{BEGIN}\ninner\n{END}\nouter\n{END}\nwords", "words"),
        (f"words\n{BEGIN}\nnever closed", "words"),
        (f"What is {BEGIN} for?", f"What is {BEGIN} for?"),
        (f"words\n{END}", "words"),
    ],
)
def test_internal_context_is_cut_out(text: str, expected: str) -> None:
    assert expected == flatten(without_internal_context(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" a \r\n\t b\u3000c ", "a b c"),
        ("a\x00b\x1b[31mc", "a b [31mc"),
        ("lone \ud83d surrogate", "lone \ufffd surrogate"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("see data:image/png;base64,iVBORw0KGgo=, nice", "see , nice"),
        ("👩‍👩‍👧 stays", "👩‍👩‍👧 stays"),
    ],
)
def test_a_message_is_put_on_one_line(text: str, expected: str) -> None:
    assert expected == flatten(text)
    assert expected == flatten(expected)
