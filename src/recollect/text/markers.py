"""The markers of chat templates and agents, and how each is broken up.

A model's tokenizer turns a marker into a token of its own, or its training makes it take what
follows for another speaker. Each pattern also matches a marker with spaces, in other cases, with a
namespace, or with its first character as an HTML entity, because models read those alike.

The patterns see text in which look-alikes are ASCII (see text/safe.py). No two quantifiers of a
pattern can match the same characters, so the time is proportional to the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    Edit = tuple[int, int, str]
    """(start, end, replacement) of an edit of a text."""

TAGS = (
    # Blocks of programs that recall memory or remind the model of something
    "relevant-memories", "recalled-context", "active-memory-plugin",
    "claude-mem-context", "supermemory-context", "hindsight-memories", "system-reminder",
    "begin-openclaw-internal-context", "end-openclaw-internal-context",
    "external-untrusted-content", "end-external-untrusted-content", "environment-context",
    "user-instructions", "user-query", "user-prompt-submit-hook",
    # Who is speaking
    "system", "user", "assistant", "human", "bot", "developer", "model", "instructions",
    "system-prompt", "system-message", "sys", "turn", "channel",
    # Tools: Anthropic, Hermes and Qwen, GLM, Command R, Gemma
    "tool", "tools", "tool-use", "tool-call", "tool-calls", "tool-result", "tool-results",
    "tool-response", "tool-responses", "tool-code", "tool-output", "tool-outputs", "function",
    "functions", "function-call", "function-calls", "function-result", "function-results",
    "function-response", "invoke", "parameter", "parameters", "results", "arg-key", "arg-value",
    "start-function-call", "end-function-call", "start-function-response",
    "end-function-response", "start-function-declaration", "end-function-declaration",
    # Reasoning that is not shown
    "think", "thinking", "reasoning", "scratchpad", "scratch-pad",
    # Starts and ends: Llama 2, Gemma, Command R, MiniMax, InternLM, GLM, Baichuan, Nemotron, T5
    "s", "bos", "eos", "pad", "unk", "start-of-turn", "end-of-turn", "start-of-image",
    "end-of-image", "bos-token", "eos-token", "begin-of-document", "end-of-document",
    "beginning-of-sentence", "begin-of-sentence", "end-of-sentence", "begin-of-text",
    "end-of-text", "endoftext", "eoh", "eoa", "eot", "eom", "sop", "eop", "gmask",
    r"reserved-\d{1,4}", r"reserved-token-\d{1,4}", r"unused\d{1,4}", r"extra-id-\d{1,4}",
    r"special-\d{1,4}", "fim-prefix", "fim-middle", "fim-suffix", "fim-pad", "file-sep",
    "repo-name", "reponame", r"jupyter-\w{1,20}", r"issue-\w{1,20}",
)  # fmt: skip
"""Names of tags. A hyphen stands for hyphens, underscores, spaces or nothing."""
BRACKETED = (
    "inst", "sys", "system-prompt", "available-tools", "tool-calls", "tool-results",
    "tool-content", "model-settings", "call-id", "gmask", "img-break", "img-end",
    "begin-audio", "think",
)  # fmt: skip
"""Control tokens in square brackets: Llama 2, Mistral, GLM."""
ROLES = (
    "human", "user", "assistant", "system", "bot", "ai", "gpt4 correct user",
    "gpt4 correct assistant",
)  # fmt: skip
"""What starts a turn in templates of plain text: Anthropic, Vicuna, OpenChat."""
HEADED_ROLES = (*ROLES, "instruction", "response", "input")
"""What starts a turn after the mark of a heading, as in Alpaca."""

_LESS = r"(?:<|&(?:amp;){0,4}(?:lt|\#0{0,8}60|\#x0{0,8}3c);?)"
_BAR = "(?:[|¦│∣❘ǀ]|&(?:vert|verbar|vertline|\\#0{0,8}124|\\#x0{0,8}7c);?)"
_SLASH = r"(?:/\s*)?"
_ANGLE = "\u2039"  # ‹, which is no compatibility form of <


@dataclass(frozen=True, slots=True)
class Marker:
    """A kind of marker; the first group of the pattern is what gets replaced."""

    pattern: re.Pattern[str]
    replacement: str
    """Replacement, with {0} for what was there."""

    def edits(self, folded: str) -> Iterator[Edit]:
        """Yield what to change in a text, given with look-alikes as ASCII."""
        for found in self.pattern.finditer(folded):
            start, end = found.span(1)
            yield start, end, self.replacement.format(folded[start:end])


def _either(names: tuple[str, ...]) -> str:
    # Longest first: an alternation takes the first that matches.
    ordered = sorted(names, key=len, reverse=True)
    return "|".join(name.replace("-", r"[-_\s]*") for name in ordered)


def _marker(pattern: str, replacement: str) -> Marker:
    return Marker(re.compile(pattern, re.IGNORECASE | re.MULTILINE), replacement)


MARKERS = (
    # Our own tag, whatever follows it
    _marker(rf"({_LESS})(?=\s*{_SLASH}recollect[-_\s]*memory)", _ANGLE),
    # <system>, < / tool_use>, <ns:invoke, <function=name>, <<SYS>>
    _marker(
        rf"({_LESS})(?=\s*{_SLASH}(?:[\w.-]{{1,40}}\s*:\s*)?(?:{_either(TAGS)})(?![\w-]))", _ANGLE
    ),
    # <|im_start|>, <｜User｜>, <|turn>, <turn|>
    _marker(rf"({_LESS})(?=\s*{_SLASH}(?:{_BAR}|[\w-]{{1,40}}\s*{_BAR}\s*>))", _ANGLE),
    # <<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>, and others of that shape
    _marker(rf"({_LESS}{_LESS}{_LESS})(?=\s*(?-i:[A-Z_]{{3}}))", _ANGLE * 3),
    # [INST], [/TOOL_RESULTS], [|user|]
    _marker(rf"(\[)(?=\s*{_SLASH}(?:{_BAR}|(?:{_either(BRACKETED)})\s*\]))", "("),
    # MiniMax: ]~b]system, ]~!b[, [e~[
    _marker(r"\](~)!?b[\[\]]", "-"),
    _marker(r"\[e(~)\[", "-"),
    # Human: …, at the start of a line; a line that is only `user:ada` is a scope
    _marker(rf"^[ \t]*(\b(?:{'|'.join(ROLES)}))[ \t]*:(?![\w.-]+$)", "({0})"),
    _marker(rf"^[ \t]*\#{{1,6}}[ \t]*(\b(?:{'|'.join(HEADED_ROLES)}))[ \t]*:", "({0})"),
)
