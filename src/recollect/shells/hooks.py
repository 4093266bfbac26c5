"""What is answered to the events of an agent's session: Claude Code's hooks, in its own JSON.

A hook may never stop or fail a session. So every answer is bounded in time, whatever goes wrong
becomes a sentence for the user, and no answer is one that the agent would take for a refusal.
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.paths import find_workspace
from recollect.errors import RecollectError
from recollect.text.safe import OWN_BLOCK, on_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.memory import Memory

    Given = Mapping[str, object]
    """The event as the agent describes it."""
    Read = Callable[[], Given]
    Open = Callable[[Path], Memory]

_MARKS = ("MEMORY.md", "recollect.toml", "memory")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")
_HEADING = re.compile(r"^#{1,3} +(.+)$", re.MULTILINE)
_NEWEST = 3
_HEADING_CHARS = 160
_LEAST = 12  # letters: "yes" and "go on" are nothing to remember by
_WIDE = "\u2e80"  # from here on a character says as much as several letters
_WIDE_LETTERS = 4
_MOST_CHARS = 4000  # of a prompt: what is pasted into it is seldom the question
_MOST_SECONDS = 600.0  # agents have given up long before
_CAPTURE_SECONDS = 3600  # after that, a process that is still said to run is another's
TIMED_OUT = {"systemMessage": "Recollect did not answer in time; this goes on without memory."}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a hook may take."""

    seconds: float = 8.0
    budget_tokens: int = 800


def answer(
    event: str, read: Read, *, open_memory: Open, workspace: Path | None, limits: Limits
) -> Given:
    """Return what is told to the agent: nothing, context for the model, a sentence for the user.

    Args:
        event: `session-start`, `prompt` or `stop`.
        read: returns what the agent says of it, which may have to be waited for.
        open_memory: opens the memory of a workspace.
        workspace: the folder that was named; None looks from the session's folder up.
        limits: on the context for the model and on the time.

    """

    def work() -> Given:
        return _answered(event, read, open_memory=open_memory, workspace=workspace, limits=limits)

    return _within(limits.seconds, work)


def _answered(
    event: str, read: Read, *, open_memory: Open, workspace: Path | None, limits: Limits
) -> Given:
    try:
        given = read()
        folder = _workspace(given, named=workspace)
        if folder is None:
            return {}
        if event not in EVENTS:
            return _trouble(f"there is no event {event!r}; known are {', '.join(EVENTS)}.")
        if _asks_nothing(event, given):
            return {}
        with open_memory(folder) as memory:
            return EVENTS[event](memory, given, limits)
    except RecollectError as error:
        return _trouble(f"{error.message} {error.action}")
    except Exception as error:  # noqa: BLE001 - a fault of ours must not end a session of theirs
        return _trouble(f"{type(error).__name__}: {error}. Please report it.")


def _within(seconds: float, work: Callable[[], Given]) -> Given:
    """Return what the work returns, or say that it took too long; the work goes on by itself."""
    done: list[Given] = []
    thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
    thread.start()
    thread.join(min(max(0.0, seconds), _MOST_SECONDS))  # `nan` and `inf` are no times to wait
    return done[0] if done else TIMED_OUT


def _session_start(memory: Memory, _given: Given, _limits: Limits) -> Given:
    _capture(memory)
    paths = memory.paths()
    if not paths:
        return {}
    told = (
        f"This workspace has a memory of {len(paths)} files, kept by Recollect. Before answering "
        "about earlier work, decisions, dates, people, preferences or tasks, look there with the "
        "tool memory_search (or `recollect search`), and name the source of what you use as "
        "path#lines. Its newest notes:"
    )
    lines = [_newest_line(memory, path) for path in _newest(paths)]
    block = "\n".join([f'<{OWN_BLOCK} form="index">', *lines, f"</{OWN_BLOCK}>"])
    return _context("SessionStart", f"{told}\n{block}")


def _prompt(memory: Memory, given: Given, limits: Limits) -> Given:
    prompt = _prompt_of(given)[:_MOST_CHARS]
    recalled = memory.recall(prompt, budget_tokens=limits.budget_tokens)
    if memory.is_behind:
        memory.finish_in_background()
    told = _context("UserPromptSubmit", recalled.block) if recalled.block else {}
    failed = [f"{why.reason} {why.action}" for why in (recalled.results.degraded or {}).values()]
    return {**told, **_trouble(" ".join(failed))} if failed else told


def _stop(memory: Memory, _given: Given, _limits: Limits) -> Given:
    _capture(memory)
    return {}


EVENTS = {"session-start": _session_start, "prompt": _prompt, "stop": _stop}


def _asks_nothing(event: str, given: Given) -> bool:
    """Tell whether no memory has to be opened for an event."""
    if event == "prompt":
        prompt = _prompt_of(given)
        letters = sum(_WIDE_LETTERS if letter >= _WIDE else 1 for letter in prompt)
        return letters < _LEAST or prompt.startswith("/")
    # Where a hook kept the turn from ending, whatever it had written is seen at the real end.
    return event == "stop" and bool(given.get("stop_hook_active"))


def _prompt_of(given: Given) -> str:
    return str(given.get("prompt") or "").strip()


def _capture(memory: Memory) -> None:
    """Index in the background what has changed, unless that is under way."""
    if not memory.status().staleness.is_stale:
        return
    home = find_workspace(memory.workspace, agent=memory.agent).places.home
    note = home / "capture" / f"{memory.agent}.pid"
    if _is_running(note):
        return
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(str(memory.finish_in_background()), encoding="utf-8")


def _is_running(note: Path) -> bool:
    try:
        age_seconds = time.time() - note.stat().st_mtime
        pid = int(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if age_seconds > _CAPTURE_SECONDS or os.name == "nt":  # there a process cannot be asked so
        return False
    # An id that another user's process has by now is not that of ours any more.
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, 0)
        return True
    return False


def _workspace(given: Given, *, named: Path | None) -> Path | None:
    """Return the folder to remember from; None where nobody keeps a memory."""
    folder = given.get("cwd")
    if named is None and "RECOLLECT_WORKSPACE" not in os.environ and isinstance(folder, str):
        start = Path(folder)
        found = (each for each in (start, *start.parents) if _is_marked(each))
        return next(found, None)
    workspace = find_workspace(named).folder
    return workspace if named is not None or _is_marked(workspace) else None


def _is_marked(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in _MARKS)


def _newest(paths: frozenset[str]) -> list[str]:
    dated = [(found[0], path) for path in paths if (found := _DATED.search(Path(path).name))]
    return [path for _, path in sorted(dated, reverse=True)[:_NEWEST]]


def _newest_line(memory: Memory, path: str) -> str:
    try:
        text = memory.get(path).text
    except RecollectError:
        return f"- [{on_one_line(path)}]"
    headings = on_one_line("; ".join(_HEADING.findall(text)))
    return f"- [{on_one_line(path)}] {headings[:_HEADING_CHARS]}"


def _context(event: str, text: str) -> Given:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _trouble(sentence: str) -> Given:
    return {"systemMessage": f"Recollect: {sentence}"}
