"""`recollect hook`: what Claude Code is told at its events, and that no session ever suffers.

The events are as Claude Code 2.1.325 sent them.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect import Memory
from recollect.ingest.lease import WriterLease
from recollect.shells.cli import cli
from recollect.text.size import estimate_tokens

RECORDED = Path(__file__).parent / "recorded"
EVENTS = ("session-start", "prompt", "stop", "pre-compact", "session-end")


class Answer(NamedTuple):
    """What a hook printed."""

    returncode: int
    told: Any
    stderr: str

    @property
    def context(self) -> str:
        told = self.told.get("hookSpecificOutput", {}).get("additionalContext", "")
        assert isinstance(told, str)
        return told


class Hook:
    """Runs the command with an event on standard input."""

    def __init__(self, environ: dict[str, str], workspace: Path) -> None:
        self.environ = {**environ, "RECOLLECT_PROVIDER": "none"}  # the model's start is not tested
        self.workspace = workspace

    def __call__(
        self, event: str, *options: str, said: str | None = None, **more: object
    ) -> Answer:
        """Run it in this process, which is quicker."""
        done = CliRunner().invoke(
            cli,
            ["hook", event, *options],
            input=self._event(event, said=said, more=more),
            env={**dict.fromkeys(os.environ), **self.environ},
        )
        return Answer(done.exit_code, json.loads(done.stdout or "{}"), done.stderr)

    def process(self, event: str, *options: str) -> Answer:
        """Run it as an agent does."""
        done = subprocess.run(
            [*recollect_command(), "hook", event, *options],
            input=self._event(event, said=None, more={}),
            env=self.environ,
            cwd=self.workspace.parent,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return Answer(done.returncode, json.loads(done.stdout or "{}"), done.stderr)

    def _event(self, event: str, *, said: str | None, more: dict[str, object]) -> str:
        if said is not None:
            return said
        recorded = json.loads((RECORDED / f"{event}.json").read_text(encoding="utf-8"))
        return json.dumps({**recorded, "cwd": str(self.workspace), **more})

    def index(self) -> None:
        with Memory.open(self.workspace, environ=self.environ) as memory:
            memory.sync()


@pytest.fixture
def hook(environ: dict[str, str], sample: Path) -> Hook:
    return Hook(environ, sample)


def test_a_session_begins_with_what_memory_there_is_and_its_newest_notes(hook: Hook) -> None:
    hook.index()
    answer = hook("session-start")

    assert "SessionStart" == answer.told["hookSpecificOutput"]["hookEventName"]
    assert "memory_search" in answer.context
    dated = sorted((hook.workspace / "memory").glob("20*.md"), reverse=True)[:3]
    for note in dated:
        assert f"[memory/{note.name}]" in answer.context
        lines = note.read_text(encoding="utf-8").split("\n")
        first = next(line for line in lines if line and not line.startswith("#"))
        assert first[:60] in answer.context
    assert estimate_tokens(answer.context) < 400


def transcript(hook: Hook, *prompts: str) -> str:
    """Write a conversation of Claude Code in the workspace; return its path."""
    folder = Path(hook.environ["HOME"]) / ".claude" / "projects" / "-notes"
    folder.mkdir(parents=True)
    file = folder / "15d10273-af59-415e-a8a7-b594f95c8760.jsonl"
    rows = [
        {
            "type": "user",
            "sessionId": file.stem,
            "cwd": str(hook.workspace),
            "message": {"role": "user", "content": prompt},
        }
        for prompt in prompts
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(file)


def test_after_a_compaction_memory_is_recalled_for_what_was_last_asked(hook: Hook) -> None:
    asked = ("How do we roll back a deploy?", "yes", "/model opus", "Where do Zdenka's bowls go?")
    file = transcript(hook, *asked)
    answer = hook("session-start", source="compact", transcript_path=file)

    assert answer.context.index("Its newest notes") < answer.context.index("Zdenka")
    assert "Roll-back is one command" in answer.context
    assert estimate_tokens(answer.context) < 400 + 800


def test_after_a_compaction_a_hit_is_shown_once(hook: Hook) -> None:
    file = transcript(hook, "How do we roll back a deploy?", "How is a deploy rolled back?")
    answer = hook("session-start", source="compact", transcript_path=file)

    assert 1 == answer.context.count("Roll-back is one command")


@pytest.mark.parametrize("path", ["/nowhere/at/all.jsonl", "/etc/passwd", "", None])
def test_a_transcript_that_cannot_be_read_recalls_nothing(hook: Hook, path: str | None) -> None:
    hook.index()
    answer = hook("session-start", source="compact", transcript_path=path)

    assert (0, 1) == (answer.returncode, answer.context.count("<recollect-memory"))


def test_nothing_is_printed_before_a_compaction_which_would_be_taken_for_instructions(
    hook: Hook,
) -> None:
    hook.environ["RECOLLECT_MAX_RESULTS"] = "many"

    assert (0, {}) == hook("pre-compact")[:2]


def test_a_turn_begins_with_what_memory_holds_on_the_prompt(hook: Hook) -> None:
    answer = hook.process("prompt")

    assert "UserPromptSubmit" == answer.told["hookSpecificOutput"]["hookEventName"]
    assert "Roll-back is one command" in answer.context
    assert answer.context.startswith("<recollect-memory")
    assert estimate_tokens(answer.context) <= 800


def test_a_turn_is_given_no_more_than_its_budget(hook: Hook) -> None:
    answer = hook("prompt", "--budget", "150")

    assert 0 < estimate_tokens(answer.context) <= 150


def test_a_question_of_a_few_characters_of_chinese_is_a_question(hook: Hook) -> None:
    (hook.workspace / "memory" / "zh.md").write_text("回滚部署只需要一条命令。\n", encoding="utf-8")

    assert "回滚部署只需要一条命令" in hook("prompt", prompt="怎么回滚部署").context


def test_a_prompt_with_a_book_pasted_into_it_is_answered_by_its_beginning(hook: Hook) -> None:
    prompt = "How do we roll back a deploy?\n" + "lorem ipsum dolor " * 50_000

    assert 0 == hook("prompt", prompt=prompt).returncode


def test_a_leg_that_did_not_run_is_reported_with_the_hits(hook: Hook) -> None:
    hook.environ["RECOLLECT_PROVIDER"] = "openai"  # without a key
    answer = hook("prompt")

    assert "Roll-back is one command" in answer.context
    assert "OPENAI_API_KEY" in answer.told["systemMessage"]


@pytest.mark.parametrize("prompt", ["", "yes", "go on", "/compact keep the plan", "zxqv wvut kjhg"])
def test_nothing_is_put_before_a_prompt_that_asks_for_no_memory(hook: Hook, prompt: str) -> None:
    assert (0, {}) == hook("prompt", prompt=prompt)[:2]


@pytest.mark.parametrize("event", ["stop", "pre-compact", "session-end"])
def test_what_was_written_is_indexed_when_a_turn_or_session_ends_and_before_a_compaction(
    hook: Hook, event: str
) -> None:
    hook.index()
    (hook.workspace / "memory" / "2026-12-01.md").write_text("Quokkas are new.\n", encoding="utf-8")
    answer = hook(event)

    assert (0, {}) == answer[:2]
    with Memory.open(hook.workspace, environ=hook.environ) as memory:
        wait_until(lambda: "memory/2026-12-01.md" in memory.paths())


def test_the_end_of_a_turn_starts_nothing_when_nothing_has_changed(hook: Hook) -> None:
    hook.index()
    hook("stop")

    assert [] == processes_of(hook)


def test_an_end_that_a_hook_brought_about_is_left_alone(hook: Hook) -> None:
    answer = hook("stop", stop_hook_active=True)

    assert (0, {}) == answer[:2]
    assert not Path(hook.environ["RECOLLECT_HOME"]).exists()


def test_what_is_indexed_already_by_a_process_is_not_begun_twice(hook: Hook) -> None:
    hook.index()
    (hook.workspace / "memory" / "new.md").write_text("Something new.\n", encoding="utf-8")
    with Memory.open(hook.workspace, environ=hook.environ) as memory:
        lease = WriterLease(memory.parts.store, purpose="a test")
        assert lease.acquire() is None
        hook("stop")
        begun = processes_of(hook)
        lease.release()
        hook("stop")
        wait_until(lambda: "memory/new.md" in memory.paths())

    assert [] == begun


@pytest.mark.parametrize("event", EVENTS)
def test_a_project_without_a_memory_is_left_alone(hook: Hook, tmp_path: Path, event: str) -> None:
    hook.workspace = tmp_path / "project"
    hook.workspace.mkdir()

    assert (0, {}) == hook(event)[:2]
    assert not Path(hook.environ["RECOLLECT_HOME"]).exists()


def test_a_session_in_a_folder_of_the_workspace_has_its_memory(hook: Hook) -> None:
    assert hook("prompt", cwd=str(hook.workspace / "memory" / "projects")).context


@pytest.mark.parametrize("said", ["", "not json", "[]", "null", '{"prompt": 5, "cwd": 7}', "\x00"])
@pytest.mark.parametrize("event", EVENTS)
def test_whatever_is_said_the_session_goes_on(hook: Hook, event: str, said: str) -> None:
    hook.workspace = hook.workspace / "memory" / "projects"
    hook.index()
    answer = hook(event, "-w", str(hook.workspace), said=said)

    assert 0 == answer.returncode
    assert {"hookSpecificOutput", "systemMessage"} >= answer.told.keys()


@pytest.mark.parametrize(
    ("event", "options", "complaint"),
    [
        ("stop", ("-w", "/nowhere/at/all"), "is not a folder"),
        ("prompt", ("--budget", "3"), "does not fit"),
        ("prompt", ("--budget", "many"), "--budget"),
        ("prompt", ("--no-such-option",), "--no-such-option"),
        ("later", (), "unknown event 'later'"),
    ],
)
def test_trouble_is_said_to_the_user_and_blocks_nothing(
    hook: Hook, event: str, options: tuple[str, ...], complaint: str
) -> None:
    said = (RECORDED / "prompt.json").read_text(encoding="utf-8")
    answer = hook(event, *options, said=said.replace("WORKSPACE", str(hook.workspace)))

    assert 0 == answer.returncode
    assert complaint in answer.told["systemMessage"]
    assert "hookSpecificOutput" not in answer.told


def test_a_memory_that_takes_too_long_is_not_waited_for(hook: Hook) -> None:
    answer = hook.process("prompt", "--seconds", "0")

    assert 0 == answer.returncode
    assert "too long" in answer.told["systemMessage"]


@pytest.mark.parametrize("seconds", ["inf", "nan"])
def test_no_time_to_wait_is_one_that_fails(hook: Hook, seconds: str) -> None:
    assert 0 == hook.process("prompt", "--seconds", seconds).returncode


def test_an_agent_that_never_ends_its_event_is_not_waited_for(hook: Hook) -> None:
    with subprocess.Popen(
        [*recollect_command(), "hook", "prompt", "--seconds", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=hook.environ,
        cwd=hook.workspace,
    ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.read())

        assert 0 == process.wait(PATIENCE_SECONDS)
        assert "too long" in told["systemMessage"]


def test_wrong_settings_are_said_to_the_user(hook: Hook) -> None:
    hook.environ["RECOLLECT_MAX_RESULTS"] = "many"
    answer = hook("prompt")

    assert 0 == answer.returncode
    assert "max_results" in answer.told["systemMessage"]


def processes_of(hook: Hook) -> list[str]:
    """Return the processes that were started with the home of a hook."""
    home = f"RECOLLECT_HOME={hook.environ['RECOLLECT_HOME']}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            if home in (process / "environ").read_bytes().split(b"\0"):
                found.append(process.name)
    return found


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("value", ["off", "OFF ", "0"])
def test_a_variable_switches_the_hooks_of_one_session_off(
    hook: Hook, event: str, value: str
) -> None:
    hook.index()
    hook.environ["RECOLLECT_HOOKS"] = value

    assert (0, {}, "") == hook(event)
    assert [] == processes_of(hook)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("is_below", [False, True])
def test_a_file_switches_the_hooks_of_a_folder_off(hook: Hook, event: str, is_below: bool) -> None:  # noqa: FBT001
    hook.index()
    folder = hook.workspace / "project" if is_below else hook.workspace
    folder.mkdir(exist_ok=True)
    (folder / ".recollect-off").touch()

    assert (0, {}, "") == hook(event, cwd=str(folder))


def test_hooks_answer_again_when_the_file_is_gone_and_the_variable_is_on(hook: Hook) -> None:
    hook.index()
    hook.environ["RECOLLECT_HOOKS"] = "on"
    marker = hook.workspace / ".recollect-off"
    marker.touch()
    assert "" == hook("session-start").context

    marker.unlink()

    assert "This workspace has a memory" in hook("session-start").context


def test_an_unknown_value_of_the_variable_is_reported(hook: Hook) -> None:
    hook.environ["RECOLLECT_HOOKS"] = "of"

    told = hook("session-start").told["systemMessage"]

    assert "Recollect: RECOLLECT_HOOKS is 'of'. Use `off` or `on`." == told
