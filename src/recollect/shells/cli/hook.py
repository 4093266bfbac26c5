"""`hook`: answers the events of a session of Claude Code or Codex, in the JSON both use.

A hook must never block or fail a session. So each answer has a time limit, every error becomes a
message for the user, and the command exits with 0 (the agent takes 2 for a refusal).
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.config.checkouts import with_main
from recollect.config.paths import find_workspace
from recollect.errors import RecollectError, UsageError
from recollect.reports import RECALL_TOKENS
from recollect.shells.cli import ABANDONED
from recollect.shells.cli.output import write_json
from recollect.shells.cli.shared import SharedOptions, shared_options
from recollect.shells.running_server import Ask, ask
from recollect.text.safe import fenced, on_one_line
from recollect.text.terminal import terminal_text
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from recollect.memory import Memory

    Event = Mapping[str, object]
    Answer = Mapping[str, object]

_MARKERS = ("MEMORY.md", "recollect.toml", "memory")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HEADING = re.compile(r"^#{1,3} +(.+)$", re.MULTILINE)
_NEWEST_NOTES = 3
_HEADING_CHARS = 160
_FIRST_CHARS = 80
_LAST_PROMPTS = 3  # say what a conversation was about when it was compacted
_PROMPT_CHARS = 600
_MIN_LETTERS = 12  # shorter prompts ("yes", "go on") have nothing to search for
_WIDE = "\u2e80"  # from here on, one character says as much as several letters
_WIDE_LETTERS = 4
_MAX_SECONDS = 600.0  # agents give up long before
_SWITCH = "RECOLLECT_HOOKS"
_OFF = frozenset({"off", "0", "false", "no"})
_ON = frozenset({"", "on", "1", "true", "yes"})
_OFF_MARKER = ".recollect-off"
"""A file of this name in the workspace, or in the session's folder, switches the hooks off."""
TIMED_OUT = {"systemMessage": "Recollect took too long; this turn continues without memory."}


class _ExitsWithZero(click.Command):
    """A command that reports wrong arguments and still exits with 0."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or print what is wrong with them."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            write_json(_message(f"{error.format_message()} See `recollect hook --help`."))
            ctx.exit(0)


@click.command("hook", cls=_ExitsWithZero, hidden=True)
@click.argument("event")
@click.option(
    "--budget", type=int, default=RECALL_TOKENS, show_default=True, help="Most tokens per turn."
)
@click.option("--seconds", type=float, default=8.0, help="Time limit.  [default: 8]")
@shared_options
def hook_command(options: SharedOptions, *, event: str, budget: int, seconds: float) -> int:
    """Answer a hook EVENT of Claude Code or Codex.

    EVENT is session-start, prompt, stop, pre-compact or session-end. Reads the event as JSON from
    standard input and prints the answer as JSON. RECOLLECT_HOOKS=off, or a file .recollect-off in
    the workspace, turns all hooks off.
    """
    answer = _within(seconds, lambda: _answer(event, options, budget_tokens=budget))
    # Claude Code takes whatever PreCompact prints for instructions to the one who sums up.
    if answer and event != "pre-compact":
        write_json(answer)
    return ABANDONED if answer == TIMED_OUT else 0


def _within(seconds: float, work: Callable[[], Answer]) -> Answer:
    """Return what the work returns, or a message if it takes too long; it then runs on."""
    done: list[Answer] = []
    thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
    thread.start()
    thread.join(min(max(0.0, seconds), _MAX_SECONDS))  # also bounds `nan` and `inf`
    return done[0] if done else TIMED_OUT


def _answer(event: str, options: SharedOptions, *, budget_tokens: int) -> Answer:
    """Return nothing, context for the model, or a message for the user."""
    try:
        given = _read_event()
        workspace = _workspace(given, named=options.workspace)
        if workspace is None or _is_off(workspace, given):
            return {}
        if event not in EVENTS:
            return _message(f"unknown event {event!r}; the events are {', '.join(EVENTS)}.")
        if _needs_no_memory(event, given):
            return {}
        chosen = replace(options, workspace=workspace)
        setup = chosen.announced(may_be_empty=True)
        reply = None
        if event == "prompt":  # a running server recalls without starting a model
            reply = ask(setup, Ask(SearchRequest(_prompt_of(given)), budget_tokens=budget_tokens))
        if reply is not None:
            answer = _recalled(reply.text, reply.failures)
        else:
            with chosen.open_memory(may_be_empty=True, setup=setup) as memory:
                answer = EVENTS[event](memory, given, budget_tokens)
    except RecollectError as error:
        return _message(f"{error.message} {error.action}")
    except Exception as error:  # noqa: BLE001 - a bug here must not end the agent's session
        return _message(f"{type(error).__name__}: {error}. Please report it.")
    return answer


def _read_event() -> Event:
    """Return the event that the agent sent, or nothing if it cannot be understood."""
    if sys.stdin.isatty():
        return {}
    try:
        event = json.loads(sys.stdin.buffer.read().decode("utf-8", errors="replace"))
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _workspace(given: Event, *, named: Path | None) -> Path | None:
    """Return the workspace: as named, or the nearest from the session's folder up; or None."""
    folder = given.get("cwd")
    if named is None and "RECOLLECT_WORKSPACE" not in os.environ and isinstance(folder, str):
        start = Path(folder)
        return next((each for each in (start, *start.parents) if _is_workspace(each)), None)
    workspace = find_workspace(named).folder
    return workspace if named is not None or _is_workspace(workspace) else None


def _is_off(workspace: Path, given: Event) -> bool:
    """Return whether the user switched the hooks off, for this session or in this folder."""
    switch = os.environ.get(_SWITCH, "").strip().lower()
    if switch not in _OFF | _ON:
        raise UsageError(f"{_SWITCH} is {switch!r}.", action="Use `off` or `on`.")
    if switch in _OFF:
        return True
    folder = given.get("cwd")
    places = (workspace, Path(folder)) if isinstance(folder, str) else (workspace,)
    return any((place / _OFF_MARKER).exists() for place in places)


def _is_workspace(folder: Path) -> bool:
    return any((place / name).exists() for place in with_main(folder) for name in _MARKERS)


def _needs_no_memory(event: str, given: Event) -> bool:
    """Return whether an event can be answered without opening the memory."""
    if event == "prompt":
        return not _asks(_prompt_of(given))
    # Another hook kept the turn going: what it writes is captured at the real end.
    return event == "stop" and bool(given.get("stop_hook_active"))


def _asks(prompt: str) -> bool:
    """Return whether a prompt has something to search for."""
    letters = sum(_WIDE_LETTERS if letter >= _WIDE else 1 for letter in prompt)
    return letters >= _MIN_LETTERS and not prompt.startswith("/")


def _session_start(memory: Memory, given: Event, budget_tokens: int) -> Answer:
    prompts = _last_prompts(memory, given) if given.get("source") == "compact" else []
    again = list(_recalled_again(memory, prompts, budget_tokens))
    _capture(memory)
    paths = memory.paths()
    if not paths:
        return {}
    intro = (
        f"This workspace has a memory of {len(paths)} files, kept by Recollect. Before answering "
        "about earlier work, decisions, dates, people, preferences or tasks, search it with the "
        "tool memory_search (or `recollect search`), and cite what you use as path#lines. Its "
        "newest notes:"
    )
    dated = [(found[0], path) for path in paths if (found := _DATE.search(Path(path).name))]
    newest = sorted(dated, reverse=True)[:_NEWEST_NOTES]
    lines = [_note_line(memory, path) for _, path in newest]
    block = fenced("\n".join(lines), form="index")
    return _context("SessionStart", "\n".join((intro, block, *again)))


def _recalled_again(memory: Memory, prompts: Sequence[str], budget_tokens: int) -> Iterator[str]:
    """Yield a block for each prompt, without what an earlier block has."""
    seen: set[str] = set()
    for prompt in prompts:
        results = memory.answer(memory.parts.recall_request(prompt))
        new = tuple(hit for hit in results.hits if hit.citation not in seen)
        each_tokens = budget_tokens // len(prompts)
        recalled = memory.parts.recall_from(replace(results, hits=new), budget_tokens=each_tokens)
        seen.update(hit.citation for hit in recalled.hits)
        if recalled.block:
            yield recalled.block


def _last_prompts(memory: Memory, given: Event) -> list[str]:
    """Return what was last asked in the transcript that the agent names, newest first."""
    said = memory.sessions.prompts_in(Path(str(given.get("transcript_path") or os.devnull)))
    asked = dict.fromkeys(prompt[:_PROMPT_CHARS] for prompt in reversed(said) if _asks(prompt))
    return list(asked)[:_LAST_PROMPTS]


def _prompt(memory: Memory, given: Event, budget_tokens: int) -> Answer:
    recalled = memory.recall(_prompt_of(given), budget_tokens=budget_tokens)
    if memory.is_behind:
        memory.finish_in_background()
    degraded = (recalled.results.degraded or {}).values()
    return _recalled(recalled.block, [f"{why.reason} {why.action}" for why in degraded])


def _recalled(block: str, failures: Sequence[str]) -> Answer:
    context = _context("UserPromptSubmit", block) if block else {}
    return {**context, **_message(" ".join(failures))} if failures else context


def _keep(memory: Memory, _given: Event, _budget_tokens: int) -> Answer:
    """Have what was written and said indexed, by a process that outlives the session."""
    _capture(memory)
    return {}


EVENTS = {
    "session-start": _session_start,
    "prompt": _prompt,
    "stop": _keep,
    "pre-compact": _keep,
    "session-end": _keep,
}


def _prompt_of(given: Event) -> str:
    return str(given.get("prompt") or "").strip()


def _capture(memory: Memory) -> None:
    """Index what has changed in the background, unless a process already does."""
    status = memory.status()
    if status.stale.is_stale and not status.at_work:
        memory.finish_in_background()


def _note_line(memory: Memory, path: str) -> str:
    """Return the headings of a note and its first words: a heading may be only a weekday."""
    try:
        text = memory.get(path).text
    except RecollectError:
        return f"- [{on_one_line(path)}]"
    heading = _HEADING.search(text)
    body = text[heading.end() :] if heading else text  # what is above may be front matter
    first = next((line for line in body.split("\n") if line.strip() and line[0] != "#"), "")
    headings = on_one_line("; ".join(_HEADING.findall(text)))
    about = filter(None, (headings[:_HEADING_CHARS], on_one_line(first)[:_FIRST_CHARS]))
    return f"- [{on_one_line(path)}] {': '.join(about)}"


def _context(event: str, text: str) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _message(sentence: str) -> Answer:
    # Shown on the agent's terminal.
    return {"systemMessage": f"Recollect: {terminal_text(sentence)}"}
