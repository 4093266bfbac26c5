"""`recollect install`: what every agent is told, and that all of it can be taken back."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import stat
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pytest
from tests.install.agents import (
    AGENTS,
    CLAUDE,
    COMMENTED,
    HOOKS,
    OWN,
    entry_of,
    given_files,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.install.conftest import Install


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_told_to_start_this_program_on_the_workspace(
    install: Install, agent: str
) -> None:
    told = install.json(agent)
    (first, *_) = told["files"]
    with open(first["path"], encoding="utf-8") as file:  # noqa: PTH123 - a path from JSON
        entry = entry_of(file.read(), agent)

    assert told["command"] == [entry["command"], *entry["args"]]
    assert ["mcp", "-w", str(install.workspace)] == entry["args"][-3:]
    assert told["command"][0].startswith("/")


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_else_of_a_file_moves_and_undo_gives_it_back_to_the_byte(
    install: Install, agent: str
) -> None:
    before = given_files(install, agent)
    install.well(agent, *HOOKS.get(agent, ()))
    after = install.files()
    install.well(agent, "--undo")

    assert before.keys() == after.keys()
    for path, text in before.items():
        assert [line for line in text.splitlines() if line not in after[path]] == []
    assert before != after
    assert before == install.files()


@pytest.mark.parametrize("agent", AGENTS)
def test_installing_twice_changes_nothing_the_second_time(install: Install, agent: str) -> None:
    given_files(install, agent)
    install.well(agent)
    once = install.files()
    told = install.json(agent)

    assert once == install.files()
    assert {False} == {each["changed"] for each in told["files"]}


@pytest.mark.parametrize("agent", AGENTS)
def test_files_and_folders_that_were_made_are_gone_after_undo(install: Install, agent: str) -> None:
    install.well(agent)
    made = install.files()
    install.well(agent, "--undo")

    assert made
    assert {} == install.files()
    assert [] == sorted(path.name for path in install.home.iterdir())
    assert [] == list(install.project.iterdir())


@pytest.mark.parametrize("agent", AGENTS)
def test_print_changes_nothing_and_shows_what_would_be_written(
    install: Install, agent: str
) -> None:
    before = given_files(install, agent)
    shown = install.well(agent, "--print", *HOOKS.get(agent, ()))

    assert before == install.files()
    assert str(install.workspace) in shown
    for path in before:
        assert path.partition("/")[2] in shown


@pytest.mark.parametrize("agent", AGENTS)
def test_every_change_is_shown_as_a_diff(install: Install, agent: str) -> None:
    before = given_files(install, agent)
    diff = install.well(agent, *HOOKS.get(agent, ())).splitlines()

    assert len(before) == sum(line.startswith("+++ ") for line in diff)
    assert any(line.startswith("+") and "recollect" in line for line in diff)


@pytest.mark.parametrize("agent", AGENTS)
def test_another_workspace_takes_the_place_of_the_first(
    install: Install, agent: str, tmp_path: Path
) -> None:
    before = given_files(install, agent)
    install.well(agent)
    install.workspace = tmp_path / "other"
    install.workspace.mkdir()
    install.well(agent)
    told = "".join(install.files().values())
    install.well(agent, "--undo")

    assert str(tmp_path / "my notes") not in told
    assert str(install.workspace) in told
    assert before == install.files()


@pytest.mark.parametrize("agent", AGENTS)
def test_undo_works_after_the_agent_rewrote_the_file(install: Install, agent: str) -> None:
    given_files(install, agent)
    before = {path: _meaning(path, text) for path, text in install.files().items()}
    install.well(agent)
    for path, text in install.files().items():
        if not path.endswith(".toml"):
            top, _, rest = path.partition("/")
            file = {"user": install.home, "project": install.project}[top] / rest
            dumped = json.dumps(_meaning(path, text), indent=4)
            file.write_text(dumped, encoding="utf-8")
    install.well(agent, "--undo")

    assert before == {path: _meaning(path, text) for path, text in install.files().items()}


def _meaning(path: str, text: str) -> object:
    return tomllib.loads(text) if path.endswith(".toml") else json.loads(text)


def test_a_json_file_in_another_layout_keeps_its_meaning_and_its_indentation(
    install: Install,
) -> None:
    file = install.home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{\n    "mcpServers": { "other": {"command": "ä"} } }', encoding="utf-8")
    before = json.loads(file.read_text(encoding="utf-8"))
    install.well("cursor")
    written = file.read_text(encoding="utf-8")
    install.well("cursor", "--undo")

    assert '\n    "mcpServers": {\n        "other": {\n            "command": "ä"\n' in written
    assert before == json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", ["{}", "{}\n", '{"a":1,"b":[2]}', '{"a": 1, "b": [2]}\n'])
def test_a_file_of_one_line_is_the_same_after_undo(install: Install, text: str) -> None:
    file = install.home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    install.well("cursor")
    written = file.read_text(encoding="utf-8")
    install.well("cursor", "--undo")

    assert "recollect" in written
    assert text == file.read_text(encoding="utf-8")


def test_what_a_user_added_to_the_entry_stays_when_it_is_renewed(install: Install) -> None:
    install.well("cursor")
    file = install.home / ".cursor/mcp.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace('"command"', '"env": {"RECOLLECT_PROVIDER":"none"},\n"command"'),
        encoding="utf-8",
    )
    install.well("cursor", "--agent", "main")
    entry = entry_of(file.read_text(encoding="utf-8"), "cursor")

    assert {"RECOLLECT_PROVIDER": "none"} == entry["env"]
    assert ["--agent", "main"] == entry["args"][-2:]


def test_an_undo_shows_only_the_files_that_it_changes(install: Install) -> None:
    install.well("claude")
    said = install.well("claude", "--undo")

    assert "+++ /dev/null" in said
    assert "has no entry" not in said


def test_undo_where_nothing_was_installed_changes_nothing(install: Install) -> None:
    before = given_files(install, "claude")
    said = install.well("claude", "--undo")

    assert before == install.files()
    assert "has no entry for Recollect" in said


def test_hooks_stand_beside_those_of_the_user(install: Install) -> None:
    given_files(install, "claude")
    install.well("claude", "--hooks")
    hooks = json.loads(install.files()["user/.claude/settings.json"])["hooks"]

    assert {"SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"} == hooks.keys()
    assert "say done" == hooks["Stop"][0]["hooks"][0]["command"]
    assert " hook stop -w " in hooks["Stop"][1]["hooks"][0]["command"]
    assert 15 >= hooks["Stop"][1]["hooks"][0]["timeout"]


@pytest.mark.parametrize(
    ("scope", "where", "file"),
    [
        ("user", "all your sessions, in any folder", "user/.claude/settings.json"),
        ("project", "sessions in this folder", "project/.claude/settings.json"),
    ],
)
def test_where_hooks_apply_is_said(install: Install, scope: str, where: str, file: str) -> None:
    done = install("claude", "--hooks", "--scope", scope)

    assert where in done.stderr
    assert file in done.stderr


def test_hooks_are_written_only_if_they_are_asked_for(install: Install) -> None:
    install.well("claude")

    assert ["user/.claude.json"] == list(install.files())


def test_codex_gets_the_same_hooks_in_a_file_of_their_own(install: Install) -> None:
    install.well("codex", "--hooks")
    hooks = json.loads(install.files()["user/.codex/hooks.json"])["hooks"]
    install.well("codex", "--undo")

    assert " hook pre-compact -w " in hooks["PreCompact"][0]["hooks"][0]["command"]
    assert {} == install.files()


def test_an_agent_without_hooks_says_so(install: Install) -> None:
    done = install("zed", "--hooks")

    assert (2, {}) == (done.returncode, install.files())
    assert "Zed runs no hooks." in done.stderr


def test_the_file_of_opencode_that_is_there_is_the_one_that_is_written(install: Install) -> None:
    file = install.home / ".config/opencode/opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text("{}\n", encoding="utf-8")
    install.well("opencode")

    assert ["user/.config/opencode/opencode.jsonc"] == list(install.files())


@pytest.mark.parametrize(
    ("agent", "files"),
    [
        ("claude", {"project/.mcp.json"}),
        ("opencode", {"project/opencode.json"}),
        ("gemini", {"project/.gemini/settings.json"}),
        ("copilot", {"project/.github/mcp.json"}),
        ("zed", {"project/.zed/settings.json"}),
        ("codex", {"project/.codex/config.toml"}),
        ("cursor", {"project/.cursor/mcp.json"}),
        ("vscode", {"project/.vscode/mcp.json"}),
    ],
)
def test_a_project_gets_files_of_its_own(install: Install, agent: str, files: set[str]) -> None:
    install.well(agent, "--scope", "project")

    assert files == set(install.files())


@pytest.mark.parametrize("agent", ["openclaw", "claude-desktop", "windsurf", "cline"])
def test_some_agents_have_no_projects(install: Install, agent: str) -> None:
    done = install(agent, "--scope", "project")

    assert 2 == done.returncode
    assert "--scope project" in done.stderr


@pytest.mark.parametrize(
    ("agent", "variable", "file"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("openclaw", "OPENCLAW_STATE_DIR", "openclaw.json"),
    ],
)
def test_an_agent_that_was_moved_is_found(
    install: Install, tmp_path: Path, agent: str, variable: str, file: str
) -> None:
    install.well(agent, **{variable: str(tmp_path / "elsewhere")})

    assert (tmp_path / "elsewhere" / file).is_file()
    assert {} == install.files()


def test_the_home_that_is_in_use_is_passed_on(install: Install, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    install.well("claude", "--hooks", RECOLLECT_HOME=home)
    files = install.files()

    assert {"RECOLLECT_HOME": home} == entry_of(files["user/.claude.json"], "claude")["env"]
    assert f"RECOLLECT_HOME={home} " in files["user/.claude/settings.json"]


@pytest.mark.parametrize(
    ("agent", "broken"),
    [
        ("claude", '{"mcpServers": {'),
        ("claude", '{"mcpServers": []}'),
        ("codex", "[mcp_servers\n"),
        ("codex", 'mcp_servers = { other = { command = "x" } }\n'),
        ("cursor", '{"mcpServers": {"recollect": {"command": "someone-elses", "args": []}}}'),
        ("openclaw", '{ "mcp": { "servers": [] } }'),
        ("openclaw", COMMENTED["openclaw"]),
        ("vscode", '{ "servers": {}, "servers": {} }'),
        ("vscode", COMMENTED["vscode"]),
    ],
)
def test_a_file_that_cannot_be_edited_stays_and_the_error_says_what_to_paste(
    install: Install, agent: str, broken: str
) -> None:
    path = next(iter(OWN[agent]))
    top, _, rest = path.partition("/")
    file = {"user": install.home, "project": install.project}[top] / rest
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(broken, encoding="utf-8")
    done = install(agent)

    assert 2 == done.returncode
    assert {path: broken} == install.files()
    assert str(install.workspace) in done.stderr
    assert str(file) in done.stderr


@pytest.mark.parametrize("agent", COMMENTED)
def test_a_file_with_comments_is_read_but_never_edited(install: Install, agent: str) -> None:
    told = install.json(agent)
    (path,) = install.files()
    top, _, rest = path.partition("/")
    file = {"user": install.home, "project": install.project}[top] / rest
    pasted = f"// mine\n{told['files'][0]['snippet']}"
    file.write_text(pasted, encoding="utf-8")
    again = install.json(agent)
    undone = install(agent, "--undo")
    file.write_text(COMMENTED[agent], encoding="utf-8")

    assert [False] == [each["changed"] for each in again["files"]]
    assert (2, True) == (undone.returncode, "remove this from it yourself" in undone.stderr)
    assert "has no entry for Recollect" in install.well(agent, "--undo")
    assert {path: COMMENTED[agent]} == install.files()


def test_no_file_is_written_when_another_cannot_be(install: Install) -> None:
    settings = install.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{ oops", encoding="utf-8")
    done = install("claude", "--hooks")

    assert 2 == done.returncode
    assert {"user/.claude/settings.json": "{ oops"} == install.files()


def test_a_file_that_is_not_text_is_refused(install: Install) -> None:
    file = install.home / ".claude.json"
    file.write_bytes(b"\xff\xfe{}")
    done = install("claude")

    assert 2 == done.returncode
    assert "not UTF-8" in done.stderr
    assert b"\xff\xfe{}" == file.read_bytes()


def test_a_link_stays_a_link_and_the_permissions_stay(install: Install, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text(CLAUDE, encoding="utf-8")
    real.chmod(0o640)
    link = install.home / ".claude.json"
    link.symlink_to(real)
    install.well("claude")

    assert link.is_symlink()
    assert "recollect" in real.read_text(encoding="utf-8")
    assert 0o640 == stat.S_IMODE(real.stat().st_mode)
    assert ["claude.json"] == [path.name for path in real.parent.iterdir()]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_stays_its_owners(install: Install) -> None:
    file = install.home / ".claude.json"
    file.write_text(CLAUDE, encoding="utf-8")
    os.chown(file, 1234, 1235)
    install.well("claude")

    assert "recollect" in file.read_text(encoding="utf-8")
    assert (1234, 1235) == (file.stat().st_uid, file.stat().st_gid)


def test_a_file_of_the_user_that_is_made_is_readable_by_them_alone(install: Install) -> None:
    install.well("claude")

    assert 0o600 == stat.S_IMODE((install.home / ".claude.json").stat().st_mode)


def test_a_folder_that_cannot_be_written_is_an_error(install: Install) -> None:
    (install.home / ".codex").write_text("a file, not a folder", encoding="utf-8")
    done = install("codex")

    assert 2 == done.returncode
    assert "cannot be changed" in done.stderr


def test_a_workspace_that_is_not_there_is_refused(install: Install) -> None:
    install.workspace.rmdir()
    done = install("claude")

    assert 1 == done.returncode
    assert {} == install.files()


def test_an_unknown_agent_is_wrong_usage(install: Install) -> None:
    assert 2 == install("emacs").returncode


def test_a_folder_without_memory_is_named_before_an_agent_is_bound_to_it(install: Install) -> None:
    empty = install("codex", "--print")
    (install.workspace / "MEMORY.md").write_text("# Me\n", encoding="utf-8")
    used = install("codex", "--print")

    assert f"{install.workspace} has no Markdown files." in empty.stderr
    assert "has no Markdown files" not in used.stderr


FOUR = ("claude", "codex", "zed", "gemini")


def four_agents(install: Install) -> dict[str, str]:
    """Make a machine with four agents, without a command on its PATH."""
    install.environ["PATH"] = "/nowhere"
    for agent in FOUR:
        given_files(install, agent)
    return install.files()


def test_without_a_name_every_agent_of_this_machine_is_shown_set_up_and_undone(
    install: Install,
) -> None:
    before = four_agents(install)
    shown = install.well("", "--print")
    untouched = install.files()
    told = install.well("", "--yes")
    after = install.files()
    undone = install.well("", "--undo", "--yes")

    assert before == untouched
    for title in ("Claude Code:", "Codex:", "Zed:", "Gemini CLI:"):
        assert title in shown
        assert title in told
    assert "Cursor:" not in shown
    assert {str(install.workspace) in after[path] for path in after if "settings" in path} == {
        True,
        False,  # the hooks of Claude Code
    }
    assert "Removed from Claude Code, Codex, Gemini CLI, Zed." in undone
    assert before == install.files()


def test_without_a_name_and_a_terminal_to_ask_on_nothing_is_written(install: Install) -> None:
    before = four_agents(install)
    done = install("")

    assert (2, before) == (done.returncode, install.files())
    assert "`--yes` changes the files without a question." in done.stderr


@pytest.mark.parametrize(("said", "is_written"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_one_question_decides_about_all_of_them(
    install: Install,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    is_written: bool,  # noqa: FBT001
) -> None:
    before = four_agents(install)
    terminal = io.StringIO(said)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    done = install("")

    assert 0 == done.returncode
    assert is_written is (before != install.files())
    assert "Change the files of Claude Code, Codex, Gemini CLI, Zed?" in done.stdout + done.stderr
    assert is_written is ("Nothing was changed" not in done.stdout)


def test_an_agent_whose_file_cannot_be_edited_keeps_no_other_waiting(install: Install) -> None:
    four_agents(install)
    file = install.home / ".config/zed/settings.json"
    file.write_text(COMMENTED["zed"], encoding="utf-8")
    done = install("", "--yes")

    assert 0 == done.returncode
    assert COMMENTED["zed"] == file.read_text(encoding="utf-8")
    assert f'"{install.workspace}"' in done.stderr  # what to paste
    assert "recollect" in install.files()["user/.codex/config.toml"]


def test_on_a_machine_without_agents_nothing_is_done(install: Install) -> None:
    said = install.well("", PATH="/nowhere")

    assert ("There is nothing to set up on this machine.\n", {}) == (said, install.files())


@pytest.mark.parametrize(
    "rules", [None, "", "# Rules\n\nBe kind.\n", "# Rules", "# A\r\n\r\nB\r\n"]
)
def test_a_project_is_set_up_for_any_agent_and_its_instructions_come_back_to_the_byte(
    install: Install, rules: str | None
) -> None:
    file = install.project / "AGENTS.md"
    if rules is not None:
        file.write_bytes(rules.encode())
    before = install.files()
    install.well("", "--scope", "project", "--yes")
    once = install.files()
    install.well("", "--scope", "project", "--yes")
    again = install.files()
    install.well("", "--scope", "project", "--undo", "--yes")

    assert {"project/.mcp.json", "project/AGENTS.md"} == once.keys()
    assert "memory_search" in once["project/AGENTS.md"]
    assert once["project/AGENTS.md"].startswith(rules or "<!-- recollect: begin -->")
    assert once == again
    assert (before if rules else {}) == install.files()


def test_instructions_whose_marks_were_damaged_are_left_alone(install: Install) -> None:
    file = install.project / "AGENTS.md"
    file.write_text("<!-- recollect: begin -->\nmine\n", encoding="utf-8")
    before = install.files()
    done = install("", "--scope", "project", "--yes")

    assert (0, before) == (done.returncode, install.files())
    assert "not one pair" in done.stderr


PLUGIN = "user/.config/opencode/plugins/recollect.js"


def test_opencode_gets_a_script_of_its_own_and_only_if_hooks_are_asked_for(
    install: Install,
) -> None:
    install.well("opencode")
    without = install.files()
    install.well("opencode", "--hooks", RECOLLECT_AGENT="work")
    script = install.files()[PLUGIN]
    again = install.json("opencode", "--hooks", RECOLLECT_AGENT="work")
    install.well("opencode", "--undo")

    assert PLUGIN not in without
    assert f'"recall", "--json", "-w", "{install.workspace}"' in script
    assert 'ENVIRONMENT = {"RECOLLECT_AGENT": "work"}' in script
    assert {False} == {each["changed"] for each in again["files"]}
    assert {} == install.files()


def test_a_script_of_opencode_that_another_program_wrote_is_left_alone(install: Install) -> None:
    file = install.home / PLUGIN.removeprefix("user/")
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = async () => ({})\n", encoding="utf-8")
    refused = install("opencode", "--hooks")
    install.well("opencode", "--undo")

    assert (2, True) == (refused.returncode, "another program wrote it" in refused.stderr)
    assert "export const Mine = async () => ({})\n" == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
def test_with_hooks_it_is_said_that_conversations_are_found_only_if_they_are_searched(
    install: Install, agent: str
) -> None:
    alone = install(agent)
    with_hooks = install(agent, "--hooks")
    every = install("", "--hooks", "--yes")
    searched = install(agent, "--hooks", RECOLLECT_SOURCES="memory,sessions")

    offer = "`recollect config set sources memory,sessions`"
    assert [False, True, False] == [offer in each.stderr for each in (alone, with_hooks, searched)]
    assert "already set up" in every.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.parametrize(
    ("program", "context"),
    [
        ("""printf '{"block": "recalled: %s"}' "$*" """, ["recalled"]),
        ("""printf '{"block": ""}'""", []),
        ("echo broken; exit 1", []),
        ("echo no JSON", []),
    ],
)
def test_the_script_of_opencode_gives_what_is_recalled_to_a_compaction_and_never_fails(
    install: Install, tmp_path: Path, program: str, context: list[str]
) -> None:
    stub = tmp_path / "stub"
    stub.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    stub.chmod(0o755)
    install.well("opencode", "--hooks")
    script = (install.home / PLUGIN.removeprefix("user/")).read_text(encoding="utf-8")
    installed = re.sub(r"COMMAND = .*", f'COMMAND = ["{stub}"]', script)
    (tmp_path / "plugin.mjs").write_text(installed, encoding="utf-8")
    messages = [
        {"info": {"role": role}, "parts": [{"type": "text", "text": text}]}
        for role, text in (("user", "-w is an option?"), ("assistant", "Yes."), ("user", "  "))
    ]
    driver = f"""
        import {{ Recollect }} from "{tmp_path}/plugin.mjs"
        const data = {json.dumps(messages)}
        const client = {{ session: {{ messages: async () => ({{ data }}) }} }}
        const output = {{ context: [] }}
        await (await Recollect({{ client }}))["experimental.session.compacting"](
            {{ sessionID: "s" }}, output)
        console.log(JSON.stringify(output.context))
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", driver], capture_output=True, text=True, check=True
    )

    told = json.loads(done.stdout)
    assert context == [each.partition(":")[0] for each in told]
    assert [True] * len(told) == [
        each.endswith("--budget 800 -- -w is an option?") for each in told
    ]
