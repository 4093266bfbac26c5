"""A workspace that someone else made is read and written only inside, and stops no command."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from tests.support.commands import recollect_command

from recollect.errors import ConfigError
from recollect.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "the vault opens with marzipan"  # noqa: S105 - a sentence
FACT = "- Ada prefers dark mode"
PATIENCE_SECONDS = 60
YEAR_2263_NS = 2**63 + 10**18


class Run(Protocol):
    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def run(workspace: Path, environ: dict[str, str]) -> Run:
    """Run the command line on the workspace, without a model."""

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env={**environ, "RECOLLECT_PROVIDER": "none"},
            cwd=workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )

    return command


@pytest.fixture
def outside(tmp_path: Path, environ: dict[str, str]) -> Path:
    """A folder of the user that is no part of the workspace: their home."""
    folder = tmp_path / "user"
    folder.mkdir()
    (folder / "diary.md").write_text(f"# Diary\n\n{SECRET}\n", encoding="utf-8")
    (folder / "preference.md").write_text(f"- {SECRET}\n{FACT}\n", encoding="utf-8")
    assert str(folder) == environ["HOME"]
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "value",
    [
        '"{outside}"',
        '["{outside}"]',
        '"~"',
        '["~"]',
        '"memory, {outside}"',
        '"../user"',
        '["memory/../../user"]',
        '"~/diary.md"',
        '["{outside}/*.md"]',
        '" {outside} "',
    ],
)
def test_settings_of_a_workspace_cannot_name_a_path_outside_in_any_form(
    workspace: Path, outside: Path, environ: dict[str, str], value: str
) -> None:
    for key in ("extra_paths", "extraPaths", '"extra_paths"'):
        text = f"{key} = {value.format(outside=outside)}\n"
        (workspace / "recollect.toml").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match="leaves the workspace"):
            Memory.open(workspace, environ=environ)


def test_a_text_instead_of_a_list_shows_nothing_from_outside(
    run: Run, workspace: Path, outside: Path
) -> None:
    text = f'extra_paths = "{outside}"\n'
    (workspace / "recollect.toml").write_text(text, encoding="utf-8")

    done = run("search", "vault marzipan")

    assert 2 == done.returncode
    assert "leaves the workspace" in done.stderr
    assert SECRET not in said(done)


@pytest.mark.parametrize("value", ["{x = 1}", "[['a']]", "7", "[7]", "true", "1979-05-27"])
def test_extra_paths_that_are_no_paths_are_refused(
    workspace: Path, environ: dict[str, str], value: str
) -> None:
    (workspace / "recollect.toml").write_text(f"extra_paths = {value}\n", encoding="utf-8")

    with pytest.raises(ConfigError, match="extra_paths"):
        Memory.open(workspace, environ=environ)


@pytest.mark.parametrize("named", ["notes", "notes/*.md", "$HOME"])
def test_a_link_named_by_a_workspace_does_not_lead_out_of_it(
    run: Run, workspace: Path, outside: Path, named: str
) -> None:
    (workspace / "notes").symlink_to(outside)
    text = f'extra_paths = ["{named}"]\n'
    (workspace / "recollect.toml").write_text(text, encoding="utf-8")
    (workspace / "memory/a.md").write_text("The lamp is green.\n", encoding="utf-8")

    indexed = run("index")
    found = run("search", "vault marzipan", "--json")

    assert f"extra_paths: {named}" in said(indexed)
    assert SECRET not in said(found)
    assert "green" in said(run("search", "lamp"))


def test_the_user_may_name_any_folder_and_a_link_to_it(
    workspace: Path, outside: Path, environ: dict[str, str]
) -> None:
    (workspace / "notes").symlink_to(outside)
    settings = {"provider": "none", "extra_paths": ["notes"]}

    with Memory.open(workspace, settings=settings, environ=environ) as memory:
        hits = memory.search("vault marzipan").hits

    assert ["notes/diary.md", "notes/preference.md"] == sorted(hit.path for hit in hits)


@pytest.mark.parametrize("link", ["memory/facts", "memory"])
def test_a_ledger_that_is_a_link_out_is_refused_by_every_command(
    run: Run, workspace: Path, outside: Path, link: str
) -> None:
    if link == "memory":
        (workspace / "memory").rmdir()
        (outside / "facts").mkdir()
        (outside / "preference.md").rename(outside / "facts/preference.md")
    (workspace / link).symlink_to(outside)
    before = contents(outside)

    search = run("search", "dark mode marzipan")
    listed = run("facts", "list")
    remembered = run("remember", "--category", "preference", "Ada likes tea")
    forgotten = run("facts", "forget", "f-0000000000000")
    exported = run("facts", "export")

    for done in (search, listed, remembered, forgotten, exported):
        assert SECRET not in said(done)
        assert "is a link that leaves the folder" in said(done)
    assert [1, 1, 1, 1] == [done.returncode for done in (listed, remembered, forgotten, exported)]
    assert before == contents(outside)


def test_a_ledger_that_is_a_link_inside_is_used(run: Run, workspace: Path) -> None:
    (workspace / "shared").mkdir()
    (workspace / "memory/facts").symlink_to("../shared")

    assert 0 == run("remember", "Ada likes tea").returncode

    assert "Ada likes tea" in run("search", "tea").stdout
    assert [".lock", "other.md"] == sorted(each.name for each in (workspace / "shared").iterdir())


@pytest.mark.parametrize("mtime_ns", [YEAR_2263_NS, -(10**18)])
def test_a_note_from_any_year_is_indexed_like_others(
    run: Run, workspace: Path, mtime_ns: int
) -> None:
    note = workspace / "memory/a.md"
    note.write_text("The lamp is green.\n", encoding="utf-8")
    os.utime(note, ns=(mtime_ns, mtime_ns))
    assert mtime_ns == note.stat().st_mtime_ns

    assert 0 == run("index").returncode
    found = json.loads(run("search", "lamp", "--json").stdout)

    assert ["memory/a.md"] == [hit["path"] for hit in found["results"]]
    assert 0 == run("doctor", "--verify").returncode


def test_a_fact_from_the_first_or_last_day_is_found_in_every_time_zone(
    run: Run, workspace: Path, environ: dict[str, str]
) -> None:
    file = workspace / "memory" / "facts" / "other.md"
    file.parent.mkdir(parents=True)
    file.write_text(
        "- Rome was founded <!-- f-0000000000001 valid-from=0001-01-01 -->\n"
        "- Rome falls <!-- f-0000000000002 expires=9999-12-31T23:59:59Z -->\n",
        encoding="utf-8",
    )

    for zone, arguments in itertools.product(
        ("America/New_York", "Asia/Tokyo"), (["facts", "list"], ["search", "Rome"])
    ):
        environ["TZ"] = zone
        done = run(*arguments)
        assert 0 == done.returncode, said(done)
        assert "Rome was founded" in done.stdout


def pipe(file: Path) -> None:
    os.mkfifo(file)


def endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


def sparse(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(2**40)


def folder(file: Path) -> None:
    file.mkdir()


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (pipe, ["index"]),
        (endless, ["search", "lamp"]),
        (sparse, ["status"]),
        (folder, ["config", "show"]),
        (pipe, ["config", "set", "--workspace-file", "fusion", "rrf"]),
    ],
)
def test_settings_that_are_no_file_are_refused_at_once(
    run: Run, workspace: Path, make: Callable[[Path], None], arguments: list[str]
) -> None:
    make(workspace / "recollect.toml")
    (workspace / "memory/a.md").write_text("The lamp is green.\n", encoding="utf-8")

    done = run(*arguments)

    assert 2 == done.returncode
    assert f"The settings in {workspace / 'recollect.toml'} cannot be" in said(done)


@pytest.mark.parametrize("make", [pipe, endless, sparse])
def test_entries_that_are_not_files_are_reported_and_the_rest_is_found(
    run: Run, workspace: Path, make: Callable[[Path], None]
) -> None:
    (workspace / "memory/facts").mkdir()
    names = [".recollectignore", "MEMORY.md", "memory/b.md", "memory/facts/fact.md"]
    for name in names:
        make(workspace / name)
    (workspace / "memory/a.md").write_text("The lamp is green.\n", encoding="utf-8")

    done = run("index")

    assert 0 == done.returncode
    assert names == [name for name in names if name in said(done)]
    assert "green" in run("search", "lamp").stdout


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (".mcp.json", ["install", "claude", "--scope", "project"]),
        (".claude/settings.json", ["install", "claude", "--scope", "project", "--hooks"]),
        (".codex", ["install", "codex", "--scope", "project"]),
        (".vscode/mcp.json", ["install", "vscode"]),
        ("recollect.toml", ["config", "set", "--workspace-file", "fusion", "rrf"]),
    ],
)
def test_nothing_is_written_through_a_link_out_of_the_workspace(
    run: Run, workspace: Path, outside: Path, name: str, arguments: list[str]
) -> None:
    target = outside / "config"
    if name == ".codex":
        target.mkdir()
    link = workspace / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    before = contents(outside)

    done = run(*arguments)

    assert done.returncode in (1, 2)
    assert "is a link that leaves the folder" in said(done)
    assert before == contents(outside)
    assert link.is_symlink()
    assert not target.is_file()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (".mcp.json", ["install", "claude", "--scope", "project", "--print"]),
        ("memory-cases.jsonl", ["eval", "memory-cases.jsonl"]),
        ("sessions", ["sessions", "import", "sessions"]),
        ("chats.jsonl", ["sessions", "import", "./chats.jsonl"]),
    ],
)
def test_a_file_in_the_workspace_that_is_a_link_out_is_not_read(
    run: Run, workspace: Path, outside: Path, name: str, arguments: list[str]
) -> None:
    (workspace / name).symlink_to(outside / "diary.md")

    done = run(*arguments)

    assert done.returncode in (1, 2)
    assert "is a link that leaves the folder" in said(done)
    assert SECRET not in said(done)


def test_files_that_are_named_outside_of_the_workspace_may_be_links(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "memory/a.md").write_text("The lamp is green.\n", encoding="utf-8")
    case = {"query": "lamp", "expected": ["memory/a.md"]}
    (tmp_path / "real.jsonl").write_text(json.dumps(case), encoding="utf-8")
    (tmp_path / "cases.jsonl").symlink_to("real.jsonl")

    done = run("eval", str(tmp_path / "cases.jsonl"))

    assert 0 == done.returncode, said(done)


def test_what_a_model_is_sent_does_not_come_through_a_link(
    workspace: Path, outside: Path, environ: dict[str, str]
) -> None:
    (workspace / "skills").symlink_to(outside)
    (workspace / "docs").mkdir()
    (workspace / "docs/a.md").write_text("The lamp is green.\n", encoding="utf-8")
    (workspace / "docs/b.md").symlink_to(outside / "diary.md")
    os.mkfifo(workspace / "docs/c.md")
    text = f'ingest.paths = ["skills/*", "skills/**/*.md", "docs/*.md", "{"**/" * 40}a.md"]\n'
    (workspace / "recollect.toml").write_text(text, encoding="utf-8")

    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as memory:
        plan = memory.extractor.plan()

    assert ["docs/a.md"] == list(plan.files)


@pytest.mark.parametrize("link", ["home", "home/memory", "home/cache", "home/sessions", "home/run"])
def test_a_home_in_the_workspace_does_not_lead_out_of_it(
    run: Run, workspace: Path, outside: Path, environ: dict[str, str], link: str
) -> None:
    environ["RECOLLECT_HOME"] = str(workspace / "home")
    (workspace / link).parent.mkdir(exist_ok=True)
    (workspace / link).symlink_to(outside)
    before = contents(outside)

    done = run("index")

    assert 2 == done.returncode
    assert "RECOLLECT_HOME is in the workspace" in said(done)
    assert before == contents(outside)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 10_000,
        "x = " + "{a = " * 2_000,
        ".".join("a" * 5_000) + " = 1",
        "chunk.tokens = " + "9" * 5_000,
        "mmr.lambda = " + "9" * 400,
        "\n".join(f"setting{number} = 1" for number in range(1_000)),
        "x" * 10_000 + " = 1",
        "\n".join(f'"setting-{number}" = 1' for number in range(10_000)),
        'fusion = "' + "a" * 10_000 + '"',
        f"exclude = {[str(number) for number in range(100)]}",
        f"extra_paths = {['.'] * 100}",
    ],
)
def test_settings_that_would_take_forever_are_refused_in_a_sentence(
    workspace: Path, environ: dict[str, str], text: str
) -> None:
    (workspace / "recollect.toml").write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        Memory.open(workspace, environ=environ)

    assert len(caught.value.message) < 1_000


def test_many_traps_do_not_flood_every_answer(
    workspace: Path, outside: Path, environ: dict[str, str]
) -> None:
    for number in range(100):
        (workspace / f"memory/{number}.md").symlink_to(outside / "diary.md")

    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as memory:
        notices = memory.search("lamp").notices

    assert "90 more files are not up to date: `recollect index` names them all." in notices
    assert len(notices) < 20


def test_files_whose_names_are_not_text_are_reported_and_the_rest_is_found(
    run: Run, workspace: Path
) -> None:
    (workspace / "memory/facts/sub").mkdir(parents=True)
    (workspace / "memory/facts/preference.md").write_text(FACT, encoding="utf-8")
    for folder_ in ("memory", "memory/facts", "memory/facts/sub"):
        Path(os.fsdecode(os.fsencode(workspace / folder_) + b"/\xff\xfe.md")).touch()

    done = run("index")

    assert 0 == done.returncode, said(done)
    assert 3 == said(done).count("has a name that is not valid UTF-8")
    assert "dark mode" in run("search", "Ada").stdout
    assert 0 == run("remember", "Ada likes tea").returncode


def test_a_link_out_names_what_to_add_itself(run: Run, workspace: Path, outside: Path) -> None:
    (workspace / "memory/diary.md").symlink_to(outside / "diary.md")
    (workspace / "memory/all").symlink_to(outside)

    told = said(run("search", "lamp"))

    for name, target, kind in (
        ("diary.md", outside / "diary.md", "file"),
        ("all", outside, "folder"),
    ):
        assert (
            f"memory/{name} is not indexed: it is a link that leaves the folder: {target}. "
            f"If the link is your own, add that {kind} itself to extra_paths."
        ) in told


def test_a_file_that_was_indexed_is_not_up_to_date_and_a_new_one_not_indexed(
    run: Run, workspace: Path
) -> None:
    old = workspace / "memory/old.md"
    old.write_text("The lamp is lit.\n", encoding="utf-8")
    run("index")
    old.unlink()
    os.mkfifo(old)
    os.mkfifo(workspace / "memory/pipe.md")

    told = said(run("search", "lamp"))

    assert "memory/old.md is not up to date: it is not a regular file. Rename" in told
    assert "memory/pipe.md is not indexed: it is not a regular file. Rename" in told
