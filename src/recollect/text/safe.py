"""Makes untrusted text safe to put into a prompt or into Markdown.

Threat: a stranger wrote the remembered text. They want to close the block it is shown in and
continue as the system, the user or a tool, or to show a model what people cannot see. So anything
that could close a block is broken up, anything invisible is removed, and the rest stays unchanged.
Instructions in plain words cannot be removed: the caller labels the text as untrusted.

Every function is idempotent and takes time proportional to the text.
"""

from __future__ import annotations

import re

OWN_BLOCK = "recollect-memory"
"""Tag around what Recollect injects; the same tag is removed from transcripts."""

_BLOCKS = (
    OWN_BLOCK,
    "relevant-memories",
    "recalled-context",
    "system-reminder",
    "system",
    "user",
    "assistant",
    "human",
    "tool",
    "instructions",
    "function_calls",
    "function_results",
    "tool_result",
    "invoke",
)
"""Tags that tell models who is speaking."""

_INVISIBLE = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]+"
)
"""Zero-width characters, bidi controls, fillers, and tag characters, which can hide sentences.

Region flags such as Scotland's use tag characters: they become a plain black flag.
"""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_JOINERS = re.compile("([^\\s\x00-\x7f\u200c\u200d]?)[\u200c\u200d]+(?=([^\\s\x00-\x7f])?)")
"""Emoji and some scripts need joiners between their characters; ASCII and spaces never do."""

_LESS = "<＜﹤"
_FENCE = re.compile("`{3,}|~{3,}")
_COMMENT_START = re.compile(rf"([{_LESS}])!--")
_COMMENT_END = re.compile("--(!?)([>＞﹥])")
_TOKEN = re.compile(rf"[{_LESS}](?=\|)|[{_LESS}]{{3}}(?=\s*[A-Z_]{{3,}})|\[(?=/?INST\])")
"""Markers of chat templates and of OpenClaw's internal context."""


def neutralised(text: str, *, block: str = OWN_BLOCK) -> str:
    """Return the text in a form that cannot close the block it is put into; keeps line breaks.

    Args:
        text: untrusted text.
        block: the tag of the block.

    """
    text = _visible(text)
    text = _FENCE.sub(_unfenced, text)
    text = _COMMENT_START.sub(r"\1! --", text)
    text = _COMMENT_END.sub(r"--\1 \2", text)
    text = _tags(block).sub("&lt;", text)
    return _TOKEN.sub(_unmarked, text)


def on_one_line(text: str, *, block: str = OWN_BLOCK) -> str:
    """Return the neutralised text on one line, with single spaces."""
    return neutralised(" ".join(_visible(text).split()), block=block)


def _visible(text: str) -> str:
    text = _CONTROL.sub(" ", _LINE_ENDS.sub("\n", text))
    if text.isascii():
        return text
    text = _INVISIBLE.sub("", _LONE_SURROGATE.sub("\ufffd", text))
    text = _SELECTORS.sub(_one_selector, text)
    return _JOINERS.sub(_one_joiner, text)


def _one_selector(run: re.Match[str]) -> str:
    """Keep the choice between text and emoji style; a run of selectors is a hidden message."""
    return run[0][0] if run[0][0] in "\ufe0e\ufe0f" else ""


def _one_joiner(run: re.Match[str]) -> str:
    before = run[1]
    is_between = before and run[2]
    return run[0][: len(before) + 1] if is_between else before


def _unfenced(fence: re.Match[str]) -> str:
    # Still recognisable, but no longer a Markdown fence.
    return "'" * len(fence[0]) if fence[0][0] == "`" else " ".join(fence[0])


def _unmarked(mark: re.Match[str]) -> str:
    return "(" if mark[0] == "[" else "&lt;" * len(mark[0])


def _tags(block: str) -> re.Pattern[str]:
    either = "|".join(re.escape(name).replace(r"\-", "[-_ ]?") for name in {*_BLOCKS, block})
    return re.compile(rf"[{_LESS}](?=\s{{0,8}}[/／]?\s{{0,8}}(?:{either})(?![\w-]))", re.IGNORECASE)
