from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from recollect.errors import WorkspaceError
from recollect.ingest.options import WalkOptions
from recollect.ingest.walk import walk, watched
from recollect.types import SourceKind, Stat

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.reports import Failure


def write(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name, encoding="utf-8")


def paths(workspace: Path, *extra: str, exclude: tuple[str, ...] = ()) -> list[str]:
    found, failures = walk(workspace, options=WalkOptions(extra, exclude))
    assert failures == []
    return [each.path for each in found]


def failures(workspace: Path, *extra: str) -> list[Failure]:
    return walk(workspace, options=WalkOptions(extra))[1]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    return root


def test_curated_files_come_first_then_memory_then_extra_paths(workspace: Path) -> None:
    write(workspace, "memory/b.md", "memory/2026/a.md", "memory/a.md", "USER.md", "MEMORY.md")
    write(workspace, "notes/n.md", "README.md")

    expected = ["MEMORY.md", "USER.md", "memory/2026/a.md", "memory/a.md", "memory/b.md"]

    assert [*expected, "notes/n.md"] == paths(workspace, "notes")


def test_a_found_file_carries_what_its_stat_tells(workspace: Path) -> None:
    write(workspace, "memory/a.md")

    (found,), _ = walk(workspace, options=WalkOptions())

    status = (workspace / "memory/a.md").stat()
    assert found.file.samefile(workspace / "memory/a.md")
    assert Stat(status.st_size, status.st_mtime_ns) == found.stat
    assert SourceKind.MEMORY is found.source


def test_an_empty_workspace_has_no_files(workspace: Path) -> None:
    assert paths(workspace) == []


def test_only_the_exact_names_are_curated(workspace: Path) -> None:
    write(workspace, "memory.md", "User.md", "DREAMS.md", "memory/a.md")

    assert paths(workspace) == ["memory/a.md"]


def test_a_folder_that_is_not_a_memory_is_taken_whole(workspace: Path) -> None:
    write(workspace, "a.md", "deep/er/b.md", "deep/c.txt", ".obsidian/d.md", "venv/e.md")
    write(workspace, "memory/facts/f.md")  # what `remember` writes does not change what is a note

    assert paths(workspace) == ["a.md", "deep/er/b.md", "memory/facts/f.md"]
    assert paths(workspace, "deep") == ["memory/facts/f.md", "deep/er/b.md"]


def test_a_home_folder_is_never_taken_whole(workspace: Path) -> None:
    write(workspace, "a.md", "user/b.md")

    def count(user_home: Path) -> int:
        return len(walk(workspace, options=WalkOptions(user_home=user_home))[0])

    assert [0, 0, 2] == [count(workspace), count(workspace / "user"), count(workspace.parent)]


def test_only_markdown_is_found_below_memory(workspace: Path) -> None:
    write(workspace, "memory/a.md", "memory/b.MD", "memory/c.txt", "memory/d.mdx", "memory/md")

    assert paths(workspace) == ["memory/a.md", "memory/b.MD"]


def test_hidden_files_and_folders_of_tools_are_left_out(workspace: Path) -> None:
    write(workspace, "memory/.draft.md", "memory/.git/a.md", "memory/.venv/a.md")
    write(workspace, "memory/node_modules/a.md", "memory/__pycache__/a.md", "memory/a.md")

    assert paths(workspace) == ["memory/a.md"]


def test_a_folder_named_like_a_note_is_a_folder(workspace: Path) -> None:
    write(workspace, "memory/a.md/b.md")

    assert paths(workspace) == ["memory/a.md/b.md"]


def test_a_file_named_memory_is_no_memory(workspace: Path) -> None:
    write(workspace, "memory")

    assert paths(workspace) == []


def test_a_curated_file_that_is_a_folder_is_a_failure(workspace: Path) -> None:
    (workspace / "MEMORY.md").mkdir()

    found, failed = walk(workspace, options=WalkOptions())

    assert found == []
    assert [each.path for each in failed] == ["MEMORY.md"]


@pytest.mark.parametrize("name", ["missing", "file.txt"])
def test_a_workspace_that_is_no_folder_is_an_error(workspace: Path, name: str) -> None:
    write(workspace, "file.txt")

    with pytest.raises(WorkspaceError) as caught:
        walk(workspace / name, options=WalkOptions())

    assert name in caught.value.message


def test_extra_paths_may_be_files_folders_or_globs_anywhere(
    workspace: Path, tmp_path: Path
) -> None:
    write(workspace, "docs/a.md", "docs/deep/b.md", "todo.txt")
    write(tmp_path, "vault/x.md", "vault/sub/y.md")

    assert paths(workspace, "todo.txt") == ["todo.txt"]
    assert paths(workspace, " ./docs/ ") == ["docs/a.md", "docs/deep/b.md"]
    assert paths(workspace, "docs/*.md") == ["docs/a.md"]
    assert paths(workspace, "docs/**/*.md") == ["docs/a.md", "docs/deep/b.md"]
    assert paths(workspace, "do?s/*/*.md") == ["docs/deep/b.md"]
    assert paths(workspace, "../vault") == ["../vault/sub/y.md", "../vault/x.md"]
    assert paths(workspace, str(tmp_path / "vault")) == ["../vault/sub/y.md", "../vault/x.md"]
    assert paths(workspace, str(tmp_path / "v*/*.md")) == ["../vault/x.md"]


def test_extra_paths_below_home_are_found(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write(tmp_path, "vault/x.md")

    assert paths(workspace, "~/vault") == ["../vault/x.md"]


def test_a_name_that_looks_like_a_glob_is_taken_literally_if_it_exists(workspace: Path) -> None:
    write(workspace, "notes [1]/a.md", "notes 1/b.md")

    assert paths(workspace, "notes [1]") == ["notes [1]/a.md"]


def test_an_extra_path_inside_a_hidden_folder_is_found_because_it_was_named(
    workspace: Path,
) -> None:
    write(workspace, ".claude/memory/a.md", ".claude/memory/.hidden.md")

    assert paths(workspace, ".claude/memory") == [".claude/memory/a.md"]


@pytest.mark.parametrize("extra", ["missing", "missing.md", "missing/*.md", "docs/*.rst", "~no/x"])
def test_an_extra_path_that_finds_nothing_is_a_failure_that_says_what_to_do(
    workspace: Path, extra: str
) -> None:
    write(workspace, "docs/a.md")

    (failure,) = failures(workspace, extra)

    assert extra == failure.path
    assert failure.summary.startswith(f"extra_paths: {extra} ")
    assert "the entry." in failure.action


def test_blank_extra_paths_are_passed_over(workspace: Path) -> None:
    write(workspace, "README.md")

    assert paths(workspace, "", "  ") == []


def test_a_file_is_found_once_whatever_leads_to_it(workspace: Path) -> None:
    write(workspace, "memory/a.md", "memory/sub/b.md")

    expected = ["memory/a.md", "memory/sub/b.md"]

    assert expected == paths(workspace, "memory", "memory/a.md", ".", "memory/**/*.md")


def test_the_workspace_itself_may_be_an_extra_path(workspace: Path) -> None:
    write(workspace, "MEMORY.md", "README.md", "docs/a.md")

    assert paths(workspace, ".") == ["MEMORY.md", "README.md", "docs/a.md"]


def test_excluded_files_and_folders_are_left_out(workspace: Path) -> None:
    write(workspace, "memory/a.md", "memory/archive/b.md", "memory/deep/archive/c.md")
    write(workspace, "memory/draft-d.md", "USER.md")

    assert paths(workspace, exclude=("archive", "draft-*", "/USER.md")) == ["memory/a.md"]
    assert "memory/deep/archive/c.md" in paths(workspace, exclude=("memory/archive/",))
    assert "memory/archive/b.md" not in paths(workspace, exclude=("memory/archive/**",))
    assert paths(workspace, "memory/a.md", exclude=("memory",)) == ["USER.md", "memory/a.md"]


def test_a_link_inside_the_workspace_is_followed(workspace: Path) -> None:
    write(workspace, "notes/a.md", "shared/MEMORY.md")
    (workspace / "memory").mkdir()
    (workspace / "memory/notes").symlink_to(workspace / "notes")
    (workspace / "MEMORY.md").symlink_to("shared/MEMORY.md")

    assert paths(workspace) == ["MEMORY.md", "memory/notes/a.md"]


def test_a_link_to_what_is_found_anyway_adds_nothing(workspace: Path) -> None:
    write(workspace, "memory/z/a.md")
    (workspace / "memory/alias").symlink_to(workspace / "memory/z")
    (workspace / "memory/a.md").symlink_to(workspace / "memory/z/a.md")

    assert paths(workspace) == ["memory/z/a.md"]


def test_links_in_a_circle_come_to_an_end(workspace: Path) -> None:
    write(workspace, "memory/a.md", "notes/b.md")
    (workspace / "memory/up").symlink_to("..")
    (workspace / "memory/self").symlink_to(".")
    (workspace / "notes/memory").symlink_to("../memory")

    assert paths(workspace) == ["memory/a.md", "memory/up/notes/b.md"]


def test_a_link_that_leaves_its_root_is_reported_not_followed(
    workspace: Path, tmp_path: Path
) -> None:
    write(tmp_path, "outside/secret.md", "outside/picture.png")
    write(workspace, "memory/a.md", "docs/b.md", "inside.md")
    (workspace / "memory/file.md").symlink_to(tmp_path / "outside/secret.md")
    (workspace / "memory/folder").symlink_to(tmp_path / "outside")
    (workspace / "memory/picture.png").symlink_to(tmp_path / "outside/picture.png")
    (workspace / "docs/inside.md").symlink_to(workspace / "inside.md")

    found, failed = walk(workspace, options=WalkOptions(("docs",)))

    assert [each.path for each in found] == ["memory/a.md", "docs/b.md"]
    reported = [each.path for each in failed]
    assert reported == ["memory/file.md", "memory/folder", "docs/inside.md"]
    assert all("leaves the folder" in each.reason for each in failed)


def test_a_memory_folder_that_is_a_link_to_elsewhere_is_reported(
    workspace: Path, tmp_path: Path
) -> None:
    write(tmp_path, "vault/a.md")
    (workspace / "memory").symlink_to(tmp_path / "vault")

    (failure,) = failures(workspace)

    assert failure.path == "memory"
    assert "extra_paths" in failure.action


def test_an_extra_path_that_is_a_link_is_followed_because_it_was_named(
    workspace: Path, tmp_path: Path
) -> None:
    write(tmp_path, "vault/a.md")
    (workspace / "notes").symlink_to(tmp_path / "vault")

    assert paths(workspace, "notes") == ["notes/a.md"]


def test_a_workspace_reached_by_a_link_gives_the_same_paths(
    workspace: Path, tmp_path: Path
) -> None:
    write(workspace, "memory/a.md", "notes/b.md")
    (tmp_path / "alias").symlink_to(workspace)

    extra = str(tmp_path / "alias" / "notes")

    assert paths(tmp_path / "alias", extra) == ["memory/a.md", "notes/b.md"]


@pytest.mark.parametrize("target", ["missing.md", "loop.md"])
def test_a_link_that_leads_nowhere_is_a_failure(workspace: Path, target: str) -> None:
    write(workspace, "memory/a.md")
    (workspace / "memory/loop.md").symlink_to(target)
    (workspace / "memory/other").symlink_to("missing")

    found, failed = walk(workspace, options=WalkOptions())

    assert [each.path for each in found] == ["memory/a.md"]
    assert [each.path for each in failed] == ["memory/loop.md"]
    assert "broken link" in failed[0].reason


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_valid_utf8_is_a_failure(workspace: Path) -> None:
    write(workspace, "memory/a.md")
    (workspace / "memory" / os.fsdecode(b"f\xff")).mkdir()
    for name in (b"caf\xe9.md", b"caf\xe9.txt"):
        (workspace / "memory" / os.fsdecode(name)).touch()

    found, failed = walk(workspace, options=WalkOptions())

    assert [each.path for each in found] == ["memory/a.md"]
    assert sorted(each.path for each in failed) == [r"memory/caf\xe9.md", r"memory/f\xff"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_named_like_a_note_is_a_failure(workspace: Path) -> None:
    write(workspace, "memory/a.md")
    os.mkfifo(workspace / "memory/pipe.md")

    assert [each.path for each in failures(workspace)] == ["memory/pipe.md"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may list every folder"
)
def test_a_folder_without_permission_is_a_failure_and_the_rest_is_found(workspace: Path) -> None:
    write(workspace, "memory/a.md", "memory/locked/b.md")
    (workspace / "memory/locked").chmod(0)

    found, failed = walk(workspace, options=WalkOptions())

    (workspace / "memory/locked").chmod(0o755)
    assert [each.path for each in found] == ["memory/a.md"]
    assert [each.path for each in failed] == ["memory/locked"]


@pytest.mark.skipif(os.mkdir not in os.supports_dir_fd, reason="needs paths relative to a folder")
def test_a_folder_too_deep_for_the_system_is_a_failure_and_the_rest_is_found(
    workspace: Path,
) -> None:
    write(workspace, "memory/a.md")
    top = os.open(workspace / "memory", os.O_RDONLY)
    for _ in range(25):  # each name is 200 characters: in all more than a path may have
        os.mkdir("d" * 200, dir_fd=top)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=top)
        os.close(top)
        top = below
    os.close(top)

    found, failed = walk(workspace, options=WalkOptions())

    assert [each.path for each in found] == ["memory/a.md"]
    assert len(failed) == 1
    assert "cannot be listed" in failed[0].reason


def test_an_extra_path_that_no_system_can_have_is_not_watched(workspace: Path) -> None:
    options = WalkOptions(extra_paths=("a\0b",), stays_inside=True)

    assert {workspace, workspace / "memory"} >= {
        each.path for each in watched(workspace, options=options)
    }
