"""`recollect config` as a user calls it, on real files; no index and no model is needed."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.support.commands import recollect_command

if TYPE_CHECKING:
    from pathlib import Path

from recollect.config.files import SettingsFiles
from recollect.shells.cli import cli as cli_command
from recollect.shells.cli import run

SECRET = "sk-live-0123456789"  # noqa: S105 - no one's


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Cli:
    """Runs `recollect config` in a workspace, with an environment that is not the user's."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.user_file = folder / "user" / "config.toml"
        self.openclaw = folder / "user" / ".openclaw" / "openclaw.json"
        self.openclaw.parent.mkdir(parents=True)
        self.environ = {
            "HOME": str(folder / "user"),
            "PATH": os.environ["PATH"],
            "RECOLLECT_HOME": str(folder / "home"),
            "RECOLLECT_CONFIG": str(self.user_file),
        }
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, **more: str) -> Done:
        with self._monkeypatch.context() as patch:
            patch.chdir(self.workspace)
            patch.setattr(os, "environ", {**self.environ, **more})
            code = run(cli_command, ["config", *arguments])
        return Done(code, *self._capsys.readouterr())

    def json(self, *arguments: str, **more: str) -> Any:
        done = self(*arguments, "--json", **more)
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout)

    def write(self, text: str) -> None:
        self.user_file.write_text(text, encoding="utf-8")

    @property
    def written(self) -> str:
        return self.user_file.read_text(encoding="utf-8")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


def test_the_command_is_there_and_opens_no_index(cli: Cli, tmp_path: Path) -> None:
    done = subprocess.run(
        [*recollect_command(), "config", "path", "--json"],
        cwd=cli.workspace,
        env=cli.environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )

    assert str(cli.workspace) == json.loads(done.stdout)["workspace"]["path"]
    assert not (tmp_path / "home").exists()


def test_show_tells_what_is_set_and_where(cli: Cli) -> None:
    project = cli.workspace / "recollect.toml"
    project.write_text("max_results = 3\ntext_weight = 0.9\n", encoding="utf-8")
    cli.write('max_results = 4\n[remote]\napi_key = "env:TEAM"\n')
    cli.environ["RECOLLECT_MIN_SCORE"] = "0.2"

    answer = cli.json("show", RECOLLECT_PROVIDER="openai")
    text = cli("show", RECOLLECT_PROVIDER="openai").stdout

    assert [
        ("provider", "openai", "environment", "auto"),
        ("remote.api_key", "env:TEAM", str(cli.user_file), None),
        ("max_results", 4, str(cli.user_file), 6),
        ("min_score", 0.2, "environment", None),
        ("text_weight", 0.9, str(project), 0.3),
    ] == [
        (each["key"], each["value"], each["origin"], each["default"]) for each in answer["settings"]
    ]
    assert ["max_results", "4", str(cli.user_file)] == text.splitlines()[2].split()


def test_show_without_anything_set_says_so_and_all_shows_every_setting(cli: Cli) -> None:
    nothing, everything = cli("show"), cli.json("show", "--all")

    assert "All settings have their defaults" in nothing.stdout
    assert {"default"} == {each["origin"] for each in everything["settings"]}
    assert len(everything["settings"]) > 40


def test_show_takes_a_setting_or_a_group_in_either_spelling(cli: Cli) -> None:
    assert "max_results  6  default\n" == cli("show", "maxResults").stdout
    keys = [each["key"] for each in cli.json("show", "temporalDecay")["settings"]]
    wrong = cli("show", "max_result")

    assert ["temporal_decay.enabled", "temporal_decay.half_life_days"] == keys
    assert 2 == wrong.returncode
    assert "Did you mean `max_results`?" in wrong.stderr
    assert "Did you mean" not in cli("set", "nonsense", "1").stderr


def test_show_of_a_file_that_is_not_there_is_wrong_usage(cli: Cli) -> None:
    done = cli("show", "--config", "none.toml")

    assert 2 == done.returncode
    assert "there is no file none.toml" in done.stderr


def test_path_names_every_place_and_whether_it_is_there(cli: Cli, tmp_path: Path) -> None:
    cli.write("[local]\n")

    answer = cli.json("path", "--agent", "wren")
    text = cli("path").stdout

    assert {"path": str(cli.user_file), "exists": True} == answer["userFile"]
    assert {"path": str(cli.workspace / "recollect.toml"), "exists": False} == (
        answer["workspaceFile"]
    )
    assert str(tmp_path / "home" / "memory" / "wren.sqlite") == answer["index"]["path"]
    assert ("wren", None) == (answer["agent"], answer["problem"])
    assert f"user file       {cli.user_file}\n" in text
    assert f"home            {tmp_path / 'home'}  (missing)\n" in text


def test_path_works_while_the_settings_are_wrong_and_says_that_they_are(cli: Cli) -> None:
    cli.write("max_result = 3\n")

    done = cli("path")

    assert 0 == done.returncode
    assert str(cli.user_file) in done.stdout
    assert "there is no setting `max_result`" in done.stderr


def test_set_changes_one_line_and_shows_old_and_new(cli: Cli) -> None:
    cli.write("# mine\nmax_results = 4  # few\n\n[mmr]\nlambda = 0.5\n")

    first = cli("set", "max_results", "9")
    second = cli("set", "mmr.enabled", "on", "--user-file")
    third = cli("set", "extraPaths", "~/notes, docs/*.md", "--user-file")

    assert (0, 0, 0) == (first.returncode, second.returncode, third.returncode)
    assert (
        f"max_results: 4 → 9\nWritten to {cli.user_file}, which applies to all your workspaces.\n"
        == first.stdout
    )
    assert "mmr.enabled: false (default) → true" in second.stdout
    assert "extra_paths: none (default) → ~/notes, docs/*.md" in third.stdout
    assert (
        '# mine\nmax_results = 9  # few\nextra_paths = ["~/notes", "docs/*.md"]\n\n'
        "[mmr]\nlambda = 0.5\nenabled = true\n"
    ) == cli.written


def test_unset_removes_a_workspace_file_in_which_nothing_is_left(cli: Cli) -> None:
    file = cli.workspace / "recollect.toml"
    cli("set", "max_results", "9", "--workspace-file")
    cli("set", "fusion", "rrf", "--workspace-file")

    first = cli("set", "max_results", "--unset", "--workspace-file")
    assert 'fusion = "rrf"' == file.read_text(encoding="utf-8").strip()
    last = cli("set", "fusion", "--unset", "--workspace-file")

    assert (0, 0) == (first.returncode, last.returncode)
    assert not file.exists()


def test_set_is_for_this_workspace_unless_only_your_own_file_may_set_it(cli: Cli) -> None:
    file = cli.workspace / "recollect.toml"

    cli("set", "extra_paths", "notes")
    cli("set", "provider", "none")
    cli("set", "max_results", "4", "--config", str(cli.user_file))

    assert 'extra_paths = ["notes"]\n' == file.read_text(encoding="utf-8")
    assert 'provider = "none"\nmax_results = 4\n' == cli.written


def test_a_home_folder_does_not_become_a_workspace(cli: Cli, tmp_path: Path) -> None:
    done = cli("set", "max_results", "9", "-w", str(tmp_path / "user"))

    assert 1 == done.returncode
    assert "is your home folder" in done.stderr
    assert "--user-file" in done.stderr
    assert not (tmp_path / "user" / "recollect.toml").exists()


def test_set_makes_the_file_and_unset_removes_the_line(cli: Cli) -> None:
    made = cli.json("set", "fusion", "rrf", "--user-file")
    same = cli("set", "fusion", "rrf")
    removed = cli("set", "fusion", "--unset")
    again = cli("set", "fusion", "--unset", "--user-file")

    assert ("rrf", True, "calibrated", "rrf") == (
        made["written"],
        made["changed"],
        made["before"]["value"],
        made["after"]["value"],
    )
    assert f"fusion: {cli.user_file} already has this value.\n" == same.stdout
    assert f"fusion: rrf → calibrated (default)\nRemoved from {cli.user_file}, " in removed.stdout
    assert f"fusion: {cli.user_file} does not set it.\n" == again.stdout
    assert "" == cli.written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("max_result", "3"), "Did you mean `max_results`?"),
        (("max_results", "many"), "a whole number from 1 to 1000"),
        (("nothing_like_it", "--unset"), "there is no setting `nothing_like_it`"),
        (("max_results",), "Give either a VALUE or --unset."),
        (("max_results", "3", "--unset"), "Give either a VALUE or --unset."),
        (("remote.api_key", SECRET), "as env:NAME; never the key itself"),
        (("model", "m"), "Set `provider` too"),
        (("provider", "openai", "--workspace-file"), "may not set `provider`"),
        (("extra_paths", "../x", "--workspace-file"), "leaves the workspace"),
    ],
)
def test_set_refuses_what_would_be_wrong_and_writes_nothing(
    cli: Cli, arguments: tuple[str, ...], message: str
) -> None:
    done = cli("set", *arguments)

    assert 2 == done.returncode
    assert message in done.stderr
    assert SECRET not in done.stderr + done.stdout
    assert "user.toml" not in done.stderr  # the copy that was tried
    assert not cli.user_file.exists()
    assert [] == list(cli.workspace.iterdir())


def test_set_in_the_workspaces_file_says_when_another_wins(cli: Cli) -> None:
    cli.write("max_results = 4\n")

    done = cli("set", "max_results", "9", "--workspace-file")
    own = cli("set", "min_score", "0.7", "--user-file", RECOLLECT_MIN_SCORE="0.8")

    assert "max_results = 9\n" == (cli.workspace / "recollect.toml").read_text(encoding="utf-8")
    assert f"`max_results` is also set in {cli.user_file}, which wins: 4." in done.stderr
    assert "`min_score` is also set in the environment, which wins: 0.8." in own.stderr


def test_wrong_settings_can_be_mended_one_by_one(cli: Cli) -> None:
    cli.write("max_result = 3\nrrf = 1\n")

    first = cli("set", "max_result", "--unset")
    second = cli("set", "rrf", "--unset")

    assert (0, 0) == (first.returncode, second.returncode)
    assert "there is no setting `rrf`" in first.stderr
    assert "" == second.stderr
    assert "" == cli.written


def test_a_link_is_written_through(cli: Cli, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("max_results = 1\n", encoding="utf-8")
    cli.user_file.symlink_to(real)

    cli("set", "max_results", "2")

    assert cli.user_file.is_symlink()
    assert "max_results = 2\n" == real.read_text(encoding="utf-8")


OPENCLAW = """
{
  // my assistant
  agents: {
    defaults: { workspace: '~/my clawd' },
    entries: {
      main: {},
      work: { memory: { search: { extraPaths: ['~/work'], query: { maxResults: 3 } } } },
    },
  },
  memory: {
    search: {
      provider: 'voyage',
      remote: { apiKey: 'sk-live-0123456789', headers: { 'x-key': 'sk-live-0123456789' } },
      extraPaths: ['~/notes'],
      chunking: { tokens: 300, },
      query: { minScore: 0.3, maxResults: 9 },
    },
  },
}
"""


def test_import_reports_and_writes_nothing_unless_asked(cli: Cli) -> None:
    cli.openclaw.write_text(OPENCLAW, encoding="utf-8")

    done = cli("import-openclaw")

    assert 0 == done.returncode
    head = done.stdout.splitlines()
    workspace = cli.openclaw.parent.parent / "my clawd"
    assert f"{cli.openclaw}, agent main" == head[0]
    assert f"use it with `recollect -w '{workspace}' …`" in head[1]
    assert 'Carried over:\n  memory.search.provider → provider = "voyage"' in done.stdout
    assert "  memory.search.chunking.tokens → chunk.tokens = 300\n" in done.stdout
    assert "Not carried over: memory.search.remote.apiKey, memory.search.remote" in done.stdout
    assert "A key is never copied: put it into the variable VOYAGE_API_KEY and" in done.stderr
    assert "Nothing was written. With --write" in done.stdout
    assert "`--agent work` imports them." in done.stderr
    assert "sk-live" not in done.stdout + done.stderr
    assert not cli.user_file.exists()


def test_import_writes_beside_what_is_there(cli: Cli) -> None:
    cli.openclaw.write_text(OPENCLAW, encoding="utf-8")
    cli.write(
        '# mine\nprovider = "gemini"\nmodel = "gemini-embedding-001"\nextra_paths = ["a"]\n'
        "text_weight = 0.7\n[chunk]\ntokens = 300 # same\n"
    )

    answer = cli.json("import-openclaw", "--write", "--agent", "work", RECOLLECT_MAX_RESULTS="2")
    again = cli("import-openclaw", str(cli.openclaw), "--write", "--agent", "work")
    shown = cli("show", "provider")

    assert (
        '# mine\nprovider = "voyage"\nextra_paths = ["a", "~/notes", "~/work"]\ntext_weight = 0.7\n'
        "max_results = 3\n\n[chunk]\ntokens = 300 # same\n"
    ) == cli.written
    assert {
        "provider": "voyage",
        "extra_paths": ["a", "~/notes", "~/work"],
        "max_results": 3,
        "model": None,
    } == answer["changes"]
    assert ("work", ["main", "work"], True) == (
        answer["agent"],
        answer["agents"],
        answer["written"],
    )
    assert {"max_results": "environment"} == answer["overridden"]
    assert '-model = "gemini-embedding-001"' in answer["diff"].splitlines()
    assert "already has all of this" in again.stdout
    assert ["provider", "voyage", str(cli.user_file)] == shown.stdout.split()


def test_import_json_keeps_its_contract(cli: Cli) -> None:
    cli.openclaw.write_text(OPENCLAW, encoding="utf-8")

    answer = cli.json("import-openclaw")

    assert {
        "file", "agent", "agents", "workspace", "carried", "notCarried", "remarks",
        "settings", "changes", "userFile", "written", "diff", "overridden",
    } == answer.keys()  # fmt: skip
    assert {"key": "memory.search.provider", "setting": "provider", "value": "voyage"} == (
        answer["carried"][0]
    )
    assert {"memory.search.remote.apiKey", "memory.search.remote.headers"} < set(
        answer["notCarried"]
    )
    assert (False, None) == (answer["written"], answer["diff"])


def test_import_looks_where_openclaw_does_and_tells_what_is_wrong_with_the_file(
    cli: Cli, tmp_path: Path
) -> None:
    missing = cli("import-openclaw", "--json")
    elsewhere = tmp_path / "other.json5"
    elsewhere.write_text("{\n  memory: {search: {model 'x'}}\n}", encoding="utf-8")
    broken = cli("import-openclaw", OPENCLAW_CONFIG_PATH=str(elsewhere))

    assert 2 == missing.returncode
    error = json.loads(missing.stdout)["error"]
    assert ("config", f"{cli.openclaw} does not exist.") == (
        error["type"],
        error["message"],
    )
    assert 2 == broken.returncode
    assert f"{elsewhere} is not JSON5 (line 2" in broken.stderr


def test_import_without_memory_search_says_that_there_is_nothing(cli: Cli) -> None:
    cli.openclaw.write_text("{}", encoding="utf-8")

    done = cli("import-openclaw", "--write")

    assert "There is nothing to write" in done.stdout
    assert "config set provider openai" in done.stderr
    assert not cli.user_file.exists()


def test_the_environment_is_never_shown(tmp_path: Path) -> None:
    files = SettingsFiles.find(tmp_path, environ={"HOME": "/", "OPENAI_API_KEY": SECRET})

    assert SECRET not in repr(files)
